package execution

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/bindery/bindery/internal/audit"
)

const (
	flushAt   = 256             // entries that are written before their time
	flushMost = 512             // entries of one transaction
	maxNotes  = 8192            // entries that wait
	noteWait  = 2 * time.Second // for room among them
)

// notes are entries that wait to be written.
type notes struct {
	mu    sync.Mutex // guards the rest
	list  []audit.Entry
	out   int           // entries that are being written: they wait until that is done
	spare []audit.Entry // the list of before, to be used again
	lost  int           // entries that are not there, of which the log does not say so yet
	told  int           // of these, that the observer knows of
	full  chan struct{} // has a token while there are flushAt
	room  chan struct{} // is closed and made anew when there is room again
}

func (n *notes) init() {
	n.full, n.room = make(chan struct{}, 1), make(chan struct{})
}

// Note has an entry written with the next ones, within 100 ms: of an unbound call, or of
// anything whose answer does not wait for its entry. Where too many wait, it waits for room,
// two seconds at most; what finds none then is counted, logged, and the log says how many
// are missing. A zero At is now.
func (r *Registry) Note(e audit.Entry) {
	if e.At.IsZero() {
		e.At = r.now()
	}
	if r.notes.add(e, nil) {
		return
	}
	limit := time.NewTimer(r.cfg.noteWait)
	defer limit.Stop()
	for !r.notes.add(e, limit.C) {
	}
}

// add reports whether the entry is dealt with. It waits for room until the limit, and then
// counts the entry as lost; without a limit it does not wait.
func (n *notes) add(e audit.Entry, limit <-chan time.Time) (done bool) {
	n.mu.Lock()
	if len(n.list)+n.out < maxNotes {
		n.list = append(n.list, e)
		enough := len(n.list) == flushAt
		n.mu.Unlock()
		if enough {
			n.wake()
		}
		return true
	}
	room := n.room
	n.mu.Unlock()
	if limit == nil {
		return false
	}
	n.wake()
	select {
	case <-room:
		return false
	case <-limit:
		n.mu.Lock()
		defer n.mu.Unlock()
		n.lost++
		return true
	}
}

func (n *notes) wake() {
	select {
	case n.full <- struct{}{}:
	default:
	}
}

// take gives all that waits, how many are missing, and how many of these are news.
func (n *notes) take() (list []audit.Entry, lost, news int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, lost, news = n.list, n.lost, n.lost-n.told
	n.list, n.spare, n.told, n.out = n.spare[:0], nil, n.lost, len(list)
	return list, lost, news
}

// written says which of what was taken are not written: none, or the last ones; and of how many
// that are missing the log now says so.
func (n *notes) written(list, left []audit.Entry, said int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.out = 0
	n.lost, n.told = n.lost-said, n.told-said
	if len(left) > 0 {
		n.list = append(left, n.list...)
	} else {
		clear(list)
		n.spare = list[:0]
	}
	if len(left) < len(list) {
		close(n.room)
		n.room = make(chan struct{})
	}
}

// Refuse has an entry written and returns when it is durable: the answer to a refused call
// leaves after that. A zero At is now.
func (r *Registry) Refuse(ctx context.Context, e audit.Entry) error {
	if e.At.IsZero() {
		e.At = r.now()
	}
	if err := r.cfg.Store.Append(ctx, []audit.Entry{e}); err != nil {
		return r.fault(ctx, "refusal", err)
	}
	r.cfg.Observer.Noted(1, 0)
	return nil
}

// flushUntil writes what waits, until ctx ends. A failure is logged once until it has passed.
func (r *Registry) flushUntil(ctx context.Context) {
	tick := time.NewTicker(r.time.Flush)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.notes.full:
		}
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = r.flush(ctx); err != nil && !failing && ctx.Err() == nil {
				r.log.ErrorContext(ctx, "audit entries wait", "reason", err.Error())
			}
			failing = err != nil
		}
	}
}

// flush writes what waits, and last how many entries are missing. It reports whether there is
// reason to do so again at once.
func (r *Registry) flush(ctx context.Context) (more bool, err error) {
	list, lost, news := r.notes.take()
	left, said := list, 0
	for len(left) > 0 && err == nil {
		part := left[:min(len(left), flushMost)]
		if err = r.cfg.Store.Append(ctx, part); err == nil {
			left = left[len(part):]
		}
	}
	written := len(list) - len(left)
	if lost > 0 && err == nil {
		e := audit.Entry{At: r.now(), Event: audit.EventLost, Reason: strconv.Itoa(lost) + " entries are missing"}
		if err = r.cfg.Store.Append(ctx, []audit.Entry{e}); err == nil {
			said = lost
			written++
			r.log.ErrorContext(ctx, "audit entries are missing", "entries", lost)
		}
	}
	r.notes.written(list, left, said)
	if written > 0 || news > 0 {
		r.cfg.Observer.Noted(written, news)
	}
	return err == nil && written >= flushMost, err
}
