package agentauth

import (
	"net/http"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// MetadataPath is where the metadata of a resource is served, with the resource's own path
// behind it (RFC 9728 §3.1): that of /mcp/pay is at
// /.well-known/oauth-protected-resource/mcp/pay.
const MetadataPath = "/.well-known/oauth-protected-resource"

// MetadataURL returns the URL of the metadata of the resource that r is for, "" if there is
// none. The request's Host must have been checked.
func (a *Authenticator) MetadataURL(r *http.Request) string {
	if a.tokens == nil || strings.ContainsFunc(r.Host+r.URL.Path, notInURL) {
		return ""
	}
	return a.origin(r) + MetadataPath + r.URL.Path
}

// Metadata returns the document that answers a GET below [MetadataPath] (RFC 9728 §2), nil
// if there is none: which resource it is, whose tokens it takes, and that they come in the
// header. The request's Host must have been checked.
func (a *Authenticator) Metadata(r *http.Request) []byte {
	path, ok := strings.CutPrefix(r.URL.Path, MetadataPath)
	if a.tokens == nil || !ok || path != "" && path[0] != '/' || strings.ContainsFunc(r.Host+path, notInURL) {
		return nil
	}
	return jcs.Object(
		jcs.Member{Name: "resource", Value: jcs.String(a.origin(r) + path)},
		jcs.Member{Name: "authorization_servers", Value: jcs.Array(jcs.String(a.tokens.Issuer))},
		jcs.Member{Name: "bearer_methods_supported", Value: jcs.Array(jcs.String("header"))},
	)
}

func (a *Authenticator) origin(r *http.Request) string {
	if a.cfg.Origin != "" {
		return a.cfg.Origin
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// notInURL keeps out of a quoted string and of a URL what would end either.
func notInURL(r rune) bool {
	return notInSegment(r) && r != '/' && r != ':' && r != '[' && r != ']' && r != '~'
}
