package centre

import (
	"context"
	"encoding/hex"
	"errors"
	"io"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Exchange takes one phase message of a counterparty and returns the task after it. A
// refusal is an answer too: a task in state refused. taskID is "" for P1; later
// messages name the task and its context. A message that repeats the last one taken
// gets its answer again; one out of order is refused and changes nothing (GC-269).
func (c *Centre) Exchange(ctx context.Context, taskID, contextID string, m *crossing.Message) (*crossing.Task, error) {
	if m.State == crossing.Committed {
		// A commitment is taken from a seal that resolves, never from a message (§3.5.1
		// INBOUND, GC-044): whoever presents one here is refused and recorded.
		return c.refuseStranger(ctx, crossing.RefuseAt(crossing.RecordMalformed, "§3.5.1 INBOUND"), "", "")
	}
	if taskID == "" {
		if m.P1 == nil {
			return c.refuseStranger(ctx, crossing.RefuseAt(crossing.RecordMalformed, "§5.1 phase order"), "", "")
		}
		return c.begin(ctx, m.P1)
	}
	x, err := c.own(ctx, taskID)
	if err != nil {
		return nil, err
	}
	shown, err := c.shown(ctx, x)
	switch {
	case err != nil:
		return nil, err
	case contextID != x.ContextID:
		return nil, crossing.ErrNoTask
	case shown.State.Terminal():
		return nil, crossing.ErrNoTask // A2A takes no message to a terminal task
	case m.P2 != nil:
		return c.terms(ctx, x, m.P2)
	case m.P3 != nil:
		return c.closings(ctx, x, m.P3)
	}
	return c.outOfOrder(ctx, x)
}

func (c *Centre) own(ctx context.Context, taskID string) (*Crossing, error) {
	x, err := c.cfg.Store.Crossing(ctx, taskID)
	if errors.Is(err, ErrNone) || err == nil && x.Role != crossing.Responder {
		return nil, crossing.ErrNoTask
	}
	return x, err
}

// begin is P1. A row is written only for an Open that passed every check of §5.2, so
// that a stranger costs a refusal row and no more.
func (c *Centre) begin(ctx context.Context, m *crossing.P1) (*crossing.Task, error) {
	if !c.Responds() {
		return c.refuseStranger(ctx, crossing.RefuseAt(crossing.CounterpartyNotPermitted, "§1.4 verify-only"), "", m.Party.PrincipalID)
	}
	class, refusal := crossing.ParseIntent(m.IntendedClass, m.IntendedAct, c.cfg.Acts)
	var currency commitment.Currency
	if refusal == nil {
		var open *mandate.Open
		if open, refusal = crossing.Screen(c.screening(ctx, m, class, m.IntendedAct)); refusal == nil {
			currency = currencyOf(open, class)
		}
	}
	if refusal == nil {
		refusal = c.probing(ctx, m.Party.PrincipalID)
	}
	var grant *Grant
	if refusal == nil {
		grant, refusal = c.choose(ctx, want{class: class, act: m.IntendedAct, counterparty: m.Party.PrincipalID, currency: currency, least: 1})
	}
	if refusal != nil {
		return c.refuseStranger(ctx, refusal, "", m.Party.PrincipalID)
	}
	now := c.now()
	x := &Crossing{
		Role: crossing.Responder, ContextID: c.id(), State: crossing.MandatesPending, Class: m.IntendedClass, Act: m.IntendedAct,
		Own: c.cfg.Self.Profile, Peer: m.Party, OwnOpen: grant.Presented, PeerOpen: m.OpenMandate,
		VerifiedAt: now, CreatedAt: now, UpdatedAt: now,
	}
	x.TaskID = c.id()
	x.SessionID = x.TaskID
	if err := c.cfg.Store.Put(ctx, x); err != nil {
		return nil, err
	}
	return c.task(x, c.ownP1(x).Bytes()), nil
}

// currencyOf is the currency that a crossing under the peer's Open can have, so that one's
// own Open is chosen in it; "" where the class has none.
func currencyOf(open *mandate.Open, class commitment.Class) commitment.Currency {
	amount, _, err := open.Amount()
	if err != nil || class != commitment.Financial || amount.Class != class {
		return ""
	}
	return amount.Currency
}

func (c *Centre) screening(ctx context.Context, m *crossing.P1, class commitment.Class, act string) crossing.Screening {
	return crossing.Screening{
		At: c.now(), P1: m, Issuer: c.resolve(ctx, m.Party.PrincipalID), Own: c.cfg.Self.PrincipalID,
		Class: class, Act: act, OwnActs: c.cfg.Acts.Digest(),
	}
}

// resolve finds the RA's record; nil when there is none, and then the check that needs
// it has failed (GC-304).
func (c *Centre) resolve(ctx context.Context, principalID string) *mandate.Principal {
	p, err := c.principal(ctx, principalID)
	if err != nil {
		c.cfg.Log.Info("a principal does not resolve", "principal", principalID, "reason", err.Error())
		return nil
	}
	return p
}

func (c *Centre) ownP1(x *Crossing) *crossing.P1 {
	return &crossing.P1{Closing: "agent", OpenMandate: x.OwnOpen, Party: x.Own, ActProfile: c.cfg.Acts.Digest()}
}

// terms is P2 (§5.3): any well-formed document is agreed to, by computing its hash
// oneself and comparing.
func (c *Centre) terms(ctx context.Context, x *Crossing, m *crossing.P2) (*crossing.Task, error) {
	if x.State == crossing.TermsProposed && m.CrossingID == x.CrossingID && m.TermsDocument == string(x.Terms) {
		return c.task(x, (&crossing.P2{CrossingID: x.CrossingID, AgreementHash: x.Agreement}).Bytes()), nil
	}
	if x.State != crossing.MandatesPending {
		return c.outOfOrder(ctx, x)
	}
	t, refusal := crossing.ParseTerms([]byte(m.TermsDocument))
	if refusal == nil && t.Hash() != m.AgreementHash {
		refusal = crossing.RefuseAt(crossing.AgreementHashMismatch, "§5.3 P2-3")
	}
	if refusal != nil {
		return c.refuse(ctx, x, refusal)
	}
	x.CrossingID, x.Terms, x.Agreement = m.CrossingID, []byte(m.TermsDocument), t.Hash()
	x.State, x.AgreedAt = crossing.TermsProposed, latest(c.now(), x.VerifiedAt)
	if err := c.put(ctx, x); errors.Is(err, ErrConflict) {
		if now, err := c.own(ctx, x.TaskID); err == nil && now.Version != x.Version {
			return c.terms(ctx, now, m) // this task moved on, perhaps by this very message sent twice
		}
		if freed, err := c.restart(ctx, x); err != nil {
			return nil, err
		} else if freed {
			x.CrossingID, x.Terms, x.Agreement, x.State = "", nil, "", crossing.MandatesPending
			return c.terms(ctx, x, m)
		}
		x.CrossingID = "" // it names another crossing already
		return c.refuseRow(ctx, x, crossing.RefuseAt(crossing.RecordMalformed, "§4.4 crossing_id"), nil)
	} else if err != nil {
		return nil, err
	}
	return c.task(x, (&crossing.P2{CrossingID: x.CrossingID, AgreementHash: x.Agreement}).Bytes()), nil
}

// closings is closing until the row holds still: of one message that came twice at once,
// the slower gets the answer of the quicker.
func (c *Centre) closings(ctx context.Context, x *Crossing, m *crossing.P3) (*crossing.Task, error) {
	for range 4 { // accepted, drawn, and then nothing writes the row any more
		t, err := c.closing(ctx, x, m)
		if !errors.Is(err, ErrConflict) {
			return t, err
		}
		if x, err = c.own(ctx, x.TaskID); err != nil {
			return nil, err
		}
		if x.State.Terminal() {
			return nil, crossing.ErrNoTask
		}
	}
	return c.closing(ctx, x, m)
}

// closing is P3 (§5.4): the peer's Closed is verified against the peer's Open, then
// this party draws one of its own for the same amount.
func (c *Centre) closing(ctx context.Context, x *Crossing, m *crossing.P3) (*crossing.Task, error) {
	repeated := x.State == crossing.Sealing && m.ClosedMandate == x.PeerClosed
	if m.CrossingID != x.CrossingID || x.State != crossing.TermsProposed && !repeated {
		return c.outOfOrder(ctx, x)
	}
	if !repeated {
		refusal, err := c.acceptClosed(ctx, x, m)
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			return c.refuse(ctx, x, refusal)
		}
	}
	if refusal, err := c.draw(ctx, x); err != nil {
		return nil, err
	} else if refusal != nil {
		return c.refuse(ctx, x, refusal)
	}
	return c.task(x, (&crossing.P3{CrossingID: x.CrossingID, ClosedMandate: x.OwnClosed, Receipt: x.OwnReceipt}).Bytes()), nil
}

