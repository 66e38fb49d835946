package registry_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A hosted RA is run by party h, whose VA pins what it is told.
type hosted struct {
	*registry.Registry
	keys   jose.KeySet
	key    *jose.Signer
	h      *party
	pinned []string
	pinErr error
}

func newHosted(t *testing.T, host bool) *hosted {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := &world{t: t, now: start}
	r := &hosted{key: signer(t), h: newParty(t, "host")}
	r.keys = jose.NewKeySet(r.key.Key())
	cfg := registry.Config{Store: db.Registry(), Signer: r.key, Now: w.clock, VAURL: "https://va.example/"}
	if host {
		cfg.Host = &registry.Host{
			PrincipalID: r.h.id,
			Credential:  func(kid string) jcs.Hex256 { return jcs.HexOf([]byte("at " + kid)) },
			Pin: func(_ context.Context, key jose.Key) error {
				r.pinned = append(r.pinned, key.ID)
				return r.pinErr
			},
		}
	}
	if r.Registry, err = registry.New(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := r.EnrolSelf(t.Context(), r.h.enrol(api.RolePrincipal, api.RoleEffector)); err != nil {
		t.Fatal(err)
	}
	return r
}

// brings is the request of party p with an RA of its own.
func brings(t *testing.T, p *party, ra *jose.Signer) api.EnrolPeer {
	t.Helper()
	return api.EnrolPeer{
		Counterpart: api.Counterpart{
			PrincipalID: p.id, Agents: []mandate.Agent{{ID: p.agentID, Key: p.agent.Key()}}, Effector: jcs.HexOf([]byte("its effector")),
		},
		Key: ra.Key(), URL: "https://ra.example",
	}
}

// TestEnrolPeer brings the RA of another organisation by a code: once, with a signed answer
// from which that RA enters this one's host in turn.
//
// covers GC-209
func TestEnrolPeer(t *testing.T) {
	ctx := t.Context()
	r, p, theirs := newHosted(t, true), newParty(t, "peer"), signer(t)
	req := brings(t, p, theirs)
	req.Secret = "AAAAAAAAAAAAAAAAAAAAAA"
	_, err := r.EnrolPeer(ctx, req)
	refused(t, "unknown code", err, api.CodeEnrolment)
	if len(r.pinned) != 0 {
		t.Error("an unknown code has pinned a key")
	}
	if req.Secret, err = r.NewCode(ctx, registry.CodeTerms{}); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*api.EnrolPeer){
		"this RA's principal": func(q *api.EnrolPeer) { q.PrincipalID = r.h.id },
		"this RA's key":       func(q *api.EnrolPeer) { q.Key = r.key.Key() },
		"this RA's agent":     func(q *api.EnrolPeer) { q.Agents = []mandate.Agent{{ID: r.h.agentID, Key: p.agent.Key()}} },
	} {
		q := req
		change(&q)
		_, err = r.EnrolPeer(ctx, q)
		refused(t, what, err, api.CodeConflict)
	}

	r.pinErr = errors.New("the store is away")
	if _, err = r.EnrolPeer(ctx, req); !errors.Is(err, r.pinErr) {
		t.Errorf("without the VA: %v", err)
	}
	r.pinErr = nil
	first, err := r.EnrolPeer(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Verify(r.keys); err != nil {
		t.Error(err)
	}
	if first.PrincipalID != r.h.id || len(first.Agents) != 1 || first.Agents[0].ID != r.h.agentID || first.Peer != theirs.Key().ID ||
		first.Effector != jcs.HexOf([]byte("at "+theirs.Key().ID)) || first.VAURL != "https://va.example/" || !first.VAPinned {
		t.Errorf("answer %+v", first)
	}
	if again, err := r.EnrolPeer(ctx, req); err != nil || again.Receipt != first.Receipt {
		t.Errorf("the same request got another answer: %+v, %v", again, err)
	}
	if len(r.pinned) != 3 || r.pinned[2] != theirs.Key().ID {
		t.Errorf("the VA was told %v", r.pinned)
	}
	other := req
	other.URL += "/2"
	_, err = r.EnrolPeer(ctx, other)
	refused(t, "another request on a used code", err, api.CodeEnrolment)
	other.Secret, _ = r.NewCode(ctx, registry.CodeTerms{})
	_, err = r.EnrolPeer(ctx, other)
	refused(t, "another RA for the principal", err, api.CodeConflict)

	// The counterpart spends here, and has nothing else: no record is served for it.
	actor, err := r.Authenticate(ctx, "its effector")
	if err != nil || actor != (registry.Actor{Role: api.RoleEffector, PrincipalID: p.id}) {
		t.Errorf("its effector is %+v, %v", actor, err)
	}
	_, err = r.Principal(ctx, p.id)
	refused(t, "its record", err, api.CodeNotFound)
	q := p.enrol(api.RolePrincipal)
	q.Secret, _ = r.NewCode(ctx, registry.CodeTerms{})
	p.proves(t, &q, r.key.Key())
	_, err = r.Enrol(ctx, q)
	refused(t, "the same principal with mandates here", err, api.CodeConflict)
}

// TestAddPeer is the other side of it.
func TestAddPeer(t *testing.T) {
	ctx := t.Context()
	r, p, theirs := newHosted(t, false), newParty(t, "peer"), signer(t)
	req := brings(t, p, theirs)
	req.Secret, _ = r.NewCode(ctx, registry.CodeTerms{})
	_, err := r.EnrolPeer(ctx, req)
	refused(t, "nobody crosses in its name", err, api.CodeNotFound)
	pin := registry.Peer{PrincipalID: p.id, Key: theirs.Key(), URL: req.URL}
	if err := r.AddPeer(ctx, req.Counterpart, pin); err != nil {
		t.Fatal(err)
	}
	refused(t, "again", r.AddPeer(ctx, req.Counterpart, pin), api.CodeConflict)
	pin.Key, pin.PrincipalID = r.key.Key(), p.id+"-2"
	refused(t, "its own key", r.AddPeer(ctx, req.Counterpart, pin), api.CodeConflict)
	_, err = r.RegisterOpen(ctx, registry.Actor{Role: api.RolePrincipal, PrincipalID: p.id}, api.RegisterOpen{Token: "x~"})
	if e := (*api.Error)(nil); !errors.As(err, &e) || e.Code == string(crossing.RoleMismatch) {
		t.Errorf("a mandate of the counterpart: %v", err)
	}
}

// TestAgentOfAnother: an organisation with an RA of its own names whatever agents it likes in
// its records. No draw is booked against one that is registered here as another principal's:
// it would put a link into the chain of a pair that has agreed nothing.
//
// covers GC-209
func TestAgentOfAnother(t *testing.T) {
	w := newWorld(t)
	peer, theirs := newParty(t, "peer"), signer(t)
	req := brings(t, peer, theirs)
	if err := w.ra.AddPeer(t.Context(), req.Counterpart, registry.Peer{PrincipalID: peer.id, Key: theirs.Key(), URL: req.URL}); err != nil {
		t.Fatal(err)
	}
	open := w.opened(w.a, w.a.openDraft(irreversible(1)))
	token := w.closed(w.a.agent, w.a.closedDraft(open, peer, irreversible(1)))
	_, err := w.register(w.a, token, w.b)
	refused(t, "another's agent", err, crossing.MandatePartyMismatch)
	if _, err := w.register(w.a, token, peer); err != nil {
		t.Errorf("its own agent: %v", err)
	}
}

// TestCodeTerms: a code for a party pins no RA, one for an RA admits no party, and one for a
// principal no other; what was refused has used nothing up.
//
// covers GC-209
func TestCodeTerms(t *testing.T) {
	ctx := t.Context()
	r, p, q := newHosted(t, true), newParty(t, "peer"), newParty(t, "q")
	code := func(kind registry.CodeKind, principalID string) string {
		t.Helper()
		secret, err := r.NewCode(ctx, registry.CodeTerms{Kind: kind, PrincipalID: principalID})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	peer, party := brings(t, p, signer(t)), q.enrol(api.RolePrincipal)
	peer.Secret, party.Secret = code(registry.CodeParty, ""), code(registry.CodeRegistry, "")
	q.proves(t, &party, r.key.Key())
	_, err := r.EnrolPeer(ctx, peer)
	refused(t, "an RA by a party's code", err, api.CodeEnrolmentMismatch)
	_, err = r.Enrol(ctx, party)
	refused(t, "a party by an RA's code", err, api.CodeEnrolmentMismatch)
	if len(r.pinned) != 0 {
		t.Error("the VA was told of an RA that was refused")
	}
	peer.Secret, party.Secret = party.Secret, peer.Secret
	if _, err := r.EnrolPeer(ctx, peer); err != nil {
		t.Error(err)
	}
	if _, err := r.Enrol(ctx, party); err != nil {
		t.Error(err)
	}
	stranger := newParty(t, "third")
	third := stranger.enrol()
	third.Secret = code(registry.CodeAny, q.id)
	stranger.proves(t, &third, r.key.Key())
	_, err = r.Enrol(ctx, third)
	refused(t, "another principal's code", err, api.CodeEnrolmentMismatch)
}

// TestUnpin ends the pin of a counterpart's RA: its organisation spends nothing here any more,
// and no Closed that names it is registered.
//
// covers GC-209
func TestUnpin(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t)
	peer, theirs := newParty(t, "peer"), signer(t)
	req := brings(t, peer, theirs)
	if err := w.ra.AddPeer(ctx, req.Counterpart, registry.Peer{PrincipalID: peer.id, Key: theirs.Key(), URL: req.URL}); err != nil {
		t.Fatal(err)
	}
	operator := registry.Actor{Role: api.RoleOperator, PrincipalID: w.a.id}
	refused(t, "as the principal", w.ra.Unpin(ctx, w.a.principal, theirs.Key().ID), crossing.RoleMismatch)
	refused(t, "the RA's own key", w.ra.Unpin(ctx, operator, w.key.Key().ID), api.CodeConflict)
	refused(t, "an unknown key", w.ra.Unpin(ctx, operator, signer(t).Key().ID), api.CodeNotFound)
	if _, err := w.ra.Authenticate(ctx, "its effector"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.ra.Unpin(ctx, operator, theirs.Key().ID); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.ra.Authenticate(ctx, "its effector")
	refused(t, "its effector", err, api.CodeUnauthenticated)
	open := w.opened(w.a, w.a.openDraft(irreversible(1)))
	_, err = w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(open, peer, irreversible(1))), peer)
	refused(t, "a Closed for it", err, crossing.MandatePartyMismatch)
}
