package agentauth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
)

const (
	issuer   = "https://login.example"
	audience = "https://gateway.example/mcp"
)

// start is where the tests' clock stands at first.
var start = time.Unix(1_800_000_000, 0)

// An idp is an issuer of the tests. It signs with the standard library alone, so that the
// library under test is not its own judge.
type idp struct {
	rsa, otherRSA *rsa.PrivateKey
	p256          *ecdsa.PrivateKey
	p384          *ecdsa.PrivateKey
	ed            ed25519.PrivateKey
}

var theIDP = sync.OnceValue(func() *idp {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	i := &idp{}
	var err error
	i.rsa, err = rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	i.otherRSA, err = rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	i.p256, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	i.p384, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must(err)
	_, i.ed, err = ed25519.GenerateKey(rand.Reader)
	must(err)
	return i
})

type object = map[string]any

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func rsaJWK(k *rsa.PublicKey, kid string) object {
	return object{"kty": "RSA", "n": b64(k.N.Bytes()), "e": b64(big.NewInt(int64(k.E)).Bytes()), "kid": kid}
}

func ecJWK(k *ecdsa.PublicKey, kid string) object {
	size := (k.Curve.Params().BitSize + 7) / 8
	point, err := k.Bytes()
	if err != nil {
		panic(err)
	}
	return object{"kty": "EC", "crv": k.Curve.Params().Name, "x": b64(point[1 : 1+size]), "y": b64(point[1+size:]), "kid": kid}
}

func edJWK(k ed25519.PublicKey, kid string) object {
	return object{"kty": "OKP", "crv": "Ed25519", "x": b64(k), "kid": kid}
}

// keys are the issuer's set: what it signs with, and what it has there for others.
func (i *idp) keys() []object {
	return []object{
		rsaJWK(&i.rsa.PublicKey, "rsa"), ecJWK(&i.p256.PublicKey, "p256"), ecJWK(&i.p384.PublicKey, "p384"),
		edJWK(i.ed.Public().(ed25519.PublicKey), "ed"),
		{"kty": "oct", "k": b64([]byte("0123456789abcdef0123456789abcdef")), "kid": "oct"},
		{"kty": "unheard of", "kid": "strange"},
		{"kty": "EC", "crv": "P-256", "use": "enc", "kid": "enc", "x": "", "y": ""},
	}
}

func set(keys ...object) []byte {
	b, err := json.Marshal(object{"keys": keys})
	if err != nil {
		panic(err)
	}
	return b
}

// sign makes a token of any header and claims.
func (i *idp) sign(header, claims any) string { return i.signRaw(text(header), text(claims)) }

func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// signRaw signs as the header says, or as its test says by a header that lies.
func (i *idp) signRaw(header, claims string) string {
	var h struct{ Alg, As string }
	_ = json.Unmarshal([]byte(header), &h)
	input := b64([]byte(header)) + "." + b64([]byte(claims))
	return input + "." + b64(i.signature(h.Alg, input))
}

func (i *idp) signature(alg, input string) []byte {
	sum := sha256.Sum256([]byte(input))
	sum384 := sha512.Sum384([]byte(input))
	var sig []byte
	var err error
	switch alg {
	case "RS256":
		sig, err = rsa.SignPKCS1v15(rand.Reader, i.rsa, crypto.SHA256, sum[:])
	case "PS256":
		sig, err = rsa.SignPSS(rand.Reader, i.rsa, crypto.SHA256, sum[:], nil)
	case "ES256":
		sig, err = fixed(i.p256, sum[:], 32)
	case "ES384":
		sig, err = fixed(i.p384, sum384[:], 48)
	case "EdDSA":
		sig = ed25519.Sign(i.ed, []byte(input))
	case "HS256": // by the public key, as if it were a shared secret
		der, _ := x509.MarshalPKIXPublicKey(&i.rsa.PublicKey)
		mac := hmac.New(sha256.New, der)
		mac.Write([]byte(input))
		sig = mac.Sum(nil)
	case "none":
	default:
		sig = make([]byte, 64)
	}
	if err != nil {
		panic(err)
	}
	return sig
}

func fixed(k *ecdsa.PrivateKey, sum []byte, size int) ([]byte, error) {
	r, s, err := ecdsa.Sign(rand.Reader, k, sum)
	if err != nil {
		return nil, err
	}
	return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...), nil
}

// claims are good ones, changed as told; a nil takes one away.
func claims(change object) object {
	c := object{
		"iss": issuer, "aud": audience, "sub": "user-7", "client_id": "billing",
		"exp": start.Unix() + 300, "iat": start.Unix(), "nbf": start.Unix(),
	}
	for name, v := range change {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
}

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: start} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newAuth(t testing.TB, cfg agentauth.Config) *agentauth.Authenticator {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return start }
	}
	a, err := agentauth.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// tokens is a Config that takes the issuer's tokens.
func tokens() agentauth.Config {
	return agentauth.Config{Token: &agentauth.Token{Issuer: issuer, Audience: audience, KeySet: set(theIDP().keys()...)}}
}

func request(authorization ...string) *http.Request {
	r := httptest.NewRequest("POST", "/mcp", nil)
	for _, v := range authorization {
		r.Header.Add("Authorization", v)
	}
	return r
}

// name is of the refusal, "" of none.
func name(err error) string {
	if e, ok := errors.AsType[*agentauth.Error](err); ok {
		return e.Name
	}
	if err != nil {
		return "not an *Error: " + err.Error()
	}
	return ""
}
