package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/mandate"
)

// RegisterClosed registers a Closed under an Open of the actor's agent, books its draw
// (M-4a, M6) and returns the signed mandate.Registration. The same bytes again from the
// same agent for the same counterparty get the stored receipt, whatever has happened
// since, and book nothing.
//
// Refusals, in the order of AG-58 as far as it goes here: ROLE_MISMATCH;
// MANDATE_INVALID for form, signature, a high s, a key outside its time, a missing act (GC-297), or an Open that
// is unknown or another agent's; MALFORMED_MANDATE for class, amounts, currency or an
// act outside the profile; CLASS_BELOW_FLOOR; MANDATE_EXPIRED for it or its Open;
// NARROWING_VIOLATION for an act or class that the Open does not give; CURRENCY_MISMATCH;
// NARROWING_VIOLATION for a limit above the Open's (AG-22) or an exp after it (AG-18);
// MAGNITUDE_EXHAUSTED for an amount above the limit, a limit of none (M-5), or a draw
// above what is left; MANDATE_PARTY_MISMATCH for an audience with an RA of its own whose agent
// is registered here as another's; MANDATE_REVOKED for the Open; api.CodeConflict when the Closed is
// registered in other bytes or for another counterparty.
func (r *Registry) RegisterClosed(ctx context.Context, actor Actor, req api.RegisterClosed) (receipt string, err error) {
	defer r.observe(callRegisterClosed, &err)
	if err := actor.require(api.RoleAgent); err != nil {
		return "", err
	}
	if !mandate.ValidAgentID(req.CounterpartyAgent) || req.CounterpartyAgent == actor.AgentID {
		return "", &api.Error{Code: api.CodeMalformed, Pointer: "/counterparty_agent"}
	}
	presented, err := mandate.ParseClosed(req.Token)
	if err != nil {
		return "", fromFault(err)
	}
	if stored, ok, err := r.knownClosed(ctx, presented, actor, req.CounterpartyAgent); ok || err != nil {
		return stored, err
	}
	c, err := r.judgeClosed(ctx, presented, actor, req.CounterpartyAgent)
	if err != nil {
		return "", err
	}
	c.CounterpartyAgent = req.CounterpartyAgent
	c.ChainID = chain.ID(c.AgentID, c.CounterpartyAgent)
	if c.Receipt, err = c.registration().Sign(r.cfg.Signer); err != nil {
		return "", fmt.Errorf("registry: receipt: %w", err)
	}
	if receipt, err = r.cfg.Store.AddClosed(ctx, c); err != nil {
		return "", fromAddClosed(err)
	}
	r.log.InfoContext(ctx, "closed registered", "agent", c.AgentID, "token_sha256", c.TokenHash)
	return receipt, nil
}

// fromAddClosed names what the transaction that books the draw refused.
func fromAddClosed(err error) error {
	switch {
	case errors.Is(err, ErrExists):
		return &api.Error{Code: api.CodeConflict}
	case errors.Is(err, ErrExhausted):
		return refusal(crossing.MagnitudeExhausted)
	case errors.Is(err, ErrRevoked):
		return refusal(crossing.MandateRevoked)
	case errors.Is(err, ErrExpired):
		return refusal(crossing.MandateExpired)
	case errors.Is(err, ErrSuspended):
		return refusal(crossing.MandateInvalid)
	}
	return fmt.Errorf("registry: %w", err)
}

