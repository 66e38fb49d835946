// Package jose is the small part of JOSE that mandates and signed statements
// stand on: compact ES256 signatures, P-256 keys as JWKs, and their thumbprints.
//
// It implements RFC 7515 §7.1 (compact serialisation), RFC 7517 and RFC 7518 §6.2
// (EC keys) and RFC 7638 (thumbprints), narrowed by the seed's §4.1.1 (a
// non-deterministic scheme) and by the decision for one algorithm, ES256.
//
// A compact signature is three base64url words joined by dots:
//
//	BASE64URL({"alg":"ES256","kid":"<name of the key>","typ":"<what this is>"})
//	  . BASE64URL(payload) . BASE64URL(r ‖ s, 32 bytes each)
//
// and the signature covers the first two words exactly as they stand in the
// token. For example the header {"alg":"ES256","kid":"k1","typ":"dc+sd-jwt"} is
// written
//
//	eyJhbGciOiJFUzI1NiIsImtpZCI6ImsxIiwidHlwIjoiZGMrc2Qtand0In0
//
// The algorithm follows from the key, never from the token: a header that says
// anything but ES256 is refused, and so is every header member other than alg,
// kid and typ, so that crit, b64, jwk, jku and x5c have no meaning to get wrong.
// Also refused: padding, white space and any other byte outside the base64url
// alphabet, unused bits that are not zero, a signature that is not 64 bytes, a
// repeated member name, and in a key a private part, another curve, a point off
// the curve, or a member not listed here. Hence one signature over one payload has
// one accepted spelling, but for one: (r, n−s) is valid whenever (r, s) is. See
// [Compact.HighS].
//
// Room: values. No I/O and no clock. [Signer] and [GenerateKey] draw from
// crypto/rand, and from nothing else.
package jose

// Error says which part of a token or key broke which rule. It holds no byte of
// the input.
type Error struct {
	Part string // "token", "header", "payload", "signature", "jwk", "jwks", "key" or "pem"
	Rule string // what was broken, in a few words
}

// Error returns the part and the rule.
func (e *Error) Error() string { return "jose: " + e.Part + ": " + e.Rule }

func fault(part, rule string) error { return &Error{Part: part, Rule: rule} }
