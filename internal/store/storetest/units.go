package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// consumption asks for units of an Open of [open], as the effector of its principal.
func consumption(name string, o registry.Open, units commitment.Magnitude) registry.Consumption {
	return registry.Consumption{
		Effector: o.PrincipalID, RequestID: name, Request: hash("request ", name), Token: o.TokenHash,
		Class: o.Limit.Class, Units: units, Currency: o.Limit.Currency, Answer: []byte("answer to " + name), At: registryStart,
	}
}

// opened adds Opens to two enrolled parties.
func opened(t *testing.T, s registry.Store, opens ...registry.Open) {
	t.Helper()
	for _, o := range opens {
		_, err := s.AddOpen(t.Context(), o)
		want(t, "open", err, nil)
	}
}

// consume takes units and fails the test unless that ends as target says.
func consume(t *testing.T, s registry.Store, c registry.Consumption, target error) {
	t.Helper()
	answer, err := s.Consume(t.Context(), c)
	want(t, c.RequestID, err, target)
	if target == nil && string(answer) != string(c.Answer) {
		t.Fatalf("%s: answer %q", c.RequestID, answer)
	}
}

// registryUnits: units and draws share one counter, and a request that would exceed it
// takes nothing.
//
// covers GC-181, GC-182, GC-183, GC-184, GC-185, GC-190, GC-197, GC-201
func registryUnits(t *testing.T, s registry.Store) {
	enrolled(t, s)
	for class := commitment.Observe; class <= commitment.Binding; class++ {
		o := open(class.String(), partyA, agentA, 5)
		o.Limit.Class = class
		if class == commitment.Financial {
			o.Limit.Currency = "EUR"
		}
		opened(t, s, o)
		name := func(step string) string { return class.String() + " " + step }
		consume(t, s, consumption(name("above the limit"), o, 6), registry.ErrExhausted)
		_, err := s.AddClosed(t.Context(), closed(name("draw"), o, agentB, 2))
		want(t, "draw", err, nil)
		consume(t, s, consumption(name("remaining + 1"), o, 4), registry.ErrExhausted)
		consume(t, s, consumption(name("two"), o, 2), nil)
		consume(t, s, consumption(name("the last"), o, 1), nil)
		consume(t, s, consumption(name("the sixth"), o, 1), registry.ErrExhausted)
		_, err = s.AddClosed(t.Context(), closed(name("late draw"), o, agentB, 1))
		want(t, "draw of what is consumed", err, registry.ErrExhausted)
	}
	// M-5: none of the upper classes, any number of reads.
	for class := commitment.Observe; class <= commitment.Binding; class++ {
		o := open("zero "+class.String(), partyA, agentA, 0)
		o.Limit.Class = class
		if class == commitment.Financial {
			o.Limit.Currency = "EUR"
		}
		opened(t, s, o)
		if class != commitment.Observe {
			consume(t, s, consumption("first of zero "+class.String(), o, 1), registry.ErrExhausted)
			continue
		}
		unlimited(t, s, o)
	}
}

// unlimited takes more than any counter could hold: 2^63 and then some.
func unlimited(t *testing.T, s registry.Store, o registry.Open) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 1100 {
		wg.Go(func() {
			if _, err := s.Consume(t.Context(), consumption(fmt.Sprint("reads ", i), o, 1<<53-1)); err != nil {
				t.Errorf("read: %v", err)
			}
		})
	}
	wg.Wait()
}

