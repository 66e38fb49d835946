package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/crossingtest"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// commit is the transaction of an attempt, with an answer that shows its position.
func (p *party) commit(a attempt, opened *centre.Attempt) centre.Commit {
	rec := a.Record()
	return centre.Commit{
		Attempt: opened, Party: rec.Responder.AgentID, ChainID: rec.ChainID(), Triple: rec.Triple(),
		Effector: rec.Responder.PrincipalID, SpendReceipt: "spent", At: registryStart.Add(time.Second),
		Build: func(pos chain.Position, receipt string) (centre.Seal, centre.Publication, error) {
			seal := centre.Seal{
				CrossingID: rec.CrossingID, JointSeal: a.JointSeal(), SealID: "canal-" + rec.CrossingID, Record: rec.Bytes(),
				Response: fmt.Append(nil, "answer at ", pos.Seq, pos.Prev), Block: []byte("block"), SpendReceipt: receipt,
				SealedAt: registryStart,
			}
			return seal, centre.Publication{
				Role: crossing.Responder, CrossingID: rec.CrossingID, ChainID: rec.ChainID(), Seq: pos.Seq, Body: []byte("publication"),
			}, nil
		},
	}
}

// nothing requires that no seal, link or publication of a crossing is there, and that
// the next position is still the given one.
func (p *party) nothing(what string, m centre.Commit, next chain.Position) {
	p.t.Helper()
	ctx, id := p.t.Context(), m.Attempt.CrossingID
	if out, err := p.Lookup(ctx, id, m.Attempt.JointSeal); err != nil || out.Seal != nil {
		p.t.Errorf("%s: a seal %+v, %v", what, out.Seal, err)
	}
	if _, err := p.Link(ctx, m.Party, id); !errors.Is(err, centre.ErrNone) {
		p.t.Errorf("%s: a link, %v", what, err)
	}
	if w, err := p.Waiting(ctx, id, 9); err != nil || len(w) != 0 {
		p.t.Errorf("%s: %d publications, %v", what, len(w), err)
	}
	if got, err := p.Next(ctx, m.Party, m.ChainID); err != nil || got != next {
		p.t.Errorf("%s: the next position is %+v, want %+v, %v", what, got, next, err)
	}
}

