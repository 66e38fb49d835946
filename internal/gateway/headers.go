package gateway

import (
	"net/http"
	"strings"
)

// What passes of the headers. Everything else stays on its side: credentials, cookies, what
// belongs to one connection, and what nobody has thought of.

// toUpstream are the names that a client may say to an upstream, beside Mcp-*.
var toUpstream = [...]string{"Accept", "Content-Type", headerLast, "Traceparent", "Tracestate"}

// toClient are the names that an upstream may say to a client, beside Mcp-*.
var toClient = [...]string{"Content-Type", "Cache-Control", "Content-Encoding", "Retry-After", "Allow", "X-Accel-Buffering"}

const mcpPrefix = "Mcp-"

// passing copies from a header what may pass. Mcp-Session-Id never does: it is not the same on
// the two sides.
func passing(from http.Header, names []string) http.Header {
	to := make(http.Header, 8)
	for _, name := range names {
		if v := from[name]; len(v) > 0 {
			to[name] = v
		}
	}
	for name, v := range from {
		if strings.HasPrefix(name, mcpPrefix) && name != headerSession {
			to[name] = v
		}
	}
	return to
}

// outbound is the header of a request to u: what passes of the client's, and the upstream's own.
func outbound(u *upstream, from http.Header, session string) http.Header {
	h := passing(from, toUpstream[:])
	h["User-Agent"] = []string{userAgent}
	if session != "" {
		h[headerSession] = []string{session}
	}
	for name, v := range u.header {
		h[name] = v
	}
	return h
}

// userAgent is what an upstream learns of the client: that it is this gateway.
const userAgent = "bindery-gateway"
