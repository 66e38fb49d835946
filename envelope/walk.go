package envelope

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A sink takes the values of a text in canonical order.
type sink interface {
	text(s slot, p piece)
	integer(s slot, n int64)
	truth(s slot, b bool)
	item(s slot) // the next option begins
}

// A walker holds a canonical text against a shape, in one pass. The text is what package jcs wrote,
// so its grammar is not doubted: members are sorted, there is no white space, and integers have one
// spelling.
type walker struct {
	text []byte
	at   int
	sink sink
}

// A piece is where the inside of a string stands in a canonical text, without the quotes.
type piece struct{ begin, end int32 }

// of returns the string that p is in the text.
func (p piece) of(text []byte) string { return unescape(string(text[p.begin:p.end])) }

const (
	ruleMissing = "is missing"
	ruleUnknown = "is not a member that the grammar knows"
	ruleLong    = "is longer than its limit"
)

func (w *walker) value(s *shape) *Error {
	if kindOf(w.text[w.at]) != s.kind {
		return &Error{Row: s.row, Rule: s.kind.rule()}
	}
	switch s.kind {
	case objectKind:
		return w.object(s)
	case arrayKind:
		return w.array(s)
	case integerKind:
		return w.number(s)
	case truthKind:
		b := w.text[w.at] == 't'
		w.at += 4
		if !b {
			w.at++
		}
		w.sink.truth(s.slot, b)
		return nil
	}
	return w.string(s)
}

// kindOf tells the type from the first byte of a canonical value. A null is of none: it is taken
// for a shape that nothing asks for.
func kindOf(c byte) kind {
	switch c {
	case '{':
		return objectKind
	case '[':
		return arrayKind
	case '"':
		return textKind
	case 't', 'f':
		return truthKind
	case 'n':
		return 0xFF
	}
	return integerKind
}

// object walks the sorted members of the text and those of the shape side by side.
func (w *walker) object(s *shape) *Error {
	w.at++
	next := 0 // of the shape's members
	for w.text[w.at] != '}' {
		if w.text[w.at] == ',' {
			w.at++
		}
		name := w.token()
		w.at++ // the colon
		i := next
		for i < len(s.members) && s.members[i].name != string(w.text[name.begin:name.end]) {
			i++
		}
		if i == len(s.members) {
			return &Error{Row: "ENV-007", Path: pointer(name.of(w.text)), Rule: ruleUnknown}
		}
		if err := absent(s.members[next:i]); err != nil {
			return err
		}
		next = i + 1
		if err := w.value(&s.members[i].value); err != nil {
			err.Path = "/" + s.members[i].name + err.Path
			return err
		}
	}
	w.at++
	return absent(s.members[next:])
}

// absent returns the fault of the first member that must be there.
func absent(members []member) *Error {
	for i := range members {
		if m := &members[i]; !m.optional {
			return &Error{Row: m.missing, Path: "/" + m.name, Rule: ruleMissing}
		}
	}
	return nil
}

func (w *walker) array(s *shape) *Error {
	w.at++
	n := 0
	for w.text[w.at] != ']' {
		if w.text[w.at] == ',' {
			w.at++
		}
		if n == s.high {
			return &Error{Row: s.count, Rule: "has too many items"}
		}
		if s.item.kind == objectKind {
			w.sink.item(s.slot)
		}
		if err := w.value(s.item); err != nil {
			err.Path = "/" + strconv.Itoa(n) + err.Path
			return err
		}
		n++
	}
	w.at++
	if n < s.low {
		return &Error{Row: s.count, Rule: "has too few items"}
	}
	return nil
}

func (w *walker) number(s *shape) *Error {
	end := w.at
	for end < len(w.text) && (w.text[end] == '-' || '0' <= w.text[end] && w.text[end] <= '9') {
		end++
	}
	n, err := strconv.ParseInt(string(w.text[w.at:end]), 10, 64)
	if err != nil {
		return &Error{Row: "ENV-059", Rule: s.kind.rule()}
	}
	w.at = end
	w.sink.integer(s.slot, n)
	return nil
}

func (w *walker) string(s *shape) *Error {
	p := w.token()
	if s.high > 0 && int(p.end-p.begin) > s.high && utf8.RuneCountInString(p.of(w.text)) > s.high {
		return &Error{Row: "ENV-055", Rule: ruleLong}
	}
	w.sink.text(s.slot, p)
	return nil
}

// token returns where the string at w.at stands, and steps behind it.
func (w *walker) token() piece {
	begin := w.at + 1
	for end := begin; ; {
		end += bytes.IndexByte(w.text[end:], '"')
		slashes := 0
		for w.text[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			w.at = end + 1
			return piece{int32(begin), int32(end)}
		}
		end++
	}
}

// unescape decodes what RFC 8785 §3.2.2.2 escapes: each stands for one ASCII byte.
func unescape(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw))
	for {
		i := strings.IndexByte(raw, '\\')
		if i < 0 {
			b.WriteString(raw)
			return b.String()
		}
		b.WriteString(raw[:i])
		used := 2
		switch c := raw[i+1]; c {
		case 'b':
			b.WriteByte('\b')
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		case 'u':
			n, _ := strconv.ParseUint(raw[i+2:i+6], 16, 8)
			b.WriteByte(byte(n))
			used = 6
		default:
			b.WriteByte(c)
		}
		raw = raw[i+used:]
	}
}

// pointer is the JSON Pointer of a member of the root.
func pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