// knownClosed finds the receipt of an earlier registration of the same bytes, before
// they are judged: a lost answer is given again after exp, too.
func (r *Registry) knownClosed(ctx context.Context, p *mandate.PresentedClosed, actor Actor, counterparty string) (receipt string, ok bool, err error) {
	c, err := r.cfg.Store.FindClosed(ctx, p.TokenHash())
	switch {
	case errors.Is(err, ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("registry: %w", err)
	case c.AgentID != actor.AgentID:
		return "", false, refusal(crossing.MandateInvalid)
	case c.CounterpartyAgent != counterparty:
		return "", false, &api.Error{Code: api.CodeConflict}
	}
	return c.Receipt, true, nil
}

func (r *Registry) judgeClosed(ctx context.Context, p *mandate.PresentedClosed, actor Actor, counterparty string) (Closed, error) {
	now := r.now()
	parent, err := r.cfg.Store.FindOpen(ctx, p.OpenMandateHash())
	if errors.Is(err, ErrNotFound) {
		return Closed{}, refusal(crossing.MandateInvalid)
	}
	if err != nil {
		return Closed{}, fmt.Errorf("registry: %w", err)
	}
	// Verification ties the Open to the same subject: another agent's is as good as none.
	if p.Subject() != actor.AgentID || p.HighS() {
		return Closed{}, refusal(crossing.MandateInvalid)
	}
	principal, err := r.principal(ctx, parent.PrincipalID, now)
	if err != nil {
		return Closed{}, err
	}
	closed, open, err := verifyClosed(p, parent, principal, now)
	if err != nil {
		return Closed{}, err
	}
	if !signerNow(closed, open, principal, now) {
		return Closed{}, refusal(crossing.MandateInvalid)
	}
	limit, err := r.narrows(closed, open, parent, now)
	if err != nil {
		return Closed{}, err
	}
	if err := r.theirs(ctx, closed.Audience(), counterparty); err != nil {
		return Closed{}, err
	}
	return Closed{
		TokenHash: closed.TokenHash(), SignedHash: closed.SignedHash(), OpenHash: parent.OpenHash,
		PrincipalID: parent.PrincipalID, AgentID: actor.AgentID, CrossingID: closed.CrossingID(),
		Limit: limit.Magnitude, Draw: draw(parent.Limit, limit), ExpiresAt: closed.ExpiresAt(), At: now,
		SignerKey: closed.SignerKey().ID,
	}, nil
}

// draw is what a Closed takes from its Open. A narrower class counts in another unit,
// and what cannot be added is not booked: such a Closed is bounded by its class alone
// (M-3, GC-189, GC-200).
func draw(parent, limit commitment.Amount) commitment.Magnitude {
	if parent.Class != limit.Class {
		return 0
	}
	return limit.Magnitude
}

// verifyClosed checks the Closed's signature under its Open, which it takes from the row
// and verifies again: the row is only as good as the keys registered now.
func verifyClosed(p *mandate.PresentedClosed, parent Open, principal mandate.Principal, now time.Time) (*mandate.Closed, *mandate.Open, error) {
	keys := principal.HumanKeys(p.Issuer(), now)
	open, err := presentedOpen(parent.Token, true, principal, now)
	if err != nil {
		return nil, nil, fromFault(err)
	}
	closed, err := p.Verify(keys, open)
	if fault, ok := errors.AsType[*mandate.Fault](err); ok && fault.Claim == "sd_hash" {
		// sd_hash covers the Open as the agent presented it, which the RA did not see:
		// without its disclosure (M5), or with it.
		if open, err = presentedOpen(parent.Token, false, principal, now); err != nil {
			return nil, nil, fromFault(err)
		}
		closed, err = p.Verify(keys, open)
	}
	if err != nil {
		return nil, nil, fromFault(err)
	}
	return closed, open, nil
}

// presentedOpen is a registered Open as it may have been presented: bare, with its
// disclosure given apart, or with both in one string.
func presentedOpen(token string, bare bool, principal mandate.Principal, now time.Time) (*mandate.Open, error) {
	jwt, disclosures, _ := strings.Cut(strings.TrimSuffix(token, "~"), "~")
	if !bare || disclosures == "" {
		p, err := mandate.ParseOpen(token)
		if err != nil {
			return nil, err
		}
		return p.Verify(principal.IssuerKeys(now))
	}
	p, err := mandate.ParseOpen(jwt + "~")
	if err != nil {
		return nil, err
	}
	if p, err = p.Disclose(strings.Split(disclosures, "~")...); err != nil {
		return nil, err
	}
	return p.Verify(principal.IssuerKeys(now))
}

// narrows judges act, class, amounts and time of a Closed against its Open, and returns
// the Closed's limit.
func (r *Registry) narrows(c *mandate.Closed, o *mandate.Open, parent Open, now time.Time) (commitment.Amount, error) {
	none := commitment.Amount{}
	if c.Act() == "" {
		return none, refusal(crossing.MandateInvalid)
	}
	floor, known := r.cfg.Profile.Floor(c.Act())
	if !known {
		return none, refusal(crossing.MalformedMandate)
	}
	limit, asserted, err := c.Amounts()
	if err != nil {
		return none, fromFault(err)
	}
	switch err := parent.Limit.Narrows(limit); {
	case !limit.Class.Permits(floor):
		return none, refusal(crossing.ClassBelowFloor)
	case c.Expired(now) || o.Expired(now):
		return none, refusal(crossing.MandateExpired)
	case !o.PermitsAct(c.Act()), errors.Is(err, commitment.ErrClassWidened):
		return none, refusal(crossing.NarrowingViolation)
	case errors.Is(err, commitment.ErrCurrencyDiffers):
		return none, refusal(crossing.CurrencyMismatch)
	case err != nil, c.ExpiresAt().After(o.ExpiresAt()):
		return none, refusal(crossing.NarrowingViolation)
	case asserted.Magnitude > limit.Magnitude, limit.Magnitude == 0 && limit.Class != commitment.Observe:
		return none, refusal(crossing.MagnitudeExhausted)
	}
	return limit, nil
}

func (c Closed) registration() mandate.Registration {
	return mandate.Registration{
		Variant: mandate.VariantClosed, TokenHash: c.TokenHash, SignedHash: c.SignedHash, OpenMandateHash: c.OpenHash,
		PrincipalID: c.PrincipalID, AgentID: c.AgentID, CounterpartyAgent: c.CounterpartyAgent,
		ChainID: c.ChainID, CrossingID: c.CrossingID, At: c.At,
	}
}
