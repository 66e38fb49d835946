package execution

import (
	"time"

	"github.com/bindery/bindery/internal/audit"
)

// Reasons that a row and its audit entries give.
const (
	ReasonNotSent       = "not_sent"       // failed: nothing left the gateway
	ReasonNotPersisted  = "not_persisted"  // outcome_unknown: the answer came, and could not be stored
	ReasonAbandoned     = "abandoned"      // outcome_unknown: the attempt ended without a word
	ReasonGatewayEnded  = "gateway_ended"  // outcome_unknown: the replica that sent it was declared dead
	ReasonNeverRepeated = "never_repeated" // refused: reserved, and its replica ended before it was sent
	ReasonTakenOver     = "taken_over"     // reserved: by a repeat, from nobody
	ReasonLateAnswer    = "late_answer"    // outcome_unknown: the answer came after that
	ReasonReleased      = "released"       // reserved: a decision released what was held
	ReasonContinuation  = "EXECUTION_CONTINUATION_MISMATCH"
)

// Admitting asks for an attempt of a call: the first one, a repeat, or a continuation.
type Admitting struct {
	Key       Key
	Binding   string
	Owner     Owner
	CallID    string // fresh (EXA-050)
	Continues string // hex SHA-256 of the requestState that the call carries; "" for none
	Inputs    string // hex SHA-256 of what it carries beside it; "" for nothing
	Hold      bool   // hold it, if it is the first
	Call      Descriptor
	At        time.Time
}

// Asker is who would own the attempt.
func (e Admitting) Asker() Owner { return e.Owner }

func (e Admitting) on(r Row, f Facts) Decision {
	switch {
	case f.Absent && e.Continues != "":
		return e.refuses(r, Mismatches, audit.EventRefused, ReasonContinuation)
	case f.Absent:
		return e.first()
	case r.Binding != e.Binding: // before anything else (EXA-023, EXA-056)
		return e.refuses(r, Collides, audit.EventCollision, string(r.State))
	case r.State.Terminal():
		d := e.refuses(r, Replays, audit.EventReplay, string(r.State))
		d.Digest = r.Digest
		return d
	case r.State == Held && r.CallID == e.CallID: // this very attempt's, and the answer was lost
		return Decision{Row: r, Verdict: TakenHeld}
	case r.State == Held:
		return e.refuses(r, Standing, audit.EventJoined, string(r.State))
	case r.State == Reserved:
		return e.reserved(r, f)
	case r.State == Dispatched:
		return e.dispatched(r)
	}
	return e.suspended(r, f)
}

// refuses leaves the row as it is. The entry is about this attempt.
func (e Admitting) refuses(r Row, v Verdict, event, reason string) Decision {
	return Decision{Row: r, Verdict: v, Event: event, CallID: e.CallID, Binding: e.Binding, Reason: reason}
}

func (e Admitting) first() Decision {
	r := Row{
		Key: e.Key, State: Reserved, Binding: e.Binding, Descriptor: e.Call, Owner: e.Owner, CallID: e.CallID,
		CreatedAt: e.At, TouchedAt: e.At,
	}
	if !e.Hold {
		return Decision{Row: r, Verdict: TakenReserved, Changed: true, Event: audit.EventReserved, CallID: e.CallID, Binding: e.Binding}
	}
	r.State, r.Owner = Held, Owner{}
	return Decision{Row: r, Verdict: TakenHeld, Changed: true, Event: audit.EventReserved, CallID: e.CallID, Binding: e.Binding, Reason: string(Held)}
}

// mine reports whether the row stands for this very attempt: what it asked was done before,
// and the answer was lost.
func (e Admitting) mine(r Row) bool { return r.CallID == e.CallID && r.Owner == e.Owner }

func (e Admitting) reserved(r Row, f Facts) Decision {
	switch {
	case e.Continues != "":
		return e.refuses(r, Mismatches, audit.EventRefused, ReasonContinuation)
	case e.mine(r):
		return Decision{Row: r, Verdict: TakenReserved}
	case f.OwnerAlive:
		return e.refuses(r, Joins, audit.EventJoined, string(r.State))
	}
	r.Owner, r.CallID, r.TouchedAt = e.Owner, e.CallID, e.At
	return Decision{
		Row: r, Verdict: TakenReserved, Changed: true,
		Event: audit.EventReserved, CallID: e.CallID, Binding: r.Binding, Reason: ReasonTakenOver,
	}
}

