package httpapi

import (
	"net/http"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
)

// Codes that only this edge gives, before any role is asked.
const (
	codeMisdirected = "misdirected_request" // Host is not one of ours
	codeOrigin      = "origin_refused"      // a page of another origin asks
	codeInternal    = "internal_error"      // a handler panicked
)

// status is the one mapping from codes to HTTP. Names of §3.7.4 have their status in
// the specification's table (GC-120); a code that nobody mapped is our fault.
func status(code string) (int, bool) {
	switch code {
	case api.CodeMalformed:
		return http.StatusBadRequest, true
	case api.CodeUnauthenticated:
		return http.StatusUnauthorized, true
	case api.CodeNotFound:
		return http.StatusNotFound, true
	case api.CodeEnrolment, api.CodeEnrolmentMismatch, api.CodeUnproved:
		return http.StatusForbidden, true
	case api.CodeConflict, api.CodePredecessorMissing, api.CodeDomainMismatch, api.CodeDomainMalformed:
		return http.StatusConflict, true
	case api.CodeTooLarge:
		return http.StatusRequestEntityTooLarge, true
	case api.CodeUnavailable, api.CodeRegistryUnreachable:
		return http.StatusServiceUnavailable, true
	case api.CodeDomainUnreachable:
		return http.StatusBadGateway, true
	case codeMisdirected:
		return http.StatusMisdirectedRequest, true
	case codeOrigin:
		return http.StatusForbidden, true
	case codeInternal:
		return http.StatusInternalServerError, true
	}
	if row, ok := crossing.RowOf(crossing.Name(code)); ok {
		return row.HTTP, true
	}
	return http.StatusInternalServerError, false
}

func writeError(w http.ResponseWriter, e *api.Error) {
	number, _ := status(e.Code)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Del("ETag")
	switch number {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="bindery"`)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	writeJSON(w, number, e.Bytes())
}
