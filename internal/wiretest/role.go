package wiretest

import (
	"context"
	"net"
	"net/http"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/httpapi"
	"github.com/bindery/bindery/internal/registry"
)

// A Rate bounds what is asked of an authority.
type Rate = authority.Rate

// A ReleaseMode says whether an RA gives anything back (design R3).
type ReleaseMode = registry.ReleaseMode

// The release modes, and how long an unconfirmed hold stands in mode on.
const (
	ReleaseNone = registry.ReleaseNone
	ReleaseOn   = registry.ReleaseOn
	HoldTimeout = registry.DefaultHoldTimeout
)

// operator is the RA's own.
func operator() registry.Actor { return registry.Actor{Role: api.RoleOperator} }

// Suspend suspends a Party's principal at the RA.
func (w *World) Suspend(p *Party) {
	w.t.Helper()
	w.check(p.ra.SetSuspended(w.t.Context(), operator(), api.Suspension{PrincipalID: p.PrincipalID, Suspended: true}))
}

// Reinstate ends a suspension.
func (w *World) Reinstate(p *Party) {
	w.t.Helper()
	w.check(p.ra.SetSuspended(w.t.Context(), operator(), api.Suspension{PrincipalID: p.PrincipalID}))
}

// HoldByService lets a service issuer issue for a Party's agent, so that no effector spends
// a mandate of that agent any more (§3.7.2 rule 2).
func (w *World) HoldByService(p *Party) {
	w.t.Helper()
	w.check(p.ra.RegisterIssuer(w.t.Context(), operator(), api.RegisterIssuer{
		PrincipalID: p.PrincipalID, CredentialHash: api.CredentialHash(random(32)), Subjects: []string{p.AgentID},
	}))
}

// Serve answers on l with handler behind the public listener's middleware and time limits,
// as the program does, until ctx ends.
func Serve(ctx context.Context, l net.Listener, host string, handler http.Handler) error {
	public, err := httpapi.NewPublic(httpapi.PublicConfig{Hosts: []string{host}, Else: handler})
	if err != nil {
		return err
	}
	return httpapi.Serve(ctx, l, public, nil)
}

// Role posts a body to a path of the responder's RA or VA, such as /v1/ra/closeds, under a
// credential; "" sends none. A transport error ends the test.
func (w *World) Role(path, credential string, body []byte) Answer {
	w.t.Helper()
	return w.role(w.URL, path, credential, body)
}

// Role posts a body to a path of the Party's own RA.
func (p *Party) Role(path, credential string, body []byte) Answer {
	p.w.t.Helper()
	return p.w.role(p.ra.URL, path, credential, body)
}

func (w *World) role(base, path, credential string, body []byte) Answer {
	w.t.Helper()
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	if credential != "" {
		h.Set("Authorization", "Bearer "+credential)
	}
	a, err := w.requestAt(base, http.MethodPost, path, h, body)
	w.check(err)
	return a
}

// RoleName is the code of an error of the RA or VA, "" when there is none.
func (a Answer) RoleName() string { return Text(a.Doc, "error", "code") }

// Present gives the Script another Closed, with the claims that edit leaves, which no RA
// is asked to register. The Script must not have sealed yet.
func (s *Script) Present(edit func(claims Doc)) {
	s.W.t.Helper()
	s.Closed, s.Receipt = s.SignClosed(edit), "unregistered"
	s.Forget()
}
