package execution

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Times between looks at a row that another replica may change.
const (
	firstLook = 25 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// join waits until the row answers, bounded by the registry's Wait. Not done: the row is
// nobody's, and another attempt may take it over.
func (a *admission) join(ctx context.Context) (done bool, err error) {
	key, look := a.call.key(), firstLook
	limit := time.NewTimer(a.until.Sub(a.r.now()))
	defer limit.Stop()
	for {
		changed, leave := a.r.watches.watch(key)
		row, alive, err := a.r.cfg.Store.Find(ctx, key)
		switch {
		case errors.Is(err, ErrNotFound):
			leave()
			return false, a.r.fault(ctx, "row", err)
		case err != nil: // the store may come back
		case row.State == Refused:
			leave()
			return true, refusal(NameRefused, row)
		case row.State.Terminal(), row.State == Suspended, row.State == Held:
			leave()
			a.record = row.record()
			return true, nil
		case row.State == Reserved && !alive:
			leave()
			return false, nil
		}
		again := time.NewTimer(look)
		look = min(2*look, lastLook)
		select {
		case <-changed:
		case <-again.C:
		case <-limit.C:
			err = a.pending(row, err)
		case <-ctx.Done():
			err = ctx.Err()
		}
		again.Stop()
		leave()
		if _, pending := errors.AsType[*Refusal](err); pending || ctx.Err() != nil {
			return true, err
		}
	}
}

func (a *admission) pending(row Row, err error) error {
	if err != nil {
		return unavailable()
	}
	row.Answer = nil
	return refusal(NamePending, row)
}

// watches wakes those that wait for a row of this process.
type watches struct {
	mu  sync.Mutex // guards all
	all map[Key]*watch
}

type watch struct {
	changed chan struct{}
	waiting int
}

// watch returns a channel that is closed at the next change of the row. leave is called once.
func (w *watches) watch(key Key) (changed <-chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one, ok := w.all[key]
	if !ok {
		if w.all == nil {
			w.all = map[Key]*watch{}
		}
		one = &watch{changed: make(chan struct{})}
		w.all[key] = one
	}
	one.waiting++
	return one.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if one.waiting--; one.waiting == 0 && w.all[key] == one {
			delete(w.all, key)
		}
	}
}

func (w *watches) wake(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, ok := w.all[key]; ok {
		delete(w.all, key)
		close(one.changed)
	}
}