// covers GC-313
func centreAttempts(t *testing.T, p *party) {
	ctx := t.Context()
	if _, err := p.OpenAttempt(ctx, &crossing.Cleared{}, registryStart); err == nil {
		t.Error("an attempt was opened without a cleared record")
	}
	if _, err := p.OpenAttempt(ctx, nil, registryStart); err == nil {
		t.Error("an attempt was opened without anything")
	}
	a := p.cleared(nil)
	b := p.again(a)
	id, seal := a.Record().CrossingID, a.JointSeal()
	if out, err := p.Lookup(ctx, id, seal); err != nil || !cmp.Equal(out, centre.Outcome{}) {
		t.Errorf("an outcome of nothing: %+v, %v", out, err)
	}
	seat, err := p.CrossingByID(ctx, id)
	want(t, "its session", err, nil)
	opened := p.open(a)
	want(t, "a session read before the attempt", p.Put(ctx, seat), centre.ErrConflict)
	unseated := p.cleared(nil)
	freed, err := p.CrossingByID(ctx, unseated.Record().CrossingID)
	want(t, "another session", err, nil)
	freed.OwnClosed += "x"
	want(t, "with another Closed", p.Put(ctx, freed), nil)
	_, err = p.OpenAttempt(ctx, unseated.Cleared, registryStart)
	want(t, "an attempt of another session's Closed", err, centre.ErrConflict)
	freed.CrossingID = ""
	want(t, "freed", p.Put(ctx, freed), nil)
	_, err = p.OpenAttempt(ctx, unseated.Cleared, registryStart)
	want(t, "an attempt without a session", err, centre.ErrConflict)
	wanted := &centre.Attempt{CrossingID: id, JointSeal: seal, Record: a.Record().Bytes(), Params: a.Params().Bytes()}
	if diff := cmp.Diff(wanted, opened); diff != "" {
		t.Errorf("attempt (-want +got)\n%s", diff)
	}
	for what, c := range map[string]attempt{"the same record": a, "another record": b} {
		_, err := p.OpenAttempt(ctx, c.Cleared, registryStart)
		want(t, what+" while one is open", err, centre.ErrConflict)
	}
	for _, s := range []jcs.Hex256{seal, b.JointSeal(), ""} {
		out, err := p.Lookup(ctx, id, s)
		if diff := cmp.Diff(centre.Outcome{Open: wanted}, out); err != nil || diff != "" {
			t.Errorf("looked up for %q (-want +got) %v\n%s", s, err, diff)
		}
	}
	other := p.open(p.cleared(nil))
	list, err := p.OpenAttempts(ctx, "", 9)
	both := []*centre.Attempt{wanted, other}
	slices.SortFunc(both, func(a, b *centre.Attempt) int { return strings.Compare(a.CrossingID, b.CrossingID) })
	if diff := cmp.Diff(both, list); err != nil || diff != "" {
		t.Errorf("open attempts (-want +got) %v\n%s", err, diff)
	}
	for after, rest := range map[string][]*centre.Attempt{"": both[:1], both[0].CrossingID: both[1:], both[1].CrossingID: nil} {
		list, err := p.OpenAttempts(ctx, after, 1)
		if diff := cmp.Diff(rest, list); err != nil || diff != "" {
			t.Errorf("a page of open attempts (-want +got) %v\n%s", err, diff)
		}
	}

	refusal := crossing.RefuseAt(crossing.MandateRevoked, "§5.4")
	row := centre.RefusalRow{Refusal: *refusal, CrossingID: id, At: registryStart}
	want(t, "refuse", p.RefuseAttempt(ctx, opened, a.Record().Triple(), row), nil)
	_, err = p.OpenAttempt(ctx, a.Cleared, registryStart)
	want(t, "a refused record again", err, centre.ErrConflict)
	if out, err := p.Lookup(ctx, id, seal); err != nil || !cmp.Equal(out, centre.Outcome{Refused: refusal}) {
		t.Errorf("the refused record's outcome: %+v, %v", out, err)
	}
	if out, err := p.Lookup(ctx, id, b.JointSeal()); err != nil || !cmp.Equal(out, centre.Outcome{}) {
		t.Errorf("another record's outcome: %+v, %v", out, err)
	}
	p.open(b)
	if list, err := p.OpenAttempts(ctx, "", 9); err != nil || len(list) != 2 {
		t.Errorf("%d open attempts, %v", len(list), err)
	}
}

func centreAttemptRace(t *testing.T, p *party) {
	a := p.cleared(nil)
	b := p.again(a)
	won := each(t, 50, centre.ErrConflict, func(i int) error {
		c := a
		if i%2 == 1 {
			c = b
		}
		_, err := p.OpenAttempt(t.Context(), c.Cleared, registryStart)
		return err
	})
	if won != 1 {
		t.Errorf("%d attempts of one crossing were opened", won)
	}
}

func centreNonces(t *testing.T, p *party) {
	ctx := t.Context()
	a := p.cleared(nil)
	id := a.Record().CrossingID
	if got, err := p.Nonces(ctx, id); err != nil || len(got) != 0 {
		t.Errorf("nonces of nothing: %v, %v", got, err)
	}
	opened := p.open(a)
	got, err := p.Nonces(ctx, id)
	if diff := cmp.Diff(a.Nonces(), got); err != nil || diff != "" || len(got) != 2 {
		t.Errorf("nonces (-want +got) %v\n%s", err, diff)
	}
	row := centre.RefusalRow{Refusal: *crossing.Refuse(crossing.MandateRevoked), CrossingID: id, At: registryStart}
	want(t, "refuse", p.RefuseAttempt(ctx, opened, a.Record().Triple(), row), nil)

	// The same nonces in another token of the same issuer: no attempt is left behind.
	p.built--
	replay := p.cleared(func(d *crossingtest.Deal) { d.Initiator.Closed["iat"] = "1788000000" })
	_, err = p.OpenAttempt(ctx, replay.Cleared, registryStart)
	want(t, "a nonce of another token", err, centre.ErrConflict)
	if out, err := p.Lookup(ctx, id, replay.JointSeal()); err != nil || !cmp.Equal(out, centre.Outcome{}) {
		t.Errorf("the replay's outcome: %+v, %v", out, err)
	}
	if got, err := p.Nonces(ctx, id); err != nil || !cmp.Equal(got, a.Nonces()) {
		t.Errorf("nonces after the replay: %v, %v", got, err)
	}
	p.open(p.again(a)) // the same tokens are no replay
	if got, err := p.Nonces(ctx, p.cleared(nil).Record().CrossingID); err != nil || len(got) != 0 {
		t.Errorf("nonces of another crossing: %v, %v", got, err)
	}
}

