package storetest

import (
	"bytes"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// signed is a pair whose rows name the keys that have signed them.
type signed struct {
	a, b         registry.Enrolment
	openA, openB registry.Open
	ca, cb       registry.Closed
	a2, b2       registry.Closed // like ca and cb
}

// newSigned enrols both parties and registers an Open and a Closed of each. A's Closed is
// by its human.
func newSigned(t *testing.T, s registry.Store) signed {
	t.Helper()
	ctx := t.Context()
	x := signed{a: enrolment(t, partyA, agentA, api.RolePrincipal), b: enrolment(t, partyB, agentB, api.RoleOperator)}
	for _, e := range []registry.Enrolment{x.a, x.b} {
		_, err := s.Enrol(ctx, e)
		want(t, "enrol", err, nil)
	}
	x.openA, x.openB = open("A", partyA, agentA, 5), open("B", partyB, agentB, 5)
	x.openA.SignerKey, x.openA.ConfirmationKey = x.a.Principal.Keys[0].ID, x.a.Principal.Agents[0].Key.ID
	x.openB.SignerKey, x.openB.ConfirmationKey = x.b.Principal.Keys[0].ID, x.b.Principal.Agents[0].Key.ID
	x.ca, x.cb = closed("a", x.openA, agentB, 1), closed("b", x.openB, agentA, 1)
	x.a2, x.b2 = closed("a2", x.openA, agentB, 1), closed("b2", x.openB, agentA, 1)
	x.ca.SignerKey, x.cb.SignerKey = x.a.Principal.Humans[0].Key.ID, x.openB.ConfirmationKey
	x.a2.SignerKey, x.b2.SignerKey = x.ca.SignerKey, x.cb.SignerKey
	for _, o := range []registry.Open{x.openA, x.openB} {
		_, err := s.AddOpen(ctx, o)
		want(t, "open", err, nil)
	}
	for _, c := range []registry.Closed{x.ca, x.cb, x.a2, x.b2} {
		_, err := s.AddClosed(ctx, c)
		want(t, "closed", err, nil)
	}
	return x
}

// revocations are all that can end A's Closed but its own revocation, and whether A's Open
// ends as well.
func (x signed) revocations() map[string]struct {
	registry.SignerRevocation
	open bool
} {
	key := func(k jose.Key) registry.SignerRevocation {
		return registry.SignerRevocation{Kind: api.KindKey, PrincipalID: partyA, Subject: k.ID, At: registryStart}
	}
	return map[string]struct {
		registry.SignerRevocation
		open bool
	}{
		"issuer key":  {key(x.a.Principal.Keys[0]), true},
		"cnf key":     {key(x.a.Principal.Agents[0].Key), true},
		"human's key": {key(x.a.Principal.Humans[0].Key), false},
		"human": {registry.SignerRevocation{
			Kind: api.KindHuman, PrincipalID: partyA, Subject: x.a.Principal.Humans[0].ID, At: registryStart}, false},
		"principal": {registry.SignerRevocation{Kind: api.KindPrincipal, PrincipalID: partyA, At: registryStart}, true},
	}
}

// covers GC-301, GC-302, GC-303
func registrySigners(t *testing.T, newStore func(*testing.T) registry.Store) {
	names := []string{"issuer key", "cnf key", "human's key", "human", "principal"}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			x := newSigned(t, s)
			v := x.revocations()[name]
			signerRevokedBetween(t, s, x, v.SignerRevocation)
			signerRevoked(t, s, x, v.SignerRevocation, v.open)
		})
	}
}

// signerRevokedBetween revokes between the hold of one pair and its confirm (WC-10), and
// before the hold of the other.
func signerRevokedBetween(t *testing.T, s registry.Store, x signed, v registry.SignerRevocation) {
	ctx, tr := t.Context(), triple(x.a2, x.b2)
	_, err := s.Hold(ctx, holdOf(tr, partyB, "held"))
	want(t, "hold", err, nil)
	_, err = s.RevokeSigner(ctx, v)
	want(t, "revoke", err, nil)
	for range 2 {
		_, err = s.Confirm(ctx, confirmOf(tr, partyB, "spent"))
		want(t, "confirm", err, registry.ErrRevoked)
	}
	if i, r, err := s.Spent(ctx, tr); err != nil || !i || !r {
		t.Errorf("spent flags %v, %v, %v", i, r, err)
	}
	_, err = s.Hold(ctx, holdOf(triple(x.ca, x.cb), partyB, "held"))
	want(t, "hold of another pair", err, registry.ErrRevoked)
}

