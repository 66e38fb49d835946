package centre_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
)

// peer is the real responder with one call of crossing:seal bent. The real one has
// answered before bend sees the answer.
type peer struct {
	centre.Counterparty
	before func()
	bend   func(calls int, answer []byte, err error) ([]byte, error)
	calls  int
}

func (p *peer) Seal(ctx context.Context, params []byte) ([]byte, error) {
	p.calls++
	if p.before != nil {
		p.before()
	}
	answer, err := p.Counterparty.Seal(ctx, params)
	if p.bend != nil {
		return p.bend(p.calls, answer, err)
	}
	return answer, err
}

// crossing1 runs a crossing with a bent peer and tells its id.
func crossing1(ctx context.Context, i *wiretest.Initiator, p *peer) (id string, report []byte, err error) {
	dial := func(ctx context.Context, url string) (c centre.Counterparty, err error) {
		p.Counterparty, err = i.Dial(ctx, url)
		return p, err
	}
	report, err = i.Centre.Cross(ctx, i.Deal(), dial, func(crossingID string) { id = crossingID }, func(centre.Event) {})
	return id, report, err
}

// resume takes a crossing up again with the real responder.
func resume(t *testing.T, i *wiretest.Initiator, id string) []byte {
	t.Helper()
	report, err := i.Centre.Resume(t.Context(), id, i.Dial, func(centre.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// covers GC-244, GC-310
func TestInitiator(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	i := w.Initiator("acme", nil)
	for n := range 3 {
		id, report, err := crossing1(t.Context(), i, &peer{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := wiretest.Parse(report)
		if err != nil {
			t.Fatal(err)
		}
		seal := wiretest.JointSeal(wiretest.Object(d, "record"))
		link, err := i.Store.Link(t.Context(), i.AgentID, id)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := w.Store.Link(t.Context(), w.Responder.AgentID, id)
		if err != nil {
			t.Fatal(err)
		}
		if string(link.JointSeal) != seal || string(theirs.JointSeal) != seal || wiretest.Text(d, "joint_seal") != seal {
			t.Errorf("seals %s, %s, %s; recomputed %s", link.JointSeal, theirs.JointSeal, wiretest.Text(d, "joint_seal"), seal)
		}
		if link.Seq != int64(n) || theirs.Seq != int64(n) {
			t.Errorf("positions %d and %d, want %d", link.Seq, theirs.Seq, n)
		}
		if again := resume(t, i, id); !bytes.Equal(again, report) {
			t.Errorf("the report is now\n%s\nand was\n%s", again, report)
		}
	}
	if n := w.Count(); n.Projections != 6 || n.Refusals != 0 {
		t.Errorf("counts %+v, want the projections of both parties", n)
	}
}

// TestBentAnswers: the seal stands at the authority, whatever the initiator was told, so
// it is found there and reported (§5.6-1).
//
// covers GC-311
func TestBentAnswers(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	i := w.Initiator("acme", nil)
	bent := func(answer []byte) func(int, []byte, error) ([]byte, error) {
		return func(int, []byte, error) ([]byte, error) { return answer, nil }
	}
	replaced := func(old, with string) func(int, []byte, error) ([]byte, error) {
		return func(_ int, answer []byte, err error) ([]byte, error) {
			return bytes.Replace(answer, []byte(old), []byte(with), 1), err
		}
	}
	for name, bend := range map[string]func(int, []byte, error) ([]byte, error){
		"lost once": func(calls int, answer []byte, err error) ([]byte, error) {
			if calls == 1 {
				return nil, errLost
			}
			return answer, err
		},
		"no echo": func(int, []byte, error) ([]byte, error) {
			return nil, crossing.RefuseAt(crossing.ExtNotActivated, "§3.5.2-2 echo")
		},
		"a mismatch": func(int, []byte, error) ([]byte, error) {
			return nil, &crossing.Refusal{Name: crossing.SealMismatch, Peer: true}
		},
		"no JSON":            bent([]byte(`<html>`)),
		"an empty object":    bent([]byte(`{}`)),
		"another crossing":   replaced(`"crossing_id":"`, `"crossing_id":"00000000-0000-4000-8000-000000000000","was":"`),
		"another verify_url": replaced(`"verify_url":"http://`, `"verify_url":"https://`),
		"no block":           replaced(`"artifact_block"`, `"artifact"`),
	} {
		t.Run(name, func(t *testing.T) {
			before := w.Count()
			id, report, err := crossing1(t.Context(), i, &peer{bend: bend})
			if err != nil {
				t.Fatal(err)
			}
			if again := resume(t, i, id); !bytes.Equal(again, report) {
				t.Errorf("the report is now %s", again)
			}
			if n := w.Count(); n.Seals != before.Seals+1 || n.Projections != before.Projections+2 {
				t.Errorf("counts %+v after %+v", n, before)
			}
		})
	}
}

// TestGarbage: an answer that nobody can read, to a seal that was refused, is no refusal
// that the initiator may believe.
func TestGarbage(t *testing.T) {
	t.Parallel()
	w, _, ra := world(t, 0)
	i := w.Initiator("acme", nil)
	ra.hold.Store(lost)
	p := &peer{bend: func(int, []byte, error) ([]byte, error) { return []byte(`<html>`), nil }}
	id, _, err := crossing1(t.Context(), i, p)
	if !errors.Is(err, centre.ErrUnknown) {
		t.Fatalf("error %v, want ErrUnknown", err)
	}
	ra.hold.Store(works)
	resume(t, i, id)
	if n := w.Count(); n.Seals != 1 || n.Projections != 2 {
		t.Errorf("counts %+v", n)
	}
}

// TestNoOutcome: without an answer and with the authority silent on it, nothing is
// concluded; resuming tells.
//
// covers GC-311
func TestNoOutcome(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	i := w.Initiator("acme", nil)
	ctx, cancel := context.WithCancel(t.Context())
	p := &peer{bend: func(int, []byte, error) ([]byte, error) {
		cancel() // the person gives up
		return nil, errLost
	}}
	id, _, err := crossing1(ctx, i, p)
	var refusal *crossing.Refusal
	if !errors.Is(err, centre.ErrUnknown) || errors.As(err, &refusal) {
		t.Fatalf("error %v, want ErrUnknown alone", err)
	}
	if x, err := i.Store.CrossingByID(t.Context(), id); err != nil || x.State.Terminal() {
		t.Errorf("the crossing is %+v, %v", x, err)
	}
	resume(t, i, id)
	if n := w.Count(); n.Seals != 1 || n.Projections != 2 || n.Refusals != 0 {
		t.Errorf("counts %+v", n)
	}
}

// TestClockRefusal: refused for its time, the record is built again with the same Closeds.
func TestClockRefusal(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	i := w.Initiator("acme", nil)
	p := &peer{}
	p.before = func() {
		if p.calls == 1 { // the first record waits too long
			w.Clock.Advance(6 * time.Minute)
			i.Clock.Advance(6 * time.Minute)
		}
	}
	id, _, err := crossing1(t.Context(), i, p)
	if err != nil {
		t.Fatal(err)
	}
	if sent, err := i.Store.Sent(t.Context(), id); err != nil || len(sent) != 2 {
		t.Errorf("%d records were sent, %v", len(sent), err)
	}
	if n := w.Count(); n.Seals != 1 || n.Attempts != 2 || n.Refusals != 1 || n.Holds != 1 {
		t.Errorf("counts %+v", n)
	}
}

// TestPeerRefuses: what the responder refuses ends the crossing on both sides.
func TestPeerRefuses(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	i := w.Initiator("acme", nil)
	p := &peer{}
	p.before = func() {
		if p.calls == 1 {
			w.Clock.Advance(20 * time.Minute) // the Closeds have expired
			i.Clock.Advance(20 * time.Minute)
		}
	}
	id, _, err := crossing1(t.Context(), i, p)
	var refusal *crossing.Refusal
	if !errors.As(err, &refusal) || refusal.Name != crossing.MandateExpired {
		t.Fatalf("error %v, want MANDATE_EXPIRED", err)
	}
	x, err := i.Store.CrossingByID(t.Context(), id)
	if err != nil || x.State != crossing.Refused || x.Refusal == nil {
		t.Errorf("the crossing is %+v, %v", x, err)
	}
	_, again := i.Centre.Resume(t.Context(), id, i.Dial, func(centre.Event) {})
	if !errors.As(again, &refusal) {
		t.Errorf("resuming gives %v", again)
	}
	if n := w.Count(); n.Seals+n.Anchors != 0 {
		t.Errorf("counts %+v", n)
	}
}
