package execution_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

var question = []byte(`{"resultType":"input_required","requestState":"s1"}`)

var (
	stateOne = strings.Repeat("1", 64)
	stateTwo = strings.Repeat("2", 64)
	yes, no  = strings.Repeat("a", 64), strings.Repeat("b", 64)
)

func continuing(c execution.Call, state, inputs string) execution.Call {
	c.Continues, c.Inputs = state, inputs
	return c
}

func suspend(t *testing.T, p *execution.Permit, state string) *execution.Record {
	t.Helper()
	rec, err := p.Suspend(t.Context(), question, state)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestRounds: an upstream that asks for input is called once more for each of its states. A
// repeat of any call gets what the last one has brought, and no state is used twice.
//
// covers EXA-022, EXA-024, EXA-026, EXA-050
func TestRounds(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, _ func() *sqlstore.DB) {
		s := db.Executions()
		r := replica(t, s, newClock())
		c := call(t, "one", "10")
		refused(t, r, continuing(c, stateOne, yes), execution.NameContinuation)
		p := permit(t, r, c)
		refused(t, r, continuing(c, stateOne, yes), execution.NameContinuation)
		rec := suspend(t, p, stateOne)
		if rec.State != execution.Suspended || string(rec.Answer) != string(question) || !rec.CompletedAt.IsZero() {
			t.Errorf("record %+v", rec)
		}
		if rec := recorded(t, r, c); rec.State != execution.Suspended || string(rec.Answer) != string(question) {
			t.Errorf("record of a repeat %+v", rec)
		}
		refused(t, r, continuing(c, stateTwo, yes), execution.NameContinuation)
		second := permit(t, r, continuing(c, stateOne, yes))
		if second.CallID() == p.CallID() {
			t.Error("a continuation has the call_id of another attempt")
		}
		refused(t, r, continuing(c, stateOne, no), execution.NameContinuation) // another answer is no repeat
		suspend(t, second, stateTwo)
		if rec := recorded(t, r, continuing(c, stateOne, yes)); rec.State != execution.Suspended {
			t.Errorf("record of a repeated continuation %+v", rec)
		}
		refused(t, r, continuing(c, stateOne, no), execution.NameContinuation)
		third := permit(t, r, continuing(c, stateTwo, yes))
		rec = finish(t, third, done)
		if rec.State != execution.Succeeded || rec.CallID != p.CallID() || string(rec.Answer) != string(answer) {
			t.Errorf("record %+v", rec)
		}
		for _, repeat := range []execution.Call{c, continuing(c, stateOne, yes), continuing(c, stateTwo, yes)} {
			if rec := refused(t, r, repeat, execution.NameReplay).Record; string(rec.Answer) != string(answer) {
				t.Errorf("record %+v", rec)
			}
		}
		got := slices.DeleteFunc(events(t, s, c), func(e string) bool {
			return strings.HasPrefix(e, "refused") || strings.HasPrefix(e, "replay") || strings.HasPrefix(e, "joined")
		})
		want := []string{"reserved", "dispatched", "suspended", "dispatched:continued", "suspended", "dispatched:continued", "succeeded"}
		if !slices.Equal(got, want) {
			t.Errorf("events %v", got)
		}
	})
}

// TestRoundNotSent: where the answer to a question is not sent, nobody is told that nothing was:
// the first call was.
//
// covers EXA-025, EXA-026
func TestRoundNotSent(t *testing.T) {
	t.Parallel()
	r := replica(t, sqliteDB(t).Executions(), newClock())
	for _, rounds := range []bool{false, true} {
		c := call(t, fmt.Sprint("rounds-", rounds), "10")
		last := c
		if rounds {
			suspend(t, permit(t, r, c), stateOne)
			last = continuing(c, stateOne, yes)
		}
		p, _, err := r.Admit(t.Context(), last)
		if err != nil {
			t.Fatal(err)
		}
		p.Close() // it could not be sent
		e := refused(t, r, c, execution.NameReplay)
		if e.Record.Reason != execution.ReasonNotSent || strings.Contains(e.SafeNext, "nothing was sent") == rounds {
			t.Errorf("rounds %v: %s, %q", rounds, e.Record.Reason, e.SafeNext)
		}
	}
}

// TestOneStateTwice: an upstream that asks with the same state again gets no answer twice.
//
// covers EXA-024
func TestOneStateTwice(t *testing.T) {
	t.Parallel()
	r := replica(t, sqliteDB(t).Executions(), newClock())
	c := call(t, "one", "10")
	suspend(t, permit(t, r, c), stateOne)
	suspend(t, permit(t, r, continuing(c, stateOne, yes)), stateOne)
	if rec := recorded(t, r, continuing(c, stateOne, yes)); rec.State != execution.Suspended {
		t.Errorf("record %+v", rec)
	}
	finish(t, permit(t, r, continuing(c, stateOne, no)), done)
}

