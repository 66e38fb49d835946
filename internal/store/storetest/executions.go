package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/jcs"
)

var executionStart = time.UnixMilli(1_786_000_000_000).UTC()

const (
	oneBinding   = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	otherBinding = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
	oneState     = "3333333333333333333333333333333333333333333333333333333333333333"
)

var (
	alive   = execution.Owner{Name: "replica-a", Epoch: 1}
	another = execution.Owner{Name: "replica-b", Epoch: 1}
	sameID  = cmp.Comparer(func(a, b execution.ID) bool { return a == b })
)

func executionKey(t *testing.T, agent, id string) execution.Key {
	t.Helper()
	parsed, err := execution.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return execution.Key{Agent: agent, ID: parsed}
}

func described() execution.Descriptor {
	return execution.Descriptor{
		Preimage: []byte(`{"version":1}`), ActionTimestamp: "2026-08-06T08:00:00Z", Upstream: "bank", Tool: "pay",
		WorkflowID: "w", Timeout: 90 * time.Second,
	}
}

// executionSteps are the events of one execution of each kind, in their order, by key.
func executionSteps(t *testing.T) []execution.Turn {
	t.Helper()
	var turns []execution.Turn
	n := 0
	add := func(id string, e execution.Event) {
		n++
		turns = append(turns, execution.Turn{Key: executionKey(t, "agent", id), Event: e, At: executionStart})
	}
	attempt := func(id string, o execution.Owner) execution.Attempt {
		return execution.Attempt{Owner: o, CallID: "call-" + id, At: executionStart}
	}
	admit := func(id, call string, change func(*execution.Admitting)) {
		e := execution.Admitting{
			Key: executionKey(t, "agent", id), Binding: oneBinding, Owner: alive, CallID: call, Call: described(), At: executionStart,
		}
		if change != nil {
			change(&e)
		}
		add(id, e)
	}
	admit("sent", "call-sent", nil)
	add("sent", execution.Dispatching{Attempt: attempt("sent", alive)})
	add("sent", execution.Following{Attempt: attempt("sent", alive), TaskID: "task"})
	add("sent", execution.Settling{
		Attempt: attempt("sent", alive), State: execution.Failed, Digest: digest("a"), Answer: []byte("a\x00b"), IsError: true, Reason: "why",
	})
	admit("sent", "call-repeat", nil)
	admit("sent", "call-other", func(e *execution.Admitting) { e.Binding = otherBinding })
	admit("asked", "call-asked", nil)
	add("asked", execution.Dispatching{Attempt: attempt("asked", alive)})
	add("asked", execution.Suspending{Attempt: attempt("asked", alive), RequestState: oneState, Digest: digest("q"), Answer: []byte("q")})
	admit("asked", "call-asked-2", func(e *execution.Admitting) { e.Continues, e.Inputs = oneState, oneState })
	admit("left", "call-left", nil)
	add("left", execution.Unsending{Attempt: attempt("left", alive), Reason: "x"})
	admit("held", "call-held", func(e *execution.Admitting) { e.Hold = true })
	add("held", execution.Deciding{Release: true, At: executionStart})
	admit("lost", "call-lost", func(e *execution.Admitting) { e.Owner = another })
	add("lost", execution.Dispatching{Attempt: attempt("lost", another)})
	return turns
}

func digest(s string) string { return "sha256:" + string(jcs.HexOf([]byte(s))) }

// Executions is the suite of [execution.Store].
func Executions(t *testing.T, newStore func(t *testing.T) execution.Store) {
	for name, test := range map[string]func(*testing.T, execution.Store){
		"rows": executionRows, "rehearsal": executionRehearsal, "lists": executionLists, "epochs": executionEpochs,
		"burial": executionBurial, "strays": executionStrays, "forgotten": executionForgotten, "findings": executionFindings,
		"log": executionLog, "race": executionRace,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newStore(t))
		})
	}
}

func began(t *testing.T, s execution.Store) {
	t.Helper()
	for _, o := range []execution.Owner{alive, another} {
		want(t, "begin", s.Begin(t.Context(), o, executionStart), nil)
	}
}

