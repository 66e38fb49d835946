package registry_test

import (
	"bytes"
	"crypto/elliptic"
	"errors"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	act       = "engagement_code_issuance" // floor irreversible
	crossing1 = "00000000-0000-4000-8000-000000000001"
	crossing2 = "00000000-0000-4000-8000-000000000002"
)

var start = time.Unix(1_786_000_000, 0).UTC()

// A world is an RA with two parties on it: A initiates, B responds.
type world struct {
	t    *testing.T
	ra   *registry.Registry
	key  *jose.Signer
	keys jose.KeySet
	path string
	log  *record
	a, b *party
	web  web // what domains publish

	mu  sync.Mutex // guards now
	now time.Time
}

// A party is an organisation with one agent and one human.
type party struct {
	id, agentID, humanID   string
	issuer, agent, human   *jose.Signer
	principal, as, effects registry.Actor
}

// newWorld is a world in the release mode of this run (see TestInReleaseModeOn).
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldIn(t, mode(t), nil)
}

func newWorldIn(t *testing.T, release registry.ReleaseMode, peers registry.Peers) *world {
	t.Helper()
	w := &world{t: t, now: start, log: new(record), path: sqlitetest.Path(t)}
	db, err := sqlite.Open(t.Context(), w.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	key := signer(t)
	w.key, w.keys = key, jose.NewKeySet(key.Key())
	w.ra, err = registry.New(registry.Config{
		Store: db.Registry(), Signer: key, Now: w.clock, VAURL: "https://va.example/", Domains: &w.web,
		Log: slog.New(slog.NewTextHandler(w.log, nil)), Release: release, Peers: peers,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.a, w.b = w.party("a"), w.party("b")
	return w
}

// A record is a log that is read while it is written.
type record struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) sleep(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func signer(t *testing.T) *jose.Signer {
	t.Helper()
	private, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newParty(t *testing.T, name string) *party {
	p := &party{
		id: "urn:anax:principal:" + name, agentID: "urn:anax:agent:" + name, humanID: "urn:anax:human:" + name,
		issuer: signer(t), agent: signer(t), human: signer(t),
	}
	p.principal = registry.Actor{Role: api.RolePrincipal, PrincipalID: p.id}
	p.as = registry.Actor{Role: api.RoleAgent, PrincipalID: p.id, AgentID: p.agentID}
	p.effects = registry.Actor{Role: api.RoleEffector, PrincipalID: p.id}
	return p
}

// enrol is a request with a credential for each of the roles, which is named role@id.
func (p *party) enrol(roles ...string) api.Enrol {
	e := api.Enrol{
		PrincipalID: p.id, Name: "Organisation " + p.id, ClearanceIDHash: jcs.HexOf([]byte("clearance " + p.id)),
		TrustBasis: "third_party_audited", AGCLevel: 2,
		Keys:   []jose.Key{p.issuer.Key()},
		Agents: []mandate.Agent{{ID: p.agentID, Key: p.agent.Key()}},
		Humans: []mandate.Human{{ID: p.humanID, Key: p.human.Key()}},
	}
	for _, role := range roles {
		c := api.Credential{Role: role, Hash: api.CredentialHash(role + "@" + p.id)}
		if role == api.RoleAgent {
			c.AgentID = p.agentID
		}
		e.Credentials = append(e.Credentials, c)
	}
	return e
}

// proves has the keys of a request that comes over the network sign for it.
func (p *party) proves(t *testing.T, req *api.Enrol, ra jose.Key, more ...*jose.Signer) {
	t.Helper()
	if err := req.Prove(ra.ID, append(more, p.issuer, p.agent, p.human)...); err != nil {
		t.Fatal(err)
	}
}

func (w *world) party(name string) *party {
	w.t.Helper()
	p := newParty(w.t, name)
	roles := []string{api.RolePrincipal, api.RoleAgent, api.RoleIssuer, api.RoleEffector, api.RoleOperator}
	if _, err := w.ra.EnrolSelf(w.t.Context(), p.enrol(roles...)); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func irreversible(n commitment.Magnitude) commitment.Amount {
	return commitment.Amount{Class: commitment.Irreversible, Magnitude: n}
}

func financial(n commitment.Magnitude, cur commitment.Currency) commitment.Amount {
	return commitment.Amount{Class: commitment.Financial, Magnitude: n, Currency: cur}
}

// openDraft is an Open of the party for its agent, good for a day.
func (p *party) openDraft(amount commitment.Amount) mandate.OpenDraft {
	return mandate.OpenDraft{
		Issuer: p.id, Subject: p.agentID, IssuedAt: start, ExpiresAt: start.Add(24 * time.Hour),
		ConfirmationKey: p.agent.Key(), Counterparties: mandate.AnyCounterparty(), Acts: []string{act}, Amount: amount,
	}
}

func (w *world) open(p *party, d mandate.OpenDraft) mandate.IssuedOpen {
	w.t.Helper()
	o, err := d.Sign(p.issuer)
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// opened is a registered Open of the party.
func (w *world) opened(p *party, d mandate.OpenDraft) mandate.IssuedOpen {
	w.t.Helper()
	o := w.open(p, d)
	if _, err := w.ra.RegisterOpen(w.t.Context(), p.principal, api.RegisterOpen{Token: o.Full()}); err != nil {
		w.t.Fatal(err)
	}
	return o
}

// closedDraft is a Closed of the party under its Open, good for ten minutes.
func (p *party) closedDraft(o mandate.IssuedOpen, audience *party, amount commitment.Amount) mandate.ClosedDraft {
	return mandate.ClosedDraft{
		SignerRole: mandate.RoleAgent, Issuer: p.agentID, Subject: p.agentID, Audience: audience.id,
		IssuedAt: start, ExpiresAt: start.Add(10 * time.Minute), CrossingID: crossing1,
		AgreementHash: jcs.HexOf([]byte("terms")), OpenMandateHash: jcs.HexOf([]byte(o.Token)),
		Basis: mandate.GovernanceBasis{PackID: "pack", PackVersion: "1"}, Act: act, Asserted: amount,
	}
}

func (w *world) closed(s *jose.Signer, d mandate.ClosedDraft) string {
	w.t.Helper()
	token, err := d.Sign(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

func (w *world) register(p *party, token string, counterparty *party) (string, error) {
	return w.ra.RegisterClosed(w.t.Context(), p.as, api.RegisterClosed{Token: token, CounterpartyAgent: counterparty.agentID})
}

// A deal is a crossing at the moment before hold.
type deal struct {
	openA, openB mandate.IssuedOpen
	hold         api.Hold
}

func (w *world) deal(amount commitment.Amount) deal {
	w.t.Helper()
	d := deal{openA: w.opened(w.a, w.a.openDraft(amount)), openB: w.opened(w.b, w.b.openDraft(amount))}
	d.hold = api.Hold{
		CrossingID:      crossing1,
		InitiatorClosed: w.closed(w.a.agent, w.a.closedDraft(d.openA, w.b, amount)),
		ResponderClosed: w.closed(w.b.agent, w.b.closedDraft(d.openB, w.a, amount)),
	}
	for token, parties := range map[string][2]*party{d.hold.InitiatorClosed: {w.a, w.b}, d.hold.ResponderClosed: {w.b, w.a}} {
		if _, err := w.register(parties[0], token, parties[1]); err != nil {
			w.t.Fatal(err)
		}
	}
	return d
}

// refused fails the test unless err is a refusal with that name.
func refused(t *testing.T, what string, err error, name crossing.Name) *api.Error {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != string(name) {
		t.Errorf("%s: got %v, want %s", what, err, name)
		return &api.Error{}
	}
	return e
}

// resign is token with old replaced by new in its payload, signed again.
func resign(t *testing.T, s *jose.Signer, token, old, new string) string {
	t.Helper()
	jwt, rest, _ := strings.Cut(token, "~")
	c, err := jose.ParseCompact(jwt, len(jwt))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(c.Payload, []byte(old)) {
		t.Fatalf("payload has no %s: %s", old, c.Payload)
	}
	out, err := jose.SignCompact(s, "dc+sd-jwt", bytes.ReplaceAll(c.Payload, []byte(old), []byte(new)))
	if err != nil {
		t.Fatal(err)
	}
	return out + "~" + rest
}

// highS is the token with the other of the two signatures that its signature stands for.
func highS(t *testing.T, token string) string {
	t.Helper()
	jwt, rest, _ := strings.Cut(token, "~")
	c, err := jose.ParseCompact(jwt, len(jwt))
	if err != nil {
		t.Fatal(err)
	}
	s := new(big.Int).SetBytes(c.Signature[32:])
	s.Sub(elliptic.P256().Params().N, s).FillBytes(c.Signature[32:])
	return c.SigningInput + "." + jose.EncodeBase64(c.Signature[:]) + "~" + rest
}
