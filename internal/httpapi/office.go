package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// defaultAuditRows is how many rows GET /v1/ra/audit shows if it is not told.
const defaultAuditRows = 100

// officeRoutes are those by which an operator, and each principal for itself, keeps the
// directory. Their answer is {} but for the audit and the list of what waits.
func (e *edge) officeRoutes(ra *registry.Registry) {
	e.post("/v1/ra/issuers", change(ra, api.ParseRegisterIssuer, ra.RegisterIssuer))
	e.post("/v1/ra/additions", change(ra, api.ParseAddition, ra.Add))
	e.post("/v1/ra/suspensions", change(ra, api.ParseSuspension, ra.SetSuspended))
	e.post("/v1/ra/withdrawals", change(ra, api.ParseWithdrawal, ra.Withdraw))
	e.keyRoutes(ra)
	audit := as(ra, func(r *http.Request, actor registry.Actor, _ []byte) ([]byte, error) {
		before, limit, err := auditPage(r.URL.Query())
		if err != nil {
			return nil, err
		}
		answer, err := ra.AuditRows(r.Context(), actor, before, limit)
		if err != nil {
			return nil, err
		}
		return answer.Bytes(), nil
	})
	e.get("/v1/ra/audit", func(r *http.Request) ([]byte, error) { return audit(r, nil) })
}

// change is an operation that has nothing to say but that it was done.
func change[T any](ra *registry.Registry, parse func([]byte) (T, error), op func(context.Context, registry.Actor, T) error) func(*http.Request, []byte) ([]byte, error) {
	return as(ra, func(r *http.Request, actor registry.Actor, body []byte) ([]byte, error) {
		req, err := parse(body)
		if err != nil {
			return nil, err
		}
		if err := op(r.Context(), actor, req); err != nil {
			return nil, err
		}
		return jcs.Object(), nil
	})
}

// auditPage reads ?before=ID&limit=N, each at most once.
func auditPage(q url.Values) (before int64, limit int, err error) {
	limit = defaultAuditRows
	for name, values := range q {
		n, err := strconv.ParseInt(values[0], 10, 64)
		switch {
		case name != "before" && name != "limit", len(values) != 1, err != nil, n < 1:
			return 0, 0, &api.Error{Code: api.CodeMalformed, Pointer: "/" + name}
		case name == "before":
			before = n
		default:
			limit = int(min(n, api.MaxAuditRows+1))
		}
	}
	return before, limit, nil
}
