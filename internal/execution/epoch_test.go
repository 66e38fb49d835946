package execution_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// crashAt admits a call at a replica that ends at a point, as kill -9 would end it.
func crashAt(t *testing.T, s execution.Store, clk *clock, point string, c execution.Call) {
	t.Helper()
	r := replica(t, s, clk, func(cfg *execution.Config) {
		cfg.Hook = func(at string) {
			if at == point {
				runtime.Goexit()
			}
		}
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p, _, err := r.Admit(context.Background(), c)
		if err != nil {
			t.Error(err)
			return
		}
		if err := p.Start(); err != nil {
			t.Error(err)
		}
		if _, err := p.Finish(context.Background(), done); err != nil {
			t.Error(err)
		}
	}()
	<-ended
}

// bury declares every epoch dead.
func bury(t *testing.T, s execution.Store) {
	t.Helper()
	if _, err := s.Bury(t.Context(), execution.Owner{}, -time.Hour, start); err != nil {
		t.Fatal(err)
	}
}

// TestGaps: a process ends at each of the five gaps. Whoever repeats the call sends it only
// where it is certain that it was not sent.
//
// covers EXA-064, EXA-066, EXA-069, EXA-072
func TestGaps(t *testing.T) {
	t.Parallel()
	for point, test := range map[string]struct {
		left, swept execution.State
		again       bool // the repeat is admitted
		events      string
	}{
		execution.PointBeforeReserve: {"", "", true, "reserved dispatched succeeded"},
		execution.PointAfterReserve:  {execution.Reserved, execution.Reserved, true, "reserved reserved:taken_over dispatched succeeded"},
		execution.PointAfterDispatch: {execution.Dispatched, execution.OutcomeUnknown, false, "reserved dispatched outcome_unknown:gateway_ended replay:outcome_unknown"},
		execution.PointAfterAnswer:   {execution.Dispatched, execution.OutcomeUnknown, false, "reserved dispatched outcome_unknown:gateway_ended replay:outcome_unknown"},
		execution.PointAfterOutcome:  {execution.Succeeded, execution.Succeeded, false, "reserved dispatched succeeded replay:succeeded"},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB) {
				s, clk := db.Executions(), newClock()
				c := call(t, "one", "10")
				crashAt(t, s, clk, point, c)
				if test.left != "" && state(t, s, c) != test.left {
					t.Fatalf("left as %s", state(t, s, c))
				}
				bury(t, s)
				r := replica(t, more().Executions(), clk)
				if err := r.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				if test.swept != "" && state(t, s, c) != test.swept {
					t.Fatalf("swept as %s", state(t, s, c))
				}
				if test.again {
					finish(t, permit(t, r, c), done)
				} else if rec := refused(t, r, c, execution.NameReplay).Record; rec.State != test.swept {
					t.Errorf("record %+v", rec)
				}
				if got := strings.Join(events(t, s, c), " "); got != test.events {
					t.Errorf("events %s", got)
				}
			})
		})
	}
}

// TestAnotherReplicaStarts: nothing is taken from a replica because another one starts, or
// sweeps, as long as its epoch is not declared dead. A repeat joins.
//
// covers EXA-062, EXA-064
func TestAnotherReplicaStarts(t *testing.T) {
	t.Parallel()
	s, clk := sqliteDB(t).Executions(), newClock()
	reserved, dispatched := call(t, "reserved", "10"), call(t, "dispatched", "10")
	crashAt(t, s, clk, execution.PointAfterReserve, reserved)
	crashAt(t, s, clk, execution.PointAfterDispatch, dispatched)
	clk.Move(24 * time.Hour)
	r := replica(t, s, clk, func(c *execution.Config) {
		c.Wait, c.Timing.Stale = 10*time.Millisecond, time.Hour // by the database's clock, which goes on
	})
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []execution.Call{reserved, dispatched} {
		if got := refused(t, r, c, execution.NamePending).Record.State; string(got) != c.ID.String() {
			t.Errorf("%s is %s", c.ID, got)
		}
	}
}

// TestNeverRepeated: what was reserved by a dead epoch is refused when nobody has repeated it
// for ten minutes, and no sooner.
//
// covers EXA-062, EXA-072
func TestNeverRepeated(t *testing.T) {
	t.Parallel()
	s, clk := sqliteDB(t).Executions(), newClock()
	c := call(t, "one", "10")
	crashAt(t, s, clk, execution.PointAfterReserve, c)
	bury(t, s)
	r := replica(t, s, clk)
	sweep := func(after time.Duration, want execution.State) {
		t.Helper()
		clk.Move(after)
		if err := r.Sweep(t.Context()); err != nil || state(t, s, c) != want {
			t.Fatalf("%s, %v", state(t, s, c), err)
		}
	}
	sweep(10*time.Minute-time.Millisecond, execution.Reserved)
	sweep(time.Millisecond, execution.Refused)
	if rec := refused(t, r, c, execution.NameReplay).Record; rec.Reason != execution.ReasonNeverRepeated {
		t.Errorf("record %+v", rec)
	}
	want := []string{"reserved", "refused:never_repeated", "replay:refused"}
	if got := events(t, s, c); !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
}

