package httpapi

import "context"

// Status is the one mapping.
func Status(code string) (int, bool) { return status(code) }

// EdgeCodes are the codes of this edge alone.
func EdgeCodes() []string { return []string{codeMisdirected, codeOrigin, codeInternal} }

// Remote is the name of an address as the rate limit knows it.
func Remote(addr string) string { return remote(withRemote(context.Background(), addr)) }
