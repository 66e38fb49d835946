package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// logBurned is the event by which a unit that bought nothing is told from one that did
// (§4.1.3, GC-199).
const logBurned = "mandate_unit_burned"

// Consume takes units of an Open by possession of its exact registered bytes, for one act
// of its agent and before the act (§3.7.2 rule 1, M-4, AG-21), and answers with a signed
// receipt. All of the units or none are taken, and none ever returns (GC-190, GC-198). It
// is idempotent on the effector's request_id: the same request gets the stored answer.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed, also for a word that is no class or no
// currency; api.CodeConflict when the request_id is another request's; MANDATE_INVALID
// when the bytes are unknown, or a principal is suspended; SERVICE_HELD_MANDATE when a
// registered issuer may issue for the agent (§3.7.2 rule 2); MANDATE_PARTY_MISMATCH when
// the Open permits counterparties and the effector is not of its principal;
// MANDATE_EXPIRED; CLASS_EXCEEDED for an act above the Open's class (L-1, CM-2);
// CURRENCY_MISMATCH; MANDATE_REVOKED; MAGNITUDE_EXHAUSTED for more than is left (CM-1),
// or a limit of none (M-5).
func (r *Registry) Consume(ctx context.Context, actor Actor, req api.Consume) (_ api.Consumed, refused error) {
	defer r.observe(callConsume, &refused)
	none := api.Consumed{}
	if err := actor.require(api.RoleEffector); err != nil {
		return none, err
	}
	c, err := consumption(req)
	if err != nil {
		return none, err
	}
	c.Effector, c.At = actor.PrincipalID, r.now()
	signed, err := api.Consumed{
		RequestID: req.RequestID, TokenHash: c.Token, Effector: c.Effector,
		Class: req.Class, Units: req.Units, Currency: req.Currency, At: c.At,
	}.Sign(r.cfg.Signer)
	if err != nil {
		return none, fmt.Errorf("registry: receipt: %w", err)
	}
	c.Answer = signed.Bytes()
	stored, err := r.cfg.Store.Consume(ctx, c)
	if err != nil {
		return none, fromConsume(err)
	}
	r.log.InfoContext(ctx, "units consumed", "effector", c.Effector, "request_id", c.RequestID, "token_sha256", c.Token)
	return api.ParseConsumed(stored)
}

// consumption reads the request's words.
func consumption(req api.Consume) (Consumption, error) {
	if err := req.Validate(); err != nil {
		return Consumption{}, err
	}
	class, err := commitment.ParseClass(req.Class)
	if err != nil {
		return Consumption{}, &api.Error{Code: api.CodeMalformed, Pointer: "/class"}
	}
	if req.Currency != "" {
		if _, err := commitment.ParseCurrency(req.Currency); err != nil {
			return Consumption{}, &api.Error{Code: api.CodeMalformed, Pointer: "/currency"}
		}
	}
	return Consumption{
		RequestID: req.RequestID, Request: jcs.HexOf(req.Bytes()), Token: jcs.HexOf([]byte(req.Token)),
		Class: class, Units: commitment.Magnitude(req.Units), Currency: commitment.Currency(req.Currency),
	}, nil
}

// fromConsume names what the transaction that takes units refused.
func fromConsume(err error) error {
	switch {
	case errors.Is(err, ErrExists):
		return &api.Error{Code: api.CodeConflict}
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrSuspended):
		return refusal(crossing.MandateInvalid)
	case errors.Is(err, ErrServiceHeld):
		return refusal(crossing.ServiceHeldMandate)
	case errors.Is(err, ErrNotOwn):
		return refusal(crossing.MandatePartyMismatch)
	case errors.Is(err, ErrClass):
		return refusal(crossing.ClassExceeded)
	case errors.Is(err, ErrCurrency):
		return refusal(crossing.CurrencyMismatch)
	case errors.Is(err, ErrExpired):
		return refusal(crossing.MandateExpired)
	case errors.Is(err, ErrRevoked):
		return refusal(crossing.MandateRevoked)
	case errors.Is(err, ErrExhausted):
		return refusal(crossing.MagnitudeExhausted)
	}
	return fmt.Errorf("registry: %w", err)
}

// Burned takes an effector's word that the act failed for which it consumed units. The
// units stay taken: a mandate is permission to attempt. The loss gets its audit row and is
// logged once as mandate_unit_burned, so that it is measured (GC-199).
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed; api.CodeNotFound when this effector has
// consumed nothing under the request_id.
func (r *Registry) Burned(ctx context.Context, actor Actor, req api.Burn) (refused error) {
	defer r.observe(callBurn, &refused)
	if err := actor.require(api.RoleEffector); err != nil {
		return err
	}
	if !mandate.ValidCrossingID(req.RequestID) {
		return &api.Error{Code: api.CodeMalformed, Pointer: "/request_id"}
	}
	units, first, err := r.cfg.Store.Burn(ctx, Burn{Effector: actor.PrincipalID, RequestID: req.RequestID, At: r.now()})
	if errors.Is(err, ErrNotFound) {
		return &api.Error{Code: api.CodeNotFound}
	}
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if first {
		r.log.WarnContext(ctx, logBurned, "effector", actor.PrincipalID, "request_id", req.RequestID, "units", int64(units))
	}
	return nil
}
