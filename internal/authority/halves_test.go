package authority_test

import (
	"context"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// apart is a world whose initiator has been granted by another pinned RA than the responder.
func apart(t *testing.T) (w *world, other, third *jose.Signer) {
	w, other, third = newWorld(t), newSigner(t), newSigner(t)
	for _, ra := range []*jose.Signer{other, third} {
		if err := w.va.PinRegistry(t.Context(), ra.Key()); err != nil {
			t.Fatal(err)
		}
	}
	w.initiator = party{principal: "urn:anax:principal:apart", credential: "credential of apart", signer: newSigner(t)}
	if err := w.va.AddPublisher(t.Context(), w.initiator.credential, w.grant(w.initiator, other)); err != nil {
		t.Fatal(err)
	}
	return w, other, third
}

func half(h mandate.Half) func(*mandate.SpendReceipt) {
	return func(r *mandate.SpendReceipt) { r.Half = h }
}

// TestHalves takes the receipts of two RAs that each keep one of the mandates, when they cover
// both, and come from the RAs of the two parties.
//
// covers GC-194
func TestHalves(t *testing.T) {
	w, other, third := apart(t)
	initiators, responders := w.receipt(other, half(mandate.InitiatorHalf)), w.receipt(w.ra, half(mandate.ResponderHalf))
	for what, receipts := range map[string][]string{
		"the responder's half alone":         {responders},
		"the initiator's half alone":         {initiators},
		"the responder's half twice":         {responders, responders},
		"both halves by the responder's RA":  {w.receipt(w.ra, half(mandate.InitiatorHalf)), responders},
		"both halves by the initiator's RA":  {initiators, w.receipt(other, half(mandate.ResponderHalf))},
		"the responder's half by a third RA": {initiators, w.receipt(third, half(mandate.ResponderHalf))},
		"a half and another triple's": {w.receipt(other, func(r *mandate.SpendReceipt) {
			r.Half, r.InitiatorToken = mandate.InitiatorHalf, r.ResponderToken[:63]+"0"
		}), responders},
		"a half and one about both, of its own RA": {w.receipt(w.ra, unchanged), responders},
		"a half and one about both, of another RA": {w.receipt(other, unchanged), responders},
		"both, by the initiator's RA alone":        {w.receipt(other, unchanged)},
		"both, by a third RA alone":                {w.receipt(third, unchanged)},
	} {
		p := w.publication(crossing.Responder)
		p.Receipts = receipts
		_, err := w.va.Publish(t.Context(), w.responder.credential, w.sign(p, w.responder).Bytes())
		refused(t, what, err, api.CodeMalformed, "/receipts")
	}
	p := w.publication(crossing.Responder)
	p.Receipts = []string{responders, initiators} // in either order
	w.publish(w.responder, p)
	w.publish(w.initiator, w.publication(crossing.Initiator))
	if c := w.checks(crossingOne); c.Resolves != api.CheckOf(true) || c.ChainConsistent != api.CheckOf(true) {
		t.Errorf("checks %+v", c)
	}
}

// TestHalfOfAnother: an initiator whose mandate another RA than its own calls spent does not
// add its word to the responder's publication.
//
// covers GC-194
func TestHalfOfAnother(t *testing.T) {
	for what, receipts := range map[string]func(w *world, third *jose.Signer) []string{
		"a half": func(w *world, third *jose.Signer) []string {
			return []string{w.receipt(third, half(mandate.InitiatorHalf)), w.receipt(w.ra, half(mandate.ResponderHalf))}
		},
		"both": func(w *world, _ *jose.Signer) []string { return []string{w.receipt(w.ra, unchanged)} },
	} {
		w, _, third := apart(t)
		p := w.publication(crossing.Responder)
		p.Receipts = receipts(w, third)
		w.publish(w.responder, p)
		_, err := w.va.Publish(t.Context(), w.initiator.credential, w.sign(w.publication(crossing.Initiator), w.initiator).Bytes())
		refused(t, what, err, string(crossing.RoleMismatch), "")
	}
}

// TestInitiatorsHalves: an initiator that shows receipts shows both halves, its own by its RA.
func TestInitiatorsHalves(t *testing.T) {
	w, other, _ := apart(t)
	initiators, responders := w.receipt(other, half(mandate.InitiatorHalf)), w.receipt(w.ra, half(mandate.ResponderHalf))
	p := w.publication(crossing.Responder)
	p.Receipts = []string{initiators, responders}
	w.publish(w.responder, p)
	for what, receipts := range map[string][]string{
		"its half alone":                 {initiators},
		"its half by the responder's RA": {w.receipt(w.ra, half(mandate.InitiatorHalf)), responders},
		"the other half by its own RA":   {initiators, w.receipt(other, half(mandate.ResponderHalf))},
	} {
		p := w.publication(crossing.Initiator)
		p.Receipts = receipts
		_, err := w.va.Publish(t.Context(), w.initiator.credential, w.sign(p, w.initiator).Bytes())
		refused(t, what, err, api.CodeMalformed, "/receipts")
	}
	p = w.publication(crossing.Initiator)
	p.Receipts = []string{initiators, responders}
	w.publish(w.initiator, p)
}

// broughtFor is a store in which a key was brought as the RA of a counterparty.
type broughtFor struct {
	authority.Store
	key, principal string
}

func (b broughtFor) SpeaksFor(ctx context.Context, key string) ([]string, error) {
	if key == b.key {
		return []string{b.principal}, nil
	}
	return b.Store.SpeaksFor(ctx, key)
}

// TestPeersRegistry: the RA of a counterparty speaks for the principal that it came with. It
// makes nobody else a publisher, and keeps one mandate of a crossing, never both.
//
// covers GC-194, GC-209
func TestPeersRegistry(t *testing.T) {
	w, theirs := newWorld(t), newSigner(t)
	w.responder = party{principal: "urn:anax:principal:peer", credential: "credential of peer", signer: newSigner(t)}
	w.cfg.Store = broughtFor{w.store, theirs.Key().ID, w.responder.principal}
	var err error
	if w.va, err = authority.New(w.cfg); err != nil {
		t.Fatal(err)
	}
	if err := w.va.PinRegistry(t.Context(), theirs.Key()); err != nil {
		t.Fatal(err)
	}
	other := party{principal: "urn:anax:principal:victim", credential: "credential of victim", signer: newSigner(t)}
	err = w.va.AddPublisher(t.Context(), other.credential, w.grant(other, theirs))
	refused(t, "a grant for another principal", err, api.CodeUnauthenticated, "")
	if err := w.va.AddPublisher(t.Context(), w.responder.credential, w.grant(w.responder, theirs)); err != nil {
		t.Fatalf("a grant for its own: %v", err)
	}

	initiators, responders := w.receipt(w.ra, half(mandate.InitiatorHalf)), w.receipt(theirs, half(mandate.ResponderHalf))
	for what, receipts := range map[string][]string{
		"both, by its RA alone":          {w.receipt(theirs, unchanged)},
		"both, by its RA and by another": {w.receipt(theirs, unchanged), w.receipt(w.ra, unchanged)},
	} {
		p := w.publication(crossing.Responder)
		p.Receipts = receipts
		_, err := w.va.Publish(t.Context(), w.responder.credential, w.sign(p, w.responder).Bytes())
		refused(t, what, err, api.CodeMalformed, "/receipts")
	}
	p := w.publication(crossing.Responder)
	p.Receipts = []string{initiators, responders}
	w.publish(w.responder, p)
}
