package mcp

import (
	"bytes"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// A Span is a place in a message: the bytes from Start up to End. The zero Span is nowhere.
type Span struct{ Start, End int }

// Of returns the bytes of b at s, nil for the zero Span.
func (s Span) Of(b []byte) []byte {
	if s.End == 0 {
		return nil
	}
	return b[s.Start:s.End:s.End]
}

// Absent reports whether there is no such place.
func (s Span) Absent() bool { return s.End == 0 }

// strict are the rules for all that passes: what one parser reads, another reads too.
func strict(limit int) jcs.Profile { return jcs.Profile{Numbers: jcs.DoubleNumbers, MaxSize: limit} }

// Behind the check by jcs a text is well-formed, so what follows finds places and decides nothing.

// space returns the next byte from i on that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skip returns the end of the value that begins at i.
func skip(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

// skipString returns the end of the string that begins at i.
func skipString(b []byte, i int) int {
	i++
	for {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
}

// members walks the members of an object.
type members struct {
	b []byte
	i int // the place of the next name, or of the closing brace
}

// object returns a walk over the value at s; over no member if that is no object.
func object(b []byte, s Span) members {
	if s.Absent() || b[s.Start] != '{' {
		return members{}
	}
	return members{b, space(b, s.Start+1)}
}

// next returns the places of a name, quotes included, and of its value.
func (m *members) next() (name, value Span, ok bool) {
	if len(m.b) == 0 || m.b[m.i] == '}' {
		return Span{}, Span{}, false
	}
	name = Span{m.i, skipString(m.b, m.i)}
	colon := space(m.b, name.End)
	start := space(m.b, colon+1)
	value = Span{start, skip(m.b, start)}
	m.i = space(m.b, value.End)
	if m.b[m.i] == ',' {
		m.i = space(m.b, m.i+1)
	}
	return name, value, true
}

// text is the decoded form of a string with its quotes; ok is false for any other value.
func text(raw []byte) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	v, err := jcs.Parse(raw)
	if err != nil {
		return "", false
	}
	return v.Text()
}

// known returns the index in names of the one that raw spells, -1 if it is none of them, and
// whether it is one but for upper and lower case.
func known(raw []byte, names []string) (index int, similar bool) {
	inner := raw[1 : len(raw)-1]
	escaped := bytes.IndexByte(inner, '\\') >= 0
	if !escaped {
		for i, n := range names {
			if string(inner) == n {
				return i, false
			}
		}
	}
	name, _ := text(raw)
	for i, n := range names {
		switch {
		case name == n:
			return i, false
		case strings.EqualFold(name, n):
			return -1, true
		}
	}
	return -1, false
}
