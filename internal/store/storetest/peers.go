package storetest

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/mandate"
)

// counterpart is the enrolment of a principal for whom another RA speaks.
func counterpart(t *testing.T, principal, agent string) registry.Enrolment {
	t.Helper()
	return registry.Enrolment{
		Answer: []byte(`{"counterpart":true}`), At: registryStart,
		Principal:   mandate.Principal{ID: principal, Name: principal, Active: true, Agents: []mandate.Agent{{ID: agent, Key: authorityKey(t)}}},
		Credentials: []api.Credential{{Role: api.RoleEffector, Hash: hash(api.RoleEffector, principal)}},
		Peer:        &registry.Peer{PrincipalID: principal, Key: authorityKey(t), URL: "https://ra.example", At: registryStart},
	}
}

// Pins checks a Verification Authority and a Registration Authority over one store: the first
// knows for whom a key speaks that was brought to the second, and a key that the first has
// pinned is brought by nobody, since everybody knows its public half.
func Pins(t *testing.T, va authority.Store, ra registry.Store) {
	ctx := t.Context()
	e := counterpart(t, partyB, agentB)
	want(t, "pin", va.PinRegistry(ctx, e.Peer.Key, authorityStart), nil)
	_, err := ra.Enrol(ctx, e)
	want(t, "a key that is pinned already", err, registry.ErrExists)
	e.Peer.Key = authorityKey(t)
	if _, err := ra.Enrol(ctx, e); err != nil {
		t.Fatal(err)
	}
	want(t, "pin of the peer's key", va.PinRegistry(ctx, e.Peer.Key, authorityStart), nil)
	for key, principals := range map[string][]string{e.Peer.Key.ID: {partyB}, authorityKey(t).ID: nil} {
		if got, err := va.SpeaksFor(ctx, key); err != nil || !slices.Equal(got, principals) {
			t.Errorf("speaks for %v, %v; want %v", got, err, principals)
		}
	}
}

// registryPeers enters a counterpart with the RA that speaks for it: it has an effector here,
// and no record, and it is entered once, as one or the other.
//
// covers GC-209
func registryPeers(t *testing.T, s registry.Store) {
	ctx := t.Context()
	_, err := s.Peer(ctx, partyB)
	want(t, "no peer", err, registry.ErrNotFound)
	e := counterpart(t, partyB, agentB)
	e.Code, e.Request = hash("code"), hash("request")
	_, err = s.Enrol(ctx, e)
	want(t, "an unknown code", err, registry.ErrCode)
	_, err = s.Peer(ctx, partyB)
	want(t, "an unknown code's peer", err, registry.ErrNotFound)

	want(t, "code", s.AddCode(ctx, codeOf(e.Code)), nil)
	for range 2 { // the same request again gets the stored answer
		answer, err := s.Enrol(ctx, e)
		if err != nil || string(answer) != string(e.Answer) {
			t.Fatalf("answered %s, %v", answer, err)
		}
	}
	got, err := s.Peer(ctx, partyB)
	if diff := cmp.Diff(*e.Peer, got); err != nil || diff != "" {
		t.Errorf("peer (-want +got) %v\n%s", err, diff)
	}
	_, err = s.Principal(ctx, partyB)
	want(t, "the counterpart's record", err, registry.ErrNotFound)
	if owner, err := s.Owner(ctx, agentB); err != nil || owner != partyB {
		t.Errorf("the agent's owner is %q, %v", owner, err)
	}
	_, err = s.Owner(ctx, agentB+"x")
	want(t, "the owner of an unknown agent", err, registry.ErrNotFound)
	actor, err := s.Actor(ctx, e.Credentials[0].Hash)
	if err != nil || actor != (registry.Actor{Role: api.RoleEffector, PrincipalID: partyB}) {
		t.Errorf("the effector is %+v, %v", actor, err)
	}
	rows, err := s.AuditRows(ctx, math.MaxInt64, 9)
	if err != nil || len(rows) != 2 || rows[0].Operation != "pin" || rows[0].Subject != partyB || rows[0].Outcome != e.Peer.Key.ID {
		t.Errorf("audit rows %+v, %v", rows, err)
	}

	_, err = s.Enrol(ctx, enrolment(t, partyA, agentA))
	want(t, "a principal of this RA", err, nil)
	_, err = s.Peer(ctx, partyA)
	want(t, "its peer", err, registry.ErrNotFound)
	for what, other := range map[string]registry.Enrolment{
		"a counterpart again":          counterpart(t, partyB, agentB+"-2"),
		"a counterpart as a principal": enrolment(t, partyB, agentB+"-2"),
		"a principal as a counterpart": counterpart(t, partyA, agentA+"-2"),
		"an agent of another":          counterpart(t, partyB+"-2", agentB),
	} {
		_, err := s.Enrol(ctx, other)
		want(t, what, err, registry.ErrExists)
	}
	if got, err := s.Peer(ctx, partyB); err != nil || got.Key.ID != e.Peer.Key.ID {
		t.Errorf("the pinned key is %s, %v", got.Key.ID, err)
	}
	_, err = s.Peer(ctx, partyB+"-2")
	want(t, "what was refused", err, registry.ErrNotFound)
}

