package wiretest

import (
	"crypto/rand"
	"encoding/hex"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/sdjwt"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Lifetimes of what a Party signs.
const (
	openLifetime   = 24 * time.Hour
	closedLifetime = 10 * time.Minute
)

// A Party is an organisation with one agent and one human, enrolled at one of the World's RAs
// and at its VA.
type Party struct {
	crossing.Profile
	Basis                           mandate.GovernanceBasis
	ClearanceID                     string // secret; only its hash may ever be seen
	Issuer, Agent, Human, Publisher *jose.Signer
	Credentials                     client.Credentials
	RA                              *client.Registry
	VA                              *client.Authority

	w  *World
	ra *RA
}

// An Open is a signed Open with its limit's disclosure apart from it.
type Open struct{ Token, Disclosure string }

// Full is the token with the disclosure, as the RA registers it.
func (o Open) Full() string {
	if o.Disclosure == "" {
		return o.Token
	}
	return o.Token + o.Disclosure + "~"
}

// Party enrols a new organisation over the wire: a code, the RA's enrolment, and the
// VA's list of publishers.
func (w *World) Party(name string) *Party {
	w.t.Helper()
	p := w.newParty(name, w.Initiators)
	secret, err := p.ra.NewCode(w.t.Context(), registry.CodeTerms{})
	w.check(err)
	req := p.enrolment(secret)
	w.check(req.Prove(p.ra.key.Key().ID, p.Issuer, p.Agent, p.Human, p.Publisher))
	enrolled, err := p.RA.Enrol(w.t.Context(), req)
	w.check(err)
	w.check(p.ra.DecideHuman(w.t.Context(), registry.Actor{Role: api.RoleOperator}, api.HumanDecision{
		PrincipalID: p.PrincipalID, Key: p.Human.Key().ID, Approve: true,
	}))
	if w.Initiators != w.RA {
		w.meet(p)
	}
	w.check(p.VA.AddPublisher(w.t.Context(), enrolled.PublisherGrant))
	return p
}

func principalOf(name string) string { return "urn:anax:principal:" + name }

func (w *World) newParty(name string, ra *RA) *Party {
	w.t.Helper()
	p := &Party{
		w: w, ra: ra, ClearanceID: "clearance-" + random(16),
		Basis:  mandate.GovernanceBasis{PackID: name + "-pack", PackVersion: "1.0.0"},
		Issuer: newSigner(w.t), Agent: newSigner(w.t), Human: newSigner(w.t), Publisher: newSigner(w.t),
		Credentials: client.Credentials{
			Principal: credential(w.t), Agent: credential(w.t), Effector: credential(w.t), Publisher: credential(w.t),
		},
	}
	p.Profile = crossing.Profile{
		PrincipalID: principalOf(name), AgentID: "urn:anax:agent:" + name + "-" + random(16),
		ClearanceIDHash: hex256(Hash(p.ClearanceID)), TrustBasis: "self_declared", AGCLevel: 1,
	}
	cfg := client.Config{BaseURL: ra.URL, Credentials: p.Credentials, HTTP: w.HTTP, Now: w.Clock.Now}
	cfg.Keys = jose.NewKeySet(ra.key.Key())
	c, err := client.New(cfg)
	w.check(err)
	cfg.BaseURL, cfg.Keys = w.URL, jose.NewKeySet(w.va.Key())
	va, err := client.New(cfg)
	w.check(err)
	p.RA, p.VA = c.Registry(), va.Authority()
	return p
}

func (p *Party) enrolment(secret string) api.Enrol {
	return api.Enrol{
		Secret: secret, PrincipalID: p.PrincipalID, Name: p.PrincipalID, ClearanceIDHash: p.ClearanceIDHash,
		TrustBasis: p.TrustBasis, AGCLevel: p.AGCLevel,
		Keys:   []jose.Key{p.Issuer.Key()},
		Agents: []mandate.Agent{{ID: p.AgentID, Key: p.Agent.Key()}},
		Humans: []mandate.Human{{ID: p.HumanID(), Key: p.Human.Key()}},
		Credentials: []api.Credential{
			{Role: api.RolePrincipal, Hash: api.CredentialHash(p.Credentials.Principal)},
			{Role: api.RoleAgent, AgentID: p.AgentID, Hash: api.CredentialHash(p.Credentials.Agent)},
			{Role: api.RoleEffector, Hash: api.CredentialHash(p.Credentials.Effector)},
		},
		Publisher: &api.Publisher{Key: p.Publisher.Key(), CredentialHash: api.CredentialHash(p.Credentials.Publisher)},
	}
}

// HumanID names the Party's human in its Principal's record.
func (p *Party) HumanID() string { return "urn:anax:human:" + p.AgentID[len("urn:anax:agent:"):] }

// Identity is the Party as a centre of its own would be it.
func (p *Party) Identity() centre.Identity {
	return centre.Identity{
		Profile: p.Profile, Basis: p.Basis, Issuers: jose.NewKeySet(p.Issuer.Key()), Agent: p.Agent, Publisher: p.Publisher,
	}
}

// Issue signs an Open for the Party's agent, with any counterparty and both acts of the
// built-in vocabulary. edit, if it is not nil, sees the claims before they are signed;
// magnitude_limit goes into a disclosure of its own.
func (p *Party) Issue(amount commitment.Amount, edit func(Doc)) Open {
	p.w.t.Helper()
	now := p.w.Clock.Now()
	claims := Doc{
		"vct": mandate.OpenType, "iss": p.PrincipalID, "sub": p.AgentID, "aud": mandate.OpenAudience,
		"iat": now.Unix(), "exp": now.Add(openLifetime).Unix(),
		"cnf":                      Doc{"jwk": jsonOf(p.Agent.Key().JWK())},
		"permitted_counterparties": "*",
		"commitment_act":           []any{"engagement_code_issuance", "proposal_within_tariff"},
		"commitment_class":         amount.Class.String(), "magnitude_limit": int64(amount.Magnitude),
	}
	if amount.Currency != "" {
		claims["currency"] = string(amount.Currency)
	}
	if edit != nil {
		edit(claims)
	}
	limit, ok := claims["magnitude_limit"]
	if !ok {
		return Open{Token: sign(p.w.t, p.Issuer, claims)}
	}
	delete(claims, "magnitude_limit")
	issued, err := sdjwt.Issue(p.Issuer, JSON(claims), jcs.Member{Name: "magnitude_limit", Value: JSON(limit)})
	p.w.check(err)
	return Open{Token: issued.Bare(), Disclosure: issued.Disclosures[0]}
}

// RegisterOpen registers an Open at the RA, over the wire.
func (p *Party) RegisterOpen(o Open) (receipt string, err error) {
	return p.RA.RegisterOpen(p.w.t.Context(), api.RegisterOpen{Token: o.Full()})
}

// Grant issues and registers an Open and keeps it in the store of the Party's centre.
func (p *Party) Grant(store centre.Store, amount commitment.Amount) Open {
	p.w.t.Helper()
	o, now := p.Issue(amount, nil), p.w.Clock.Now()
	receipt, err := p.RegisterOpen(o)
	p.w.check(err)
	p.w.check(store.PutGrant(p.w.t.Context(), centre.Grant{
		OpenHash: hex256(OpenHash(o.Token)), Presented: o.Token, Disclosure: o.Disclosure, Receipt: receipt,
		ExpiresAt: now.Add(openLifetime), CreatedAt: now,
	}))
	return o
}

// RegisterClosed registers a Closed at the RA, over the wire.
func (p *Party) RegisterClosed(token string, with *Party) (receipt string, err error) {
	return p.RA.RegisterClosed(p.w.t.Context(), api.RegisterClosed{Token: token, CounterpartyAgent: with.AgentID})
}

// Revoke revokes one of the Party's mandates by its hash.
func (p *Party) Revoke(hash string) {
	p.w.t.Helper()
	_, err := p.RA.Revoke(p.w.t.Context(), api.Revoke{Hash: hex256(hash)})
	p.w.check(err)
}

// sign signs claims as a token without disclosures, whatever they say.
func sign(t testing.TB, s *jose.Signer, claims Doc) string {
	t.Helper()
	jwt, err := jose.SignCompact(s, "dc+sd-jwt", JSON(claims))
	if err != nil {
		t.Fatal(err)
	}
	return jwt + "~"
}

func newSigner(t testing.TB) *jose.Signer {
	t.Helper()
	key, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func credential(t testing.TB) string {
	t.Helper()
	b := make([]byte, 32)
	rand.Read(b)
	return jose.EncodeBase64(b)
}

func random(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

func jsonOf(b []byte) Doc {
	d, err := Parse(b)
	if err != nil {
		panic("wiretest: " + err.Error())
	}
	return d
}

func hex256(s string) jcs.Hex256 { return jcs.Hex256(s) }
