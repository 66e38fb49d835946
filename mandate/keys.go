package mandate

import (
	"crypto"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// The key types of this package's functions, by names that another module can use.
type (
	Key    = jose.Key    // a P-256 public key with its RFC 7638 thumbprint
	KeySet = jose.KeySet // keys by the kid that finds them
	Signer = jose.Signer // signs ES256, randomised, with low s (M3)
)

// ParseJWK reads one EC P-256 public key; `d` or any other member is refused.
func ParseJWK(jwk []byte) (Key, error) {
	v, err := jcs.Parse(jwk)
	if err != nil {
		return Key{}, err
	}
	return jose.ParseJWK(v)
}

// ParseJWKS reads a JWK Set of at most 64 such keys (GC-207).
func ParseJWKS(jwks []byte) (KeySet, error) { return jose.ParseJWKS(jwks) }

// NewKeySet makes a set of keys.
func NewKeySet(keys ...Key) KeySet { return jose.NewKeySet(keys...) }

// NewSigner wraps a P-256 private key. For one that a KMS or an HSM holds, package signer
// adds time limits and a check that it signs with randomness.
func NewSigner(key crypto.Signer) (*Signer, error) { return jose.NewSigner(key) }
