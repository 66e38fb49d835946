package centre_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/jcs"
)

// errFull is what a full disk answers.
var errFull = errors.New("database or disk is full")

// disk is a store whose writes, or whose chain, can fail.
type disk struct {
	centre.Store
	full, unreadable atomic.Bool
}

func (d *disk) OpenAttempt(ctx context.Context, c *crossing.Cleared, at time.Time) (*centre.Attempt, error) {
	if d.full.Load() {
		return nil, errFull
	}
	return d.Store.OpenAttempt(ctx, c, at)
}

func (d *disk) Refuse(ctx context.Context, row centre.RefusalRow, x *centre.Crossing) error {
	if d.full.Load() {
		return errFull
	}
	return d.Store.Refuse(ctx, row, x)
}

func (d *disk) Next(ctx context.Context, party string, chainID jcs.Hex256) (chain.Position, error) {
	if d.unreadable.Load() {
		return chain.Position{}, errFull
	}
	return d.Store.Next(ctx, party, chainID)
}

func fullWorld(t *testing.T) (*wiretest.World, *disk) {
	d := &disk{}
	w := wiretest.New(t, wiretest.Config{Store: func(s centre.Store) centre.Store {
		d.Store = s
		return d
	}})
	return w, d
}

// TestFullDisk: nothing can be written, so nothing was committed and nothing spent. When
// there is room again the same call seals, and the refusal that was given is recorded.
//
// covers GC-015, GC-267, GC-308, GC-320
func TestFullDisk(t *testing.T) {
	t.Parallel()
	w, d := fullWorld(t)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	d.full.Store(true)
	for range 2 {
		wantName(t, s.Seal(), "CHAIN_POSITION_UNAVAILABLE")
	}
	task := s.Task()
	if state := task.State(); state != "failed_unsealed" {
		t.Errorf("the task shows %s", state)
	}
	if core := wiretest.At(task.Task(), "status", "state"); core != "TASK_STATE_FAILED" {
		t.Errorf("the core state is %v", core)
	}
	wantCounts(t, w, wiretest.Counts{})
	d.full.Store(false)
	w.Run(10 * time.Millisecond)
	eventually(t, "the refusals are recorded", func() bool { return w.Count().Refusals == 2 })
	seals(t, s)
	if state := s.Task().State(); state != "committed" {
		t.Errorf("the task shows %s", state)
	}
	want := once
	want.Refusals = 2
	wantCounts(t, w, want)
}

// TestNoPosition: a chain that cannot be read gives no position, and nothing is spent.
//
// covers GC-113, GC-249
func TestNoPosition(t *testing.T) {
	t.Parallel()
	w, d := fullWorld(t)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	d.unreadable.Store(true)
	a := s.Seal()
	wantName(t, a, "CHAIN_POSITION_UNAVAILABLE")
	if a.Code() != "-40050" {
		t.Errorf("code %s, want -40050", a.Code())
	}
	wantCounts(t, w, wiretest.Counts{Refusals: 1})
	d.unreadable.Store(false)
	seals(t, s)
}