// TestLateReplica: a replica that was declared dead while it waited for the upstream gets
// no outcome of its own: its answer is evidence, the reply is the stored row.
//
// covers EXA-060, EXA-066, EXA-072
func TestLateReplica(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB) {
		s, clk := db.Executions(), newClock()
		late := replica(t, s, clk)
		c, quick := call(t, "one", "10"), call(t, "two", "10")
		p, q := permit(t, late, c), permit(t, late, quick)
		bury(t, s)
		// Dead, and not yet swept: the answer is in time.
		if rec := finish(t, q, done); rec.State != execution.Succeeded {
			t.Errorf("record %+v", rec)
		}
		other := replica(t, more().Executions(), clk)
		if err := other.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		rec := finish(t, p, done)
		if rec.State != execution.OutcomeUnknown || rec.Answer != nil || rec.Digest != "" || rec.Reason != execution.ReasonGatewayEnded {
			t.Errorf("record %+v", rec)
		}
		if rec := refused(t, other, c, execution.NameReplay).Record; rec.State != execution.OutcomeUnknown || rec.Answer != nil {
			t.Errorf("record %+v", rec)
		}
		list := about(t, s, c)
		if e := list[3]; e.Event != "outcome_unknown" || e.Reason != execution.ReasonLateAnswer || e.Digest != answerDigest || e.CallID != p.CallID() {
			t.Errorf("entry %+v", e)
		}
		// The next call takes a new epoch.
		next := call(t, "three", "10")
		finish(t, permit(t, late, next), done)
	})
}

// TestStart: nothing is sent when the last heartbeat is ten seconds old, or under
// another epoch; and once only.
//
// covers EXA-064, EXA-072
func TestStart(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	n := ids("id-")
	admit := func(r *execution.Registry) *execution.Permit {
		t.Helper()
		p, rec, err := r.Admit(t.Context(), call(t, n(), "10"))
		if p == nil {
			t.Fatal(rec, err)
		}
		return p
	}
	clk := newClock()
	r := replica(t, s, clk)
	for _, test := range []struct {
		pass time.Duration
		ok   bool
	}{{0, true}, {10*time.Second - time.Millisecond, true}, {10 * time.Second, false}, {time.Hour, false}} {
		p := admit(r)
		clk.Move(test.pass)
		if err := p.Start(); (err == nil) != test.ok || err != nil && !errors.Is(err, execution.ErrEpoch) {
			t.Errorf("after %v: %v", test.pass, err)
		}
		if err := p.Start(); !errors.Is(err, execution.ErrSpent) {
			t.Errorf("twice: %v", err)
		}
		p.Close()
		clk.Move(time.Minute) // the next admission sends a heartbeat
	}

	// Declared dead, and found out by another call.
	p := admit(r)
	bury(t, s)
	q := admit(r)
	if err := p.Start(); !errors.Is(err, execution.ErrEpoch) {
		t.Errorf("under a dead epoch: %v", err)
	}
	if err := q.Start(); err != nil {
		t.Errorf("under the new epoch: %v", err)
	}
	p.Close()
	finish(t, q, done)
	if _, err := q.Finish(t.Context(), done); !errors.Is(err, execution.ErrSpent) {
		t.Errorf("finished twice: %v", err)
	}
}

// keeping is a store that has so many answers whose time is over.
type keeping struct {
	execution.Store
	answers int
}

func (k *keeping) Forget(_ context.Context, before time.Time, limit int) (int, error) {
	if !before.Equal(start.Add(-execution.KeptFor)) {
		return 0, errors.New("not the answers of a day ago")
	}
	n := min(k.answers, limit)
	k.answers -= n
	return n, nil
}

// TestAnswersAreDropped: one sweep drops more answers than come in until the next one.
func TestAnswersAreDropped(t *testing.T) {
	t.Parallel()
	s := &keeping{Store: sqliteDB(t).Executions(), answers: 10_000}
	if err := replica(t, s, newClock()).Sweep(t.Context()); err != nil || s.answers > 0 {
		t.Errorf("%d answers are left, %v", s.answers, err)
	}
}

