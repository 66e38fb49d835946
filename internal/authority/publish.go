package authority

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// maxSignature is the longest publisher's signature, in bytes.
const maxSignature = 8 << 10

// Publish takes a publication (design V4) and answers once its projection is served.
// body is an [api.Publication]; the answer an [api.Published]. The refusals are listed in
// the package comment; predecessor_missing and errors that are no [*api.Error] have
// decided nothing and are tried again with the same bytes.
func (a *Authority) Publish(ctx context.Context, credential string, body []byte) (answer []byte, err error) {
	answer, err = a.publish(ctx, credential, body)
	a.published(err)
	if refusal, ok := errors.AsType[*api.Error](err); ok {
		a.log.InfoContext(ctx, "publication refused", "code", refusal.Code, "pointer", refusal.Pointer)
	}
	return answer, err
}

func (a *Authority) publish(ctx context.Context, credential string, body []byte) ([]byte, error) {
	publisher, err := a.publisher(ctx, credential)
	if err != nil {
		return nil, err
	}
	p, err := api.ParsePublication(body)
	if err != nil {
		return nil, err
	}
	standing, err := a.find(ctx, p.Projection.CrossingID, p.Role)
	if err != nil {
		return nil, err
	}
	if standing != nil && same(*standing, publisher, p) {
		return standing.Answer, nil
	}
	if err := a.check(ctx, publisher, p); err != nil {
		return nil, err
	}
	if standing != nil {
		return nil, a.conflict(ctx, publisher, p)
	}
	if err := a.arrived(ctx, publisher, p); err != nil {
		return nil, err
	}
	return a.put(ctx, publisher, p)
}

// same reports whether the stored publication is this one, from the same principal.
func same(row Row, publisher Publisher, p api.Publication) bool {
	return row.PrincipalID == publisher.PrincipalID && bytes.Equal(row.Publication.Bytes(), p.Bytes())
}

// check judges what the publication itself, the publisher and the pinned keys show.
func (a *Authority) check(ctx context.Context, publisher Publisher, p api.Publication) error {
	switch {
	case p.InitiatorAgent == p.ResponderAgent:
		return fault("/responder_agent")
	case p.Projection.ChainID != chain.ID(p.InitiatorAgent, p.ResponderAgent):
		return fault("/projection/chain_id")
	case p.Projection.Block.VerifyURL != a.VerifyURL(p.Projection.Block.SealID):
		return fault("/projection/verify_url")
	case !signedBy(publisher.Key, p):
		return fault("/signature")
	}
	registries, err := a.store.Registries(ctx)
	if err != nil {
		return undecided("reading the registries", err)
	}
	pinned := jose.NewKeySet(registries...)
	if err := checkReceipts(publisher, p, pinned); err != nil {
		return err
	}
	return a.checkWhole(ctx, publisher, p, pinned)
}

func signedBy(key jose.Key, p api.Publication) bool {
	c, err := jose.ParseCompact(p.Signature, maxSignature)
	return err == nil && c.Header.Typ == api.PublicationType && c.Header.Kid == key.ID &&
		c.Verify(key) == nil && bytes.Equal(c.Payload, p.Statement())
}

// checkReceipts requires every receipt to be a pinned RA's word that these mandates are
// spent in this crossing, and its effector to be the responder (design R3): the
// publisher, or for an initiator somebody else. Together they cover both mandates: one
// receipt about both, or one of each of two RAs about the half that it keeps (design R4).
func checkReceipts(publisher Publisher, p api.Publication, registries jose.KeySet) error {
	if p.Role == crossing.Responder && len(p.Receipts) == 0 {
		return fault("/receipts")
	}
	var before mandate.Triple
	for i, token := range p.Receipts {
		receipt, err := mandate.ParseSpendReceipt(token, registries)
		if err != nil || receipt.State != mandate.Spent || receipt.CrossingID != p.Projection.CrossingID {
			return fault("/receipts/" + strconv.Itoa(i))
		}
		if i > 0 && receipt.Triple != before {
			return fault("/receipts")
		}
		before = receipt.Triple
		if (receipt.Effector == publisher.PrincipalID) != (p.Role == crossing.Responder) {
			return &api.Error{Code: string(crossing.RoleMismatch)}
		}
	}
	if !covered(publisher, p, registries) {
		return fault("/receipts")
	}
	return nil
}

