package execution

import (
	"context"
	"errors"
	"sync"
	"time"
)

// endTime bounds what Run still does when its ctx has ended.
const endTime = 5 * time.Second

// Run starts the Registry and keeps it: heartbeats, sweeps, what Note was given, outcomes
// that could not be stored, and signed heads of the log. It returns when ctx has ended and
// what was noted is written. If no attempt is under way then, its epoch ends with it;
// otherwise the epoch lasts until it is declared dead, and attempts may still be finished.
func (r *Registry) Run(ctx context.Context) error {
	var tasks sync.WaitGroup
	tasks.Go(func() { r.every(ctx, r.time.Heartbeat, "heartbeat", r.keepAlive) })
	tasks.Go(func() { r.every(ctx, r.time.Sweep, "sweep", r.sweep) })
	tasks.Go(func() { r.every(ctx, r.time.Retry, "retry", r.payDebts) })
	tasks.Go(func() { r.every(ctx, headEvery, "head", r.SignAudit) })
	tasks.Go(func() { r.flushUntil(ctx) })
	tasks.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.endTime)
	defer cancel()
	if err := r.payDebts(end); err != nil {
		r.log.ErrorContext(end, "outcomes not stored at the end", "reason", err.Error())
	}
	if _, err := r.flush(end); err != nil {
		r.log.ErrorContext(end, "audit entries not written at the end", "entries", r.Status().Waiting, "reason", err.Error())
	}
	r.end(end)
	return nil
}

// headEvery is how often the head of the log is signed, if entries were added.
const headEvery = time.Minute

// every does a task now and at every interval, until ctx ends. A failure is logged once, and
// so is that it has passed.
func (r *Registry) every(ctx context.Context, interval time.Duration, what string, do func(context.Context) error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	failing := false
	for {
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil && !failing:
			r.log.ErrorContext(ctx, "the registry of executions waits", "for", what, "reason", err.Error())
		case err == nil && failing:
			r.log.InfoContext(ctx, "the registry of executions goes on", "with", what)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// retest is how far apart the self-tests of a store begin that has failed one: each writes to it.
const retest = time.Minute

func (r *Registry) keepAlive(ctx context.Context) error {
	why, now := r.failed.Load(), r.now()
	switch {
	case why == nil:
		return r.beat(ctx)
	case now.Before(r.again):
		return errors.New(*why)
	}
	err := r.Start(ctx)
	if errors.Is(err, errUntrue) || errors.Is(err, ErrNotFound) {
		r.again = now.Add(retest)
	}
	return err
}

func (r *Registry) sweep(ctx context.Context) error {
	if r.failed.Load() != nil {
		return nil
	}
	return r.Sweep(ctx)
}

// end gives back the epoch. Calls are not admitted any more.
func (r *Registry) end(ctx context.Context) {
	reason := "ended"
	r.failed.Store(&reason)
	l := r.life.Load()
	if l == nil || r.out.Load() > 0 || r.debts.count() > 0 {
		return
	}
	if err := r.cfg.Store.End(ctx, l.owner, r.now()); err != nil {
		r.log.ErrorContext(ctx, "epoch not ended", "reason", err.Error())
	}
}

// A result is that of one of several turns.
type result struct {
	Decision
	err error
}

// askAll asks at once, so that the store takes the turns in few transactions.
func (r *Registry) askAll(ctx context.Context, keys []Key, e Event, at time.Time) []result {
	results := make([]result, len(keys))
	var all sync.WaitGroup
	for i, key := range keys {
		all.Go(func() { results[i].Decision, results[i].err = r.ask(ctx, Turn{Key: key, Event: e, At: at}) })
	}
	all.Wait()
	return results
}

// debts are turns that the store has not taken yet. They are idempotent.
type debts struct {
	mu   sync.Mutex // guards the rest
	list []Turn
	out  int // turns that the store is being asked to take
}

// maxDebts is how many there are before nothing is admitted any more. Those of calls that are under
// way then are kept nevertheless.
const maxDebts = 4096

func (d *debts) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.list) + d.out
}

// later has a turn taken as soon as the store does.
func (r *Registry) later(t Turn) {
	r.debts.mu.Lock()
	defer r.debts.mu.Unlock()
	r.debts.list = append(r.debts.list, t)
}

func (r *Registry) payDebts(ctx context.Context) error {
	r.debts.mu.Lock()
	list := r.debts.list
	r.debts.list, r.debts.out = nil, len(list)
	r.debts.mu.Unlock()
	var err error
	for i, t := range list {
		if _, err = r.ask(ctx, t); err != nil {
			list = append(list[i+1:], t) // last: what is never taken must not keep the others
			break
		}
	}
	if err == nil {
		list = nil
	}
	r.debts.mu.Lock()
	defer r.debts.mu.Unlock()
	r.debts.list, r.debts.out = append(list, r.debts.list...), 0
	return err
}
