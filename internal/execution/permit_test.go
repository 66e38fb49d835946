package execution_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
)

// agreeing is a store that takes what it is asked for as the machine does, and keeps one row.
type agreeing struct {
	execution.Store
	row execution.Row
}

func (a *agreeing) Ask(_ context.Context, turn execution.Turn) (execution.Decision, error) {
	d := a.row.On(turn.Event, execution.Facts{Absent: a.row.State == "", OwnerAlive: true, AskerAlive: true})
	a.row = d.Row
	return d, nil
}

// TestStartOrClose: whoever starts and whoever closes at the same moment agree on whether anything
// was sent: what is stored as not sent never is.
//
// covers EXA-064
func TestStartOrClose(t *testing.T) {
	t.Parallel()
	s := &agreeing{}
	r := unstarted(t, s, newClock())
	execution.Untested(r)
	c := call(t, "one", "10")
	for began := time.Now(); time.Since(began) < 200*time.Millisecond; {
		s.row = execution.Row{}
		p, _, err := r.Admit(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(p.Close)
		started := p.Start()
		both.Wait()
		if unsent := s.row.State == execution.Failed; unsent == (started == nil) {
			t.Fatalf("stored as %s (%s), and the start says %v", s.row.State, s.row.Reason, started)
		}
	}
}
