package client

import "time"

// Hooks for the tests of how issuers' documents are reached.
var (
	PublicAddress   = public
	PublicTransport = publicTransport
	ErrAddress      = errAddress
)

// Patient gives a document so much time that no stall of the machine outlasts it.
func (i *Issuers) Patient() *Issuers {
	i.http.Timeout = time.Minute
	return i
}
