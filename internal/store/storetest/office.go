package storetest

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// covers GC-082
func registryIssuers(t *testing.T, s registry.Store) {
	ctx := t.Context()
	for _, e := range []registry.Enrolment{enrolment(t, partyA, agentA, api.RoleEffector, api.RoleIssuer), enrolment(t, partyB, agentB)} {
		_, err := s.Enrol(ctx, e)
		want(t, "enrol", err, nil)
	}
	base := registry.Issuer{PrincipalID: partyA, Credential: hash("issuer"), Subjects: []string{"urn:anax:agent:monitor"}, At: registryStart}
	add := func(what string, change func(*registry.Issuer), target error) {
		t.Helper()
		i := base
		change(&i)
		want(t, what, s.AddIssuer(ctx, i), target)
	}
	may := func(what string, credential jcs.Hex256, subject string, wanted bool) {
		t.Helper()
		if got, err := s.MayIssue(ctx, credential, subject); err != nil || got != wanted {
			t.Errorf("%s: may issue %v, %v", what, got, err)
		}
	}
	may("before", base.Credential, base.Subjects[0], false)
	add("unknown principal", func(i *registry.Issuer) { i.PrincipalID = "urn:anax:principal:x" }, registry.ErrNotFound)
	add("an effector's credential", func(i *registry.Issuer) { i.Credential = hash(api.RoleEffector, partyA) }, registry.ErrExists)
	add("add", func(*registry.Issuer) {}, nil)
	add("again", func(*registry.Issuer) {}, nil)
	add("another principal's", func(i *registry.Issuer) { i.PrincipalID = partyB }, registry.ErrExists)
	if got, err := s.Actor(ctx, base.Credential); err != nil || got != (registry.Actor{Role: api.RoleIssuer, PrincipalID: partyA, Issuer: base.Credential}) {
		t.Errorf("actor %+v, %v", got, err)
	}
	may("listed", base.Credential, base.Subjects[0], true)
	may("another subject", base.Credential, agentA, false)
	may("another credential", hash("x"), base.Subjects[0], false)
	add("more subjects", func(i *registry.Issuer) { i.Subjects = []string{agentA} }, nil)
	may("the new one", base.Credential, agentA, true)
	may("the old one", base.Credential, base.Subjects[0], true)
	// One that was enrolled as an issuer has no subjects until it is given some.
	may("enrolled issuer", hash(api.RoleIssuer, partyA), base.Subjects[0], false)
	add("enrolled issuer", func(i *registry.Issuer) { i.Credential = hash(api.RoleIssuer, partyA) }, nil)
	may("enrolled issuer, listed", hash(api.RoleIssuer, partyA), base.Subjects[0], true)

	many := make([]string, registry.MaxSubjects-1)
	for i := range many {
		many[i] = fmt.Sprint("urn:anax:agent:service-", i)
	}
	add("too many", func(i *registry.Issuer) { i.Subjects = many }, registry.ErrFull)
	may("of too many", base.Credential, many[0], false)
	add("as many as may be", func(i *registry.Issuer) { i.Subjects = many[1:] }, nil)

	want(t, "withdraw", s.Withdraw(ctx, registry.Withdrawal{Credential: base.Credential, At: registryStart}), nil)
	may("withdrawn", base.Credential, base.Subjects[0], false)
	add("withdrawn", func(*registry.Issuer) {}, registry.ErrExists)
}

