package toolaction

import (
	"errors"

	"github.com/bindery/bindery/jcs"
)

// The names of refusals (EXA-077), which go to the caller.
const (
	Invalid             = "ACTION_INVALID"              // no strict JSON, or nothing that can be bound
	SemanticsUndeclared = "ACTION_SEMANTICS_UNDECLARED" // nobody says whether two spellings are one number
	TimestampInvalid    = "ACTION_TIMESTAMP_INVALID"    // the caller's time is missing or misspelled
)

// An Error refuses a call before it has a binding.
type Error struct {
	Name    string // of the three above
	Pointer string // RFC 6901, into the arguments; it repeats the sender's names, so it is for the sender alone
	Rule    string // the broken rule, in constant words
	Try     string // what the caller or the operator can do, in constant words
}

// Error returns name, rule and advice. It holds nothing of the arguments.
func (e *Error) Error() string { return e.Name + ": " + e.Rule + "; " + e.Try }

// maxPointer is the longest pointer that is told; of a longer one only the document is named.
const maxPointer = 512

func refuse(name, pointer, rule, try string) *Error {
	if len(pointer) > maxPointer {
		pointer = ""
	}
	return &Error{name, pointer, rule, try}
}

// malformed tells a fault of jcs, with the place at which it is.
func malformed(arguments []byte, err error) *Error {
	var fault *jcs.Error
	if !errors.As(err, &fault) {
		return refuse(Invalid, "", "arguments cannot be read", "send one JSON object")
	}
	pointer := jcs.PointerAt(arguments, fault.Offset)
	if fault.Kind == jcs.KindNumber {
		return inexact(pointer)
	}
	return refuse(Invalid, pointer, fault.Kind.String()+": "+fault.Rule, "send strict JSON with unique names")
}

func inexact(pointer string) *Error {
	return refuse(Invalid, pointer, "a number whose exact value is not that of its canonical form", "send a number that binary64 can hold, or a string")
}
