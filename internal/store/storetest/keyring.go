package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/mandate"
)

// bounded is a new key that may sign between two times.
func bounded(t *testing.T, from, until time.Time) jose.Key {
	t.Helper()
	k := authorityKey(t)
	k.NotBefore, k.NotAfter = from, until
	return k
}

// keyringOps are the changes of a Keyring, for a principal's enrolment.
type keyringOps struct {
	asked      registry.Addition
	approval   registry.HumanDecision
	retirement registry.Retirement
	proof      registry.DomainProof
}

func keyringOperations(t *testing.T, e registry.Enrolment, operator registry.Actor) keyringOps {
	t.Helper()
	key := authorityKey(t)
	id := e.Principal.ID
	ops := keyringOps{
		asked: registry.Addition{
			PrincipalID: id, Requests: []mandate.Human{{ID: "urn:anax:human:asked", Key: key}},
			By: registry.Actor{Role: api.RolePrincipal, PrincipalID: id}, At: registryStart,
		},
		approval:   registry.HumanDecision{PrincipalID: id, Key: key.ID, Approve: true, By: operator, At: registryStart},
		retirement: registry.Retirement{PrincipalID: id, Key: key.ID, NotAfter: registryStart.Add(time.Hour), By: operator, At: registryStart},
		proof:      registry.DomainProof{PrincipalID: id, Domain: "a.example", By: operator, At: registryStart},
	}
	for _, k := range e.Principal.Keys {
		ops.proof.Keys = append(ops.proof.Keys, k.ID)
	}
	return ops
}

// registrySpans keeps when keys may sign, and retires them. An agent has several keys, one
// after the other.
func registrySpans(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	later, until := registryStart.Add(time.Hour), registryStart.Add(2*time.Hour)
	issuer, agent, human := bounded(t, later, until), bounded(t, later, time.Time{}), bounded(t, time.Time{}, until)
	a := registry.Addition{
		PrincipalID: partyA, Keys: []jose.Key{issuer}, Agents: []mandate.Agent{{ID: agentA, Key: agent}},
		Humans: []mandate.Human{{ID: "urn:anax:human:h", Key: human}}, At: registryStart,
	}
	want(t, "add", s.Add(ctx, a), nil)
	want(t, "add again", s.Add(ctx, a), nil)
	for what, change := range map[string]func(*registry.Addition){
		"another not_before": func(a *registry.Addition) { a.Keys[0].NotBefore = registryStart },
		"no not_before":      func(a *registry.Addition) { a.Agents[0].Key.NotBefore = time.Time{} },
		"a later not_after":  func(a *registry.Addition) { a.Humans[0].Key.NotAfter = until.Add(time.Millisecond) },
		"another's agent":    func(a *registry.Addition) { a.Agents[0] = mandate.Agent{ID: agentB, Key: authorityKey(t)} },
	} {
		b := a
		b.Keys, b.Agents, b.Humans = slices.Clone(a.Keys), slices.Clone(a.Agents), slices.Clone(a.Humans)
		change(&b)
		want(t, what, s.Add(ctx, b), registry.ErrExists)
	}
	find := func(id string) (found jose.Key) {
		t.Helper()
		p, err := s.Principal(ctx, partyA)
		want(t, "principal", err, nil)
		keys := slices.Clone(p.Keys)
		for _, g := range p.Agents {
			keys = append(keys, g.Key)
		}
		for _, h := range p.Humans {
			keys = append(keys, h.Key)
		}
		for _, k := range keys {
			if k.ID == id {
				found = k
			}
		}
		return found
	}
	for what, k := range map[string]jose.Key{"issuer's": issuer, "agent's": agent, "human's": human} {
		if got := find(k.ID); !got.Same(k) || !got.NotBefore.Equal(k.NotBefore) || !got.NotAfter.Equal(k.NotAfter) {
			t.Errorf("%s key reads back from %v until %v", what, got.NotBefore, got.NotAfter)
		}
	}

	retire := func(what, principal, key string, at time.Time, target error) {
		t.Helper()
		want(t, what, s.Retire(ctx, registry.Retirement{PrincipalID: principal, Key: key, NotAfter: at, At: registryStart}), target)
	}
	retire("unknown key", partyA, authorityKey(t).ID, later, registry.ErrNotFound)
	retire("another's key", partyB, issuer.ID, later, registry.ErrNotFound)
	retire("a later moment", partyA, issuer.ID, until.Add(time.Second), registry.ErrExists)
	retire("the same moment", partyA, issuer.ID, until, nil)
	retire("an earlier moment", partyA, issuer.ID, later, nil)
	retire("the old moment", partyA, issuer.ID, until, registry.ErrExists)
	retire("a key without end", partyA, agent.ID, until, nil)
	if k := find(issuer.ID); !k.NotAfter.Equal(later) || !find(agent.ID).NotAfter.Equal(until) || !find(human.ID).NotAfter.Equal(until) {
		t.Errorf("after that: %v, %v, %v", k.NotAfter, find(agent.ID).NotAfter, find(human.ID).NotAfter)
	}
}

