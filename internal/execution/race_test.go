package execution_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// One execution as its callers see it: free, out with a binding, or over with an answer.
type seen struct {
	binding string
	over    bool
	answer  string
}

// An operation is a call, or the outcome of one that was admitted.
type operation struct {
	key     string
	binding string
	outcome string // of an attempt; "" for a call
}

// A told is what its caller was told: "permit", the name of a refusal, or an answer.
type told struct{ word, answer string }

// one is what an execution is to its callers, one after another.
var one = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(operation).key
			byKey[key] = append(byKey[key], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return seen{} },
	Step: func(state, input, output any) (bool, any) {
		s, op, t := state.(seen), input.(operation), output.(told)
		switch {
		case op.outcome != "":
			return s.binding == op.binding && !s.over && t.answer == op.outcome, seen{s.binding, true, op.outcome}
		case t.word == "permit":
			return s.binding == "", seen{binding: op.binding}
		case t.word == execution.NameCollision:
			return s.binding != "" && s.binding != op.binding, s
		case t.word == execution.NamePending:
			return s.binding == op.binding && !s.over, s
		}
		return s.binding == op.binding && s.over && s.answer == t.answer, s
	},
	Equal:             func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// history is the calls of a race with the times of call and return.
type history struct {
	mu    sync.Mutex // guards the rest
	calls []porcupine.Operation
	sent  map[string]int // permits of each key
}

func (h *history) record(client int, op operation, do func() told) {
	began := time.Now().UnixNano()
	t := do()
	ended := time.Now().UnixNano()
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.word == "" && t.answer == "" {
		return // it does not know
	}
	if t.word == "permit" {
		h.sent[op.key]++
	}
	h.calls = append(h.calls, porcupine.Operation{ClientId: client, Input: op, Output: t, Call: began, Return: ended})
}

// race has callers call each of some executions, with two bindings, through all replicas.
func race(t *testing.T, replicas []*execution.Registry, callers, keys int) *history {
	h := &history{sent: map[string]int{}}
	var all sync.WaitGroup
	begin := make(chan struct{})
	for client := range callers {
		all.Go(func() {
			<-begin
			for k := range keys {
				id := fmt.Sprint("race-", (k+client)%keys)
				compete(t, h, client, replicas[client%len(replicas)], call(t, id, fmt.Sprint(client/2%2)))
			}
		})
	}
	close(begin)
	all.Wait()
	return h
}

func compete(t *testing.T, h *history, client int, r *execution.Registry, c execution.Call) {
	op := operation{key: c.ID.String(), binding: c.Binding.String()}
	var p *execution.Permit
	h.record(client, op, func() told {
		permit, rec, err := r.Admit(context.Background(), c)
		var e *execution.Refusal
		switch {
		case permit != nil:
			p = permit
			return told{word: "permit"}
		case rec != nil:
			return told{answer: string(rec.Answer)}
		case errors.As(err, &e) && e.Name == execution.NameReplay:
			return told{answer: string(e.Record.Answer)}
		case errors.As(err, &e) && e.Name != execution.NameUnavailable:
			return told{word: e.Name}
		}
		t.Error(err)
		return told{}
	})
	if p == nil {
		return
	}
	if err := p.Start(); err != nil {
		t.Error(err)
	}
	op.outcome = fmt.Sprintf("%q", p.CallID())
	h.record(client, op, func() told {
		rec, err := p.Finish(context.Background(), execution.Outcome{State: execution.Succeeded, Answer: []byte(op.outcome)})
		if err != nil || rec.State != execution.Succeeded {
			return told{}
		}
		return told{answer: string(rec.Answer)}
	})
}

// TestReplicas: two replicas on one database, 64 callers, two bindings for each id. What
// they are told is what one after another would have been told, and one call of each
// execution was sent.
//
// covers EXA-022, EXA-023, EXA-063, EXA-065, EXA-068, EXA-078
func TestReplicas(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB) {
		const keys = 3
		// Nobody is told to come again later: of a history with that the checker may need to try all orders.
		patient := func(c *execution.Config) { c.Wait = time.Minute }
		replicas := []*execution.Registry{replica(t, db.Executions(), newClock(), patient), replica(t, more().Executions(), newClock(), patient)}
		h := race(t, replicas, 64, keys)
		if got := porcupine.CheckOperationsTimeout(one, h.calls, time.Minute); got != porcupine.Ok {
			t.Errorf("the history is not that of one execution after another: %v", got)
		}
		if len(h.sent) != keys {
			t.Errorf("%d executions were sent", len(h.sent))
		}
		for key, n := range h.sent {
			if n != 1 {
				t.Errorf("%s was sent %d times", key, n)
			}
		}
	})
}

// readThenWrite is a store without the compare-and-swap: it decides by a row as it was, and
// says so whatever the row is by then. Nobody's admission is written before all have read.
type readThenWrite struct {
	execution.Store
	reading *sync.WaitGroup // the admissions that have not read the row
	mu      *sync.Mutex     // guards rows
	rows    map[execution.Key]execution.Row
}

func (s readThenWrite) Ask(ctx context.Context, turn execution.Turn) (execution.Decision, error) {
	s.mu.Lock()
	row, known := s.rows[turn.Key]
	s.mu.Unlock()
	if _, ok := turn.Event.(execution.Admitting); ok {
		s.reading.Done()
		s.reading.Wait()
	}
	if e, ok := turn.Event.(execution.Dispatching); ok {
		row.CallID, row.Owner, row.State = e.CallID, e.Owner, execution.Reserved
	}
	if e, ok := turn.Event.(execution.Settling); ok {
		row.CallID, row.Owner, row.State = e.CallID, e.Owner, execution.Dispatched
	}
	d := row.On(turn.Event, execution.Facts{Absent: !known, OwnerAlive: true, AskerAlive: true})
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Changed {
		s.rows[turn.Key] = d.Row
	}
	return d, nil
}

func (s readThenWrite) Find(ctx context.Context, key execution.Key) (execution.Row, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[key], true, nil
}

// TestReplicasWithoutCompareAndSwap is the control: the same race over a store that reads
// and then writes is rejected.
//
// covers EXA-065, EXA-068
func TestReplicasWithoutCompareAndSwap(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	const callers = 8 // few, so that the checker can see all orders
	racy := readThenWrite{Store: s, reading: new(sync.WaitGroup), mu: new(sync.Mutex), rows: map[execution.Key]execution.Row{}}
	racy.reading.Add(callers)
	r := unstarted(t, racy, newClock(), func(c *execution.Config) { c.Wait = 50 * time.Millisecond })
	execution.Untested(r)
	h := race(t, []*execution.Registry{r}, callers, 1)
	if got := porcupine.CheckOperationsTimeout(one, h.calls, time.Minute); got != porcupine.Illegal {
		t.Errorf("the checker says %v of a history in which %v were sent", got, h.sent)
	}
}
