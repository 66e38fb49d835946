package execution_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/internal/store/storetest"
)

// away is a store that can be made to fail: what it is asked is not done, or it is and
// nobody learns of it.
type away struct {
	execution.Store
	fails atomic.Int64 // so many calls of Ask and Append
	keeps atomic.Bool  // they are done nevertheless
}

var errAway = errors.New("the store is away")

func (a *away) fail() bool { return a.fails.Add(-1) >= 0 }

func (a *away) Ask(ctx context.Context, turn execution.Turn) (execution.Decision, error) {
	if !a.fail() {
		return a.Store.Ask(ctx, turn)
	}
	if a.keeps.Load() {
		_, _ = a.Store.Ask(ctx, turn)
	}
	return execution.Decision{}, errAway
}

func (a *away) Append(ctx context.Context, list []audit.Entry) error {
	if !a.fail() {
		return a.Store.Append(ctx, list)
	}
	return errAway
}

// running is a Registry that keeps itself with short times until the test ends.
func running(t *testing.T, s execution.Store, change ...func(*execution.Config)) *execution.Registry {
	t.Helper()
	r := replica(t, s, newClock(), append([]func(*execution.Config){func(c *execution.Config) {
		c.Now = time.Now
		c.Timing = execution.Timing{
			Heartbeat: 50 * time.Millisecond, Trust: time.Minute, Stale: 2 * time.Minute,
			Sweep: 20 * time.Millisecond, Flush: 5 * time.Millisecond, Retry: 5 * time.Millisecond,
		}
	}}, change...)...)
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); _ = r.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ran })
	return r
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("never: ", what)
		}
	}
}

// TestOneFault: where the answer to one commit is lost, nobody notices: the attempt asks the
// same again, and nothing is done twice.
//
// covers EXA-066, EXA-070, EXA-074
func TestOneFault(t *testing.T) {
	t.Parallel()
	for _, fault := range storetest.EachFault() {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, db *sqlstore.DB, _ func() *sqlstore.DB) {
				s := db.Executions()
				r, faults, n := replica(t, s, newClock()), storetest.NewFaults(db), ids("id-")
				for commit := range 3 { // of reserve, dispatch, outcome
					c := call(t, n(), "10")
					faults.After(commit, fault)
					rec := finish(t, permit(t, r, c), done)
					if rec.State != execution.Succeeded || string(rec.Answer) != string(answer) || faults.Count() != commit+1 {
						t.Errorf("commit %d: record %+v, %d faults", commit, rec, faults.Count())
					}
					if got := events(t, s, c); !slices.Equal(got, []string{"reserved", "dispatched", "succeeded"}) {
						t.Errorf("commit %d: events %v", commit, got)
					}
				}
			})
		})
	}
}

// TestOutcomeNotStored: where an outcome cannot be stored its caller is told that it is
// unknown, nothing is sent again, and it is stored as unknown as soon as the store is back.
//
// covers EXA-060, EXA-066, EXA-070
func TestOutcomeNotStored(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{false, true} {
		s := &away{Store: sqliteDB(t).Executions()}
		s.keeps.Store(keeps)
		r := running(t, s)
		c := call(t, "one", "10")
		p := permit(t, r, c)
		s.fails.Store(1 << 40)
		rec := finish(t, p, done)
		if rec.State != execution.OutcomeUnknown || rec.Reason != execution.ReasonNotPersisted || rec.Answer != nil || rec.CallID != p.CallID() {
			t.Errorf("record %+v", rec)
		}
		refused(t, r, c, execution.NameUnavailable)
		s.fails.Store(0)
		until(t, "stored", func() bool { return state(t, s, c).Terminal() })
		rec = refused(t, r, c, execution.NameReplay).Record
		want := execution.OutcomeUnknown
		if keeps { // it was stored, and only the answer was lost
			want = execution.Succeeded
		}
		if rec.State != want || rec.Digest != answerDigest && !keeps {
			t.Errorf("record %+v", rec)
		}
	}
}

