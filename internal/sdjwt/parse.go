package sdjwt

import (
	"errors"
	"slices"
	"strings"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// A Token is a parsed SD-JWT. Until [Token.Verify] has returned nil for the right key,
// nothing in it may be believed.
type Token struct {
	raw       string
	jwt       string
	jws       *jose.Compact
	claims    jcs.Value
	disclosed []string
	hidden    int
}

// Parse reads a token. The claims named by disclosable, and no others, may be
// selectively disclosed. Errors are of type [*Error]; where strict JSON was broken, the
// [*jcs.Error] is behind it.
func Parse(token string, disclosable ...string) (*Token, error) {
	// Limits first: counting is the only work an oversized token costs.
	if len(token) > MaxSize {
		return nil, fault("token", "longer than 64 KiB")
	}
	if strings.Count(token, "~") > MaxDisclosures+1 {
		return nil, fault("token", "more than 64 disclosures")
	}
	parts := strings.Split(token, "~")
	if len(parts) < 2 {
		return nil, fault("token", "no tilde at the end")
	}
	if parts[len(parts)-1] != "" {
		return nil, fault("token", "bytes after the last tilde")
	}
	jws, err := jose.ParseCompact(parts[0], MaxSize)
	if err != nil {
		return nil, fromJOSE(err)
	}
	switch jws.Header.Typ {
	case "", Typ, MandateTyp:
	default:
		return nil, fault("header", "typ is not an SD-JWT's")
	}
	t := &Token{raw: token, jwt: parts[0], jws: jws}
	if err := t.open(parts[1:len(parts)-1], disclosable); err != nil {
		return nil, err
	}
	return t, nil
}

// open reads payload and disclosures and puts them together (RFC 9901 §7.1 steps 3 to 5).
func (t *Token) open(encoded, disclosable []string) error {
	payload, err := parseJSON("payload", t.jws.Payload)
	if err != nil {
		return err
	}
	if payload.Type() != jcs.ObjectType {
		return fault("payload", "not an object")
	}
	digests, err := readDigests(payload)
	if err != nil {
		return err
	}
	if err := checkBelow(payload); err != nil {
		return err
	}
	absent := 0
	for _, name := range disclosable {
		if payload.Get(name).Type() == jcs.Absent {
			absent++
		}
	}
	if len(digests) > absent {
		return fault("payload", "more digests than claims that may be hidden")
	}
	found, err := matchDisclosures(encoded, digests)
	if err != nil {
		return err
	}
	t.hidden = len(digests) - len(found)
	return t.apply(payload, found, disclosable)
}

// apply builds the processed payload: without "_sd" and "_sd_alg", with what was disclosed.
func (t *Token) apply(payload jcs.Value, found []disclosure, disclosable []string) error {
	members := make([]jcs.Member, 0, payload.Len()+len(found))
	for name, v := range payload.Members() {
		if name != digestsName && name != algorithmName {
			members = append(members, jcs.Member{Name: name, Value: v.Bytes()})
		}
	}
	for _, d := range found {
		switch {
		case !slices.Contains(disclosable, d.name):
			return fault("disclosure", "claim may not be selectively disclosed")
		case payload.Get(d.name).Type() != jcs.Absent || slices.Contains(t.disclosed, d.name):
			return fault("disclosure", "claim is there already")
		}
		members = append(members, jcs.Member{Name: d.name, Value: d.value.Bytes()})
		t.disclosed = append(t.disclosed, d.name)
	}
	slices.Sort(t.disclosed)
	claims, err := parseJSON("payload", jcs.Object(members...))
	t.claims = claims
	return err
}

// Verify checks the issuer's signature under k and returns nil or an [*Error]. The
// disclosures need no signature of their own: their digests are under this one.
func (t *Token) Verify(k jose.Key) error {
	if t == nil || t.jws.Verify(k) != nil {
		return fault("signature", "does not verify under the key")
	}
	return nil
}

// Claims returns the processed payload: the plain claims and those disclosed, without
// RFC 9901's own members.
func (t *Token) Claims() jcs.Value { return t.claims }

// Disclosed returns the names of the claims that came in disclosures, sorted.
func (t *Token) Disclosed() []string { return slices.Clone(t.disclosed) }

// Hidden returns how many digests no disclosure was presented for. Each stands for one
// of the disclosable claims that [Parse] was told of and that [Token.Claims] lacks.
func (t *Token) Hidden() int { return t.hidden }

// KeyID returns the kid of the header, the name to look the key up by.
func (t *Token) KeyID() string { return t.jws.Header.Kid }

// HighS reports whether the signature has a high s; see [jose.Compact.HighS].
func (t *Token) HighS() bool { return t.jws.HighS() }

// String returns the token, byte for byte as it was parsed.
func (t *Token) String() string { return t.raw }

// Bare returns the issuer-signed JWT with one tilde: the token with nothing disclosed.
func (t *Token) Bare() string { return t.jwt + "~" }

// TokenHash returns the SHA-256 of the token as it was parsed, last tilde included.
func (t *Token) TokenHash() jcs.Hex256 { return jcs.HexOf([]byte(t.raw)) }

// SignedHash returns the SHA-256 of the signing input, header and payload with the dot
// between them.
func (t *Token) SignedHash() jcs.Hex256 { return jcs.HexOf([]byte(t.jws.SigningInput)) }

// OpenHash returns the SHA-256 of [Token.Bare].
func (t *Token) OpenHash() jcs.Hex256 { return jcs.HexOf([]byte(t.Bare())) }

func parseJSON(part string, src []byte) (jcs.Value, error) {
	v, err := jcs.Profile{MaxDepth: MaxDepth, MaxSize: MaxSize}.Parse(src)
	if err == nil {
		return v, nil
	}
	e := &Error{Part: part, Rule: "not strict JSON", cause: err}
	if bad := (*jcs.Error)(nil); errors.As(err, &bad) {
		e.Rule = bad.Kind.String() + " fault in JSON"
		e.Pointer = jcs.PointerAt(src, bad.Offset)
	}
	return jcs.Value{}, e
}

func fromJOSE(err error) error {
	e := &Error{Part: "token", Rule: "not a compact ES256 signature", cause: err}
	if bad := (*jose.Error)(nil); errors.As(err, &bad) {
		e.Part, e.Rule = bad.Part, bad.Rule
	}
	return e
}
