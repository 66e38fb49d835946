package execution_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

var done = execution.Outcome{State: execution.Succeeded, Answer: answer}

// TestLife is the life of one execution, from its first call to a repeat.
//
// covers EXA-020, EXA-022, EXA-024, EXA-043, EXA-046, EXA-050, EXA-061, EXA-071
func TestLife(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, _ func() *sqlstore.DB) {
		s := db.Executions()
		r := replica(t, s, newClock())
		c := call(t, "one", "10")
		p := permit(t, r, c)
		rec := finish(t, p, done)
		if rec.State != execution.Succeeded || rec.CallID != p.CallID() || rec.Digest != answerDigest || string(rec.Answer) != string(answer) {
			t.Errorf("record %+v", rec)
		}
		again := refused(t, r, c, execution.NameReplay)
		if diff := cmp.Diff(rec, again.Record, equalID, equalBinding); diff != "" {
			t.Errorf("the repeat's record:\n%s", diff)
		}
		want := []string{"reserved", "dispatched", "succeeded", "replay:succeeded"}
		if got := events(t, s, c); !slices.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
		list := about(t, s, c)
		for i, e := range list {
			if e.AgentID != agent || e.ExecutionID != "one" || e.SessionID != c.SessionID || e.WorkflowID != "workflow-1" ||
				e.Binding != c.Binding.String() || e.Upstream != "bank" || e.Tool != "pay" || !e.At.Equal(start) {
				t.Errorf("entry %+v", e)
			}
			if mine := e.CallID == p.CallID(); mine != (i < 3) || e.CallID == "" {
				t.Errorf("%s has the call_id %q", e.Event, e.CallID)
			}
		}
		if list[2].Digest != answerDigest || list[3].Digest != answerDigest {
			t.Errorf("digests %q, %q", list[2].Digest, list[3].Digest)
		}
	})
}

// TestCollision: another binding for the id, or the same action under another algorithm, is
// refused whatever the state is, and nothing is sent.
//
// covers EXA-009, EXA-010, EXA-021, EXA-023, EXA-056, EXA-058
func TestCollision(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	r := replica(t, s, newClock())
	c := call(t, "one", "10")
	p := permit(t, r, c)
	for _, stage := range []string{"dispatched", "succeeded"} {
		for name, other := range map[string]execution.Call{
			"action":    call(t, "one", "11"),
			"algorithm": callOf(t, agent, "one", "10", actionbinding.SHA384),
		} {
			e := refused(t, r, other, execution.NameCollision)
			if e.Record == nil || e.Record.Binding != c.Binding || e.Record.Answer != nil {
				t.Errorf("%s, %s: record %+v", stage, name, e.Record)
			}
			last := slices.MaxFunc(about(t, s, c), func(a, b audit.Entry) int { return int(a.Seq - b.Seq) })
			if last.Event != audit.EventCollision || last.Reason != stage || last.Binding != other.Binding.String() || last.CallID == p.CallID() {
				t.Errorf("%s, %s: entry %+v", stage, name, last)
			}
		}
		if stage == "dispatched" {
			finish(t, p, done)
		}
	}
}

// TestKeys: one id under two agents is two executions; an id that only looks alike is
// another one.
//
// covers EXA-020, EXA-045, EXA-057
func TestKeys(t *testing.T) {
	t.Parallel()
	r := replica(t, sqliteDB(t).Executions(), newClock())
	for _, c := range []execution.Call{
		call(t, "one", "10"), callOf(t, agent+"2", "one", "11", actionbinding.SHA256), call(t, "One", "12"), call(t, "one.", "13"),
	} {
		finish(t, permit(t, r, c), done)
	}
}

