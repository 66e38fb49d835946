package agentauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"

	josev4 "github.com/go-jose/go-jose/v4"

	"github.com/bindery/bindery/jcs"
)

// Limits of an issuer's key set.
const (
	maxKeySet     = 256 << 10 // bytes
	maxIssuerKeys = 128
	maxKid        = 256 // bytes
	minRSA        = 2048
	maxRSA        = 8192 // bits: more costs the verifier, not the signer
)

// An algorithm is one by which a token may be signed, and which keys it goes with.
type algorithm struct {
	name string
	fits func(public any) bool
}

// algorithms are all. None is symmetric: nobody who can check a token could make one.
var algorithms = [...]algorithm{
	{"RS256", fitsRSA}, {"PS256", fitsRSA},
	{"ES256", func(p any) bool { return fitsCurve(p, elliptic.P256()) }},
	{"ES384", func(p any) bool { return fitsCurve(p, elliptic.P384()) }},
	{"EdDSA", func(p any) bool { k, ok := p.(ed25519.PublicKey); return ok && len(k) == ed25519.PublicKeySize }},
}

func fitsRSA(p any) bool {
	k, ok := p.(*rsa.PublicKey)
	return ok && k.N.BitLen() >= minRSA && k.N.BitLen() <= maxRSA && k.E >= 3 && k.E%2 == 1
}

func fitsCurve(p any, curve elliptic.Curve) bool {
	k, ok := p.(*ecdsa.PublicKey)
	return ok && k.Curve == curve
}

// issuerKey is one key of a set.
type issuerKey struct {
	kid, alg string // "" if the set does not say
	public   any
}

// keySet is an issuer's set of keys.
type keySet []issuerKey

// parseKeySet reads a JWK Set. Keys that no algorithm goes with, that are not for signatures
// or that hold a private part are left out, as RFC 7517 §5 has it: a set may hold more than
// one reader's keys.
func parseKeySet(src []byte) (keySet, error) {
	v, err := jcs.Profile{Numbers: jcs.DoubleNumbers, MaxDepth: 8, MaxSize: maxKeySet}.Parse(src)
	if err != nil || v.Get("keys").Type() != jcs.ArrayType {
		return nil, errors.New("agentauth: the key set is no object with keys in strict JSON, or too large")
	}
	if v.Get("keys").Len() > maxIssuerKeys {
		return nil, errors.New("agentauth: the key set has too many keys")
	}
	var set keySet
	for item := range v.Get("keys").Items() {
		if k, ok := parseIssuerKey(item); ok {
			set = append(set, k)
		}
	}
	if len(set) == 0 {
		return nil, errors.New("agentauth: the key set has no key that a token could be checked by")
	}
	return set, nil
}

func parseIssuerKey(v jcs.Value) (issuerKey, bool) {
	use, hasUse := v.Get("use").Text()
	if v.Type() != jcs.ObjectType || v.Get("d").Type() != jcs.Absent || hasUse && use != "sig" {
		return issuerKey{}, false
	}
	// Its chain is nobody's evidence here, and a fault in it no reason to do without the key.
	var members []jcs.Member
	for name, value := range v.Members() {
		if name == "kty" || name == "crv" || name == "x" || name == "y" || name == "n" || name == "e" {
			members = append(members, jcs.Member{Name: name, Value: value.Bytes()})
		}
	}
	var jwk josev4.JSONWebKey
	if jwk.UnmarshalJSON(jcs.Object(members...)) != nil || !jwk.IsPublic() {
		return issuerKey{}, false
	}
	k := issuerKey{public: jwk.Key}
	k.kid, _ = v.Get("kid").Text()
	k.alg, _ = v.Get("alg").Text()
	for _, a := range algorithms {
		if k.goesWith(a) {
			return k, len(k.kid) <= maxKid
		}
	}
	return issuerKey{}, false
}

func (k issuerKey) goesWith(a algorithm) bool {
	return (k.alg == "" || k.alg == a.name) && a.fits(k.public)
}

// find returns the one key that kid names and that goes with alg, or, without a kid, the
// only one that goes with alg; nil if there is none. Where there are two it cannot be told
// which is meant.
func (s keySet) find(kid, alg string) (found *issuerKey) {
	for i := range s {
		for _, a := range algorithms {
			if a.name != alg || !s[i].goesWith(a) || kid != "" && s[i].kid != kid {
				continue
			}
			if found != nil {
				return nil
			}
			found = &s[i]
		}
	}
	return found
}
