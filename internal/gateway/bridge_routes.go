package gateway

import (
	"context"
	"net/http"
	"strings"

	"github.com/bindery/bindery/internal/agentauth"
)

// Routes are a gateway's own paths on a listener: MCP, and, below [agentauth.MetadataPath], what a
// client has to know about the issuer of its tokens (RFC 9728), which metadata returns, or nil.
// When ctx ends, so does every stream of GET.
func (g *Gateway) Routes(ctx context.Context, metadata func(*http.Request) []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet:
		case strings.HasPrefix(r.URL.Path, agentauth.MetadataPath):
			if g.misplaced(r) != "" {
				break // as any other path
			}
			if doc := metadata(r); doc != nil {
				g.timeBody(w, r)
				w.Header().Set("Content-Type", typeJSON)
				_, _ = w.Write(doc) // a client that has gone gets nothing
				return
			}
		default:
			within, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			r = r.WithContext(within)
		}
		g.ServeHTTP(w, r)
	})
}