func registryAdditions(t *testing.T, s registry.Store) {
	ctx := t.Context()
	first, other := enrolment(t, partyA, agentA, api.RoleEffector), enrolment(t, partyB, agentB, api.RoleEffector)
	for _, e := range []registry.Enrolment{first, other} {
		_, err := s.Enrol(ctx, e)
		want(t, "enrol", err, nil)
	}
	later := registryStart.Add(time.Hour)
	full := registry.Addition{
		PrincipalID: partyA, At: later,
		Keys:   []jose.Key{authorityKey(t)},
		Agents: []mandate.Agent{{ID: "urn:anax:agent:a2", Key: authorityKey(t)}},
		Humans: []mandate.Human{{ID: "urn:anax:human:h", Key: authorityKey(t)}, {ID: "urn:anax:human:i", Key: authorityKey(t)}},
		Credentials: []api.Credential{
			{Role: api.RoleAgent, AgentID: "urn:anax:agent:a2", Hash: hash("agent a2")},
			{Role: api.RoleAgent, AgentID: agentA, Hash: hash("second of a")},
			{Role: api.RolePrincipal, Hash: hash("principal of a")},
		},
	}
	add := func(what string, a registry.Addition, target error) {
		t.Helper()
		want(t, what, s.Add(ctx, a), target)
	}
	wanted := first.Principal
	for what, c := range map[string]struct {
		change func(*registry.Addition)
		target error
	}{
		"unknown principal":  {func(a *registry.Addition) { a.PrincipalID = "urn:anax:principal:x" }, registry.ErrNotFound},
		"another's agent":    {func(a *registry.Addition) { a.Credentials[1].AgentID = agentB }, registry.ErrNotFound},
		"another's agent id": {func(a *registry.Addition) { a.Agents[0].ID = agentB }, registry.ErrExists},
		"another's key":      {func(a *registry.Addition) { a.Keys[0] = other.Principal.Keys[0] }, registry.ErrExists},
		"key of another use": {func(a *registry.Addition) { a.Humans[1].Key = first.Principal.Keys[0] }, registry.ErrExists},
		"human's key of another name": {func(a *registry.Addition) {
			a.Humans[1].Key = first.Principal.Humans[0].Key
		}, registry.ErrExists},
		"another's credential": {func(a *registry.Addition) { a.Credentials[2].Hash = hash(api.RoleEffector, partyB) }, registry.ErrExists},
		"two roles":            {func(a *registry.Addition) { a.Credentials[2].Hash = hash(api.RoleEffector, partyA) }, registry.ErrExists},
	} {
		a := full
		a.Keys, a.Agents, a.Humans, a.Credentials =
			slices.Clone(a.Keys), slices.Clone(a.Agents), slices.Clone(a.Humans), slices.Clone(a.Credentials)
		c.change(&a)
		add(what, a, c.target)
		got, err := s.Principal(ctx, partyA)
		want(t, what, err, nil)
		if !reflect.DeepEqual(got, wanted) {
			t.Fatalf("%s: something was written: %+v", what, got)
		}
	}
	add("all at once", full, nil)
	add("again", full, nil)
	wanted.Keys = append(slices.Clone(wanted.Keys), full.Keys...)
	wanted.Agents = append(slices.Clone(wanted.Agents), full.Agents...)
	wanted.Humans = append(slices.Clone(wanted.Humans), full.Humans...)
	got, err := s.Principal(ctx, partyA)
	want(t, "read", err, nil)
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("got %+v, want %+v", got, wanted)
	}
	for _, c := range full.Credentials {
		if got, err := s.Actor(ctx, c.Hash); err != nil || got != (registry.Actor{Role: c.Role, PrincipalID: partyA, AgentID: c.AgentID}) {
			t.Errorf("%s: %+v, %v", c.Role, got, err)
		}
	}
	// What a withdrawal has ended, no addition brings back.
	want(t, "withdraw", s.Withdraw(ctx, registry.Withdrawal{Credential: hash("agent a2"), At: later}), nil)
	add("withdrawn credential", full, registry.ErrExists)
}

func registryAdditionBounds(t *testing.T, s registry.Store) {
	ctx := t.Context()
	_, err := s.Enrol(ctx, enrolment(t, partyA, agentA)) // two keys, one agent, one human
	want(t, "enrol", err, nil)
	humans := make([]mandate.Human, registry.MaxHumans)
	for i := range humans {
		humans[i] = mandate.Human{ID: fmt.Sprint("urn:anax:human:", i), Key: authorityKey(t)}
	}
	want(t, "too many", s.Add(ctx, registry.Addition{PrincipalID: partyA, Humans: humans, At: registryStart}), registry.ErrFull)
	want(t, "as many as may be", s.Add(ctx, registry.Addition{PrincipalID: partyA, Humans: humans[1:], At: registryStart}), nil)
	if p, err := s.Principal(ctx, partyA); err != nil || len(p.Humans) != registry.MaxHumans {
		t.Errorf("%d humans, %v", len(p.Humans), err)
	}
}

