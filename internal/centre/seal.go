package centre

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Seal answers crossing:seal (§3.7.1): the one path to a commitment. The result is the
// stored bytes of the answer, the same for every repeat (WC-3). The error is a
// [*crossing.Refusal]; SEAL_PENDING among them says that nothing was refused and the
// same call will be answered later. Activation is the caller's check (AG-58 step 1).
func (c *Centre) Seal(ctx context.Context, params jcs.Value) ([]byte, error) {
	p, refusal := crossing.ParseSealParams(params)
	if refusal != nil {
		if !c.Responds() {
			refusal = crossing.RefuseAt(crossing.MandatePartyMismatch, "§1.4 verify-only")
		}
		return nil, c.refuseSeal(ctx, refusal, claimedID(params), "")
	}
	id := p.Record.CrossingID
	out, err := c.cfg.Store.Lookup(ctx, id, p.JointSeal())
	if err != nil {
		return nil, c.pending("lookup", id, err)
	}
	switch {
	case out.Seal != nil && out.Seal.JointSeal == p.JointSeal():
		return c.published(ctx, out.Seal)
	case out.Seal != nil:
		return nil, c.refuseSeal(ctx, crossing.RefuseAt(crossing.SealMismatch, "§5.6-3"), id, "")
	case out.Open != nil:
		return c.join(ctx, out.Open, p.JointSeal())
	case out.Refused != nil:
		return nil, out.Refused
	}
	return c.attempt(ctx, p)
}

// claimedID is the crossing_id that a malformed request names, if it is one, for the
// refusal row.
func claimedID(params jcs.Value) string {
	id, _ := params.Get("record").Get("crossing_id").Text()
	if !crossing.ValidCrossingID(id) {
		return ""
	}
	return id
}

// attempt runs the pure checks and opens the attempt.
func (c *Centre) attempt(ctx context.Context, p *crossing.SealParams) ([]byte, error) {
	id := p.Record.CrossingID
	if !c.Responds() {
		return nil, c.refuseSeal(ctx, crossing.RefuseAt(crossing.MandatePartyMismatch, "§1.4 verify-only"), id, "")
	}
	x, err := c.cfg.Store.CrossingByID(ctx, id)
	if errors.Is(err, ErrNone) || err == nil && (x.Role != crossing.Responder || x.OwnClosed == "") {
		// No P3 was completed here, so this party has no Closed of its own (AG-59).
		return nil, c.refuseSeal(ctx, crossing.RefuseAt(crossing.MandatePartyMismatch, "§5.1 phase order"), id, "")
	}
	if err != nil {
		return nil, c.pending("session", id, err)
	}
	cleared, refusal, err := c.clear(ctx, x, p)
	if err != nil {
		return nil, c.pending("evidence", id, err)
	}
	if refusal != nil {
		return nil, c.refuseRecord(ctx, x, p, refusal)
	}
	c.cfg.Hook(PointBeforeAttempt)
	a, err := c.cfg.Store.OpenAttempt(ctx, cleared, c.now())
	if errors.Is(err, ErrConflict) {
		return c.Seal(ctx, jcsOf(p)) // another worker was quicker: look again
	}
	if err != nil {
		return nil, c.unwritable(ctx, x, p, err)
	}
	c.writable(id)
	c.cfg.Hook(PointAfterAttempt)
	return c.join(ctx, a, a.JointSeal)
}

func jcsOf(p *crossing.SealParams) jcs.Value {
	v, err := jcs.Parse(p.Bytes())
	if err != nil {
		panic("centre: own canonical bytes do not parse: " + err.Error())
	}
	return v
}

// clear gathers the evidence, runs the precedence function and then the checks that
// need this party's chain (AG-58 steps 4 to 20).
func (c *Centre) clear(ctx context.Context, x *Crossing, p *crossing.SealParams) (*crossing.Cleared, *crossing.Refusal, error) {
	if refusal := p.Record.InWindow(c.now()); refusal != nil {
		return nil, refusal, nil
	}
	terms, refusal := crossing.ParseTerms(x.Terms)
	if refusal != nil {
		return nil, refusal, nil
	}
	used, err := c.cfg.Store.Nonces(ctx, x.CrossingID)
	if err != nil {
		return nil, nil, err
	}
	peer := c.peerSide(ctx, x)
	peer.Closed = p.ClosedMandate
	peer.Registered = c.registered(ctx, x.Peer, x.PeerReceipt, p.ClosedMandate, x.Own.AgentID)
	cleared, refusal := crossing.Clear(crossing.Evidence{
		At: c.now(), Acts: c.cfg.Acts, Params: p, Initiator: peer, Responder: c.ownSide(ctx, x),
		CrossingID: x.CrossingID, AgreementHash: terms.Hash(), TaskID: x.TaskID, ContextID: x.ContextID, Used: used,
	})
	if refusal != nil {
		return nil, refusal, nil
	}
	refusal, err = c.probe(ctx, p)
	return cleared, refusal, err
}