// covers GC-121
func centreRefusedRecord(t *testing.T, p *party) {
	ctx := t.Context()
	a := p.cleared(nil)
	id := a.Record().CrossingID
	pure := &centre.Attempt{CrossingID: id, JointSeal: hash("pure"), Record: []byte("record"), Params: []byte("params")}
	row := func(name crossing.Name) centre.RefusalRow {
		return centre.RefusalRow{Refusal: *crossing.Refuse(name), CrossingID: id, At: registryStart, Counterparty: partyA}
	}
	tr := a.Record().Triple()
	want(t, "a pure refusal", p.RefuseRecord(ctx, pure, tr, row(crossing.ClassExceeded)), nil)
	want(t, "its repeat", p.RefuseRecord(ctx, pure, tr, row(crossing.ClassBelowFloor)), centre.ErrConflict)
	if out, err := p.Lookup(ctx, id, pure.JointSeal); err != nil || out.Refused == nil || out.Refused.Name != crossing.ClassExceeded {
		t.Errorf("outcome %+v, %v", out, err)
	}
	if x, err := p.CrossingByID(ctx, id); err != nil || x.State != crossing.Refused || x.Refusal.Name != crossing.ClassExceeded {
		t.Errorf("the session is %+v, %v", x, err)
	}

	// With the mandates held, both are spent under this crossing_id.
	p.register(a)
	opened := p.open(a)
	p.hold(a)
	want(t, "a late pure check", p.RefuseRecord(ctx, opened, tr, row(crossing.MandateExpired)), centre.ErrConflict)
	want(t, "an open attempt", p.RefuseAttempt(ctx, opened, tr, row(crossing.MandateExpired)), nil)
	want(t, "its repeat", p.RefuseAttempt(ctx, opened, tr, row(crossing.MandateExpired)), centre.ErrConflict)
	spent, unspent := row(crossing.MandateExpired), row(crossing.ClassExceeded)
	spent.InitiatorSpent, spent.ResponderSpent = true, true
	got, err := p.Refusals(ctx, 9)
	if diff := cmp.Diff([]centre.RefusalRow{spent, unspent}, got); err != nil || diff != "" {
		t.Errorf("refusals (-want +got) %v\n%s", err, diff)
	}

	_, m := p.held(nil)
	if _, _, err := p.Commit(ctx, m); err != nil {
		t.Fatal(err)
	}
	want(t, "a sealed record", p.RefuseAttempt(ctx, m.Attempt, m.Triple, row(crossing.MandateExpired)), centre.ErrConflict)
	if got, err := p.Refusals(ctx, 9); err != nil || len(got) != 2 {
		t.Errorf("%d refusals, %v", len(got), err)
	}
}

