package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Hold consumes both Closeds of a crossing by possession of their exact bytes (§3.7.2
// rule 1, M-4b) and returns the signed mandate.SpendReceipt with state held. The actor
// must be the effector of the responder's principal (design R3). It is idempotent on
// the triple for that effector: the same call gets the stored receipt, even when the
// triple is spent or a mandate revoked since.
//
// Refusals: ROLE_MISMATCH; MANDATE_INVALID when a token is unknown or a principal
// suspended; SERVICE_HELD_MANDATE when a registered issuer may issue for the agent of one
// (§3.7.2 rule 2); MAGNITUDE_EXHAUSTED when one is consumed under another triple, or this
// triple by another effector; MANDATE_PARTY_MISMATCH when the two do not name each other
// and the crossing, or the effector is not the responder's; MANDATE_REVOKED;
// MANDATE_EXPIRED. What no later call can undo carries the signed final refusal in Receipt.
func (r *Registry) Hold(ctx context.Context, actor Actor, req api.Hold) (receipt string, err error) {
	defer r.observe(callHold, &err)
	if err := actor.require(api.RoleEffector); err != nil {
		return "", err
	}
	if err := req.Validate(); err != nil {
		return "", err
	}
	triple := req.Triple()
	if triple.InitiatorToken == triple.ResponderToken {
		return "", refusal(crossing.MandatePartyMismatch) // one mandate is no pair, and no receipt could name it
	}
	now := r.now()
	if receipt, err = r.sign(triple, req.Half(), actor, mandate.Held, now); err != nil {
		return "", err
	}
	receipt, err = r.cfg.Store.Hold(ctx, Hold{
		Triple: triple, Half: req.Half(), Effector: actor.PrincipalID, Receipt: receipt, At: now,
		Lapses: now.Add(r.cfg.HoldTimeout), CounterpartyAgent: req.CounterpartyAgent,
	})
	if err != nil {
		return "", r.refuse(ctx, triple, err)
	}
	r.log.InfoContext(ctx, "held", "effector", actor.PrincipalID, "crossing_id", triple.CrossingID)
	return receipt, nil
}

// Confirmation signs the receipt with state spent that a commit in the same store will
// write with its own transaction, and writes nothing itself. Unless it is stored by that
// commit, the receipt must not leave the process.
func (r *Registry) Confirmation(_ context.Context, actor Actor, triple mandate.Triple) (receipt string, err error) {
	if err := actor.require(api.RoleEffector); err != nil {
		return "", err
	}
	if err := validTriple(triple); err != nil {
		return "", err
	}
	return r.sign(triple, mandate.Both, actor, mandate.Spent, r.now())
}

// Confirm spends a held triple: it reads both mandates again and decides, in one
// transaction (§5.4, design R4), and returns the signed receipt with state spent. A
// triple that is decided gets its stored receipt.
//
// Refusals: ROLE_MISMATCH; MAGNITUDE_EXHAUSTED when the triple is not held by this
// effector; MANDATE_REVOKED and MANDATE_EXPIRED, of a Closed or its Open: both Closeds
// stay consumed (WC-10). What no later call can undo carries the signed final refusal
// in Receipt, with the flags that say which token is consumed under this crossing_id, and
// is logged as mandate_unit_burned (GC-199).
func (r *Registry) Confirm(ctx context.Context, actor Actor, triple mandate.Triple) (receipt string, err error) {
	defer r.observe(callConfirm, &err)
	if err := actor.require(api.RoleEffector); err != nil {
		return "", err
	}
	if err := validTriple(triple); err != nil {
		return "", err
	}
	receipt, err = r.confirm(ctx, actor, triple, mandate.Both)
	if errors.Is(err, ErrHalf) { // rare: only then the row is asked which half it keeps
		if row, fault := r.cfg.Store.Find(ctx, triple); fault == nil {
			receipt, err = r.confirm(ctx, actor, triple, row.Half)
		}
	}
	if errors.Is(err, ErrRevoked) || errors.Is(err, ErrExpired) {
		r.log.WarnContext(ctx, logBurned, "effector", actor.PrincipalID, "crossing_id", triple.CrossingID)
	}
	if err != nil {
		return "", r.refuse(ctx, triple, err)
	}
	r.log.InfoContext(ctx, "confirmed", "effector", actor.PrincipalID, "crossing_id", triple.CrossingID)
	return receipt, nil
}

func (r *Registry) confirm(ctx context.Context, actor Actor, triple mandate.Triple, half mandate.Half) (receipt string, err error) {
	now := r.now()
	if receipt, err = r.sign(triple, half, actor, mandate.Spent, now); err != nil {
		return "", err
	}
	return r.cfg.Store.Confirm(ctx, Confirmation{
		Triple: triple, Half: half, Effector: actor.PrincipalID, Receipt: receipt, At: now,
	})
}

func validTriple(t mandate.Triple) error {
	_, initiator := jcs.ParseHex256(string(t.InitiatorToken))
	_, responder := jcs.ParseHex256(string(t.ResponderToken))
	pointer := ""
	switch {
	case !mandate.ValidCrossingID(t.CrossingID):
		pointer = "/crossing_id"
	case initiator != nil:
		pointer = "/initiator_token_sha256"
	case responder != nil || t.InitiatorToken == t.ResponderToken:
		pointer = "/responder_token_sha256"
	default:
		return nil
	}
	return &api.Error{Code: api.CodeMalformed, Pointer: pointer}
}

// sign makes a receipt before the transaction that may store it: no key is used while
// the store's one writer waits.
func (r *Registry) sign(t mandate.Triple, half mandate.Half, actor Actor, state mandate.SpendState, at time.Time) (string, error) {
	receipt, err := mandate.SpendReceipt{Triple: t, Half: half, Effector: actor.PrincipalID, State: state, At: at}.Sign(r.cfg.Signer)
	if err != nil {
		return "", fmt.Errorf("registry: receipt: %w", err)
	}
	return receipt, nil
}

// refuse names what Hold or Confirm of the store refused. If the refusal is final it
// signs it: a final refusal is about the triple, so whatever another effector could
// still bring about is not final.
func (r *Registry) refuse(ctx context.Context, triple mandate.Triple, err error) error {
	name, final := verdict(err)
	if name == "" {
		return fmt.Errorf("registry: %w", err)
	}
	refused := &api.Error{Code: string(name)}
	if !final {
		return refused
	}
	f := mandate.FinalRefusal{Triple: triple, Name: string(name), At: r.now()}
	var fault error
	if f.Half, fault = r.cfg.Store.Kept(ctx, triple); fault != nil {
		return fmt.Errorf("registry: %w", fault)
	}
	if f.InitiatorSpent, f.ResponderSpent, fault = r.cfg.Store.Spent(ctx, triple); fault != nil {
		return fmt.Errorf("registry: %w", fault)
	}
	if refused.Receipt, fault = f.Sign(r.cfg.Signer); fault != nil {
		return fmt.Errorf("registry: refusal: %w", fault)
	}
	return refused
}

func verdict(err error) (name crossing.Name, final bool) {
	switch {
	case errors.Is(err, ErrNotFound):
		return crossing.MandateInvalid, false // it may be registered yet
	case errors.Is(err, ErrSuspended):
		return crossing.MandateInvalid, false // it may be reinstated
	case errors.Is(err, ErrServiceHeld):
		return crossing.ServiceHeldMandate, true // no subject is ever taken off a list
	case errors.Is(err, ErrConsumed):
		return crossing.MagnitudeExhausted, true
	case errors.Is(err, ErrForeign), errors.Is(err, ErrNotHeld):
		return crossing.MagnitudeExhausted, false
	case errors.Is(err, ErrMismatch):
		return crossing.MandatePartyMismatch, true // the rows' names never change
	case errors.Is(err, ErrNotResponder), errors.Is(err, ErrHalf):
		return crossing.MandatePartyMismatch, false
	case errors.Is(err, ErrRevoked):
		return crossing.MandateRevoked, true
	case errors.Is(err, ErrExpired):
		return crossing.MandateExpired, true
	}
	return "", false
}