func (c *Centre) ownSide(ctx context.Context, x *Crossing) crossing.Side {
	return crossing.Side{
		Profile: x.Own, Open: x.OwnOpen, Closed: x.OwnClosed, Issuer: c.resolve(ctx, x.Own.PrincipalID),
		Registered: c.registered(ctx, x.Own, x.OwnReceipt, x.OwnClosed, x.Peer.AgentID),
	}
}

// probe refuses before anything is spent when no chain position can be had, and when
// the initiator's intended position cannot be one of this pair's chain (AG-43, §4.4.2-3).
func (c *Centre) probe(ctx context.Context, p *crossing.SealParams) (*crossing.Refusal, error) {
	if refusal := p.Possible(); refusal != nil {
		return refusal, nil
	}
	party, chainID := c.cfg.Self.AgentID, p.Record.ChainID()
	if prev := p.AnchorIntent.Prev; prev != "" {
		holder, err := c.cfg.Store.ChainOf(ctx, party, prev)
		if err != nil {
			return c.noPosition(err), nil
		}
		if holder != "" && holder != chainID {
			return crossing.RefuseAt(crossing.ChainPositionUnavailable, "§4.4.2-3"), nil
		}
	}
	next, err := c.cfg.Store.Next(ctx, party, chainID)
	if err != nil {
		return c.noPosition(err), nil
	}
	if next != p.AnchorIntent {
		c.cfg.Log.Warn("chain_divergence", "crossing_id", p.Record.CrossingID) // a gap is allowed (AG-42)
	}
	return nil, nil
}

// refuseRecord makes a refusal final for the record, but for 503 names (design R4).
func (c *Centre) refuseRecord(ctx context.Context, x *Crossing, p *crossing.SealParams, r *crossing.Refusal) error {
	row := RefusalRow{Refusal: *r, CrossingID: x.CrossingID, At: c.now(), Counterparty: x.Peer.PrincipalID}
	if r.Name == crossing.ChainPositionUnavailable {
		c.unsealed(x.CrossingID)
		return c.refused(ctx, row, r)
	}
	a := &Attempt{CrossingID: x.CrossingID, JointSeal: p.JointSeal(), Record: p.RecordBytes, Params: p.Bytes()}
	if err := c.cfg.Store.RefuseRecord(ctx, a, p.Record.Triple(), row); err != nil {
		// A conflict: another worker has opened or decided it; the same call will tell.
		return c.pending("refusal", x.CrossingID, err)
	}
	return r
}

// refuseSeal refuses what belongs to no session.
func (c *Centre) refuseSeal(ctx context.Context, r *crossing.Refusal, crossingID, counterparty string) error {
	return c.refused(ctx, RefusalRow{Refusal: *r, CrossingID: crossingID, At: c.now(), Counterparty: counterparty}, r)
}

func (c *Centre) refused(ctx context.Context, row RefusalRow, r *crossing.Refusal) error {
	if err := c.cfg.Store.Refuse(ctx, row, nil); err != nil {
		return c.pending("refusal", row.CrossingID, err) // a refusal that cannot be recorded is not given (E-1)
	}
	return r
}

// pending is SEAL_PENDING: nothing was decided, and why stays here.
func (c *Centre) pending(what, crossingID string, err error) *crossing.Refusal {
	if err != nil {
		c.cfg.Log.Warn("a seal waits", "for", what, "crossing_id", crossingID, "reason", err.Error())
	}
	return crossing.Refuse(crossing.SealPending)
}

// A flight is one attempt being brought to its end, for all who wait for it.
type flight struct {
	done    chan struct{}
	seal    *Seal
	refusal *crossing.Refusal
}