// covers GC-073, GC-074, GC-175, GC-188
func registryUnitsJudged(t *testing.T, s registry.Store) {
	enrolled(t, s)
	o := open("o", partyA, agentA, 5)
	money := open("money", partyA, agentA, 500)
	money.Limit = commitment.Amount{Class: commitment.Financial, Magnitude: 500, Currency: "EUR"}
	revoked, shown, alone := open("revoked", partyA, agentA, 5), open("shown", partyA, agentA, 5), open("alone", partyA, agentA, 5)
	alone.SingleParty = true
	opened(t, s, o, money, revoked, shown, alone)
	c := closed("c", o, agentB, 1)
	_, err := s.AddClosed(t.Context(), c)
	want(t, "closed", err, nil)
	_, _, err = s.Revoke(t.Context(), registry.Revocation{Hash: revoked.OpenHash, At: registryStart})
	want(t, "revoke", err, nil)
	for what, x := range map[string]struct {
		open   registry.Open
		change func(*registry.Consumption)
		target error
	}{
		"unknown":             {o, func(c *registry.Consumption) { c.Token = hash("x") }, registry.ErrNotFound},
		"by its open hash":    {o, func(c *registry.Consumption) { c.Token = o.OpenHash }, registry.ErrNotFound},
		"by its signed hash":  {o, func(c *registry.Consumption) { c.Token = o.SignedHash }, registry.ErrNotFound},
		"a Closed":            {o, func(x *registry.Consumption) { x.Token = c.TokenHash }, registry.ErrNotFound},
		"counterparty drains": {shown, func(c *registry.Consumption) { c.Effector = partyB }, registry.ErrNotOwn},
		"at exp":              {o, func(c *registry.Consumption) { c.At = o.ExpiresAt }, registry.ErrExpired},
		"class above":         {o, func(c *registry.Consumption) { c.Class = commitment.Financial }, registry.ErrClass},
		"currency missing":    {money, func(c *registry.Consumption) { c.Currency = "" }, registry.ErrCurrency},
		"another currency":    {money, func(c *registry.Consumption) { c.Currency = "GBP" }, registry.ErrCurrency},
		"currency of none":    {o, func(c *registry.Consumption) { c.Currency = "EUR" }, registry.ErrCurrency},
		"revoked":             {revoked, func(*registry.Consumption) {}, registry.ErrRevoked},
	} {
		c := consumption(what, x.open, 1)
		x.change(&c)
		consume(t, s, c, x.target)
	}
	// Nothing of all that was taken.
	consume(t, s, consumption("all of o", o, 4), nil)
	consume(t, s, consumption("all of money", money, 500), nil)
	consume(t, s, consumption("all of shown", shown, 5), nil)
	// What is shown to no counterparty is for whoever holds its bytes; a lower class takes
	// units as its effector says.
	theirs := consumption("another's effector", alone, 2)
	theirs.Effector, theirs.Class = partyB, commitment.Observe
	consume(t, s, theirs, nil)
	consume(t, s, consumption("the rest of alone", alone, 4), registry.ErrExhausted)
	late := consumption("just before exp", alone, 3)
	late.At = alone.ExpiresAt.Add(-time.Millisecond)
	consume(t, s, late, nil)
}

// registryUnitsAgain: a lost answer is given again and takes nothing.
func registryUnitsAgain(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	o := open("o", partyA, agentA, 3)
	o.SingleParty = true
	opened(t, s, o)
	first := consumption("one", o, 1)
	consume(t, s, first, nil)
	again := first
	again.Answer, again.At = []byte("another"), o.ExpiresAt.Add(time.Hour)
	for range 3 {
		answer, err := s.Consume(ctx, again)
		want(t, "again, after exp", err, nil)
		if string(answer) != "answer to one" {
			t.Fatalf("again: answer %q", answer)
		}
	}
	other := first
	other.Request, other.Units = hash("other"), 2
	consume(t, s, other, registry.ErrExists)
	theirs := first
	theirs.Effector, theirs.Answer = partyB, []byte("theirs")
	consume(t, s, theirs, nil)
	// A refused request may be asked again: it took nothing, its name is free.
	big := consumption("big", o, 2)
	consume(t, s, big, registry.ErrExhausted)
	big.Units, big.Request = 1, hash("smaller")
	consume(t, s, big, nil)
	consume(t, s, consumption("nothing left", o, 1), registry.ErrExhausted)
}

