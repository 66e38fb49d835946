package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// memory keeps what requests that are over have worked with for those that come. No result
// depends on it. Messages themselves are never kept: a transport may still read one whose answer
// has come.
type memory struct{ pool sync.Pool }

// keptMemory is the most that one piece of it has; larger ones are left to the collector.
const keptMemory = 64 << 10

type scratch struct{ b []byte }

func (m *memory) get() *scratch {
	if s, ok := m.pool.Get().(*scratch); ok {
		return s
	}
	return &scratch{}
}

func (m *memory) put(s *scratch) {
	if cap(s.b) <= keptMemory {
		m.pool.Put(s)
	}
}

// errLarge is a body beyond its limit.
var errLarge = errors.New("gateway: the body is longer than its limit")

// readAll is all of r, of which size bytes are announced, -1 if it is not said. What is announced
// is believed only in part: memory is taken as bytes come.
func readAll(r io.Reader, size int64, limit int) ([]byte, error) {
	if size > int64(limit) {
		return nil, errLarge
	}
	room := 512
	if size >= 0 {
		room = int(min(size, keptMemory)) + 1
	}
	body := make([]byte, 0, room)
	for {
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
		n, err := r.Read(body[len(body):min(cap(body), limit+1)])
		body = body[:len(body)+n]
		switch {
		case len(body) > limit:
			return nil, errLarge
		case err == io.EOF:
			return body, nil
		case err != nil:
			return body, err
		}
	}
}

// A large is a body that is allowed to grow beyond [freeBytes] when there is room: so many of them
// at once, and no more, can be in memory.
type large struct {
	r     io.Reader
	ctx   context.Context
	room  *rooms
	agent string
	read  int
	has   bool
}

// freeBytes is what every body may have.
const freeBytes = 256 << 10

func (l *large) Read(p []byte) (int, error) {
	if l.read >= freeBytes {
		if err := l.take(); err != nil {
			return 0, err
		}
	}
	n, err := l.r.Read(p)
	l.read += n
	return n, err
}

// take waits for room, unless it has some.
func (l *large) take() error {
	if l.has {
		return nil
	}
	l.has = l.room.take(l.ctx, l.agent)
	if !l.has {
		return context.Cause(l.ctx)
	}
	return nil
}

// errRoom is a body that has waited for room in vain.
var errRoom = errors.New("gateway: there is no room for so large a message")

// leave gives the room back. The body may be in memory until then.
func (l *large) leave() {
	if l.has {
		l.room.leave(l.agent)
		l.has = false
	}
}

// copyOut sends all of r to w, and each piece at once if live; came is told of each piece.
func (m *memory) copyOut(w http.ResponseWriter, r io.Reader, live bool, came func(piece []byte)) error {
	s := m.get()
	defer m.put(s)
	if cap(s.b) < 32<<10 {
		s.b = make([]byte, 0, 32<<10)
	}
	piece := s.b[:cap(s.b)]
	flush := http.NewResponseController(w)
	for {
		n, err := r.Read(piece)
		if n > 0 {
			came(piece[:n])
			if _, err := w.Write(piece[:n]); err != nil {
				return err
			}
			if live {
				if err := flush.Flush(); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
