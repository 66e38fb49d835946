package envelope

import (
	"context"
	"slices"
	"sync"
)

// maxDiscards is how many refused resolutions a [Memory] remembers, the latest.
const maxDiscards = 1024

// A Memory is a [Ledger] that ends with its process: for tests, and for agents whose envelopes are
// worth nothing after a restart. All resolutions that come after one are unknown, and so discarded.
// It grows with every envelope, since a digest is never forgotten.
type Memory struct {
	mu       sync.Mutex // guards all below
	emitted  map[Digest]Emission
	taken    map[Digest]Taking
	discards []Discarded
}

// NewMemory returns an empty one.
func NewMemory() *Memory {
	return &Memory{emitted: map[Digest]Emission{}, taken: map[Digest]Taking{}}
}

// Emit records e. See [Ledger].
func (m *Memory) Emit(_ context.Context, e Emission) error {
	if err := e.Check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d := e.Envelope.Digest()
	if _, ok := m.emitted[d]; ok {
		return ErrEmitted
	}
	e.Closed = slices.Clone(e.Closed)
	m.emitted[d] = e
	return nil
}

// Envelope returns the emission of that digest. See [Ledger].
func (m *Memory) Envelope(_ context.Context, d Digest) (Emission, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.emitted[d]
	if !ok {
		return Emission{}, ErrUnknown
	}
	e.Closed = slices.Clone(e.Closed)
	return e, nil
}

// Take marks an envelope as resolved. See [Ledger].
func (m *Memory) Take(_ context.Context, t Taking) (Emission, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.emitted[t.Envelope]
	if !ok {
		return Emission{}, ErrUnknown
	}
	if _, ok := m.taken[t.Envelope]; ok {
		return Emission{}, ErrTaken
	}
	m.taken[t.Envelope] = t
	e.Closed = slices.Clone(e.Closed)
	return e, nil
}

// Discard records a refused resolution. See [Ledger].
func (m *Memory) Discard(_ context.Context, d Discarded) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.discards) == maxDiscards {
		m.discards = slices.Delete(m.discards, 0, 1)
	}
	m.discards = append(m.discards, d)
	return nil
}

// Taking returns the record of how the envelope of that digest was resolved; ok is false if it was
// not.
func (m *Memory) Taking(d Digest) (t Taking, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok = m.taken[d]
	return t, ok
}

// Discards returns the latest refused resolutions, at most 1024, the oldest first.
func (m *Memory) Discards() []Discarded {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.discards)
}
