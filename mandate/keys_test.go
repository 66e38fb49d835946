package mandate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"github.com/bindery/bindery/mandate"
)

// covers GC-207
func TestKeysOfAnotherModule(t *testing.T) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mandate.NewSigner(k)
	if err != nil {
		t.Fatal(err)
	}
	one, err := mandate.ParseJWK(s.Key().JWK())
	if err != nil || one.ID != s.Key().ID {
		t.Fatalf("%v, %v", one, err)
	}
	set, err := mandate.ParseJWKS(mandate.NewKeySet(one).JWKS())
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := set.Find(s.Key().ID); !ok || !found.Public.Equal(&k.PublicKey) {
		t.Errorf("found %v, %v", found, ok)
	}
	for _, bad := range []string{"", "{}", `{"kty":"EC"}`, `{"kty":"EC","kty":"EC"}`} {
		if _, err := mandate.ParseJWK([]byte(bad)); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}
