package a2acrossing_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
)

// TestLimitOracle: what the responder's Open was issued for and what is left of it look the
// same from outside, or the limit could be found by bisection.
//
// covers GC-323
func TestLimitOracle(t *testing.T) {
	w, _ := spending(t, 73313, 73000)
	var bodies []string
	for _, n := range []commitment.Magnitude{314, 73313, 73314, 1e9} {
		s := asking(w, w.Party(fmt.Sprint("acme-", n)), n).Through(wiretest.Closing)
		a := s.P3()
		wantTaskRefused(t, a, "MAGNITUDE_EXHAUSTED")
		bodies = append(bodies, bare(s, a))
	}
	wantEqual(t, bodies)
}

func TestProbingAboveLimit(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{Grants: []commitment.Amount{actions(100)}})
	p := w.Party("acme")
	for n := range 10 {
		s := asking(w, p, commitment.Magnitude(1000+n)).Through(wiretest.P0)
		if a := s.P1(); a.Name() != "" {
			t.Logf("constant refusal from proposal %d", n)
			return
		}
		s.P2()
		s.Close()
		s.P3()
	}
	t.Error("ten probes above the limit and no constant refusal")
}

// TestArtifact: the seal resolves with the initiator's own joint seal, so the commitment
// exists, whatever artifact the responder shows (§5.6).
//
// covers GC-247, GC-312
func TestArtifact(t *testing.T) {
	s := newStage(t, wiretest.Config{})
	for name, l := range map[string]wiretest.Lies{
		"no artifact": {Shown: func(task wiretest.Doc) { delete(task, "artifacts") }},
		"another artifact": {Shown: func(task wiretest.Doc) {
			wiretest.Object(task, "artifacts", 0, "metadata", crossing.URI)["seal"] = wiretest.Hash("another")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			id, report, err := crossed(t.Context(), s.i, s.w.Liar(l))
			if err != nil || report == nil {
				t.Errorf("reported %s, %v", report, err)
			}
			if _, err := s.i.Store.Link(t.Context(), s.i.AgentID, id); err != nil {
				t.Errorf("own anchor: %v", err)
			}
		})
	}
}

// TestUnsealedAnchor: a result that merely repeats the initiator's joint seal is no
// commitment. No anchor is written for it, and the next crossing of the pair is free.
//
// covers GC-014, GC-307, GC-312
func TestUnsealedAnchor(t *testing.T) {
	s := newStage(t, wiretest.Config{})
	id, _, _ := crossed(t.Context(), s.i, s.w.Liar(wiretest.Lies{Instead: func(call string, request wiretest.Doc) wiretest.Doc {
		if call != "seal" {
			return nil
		}
		return wiretest.Doc{"jsonrpc": "2.0", "id": request["id"], "result": sealedBy(s.w, wiretest.Object(request, "params"))}
	}}))
	if _, err := s.i.Store.Link(t.Context(), s.i.AgentID, id); !errors.Is(err, centre.ErrNone) {
		t.Errorf("an anchor for what was never sealed: %v", err)
	}
	if _, report, err := crossed(t.Context(), s.i, s.w.URL); err != nil || report == nil {
		t.Errorf("the next crossing of the pair: %v", err)
	}
}

// TestF7AtOnce: another record of the crossing resolves, and that is said at once.
//
// covers GC-321, GC-114
func TestF7AtOnce(t *testing.T) {
	s := newStage(t, wiretest.Config{})
	id, _, err := crossed(t.Context(), s.i, s.w.Liar(wiretest.Lies{Request: func(call string, request wiretest.Doc) {
		if call == "seal" {
			delete(wiretest.Object(request, "params"), "initiator_joint_seal")
			wiretest.Object(request, "params", "record", "timestamps")["sealed_at"] = "2026-09-01T12:00:01Z"
		}
	}}))
	wantStopped(t, s.i, id, err, crossing.SealMismatch)
}

// TestUnregisteredDrains: a Closed without the RA's receipt draws nothing from the
// responder, disclosed limit or not: it would cost its sender nothing.
//
// covers GC-191
func TestUnregisteredDrains(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{Grants: []commitment.Amount{actions(100)}})
	s := asking(w, w.Party("acme"), 60)
	s.Disclose = true
	s.Through(wiretest.P2)
	s.Present(nil)
	before := w.Rows()
	a := s.P3()
	if c, ok := w.Rows().Since(before)["closeds"]; ok || a.Name() == "" {
		t.Errorf("answered %q; the responder drew %d Closeds", a.Name(), len(c.Added))
	}
}

// TestTwoCurrencies: a responder with Opens in two currencies presents the one of the
// initiator's.
//
// covers GC-188
func TestTwoCurrencies(t *testing.T) {
	t.Parallel()
	for _, currency := range []commitment.Currency{"EUR", "USD"} {
		w := wiretest.New(t, wiretest.Config{Grants: []commitment.Amount{money(1000, "EUR"), money(1000, "USD")}})
		s := w.Script(w.Party("acme"))
		s.Amount, s.Draw, s.Limit = money(10, currency), 10, 100
		if a := s.Through(wiretest.Closing).P3(); a.Name() != "" {
			t.Errorf("%s: %s", currency, a.Body)
		}
	}
}
