package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/mandate"
)

func releaseOf(t mandate.Triple, effector string) registry.Releasing {
	return registry.Releasing{
		Triple: t, Event: registry.ToRelease, Returns: true, Effector: effector,
		By: registry.Actor{Role: "effector", PrincipalID: effector}, Receipt: "released", At: registryStart,
	}
}

// left fails the test unless exactly n may still be drawn from the Open. It draws them.
func left(t *testing.T, s registry.Store, what string, o registry.Open, n commitment.Magnitude) {
	t.Helper()
	_, err := s.AddClosed(t.Context(), closed("more of "+what, o, agentA, n+1))
	if !errors.Is(err, registry.ErrExhausted) {
		t.Errorf("%s: more than %d is left (%v)", what, n, err)
	}
	if _, err := s.AddClosed(t.Context(), closed("rest of "+what, o, agentA, n)); err != nil {
		t.Errorf("%s: less than %d is left (%v)", what, n, err)
	}
}

func released(t *testing.T, s registry.Store, what string, v registry.Releasing, receipt string, first bool) {
	t.Helper()
	got, fresh, err := s.Release(t.Context(), v)
	if err != nil || got != receipt || fresh != first {
		t.Errorf("%s: %q %v, %v", what, got, fresh, err)
	}
}

// covers GC-196, GC-198
func registryRelease(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	// Each Open of a pair permits 5; A has drawn 1 of it, B 2.
	p, q, r := newPair(t, s, "p"), newPair(t, s, "q"), newPair(t, s, "r")
	for _, x := range []pair{p, q, r} {
		_, err := s.Hold(ctx, holdOf(triple(x.a, x.b), partyB, "held"))
		want(t, "hold", err, nil)
	}
	// Where nothing returns, nothing changes.
	none := releaseOf(triple(p.a, p.b), partyB)
	none.Returns = false
	for _, event := range []registry.Event{registry.ToRelease, registry.ToLapse, registry.ToUndo} {
		none.Event = event
		none.At = registryStart.Add(time.Hour)
		released(t, s, "in mode none", none, "held", false)
	}
	left(t, s, "none", p.openA, 4)

	released(t, s, "release", releaseOf(triple(q.a, q.b), partyB), "released", true)
	again := releaseOf(triple(q.a, q.b), "")
	again.Receipt = "again"
	released(t, s, "release again", again, "released", false)
	left(t, s, "A", q.openA, 5)
	left(t, s, "B", q.openB, 4) // b2 is out still
	// It is dead: nothing holds, confirms or gives it back again.
	if got, err := s.Hold(ctx, holdOf(triple(q.a, q.b), partyB, "x")); err != nil || got != "released" {
		t.Errorf("hold of what is released: %q, %v", got, err)
	}
	if got, err := s.Confirm(ctx, confirmOf(triple(q.a, q.b), partyB, "x")); err != nil || got != "released" {
		t.Errorf("confirm of what is released: %q, %v", got, err)
	}
	_, err := s.Hold(ctx, holdOf(triple(q.a, q.b2), partyB, "x"))
	want(t, "hold under another triple", err, registry.ErrConsumed)
	if i, r, err := s.Spent(ctx, triple(q.a, q.b)); err != nil || i || r {
		t.Errorf("flags of what is released: %v %v, %v", i, r, err)
	}
	if got, _, err := s.Revoke(ctx, registry.Revocation{Hash: q.a.TokenHash, At: registryStart}); err != nil || got != "released" {
		t.Errorf("state before the revocation of what is released: %q, %v", got, err)
	}
	row, err := s.Find(ctx, triple(q.a, q.b))
	if want := (registry.HoldRow{Triple: triple(q.a, q.b), Spending: registry.Spending{State: mandate.Released}, Effector: partyB, Receipt: "released"}); err != nil || row != want {
		t.Errorf("row %+v, %v", row, err)
	}
	// What is spent stays so.
	_, err = s.Confirm(ctx, confirmOf(triple(r.a, r.b), partyB, "spent"))
	want(t, "confirm", err, nil)
	for _, event := range []registry.Event{registry.ToRelease, registry.ToLapse, registry.ToUndo} {
		spent := releaseOf(triple(r.a, r.b), partyB)
		spent.Event, spent.At = event, registryStart.Add(time.Hour)
		released(t, s, "of what is spent", spent, "spent", false)
	}
	left(t, s, "spent", r.openA, 4)
}

