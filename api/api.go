// Package api holds the wire types between Bindery's roles: what a party asks of a
// Registration Authority and of a Verification Authority over HTTP, and the error
// that both answer with.
//
// The bodies are canonical JSON objects (package jcs, integer profile), closed: an
// unknown, missing, repeated or ill-typed member is refused, with its JSON Pointer.
// A hold, for example:
//
//	{"crossing_id":"7f3c…","initiator_closed":"eyJhbGci…~","responder_closed":"eyJhbGci…~"}
//
// A credential travels in the Authorization header and nowhere else. An error body is
//
//	{"error":{"code":"MAGNITUDE_EXHAUSTED","message":"the mandate does not cover this magnitude"}}
//
// with a code from the specification's table (§3.7.4) or one of the Code constants
// here, and a message that is constant for its code: no number, token or identifier.
//
// Room: values.
package api

import (
	"github.com/bindery/bindery/jcs"
)

// MaxBody is the largest request body any Bindery endpoint reads, in bytes.
const MaxBody = 1 << 20

// Codes of errors that the specification's table has no name for.
const (
	CodeMalformed       = "malformed_request" // the body broke a rule of this package
	CodeUnauthenticated = "unauthenticated"   // no credential, or an unknown one
	CodeNotFound        = "not_found"         // no such thing, or not yours: the two look alike
	CodeEnrolment       = "enrolment_refused" // the code is unknown, used or expired: the three look alike
	// CodeEnrolmentMismatch: the code is good, and for something else. It is unused still.
	CodeEnrolmentMismatch = "enrolment_mismatch"
	// CodeUnproved: a key comes without its own signature over its registration ([KeyProof]).
	CodeUnproved           = "key_unproved"
	CodeConflict           = "conflict"            // another value stands there already
	CodePredecessorMissing = "predecessor_missing" // an earlier publication of the chain has not arrived; try again
	CodeTooLarge           = "too_large"           // the body is over MaxBody
	// CodeRegistryUnreachable: a Verification Authority gives no word of its own about a
	// mandate, and no pinned Registration Authority could be asked; try again.
	CodeRegistryUnreachable = "registry_unreachable"

	CodeUnavailable       = "temporarily_unavailable" // nothing was decided; try again
	CodeDomainUnreachable = "domain_unreachable"      // the principal's domain gave no answer that the fetch rules allow
	CodeDomainMalformed   = "domain_malformed"        // what the domain publishes is no issuer document
	CodeDomainMismatch    = "domain_mismatch"         // what the domain publishes is another's, or lacks a key of the principal
)

// An Error is a refusal of one of Bindery's own endpoints.
type Error struct {
	Code    string // a name of §3.7.4 or a Code constant
	Pointer string // JSON Pointer of the faulty member, for CodeMalformed and CodeUnproved
	Receipt string // the RA's signed refusal, when it is final (design R3)
}

// Error is the code, and where the fault is if that is known.
func (e *Error) Error() string {
	if e.Pointer != "" {
		return e.Code + " at " + e.Pointer
	}
	return e.Code
}

// Is makes errors.Is compare codes alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Bytes is the error as a response body.
func (e *Error) Bytes() []byte {
	m := []jcs.Member{{Name: "code", Value: jcs.String(e.Code)}, {Name: "message", Value: jcs.String(e.Message())}}
	if e.Pointer != "" {
		m = append(m, jcs.Member{Name: "pointer", Value: jcs.String(e.Pointer)})
	}
	if e.Receipt != "" {
		m = append(m, jcs.Member{Name: "receipt", Value: jcs.String(e.Receipt)})
	}
	return jcs.Object(jcs.Member{Name: "error", Value: jcs.Object(m...)})
}

// Message is the constant sentence for the code.
func (e *Error) Message() string {
	switch e.Code {
	case CodeMalformed:
		return "the request body breaks a rule of this endpoint"
	case CodeUnauthenticated:
		return "this endpoint needs a credential"
	case CodeNotFound:
		return "nothing is known under this name"
	case CodeEnrolment:
		return "the enrolment code is unknown, used or expired"
	case CodeEnrolmentMismatch:
		return "the enrolment code is for something else: a party, an RA, or another principal"
	case CodeUnproved:
		return "a key comes without a proof of its private half, made for this registry and this principal"
	case CodeConflict:
		return "another value stands there already"
	case CodePredecessorMissing:
		return "an earlier publication of this chain has not arrived"
	case CodeTooLarge:
		return "the request body is too large"
	case CodeRegistryUnreachable:
		return "no pinned registry could be asked; try again"
	case CodeUnavailable:
		return "nothing was decided; try again"
	case CodeDomainUnreachable:
		return "the domain gave no answer that can be used"
	case CodeDomainMalformed:
		return "what the domain publishes is no issuer document"
	case CodeDomainMismatch:
		return "what the domain publishes is not of this principal and all its keys"
	}
	return "refused: " + e.Code
}

// ParseError reads an error body; anything else is CodeUnavailable, since an answer
// that cannot be understood has decided nothing.
func ParseError(body []byte) *Error {
	v, err := jcs.Parse(body)
	if err != nil {
		return &Error{Code: CodeUnavailable}
	}
	r := jcs.NewReader(v.Get("error"))
	e := &Error{Code: r.Text("code")}
	e.Pointer, _ = r.OptText("pointer")
	e.Receipt, _ = r.OptText("receipt")
	if r.Err() != nil || e.Code == "" {
		return &Error{Code: CodeUnavailable}
	}
	return e
}
