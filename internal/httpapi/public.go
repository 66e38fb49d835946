package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
)

// PublicConfig says what a public listener serves.
type PublicConfig struct {
	Hosts     []string             // accepted Host values with port; at least one
	Registry  *registry.Registry   // nil: no RA here
	Authority *authority.Authority // nil: no VA here
	Else      http.Handler         // every other path (A2A); nil: not_found
	Log       *slog.Logger         // nil: nothing is logged
}

// NewPublic returns the handler of a public listener, behind a [Guard].
func NewPublic(cfg PublicConfig) (http.Handler, error) {
	if len(cfg.Hosts) == 0 {
		return nil, errors.New("httpapi: no hosts configured")
	}
	e := &edge{mux: http.NewServeMux(), log: logger(cfg.Log)}
	keys, err := publishedKeys(cfg)
	if err != nil {
		return nil, err
	}
	e.mux.HandleFunc("GET /.well-known/jwks.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		writeJSON(w, http.StatusOK, keys)
	})
	if cfg.Registry != nil {
		e.registryRoutes(cfg.Registry)
	}
	if cfg.Authority != nil {
		e.authorityRoutes(cfg.Authority, cfg.Else)
	}
	e.mux.Handle("/", orNotFound(cfg.Else))
	return Guard{Hosts: cfg.Hosts, Log: cfg.Log}.Wrap(e.mux), nil
}

func orNotFound(h http.Handler) http.Handler {
	if h != nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, &api.Error{Code: api.CodeNotFound})
	})
}

// publishedKeys is one JWK Set of every role in this process (GC-207).
func publishedKeys(cfg PublicConfig) ([]byte, error) {
	var keys []jose.Key
	add := func(jwks []byte) error {
		set, err := jose.ParseJWKS(jwks)
		if err != nil {
			return err
		}
		for _, k := range set.Keys() {
			if !slices.ContainsFunc(keys, k.Same) {
				keys = append(keys, k)
			}
		}
		return nil
	}
	if cfg.Registry != nil {
		if err := add(cfg.Registry.JWKS()); err != nil {
			return nil, err
		}
	}
	if cfg.Authority != nil {
		if err := add(cfg.Authority.JWKS()); err != nil {
			return nil, err
		}
	}
	return jose.NewKeySet(keys...).JWKS(), nil
}
