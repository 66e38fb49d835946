package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/jcs"
)

// verifyMaxAge lets a resolved answer be kept for as long as not_superseded may be old
// (AG-52); an unresolved one is never kept.
const verifyMaxAge = "public, max-age=60"

// authorityRoutes mounts the Verification Authority.
func (e *edge) authorityRoutes(a *authority.Authority, rest http.Handler) {
	e.post("/v1/va/enrol", func(r *http.Request, body []byte) ([]byte, error) {
		req, err := api.ParseEnrolRegistry(body)
		if err != nil {
			return nil, err
		}
		enrolled, err := a.EnrolRegistry(r.Context(), req)
		return enrolled.Bytes(), err
	})
	e.post("/v1/va/publishers", func(r *http.Request, body []byte) ([]byte, error) {
		req, err := api.ParseAddPublisher(body)
		if err != nil {
			return nil, err
		}
		return jcs.Object(), a.AddPublisher(r.Context(), bearer(r), req.Grant)
	})
	e.post("/v1/projections", func(r *http.Request, body []byte) ([]byte, error) {
		return a.Publish(r.Context(), bearer(r), body)
	})
	verify := func(r *http.Request, body []byte) ([]byte, error) { return verify(r.Context(), a, body) }
	e.post("/v1/crossing:verify", verify)
	e.post("/crossing:verify", verify) // AG-63
	e.standingRoutes(a)
	e.mux.HandleFunc("GET /canal/verify/{seal_id}", func(w http.ResponseWriter, r *http.Request) {
		e.resolve(w, r, a, r.PathValue("seal_id"))
	})
	e.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { e.portal(w, r, a, rest) })
}

// VerifyRPC is crossing:verify for a JSON-RPC or gRPC edge: the same operation as
// POST /v1/crossing:verify, on params that are still JSON text. It takes from the rate
// of the address that [Guard] has put into ctx. A fault of our own is logged and leaves
// as CodeUnavailable.
func VerifyRPC(a *authority.Authority, log *slog.Logger) func(ctx context.Context, params []byte) (result []byte, refusal *api.Error) {
	log = logger(log)
	return func(ctx context.Context, params []byte) ([]byte, *api.Error) {
		result, err := verify(ctx, a, params)
		if err == nil {
			return result, nil
		}
		if refusal, ok := errors.AsType[*api.Error](err); ok {
			return nil, refusal
		}
		log.ErrorContext(ctx, "request not decided", "route", crossing.RPCVerify, "error", err)
		return nil, &api.Error{Code: api.CodeUnavailable}
	}
}

func verify(ctx context.Context, a *authority.Authority, params []byte) ([]byte, error) {
	if err := a.Admit(remote(ctx)); err != nil {
		return nil, err
	}
	req, err := api.ParseVerifyRequest(params)
	if err != nil {
		return nil, err
	}
	return a.Verify(ctx, req)
}

// portal is GET /?id=…. Without an id it is nobody's question here.
func (e *edge) portal(w http.ResponseWriter, r *http.Request, a *authority.Authority, rest http.Handler) {
	ids, asked := r.URL.Query()["id"]
	switch {
	case !asked:
		orNotFound(rest).ServeHTTP(w, r)
	case len(ids) != 1:
		writeError(w, &api.Error{Code: string(crossing.VerifyParams)})
	default:
		e.resolve(w, r, a, ids[0])
	}
}

// resolve answers a GET with the verdict on one identifier, whose form says which it is.
func (e *edge) resolve(w http.ResponseWriter, r *http.Request, a *authority.Authority, id string) {
	if err := a.Admit(remote(r.Context())); err != nil {
		e.fail(w, r, err)
		return
	}
	result, err := a.Resolve(r.Context(), id)
	if err != nil {
		e.fail(w, r, err)
		return
	}
	if tag, ok := verifyTag(result); ok {
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", verifyMaxAge)
		if noneMatch(r, tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	writeJSON(w, http.StatusOK, result)
}

// verifyTag is the hash of a resolved result without evidence, which alone moves
// (design V1). ok is false for a result that must not be kept.
func verifyTag(result []byte) (tag string, ok bool) {
	v, err := jcs.Parse(result)
	if err != nil {
		return "", false
	}
	if resolves, _ := v.Get("checks").Get("resolves").Bool(); !resolves {
		return "", false
	}
	var fixed []jcs.Member
	for name, member := range v.Members() {
		if name != "evidence" {
			fixed = append(fixed, jcs.Member{Name: name, Value: member.Bytes()})
		}
	}
	return `"` + string(jcs.HexOf(jcs.Object(fixed...))) + `"`, true
}

// noneMatch reports whether the client holds tag already (RFC 9110 §13.1.2).
func noneMatch(r *http.Request, tag string) bool {
	for _, line := range r.Header.Values("If-None-Match") {
		for have := range strings.SplitSeq(line, ",") {
			if strings.TrimPrefix(strings.TrimSpace(have), "W/") == tag {
				return true
			}
		}
	}
	return false
}
