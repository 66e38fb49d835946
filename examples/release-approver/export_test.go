package main

import (
	"context"

	"github.com/bindery/bindery/envelope"
)

// Main lets the test's own program be the server.
var Main = main

// A Desk is an office without a server before it.
type Desk struct{ o *office }

// OpenDesk opens one whose files of refused resolutions have keep lines each.
func OpenDesk(catalogue, data string, keep int) (Desk, error) {
	o, err := openOffice(settings{catalogue: catalogue, data: data, principal: "ana", agent: "desk", smallest: 10, emit: true})
	if err == nil {
		o.ledger.discards.keep = keep
	}
	return Desk{o}, err
}

// Close closes it.
func (d Desk) Close() { d.o.close() }

// ShowPages says where an envelope can be decided.
func (d Desk) ShowPages(page func(envelope.Digest) string) { d.o.pages = open(page) }

// open are pages on which nothing is decided.
type open func(envelope.Digest) string

func (p open) PageOf(d envelope.Digest) string { return p(d) }
func (open) Decided(envelope.Digest) bool      { return false }

// Propose returns what the tool says, and the emission beside it.
func (d Desk) Propose(ctx context.Context, dataset, recipient string) (string, *envelope.Emission) {
	s := d.o.propose(ctx, request{dataset: dataset, recipient: recipient})
	return s.text, s.emission
}

// Ledger is the ledger of its emitter.
func (d Desk) Ledger() envelope.Ledger { return emissions{d.o.ledger, d.o} }
