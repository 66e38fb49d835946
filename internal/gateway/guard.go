package gateway

import "net/http"

// Own reports whether a request names one of the gateway's hosts, and comes of no page of
// another origin. What else is served beside the gateway asks it first.
func (g *Gateway) Own(r *http.Request) bool { return g.misplaced(r) == "" }
