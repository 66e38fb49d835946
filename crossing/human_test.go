package crossing_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/crossingtest"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// everySigner walks who may sign the two Closeds of one crossing, with and without cnf in
// the Opens of those for whom a human signs.
func everySigner(t *testing.T, base *crossingtest.Deal, visit func(t *testing.T, b *crossingtest.Built)) {
	both := []crossing.Role{crossing.Initiator, crossing.Responder}
	for _, humans := range [][]crossing.Role{both[:1], both[1:], both} {
		for _, cnf := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v cnf %v", humans, cnf), func(t *testing.T) {
				d := base.Clone()
				for _, role := range humans {
					human(d, role)
					if !cnf {
						d.Party(role).Open["cnf"] = ""
					}
				}
				b := d.Build(t)
				for _, role := range humans {
					b.Record.Party(role).SignerRole = "human"
				}
				visit(t, b)
			})
		}
	}
}

// TestHumanCloses has a human sign either Closed, or both, with the key that the record of
// their Principal gives them (T2). The record says who signed, and is sealed.
//
// covers GC-021, GC-146, GC-167, GC-169
func TestHumanCloses(t *testing.T) {
	for name, base := range map[string]*crossingtest.Deal{"irreversible": crossingtest.New(t), "financial": crossingtest.NewFinancial(t)} {
		t.Run(name, func(t *testing.T) {
			everySigner(t, base, func(t *testing.T, b *crossingtest.Built) {
				wantCleared(t, b)
				for _, role := range []crossing.Role{crossing.Initiator, crossing.Responder} {
					closed, amount, refusal := crossing.CheckClosed(closingOf(t, b, role))
					if refusal != nil {
						t.Fatalf("%s: %v", role, refusal)
					}
					if string(closed.SignerRole()) != b.Record.Party(role).SignerRole || int64(amount.Magnitude) != b.Deal.Magnitude {
						t.Errorf("%s: %s asserts %v", role, closed.SignerRole(), amount)
					}
				}
			})
		})
	}
}

// closingOf is one party's check of the other's P3.
func closingOf(t testing.TB, b *crossingtest.Built, peer crossing.Role) crossing.Closing {
	t.Helper()
	amount, refusal := b.Record.Amount()
	if refusal != nil {
		t.Fatal(refusal)
	}
	d := b.Deal
	return crossing.Closing{
		At: d.At, Peer: b.Side(peer), Own: d.Party(peer.Other()).PrincipalID, CrossingID: d.CrossingID,
		AgreementHash: d.Agreement(), Class: amount.Class, Act: d.Act, Amount: &amount, Used: map[crossing.Nonce]jcs.Hex256{},
	}
}

// TestHumansOwnKid registers a human's key by a name that is no thumbprint, beside a
// second key of theirs and another human's.
//
// covers GC-021, GC-146
func TestHumansOwnKid(t *testing.T) {
	d := crossingtest.New(t)
	human(d, crossing.Initiator)
	p := &d.Initiator
	b := d.Build(t)
	b.Record.Initiator.SignerRole = "human"
	named := p.Human.Key()
	named.Kid = "ada, second desk"
	b.Initiator.Principal.Humans = []mandate.Human{
		{ID: p.HumanID(), Key: crossingtest.NewSigner(t).Key()}, {ID: "urn:anax:human:other", Key: crossingtest.NewSigner(t).Key()},
		{ID: p.HumanID(), Key: named},
	}
	// Registered by its name, the key is not found by its thumbprint.
	_, refusal := crossing.Clear(b.Evidence(b.Params(t)))
	wantRefusal(t, refusal, crossing.MandateInvalid, "§5.4-1 closed kid", "")

	b.Initiator.Closed = underKid(t, p.Human, b.Initiator.Closed, named.Kid)
	b.Record.Initiator.ClosedMandateHash = jcs.HexOf([]byte(b.Initiator.Closed))
	wantCleared(t, b)
	if _, _, refusal := crossing.CheckClosed(closingOf(t, b, crossing.Initiator)); refusal != nil {
		t.Error(refusal)
	}

	// A name of two keys is nobody's.
	b.Initiator.Principal.Humans[0].Key.Kid = named.Kid
	_, refusal = crossing.Clear(b.Evidence(b.Params(t)))
	wantRefusal(t, refusal, crossing.MandateInvalid, "§5.4-1 closed kid", "")
}

