package registry_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// web is what domains publish, and what was asked of them.
type web struct {
	keys  map[string][]jose.Key
	fault error
	asked []string
}

func (w *web) Keys(_ context.Context, domain string) (jose.KeySet, error) {
	w.asked = append(w.asked, domain)
	return jose.NewKeySet(w.keys[domain]...), w.fault
}

func (w *world) record(p *party) mandate.Principal {
	w.t.Helper()
	token, err := w.ra.Principal(w.t.Context(), p.id)
	if err != nil {
		w.t.Fatal(err)
	}
	record, err := mandate.ParsePrincipal(token, w.keys)
	if err != nil {
		w.t.Fatal(err)
	}
	return record
}

// from and until bound a key.
func from(k jose.Key, t time.Time) jose.Key  { k.NotBefore = t; return k }
func until(k jose.Key, t time.Time) jose.Key { k.NotAfter = t; return k }

// wanted fails the test unless err is nil, for name "", or a refusal of that name.
func wanted(t *testing.T, what string, err error, name crossing.Name) {
	t.Helper()
	if name != "" {
		refused(t, what, err, name)
	} else if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// TestRotation walks a principal from one issuer key to the next: each signs in its own
// time, by iat and by the RA's clock, and what was registered goes on.
//
// covers GC-149, GC-209, GC-210
func TestRotation(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	old, next, change := w.a.issuer, signer(t), start.Add(time.Hour)
	add := api.Addition{PrincipalID: w.a.id, Keys: []jose.Key{from(next.Key(), change)}}
	if err := w.ra.Add(ctx, w.a.principal, add); err != nil {
		t.Fatal(err)
	}
	d := w.deal(irreversible(1))
	wide := w.opened(w.a, w.a.openDraft(irreversible(5)))
	retirement := api.Retirement{PrincipalID: w.a.id, Key: old.Key().ID, NotAfter: change}
	for range 2 {
		if err := w.ra.Retire(ctx, w.a.principal, retirement); err != nil {
			t.Fatal(err)
		}
	}
	issue := func(what string, s *jose.Signer, iat time.Time, name crossing.Name) {
		t.Helper()
		draft := w.a.openDraft(irreversible(1))
		draft.IssuedAt = iat
		o, err := draft.Sign(s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.ra.RegisterOpen(ctx, w.a.principal, api.RegisterOpen{Token: o.Full()})
		wanted(t, what, err, name)
	}
	issue("old key before the change", old, start, "")
	issue("old key dated after the change", old, change, crossing.MandateInvalid)
	issue("next key before the change", next, start, crossing.MandateInvalid)
	issue("next key dated after the change", next, change, crossing.MandateInvalid)
	w.sleep(time.Hour - time.Second)
	issue("old key in its last second", old, change.Add(-time.Second), "")
	w.sleep(time.Second)
	issue("old key dated back", old, start.Add(time.Minute), crossing.MandateInvalid)
	issue("old key", old, change, crossing.MandateInvalid)
	issue("next key dated back", next, change.Add(-time.Second), crossing.MandateInvalid)
	issue("next key", next, change, "")

	// What the old key has signed stands: a draw under it, and a hold of what expires later.
	draft := w.a.closedDraft(wide, w.b, irreversible(1))
	draft.IssuedAt, draft.ExpiresAt = change, change.Add(time.Minute)
	if _, err := w.register(w.a, w.closed(w.a.agent, draft), w.b); err != nil {
		t.Errorf("draw under an Open of a retired key: %v", err)
	}
	if _, err := w.ra.RegisterOpen(ctx, w.a.principal, api.RegisterOpen{Token: wide.Full()}); err != nil {
		t.Errorf("the receipt of an Open of a retired key: %v", err)
	}
	if !w.status(jcs.HexOf([]byte(wide.Token))) {
		t.Error("an Open of a retired key is not active")
	}
	_, err := w.ra.Hold(ctx, w.b.effects, d.hold)
	refused(t, "its Closeds have expired", err, crossing.MandateExpired)

	p := w.record(w.a)
	if len(p.Keys) != 2 || !p.Keys[0].NotAfter.Equal(change) || !p.Keys[1].NotBefore.Equal(change) || !p.Keys[1].NotAfter.IsZero() {
		t.Errorf("record %+v", p.Keys)
	}
}

// TestRetiredBetweenHoldAndConfirm: retiring ends nothing that was signed before.
//
// covers GC-301
func TestRetiredBetweenHoldAndConfirm(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(1))
	retire := func(p *party, s *jose.Signer) {
		t.Helper()
		for range 2 { // a repeat a second later finds it retired
			if err := w.ra.Retire(ctx, p.principal, api.Retirement{PrincipalID: p.id, Key: s.Key().ID}); err != nil {
				t.Fatal(err)
			}
			w.sleep(time.Second)
		}
	}
	retire(w.a, w.a.issuer)
	retire(w.a, w.a.agent)
	if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
		t.Fatal(err)
	}
	retire(w.b, w.b.issuer)
	retire(w.b, w.b.agent)
	if _, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple()); err != nil {
		t.Error(err)
	}
}

