package httpapi

import (
	"net/http"
	"net/url"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
)

// keyRoutes are those for when keys may sign, for humans' keys that wait for the operator,
// and for domains (design R6).
func (e *edge) keyRoutes(ra *registry.Registry) {
	e.post("/v1/ra/retirements", change(ra, api.ParseRetirement, ra.Retire))
	e.post("/v1/ra/human-decisions", change(ra, api.ParseHumanDecision, ra.DecideHuman))
	e.post("/v1/ra/domains", change(ra, api.ParseDomainProof, ra.ProveDomain))
	requests := as(ra, func(r *http.Request, actor registry.Actor, _ []byte) ([]byte, error) {
		principalID, err := ofPrincipal(r.URL.Query())
		if err != nil {
			return nil, err
		}
		answer, err := ra.HumanRequests(r.Context(), actor, principalID)
		if err != nil {
			return nil, err
		}
		return answer.Bytes(), nil
	})
	e.get("/v1/ra/human-requests", func(r *http.Request) ([]byte, error) { return requests(r, nil) })
}

// ofPrincipal reads ?principal_id=ID, at most once.
func ofPrincipal(q url.Values) (principalID string, err error) {
	for name, values := range q {
		if name != "principal_id" || len(values) != 1 || values[0] == "" {
			return "", &api.Error{Code: api.CodeMalformed, Pointer: "/" + name}
		}
		principalID = values[0]
	}
	return principalID, nil
}
