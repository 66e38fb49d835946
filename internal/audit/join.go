package audit

import (
	"cmp"
	"errors"
	"slices"
)

// MaxListed is how many items of each list of a [Joined] are kept; all are counted.
const MaxListed = 64

// What the entries of one (agent, execution_id) are to each other. None of them says that
// anything has happened outside of a gateway (EXA-025).
const (
	// Correlated: every attempt bears one and the same action binding.
	Correlated = "correlated"
	// SharedID: an attempt bears no binding, so the caller's word is all that ties them
	// (EXA-051).
	SharedID = "shared id (asserted)"
	// Conflicting: attempts bear different bindings, which no gateway on one store admits.
	Conflicting = "conflicting bindings"
)

// ErrJoinLimit says that there are more executions than a [Join] was made for.
var ErrJoinLimit = errors.New("audit: more executions than the join may hold")

// A Join gathers entries of several logs by agent and execution_id: after the logs were
// verified, without any gateway, and whatever sessions or gateways they come from (EXA-054).
//
// It keeps in memory what it says of an execution, and nothing of calls without an
// execution_id.
type Join struct {
	limit int
	found map[[2]string]*Joined
	last  map[int]int64 // of each log the seq up to which it was taken
}

// NewJoin makes a Join of at most limit executions.
func NewJoin(limit int) *Join {
	return &Join{limit: limit, found: map[[2]string]*Joined{}, last: map[int]int64{}}
}

// A Mention is an entry as a Join lists it, with the number of its log.
type Mention struct {
	Log int
	Entry
}

// A Joined is what the logs say of one (agent, execution_id). Each list is in the order of
// time, then of log and seq.
type Joined struct {
	AgentID, ExecutionID string

	Bindings []string  // different ones of attempts
	Attempts []Mention // dispatched: each has a call_id of its own
	Terminal []Mention // succeeded, failed, outcome_unknown, or the reservation's refusal: of each log at most one
	Repeats  []Mention // joined
	Refused  []Mention // collision, replay, and what else was refused under the id
	Late     []Mention // answers that came when it was over
	Findings []Mention // reconciled: a finding of the operator, or of a status query
	Other    int       // entries with further events
	Counts   struct{ Attempts, Repeats, Refused, Late, Findings int }

	unbound  bool
	reserved map[int]string // of each log the call_id of the last reservation
}

// Add takes an entry of a log, in the log's order; one that was taken before, from another
// export of that log, does not count again. The error is [ErrJoinLimit].
func (j *Join) Add(log int, e Entry) error {
	if e.Seq <= j.last[log] {
		return nil
	}
	j.last[log] = e.Seq
	if e.ExecutionID == "" {
		return nil
	}
	key := [2]string{e.AgentID, e.ExecutionID}
	x := j.found[key]
	if x == nil {
		if len(j.found) == j.limit {
			return ErrJoinLimit
		}
		x = &Joined{AgentID: e.AgentID, ExecutionID: e.ExecutionID, reserved: map[int]string{}}
		j.found[key] = x
	}
	x.add(Mention{log, e})
	return nil
}

func (x *Joined) add(m Mention) {
	switch m.Event {
	case EventReserved:
		x.reserved[m.Log] = m.CallID
		x.bind(m.Binding)
	case EventDispatched:
		x.bind(m.Binding)
		keep(&x.Attempts, &x.Counts.Attempts, m)
	case EventSucceeded, EventFailed, EventOutcomeUnknown:
		x.end(m)
	case EventJoined:
		keep(&x.Repeats, &x.Counts.Repeats, m)
	case EventReplay, EventCollision:
		keep(&x.Refused, &x.Counts.Refused, m)
	case EventRefused: // of the reservation, or of another call under its id
		if call, ok := x.reserved[m.Log]; ok && call == m.CallID && !x.over(m.Log) {
			x.end(m)
			return
		}
		keep(&x.Refused, &x.Counts.Refused, m)
	case EventReconciled:
		keep(&x.Findings, &x.Counts.Findings, m)
	default:
		x.Other++
	}
}

// end takes an entry that says an execution is over. A second one is of an answer that came
// too late to decide anything.
func (x *Joined) end(m Mention) {
	x.bind(m.Binding)
	if x.over(m.Log) {
		keep(&x.Late, &x.Counts.Late, m)
		return
	}
	x.Terminal = append(x.Terminal, m)
}

// over reports whether an execution is terminal in a log.
func (x *Joined) over(log int) bool {
	return slices.ContainsFunc(x.Terminal, func(m Mention) bool { return m.Log == log })
}

func (x *Joined) bind(binding string) {
	switch {
	case binding == "":
		x.unbound = true
	case !slices.Contains(x.Bindings, binding) && len(x.Bindings) < MaxListed:
		x.Bindings = append(x.Bindings, binding)
	}
}

func keep(list *[]Mention, count *int, m Mention) {
	if *count++; len(*list) < MaxListed {
		*list = append(*list, m)
	}
}

// Relation is [Correlated], [SharedID] or [Conflicting].
func (x *Joined) Relation() string {
	switch {
	case len(x.Bindings) > 1:
		return Conflicting
	case len(x.Bindings) == 1 && !x.unbound:
		return Correlated
	}
	return SharedID
}

// After reports whether a mention came after the execution was over, by its own log if that
// says so, else by the clocks of both.
func (x *Joined) After(m Mention) bool {
	var earlier bool
	for _, t := range x.Terminal {
		if t.Log == m.Log {
			return t.Seq < m.Seq
		}
		earlier = earlier || t.At.Before(m.At)
	}
	return earlier
}

// All are the executions by agent and execution_id.
func (j *Join) All() []*Joined {
	all := make([]*Joined, 0, len(j.found))
	for _, x := range j.found {
		for _, list := range [][]Mention{x.Attempts, x.Terminal, x.Repeats, x.Refused, x.Late, x.Findings} {
			slices.SortFunc(list, func(a, b Mention) int {
				return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Log, b.Log), cmp.Compare(a.Seq, b.Seq))
			})
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b *Joined) int {
		return cmp.Or(cmp.Compare(a.AgentID, b.AgentID), cmp.Compare(a.ExecutionID, b.ExecutionID))
	})
	return all
}
