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

// guest is a party without an operator's credential, as one that joins is.
func (w *world) guest(name string) *party {
	w.t.Helper()
	p := newParty(w.t, name)
	if _, err := w.ra.EnrolSelf(w.t.Context(), p.enrol(api.RolePrincipal, api.RoleAgent, api.RoleEffector)); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// The signers of a party.
func keyOf(p *party, id string) api.RevokeSigner {
	return api.RevokeSigner{Kind: api.KindKey, PrincipalID: p.id, Subject: id}
}

func signersOf(p *party) map[string]api.RevokeSigner {
	return map[string]api.RevokeSigner{
		"issuer key":  keyOf(p, p.issuer.Key().ID),
		"cnf key":     keyOf(p, p.agent.Key().ID),
		"human's key": keyOf(p, p.human.Key().ID),
		"human":       {Kind: api.KindHuman, PrincipalID: p.id, Subject: p.humanID},
		"principal":   {Kind: api.KindPrincipal, PrincipalID: p.id},
	}
}

// TestRevokeSigner: the record resolves to the key no more, what is new is refused, and
// what was registered is not active.
//
// covers GC-209, GC-210
func TestRevokeSigner(t *testing.T) {
	for what := range signersOf(&party{issuer: signer(t), agent: signer(t), human: signer(t)}) {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			ctx, c := t.Context(), w.guest("c")
			o := w.opened(c, c.openDraft(irreversible(5)))
			byHuman := c.closedDraft(o, w.b, irreversible(1))
			byHuman.SignerRole, byHuman.Issuer = mandate.RoleHuman, c.humanID
			closed := w.closed(c.human, byHuman)
			if _, err := w.register(c, closed, w.b); err != nil {
				t.Fatal(err)
			}
			req := signersOf(c)[what]
			answer, err := w.ra.RevokeSigner(ctx, c.principal, req)
			if err != nil || answer != (api.SignerRevoked{RevokeSigner: req, At: start}) {
				t.Fatalf("%+v, %v", answer, err)
			}
			w.sleep(time.Minute)
			if again, err := w.ra.RevokeSigner(ctx, w.operator(), req); err != nil || again != answer {
				t.Errorf("again: %+v, %v", again, err)
			}

			token, err := w.ra.Principal(ctx, c.id)
			if err != nil {
				t.Fatal(err)
			}
			p, err := mandate.ParsePrincipal(token, w.keys)
			if err != nil {
				t.Fatal(err)
			}
			byPrincipal := req.Kind == api.KindPrincipal
			_, issues := p.IssuerKeys(w.clock()).Find(c.issuer.Key().ID)
			_, signs := p.HumanKeys(c.humanID, w.clock()).Find(c.human.Key().ID)
			acts := p.HasAgent(c.agentID, c.agent.Key(), w.clock())
			if issues != (what != "issuer key" && !byPrincipal) || acts != (what != "cnf key" && !byPrincipal) ||
				signs != (what == "issuer key" || what == "cnf key") {
				t.Errorf("the record: issuer %v, agent %v, human %v", issues, acts, signs)
			}

			openDead := what == "issuer key" || what == "cnf key" || byPrincipal
			if got := w.status(jcs.HexOf([]byte(o.Token))); got == openDead {
				t.Errorf("the Open is active: %v", got)
			}
			if w.status(jcs.HexOf([]byte(closed))) {
				t.Error("the Closed is active")
			}
			if what == "principal" {
				return // who would register is unknown
			}
			_, err = w.ra.RegisterOpen(ctx, c.principal, api.RegisterOpen{Token: w.open(c, c.openDraft(irreversible(7))).Full()})
			if openDead {
				refused(t, "another Open", err, crossing.MandateInvalid)
			} else if err != nil {
				t.Errorf("another Open: %v", err)
			}
			d := c.closedDraft(o, w.b, irreversible(1))
			d.SignerRole, d.Issuer = byHuman.SignerRole, byHuman.Issuer
			if _, err = w.register(c, w.closed(c.human, d), w.b); err == nil {
				t.Error("another Closed of the human is registered")
			}
			_, err = w.register(c, w.closed(c.agent, c.closedDraft(o, w.b, irreversible(1))), w.b)
			if (err == nil) == openDead {
				t.Errorf("another Closed of the agent: %v", err)
			}
		})
	}
}

