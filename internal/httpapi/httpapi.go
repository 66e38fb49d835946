// Package httpapi is the HTTP edge of Bindery's public listener: the routes of the
// Registration Authority and the Verification Authority, the published keys, and the
// middleware that every other public handler (the A2A endpoints) runs under too.
//
// A request passes, in this order:
//
//	recover      a panic is 500 without detail
//	headers      X-Content-Type-Options: nosniff, Cache-Control: no-store
//	Host         one of the configured host:port values, else 421 (design H1)
//	Origin       absent, or one of the server's own, else 403 (design H1)
//	body         at most [api.MaxBody] bytes, else 413, before anything is parsed
//	route        parse → role → answer
//
// An answer is canonical JSON. A refusal is {"error":{"code","message","pointer"?,
// "receipt"?}} with a status from the one table in errors.go, so
//
//	POST /v1/crossing:verify  {}
//	400 {"error":{"code":"VERIFY_PARAMS","message":"refused: VERIFY_PARAMS"}}
//
// crossing:verify is public and rate-limited by remote address (§3.7.3, GC-093,
// GC-094). Its five entrances, the JSON-RPC one included, are one resolver (V1).
// Credentials are read from the Authorization header alone; no cookie is set or read.
//
// Room: adapters. Network in; the only place for HTTP status numbers.
package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/bindery/bindery/api"
)

// maxCredential is the longest Authorization value that is looked at, in bytes.
const maxCredential = 512

// edge is what the routes of one handler share.
type edge struct {
	mux *http.ServeMux
	log *slog.Logger
}

// post mounts an operation that takes a body. Its answer goes out with status 200;
// its error through the one table.
func (e *edge) post(path string, op func(r *http.Request, body []byte) (answer []byte, err error)) {
	e.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		body, err := readBody(r)
		if err != nil {
			e.fail(w, r, err)
			return
		}
		answer, err := op(r, body)
		e.reply(w, r, answer, err)
	})
}

// get mounts an operation that has no body.
func (e *edge) get(path string, op func(r *http.Request) (answer []byte, err error)) {
	e.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		answer, err := op(r)
		e.reply(w, r, answer, err)
	})
}

func (e *edge) reply(w http.ResponseWriter, r *http.Request, answer []byte, err error) {
	if err != nil {
		e.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// fail answers with an error. What is no *api.Error is our own fault: it is logged
// here and leaves as "nothing was decided" (style §4-5: internal detail crosses no edge).
func (e *edge) fail(w http.ResponseWriter, r *http.Request, err error) {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		refusal = &api.Error{Code: api.CodeUnavailable}
		if !errors.Is(err, context.Canceled) {
			e.log.ErrorContext(r.Context(), "request not decided", "route", r.Pattern, "error", err)
		}
	}
	writeError(w, refusal)
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone cannot be told anything.
	_, _ = w.Write(body)
}

// readBody reads what the body middleware has already bounded.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, api.MaxBody+1))
	switch {
	case err != nil:
		return nil, &api.Error{Code: api.CodeMalformed}
	case len(body) > api.MaxBody:
		return nil, &api.Error{Code: api.CodeTooLarge}
	}
	return body, nil
}

// bearer returns the request's credential, "" if there is none. The role decides what
// an empty one means.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 || len(values[0]) > maxCredential {
		return ""
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}
