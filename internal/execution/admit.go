package execution

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Admit decides about one call. Exactly one of its results is not nil:
//
//   - a [Permit]: the row is durable, marked dispatched for this attempt alone, and nothing was
//     sent yet;
//   - a [Record]: the call repeats another one, which answers it from the stored row: its
//     outcome, what is suspended or held, or an outcome_unknown;
//   - a [*Refusal], or the error of a ctx that ended while it waited. Nothing was sent for it.
//
// What the store does not answer to is EXECUTION_UNAVAILABLE.
func (r *Registry) Admit(ctx context.Context, c Call) (*Permit, *Record, error) {
	permit, rec, err := r.admit(ctx, c)
	refused, isRefusal := errors.AsType[*Refusal](err)
	switch {
	case permit != nil:
		r.cfg.Observer.Admitted("permit")
	case rec != nil:
		r.cfg.Observer.Admitted("recorded")
	case isRefusal:
		r.cfg.Observer.Admitted(refused.Name)
	default:
		r.cfg.Observer.Admitted("left")
	}
	return permit, rec, err
}

func (r *Registry) admit(ctx context.Context, c Call) (*Permit, *Record, error) {
	if refused := c.check(); refused != nil {
		return nil, nil, refused
	}
	if r.debts.count() >= maxDebts {
		return nil, nil, unavailable()
	}
	if c.Timeout <= 0 {
		c.Timeout = r.cfg.Timeout
	}
	until, about := r.now().Add(r.cfg.Wait), c.descriptor()
	for {
		a := &admission{r: r, call: c, about: about, until: until}
		done, err := a.try(ctx)
		if done || err != nil {
			return a.permit, a.record, err
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if !r.now().Before(until) {
			return nil, nil, unavailable()
		}
	}
}

// check refuses what no row can be made of.
func (c Call) check() *Refusal {
	switch {
	case c.Agent == "" || c.Agent == selfTestAgent:
		return &Refusal{Name: NameRefused, SafeNext: nextIdentity}
	case c.ID == ID{}, c.Binding.String() == "", c.Action.AgentID() != c.Agent: // EXA-012
		return &Refusal{Name: NameRefused, SafeNext: nextFault}
	case c.Action.Bind(c.Binding.Algorithm()) != c.Binding:
		return &Refusal{Name: NameRefused, SafeNext: nextFault}
	}
	return nil
}

func unavailable() *Refusal { return &Refusal{Name: NameUnavailable, SafeNext: nextLater} }

// An admission is one attempt of a call.
type admission struct {
	r     *Registry
	call  Call
	about Descriptor
	until time.Time
	Attempt

	permit *Permit
	record *Record
}

// try makes one attempt. Neither done nor an error: the world has changed meanwhile, and
// another attempt is due.
func (a *admission) try(ctx context.Context) (done bool, err error) {
	alive, ok := a.r.alive(ctx)
	if !ok {
		return false, unavailable()
	}
	a.Attempt = Attempt{Owner: alive, CallID: rand.Text(), At: a.r.now()}
	a.r.cfg.Hook(PointBeforeReserve)
	d, err := a.r.ask(ctx, Turn{Key: a.call.key(), Event: a.admitting(), At: a.At, Call: a.about})
	if err != nil {
		a.giveUp() // it may have been kept
		return false, a.r.fault(ctx, "admission", err)
	}
	switch d.Verdict {
	case TakenReserved:
		a.r.cfg.Hook(PointAfterReserve)
		return a.dispatch(ctx)
	case Continued:
		a.r.cfg.Hook(PointAfterDispatch)
		a.permit = a.r.permit(a, d.Row)
		return true, nil
	case Dead:
		return false, a.r.renew(ctx, a.Owner)
	case Joins:
		return a.join(ctx)
	}
	return true, a.answer(ctx, d)
}

func (a *admission) admitting() Admitting {
	return Admitting{
		Key: a.call.key(), Binding: a.call.Binding.String(), Owner: a.Owner, CallID: a.CallID, At: a.At,
		Continues: a.call.Continues, Inputs: a.call.Inputs, Hold: a.call.Hold, Call: a.about,
	}
}

func (c Call) descriptor() Descriptor {
	return Descriptor{
		Preimage: c.Action.Preimage(), ActionTimestamp: c.Action.Timestamp(), Upstream: c.Upstream, Tool: c.Tool,
		SessionID: c.SessionID, WorkflowID: c.WorkflowID, Timeout: c.Timeout,
	}
}

// giveUp leaves what this attempt may have reserved to the next repeat.
func (a *admission) giveUp() {
	a.r.later(Turn{Key: a.call.key(), Event: Unsending{Attempt: a.Attempt, Reason: ReasonNotSent}, At: a.At, Call: a.about})
}

func (a *admission) dispatch(ctx context.Context) (done bool, err error) {
	if ctx.Err() != nil {
		a.giveUp()
		return false, ctx.Err()
	}
	a.At = a.r.now()
	d, err := a.r.ask(context.WithoutCancel(ctx), Turn{Key: a.call.key(), Event: Dispatching{a.Attempt}, At: a.At, Call: a.about})
	if err != nil {
		a.giveUp()
		return false, a.r.fault(ctx, "dispatch", err)
	}
	switch d.Verdict {
	case SentOff:
		a.r.cfg.Hook(PointAfterDispatch)
		a.permit = a.r.permit(a, d.Row)
		return true, nil
	case Dead:
		return false, a.r.renew(ctx, a.Owner)
	}
	return false, nil // taken over: it is asked again what has become of it
}

// answer is a decision that needs no wait. What is stored with an answer is read again, by
// another connection: it does not change any more but by being forgotten.
func (a *admission) answer(ctx context.Context, d Decision) error {
	row := d.Row
	if d.Verdict == Replays || d.Verdict == Standing {
		found, _, err := a.r.cfg.Store.Find(ctx, a.call.key())
		if err != nil {
			return a.r.fault(ctx, "row", err)
		}
		row = found
	}
	switch d.Verdict {
	case TakenHeld, Standing:
		a.record = row.record()
		return nil
	case Replays:
		return refusal(NameReplay, row)
	case Collides:
		row.Answer = nil
		return refusal(NameCollision, row)
	case Mismatches:
		row.Answer = nil
		return mismatch(row)
	}
	return fmt.Errorf("execution: verdict %d", d.Verdict)
}

func mismatch(row Row) error {
	if row.State == "" { // there is nothing to continue
		return &Refusal{Name: NameContinuation, SafeNext: nextMismatch}
	}
	return refusal(NameContinuation, row)
}

// ask asks twice: an attempt's events are idempotent, and a store that failed once may have
// kept the first.
func (r *Registry) ask(ctx context.Context, t Turn) (d Decision, err error) {
	for range 2 {
		if d, err = r.cfg.Store.Ask(ctx, t); err == nil {
			if d.Changed {
				r.watches.wake(t.Key)
			}
			return d, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return d, err
}

// fault is what a caller gets for a store that does not answer: an error of its own ctx, or
// EXECUTION_UNAVAILABLE.
func (r *Registry) fault(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.log.ErrorContext(ctx, "execution not admitted", "at", what, "reason", err.Error())
	return unavailable()
}
