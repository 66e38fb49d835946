package jose

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"time"

	"github.com/bindery/bindery/jcs"
)

// MaxKeyID is the longest name of a key that is accepted, in bytes.
const MaxKeyID = 128

const coordinateSize = 32

// A Key is a P-256 public key. Keys are made by [NewKey] and [ParseJWK]; the zero
// Key verifies nothing.
type Key struct {
	// ID is the RFC 7638 SHA-256 thumbprint, base64url, 43 characters. It identifies
	// the key itself: two Keys are the same key when their IDs are equal.
	ID string
	// Kid is the name a foreign publisher gave the key, at most [MaxKeyID] bytes.
	// Empty means that the key goes by its ID, as all of our own do.
	Kid    string
	Public *ecdsa.PublicKey
	// NotBefore and NotAfter are when the key's owner lets it sign: from the first, and
	// until just before the second. A zero time is no bound. They are no part of a JWK.
	NotBefore, NotAfter time.Time
}

// SignsAt reports whether the owner lets the key sign at the given time.
func (k Key) SignsAt(at time.Time) bool {
	return (k.NotBefore.IsZero() || !at.Before(k.NotBefore)) && (k.NotAfter.IsZero() || at.Before(k.NotAfter))
}

// Name returns the name under which the key is looked up: Kid if it has one, else ID.
func (k Key) Name() string {
	if k.Kid != "" {
		return k.Kid
	}
	return k.ID
}

// Same reports whether k and other are the same key, whatever they are called.
// The zero Key is the same as no key.
func (k Key) Same(other Key) bool { return k.ID != "" && k.ID == other.ID }

// NewKey returns the Key for pub, which must be a point of P-256.
func NewKey(pub *ecdsa.PublicKey) (Key, error) {
	if pub == nil || pub.Curve != elliptic.P256() {
		return Key{}, fault("key", "not a P-256 public key")
	}
	point, err := pub.Bytes()
	if err != nil {
		return Key{}, fault("key", "not a point of P-256")
	}
	thumbprint := sha256.Sum256(canonicalJWK(point))
	return Key{ID: EncodeBase64(thumbprint[:]), Public: pub}, nil
}

// ParseJWK reads a public key: kty "EC", crv "P-256", x and y of 32 bytes each in
// strict base64url. The members kid, alg ("ES256") and use ("sig") may be there too
// and must be consistent; any other member is refused, above all the private d.
func ParseJWK(v jcs.Value) (Key, error) {
	r := jcs.NewReader(v)
	kty, crv := r.Text("kty"), r.Text("crv")
	x, y := r.Text("x"), r.Text("y")
	kid, named := r.OptText("kid")
	alg, hasAlg := r.OptText("alg")
	use, hasUse := r.OptText("use")
	if r.Close() != nil {
		return Key{}, fault("jwk", "not an object of kty, crv, x, y and at most kid, alg, use")
	}
	switch {
	case kty != "EC" || crv != "P-256":
		return Key{}, fault("jwk", "not an EC key on P-256")
	case hasAlg && alg != "ES256":
		return Key{}, fault("jwk", "alg is not ES256")
	case hasUse && use != "sig":
		return Key{}, fault("jwk", "use is not sig")
	case named && !validKeyID(kid):
		return Key{}, fault("jwk", "kid is empty or too long")
	}
	k, err := keyAt(x, y)
	if err != nil {
		return Key{}, err
	}
	if kid != k.ID {
		k.Kid = kid
	}
	return k, nil
}

func keyAt(x, y string) (Key, error) {
	point := []byte{4} // uncompressed, SEC 1 §2.3.3
	for _, coordinate := range []string{x, y} {
		b, err := DecodeBase64(coordinate)
		if err != nil || len(b) != coordinateSize {
			return Key{}, fault("jwk", "coordinate is not 32 bytes of strict base64url")
		}
		point = append(point, b...)
	}
	pub, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return Key{}, fault("jwk", "not a point of P-256")
	}
	return NewKey(pub)
}

// JWK returns the key as canonical JSON with exactly the members crv, kty, x and y,
// the preimage of its thumbprint. It returns nil for the zero Key.
func (k Key) JWK() []byte {
	if k.Public == nil {
		return nil
	}
	point, err := k.Public.Bytes()
	if err != nil {
		return nil
	}
	return canonicalJWK(point)
}

// NamedJWK returns the key as it is published: canonical JSON with the members of
// [Key.JWK] and kid, alg "ES256" and use "sig". It returns nil for the zero Key.
func (k Key) NamedJWK() []byte {
	if k.Public == nil {
		return nil
	}
	point, err := k.Public.Bytes()
	if err != nil {
		return nil
	}
	return jcs.Object(append(jwkMembers(point),
		jcs.Member{Name: "alg", Value: jcs.String("ES256")},
		jcs.Member{Name: "kid", Value: jcs.String(k.Name())},
		jcs.Member{Name: "use", Value: jcs.String("sig")},
	)...)
}

func canonicalJWK(point []byte) []byte { return jcs.Object(jwkMembers(point)...) }

func jwkMembers(point []byte) []jcs.Member {
	return []jcs.Member{
		{Name: "crv", Value: jcs.String("P-256")},
		{Name: "kty", Value: jcs.String("EC")},
		{Name: "x", Value: jcs.String(EncodeBase64(point[1 : 1+coordinateSize]))},
		{Name: "y", Value: jcs.String(EncodeBase64(point[1+coordinateSize:]))},
	}
}

func validKeyID(kid string) bool { return kid != "" && len(kid) <= MaxKeyID }
