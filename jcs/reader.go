package jcs

import (
	"slices"
	"strings"
)

const (
	ruleMissing = "missing"
	ruleType    = "type"
	ruleUnknown = "unknown"
)

// A Reader takes the members of one object by name. The first fault sticks: from then on every
// method returns zero values, and Err and Close return that fault, a *[MemberError]. So a decoder
// reads all its members in a row and asks once.
//
// A Reader is for one goroutine.
type Reader struct {
	path   string // JSON Pointer of the object
	fields []field
	fault  *fault // shared with the readers of all objects of the document
}

// field is one member, and what has been read of it.
type field struct {
	name  string
	value Value
	read  bool
	child *Reader
}

type fault struct {
	err *MemberError
}

// NewReader returns a Reader of the object v. If v is no object, the Reader begins with the fault
// "type" at the document itself.
func NewReader(v Value) *Reader {
	r := &Reader{fault: new(fault)}
	if v.Type() != ObjectType {
		r.fault.err = &MemberError{Pointer: "", Rule: ruleType}
		return r
	}
	r.fill(v)
	return r
}

func (r *Reader) fill(v Value) {
	r.fields = make([]field, 0, v.Len())
	for name, value := range v.Members() {
		r.fields = append(r.fields, field{name: name, value: value})
	}
}

// take marks the member as read and returns it, nil if there is none or a fault has stuck.
func (r *Reader) take(name string) *field {
	if r.fault.err != nil {
		return nil
	}
	i := slices.IndexFunc(r.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	r.fields[i].read = true
	return &r.fields[i]
}

// need is take for a member that must be there.
func (r *Reader) need(name string) *field {
	f := r.take(name)
	if f == nil {
		r.Fail(name, ruleMissing)
	}
	return f
}

// Fail records the caller's own rule on a member, by convention "value". A fault that came before
// it stays. The rule is shown to the sender of the document, and so must be a constant text.
func (r *Reader) Fail(name, rule string) {
	if r.fault.err == nil {
		r.fault.err = &MemberError{Pointer: appendToken(r.path, name), Rule: rule}
	}
}

// Text returns a string member, which must be there.
func (r *Reader) Text(name string) string {
	s, _ := textOf(r, r.need(name))
	return s
}

// OptText returns a string member; ok is false if it is absent. A null is not absent.
func (r *Reader) OptText(name string) (s string, ok bool) {
	return textOf(r, r.take(name))
}

// Int returns a member that is an integer n with |n| ≤ 2^53−1, which must be there.
func (r *Reader) Int(name string) int64 {
	n, _ := intOf(r, r.need(name))
	return n
}

// OptInt returns an integer member as Int does; ok is false if it is absent.
func (r *Reader) OptInt(name string) (n int64, ok bool) {
	return intOf(r, r.take(name))
}

// Bool returns a member that is true or false, which must be there.
func (r *Reader) Bool(name string) bool {
	f := r.need(name)
	if f == nil {
		return false
	}
	b, ok := f.value.Bool()
	if !ok {
		r.Fail(name, ruleType)
	}
	return b
}

// Value returns a member of any type, which must be there. What it holds counts as read.
func (r *Reader) Value(name string) Value {
	f := r.need(name)
	if f == nil {
		return Value{}
	}
	return f.value
}

// OptValue returns a member of any type, or the absent Value.
func (r *Reader) OptValue(name string) Value {
	f := r.take(name)
	if f == nil {
		return Value{}
	}
	return f.value
}

// Object returns a Reader of an object member, which must be there. It shares the fault of r and
// is closed with r. A second call for the same name returns the same Reader. It is never nil.
func (r *Reader) Object(name string) *Reader {
	f := r.need(name)
	if f != nil && f.child != nil {
		return f.child
	}
	child := &Reader{path: appendToken(r.path, name), fault: r.fault}
	switch {
	case f == nil:
	case f.value.Type() != ObjectType:
		r.Fail(name, ruleType)
	default:
		child.fill(f.value)
		f.child = child
	}
	return child
}

// Items returns the items of an array member, which must be there. What they hold counts as read.
func (r *Reader) Items(name string) []Value {
	f := r.need(name)
	if f == nil {
		return nil
	}
	if f.value.Type() != ArrayType {
		r.Fail(name, ruleType)
		return nil
	}
	return slices.Collect(f.value.Items())
}

// Err returns the first fault, and ignores members that nobody has read: for open objects.
func (r *Reader) Err() error {
	if r.fault.err == nil {
		return nil
	}
	return r.fault.err
}

// Close returns the first fault. If there is none, the first member in document order of the
// canonical form that nobody has read, here or in an object opened by Object, becomes the fault
// "unknown": for closed objects.
func (r *Reader) Close() error {
	r.refuseUnknown()
	return r.Err()
}

func (r *Reader) refuseUnknown() {
	for _, f := range r.fields {
		if !f.read {
			r.Fail(f.name, ruleUnknown)
			return
		}
		if f.child != nil {
			f.child.refuseUnknown()
		}
	}
}

func textOf(r *Reader, f *field) (string, bool) {
	if f == nil {
		return "", false
	}
	s, ok := f.value.Text()
	if !ok {
		r.Fail(f.name, ruleType)
	}
	return s, ok
}

func intOf(r *Reader, f *field) (int64, bool) {
	if f == nil {
		return 0, false
	}
	n, ok := f.value.Int()
	if !ok {
		r.Fail(f.name, ruleType)
	}
	return n, ok
}

// appendToken appends one reference token to a JSON Pointer (RFC 6901 §3).
func appendToken(pointer, name string) string {
	if strings.ContainsAny(name, "~/") {
		name = strings.ReplaceAll(name, "~", "~0")
		name = strings.ReplaceAll(name, "/", "~1")
	}
	return pointer + "/" + name
}

// parentPointer cuts the last reference token off.
func parentPointer(pointer string) string {
	return pointer[:max(strings.LastIndexByte(pointer, '/'), 0)]
}