// TestOwnEpoch: a replica whose last heartbeat is old by the database's clock, which may have
// jumped, does not declare itself dead: what it has sent stays its own. The other one is.
//
// covers EXA-064, EXA-072
func TestOwnEpoch(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB) {
		short := func(c *execution.Config) {
			c.Timing = execution.Timing{Heartbeat: time.Millisecond, Trust: 2 * time.Millisecond, Stale: 3 * time.Millisecond}
		}
		s, clk := db.Executions(), newClock() // the clock of the replicas stands: they trust their heartbeats
		mine, other := replica(t, s, clk, short), replica(t, more().Executions(), clk, short)
		own, theirs := call(t, "own", "10"), call(t, "theirs", "10")
		p := permit(t, mine, own)
		permit(t, other, theirs)
		time.Sleep(20 * time.Millisecond)
		if err := mine.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := state(t, s, theirs); got != execution.OutcomeUnknown {
			t.Errorf("the other's is %s", got)
		}
		if rec := finish(t, p, done); rec.State != execution.Succeeded {
			t.Errorf("its own is %+v", rec)
		}
	})
}

// TestStalled: whatever has kept a replica from its heartbeats may have kept the others, too. It
// declares them dead when they have had the time for one, and sent none.
//
// covers EXA-072
func TestStalled(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB) {
		short := func(c *execution.Config) {
			c.Timing = execution.Timing{Heartbeat: time.Millisecond, Trust: 20 * time.Millisecond, Stale: 30 * time.Millisecond}
		}
		s, clk := db.Executions(), newClock()
		mine, other := replica(t, s, clk, short), replica(t, more().Executions(), newClock(), short)
		theirs := call(t, "theirs", "10")
		permit(t, other, theirs)
		time.Sleep(60 * time.Millisecond) // by the database's clock the other one is silent
		for _, step := range []struct {
			pass time.Duration
			want execution.State
		}{{20 * time.Millisecond, execution.Dispatched}, {2 * time.Millisecond, execution.OutcomeUnknown}} {
			clk.Move(step.pass)
			if err := mine.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := state(t, s, theirs); got != step.want {
				t.Errorf("%v later it is %s", step.pass, got)
			}
		}
	})
}

// TestClose: an attempt about which nothing is said ends as what it is.
//
// covers EXA-060
func TestClose(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	r := replica(t, s, newClock())
	p := permit(t, r, call(t, "started", "10"))
	p.Close()
	p.Close()
	q, _, err := r.Admit(t.Context(), call(t, "not", "10"))
	if err != nil {
		t.Fatal(err)
	}
	q.Close()
	for id, want := range map[string]string{"started": "outcome_unknown abandoned", "not": "failed not_sent"} {
		if rec := refused(t, r, call(t, id, "10"), execution.NameReplay).Record; string(rec.State)+" "+rec.Reason != want {
			t.Errorf("%s: %+v", id, rec)
		}
	}
	r2 := finish(t, permit(t, r, call(t, "finished", "10")), done)
	if r2.State != execution.Succeeded {
		t.Error(r2)
	}
}

// TestRun: replicas with real clocks, and one of them with short times. The other stops sending heartbeats and is
// declared dead; what it has left is taken on. Its own next call takes a new epoch.
//
// covers EXA-069, EXA-072
func TestRun(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB) {
		short := func(c *execution.Config) {
			c.Now = time.Now
			c.Timing = execution.Timing{
				Heartbeat: 20 * time.Millisecond, Trust: 300 * time.Millisecond, Stale: 400 * time.Millisecond,
				Sweep: 20 * time.Millisecond, Flush: 10 * time.Millisecond, Retry: 20 * time.Millisecond,
			}
		}
		s := db.Executions()
		c := call(t, "one", "10")
		silent := replica(t, s, newClock(), func(c *execution.Config) { // it never runs: no heartbeats
			c.Now, c.Timing = time.Now, execution.Timing{Trust: time.Minute, Stale: 2 * time.Minute}
		})
		p := permit(t, silent, c)
		r := unstarted(t, more().Executions(), newClock(), short)
		ctx, stop := context.WithCancel(context.Background())
		ran := make(chan error)
		go func() { ran <- r.Run(ctx) }()
		for began := time.Now(); state(t, s, c) != execution.OutcomeUnknown; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatal("nobody swept")
			}
		}
		if rec := finish(t, p, done); rec.State != execution.OutcomeUnknown {
			t.Errorf("record %+v", rec)
		}
		stop()
		if err := <-ran; err != nil { // which would declare the next epoch dead as soon
			t.Error(err)
		}
		finish(t, permit(t, silent, call(t, "two", "10")), done)
		if ok, reason := r.Active(); ok || reason != "ended" {
			t.Errorf("active after the end: %s", reason)
		}
		refused(t, r, call(t, "three", "10"), execution.NameUnavailable)
	})
}