// arrived judges what has to be here before this publication. Rows are never removed,
// so what has arrived once has arrived for good.
func (a *Authority) arrived(ctx context.Context, publisher Publisher, p api.Publication) error {
	if p.Role == crossing.Initiator {
		if err := a.agrees(ctx, publisher, p); err != nil {
			return err
		}
	}
	pos := p.Projection.Block.Position
	if pos.IsGenesis() {
		return nil
	}
	_, err := a.store.At(ctx, publisher.PrincipalID, p.Projection.ChainID, pos.Seq-1)
	switch {
	case errors.Is(err, ErrNotFound):
		return &api.Error{Code: api.CodePredecessorMissing}
	case err != nil:
		return undecided("finding a predecessor", err)
	}
	return nil
}

// agrees compares an initiator's publication with the responder's. Without the
// responder's nothing shows that the crossing was sealed at all.
func (a *Authority) agrees(ctx context.Context, publisher Publisher, p api.Publication) error {
	responder, err := a.find(ctx, p.Projection.CrossingID, crossing.Responder)
	switch {
	case err != nil:
		return err
	case responder == nil:
		return &api.Error{Code: api.CodePredecessorMissing}
	case responder.PrincipalID == publisher.PrincipalID:
		return &api.Error{Code: string(crossing.RoleMismatch)}
	}
	theirs, ours := responder.Publication, p
	b, c := theirs.Projection.Block, ours.Projection.Block
	if b.Seal != c.Seal || b.SealID != c.SealID || !b.SealedAt.Equal(c.SealedAt) ||
		theirs.InitiatorAgent != ours.InitiatorAgent || theirs.ResponderAgent != ours.ResponderAgent {
		return a.conflict(ctx, publisher, p)
	}
	registries, err := a.store.Registries(ctx)
	switch {
	case err != nil:
		return undecided("reading the registries", err)
	case !vouched(publisher, theirs, jose.NewKeySet(registries...)):
		return &api.Error{Code: string(crossing.RoleMismatch)}
	}
	return nil
}

// put signs the projection once and stores it. Of two that arrive together one stands;
// the other gets its answer if it is the same.
func (a *Authority) put(ctx context.Context, publisher Publisher, p api.Publication) ([]byte, error) {
	jws, err := jose.SignCompact(a.signer, api.ProjectionType, p.Projection.Bytes())
	if err != nil {
		return nil, undecided("signing a projection", err)
	}
	answer := api.Published{CrossingID: p.Projection.CrossingID, Role: p.Role, ProjectionJWS: jws}.Bytes()
	standing, err := a.store.Put(ctx, Row{
		Publication: p, PrincipalID: publisher.PrincipalID, ProjectionJWS: jws, Answer: answer, At: a.now(),
		Position: p.Projection.Block.Position, Seal: p.Projection.Block.Seal,
	})
	switch {
	case errors.Is(err, ErrTaken):
		return nil, a.conflict(ctx, publisher, p)
	case err != nil:
		return nil, undecided("storing a projection", err)
	case !same(standing, publisher, p):
		return nil, a.conflict(ctx, publisher, p)
	}
	return standing.Answer, nil
}

// conflict records the one refusal that is final and returns it.
func (a *Authority) conflict(ctx context.Context, publisher Publisher, p api.Publication) error {
	err := a.store.Refuse(ctx, Refusal{
		PrincipalID: publisher.PrincipalID,
		CrossingID:  p.Projection.CrossingID,
		Role:        p.Role,
		Code:        api.CodeConflict,
		BodyHash:    jcs.HexOf(p.Bytes()),
		At:          a.now(),
	})
	if err != nil {
		return undecided("recording a refusal", err)
	}
	return &api.Error{Code: api.CodeConflict}
}

// find is the store's Find with nil for nothing.
func (a *Authority) find(ctx context.Context, crossingID string, role crossing.Role) (*Row, error) {
	row, err := a.store.Find(ctx, crossingID, role)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, undecided("finding a projection", err)
	}
	return &row, nil
}

func fault(pointer string) error { return &api.Error{Code: api.CodeMalformed, Pointer: pointer} }
