package envelope

import (
	"errors"
	"fmt"

	"github.com/bindery/bindery/jcs"
)

// An Error says why a text is no envelope: which row of the register it broke, at which member, by
// which rule. Of several faults the first in canonical order is reported; a fault of the JSON
// itself comes before all others.
type Error struct {
	Row  string // "ENV-036"
	Path string // JSON Pointer (RFC 6901) of the member, "" for the whole; it repeats names of the input
	Rule string // the broken rule in a few constant words
}

// Error returns, for example, "envelope: /question/recommended_idx: is not the index of an option
// (ENV-036)". It holds nothing of the input: of Path it has the part that the grammar knows.
func (e *Error) Error() string {
	return fmt.Sprintf("envelope: %s: %s (%s)", shown(e.Path), e.Rule, e.Row)
}

// shown is the head of a path that the grammar has.
func shown(path string) string {
	if n := max(envelopeShape().knows(path), resolutionShape().knows(path)); n > 0 {
		return path[:n]
	}
	return "the whole"
}

// textFault turns a fault of the JSON text into one of an envelope or a resolution: section 6.3.
func textFault(text []byte, err error) *Error {
	var fault *jcs.Error
	if !errors.As(err, &fault) {
		return &Error{Row: "ENV-055", Rule: "is not canonicalizable"}
	}
	e := &Error{Row: "ENV-055", Path: jcs.PointerAt(text, fault.Offset), Rule: "breaks the rule of JSON: " + fault.Rule}
	switch fault.Kind {
	case jcs.KindDuplicate:
		e.Row = "ENV-056"
	case jcs.KindSurrogate:
		e.Row = "ENV-058"
	case jcs.KindNumber:
		e.Row = "ENV-059"
	case jcs.KindDepth:
		e.Row = "ENV-060"
	case jcs.KindSize:
		e.Path = ""
	}
	return e
}

// The names of refused resolutions. A refused resolution is no decision: it is discarded,
// recorded, and nothing is done (section 7.3).
const (
	Malformed   = "RESOLUTION_MALFORMED"    // it is not one of the three forms (ENV-069 to ENV-077)
	Blank       = "RESOLUTION_BLANK"        // its answer has no visible character (AE-13)
	Unknown     = "RESOLUTION_UNKNOWN"      // it names no envelope that this agent emitted (ENV-078)
	Taken       = "RESOLUTION_TAKEN"        // its envelope is resolved already (ENV-079)
	OutOfRange  = "RESOLUTION_OUT_OF_RANGE" // its option_idx is not the index of an option (ENV-075)
	HatchClosed = "RESOLUTION_HATCH_CLOSED" // it uses a hatch that the envelope closed (AE-12)
	Unproven    = "RESOLUTION_UNPROVEN"     // the emission asks for more assurance than it came with (ENV-109)
)

// A Refusal says why a resolution is discarded.
type Refusal struct {
	Name string // one of the names above
	Row  string // "ENV-075"
	Path string // JSON Pointer of the member, "" for the whole
	Rule string // in a few constant words
}

// Error returns, for example, "RESOLUTION_OUT_OF_RANGE: /option_idx: is not the index of an option
// (ENV-075)". It holds nothing of the input.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: %s: %s (%s)", r.Name, shown(r.Path), r.Rule, r.Row)
}

// Unwrap returns [ErrUnknown] or [ErrTaken] for the names that have one.
func (r *Refusal) Unwrap() error {
	switch r.Name {
	case Unknown:
		return ErrUnknown
	case Taken:
		return ErrTaken
	}
	return nil
}
