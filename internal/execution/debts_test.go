package execution_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/bindery/bindery/internal/execution"
)

// stubborn is a store that never takes the outcome of one execution, and for a while no other's.
type stubborn struct {
	execution.Store
	never execution.Key
	away  atomic.Bool
}

func (s *stubborn) Ask(ctx context.Context, t execution.Turn) (execution.Decision, error) {
	if _, settles := t.Event.(execution.Settling); settles && (t.Key == s.never || s.away.Load()) {
		return execution.Decision{}, errAway
	}
	return s.Store.Ask(ctx, t)
}

// TestOneOutcomeNeverStored: an outcome that the store never takes does not keep the others from it.
//
// covers EXA-070
func TestOneOutcomeNeverStored(t *testing.T) {
	t.Parallel()
	first, second := call(t, "first", "10"), call(t, "second", "10")
	s := &stubborn{Store: sqliteDB(t).Executions(), never: keyOf(first)}
	r := running(t, s)
	s.away.Store(true)
	for _, c := range []execution.Call{first, second} {
		if rec := finish(t, permit(t, r, c), done); rec.State != execution.OutcomeUnknown {
			t.Errorf("record %+v", rec)
		}
	}
	s.away.Store(false)
	until(t, "the second stored", func() bool { return state(t, s, second).Terminal() })
	if got := state(t, s, second); got != execution.OutcomeUnknown {
		t.Errorf("the second is %s", got)
	}
	if got := state(t, s, first); got != execution.Dispatched {
		t.Errorf("the other is %s", got)
	}
}

// TestDebtsAreBounded: what a store does not take is kept in memory, but not without end: then
// nothing is admitted.
func TestDebtsAreBounded(t *testing.T) {
	t.Parallel()
	s := &away{Store: sqliteDB(t).Executions()}
	r := replica(t, s, newClock())
	s.fails.Store(1 << 40)
	const most = 4096
	for i := range most + 100 {
		refused(t, r, call(t, "id-"+strconv.Itoa(i), "10"), execution.NameUnavailable)
	}
	if n := r.Status().Unstored; n != most {
		t.Errorf("%d turns wait", n)
	}
}
