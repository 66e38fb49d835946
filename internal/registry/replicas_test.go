package registry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// callers draw from one Open at once, through two replicas of its RA.
const callers = 64

// An outcome is what a caller was told of its draw.
type outcome struct {
	taken   bool
	unknown bool // an error that is no refusal: it may stand or not
}

// limited is what an Open is to its callers: one number that only grows, up to a limit. A
// draw is refused only when what is left is less.
func limited(limit int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, output any) (bool, any) {
			drawn, n, told := state.(int64), input.(int64), output.(outcome)
			if told.taken {
				return drawn+n <= limit, drawn + n
			}
			return drawn+n > limit, drawn
		},
		Equal: func(a, b any) bool { return a == b },
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("draw %d: %v", input, output.(outcome).taken)
		},
	}
}

// history is the calls of a race with the times of call and return.
type history struct {
	mu    sync.Mutex // guards calls
	calls []porcupine.Operation
}

func (h *history) call(client int, n commitment.Magnitude, draw func() outcome) outcome {
	began := time.Now().UnixNano()
	told := draw()
	ended := time.Now().UnixNano()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !told.unknown {
		h.calls = append(h.calls, porcupine.Operation{ClientId: client, Input: int64(n), Output: told, Call: began, Return: ended})
	}
	return told
}

// race lets the callers draw one to most each, every other one through the second replica,
// and returns what was told and the sum of what was granted.
func race(t *testing.T, w *world, replicas []*registry.Registry, limit, most commitment.Magnitude) (h *history, granted commitment.Magnitude) {
	t.Helper()
	open := w.opened(w.a, w.a.openDraft(irreversible(limit)))
	tokens := make([]string, callers)
	for i := range tokens {
		d := w.a.closedDraft(open, w.b, irreversible(1+commitment.Magnitude(i)%most))
		d.CrossingID = fmt.Sprintf("00000000-0000-4000-8000-%012x", i+16)
		tokens[i] = w.closed(w.a.agent, d)
	}
	h = &history{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i, token := range tokens {
		wg.Go(func() {
			<-start
			n := 1 + commitment.Magnitude(i)%most
			told := h.call(i, n, func() outcome { return draw(t, replicas[i%len(replicas)], w, token) })
			if told.taken {
				mu.Lock()
				granted += n
				mu.Unlock()
			}
		})
	}
	close(start)
	wg.Wait()
	return h, granted
}

func draw(t *testing.T, ra *registry.Registry, w *world, token string) outcome {
	_, err := ra.RegisterClosed(t.Context(), w.a.as, api.RegisterClosed{Token: token, CounterpartyAgent: w.b.agentID})
	var e *api.Error
	switch {
	case err == nil:
		return outcome{taken: true}
	case errors.As(err, &e) && e.Code == string(crossing.MagnitudeExhausted):
		return outcome{}
	}
	t.Errorf("a draw was neither taken nor exhausted: %v", err)
	return outcome{unknown: true}
}

// TestReplicas: two replicas of the RA on one database, 64 callers, one Open. What they are
// told is what one after another would have been told, and never more than the limit.
//
// covers GC-192, GC-208
func TestReplicas(t *testing.T) {
	eachStore(t, func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB) {
		const limit = 60 // of the 127 that are asked for
		w := newWorldOver(t, db.Registry())
		h, granted := race(t, w, []*registry.Registry{w.ra, w.replica(more().Registry())}, limit, 3)
		if got := judge(limit, h); got != porcupine.Ok {
			t.Errorf("the history is not that of one counter: %v", got)
		}
		if granted > limit || granted < limit-2 {
			t.Errorf("%d granted of %d", granted, limit)
		}
	})
}

// judge is bounded, since a history that is wrong can take for ever.
func judge(limit int64, h *history) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(limited(limit), h.calls, 2*time.Minute)
}

// readThenWrite is a store without the compare-and-swap: it looks at what is left, and then
// books whatever it was asked. Here all look before one of them writes.
type readThenWrite struct {
	registry.Store
	looked *sync.WaitGroup
	left   commitment.Magnitude
}

// AddClosed decides by a number that is old when it writes.
func (s readThenWrite) AddClosed(ctx context.Context, c registry.Closed) (string, error) {
	left := s.left
	s.looked.Done()
	s.looked.Wait()
	if c.Draw > left {
		return "", registry.ErrExhausted
	}
	c.Draw = 0 // the row's own limit is not asked
	return s.Store.AddClosed(ctx, c)
}

// TestReplicasWithoutCompareAndSwap is the control: the same race over a store that reads
// and then writes is rejected.
func TestReplicasWithoutCompareAndSwap(t *testing.T) {
	eachStore(t, func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB) {
		const limit = 3 // few, so that the checker can see all orders
		w := newWorldOver(t, db.Registry())
		looked := new(sync.WaitGroup)
		looked.Add(callers)
		racy := func(s registry.Store) *registry.Registry { return w.replica(readThenWrite{s, looked, limit}) }
		h, granted := race(t, w, []*registry.Registry{racy(db.Registry()), racy(more().Registry())}, limit, 1)
		if got := judge(limit, h); got != porcupine.Illegal || granted <= limit {
			t.Errorf("%v: the checker says so of a history that granted %d of %d", got, granted, limit)
		}
	})
}
