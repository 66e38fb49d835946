package crossing

import (
	"errors"

	"github.com/bindery/bindery/jcs"
)

// MaxTerms is the largest Terms Document, in bytes, that is read.
const MaxTerms = 256 << 10

// Terms is a Terms Document that keeps and R-5 (§4.2).
type Terms struct {
	text  string
	value jcs.Value
	hash  jcs.Hex256
}

// ParseTerms reads a Terms Document. Faults are AGREEMENT_HASH_MISMATCH, since a
// document that cannot be canonicalised is a mismatch (§5.3 P2-4), with the rule and
// the JSON Pointer of the member:
//
//	R-1  the top level is no object
//	R-2  a number is no integer within ±(2^53−1)
//	R-3  a member name is repeated, also by escape
//	R-5  terms_version is missing or no string
//
// Any other fault of syntax, encoding, depth or size is refused as "§4.2 RFC 8785".
func ParseTerms(src []byte) (*Terms, *Refusal) {
	if len(src) > MaxTerms {
		return nil, termsRefusal("§4.2 size", "")
	}
	v, err := jcs.Parse(src)
	if err != nil {
		return nil, termsFault(src, err)
	}
	if v.Type() != jcs.ObjectType {
		return nil, termsRefusal("§4.2 R-1", "")
	}
	if _, ok := v.Get("terms_version").Text(); !ok {
		return nil, termsRefusal("§4.2 R-5", "/terms_version")
	}
	return &Terms{text: string(src), value: v, hash: jcs.HexOf(v.Bytes())}, nil
}

func termsFault(src []byte, err error) *Refusal {
	var fault *jcs.Error
	if !errors.As(err, &fault) {
		return termsRefusal("§4.2 RFC 8785", "")
	}
	at := jcs.PointerAt(src, fault.Offset)
	switch fault.Kind {
	case jcs.KindNumber:
		return termsRefusal("§4.2 R-2", at)
	case jcs.KindDuplicate:
		return termsRefusal("§4.2 R-3", at)
	}
	return termsRefusal("§4.2 RFC 8785: "+fault.Kind.String(), at)
}

func termsRefusal(path, member string) *Refusal {
	return &Refusal{Name: AgreementHashMismatch, Path: path, Member: member}
}

// Hash is the agreement_hash: hex SHA-256 of the canonical bytes (§4.2-1, GC-212).
func (t *Terms) Hash() jcs.Hex256 { return t.hash }

// Canonical is the document's RFC 8785 form. The caller does not change it.
func (t *Terms) Canonical() []byte { return t.value.Bytes() }

// Text is the document as it was written.
func (t *Terms) Text() string { return t.text }
