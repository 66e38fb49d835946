package jose

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"math/big"
)

// SignatureSize is the size of an ES256 signature r ‖ s in bytes (RFC 7518 §3.4).
const SignatureSize = 64

// A Signer signs with one P-256 key held by a [crypto.Signer]: a key in memory, a
// token, or a remote service. Every signature is randomised and has a low s.
// A Signer is safe for concurrent use if the underlying one is.
type Signer struct {
	backend  crypto.Signer
	key      Key
	verified bool // what the backend answers is verified before it is used
	open     func() (*Signer, error)
}

// NewSigner returns a Signer over s, whose public key must be on P-256. What s signs is
// verified under that key before it leaves, unless s is an [*ecdsa.PrivateKey]: there the
// standard library has both halves, and nobody stands between.
func NewSigner(s crypto.Signer) (*Signer, error) {
	if s == nil {
		return nil, fault("key", "no signer")
	}
	pub, ok := s.Public().(*ecdsa.PublicKey)
	if !ok {
		return nil, fault("key", "not a P-256 public key")
	}
	key, err := NewKey(pub)
	if err != nil {
		return nil, err
	}
	_, inMemory := s.(*ecdsa.PrivateKey)
	return &Signer{backend: s, key: key, verified: !inMemory}, nil
}

// Later returns a Signer with the given key that open provides when something is to be
// signed, each time: a private key that nothing uses need not be opened. A Signer of
// another key is an error then.
func Later(key Key, open func() (*Signer, error)) (*Signer, error) {
	if key.Public == nil || open == nil {
		return nil, fault("key", "no key, or nothing to open it")
	}
	return &Signer{key: key, open: open}, nil
}

// Key returns the public key that verifies what s signs.
func (s *Signer) Key() Key { return s.key }

// Sign returns the ES256 signature r ‖ s over signingInput, low s. Two calls with
// one input give two signatures (§4.1.1, GC-142).
func (s *Signer) Sign(signingInput []byte) ([SignatureSize]byte, error) {
	if s.open != nil {
		opened, err := s.opened()
		if err != nil {
			return [SignatureSize]byte{}, err
		}
		return opened.Sign(signingInput)
	}
	digest := sha256.Sum256(signingInput)
	// The reader is never nil and never the caller's: a nil one makes the standard
	// library sign deterministically (RFC 6979), which §4.1.1 forbids.
	der, err := s.backend.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return [SignatureSize]byte{}, err
	}
	if s.verified && !ecdsa.VerifyASN1(s.key.Public, digest[:], der) {
		return [SignatureSize]byte{}, fault("signature", "signer answered with no signature of its key over these bytes")
	}
	return rawLowS(der)
}

func (s *Signer) opened() (*Signer, error) {
	opened, err := s.open()
	if err != nil {
		return nil, err
	}
	if opened == nil || !opened.key.Same(s.key) {
		return nil, fault("key", "opened to another key")
	}
	return opened, nil
}

// rawLowS turns an ASN.1 signature into r ‖ s, with s replaced by n−s if that is
// smaller. Both are valid for the same key and input.
func rawLowS(der []byte) ([SignatureSize]byte, error) {
	var raw [SignatureSize]byte
	var sig struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &sig)
	n := elliptic.P256().Params().N
	if err != nil || len(rest) != 0 || !inGroup(sig.R, n) || !inGroup(sig.S, n) {
		return raw, fault("signature", "signer answered with no ASN.1 signature of P-256")
	}
	if isHigh(sig.S, n) {
		sig.S.Sub(n, sig.S)
	}
	sig.R.FillBytes(raw[:SignatureSize/2])
	sig.S.FillBytes(raw[SignatureSize/2:])
	return raw, nil
}

func inGroup(x, n *big.Int) bool { return x.Sign() > 0 && x.Cmp(n) < 0 }

func isHigh(s, n *big.Int) bool { return s.Cmp(new(big.Int).Rsh(n, 1)) > 0 }
