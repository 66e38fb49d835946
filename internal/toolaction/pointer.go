package toolaction

import (
	"strconv"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// A step leads from a container to what it holds.
type step struct {
	name  string // of a member
	index int    // of an item, -1 for a member
}

// pointer writes steps as a JSON Pointer.
func pointer(path []step) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		if s.index >= 0 {
			b.WriteString(strconv.Itoa(s.index))
			continue
		}
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(s.name, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// isPointer accepts the syntax of RFC 6901: "", or tokens that begin with a slash, with ~ in ~0 and
// ~1 alone.
func isPointer(s string) bool {
	if s != "" && s[0] != '/' {
		return false
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return true
}

// tokens are the decoded parts of a pointer.
func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(pointer[1:], "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts
}

// at is what stands at a pointer in v, absent if nothing does.
func at(v jcs.Value, pointer string) jcs.Value {
	for _, t := range tokens(pointer) {
		v = child(v, t)
	}
	return v
}

func child(v jcs.Value, token string) jcs.Value {
	if v.Type() != jcs.ArrayType {
		return v.Get(token)
	}
	want, err := strconv.Atoi(token)
	if err != nil || strconv.Itoa(want) != token {
		return jcs.Value{}
	}
	n := 0
	for item := range v.Items() {
		if n == want {
			return item
		}
		n++
	}
	return jcs.Value{}
}

// covers reports whether what stands at pointer is at or below above.
func covers(above, pointer string) bool {
	rest, ok := strings.CutPrefix(pointer, above)
	return ok && (rest == "" || rest[0] == '/')
}
