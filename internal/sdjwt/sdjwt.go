// Package sdjwt reads and writes the compact SD-JWT form that mandates travel in.
//
// It implements RFC 9901 §4 and all of §7.1 (issuance, and verification of the
// issuer-signed JWT and its disclosures) with the narrowings of the seed's §4.1.1:
// ES256 only, SHA-256 only, no key-binding JWT. The form is
//
//	<header>.<payload>.<signature>~<disclosure>~ … ~
//
// with the last tilde always there. A disclosure is the base64url form of the JSON
// array [salt, claim name, value]; the payload's member "_sd" lists the base64url
// SHA-256 digests of the disclosures' characters. For example the disclosure
//
//	WyJVak9nUF82Q1pZeVN6Y3kwY2h4YURnIiwibWFnbml0dWRlX2xpbWl0Iiw1XQ
//
// says ["UjOgP_6CZYySzcy0chxaDg","magnitude_limit",5] and has the digest
//
//	yeJ-fmIE3cfWCQ3v7g2XIxWU4eEbYaRuYZsHgtM7GcA
//
// A token is identified by exact bytes, in three ways: [Token.TokenHash] over the
// whole string, [Token.OpenHash] over the issuer-signed JWT with one tilde, which
// does not depend on what was disclosed, and [Token.SignedHash] over the signing
// input, which no holder can change without breaking the signature.
//
// Only top-level claims that the caller lists may be disclosable, and "_sd" holds
// at most one digest for each of them that is not in plain sight. So nothing else can
// be hidden: no decoy, no claim whose absence would widen what the token permits.
//
// Refused: more than 64 KiB or 64 disclosures, before any work; a missing last tilde
// and anything after it; what package jose refuses in the JWT; a typ other than
// dc+sd-jwt, mandate+sd-jwt or none; a payload or disclosure that is not strict JSON in
// the integer profile of package jcs, or deeper than 16; another "_sd_alg"; a
// digest listed twice or not of 32 bytes; a disclosure that no digest stands for, that
// comes twice, that is of an array element, that names "_sd" or "...", or a claim that
// is there already; and "_sd" or "..." anywhere below the top.
//
// Room: values. No I/O and no clock. [Issue] draws its salts from crypto/rand.
package sdjwt

// Limits on a token as received. Size and count are judged before anything is decoded.
const (
	MaxSize        = 64 << 10 // bytes
	MaxDisclosures = 64
	MaxDepth       = 16 // of the payload and of each disclosure, the root counting 1
)

// Typ is the typ we emit. MandateTyp is accepted too, and so is a header without typ.
const (
	Typ        = "dc+sd-jwt"
	MandateTyp = "mandate+sd-jwt"
)

// Member names that RFC 9901 §4.2.4.1 and §4.1.1 keep for themselves.
const (
	digestsName   = "_sd"
	algorithmName = "_sd_alg"
	elementName   = "..."

	algorithm = "sha-256"
)

// Error says which part of a token broke which rule. Its text holds no byte of the token.
type Error struct {
	Part string // "token", "header", "payload", "signature" or "disclosure"
	Rule string
	// Pointer is a JSON Pointer to where JSON was broken in the payload or disclosure, or
	// "". It is made of the sender's member names, and so not part of the text.
	Pointer string
	cause   error
}

// Error returns the part and the rule.
func (e *Error) Error() string { return "sdjwt: " + e.Part + ": " + e.Rule }

// Unwrap returns the jcs or jose error behind e, or nil.
func (e *Error) Unwrap() error { return e.cause }

func fault(part, rule string) error { return &Error{Part: part, Rule: rule} }
