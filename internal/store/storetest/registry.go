package storetest

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Registry checks an implementation of [registry.Store]. newStore returns a new, empty
// store and closes it when its test ends.
func Registry(t *testing.T, newStore func(t *testing.T) registry.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, registry.Store)
	}{
		{"codes", registryCodes},
		{"code terms", registryCodeTerms},
		{"code race", registryCodeRace},
		{"conflicts", registryConflicts},
		{"actors", registryActors},
		{"principal", registryPrincipal},
		{"opens", registryOpens},
		{"closeds", registryCloseds},
		{"draws", registryDraws},
		{"draw race", registryDrawRace},
		{"holdable", registryHoldable},
		{"hold again", registryHoldAgain},
		{"hold race", registryHoldRace},
		{"confirm and revoke race", registryConfirmRace},
		{"revoked", registryRevoked},
		{"active", registryActive},
		{"spent flags", registrySpentFlags},
		{"interleavings", registryInterleavings},
		{"release", registryRelease},
		{"released by whom", registryReleaseJudged},
		{"release race", registryReleaseRace},
		{"lapsed", registryLapsed},
		{"sweep bounds", registrySweepBounds},
		{"halves", registryHalves},
		{"halves judged", registryHalvesJudged},
		{"refused for good", registryRefusedForGood},
		{"traces", registryTraces},
		{"units", registryUnits},
		{"units of whom", registryUnitsJudged},
		{"units again", registryUnitsAgain},
		{"units race", registryUnitsRace},
		{"units burned", registryBurned},
		{"service held", registryServiceHeld},
		{"issuers", registryIssuers},
		{"additions", registryAdditions},
		{"addition bounds", registryAdditionBounds},
		{"key spans", registrySpans},
		{"humans' requests", registryHumanRequests},
		{"domains", registryDomains},
		{"suspended", registrySuspended},
		{"withdrawals", registryWithdrawals},
		{"audit", registryAudit},
		{"signer stands", registrySignerStands},
		{"signer rights", registrySignerRights},
		{"signer unsaid", registrySignerUnsaid},
		{"signer race", registrySignerRace},
		{"status lists", registryStatusLists},
		{"all peers", registryAllPeers},
		{"peers", registryPeers},
		{"unpin", registryUnpin},
		{"audit chain", registryLedger},
		{"audit heads", registryHeads},
		{"burned hold", registryBurnedHold},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, newStore(t))
		})
	}
	t.Run("signers", func(t *testing.T) { registrySigners(t, newStore) })
}

var registryStart = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

const (
	partyA = "urn:anax:principal:a"
	partyB = "urn:anax:principal:b"
	agentA = "urn:anax:agent:a"
	agentB = "urn:anax:agent:b"
)

// hash names rows of a test: any two names give two hashes.
func hash(parts ...any) jcs.Hex256 { return jcs.HexOf([]byte(fmt.Sprint(parts...))) }

// enrolment is a principal with one key, agent and human, and a credential for each of
// the given roles, whose hash is that of role and principal.
func enrolment(t *testing.T, principal, agent string, roles ...string) registry.Enrolment {
	t.Helper()
	e := registry.Enrolment{
		Answer: []byte(`{}`), At: registryStart,
		Principal: mandate.Principal{
			ID: principal, Name: "Näme", Active: true, ClearanceIDHash: hash("clearance"),
			TrustBasis: "self_declared", AGCLevel: 3,
		},
	}
	e.Principal.Keys = append(e.Principal.Keys, authorityKey(t), authorityKey(t))
	e.Principal.Agents = []mandate.Agent{{ID: agent, Key: authorityKey(t)}}
	e.Principal.Humans = []mandate.Human{{ID: "urn:anax:human:h", Key: authorityKey(t)}}
	for _, role := range roles {
		c := api.Credential{Role: role, Hash: hash(role, principal)}
		if role == api.RoleAgent {
			c.AgentID = agent
		}
		e.Credentials = append(e.Credentials, c)
	}
	return e
}

// codeOf is a code for anybody, good for an hour.
func codeOf(secret jcs.Hex256) registry.Code {
	return registry.Code{
		Secret: secret, CodeTerms: registry.CodeTerms{Kind: registry.CodeAny}, At: registryStart, Expires: registryStart.Add(time.Hour),
	}
}

