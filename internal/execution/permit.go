package execution

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/bindery/bindery/jcs"
)

// What a Permit refuses.
var (
	// ErrEpoch: this replica may have been declared dead, so nothing may be sent. The attempt
	// is to be finished as failed, ReasonNotSent.
	ErrEpoch = errors.New("execution: this replica's epoch is not known to be alive")
	// ErrSpent: a permit is started once, and finished once.
	ErrSpent = errors.New("execution: the permit is spent")
)

// A Permit is one attempt that was admitted. Whoever holds it calls Start, then sends, and
// ends it by one of Finish, Suspend and Close; Close may always be deferred.
type Permit struct {
	r       *Registry
	key     Key
	attempt Attempt
	call    Descriptor
	row     Row
	began   time.Time
	phase   atomic.Int32 // one word, so that whoever starts and whoever closes agree
}

// Phases of a Permit.
const (
	fresh   = iota // nothing may be sent yet
	started        // something may have been sent
	spent
)

func (r *Registry) permit(a *admission, row Row) *Permit {
	r.out.Add(1)
	return &Permit{r: r, key: a.call.key(), attempt: a.Attempt, call: a.about, row: row, began: a.At}
}

// CallID names this attempt.
func (p *Permit) CallID() string { return p.attempt.CallID }

// Record is the row as this attempt was dispatched.
func (p *Permit) Record() *Record { return p.row.record() }

// Start is called right before the first byte that leaves for the upstream, once. It fails
// unless the last heartbeat of the epoch under which the attempt was dispatched is younger
// than Timing.Trust, by the monotonic clock and by the wall's: a machine that slept has no
// say. On an error nothing may be sent.
func (p *Permit) Start() error {
	if !p.phase.CompareAndSwap(fresh, started) {
		return ErrSpent
	}
	if l := p.r.life.Load(); l == nil || l.owner != p.attempt.Owner || !p.r.trusts(l) {
		return ErrEpoch
	}
	return nil
}

// An Outcome is what came of an attempt.
type Outcome struct {
	State   State  // Succeeded, Failed or OutcomeUnknown
	Answer  []byte // the raw JSON of the answer's result or error member; nil if there is none, or it is not to be kept
	IsError bool   // it is the error member
	Reason  string // why, where the state alone does not say
	// Digest is "sha256:…" of what was seen of an answer that is not passed on; "" has it
	// computed from Answer.
	Digest string
}

// Finish stores what came of the attempt, with its audit entry, and returns the row that
// the reply is built from. It does not wait for ctx. Where the row was terminal before, it
// is that row: outcome_unknown, and this answer is evidence alone. Where the store fails, it is
// outcome_unknown too, and that is tried again until it is stored (EXA-070, AX-12).
//
// The answer's digest is over its bytes as they came: what others write need not have a
// canonical form. The error is [ErrSpent], or about an Outcome that is none.
func (p *Permit) Finish(ctx context.Context, o Outcome) (*Record, error) {
	if o.State != Succeeded && o.State != Failed && o.State != OutcomeUnknown {
		return nil, errors.New("execution: an attempt ends in succeeded, failed or outcome_unknown")
	}
	if p.phase.Swap(spent) == spent {
		return nil, ErrSpent
	}
	return p.finish(ctx, o), nil
}

func (p *Permit) finish(ctx context.Context, o Outcome) *Record {
	p.r.cfg.Hook(PointAfterAnswer)
	p.attempt.At = p.r.now()
	e := Settling{Attempt: p.attempt, State: o.State, Digest: o.Digest, Answer: kept(o.Answer), IsError: o.IsError, Reason: o.Reason}
	if e.Digest == "" && o.Answer != nil {
		e.Digest = answerDigest(o.Answer)
	}
	return p.settle(ctx, e)
}

// Suspend stores that the upstream asks for more input: answer is its whole result, and
// stateSHA256 the hex SHA-256 of the requestState in it. The call that carries it continues
// this execution, once. Returns as Finish.
func (p *Permit) Suspend(ctx context.Context, answer []byte, stateSHA256 string) (*Record, error) {
	if _, err := jcs.ParseHex256(stateSHA256); err != nil {
		return nil, errors.New("execution: a state's digest is 64 hexadecimal digits")
	}
	if p.phase.Swap(spent) == spent {
		return nil, ErrSpent
	}
	p.r.cfg.Hook(PointAfterAnswer)
	p.attempt.At = p.r.now()
	return p.settle(ctx, Suspending{
		Attempt: p.attempt, RequestState: stateSHA256, Digest: answerDigest(answer), Answer: kept(answer),
	}), nil
}

// Follow stores that a task stands for the answer. The execution stays dispatched while
// this replica lives and follows it; Finish ends it.
func (p *Permit) Follow(ctx context.Context, taskID string) error {
	if p.phase.Load() == spent {
		return ErrSpent
	}
	at := p.attempt
	at.At = p.r.now()
	d, err := p.r.ask(context.WithoutCancel(ctx), Turn{Key: p.key, Event: Following{Attempt: at, TaskID: taskID}, At: at.At, Call: p.call})
	if err == nil && d.Verdict != Followed {
		err = ErrEpoch
	}
	return err
}

// Close ends an attempt about which nothing was said: as failed, ReasonNotSent, if it was
// never started, else as outcome_unknown. After Finish or Suspend it does nothing.
func (p *Permit) Close() {
	o := Outcome{State: Failed, Reason: ReasonNotSent}
	if !p.phase.CompareAndSwap(fresh, spent) {
		if !p.phase.CompareAndSwap(started, spent) {
			return // another has said it
		}
		o = Outcome{State: OutcomeUnknown, Reason: ReasonAbandoned}
	}
	p.finish(context.Background(), o)
}

func (p *Permit) settle(ctx context.Context, e Event) *Record {
	defer p.r.out.Add(-1)
	t := Turn{Key: p.key, Event: e, At: p.attempt.At, Call: p.call}
	d, err := p.r.ask(context.WithoutCancel(ctx), t)
	row := d.Row
	switch {
	case err != nil:
		p.r.log.ErrorContext(ctx, "outcome not stored, tried again", "call_id", p.attempt.CallID, "reason", err.Error())
		t.Event = p.unstored(e)
		p.r.later(t)
		row = p.unknown(ReasonNotPersisted)
	case d.Verdict == Settled || d.Verdict == Asked:
		p.r.cfg.Hook(PointAfterOutcome)
		row.Answer = brought(e)
	case row.State != OutcomeUnknown: // the row was taken away and is not over, or never was
		row = p.unknown(ReasonLateAnswer)
	}
	p.r.cfg.Observer.Settled(row.State, p.r.now().Sub(p.began))
	return row.record()
}

// unstored is what is stored of an outcome that its caller was told is unknown.
func (p *Permit) unstored(e Event) Event {
	u := Settling{Attempt: p.attempt, State: OutcomeUnknown, Reason: ReasonNotPersisted}
	switch e := e.(type) {
	case Settling:
		u.Digest = e.Digest
	case Suspending:
		u.Digest = e.Digest
	}
	return u
}

func (p *Permit) unknown(reason string) Row {
	row := p.row
	row.State, row.Reason, row.CompletedAt = OutcomeUnknown, reason, p.attempt.At
	return row
}

func brought(e Event) []byte {
	switch e := e.(type) {
	case Settling:
		return e.Answer
	case Suspending:
		return e.Answer
	}
	return nil
}

func kept(answer []byte) []byte {
	if len(answer) > MaxAnswer {
		return nil
	}
	return answer
}

func answerDigest(answer []byte) string { return "sha256:" + string(jcs.HexOf(answer)) }