// covers GC-021
func registryHumanRequests(t *testing.T, s registry.Store) {
	ctx := t.Context()
	e := enrolment(t, partyA, agentA)
	asked := mandate.Human{ID: "urn:anax:human:asked", Key: bounded(t, registryStart, registryStart.Add(time.Hour))}
	e.Requests = []mandate.Human{asked}
	for _, e := range []registry.Enrolment{e, enrolment(t, partyB, agentB)} {
		_, err := s.Enrol(ctx, e)
		want(t, "enrol", err, nil)
	}
	humans := func() int {
		t.Helper()
		p, err := s.Principal(ctx, partyA)
		want(t, "principal", err, nil)
		return len(p.Humans)
	}
	list := func(principal string) (states []string) {
		t.Helper()
		all, err := s.HumanRequests(ctx, principal, 10)
		want(t, "list", err, nil)
		for _, r := range all {
			states = append(states, r.State+" "+r.Human.ID)
		}
		return states
	}
	request := func(what, principal string, h mandate.Human, target error) {
		t.Helper()
		a := registry.Addition{PrincipalID: principal, Requests: []mandate.Human{h}, At: registryStart.Add(time.Minute)}
		want(t, what, s.Add(ctx, a), target)
	}
	decide := func(what, principal, key string, approve bool, target error) {
		t.Helper()
		want(t, what, s.DecideHuman(ctx, registry.HumanDecision{PrincipalID: principal, Key: key, Approve: approve, At: registryStart}), target)
	}
	second, third := mandate.Human{ID: "urn:anax:human:second", Key: authorityKey(t)}, mandate.Human{ID: "urn:anax:human:third", Key: authorityKey(t)}
	if n := humans(); n != 1 {
		t.Errorf("%d humans before any decision", n)
	}
	request("again", partyA, asked, nil)
	request("by another name", partyA, mandate.Human{ID: second.ID, Key: asked.Key}, registry.ErrExists)
	unbounded := asked
	unbounded.Key.NotAfter = time.Time{}
	request("with other bounds", partyA, unbounded, registry.ErrExists)
	request("what is registered", partyA, e.Principal.Humans[0], nil)
	request("an issuer's key", partyA, mandate.Human{ID: second.ID, Key: e.Principal.Keys[0]}, registry.ErrExists)
	request("another's human", partyB, e.Principal.Humans[0], registry.ErrExists)
	request("unknown principal", "urn:anax:principal:x", second, registry.ErrNotFound)
	request("second", partyA, second, nil)
	request("third", partyA, third, nil)
	request("third, of another principal", partyB, third, nil)
	if got := list(""); len(got) != 4 || got[0] != "pending "+asked.ID || humans() != 1 {
		t.Errorf("pending %q, %d humans", got, humans())
	}
	decide("not asked for", partyB, asked.Key.ID, true, registry.ErrNotFound)
	for range 2 {
		decide("approve", partyA, asked.Key.ID, true, nil)
		decide("reject", partyA, second.Key.ID, false, nil)
	}
	decide("reject what is approved", partyA, asked.Key.ID, false, registry.ErrExists)
	decide("approve what is rejected", partyA, second.Key.ID, true, registry.ErrExists)
	request("what is rejected", partyA, second, registry.ErrExists)
	request("what is approved", partyA, asked, nil)
	p, err := s.Principal(ctx, partyA)
	if err != nil || len(p.Humans) != 2 || p.Humans[1].ID != asked.ID || !p.Humans[1].Key.NotAfter.Equal(asked.Key.NotAfter) {
		t.Errorf("humans %+v, %v", p.Humans, err)
	}
	if got := list(partyA); !slices.Equal(got, []string{"pending " + third.ID, "rejected " + second.ID}) &&
		!slices.Equal(got, []string{"rejected " + second.ID, "pending " + third.ID}) {
		t.Errorf("of A: %q", got)
	}
	decide("first of two principals", partyB, third.Key.ID, true, nil)
	decide("second of two principals", partyA, third.Key.ID, true, registry.ErrExists)
	if got := list(""); !slices.Equal(got, []string{"pending " + third.ID}) {
		t.Errorf("pending in the end: %q", got)
	}
	// An operator who adds the key has approved it.
	fourth := mandate.Human{ID: "urn:anax:human:fourth", Key: authorityKey(t)}
	request("fourth", partyA, fourth, nil)
	want(t, "added", s.Add(ctx, registry.Addition{PrincipalID: partyA, Humans: []mandate.Human{fourth}, At: registryStart}), nil)
	if got := list(""); !slices.Equal(got, []string{"pending " + third.ID}) {
		t.Errorf("pending after an addition: %q", got)
	}

	many := registry.Addition{PrincipalID: partyB, At: registryStart}
	for i := range registry.MaxRequests {
		many.Requests = append(many.Requests, mandate.Human{ID: fmt.Sprint("urn:anax:human:", i), Key: jose.Key{ID: fmt.Sprint("key ", i), Public: third.Key.Public}})
	}
	want(t, "too many", s.Add(ctx, many), registry.ErrFull)
	if got := list(partyB); len(got) != 0 {
		t.Errorf("of too many, %d are kept", len(got))
	}
}