func centreCommit(t *testing.T, p *party) {
	ctx := t.Context()
	var position chain.Position
	for range 3 {
		a, m := p.held(nil)
		seal, refusal, err := p.Commit(ctx, m)
		if err != nil || refusal != nil {
			t.Fatal(refusal, err)
		}
		wanted, publication, _ := m.Build(position, "spent")
		if diff := cmp.Diff(&wanted, seal); diff != "" {
			t.Errorf("seal (-want +got)\n%s", diff)
		}
		for _, s := range []jcs.Hex256{a.JointSeal(), hash("another record"), ""} {
			out, err := p.Lookup(ctx, a.Record().CrossingID, s)
			if diff := cmp.Diff(centre.Outcome{Seal: &wanted}, out); err != nil || diff != "" {
				t.Errorf("looked up for %q (-want +got) %v\n%s", s, err, diff)
			}
		}
		link, err := p.Link(ctx, m.Party, a.Record().CrossingID)
		want(t, "link", err, nil)
		if link.Position != position || link.Anchor != position.Anchor(a.JointSeal()) || link.JointSeal != a.JointSeal() || link.CrossingID != a.Record().CrossingID {
			t.Errorf("link %+v at %+v", link, position)
		}
		waiting, err := p.Waiting(ctx, a.Record().CrossingID, 9)
		if err != nil || len(waiting) != 1 {
			t.Fatalf("%d publications wait, %v", len(waiting), err)
		}
		publication.ID = waiting[0].ID
		if diff := cmp.Diff(publication, waiting[0]); diff != "" {
			t.Errorf("publication (-want +got)\n%s", diff)
		}
		want(t, "acknowledge", p.Acknowledge(ctx, publication.ID, registryStart), nil)
		if out, err := p.Lookup(ctx, a.Record().CrossingID, a.JointSeal()); err != nil || !out.Seal.Published {
			t.Errorf("acknowledged, and not published: %v", err)
		}
		if receipt, err := p.ra.Confirm(ctx, confirmOf(m.Triple, m.Effector, "late")); err != nil || receipt != "spent" {
			t.Errorf("the hold row's final receipt is %q, %v", receipt, err)
		}
		for what, again := range map[string]attempt{"the sealed record": a, "another record": p.again(a)} {
			_, err := p.OpenAttempt(ctx, again.Cleared, registryStart)
			want(t, what+" after the seal", err, centre.ErrConflict)
		}
		_, refusal, err = p.Commit(ctx, m)
		want(t, "a second commit", err, centre.ErrConflict)
		if refusal != nil {
			t.Errorf("a second commit is refused: %v", refusal)
		}
		position = position.Next(a.JointSeal())
	}
	if got, err := p.Next(ctx, p.deal.Responder.AgentID, chain.ID(p.deal.Initiator.AgentID, p.deal.Responder.AgentID)); err != nil || got != position {
		t.Errorf("the next position is %+v, want %+v, %v", got, position, err)
	}
	if open, err := p.OpenAttempts(ctx, "", 9); err != nil || len(open) != 0 {
		t.Errorf("%d attempts are still open, %v", len(open), err)
	}
}

// covers GC-139, GC-301, GC-302
func centreCommitRefused(t *testing.T, p *party) {
	ctx := t.Context()
	_, first := p.held(nil)
	if _, _, err := p.Commit(ctx, first); err != nil {
		t.Fatal(err)
	}
	next, err := p.Next(ctx, first.Party, first.ChainID)
	want(t, "next", err, nil)
	revoke := func(hash jcs.Hex256) {
		t.Helper()
		_, _, err := p.ra.Revoke(ctx, registry.Revocation{Hash: hash, At: registryStart})
		want(t, "revoke", err, nil)
	}
	for i, c := range []struct {
		what   string
		change func(attempt, *centre.Commit)
		name   crossing.Name
	}{
		{"the initiator's Closed revoked", func(_ attempt, m *centre.Commit) { revoke(m.Triple.InitiatorToken) }, crossing.MandateRevoked},
		{"the responder's Closed revoked", func(_ attempt, m *centre.Commit) { revoke(m.Triple.ResponderToken) }, crossing.MandateRevoked},
		{"expired", func(_ attempt, m *centre.Commit) { m.At = registryStart.Add(10 * time.Minute) }, crossing.MandateExpired},
		{"the Open revoked", func(a attempt, _ *centre.Commit) { revoke(crossingtest.OpenHash(a.built.Initiator.Open)) }, crossing.MandateRevoked},
	} {
		a, m := p.held(nil)
		c.change(a, &m)
		seal, refusal, err := p.Commit(ctx, m)
		if err != nil || seal != nil || refusal == nil || refusal.Name != c.name {
			t.Fatalf("%s: %+v, %v, %v; want %s", c.what, seal, refusal, err, c.name)
		}
		p.nothing(c.what, m, next)
		rows, err := p.Refusals(ctx, 1)
		if err != nil || len(rows) != 1 || rows[0].Refusal.Name != c.name || rows[0].CrossingID != a.Record().CrossingID || !rows[0].InitiatorSpent || !rows[0].ResponderSpent {
			t.Errorf("%s: refusals %+v, %v", c.what, rows, err)
		}
		if out, err := p.Lookup(ctx, a.Record().CrossingID, a.JointSeal()); err != nil || out.Refused == nil || out.Refused.Name != c.name || out.Open != nil {
			t.Errorf("%s: outcome %+v, %v", c.what, out, err)
		}
		if x, err := p.CrossingByID(ctx, a.Record().CrossingID); err != nil || x.State != crossing.Refused {
			t.Errorf("%s: the session is %+v, %v", c.what, x, err)
		}
		m.At = registryStart.Add(time.Second)
		_, _, err = p.Commit(ctx, m)
		want(t, c.what+": a second commit", err, centre.ErrConflict)
		if rows, err := p.Refusals(ctx, 100); err != nil || len(rows) != i+1 {
			t.Errorf("%s: %d refusal rows, want %d, %v", c.what, len(rows), i+1, err)
		}
	}
}