func (c *Centre) acceptClosed(ctx context.Context, x *Crossing, m *crossing.P3) (*crossing.Refusal, error) {
	used, err := c.cfg.Store.Nonces(ctx, x.CrossingID)
	if err != nil {
		return nil, err
	}
	class, refusal := crossing.ParseIntent(x.Class, x.Act, c.cfg.Acts)
	if refusal != nil {
		return refusal, nil
	}
	x.PeerClosed, x.PeerReceipt, x.PeerDisclosures = m.ClosedMandate, m.Receipt, m.OpenDisclosures
	peer := c.peerSide(ctx, x)
	closed, amount, refusal := crossing.CheckClosed(crossing.Closing{
		At: c.now(), Peer: peer, Own: c.cfg.Self.PrincipalID, CrossingID: x.CrossingID,
		AgreementHash: x.Agreement, Class: class, Act: x.Act, Amount: x.Amount, Used: used,
	})
	if refusal == nil {
		refusal = unregistered(peer)
	}
	if refusal == nil {
		refusal = c.probing(ctx, x.Peer.PrincipalID) // sessions begun before count no less
	}
	if refusal != nil {
		x.PeerClosed, x.PeerReceipt, x.PeerDisclosures = "", "", nil
		return refusal, nil
	}
	x.Amount = &amount
	x.State = crossing.Sealing
	// Seen from now on, whatever becomes of this task: a later one of the same crossing_id
	// needs fresh nonces (§5.4-8, AG-19).
	x.Nonces = map[crossing.Nonce]jcs.Hex256{{Issuer: closed.Issuer(), Value: closed.Nonce()}: closed.TokenHash()}
	if x.OwnClosed, err = c.signClosed(x); err != nil {
		return nil, err
	}
	return nil, c.put(ctx, x) // before it is registered: a crash must not lose a drawn Closed
}

