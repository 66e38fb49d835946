package jcs

import (
	"bytes"
	"iter"
)

// Type is the JSON type of a [Value].
type Type uint8

// The types of JSON, and Absent for the zero [Value].
const (
	Absent Type = iota
	NullType
	BoolType
	NumberType
	StringType
	ArrayType
	ObjectType
)

// String returns "absent", "null", "bool", "number", "string", "array" or "object".
func (t Type) String() string {
	switch t {
	case Absent:
		return "absent"
	case NullType:
		return "null"
	case BoolType:
		return "bool"
	case NumberType:
		return "number"
	case StringType:
		return "string"
	case ArrayType:
		return "array"
	case ObjectType:
		return "object"
	}
	return "unknown"
}

// A Value is a cursor into canonical bytes. Only [Parse] makes one, so whoever holds a Value that
// is not absent holds well-formed, canonical JSON. The zero Value is [Absent]. Names match byte for
// byte; there is no folding of case. A Value may be copied and read from many goroutines.
type Value struct {
	b []byte
}

// Parse accepts the JSON text src under the integer profile. The Value keeps its own copy. The
// error is an *[Error].
func Parse(src []byte) (Value, error) {
	return Profile{}.Parse(src)
}

// Parse accepts the JSON text src under profile p. See the function [Parse].
func (p Profile) Parse(src []byte) (Value, error) {
	text, err := p.Append(nil, src)
	if err != nil {
		return Value{}, err
	}
	return Value{text}, nil
}

// Type returns the JSON type of v.
func (v Value) Type() Type {
	if len(v.b) == 0 {
		return Absent
	}
	switch v.b[0] {
	case 'n':
		return NullType
	case 't', 'f':
		return BoolType
	case '"':
		return StringType
	case '[':
		return ArrayType
	case '{':
		return ObjectType
	}
	return NumberType
}

// Bytes returns the canonical bytes of v, nil if v is absent. The caller must not modify them.
func (v Value) Bytes() []byte { return v.b }

// Text returns the text of a string; ok is false for any other type.
func (v Value) Text() (s string, ok bool) {
	if v.Type() != StringType {
		return "", false
	}
	return decode(v.b), true
}

// Int returns a number n with |n| ≤ 2^53−1; ok is false for any other type, and for the other
// numbers that [DoubleNumbers] admits.
func (v Value) Int() (n int64, ok bool) {
	if v.Type() != NumberType || bytes.ContainsAny(v.b, ".e") {
		return 0, false
	}
	return plainInteger(v.b)
}

// Bool returns a truth value; ok is false for any other type.
func (v Value) Bool() (b, ok bool) {
	if v.Type() != BoolType {
		return false, false
	}
	return v.b[0] == 't', true
}

// Get returns the member of that name, or the absent Value if v is no object or has none.
func (v Value) Get(name string) Value {
	if v.Type() != ObjectType {
		return Value{}
	}
	want := appendString(make([]byte, 0, 64), name)
	for key, value := range v.members() {
		if bytes.Equal(key, want) {
			return value
		}
	}
	return Value{}
}

// Members yields the members of an object in canonical order, and nothing for other types.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for key, value := range v.members() {
			if !yield(decode(key), value) {
				return
			}
		}
	}
}

// Items yields the items of an array in order, and nothing for other types.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Type() != ArrayType {
			return
		}
		for i := 1; v.b[i] != ']'; {
			end := valueEnd(v.b, i)
			if !yield(Value{v.b[i:end:end]}) {
				return
			}
			i = afterComma(v.b, end)
		}
	}
}

// Len returns the number of members or items, 0 for other types.
func (v Value) Len() int {
	n := 0
	for range v.members() {
		n++
	}
	for range v.Items() {
		n++
	}
	return n
}

// members yields the names as they stand, quotes included.
func (v Value) members() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		if v.Type() != ObjectType {
			return
		}
		for i := 1; v.b[i] != '}'; {
			colon := stringEnd(v.b, i)
			end := valueEnd(v.b, colon+1)
			if !yield(v.b[i:colon], Value{v.b[colon+1 : end : end]}) {
				return
			}
			i = afterComma(v.b, end)
		}
	}
}

// afterComma returns the start of the next member or item, given the end of one: after the comma,
// or at the closing bracket.
func afterComma(b []byte, i int) int {
	if b[i] == ',' {
		return i + 1
	}
	return i
}

// valueEnd returns the offset after the value that begins at i of the canonical text b.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// stringEnd returns the offset after the string whose opening quote is at i of the canonical
// text b.
func stringEnd(b []byte, i int) int {
	for i = plainRun(b, i+1); b[i] != '"'; i = plainRun(b, i+2) {
	}
	return i + 1
}