// executionRows: what the store keeps is what the machine has decided, byte for byte, and
// each decision that says something has its entry.
func executionRows(t *testing.T, s execution.Store) {
	began(t, s)
	rows := map[execution.Key]execution.Row{}
	events := map[execution.Key][]string{}
	for i, turn := range executionSteps(t) {
		before, known := rows[turn.Key]
		expected := before.On(turn.Event, execution.Facts{Absent: !known, OwnerAlive: before.Owner.Name != "", AskerAlive: true})
		d, err := s.Ask(t.Context(), turn)
		want(t, fmt.Sprintf("step %d", i), err, nil)
		if d.Verdict != expected.Verdict || d.Changed != expected.Changed || d.Event != expected.Event {
			t.Errorf("step %d: %+v, want %+v", i, d, expected)
		}
		rows[turn.Key] = expected.Row
		if expected.Event != "" {
			events[turn.Key] = append(events[turn.Key], expected.Event)
		}
	}
	for key, row := range rows {
		got, ownerAlive, err := s.Find(t.Context(), key)
		want(t, "find", err, nil)
		if diff := cmp.Diff(row, got, sameID); diff != "" {
			t.Errorf("%s:\n%s", key.ID, diff)
		}
		if ownerAlive != (row.Owner.Name != "") {
			t.Errorf("%s: owner alive: %v", key.ID, ownerAlive)
		}
		entries, err := s.About(t.Context(), key, 100)
		want(t, "about", err, nil)
		var have []string
		for _, e := range entries {
			have = append(have, e.Event)
			if e.Upstream != "bank" || e.Tool != "pay" || e.WorkflowID != "w" || e.SessionID != "" || e.AgentID != "agent" {
				t.Errorf("entry %+v", e)
			}
		}
		if !slices.Equal(have, events[key]) {
			t.Errorf("%s: events %v, want %v", key.ID, have, events[key])
		}
	}
	if _, _, err := s.Find(t.Context(), executionKey(t, "other", "sent")); !errors.Is(err, execution.ErrNotFound) {
		t.Errorf("another agent's: %v", err)
	}
}

// executionRehearsal: what is undone leaves neither a row nor an entry, and does not disturb
// the chain.
func executionRehearsal(t *testing.T, s execution.Store) {
	began(t, s)
	steps := executionSteps(t)
	for range 2 {
		all, err := s.Rehearse(t.Context(), steps[:2])
		want(t, "rehearse", err, nil)
		if len(all) != 2 || all[0].Verdict != execution.TakenReserved || all[1].Verdict != execution.SentOff { // each sees the one before
			t.Errorf("decisions %+v", all)
		}
		_, _, err = s.Find(t.Context(), steps[0].Key)
		want(t, "find", err, execution.ErrNotFound)
	}
	if n := len(gatewayLedger(t, s)); n != 2 {
		t.Errorf("%d entries", n)
	}
	_, err := s.Ask(t.Context(), steps[0])
	want(t, "ask", err, nil)
	if n := len(gatewayLedger(t, s)); n != 3 {
		t.Errorf("%d entries", n)
	}
}

// gatewayLedger reads the whole log in pages and has it hold.
func gatewayLedger(t *testing.T, s execution.Store) (all []audit.Entry) {
	t.Helper()
	tip := audit.Genesis()
	for {
		page, err := s.AuditLog(t.Context(), tip.Seq+1, 7)
		want(t, "audit log", err, nil)
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if e != e.After(tip) {
				t.Fatalf("entry %+v does not stand after %d", e, tip.Seq)
			}
			tip = e.Tip()
			all = append(all, e)
		}
	}
	now, err := s.AuditTip(t.Context())
	want(t, "audit tip", err, nil)
	if now != tip {
		t.Fatalf("tip %+v, and the last entry %+v", now, tip)
	}
	return all
}