// covers GC-146, GC-153
func TestAgentKeysTime(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	old, next, change := w.a.agent, signer(t), start.Add(time.Minute)
	add := api.Addition{PrincipalID: w.a.id, Agents: []mandate.Agent{{ID: w.a.agentID, Key: from(next.Key(), change)}}}
	if err := w.ra.Add(ctx, w.a.principal, add); err != nil {
		t.Fatal(err)
	}
	oldOpen := w.opened(w.a, w.a.openDraft(irreversible(5)))
	if err := w.ra.Retire(ctx, w.a.principal, api.Retirement{PrincipalID: w.a.id, Key: old.Key().ID, NotAfter: change}); err != nil {
		t.Fatal(err)
	}
	ahead := w.a.openDraft(irreversible(5))
	ahead.ConfirmationKey = next.Key()
	nextOpen := w.opened(w.a, ahead) // made out in advance
	closing := func(what string, o mandate.IssuedOpen, s *jose.Signer, iat time.Time, name crossing.Name) {
		t.Helper()
		d := w.a.closedDraft(o, w.b, irreversible(1))
		d.IssuedAt = iat
		_, err := w.register(w.a, w.closed(s, d), w.b)
		wanted(t, what, err, name)
	}
	closing("old key in its time", oldOpen, old, start, "")
	closing("old key dated ahead", oldOpen, old, change, crossing.MandateInvalid)
	closing("next key before its time", nextOpen, next, start, crossing.MandateInvalid)
	closing("next key dated ahead", nextOpen, next, change, crossing.MandateInvalid)
	w.sleep(time.Minute)
	closing("old key dated back", oldOpen, old, start, crossing.MandateInvalid)
	closing("next key dated back", nextOpen, next, start, crossing.MandateInvalid)
	closing("next key", nextOpen, next, change, "")
	_, err := w.ra.RegisterOpen(ctx, w.a.principal, api.RegisterOpen{Token: w.open(w.a, w.a.openDraft(irreversible(1))).Full()})
	refused(t, "an Open for the retired key", err, crossing.MandateInvalid)
}

// covers GC-209
func TestRetire(t *testing.T) {
	w := newWorld(t)
	operator, key := w.operator(), w.a.human.Key().ID
	w.sleep(500 * time.Millisecond)
	retire := func(actor registry.Actor, principal, key string, at time.Time) error {
		return w.ra.Retire(t.Context(), actor, api.Retirement{PrincipalID: principal, Key: key, NotAfter: at})
	}
	hour := start.Add(time.Hour)
	refused(t, "an agent", retire(w.a.as, w.a.id, key, hour), crossing.RoleMismatch)
	refused(t, "another principal", retire(w.b.principal, w.a.id, key, hour), api.CodeNotFound)
	refused(t, "another's key", retire(w.b.principal, w.b.id, key, hour), api.CodeNotFound)
	refused(t, "no key", retire(w.a.principal, w.a.id, "x", hour), api.CodeMalformed)
	refused(t, "no principal", retire(w.a.principal, "x", key, hour), api.CodeMalformed)
	refused(t, "half a second", retire(w.a.principal, w.a.id, key, hour.Add(1)), api.CodeMalformed)
	if e := refused(t, "half a second ago", retire(w.a.principal, w.a.id, key, start), api.CodeMalformed); e.Pointer != "/not_after" {
		t.Errorf("pointer %q", e.Pointer)
	}
	if p := w.record(w.a); !p.Humans[0].Key.NotAfter.IsZero() {
		t.Errorf("a refusal has set %v", p.Humans[0].Key.NotAfter)
	}
	wanted(t, "in an hour", retire(operator, w.a.id, key, hour), "")
	refused(t, "later", retire(operator, w.a.id, key, hour.Add(time.Second)), api.CodeConflict)
	wanted(t, "now", retire(w.a.principal, w.a.id, key, time.Time{}), "")
	if p := w.record(w.a); !p.Humans[0].Key.NotAfter.Equal(start.Add(time.Second)) { // this second is still its own
		t.Errorf("retired at %v", p.Humans[0].Key.NotAfter)
	}
	refused(t, "an hour again", retire(operator, w.a.id, key, hour), api.CodeConflict)
	w.sleep(time.Minute)
	wanted(t, "now again", retire(w.a.principal, w.a.id, key, time.Time{}), "")
}

