package mandate_test

import (
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// closedBy returns the claims of a Closed that this human signs under the Open token.
func (w world) closedBy(humanID, openToken string) claims {
	return w.closedUnder(openToken).with(claims{"signer_role": `"human"`, "iss": `"` + humanID + `"`})
}

// named is p with a key that goes by a name of its own.
func (p party) named(kid string) party {
	p.key.Kid = kid
	return p
}

// nameHeader is the header of a token whose key goes by its name.
func (p party) nameHeader() string { return `{"alg":"ES256","kid":"` + p.key.Name() + `"}` }

// TestHumanByTheRecord verifies Closeds of humans (T2) under what the RA's record says of
// them, as a counterparty does: record signed, parsed, and asked for the signer's keys.
//
// covers GC-021, GC-146, GC-149, GC-153, GC-167, GC-169
func TestHumanByTheRecord(t *testing.T) {
	const eve = "urn:anax:human:eve"
	w, other := newWorld(t), newParty(t)
	ada, again, second := w.human.named("ada-2026"), newParty(t), newParty(t).named("eve")
	authority := newParty(t)
	record := mandate.Principal{
		ID: acme, Name: "Acme", Active: true, Keys: []jose.Key{w.principal.key},
		Agents: []mandate.Agent{{ID: agent, Key: w.agent.key}, {ID: "urn:anax:agent:other", Key: other.key}},
		Humans: []mandate.Human{
			{ID: human, Key: ada.key}, {ID: human, Key: again.key}, {ID: eve, Key: second.key},
			{ID: human, Key: w.agent.key}, {ID: human, Key: other.named("other").key}, // no human's
		},
		At: at(issuedAt), Expires: at(issuedAt + 900),
	}
	signed, err := record.Sign(authority.signer())
	if err != nil {
		t.Fatal(err)
	}
	if record, err = mandate.ParsePrincipal(signed, authority.keys()); err != nil {
		t.Fatal(err)
	}
	for _, variant := range []struct{ name, cnf string }{{"cnf", w.open["cnf"]}, {"no cnf", ""}} {
		openToken := w.principal.token(w.open.with(claims{"cnf": variant.cnf}))
		open := mustOpen(t, openToken, record.IssuerKeys(at(issuedAt)))
		for name, c := range map[string]struct {
			signer party
			human  string
			claim  string // "" if it verifies
		}{
			"a key by its own name":         {ada, human, ""},
			"a second key, by thumbprint":   {again, human, ""},
			"another human":                 {second, eve, ""},
			"the key by its thumbprint":     {w.human, human, "kid"}, // it is registered by its name alone
			"another human's key":           {second, human, "kid"},
			"for another human":             {ada, eve, "kid"},
			"nobody of the Principal's":     {ada, "urn:anax:human:zoe", "kid"},
			"the agent's key":               {w.agent, human, "kid"},
			"the key of another agent":      {other.named("other"), human, "kid"},
			"the Principal's key":           {w.principal, human, "kid"},
			"a stranger's key by that name": {newParty(t).named("ada-2026"), human, "signature"},
			"the agent's key by that name":  {w.agent.named("ada-2026"), human, "signature"},
		} {
			t.Run(variant.name+"/"+name, func(t *testing.T) {
				p, err := mandate.ParseClosed(c.signer.jws(c.signer.nameHeader(), w.closedBy(c.human, openToken).json()) + "~")
				if err != nil {
					t.Fatal(err)
				}
				closed, err := p.Verify(record.HumanKeys(p.Issuer(), at(issuedAt)), open)
				if c.claim != "" {
					if closed != nil {
						t.Error("verified")
					}
					wantFault(t, err, mandate.Invalid, c.claim)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if closed.SignerRole() != mandate.RoleHuman || closed.Issuer() != c.human || closed.Subject() != agent || closed.KeyID() != c.signer.key.Name() {
					t.Errorf("%s signed for %s as %s with %s", closed.Issuer(), closed.Subject(), closed.SignerRole(), closed.KeyID())
				}
			})
		}
	}
}

// TestHumanInTheAgentsPlace: no human's key, registered or not, signs as the agent, with
// the agent's name or with their own.
//
// covers GC-021, GC-146, GC-167
func TestHumanInTheAgentsPlace(t *testing.T) {
	w := newWorld(t)
	openToken := w.principal.token(w.open)
	open := mustOpen(t, openToken, w.principal.keys())
	for name, c := range map[string]struct {
		header string
		claim  string
		with   claims
	}{
		"under the human's kid":    {w.human.header("dc+sd-jwt"), "signature", nil},
		"under the agent's kid":    {w.agent.header("dc+sd-jwt"), "signature", nil},
		"agent by role, human iss": {w.human.header("dc+sd-jwt"), "iss", claims{"iss": `"` + human + `"`}},
		"human by role, agent iss": {w.human.header("dc+sd-jwt"), "iss", claims{"signer_role": `"human"`}},
		"Human":                    {w.human.header("dc+sd-jwt"), "signer_role", claims{"signer_role": `"Human"`, "iss": `"` + human + `"`}},
		"both":                     {w.human.header("dc+sd-jwt"), "signer_role", claims{"signer_role": `["agent","human"]`}},
		"neither":                  {w.human.header("dc+sd-jwt"), "signer_role", claims{"signer_role": "", "iss": `"` + human + `"`}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := mandate.ParseClosed(w.human.jws(c.header, w.closedUnder(openToken).with(c.with).json()) + "~")
			if err == nil {
				_, err = p.Verify(jose.NewKeySet(w.human.key), open)
			}
			wantFault(t, err, mandate.Invalid, c.claim)
		})
	}
}
