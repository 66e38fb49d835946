package jose

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
)

const (
	pemType    = "PRIVATE KEY"
	maxPEMSize = 8 << 10
)

// GenerateKey makes a new P-256 private key from crypto/rand.
func GenerateKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// MarshalPrivateKeyPEM returns k as one PEM block "PRIVATE KEY" (PKCS #8, RFC 5958),
// unencrypted.
func MarshalPrivateKeyPEM(k *ecdsa.PrivateKey) ([]byte, error) {
	if k == nil || k.Curve != elliptic.P256() {
		return nil, fault("pem", "not a P-256 private key")
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return nil, fault("pem", "not a P-256 private key")
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

// ParsePrivateKeyPEM reads what [MarshalPrivateKeyPEM] writes: exactly one block, no
// headers, nothing but white space around it, a P-256 key inside.
func ParsePrivateKeyPEM(src []byte) (*ecdsa.PrivateKey, error) {
	if len(src) > maxPEMSize {
		return nil, fault("pem", "too long")
	}
	src = bytes.TrimSpace(src)
	if !bytes.HasPrefix(src, []byte("-----BEGIN ")) {
		return nil, fault("pem", "does not begin with a PEM block")
	}
	block, rest := pem.Decode(src)
	if block == nil || block.Type != pemType || len(block.Headers) != 0 || len(rest) != 0 {
		return nil, fault("pem", "not exactly one block PRIVATE KEY")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fault("pem", "not a PKCS #8 key")
	}
	k, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || k.Curve != elliptic.P256() {
		return nil, fault("pem", "not a P-256 private key")
	}
	return k, nil
}
