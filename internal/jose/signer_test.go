package jose_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/jose"
)

// backend is a crypto.Signer of the test's making over one key.
type backend struct {
	key  *ecdsa.PrivateKey
	sign func(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error)
}

func (b backend) Public() crypto.PublicKey { return &b.key.PublicKey }

func (b backend) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return b.sign(random, digest, opts)
}

// covers GC-142
func TestSignTwiceDiffers(t *testing.T) {
	k := mustKey(t)
	remote := backend{key: k, sign: func(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
		if random != rand.Reader || opts.HashFunc() != crypto.SHA256 || len(digest) != 32 {
			t.Errorf("backend asked for another signature than a randomised one over SHA-256")
		}
		return k.Sign(random, digest, opts)
	}}
	for name, b := range map[string]crypto.Signer{"memory": k, "remote": remote} {
		s, err := jose.NewSigner(b)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[[64]byte]bool)
		for range 64 {
			sig, err := s.Sign([]byte("one input"))
			if err != nil {
				t.Fatal(err)
			}
			if seen[sig] {
				t.Fatalf("%s: one signature twice", name)
			}
			seen[sig] = true
			if !isLow(sig) {
				t.Fatalf("%s: high s", name)
			}
		}
	}
}

func isLow(sig [64]byte) bool {
	n := elliptic.P256().Params().N
	return new(big.Int).SetBytes(sig[32:]).Cmp(new(big.Int).Rsh(n, 1)) <= 0
}

func TestSignerNormalisesHighS(t *testing.T) {
	k := mustKey(t)
	high := backend{key: k, sign: func(random io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) {
		r, s, err := ecdsa.Sign(random, k, digest)
		if err != nil {
			return nil, err
		}
		n := elliptic.P256().Params().N
		if s.Cmp(new(big.Int).Rsh(n, 1)) <= 0 {
			s.Sub(n, s)
		}
		return asn1.Marshal(struct{ R, S *big.Int }{r, s})
	}}
	s, err := jose.NewSigner(high)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jose.SignCompact(s, "x+jwt", []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := jose.ParseCompact(token, 1<<10)
	if err != nil || c.HighS() || c.Verify(s.Key()) != nil {
		t.Errorf("parse %v, high %v, verify %v", err, c.HighS(), c.Verify(s.Key()))
	}
}

func TestSignerRefusesBrokenBackend(t *testing.T) {
	n := elliptic.P256().Params().N
	der := func(r, s *big.Int) []byte {
		b, err := asn1.Marshal(struct{ R, S *big.Int }{r, s})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	one := big.NewInt(1)
	for name, answer := range map[string][]byte{
		"nothing":       nil,
		"raw":           make([]byte, 64),
		"trailing byte": append(der(one, one), 0),
		"r zero":        der(new(big.Int), one),
		"s zero":        der(one, new(big.Int)),
		"r negative":    der(big.NewInt(-1), one),
		"r is n":        der(n, one),
		"s is n":        der(one, n),
		"s huge":        der(one, new(big.Int).Lsh(one, 300)),
	} {
		if raw, err := jose.RawLowS(answer); err == nil || raw != [64]byte{} {
			t.Errorf("%s: accepted", name)
		}
	}
	failing := errors.New("token removed")
	s, err := jose.NewSigner(backend{mustKey(t), func(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { return nil, failing }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jose.SignCompact(s, "x", nil); !errors.Is(err, failing) {
		t.Errorf("error of the backend is lost: %v", err)
	}
}

// covers GC-143
func TestNewSignerRefuses(t *testing.T) {
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	for name, s := range map[string]crypto.Signer{"nil": nil, "Ed25519": ed, "P-384": p384} {
		if _, err := jose.NewSigner(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSignCompactHeader(t *testing.T) {
	s := mustSigner(t, mustKey(t))
	token, err := jose.SignCompact(s, "dc+sd-jwt", []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	header, rest, _ := strings.Cut(token, ".")
	got, err := base64.RawURLEncoding.DecodeString(header)
	if want := `{"alg":"ES256","kid":"` + s.Key().ID + `","typ":"dc+sd-jwt"}`; err != nil || string(got) != want {
		t.Errorf("header %s, %v, want %s", got, err, want)
	}
	if !strings.HasPrefix(rest, b64(`{"a":1}`)+".") {
		t.Errorf("payload %s", rest)
	}
	if _, err := jose.SignCompact(s, "", nil); err == nil {
		t.Error("signed without a typ")
	}
}

// covers GC-142
func TestSignerVerifiesBackend(t *testing.T) {
	k, other := mustKey(t), mustKey(t)
	for name, sign := range map[string]func(digest []byte) ([]byte, error){
		"another digest": func(digest []byte) ([]byte, error) {
			digest = append([]byte{digest[0] ^ 1}, digest[1:]...)
			return k.Sign(rand.Reader, digest, crypto.SHA256)
		},
		"another key": func(digest []byte) ([]byte, error) { return other.Sign(rand.Reader, digest, crypto.SHA256) },
	} {
		s, err := jose.NewSigner(backend{k, func(_ io.Reader, digest []byte, _ crypto.SignerOpts) ([]byte, error) { return sign(digest) }})
		if err != nil {
			t.Fatal(err)
		}
		if sig, err := s.Sign([]byte("x")); err == nil || sig != [64]byte{} {
			t.Errorf("%s: a signature that does not verify leaves", name)
		}
	}
}

func TestLater(t *testing.T) {
	now := mustSigner(t, mustKey(t))
	opened := 0
	s, err := jose.Later(now.Key(), func() (*jose.Signer, error) { opened++; return now, nil })
	if err != nil || opened != 0 || !s.Key().Same(now.Key()) {
		t.Fatalf("%v, opened %d times", err, opened)
	}
	token, err := jose.SignCompact(s, "x+jwt", []byte(`{}`))
	if err != nil || opened != 1 {
		t.Fatalf("%v, opened %d times", err, opened)
	}
	c, err := jose.ParseCompact(token, 1<<10)
	if err != nil || c.Verify(now.Key()) != nil {
		t.Errorf("%v, %v", err, c.Verify(now.Key()))
	}
	locked := errors.New("locked")
	for name, open := range map[string]func() (*jose.Signer, error){
		"locked":      func() (*jose.Signer, error) { return nil, locked },
		"another key": func() (*jose.Signer, error) { return mustSigner(t, mustKey(t)), nil },
		"nothing":     func() (*jose.Signer, error) { return nil, nil },
	} {
		s, err := jose.Later(now.Key(), open)
		if err != nil {
			t.Fatal(err)
		}
		if sig, err := s.Sign([]byte("x")); err == nil || sig != [64]byte{} || name == "locked" && !errors.Is(err, locked) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := jose.Later(jose.Key{}, func() (*jose.Signer, error) { return now, nil }); err == nil {
		t.Error("no key: taken")
	}
	if _, err := jose.Later(now.Key(), nil); err == nil {
		t.Error("nothing to open it: taken")
	}
}
