package centre_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/mandate"
)

// gated is a store at which a test stops the caller, right after a read or around a
// write. A nil function stops nobody.
type gated struct {
	centre.Store
	mu      sync.Mutex // guards the functions
	sent    func(crossingID string) error
	read    func(x *centre.Crossing)
	put     func(x *centre.Crossing)
	refused func()
}

func (g *gated) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

func (g *gated) Sent(ctx context.Context, id string) ([][]byte, error) {
	out, err := g.Store.Sent(ctx, id)
	g.mu.Lock()
	f := g.sent
	g.mu.Unlock()
	if f != nil {
		err = errors.Join(err, f(id))
	}
	return out, err
}

func (g *gated) CrossingByID(ctx context.Context, id string) (*centre.Crossing, error) {
	x, err := g.Store.CrossingByID(ctx, id)
	g.mu.Lock()
	f := g.read
	g.mu.Unlock()
	if f != nil && err == nil {
		f(x)
	}
	return x, err
}

func (g *gated) Put(ctx context.Context, x *centre.Crossing) error {
	g.mu.Lock()
	f := g.put
	g.mu.Unlock()
	if f != nil {
		f(x)
	}
	return g.Store.Put(ctx, x)
}

func (g *gated) RefuseAttempt(ctx context.Context, a *centre.Attempt, t mandate.Triple, row centre.RefusalRow) error {
	err := g.Store.RefuseAttempt(ctx, a, t, row)
	g.mu.Lock()
	f := g.refused
	g.mu.Unlock()
	if f != nil {
		f()
	}
	return err
}

func (g *gated) wrap(s centre.Store) centre.Store {
	g.Store = s
	return g
}

func gatedWorld(t *testing.T) (*wiretest.World, *gated) {
	g := &gated{}
	return wiretest.New(t, wiretest.Config{Store: g.wrap}), g
}

// TestSpenderGone: a responder that has lost its RA interface still gives what it has
// stored, and says of an open attempt that it will be answered later.
func TestSpenderGone(t *testing.T) {
	t.Parallel()
	w, _, ra := world(t, 0)
	p := w.Party("acme")
	sealed, open, fresh := w.Script(p).Through(wiretest.P3), w.Script(p).Through(wiretest.P3), w.Script(p).Through(wiretest.P3)
	a := sealed.Seal()
	wantSealed(t, a)
	refused := w.Script(p).Through(wiretest.P3)
	refused.Edit.Record = func(d wiretest.Doc) { d["magnitude_asserted"] = wiretest.Number("2") }
	wantName(t, refused.Seal(), "MAGNITUDE_MISMATCH")
	ra.hold.Store(lost)
	wantName(t, open.Seal(), "SEAL_PENDING")
	w.Centre.LoseSpender()
	if again := sealed.Seal(); !bytes.Equal(again.Body, a.Body) {
		t.Errorf("the repeat answered %s", again.Body)
	}
	wantName(t, refused.Seal(), "MAGNITUDE_MISMATCH")
	wantName(t, open.Seal(), "SEAL_PENDING")
	if n := len(w.Rows().Where("attempts", "state", "open")); n != 1 {
		t.Errorf("%d open attempts", n)
	}
	a = fresh.Seal()
	wantName(t, a, "MANDATE_PARTY_MISMATCH")
	if a.Path() != "§1.4 verify-only" {
		t.Errorf("path %s", a.Path())
	}
}

// TestLatePureRefusal: a duplicate that was read before the attempt was opened, and is
// judged when its clock window has passed, does not close the attempt under the seal.
func TestLatePureRefusal(t *testing.T) {
	t.Parallel()
	w, g := gatedWorld(t)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	body := s.SealBody()
	in, gate := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	g.set(func() {
		g.read = func(*centre.Crossing) {
			if first.CompareAndSwap(false, true) {
				close(in)
				<-gate
			}
		}
	})
	late := make(chan wiretest.Answer, 1)
	go func() {
		a, _ := w.Send(wiretest.Activated(), body)
		late <- a
	}()
	<-in
	w.OnPoint(func(point string) {
		if point != centre.PointAfterHold {
			return
		}
		w.Clock.Advance(301 * time.Second)
		close(gate)
		if a := <-late; a.Name() != "SEAL_PENDING" {
			t.Errorf("the late duplicate is answered %s", a.Body)
		}
	})
	wantSealed(t, s.Seal())
	wantCounts(t, w, once)
	if n := len(w.Rows().Where("attempts", "state", "sealed")); n != 1 {
		t.Errorf("%d sealed attempts", n)
	}
}

