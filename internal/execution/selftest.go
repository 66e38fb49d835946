package execution

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/internal/audit"
)

// selfTestAgent is nobody's: no call is admitted under it.
const selfTestAgent = "bindery:self-test"

// SelfTest tries in the real store, under an agent of its own, what an execution stands on
// (EXA-034, AX-14): an id is reserved once, and another binding for it is refused; a terminal
// state is seen by another connection, and nothing leaves it; an epoch that is not alive
// dispatches nothing; state and audit entry vanish together when a transaction is undone. One
// execution is written for it, whose end has to be durable; what else is tried is undone. The
// result is an entry of the log. The error names what does not hold.
func (r *Registry) SelfTest(ctx context.Context) error {
	t := &selfTest{r: r, at: r.now()}
	err := t.run(ctx)
	e := audit.Entry{At: t.at, AgentID: selfTestAgent, Event: audit.EventSelfTest, Reason: "passed"}
	if err != nil {
		e.Reason = err.Error()
	}
	if auditErr := r.cfg.Store.Append(ctx, []audit.Entry{e}); auditErr != nil {
		return errors.Join(err, fmt.Errorf("execution: self-test: %w", auditErr))
	}
	return err
}

type selfTest struct {
	r  *Registry
	at time.Time
}

// A step is an event of the test, and how the store must take it.
type step struct {
	Event
	want Verdict
}

func (t *selfTest) run(ctx context.Context) error {
	const (
		conflict = "a conflicting reservation is refused"
		terminal = "a committed terminal state is seen and stays"
		notAlive = "an epoch that is not alive dispatches nothing"
		together = "state and audit entry vanish together"
	)
	key, a := t.fresh()
	_, other := t.fresh()
	undone, absent := t.fresh()
	absent.Owner = Owner{Name: rand.Text(), Epoch: 1} // nobody has entered it
	for _, part := range []struct {
		what string
		try  func(context.Context) error
	}{
		{conflict, t.asked(key, step{t.admitting(key, a, oneBinding), TakenReserved})},
		{conflict, t.rehearsed(key, step{t.admitting(key, other, otherBinding), Collides})},
		{terminal, t.asked(key, step{Dispatching{a}, SentOff}, step{Settling{Attempt: a, State: Succeeded}, Settled})},
		{terminal, t.seen(key)},
		{terminal, t.rehearsed(key, step{t.admitting(key, other, oneBinding), Replays})},
		{notAlive, t.rehearsed(undone, step{t.admitting(undone, absent, oneBinding), TakenReserved}, step{Dispatching{absent}, Dead})},
		{together, t.vanished(undone)},
	} {
		if err := part.try(ctx); err != nil {
			return fmt.Errorf("execution: self-test: %s: %w", part.what, err)
		}
	}
	return nil
}

var errUntrue = errors.New("it does not hold")

// asked takes the steps, each in a transaction that stays.
func (t *selfTest) asked(key Key, steps ...step) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, s := range steps {
			d, err := t.r.cfg.Store.Ask(ctx, Turn{Key: key, Event: s.Event, At: t.at})
			if err != nil {
				return err
			}
			if d.Verdict != s.want {
				return errUntrue
			}
		}
		return nil
	}
}

// rehearsed takes the steps in one transaction, which is undone.
func (t *selfTest) rehearsed(key Key, steps ...step) func(context.Context) error {
	return func(ctx context.Context) error {
		turns := make([]Turn, len(steps))
		for i, s := range steps {
			turns[i] = Turn{Key: key, Event: s.Event, At: t.at}
		}
		taken, err := t.r.cfg.Store.Rehearse(ctx, turns)
		if err != nil {
			return err
		}
		for i, s := range steps {
			if taken[i].Verdict != s.want {
				return errUntrue
			}
		}
		return nil
	}
}

// seen reads by another connection than the one that has written.
func (t *selfTest) seen(key Key) func(context.Context) error {
	return func(ctx context.Context) error {
		row, _, err := t.r.cfg.Store.Find(ctx, key)
		if err == nil && row.State != Succeeded {
			err = errUntrue
		}
		return err
	}
}

func (t *selfTest) vanished(key Key) func(context.Context) error {
	return func(ctx context.Context) error {
		_, _, err := t.r.cfg.Store.Find(ctx, key)
		entries, auditErr := t.r.cfg.Store.About(ctx, key, 1)
		switch {
		case err == nil || len(entries) > 0:
			return errUntrue
		case !errors.Is(err, ErrNotFound):
			return err
		}
		return auditErr
	}
}

func (t *selfTest) fresh() (Key, Attempt) {
	id, _ := ParseID(rand.Text())
	return Key{Agent: selfTestAgent, ID: id}, Attempt{Owner: t.r.life.Load().owner, CallID: rand.Text(), At: t.at}
}

// The bindings of the test are opaque texts of the form: no action has them.
const (
	oneBinding   = "sha256:0000000000000000000000000000000000000000000000000000000000000001"
	otherBinding = "sha256:0000000000000000000000000000000000000000000000000000000000000002"
)

func (t *selfTest) admitting(key Key, a Attempt, binding string) Admitting {
	return Admitting{Key: key, Binding: binding, Owner: a.Owner, CallID: a.CallID, At: t.at, Call: Descriptor{Preimage: []byte("{}")}}
}