// covers GC-209, GC-369
func registryDomains(t *testing.T, s registry.Store) {
	ctx := t.Context()
	a, b := enrolment(t, partyA, agentA), enrolment(t, partyB, agentB)
	for _, e := range []registry.Enrolment{a, b} {
		_, err := s.Enrol(ctx, e)
		want(t, "enrol", err, nil)
	}
	base := keyringOperations(t, a, registry.Actor{Role: api.RoleOperator}).proof
	prove := func(what string, change func(*registry.DomainProof), target error) {
		t.Helper()
		d := base
		change(&d)
		want(t, what, s.ProveDomain(ctx, d), target)
	}
	shown := func(what, domain string, at time.Time) {
		t.Helper()
		p, err := s.Principal(ctx, partyA)
		if err != nil || p.Domain != domain || !p.DomainProvedAt.Equal(at) {
			t.Errorf("%s: %q, %v, %v", what, p.Domain, p.DomainProvedAt, err)
		}
	}
	prove("unknown principal", func(d *registry.DomainProof) { d.PrincipalID = "urn:anax:principal:x" }, registry.ErrNotFound)
	prove("one key missing", func(d *registry.DomainProof) { d.Keys = d.Keys[1:] }, registry.ErrExists)
	shown("before", "", time.Time{})
	prove("more keys than there are", func(d *registry.DomainProof) { d.Keys = append(slices.Clone(d.Keys), "x") }, nil)
	shown("proved", base.Domain, registryStart)
	prove("of an earlier time", func(d *registry.DomainProof) { d.At = registryStart.Add(-time.Hour) }, nil)
	shown("still", base.Domain, registryStart)
	later := registryStart.Add(time.Hour)
	prove("again", func(d *registry.DomainProof) { d.At = later }, nil)
	shown("later", base.Domain, later)
	due := func(what string, before time.Time, after string, wanted ...api.DomainProof) {
		t.Helper()
		if got, err := s.Domains(ctx, before, after, 10); err != nil || !slices.Equal(got, wanted) {
			t.Errorf("%s: due %+v, %v", what, got, err)
		}
	}
	of := api.DomainProof{PrincipalID: partyA, Domain: base.Domain}
	due("proved", later, "")
	due("a moment later", later.Add(1), "") // times have a resolution of a millisecond
	due("old", later.Add(time.Millisecond), "", of)
	due("after it", later.Add(time.Millisecond), partyA)

	// A new key has not been seen there; a retired one need not be.
	next := authorityKey(t)
	want(t, "new key", s.Add(ctx, registry.Addition{PrincipalID: partyA, Keys: []jose.Key{next}, At: later}), nil)
	shown("with a new key", base.Domain, time.Time{})
	due("with a new key", registryStart, "", of)
	prove("without the new key", func(d *registry.DomainProof) { d.At = later.Add(time.Hour) }, registry.ErrExists)
	want(t, "retire", s.Retire(ctx, registry.Retirement{PrincipalID: partyA, Key: base.Keys[0], NotAfter: later, At: later}), nil)
	prove("before it is retired", func(d *registry.DomainProof) {
		d.Keys, d.At = []string{base.Keys[1], next.ID}, later.Add(-time.Second)
	}, registry.ErrExists)
	prove("without the retired one", func(d *registry.DomainProof) { d.Keys, d.At = []string{base.Keys[1], next.ID}, later }, nil)
	shown("rotated", base.Domain, later)
	prove("another domain", func(d *registry.DomainProof) {
		d.Domain, d.Keys, d.At = "b.example", []string{base.Keys[0], base.Keys[1], next.ID}, registryStart
	}, nil)
	shown("moved", "b.example", registryStart)

	want(t, "suspend", s.SetStatus(ctx, registry.StatusChange{PrincipalID: partyA, At: later}), nil)
	due("suspended", later.Add(time.Hour), "")
}
