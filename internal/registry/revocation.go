package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
)

// Revocations ends what signs. Unlike a suspension, none is taken back.
type Revocations interface {
	// RevokeSigner revokes a key, a human with all keys, or a principal. A mandate is
	// revoked from then on if its principal, the key that has signed it, the key that has
	// signed its Open, or that Open's cnf key is; a key or human that is revoked is not
	// registered again. What is revoked keeps its first time, and a repeat writes nothing.
	// ErrNotFound: unknown, or not of r.PrincipalID. ErrOperator: the principal has an
	// operator's credential that is not withdrawn.
	RevokeSigner(ctx context.Context, r SignerRevocation) (at time.Time, err error)
}

// A SignerRevocation asks for one.
type SignerRevocation struct {
	Kind        string // an api.Kind constant
	PrincipalID string
	Subject     string // thumbprint of a key, identifier of a human
	By          Actor  // for the audit row
	At          time.Time
}

// RevokeSigner ends a key, a human or a principal for good. What the key has signed, and
// every Open that is bound to it, is revoked with it: it is neither registered nor held,
// and what is held is not confirmed (§5.4, WC-10); what was confirmed stands. The record of
// the principal leaves the key out, since a reader that did not know a mark would trust it;
// of a revoked principal it says that it is not active, as while it is suspended. The
// actor is that principal, or the operator. A repeat gets the first time.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed; api.CodeNotFound for what is unknown or
// another's; api.CodeConflict for a principal with an operator's credential: nobody could
// run the RA any more.
func (r *Registry) RevokeSigner(ctx context.Context, actor Actor, req api.RevokeSigner) (_ api.SignerRevoked, refused error) {
	defer r.observe(callRevoke, &refused)
	none := api.SignerRevoked{}
	if err := actor.require(api.RolePrincipal, api.RoleOperator); err != nil {
		return none, err
	}
	if err := req.Validate(); err != nil {
		return none, err
	}
	if actor.Role == api.RolePrincipal && actor.PrincipalID != req.PrincipalID {
		return none, &api.Error{Code: api.CodeNotFound}
	}
	at, err := r.cfg.Store.RevokeSigner(ctx, SignerRevocation{
		Kind: req.Kind, PrincipalID: req.PrincipalID, Subject: req.Subject, By: actor, At: r.now(),
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return none, &api.Error{Code: api.CodeNotFound}
	case errors.Is(err, ErrOperator):
		return none, &api.Error{Code: api.CodeConflict}
	case err != nil:
		return none, fmt.Errorf("registry: %w", err)
	}
	r.lists.changed()
	r.log.InfoContext(ctx, "signer revoked", "role", actor.Role, "principal", req.PrincipalID, "kind", req.Kind)
	return api.SignerRevoked{RevokeSigner: req, At: at.UTC().Truncate(time.Second)}, nil
}

// fromAddOpen names what the transaction that stores an Open refused.
func fromAddOpen(err error) error {
	switch {
	case errors.Is(err, ErrExists):
		return &api.Error{Code: api.CodeConflict}
	case errors.Is(err, ErrSuspended), errors.Is(err, ErrRevoked):
		return refusal(crossing.MandateInvalid)
	}
	return fmt.Errorf("registry: %w", err)
}
