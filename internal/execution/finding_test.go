package execution_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// evidenceDigest is python3: "sha256:" + hashlib.sha256(b"statement of account").hexdigest().
const evidenceDigest = "sha256:69a7bbde5548a267d4219e33ccb806a39c84de9a4cef9a2767b9ac445e8aefd8"

func reconciliation(c execution.Call, outcome execution.State) execution.Reconciliation {
	return execution.Reconciliation{Key: keyOf(c), Outcome: outcome, Evidence: []byte("statement of account"), Source: "operator ann"}
}

// TestReconcile: a finding is recorded on an outcome_unknown alone, signed, with an entry of
// the log, and it reopens nothing.
//
// covers EXA-025, EXA-026, EXA-027, EXA-072
func TestReconcile(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, _ func() *sqlstore.DB) {
		s := db.Executions()
		r := replica(t, s, newClock())
		c, ended := call(t, "one", "10"), call(t, "two", "10")
		p := permit(t, r, c)
		finish(t, permit(t, r, ended), done)
		for name, test := range map[string]struct {
			key  execution.Call
			want error
		}{
			"dispatched": {c, execution.ErrNotUnknown}, "succeeded": {ended, execution.ErrNotUnknown}, "absent": {call(t, "no", "1"), execution.ErrNotFound},
		} {
			if _, err := r.Reconcile(t.Context(), reconciliation(test.key, execution.Succeeded)); !errors.Is(err, test.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		finish(t, p, execution.Outcome{State: execution.OutcomeUnknown, Reason: "timeout"})
		f, err := r.Reconcile(t.Context(), reconciliation(c, execution.Succeeded))
		if err != nil || f.Outcome != execution.Succeeded || f.Source != "operator ann" || "sha256:"+string(f.Evidence) != evidenceDigest || !f.At.Equal(start) {
			t.Fatalf("%+v, %v", f, err)
		}
		again, err := r.Reconcile(t.Context(), reconciliation(c, execution.Succeeded))
		if err != nil || again != f {
			t.Errorf("the same finding again is %+v, %v", again, err)
		}
		h, err := r.Show(t.Context(), keyOf(c))
		if err != nil || len(h.Findings) != 1 || h.Findings[0] != f || h.Row.State != execution.OutcomeUnknown || h.Record().State != execution.OutcomeUnknown {
			t.Errorf("%+v, %v", h, err)
		}
		if rec := refused(t, r, c, execution.NameReplay).Record; rec.State != execution.OutcomeUnknown || rec.Answer != nil {
			t.Errorf("record %+v", rec)
		}
		var found []audit.Entry
		for _, e := range about(t, s, c) {
			if e.Event == audit.EventReconciled {
				found = append(found, e)
			}
		}
		if len(found) != 1 || found[0].Digest != evidenceDigest || found[0].Reason != "succeeded, says operator ann" || found[0].CallID != p.CallID() {
			t.Errorf("entries %+v", found)
		}
		read, err := execution.ParseFinding(f.Signed, key().Key(), keyOf(c), c.Binding.String())
		if err != nil || read != f {
			t.Errorf("read %+v, %v", read, err)
		}
		silent, err := r.List(t.Context(), execution.Filter{State: execution.OutcomeUnknown, Silent: true}, 10)
		if err != nil || len(silent) != 0 {
			t.Errorf("without a finding: %+v, %v", silent, err)
		}
	})
}

// TestSignedFinding: a finding is one of this key about this execution, or none.
//
// covers EXA-027
func TestSignedFinding(t *testing.T) {
	t.Parallel()
	r := replica(t, sqliteDB(t).Executions(), newClock())
	c := call(t, "one", "10")
	finish(t, permit(t, r, c), execution.Outcome{State: execution.OutcomeUnknown})
	f, err := r.Reconcile(t.Context(), reconciliation(c, execution.Succeeded))
	if err != nil {
		t.Fatal(err)
	}
	other, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := jose.NewSigner(other)
	if err != nil {
		t.Fatal(err)
	}
	head, err := audit.Head{Of: audit.LogGateway, From: 1, Tip: audit.Genesis(), At: start}.Sign(key())
	if err != nil {
		t.Fatal(err)
	}
	read := func(token string, by jose.Key, about execution.Call, binding string) error {
		_, err := execution.ParseFinding(token, by, keyOf(about), binding)
		return err
	}
	for name, err := range map[string]error{
		"another key":       read(f.Signed, stranger.Key(), c, c.Binding.String()),
		"another id":        read(f.Signed, key().Key(), call(t, "two", "10"), c.Binding.String()),
		"another binding":   read(f.Signed, key().Key(), c, call(t, "one", "11").Binding.String()),
		"another statement": read(head, key().Key(), c, c.Binding.String()),
		"a bit":             read(flipped(f.Signed), key().Key(), c, c.Binding.String()),
		"nothing":           read("", key().Key(), c, c.Binding.String()),
	} {
		if err == nil {
			t.Errorf("%s: taken for a finding", name)
		}
	}
}

