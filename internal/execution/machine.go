package execution

import "time"

// A State is where an execution stands.
type State string

// The states of design X4, and Suspended: the upstream has answered that it needs more
// input (MRTR), so nothing is in flight and nothing is over.
const (
	Held           State = "held"            // awaits a decision; never dispatchable
	Reserved       State = "reserved"        // nothing was sent
	Dispatched     State = "dispatched"      // an attempt may be under way
	Suspended      State = "suspended"       // awaits a call that carries its requestState
	Succeeded      State = "succeeded"       // terminal: the upstream answered with a result
	Failed         State = "failed"          // terminal: the upstream answered with an error, or nothing was sent
	Refused        State = "refused"         // terminal: nothing was sent, and nothing will be
	OutcomeUnknown State = "outcome_unknown" // terminal: something may have been sent
)

// Terminal reports whether nothing leaves the state any more (EXA-059, EXA-060).
func (s State) Terminal() bool {
	return s == Succeeded || s == Failed || s == Refused || s == OutcomeUnknown
}

// An Owner is one life of one replica: what it owns stays its own until the epoch is
// declared dead. The zero Owner is nobody.
type Owner struct {
	Name  string // of the replica, new with each process
	Epoch int64  // from 1
}

// A Row is the stored state of one execution: what decides, and what replies are built from.
type Row struct {
	Key
	State   State
	Binding string // of the action, compared whole and never read (EXA-009, EXA-021)
	Descriptor

	Owner       Owner  // of a reserved or dispatched row; nobody once it is given up
	CallID      string // of the attempt that reserved it, or that was dispatched last
	FirstCallID string // of the attempt that was dispatched first; "" before

	CreatedAt    time.Time // first reserved
	TouchedAt    time.Time // last reserved, taken over or dispatched
	DispatchedAt time.Time // last dispatched; zero before
	CompletedAt  time.Time // terminal; zero before

	RequestState string // hex SHA-256 of the requestState that a suspended row waits for
	Continued    string // hex SHA-256 of the one that the last continuation carried
	Inputs       string // hex SHA-256 of what it carried beside it
	TaskID       string // of the task that stands for the answer

	Digest  string // "sha256:…" of the answer as it came
	Answer  []byte // as it came; nil where it is not kept
	IsError bool   // it is a JSON-RPC error
	Reason  string // why, where the state alone does not say
	Ended   bool   // the attempt itself has said what came of it: it sends nothing any more
	Late    string // "sha256:…" of an answer that came when the row was terminal
}

// A Descriptor is what a row keeps of the call that reserved it. It decides nothing.
type Descriptor struct {
	Preimage        []byte // of the binding, canonical
	ActionTimestamp string
	Upstream, Tool  string
	SessionID       string        // "sha256:…"; "" is null
	WorkflowID      string        // "" is null
	Timeout         time.Duration // of the upstream
}

// Facts are what the transaction that decides reads beside the row.
type Facts struct {
	Absent     bool // there is no row
	OwnerAlive bool // the row's owner has not been declared dead
	AskerAlive bool // nor has the owner that the event names
}

// A Verdict is how an event was taken.
type Verdict uint8

// Verdicts. Those up to Followed may have changed the row; the rest have not.
const (
	None          Verdict = iota // nothing to do, or not this event's to do
	TakenReserved                // reserved for this attempt, or taken over by it: it may be dispatched
	TakenHeld                    // held by this attempt's call
	Continued                    // dispatched again for this attempt: it may be started
	SentOff                      // dispatched for this attempt: it may be started
	Settled                      // terminal by this attempt
	Asked                        // suspended by this attempt
	Followed                     // the attempt follows a task
	Swept                        // terminal without its attempt
	Decided                      // no longer held
	GivenUp                      // reserved, and nobody's
	TooLate                      // terminal before this attempt said so: its answer is evidence alone

	Joins      // a repeat of what is under way: it waits
	Standing   // a repeat of what is held or suspended: the stored row answers
	Replays    // a repeat of what is over
	Collides   // another binding
	Mismatches // a continuation of something else
	Dead       // the asker's epoch is dead
	Lost       // the row is not the asker's
)

// An Event is what a row is asked to do. The set is closed.
type Event interface {
	on(r Row, f Facts) Decision
	// Asker is the owner whose epoch [Facts.AskerAlive] is about; nobody for none.
	Asker() Owner
}

// A Decision is what becomes of a row, and what the log says of it.
type Decision struct {
	Row     Row
	Verdict Verdict
	Changed bool // the row is to be written
	Answers bool // so is its answer, which is nil where it has gone
	// What the audit entry says, in the transaction that writes the row; no entry if Event is "".
	Event   string
	CallID  string
	Binding string
	Reason  string
	Digest  string
}