func (e Admitting) dispatched(r Row) Decision {
	switch {
	case e.Continues != "" && e.mine(r):
		return Decision{Row: r, Verdict: Continued}
	case e.Continues == "", e.repeats(r):
		return e.refuses(r, Joins, audit.EventJoined, string(r.State))
	}
	return e.refuses(r, Mismatches, audit.EventRefused, ReasonContinuation)
}

// repeats reports whether the last continuation carried what this one carries. Each state
// is used once, so this is no other one.
func (e Admitting) repeats(r Row) bool {
	return e.Continues != "" && e.Continues == r.Continued && e.Inputs == r.Inputs
}

func (e Admitting) suspended(r Row, f Facts) Decision {
	switch {
	case e.Continues == "", e.repeats(r):
		d := e.refuses(r, Standing, audit.EventJoined, string(r.State))
		d.Digest = r.Digest
		return d
	case e.Continues != r.RequestState:
		return e.refuses(r, Mismatches, audit.EventRefused, ReasonContinuation)
	case !f.AskerAlive:
		return Decision{Row: r, Verdict: Dead}
	}
	r.State, r.Owner, r.CallID, r.TouchedAt, r.DispatchedAt = Dispatched, e.Owner, e.CallID, e.At, e.At
	r.Continued, r.Inputs, r.RequestState = e.Continues, e.Inputs, ""
	r.Digest, r.Answer, r.IsError, r.Reason = "", nil, false, ""
	return Decision{
		Row: r, Verdict: Continued, Changed: true, Answers: true,
		Event: audit.EventDispatched, CallID: e.CallID, Binding: r.Binding, Reason: "continued",
	}
}

// An Attempt is who asks about a row that is its own.
type Attempt struct {
	Owner  Owner
	CallID string
	At     time.Time
}

// Asker is the attempt's owner.
func (a Attempt) Asker() Owner { return a.Owner }

func (a Attempt) mine(r Row, state State) bool {
	return r.State == state && r.CallID == a.CallID && r.Owner == a.Owner
}

func (a Attempt) says(r Row, v Verdict, event string) Decision {
	return Decision{Row: r, Verdict: v, Changed: true, Event: event, CallID: a.CallID, Binding: r.Binding}
}

// Dispatching marks that the attempt is about to be sent. No dead epoch dispatches.
type Dispatching struct{ Attempt }

func (e Dispatching) on(r Row, f Facts) Decision {
	switch {
	case f.Absent:
		return Decision{Row: r, Verdict: Lost}
	case e.mine(r, Dispatched):
		return Decision{Row: r, Verdict: SentOff}
	case !e.mine(r, Reserved):
		return Decision{Row: r, Verdict: Lost}
	case !f.AskerAlive:
		return Decision{Row: r, Verdict: Dead}
	}
	r.State, r.FirstCallID, r.TouchedAt, r.DispatchedAt = Dispatched, e.CallID, e.At, e.At
	return e.says(r, SentOff, audit.EventDispatched)
}

// Settling says what came of the attempt.
type Settling struct {
	Attempt
	State   State // Succeeded, Failed or OutcomeUnknown
	Digest  string
	Answer  []byte // nil: it is not kept
	IsError bool
	Reason  string
}

func (e Settling) on(r Row, f Facts) Decision {
	switch {
	case f.Absent:
		return Decision{Row: r, Verdict: Lost}
	case e.mine(r, Dispatched):
		r.State, r.CompletedAt, r.Ended = e.State, e.At, true
		r.Digest, r.Answer, r.IsError, r.Reason = e.Digest, e.Answer, e.IsError, e.Reason
		d := e.says(r, Settled, string(e.State))
		d.Answers, d.Reason, d.Digest = true, e.Reason, e.Digest
		return d
	case !r.State.Terminal() || r.CallID != e.CallID:
		return Decision{Row: r, Verdict: Lost}
	case r.Ended: // it has said so before
		return Decision{Row: r, Verdict: Settled}
	case r.Late != "" || e.Digest == "":
		return Decision{Row: r, Verdict: TooLate}
	}
	r.Late = e.Digest
	d := e.says(r, TooLate, audit.EventOutcomeUnknown)
	d.Reason, d.Digest = ReasonLateAnswer, e.Digest
	return d
}

// Suspending says that the upstream asks for more input.
type Suspending struct {
	Attempt
	RequestState string // hex SHA-256
	Digest       string
	Answer       []byte
}