// TestHumanNeedsApproval: a key that a principal brings signs nothing before the operator
// has approved it, however it is brought.
//
// covers GC-021, GC-146, GC-167
func TestHumanNeedsApproval(t *testing.T) {
	w := newWorld(t)
	ctx, operator := t.Context(), w.operator()
	const eve = "urn:anax:human:eve"
	human, other := signer(t), signer(t)
	o := w.opened(w.a, w.a.openDraft(irreversible(9)))
	nonce := 0
	closing := func(what string, s *jose.Signer, issuer string, name crossing.Name) {
		t.Helper()
		nonce++
		d := w.a.closedDraft(o, w.b, irreversible(1))
		d.SignerRole, d.Issuer, d.ExpiresAt = mandate.RoleHuman, issuer, start.Add(time.Minute+time.Duration(nonce)*time.Second)
		_, err := w.register(w.a, w.closed(s, d), w.b)
		wanted(t, what, err, name)
	}
	ask := func(p *party, s *jose.Signer) error {
		return w.ra.Add(ctx, p.principal, api.Addition{PrincipalID: p.id, Humans: []mandate.Human{{ID: eve, Key: s.Key()}}})
	}
	decide := func(actor registry.Actor, p *party, s *jose.Signer, approve bool) error {
		return w.ra.DecideHuman(ctx, actor, api.HumanDecision{PrincipalID: p.id, Key: s.Key().ID, Approve: approve})
	}
	refused(t, "decided before it is asked", decide(operator, w.a, human, true), api.CodeNotFound)
	for range 2 {
		wanted(t, "ask", ask(w.a, human), "")
		wanted(t, "ask for another", ask(w.a, other), "")
	}
	closing("asked for", human, eve, crossing.MandateInvalid)
	if p := w.record(w.a); len(p.Humans) != 1 {
		t.Errorf("the record has %d humans", len(p.Humans))
	}
	refused(t, "approved by the principal", decide(w.a.principal, w.a, human, true), crossing.RoleMismatch)
	refused(t, "approved by an agent", decide(w.a.as, w.a, human, true), crossing.RoleMismatch)
	refused(t, "for another principal", decide(operator, w.b, human, true), api.CodeNotFound)
	refused(t, "no key", w.ra.DecideHuman(ctx, operator, api.HumanDecision{PrincipalID: w.a.id, Key: "x"}), api.CodeMalformed)
	closing("after refused approvals", human, eve, crossing.MandateInvalid)
	for range 2 {
		wanted(t, "approve", decide(operator, w.a, human, true), "")
		wanted(t, "reject", decide(operator, w.a, other, false), "")
	}
	refused(t, "reject what is approved", decide(operator, w.a, human, false), api.CodeConflict)
	refused(t, "ask for what is rejected", ask(w.a, other), api.CodeConflict)
	closing("approved", human, eve, "")
	closing("approved, by another name", human, w.a.humanID, crossing.MandateInvalid)
	closing("rejected", other, eve, crossing.MandateInvalid)
	refused(t, "a key of another principal", ask(w.b, human), api.CodeConflict)

	list := func(actor registry.Actor, principal string) (states []string, err error) {
		all, err := w.ra.HumanRequests(ctx, actor, principal)
		for _, r := range all.Requests {
			states = append(states, r.PrincipalID+" "+r.State)
		}
		return states, err
	}
	if got, err := list(w.a.principal, ""); err != nil || !slices.Equal(got, []string{w.a.id + " rejected"}) {
		t.Errorf("A sees %q, %v", got, err)
	}
	_, err := list(w.b.principal, w.a.id)
	refused(t, "B asks for A's", err, api.CodeNotFound)
	_, err = list(w.a.as, "")
	refused(t, "an agent asks", err, crossing.RoleMismatch)
	_, err = list(operator, "x")
	refused(t, "of nobody", err, api.CodeMalformed)
	if got, err := list(operator, ""); err != nil || len(got) != 0 {
		t.Errorf("pending %q, %v", got, err)
	}

	// By an enrolment it waits, too; not what the operator's own terminal enrols.
	secret, err := w.ra.NewCode(ctx, registry.CodeTerms{})
	if err != nil {
		t.Fatal(err)
	}
	c := newParty(t, "c")
	req := c.enrol(api.RolePrincipal)
	req.Secret = secret
	c.proves(t, &req, w.key.Key())
	if _, err := w.ra.Enrol(ctx, req); err != nil {
		t.Fatal(err)
	}
	if got, err := list(operator, ""); err != nil || !slices.Equal(got, []string{c.id + " pending"}) || len(w.record(c).Humans) != 0 {
		t.Errorf("after an enrolment, pending %q, %v", got, err)
	}
	wanted(t, "the operator adds it", w.ra.Add(ctx, operator, api.Addition{PrincipalID: c.id, Humans: req.Humans}), "")
	if got, err := list(operator, ""); err != nil || len(got) != 0 || len(w.record(c).Humans) != 1 {
		t.Errorf("after that, pending %q, %v", got, err)
	}
}

