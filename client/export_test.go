package client

// Hooks for the tests of how issuers' documents are reached.
var (
	PublicAddress   = public
	PublicTransport = publicTransport
	ErrAddress      = errAddress
)
