package centre_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
)

// short is an AckTimeout that a test can wait for.
const short = 60 * time.Millisecond

// TestUnacknowledged: a seal is written, and not reported before the authority serves it.
//
// covers GC-014, GC-265, GC-312, GC-313
func TestUnacknowledged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode int32
		ack  time.Duration
	}{"no connection": {lost, 0}, "no answer": {silent, short}} {
		t.Run(name, func(t *testing.T) {
			w, p, _ := world(t, c.ack)
			s := w.Script(w.Party("acme")).Through(wiretest.P3)
			p.mode.Store(c.mode)
			for range 2 {
				a := s.Seal()
				wantName(t, a, "SEAL_PENDING")
				if a.Code() != "-40052" {
					t.Errorf("code %s, want -40052", a.Code())
				}
			}
			unpublished := once
			unpublished.Projections = 0
			eventually(t, "the seal is written", func() bool {
				wantName(t, s.Seal(), "SEAL_PENDING") // whatever the attempt had no time for is taken up again
				return w.Count() == unpublished
			})
			if state := s.Task().State(); state != "sealing" {
				t.Errorf("the task shows %s", state)
			}
			if v := w.Verify(wiretest.Doc{"crossing_id": s.CrossingID}); wiretest.At(v.Doc, "result", "checks", "resolves") != false {
				t.Errorf("the authority answers %s", v.Body)
			}
			p.mode.Store(works)
			a := seals(t, s)
			if again := s.Seal(); !bytes.Equal(again.Result(), a.Result()) {
				t.Errorf("the repeat answered %s", again.Body)
			}
			wantCounts(t, w, once)
			if state := s.Task().State(); state != "committed" {
				t.Errorf("the task shows %s", state)
			}
		})
	}
}

// TestLostAcknowledgement: the authority serves the projection, its answer was lost, and
// the same body is acknowledged again.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	w, p, _ := world(t, 0)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	p.mode.Store(kept)
	wantName(t, s.Seal(), "SEAL_PENDING")
	wantCounts(t, w, once)
	p.mode.Store(works)
	seals(t, s)
	wantCounts(t, w, once)
}

// TestSweepPublishes: publications are delivered without anybody asking, and keep their
// order within a chain.
//
// covers GC-359
func TestSweepPublishes(t *testing.T) {
	t.Parallel()
	w, p, _ := world(t, 0)
	from := w.Party("acme")
	p.mode.Store(lost)
	var scripts []*wiretest.Script
	for range 3 {
		s := w.Script(from).Through(wiretest.P3)
		wantName(t, s.Seal(), "SEAL_PENDING")
		scripts = append(scripts, s)
	}
	w.Run(10 * time.Millisecond)
	calls := p.calls.Load()
	eventually(t, "a sweep tries", func() bool { return p.calls.Load() > calls })
	if n := w.Count().Projections; n != 0 {
		t.Fatalf("%d projections", n)
	}
	p.mode.Store(works)
	eventually(t, "every publication is acknowledged", func() bool {
		return len(w.Rows().Where("outbox", "acknowledged_at", "NULL")) == 0
	})
	for i, s := range scripts {
		if state := s.Task().State(); state != "committed" {
			t.Errorf("crossing %d: the task shows %s", i, state)
		}
		seals(t, s)
	}
	want := wiretest.Counts{Anchors: 3, Seals: 3, Holds: 3, Attempts: 3, Outbox: 3, Projections: 3}
	wantCounts(t, w, want)
}

// TestLaterFirst: asked for the third of a chain, the centre sends what stands before it.
func TestLaterFirst(t *testing.T) {
	t.Parallel()
	w, p, _ := world(t, 0)
	from := w.Party("acme")
	p.mode.Store(lost)
	var last *wiretest.Script
	for range 3 {
		last = w.Script(from).Through(wiretest.P3)
		wantName(t, last.Seal(), "SEAL_PENDING")
	}
	p.mode.Store(works)
	wantSealed(t, last.Seal())
	if n := w.Count().Projections; n != 3 {
		t.Errorf("%d projections, want 3", n)
	}
}

// TestOpenAttempt: a hold without an answer refuses nothing. It is repeated after a
// restart, without the initiator, until a seal stands (design R4).
//
// covers GC-359
func TestOpenAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hold, confirmation int32
		ack                time.Duration
	}{
		"hold lost": {lost, works, 0}, "hold kept": {kept, works, 0}, "hold silent": {silent, works, short},
		"confirmation lost": {works, lost, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, ra := world(t, c.ack)
			s := w.Script(w.Party("acme")).Through(wiretest.P3)
			ra.hold.Store(c.hold)
			ra.confirmation.Store(c.confirmation)
			wantName(t, s.Seal(), "SEAL_PENDING")
			rows := w.Rows()
			if a := rows["attempts"]; len(a) != 1 || a[0]["state"] != "open" || len(rows["refusals"])+len(rows["seals"])+len(rows["anchors"]) != 0 {
				t.Fatalf("attempts %v, refusals %v", a, rows["refusals"])
			}
			if state := s.Task().State(); state != "sealing" {
				t.Errorf("the task shows %s", state)
			}
			ra.hold.Store(works)
			ra.confirmation.Store(works)
			w.Run(10 * time.Millisecond)
			eventually(t, "the attempt is sealed", func() bool { return w.Count() == once })
			eventually(t, "the task shows it", func() bool { return s.Task().State() == "committed" })
			seals(t, s)
			wantCounts(t, w, once)
		})
	}
}