// covers GC-209, GC-369
func TestDomain(t *testing.T) {
	w := newWorld(t)
	ctx, operator := t.Context(), w.operator()
	const domain = "a.example"
	stranger := signer(t).Key()
	prove := func(actor registry.Actor) error {
		return w.ra.ProveDomain(ctx, actor, api.DomainProof{PrincipalID: w.a.id, Domain: domain})
	}
	shown := func(what, domain string, at time.Time) {
		t.Helper()
		if p := w.record(w.a); p.Domain != domain || !p.DomainProvedAt.Equal(at) {
			t.Errorf("%s: %q proved at %v", what, p.Domain, p.DomainProvedAt)
		}
	}
	refused(t, "an agent", prove(w.a.as), crossing.RoleMismatch)
	refused(t, "another principal", prove(w.b.principal), api.CodeNotFound)
	refused(t, "no domain", w.ra.ProveDomain(ctx, w.a.principal, api.DomainProof{PrincipalID: w.a.id, Domain: "localhost"}), api.CodeMalformed)
	unknown := api.DomainProof{PrincipalID: "urn:anax:principal:x", Domain: domain}
	refused(t, "unknown principal", w.ra.ProveDomain(ctx, operator, unknown), api.CodeNotFound)
	if len(w.web.asked) != 0 {
		t.Errorf("asked %q for those", w.web.asked)
	}
	for _, code := range []string{api.CodeDomainUnreachable, api.CodeDomainMalformed, api.CodeDomainMismatch} {
		w.web.fault = &api.Error{Code: code}
		refused(t, "the domain's fault", prove(w.a.principal), crossing.Name(code))
	}
	w.web.fault = nil
	w.sleep(time.Minute)
	refused(t, "nothing published", prove(w.a.principal), api.CodeDomainMismatch)
	w.web.keys = map[string][]jose.Key{domain: {stranger}}
	refused(t, "another's keys", prove(w.a.principal), api.CodeDomainMismatch)
	shown("so far", "", time.Time{})
	w.web.keys[domain] = []jose.Key{stranger, w.a.issuer.Key()}
	wanted(t, "published", prove(w.a.principal), "")
	proved := w.now
	shown("proved", domain, proved)

	// A new key is not seen there yet; a renewal sees it.
	next := signer(t)
	w.sleep(time.Minute)
	wanted(t, "add a key", w.ra.Add(ctx, w.a.principal, api.Addition{PrincipalID: w.a.id, Keys: []jose.Key{next.Key()}}), "")
	shown("a new key", "", time.Time{})
	renew := func(what string, asked int) {
		t.Helper()
		w.web.asked = nil
		if err := w.ra.RenewDomains(ctx); err != nil || len(w.web.asked) != asked {
			t.Errorf("%s: asked %q, %v", what, w.web.asked, err)
		}
	}
	renew("not published yet", 1)
	shown("not published yet", "", time.Time{})
	w.web.keys[domain] = append(w.web.keys[domain], next.Key())
	renew("published", 1)
	proved = w.now
	shown("renewed", domain, proved)
	renew("fresh", 0)

	w.sleep(registry.RenewDomainsAfter)
	renew("a day later to the moment", 0)
	w.sleep(time.Second)
	w.web.fault = &api.Error{Code: api.CodeDomainUnreachable}
	renew("a day later, out of reach", 1)
	shown("out of reach", domain, proved)
	w.sleep(registry.DomainLifetime - registry.RenewDomainsAfter - 2*time.Second)
	shown("in its last second", domain, proved)
	w.sleep(time.Second)
	shown("lapsed", "", time.Time{})
	w.web.fault = nil
	renew("back", 1)
	shown("back", domain, w.now)

	w.web.fault = errors.New("broken")
	if err := prove(w.a.principal); err == nil {
		t.Error("proved by a broken reader")
	}
	for range 9 { // bounded, so that nobody's RA becomes a tool against a domain
		err := prove(w.b.principal)
		refused(t, "another's", err, api.CodeNotFound)
	}
	w.web.asked = nil
	for range 9 {
		_ = prove(w.a.principal)
	}
	refused(t, "too often", prove(w.a.principal), crossing.RateLimited)
	if n := len(w.web.asked); n > 5 {
		t.Errorf("asked %d times at once", n)
	}
}