func enrolled(t *testing.T, s registry.Store) {
	t.Helper()
	for _, e := range []registry.Enrolment{enrolment(t, partyA, agentA), enrolment(t, partyB, agentB)} {
		if _, err := s.Enrol(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

func registryCodes(t *testing.T, s registry.Store) {
	ctx := t.Context()
	code, expires := hash("code"), registryStart.Add(time.Hour)
	want(t, "add", s.AddCode(ctx, codeOf(code)), nil)
	want(t, "add again", s.AddCode(ctx, codeOf(code)), registry.ErrExists)

	base := enrolment(t, partyA, agentA)
	base.Code, base.Request, base.Answer = code, hash("request"), []byte("first")
	try := func(what string, change func(*registry.Enrolment), target error, answer string) {
		t.Helper()
		e := base
		change(&e)
		got, err := s.Enrol(ctx, e)
		want(t, what, err, target)
		if string(got) != answer {
			t.Errorf("%s: answer %q, want %q", what, got, answer)
		}
	}
	try("unknown code", func(e *registry.Enrolment) { e.Code = hash("no code") }, registry.ErrCode, "")
	try("expired code", func(e *registry.Enrolment) { e.At = expires }, registry.ErrCode, "")
	try("use", func(*registry.Enrolment) {}, nil, "first")
	try("same request", func(e *registry.Enrolment) { e.Answer = []byte("second") }, nil, "first")
	try("same request, later", func(e *registry.Enrolment) { e.At, e.Answer = expires.Add(time.Hour), []byte("third") }, nil, "first")
	try("other request", func(e *registry.Enrolment) { e.Request = hash("other") }, registry.ErrCode, "")

	// A refused enrolment leaves its code as it was.
	want(t, "add second", s.AddCode(ctx, codeOf(hash("second"))), nil)
	try("taken", func(e *registry.Enrolment) { e.Code, e.Request = hash("second"), hash("taken") }, registry.ErrExists, "")
	other := enrolment(t, partyB, agentB)
	other.Code, other.Request, other.Answer = hash("second"), hash("b"), []byte("b")
	if got, err := s.Enrol(ctx, other); err != nil || string(got) != "b" {
		t.Errorf("use after a refusal: %q, %v", got, err)
	}
}

func registryCodeRace(t *testing.T, s registry.Store) {
	want(t, "add", s.AddCode(t.Context(), codeOf(hash("code"))), nil)
	var wg sync.WaitGroup
	var won atomic.Int32
	for i := range 20 {
		e := enrolment(t, fmt.Sprint("urn:anax:principal:p", i), fmt.Sprint("urn:anax:agent:p", i))
		e.Code, e.Request = hash("code"), hash("request", i)
		wg.Go(func() {
			if _, err := s.Enrol(t.Context(), e); err == nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d requests used one code", won.Load())
	}
}

// covers GC-082
func registryConflicts(t *testing.T, s registry.Store) {
	ctx := t.Context()
	first := enrolment(t, partyA, agentA, api.RoleEffector)
	_, err := s.Enrol(ctx, first)
	want(t, "first", err, nil)
	for what, change := range map[string]func(*registry.Enrolment){
		"principal":  func(e *registry.Enrolment) { e.Principal.ID = partyA },
		"agent":      func(e *registry.Enrolment) { e.Principal.Agents[0].ID = agentA },
		"key":        func(e *registry.Enrolment) { e.Principal.Keys[1] = first.Principal.Keys[0] },
		"other use":  func(e *registry.Enrolment) { e.Principal.Agents[0].Key = first.Principal.Keys[0] },
		"credential": func(e *registry.Enrolment) { e.Credentials[0].Hash = first.Credentials[0].Hash },
		"two roles": func(e *registry.Enrolment) {
			e.Credentials = append(e.Credentials, api.Credential{Role: api.RoleIssuer, Hash: e.Credentials[0].Hash})
		},
	} {
		e := enrolment(t, partyB, agentB, api.RoleEffector)
		change(&e)
		_, err := s.Enrol(ctx, e)
		want(t, what, err, registry.ErrExists)
		_, err = s.Principal(ctx, partyB)
		want(t, what+": nothing is written", err, registry.ErrNotFound)
	}
}

func registryActors(t *testing.T, s registry.Store) {
	ctx := t.Context()
	roles := []string{api.RolePrincipal, api.RoleAgent, api.RoleIssuer, api.RoleEffector, api.RoleOperator}
	_, err := s.Enrol(ctx, enrolment(t, partyA, agentA, roles...))
	want(t, "enrol", err, nil)
	for _, role := range roles {
		wanted := registry.Actor{Role: role, PrincipalID: partyA}
		switch role {
		case api.RoleAgent:
			wanted.AgentID = agentA
		case api.RoleIssuer:
			wanted.Issuer = hash(role, partyA)
		}
		if got, err := s.Actor(ctx, hash(role, partyA)); err != nil || got != wanted {
			t.Errorf("%s: %+v, %v", role, got, err)
		}
	}
	_, err = s.Actor(ctx, hash("unknown"))
	want(t, "unknown", err, registry.ErrNotFound)

	suspended := enrolment(t, partyB, agentB, api.RoleEffector)
	suspended.Principal.Active = false
	_, err = s.Enrol(ctx, suspended)
	want(t, "enrol suspended", err, nil)
	_, err = s.Actor(ctx, hash(api.RoleEffector, partyB))
	want(t, "suspended", err, registry.ErrNotFound)
	if p, err := s.Principal(ctx, partyB); err != nil || p.Active {
		t.Errorf("suspended principal: active %v, %v", p.Active, err)
	}
}

func registryPrincipal(t *testing.T, s registry.Store) {
	_, err := s.Principal(t.Context(), partyA)
	want(t, "unknown", err, registry.ErrNotFound)
	e := enrolment(t, partyA, agentA)
	_, err = s.Enrol(t.Context(), e)
	want(t, "enrol", err, nil)
	got, err := s.Principal(t.Context(), partyA)
	want(t, "read", err, nil)
	if !reflect.DeepEqual(got, e.Principal) {
		t.Errorf("got %+v, want %+v", got, e.Principal)
	}
}

// open is the Open of a party, with a limit in class irreversible.
func open(name, principal, agent string, limit commitment.Magnitude) registry.Open {
	return registry.Open{
		OpenHash: hash(name, "open"), TokenHash: hash(name, "token"), SignedHash: hash(name, "signed"),
		PrincipalID: principal, AgentID: agent,
		Limit:     commitment.Amount{Class: commitment.Irreversible, Magnitude: limit},
		ExpiresAt: registryStart.Add(time.Hour), Token: "token of " + name, Receipt: "receipt of " + name, At: registryStart,
		By: registry.Actor{Role: api.RolePrincipal, PrincipalID: principal},
	}
}

// closed is a Closed under an Open of [open], for the other party's agent.
func closed(name string, parent registry.Open, counterparty string, draw commitment.Magnitude) registry.Closed {
	return registry.Closed{
		TokenHash: hash(name, "token"), SignedHash: hash(name, "signed"), OpenHash: parent.OpenHash,
		PrincipalID: parent.PrincipalID, AgentID: parent.AgentID, CounterpartyAgent: counterparty,
		ChainID: chain.ID(parent.AgentID, counterparty), CrossingID: "00000000-0000-4000-8000-000000000001",
		Limit: draw, Draw: draw, ExpiresAt: registryStart.Add(10 * time.Minute), Receipt: "receipt of " + name, At: registryStart,
	}
}

// covers GC-076
func registryOpens(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	o := open("o", partyA, agentA, 250000)
	o.Limit = commitment.Amount{Class: commitment.Financial, Magnitude: 250000, Currency: "EUR"}
	_, err := s.FindOpen(ctx, o.OpenHash)
	want(t, "unknown", err, registry.ErrNotFound)
	add := func(what string, change func(*registry.Open), target error, receipt string) {
		t.Helper()
		x := o
		change(&x)
		got, err := s.AddOpen(ctx, x)
		want(t, what, err, target)
		if got != receipt {
			t.Errorf("%s: receipt %q, want %q", what, got, receipt)
		}
	}
	add("add", func(*registry.Open) {}, nil, "receipt of o")
	add("again", func(x *registry.Open) { x.Receipt = "another" }, nil, "receipt of o")
	add("another principal's", func(x *registry.Open) { x.PrincipalID = partyB }, registry.ErrExists, "")
	add("other bytes, same signature", func(x *registry.Open) { x.TokenHash = hash("x") }, registry.ErrExists, "")
	add("same payload, other signature", func(x *registry.Open) { x.TokenHash, x.OpenHash = hash("x"), hash("x") }, registry.ErrExists, "")
	got, err := s.FindOpen(ctx, o.OpenHash)
	want(t, "find", err, nil)
	o.By = registry.Actor{} // is not read back
	if !reflect.DeepEqual(got, o) {
		t.Errorf("got %+v, want %+v", got, o)
	}
}

// covers GC-076
func registryCloseds(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	o := open("o", partyA, agentA, 5)
	_, err := s.AddOpen(ctx, o)
	want(t, "open", err, nil)
	c := closed("c", o, agentB, 3)
	_, err = s.FindClosed(ctx, c.TokenHash)
	want(t, "unknown", err, registry.ErrNotFound)
	add := func(what string, change func(*registry.Closed), target error, receipt string) {
		t.Helper()
		x := c
		change(&x)
		got, err := s.AddClosed(ctx, x)
		want(t, what, err, target)
		if got != receipt {
			t.Errorf("%s: receipt %q, want %q", what, got, receipt)
		}
	}
	add("unknown open", func(x *registry.Closed) { x.OpenHash = hash("x") }, registry.ErrNotFound, "")
	add("add", func(*registry.Closed) {}, nil, "receipt of c")
	add("again", func(x *registry.Closed) { x.Receipt = "another" }, nil, "receipt of c")
	add("other counterparty", func(x *registry.Closed) { x.CounterpartyAgent = "urn:anax:agent:x" }, registry.ErrExists, "")
	add("other agent", func(x *registry.Closed) { x.AgentID = agentB }, registry.ErrExists, "")
	add("same payload, other signature", func(x *registry.Closed) { x.TokenHash = hash("x") }, registry.ErrExists, "")
	got, err := s.FindClosed(ctx, c.TokenHash)
	want(t, "find", err, nil)
	c.Draw = 0 // is not read back
	if !reflect.DeepEqual(got, c) {
		t.Errorf("got %+v, want %+v", got, c)
	}
	// The repeats booked nothing: 2 of 5 are left.
	_, err = s.AddClosed(ctx, closed("rest", o, agentB, 2))
	want(t, "the rest", err, nil)
}

// covers GC-191, GC-192
func registryDraws(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	add := func(what string, c registry.Closed, target error) {
		t.Helper()
		_, err := s.AddClosed(ctx, c)
		want(t, what, err, target)
	}
	o := open("o", partyA, agentA, 5)
	observe := open("observe", partyA, agentA, 0)
	observe.Limit.Class = commitment.Observe
	none := open("none", partyA, agentA, 0)
	revoked := open("revoked", partyA, agentA, 5)
	for _, x := range []registry.Open{o, observe, none, revoked} {
		_, err := s.AddOpen(ctx, x)
		want(t, "open", err, nil)
	}
	_, _, err := s.Revoke(ctx, registry.Revocation{Hash: revoked.OpenHash, At: registryStart})
	want(t, "revoke", err, nil)

	add("above the limit", closed("6", o, agentB, 6), registry.ErrExhausted)
	add("part", closed("3", o, agentB, 3), nil)
	add("remaining + 1", closed("3b", o, agentB, 3), registry.ErrExhausted)
	add("remaining", closed("2", o, agentB, 2), nil)
	add("nothing left", closed("1", o, agentB, 1), registry.ErrExhausted)
	add("another unit", closed("0", o, agentB, 0), nil)
	add("observe without a limit", closed("reads", observe, agentB, 1_000_000), nil)
	add("limit none", closed("none", none, agentB, 1), registry.ErrExhausted)
	add("revoked open", closed("revoked", revoked, agentB, 1), registry.ErrRevoked)
	late := closed("late", o, agentB, 0)
	late.At = o.ExpiresAt
	add("expired open", late, registry.ErrExpired)
}

// covers GC-192, GC-208
func registryDrawRace(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	o := open("o", partyA, agentA, 20)
	_, err := s.AddOpen(ctx, o)
	want(t, "open", err, nil)
	var wg sync.WaitGroup
	var booked, refused atomic.Int32
	for i := range 50 {
		wg.Go(func() {
			_, err := s.AddClosed(ctx, closed(fmt.Sprint(i), o, agentB, 3))
			switch {
			case err == nil:
				booked.Add(1)
			default:
				refused.Add(1)
				if target := registry.ErrExhausted; err.Error() != target.Error() {
					t.Errorf("draw %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	// Six draws of 3 fit into 20; a seventh would exceed it.
	if booked.Load() != 6 || refused.Load() != 44 {
		t.Errorf("%d draws booked, %d refused", booked.Load(), refused.Load())
	}
	_, err = s.AddClosed(ctx, closed("rest", o, agentB, 2))
	want(t, "what is left", err, nil)
}