func registrySuspended(t *testing.T, s registry.Store) {
	ctx := t.Context()
	for _, e := range []registry.Enrolment{enrolment(t, partyA, agentA, api.RolePrincipal), enrolment(t, partyB, agentB, api.RoleEffector)} {
		_, err := s.Enrol(ctx, e)
		want(t, "enrol", err, nil)
	}
	p, q, late := newPair(t, s, "p"), newPair(t, s, "q"), newPair(t, s, "late")
	alone, revoked := open("alone", partyA, agentA, 5), open("revoked", partyA, agentA, 5)
	alone.SingleParty = true
	opened(t, s, alone, revoked)
	_, err := s.Hold(ctx, holdOf(triple(q.a, q.b), partyB, "held"))
	want(t, "hold", err, nil)
	_, _, err = s.Revoke(ctx, registry.Revocation{Hash: revoked.OpenHash, At: registryStart})
	want(t, "revoke", err, nil)
	set := func(what, principal string, active bool, target error) {
		t.Helper()
		want(t, what, s.SetStatus(ctx, registry.StatusChange{PrincipalID: principal, Active: active, At: registryStart}), target)
	}
	set("unknown", "urn:anax:principal:x", false, registry.ErrNotFound)
	for range 2 {
		set("suspend", partyA, false, nil)
	}
	if r, err := s.Principal(ctx, partyA); err != nil || r.Active {
		t.Errorf("record: active %v, %v", r.Active, err)
	}
	_, err = s.Actor(ctx, hash(api.RolePrincipal, partyA))
	want(t, "credential", err, registry.ErrNotFound)
	_, err = s.AddOpen(ctx, open("new", partyA, agentA, 1))
	want(t, "register an Open", err, registry.ErrSuspended)
	_, err = s.AddClosed(ctx, closed("new", p.openA, agentB, 1))
	want(t, "register a Closed", err, registry.ErrSuspended)
	_, err = s.Hold(ctx, holdOf(triple(p.a, p.b), partyB, "r"))
	want(t, "hold", err, registry.ErrSuspended)
	consume(t, s, consumption("own", p.openA, 1), registry.ErrSuspended)
	theirs := consumption("another's", alone, 1)
	theirs.Effector = partyB
	consume(t, s, theirs, registry.ErrSuspended)
	for what, h := range map[string]jcs.Hex256{"open": p.openA.OpenHash, "closed": p.a.TokenHash} {
		if active, err := s.Active(ctx, h, registryStart); err != nil || active != "" {
			t.Errorf("%s: active %v, %v", what, active, err)
		}
	}
	// What was stored before is answered as before, and what is held may be decided.
	if got, err := s.Hold(ctx, holdOf(triple(q.a, q.b), partyB, "again")); err != nil || got != "held" {
		t.Errorf("repeat of a hold: %q, %v", got, err)
	}
	if got, err := s.AddOpen(ctx, p.openA); err != nil || got != p.openA.Receipt {
		t.Errorf("repeat of a registration: %q, %v", got, err)
	}
	_, err = s.Confirm(ctx, confirmOf(triple(q.a, q.b), partyB, "spent"))
	want(t, "confirm", err, nil)
	// A final refusal goes before one that may pass.
	expired := holdOf(triple(late.a, late.b), partyB, "r")
	expired.At = late.a.ExpiresAt
	_, err = s.Hold(ctx, expired)
	want(t, "hold of what is expired", err, registry.ErrExpired)
	consume(t, s, consumption("units of what is revoked", revoked, 1), registry.ErrRevoked)

	set("reinstate", partyA, true, nil)
	_, err = s.Actor(ctx, hash(api.RolePrincipal, partyA))
	want(t, "credential after that", err, nil)
	// The effector's own suspension counts too.
	set("suspend the effector", partyB, false, nil)
	consume(t, s, theirs, registry.ErrSuspended)
	_, err = s.Hold(ctx, holdOf(triple(p.a, p.b), partyB, "r"))
	want(t, "hold by a suspended effector", err, registry.ErrSuspended)
	set("reinstate the effector", partyB, true, nil)
	// The refusals took nothing.
	consume(t, s, theirs, nil)
	_, err = s.Hold(ctx, holdOf(triple(p.a, p.b), partyB, "r"))
	want(t, "hold after all that", err, nil)
	consume(t, s, consumption("all of the Open", p.openA, 4), nil)
	_, err = s.AddOpen(ctx, open("new", partyA, agentA, 1))
	want(t, "the Open after all that", err, nil)
}

