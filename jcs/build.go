package jcs

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A Member is one member of an object under construction.
type Member struct {
	Name  string
	Value []byte // canonical JSON, as the builders return it; nil leaves the member out
}

// Object returns the canonical object of the given members, in whatever order they come. A member
// whose Value is nil is left out: absent and null are different documents.
//
// The builders trust their caller, which holds values and not input. A repeated name, a name that
// is not valid UTF-8 and an empty Value that is not nil are programming errors, and panic.
func Object(members ...Member) []byte {
	type built struct {
		name  []byte
		value []byte
	}
	all := make([]built, 0, len(members))
	for _, m := range members {
		if m.Value != nil {
			all = append(all, built{String(m.Name), checked(m.Value)})
		}
	}
	slices.SortFunc(all, func(a, b built) int { return compareStrings(a.name, b.name) })
	dst := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			if bytes.Equal(all[i-1].name, m.name) {
				panic("jcs: member name repeated in Object")
			}
			dst = append(dst, ',')
		}
		dst = append(dst, m.name...)
		dst = append(dst, ':')
		dst = append(dst, m.value...)
	}
	return append(dst, '}')
}

// compareStrings orders two canonical JSON strings by UTF-16 code units.
func compareStrings(a, b []byte) int {
	return compareNames(a[1:len(a)-1], b[1:len(b)-1])
}

func checked(value []byte) []byte {
	if len(value) == 0 {
		panic("jcs: empty value in Object or Array")
	}
	return value
}

// Array returns the array of the given items, each canonical JSON. An empty item panics.
func Array(items ...[]byte) []byte {
	dst := []byte{'['}
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, checked(item)...)
	}
	return append(dst, ']')
}

// String returns s as a canonical JSON string. It panics if s is not valid UTF-8: replacing the
// fault would sign another text than the caller holds.
func String(s string) []byte {
	if !utf8.ValidString(s) {
		panic("jcs: String of invalid UTF-8")
	}
	return appendString(make([]byte, 0, len(s)+2), s)
}

// Int returns n as a canonical JSON number. It panics if |n| > 2^53−1.
func Int(n int64) []byte {
	if n > maxInteger || n < -maxInteger {
		panic("jcs: Int beyond 2^53-1")
	}
	return strconv.AppendInt(nil, n, 10)
}

// Bool returns true or false as JSON.
func Bool(b bool) []byte { return strconv.AppendBool(nil, b) }

// Null returns the JSON null. To leave a member out, use a nil Value instead.
func Null() []byte { return []byte("null") }