// TestAdmissionNotStored: what a failing store may have kept of an admission stands in
// nobody's way. The repeat is admitted.
//
// covers EXA-062, EXA-064, EXA-070
func TestAdmissionNotStored(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{false, true} {
		for fails := range int64(4) {
			s := &away{Store: sqliteDB(t).Executions()}
			s.keeps.Store(keeps)
			point := execution.PointBeforeReserve
			if fails >= 2 {
				point = execution.PointAfterReserve
			}
			var armed atomic.Bool
			r := running(t, s, func(c *execution.Config) {
				c.Hook = func(at string) {
					if at == point && armed.CompareAndSwap(true, false) {
						s.fails.Store(2 + fails%2*5)
					}
				}
			})
			c := call(t, "one", "10")
			armed.Store(true)
			e := refused(t, r, c, execution.NameUnavailable)
			if e.Record != nil {
				t.Errorf("record %+v", e.Record)
			}
			s.fails.Store(0)
			until(t, "admitted or over", func() bool {
				p, _, err := r.Admit(t.Context(), c)
				if p != nil {
					finish(t, p, done)
				}
				var e *execution.Refusal
				return errors.As(err, &e) && e.Name == execution.NameReplay
			})
			rec := refused(t, r, c, execution.NameReplay).Record
			sent := rec.State == execution.Succeeded
			if keeps && point == execution.PointAfterReserve { // it was dispatched, and never sent
				sent = rec.State == execution.Failed && rec.Reason == execution.ReasonNotSent
			}
			if !sent {
				t.Errorf("keeps %v, %d: record %+v", keeps, fails, rec)
			}
		}
	}
}

// TestCallerLeaves: a caller that leaves between reservation and dispatch leaves a row that
// the next one takes on.
//
// covers EXA-062
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	ctx, leave := context.WithCancel(t.Context())
	r := running(t, s, func(c *execution.Config) {
		c.Hook = func(at string) {
			if at == execution.PointAfterReserve {
				leave()
			}
		}
	})
	c := call(t, "one", "10")
	if p, _, err := r.Admit(ctx, c); p != nil || !errors.Is(err, context.Canceled) {
		t.Fatal(p, err)
	}
	finish(t, permit(t, r, c), done)
	if got := events(t, s, c); !slices.Equal(got, []string{"reserved", "reserved:taken_over", "dispatched", "succeeded"}) &&
		!slices.Equal(got, []string{"reserved", "joined:reserved", "reserved:taken_over", "dispatched", "succeeded"}) {
		t.Errorf("events %v", got)
	}
}

// seeking is a store that counts how often somebody has looked for a row.
type seeking struct {
	execution.Store
	found atomic.Int64
}

func (s *seeking) Find(ctx context.Context, key execution.Key) (execution.Row, bool, error) {
	s.found.Add(1)
	return s.Store.Find(ctx, key)
}

