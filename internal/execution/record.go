package execution

import (
	"time"

	"github.com/bindery/bindery/actionbinding"
)

// A Record is the stored row as a caller may see it. Every reply is built from one.
type Record struct {
	Key
	State           State
	CallID          string // of the attempt that was dispatched first, or has reserved it; not that of a later round
	Binding         actionbinding.Binding
	ActionTimestamp string
	Upstream, Tool  string
	CreatedAt       time.Time
	DispatchedAt    time.Time // zero: never
	CompletedAt     time.Time // zero: not yet
	Digest          string    // "sha256:…" of the answer's bytes as they came; "" if there was none
	Answer          []byte    // the answer as it came; nil if it is not kept
	IsError         bool      // it is the error member of a JSON-RPC answer, else the result
	Reason          string    // why, where the state alone does not say
	TaskID          string
	SafeNext        string // what is safe to do next
}

// The names of refusals.
const (
	NameCollision    = "EXECUTION_COLLISION"
	NameReplay       = "EXECUTION_REPLAY"
	NamePending      = "EXECUTION_PENDING"
	NameRefused      = "EXECUTION_REFUSED"
	NameUnavailable  = "EXECUTION_UNAVAILABLE"
	NameContinuation = "EXECUTION_CONTINUATION_MISMATCH"
)

// A Refusal says why a call was not admitted. Nothing was sent for it.
type Refusal struct {
	Name     string
	Record   *Record // the stored row; nil where there is none, or it is none of the caller's business
	SafeNext string
}

// Error names the refusal.
func (r *Refusal) Error() string { return "execution: " + r.Name }

// What is safe to do next.
const (
	nextUseAnswer = "use the recorded answer; a new operation takes a new execution_id"
	nextFailed    = "read the recorded answer; whether to try again as a new operation is yours to decide, with a new execution_id"
	nextNotSent   = "nothing was sent; call again with a new execution_id"
	nextRound     = "this answer to the upstream's question was not sent, the calls before it were; find out what the upstream has made of them, then call with a new execution_id"
	nextUnknown   = "do not call again: find out at the upstream whether it happened, and have the operator record it with bindery executions reconcile"
	nextRepeat    = "repeat the same call with the same execution_id and action_timestamp; it is sent at most once"
	nextContinue  = "answer what the upstream asks, with its requestState and the same execution_id"
	nextAnew      = "what the upstream asks was too long to be kept: whoever has it answers it, with its requestState and the same execution_id; if nobody does, find out at the upstream what it has made of the calls so far"
	nextMismatch  = "repeat the call without requestState to get what the upstream asks now"
	nextCollision = "another action has this execution_id; a new operation takes a new execution_id"
	nextHeld      = "wait for the decision, then repeat the same call"
	nextLater     = "nothing was sent; repeat the same call later"
	nextIdentity  = "nothing was sent; an execution_id needs an authenticated agent"
	nextFault     = "nothing was sent; the gateway made a binding that is not this call's"
)

func safeNext(r Row) string {
	switch r.State {
	case Succeeded:
		return nextUseAnswer
	case Failed:
		switch {
		case r.Digest != "":
			return nextFailed
		case r.Continued != "":
			return nextRound
		}
		return nextNotSent
	case Refused:
		return nextNotSent
	case OutcomeUnknown:
		return nextUnknown
	case Suspended:
		if r.Answer == nil {
			return nextAnew
		}
		return nextContinue
	case Held:
		return nextHeld
	}
	return nextRepeat
}

func (r Row) record() *Record {
	binding, _ := actionbinding.ParseBinding(r.Binding) // it was one when it was stored
	rec := &Record{
		Key: r.Key, State: r.State, CallID: r.FirstCallID, Binding: binding, ActionTimestamp: r.ActionTimestamp,
		Upstream: r.Upstream, Tool: r.Tool, CreatedAt: r.CreatedAt, DispatchedAt: r.DispatchedAt, CompletedAt: r.CompletedAt,
		Digest: r.Digest, Answer: r.Answer, IsError: r.IsError, Reason: r.Reason, TaskID: r.TaskID, SafeNext: safeNext(r),
	}
	if rec.CallID == "" {
		rec.CallID = r.CallID
	}
	return rec
}

func refusal(name string, r Row) *Refusal {
	rec := r.record()
	next := rec.SafeNext
	switch name {
	case NameCollision:
		next = nextCollision
	case NameContinuation:
		next = nextMismatch
	}
	return &Refusal{Name: name, Record: rec, SafeNext: next}
}
