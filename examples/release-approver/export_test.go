package main

import (
	"context"
	"time"

	"github.com/bindery/bindery/envelope"
)

// Main lets the test's own program be the server.
var Main = main

// A Desk is an office without a server before it.
type Desk struct{ o *office }

// OpenDesk opens one whose files of refused resolutions have keep lines each. It
// is more patient than a server's.
func OpenDesk(catalogue, data string, keep int) (Desk, error) {
	o, err := openOffice(settings{catalogue: catalogue, data: data, principal: "ana", agent: "desk", smallest: 10, emit: true})
	if err == nil {
		o.ledger.discards.keep, o.patience = keep, 30*time.Second
	}
	return Desk{o}, err
}

// Close closes it.
func (d Desk) Close() { d.o.close() }

// ShowPages says where an envelope can be decided.
func (d Desk) ShowPages(page func(envelope.Digest) string) { d.o.pages = open(page) }

// DecideOnPages has everything decided on its page.
func (d Desk) DecideOnPages() { d.o.pages = open(nil) }

// open are pages; where they are none any more, what was asked there is decided.
type open func(envelope.Digest) string

func (p open) PageOf(d envelope.Digest) string { return p(d) }
func (p open) Decided(envelope.Digest) bool    { return p == nil }

// Propose returns what the tool says, and the emission beside it.
func (d Desk) Propose(ctx context.Context, dataset, recipient string) (string, *envelope.Emission) {
	s := d.o.propose(ctx, request{dataset: dataset, recipient: recipient})
	return s.text, s.emission
}

// Decide does what was decided.
func (d Desk) Decide(of envelope.Decision) string { return d.o.decide(of).text }

// Set sets its clock.
func (d Desk) Set(now time.Time) { d.o.now = func() time.Time { return now } }

// Ledger is the ledger of its emitter.
func (d Desk) Ledger() envelope.Ledger { return emissions{d.o.ledger, d.o} }