// TestRevokeSignerRights: a principal for its own, the operator for any, nobody else.
//
// covers GC-080, GC-081, GC-210
func TestRevokeSignerRights(t *testing.T) {
	w := newWorld(t)
	ctx, c := t.Context(), w.guest("c")
	operator := w.operator()
	o := w.opened(c, c.openDraft(irreversible(5)))
	for what, req := range signersOf(c) {
		for _, actor := range []registry.Actor{c.as, c.effects, {Role: api.RoleIssuer, PrincipalID: c.id}, {}} {
			_, err := w.ra.RevokeSigner(ctx, actor, req)
			refused(t, what+" by "+actor.Role, err, crossing.RoleMismatch)
		}
		_, err := w.ra.RevokeSigner(ctx, w.b.principal, req)
		refused(t, what+" by another principal", err, api.CodeNotFound)
		theirs := req
		theirs.PrincipalID = w.b.id
		if req.Kind != api.KindPrincipal {
			_, err = w.ra.RevokeSigner(ctx, w.b.principal, theirs)
			refused(t, what+" under another's name", err, api.CodeNotFound)
			_, err = w.ra.RevokeSigner(ctx, operator, theirs)
			refused(t, what+" under another's name, by the operator", err, api.CodeNotFound)
		}
	}
	for what, req := range map[string]api.RevokeSigner{
		"no kind":       {PrincipalID: c.id},
		"no key":        keyOf(c, "x"),
		"no human":      {Kind: api.KindHuman, PrincipalID: c.id},
		"one too many":  {Kind: api.KindPrincipal, PrincipalID: c.id, Subject: c.humanID},
		"no principal":  {Kind: api.KindPrincipal, PrincipalID: "c"},
		"another space": {Kind: api.KindHuman, PrincipalID: c.id, Subject: c.agentID},
	} {
		_, err := w.ra.RevokeSigner(ctx, operator, req)
		refused(t, what, err, api.CodeMalformed)
	}
	_, err := w.ra.RevokeSigner(ctx, operator, api.RevokeSigner{Kind: api.KindPrincipal, PrincipalID: "urn:anax:principal:nobody"})
	refused(t, "unknown principal", err, api.CodeNotFound)
	for _, actor := range []registry.Actor{operator, w.a.principal} {
		_, err = w.ra.RevokeSigner(ctx, actor, api.RevokeSigner{Kind: api.KindPrincipal, PrincipalID: actor.PrincipalID})
		refused(t, "one with an operator's credential", err, api.CodeConflict)
	}
	if !w.status(jcs.HexOf([]byte(o.Token))) {
		t.Fatal("a refused revocation has revoked something")
	}

	if _, err := w.ra.RevokeSigner(ctx, operator, signersOf(c)["principal"]); err != nil {
		t.Fatal(err)
	}
	_, err = w.ra.Authenticate(ctx, "principal@"+c.id)
	refused(t, "its credential", err, api.CodeUnauthenticated)
	err = w.ra.SetSuspended(ctx, operator, api.Suspension{PrincipalID: c.id})
	refused(t, "reinstated", err, api.CodeConflict)
	audit, err := w.ra.AuditRows(ctx, operator, 0, 1)
	if err != nil || len(audit.Rows) != 1 || audit.Rows[0].Operation != "revoke_principal" || audit.Rows[0].Subject != c.id ||
		audit.Rows[0].PrincipalID != operator.PrincipalID {
		t.Errorf("audit %+v, %v", audit, err)
	}
}
