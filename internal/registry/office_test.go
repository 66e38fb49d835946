package registry_test

import (
	"slices"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// operator is the RA's own, a principal that takes part in nothing.
func (w *world) operator() registry.Actor {
	w.t.Helper()
	o := w.party("operator")
	return registry.Actor{Role: api.RoleOperator, PrincipalID: o.id}
}

// issuer is a service issuer of the party for the subjects.
func (w *world) issuer(operator registry.Actor, p *party, subjects ...string) registry.Actor {
	w.t.Helper()
	req := api.RegisterIssuer{PrincipalID: p.id, CredentialHash: api.CredentialHash("service of " + p.id), Subjects: subjects}
	if err := w.ra.RegisterIssuer(w.t.Context(), operator, req); err != nil {
		w.t.Fatal(err)
	}
	actor, err := w.ra.Authenticate(w.t.Context(), "service of "+p.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return actor
}

const monitor = "urn:anax:agent:monitor"

// monitorOpen is a grant that a service holds in its own right: no cnf, no counterparty.
func (w *world) monitorOpen(p *party) mandate.IssuedOpen {
	d := p.openDraft(irreversible(5))
	d.Subject, d.ConfirmationKey, d.Counterparties = monitor, jose.Key{}, mandate.OnlyCounterparties()
	return w.open(p, d)
}

// TestServiceHeldMandate is the acceptance test of §3.7.2: a service-held token from an
// effector is refused by name, and nothing is consumed.
//
// covers GC-077, GC-078, GC-079, GC-111
func TestServiceHeldMandate(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	operator := w.operator()
	issuer := w.issuer(operator, w.a, monitor)
	o := w.monitorOpen(w.a)
	if _, err := w.ra.RegisterOpen(ctx, issuer, api.RegisterOpen{Token: o.Full()}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*party{w.a, w.b} { // its own principal's effector, and another's
		for range 2 {
			_, err := w.consume(p, 1, units(o, 1, "irreversible"))
			refused(t, "consume", err, crossing.ServiceHeldMandate)
		}
	}
	if !w.status(jcs.HexOf([]byte(o.Token))) {
		t.Error("the service's mandate is not active any more")
	}

	// The same for Closeds: both of a pair that could be held a moment ago.
	d := w.deal(irreversible(1))
	w.issuer(operator, w.b, w.a.agentID)
	for range 2 {
		_, err := w.ra.Hold(ctx, w.b.effects, d.hold)
		w.final("hold", err, crossing.ServiceHeldMandate, d.hold.Triple(), false, false)
	}
	for what, token := range map[string]string{"initiator's": d.hold.InitiatorClosed, "responder's": d.hold.ResponderClosed} {
		if !w.status(jcs.HexOf([]byte(token))) {
			t.Errorf("the %s Closed was consumed", what)
		}
	}
	// Its counter stands where it stood: one of one drawn, so B, who is on no list, is
	// not touched, and A could draw four more of five.
	wide := w.opened(w.a, w.a.openDraft(irreversible(5)))
	_, err := w.consume(w.a, 1, units(wide, 1, "irreversible"))
	refused(t, "an Open of the listed agent", err, crossing.ServiceHeldMandate)
	if _, err := w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(wide, w.b, irreversible(5))), w.b); err != nil {
		t.Errorf("the whole limit after the refusal: %v", err)
	}
	theirs := w.opened(w.b, w.b.openDraft(irreversible(1)))
	if _, err := w.consume(w.b, 1, units(theirs, 1, "irreversible")); err != nil {
		t.Errorf("a subject on no list: %v", err)
	}
}

// covers GC-080, GC-081, GC-082
func TestIssuer(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	operator := w.operator()
	issuer := w.issuer(operator, w.a, monitor)
	register := func(actor registry.Actor, o mandate.IssuedOpen) error {
		_, err := w.ra.RegisterOpen(ctx, actor, api.RegisterOpen{Token: o.Full()})
		return err
	}
	o := w.monitorOpen(w.a)
	refused(t, "the service's Open by its principal, whose agent it is not", register(w.a.principal, o), crossing.MandateInvalid)
	for range 2 {
		if err := register(issuer, o); err != nil {
			t.Errorf("issue: %v", err)
		}
	}
	refused(t, "a subject that is not listed", register(issuer, w.open(w.a, w.a.openDraft(irreversible(1)))), crossing.RoleMismatch)
	refused(t, "another principal's Open", register(issuer, w.monitorOpen(w.b)), crossing.MandateInvalid)
	bound := w.a.openDraft(irreversible(1))
	bound.Subject = monitor
	refused(t, "a key that is no agent's of that name", register(issuer, w.open(w.a, bound)), crossing.MandateInvalid)
	enrolled, err := w.ra.Authenticate(ctx, api.RoleIssuer+"@"+w.a.id)
	if err != nil {
		t.Fatal(err)
	}
	refused(t, "an issuer without a list", register(enrolled, o), crossing.RoleMismatch)
	forged := registry.Actor{Role: api.RoleIssuer, PrincipalID: w.a.id}
	refused(t, "an issuer without a name", register(forged, o), crossing.RoleMismatch)

	// Neither side of rule 3 has the other's routes.
	_, err = w.consume(&party{effects: issuer}, 1, units(o, 1, "irreversible"))
	refused(t, "an issuer consumes", err, crossing.RoleMismatch)
	d := w.deal(irreversible(1))
	_, err = w.ra.Hold(ctx, issuer, d.hold)
	refused(t, "an issuer holds", err, crossing.RoleMismatch)
	refused(t, "an effector registers", register(w.a.effects, o), crossing.RoleMismatch)
	for what, role := range map[string]string{"an effector's": api.RoleEffector, "a principal's": api.RolePrincipal, "an agent's": api.RoleAgent} {
		req := api.RegisterIssuer{PrincipalID: w.a.id, CredentialHash: api.CredentialHash(role + "@" + w.a.id), Subjects: []string{monitor}}
		refused(t, what+" credential as an issuer's", w.ra.RegisterIssuer(ctx, operator, req), api.CodeConflict)
	}
	effector := api.Addition{PrincipalID: w.a.id, Credentials: []api.Credential{{Role: api.RoleEffector, Hash: issuer.Issuer}}}
	refused(t, "an issuer's credential as an effector's", w.ra.Add(ctx, operator, effector), api.CodeConflict)
	unknown := api.RegisterIssuer{PrincipalID: "urn:anax:principal:x", CredentialHash: api.CredentialHash("x"), Subjects: []string{monitor}}
	refused(t, "unknown principal", w.ra.RegisterIssuer(ctx, operator, unknown), api.CodeNotFound)
	refused(t, "no request", w.ra.RegisterIssuer(ctx, operator, api.RegisterIssuer{}), api.CodeMalformed)
	if err := w.ra.Withdraw(ctx, operator, api.Withdrawal{CredentialHash: issuer.Issuer}); err != nil {
		t.Fatal(err)
	}
	refused(t, "withdrawn issuer", register(issuer, o), crossing.RoleMismatch)
}

// TestConfigWithTwoRoles: one credential for two roles does not load.
//
// covers GC-082
func TestConfigWithTwoRoles(t *testing.T) {
	w := newWorld(t)
	req := newParty(t, "c").enrol(api.RoleIssuer, api.RoleEffector)
	req.Credentials[1].Hash = req.Credentials[0].Hash
	_, err := w.ra.EnrolSelf(t.Context(), req)
	if e := refused(t, "enrol", err, api.CodeMalformed); e.Pointer != "/credentials/1" {
		t.Errorf("pointer %q", e.Pointer)
	}
}

// covers GC-021, GC-169
func TestAdd(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	operator := w.operator()
	key, agent, human := signer(t), signer(t), signer(t)
	second := "urn:anax:agent:a2"
	req := api.Addition{
		PrincipalID: w.a.id, Keys: []jose.Key{key.Key()}, Agents: []mandate.Agent{{ID: second, Key: agent.Key()}},
		Humans:      []mandate.Human{{ID: w.a.humanID, Key: human.Key()}}, // a further key of the same human
		Credentials: []api.Credential{{Role: api.RoleAgent, AgentID: second, Hash: api.CredentialHash("second")}},
	}
	refused(t, "another principal", w.ra.Add(ctx, w.b.principal, req), api.CodeNotFound)
	taken := req
	taken.Agents = []mandate.Agent{{ID: w.b.agentID, Key: agent.Key()}}
	refused(t, "another's agent", w.ra.Add(ctx, w.a.principal, taken), api.CodeConflict)
	stranger := req
	stranger.Credentials = []api.Credential{{Role: api.RoleAgent, AgentID: w.b.agentID, Hash: api.CredentialHash("x")}}
	refused(t, "credential of another's agent", w.ra.Add(ctx, w.a.principal, stranger), api.CodeNotFound)
	for _, role := range []string{api.RoleOperator, api.RoleIssuer} {
		greedy := req
		greedy.Credentials = []api.Credential{{Role: role, Hash: api.CredentialHash("x")}}
		refused(t, role, w.ra.Add(ctx, w.a.principal, greedy), crossing.RoleMismatch)
	}
	refused(t, "nothing", w.ra.Add(ctx, w.a.principal, api.Addition{PrincipalID: w.a.id}), api.CodeMalformed)

	open := func(what string, s *jose.Signer, d mandate.OpenDraft, name crossing.Name) mandate.IssuedOpen {
		t.Helper()
		o, err := d.Sign(s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.ra.RegisterOpen(ctx, w.a.principal, api.RegisterOpen{Token: o.Full()})
		if name != "" {
			refused(t, what, err, name)
		} else if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return o
	}
	forSecond := w.a.openDraft(irreversible(5))
	forSecond.Subject, forSecond.ConfirmationKey = second, agent.Key()
	open("a key that is not there yet", key, w.a.openDraft(irreversible(1)), crossing.MandateInvalid)
	open("an agent that is not there yet", w.a.issuer, forSecond, crossing.MandateInvalid)
	for _, actor := range []registry.Actor{w.a.principal, w.a.principal, operator} {
		if err := w.ra.Add(ctx, actor, req); err != nil {
			t.Errorf("add as %s: %v", actor.Role, err)
		}
	}
	open("a new key", key, w.a.openDraft(irreversible(1)), "")
	o := open("a new agent", w.a.issuer, forSecond, "")
	actor, err := w.ra.Authenticate(ctx, "second")
	if err != nil || actor.AgentID != second {
		t.Errorf("credential: %+v, %v", actor, err)
	}
	// T2: both keys of the human close, each known by its own kid; nobody else's does.
	closing := func(what string, s *jose.Signer, issuer string, name crossing.Name) {
		t.Helper()
		d := w.a.closedDraft(o, w.b, irreversible(1))
		d.SignerRole, d.Issuer, d.Subject = mandate.RoleHuman, issuer, second
		_, err := w.ra.RegisterClosed(ctx, actor, api.RegisterClosed{Token: w.closed(s, d), CounterpartyAgent: w.b.agentID})
		if name != "" {
			refused(t, what, err, name)
		} else if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	closing("new key of the human", human, w.a.humanID, "")
	closing("old key of the human", w.a.human, w.a.humanID, "")
	closing("another principal's human", w.b.human, w.b.humanID, crossing.MandateInvalid)
	closing("the key under another name", human, "urn:anax:human:x", crossing.MandateInvalid)
	closing("a principal's key", key, w.a.humanID, crossing.MandateInvalid)
	closing("the agent's key", agent, w.a.humanID, crossing.MandateInvalid)

	token, err := w.ra.Principal(ctx, w.a.id)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mandate.ParsePrincipal(token, w.keys)
	if err != nil || len(p.Keys) != 2 || !p.HasAgent(second, agent.Key(), start) || len(p.HumanKeys(w.a.humanID, start).Keys()) != 2 {
		t.Errorf("record %+v, %v", p, err)
	}
}

// covers GC-209, GC-210
func TestSuspended(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	operator, d := w.operator(), w.deal(irreversible(1))
	o := w.opened(w.a, w.a.openDraft(irreversible(5)))
	record := func() mandate.Principal {
		t.Helper()
		token, err := w.ra.Principal(ctx, w.a.id)
		if err != nil {
			t.Fatal(err)
		}
		p, err := mandate.ParsePrincipal(token, w.keys)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	set := func(id string, suspended bool) error {
		return w.ra.SetSuspended(ctx, operator, api.Suspension{PrincipalID: id, Suspended: suspended})
	}
	refused(t, "unknown", set("urn:anax:principal:x", true), api.CodeNotFound)
	refused(t, "no name", set("x", true), api.CodeMalformed)
	refused(t, "the operator's own", set(operator.PrincipalID, true), api.CodeConflict)
	if err := set(w.a.id, true); err != nil {
		t.Fatal(err)
	}
	if p := record(); p.Active || len(p.IssuerKeys(start).Keys()) != 0 || len(p.HumanKeys(w.a.humanID, start).Keys()) != 0 {
		t.Errorf("a suspended principal resolves: %+v", p)
	}
	_, err := w.ra.Authenticate(ctx, api.RolePrincipal+"@"+w.a.id)
	refused(t, "credential", err, api.CodeUnauthenticated)
	// Whoever was authenticated a moment ago gets no further.
	_, err = w.ra.RegisterOpen(ctx, w.a.principal, api.RegisterOpen{Token: w.open(w.a, w.a.openDraft(irreversible(1))).Full()})
	refused(t, "register an Open", err, crossing.MandateInvalid)
	_, err = w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(o, w.b, irreversible(1))), w.b)
	refused(t, "register a Closed", err, crossing.MandateInvalid)
	_, err = w.ra.Hold(ctx, w.b.effects, d.hold)
	w.undecided("hold", err, crossing.MandateInvalid)
	_, err = w.consume(w.a, 1, units(o, 1, "irreversible"))
	refused(t, "consume", err, crossing.MandateInvalid)
	if w.status(jcs.HexOf([]byte(o.Token))) {
		t.Error("a mandate of a suspended principal is active")
	}
	if err := set(w.a.id, false); err != nil {
		t.Fatal(err)
	}
	if p := record(); !p.Active {
		t.Error("a reinstated principal does not resolve")
	}
	if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
		t.Errorf("hold after that: %v", err)
	}
	if _, err := w.consume(w.a, 1, units(o, 5, "irreversible")); err != nil {
		t.Errorf("consume after that: %v", err)
	}
}

func TestWithdraw(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	operator := w.operator()
	withdraw := func(actor registry.Actor, credential string) error {
		return w.ra.Withdraw(ctx, actor, api.Withdrawal{CredentialHash: api.CredentialHash(credential)})
	}
	effector := api.RoleEffector + "@" + w.a.id
	refused(t, "unknown", withdraw(operator, "x"), api.CodeNotFound)
	refused(t, "another's", withdraw(w.b.principal, effector), api.CodeNotFound)
	refused(t, "an operator's", withdraw(w.a.principal, api.RoleOperator+"@"+w.a.id), api.CodeNotFound)
	refused(t, "no hash", w.ra.Withdraw(ctx, operator, api.Withdrawal{CredentialHash: "x"}), api.CodeMalformed)
	if _, err := w.ra.Authenticate(ctx, effector); err != nil {
		t.Fatal(err)
	}
	for _, actor := range []registry.Actor{w.a.principal, w.a.principal, operator} {
		if err := withdraw(actor, effector); err != nil {
			t.Errorf("as %s: %v", actor.Role, err)
		}
	}
	_, err := w.ra.Authenticate(ctx, effector)
	refused(t, "withdrawn", err, api.CodeUnauthenticated)
	if _, err := w.ra.Authenticate(ctx, api.RoleAgent+"@"+w.a.id); err != nil {
		t.Errorf("another credential: %v", err)
	}
}

func TestAuditRows(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	operator := w.operator()
	for what, c := range map[string]struct {
		before  int64
		limit   int
		pointer string
	}{"no rows": {0, 0, "/limit"}, "too many": {0, api.MaxAuditRows + 1, "/limit"}, "before what": {-1, 1, "/before"}} {
		_, err := w.ra.AuditRows(ctx, operator, c.before, c.limit)
		if e := refused(t, what, err, api.CodeMalformed); e.Pointer != c.pointer {
			t.Errorf("%s: pointer %q", what, e.Pointer)
		}
	}
	w.opened(w.a, w.a.openDraft(irreversible(1)))
	all, err := w.ra.AuditRows(ctx, operator, 0, api.MaxAuditRows)
	if err != nil || len(all.Rows) != 4 { // three enrolments and an Open
		t.Fatalf("%+v, %v", all, err)
	}
	if r := all.Rows[0]; r.Operation != "register_open" || r.Role != api.RolePrincipal || r.PrincipalID != w.a.id || !r.At.Equal(start) {
		t.Errorf("newest row %+v", r)
	}
	page, err := w.ra.AuditRows(ctx, operator, all.Rows[1].ID, 2)
	if err != nil || !slices.Equal(page.Rows, all.Rows[2:]) {
		t.Errorf("page %+v, %v", page, err)
	}
}

// covers GC-094
func TestAdmit(t *testing.T) {
	w := newWorld(t)
	n := 0
	for w.ra.Admit("a") == nil {
		n++
	}
	if n != 100 {
		t.Errorf("a burst of %d, want 100", n)
	}
	refused(t, "over the rate", w.ra.Admit("a"), crossing.RateLimited)
	if err := w.ra.Admit("b"); err != nil {
		t.Errorf("another address: %v", err)
	}
	if _, err := registry.New(registry.Config{
		Store: struct{ registry.Store }{}, Signer: signer(t), Now: w.clock, RateLimit: registry.Rate{Burst: -1},
	}); err == nil {
		t.Error("a negative rate is taken")
	}
}
