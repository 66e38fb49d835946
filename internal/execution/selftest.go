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
// (EXA-034, AX-14): an id is reserved once, and another binding for it is refused; state and
// audit entry vanish together when a transaction is undone; a dead epoch dispatches nothing;
// a terminal state is seen by another connection; and nothing leaves it. The result is an
// entry of the log. The error names what does not hold.
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

func (t *selfTest) run(ctx context.Context) error {
	for _, part := range []struct {
		what string
		try  func(context.Context) error
	}{
		{"a conflicting reservation is refused", t.conflict},
		{"state and audit entry vanish together", t.rollback},
		{"a dead epoch dispatches nothing", t.deadEpoch},
		{"a committed terminal state is seen and stays", t.terminal},
	} {
		if err := part.try(ctx); err != nil {
			return fmt.Errorf("execution: self-test: %s: %w", part.what, err)
		}
	}
	return nil
}

var errUntrue = errors.New("it does not hold")

// turn is one step of a test's execution.
func (t *selfTest) ask(ctx context.Context, key Key, e Event, want Verdict) error {
	d, err := t.r.cfg.Store.Ask(ctx, Turn{Key: key, Event: e, At: t.at})
	if err != nil {
		return err
	}
	if d.Verdict != want {
		return errUntrue
	}
	return nil
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

func (t *selfTest) conflict(ctx context.Context) error {
	key, a := t.fresh()
	if err := t.ask(ctx, key, t.admitting(key, a, oneBinding), TakenReserved); err != nil {
		return err
	}
	other := a
	other.CallID = rand.Text()
	if err := t.ask(ctx, key, t.admitting(key, other, otherBinding), Collides); err != nil {
		return err
	}
	return t.clear(ctx, key, a)
}

// clear ends what the test has reserved.
func (t *selfTest) clear(ctx context.Context, key Key, a Attempt) error {
	if err := t.ask(ctx, key, Dispatching{a}, SentOff); err != nil {
		return err
	}
	return t.ask(ctx, key, Unsending{Attempt: a, Reason: ReasonNotSent}, Settled)
}

func (t *selfTest) rollback(ctx context.Context) error {
	key, a := t.fresh()
	d, err := t.r.cfg.Store.Rehearse(ctx, Turn{Key: key, Event: t.admitting(key, a, oneBinding), At: t.at})
	if err != nil {
		return err
	}
	_, _, err = t.r.cfg.Store.Find(ctx, key)
	entries, auditErr := t.r.cfg.Store.About(ctx, key, 1)
	switch {
	case err == nil || d.Verdict != TakenReserved || len(entries) > 0:
		return errUntrue
	case !errors.Is(err, ErrNotFound):
		return err
	}
	return auditErr
}

func (t *selfTest) deadEpoch(ctx context.Context) error {
	key, a := t.fresh()
	a.Owner = Owner{Name: rand.Text(), Epoch: 1}
	if err := t.r.cfg.Store.Begin(ctx, a.Owner, t.at); err != nil {
		return err
	}
	if err := t.ask(ctx, key, t.admitting(key, a, oneBinding), TakenReserved); err != nil {
		return err
	}
	if err := t.r.cfg.Store.End(ctx, a.Owner, t.at); err != nil {
		return err
	}
	if err := t.ask(ctx, key, Dispatching{a}, Dead); err != nil {
		return err
	}
	_, heir := t.fresh()
	if err := t.ask(ctx, key, t.admitting(key, heir, oneBinding), TakenReserved); err != nil {
		return err
	}
	return t.clear(ctx, key, heir)
}

func (t *selfTest) terminal(ctx context.Context) error {
	key, a := t.fresh()
	for _, step := range []struct {
		e    Event
		want Verdict
	}{
		{t.admitting(key, a, oneBinding), TakenReserved},
		{Dispatching{a}, SentOff},
		{Settling{Attempt: a, State: Succeeded}, Settled},
	} {
		if err := t.ask(ctx, key, step.e, step.want); err != nil {
			return err
		}
	}
	row, _, err := t.r.cfg.Store.Find(ctx, key)
	if err != nil {
		return err
	}
	if row.State != Succeeded {
		return errUntrue
	}
	_, repeat := t.fresh()
	return t.ask(ctx, key, t.admitting(key, repeat, oneBinding), Replays)
}
