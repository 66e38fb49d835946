package storetest

import (
	"testing"

	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/mandate"
)

// elsewhere names a Closed that another authority keeps.
const elsewhere = "elsewhere"

func initiatorHalf(a registry.Closed) registry.Hold {
	tr := mandate.Triple{CrossingID: crossingID, InitiatorToken: a.TokenHash, ResponderToken: hash(elsewhere)}
	h := holdOf(tr, partyB, "held")
	h.Half, h.CounterpartyAgent = mandate.InitiatorHalf, agentB
	return h
}

func responderHalf(b registry.Closed) registry.Hold {
	tr := mandate.Triple{CrossingID: crossingID, InitiatorToken: hash(elsewhere), ResponderToken: b.TokenHash}
	h := holdOf(tr, partyB, "held")
	h.Half, h.CounterpartyAgent = mandate.ResponderHalf, agentA
	return h
}

// registryHalves: each authority holds, spends and gives back its own Closed of a triple.
func registryHalves(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p := newPair(t, s, "p")
	a, b := initiatorHalf(p.a), responderHalf(p.b)
	for what, h := range map[string]registry.Hold{"initiator's": a, "responder's": b} {
		for range 2 {
			if got, err := s.Hold(ctx, h); err != nil || got != "held" {
				t.Errorf("%s hold: %q, %v", what, got, err)
			}
		}
		both := holdOf(h.Triple, partyB, "r")
		_, err := s.Hold(ctx, both)
		want(t, "hold of both", err, registry.ErrNotFound)
		c := confirmOf(h.Triple, partyB, "spent")
		_, err = s.Confirm(ctx, c)
		want(t, "confirm of both", err, registry.ErrHalf)
	}
	// Only its own Closed is consumed, and its flag alone is this authority's word.
	for _, c := range []registry.Closed{p.a, p.b} {
		if active, err := s.Active(ctx, c.TokenHash, registryStart); err != nil || active != "" {
			t.Errorf("held: active %v, %v", active, err)
		}
	}
	if i, r, err := s.Spent(ctx, a.Triple); err != nil || !i || r {
		t.Errorf("flags of the initiator's half: %v %v, %v", i, r, err)
	}
	if i, r, err := s.Spent(ctx, b.Triple); err != nil || i || !r {
		t.Errorf("flags of the responder's half: %v %v, %v", i, r, err)
	}
	_, err := s.Hold(ctx, holdOf(triple(p.a, p.b), partyB, "r"))
	want(t, "hold of both, together", err, registry.ErrConsumed)

	c := confirmOf(a.Triple, partyB, "spent")
	c.Half = mandate.InitiatorHalf
	if got, err := s.Confirm(ctx, c); err != nil || got != "spent" {
		t.Errorf("confirm: %q, %v", got, err)
	}
	if before, _, err := s.Revoke(ctx, registry.Revocation{Hash: p.a.TokenHash, At: registryStart}); err != nil || before != "spent" {
		t.Errorf("before the revocation: %q, %v", before, err)
	}
	row, err := s.Find(ctx, a.Triple)
	wanted := registry.HoldRow{
		Triple: a.Triple, Spending: registry.Spending{State: mandate.Spent}, Half: mandate.InitiatorHalf,
		Effector: partyB, Receipt: "spent", Peer: partyB,
	}
	if err != nil || row != wanted {
		t.Errorf("row %+v, %v", row, err)
	}
	if row, err := s.Find(ctx, b.Triple); err != nil || row.Peer != partyA || row.Half != mandate.ResponderHalf {
		t.Errorf("row %+v, %v", row, err)
	}
	// What is spent comes back against the other authority's word alone, and once.
	v := releaseOf(a.Triple, partyB)
	v.Half = mandate.InitiatorHalf
	released(t, s, "release of what is spent", v, "spent", false)
	v.Event, v.Refusal, v.Returns = registry.ToUndo, "final", false
	released(t, s, "undone in mode none", v, "spent", false)
	v.Returns = true
	released(t, s, "undone", v, "released", true)
	released(t, s, "undone again", v, "released", false)
	left(t, s, "A", p.openA, 5)
	v = releaseOf(b.Triple, partyB)
	v.Half = mandate.ResponderHalf
	released(t, s, "release of the other half", v, "released", true)
	left(t, s, "B", p.openB, 4)
}

func registryHalvesJudged(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p, q := newPair(t, s, "p"), newPair(t, s, "q")
	other := closed("other crossing", p.openA, agentB, 1)
	other.CrossingID = "00000000-0000-4000-8000-000000000002"
	stranger := closed("stranger", p.openA, "urn:anax:agent:x", 1)
	for _, c := range []registry.Closed{other, stranger} {
		_, err := s.AddClosed(ctx, c)
		want(t, "closed", err, nil)
	}
	unregistered := initiatorHalf(stranger)
	unregistered.CounterpartyAgent = "urn:anax:agent:x"
	change := func(h registry.Hold, do func(*registry.Hold)) registry.Hold {
		do(&h)
		return h
	}
	for what, c := range map[string]struct {
		hold   registry.Hold
		target error
	}{
		"unknown initiator":     {change(initiatorHalf(p.a), func(h *registry.Hold) { h.InitiatorToken = hash("x") }), registry.ErrNotFound},
		"unknown responder":     {change(responderHalf(p.b), func(h *registry.Hold) { h.ResponderToken = hash("x") }), registry.ErrNotFound},
		"another crossing":      {initiatorHalf(other), registry.ErrMismatch},
		"another counterparty":  {change(initiatorHalf(p.a), func(h *registry.Hold) { h.CounterpartyAgent = agentA }), registry.ErrHalf},
		"initiator's effector":  {change(initiatorHalf(p.a), func(h *registry.Hold) { h.Effector = partyA }), registry.ErrNotResponder},
		"agent nobody has":      {unregistered, registry.ErrNotResponder},
		"responder's initiator": {change(responderHalf(p.b), func(h *registry.Hold) { h.Effector = partyA }), registry.ErrNotResponder},
		"both are kept here":    {change(initiatorHalf(p.a), func(h *registry.Hold) { h.ResponderToken = p.b.TokenHash }), registry.ErrHalf},
		"both, the other way":   {change(responderHalf(p.b), func(h *registry.Hold) { h.InitiatorToken = p.a.TokenHash }), registry.ErrHalf},
		"expired":               {change(initiatorHalf(q.a), func(h *registry.Hold) { h.At = q.a.ExpiresAt }), registry.ErrExpired},
	} {
		_, err := s.Hold(ctx, c.hold)
		want(t, what, err, c.target)
	}
	// Two strangers' rows may name the same foreign token: it is nobody's here.
	for _, c := range []registry.Closed{p.a, newPair(t, s, "r").a} {
		_, err := s.Hold(ctx, initiatorHalf(c))
		want(t, "hold", err, nil)
	}
	_, err := s.Hold(ctx, change(initiatorHalf(p.a), func(h *registry.Hold) { h.ResponderToken = hash("y") }))
	want(t, "another triple", err, registry.ErrConsumed)
	_, err = s.Hold(ctx, change(initiatorHalf(p.a), func(h *registry.Hold) { h.Effector = partyA }))
	want(t, "another effector", err, registry.ErrForeign)
}