// registryUnitsRace lets draws, units and repeats of units race for one Open.
//
// covers GC-190, GC-192, GC-208
func registryUnitsRace(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	o := open("o", partyA, agentA, 20)
	opened(t, s, o)
	var wg sync.WaitGroup
	var booked atomic.Int32
	for i := range 30 {
		c := consumption(fmt.Sprint("units ", i), o, 3)
		var once sync.Once
		for range 2 { // the request and its repeat
			wg.Go(func() {
				_, err := s.Consume(ctx, c)
				if err == nil {
					once.Do(func() { booked.Add(3) })
				} else if !errors.Is(err, registry.ErrExhausted) {
					t.Errorf("consume %d: %v", i, err)
				}
			})
		}
		wg.Go(func() {
			_, err := s.AddClosed(ctx, closed(fmt.Sprint("draw ", i), o, agentB, 3))
			if err == nil {
				booked.Add(3)
			} else if !errors.Is(err, registry.ErrExhausted) {
				t.Errorf("draw %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if booked.Load() != 18 {
		t.Errorf("%d of 20 are booked by threes, want 18", booked.Load())
	}
	consume(t, s, consumption("what is left", o, 2), nil)
	consume(t, s, consumption("more", o, 1), registry.ErrExhausted)
}

// registryBurned: an act that failed gives nothing back.
//
// covers GC-198, GC-199
func registryBurned(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	o := open("o", partyA, agentA, 3)
	opened(t, s, o)
	consume(t, s, consumption("failed", o, 2), nil)
	burn := func(what, effector, request string, target error, first bool) {
		t.Helper()
		units, got, err := s.Burn(ctx, registry.Burn{Effector: effector, RequestID: request, At: registryStart})
		want(t, what, err, target)
		if got != first || target == nil && units != 2 {
			t.Errorf("%s: %d units, first %v", what, units, got)
		}
	}
	burn("unknown", partyA, "x", registry.ErrNotFound, false)
	burn("another's", partyB, "failed", registry.ErrNotFound, false)
	burn("first", partyA, "failed", nil, true)
	burn("again", partyA, "failed", nil, false)
	consume(t, s, consumption("failed", o, 2), nil) // the same answer, and no more units
	consume(t, s, consumption("two", o, 2), registry.ErrExhausted)
	consume(t, s, consumption("one", o, 1), nil)
}

// registryServiceHeld: no effector spends for a subject that an issuer may issue for, with
// its token in hand or not, and the refusal takes nothing.
//
// covers GC-077, GC-078, GC-079
func registryServiceHeld(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	p := newPair(t, s, "p")
	shown, alone := open("shown", partyA, agentA, 5), open("alone", partyA, agentA, 5)
	alone.SingleParty = true
	revoked := open("revoked", partyA, agentA, 5)
	opened(t, s, shown, alone, revoked)
	_, _, err := s.Revoke(ctx, registry.Revocation{Hash: revoked.OpenHash, At: registryStart})
	want(t, "revoke", err, nil)
	before := newPair(t, s, "before")
	_, err = s.Hold(ctx, holdOf(triple(before.a, before.b), partyB, "held"))
	want(t, "hold before the listing", err, nil)

	// The issuer is another principal's: membership is literal (AG-24).
	issuer := registry.Issuer{PrincipalID: partyB, Credential: hash("issuer"), Subjects: []string{agentA}, At: registryStart}
	want(t, "issuer", s.AddIssuer(ctx, issuer), nil)
	held := func(what string, tr registry.Closed, other registry.Closed, effector string) {
		t.Helper()
		_, err := s.Hold(ctx, holdOf(triple(tr, other), effector, "r"))
		want(t, what, err, registry.ErrServiceHeld)
	}
	held("initiator listed", p.a, p.b, partyB)
	held("responder listed", p.b, p.a, partyA)
	held("whoever asks", p.a, p.b, partyA)
	held("consumed before", before.a, p.b, partyB)
	for what, x := range map[string]struct {
		open   registry.Open
		change func(*registry.Consumption)
	}{
		"own effector":   {shown, func(*registry.Consumption) {}},
		"another's":      {alone, func(c *registry.Consumption) { c.Effector = partyB }},
		"expired":        {alone, func(c *registry.Consumption) { c.At = alone.ExpiresAt }},
		"class above":    {alone, func(c *registry.Consumption) { c.Class = commitment.Binding }},
		"above the rest": {alone, func(c *registry.Consumption) { c.Units = 6 }},
		"revoked":        {revoked, func(*registry.Consumption) {}},
	} {
		c := consumption(what, x.open, 1)
		x.change(&c)
		consume(t, s, c, registry.ErrServiceHeld)
	}
	for what, h := range map[string]jcs.Hex256{"initiator": p.a.TokenHash, "responder": p.b.TokenHash} {
		if active, err := s.Active(ctx, h, registryStart); err != nil || active == "" {
			t.Errorf("a refusal consumed the %s's Closed (%v)", what, err)
		}
	}
	_, err = s.AddClosed(ctx, closed("whole", alone, agentB, 5))
	want(t, "the whole limit is there", err, nil)
	// What was held before was consumed before: it keeps its receipt and can be confirmed.
	if got, err := s.Hold(ctx, holdOf(triple(before.a, before.b), partyB, "again")); err != nil || got != "held" {
		t.Errorf("repeat of a hold: %q, %v", got, err)
	}
	_, err = s.Confirm(ctx, confirmOf(triple(before.a, before.b), partyB, "spent"))
	want(t, "confirm", err, nil)
	// A withdrawn issuer's subjects stay listed: a token that leaked has not come back.
	want(t, "withdraw", s.Withdraw(ctx, registry.Withdrawal{Credential: issuer.Credential, At: registryStart}), nil)
	held("after the issuer's withdrawal", p.a, p.b, partyB)
	// Whoever is on no list is not touched.
	theirs := open("theirs", partyB, agentB, 1)
	opened(t, s, theirs)
	consume(t, s, consumption("theirs", theirs, 1), nil)
}