// only is a store that knows a principal, and nothing else.
type only struct{ registry.Store }

func (only) Principal(context.Context, string) (mandate.Principal, error) {
	return mandate.Principal{ID: "urn:anax:principal:a", Active: true}, nil
}

// TestNoDomains: an RA that cannot read domains proves none.
func TestNoDomains(t *testing.T) {
	ra, err := registry.New(registry.Config{Store: only{}, Signer: signer(t), Now: func() time.Time { return start }})
	if err != nil {
		t.Fatal(err)
	}
	actor := registry.Actor{Role: api.RolePrincipal, PrincipalID: "urn:anax:principal:a"}
	err = ra.ProveDomain(t.Context(), actor, api.DomainProof{PrincipalID: actor.PrincipalID, Domain: "a.example"})
	refused(t, "prove", err, api.CodeDomainUnreachable)
	if err := ra.RenewDomains(t.Context()); err != nil {
		t.Errorf("renew: %v", err)
	}
}

// TestLongestRecord: with bounds on every key, a record is still one that is signed.
func TestLongestRecord(t *testing.T) {
	long := func(prefix string) string { return prefix + strings.Repeat("x", 256-len(prefix)) }
	label := strings.Repeat("d", 63) + "."
	p := mandate.Principal{
		ID: long("urn:anax:principal:"), Name: strings.Repeat("n", 256), Active: true, ClearanceIDHash: jcs.HexOf(nil),
		TrustBasis: "vicca_authority_sealed", Domain: label + label + label + "example",
		DomainProvedAt: start, At: start, Expires: start.Add(time.Minute),
	}
	key := func() jose.Key { return from(until(signer(t).Key(), start.Add(time.Hour)), start) }
	for range registry.MaxKeys {
		p.Keys = append(p.Keys, key())
	}
	for range registry.MaxAgents {
		p.Agents = append(p.Agents, mandate.Agent{ID: long("urn:anax:agent:"), Key: key()})
	}
	for range registry.MaxHumans {
		p.Humans = append(p.Humans, mandate.Human{ID: long("urn:anax:human:"), Key: key()})
	}
	ra := signer(t)
	token, err := p.Sign(ra)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mandate.ParsePrincipal(token, jose.NewKeySet(ra.Key())); err != nil {
		t.Error(err)
	}
}