// flipped is a token with another character in the middle of its signature.
func flipped(token string) string {
	at := len(token) - 40
	other := "A"
	if token[at] == 'A' {
		other = "B"
	}
	return token[:at] + other + token[at+1:]
}

// TestDidNotHappen: that is said only when the upstream can no longer act on it, and the
// gateway can no longer send it.
//
// covers EXA-072
func TestDidNotHappen(t *testing.T) {
	t.Parallel()
	s, clk := sqliteDB(t).Executions(), newClock()
	r := replica(t, s, clk)
	mine, swept := call(t, "mine", "10"), call(t, "swept", "10")
	mine.Timeout, swept.Timeout = time.Second, time.Second
	finish(t, permit(t, r, mine), execution.Outcome{State: execution.OutcomeUnknown})
	crashAt(t, s, clk, execution.PointAfterAnswer, swept)
	bury(t, s)
	r = replica(t, s, clk)
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	try := func(want error) {
		t.Helper()
		for _, c := range []execution.Call{mine, swept} {
			if f, err := r.Reconcile(t.Context(), reconciliation(c, execution.Failed)); !errors.Is(err, want) {
				t.Errorf("%s: %+v, %v", c.ID, f, err)
			}
		}
	}
	try(execution.ErrTooSoon)
	clk.Move(61*time.Second - time.Millisecond)
	try(execution.ErrTooSoon)
	clk.Move(time.Millisecond)
	try(nil)
	entry := lastEntry(t, s)
	if entry.Event != audit.EventReconciled || entry.Reason != "did not happen, says operator ann" {
		t.Errorf("entry %+v", entry)
	}
}

// TestUnderWay: an attempt whose replica may be alive, and which has not said itself that it
// is over, may still be sent.
//
// covers EXA-072
func TestUnderWay(t *testing.T) {
	t.Parallel()
	row := execution.Row{State: execution.OutcomeUnknown, DispatchedAt: start, Descriptor: execution.Descriptor{Timeout: time.Second}}
	later := start.Add(time.Hour)
	for _, test := range []struct {
		ended, alive bool
		want         error
	}{{false, true, execution.ErrUnderWay}, {true, true, nil}, {false, false, nil}, {true, false, nil}} {
		row.Ended = test.ended
		if err := row.Allows(execution.Failed, test.alive, later); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test, err)
		}
		if err := row.Allows(execution.Succeeded, test.alive, start); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// TestFindingsThatAreNone name what is missing; and there is an end to them.
//
// covers EXA-027, EXA-072
func TestFindingsThatAreNone(t *testing.T) {
	t.Parallel()
	r := replica(t, sqliteDB(t).Executions(), newClock())
	c := call(t, "one", "10")
	finish(t, permit(t, r, c), execution.Outcome{State: execution.OutcomeUnknown})
	for name, change := range map[string]func(*execution.Reconciliation){
		"outcome":  func(c *execution.Reconciliation) { c.Outcome = execution.OutcomeUnknown },
		"evidence": func(c *execution.Reconciliation) { c.Evidence = nil },
		"source":   func(c *execution.Reconciliation) { c.Source = "" },
		"long":     func(c *execution.Reconciliation) { c.Source = strings.Repeat("x", 257) },
	} {
		f := reconciliation(c, execution.Succeeded)
		change(&f)
		if _, err := r.Reconcile(t.Context(), f); err == nil {
			t.Errorf("%s: recorded", name)
		}
	}
	for i := range execution.MaxFindings + 1 {
		f := reconciliation(c, execution.Succeeded)
		f.Evidence = fmt.Append(nil, "evidence ", i)
		if _, err := r.Reconcile(t.Context(), f); (err != nil) != (i == execution.MaxFindings) || err != nil && !errors.Is(err, execution.ErrFull) {
			t.Errorf("finding %d: %v", i+1, err)
		}
	}
}