// join takes part in finishing an open attempt and waits for its end, AckTimeout at
// most. Only the caller whose joint seal it is gets the result; every other record of
// the crossing gets SEAL_PENDING (design C5).
func (c *Centre) join(ctx context.Context, a *Attempt, jointSeal jcs.Hex256) ([]byte, error) {
	if !c.Responds() {
		return nil, c.pending("the registry's role", a.CrossingID, nil)
	}
	f := c.fly(a)
	timer := time.NewTimer(c.cfg.AckTimeout)
	defer timer.Stop()
	select {
	case <-f.done:
	case <-timer.C:
		return nil, c.pending("attempt", a.CrossingID, nil)
	case <-ctx.Done():
		return nil, c.pending("caller", a.CrossingID, ctx.Err())
	}
	switch {
	case a.JointSeal != jointSeal:
		return nil, c.pending("another record", a.CrossingID, nil)
	case f.seal != nil:
		return c.published(ctx, f.seal)
	default:
		return nil, f.refusal
	}
}

// fly starts the attempt's flight or finds the one under way. It is not bound to the
// caller: an initiator that leaves does not undo what was begun (R4).
func (c *Centre) fly(a *Attempt) *flight {
	f, _ := c.launch(a, func() {})
	return f
}

// launch is fly, and calls ended after a flight that it has started.
func (c *Centre) launch(a *Attempt, ended func()) (f *flight, started bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := a.CrossingID + " " + string(a.JointSeal)
	if f, ok := c.flights[key]; ok {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	c.flights[key] = f
	go func() {
		defer ended()
		ctx, cancel := context.WithTimeout(context.Background(), 6*c.cfg.AckTimeout)
		defer cancel()
		f.seal, f.refusal = c.finish(ctx, a)
		c.mu.Lock()
		delete(c.flights, key)
		c.mu.Unlock()
		close(f.done)
	}()
	return f, true
}

// finish holds, commits, and publishes. It is repeated, also after a restart and
// without the initiator, until a receipt or a final refusal is stored.
func (c *Centre) finish(ctx context.Context, a *Attempt) (*Seal, *crossing.Refusal) {
	p, refusal := paramsOf(a)
	if refusal != nil {
		return nil, refusal
	}
	x, err := c.cfg.Store.CrossingByID(ctx, a.CrossingID)
	if err != nil {
		return nil, c.pending("session", a.CrossingID, err)
	}
	t := p.Record.Triple()
	if jcs.HexOf([]byte(x.OwnClosed)) != t.ResponderToken {
		return nil, c.pending("its own session", a.CrossingID, nil) // never spend what the record does not name
	}
	peer, err := c.peer(ctx, x.Peer.PrincipalID)
	switch {
	case err != nil:
		return nil, c.pending("the registry of the counterparty", a.CrossingID, err)
	case peer != nil || c.cfg.Spender == nil:
		return c.finishApart(ctx, a, x, p, peer)
	}
	if _, err := c.cfg.Spender.Hold(ctx, a.CrossingID, p.ClosedMandate, x.OwnClosed); err != nil {
		return nil, c.holdRefused(ctx, a, x, p, err)
	}
	c.cfg.Hook(PointAfterHold)
	receipt, err := c.cfg.Spender.Confirmation(ctx, t)
	if err != nil {
		return nil, c.pending("confirmation", a.CrossingID, err)
	}
	c.cfg.Hook(PointBeforeCommit)
	seal, refusal, err := c.cfg.Store.Commit(ctx, Commit{
		Attempt: a, Party: c.cfg.Self.AgentID, ChainID: p.Record.ChainID(), Triple: t, Effector: c.cfg.Self.PrincipalID,
		Counterparty: x.Peer.PrincipalID, SpendReceipt: receipt, At: c.now(), Build: c.build(p, ""),
	})
	switch {
	case refusal != nil:
		return nil, refusal
	case errors.Is(err, ErrConflict): // somebody else has finished it
		return c.outcome(ctx, a)
	case err != nil:
		return nil, c.pending("commit", a.CrossingID, err)
	}
	c.cfg.Hook(PointAfterSeal)
	return seal, nil
}

func (c *Centre) outcome(ctx context.Context, a *Attempt) (*Seal, *crossing.Refusal) {
	out, err := c.cfg.Store.Lookup(ctx, a.CrossingID, a.JointSeal)
	switch {
	case err != nil:
		return nil, c.pending("lookup", a.CrossingID, err)
	case out.Seal != nil && out.Seal.JointSeal == a.JointSeal:
		return out.Seal, nil
	case out.Refused != nil:
		return nil, out.Refused
	}
	return nil, c.pending("another worker", a.CrossingID, nil)
}

// holdRefused makes the RA's refusal the attempt's if it is final, signed for this triple;
// anything else is asked again (design R3, R4).
func (c *Centre) holdRefused(ctx context.Context, a *Attempt, x *Crossing, p *crossing.SealParams, err error) *crossing.Refusal {
	refusal := refusalOf(err)
	if refusal == nil || !c.final(err, p.Record.Triple()) {
		return c.pending("hold", a.CrossingID, err)
	}
	row := RefusalRow{Refusal: *refusal, CrossingID: a.CrossingID, At: c.now(), Counterparty: x.Peer.PrincipalID}
	if err := c.cfg.Store.RefuseAttempt(ctx, a, p.Record.Triple(), row); err != nil {
		return c.pending("refusal", a.CrossingID, err)
	}
	return refusal
}

// final reports whether an RA's refusal carries its signed word that no later call can
// undo it, for exactly this triple and name.
func (c *Centre) final(err error, t mandate.Triple) bool {
	var e *api.Error
	if !errors.As(err, &e) || e.Receipt == "" {
		return false
	}
	f, err := mandate.ParseFinalRefusal(e.Receipt, c.cfg.RAKeys)
	return err == nil && f.Triple == t && f.Name == e.Code
}

func paramsOf(a *Attempt) (*crossing.SealParams, *crossing.Refusal) {
	v, err := jcs.Parse(a.Params)
	if err != nil {
		return nil, crossing.Refuse(crossing.RecordMalformed)
	}
	return crossing.ParseSealParams(v)
}

// build forms answer and publication for the position that the commit takes. initiator is the
// receipt of the initiator's RA, where it is another than the responder's.
func (c *Centre) build(p *crossing.SealParams, initiator string) func(chain.Position, string) (Seal, Publication, error) {
	var random [6]byte
	_, randErr := io.ReadFull(c.cfg.Rand, random[:])
	sealID := crossing.SealID(c.now(), random)
	return func(pos chain.Position, receipt string) (Seal, Publication, error) {
		if randErr != nil {
			return Seal{}, Publication{}, randErr
		}
		rec := p.Record
		result := crossing.SealResult{CrossingID: rec.CrossingID, Block: crossing.Block{
			SealID: sealID, Seal: p.JointSeal(), Position: pos, Basis: rec.Responder.Basis,
			SealedAt: rec.Timestamps.SealedAt, VerifyURL: c.cfg.VerifyURL(sealID),
		}}
		receipts := []string{receipt}
		if initiator != "" {
			receipts = []string{initiator, receipt}
		}
		pub, err := c.publication(crossing.Responder, rec, result.Block, receipts)
		return Seal{
			CrossingID: rec.CrossingID, JointSeal: result.Block.Seal, SealID: sealID, Record: p.RecordBytes,
			Response: result.Bytes(), Block: result.Block.Bytes(), SpendReceipt: receipt, InitiatorReceipt: initiator,
			SealedAt: rec.Timestamps.SealedAt,
		}, pub, err
	}
}

// published returns the stored answer once the authority serves the projection.
func (c *Centre) published(ctx context.Context, s *Seal) ([]byte, error) {
	if !s.Published {
		ctx, cancel := context.WithTimeout(ctx, c.cfg.AckTimeout)
		defer cancel()
		if err := c.deliver(ctx, s.CrossingID); err != nil {
			return nil, c.pending("acknowledgement", s.CrossingID, err)
		}
	}
	c.cfg.Hook(PointBeforeReply)
	return s.Response, nil
}

func storedRecord(b []byte) (*crossing.Record, error) {
	v, err := jcs.Parse(b)
	if err != nil {
		return nil, err
	}
	rec, refusal := crossing.ParseRecord(v)
	if refusal != nil {
		return nil, refusal
	}
	return rec, nil
}

// temporary reports whether a publication is to be tried again: everything but the one
// final refusal, that another value stands there (design V4).
func temporary(err error) bool { return !errors.Is(err, &api.Error{Code: api.CodeConflict}) }
