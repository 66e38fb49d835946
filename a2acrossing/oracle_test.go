package a2acrossing_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/wiretest"
)

// bare is the body of an answer without what differs between any two: the ids of task and
// context, and the crossing_id.
func bare(s *wiretest.Script, a wiretest.Answer) string {
	body := string(a.Body)
	for _, id := range []string{
		s.CrossingID, wiretest.Text(a.Task(), "id"), wiretest.Text(a.Task(), "contextId"), s.TaskID, s.ContextID,
	} {
		if id != "" {
			body = strings.ReplaceAll(body, id, "·")
		}
	}
	return body
}

// spending is a World whose responder may do so much, of which a part is spent already.
func spending(t *testing.T, limit, spent commitment.Magnitude) (*wiretest.World, *wiretest.Party) {
	t.Helper()
	w := wiretest.New(t, wiretest.Config{Grants: []commitment.Amount{actions(limit)}})
	from := w.Party("spender")
	if a := asking(w, from, spent).Through(wiretest.P3).Seal(); a.Result() == nil {
		t.Fatalf("the first is refused: %s", a.Body)
	}
	return w, from
}

// asking is a Script for n, with more than enough of an Open behind it.
func asking(w *wiretest.World, from *wiretest.Party, n commitment.Magnitude) *wiretest.Script {
	s := w.Script(from)
	s.Amount, s.Draw, s.Limit = actions(n), n, 1e10
	return s
}

// TestNoOracleOnTheWire: a refusal for one unit too many and one for a thousand million are
// the same bytes, and say no number.
//
// covers GC-323
func TestNoOracleOnTheWire(t *testing.T) {
	t.Parallel()
	t.Run("at the seal", func(t *testing.T) {
		var bodies []string
		for _, n := range []commitment.Magnitude{6, 1e9} {
			w := wiretest.New(t, wiretest.Config{Grants: []commitment.Amount{actions(1e10)}})
			s := asking(w, w.Party("acme"), n)
			s.Disclose = true
			s.Through(wiretest.P3).Present(set("magnitude_limit", 5))
			a := s.Seal()
			wantError(t, a, "MAGNITUDE_EXHAUSTED", "-40031")
			bodies = append(bodies, bare(s, a))
		}
		wantEqual(t, bodies)
	})
	// What the responder's own Open has left is a number that only the responder knows.
	t.Run("at P3", func(t *testing.T) {
		const limit, spent = 73313, 73000
		w, _ := spending(t, limit, spent)
		var bodies []string
		for _, n := range []commitment.Magnitude{limit - spent + 1, limit} {
			s := asking(w, w.Party(fmt.Sprint("acme-", n)), n).Through(wiretest.Closing)
			a := s.P3()
			wantTaskRefused(t, a, "MAGNITUDE_EXHAUSTED")
			bodies = append(bodies, bare(s, a), bare(s, s.Task()))
		}
		wantEqual(t, []string{bodies[0], bodies[2]})
		wantEqual(t, []string{bodies[1], bodies[3]})
		for _, number := range []string{"73313", "73000", "313", "314"} {
			for _, body := range bodies {
				if strings.Contains(body, number) {
					t.Errorf("%s stands in %s", number, body)
				}
			}
		}
	})
}

func wantEqual(t *testing.T, bodies []string) {
	t.Helper()
	for _, body := range bodies {
		if body != bodies[0] {
			t.Errorf("answered\n%s\nand\n%s", bodies[0], body)
		}
	}
}

// TestProbing: who has been refused three times for magnitude within a day gets one
// constant refusal for every proposal, until a day has passed since. Others do not.
//
// covers GC-316, GC-323
func TestProbing(t *testing.T) {
	w, prober := spending(t, 100, 90)
	other := w.Party("other")
	for range 3 {
		wantTaskRefused(t, asking(w, prober, 11).Through(wiretest.Closing).P3(), "MAGNITUDE_EXHAUSTED")
		w.Clock.Advance(time.Hour)
	}
	var bodies []string
	propose := func(s *wiretest.Script) {
		t.Helper()
		before := w.Rows()
		s.Open = prober.Issue(actions(s.Limit), nil)
		a := s.P1()
		wantTaskRefused(t, a, "MAGNITUDE_EXHAUSTED")
		w.OnlyRefusal(before, "MAGNITUDE_EXHAUSTED")
		bodies = append(bodies, bare(s, a))
	}
	propose(asking(w, prober, 1)) // which is covered
	propose(asking(w, prober, 1e9))
	tariff := asking(w, prober, 1)
	tariff.Act, tariff.Amount.Class = "proposal_within_tariff", commitment.Reversible
	propose(tariff)
	wantEqual(t, bodies)
	if a := asking(w, other, 1).Through(wiretest.P3).Seal(); a.Result() == nil {
		t.Errorf("another counterparty is refused: %s", a.Body)
	}

	w.Clock.Advance(21*time.Hour - time.Millisecond) // a day after the first, but for a moment
	w.Responder.Grant(w.Store, actions(100))
	propose(asking(w, prober, 1))
	w.Clock.Advance(2 * time.Millisecond)
	s := asking(w, prober, 1) // the constant refusals did not count
	if a := s.Through(wiretest.P3).Seal(); a.Result() == nil {
		t.Errorf("a day later the proposal is refused: %s", a.Body)
	}
}