func (c *Centre) peerSide(ctx context.Context, x *Crossing) crossing.Side {
	return crossing.Side{
		Profile: x.Peer, Open: x.PeerOpen, Disclosures: x.PeerDisclosures, Closed: x.PeerClosed,
		Issuer: c.resolve(ctx, x.Peer.PrincipalID), Registered: c.registered(ctx, x.Peer, x.PeerReceipt, x.PeerClosed, x.Own.AgentID),
	}
}

// unregistered refuses a Closed without the RA's receipt, before this party draws one of
// its own: nothing could come of the crossing, and its own draw would not come back.
func unregistered(s crossing.Side) *crossing.Refusal {
	if s.Registered {
		return nil
	}
	return crossing.RefuseAt(crossing.MandateInvalid, "§4.1.3 M-4a receipt")
}

// registered verifies a registration receipt for exactly this Closed under the pinned key of
// the RA that speaks for its Principal, drawn for this counterparty (design M5, S3).
func (c *Centre) registered(ctx context.Context, of crossing.Profile, receipt, closed, counterparty string) bool {
	keys, err := c.raKeys(ctx, of.PrincipalID)
	if err != nil {
		return false
	}
	r, err := mandate.ParseRegistration(receipt, keys)
	return err == nil && r.Variant == mandate.VariantClosed && r.TokenHash == jcs.HexOf([]byte(closed)) && r.CounterpartyAgent == counterparty
}

// signClosed signs this party's Closed for the crossing (§4.1.2, T1).
func (c *Centre) signClosed(x *Crossing) (string, error) {
	presented, err := mandate.ParseOpen(x.OwnOpen)
	if err != nil {
		return "", err
	}
	open, err := presented.Verify(c.cfg.Self.Issuers)
	if err != nil {
		return "", err
	}
	now := c.second()
	expires := now.Add(c.cfg.ClosedLifetime)
	if limit := open.ExpiresAt(); limit.Before(expires) {
		expires = limit // AG-18: a Closed does not outlive its Open
	}
	return mandate.ClosedDraft{
		Issuer: x.Own.AgentID, Subject: x.Own.AgentID, Audience: x.Peer.PrincipalID, IssuedAt: now, ExpiresAt: expires,
		Act: x.Act, Limit: *x.Amount, Asserted: *x.Amount, AgreementHash: x.Agreement,
		OpenMandateHash: open.OpenHash(), OpenPresented: open.Presented(), Basis: c.cfg.Self.Basis,
		CrossingID: x.CrossingID, SignerRole: mandate.RoleAgent,
	}.Sign(c.cfg.Self.Agent)
}

// draw registers the stored Closed at the RA (M-4a). It may be repeated: the RA gives
// the same bytes the same receipt.
func (c *Centre) draw(ctx context.Context, x *Crossing) (*crossing.Refusal, error) {
	if x.OwnReceipt != "" {
		return nil, nil
	}
	receipt, err := c.cfg.Registrar.RegisterClosed(ctx, x.OwnClosed, x.Peer.AgentID)
	if refusal := refusalOf(err); refusal != nil {
		c.heard(ctx, refusal, x.OwnOpen)
		if x.Role == crossing.Responder && refusal.Name == crossing.NarrowingViolation {
			// Above one's own limit and above what is left of it must look alike to the
			// counterparty, or the limit could be found by bisection (§5.7, RM-2).
			refusal = crossing.Refuse(crossing.MagnitudeExhausted)
		}
		return refusal, nil
	}
	if err != nil {
		return nil, err
	}
	x.OwnReceipt = receipt
	if err := c.put(ctx, x); err != nil {
		return nil, err
	}
	if open, err := mandate.ParseOpen(x.OwnOpen); err == nil {
		return nil, c.cfg.Store.Drawn(ctx, open.OpenHash(), int64(x.Amount.Magnitude))
	}
	return nil, nil
}