func executionLists(t *testing.T, s execution.Store) {
	began(t, s)
	for _, agent := range []string{"b", "a"} {
		for i := range 5 {
			key := executionKey(t, agent, fmt.Sprint("id-", i))
			at := execution.Attempt{Owner: alive, CallID: fmt.Sprint(agent, i), At: executionStart}
			events := []execution.Event{
				execution.Admitting{Key: key, Binding: oneBinding, Owner: alive, CallID: at.CallID, Call: described(), At: executionStart},
				execution.Dispatching{Attempt: at},
				execution.Settling{Attempt: at, State: execution.OutcomeUnknown},
			}
			for _, e := range events[:1+i%3] {
				_, err := s.Ask(t.Context(), execution.Turn{Key: key, Event: e, At: executionStart})
				want(t, "ask", err, nil)
			}
		}
	}
	names := func(f execution.Filter, limit int) string {
		t.Helper()
		rows, err := s.List(t.Context(), f, limit)
		want(t, "list", err, nil)
		var all []string
		for _, r := range rows {
			all = append(all, r.Agent+strings.TrimPrefix(r.ID.String(), "id-"))
		}
		return strings.Join(all, " ")
	}
	found := execution.Finding{Outcome: execution.Succeeded, Source: "s", Evidence: jcs.HexOf(nil), At: executionStart, Signed: "x"}
	_, _, err := s.AddFinding(t.Context(), executionKey(t, "a", "id-2"), found)
	want(t, "finding", err, nil)
	for _, test := range []struct {
		filter execution.Filter
		limit  int
		want   string
	}{
		{execution.Filter{}, 100, "a0 a1 a2 a3 a4 b0 b1 b2 b3 b4"},
		{execution.Filter{}, 3, "a0 a1 a2"},
		{execution.Filter{After: executionKey(t, "a", "id-3")}, 3, "a4 b0 b1"},
		{execution.Filter{Agent: "b"}, 100, "b0 b1 b2 b3 b4"},
		{execution.Filter{Agent: "b", After: executionKey(t, "b", "id-2")}, 100, "b3 b4"},
		{execution.Filter{State: execution.Reserved}, 100, "a0 a3 b0 b3"},
		{execution.Filter{State: execution.Dispatched, Agent: "a"}, 100, "a1 a4"},
		{execution.Filter{State: execution.OutcomeUnknown}, 100, "a2 b2"},
		{execution.Filter{State: execution.OutcomeUnknown, Silent: true}, 100, "b2"},
		{execution.Filter{Agent: "c"}, 100, ""},
		{execution.Filter{After: execution.Key{Agent: "a"}}, 2, "b0 b1"},
		{execution.Filter{After: execution.Key{Agent: "b"}}, 100, ""},
		{execution.Filter{Agent: "b", After: executionKey(t, "a", "id-4")}, 2, "b0 b1"},
	} {
		if got := names(test.filter, test.limit); got != test.want {
			t.Errorf("%+v: %s, want %s", test.filter, got, test.want)
		}
	}
}

// executionEpochs: a heartbeat lives until its epoch is declared dead, and never again.
func executionEpochs(t *testing.T, s execution.Store) {
	ctx := t.Context()
	beats := func(o execution.Owner, alive bool) {
		t.Helper()
		got, err := s.Beat(ctx, o)
		want(t, "beat", err, nil)
		if got != alive {
			t.Errorf("%+v: alive %v", o, got)
		}
	}
	beats(alive, false) // nobody has entered it
	for range 2 {       // the second is a repeat
		want(t, "begin", s.Begin(ctx, alive, executionStart), nil)
	}
	want(t, "begin", s.Begin(ctx, another, executionStart), nil)
	beats(alive, true)
	beats(execution.Owner{Name: alive.Name, Epoch: 2}, false)
	for range 2 {
		want(t, "end", s.End(ctx, alive, executionStart), nil)
	}
	beats(alive, false)
	want(t, "begin", s.Begin(ctx, alive, executionStart), nil)
	beats(alive, false) // dead for ever
	beats(another, true)
	var said []string
	for _, e := range gatewayLedger(t, s) {
		said = append(said, e.Event+" "+e.Reason)
	}
	if want := []string{"epoch began: replica-a 1", "epoch began: replica-b 1", "epoch ended: replica-a 1"}; !slices.Equal(said, want) {
		t.Errorf("log %q", said)
	}
	turn := executionSteps(t)[0]
	_, err := s.Ask(ctx, turn) // whoever is dead may reserve
	want(t, "reserve", err, nil)
	d, err := s.Ask(ctx, execution.Turn{Key: turn.Key, At: executionStart, Event: execution.Dispatching{
		Attempt: execution.Attempt{Owner: alive, CallID: "call-sent", At: executionStart},
	}})
	want(t, "dispatch", err, nil)
	if d.Verdict != execution.Dead {
		t.Errorf("a dead epoch dispatches: %d", d.Verdict)
	}
}

