package httpapi

import (
	"net/http"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
)

// registryRoutes mounts the Registration Authority. Enrolment, status and principal
// records are public and rate-limited; every other route needs the credential of a role,
// which the registry checks after the body was read and before it is looked at.
func (e *edge) registryRoutes(ra *registry.Registry) {
	e.post("/v1/ra/enrol", limited(ra, func(r *http.Request, body []byte) ([]byte, error) {
		req, err := api.ParseEnrol(body)
		if err != nil {
			return nil, err
		}
		answer, err := ra.Enrol(r.Context(), req)
		if err != nil {
			return nil, err
		}
		return answer.Bytes(), nil
	}))
	e.post("/v1/ra/peers", limited(ra, func(r *http.Request, body []byte) ([]byte, error) {
		req, err := api.ParseEnrolPeer(body)
		if err != nil {
			return nil, err
		}
		answer, err := ra.EnrolPeer(r.Context(), req)
		if err != nil {
			return nil, err
		}
		return answer.Bytes(), nil
	}))
	e.post("/v1/ra/status", limited(ra, func(r *http.Request, body []byte) ([]byte, error) {
		req, err := api.ParseStatusRequest(body)
		if err != nil {
			return nil, err
		}
		return statement(ra.Status(r.Context(), req))
	}))
	principal := limited(ra, func(r *http.Request, _ []byte) ([]byte, error) {
		return statement(ra.Principal(r.Context(), r.PathValue("id")))
	})
	e.get("/v1/ra/principals/{id}", func(r *http.Request) ([]byte, error) { return principal(r, nil) })
	e.officeRoutes(ra)
	e.spendRoutes(ra)
	e.revocationRoutes(ra)
	e.post("/v1/ra/opens", as(ra, func(r *http.Request, actor registry.Actor, body []byte) ([]byte, error) {
		req, err := api.ParseRegisterOpen(body)
		if err != nil {
			return nil, err
		}
		return statement(ra.RegisterOpen(r.Context(), actor, req))
	}))
	e.post("/v1/ra/closeds", as(ra, func(r *http.Request, actor registry.Actor, body []byte) ([]byte, error) {
		req, err := api.ParseRegisterClosed(body)
		if err != nil {
			return nil, err
		}
		return statement(ra.RegisterClosed(r.Context(), actor, req))
	}))
	e.post("/v1/ra/revocations", as(ra, func(r *http.Request, actor registry.Actor, body []byte) ([]byte, error) {
		req, err := api.ParseRevoke(body)
		if err != nil {
			return nil, err
		}
		answer, err := ra.Revoke(r.Context(), actor, req)
		if err != nil {
			return nil, err
		}
		return answer.Bytes(), nil
	}))
}

// spendRoutes are the effector's (§3.7.2).
func (e *edge) spendRoutes(ra *registry.Registry) {
	e.post("/v1/ra/holds", as(ra, func(r *http.Request, actor registry.Actor, body []byte) ([]byte, error) {
		req, err := api.ParseHold(body)
		if err != nil {
			return nil, err
		}
		return statement(ra.Hold(r.Context(), actor, req))
	}))
	e.post("/v1/ra/confirms", as(ra, func(r *http.Request, actor registry.Actor, body []byte) ([]byte, error) {
		req, err := api.ParseConfirm(body)
		if err != nil {
			return nil, err
		}
		return statement(ra.Confirm(r.Context(), actor, req.Triple))
	}))
	e.post("/v1/ra/releases", as(ra, func(r *http.Request, actor registry.Actor, body []byte) ([]byte, error) {
		req, err := api.ParseRelease(body)
		if err != nil {
			return nil, err
		}
		return statement(ra.Release(r.Context(), actor, req))
	}))
	e.post("/v1/ra/units", as(ra, func(r *http.Request, actor registry.Actor, body []byte) ([]byte, error) {
		req, err := api.ParseConsume(body)
		if err != nil {
			return nil, err
		}
		answer, err := ra.Consume(r.Context(), actor, req)
		if err != nil {
			return nil, err
		}
		return answer.Bytes(), nil
	}))
	e.post("/v1/ra/units/burned", change(ra, api.ParseBurn, ra.Burned))
}

// limited takes the request from the budget of its address before op sees it. An enrolled
// party is not held to it: its credential can be withdrawn.
func limited(ra *registry.Registry, op func(*http.Request, []byte) ([]byte, error)) func(*http.Request, []byte) ([]byte, error) {
	return func(r *http.Request, body []byte) ([]byte, error) {
		if err := ra.Admit(remote(r.Context())); err != nil {
			if _, unknown := ra.Authenticate(r.Context(), bearer(r)); unknown != nil {
				return nil, err
			}
		}
		return op(r, body)
	}
}

// as authenticates the request before op sees it.
func as(ra *registry.Registry, op func(*http.Request, registry.Actor, []byte) ([]byte, error)) func(*http.Request, []byte) ([]byte, error) {
	return func(r *http.Request, body []byte) ([]byte, error) {
		actor, err := ra.Authenticate(r.Context(), bearer(r))
		if err != nil {
			return nil, err
		}
		return op(r, actor, body)
	}
}

// statement is the answer that carries one signed statement.
func statement(token string, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return api.Statement{Token: token}.Bytes(), nil
}
