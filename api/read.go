package api

import (
	"errors"

	"github.com/bindery/bindery/jcs"
)

// maxDepth is the deepest nesting of a body of this package: a projection or a key
// inside an object.
const maxDepth = 8

// open parses a request or answer body of this package. Its reader's faults go
// through malformed.
func open(body []byte) (*jcs.Reader, *Error) {
	if len(body) > MaxBody {
		return nil, &Error{Code: CodeTooLarge}
	}
	v, err := jcs.Profile{MaxDepth: maxDepth}.Parse(body)
	if err != nil {
		return nil, syntax(body, err)
	}
	return jcs.NewReader(v), nil
}

// closedObject reads body as one closed object with read.
func closedObject(body []byte, read func(r *jcs.Reader)) error {
	r, refusal := open(body)
	if refusal != nil {
		return refusal
	}
	read(r)
	if err := r.Close(); err != nil {
		return malformed(err)
	}
	return nil
}

// syntax is the refusal of a body that is no strict JSON, at the member where it ends
// to be.
func syntax(body []byte, err error) *Error {
	e := &Error{Code: CodeMalformed}
	if fault, ok := errors.AsType[*jcs.Error](err); ok {
		e.Pointer = jcs.PointerAt(body, fault.Offset)
	}
	return e
}

// malformed is the refusal of a body whose members a reader could not take.
func malformed(err error) error {
	e := &Error{Code: CodeMalformed}
	if fault, ok := errors.AsType[*jcs.MemberError](err); ok {
		e.Pointer = fault.Pointer
	}
	return e
}
