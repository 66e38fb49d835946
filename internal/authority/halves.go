package authority

import (
	"context"
	"slices"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// signers are the keys that have signed the receipts of a publication, by what each receipt
// is about.
func signers(p api.Publication, registries jose.KeySet) map[mandate.Half][]string {
	signed := make(map[mandate.Half][]string, len(p.Receipts))
	for _, token := range p.Receipts {
		for _, key := range registries.Keys() {
			receipt, err := mandate.ParseSpendReceipt(token, jose.NewKeySet(key))
			if err == nil {
				signed[receipt.Half] = append(signed[receipt.Half], key.ID)
			}
		}
	}
	return signed
}

// covered reports whether the receipts are about both mandates. An RA's word counts for the
// party whose RA it is: so a word about both is that of the RA that has granted the
// publisher, and two halves come from two RAs, the publisher's own from that one (design R4).
func covered(publisher Publisher, p api.Publication, registries jose.KeySet) bool {
	signed := signers(p, registries)
	if both := signed[mandate.Both]; len(both) == len(p.Receipts) {
		// There may be none: an initiator leaves it to the responder.
		return len(both) == 0 || slices.Contains(both, publisher.RegistryKey)
	}
	own, theirs := signed[mandate.ResponderHalf], signed[mandate.InitiatorHalf]
	if p.Role == crossing.Initiator {
		own, theirs = theirs, own
	}
	return len(own) == 1 && len(theirs) == 1 && own[0] == publisher.RegistryKey && theirs[0] != own[0]
}

// checkWhole refuses a word about both mandates from the RA of a counterparty: it was brought
// for one principal, and a crossing is between two (design R4).
func (a *Authority) checkWhole(ctx context.Context, publisher Publisher, p api.Publication, registries jose.KeySet) error {
	if len(signers(p, registries)[mandate.Both]) == 0 {
		return nil
	}
	bound, err := a.store.SpeaksFor(ctx, publisher.RegistryKey)
	switch {
	case err != nil:
		return undecided("reading the registries", err)
	case len(bound) > 0:
		return fault("/receipts")
	}
	return nil
}

// vouched reports whether the responder's publication shows the initiator's mandate as spent
// on the word of the RA that has granted the initiator.
func vouched(initiator Publisher, responder api.Publication, registries jose.KeySet) bool {
	signed := signers(responder, registries)
	return slices.Contains(append(signed[mandate.Both], signed[mandate.InitiatorHalf]...), initiator.RegistryKey)
}