func (e Suspending) on(r Row, f Facts) Decision {
	switch {
	case f.Absent:
		return Decision{Row: r, Verdict: Lost}
	case r.State == Suspended && r.CallID == e.CallID && r.RequestState == e.RequestState:
		return Decision{Row: r, Verdict: Asked}
	case e.mine(r, Dispatched):
		r.State, r.Owner, r.TouchedAt, r.RequestState = Suspended, Owner{}, e.At, e.RequestState
		r.Digest, r.Answer = e.Digest, e.Answer
		d := e.says(r, Asked, audit.EventSuspended)
		d.Answers, d.Digest = true, e.Digest
		return d
	}
	// To a row that is terminal the question is an answer like any other: too late.
	return Settling{Attempt: e.Attempt, State: OutcomeUnknown, Digest: e.Digest}.on(r, f)
}

// Following says that a task stands for the answer, and that the attempt follows it.
type Following struct {
	Attempt
	TaskID string
}

func (e Following) on(r Row, f Facts) Decision {
	switch {
	case f.Absent || !e.mine(r, Dispatched):
		return Decision{Row: r, Verdict: Lost}
	case r.TaskID == e.TaskID:
		return Decision{Row: r, Verdict: Followed}
	}
	r.TaskID = e.TaskID
	return e.says(r, Followed, audit.EventFollowing)
}

// Unsending says that the attempt has sent nothing and will not.
type Unsending struct {
	Attempt
	Reason string
}

func (e Unsending) on(r Row, f Facts) Decision {
	switch {
	case f.Absent:
		return Decision{Row: r, Verdict: Lost}
	case e.mine(r, Reserved): // the next repeat takes it over; its state is the same, so the log has nothing to say
		r.Owner = Owner{}
		return Decision{Row: r, Verdict: GivenUp, Changed: true}
	}
	return Settling{Attempt: e.Attempt, State: Failed, Reason: e.Reason}.on(r, f)
}

// Sweeping takes from a dead epoch what it has left behind.
type Sweeping struct {
	At time.Time
	// Abandoned is how long a reserved row waits for a repeat.
	Abandoned time.Duration
}

// Asker is nobody: any replica may sweep.
func (e Sweeping) Asker() Owner { return Owner{} }

func (e Sweeping) on(r Row, f Facts) Decision {
	d := Decision{Row: r, CallID: r.CallID, Binding: r.Binding}
	switch {
	case f.Absent || f.OwnerAlive:
		return Decision{Row: r}
	case r.State == Dispatched:
		d.Row.State, d.Reason, d.Event = OutcomeUnknown, ReasonGatewayEnded, audit.EventOutcomeUnknown
	case r.State == Reserved && !e.At.Before(r.TouchedAt.Add(e.Abandoned)):
		d.Row.State, d.Reason, d.Event = Refused, ReasonNeverRepeated, audit.EventRefused
	default:
		return Decision{Row: r}
	}
	d.Row.CompletedAt, d.Row.Reason = e.At, d.Reason
	d.Verdict, d.Changed = Swept, true
	return d
}

// Deciding is a decision about what is held (design X6). It dispatches nothing: the row is
// nobody's until the caller repeats its call.
type Deciding struct {
	Release bool // else the row is refused
	Reason  string
	At      time.Time
}

// Asker is nobody.
func (e Deciding) Asker() Owner { return Owner{} }

func (e Deciding) on(r Row, f Facts) Decision {
	if f.Absent || r.State != Held {
		return Decision{Row: r, Verdict: Lost}
	}
	d := Decision{Row: r, Verdict: Decided, Changed: true, CallID: r.CallID, Binding: r.Binding, Event: audit.EventRefused, Reason: e.Reason}
	if e.Release {
		d.Row.State, d.Row.TouchedAt = Reserved, e.At
		d.Event, d.Reason = audit.EventReserved, ReasonReleased
		return d
	}
	d.Row.State, d.Row.CompletedAt, d.Row.Reason = Refused, e.At, e.Reason
	return d
}

// On asks the row, which is the zero Row where f.Absent.
//
// What it promises, whatever is asked in whatever order and how often (see the model in the
// tests): a terminal state is left by nothing; a row is dispatched once for each attempt
// that it was given to, and given to another only while nothing was sent for it; no dead
// epoch dispatches; and what is answered from a row stays true.
func (r Row) On(e Event, f Facts) Decision { return e.on(r, f) }

// entry is what the log says of a decision.
func (d Decision) entry(key Key, c Descriptor, at time.Time) audit.Entry {
	return audit.Entry{
		At: at, AgentID: key.Agent, ExecutionID: key.ID.String(), SessionID: c.SessionID, WorkflowID: c.WorkflowID,
		CallID: d.CallID, Event: d.Event, Upstream: c.Upstream, Tool: c.Tool, Binding: d.Binding, Reason: d.Reason, Digest: d.Digest,
	}
}