// signerRevoked looks at what is left of A's mandates once their signer is revoked.
func signerRevoked(t *testing.T, s registry.Store, x signed, v registry.SignerRevocation, opens bool) {
	ctx := t.Context()
	for what, c := range map[string]struct {
		hash   jcs.Hex256
		active bool
	}{
		"A's open": {x.openA.OpenHash, !opens}, "A's closed": {x.ca.TokenHash, false},
		"B's open": {x.openB.TokenHash, true}, "B's closed": {x.cb.TokenHash, true},
	} {
		if got, err := s.Active(ctx, c.hash, registryStart); err != nil || (got != "") != c.active {
			t.Errorf("%s: active %v, %v", what, got, err)
		}
	}
	target := func(dead bool) error {
		if dead {
			return registry.ErrRevoked
		}
		return nil
	}
	another := open("A2", partyA, agentA, 5)
	another.SignerKey, another.ConfirmationKey = x.openA.SignerKey, x.openA.ConfirmationKey
	_, err := s.AddOpen(ctx, another)
	want(t, "another Open", err, target(opens))
	if _, err := s.FindOpen(ctx, another.OpenHash); opens && err == nil {
		t.Error("the refused Open is there")
	}
	second := closed("a3", x.openA, agentB, 1)
	second.SignerKey = x.ca.SignerKey
	_, err = s.AddClosed(ctx, second)
	want(t, "another Closed", err, registry.ErrRevoked)
	second.SignerKey = x.openA.ConfirmationKey
	_, err = s.AddClosed(ctx, second)
	want(t, "another Closed, by the agent", err, target(opens))
	c := consumption("units", x.openA, 1)
	_, err = s.Consume(ctx, c)
	want(t, "units", err, target(opens))
	p, err := s.Principal(ctx, partyA)
	want(t, "principal", err, nil)
	if p.Active == (v.Kind == api.KindPrincipal) {
		t.Errorf("the record says active: %v", p.Active)
	}
	for _, k := range keysOf(p) {
		if k.ID == v.Subject || v.Kind == api.KindHuman && len(p.Humans) > 0 {
			t.Errorf("the record has the key still: %+v", p)
		}
	}
}

func keysOf(p mandate.Principal) []jose.Key {
	keys := p.Keys
	for _, a := range p.Agents {
		keys = append(keys, a.Key)
	}
	for _, h := range p.Humans {
		keys = append(keys, h.Key)
	}
	return keys
}

func registrySignerStands(t *testing.T, s registry.Store) {
	ctx, x := t.Context(), newSigned(t, s)
	tr := triple(x.ca, x.cb)
	_, err := s.Hold(ctx, holdOf(tr, partyB, "held"))
	want(t, "hold", err, nil)
	_, err = s.Confirm(ctx, confirmOf(tr, partyB, "spent"))
	want(t, "confirm", err, nil)
	for name, v := range x.revocations() {
		_, err = s.RevokeSigner(ctx, v.SignerRevocation)
		want(t, name, err, nil)
	}
	if got, err := s.Confirm(ctx, confirmOf(tr, partyB, "again")); err != nil || got != "spent" {
		t.Errorf("what was confirmed before: %q, %v", got, err)
	}
}

// registrySignerRights: whose, first time, and what stays out for good.
func registrySignerRights(t *testing.T, s registry.Store) {
	ctx, x := t.Context(), newSigned(t, s)
	later := registryStart.Add(time.Hour)
	revoke := func(what, kind, principal, subject string, at time.Time, target error) {
		t.Helper()
		got, err := s.RevokeSigner(ctx, registry.SignerRevocation{Kind: kind, PrincipalID: principal, Subject: subject, At: at})
		want(t, what, err, target)
		if err == nil && !got.Equal(registryStart) {
			t.Errorf("%s: since %v", what, got)
		}
	}
	human := x.a.Principal.Humans[0]
	agent := x.a.Principal.Agents[0]
	revoke("unknown key", api.KindKey, partyA, "x", registryStart, registry.ErrNotFound)
	revoke("another's key", api.KindKey, partyB, agent.Key.ID, registryStart, registry.ErrNotFound)
	revoke("unknown human", api.KindHuman, partyA, "urn:anax:human:x", registryStart, registry.ErrNotFound)
	revoke("an agent as a human", api.KindHuman, partyA, agentA, registryStart, registry.ErrNotFound)
	revoke("unknown principal", api.KindPrincipal, "urn:anax:principal:x", "", registryStart, registry.ErrNotFound)
	revoke("the operator's principal", api.KindPrincipal, partyB, "", registryStart, registry.ErrOperator)
	revoke("key", api.KindKey, partyA, agent.Key.ID, registryStart, nil)
	revoke("key again", api.KindKey, partyA, agent.Key.ID, later, nil)
	revoke("human", api.KindHuman, partyA, human.ID, registryStart, nil)
	revoke("human again", api.KindHuman, partyA, human.ID, later, nil)

	add := func(what string, a registry.Addition, target error) {
		t.Helper()
		a.PrincipalID, a.At = partyA, later
		want(t, what, s.Add(ctx, a), target)
	}
	add("the revoked key again", registry.Addition{Agents: []mandate.Agent{agent}}, registry.ErrExists)
	add("the revoked human, another key", registry.Addition{Humans: []mandate.Human{{ID: human.ID, Key: authorityKey(t)}}}, registry.ErrExists)
	add("another human", registry.Addition{Humans: []mandate.Human{{ID: "urn:anax:human:other", Key: authorityKey(t)}}}, nil)

	revoke("principal", api.KindPrincipal, partyA, "", registryStart, nil)
	revoke("principal again", api.KindPrincipal, partyA, "", later, nil)
	want(t, "reinstate", s.SetStatus(ctx, registry.StatusChange{PrincipalID: partyA, Active: true, At: later}), registry.ErrRevoked)
	want(t, "suspend", s.SetStatus(ctx, registry.StatusChange{PrincipalID: partyA, At: later}), nil)
	_, err := s.Actor(ctx, hash(api.RolePrincipal, partyA))
	want(t, "its credential", err, registry.ErrNotFound)
}

