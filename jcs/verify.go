package jcs

import "unicode/utf8"

// verifyDepth bounds the fixed arrays of verify; deeper input takes the general pass.
const verifyDepth = 64

// verifier decides in one scan, without allocating, whether a text is canonical. Names that are
// strictly ascending are proved sorted and free of duplicates at once. It never decides an error:
// what it does not recognise goes to the parser.
type verifier struct {
	src    []byte
	i      int
	depth  int
	object uint64            // bit d set: the container at depth d+1 is an object
	names  [verifyDepth]name // per depth, the last name; its end is 0 before the first
}

// name is the span of a member name, quotes included, and whether it holds an escape.
type name struct {
	start, end uint32
	escaped    bool
}

// verify reports whether src is canonical with at most maxDepth levels. For text deeper than
// verifyDepth, and for numbers other than integers of the integer profile, it reports false.
func verify(src []byte, maxDepth int) bool {
	if !utf8.Valid(src) {
		return false
	}
	v := verifier{src: src}
	limit := min(maxDepth, verifyDepth)
	for {
		opened, ok := v.value(limit)
		if !ok {
			return false
		}
		if opened {
			continue
		}
		more, ok := v.next()
		if !ok {
			return false
		}
		if !more {
			return v.i == len(src)
		}
	}
}

func (v *verifier) peek() byte {
	if v.i < len(v.src) {
		return v.src[v.i]
	}
	return 0
}

// value takes one scalar, one empty container or the start of a container up to its first value.
func (v *verifier) value(limit int) (opened, ok bool) {
	switch c := v.peek(); {
	case c == '{' || c == '[':
		return v.open(c, limit)
	case c == '"':
		_, ok := v.str()
		return false, ok
	case c == '-' || isDigit(c):
		return false, v.integer()
	case c == 't':
		return false, v.literal("true")
	case c == 'f':
		return false, v.literal("false")
	case c == 'n':
		return false, v.literal("null")
	}
	return false, false
}

func (v *verifier) open(c byte, limit int) (opened, ok bool) {
	if v.depth == limit {
		return false, false
	}
	v.i++
	if v.peek() == c+2 { // '{' and '}', '[' and ']' lie two apart
		v.i++
		return false, true
	}
	bit := uint64(1) << v.depth
	v.object &^= bit
	v.names[v.depth] = name{}
	v.depth++
	if c == '[' {
		return true, true
	}
	v.object |= bit
	return true, v.name()
}

// next goes from the end of a value to the start of the next one; more is false at the end of
// the outermost value.
func (v *verifier) next() (more, ok bool) {
	for v.depth > 0 {
		object := v.object>>(v.depth-1)&1 == 1
		switch c := v.peek(); {
		case c == ',':
			v.i++
			return true, !object || v.name()
		case c == '}' && object, c == ']' && !object:
			v.i++
			v.depth--
		default:
			return false, false
		}
	}
	return false, true
}

// name takes a member name and its colon, and holds it against the name before it.
func (v *verifier) name() bool {
	start := v.i
	if v.peek() != '"' {
		return false
	}
	escaped, ok := v.str()
	if !ok || v.peek() != ':' {
		return false
	}
	last := &v.names[v.depth-1]
	this := name{uint32(start), uint32(v.i), escaped}
	if last.end != 0 && compareNames(v.src, *last, this) >= 0 {
		return false
	}
	*last = this
	v.i++
	return true
}

// str takes one string in canonical spelling.
func (v *verifier) str() (escaped, ok bool) {
	src, i := v.src, v.i+1
	for i < len(src) {
		switch c := src[i]; {
		case c == '"':
			v.i = i + 1
			return escaped, true
		case c == '\\':
			n := canonicalEscape(src[i:])
			if n == 0 {
				return false, false
			}
			escaped = true
			i += n
		case c < 0x20:
			return false, false
		default:
			i++
		}
	}
	return false, false
}

// integer takes one integer of the integer profile in canonical spelling.
func (v *verifier) integer() bool {
	end, plain, rule := scanNumber(v.src, v.i)
	token := v.src[v.i:end]
	if rule != "" || !plain || string(token) == "-0" {
		return false
	}
	v.i = end
	_, ok := plainInteger(token)
	return ok
}

func (v *verifier) literal(word string) bool {
	if end := v.i + len(word); end <= len(v.src) && string(v.src[v.i:end]) == word {
		v.i = end
		return true
	}
	return false
}
