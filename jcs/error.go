package jcs

import "strconv"

// Kind names the rule of the profile that an input broke.
type Kind uint8

// The kinds form a closed set. A second implementation of the profile reports the same kind
// at the same offset for the same input (decision J1).
const (
	KindSyntax    Kind = iota // any fault against the grammar of RFC 8259, a byte order mark included
	KindUTF8                  // a byte sequence that is not valid UTF-8
	KindSurrogate             // a \u escape of one half of a surrogate pair without the other
	KindDuplicate             // a member name repeated within one object, after escape decoding
	KindNumber                // a well-formed number that the profile does not admit
	KindDepth                 // a container nested deeper than MaxDepth
	KindSize                  // an input longer than MaxSize
)

// String returns the lower-case name of k: "syntax", "utf8", "surrogate", "duplicate", "number",
// "depth" or "size". Any other value gives "unknown".
func (k Kind) String() string {
	switch k {
	case KindSyntax:
		return "syntax"
	case KindUTF8:
		return "utf8"
	case KindSurrogate:
		return "surrogate"
	case KindDuplicate:
		return "duplicate"
	case KindNumber:
		return "number"
	case KindDepth:
		return "depth"
	case KindSize:
		return "size"
	}
	return "unknown"
}

// An Error says which rule an input broke and where. Every error that Append, Parse and the
// digest functions return is an *Error. It holds nothing of the input but a position.
type Error struct {
	Kind   Kind
	Offset int    // byte offset into the input: the package comment says of which byte
	Rule   string // the broken rule in a few constant words, such as "leading zero"
}

// Error returns, for example, "jcs: duplicate: member name repeated at byte 17".
func (e *Error) Error() string {
	return "jcs: " + e.Kind.String() + ": " + e.Rule + " at byte " + strconv.Itoa(e.Offset)
}

// A MemberError says which member of a document a [Reader] could not take.
type MemberError struct {
	Pointer string // JSON Pointer (RFC 6901) of the member; "" is the document itself
	Rule    string // "missing", "type", "unknown" or "value", or what the caller gave to Fail
}

// Error returns, for example, `jcs: member "/party/agent_id": missing`. The name of an unknown
// member is the sender's text, so only the object that holds it is named; Pointer has the whole.
func (e *MemberError) Error() string {
	if e.Rule == ruleUnknown {
		return "jcs: object " + strconv.Quote(parentPointer(e.Pointer)) + ": unknown member"
	}
	if e.Pointer == "" {
		return "jcs: document: " + e.Rule
	}
	return "jcs: member " + strconv.Quote(e.Pointer) + ": " + e.Rule
}