// underKid signs the payload of a token again, under a header with this kid.
func underKid(t testing.TB, s *jose.Signer, token, kid string) string {
	t.Helper()
	payload := strings.Split(token, ".")[1]
	input := jose.EncodeBase64([]byte(`{"alg":"ES256","kid":"`+kid+`","typ":"dc+sd-jwt"}`)) + "." + payload
	sig, err := s.Sign([]byte(input))
	if err != nil {
		t.Fatal(err)
	}
	return input + "." + jose.EncodeBase64(sig[:]) + "~"
}

// TestSignerRefused has everybody else sign, on either side and under Opens with and
// without cnf; then lets somebody lie about who did. Both ask: the seal and P3.
//
// covers GC-021, GC-146, GC-153, GC-167, GC-169, GC-288
func TestSignerRefused(t *testing.T) {
	stranger := crossingtest.NewSigner(t)
	type party = crossingtest.Party
	type record = mandate.Principal
	const kid, signature, mismatch = "§5.4-1 closed kid", "§5.4-1 closed signature", "§5.4-9"
	asHuman := func(p *party) {
		p.Closer = p.Human
		p.Closed["iss"], p.Closed["signer_role"] = `"`+p.HumanID()+`"`, `"human"`
	}
	by := func(s func(*party) *jose.Signer, also ...func(*party)) func(*party) {
		return func(p *party) {
			asHuman(p)
			p.Closer = s(p)
			for _, f := range also {
				f(p)
			}
		}
	}
	agents := func(p *party) *jose.Signer { return p.Agent }
	humans := func(p *party) *jose.Signer { return p.Human }
	claim := func(name, raw string) func(*party) { return func(p *party) { p.Closed[name] = raw } }
	tests := map[string]struct {
		deal     func(*party)
		register func(*party, *record)
		said     string // signer_role of the record
		path     string // with cnf
		noCnf    string // without, if it differs
	}{
		"agent's key as the human":           {deal: by(agents), path: kid},
		"agent's key, registered as a human": {deal: by(agents), register: func(p *party, r *record) { r.Humans[0].Key = p.Agent.Key() }, path: kid},
		"another agent's, registered as a human": {deal: by(func(*party) *jose.Signer { return stranger }), register: func(p *party, r *record) {
			r.Agents = append(r.Agents, mandate.Agent{ID: "urn:anax:agent:another", Key: stranger.Key()})
			r.Humans = append(r.Humans, mandate.Human{ID: p.HumanID(), Key: stranger.Key()})
		}, path: kid},
		"Principal's key as the human": {deal: by(func(p *party) *jose.Signer { return p.Issuer }), path: kid},
		"stranger as the human":        {deal: by(func(*party) *jose.Signer { return stranger }), path: kid},
		"human who is not registered":  {deal: asHuman, register: func(_ *party, r *record) { r.Humans = nil }, path: kid},
		"human whose name another has": {deal: asHuman, register: func(_ *party, r *record) { r.Humans[0].ID = "urn:anax:human:other" }, path: kid},
		"human who has a new key":      {deal: asHuman, register: func(_ *party, r *record) { r.Humans[0].Key = stranger.Key() }, path: kid},
		"human under another's name":   {deal: by(humans, claim("iss", `"urn:anax:human:other"`)), path: kid},
		"stranger under the human's kid": {deal: asHuman, register: func(p *party, r *record) {
			r.Humans[0].Key = stranger.Key()
			r.Humans[0].Key.Kid = p.Human.Key().ID
		}, path: signature},
		"human as the agent":                    {deal: func(p *party) { p.Closer = p.Human }, said: "agent", path: signature, noCnf: "§5.4-1 closed cnf"},
		"agent, no lie":                         {deal: func(*party) {}, said: "agent", path: "", noCnf: "§5.4-1 closed cnf"},
		"agent, registered as a human too":      {deal: func(*party) {}, register: func(p *party, r *record) { r.Humans[0].Key = p.Agent.Key() }, said: "agent", path: "", noCnf: "§5.4-1 closed cnf"},
		"role human, no iss":                    {deal: by(humans, claim("iss", "")), path: "§5.4-1 closed iss"},
		"role human, iss the agent":             {deal: by(agents, func(p *party) { p.Closed["iss"] = `"` + p.AgentID + `"` }), path: "§5.4-1 closed iss"},
		"role human, iss the Principal":         {deal: by(humans, func(p *party) { p.Closed["iss"] = `"` + p.PrincipalID + `"` }), path: "§5.4-1 closed iss"},
		"role agent, iss the human":             {deal: by(humans, claim("signer_role", `"agent"`)), path: "§5.4-1 closed iss"},
		"role of neither":                       {deal: by(humans, claim("signer_role", `"HUMAN"`)), path: "§5.4-1 closed signer_role"},
		"no role":                               {deal: by(humans, claim("signer_role", "")), path: "§5.4-1 closed signer_role"},
		"human, for another agent":              {deal: by(humans, claim("sub", `"urn:anax:agent:another"`)), path: "§5.4-1 closed sub"},
		"human signed, the record says agent":   {deal: asHuman, said: "agent", path: mismatch},
		"agent signed, the record says human":   {deal: func(*party) {}, path: mismatch, noCnf: "§5.4-1 closed cnf"},
		"another Principal's human":             {deal: by(func(*party) *jose.Signer { return stranger }, claim("iss", `"urn:anax:human:elsewhere"`)), path: kid},
		"human of a Principal that is inactive": {deal: asHuman, register: func(_ *party, r *record) { r.Active = false }, path: "§5.2-1 open kid"},
		"human of a record that has lapsed":     {deal: asHuman, register: func(_ *party, r *record) { r.Expires = sealedAt }, path: "§5.2-1 open kid"},
	}
	base := crossingtest.New(t)
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		tt := tests[name]
		for _, role := range []crossing.Role{crossing.Initiator, crossing.Responder} {
			for _, cnf := range []bool{true, false} {
				path := tt.path
				if !cnf && tt.noCnf != "" {
					path = tt.noCnf
				}
				t.Run(fmt.Sprintf("%s/%s/cnf %v", name, role, cnf), func(t *testing.T) {
					d := base.Clone()
					tt.deal(d.Party(role))
					if !cnf {
						d.Party(role).Open["cnf"] = ""
					}
					b := d.Build(t)
					b.Record.Party(role).SignerRole = cmp.Or(tt.said, "human")
					if tt.register != nil {
						tt.register(d.Party(role), b.Tokens(role).Principal)
					}
					cleared, refusal := crossing.Clear(b.Evidence(b.Params(t)))
					wantSigner(t, cleared != nil, refusal, path)
					closed, _, refusal := crossing.CheckClosed(closingOf(t, b, role))
					if path == mismatch {
						path = "" // P3 knows no record to differ from
					}
					wantSigner(t, closed != nil, refusal, path)
				})
			}
		}
	}
}

// wantSigner wants success and no refusal, or the refusal with this path; "" is success.
func wantSigner(t *testing.T, done bool, refusal *crossing.Refusal, path string) {
	t.Helper()
	if done != (path == "") {
		t.Errorf("done is %t, refusal %v", done, refusal)
	}
	switch path {
	case "":
		if refusal != nil {
			t.Error(refusal)
		}
	case "§5.4-9":
		wantRefusal(t, refusal, crossing.MandatePartyMismatch, path, "")
	default:
		wantRefusal(t, refusal, crossing.MandateInvalid, path, "")
	}
}
