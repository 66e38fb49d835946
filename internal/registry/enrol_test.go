package registry_test

import (
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

func TestEnrolmentCode(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	secret, err := w.ra.NewCode(ctx, registry.CodeTerms{})
	if err != nil {
		t.Fatal(err)
	}
	c := newParty(t, "c")
	publisher := signer(t)
	req := c.enrol(api.RolePrincipal, api.RoleAgent, api.RoleEffector)
	req.Publisher = &api.Publisher{Key: publisher.Key(), CredentialHash: api.CredentialHash("publisher")}
	req.Secret = "AAAAAAAAAAAAAAAAAAAAAA"
	c.proves(t, &req, w.key.Key(), publisher)
	_, err = w.ra.Enrol(ctx, req)
	refused(t, "unknown code", err, api.CodeEnrolment)
	if _, err := w.ra.Principal(ctx, c.id); err == nil {
		t.Error("an unknown code registered a principal")
	}

	req.Secret = secret
	for _, role := range []string{api.RoleOperator, api.RoleIssuer} {
		greedy := req
		greedy.Credentials = c.enrol(role).Credentials
		_, err = w.ra.Enrol(ctx, greedy)
		refused(t, "credential of role "+role, err, crossing.RoleMismatch)
	}
	taken := req
	taken.PrincipalID = w.a.id
	c.proves(t, &taken, w.key.Key(), publisher)
	_, err = w.ra.Enrol(ctx, taken)
	refused(t, "known principal", err, api.CodeConflict)

	first, err := w.ra.Enrol(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if first.PrincipalID != c.id || first.VAURL != "https://va.example/" {
		t.Errorf("answer %+v", first)
	}
	grant, err := mandate.ParsePublisherGrant(first.PublisherGrant, w.keys)
	if err != nil || grant.PrincipalID != c.id || !grant.Key.Same(publisher.Key()) ||
		grant.CredentialHash != api.CredentialHash("publisher") {
		t.Errorf("grant %+v, %v", grant, err)
	}
	w.sleep(48 * time.Hour)
	c.proves(t, &req, w.key.Key(), publisher) // a key signs another proof each time
	again, err := w.ra.Enrol(ctx, req)
	if err != nil || again != first {
		t.Errorf("the same request got another answer: %+v, %v", again, err)
	}
	other := req
	other.Name = "Other"
	_, err = w.ra.Enrol(ctx, other)
	refused(t, "another request on a used code", err, api.CodeEnrolment)
}

func TestEnrolmentCodeExpires(t *testing.T) {
	w := newWorld(t)
	c := newParty(t, "c")
	req := c.enrol()
	c.proves(t, &req, w.key.Key())
	var err error
	if req.Secret, err = w.ra.NewCode(t.Context(), registry.CodeTerms{}); err != nil {
		t.Fatal(err)
	}
	w.sleep(24 * time.Hour)
	_, err = w.ra.Enrol(t.Context(), req)
	refused(t, "at 24 hours", err, api.CodeEnrolment)
	w.sleep(-time.Millisecond)
	if _, err = w.ra.Enrol(t.Context(), req); err != nil {
		t.Errorf("just before 24 hours: %v", err)
	}
}

// TestEnrolUnproved: a key that has not signed for its registration here is not registered, and
// the code is as good as before.
//
// covers GC-209
func TestEnrolUnproved(t *testing.T) {
	w := newWorld(t)
	ctx, c, other := t.Context(), newParty(t, "c"), signer(t)
	req := c.enrol(api.RolePrincipal)
	var err error
	if req.Secret, err = w.ra.NewCode(ctx, registry.CodeTerms{}); err != nil {
		t.Fatal(err)
	}
	_, err = w.ra.Enrol(ctx, req)
	refused(t, "without proofs", err, api.CodeUnproved)
	c.proves(t, &req, other.Key())
	_, err = w.ra.Enrol(ctx, req)
	if e := refused(t, "with another RA's", err, api.CodeUnproved); e.Pointer != "/keys/0" {
		t.Errorf("pointer %q", e.Pointer)
	}
	if _, err := w.ra.Principal(ctx, c.id); err == nil {
		t.Error("the principal is registered")
	}
	c.proves(t, &req, w.key.Key())
	if _, err := w.ra.Enrol(ctx, req); err != nil {
		t.Error(err)
	}
}

func TestEnrolSelf(t *testing.T) {
	w := newWorld(t)
	_, err := w.ra.EnrolSelf(t.Context(), w.a.enrol())
	refused(t, "again", err, api.CodeConflict)
	bad := newParty(t, "c").enrol()
	bad.TrustBasis = "self-declared"
	_, err = w.ra.EnrolSelf(t.Context(), bad)
	if e := refused(t, "trust basis", err, api.CodeMalformed); e.Pointer != "/trust_basis" {
		t.Errorf("pointer %q", e.Pointer)
	}
}

func TestAuthenticate(t *testing.T) {
	w := newWorld(t)
	for _, role := range []string{api.RolePrincipal, api.RoleAgent, api.RoleIssuer, api.RoleEffector, api.RoleOperator} {
		want := registry.Actor{Role: role, PrincipalID: w.a.id}
		switch role {
		case api.RoleAgent:
			want.AgentID = w.a.agentID
		case api.RoleIssuer:
			want.Issuer = api.CredentialHash(role + "@" + w.a.id)
		}
		if got, err := w.ra.Authenticate(t.Context(), role+"@"+w.a.id); err != nil || got != want {
			t.Errorf("%s: %+v, %v", role, got, err)
		}
	}
	for _, credential := range []string{"", "x", string(api.CredentialHash(api.RoleAgent + "@" + w.a.id))} {
		_, err := w.ra.Authenticate(t.Context(), credential)
		refused(t, "credential "+credential, err, api.CodeUnauthenticated)
	}
}

// covers GC-080, GC-081, GC-082, GC-110
func TestRoleMismatch(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(1))
	routes := map[string]struct {
		call func(registry.Actor) error
		may  []string
	}{
		"open": {func(a registry.Actor) error {
			_, err := w.ra.RegisterOpen(ctx, a, api.RegisterOpen{Token: d.openA.Full()})
			return err
		}, []string{api.RolePrincipal}},
		"closed": {func(a registry.Actor) error {
			_, err := w.ra.RegisterClosed(ctx, a, api.RegisterClosed{Token: d.hold.InitiatorClosed, CounterpartyAgent: w.b.agentID})
			return err
		}, []string{api.RoleAgent}},
		"hold":    {func(a registry.Actor) error { _, err := w.ra.Hold(ctx, a, d.hold); return err }, []string{api.RoleEffector}},
		"confirm": {func(a registry.Actor) error { _, err := w.ra.Confirm(ctx, a, d.hold.Triple()); return err }, []string{api.RoleEffector}},
		"confirmation": {func(a registry.Actor) error {
			_, err := w.ra.Confirmation(ctx, a, d.hold.Triple())
			return err
		}, []string{api.RoleEffector}},
		"revoke": {func(a registry.Actor) error {
			_, err := w.ra.Revoke(ctx, a, api.Revoke{Hash: jcs.HexOf([]byte("x"))})
			return err
		}, []string{api.RolePrincipal, api.RoleOperator}},
		"consume": {func(a registry.Actor) error {
			_, err := w.ra.Consume(ctx, a, units(d.openA, 1, "irreversible"))
			return err
		}, []string{api.RoleEffector}},
		"burned": {func(a registry.Actor) error { return w.ra.Burned(ctx, a, api.Burn{}) }, []string{api.RoleEffector}},
		"issuer": {func(a registry.Actor) error { return w.ra.RegisterIssuer(ctx, a, api.RegisterIssuer{}) }, []string{api.RoleOperator}},
		"add":    {func(a registry.Actor) error { return w.ra.Add(ctx, a, api.Addition{}) }, []string{api.RolePrincipal, api.RoleOperator}},
		"suspend": {func(a registry.Actor) error {
			return w.ra.SetSuspended(ctx, a, api.Suspension{PrincipalID: w.b.id, Suspended: a.Role != api.RoleOperator})
		}, []string{api.RoleOperator}},
		"withdraw": {func(a registry.Actor) error {
			return w.ra.Withdraw(ctx, a, api.Withdrawal{CredentialHash: jcs.HexOf([]byte("x"))})
		}, []string{api.RolePrincipal, api.RoleOperator}},
		"audit": {func(a registry.Actor) error { _, err := w.ra.AuditRows(ctx, a, 0, 1); return err }, []string{api.RoleOperator}},
	}
	for name, route := range routes {
		for _, role := range []string{api.RolePrincipal, api.RoleAgent, api.RoleIssuer, api.RoleEffector, api.RoleOperator, ""} {
			err := route.call(registry.Actor{Role: role, PrincipalID: w.a.id, AgentID: w.a.agentID})
			mismatch := err != nil && err.Error() == "ROLE_MISMATCH"
			permitted := false
			for _, r := range route.may {
				permitted = permitted || r == role
			}
			if mismatch == permitted {
				t.Errorf("%s as %q: %v", name, role, err)
			}
		}
	}
	// Nothing was consumed by those calls (GC-078's sense).
	if active := w.status(jcs.HexOf([]byte(d.hold.InitiatorClosed))); !active {
		t.Error("a refused role consumed a mandate")
	}
}

func (w *world) status(hash jcs.Hex256) bool {
	w.t.Helper()
	token, err := w.ra.Status(w.t.Context(), api.StatusRequest{Hash: hash, Nonce: "n"})
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := mandate.ParseStatus(token, w.keys)
	if err != nil || s.Hash != hash || s.Nonce != "n" || !s.At.Equal(w.clock().Truncate(time.Second)) ||
		!s.Expires.Equal(s.At.Add(60*time.Second)) {
		w.t.Fatalf("status %+v, %v", s, err)
	}
	return s.Active
}

// covers GC-209
func TestPrincipalRecord(t *testing.T) {
	w := newWorld(t)
	_, err := w.ra.Principal(t.Context(), "urn:anax:principal:nobody")
	refused(t, "unknown", err, api.CodeNotFound)
	token, err := w.ra.Principal(t.Context(), w.a.id)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mandate.ParsePrincipal(token, w.keys)
	if err != nil {
		t.Fatal(err)
	}
	if p.ID != w.a.id || !p.Active || p.TrustBasis != "third_party_audited" || p.AGCLevel != 2 ||
		p.ClearanceIDHash != jcs.HexOf([]byte("clearance "+w.a.id)) {
		t.Errorf("record %+v", p)
	}
	if !p.At.Equal(start) || !p.Expires.Equal(start.Add(5*time.Minute)) {
		t.Errorf("record from %v to %v", p.At, p.Expires)
	}
	if len(p.Keys) != 1 || !p.Keys[0].Same(w.a.issuer.Key()) || !p.HasAgent(w.a.agentID, w.a.agent.Key(), start) ||
		len(p.Humans) != 1 || p.Humans[0].ID != w.a.humanID || !p.Humans[0].Key.Same(w.a.human.Key()) {
		t.Errorf("keys %+v %+v %+v", p.Keys, p.Agents, p.Humans)
	}
}