// TestFreedWhileSealing: a crossing_id is used again while a record of its old session is
// on its way. Either the old record's attempt is first, and the id stays, or the id is
// freed, and the old record never spends the new session's Closed.
func TestFreedWhileSealing(t *testing.T) {
	t.Parallel()
	t.Run("freed first", func(t *testing.T) {
		w, d := fullWorld(t)
		p := w.Party("acme")
		s := w.Script(p).Through(wiretest.P3)
		d.full.Store(true)
		wantName(t, s.Seal(), "CHAIN_POSITION_UNAVAILABLE")
		d.full.Store(false)
		n := w.Script(p)
		n.CrossingID = s.CrossingID
		var first atomic.Bool
		w.OnPoint(func(point string) {
			if point == centre.PointBeforeAttempt && first.CompareAndSwap(false, true) {
				n.Through(wiretest.P3)
			}
		})
		if a := s.Seal(); a.Name() == "" || a.Name() == "SEAL_PENDING" {
			t.Errorf("the old record is answered %s", a.Body)
		}
		wantSealed(t, n.Seal())
		holds := w.Rows()["holds"]
		if len(holds) != 1 || holds[0]["initiator_token"] != wiretest.Hash(n.Closed) || holds[0]["responder_token"] != wiretest.Hash(n.Peer.Closed) {
			t.Errorf("holds %v", holds)
		}
		if state := w.ClosedState(s.Peer.Closed); state == "consumed" {
			t.Errorf("the old Closed is %s", state)
		}
	})
	t.Run("attempt first", func(t *testing.T) {
		d, g := &disk{}, &gated{}
		w := wiretest.New(t, wiretest.Config{Store: func(s centre.Store) centre.Store {
			d.Store = g.wrap(s)
			return d
		}})
		p := w.Party("acme")
		s := w.Script(p).Through(wiretest.P3)
		d.full.Store(true)
		wantName(t, s.Seal(), "CHAIN_POSITION_UNAVAILABLE")
		d.full.Store(false)
		body := s.SealBody()
		var first atomic.Bool
		g.set(func() {
			g.put = func(x *centre.Crossing) {
				if x.TaskID == s.TaskID && x.CrossingID == "" && first.CompareAndSwap(false, true) {
					if a, err := w.Send(wiretest.Activated(), body); err != nil || a.Result() == nil {
						t.Errorf("the old record is answered %s, %v", a.Body, err)
					}
				}
			}
		})
		n := w.Script(p)
		n.CrossingID = s.CrossingID
		n.Through(wiretest.P1)
		wantName(t, n.P2(), "RECORD_MALFORMED")
		if !first.Load() {
			t.Fatal("the id was never about to be freed")
		}
		if state := s.Task().State(); state != "committed" {
			t.Errorf("the task shows %s", state)
		}
	})
}

// TestOtherSession: an attempt whose session has another Closed than its record names
// spends nothing.
func TestOtherSession(t *testing.T) {
	t.Parallel()
	g, ra := &gated{}, &spender{}
	w := wiretest.New(t, wiretest.Config{
		Store:   g.wrap,
		Spender: func(real centre.Spender) centre.Spender { ra.Spender = real; return ra },
	})
	p := w.Party("acme")
	s, n := w.Script(p).Through(wiretest.P3), w.Script(p).Through(wiretest.P3)
	w.OnPoint(func(point string) {
		if point == centre.PointAfterAttempt {
			g.set(func() { g.read = func(x *centre.Crossing) { x.OwnClosed = n.Peer.Closed } })
		}
	})
	wantName(t, s.Seal(), "SEAL_PENDING")
	if calls := ra.holds.Load(); calls != 0 {
		t.Errorf("the RA was asked %d times", calls)
	}
	g.set(func() { g.read = nil })
	seals(t, s)
	wantCounts(t, w, once)
}

