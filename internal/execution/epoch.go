package execution

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/bindery/bindery/internal/audit"
)

// alive is this replica's epoch, if its last heartbeat is young enough to send anything; an
// older one is renewed first. Where a store gives no answer many wait for that: whoever has
// waited for another's heartbeat has its result, and sends none.
func (r *Registry) alive(ctx context.Context) (Owner, bool) {
	before := r.beats.Load()
	if r.failed.Load() != nil {
		return Owner{}, false
	}
	if l := r.life.Load(); l != nil && r.trusts(l) {
		return l.owner, true
	}
	r.beating.Lock()
	defer r.beating.Unlock()
	ctx = context.WithoutCancel(ctx) // what comes of it is for all who wait
	if r.beats.Load() == before && r.beatOnce(ctx) != nil {
		return Owner{}, false
	}
	if l := r.life.Load(); l != nil && r.trusts(l) {
		return l.owner, true
	}
	return Owner{}, false
}

// trusts reports whether the heartbeat is young, on both clocks.
func (r *Registry) trusts(l *life) bool {
	now := r.now()
	return now.Sub(l.beat) < r.time.Trust && now.Round(0).Sub(l.beat.Round(0)) < r.time.Trust
}

// renew takes a new epoch when the one that was found dead is still ours.
func (r *Registry) renew(ctx context.Context, dead Owner) error {
	r.beating.Lock()
	defer r.beating.Unlock()
	if l := r.life.Load(); l.owner != dead {
		return nil
	}
	if err := r.begin(ctx, dead.Epoch+1); err != nil {
		return r.fault(ctx, "epoch", err)
	}
	return nil
}

// beat sends a heartbeat, and takes a new epoch if this one was declared dead. The moment
// that counts is the one before it was sent.
func (r *Registry) beat(ctx context.Context) error {
	r.beating.Lock()
	defer r.beating.Unlock()
	return r.beatOnce(ctx)
}

// beatOnce is beat with r.beating held.
func (r *Registry) beatOnce(ctx context.Context) error {
	defer r.beats.Add(1)
	l := r.life.Load()
	if l == nil {
		return fmt.Errorf("execution: %w", ErrEpoch)
	}
	sent := r.now()
	alive, err := r.cfg.Store.Beat(ctx, l.owner)
	if err != nil {
		return fmt.Errorf("execution: heartbeat: %w", err)
	}
	if sent.Sub(l.beat) > r.time.Stale/2 { // whatever kept us may have kept the others
		until := r.now().Add(2 * r.time.Heartbeat)
		r.calm.Store(&until)
	}
	if !alive {
		r.log.WarnContext(ctx, "this replica was declared dead and takes a new epoch", "owner", l.owner.Name, "epoch", l.owner.Epoch)
		return r.begin(ctx, l.owner.Epoch+1)
	}
	r.life.Store(&life{owner: l.owner, beat: sent})
	return nil
}

// begin enters an epoch. It is called with r.beating held.
func (r *Registry) begin(ctx context.Context, epoch int64) error {
	if r.name == "" {
		r.name = rand.Text()
	}
	o := Owner{Name: r.name, Epoch: epoch}
	sent := r.now()
	if err := r.cfg.Store.Begin(ctx, o, sent); err != nil {
		return fmt.Errorf("execution: epoch: %w", err)
	}
	r.life.Store(&life{owner: o, beat: sent})
	return nil
}

// Start enters an epoch and tries the store (see [Registry.SelfTest]). From then on calls
// are admitted as long as heartbeats arrive: Run sends them. Run calls it, too.
func (r *Registry) Start(ctx context.Context) error {
	r.beating.Lock()
	defer r.beating.Unlock()
	if r.failed.Load() == nil {
		return nil
	}
	err := r.begin(ctx, r.nextEpoch())
	if err == nil {
		err = r.SelfTest(ctx)
	}
	if err != nil {
		reason := err.Error()
		r.failed.Store(&reason)
		return err
	}
	r.failed.Store(nil)
	return nil
}

func (r *Registry) nextEpoch() int64 {
	if l := r.life.Load(); l != nil {
		return l.owner.Epoch + 1
	}
	return 1
}

// Sweep declares dead what has no heartbeat, but never this replica, takes from dead epochs
// what they have left, and drops answers whose time is over. A replica whose own heartbeat is
// late sends it first, and declares nobody dead for two intervals: whatever has kept it may
// have kept the others. Run does so at every Timing.Sweep; several replicas may at once.
func (r *Registry) Sweep(ctx context.Context) error {
	now := r.now()
	if l := r.life.Load(); l != nil && now.Sub(l.beat) > r.time.Stale/2 { // the heartbeat says whether to be calm
		if err := r.beat(ctx); err != nil {
			return err
		}
	}
	if until := r.calm.Load(); until == nil || !now.Before(*until) {
		var self Owner
		if l := r.life.Load(); l != nil {
			self = l.owner
		}
		dead, err := r.cfg.Store.Bury(ctx, self, r.time.Stale, now)
		if err != nil {
			return fmt.Errorf("execution: sweep: %w", err)
		}
		r.cfg.Observer.Buried(len(dead))
		for _, o := range dead {
			r.log.WarnContext(ctx, "epoch declared dead", "owner", o.Name, "epoch", o.Epoch)
		}
	}
	if err := r.sweepRows(ctx, now); err != nil {
		return fmt.Errorf("execution: sweep: %w", err)
	}
	for range forgetLooks {
		n, err := r.cfg.Store.Forget(ctx, now.Add(-KeptFor), sweepLimit)
		if err != nil {
			return fmt.Errorf("execution: sweep: %w", err)
		}
		if n < sweepLimit {
			break
		}
	}
	return nil
}

const (
	sweepLimit  = 256 // rows that one look takes on
	forgetLooks = 64  // for answers in one sweep: more of them than are stored meanwhile
)

func (r *Registry) sweepRows(ctx context.Context, now time.Time) error {
	for {
		keys, err := r.cfg.Store.Strays(ctx, now.Add(-r.time.Abandoned), sweepLimit)
		if err != nil {
			return err
		}
		swept := 0
		for _, d := range r.askAll(ctx, keys, Sweeping{At: now, Abandoned: r.time.Abandoned}, now) {
			if d.err != nil {
				return d.err
			}
			if d.Verdict == Swept {
				swept++
				r.cfg.Observer.Swept(d.Row.State)
				r.log.WarnContext(ctx, "execution ended by the sweep", "state", string(d.Row.State), "call_id", d.Row.CallID)
			}
		}
		if len(keys) < sweepLimit || swept == 0 {
			return nil
		}
	}
}

// Entry is what the log says of an epoch.
func (o Owner) Entry(what string, at time.Time) audit.Entry {
	return audit.Entry{At: at, Event: audit.EventEpoch, Reason: what + ": " + o.Name + " " + strconv.FormatInt(o.Epoch, 10)}
}
