package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/mandate"
)

// releaseOperations are those that the list of [RegistryOperations] takes from here.
func releaseOperations(openA, openB registry.Open) (o struct {
	c, d, expired registry.Closed
	release       registry.Releasing
}) {
	o.c, o.d = closed("c", openA, agentB, 1), closed("d", openB, agentA, 1)
	o.expired = closed("expired", openA, agentB, 1)
	o.expired.ExpiresAt = registryStart
	o.release = releaseOf(triple(o.c, o.d), partyB)
	return o
}

// registryTraces replays random traces of events on the store and, beside it, on the pure
// decisions of package registry, which the exploration of the protocol runs on: what they
// say is what the store does.
func registryTraces(t *testing.T, s registry.Store) {
	enrolled(t, s)
	const traces, workers = 400, 16
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < traces; i += workers {
				if fault := replay(t, s, uint64(i)); fault != "" {
					t.Errorf("trace %d: %s", i, fault)
				}
			}
		})
	}
	wg.Wait()
}

// A traced is a pair as the pure decisions see it.
type traced struct {
	pair
	half    mandate.Half
	triple  mandate.Triple
	row     registry.Spending
	a, b    registry.ClosedRow
	returns bool
	drawn   commitment.Magnitude // of A's Open
}

// own are the Closeds that the half is about.
func (m *traced) own() []*registry.ClosedRow {
	switch m.half {
	case mandate.InitiatorHalf:
		return []*registry.ClosedRow{&m.a}
	case mandate.ResponderHalf:
		return []*registry.ClosedRow{&m.b}
	}
	return []*registry.ClosedRow{&m.a, &m.b}
}

func (m *traced) facts(expired bool) registry.Facts {
	f := registry.Facts{First: m.half == mandate.InitiatorHalf, Returns: m.returns, Due: expired}
	for _, c := range m.own() {
		f = f.With(*c, expired)
	}
	return f
}

// on is one event on the pure side: the answer, and what the rows become.
func (m *traced) on(e registry.Event, expired bool) (string, error) {
	next, err := m.row.On(e, m.facts(expired))
	if e == registry.ToHold && m.row.State == "" {
		for _, c := range m.own() {
			if err == nil {
				c.State = registry.ClosedConsumed
			}
			c.Refused = c.Refused || expired && errors.Is(err, registry.ErrExpired)
		}
	}
	if next.State == mandate.Released && m.row.State != mandate.Released {
		m.giveBack(m.own()...)
	}
	m.row = next
	if err != nil {
		return "", err
	}
	if e == registry.ToHold && next.State == mandate.Spent {
		return "held", nil // a late repeat of hold gets what hold was answered with
	}
	return string(next.State), nil
}

func (m *traced) giveBack(rows ...*registry.ClosedRow) {
	for _, c := range rows {
		c.State = registry.ClosedReleased
		if c == &m.a {
			m.drawn--
		}
	}
}