// TestPostgresGoesAway: the database ends while a call is out, and comes back. Whoever called is
// told that the outcome is unknown, so is whoever waits with it, and that is what is stored; what
// came meanwhile was not sent, and is admitted later.
//
// covers EXA-060, EXA-066, EXA-069, EXA-070
func TestPostgresGoesAway(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	db, err := postgres.Open(t.Context(), server.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s := &seeking{Store: db.Executions()}
	r := running(t, s, func(c *execution.Config) { c.Wait = 5 * time.Minute }) // for a server that starts
	out, later := call(t, "out", "10"), call(t, "later", "10")
	p := permit(t, r, out)
	before := s.found.Load()
	joined := make(chan *execution.Record, 1)
	go func() {
		_, rec, err := r.Admit(context.Background(), out)
		if err != nil {
			t.Error(err)
		}
		joined <- rec
	}()
	until(t, "joined", func() bool { return s.found.Load() > before }) // and it has its answer to that
	if got := events(t, s, out); !slices.Contains(got, "joined:dispatched") {
		t.Errorf("events %v", got)
	}
	server.Stop(t)
	if rec := finish(t, p, done); rec.State != execution.OutcomeUnknown || rec.Reason != execution.ReasonNotPersisted || rec.Answer != nil {
		t.Errorf("record %+v", rec)
	}
	refused(t, r, later, execution.NameUnavailable)
	server.Start(t)
	if rec := <-joined; rec == nil || rec.State != execution.OutcomeUnknown || rec.Digest != answerDigest {
		t.Errorf("whoever waited has %+v", rec)
	}
	until(t, "nothing unstored", func() bool { return r.Status().Unstored == 0 })
	if rec := refused(t, r, out, execution.NameReplay).Record; rec.State != execution.OutcomeUnknown {
		t.Errorf("record %+v", rec)
	}
	finish(t, permit(t, r, later), done)
	if n := len(logged(t, s, audit.EventOutcomeUnknown)); n != 1 {
		t.Errorf("%d entries say that it is unknown", n)
	}
}

// silent is a store that gives no answer to a heartbeat for a while, and then none.
type silent struct {
	execution.Store
	beats atomic.Int64
}

func (s *silent) Beat(context.Context, execution.Owner) (bool, error) {
	s.beats.Add(1)
	time.Sleep(200 * time.Millisecond)
	return false, errAway
}

// TestSilentStore: while the store gives no answer, calls do not wait for it one after the
// other: that would take the gateway's places from those which need no store.
func TestSilentStore(t *testing.T) {
	t.Parallel()
	s, clk := &silent{Store: sqliteDB(t).Executions()}, newClock()
	r := replica(t, s, clk)
	clk.Move(time.Minute)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			var e *execution.Refusal
			if _, _, err := r.Admit(t.Context(), call(t, "one", "10")); !errors.As(err, &e) || e.Name != execution.NameUnavailable {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := s.beats.Load(); n > 8 {
		t.Errorf("%d heartbeats were sent one after the other", n)
	}
}

// slow is a store that takes no heartbeat whose sender has left meanwhile.
type slow struct {
	execution.Store
	asked, answer chan struct{}
}

func (s *slow) Beat(ctx context.Context, o execution.Owner) (bool, error) {
	s.asked <- struct{}{}
	<-s.answer
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return s.Store.Beat(ctx, o)
}

// TestHeartbeatOfMany: whoever leaves while many wait for its heartbeat takes it from none of them.
func TestHeartbeatOfMany(t *testing.T) {
	t.Parallel()
	s, clk := &slow{sqliteDB(t).Executions(), make(chan struct{}, 1), make(chan struct{})}, newClock()
	r := replica(t, s, clk)
	clk.Move(time.Minute)
	ctx, leave := context.WithCancel(t.Context())
	first, second := call(t, "one", "10"), call(t, "two", "10")
	var both sync.WaitGroup
	both.Go(func() { _, _, _ = r.Admit(ctx, first) })
	<-s.asked
	both.Go(func() {
		if p, _, err := r.Admit(t.Context(), second); err != nil {
			t.Error(err)
		} else {
			p.Close()
		}
	})
	time.Sleep(20 * time.Millisecond) // until it waits, too; a later one sends its own
	leave()
	close(s.answer)
	both.Wait()
}

// broken is a store without one of the properties that the self-test asks for.
type broken struct {
	execution.Store
	instead  map[execution.Verdict]execution.Verdict
	rehearse bool // keeps what it should undo
	stale    bool // another connection sees nothing of what was committed
}

func (b *broken) Ask(ctx context.Context, turn execution.Turn) (execution.Decision, error) {
	d, err := b.Store.Ask(ctx, turn)
	if v, ok := b.instead[d.Verdict]; ok {
		d.Verdict = v
	}
	return d, err
}

func (b *broken) Rehearse(ctx context.Context, turns []execution.Turn) (all []execution.Decision, err error) {
	if !b.rehearse {
		all, err = b.Store.Rehearse(ctx, turns)
	}
	for i, turn := range turns {
		if b.rehearse {
			d, failed := b.Store.Ask(ctx, turn)
			all, err = append(all, d), errors.Join(err, failed)
		}
		if v, ok := b.instead[all[i].Verdict]; ok {
			all[i].Verdict = v
		}
	}
	return all, err
}

func (b *broken) Find(ctx context.Context, key execution.Key) (execution.Row, bool, error) {
	if b.stale {
		return execution.Row{}, false, execution.ErrNotFound
	}
	return b.Store.Find(ctx, key)
}

// TestSelfTest: a store without one of the properties admits nothing, and the log says why.
//
// covers EXA-034, EXA-074
func TestSelfTest(t *testing.T) {
	t.Parallel()
	for reason, b := range map[string]*broken{
		"execution: self-test: a conflicting reservation is refused: it does not hold": {
			instead: map[execution.Verdict]execution.Verdict{execution.Collides: execution.TakenReserved},
		},
		"execution: self-test: an epoch that is not alive dispatches nothing: it does not hold": {
			instead: map[execution.Verdict]execution.Verdict{execution.Dead: execution.SentOff},
		},
		"execution: self-test: a committed terminal state is seen and stays: it does not hold": {
			instead: map[execution.Verdict]execution.Verdict{execution.Replays: execution.TakenReserved},
		},
		"execution: self-test: a committed terminal state is seen and stays: execution: not found": {stale: true},
		"execution: self-test: state and audit entry vanish together: it does not hold":            {rehearse: true},
	} {
		b.Store = sqliteDB(t).Executions()
		r := unstarted(t, b, newClock())
		if err := r.Start(t.Context()); err == nil || err.Error() != reason {
			t.Errorf("%v, want %s", err, reason)
		}
		if ok, why := r.Active(); ok || why != reason {
			t.Errorf("active: %v, %q", ok, why)
		}
		refused(t, r, call(t, "one", "10"), execution.NameUnavailable)
		if got := lastEntry(t, b.Store); got.Event != audit.EventSelfTest || got.Reason != reason || got.ExecutionID != "" {
			t.Errorf("entry %+v", got)
		}
	}
	s := sqliteDB(t).Executions()
	r := unstarted(t, s, newClock())
	if ok, why := r.Active(); ok || why != "not started" {
		t.Errorf("before the start: %v, %q", ok, why)
	}
	refused(t, r, call(t, "one", "10"), execution.NameUnavailable)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ok, why := r.Active(); !ok || why != "" {
		t.Errorf("started: %v, %q", ok, why)
	}
	if got := lastEntry(t, s); got.Event != audit.EventSelfTest || got.Reason != "passed" {
		t.Errorf("entry %+v", got)
	}
	// What the test itself has to write: one execution, its three steps, and the result.
	rows, err := s.List(t.Context(), execution.Filter{}, 10)
	if tip, tipErr := s.AuditTip(t.Context()); err != nil || tipErr != nil || len(rows) != 1 || tip.Seq != 1+3+1 {
		t.Errorf("%d executions and %d entries, one of them the epoch's (%v, %v)", len(rows), tip.Seq, err, tipErr)
	}
	open, err := s.List(t.Context(), execution.Filter{State: execution.Reserved}, 10)
	if err != nil || len(open) > 0 {
		t.Errorf("the test has left %+v, %v", open, err)
	}
}

// TestStoreThatFails: a store that fails the self-test is not written to at each heartbeat.
//
// covers EXA-034
func TestStoreThatFails(t *testing.T) {
	t.Parallel()
	s, clk := &broken{Store: sqliteDB(t).Executions(), stale: true}, newClock()
	r := unstarted(t, s, clk, func(c *execution.Config) { c.Timing = execution.Timing{Heartbeat: time.Millisecond} })
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- r.Run(ctx) }()
	tests := func() int { return len(logged(t, s.Store, audit.EventSelfTest)) }
	until(t, "tested", func() bool { return tests() == 1 })
	clk.Move(time.Minute - time.Millisecond)
	time.Sleep(50 * time.Millisecond)
	if n := tests(); n != 1 {
		t.Errorf("tested %d times within a minute", n)
	}
	clk.Move(time.Millisecond)
	until(t, "tested again", func() bool { return tests() == 2 })
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

func lastEntry(t *testing.T, s execution.Store) audit.Entry {
	t.Helper()
	tip, err := s.AuditTip(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.AuditLog(t.Context(), tip.Seq, 1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}

// TestUnfinishedPermit: a goroutine that dies with its permit, as the gateway defers Close.
func TestUnfinishedPermit(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	r := replica(t, s, newClock())
	c := call(t, "one", "10")
	died := make(chan struct{})
	go func() {
		defer close(died)
		p, _, err := r.Admit(context.Background(), c)
		if err != nil || p.Start() != nil {
			t.Error(err)
			return
		}
		defer p.Close()
		runtime.Goexit()
	}()
	<-died
	if got := state(t, s, c); got != execution.OutcomeUnknown {
		t.Errorf("state %s", got)
	}
}
