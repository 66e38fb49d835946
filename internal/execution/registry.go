package execution

import (
	"cmp"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/jose"
)

// Defaults of a [Config].
const (
	DefaultWait    = 30 * time.Second // of a repeat for what is under way
	DefaultTimeout = 5 * time.Minute  // of an upstream whose call names none
	MaxAnswer      = 256 << 10        // bytes of an answer that is kept
	KeptFor        = 24 * time.Hour   // an answer is kept
	MaxFindings    = 16               // on one execution
)

// Timing is how the replicas of a gateway watch each other (design X4). A zero field is its
// default; tests shorten them together.
type Timing struct {
	Heartbeat time.Duration // 2 s: between heartbeats
	Trust     time.Duration // 10 s: nothing is sent when the last heartbeat is older
	Stale     time.Duration // 15 s: an epoch without one for so long is declared dead
	Sweep     time.Duration // 2 s: between sweeps
	Abandoned time.Duration // 10 min: reserved, nobody's, and not repeated for so long is refused
	Flush     time.Duration // 50 ms: what Note was given is written
	Retry     time.Duration // 250 ms: what could not be stored is tried again
}

func (t Timing) orDefault() Timing {
	return Timing{
		Heartbeat: cmp.Or(t.Heartbeat, 2*time.Second), Trust: cmp.Or(t.Trust, 10*time.Second), Stale: cmp.Or(t.Stale, 15*time.Second),
		Sweep: cmp.Or(t.Sweep, 2*time.Second), Abandoned: cmp.Or(t.Abandoned, 10*time.Minute),
		Flush: cmp.Or(t.Flush, 50*time.Millisecond), Retry: cmp.Or(t.Retry, 250*time.Millisecond),
	}
}

// A Config holds what a Registry works with.
type Config struct {
	Store  Store            // required
	Signer *jose.Signer     // required: the gateway's key, for heads of the log and findings
	Now    func() time.Time // required; with a monotonic reading, as time.Now has it
	// Wait bounds how long a repeat waits for what is under way; 0 is DefaultWait.
	Wait time.Duration
	// Timeout is the upstream's where a Call names none; 0 is DefaultTimeout.
	Timeout  time.Duration
	Timing   Timing
	Log      *slog.Logger       // nil: no log. Never sees an argument or an answer
	Observer Observer           // nil: nobody is told
	Hook     func(point string) // nil: nothing; called at the Point constants, so that a crash can be provoked there

	noteWait time.Duration // of Note for room; 0 is noteWait
	endTime  time.Duration // of what Run still does when its ctx has ended; 0 is endTime
}

// Points at which [Config.Hook] is called: the five gaps of design X3.
const (
	PointBeforeReserve = "before_reserve"
	PointAfterReserve  = "after_reserve"
	PointAfterDispatch = "after_dispatch"
	PointAfterAnswer   = "after_answer"
	PointAfterOutcome  = "after_outcome"
)

// An Observer is told what a Registry does, for metrics. Its methods must return at once and
// may be called concurrently.
type Observer interface {
	// Admitted is called once an Admit: verdict is "permit", "recorded" for an answer from
	// the stored row, the name of the refusal, or "left" when the caller did not wait.
	Admitted(verdict string)
	// Settled is called when an attempt has ended, with the time since it was admitted.
	Settled(state State, took time.Duration)
	// Noted is called for each batch of entries that was written, and for what is given up.
	Noted(written, lost int)
	// Swept is called for each execution that the sweep has ended.
	Swept(state State)
	// Buried is called when epochs were declared dead, with their number.
	Buried(n int)
}

// A Call is what a gateway asks to admit.
type Call struct {
	Agent      string // as it was authenticated; required (AX-15)
	ID         ID
	Action     actionbinding.Action
	Binding    actionbinding.Binding
	Upstream   string
	Tool       string
	SessionID  string // "sha256:…" of the session, which is a credential; "" is null
	WorkflowID string // "" is null
	// Continues is the hex SHA-256 of the requestState that this call carries (MRTR), "" for
	// none; Inputs that of the inputResponses beside it, so that another answer to the same
	// question is no repeat.
	Continues, Inputs string
	// Timeout is how long the gateway waits for the upstream; 0 is Config.Timeout.
	Timeout time.Duration
	// Hold has the first call of an execution held until ReleaseHeld or RefuseHeld.
	Hold bool
}

func (c Call) key() Key { return Key{Agent: c.Agent, ID: c.ID} }

// A Registry admits calls. Its methods may be called concurrently.
type Registry struct {
	cfg  Config
	time Timing
	log  *slog.Logger

	life    atomic.Pointer[life] // nil before the first epoch
	beating sync.Mutex           // one heartbeat at a time, and one Start
	beats   atomic.Int64         // heartbeats that have ended, with or without an answer
	name    string               // of this replica
	calm    atomic.Pointer[time.Time]
	failed  atomic.Pointer[string] // why it is not active
	again   time.Time              // not before then is a store tried anew that has failed the self-test; of Run
	out     atomic.Int64           // permits that are not settled

	watches watches
	notes   notes
	debts   debts
}

// life is the epoch of this replica, and the moment before its last heartbeat that arrived.
type life struct {
	owner Owner
	beat  time.Time
}

// New checks cfg and returns the Registry. It admits nothing before [Registry.Start] or
// [Registry.Run]; findings, lists and the log need neither.
func New(cfg Config) (*Registry, error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("execution: no store")
	case cfg.Signer == nil:
		return nil, errors.New("execution: no signer")
	case cfg.Now == nil:
		return nil, errors.New("execution: no clock")
	case cfg.Wait < 0 || cfg.Timeout < 0:
		return nil, errors.New("execution: negative time")
	}
	t := cfg.Timing.orDefault()
	if t.Heartbeat >= t.Trust || t.Trust >= t.Stale {
		return nil, errors.New("execution: heartbeats must be more frequent than they are trusted, and trusted for less time than an epoch lives without one")
	}
	cfg.Wait, cfg.Timeout = cmp.Or(cfg.Wait, DefaultWait), cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.noteWait, cfg.endTime = cmp.Or(cfg.noteWait, noteWait), cmp.Or(cfg.endTime, endTime)
	if cfg.Hook == nil {
		cfg.Hook = func(string) {}
	}
	if cfg.Observer == nil {
		cfg.Observer = deaf{}
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := &Registry{cfg: cfg, time: t, log: log}
	r.notes.init()
	reason := "not started"
	r.failed.Store(&reason)
	return r, nil
}

// Active reports whether calls are admitted, or why not (EXA-034, AX-14).
func (r *Registry) Active() (ok bool, reason string) {
	if why := r.failed.Load(); why != nil {
		return false, *why
	}
	return true, ""
}

func (r *Registry) now() time.Time { return r.cfg.Now() }

// deaf is the Observer of nobody.
type deaf struct{}

func (deaf) Admitted(string)              {}
func (deaf) Settled(State, time.Duration) {}
func (deaf) Noted(int, int)               {}
func (deaf) Swept(State)                  {}
func (deaf) Buried(int)                   {}
