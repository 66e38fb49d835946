package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/bindery/bindery/api"
)

// Guard is the middleware of a public listener. Everything that the listener serves
// stands behind it, the A2A endpoints too.
type Guard struct {
	// Hosts are the accepted values of the Host header, each with its port, as
	// "127.0.0.1:8080". None means that nothing is accepted.
	Hosts []string
	Log   *slog.Logger // nil: nothing is logged
}

// Wrap returns next behind the checks listed in the package comment.
func (g Guard) Wrap(next http.Handler) http.Handler {
	log := logger(g.Log)
	hosts := make([]string, len(g.Hosts))
	for i, h := range g.Hosts {
		hosts[i] = strings.ToLower(h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer recovered(w, r, log)
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		if !slices.Contains(hosts, strings.ToLower(r.Host)) {
			writeError(w, &api.Error{Code: codeMisdirected})
			return
		}
		if !ownOrigin(r.Header.Values("Origin"), hosts) {
			writeError(w, &api.Error{Code: codeOrigin})
			return
		}
		if refusal := buffer(w, r); refusal != nil {
			writeError(w, refusal)
			return
		}
		next.ServeHTTP(w, r.WithContext(withRemote(r.Context(), r.RemoteAddr)))
	})
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// recovered ends a request whose handler panicked. If the answer had begun, the
// connection is cut, so that the client does not take half an answer for one.
func recovered(w http.ResponseWriter, r *http.Request, log *slog.Logger) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	log.ErrorContext(r.Context(), "handler panicked", "method", r.Method, "panic", p)
	writeError(w, &api.Error{Code: codeInternal})
}

// ownOrigin accepts no Origin, or exactly one that names a configured host. A browser
// sends "null" for an opaque origin; that is not ours.
func ownOrigin(values, hosts []string) bool {
	if len(values) == 0 {
		return true
	}
	scheme, host, ok := strings.Cut(strings.ToLower(values[0]), "://")
	return len(values) == 1 && ok && (scheme == "http" || scheme == "https") && slices.Contains(hosts, host)
}

// buffer reads the body whole, so that a parser behind it, ours or another's, never
// starts on a body that turns out to be too large.
func buffer(w http.ResponseWriter, r *http.Request) *api.Error {
	if r.ContentLength > api.MaxBody {
		return &api.Error{Code: api.CodeTooLarge}
	}
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, api.MaxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return &api.Error{Code: api.CodeTooLarge}
		}
		return &api.Error{Code: api.CodeMalformed}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return nil
}

type remoteKey struct{}

func withRemote(ctx context.Context, remote string) context.Context {
	return context.WithValue(ctx, remoteKey{}, remote)
}

// remote is the address that the request came from, as far as one client can be told
// from another: an IPv4 address, or the /64 of an IPv6 one, which one host can fill at
// will. Requests that did not pass a Guard share one name.
func remote(ctx context.Context) string {
	s, _ := ctx.Value(remoteKey{}).(string)
	ap, err := netip.ParseAddrPort(s)
	if err != nil {
		return "unknown"
	}
	addr := ap.Addr().Unmap().WithZone("")
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}
