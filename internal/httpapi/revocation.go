package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// typeStatusList is the media type of a status list (draft-ietf-oauth-status-list §8.1).
const typeStatusList = "application/statuslist+jwt"

// revocationRoutes end what signs, and serve what says so to many at once.
func (e *edge) revocationRoutes(ra *registry.Registry) {
	e.post("/v1/ra/signer-revocations", as(ra, func(r *http.Request, actor registry.Actor, body []byte) ([]byte, error) {
		req, err := api.ParseRevokeSigner(body)
		if err != nil {
			return nil, err
		}
		answer, err := ra.RevokeSigner(r.Context(), actor, req)
		if err != nil {
			return nil, err
		}
		return answer.Bytes(), nil
	}))
	list := limited(ra, func(r *http.Request, _ []byte) ([]byte, error) {
		token, err := ra.StatusList(r.Context(), r.PathValue("id"))
		return []byte(token), err
	})
	e.mux.HandleFunc("GET /v1/ra/status-lists/{id}", func(w http.ResponseWriter, r *http.Request) {
		token, err := list(r, nil)
		if err != nil {
			e.fail(w, r, err)
			return
		}
		e.serveList(w, r, token)
	})
}

// serveList sends a status list. A cache may keep it for the list's ttl at most: what the
// list has aged here already, and what it ages on the way, the cache is not to add.
func (e *edge) serveList(w http.ResponseWriter, r *http.Request, token []byte) {
	tag := `"` + string(jcs.HexOf(token)) + `"`
	w.Header().Set("Cache-Control", maxAge(registry.ListCaching))
	w.Header().Set("ETag", tag)
	if noneMatch(r, tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", typeStatusList)
	w.WriteHeader(http.StatusOK)
	// A client that has gone cannot be told anything.
	_, _ = w.Write(token)
}

func maxAge(d time.Duration) string { return fmt.Sprintf("public, max-age=%d", int64(d/time.Second)) }

// standingRoutes answer at the Verification Authority with the word of an RA.
func (e *edge) standingRoutes(a *authority.Authority) {
	e.post("/v1/va/status", func(r *http.Request, body []byte) ([]byte, error) {
		if err := a.Admit(remote(r.Context())); err != nil {
			return nil, err
		}
		req, err := api.ParseStatusRequest(body)
		if err != nil {
			return nil, err
		}
		return statement(a.Status(r.Context(), req))
	})
	e.mux.HandleFunc("GET /v1/va/status/{open_mandate_hash}", func(w http.ResponseWriter, r *http.Request) {
		if err := a.Admit(remote(r.Context())); err != nil {
			e.fail(w, r, err)
			return
		}
		token, left, err := a.Standing(r.Context(), jcs.Hex256(r.PathValue("open_mandate_hash")))
		if err != nil {
			e.fail(w, r, err)
			return
		}
		w.Header().Set("Cache-Control", maxAge(left))
		writeJSON(w, http.StatusOK, api.Statement{Token: token}.Bytes())
	})
}