// TestOpenAttemptBlocks: while one record's attempt is open, every record of the crossing
// gets SEAL_PENDING, also after the mandates have expired (design C5).
func TestOpenAttemptBlocks(t *testing.T) {
	t.Parallel()
	w, _, ra := world(t, 0)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	ra.hold.Store(lost)
	wantName(t, s.Seal(), "SEAL_PENDING")
	before := w.Rows()
	x := *s
	x.Forget()
	x.Edit.Record = func(record wiretest.Doc) { record["magnitude_asserted"] = 7 } // would be refused
	wantName(t, x.Seal(), "SEAL_PENDING")
	w.Clock.Advance(time.Hour)
	wantName(t, s.Seal(), "SEAL_PENDING")
	w.Unwritten(before)
	w.Clock.Advance(-time.Hour)
	ra.hold.Store(works)
	seals(t, s)
	before = w.Rows()
	wantName(t, x.Seal(), "SEAL_MISMATCH")
	if row := w.OnlyRefusal(before, "SEAL_MISMATCH"); row["crossing_id"] != s.CrossingID {
		t.Errorf("refusal row %v", row)
	}
}

// TestHoldRefused: what the RA refuses is the record's end, and its repeat gets the same
// answer without a second row. What only says "later" is asked again.
//
// covers GC-101, GC-121
func TestHoldRefused(t *testing.T) {
	t.Parallel()
	t.Run("revoked before", func(t *testing.T) {
		w, _, ra := world(t, 0)
		s := w.Script(w.Party("acme")).Through(wiretest.P3)
		s.From.Revoke(wiretest.Hash(s.Closed))
		a := s.Seal()
		wantName(t, a, "MANDATE_REVOKED")
		rows := w.Rows()
		if r := rows["refusals"]; len(r) != 1 || r[0]["initiator_spent"] != "0" || r[0]["responder_spent"] != "0" || r[0]["counterparty"] != s.From.PrincipalID {
			t.Errorf("refusals %v", r)
		}
		holds := ra.holds.Load()
		if again := s.Seal(); !bytes.Equal(again.Body, a.Body) {
			t.Errorf("the repeat answered %s after %s", again.Body, a.Body)
		}
		w.Unwritten(rows)
		if ra.holds.Load() != holds {
			t.Error("the RA was asked again")
		}
		if a := s.Task(); a.State() != "refused" || a.Name() != "MANDATE_REVOKED" {
			t.Errorf("the task shows %s", a.Body)
		}
	})
	w, _, ra := world(t, 0)
	from := w.Party("acme")
	for _, code := range []string{string(crossing.RateLimited), string(crossing.SealPending), api.CodeUnavailable, api.CodeUnauthenticated} {
		t.Run(code, func(t *testing.T) {
			s := w.Script(from).Through(wiretest.P3)
			ra.err = &api.Error{Code: code}
			ra.hold.Store(answers)
			wantName(t, s.Seal(), "SEAL_PENDING")
			ra.hold.Store(works)
			seals(t, s)
			if n := len(w.Rows()["refusals"]); n != 0 {
				t.Errorf("%d refusal rows", n)
			}
		})
	}
}

// TestOtherRecordWaits: a record that comes while another's attempt is under way is not
// answered with that one's seal.
func TestOtherRecordWaits(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	other := *s
	other.Edit.Record = func(record wiretest.Doc) { wiretest.Object(record, "a2a_context")["artifact_id"] = "another" }
	body := other.SealBody()
	came, answered := make(chan wiretest.Answer, 1), make(chan error, 1)
	w.OnPoint(func(point string) {
		if point != centre.PointAfterHold {
			return
		}
		go func() {
			a, err := w.Send(wiretest.Activated(), body)
			came <- a
			answered <- err
		}()
		time.Sleep(100 * time.Millisecond) // the other waits for this attempt by now
	})
	wantSealed(t, s.Seal())
	a := <-came
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if a.Name() != "SEAL_PENDING" && a.Name() != "SEAL_MISMATCH" {
		t.Errorf("the other record got %s", a.Body)
	}
}

// TestTwoRecords: two records of one crossing, many times at once. One is sealed once;
// the other's callers are told to wait, or that the seal is another's.
//
// covers GC-114, GC-313
func TestTwoRecords(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	other := *s
	other.Edit.Record = func(record wiretest.Doc) { wiretest.Object(record, "a2a_context")["artifact_id"] = "another" }
	bodies := [][]byte{s.SealBody(), other.SealBody()}
	answers, errs := make([]wiretest.Answer, 48), make([]error, 48)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i], errs[i] = w.Send(wiretest.Activated(), bodies[i%2]) })
	}
	wg.Wait()
	var result []byte
	winner := -1
	for i, a := range answers {
		switch {
		case errs[i] != nil:
			t.Fatal(errs[i])
		case a.Result() != nil:
			if winner >= 0 && (i%2 != winner || !bytes.Equal(result, a.Result())) {
				t.Errorf("two seals: %s and %s", result, a.Result())
			}
			winner, result = i%2, a.Result()
		case a.Name() != "SEAL_PENDING" && a.Name() != "SEAL_MISMATCH":
			t.Errorf("call %d answered %s", i, a.Body)
		}
	}
	if winner < 0 {
		t.Fatal("nothing was sealed")
	}
	want := once
	want.Refusals = w.Count().Refusals
	wantCounts(t, w, want)
	a, err := w.Send(wiretest.Activated(), bodies[1-winner])
	if err != nil {
		t.Fatal(err)
	}
	wantName(t, a, "SEAL_MISMATCH")
	for _, row := range w.Rows()["refusals"] {
		if row["name"] != "SEAL_MISMATCH" {
			t.Errorf("refusal row %v", row)
		}
	}
}