// TestSuspendedLasts: nothing that the upstream has asked is swept or forgotten; a question
// that comes too late is evidence.
//
// covers EXA-062
func TestSuspendedLasts(t *testing.T) {
	t.Parallel()
	s, clk := sqliteDB(t).Executions(), newClock()
	r := replica(t, s, clk)
	c := call(t, "one", "10")
	suspend(t, permit(t, r, c), stateOne)
	late := call(t, "late", "10")
	p := permit(t, r, late)
	bury(t, s)
	clk.Move(1000 * time.Hour)
	other := replica(t, s, clk)
	if err := other.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rec := recorded(t, other, c); rec.State != execution.Suspended || string(rec.Answer) != string(question) {
		t.Errorf("record %+v", rec)
	}
	if rec := suspend(t, p, stateOne); rec.State != execution.OutcomeUnknown || rec.Answer != nil {
		t.Errorf("record %+v", rec)
	}
	finish(t, permit(t, other, continuing(c, stateOne, yes)), done)
	if _, err := p.Suspend(t.Context(), question, "not a digest"); err == nil {
		t.Error("suspended with what is no digest")
	}
}

// TestFollow: a task stands for the answer while its replica lives; then nobody knows.
//
// covers EXA-060
func TestFollow(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	r := replica(t, s, newClock(), func(c *execution.Config) { c.Wait = 10 * time.Millisecond })
	c, left := call(t, "one", "10"), call(t, "left", "10")
	p, q := permit(t, r, c), permit(t, r, left)
	for _, one := range []*execution.Permit{p, p, q} {
		if err := one.Follow(t.Context(), "task-7"); err != nil {
			t.Fatal(err)
		}
	}
	if rec := refused(t, r, c, execution.NamePending).Record; rec.State != execution.Dispatched || rec.TaskID != "task-7" {
		t.Errorf("record %+v", rec)
	}
	finish(t, p, done)
	if err := p.Follow(t.Context(), "task-8"); !errors.Is(err, execution.ErrSpent) {
		t.Errorf("followed after the end: %v", err)
	}
	bury(t, s)
	other := replica(t, s, newClock())
	if err := other.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rec := refused(t, other, left, execution.NameReplay).Record; rec.State != execution.OutcomeUnknown || rec.TaskID != "task-7" {
		t.Errorf("record %+v", rec)
	}
	if err := q.Follow(t.Context(), "task-8"); !errors.Is(err, execution.ErrEpoch) {
		t.Errorf("followed after the sweep: %v", err)
	}
	q.Close()
	if got := events(t, s, left); !slices.Equal(got, []string{"reserved", "dispatched", "following", "outcome_unknown:gateway_ended", "replay:outcome_unknown"}) {
		t.Errorf("events %v", got)
	}
}

// TestHeld: what is held is never dispatched; a decision dispatches nothing either, but lets
// the next repeat be.
//
// covers EXA-024, EXA-064
func TestHeld(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, _ func() *sqlstore.DB) {
		s := db.Executions()
		r := replica(t, s, newClock())
		hold := func(id string) execution.Call { c := call(t, id, "10"); c.Hold = true; return c }
		for _, c := range []execution.Call{hold("one"), hold("one"), call(t, "one", "10"), hold("two")} {
			if rec := recorded(t, r, c); rec.State != execution.Held {
				t.Errorf("record %+v", rec)
			}
		}
		bury(t, s)
		r = replica(t, s, newClock())
		if err := r.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []bool{true, false} {
			if was, err := r.ReleaseHeld(t.Context(), keyOf(hold("one"))); err != nil || was != want {
				t.Errorf("released: %v, %v", was, err)
			}
			if was, err := r.RefuseHeld(t.Context(), keyOf(hold("two")), "vetoed"); err != nil || was != want {
				t.Errorf("refused: %v, %v", was, err)
			}
		}
		if got := state(t, s, hold("one")); got != execution.Reserved {
			t.Errorf("a released one is %s", got)
		}
		finish(t, permit(t, r, hold("one")), done)
		if rec := refused(t, r, hold("two"), execution.NameReplay).Record; rec.State != execution.Refused || rec.Reason != "vetoed" {
			t.Errorf("record %+v", rec)
		}
		want := []string{"reserved:held", "joined:held", "joined:held", "reserved:released", "reserved:taken_over", "dispatched", "succeeded"}
		if got := events(t, s, hold("one")); !slices.Equal(got, want) {
			t.Errorf("events %v", got)
		}
	})
}