func registryWithdrawals(t *testing.T, s registry.Store) {
	ctx := t.Context()
	_, err := s.Enrol(ctx, enrolment(t, partyA, agentA, api.RoleEffector, api.RoleOperator, api.RolePrincipal))
	want(t, "enrol", err, nil)
	withdraw := func(what, role, owner string, target error) {
		t.Helper()
		w := registry.Withdrawal{Credential: hash(role, partyA), PrincipalID: owner, At: registryStart}
		want(t, what, s.Withdraw(ctx, w), target)
	}
	withdraw("unknown", "x", "", registry.ErrNotFound)
	withdraw("another's", api.RoleEffector, partyB, registry.ErrNotFound)
	withdraw("an operator's by its principal", api.RoleOperator, partyA, registry.ErrNotFound)
	for _, role := range []string{api.RoleEffector, api.RoleOperator, api.RolePrincipal} {
		_, err := s.Actor(ctx, hash(role, partyA))
		want(t, role+" before", err, nil)
	}
	withdraw("own", api.RoleEffector, partyA, nil)
	withdraw("again", api.RoleEffector, partyA, nil)
	withdraw("an operator's by an operator", api.RoleOperator, "", nil)
	for _, role := range []string{api.RoleEffector, api.RoleOperator} {
		_, err := s.Actor(ctx, hash(role, partyA))
		want(t, role+" after", err, registry.ErrNotFound)
	}
	_, err = s.Actor(ctx, hash(api.RolePrincipal, partyA))
	want(t, "the one that stays", err, nil)
}

// An Operation is one change of a Registration Authority's state. Method is the one of
// [registry.Store] that Do calls.
type Operation struct {
	Method, Name string
	Do           func(registry.Store) error
	Subject      string // of its audit row
	Role         string // of its audit row
}

