package centre_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
)

// stuck is a store with many copies of one open attempt, each of which a worker stays with
// until it is let go.
type stuck struct {
	centre.Store
	mu       sync.Mutex // guards what follows
	attempts []*centre.Attempt
	now, max int
	most     int // attempts that were asked for at a time
	seen     map[string]bool
	letGo    chan struct{}
}

func (s *stuck) OpenAttempts(_ context.Context, after string, limit int) (page []*centre.Attempt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = max(s.most, limit)
	for _, a := range s.attempts {
		if a.CrossingID > after && len(page) < limit {
			page = append(page, a)
		}
	}
	return page, nil
}

func (s *stuck) CrossingByID(ctx context.Context, id string) (*centre.Crossing, error) {
	s.mu.Lock()
	if s.attempts == nil {
		s.mu.Unlock()
		return s.Store.CrossingByID(ctx, id)
	}
	s.now++
	s.max, s.seen[id] = max(s.max, s.now), true
	s.mu.Unlock()
	select {
	case <-s.letGo:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	return nil, centre.ErrNone
}

func (s *stuck) counts() (now, most, seen int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, s.max, len(s.seen)
}

// TestManyOpen: a registry that does not answer leaves attempts open, as many as were begun.
// The sweep takes on a bounded number at a time, and each has its turn.
//
// covers GC-255
func TestManyOpen(t *testing.T) {
	t.Parallel()
	s, ra := &stuck{seen: map[string]bool{}, letGo: make(chan struct{})}, &spender{}
	w := wiretest.New(t, wiretest.Config{
		Store:   func(real centre.Store) centre.Store { s.Store = real; return s },
		Spender: func(real centre.Spender) centre.Spender { ra.Spender = real; return ra },
	})
	ra.hold.Store(lost)
	wantName(t, w.Script(w.Party("acme")).Through(wiretest.P3).Seal(), "SEAL_PENDING")
	open, err := s.Store.OpenAttempts(t.Context(), "", 9)
	if err != nil || len(open) != 1 {
		t.Fatalf("%d open attempts, %v", len(open), err)
	}
	const many = 3*centre.MaxResumed + 7
	copies := make([]*centre.Attempt, many)
	for i := range copies {
		a := *open[0]
		a.CrossingID = fmt.Sprintf("%s %04d", a.CrossingID, i)
		copies[i] = &a
	}
	s.mu.Lock()
	s.attempts = copies
	s.mu.Unlock()

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Centre.Run(ctx, 2*time.Millisecond) }()
	eventually(t, "the sweep takes on what it may", func() bool { now, _, _ := s.counts(); return now >= centre.MaxResumed })
	time.Sleep(20 * time.Millisecond) // some sweeps more
	close(s.letGo)
	eventually(t, "each has its turn", func() bool { _, _, seen := s.counts(); return seen == many })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if s.most != centre.MaxResumed {
		t.Errorf("%d were read at a time, want %d", s.most, centre.MaxResumed)
	}
	if _, most, _ := s.counts(); most != centre.MaxResumed {
		t.Errorf("%d at a time, want %d", most, centre.MaxResumed)
	}
}