// executionBurial: an epoch is declared dead when the database's own clock says so, once.
func executionBurial(t *testing.T, s execution.Store) {
	ctx := t.Context()
	began(t, s)
	bury := func(spared execution.Owner, stale time.Duration) int {
		t.Helper()
		dead, err := s.Bury(ctx, spared, stale, executionStart)
		want(t, "bury", err, nil)
		return len(dead)
	}
	if n := bury(execution.Owner{}, time.Minute); n != 0 {
		t.Errorf("%d buried", n)
	}
	silent, heard := alive, another
	for stale := 30 * time.Millisecond; ; stale *= 2 {
		time.Sleep(stale + 10*time.Millisecond)
		from := time.Now()
		_, err := s.Beat(ctx, heard)
		want(t, "beat", err, nil)
		itself := bury(silent, stale)
		earlier := bury(execution.Owner{Name: silent.Name, Epoch: silent.Epoch + 1}, stale) // an earlier epoch of one's own is none
		if time.Since(from) < stale-time.Millisecond {
			if itself != 0 || earlier != 1 {
				t.Errorf("%d buried, and %d, of which one by itself", itself, earlier)
			}
			break
		}
		if stale > time.Minute {
			t.Fatal("never in time")
		}
		// The other one has become silent, too, on a machine that had more to do. Both anew.
		bury(execution.Owner{}, -time.Hour)
		silent.Epoch++
		heard.Epoch++
		for _, o := range []execution.Owner{silent, heard} {
			want(t, "begin anew", s.Begin(ctx, o, executionStart), nil)
		}
	}
	if got, err := s.Beat(ctx, silent); got || err != nil {
		t.Errorf("the silent one lives: %v", err)
	}
	if got, err := s.Beat(ctx, heard); !got || err != nil {
		t.Errorf("the other one is dead: %v", err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	for range 8 {
		wg.Go(func() {
			dead, err := s.Bury(ctx, execution.Owner{}, -time.Hour, executionStart)
			mu.Lock()
			defer mu.Unlock()
			if total += len(dead); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if total != 1 {
		t.Errorf("one epoch was buried %d times", total)
	}
}

// executionStrays: dispatched and nobody's at once, reserved and nobody's when it is old.
func executionStrays(t *testing.T, s execution.Store) {
	ctx := t.Context()
	began(t, s)
	for _, turn := range executionSteps(t) {
		_, err := s.Ask(ctx, turn)
		want(t, "ask", err, nil)
	}
	strays := func(before time.Time) string {
		t.Helper()
		keys, err := s.Strays(ctx, before, 100)
		want(t, "strays", err, nil)
		var ids []string
		for _, k := range keys {
			ids = append(ids, k.ID.String())
		}
		slices.Sort(ids)
		return strings.Join(ids, " ")
	}
	// Nobody owns what was left and what was released.
	old, fresh := executionStart, executionStart.Add(-time.Millisecond)
	for i, want := range []string{"", "held left"} {
		if got := strays([]time.Time{fresh, old}[i]); got != want {
			t.Errorf("strays %q, want %q", got, want)
		}
	}
	want(t, "end", s.End(ctx, another, executionStart), nil)
	if got := strays(fresh); got != "lost" {
		t.Errorf("strays %q", got)
	}
	want(t, "end", s.End(ctx, alive, executionStart), nil)
	if got := strays(fresh); got != "asked lost" {
		t.Errorf("strays %q", got)
	}
	if keys, err := s.Strays(ctx, old, 1); err != nil || len(keys) != 1 {
		t.Errorf("%v, %v", keys, err)
	}
}

// executionForgotten: an answer goes, its row stays.
func executionForgotten(t *testing.T, s execution.Store) {
	ctx := t.Context()
	began(t, s)
	for _, turn := range executionSteps(t) {
		_, err := s.Ask(ctx, turn)
		want(t, "ask", err, nil)
	}
	key := executionKey(t, "agent", "sent")
	before, _, err := s.Find(ctx, key)
	want(t, "find", err, nil)
	entries := len(gatewayLedger(t, s))
	for _, test := range []struct {
		before time.Time
		n      int
	}{{executionStart, 0}, {executionStart.Add(time.Millisecond), 1}, {executionStart.Add(time.Millisecond), 0}} {
		n, err := s.Forget(ctx, test.before, 10)
		want(t, "forget", err, nil)
		if n != test.n {
			t.Errorf("%d forgotten, want %d", n, test.n)
		}
	}
	after, _, err := s.Find(ctx, key)
	want(t, "find", err, nil)
	before.Answer = nil
	if diff := cmp.Diff(before, after, sameID); diff != "" {
		t.Errorf("the row has changed:\n%s", diff)
	}
	if n := len(gatewayLedger(t, s)); n != entries {
		t.Errorf("%d entries were added", n-entries)
	}
}

func executionFindings(t *testing.T, s execution.Store) {
	ctx := t.Context()
	began(t, s)
	for _, turn := range executionSteps(t) {
		_, err := s.Ask(ctx, turn)
		want(t, "ask", err, nil)
	}
	f := execution.Finding{Outcome: execution.Succeeded, Source: "operator ann", Evidence: jcs.HexOf([]byte("e")), At: executionStart, Signed: "one"}
	add := func(id string, f execution.Finding, first bool, fault error) execution.Finding {
		t.Helper()
		kept, isFirst, err := s.AddFinding(ctx, executionKey(t, "agent", id), f)
		want(t, "finding on "+id, err, fault)
		if isFirst != first {
			t.Errorf("first: %v", isFirst)
		}
		return kept
	}
	add("none", f, false, execution.ErrNotFound)
	add("sent", f, false, execution.ErrNotUnknown)
	add("lost", f, false, execution.ErrNotUnknown)
	want(t, "end", s.End(ctx, another, executionStart), nil)
	d, err := s.Ask(ctx, execution.Turn{Key: executionKey(t, "agent", "lost"), Event: execution.Sweeping{At: executionStart}, At: executionStart})
	want(t, "sweep", err, nil)
	if d.Verdict != execution.Swept {
		t.Fatalf("verdict %d", d.Verdict)
	}
	add("lost", f, true, nil)
	again := f
	again.Signed, again.At = "two", executionStart.Add(time.Hour)
	if kept := add("lost", again, false, nil); kept != f {
		t.Errorf("kept %+v", kept)
	}
	contrary := f
	contrary.Outcome = execution.Failed
	add("lost", contrary, false, execution.ErrTooSoon)
	contrary.At = executionStart.Add(90*time.Second + execution.SettleTime)
	add("lost", contrary, true, nil)
	all, err := s.FindingsOf(ctx, executionKey(t, "agent", "lost"))
	want(t, "findings", err, nil)
	if !slices.Equal(all, []execution.Finding{f, contrary}) {
		t.Errorf("findings %+v", all)
	}
	log := gatewayLedger(t, s)
	if a, b := log[len(log)-2], log[len(log)-1]; a.Event != audit.EventReconciled || a.Digest != digest("e") || b.Event != audit.EventReconciled || a.CallID != "call-lost" {
		t.Errorf("entries %+v, %+v", a, b)
	}
	row, _, err := s.Find(ctx, executionKey(t, "agent", "lost"))
	want(t, "find", err, nil)
	if row.State != execution.OutcomeUnknown {
		t.Errorf("a finding has made it %s", row.State)
	}
}

// executionLog: entries stand in their order, whatever their number, and heads are kept.
func executionLog(t *testing.T, s execution.Store) {
	ctx := t.Context()
	last, err := s.LastAuditHead(ctx)
	want(t, "last head", err, nil)
	if last.Signed != "" {
		t.Errorf("a head of nothing: %+v", last)
	}
	n := 0
	for _, size := range []int{1, 31, 32, 33, 100} {
		list := make([]audit.Entry, size)
		for i := range list {
			n++
			list[i] = audit.Entry{At: executionStart, Event: audit.EventCall, CallID: fmt.Sprint(n), AgentID: "a"}
		}
		want(t, "append", s.Append(ctx, list), nil)
	}
	want(t, "append", s.Append(ctx, nil), nil)
	all := gatewayLedger(t, s)
	for i, e := range all {
		if e.CallID != fmt.Sprint(i+1) || !bytes.Contains(e.Line(), []byte(`"execution_id":null`)) {
			t.Fatalf("entry %d: %s", i, e.Line())
		}
	}
	if len(all) != n {
		t.Errorf("%d entries of %d", len(all), n)
	}
	for _, seq := range []int64{3, 1, 3} {
		h := audit.SignedHead{Tip: all[seq-1].Tip(), Signed: fmt.Sprint("head ", seq), At: executionStart}
		want(t, "head", s.AddAuditHead(ctx, h), nil)
	}
	heads, err := s.AuditHeads(ctx, 2, 10)
	want(t, "heads", err, nil)
	last, err = s.LastAuditHead(ctx)
	want(t, "last head", err, nil)
	if len(heads) != 1 || heads[0] != last || last.Tip != all[2].Tip() || last.Signed != "head 3" || !last.At.Equal(executionStart) {
		t.Errorf("heads %+v, last %+v", heads, last)
	}
}

// executionRace: of many attempts at once one is reserved, whatever it carries, and the log
// is one chain.
func executionRace(t *testing.T, s execution.Store) {
	ctx := t.Context()
	began(t, s)
	const callers = 64
	var mu sync.Mutex
	var wg sync.WaitGroup
	verdicts := map[execution.Verdict]int{}
	for i := range callers {
		wg.Go(func() {
			key := executionKey(t, "agent", "race")
			e := execution.Admitting{Key: key, Binding: oneBinding, Owner: alive, CallID: fmt.Sprint("call-", i), Call: described(), At: executionStart}
			if i%2 == 1 {
				e.Binding = otherBinding
			}
			d, err := s.Ask(ctx, execution.Turn{Key: key, Event: e, At: executionStart})
			mu.Lock()
			defer mu.Unlock()
			if verdicts[d.Verdict]++; err != nil {
				t.Error(err)
			}
		})
		if i%8 == 0 {
			wg.Go(func() {
				if err := s.Append(ctx, []audit.Entry{{At: executionStart, Event: audit.EventCall}}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if verdicts[execution.TakenReserved] != 1 || verdicts[execution.Joins] != callers/2-1 || verdicts[execution.Collides] != callers/2 {
		t.Errorf("verdicts %v", verdicts)
	}
	if n := len(gatewayLedger(t, s)); n != 2+callers+callers/8 {
		t.Errorf("%d entries", n)
	}
}

// ExecutionFaults walks every step of [Executions] with each fault: it fails, the same again
// succeeds, and afterwards the store holds what it holds without a fault, and each change of
// a row has one entry.
func ExecutionFaults(t *testing.T, newStore func(t *testing.T) (execution.Store, *Faults)) {
	changes := func(t *testing.T, s execution.Store) (rows []execution.Row, events []string) {
		rows, err := s.List(t.Context(), execution.Filter{}, 100)
		want(t, "list", err, nil)
		for _, e := range gatewayLedger(t, s) {
			if e.Event != audit.EventReplay && e.Event != audit.EventCollision { // these change nothing, and may be said twice
				events = append(events, e.ExecutionID+" "+e.Event+" "+e.CallID)
			}
		}
		return rows, events
	}
	whole, _ := newStore(t)
	began(t, whole)
	for _, turn := range executionSteps(t) {
		_, err := whole.Ask(t.Context(), turn)
		want(t, "ask", err, nil)
	}
	wantRows, wantEvents := changes(t, whole)
	for _, fault := range EachFault() {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			s, faults := newStore(t)
			for _, o := range []execution.Owner{alive, another} {
				faults.Next(fault)
				want(t, "begin", s.Begin(t.Context(), o, executionStart), ErrFault)
				want(t, "begin again", s.Begin(t.Context(), o, executionStart), nil)
			}
			for i, turn := range executionSteps(t) {
				faults.Next(fault)
				if _, err := s.Ask(t.Context(), turn); !errors.Is(err, ErrFault) {
					t.Errorf("step %d: %v with a failed commit", i, err)
				}
				d, err := s.Ask(t.Context(), turn)
				if err != nil || d.Verdict == execution.Lost && i != 11 && i != 13 { // a second word of giving up, or of a decision
					t.Errorf("step %d again: %+v, %v", i, d, err)
				}
			}
			rows, events := changes(t, s)
			if diff := cmp.Diff(wantRows, rows, sameID); diff != "" {
				t.Errorf("rows, without and with faults:\n%s", diff)
			}
			if diff := cmp.Diff(wantEvents, events); diff != "" {
				t.Errorf("entries, without and with faults:\n%s", diff)
			}
		})
	}
}

// ExecutionOperations are the writes of a store of executions that have an entry of the log,
// in an order in which each can be done.
func ExecutionOperations(t *testing.T) (all []func(execution.Store) error) {
	for _, o := range []execution.Owner{alive, another} {
		all = append(all, func(s execution.Store) error { return s.Begin(t.Context(), o, executionStart) })
	}
	for _, turn := range executionSteps(t) {
		if _, silent := turn.Event.(execution.Unsending); silent {
			continue
		}
		all = append(all, func(s execution.Store) error {
			_, err := s.Ask(t.Context(), turn)
			return err
		})
	}
	lost := executionKey(t, "agent", "lost")
	return append(all,
		func(s execution.Store) error {
			_, err := s.Bury(t.Context(), execution.Owner{}, -time.Hour, executionStart)
			return err
		},
		func(s execution.Store) error {
			_, err := s.Ask(t.Context(), execution.Turn{Key: lost, Event: execution.Sweeping{At: executionStart}, At: executionStart})
			return err
		},
		func(s execution.Store) error {
			_, _, err := s.AddFinding(t.Context(), lost, execution.Finding{Outcome: execution.Succeeded, Source: "s", Evidence: jcs.HexOf(nil), At: executionStart})
			return err
		},
	)
}
