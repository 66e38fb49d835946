// Package crossingtest builds one complete valid crossing for tests, and for nothing else:
// two Principals with their keys, an Open and a Closed of each, terms, the record, and the
// evidence that a responder would hold. It follows §4.1 to §4.4 and §5.2 to §5.5.
//
// A test takes a [Deal], breaks what it is about, and builds it:
//
//	d := crossingtest.New(t)
//	d.Initiator.Closed["aud"] = `"urn:anax:principal:other"`
//	b := d.Build(t)
//	_, refusal := crossing.Clear(b.Evidence(b.Params(t)))   // MANDATE_AUDIENCE
//
// Claims are raw JSON and are signed as they stand, so that a test can sign what package
// mandate would not. Nothing is refused here; a fault of the builder itself ends the test.
//
// Room: tests. Keys and signatures are drawn from crypto/rand, times come from the Deal.
package crossingtest

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Claims maps names of claims to raw JSON. The empty string leaves a claim out.
type Claims map[string]string

// A Deal is what two parties have agreed, before anything is signed. All three of record
// and Closeds assert Magnitude.
type Deal struct {
	At         time.Time // the moment of the seal; everything is dated before it
	Acts       commitment.Profile
	CrossingID string
	TaskID     string
	ContextID  string
	Terms      string

	Act       string
	Class     string
	Currency  string // "" but for class financial
	Magnitude int64
	Draw      int64 // the Closeds' magnitude_limit
	Limit     int64 // the Opens' magnitude_limit

	Initiator, Responder Party

	signed map[string]Tokens // by key and claims, so that what did not change is signed once
}

// A Party is one side of a Deal.
type Party struct {
	crossing.Profile
	Basis  mandate.GovernanceBasis
	Issuer *jose.Signer // signs the Open
	Agent  *jose.Signer // is in its cnf and signs the Closed
	Human  *jose.Signer // may sign the Closed instead
	Closer *jose.Signer // signs the Closed; Agent unless a test says otherwise

	Open, Closed  Claims // claims to replace before signing
	DiscloseLimit bool   // put the Open's limit into the evidence; else the RA's word stands for it
}

// HumanID is the name of a Party's Human in its Principal's record.
func (p *Party) HumanID() string {
	return "urn:anax:human:" + strings.TrimPrefix(p.PrincipalID, "urn:anax:principal:")
}

// New returns a valid Deal of class irreversible: one engagement code under Opens of five.
func New(t testing.TB) *Deal {
	t.Helper()
	return &Deal{
		At:         time.Date(2026, 9, 1, 12, 0, 5, 0, time.UTC),
		Acts:       commitment.Builtin(),
		CrossingID: "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001",
		TaskID:     "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
		ContextID:  "102132435465768798a9babcbdcedfe0",
		Terms:      `{"terms_version":"1","unit":"code","count":1}`,
		Act:        "engagement_code_issuance", Class: "irreversible", Magnitude: 1, Draw: 2, Limit: 5,
		Initiator: newParty(t, "trust", 1),
		Responder: newParty(t, "anax", 2),
		signed:    map[string]Tokens{},
	}
}

// NewFinancial returns a valid Deal of class financial: EUR 2.50 of a draw of 3.00 under
// Opens of 5.00.
func NewFinancial(t testing.TB) *Deal {
	t.Helper()
	d := New(t)
	d.Class, d.Currency, d.Magnitude, d.Draw, d.Limit = "financial", "EUR", 250, 300, 500
	return d
}

// Clone returns a Deal with the same keys that can be changed on its own. The clones of a
// Deal are for one goroutine: what is signed alike in them is the same token.
func (d *Deal) Clone() *Deal {
	c := *d
	for _, p := range []*Party{&c.Initiator, &c.Responder} {
		p.Open, p.Closed = maps.Clone(p.Open), maps.Clone(p.Closed)
	}
	return &c
}

// Party returns one side.
func (d *Deal) Party(role crossing.Role) *Party {
	if role == crossing.Initiator {
		return &d.Initiator
	}
	return &d.Responder
}

func newParty(t testing.TB, name string, level int64) Party {
	t.Helper()
	p := Party{
		Profile: crossing.Profile{
			PrincipalID: "urn:anax:principal:" + name, AgentID: "urn:anax:agent:" + name + "-front",
			ClearanceIDHash: jcs.HexOf([]byte("clearance of " + name)), TrustBasis: "third_party_audited", AGCLevel: level,
		},
		Basis:  mandate.GovernanceBasis{PackID: "anax-" + name, PackVersion: "0.1.0"},
		Issuer: NewSigner(t), Agent: NewSigner(t), Human: NewSigner(t),
		Open: Claims{}, Closed: Claims{},
	}
	p.Closer = p.Agent
	return p
}

// NewSigner returns a signer with a fresh key.
func NewSigner(t testing.TB) *jose.Signer {
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
