package httpapi

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net/http"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/jcs"
)

// AdminConfig says what a private listener serves (design H1).
type AdminConfig struct {
	Hosts      []string   // accepted Host values with port
	Credential jcs.Hex256 // hash of the operator's bearer credential
	// Crossing shows one crossing to its owner, mandates and record included. nil:
	// this process is no party of crossings.
	Crossing func(ctx context.Context, crossingID string) ([]byte, error)
	// Metrics answers GET /metrics; nil: nothing is counted.
	Metrics http.Handler
	Log     *slog.Logger // nil: nothing is logged
}

// NewAdmin returns the handler of a private listener: GET /healthz and GET /metrics for
// anyone who can reach it and calls it by its name, which a page of another origin cannot;
// GET /v1/crossings/{crossing_id} under the operator's credential. Metrics need none, since
// they name nobody and a scraper on this machine has no other use for one.
func NewAdmin(cfg AdminConfig) http.Handler {
	e := &edge{mux: http.NewServeMux(), log: logger(cfg.Log)}
	e.get("/healthz", func(*http.Request) ([]byte, error) {
		return jcs.Object(jcs.Member{Name: "status", Value: jcs.String("serving")}), nil
	})
	e.get("/v1/crossings/{crossing_id}", func(r *http.Request) ([]byte, error) {
		presented := api.CredentialHash(bearer(r))
		if subtle.ConstantTimeCompare([]byte(presented), []byte(cfg.Credential)) != 1 {
			return nil, &api.Error{Code: api.CodeUnauthenticated}
		}
		if cfg.Crossing == nil {
			return nil, &api.Error{Code: api.CodeNotFound}
		}
		return cfg.Crossing(r.Context(), r.PathValue("crossing_id"))
	})
	if cfg.Metrics != nil {
		e.mux.Handle("GET /metrics", cfg.Metrics)
	}
	e.mux.Handle("/", orNotFound(nil))
	return Guard{Hosts: cfg.Hosts, Log: cfg.Log}.Wrap(e.mux)
}