func registryReleaseJudged(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p := newPair(t, s, "p")
	tr := triple(p.a, p.b)
	refused := func(what string, v registry.Releasing, target error) {
		t.Helper()
		_, first, err := s.Release(ctx, v)
		want(t, what, err, target)
		if first {
			t.Errorf("%s: released", what)
		}
	}
	_, err := s.Find(ctx, tr)
	want(t, "find before hold", err, registry.ErrNotHeld)
	refused("before hold", releaseOf(tr, partyB), registry.ErrNotHeld)
	_, err = s.Hold(ctx, holdOf(tr, partyB, "held"))
	want(t, "hold", err, nil)
	refused("another effector", releaseOf(tr, partyA), registry.ErrForeign)
	refused("another triple", releaseOf(triple(p.a, p.b2), partyB), registry.ErrConsumed)
	_, err = s.Find(ctx, triple(p.a, p.b2))
	want(t, "find another triple", err, registry.ErrConsumed)
	half := releaseOf(tr, partyB)
	half.Half = mandate.InitiatorHalf
	refused("a half of both", half, registry.ErrHalf)
	early := releaseOf(tr, "")
	early.Event, early.At = registry.ToLapse, p.a.ExpiresAt.Add(-time.Millisecond)
	released(t, s, "the timer, too early", early, "held", false)
	early.At = p.a.ExpiresAt
	released(t, s, "the timer", early, "released", true)
	for _, kept := range []struct {
		tr   mandate.Triple
		half mandate.Half
		err  error
	}{
		{tr, mandate.Both, nil},
		{mandate.Triple{CrossingID: crossingID, InitiatorToken: p.a.TokenHash, ResponderToken: hash("x")}, mandate.InitiatorHalf, nil},
		{mandate.Triple{CrossingID: crossingID, InitiatorToken: hash("x"), ResponderToken: p.b.TokenHash}, mandate.ResponderHalf, nil},
		{mandate.Triple{CrossingID: crossingID, InitiatorToken: hash("x"), ResponderToken: hash("y")}, mandate.Both, registry.ErrNotFound},
	} {
		half, err := s.Kept(ctx, kept.tr)
		want(t, "kept", err, kept.err)
		if half != kept.half {
			t.Errorf("kept %q, want %q", half, kept.half)
		}
	}
}

// registryReleaseRace: of a confirm and a release one decides, and both tell the same.
//
// covers GC-301
func registryReleaseRace(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	var wg sync.WaitGroup
	for i := range 40 {
		p, err := addPair(t, s, fmt.Sprint("p", i))
		want(t, "pair", err, nil)
		tr := triple(p.a, p.b)
		_, err = s.Hold(ctx, holdOf(tr, partyB, "held"))
		want(t, "hold", err, nil)
		var answers [3]string
		var firsts atomic.Int32
		var all sync.WaitGroup
		all.Go(func() { answers[0], _ = s.Confirm(ctx, confirmOf(tr, partyB, "spent")) })
		for n := 1; n < 3; n++ {
			all.Go(func() {
				got, first, _ := s.Release(ctx, releaseOf(tr, partyB))
				answers[n] = got
				if first {
					firsts.Add(1)
				}
			})
		}
		wg.Go(func() {
			all.Wait()
			if answers[1] != answers[0] || answers[2] != answers[0] || answers[0] == "" {
				t.Errorf("answers %q", answers)
			}
			if (answers[0] == "released") != (firsts.Load() == 1) {
				t.Errorf("%d releases for the first time, state %q", firsts.Load(), answers[0])
			}
		})
	}
	wg.Wait()
}

// covers GC-196
func registryLapsed(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p, q := newPair(t, s, "p"), newPair(t, s, "q")
	h := holdOf(triple(p.a, p.b), partyB, "held")
	h.Lapses = registryStart.Add(time.Minute)
	_, err := s.Hold(ctx, h)
	want(t, "hold", err, nil)
	long := holdOf(triple(q.a, q.b), partyB, "held") // lapses with its Closeds
	long.Lapses = registryStart.Add(time.Hour)
	_, err = s.Hold(ctx, long)
	want(t, "hold", err, nil)
	due := func(what string, at time.Time, wanted ...mandate.Triple) {
		t.Helper()
		rows, err := s.Due(ctx, at, 10)
		want(t, what, err, nil)
		for i, row := range rows {
			if i >= len(wanted) || row.Triple != wanted[i] || row.State != mandate.Held || row.Effector != partyB {
				t.Errorf("%s: row %+v", what, row)
			}
		}
		if len(rows) != len(wanted) {
			t.Errorf("%s: %d rows", what, len(rows))
		}
	}
	due("early", h.Lapses.Add(-time.Millisecond))
	due("in time", h.Lapses, h.Triple)
	due("both", q.a.ExpiresAt, h.Triple, long.Triple)
	lapse := func(what string, at time.Time, wanted int) {
		t.Helper()
		if n, err := s.Lapse(ctx, at, 10); err != nil || n != wanted {
			t.Errorf("%s: %d lapsed, %v", what, n, err)
		}
	}
	lapse("early", p.b2.ExpiresAt.Add(-time.Millisecond), 0)
	lapse("at exp", p.b2.ExpiresAt, 2) // b2 of both; what is held is not touched
	lapse("again", p.b2.ExpiresAt, 0)
	left(t, s, "B", p.openB, 4)
	left(t, s, "A", p.openA, 4)
	// It is dead, also for a clock that was set back.
	_, err = s.Hold(ctx, holdOf(triple(q.a, q.b2), partyB, "r"))
	want(t, "hold of what has lapsed", err, registry.ErrConsumed)
	late := holdOf(mandate.Triple{CrossingID: crossingID, InitiatorToken: newPair(t, s, "r").a.TokenHash, ResponderToken: q.b2.TokenHash}, partyB, "r")
	late.At = q.b2.ExpiresAt
	_, err = s.Hold(ctx, late)
	want(t, "the same, at exp", err, registry.ErrExpired)
	if active, err := s.Active(ctx, p.b2.TokenHash, registryStart); err != nil || active != "" {
		t.Errorf("what has lapsed: active %v, %v", active, err)
	}
	// A Closed that is revoked and was never held lapses all the same.
	revoked := newPair(t, s, "revoked")
	_, _, err = s.Revoke(ctx, registry.Revocation{Hash: revoked.a.TokenHash, At: registryStart})
	want(t, "revoke", err, nil)
	if _, err := s.Lapse(ctx, revoked.a.ExpiresAt, 10); err != nil {
		t.Fatal(err)
	}
	left(t, s, "revoked", revoked.openA, 5)
}

