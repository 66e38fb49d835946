package execution

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/jcs"
)

// What a Store answers when it does not do what it was asked. It may wrap them.
var (
	ErrNotFound   = errors.New("execution: not found")
	ErrNotUnknown = errors.New("execution: a finding is about an outcome_unknown alone")
	ErrUnderWay   = errors.New("execution: the attempt may still be under way")
	ErrTooSoon    = errors.New("execution: the upstream may still act on it")
	ErrFull       = errors.New("execution: as many findings as one execution may have")
)

// A Store keeps the executions of a gateway and its log. Implementations must pass
// storetest.Executions.
//
// Every method that writes is one serializable transaction, also across processes and
// restarts: when it returns nil, all of it is durable; when it returns an error nothing is
// known. All methods may be called concurrently.
type Store interface {
	Rows
	Epochs
	Log
	Findings
}

// Rows are the executions (EXA-063: there is no other state).
type Rows interface {
	// Ask asks the row of a key by Row.On and writes what has changed together with its
	// audit entry. The row that it reads and the answer in it: Decision.Row has the answer
	// only where the event has brought it.
	Ask(ctx context.Context, t Turn) (Decision, error)
	// Rehearse is Ask for each turn in one transaction, which is undone: nothing of it is kept.
	Rehearse(ctx context.Context, turns []Turn) ([]Decision, error)
	// Find returns a row of the last commit, with its answer, and whether its owner has not
	// been declared dead. ErrNotFound.
	Find(ctx context.Context, key Key) (r Row, ownerAlive bool, err error)
	// List returns at most limit rows in the order of their keys, without answers. That order is
	// the database's own, which need not be that of the bytes.
	List(ctx context.Context, f Filter, limit int) ([]Row, error)
	// Strays returns at most limit keys of rows that are reserved since before a time, or
	// dispatched, and nobody's who is alive.
	Strays(ctx context.Context, reservedBefore time.Time, limit int) ([]Key, error)
	// Forget drops at most limit answers of rows that were terminal before a time. The rows
	// stay (EXA-059, EXA-062).
	Forget(ctx context.Context, completedBefore time.Time, limit int) (n int, err error)
}

// A Turn is one event for one row.
type Turn struct {
	Key   Key
	Event Event
	At    time.Time // of the audit entry
	// Call is what the audit entry says of the call; the row's own, if it is the zero value.
	Call Descriptor
}

// Entry is the audit entry of a decision; ok is false where there is none.
func (t Turn) Entry(d Decision) (e audit.Entry, ok bool) {
	c := t.Call
	if c.Upstream == "" && c.Tool == "" {
		c = d.Row.Descriptor
	}
	return d.entry(t.Key, c, t.At), d.Event != ""
}

// A Filter says which rows are listed. Zero fields do not matter.
type Filter struct {
	Agent  string
	State  State
	Silent bool // without a finding
	After  Key  // only keys after this one; without an ID only those of agents after this one
}

// Epochs are the lives of replicas (design X4). Their times are the database's own.
type Epochs interface {
	// Begin enters an epoch with a heartbeat now.
	Begin(ctx context.Context, o Owner, at time.Time) error
	// Beat renews the heartbeat; alive is false, for good, once the epoch was declared dead.
	Beat(ctx context.Context, o Owner) (alive bool, err error)
	// Bury declares dead, each by compare-and-swap on the heartbeat that it has seen, the
	// epochs without one for longer than stale. One's own, self, is not among them: whoever asks
	// this lives, and a clock that has jumped forward says nothing else.
	Bury(ctx context.Context, self Owner, stale time.Duration, at time.Time) (dead []Owner, err error)
	// End declares one's own epoch dead: nothing that it owns is under way.
	End(ctx context.Context, o Owner, at time.Time) error
}

// Log is the gateway's audit log as one chain. Entries are written by Ask and the methods of
// the other interfaces, too; none is ever changed.
type Log interface {
	// Append adds entries in their order, in one transaction.
	Append(ctx context.Context, entries []audit.Entry) error
	// About returns at most limit entries of an execution, in their order.
	About(ctx context.Context, key Key, limit int) ([]audit.Entry, error)
	// AuditTip is where the log ends; [audit.Genesis] if it is empty.
	AuditTip(ctx context.Context) (audit.Tip, error)
	// AuditLog returns at most limit entries from a seq on, in their order.
	AuditLog(ctx context.Context, from int64, limit int) ([]audit.Entry, error)
	// AddAuditHead keeps a signed head. One with the same seq stays as it is.
	AddAuditHead(ctx context.Context, h audit.SignedHead) error
	// AuditHeads returns at most limit heads from a seq on, in their order.
	AuditHeads(ctx context.Context, from int64, limit int) ([]audit.SignedHead, error)
	// LastAuditHead is the head with the highest seq; the zero value if none was signed.
	LastAuditHead(ctx context.Context) (audit.SignedHead, error)
}

// Findings are what was found out about an outcome_unknown. They change no row.
type Findings interface {
	// AddFinding keeps a finding if the row allows it by Row.Allows, with its audit entry.
	// One with the same outcome, source and evidence stands already: it is returned, and
	// first is false. ErrNotFound, ErrNotUnknown, ErrUnderWay, ErrTooSoon; ErrFull: there are
	// MaxFindings.
	AddFinding(ctx context.Context, key Key, f Finding) (kept Finding, first bool, err error)
	// FindingsOf returns the findings on an execution, the earliest first.
	FindingsOf(ctx context.Context, key Key) ([]Finding, error)
}

// A Finding is what somebody found out about an outcome_unknown from evidence of outside.
type Finding struct {
	Outcome  State      // Succeeded, or Failed: it did not happen
	Source   string     // whose evidence it is: "operator NAME", "status_query UPSTREAM/TOOL"
	Evidence jcs.Hex256 // SHA-256 of its bytes
	At       time.Time
	Signed   string // by the gateway: see [ParseFinding]
}
