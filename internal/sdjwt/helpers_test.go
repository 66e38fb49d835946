package sdjwt_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/jose"
)

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func digest(disclosure string) string {
	sum := sha256.Sum256([]byte(disclosure))
	return b64(string(sum[:]))
}

// issuer signs with the standard library alone, whatever it is given.
type issuer struct {
	t   testing.TB
	key *ecdsa.PrivateKey
}

func newIssuer(t testing.TB) issuer {
	t.Helper()
	k, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return issuer{t, k}
}

func (i issuer) public() jose.Key {
	k, err := jose.NewKey(&i.key.PublicKey)
	if err != nil {
		i.t.Fatal(err)
	}
	return k
}

func (i issuer) signer() *jose.Signer {
	s, err := jose.NewSigner(i.key)
	if err != nil {
		i.t.Fatal(err)
	}
	return s
}

func (i issuer) jwt(header, payload string) string {
	i.t.Helper()
	input := b64(header) + "." + b64(payload)
	sum := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, sum[:])
	if err != nil {
		i.t.Fatal(err)
	}
	raw := make([]byte, 64)
	r.FillBytes(raw[:32])
	s.FillBytes(raw[32:])
	return input + "." + b64(string(raw))
}

const header = `{"alg":"ES256","kid":"k","typ":"dc+sd-jwt"}`

// token joins a JWT over payload and the disclosures, given as JSON.
func (i issuer) token(payload string, disclosures ...string) string {
	i.t.Helper()
	parts := []string{i.jwt(header, payload)}
	for _, d := range disclosures {
		parts = append(parts, b64(d))
	}
	return strings.Join(parts, "~") + "~"
}

// sd is a payload whose "_sd" lists the digests of the disclosures, given as JSON.
func sd(rest string, disclosures ...string) string {
	list := make([]string, 0, len(disclosures))
	for _, d := range disclosures {
		list = append(list, `"`+digest(b64(d))+`"`)
	}
	return `{"_sd":[` + strings.Join(list, ",") + `],"_sd_alg":"sha-256"` + rest + `}`
}