// RegistryOperations is at least one change by each method that writes. In their order,
// on an empty store, each changes something.
func RegistryOperations(t *testing.T) []Operation {
	ctx := t.Context()
	operator := registry.Actor{Role: api.RoleOperator, PrincipalID: partyB}
	a, b := enrolment(t, partyA, agentA, api.RoleEffector), enrolment(t, partyB, agentB)
	a.Code, a.Request = hash("code"), hash("request")
	openA, openB := open("A", partyA, agentA, 5), open("B", partyB, agentB, 5)
	byIssuer := open("C", partyA, agentA, 5)
	byIssuer.By.Role = api.RoleIssuer
	closedA, closedB := closed("a", openA, agentB, 1), closed("b", openB, agentA, 1)
	tr := triple(closedA, closedB)
	revocation := func(h jcs.Hex256) registry.Revocation {
		return registry.Revocation{Hash: h, By: operator, At: registryStart}
	}
	open := func(o registry.Open) func(registry.Store) error {
		return func(s registry.Store) error { _, err := s.AddOpen(ctx, o); return err }
	}
	closed := func(c registry.Closed) func(registry.Store) error {
		return func(s registry.Store) error { _, err := s.AddClosed(ctx, c); return err }
	}
	enrol := func(e registry.Enrolment) func(registry.Store) error {
		return func(s registry.Store) error { _, err := s.Enrol(ctx, e); return err }
	}
	revoke := func(h jcs.Hex256) func(registry.Store) error {
		return func(s registry.Store) error { _, _, err := s.Revoke(ctx, revocation(h)); return err }
	}
	status := func(active bool) func(registry.Store) error {
		return func(s registry.Store) error {
			return s.SetStatus(ctx, registry.StatusChange{PrincipalID: partyA, Active: active, By: operator, At: registryStart})
		}
	}
	signer := func(kind, subject string) func(registry.Store) error {
		return func(s registry.Store) error {
			_, err := s.RevokeSigner(ctx, registry.SignerRevocation{Kind: kind, PrincipalID: partyA, Subject: subject, By: operator, At: registryStart})
			return err
		}
	}
	human := registry.Addition{
		PrincipalID: partyA, Humans: []mandate.Human{{ID: "urn:anax:human:n", Key: authorityKey(t)}},
		By: registry.Actor{Role: api.RolePrincipal, PrincipalID: partyA}, At: registryStart,
	}
	issuer := registry.Issuer{
		PrincipalID: partyA, Credential: hash("issuer"), Subjects: []string{"urn:anax:agent:monitor"}, By: operator, At: registryStart,
	}
	releases := releaseOperations(openA, openB)
	peer := counterpart(t, partyB+"-peer", agentB+"-peer")
	keyring := keyringOperations(t, a, operator)
	return []Operation{
		{"AddCode", "code", func(s registry.Store) error {
			return s.AddCode(ctx, codeOf(a.Code))
		}, string(a.Code), api.RoleOperator},
		{"Enrol", "by code", enrol(a), partyA, api.RolePrincipal},
		{"Enrol", "self", enrol(b), partyB, api.RolePrincipal},
		{"Enrol", "counterpart", enrol(peer), partyB + "-peer", api.RoleOperator},
		{"Unpin", "counterpart", func(s registry.Store) error {
			return s.Unpin(ctx, registry.Unpinning{Key: peer.Peer.Key.ID, By: operator, At: registryStart})
		}, peer.Peer.Key.ID, api.RoleOperator},
		{"Add", "human", func(s registry.Store) error { return s.Add(ctx, human) }, partyA, api.RolePrincipal},
		{"AddIssuer", "issuer", func(s registry.Store) error { return s.AddIssuer(ctx, issuer) }, string(issuer.Credential), api.RoleOperator},
		{"Add", "request", func(s registry.Store) error { return s.Add(ctx, keyring.asked) }, partyA, api.RolePrincipal},
		{"DecideHuman", "approve", func(s registry.Store) error { return s.DecideHuman(ctx, keyring.approval) }, keyring.approval.Key, api.RoleOperator},
		{"Retire", "human's key", func(s registry.Store) error { return s.Retire(ctx, keyring.retirement) }, keyring.retirement.Key, api.RoleOperator},
		{"ProveDomain", "of A", func(s registry.Store) error { return s.ProveDomain(ctx, keyring.proof) }, partyA, api.RoleOperator},
		{"AddOpen", "A", open(openA), string(openA.OpenHash), api.RolePrincipal},
		{"AddOpen", "B", open(openB), string(openB.OpenHash), api.RolePrincipal},
		{"AddOpen", "by an issuer", open(byIssuer), string(byIssuer.OpenHash), api.RoleIssuer},
		{"AddClosed", "a", closed(closedA), string(closedA.TokenHash), api.RoleAgent},
		{"AddClosed", "b", closed(closedB), string(closedB.TokenHash), api.RoleAgent},
		{"Consume", "units", func(s registry.Store) error {
			_, err := s.Consume(ctx, consumption("units", openA, 1))
			return err
		}, string(openA.OpenHash), api.RoleEffector},
		{"Burn", "units", func(s registry.Store) error {
			_, _, err := s.Burn(ctx, registry.Burn{Effector: partyA, RequestID: "units", At: registryStart})
			return err
		}, "units", api.RoleEffector},
		{"Hold", "pair", func(s registry.Store) error {
			_, err := s.Hold(ctx, holdOf(tr, partyB, "held"))
			return err
		}, crossingID, api.RoleEffector},
		{"Confirm", "pair", func(s registry.Store) error {
			_, err := s.Confirm(ctx, confirmOf(tr, partyB, "spent"))
			return err
		}, crossingID, api.RoleEffector},
		{"AddClosed", "c", closed(releases.c), string(releases.c.TokenHash), api.RoleAgent},
		{"AddClosed", "d", closed(releases.d), string(releases.d.TokenHash), api.RoleAgent},
		{"Hold", "second pair", func(s registry.Store) error {
			_, err := s.Hold(ctx, holdOf(releases.release.Triple, partyB, "held"))
			return err
		}, crossingID, api.RoleEffector},
		{"Release", "second pair", func(s registry.Store) error {
			_, _, err := s.Release(ctx, releases.release)
			return err
		}, crossingID, api.RoleEffector},
		{"AddClosed", "expired", closed(releases.expired), string(releases.expired.TokenHash), api.RoleAgent},
		{"Lapse", "expired", func(s registry.Store) error {
			_, err := s.Lapse(ctx, registryStart, 10)
			return err
		}, string(releases.expired.TokenHash), registry.RoleTimer},
		{"Revoke", "closed", revoke(closedA.TokenHash), string(closedA.TokenHash), api.RoleOperator},
		{"Revoke", "open", revoke(openA.OpenHash), string(openA.OpenHash), api.RoleOperator},
		{"SetStatus", "suspend", status(false), partyA, api.RoleOperator},
		{"SetStatus", "reinstate", status(true), partyA, api.RoleOperator},
		{"Withdraw", "effector", func(s registry.Store) error {
			return s.Withdraw(ctx, registry.Withdrawal{Credential: hash(api.RoleEffector, partyA), By: operator, At: registryStart})
		}, string(hash(api.RoleEffector, partyA)), api.RoleOperator},
		{"StatusList", "first", func(s registry.Store) error {
			_, err := s.StatusList(ctx, registry.NewStatusList{ID: "list", Seed: make([]byte, 32), At: registryStart})
			return err
		}, "list", api.RoleOperator},
		{"RevokeSigner", "key", signer(api.KindKey, a.Principal.Keys[0].ID), a.Principal.Keys[0].ID, api.RoleOperator},
		{"RevokeSigner", "human", signer(api.KindHuman, a.Principal.Humans[0].ID), "human " + a.Principal.Humans[0].ID, api.RoleOperator},
		{"RevokeSigner", "principal", signer(api.KindPrincipal, ""), partyA, api.RoleOperator},
	}
}