func registrySweepBounds(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	for i := range 3 {
		p := newPair(t, s, fmt.Sprint("p", i))
		_, err := s.Hold(ctx, holdOf(triple(p.a, p.b), partyB, "held"))
		want(t, "hold", err, nil)
	}
	at := registryStart.Add(time.Hour)
	if rows, err := s.Due(ctx, at, 2); err != nil || len(rows) != 2 {
		t.Errorf("%d rows are due, %v", len(rows), err)
	}
	for _, wanted := range []int{2, 1, 0} {
		if n, err := s.Lapse(ctx, at, 2); err != nil || n != wanted {
			t.Errorf("%d lapsed, %v, want %d", n, err, wanted)
		}
	}
}

// registryRefusedForGood: what was refused as expired is signed as final, so no other clock
// brings it back.
func registryRefusedForGood(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p, q := newPair(t, s, "p"), newPair(t, s, "q")
	h := holdOf(triple(p.a, p.b), partyB, "r")
	h.At = p.a.ExpiresAt
	_, err := s.Hold(ctx, h)
	want(t, "late hold", err, registry.ErrExpired)
	h.At = registryStart
	_, err = s.Hold(ctx, h)
	want(t, "hold by another clock", err, registry.ErrExpired)

	_, err = s.Hold(ctx, holdOf(triple(q.a, q.b), partyB, "held"))
	want(t, "hold", err, nil)
	c := confirmOf(triple(q.a, q.b), partyB, "spent")
	c.At = q.a.ExpiresAt
	_, err = s.Confirm(ctx, c)
	want(t, "late confirm", err, registry.ErrExpired)
	_, err = s.Confirm(ctx, confirmOf(triple(q.a, q.b), partyB, "spent"))
	want(t, "confirm by another clock", err, registry.ErrExpired)
	if row, err := s.Find(ctx, triple(q.a, q.b)); err != nil || row.State != mandate.Held || !row.Refused {
		t.Errorf("row %+v, %v", row, err)
	}
}

// centreCommitReleased: a hold that was given back ends its attempt, with the flags of what
// is not spent.
func centreCommitReleased(t *testing.T, p *party) {
	ctx := t.Context()
	a, m := p.held(nil)
	next, err := p.Next(ctx, m.Party, m.ChainID)
	want(t, "next", err, nil)
	v := releaseOf(m.Triple, m.Effector)
	if got, first, err := p.ra.Release(ctx, v); err != nil || got != "released" || !first {
		t.Fatalf("release: %q %v, %v", got, first, err)
	}
	seal, refusal, err := p.Commit(ctx, m)
	if err != nil || seal != nil || refusal == nil || refusal.Name != crossing.MagnitudeExhausted {
		t.Fatalf("commit: %+v, %v, %v", seal, refusal, err)
	}
	p.nothing("released", m, next)
	rows, err := p.Refusals(ctx, 1)
	if err != nil || len(rows) != 1 || rows[0].InitiatorSpent || rows[0].ResponderSpent {
		t.Errorf("refusals %+v, %v", rows, err)
	}
	if out, err := p.Lookup(ctx, a.Record().CrossingID, a.JointSeal()); err != nil || out.Refused == nil || out.Open != nil {
		t.Errorf("outcome %+v, %v", out, err)
	}
}