// TestNoAgent: without an authenticated agent, or with a binding that is another agent's or
// another action's, nothing is reserved.
//
// covers EXA-012
func TestNoAgent(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	r := replica(t, s, newClock())
	valid := call(t, "one", "10")
	for name, change := range map[string]func(c *execution.Call){
		"no agent":        func(c *execution.Call) { c.Agent = "" },
		"the self-test's": func(c *execution.Call) { *c = callOf(t, "bindery:self-test", "one", "10", actionbinding.SHA256) },
		"no id":           func(c *execution.Call) { c.ID = execution.ID{} },
		"no binding":      func(c *execution.Call) { c.Binding = actionbinding.Binding{} },
		"another's":       func(c *execution.Call) { c.Agent = "other" },
		"another action":  func(c *execution.Call) { c.Binding = call(t, "one", "11").Binding },
	} {
		c := valid
		change(&c)
		refused(t, r, c, execution.NameRefused)
		if _, _, err := s.Find(t.Context(), keyOf(c)); !errors.Is(err, execution.ErrNotFound) {
			t.Errorf("%s: a row, %v", name, err)
		}
	}
}

// TestTerminal: after each terminal state a repeat is refused, for ever, with the answer as
// long as it is kept; nothing is sent again.
//
// covers EXA-024, EXA-059, EXA-060, EXA-061, EXA-062, EXA-071
func TestTerminal(t *testing.T) {
	t.Parallel()
	s, clk := sqliteDB(t).Executions(), newClock()
	r := replica(t, s, clk)
	outcomes := map[string]execution.Outcome{
		"succeeded":     done,
		"failed":        {State: execution.Failed, Answer: []byte(`{"code":-32000,"message":"no"}`), IsError: true},
		"not sent":      {State: execution.Failed, Reason: execution.ReasonNotSent},
		"unknown":       {State: execution.OutcomeUnknown, Reason: "timeout"},
		"unknown, seen": {State: execution.OutcomeUnknown, Reason: "malformed", Digest: answerDigest},
		"large":         {State: execution.Succeeded, Answer: []byte(`"` + strings.Repeat("x", execution.MaxAnswer) + `"`)},
	}
	for name, o := range outcomes {
		finish(t, permit(t, r, call(t, name[:3]+name[len(name)-3:], "10")), o)
	}
	check := func(when string, kept bool) {
		t.Helper()
		for name, o := range outcomes {
			c := call(t, name[:3]+name[len(name)-3:], "10")
			rec := refused(t, r, c, execution.NameReplay).Record
			if rec.State != o.State || rec.Reason != o.Reason || rec.IsError != o.IsError || !rec.CompletedAt.Equal(start) {
				t.Errorf("%s, %s: record %+v", when, name, rec)
			}
			if want := kept && o.Answer != nil && name != "large"; want != (rec.Answer != nil) || want && string(rec.Answer) != string(o.Answer) {
				t.Errorf("%s, %s: answer %q", when, name, rec.Answer)
			}
			if (rec.Digest != "") != (o.Answer != nil || o.Digest != "") {
				t.Errorf("%s, %s: digest %q", when, name, rec.Digest)
			}
		}
	}
	check("at once", true)
	clk.Move(execution.KeptFor)
	beat(t, r, s)
	check("a day later", true)
	clk.Move(time.Millisecond)
	beat(t, r, s)
	check("a moment after", false)
	clk.Move(100 * 365 * 24 * time.Hour)
	beat(t, r, s)
	check("a hundred years later", false)
}