// registryAudit walks all operations: one row for a change, none for its repeat.
func registryAudit(t *testing.T, s registry.Store) {
	ctx := t.Context()
	rows := func(before int64, limit int) []api.AuditRow {
		t.Helper()
		rows, err := s.AuditRows(ctx, before, limit)
		want(t, "audit rows", err, nil)
		return rows
	}
	if n := len(rows(math.MaxInt64, 10)); n != 0 {
		t.Fatalf("an empty store has %d audit rows", n)
	}
	operations := RegistryOperations(t)
	walked := map[string]bool{}
	for i, op := range operations {
		walked[op.Method] = true
		want(t, op.Method+" "+op.Name, op.Do(s), nil)
		all := rows(math.MaxInt64, 1000)
		if len(all) != i+1 {
			t.Fatalf("%s %s: %d audit rows, want %d", op.Method, op.Name, len(all), i+1)
		}
		newest := all[0]
		if newest.Subject != op.Subject || newest.Role != op.Role || newest.Operation == "" || newest.Outcome == "" || !newest.At.Equal(registryStart) {
			t.Errorf("%s %s: audit row %+v", op.Method, op.Name, newest)
		}
		_ = op.Do(s) // a repeat, which is answered or refused
		if n := len(rows(math.MaxInt64, 1000)); n != i+1 {
			t.Errorf("%s %s: its repeat has an audit row", op.Method, op.Name)
		}
	}
	reads := []string{"HumanRequests", "Domains", "Active", "Actor", "AuditRows", "FindClosed", "FindOpen", "MayIssue", "Principal", "Spent"}
	reads = append(reads, "Peer")
	reads = append(reads, "StatusEntries", "Peer", "AllPeers", "Pins", "Owner")
	reads = append(reads, "Due", "Find", "Kept")
	reads = append(reads, "AuditTip", "AuditLog", "AuditHeads", "LastAuditHead", "AddAuditHead") // the last is the log's own
	for m := range reflect.TypeFor[registry.Store]().Methods() {
		if walked[m.Name] == slices.Contains(reads, m.Name) {
			t.Errorf("method %s: walked %v, and it is either a read or has an audit row", m.Name, walked[m.Name])
		}
	}
	all := rows(math.MaxInt64, 1000)
	for i, row := range all {
		if i > 0 && row.ID >= all[i-1].ID {
			t.Errorf("row %d is not older than the one before", row.ID)
		}
	}
	if page := rows(all[2].ID, 3); !slices.Equal(page, all[3:6]) {
		t.Errorf("a page of three: %+v", page)
	}
}