// registrySignerUnsaid: a row of before keys were noted bears every key of its principal.
func registrySignerUnsaid(t *testing.T, s registry.Store) {
	ctx := t.Context()
	a := enrolment(t, partyA, agentA)
	for _, e := range []registry.Enrolment{a, enrolment(t, partyB, agentB)} {
		_, err := s.Enrol(ctx, e)
		want(t, "enrol", err, nil)
	}
	p := newPair(t, s, "p")
	_, err := s.RevokeSigner(ctx, registry.SignerRevocation{Kind: api.KindKey, PrincipalID: partyA, Subject: a.Principal.Keys[1].ID, At: registryStart})
	want(t, "revoke", err, nil)
	for what, h := range map[string]jcs.Hex256{"open": p.openA.OpenHash, "closed": p.a.TokenHash} {
		if active, err := s.Active(ctx, h, registryStart); err != nil || active != "" {
			t.Errorf("%s: active %v, %v", what, active, err)
		}
	}
	if active, err := s.Active(ctx, p.b.TokenHash, registryStart); err != nil || active == "" {
		t.Errorf("the other principal's: active %v, %v", active, err)
	}
}

// registrySignerRace: of a confirm and a revocation of a key one comes first.
func registrySignerRace(t *testing.T, s registry.Store) {
	ctx, x := t.Context(), newSigned(t, s)
	tr := triple(x.ca, x.cb)
	_, err := s.Hold(ctx, holdOf(tr, partyB, "held"))
	want(t, "hold", err, nil)
	var wg sync.WaitGroup
	var spent, refused atomic.Int32
	wg.Go(func() {
		if _, err := s.RevokeSigner(ctx, x.revocations()["issuer key"].SignerRevocation); err != nil {
			t.Error(err)
		}
	})
	for range 20 {
		wg.Go(func() {
			switch _, err := s.Confirm(ctx, confirmOf(tr, partyB, "spent")); err {
			case nil:
				spent.Add(1)
			default:
				want(t, "confirm", err, registry.ErrRevoked)
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	if spent.Load() > 0 && refused.Load() > 20-1 {
		t.Errorf("%d spent, %d refused", spent.Load(), refused.Load())
	}
	_, err = s.Confirm(ctx, confirmOf(tr, partyB, "again"))
	if (err == nil) != (spent.Load() > 0) {
		t.Errorf("%d confirms were answered, and the next gets %v", spent.Load(), err)
	}
}

// registryStatusLists: who is in which list, and what it says of each.
func registryStatusLists(t *testing.T, s registry.Store) {
	ctx, x := t.Context(), newSigned(t, s)
	fresh := registry.NewStatusList{ID: "l1", Seed: bytes.Repeat([]byte{7}, 32), At: registryStart}
	current := func(what, wanted string) {
		t.Helper()
		got, err := s.StatusList(ctx, fresh)
		if err != nil || got != wanted {
			t.Errorf("%s: list %q, %v", what, got, err)
		}
	}
	_, _, err := s.StatusEntries(ctx, "l1", registryStart)
	want(t, "before there is one", err, registry.ErrNotFound)
	current("first", "l1")
	fresh.ID = "l2"
	current("again", "l1")
	listed := func(name string, index int64) registry.Open {
		o := open(name, partyA, agentA, 5)
		o.SignerKey, o.ConfirmationKey = x.openA.SignerKey, x.openA.ConfirmationKey
		o.StatusList, o.StatusIndex = "l1", index
		return o
	}
	first, second := listed("L1", 5), listed("L2", registry.ListEntries-1)
	for _, o := range []registry.Open{first, second} {
		receipt, err := s.AddOpen(ctx, o)
		want(t, "listed", err, nil)
		again, err := s.AddOpen(ctx, o)
		if err != nil || again != receipt {
			t.Errorf("again: %q, %v", again, err)
		}
	}
	_, err = s.AddOpen(ctx, listed("L3", 5))
	want(t, "a taken index", err, registry.ErrListed)
	_, err = s.FindOpen(ctx, listed("L3", 5).OpenHash)
	want(t, "nothing is written", err, registry.ErrNotFound)
	unknown := listed("L3", 6)
	unknown.StatusList = "l9"
	_, err = s.AddOpen(ctx, unknown)
	if err == nil {
		t.Error("an Open is in a list that does not exist")
	}

	entries := func(what string, at time.Time, wanted map[int64]bool) {
		t.Helper()
		seed, got, err := s.StatusEntries(ctx, "l1", at)
		if err != nil || !bytes.Equal(seed, fresh.Seed) || len(got) != len(wanted) {
			t.Fatalf("%s: %v, %v", what, got, err)
		}
		for _, e := range got {
			if active, listed := wanted[e.Index]; !listed || active != e.Active {
				t.Errorf("%s: entry %+v", what, e)
			}
		}
		for _, o := range []registry.Open{first, second} {
			if active, err := s.Active(ctx, o.OpenHash, at); err != nil || (active != "") != wanted[o.StatusIndex] {
				t.Errorf("%s: active %v, %v", what, active, err)
			}
		}
	}
	entries("both", registryStart, map[int64]bool{5: true, registry.ListEntries - 1: true})
	entries("at exp", first.ExpiresAt, map[int64]bool{5: false, registry.ListEntries - 1: false})
	_, _, err = s.Revoke(ctx, registry.Revocation{Hash: first.TokenHash, At: registryStart})
	want(t, "revoke", err, nil)
	entries("one revoked", registryStart, map[int64]bool{5: false, registry.ListEntries - 1: true})
	suspend := func(active bool) {
		want(t, "suspend", s.SetStatus(ctx, registry.StatusChange{PrincipalID: partyA, Active: active, At: registryStart}), nil)
	}
	suspend(false)
	entries("suspended", registryStart, map[int64]bool{5: false, registry.ListEntries - 1: false})
	suspend(true)
	entries("reinstated", registryStart, map[int64]bool{5: false, registry.ListEntries - 1: true})
	_, err = s.RevokeSigner(ctx, x.revocations()["cnf key"].SignerRevocation)
	want(t, "revoke the key", err, nil)
	entries("key revoked", registryStart, map[int64]bool{5: false, registry.ListEntries - 1: false})
	if rows, err := s.AuditRows(ctx, math.MaxInt64, 1); err != nil || len(rows) != 1 || rows[0].Operation != "revoke_key" {
		t.Errorf("the newest audit row: %+v, %v", rows, err)
	}
}

func registryAllPeers(t *testing.T, s registry.Store) {
	ctx := t.Context()
	all, err := s.AllPeers(ctx)
	want(t, "none", err, nil)
	if len(all) != 0 {
		t.Errorf("peers of an empty store: %+v", all)
	}
	for i, e := range []registry.Enrolment{enrolment(t, partyB, agentB), enrolment(t, partyA, agentA)} {
		e.Peer = &registry.Peer{
			PrincipalID: e.Principal.ID, Key: authorityKey(t), URL: "https://ra.example/" + e.Principal.ID,
			At: registryStart.Add(time.Duration(i) * time.Second),
		}
		e.At = e.Peer.At
		_, err := s.Enrol(ctx, e)
		want(t, "enrol", err, nil)
	}
	all, err = s.AllPeers(ctx)
	want(t, "two", err, nil)
	if len(all) != 2 || all[0].PrincipalID != partyB || all[1].PrincipalID != partyA {
		t.Fatalf("peers %+v", all)
	}
	for _, p := range all {
		one, err := s.Peer(ctx, p.PrincipalID)
		if err != nil || one.URL != p.URL || !one.Key.Same(p.Key) || !one.At.Equal(p.At) {
			t.Errorf("%+v, alone %+v, %v", p, one, err)
		}
	}
}
