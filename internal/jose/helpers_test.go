package jose_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"math/big"
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// The key, its thumbprint and the token were made by node's crypto module: the
// thumbprint is base64url(SHA-256(JSON.stringify({crv,kty,x,y}))), the token was signed
// with dsaEncoding "ieee-p1363" over {"alg":"ES256","kid":"k-1"} . {"hello":"world"}.
const (
	nodeX          = "cbUM0jxSqhy6bs8ffdbs4bZD764uyX0s4Wm2YinM8OI"
	nodeY          = "qX3Foq5GLa2sMnYHqyE8Gn3aqNcwpLf3CXbbEVzO0tc"
	nodeThumbprint = "XCs6g_lsddGq5XnB9jh5AHquTdbLI-ngEds7kWSYi3A"
	nodeToken      = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImstMSJ9.eyJoZWxsbyI6IndvcmxkIn0.dSV3_lEH20ZIv7QjPB9vxor3duaweTE2zD7cdI0cZOtAIYUXt5Q1cl3im8UWTviKueugHj1G2CY2eqHNNh9GmQ"
	nodePEM        = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgxxy59CfJqN305Hom
N+7EHZ89FqAfhH0z0LDrQLYApWOhRANCAARxtQzSPFKqHLpuzx991uzhtkPvri7J
fSzhabZiKczw4ql9xaKuRi2trDJ2B6shPBp92qjXMKS39wl22xFcztLX
-----END PRIVATE KEY-----
`
)

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func mustKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mustSigner(t testing.TB, k *ecdsa.PrivateKey) *jose.Signer {
	t.Helper()
	s, err := jose.NewSigner(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustValue(t testing.TB, src string) jcs.Value {
	t.Helper()
	v, err := jcs.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// rawToken signs with the standard library alone, whatever the header says.
func rawToken(t testing.TB, k *ecdsa.PrivateKey, header, payload string) string {
	t.Helper()
	input := b64(header) + "." + b64(payload)
	return input + "." + base64.RawURLEncoding.EncodeToString(rawSignature(t, k, input))
}

func rawSignature(t testing.TB, k *ecdsa.PrivateKey, input string) []byte {
	t.Helper()
	digest := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, k, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 64)
	r.FillBytes(raw[:32])
	s.FillBytes(raw[32:])
	return raw
}

// withHighS returns the valid twin of a signature with s above, or below, half the order.
func withHighS(raw []byte, high bool) []byte {
	n := elliptic.P256().Params().N
	s := new(big.Int).SetBytes(raw[32:])
	if isHigh := s.Cmp(new(big.Int).Rsh(n, 1)) > 0; isHigh != high {
		s.Sub(n, s)
	}
	out := make([]byte, 64)
	copy(out, raw[:32])
	s.FillBytes(out[32:])
	return out
}
