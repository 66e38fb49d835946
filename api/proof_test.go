package api_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A key and its proof for someKey and acme, both made by Node's crypto (JWK thumbprint and ES256
// with dsaEncoding ieee-p1363), with a key that was thrown away.
const (
	nodeKey   = `{"crv":"P-256","kty":"EC","x":"Wz5mAG0dsUJTMj1wuW6p9VYIGXBgDqTFnzAYSZR1K0c","y":"gb4zZw0-DU01ZBI8qUV_RalckG3TB2hfgG3ghqXOu9Q"}`
	nodeProof = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImxoVEY0ajI2b3N2eS0wckZqemdvYTNtclBLeFFfSnBMT1pJSThvRlczN0UiLCJ0eXAiOiJiaW5kZXJ5LWtleS1wcm9vZitqd3QifQ.eyJrZXkiOiJsaFRGNGoyNm9zdnktMHJGanpnb2EzbXJQS3hRX0pwTE9aSUk4b0ZXMzdFIiwicHJpbmNpcGFsX2lkIjoidXJuOmFuYXg6cHJpbmNpcGFsOmFjbWUiLCJyZWdpc3RyeSI6Ik56YkxzWGg4dURDY2QtNk1Od1hGNFdfN25vV1hGWkFmSGt4WnNSR0M5WHMifQ.I55j7bHg7V8jagSNOpnD-4zumpA88DsMdojDpT3UW64voS0Yqewr7vblVYXr4Ux-zQeH_uw4DMR0m4OEEjY4Bw"
)

func TestKeyProofBytes(t *testing.T) {
	got := api.KeyProof{Registry: someKey, PrincipalID: acme, Key: "k"}.Bytes()
	if want := `{"key":"k","principal_id":"urn:anax:principal:acme","registry":"` + someKey + `"}`; string(got) != want {
		t.Errorf("%s", got)
	}
	v, err := jcs.Parse([]byte(nodeKey))
	if err != nil {
		t.Fatal(err)
	}
	key, err := jose.ParseJWK(v)
	if err != nil {
		t.Fatal(err)
	}
	e := api.Enrol{PrincipalID: acme, Keys: []jose.Key{key}, Proofs: []string{nodeProof}}
	if err := e.Proved(someKey); err != nil {
		t.Error(err)
	}
	e.Proofs = nil
	if err := e.Proved(someKey); !errors.Is(err, &api.Error{Code: api.CodeUnproved}) {
		t.Errorf("without it: %v", err)
	}
}

// TestProved: each key of an enrolment has signed for this authority and this principal, and no
// other signature is taken for that.
//
// covers GC-209
func TestProved(t *testing.T) {
	issuer, agent, human, publisher, other := peerSigner(t), peerSigner(t), peerSigner(t), peerSigner(t), peerSigner(t)
	all := []*jose.Signer{issuer, agent, human, publisher}
	whole := func() api.Enrol {
		e := api.Enrol{
			PrincipalID: acme, Keys: []jose.Key{issuer.Key()}, Agents: []mandate.Agent{{ID: "urn:anax:agent:a", Key: agent.Key()}},
			Humans: []mandate.Human{{ID: "urn:anax:human:h", Key: human.Key()}}, Publisher: &api.Publisher{Key: publisher.Key()},
		}
		if err := e.Prove(someKey, all...); err != nil {
			t.Fatal(err)
		}
		return e
	}
	if err := whole().Proved(someKey); err != nil {
		t.Fatal(err)
	}
	signed := func(s *jose.Signer, typ string, p api.KeyProof) string {
		token, err := jose.SignCompact(s, typ, p.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	about := func(key *jose.Signer) api.KeyProof {
		return api.KeyProof{Registry: someKey, PrincipalID: acme, Key: key.Key().ID}
	}
	borrowed := func() string { // another's signature under this key's name
		c, err := jose.ParseCompact(signed(issuer, api.TypeKeyProof, about(issuer)), 1<<12)
		if err != nil {
			t.Fatal(err)
		}
		sig, err := other.Sign([]byte(c.SigningInput))
		if err != nil {
			t.Fatal(err)
		}
		return c.SigningInput + "." + jose.EncodeBase64(sig[:])
	}
	elsewhere, another, unlike := about(issuer), about(issuer), about(agent)
	elsewhere.Registry, another.PrincipalID = other.Key().ID, acme+"-2"
	for what, c := range map[string]struct {
		at    string
		spoil func(e *api.Enrol)
	}{
		"none":                   {"/keys/0", func(e *api.Enrol) { e.Proofs = nil }},
		"not the issuer's":       {"/keys/0", func(e *api.Enrol) { e.Proofs = e.Proofs[1:] }},
		"not the agent's":        {"/agents/0", func(e *api.Enrol) { e.Proofs = slices.Delete(e.Proofs, 1, 2) }},
		"not the human's":        {"/humans/0", func(e *api.Enrol) { e.Proofs = slices.Delete(e.Proofs, 2, 3) }},
		"not the publisher's":    {"/publisher/jwk", func(e *api.Enrol) { e.Proofs = e.Proofs[:3] }},
		"one of no key":          {"/proofs", func(e *api.Enrol) { e.Proofs = append(e.Proofs, signed(other, api.TypeKeyProof, about(other))) }},
		"one twice":              {"/proofs/4", func(e *api.Enrol) { e.Proofs = append(e.Proofs, e.Proofs[0]) }},
		"no signature":           {"/proofs/0", func(e *api.Enrol) { e.Proofs[0] = "x" }},
		"for another registry":   {"/keys/0", func(e *api.Enrol) { e.Proofs[0] = signed(issuer, api.TypeKeyProof, elsewhere) }},
		"for another principal":  {"/keys/0", func(e *api.Enrol) { e.Proofs[0] = signed(issuer, api.TypeKeyProof, another) }},
		"about another key":      {"/keys/0", func(e *api.Enrol) { e.Proofs[0] = signed(issuer, api.TypeKeyProof, unlike) }},
		"of another kind":        {"/keys/0", func(e *api.Enrol) { e.Proofs[0] = signed(issuer, "jwt", about(issuer)) }},
		"signed by another":      {"/keys/0", func(e *api.Enrol) { e.Proofs[0] = borrowed() }},
		"shown for another's":    {"/keys/0", func(e *api.Enrol) { e.PrincipalID += "-2" }},
		"shown to another":       {"/keys/0", func(e *api.Enrol) { _ = e.Prove(other.Key().ID, all...) }},
		"of an exchanged issuer": {"/keys/0", func(e *api.Enrol) { e.Keys[0] = other.Key() }},
	} {
		e := whole()
		c.spoil(&e)
		err, ok := errors.AsType[*api.Error](e.Proved(someKey))
		if !ok || err.Code != api.CodeUnproved || err.Pointer != c.at {
			t.Errorf("%s: %v, want it at %s", what, err, c.at)
		}
	}
}