// centreApart commits and refuses attempts by the word of RAs elsewhere: no row of an RA is
// asked, and the flags are those of the words, then and later.
//
// covers GC-194, GC-313
func centreApart(t *testing.T, p *party) {
	ctx := t.Context()
	var position chain.Position
	for i, initiators := range []string{"", "the other RA's"} {
		a := p.cleared(nil)
		m := p.commit(a, p.open(a))
		good := m.Build
		m.Build = func(pos chain.Position, receipt string) (centre.Seal, centre.Publication, error) {
			s, pub, err := good(pos, receipt)
			s.InitiatorReceipt = initiators
			return s, pub, err
		}
		bare := m
		bare.SpendReceipt = ""
		if _, err := p.CommitConfirmed(ctx, bare); err == nil {
			t.Error("a seal without a receipt")
		}
		p.nothing("without a receipt", m, position)
		seal, err := p.CommitConfirmed(ctx, m)
		want(t, "commit", err, nil)
		out, err := p.Lookup(ctx, a.Record().CrossingID, a.JointSeal())
		if diff := cmp.Diff(seal, out.Seal); err != nil || diff != "" || seal.SpendReceipt != "spent" || seal.InitiatorReceipt != initiators {
			t.Errorf("seal %+v (-committed +stored) %v\n%s", seal, err, diff)
		}
		if link, err := p.Link(ctx, m.Party, a.Record().CrossingID); err != nil || link.Position != position {
			t.Errorf("link %d: %+v, %v", i, link, err)
		}
		if w, err := p.Waiting(ctx, a.Record().CrossingID, 9); err != nil || len(w) != 1 {
			t.Errorf("%d publications, %v", len(w), err)
		}
		_, err = p.CommitConfirmed(ctx, m)
		want(t, "a second commit", err, centre.ErrConflict)
		row := centre.RefusalRow{Refusal: *crossing.Refuse(crossing.MandateRevoked), CrossingID: a.Record().CrossingID, At: registryStart}
		want(t, "a late refusal", p.RefuseApart(ctx, m.Attempt, m.Triple, nil, row), centre.ErrConflict)
		position = position.Next(a.JointSeal())
	}
	for _, flags := range [][2]bool{{true, false}, {false, true}, {true, true}, {false, false}} {
		p.refusedApart(flags, position)
	}
}

// refusedApart refuses one attempt with the words that tell these flags, and then another
// record of the crossing.
func (p *party) refusedApart(flags [2]bool, next chain.Position) {
	p.t.Helper()
	ctx := p.t.Context()
	a := p.cleared(nil)
	m := p.commit(a, p.open(a))
	row := centre.RefusalRow{Refusal: *crossing.Refuse(crossing.MandateExpired), CrossingID: a.Record().CrossingID, At: registryStart}
	words := func(initiator, responder bool) []centre.Word {
		return []centre.Word{
			{Token: m.Triple.InitiatorToken, Statement: "its RA's word", Spent: initiator},
			{Token: m.Triple.ResponderToken, Statement: "and the other's", Spent: responder},
		}
	}
	want(p.t, "refuse", p.RefuseApart(ctx, m.Attempt, m.Triple, words(flags[0], flags[1]), row), nil)
	want(p.t, "refuse again", p.RefuseApart(ctx, m.Attempt, m.Triple, words(true, true), row), centre.ErrConflict)
	_, err := p.CommitConfirmed(ctx, m)
	want(p.t, "a late commit", err, centre.ErrConflict)
	p.nothing("refused", m, next)
	pure := &centre.Attempt{CrossingID: m.Attempt.CrossingID, JointSeal: hash("pure"), Record: []byte("record"), Params: []byte("params")}
	want(p.t, "a pure refusal", p.RefuseRecord(ctx, pure, m.Triple, row), nil)
	rows, err := p.Refusals(ctx, 2)
	if err != nil || len(rows) != 2 {
		p.t.Fatalf("%d refusals, %v", len(rows), err)
	}
	for _, row := range rows {
		if row.InitiatorSpent != flags[0] || row.ResponderSpent != flags[1] {
			p.t.Errorf("a refusal has the flags %v %v, want %v", row.InitiatorSpent, row.ResponderSpent, flags)
		}
	}
	if out, err := p.Lookup(ctx, m.Attempt.CrossingID, m.Attempt.JointSeal); err != nil || out.Refused == nil || out.Refused.Name != crossing.MandateExpired {
		p.t.Errorf("outcome %+v, %v", out, err)
	}
}
