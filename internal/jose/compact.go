package jose

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"errors"
	"math/big"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// ErrSignature is the error of [Compact.Verify] for a signature that is not the
// key's signature over these bytes.
var ErrSignature = errors.New("jose: signature: does not verify under the key")

const (
	maxHeader      = 1 << 10 // bytes of the decoded header
	signatureChars = 86      // of 64 bytes in base64url
)

// A Header is the protected header of a compact signature. Alg is always ES256.
type Header struct {
	Alg string
	Kid string // 1 to [MaxKeyID] bytes
	Typ string // "" if the header has none
}

// A Compact is a parsed compact signature. Nothing about it is verified yet.
type Compact struct {
	Header       Header
	Payload      []byte
	Signature    [SignatureSize]byte
	SigningInput string // header and payload as they stand in the token, with the dot between
}

// SignCompact signs payload under a header of exactly alg, kid and typ, and returns
// the compact form. kid is the signer's thumbprint. typ must not be empty.
func SignCompact(s *Signer, typ string, payload []byte) (string, error) {
	if typ == "" {
		return "", fault("header", "no typ")
	}
	header := jcs.Object(
		jcs.Member{Name: "alg", Value: jcs.String("ES256")},
		jcs.Member{Name: "kid", Value: jcs.String(s.key.Name())},
		jcs.Member{Name: "typ", Value: jcs.String(typ)},
	)
	input := EncodeBase64(header) + "." + EncodeBase64(payload)
	sig, err := s.Sign([]byte(input))
	if err != nil {
		return "", err
	}
	return input + "." + EncodeBase64(sig[:]), nil
}

// ParseCompact reads a compact signature of at most limit bytes. It checks the
// encoding, the header and the sizes, and establishes no trust: see [Compact.Verify].
// Errors are of type [*Error].
func ParseCompact(token string, limit int) (*Compact, error) {
	if len(token) > limit {
		return nil, fault("token", "too long")
	}
	header, rest, ok := strings.Cut(token, ".")
	payload, signature, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 {
		return nil, fault("token", "not three parts")
	}
	c := &Compact{SigningInput: token[:len(header)+1+len(payload)]}
	if len(signature) != signatureChars {
		return nil, fault("signature", "not 64 bytes")
	}
	sig, err := DecodeBase64(signature)
	if err != nil {
		return nil, fault("signature", "not strict base64url")
	}
	copy(c.Signature[:], sig)
	if c.Payload, err = DecodeBase64(payload); err != nil {
		return nil, fault("payload", "not strict base64url")
	}
	if c.Header, err = parseHeader(header); err != nil {
		return nil, err
	}
	return c, nil
}

func parseHeader(encoded string) (Header, error) {
	src, err := DecodeBase64(encoded)
	if err != nil {
		return Header{}, fault("header", "not strict base64url")
	}
	v, err := jcs.Profile{MaxDepth: 1, MaxSize: maxHeader}.Parse(src)
	if err != nil {
		return Header{}, fault("header", "not a flat object in strict JSON")
	}
	r := jcs.NewReader(v)
	h := Header{Alg: r.Text("alg"), Kid: r.Text("kid")}
	typ, hasTyp := r.OptText("typ")
	h.Typ = typ
	switch {
	case r.Close() != nil:
		return Header{}, fault("header", "not an object of alg, kid and at most typ")
	case h.Alg != "ES256":
		return Header{}, fault("header", "alg is not ES256")
	case !validKeyID(h.Kid):
		return Header{}, fault("header", "kid is empty or too long")
	case hasTyp && typ == "":
		return Header{}, fault("header", "typ is empty")
	}
	return h, nil
}

// Verify checks the signature against k and returns nil or [ErrSignature]. That k is
// the right key, which is for the caller to know, it does not check; the kid in the
// header is a hint by which to look it up.
func (c *Compact) Verify(k Key) error {
	if c == nil || k.Public == nil || k.Public.Curve != elliptic.P256() {
		return ErrSignature
	}
	digest := sha256.Sum256([]byte(c.SigningInput))
	r := new(big.Int).SetBytes(c.Signature[:SignatureSize/2])
	s := new(big.Int).SetBytes(c.Signature[SignatureSize/2:])
	if !ecdsa.Verify(k.Public, digest[:], r, s) {
		return ErrSignature
	}
	return nil
}

// HighS reports whether s is above half the group order. Such a signature is valid,
// and its twin with n−s is too: whoever identifies a token by its bytes has to refuse
// one of the two, and this project refuses the high one at registration.
func (c *Compact) HighS() bool {
	s := new(big.Int).SetBytes(c.Signature[SignatureSize/2:])
	return isHigh(s, elliptic.P256().Params().N)
}
