package gateway

import (
	"bytes"
	"strings"
)

// A token is a JSON value where it stands in a text: text[from:to]. The zero token is none.
type token struct{ from, to int }

func (t token) in(text []byte) []byte { return text[t.from:t.to] }

func (t token) there() bool { return t.to > 0 }

// A sighting is what a bridge sees of one message of JSON-RPC: where its members stand. It is no
// judgement: what a client may say is judged by the handler, and what is in a result by nobody.
type sighting struct {
	id, method, params, result, fault token // fault is the member error
}

// sight finds the members of a message. It refuses what is no JSON object, and one whose own
// member names are spelled with escapes, repeated, or like one of JSON-RPC but for their case: others
// could read such a message as another one, as an answer for instance that is still to be withheld.
func sight(text []byte) (s sighting, ok bool) {
	if !wellFormed(text) {
		return s, false
	}
	places := map[string]*token{"id": &s.id, "method": &s.method, "params": &s.params, "result": &s.result, "error": &s.fault}
	ok = true
	object := eachMember(text, token{0, len(text)}, func(name []byte, value token) {
		at := places[string(name)]
		switch {
		case bytes.IndexByte(name, '\\') >= 0, at != nil && at.there(), at == nil && places[strings.ToLower(string(name))] != nil:
			ok = false
		case at != nil:
			*at = value
		}
	})
	return s, ok && object
}

// request: it asks for an answer.
func (s sighting) request() bool { return s.method.there() && s.id.there() }

// answer: it is one, to a request of the other side.
func (s sighting) answer() bool {
	return !s.method.there() && s.id.there() && (s.result.there() || s.fault.there())
}

// named is the text of a member that is a plain string, without escapes; "" is none.
func named(text []byte, t token) string {
	if v := t.in(text); len(v) >= 2 && v[0] == '"' && bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	return ""
}

// find walks down by names, from a value of a valid text. Of equal names the first counts.
func find(text []byte, in token, names ...string) (found token) {
	for _, name := range names {
		found = token{}
		if !eachMember(text, in, func(n []byte, value token) {
			if string(n) == name && !found.there() {
				found = value
			}
		}) || !found.there() {
			return token{}
		}
		in = found
	}
	return found
}

// eachMember yields the members of the object at a place of a valid text, names as they are
// spelled. It reports whether there is an object.
func eachMember(text []byte, in token, yield func(name []byte, value token)) bool {
	i := space(text, in.from)
	if i >= in.to || text[i] != '{' {
		return false
	}
	i = space(text, i+1)
	for i < in.to && text[i] == '"' {
		end := past(text, i)
		name := text[i+1 : end-1]
		i = space(text, space(text, end)+1) // past the colon
		end = past(text, i)
		yield(name, token{i, end})
		i = space(text, end)
		if i >= in.to || text[i] != ',' {
			break
		}
		i = space(text, i+1)
	}
	return true
}

// eachItem yields the items of the array at a place of a valid text.
func eachItem(text []byte, in token, yield func(item token)) {
	i := space(text, in.from)
	if i >= in.to || text[i] != '[' {
		return
	}
	i = space(text, i+1)
	for i < in.to && text[i] != ']' {
		end := past(text, i)
		yield(token{i, end})
		i = space(text, end)
		if i < in.to && text[i] == ',' {
			i = space(text, i+1)
		}
	}
}

func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// past is the place after the value that begins at i, in a valid text.
func past(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		default: // of a number or a literal
			for i < len(text) && !bytes.ContainsRune([]byte("{}[],: \t\n\r\""), rune(text[i])) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// replaced is the text with other values at some places, which must be in order.
func replaced(text []byte, changes ...change) []byte {
	size := len(text)
	for _, c := range changes {
		size += len(c.with)
	}
	b, from := make([]byte, 0, size), 0
	for _, c := range changes {
		b = append(append(b, text[from:c.at.from]...), c.with...)
		from = c.at.to
	}
	return append(b, text[from:]...)
}

type change struct {
	at   token
	with []byte
}