// TestInitiatorFailsUnsealed: the initiator ends in failed_unsealed too, and may try the
// same crossing again.
//
// covers GC-308, GC-309
func TestInitiatorFailsUnsealed(t *testing.T) {
	t.Parallel()
	w, d := fullWorld(t)
	i := w.Initiator("acme", nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d.full.Store(true)
	id, _, err := crossing1(ctx, i, &peer{bend: func(calls int, answer []byte, err error) ([]byte, error) {
		return answer, err
	}})
	var refusal *crossing.Refusal
	if !errors.As(err, &refusal) || refusal.Name != crossing.ChainPositionUnavailable || errors.Is(err, centre.ErrUnknown) {
		t.Fatalf("error %v", err)
	}
	x, err := i.Store.CrossingByID(t.Context(), id)
	if err != nil || x.State != crossing.FailedUnsealed {
		t.Fatalf("state %v, %v", x, err)
	}
	d.full.Store(false)
	resume(t, i, id)
	if x, err = i.Store.CrossingByID(t.Context(), id); err != nil || x.State != crossing.Committed || x.Refusal != nil {
		t.Fatalf("state %v, %v", x, err)
	}
}

// TestRepair: an initiator that lost the answer writes its anchor and publishes it
// without a person and without the counterparty.
//
// covers GC-247, GC-248
func TestRepair(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	i := w.Initiator("acme", nil)
	ctx, cancel := context.WithCancel(t.Context())
	id, _, err := crossing1(ctx, i, &peer{bend: func(int, []byte, error) ([]byte, error) {
		cancel() // the answer is there, and the process ends before it is read
		return nil, context.Canceled
	}})
	if !errors.Is(err, centre.ErrUnknown) {
		t.Fatalf("error %v", err)
	}
	if _, err := i.Store.Link(t.Context(), i.AgentID, id); !errors.Is(err, centre.ErrNone) {
		t.Fatalf("an anchor before the repair: %v", err)
	}
	if n := w.Count().Projections; n != 1 {
		t.Fatalf("%d projections, want the responder's: the commitment exists", n)
	}
	run, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- i.Centre.Run(run, 5*time.Millisecond) }()
	time.Sleep(30 * time.Millisecond)
	if _, err := i.Store.Link(t.Context(), i.AgentID, id); !errors.Is(err, centre.ErrNone) {
		t.Errorf("repaired while somebody may still be at it: %v", err)
	}
	i.Clock.Advance(31 * time.Second)
	eventually(t, "the anchor is written", func() bool {
		_, err := i.Store.Link(t.Context(), i.AgentID, id)
		return err == nil
	})
	eventually(t, "both parties' projections are served", func() bool { return w.Count().Projections == 2 })
	eventually(t, "the crossing is committed", func() bool {
		x, err := i.Store.CrossingByID(t.Context(), id)
		return err == nil && x.State == crossing.Committed
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRestart: after a refusal the same crossing_id may be used again, in a new task and
// with fresh Closeds, by the same counterparty and by no other (AG-33, AG-69).
func TestRestart(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	acme := w.Party("acme")
	s := w.Script(acme).Through(wiretest.P3)
	s.Edit.Record = func(d wiretest.Doc) { d["magnitude_asserted"] = wiretest.Number("2") }
	wantName(t, s.Seal(), "MAGNITUDE_MISMATCH")
	if state := s.Task().State(); state != "refused" {
		t.Fatalf("the task shows %s", state)
	}
	other := w.Script(w.Party("initech"))
	other.CrossingID = s.CrossingID
	other.Through(wiretest.P1)
	wantName(t, other.P2(), "RECORD_MALFORMED")
	again := w.Script(acme)
	again.CrossingID = s.CrossingID
	again.Through(wiretest.P3)
	seals(t, again)
	if state := s.Task().State(); state != "refused" {
		t.Errorf("the old task shows %s", state)
	}
	third := w.Script(acme)
	third.CrossingID = s.CrossingID
	third.Through(wiretest.P1)
	wantName(t, third.P2(), "RECORD_MALFORMED")
}

// TestNonceOfAnotherTask: a nonce that was seen in a crossing is used up for it, also when
// the crossing begins again in a new task.
//
// covers GC-295, GC-100
func TestNonceOfAnotherTask(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	acme := w.Party("acme")
	fixed := func(claims wiretest.Doc) { claims["nonce"] = "the-same-nonce-again" }
	s := w.Script(acme)
	s.Edit.Closed = fixed
	s.Through(wiretest.P3)
	s.Edit.Record = func(d wiretest.Doc) { d["magnitude_asserted"] = wiretest.Number("2") }
	wantName(t, s.Seal(), "MAGNITUDE_MISMATCH")
	again := w.Script(acme)
	again.CrossingID, again.Edit.Closed = s.CrossingID, fixed
	again.Through(wiretest.Closing)
	wantName(t, again.P3(), "MANDATE_NONCE_REPLAY")
	fresh := w.Script(acme)
	fresh.CrossingID = s.CrossingID
	seals(t, fresh.Through(wiretest.P3))
}