func newTraced(t *testing.T, s registry.Store, name string, r *rand.Rand) (*traced, error) {
	p := pair{openA: open(name+" A", partyA, agentA, 5), openB: open(name+" B", partyB, agentB, 5)}
	p.a, p.b = closed(name+" a", p.openA, agentB, 1), closed(name+" b", p.openB, agentA, 1)
	m := &traced{pair: p, triple: triple(p.a, p.b), returns: r.IntN(4) > 0, drawn: 1}
	m.a.State, m.b.State = registry.ClosedActive, registry.ClosedActive
	m.half = []mandate.Half{mandate.Both, mandate.InitiatorHalf, mandate.ResponderHalf}[r.IntN(3)]
	switch m.half {
	case mandate.InitiatorHalf:
		m.triple.ResponderToken = hash(name, elsewhere)
	case mandate.ResponderHalf:
		m.triple.InitiatorToken = hash(name, elsewhere)
	}
	for _, o := range []registry.Open{p.openA, p.openB} {
		if _, err := s.AddOpen(t.Context(), o); err != nil {
			return nil, err
		}
	}
	for _, c := range []registry.Closed{p.a, p.b} {
		if _, err := s.AddClosed(t.Context(), c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func replay(t *testing.T, s registry.Store, seed uint64) (fault string) {
	r := rand.New(rand.NewPCG(seed, 17))
	m, err := newTraced(t, s, fmt.Sprint("trace ", seed), r)
	if err != nil {
		return err.Error()
	}
	var log []string
	for range 12 {
		expired := r.IntN(6) == 0 // clocks of several replicas: it may be so, and then not
		at := registryStart
		if expired {
			at = m.openA.ExpiresAt.Add(-time.Second)
		}
		what, got, wanted, err, target := step(t, s, m, r, at, expired)
		log = append(log, fmt.Sprintf("%s(expired %v): %q, %v", what, expired, got, err))
		if got != wanted || (target == nil) != (err == nil) || !errors.Is(err, target) {
			return fmt.Sprintf("half %q: %s; want %q, %v", m.half, strings.Join(log, "; "), wanted, target)
		}
	}
	return m.remains(t, s, strings.Join(log, "; "))
}

// remains compares what is left of A's Open.
func (m *traced) remains(t *testing.T, s registry.Store, log string) (fault string) {
	if m.a.Revoked {
		return "" // its Open takes no draw
	}
	rest := 5 - m.drawn
	more, all := closed(m.openA.Token+" more", m.openA, agentB, rest+1), closed(m.openA.Token+" all", m.openA, agentB, rest)
	if _, err := s.AddClosed(t.Context(), more); !errors.Is(err, registry.ErrExhausted) {
		return fmt.Sprintf("%s; more than %d is left (%v)", log, rest, err)
	}
	if _, err := s.AddClosed(t.Context(), all); err != nil {
		return fmt.Sprintf("%s; less than %d is left (%v)", log, rest, err)
	}
	return ""
}

func step(t *testing.T, s registry.Store, m *traced, r *rand.Rand, at time.Time, expired bool) (what, got, wanted string, err, target error) {
	ctx := t.Context()
	release := func(e registry.Event) {
		v := releaseOf(m.triple, partyB)
		v.Half, v.Event, v.Returns, v.At = m.half, e, m.returns, at
		if e == registry.ToUndo {
			v.Refusal = "final"
		}
		got, _, err = s.Release(ctx, v)
		wanted, target = m.on(e, expired)
	}
	switch r.IntN(9) {
	case 0, 1:
		h := holdOf(m.triple, partyB, string(mandate.Held))
		h.Half, h.At, h.CounterpartyAgent = m.half, at, agentB
		if m.half == mandate.ResponderHalf {
			h.CounterpartyAgent = agentA
		}
		got, err = s.Hold(ctx, h)
		wanted, target = m.on(registry.ToHold, expired)
		return "hold", got, wanted, err, target
	case 2, 3:
		c := confirmOf(m.triple, partyB, string(mandate.Spent))
		c.Half, c.At = m.half, at
		got, err = s.Confirm(ctx, c)
		wanted, target = m.on(registry.ToConfirm, expired)
		return "confirm", got, wanted, err, target
	case 4:
		release(registry.ToRelease)
		return "release", got, wanted, err, target
	case 5:
		release(registry.ToLapse)
		return "lapse", got, wanted, err, target
	case 6:
		release(registry.ToUndo)
		return "undo", got, wanted, err, target
	case 7:
		_, _, err = s.Revoke(ctx, registry.Revocation{Hash: m.openA.OpenHash, At: at})
		m.a.Revoked = true
		return "revoke", "", "", err, nil
	}
	row, err := s.Find(ctx, m.triple)
	if m.row.State == "" {
		_, target = m.row.On(registry.ToConfirm, m.facts(expired))
		return "find", "", "", err, target
	}
	return "find", fmt.Sprint(row.Spending), fmt.Sprint(m.row), err, nil
}