// TestSuspendedMeanwhile: what the RA refuses for a while is no end of an open attempt.
func TestSuspendedMeanwhile(t *testing.T) {
	t.Parallel()
	w, _, ra := world(t, 0)
	p := w.Party("acme")
	s := w.Script(p).Through(wiretest.P3)
	ra.hold.Store(lost)
	wantName(t, s.Seal(), "SEAL_PENDING")
	ra.hold.Store(works)
	w.Suspend(p)
	wantName(t, s.Seal(), "SEAL_PENDING")
	if n := len(w.Rows().Where("attempts", "state", "open")); n != 1 || w.Count().Refusals != 0 {
		t.Errorf("%d open attempts, %+v", n, w.Count())
	}
	w.Reinstate(p)
	seals(t, s)
	wantCounts(t, w, once)
}

// TestFlightsApart: a record whose attempt is opened while the flight of a refused one has
// not landed yet is brought to its own end.
func TestFlightsApart(t *testing.T) {
	t.Parallel()
	w, g := gatedWorld(t)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	other := *s
	other.Edit.Record = func(d wiretest.Doc) { wiretest.Object(d, "a2a_context")["artifact_id"] = "another" }
	body := other.SealBody()
	s.From.Revoke(wiretest.Hash(s.Closed))
	answer := make(chan wiretest.Answer, 1)
	var first atomic.Bool
	g.set(func() {
		g.refused = func() {
			if !first.CompareAndSwap(false, true) {
				return
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				a, _ := w.Send(wiretest.Activated(), body)
				answer <- a
			}()
			select {
			case <-done:
			case <-time.After(300 * time.Millisecond): // it waits for this flight
			}
		}
	})
	wantName(t, s.Seal(), "MANDATE_REVOKED")
	wantName(t, <-answer, "MANDATE_REVOKED")
	if n := len(w.Rows().Where("attempts", "state", "refused")); n != 2 {
		t.Errorf("attempts %v", w.Rows()["attempts"])
	}
}

// TestProbesOfOldSessions: sessions begun before the third probe get the constant refusal
// too, for every amount.
func TestProbesOfOldSessions(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{Grants: []commitment.Amount{{Class: commitment.Irreversible, Magnitude: 100}}})
	p := w.Party("acme")
	var all []*wiretest.Script
	for _, n := range []commitment.Magnitude{1000, 999, 998, 997, 1} {
		s := w.Script(p)
		s.Amount.Magnitude, s.Draw, s.Limit = n, n, 5000
		all = append(all, s.Through(wiretest.P1))
	}
	for n, s := range all {
		s.P2()
		s.Close()
		a := s.P3()
		wantName(t, a, "MAGNITUDE_EXHAUSTED")
		if constant := a.Path() == "§5.7 F2"; constant != (n >= 3) {
			t.Errorf("probe %d: path %q", n, a.Path())
		}
	}
}

// TestRestartedAfterFailure: the new task of a crossing_id does not show that the old one
// has failed.
func TestRestartedAfterFailure(t *testing.T) {
	t.Parallel()
	w, d := fullWorld(t)
	p := w.Party("acme")
	s := w.Script(p).Through(wiretest.P3)
	d.full.Store(true)
	wantName(t, s.Seal(), "CHAIN_POSITION_UNAVAILABLE")
	d.full.Store(false)
	n := w.Script(p)
	n.CrossingID = s.CrossingID
	n.Through(wiretest.P3)
	if state := n.Task().State(); state != "sealing" {
		t.Errorf("the new task shows %s", state)
	}
	wantName(t, n.P3(), "")
	seals(t, n)
	if state := s.Task().State(); state != "failed_unsealed" {
		t.Errorf("the old task shows %s", state)
	}
}
