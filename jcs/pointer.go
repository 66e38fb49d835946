package jcs

import (
	"strconv"
	"strings"
)

// pointerDepth bounds the levels that PointerAt follows.
const pointerDepth = 256

// PointerAt returns the JSON Pointer (RFC 6901) of the innermost member or item of src that
// contains the byte at off. A member reaches from the opening quote of its name to the comma or
// bracket after its value; a comma and a bracket belong to their container. An off at or after the
// end of src stands for the place where the text breaks off.
//
// It is meant for the Offset of an [Error]: src may be malformed from off on. Where it is malformed
// before off, and beyond 256 levels, the answer is an ancestor or "", the document itself. The
// pointer repeats names of the input: it is for the sender, not for a log line.
func PointerAt(src []byte, off int) string {
	var w walk
	for i := 0; i <= off && i < len(src); {
		end := tokenEnd(src, i)
		if !w.enter(src[i:end]) || !w.leave(src[i]) {
			break
		}
		i = end
	}
	return w.pointer()
}

// walk is the position of PointerAt: the containers that it is inside of.
type walk struct {
	levels []level
}

type level struct {
	array  bool
	inside bool   // a member or item has begun, and no comma or bracket came after it
	index  int    // of the item
	name   string // of the member
}

// enter moves to a token, such that pointer answers for each of its bytes.
func (w *walk) enter(token []byte) (ok bool) {
	if len(w.levels) == 0 {
		return true
	}
	top := &w.levels[len(w.levels)-1]
	switch c := token[0]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
	case c == ',' || c == '}' || c == ']':
		top.inside = false
	case top.inside:
	case top.array:
		top.inside = true
	default:
		v, err := Parse(token)
		if err != nil {
			return false
		}
		top.name, top.inside = v.Text()
		return top.inside
	}
	return true
}

// leave does what the token that begins with c does to what follows it.
func (w *walk) leave(c byte) (ok bool) {
	n := len(w.levels)
	switch c {
	case '{', '[':
		if n == pointerDepth {
			return false
		}
		w.levels = append(w.levels, level{array: c == '['})
	case '}', ']':
		w.levels = w.levels[:max(n-1, 0)]
	case ',':
		if n > 0 {
			w.levels[n-1].index++
		}
	}
	return true
}

func (w *walk) pointer() string {
	var p strings.Builder
	for _, l := range w.levels {
		switch {
		case !l.inside:
			return p.String()
		case l.array:
			p.WriteString(appendToken("", strconv.Itoa(l.index)))
		default:
			p.WriteString(appendToken("", l.name))
		}
	}
	return p.String()
}

// tokenEnd returns the offset after the token at i: a string, a structural or white-space byte, or
// a run of anything else. An unclosed string reaches to the end.
func tokenEnd(src []byte, i int) int {
	const single = "{}[],: \t\r\n"
	switch c := src[i]; {
	case strings.IndexByte(single, c) >= 0:
		return i + 1
	case c == '"':
		for i++; i < len(src); i++ {
			switch src[i] {
			case '"':
				return i + 1
			case '\\':
				i++
			}
		}
		return len(src)
	}
	for i < len(src) && src[i] != '"' && strings.IndexByte(single, src[i]) < 0 {
		i++
	}
	return i
}