func centreCommitUndone(t *testing.T, p *party) {
	ctx := t.Context()
	genesis := chain.Genesis()

	a := p.cleared(nil)
	p.register(a)
	m := p.commit(a, p.open(a))
	if _, refusal, err := p.Commit(ctx, m); err == nil || refusal != nil {
		t.Errorf("without a hold: %v, %v", refusal, err)
	}
	p.nothing("without a hold", m, genesis)
	p.hold(a)

	broken := errors.New("no answer could be formed")
	good := m.Build
	m.Build = func(pos chain.Position, receipt string) (centre.Seal, centre.Publication, error) {
		s, pub, _ := good(pos, receipt)
		return s, pub, broken
	}
	_, _, err := p.Commit(ctx, m)
	want(t, "a failing Build", err, broken)
	p.nothing("a failing Build", m, genesis)
	m.Build = func(chain.Position, string) (centre.Seal, centre.Publication, error) { panic("a fault in Build") }
	if _, _, err := p.Commit(ctx, m); err == nil {
		t.Error("a panic in Build was no error")
	}
	p.nothing("a panic in Build", m, genesis)
	m.Build = good
	foreign := m
	foreign.Effector = p.deal.Initiator.PrincipalID
	if _, _, err := p.Commit(ctx, foreign); err == nil {
		t.Error("another effector has committed")
	}
	p.nothing("another effector", m, genesis)

	// The hold is still only held: had anything been kept, this receipt would not be stored.
	seal, refusal, err := p.Commit(ctx, m)
	if err != nil || refusal != nil || seal.SpendReceipt != "spent" {
		t.Fatalf("the commit after all: %+v, %v, %v", seal, refusal, err)
	}
	if receipt, err := p.ra.Confirm(ctx, confirmOf(m.Triple, m.Effector, "late")); err != nil || receipt != "spent" {
		t.Errorf("the hold row's final receipt is %q, %v", receipt, err)
	}

	// A worker that wakes after its attempt was refused changes nothing.
	b, late := p.held(nil)
	next, err := p.Next(ctx, late.Party, late.ChainID)
	want(t, "next", err, nil)
	row := centre.RefusalRow{Refusal: *crossing.Refuse(crossing.MandateRevoked), CrossingID: b.Record().CrossingID, At: registryStart}
	want(t, "refuse", p.RefuseAttempt(ctx, late.Attempt, late.Triple, row), nil)
	_, _, err = p.Commit(ctx, late)
	want(t, "a late commit", err, centre.ErrConflict)
	p.nothing("a late commit", late, next)
	if receipt, err := p.ra.Confirm(ctx, confirmOf(late.Triple, late.Effector, "probe")); err != nil || receipt != "probe" {
		t.Errorf("the late commit has spent the hold: %q, %v", receipt, err)
	}
}

// centreCommitRace: many workers finish the same two attempts at once.
func centreCommitRace(t *testing.T, p *party) {
	ctx := t.Context()
	_, one := p.held(nil)
	_, two := p.held(nil)
	won := each(t, 50, centre.ErrConflict, func(i int) error {
		m := one
		if i%2 == 1 {
			m = two
		}
		_, refusal, err := p.Commit(ctx, m)
		if refusal != nil {
			return refusal
		}
		return err
	})
	links, err := p.Links(ctx, one.Party, one.ChainID)
	if won != 2 || err != nil || len(links) != 2 || chain.Verify(links) != nil {
		t.Errorf("%d commits of two attempts succeeded; links %+v, %v", won, links, err)
	}
}