// beat sweeps, and then has the next call send a heartbeat, which the clock has made old.
func beat(t *testing.T, r *execution.Registry, s execution.Store) {
	t.Helper()
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestJoin: of 64 calls at once with one key, at two replicas, one is admitted and 63 get
// its answer from the stored row.
//
// covers EXA-022, EXA-050, EXA-063, EXA-065
func TestJoin(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB) {
		const callers = 64
		clk, patient := newClock(), func(c *execution.Config) { c.Wait = time.Minute }
		replicas := []*execution.Registry{replica(t, db.Executions(), clk, patient), replica(t, more().Executions(), clk, patient)}
		c := call(t, "one", "10")
		var mu sync.Mutex
		var all sync.WaitGroup
		permits, records := 0, 0
		for i := range callers {
			all.Go(func() {
				p, rec, err := replicas[i%2].Admit(t.Context(), c)
				if p != nil {
					rec, err = p.Finish(t.Context(), done)
				}
				var replay *execution.Refusal
				if errors.As(err, &replay) && replay.Name == execution.NameReplay { // it came after the end
					rec, err = replay.Record, nil
				}
				if err != nil || rec.State != execution.Succeeded || string(rec.Answer) != string(answer) {
					t.Errorf("%+v, %v", rec, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if records++; p != nil {
					permits++
				}
			})
		}
		all.Wait()
		if permits != 1 || records != callers {
			t.Errorf("%d permits and %d answers", permits, records)
		}
		seen := map[string]bool{}
		for _, e := range about(t, db.Executions(), c) {
			if e.Event == audit.EventJoined || e.Event == audit.EventReplay || e.Event == audit.EventReserved {
				seen[e.CallID] = true
			}
		}
		if len(seen) != callers {
			t.Errorf("%d attempts in the log", len(seen))
		}
	})
}

// TestJoinWaits: a repeat waits for what is under way, and is woken by it; its time is
// bounded, and its caller may leave.
//
// covers EXA-022, EXA-024
func TestJoinWaits(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	r := replica(t, s, newClock(), func(c *execution.Config) { c.Wait = 30 * time.Millisecond })
	patient := replica(t, s, newClock())
	c := call(t, "one", "10")
	p := permit(t, r, c)
	e := refused(t, r, c, execution.NamePending)
	if e.Record.State != execution.Dispatched || e.Record.CallID != p.CallID() {
		t.Errorf("pending record %+v", e.Record)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, _, err := patient.Admit(ctx, c)
		left <- err
	}()
	until(t, "joined", func() bool { return len(events(t, s, c)) == 4 }) // reserved, dispatched, joined twice
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that leaves gets %v", err)
	}
	joined := make(chan *execution.Record, 1)
	go func() {
		_, rec, _ := patient.Admit(context.Background(), c)
		joined <- rec
	}()
	until(t, "joined once more", func() bool { return len(events(t, s, c)) == 5 })
	finish(t, p, execution.Outcome{State: execution.OutcomeUnknown, Reason: "timeout"})
	if rec := <-joined; rec == nil || rec.State != execution.OutcomeUnknown || rec.Reason != "timeout" {
		t.Errorf("joined record %+v", rec)
	}
}

// TestIDs: what is no execution_id is none, and what is one stays as it is.
//
// covers EXA-045, EXA-053
func TestIDs(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "!", "~", "a/b:c?d=e&f", strings.Repeat("x", 200)} {
		if id, err := execution.ParseID(s); err != nil || id.String() != s {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", " ", "a b", "a\n", "\x7f", "\x00", "ä", "\xff", "a\u200b", strings.Repeat("x", 201)} {
		if id, err := execution.ParseID(s); err == nil || id.String() != "" {
			t.Errorf("%q passes for an execution_id", s)
		}
	}
}

// TestCombinations: execution_id and workflow_id are independent, and what is not there is
// not invented.
//
// covers EXA-046, EXA-049, EXA-052
func TestCombinations(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	r := replica(t, s, newClock())
	for _, workflow := range []string{"", "two", "w"} {
		c := call(t, "two"+workflow, "10")
		c.WorkflowID, c.SessionID = workflow, ""
		finish(t, permit(t, r, c), done)
		for _, e := range about(t, s, c) {
			if e.WorkflowID != workflow || e.SessionID != "" || e.ExecutionID != "two"+workflow {
				t.Errorf("entry %+v", e)
			}
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"a", "", "a b", "\xff", strings.Repeat("x", 201)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := execution.ParseID(s)
		valid := len(s) >= 1 && len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool { return r < '!' || r > '~' })
		if (err == nil) != valid || err == nil && id.String() != s {
			t.Errorf("%q: %v", s, err)
		}
	})
}
