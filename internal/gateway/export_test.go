package gateway

import (
	"context"
	"io"
	"time"

	"github.com/bindery/bindery/internal/execution"
)

// SSE is an event of a stream, for tests.
type SSE struct{ Name, Data string }

// AllEvents reads all events of a stream; an event without data is one whose Data is "\x00".
func AllEvents(r io.Reader, limit int) (all []SSE, last string, err error) {
	s := newSSE(r, limit)
	for {
		e, err := s.next()
		if err != nil {
			return all, s.last, err
		}
		data := string(e.data)
		if e.data == nil {
			data = "\x00"
		}
		all = append(all, SSE{e.name, data})
	}
}

// AppendEvent writes an event.
func AppendEvent(e SSE) []byte {
	if e.Data == "\x00" {
		return appendEvent(nil, sseEvent{})
	}
	return appendEvent(nil, sseEvent{name: e.Name, data: []byte(e.Data)})
}

// FirstByte asks as a transport does.
func FirstByte(ctx context.Context) error { return firstByte(ctx) }

// Recalled are the arguments of calls whose outcome is not known.
type Recalled struct{ r recalled }

// Keep, Of and Forget are those that a gateway has.
func (r *Recalled) Keep(key execution.Key, arguments []byte) { r.r.keep(key, arguments) }
func (r *Recalled) Of(key execution.Key) []byte              { return r.r.of(key) }
func (r *Recalled) Forget(key execution.Key)                 { r.r.forget(key) }

// Handed are the tasks that agents were answered with.
type Handed struct{ h handed }

// Add and Has are those that a gateway has.
func (h *Handed) Add(agent, upstream, task string)      { h.h.add(agent, upstream, task) }
func (h *Handed) Has(agent, upstream, task string) bool { return h.h.has(agent, upstream, task) }

// Ended reports whether nothing begins any more.
func (g *Gateway) Ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended
}

// SetReading changes how long a client has for its message, while none is being read.
func (g *Gateway) SetReading(d time.Duration) { g.cfg.Limits.Reading = d }

// SetEnding changes how long the end waits.
func (g *Gateway) SetEnding(d time.Duration) { g.background.patience = d }

// LargeAnswers is how many have their room.
func (g *Gateway) LargeAnswers() int { return len(g.answers.all) }

// Tried is of how many executions the tries are remembered.
func (f *Finder) Tried() int { return len(f.tries) }
