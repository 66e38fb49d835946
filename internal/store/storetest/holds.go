package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const crossingID = "00000000-0000-4000-8000-000000000001"

// A pair is a crossing of A and B: two Opens with one Closed each, and a second Closed
// of B's for the same crossing.
type pair struct {
	openA, openB registry.Open
	a, b, b2     registry.Closed
}

func newPair(t *testing.T, s registry.Store, name string) pair {
	t.Helper()
	p, err := addPair(t, s, name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// addPair is newPair for goroutines that are not the test's own.
func addPair(t *testing.T, s registry.Store, name string) (pair, error) {
	p := pair{openA: open(name+" A", partyA, agentA, 5), openB: open(name+" B", partyB, agentB, 5)}
	p.a, p.b, p.b2 = closed(name+" a", p.openA, agentB, 1), closed(name+" b", p.openB, agentA, 1), closed(name+" b2", p.openB, agentA, 1)
	for _, o := range []registry.Open{p.openA, p.openB} {
		if _, err := s.AddOpen(t.Context(), o); err != nil {
			return pair{}, err
		}
	}
	for _, c := range []registry.Closed{p.a, p.b, p.b2} {
		if _, err := s.AddClosed(t.Context(), c); err != nil {
			return pair{}, err
		}
	}
	return p, nil
}

func triple(initiator, responder registry.Closed) mandate.Triple {
	return mandate.Triple{CrossingID: crossingID, InitiatorToken: initiator.TokenHash, ResponderToken: responder.TokenHash}
}

func holdOf(t mandate.Triple, effector, receipt string) registry.Hold {
	return registry.Hold{Triple: t, Effector: effector, Receipt: receipt, At: registryStart}
}

func confirmOf(t mandate.Triple, effector, receipt string) registry.Confirmation {
	return registry.Confirmation{Triple: t, Effector: effector, Receipt: receipt, At: registryStart}
}

// covers GC-073, GC-194
func registryHoldable(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p := newPair(t, s, "p")
	stranger := closed("stranger", p.openB, "urn:anax:agent:x", 1)
	elsewhere := closed("elsewhere", p.openB, agentA, 1)
	elsewhere.CrossingID = "00000000-0000-4000-8000-000000000002"
	oneWay := closed("one way", p.openA, "urn:anax:agent:x", 1)
	oneWay.ChainID = p.b.ChainID
	for _, c := range []registry.Closed{stranger, elsewhere, oneWay} {
		_, err := s.AddClosed(ctx, c)
		want(t, "closed", err, nil)
	}
	for what, c := range map[string]struct {
		change func(*registry.Hold)
		target error
	}{
		"unknown initiator":  {func(h *registry.Hold) { h.InitiatorToken = hash("x") }, registry.ErrNotFound},
		"unknown responder":  {func(h *registry.Hold) { h.ResponderToken = hash("x") }, registry.ErrNotFound},
		"open as a token":    {func(h *registry.Hold) { h.InitiatorToken = p.openA.OpenHash }, registry.ErrNotFound},
		"no pair":            {func(h *registry.Hold) { h.ResponderToken = stranger.TokenHash }, registry.ErrMismatch},
		"named one way":      {func(h *registry.Hold) { h.InitiatorToken = oneWay.TokenHash }, registry.ErrMismatch},
		"one token twice":    {func(h *registry.Hold) { h.InitiatorToken = h.ResponderToken }, registry.ErrMismatch},
		"two crossings":      {func(h *registry.Hold) { h.ResponderToken = elsewhere.TokenHash }, registry.ErrMismatch},
		"another crossing":   {func(h *registry.Hold) { h.CrossingID = elsewhere.CrossingID }, registry.ErrMismatch},
		"initiator effector": {func(h *registry.Hold) { h.Effector = partyA }, registry.ErrNotResponder},
	} {
		h := holdOf(triple(p.a, p.b), partyB, "r")
		c.change(&h)
		_, err := s.Hold(ctx, h)
		want(t, what, err, c.target)
	}
	h := holdOf(triple(p.a, p.b), partyB, "held")
	h.At = p.a.ExpiresAt.Add(-time.Millisecond)
	if got, err := s.Hold(ctx, h); err != nil || got != "held" {
		t.Errorf("hold after refusals: %q, %v", got, err)
	}
	swapped := mandate.Triple{CrossingID: crossingID, InitiatorToken: p.b.TokenHash, ResponderToken: p.a.TokenHash}
	_, err := s.Hold(ctx, holdOf(swapped, partyA, "swapped"))
	want(t, "swapped", err, registry.ErrConsumed)
}

// covers GC-195
func registryHoldAgain(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p := newPair(t, s, "p")
	tr := triple(p.a, p.b)
	hold := func(what, receipt, wanted string) {
		t.Helper()
		if got, err := s.Hold(ctx, holdOf(tr, partyB, receipt)); err != nil || got != wanted {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	hold("first", "one", "one")
	hold("again", "two", "one")
	late := holdOf(tr, partyB, "late")
	late.At = registryStart.Add(24 * time.Hour)
	if got, err := s.Hold(ctx, late); err != nil || got != "one" {
		t.Errorf("after expiry: %q, %v", got, err)
	}
	_, err := s.Hold(ctx, holdOf(tr, partyA, "theirs"))
	want(t, "other effector", err, registry.ErrForeign)
	_, err = s.Hold(ctx, holdOf(triple(p.a, p.b2), partyB, "other"))
	want(t, "other triple", err, registry.ErrConsumed)

	confirm := func(what, receipt, wanted string) {
		t.Helper()
		if got, err := s.Confirm(ctx, confirmOf(tr, partyB, receipt)); err != nil || got != wanted {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	confirm("confirm", "spent", "spent")
	confirm("confirm again", "spent again", "spent")
	hold("after confirm", "three", "one")
	_, _, err = s.Revoke(ctx, registry.Revocation{Hash: p.a.TokenHash, At: registryStart})
	want(t, "revoke", err, nil)
	confirm("confirm after revoke", "spent again", "spent")
	// The other Closed of B was touched by nothing of this.
	if active, err := s.Active(ctx, p.b2.TokenHash, registryStart); err != nil || active == "" {
		t.Errorf("second Closed: active %v, %v", active, err)
	}
}

// covers GC-195, GC-208
func registryHoldRace(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p := newPair(t, s, "p")
	openB := open("many", partyB, agentB, 50)
	_, err := s.AddOpen(ctx, openB)
	want(t, "open", err, nil)
	var wg sync.WaitGroup
	var won, lost atomic.Int32
	for i := range 50 {
		c := closed(fmt.Sprint("rival ", i), openB, agentA, 1)
		_, err := s.AddClosed(ctx, c)
		want(t, "closed", err, nil)
		wg.Go(func() {
			switch _, err := s.Hold(ctx, holdOf(triple(p.a, c), partyB, "r")); {
			case err == nil:
				won.Add(1)
			case errors.Is(err, registry.ErrConsumed):
				lost.Add(1)
				if active, err := s.Active(ctx, c.TokenHash, registryStart); err != nil || active == "" {
					t.Errorf("a loser's Closed: active %v, %v", active, err)
				}
			default:
				t.Errorf("hold: %v", err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != 49 {
		t.Errorf("%d holds won, %d lost", won.Load(), lost.Load())
	}
}

// covers GC-301
func registryConfirmRace(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	var wg sync.WaitGroup
	for i := range 40 {
		p := newPair(t, s, fmt.Sprint("p", i))
		tr := triple(p.a, p.b)
		_, err := s.Hold(ctx, holdOf(tr, partyB, "held"))
		want(t, "hold", err, nil)
		var confirmed error
		var before string
		var both sync.WaitGroup
		both.Go(func() { _, confirmed = s.Confirm(ctx, confirmOf(tr, partyB, "spent")) })
		both.Go(func() {
			var err error
			if before, _, err = s.Revoke(ctx, registry.Revocation{Hash: p.a.TokenHash, At: registryStart}); err != nil {
				t.Errorf("revoke: %v", err)
			}
		})
		wg.Go(func() {
			both.Wait()
			// The revocation lands before the confirm, or the seal stands: never both.
			spent := before == api.BeforeSpent && confirmed == nil
			revoked := before == api.BeforeHeld && errors.Is(confirmed, registry.ErrRevoked)
			if spent == revoked {
				t.Errorf("state before revocation %q, confirm %v", before, confirmed)
			}
		})
	}
	wg.Wait()
}

func registryRevoked(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p := newPair(t, s, "p")
	later := registryStart.Add(time.Minute)
	revoke := func(what string, hash jcs.Hex256, owner string, at time.Time, target error, before string) {
		t.Helper()
		got, first, err := s.Revoke(ctx, registry.Revocation{Hash: hash, PrincipalID: owner, At: at})
		want(t, what, err, target)
		if got != before || (err == nil && !first.Equal(registryStart)) {
			t.Errorf("%s: %q at %v", what, got, first)
		}
	}
	revoke("unknown", hash("x"), partyA, registryStart, registry.ErrNotFound, "")
	revoke("another's open", p.openA.OpenHash, partyB, registryStart, registry.ErrNotFound, "")
	revoke("another's closed", p.a.TokenHash, partyB, registryStart, registry.ErrNotFound, "")
	revoke("own closed", p.a.TokenHash, partyA, registryStart, nil, api.BeforeActive)
	revoke("again", p.a.TokenHash, partyA, later, nil, api.BeforeActive)
	revoke("open by its token", p.openB.TokenHash, "", registryStart, nil, api.BeforeActive)
	revoke("open again, by its hash", p.openB.OpenHash, partyB, later, nil, api.BeforeActive)

	q := newPair(t, s, "q")
	_, err := s.Hold(ctx, holdOf(triple(q.a, q.b), partyB, "held"))
	want(t, "hold", err, nil)
	revoke("held initiator", q.a.TokenHash, partyA, registryStart, nil, api.BeforeHeld)
	revoke("held responder", q.b.TokenHash, partyB, registryStart, nil, api.BeforeHeld)
	_, err = s.Confirm(ctx, confirmOf(triple(q.a, q.b), partyB, "spent"))
	want(t, "confirm", err, registry.ErrRevoked)
	revoke("held again", q.a.TokenHash, partyA, later, nil, api.BeforeHeld)
}

func registryActive(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p := newPair(t, s, "p")
	active := func(what string, hash jcs.Hex256, at time.Time, wanted bool) {
		t.Helper()
		if got, err := s.Active(ctx, hash, at); err != nil || (got != "") != wanted {
			t.Errorf("%s: active %v, %v", what, got, err)
		}
	}
	active("unknown", hash("x"), registryStart, false)
	active("open by hash", p.openA.OpenHash, registryStart, true)
	active("open by token", p.openA.TokenHash, registryStart, true)
	active("closed", p.a.TokenHash, registryStart, true)
	for hash, whose := range map[jcs.Hex256]string{p.openA.TokenHash: partyA, p.b.TokenHash: partyB} {
		if got, err := s.Active(ctx, hash, registryStart); err != nil || got != whose {
			t.Errorf("a mandate of %s is %q's, %v", whose, got, err)
		}
	}
	active("closed at exp", p.a.TokenHash, p.a.ExpiresAt, false)
	active("open at exp", p.openA.OpenHash, p.openA.ExpiresAt, false)
	_, err := s.Hold(ctx, holdOf(triple(p.a, p.b), partyB, "held"))
	want(t, "hold", err, nil)
	active("held initiator", p.a.TokenHash, registryStart, false)
	active("held responder", p.b.TokenHash, registryStart, false)
	active("open of a held", p.openA.OpenHash, registryStart, true)
	_, _, err = s.Revoke(ctx, registry.Revocation{Hash: p.openB.OpenHash, At: registryStart})
	want(t, "revoke", err, nil)
	active("revoked open", p.openB.TokenHash, registryStart, false)
	active("closed under it", p.b2.TokenHash, registryStart, false)
}

func registrySpentFlags(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p := newPair(t, s, "p")
	flags := func(what string, tr mandate.Triple, initiator, responder bool) {
		t.Helper()
		i, r, err := s.Spent(ctx, tr)
		if err != nil || i != initiator || r != responder {
			t.Errorf("%s: %v %v, %v", what, i, r, err)
		}
	}
	flags("nothing held", triple(p.a, p.b), false, false)
	_, err := s.Hold(ctx, holdOf(triple(p.a, p.b), partyB, "held"))
	want(t, "hold", err, nil)
	flags("held", triple(p.a, p.b), true, true)
	flags("another counterpart", triple(p.a, p.b2), true, false)
	other := triple(p.a, p.b)
	other.CrossingID = "00000000-0000-4000-8000-000000000002"
	flags("another crossing", other, false, false)
	_, err = s.Confirm(ctx, confirmOf(triple(p.a, p.b), partyB, "spent"))
	want(t, "confirm", err, nil)
	flags("spent", triple(p.a, p.b), true, true)
}

// model says what every call on a pair must answer, from the states of design R3 alone.
type model struct {
	held             string // receipt of the hold on (a, b); "" while there is none
	heldOther        bool   // (a, b2) is held
	spent            string // receipt of the confirm
	revoked, expired bool
}

func (m *model) dead() error {
	switch {
	case m.revoked:
		return registry.ErrRevoked
	case m.expired:
		return registry.ErrExpired
	}
	return nil
}

func (m *model) hold(receipt string) (string, error) {
	switch {
	case m.held != "":
		return m.held, nil
	case m.heldOther:
		return "", registry.ErrConsumed
	case m.dead() != nil:
		return "", m.dead()
	}
	m.held = receipt
	return receipt, nil
}

func (m *model) holdOther() error {
	switch {
	case m.heldOther:
		return nil
	case m.held != "":
		return registry.ErrConsumed
	case m.dead() != nil:
		return m.dead()
	}
	m.heldOther = true
	return nil
}

func (m *model) confirm(receipt string, foreign bool) (string, error) {
	switch {
	case m.heldOther:
		return "", registry.ErrConsumed
	case m.held == "":
		return "", registry.ErrNotHeld
	case foreign:
		return "", registry.ErrForeign
	case m.spent != "":
		return m.spent, nil
	case m.dead() != nil:
		return "", m.dead()
	}
	m.spent = receipt
	return receipt, nil
}

func (m *model) before() string {
	switch {
	case m.spent != "":
		return api.BeforeSpent
	case m.held != "" || m.heldOther:
		return api.BeforeHeld
	}
	return api.BeforeActive
}

// covers GC-195
//
// registryInterleavings runs every sequence of three steps, and every one of three steps
// with a confirm after a hold, against the model.
func registryInterleavings(t *testing.T, s registry.Store) {
	enrolled(t, s)
	const steps = "HhCFVOX" // hold, hold other, confirm, foreign confirm, revoke Closed, revoke Open, expiry
	sequences := []string{""}
	for range 3 {
		var longer []string
		for _, q := range sequences {
			for _, step := range steps {
				longer = append(longer, q+string(step))
			}
		}
		sequences = longer
	}
	for _, q := range slices.Clone(sequences) {
		if q[0] != 'H' && strings.ContainsRune(q, 'C') {
			sequences = append(sequences, "H"+q)
		}
	}
	todo := make(chan string)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for q := range todo {
				if fault := walk(t, s, q); fault != "" {
					t.Errorf("%s: %s", q, fault)
				}
			}
		})
	}
	for _, q := range sequences {
		todo <- q
	}
	close(todo)
	wg.Wait()
}

func walk(t *testing.T, s registry.Store, sequence string) (fault string) {
	p, err := addPair(t, s, sequence)
	if err != nil {
		return err.Error()
	}
	ctx, m, now := t.Context(), new(model), registryStart
	var log []string
	for i, step := range sequence {
		receipt := fmt.Sprint("receipt ", i)
		var got, wanted string
		var err, target error
		switch step {
		case 'H', 'h':
			h := holdOf(triple(p.a, p.b), partyB, receipt)
			h.At = now
			if step == 'h' {
				h.Triple = triple(p.a, p.b2)
				_, err = s.Hold(ctx, h)
				target = m.holdOther()
				break
			}
			got, err = s.Hold(ctx, h)
			wanted, target = m.hold(receipt)
		case 'C', 'F':
			c := confirmOf(triple(p.a, p.b), partyB, receipt)
			c.At = now
			if step == 'F' {
				c.Effector = partyA
			}
			got, err = s.Confirm(ctx, c)
			wanted, target = m.confirm(receipt, step == 'F')
		case 'V':
			got, _, err = s.Revoke(ctx, registry.Revocation{Hash: p.a.TokenHash, At: now})
			wanted, m.revoked = m.before(), true
		case 'O':
			_, _, err = s.Revoke(ctx, registry.Revocation{Hash: p.openB.OpenHash, At: now})
			m.revoked = true
		case 'X':
			now, m.expired = p.a.ExpiresAt, true
		}
		log = append(log, fmt.Sprintf("%c:%q,%v", step, got, err))
		if got != wanted || (target == nil) != (err == nil) || !errors.Is(err, target) {
			return fmt.Sprintf("%s, want %q, %v", strings.Join(log, " "), wanted, target)
		}
	}
	return ""
}