// Task shows a crossing to whoever names its task id (design C2). Terms and mandates
// are never in it.
func (c *Centre) Task(ctx context.Context, taskID string) (*crossing.Task, error) {
	x, err := c.own(ctx, taskID)
	if err != nil {
		return nil, err
	}
	return c.shown(ctx, x)
}

// shown is the task as it stands. A seal outweighs what the row says: one record of the
// crossing may have been refused before another was sealed (design C5).
func (c *Centre) shown(ctx context.Context, x *Crossing) (*crossing.Task, error) {
	t := c.task(x, nil)
	if x.Refusal != nil {
		t.Answer = crossing.RefusalBytes(x.State, x.Refusal)
	}
	if x.OwnClosed == "" { // no P3, and so no record (AG-59)
		return t, nil
	}
	out, err := c.cfg.Store.Lookup(ctx, x.CrossingID, "")
	if err != nil {
		return nil, err
	}
	switch {
	case out.Seal != nil && out.Seal.Published:
		rec, err := storedRecord(out.Seal.Record)
		if err != nil {
			return nil, err
		}
		t.State, t.Answer, t.Block, t.ArtifactID = crossing.Committed, nil, out.Seal.Block, rec.Context.ArtifactID
	case out.Seal != nil || out.Open != nil:
		t.State, t.Answer = crossing.Sealing, nil
	case c.isUnsealed(x.CrossingID):
		t.State = crossing.FailedUnsealed
	}
	return t, nil
}

func (c *Centre) task(x *Crossing, answer []byte) *crossing.Task {
	return &crossing.Task{ID: x.TaskID, ContextID: x.ContextID, State: x.State, Answer: answer, UpdatedAt: x.UpdatedAt}
}

func (c *Centre) put(ctx context.Context, x *Crossing) error {
	x.UpdatedAt = c.now()
	return c.cfg.Store.Put(ctx, x)
}

// refuse ends a crossing with a refusal (§4.5 refused).
func (c *Centre) refuse(ctx context.Context, x *Crossing, r *crossing.Refusal) (*crossing.Task, error) {
	x.State, x.Refusal, x.UpdatedAt = crossing.Refused, r, c.now()
	return c.refuseRow(ctx, x, r, x)
}

func (c *Centre) outOfOrder(ctx context.Context, x *Crossing) (*crossing.Task, error) {
	return c.refuseRow(ctx, x, crossing.RefuseAt(crossing.RecordMalformed, "§5.1 phase order"), nil)
}

// refuseRow records a refusal about x, and x itself if it ends with it.
func (c *Centre) refuseRow(ctx context.Context, x *Crossing, r *crossing.Refusal, ended *Crossing) (*crossing.Task, error) {
	row := RefusalRow{Refusal: *r, CrossingID: x.CrossingID, At: c.now(), Counterparty: x.Peer.PrincipalID}
	if err := c.cfg.Store.Refuse(ctx, row, ended); err != nil {
		return nil, err
	}
	t := c.task(x, crossing.RefusalBytes(crossing.Refused, r))
	t.State = crossing.Refused
	return t, nil
}

// refuseStranger refuses before there is a crossing: a task that is never stored.
func (c *Centre) refuseStranger(ctx context.Context, r *crossing.Refusal, crossingID, counterparty string) (*crossing.Task, error) {
	x := &Crossing{TaskID: c.id(), ContextID: c.id(), CrossingID: crossingID, UpdatedAt: c.now()}
	x.Peer.PrincipalID = counterparty
	return c.refuseRow(ctx, x, r, nil)
}

// Refuse records a refusal that was decided at the edge, a message that it could not
// read or a request without activation (E-1, F5), and answers with a task in state
// refused that is never stored.
func (c *Centre) Refuse(ctx context.Context, r *crossing.Refusal) (*crossing.Task, error) {
	return c.refuseStranger(ctx, r, "", "")
}

// id is 128 random bits in hex: a task or context id that nobody can guess (design C2).
func (c *Centre) id() string {
	b := make([]byte, 16)
	if _, err := io.ReadFull(c.cfg.Rand, b); err != nil {
		panic("centre: the random source is broken: " + err.Error()) // crypto/rand does not fail
	}
	return hex.EncodeToString(b)
}
