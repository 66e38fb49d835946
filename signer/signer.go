package signer

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bindery/bindery/internal/jose"
)

// DefaultTimeout bounds one request to a backend.
const DefaultTimeout = 10 * time.Second

var (
	// ErrDeterministic is the error of [New] for a backend that signs one digest twice alike
	// (GC-142).
	ErrDeterministic = errors.New("signer: it signs one digest twice alike, which §4.1.1 forbids")
	// ErrTimeout is the error of a signature for which the time ran out.
	ErrTimeout = errors.New("signer: no answer in time")
	// ErrWrong is the error of [New] for a backend whose signature does not verify under its
	// own key. A later one fails alike, with an error of the signature.
	ErrWrong = errors.New("signer: its signature does not verify under its key")
)

// A Backend holds one P-256 private key where this process cannot see it. Key is its public
// half, a mandate.Key.
//
// SignDigest returns an ECDSA signature over the digest as ASN.1 DER, SEQUENCE { r, s }, s
// high or low. It must draw fresh randomness for each call, may be called concurrently,
// and must return soon after ctx ends. It is asked again after an error; it need not be
// idempotent.
type Backend interface {
	Key() jose.Key
	SignDigest(ctx context.Context, digest [32]byte) (der []byte, err error)
}

// Config says what [New] wraps.
type Config struct {
	Backend Backend       // required
	Timeout time.Duration // for one signature; 0: [DefaultTimeout]
}

// New returns a Signer over the backend, once that has signed one random digest twice: each
// time validly, and not alike. Errors: [ErrDeterministic], [ErrWrong], [ErrTimeout], an
// error of the backend, or of its key.
func New(ctx context.Context, cfg Config) (*jose.Signer, error) {
	if cfg.Backend == nil || cfg.Timeout < 0 {
		return nil, errors.New("signer: no backend, or a negative timeout")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	b := bridge(cfg)
	s, err := jose.NewSigner(b)
	if err != nil {
		return nil, err
	}
	var digest [32]byte
	if _, err := rand.Read(digest[:]); err != nil {
		return nil, err
	}
	var answers [2][]byte
	for i := range answers {
		if answers[i], err = b.ask(ctx, digest); err != nil {
			return nil, err
		}
		if !ecdsa.VerifyASN1(s.Key().Public, digest[:], answers[i]) {
			return nil, ErrWrong
		}
	}
	if bytes.Equal(answers[0], answers[1]) {
		return nil, ErrDeterministic
	}
	return s, nil
}

// bridge makes a crypto.Signer of a backend.
type bridge Config

func (b bridge) Public() crypto.PublicKey { return b.Backend.Key().Public }

// Sign ignores the reader: the randomness is the backend's.
func (b bridge) Sign(_ io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
	if len(digest) != 32 {
		return nil, errors.New("signer: not a digest of SHA-256")
	}
	return b.ask(context.Background(), [32]byte(digest))
}

func (b bridge) ask(ctx context.Context, digest [32]byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	der, err := b.Backend.SignDigest(ctx, digest)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, errors.Join(ErrTimeout, err) // an answer after the end is none
	}
	if err != nil {
		return nil, fmt.Errorf("signer: %w", err)
	}
	return der, nil
}
