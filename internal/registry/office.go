package registry

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// RegisterIssuer makes a credential a service issuer's and lists the subjects that it may
// issue Opens for (§3.7.2 rules 2 and 3, AG-24). From then on no effector spends a mandate
// of any of them. A repeat adds what is missing. The actor is the operator.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed; api.CodeNotFound for an unknown principal;
// api.CodeConflict when the credential has another role or owner, or was withdrawn
// (GC-082), or the list is full.
func (r *Registry) RegisterIssuer(ctx context.Context, actor Actor, req api.RegisterIssuer) (refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RoleOperator); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	err := r.cfg.Store.AddIssuer(ctx, Issuer{
		PrincipalID: req.PrincipalID, Credential: req.CredentialHash, Subjects: req.Subjects, By: actor, At: r.now(),
	})
	if err != nil {
		return fromOffice(err)
	}
	r.log.InfoContext(ctx, "issuer registered", "principal", req.PrincipalID, "subjects", len(req.Subjects))
	return nil
}

// fromOffice names what a change of the directory was refused for.
func fromOffice(err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return &api.Error{Code: api.CodeNotFound}
	case errors.Is(err, ErrExists), errors.Is(err, ErrFull), errors.Is(err, ErrRevoked):
		return &api.Error{Code: api.CodeConflict}
	}
	return fmt.Errorf("registry: %w", err)
}

// Add registers further keys, agents, humans and credentials of a principal. What stands
// there already is no fault. The actor is that principal, or the operator. A human's key
// that the principal adds is only asked for: it signs nothing until the operator approves
// it by DecideHuman; one that the operator adds is registered at once.
//
// Refusals: ROLE_MISMATCH, also for a credential of the roles issuer and operator, which
// only the operator's own means give; api.CodeMalformed; api.CodeNotFound for another
// principal, or an agent that is not the principal's; api.CodeConflict when a key, agent or
// credential is there with another use or owner, or the principal has as many as it may.
func (r *Registry) Add(ctx context.Context, actor Actor, req api.Addition) (refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RolePrincipal, api.RoleOperator); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	for _, c := range req.Credentials {
		if c.Role == api.RoleOperator || c.Role == api.RoleIssuer {
			return refusal(crossing.RoleMismatch)
		}
	}
	if actor.Role == api.RolePrincipal && actor.PrincipalID != req.PrincipalID {
		return &api.Error{Code: api.CodeNotFound}
	}
	a := Addition{
		PrincipalID: req.PrincipalID, Keys: req.Keys, Agents: req.Agents, Humans: req.Humans,
		Credentials: req.Credentials, By: actor, At: r.now(),
	}
	if actor.Role != api.RoleOperator {
		a.Humans, a.Requests = nil, a.Humans
	}
	err := r.cfg.Store.Add(ctx, a)
	if err != nil {
		return fromOffice(err)
	}
	r.log.InfoContext(ctx, "added to principal", "role", actor.Role, "principal", req.PrincipalID)
	return nil
}

// SetSuspended suspends a principal or reinstates it. While it is suspended, its record
// says that it is not active, so that it resolves to no key; its credentials are unknown;
// its mandates are not active, and none of them is registered, held or consumed. What is
// held may still be confirmed: that was consumed before. The actor is the operator.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed; api.CodeNotFound; api.CodeConflict for the
// operator's own principal, whom nobody could reinstate.
func (r *Registry) SetSuspended(ctx context.Context, actor Actor, req api.Suspension) (refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RoleOperator); err != nil {
		return err
	}
	if !mandate.ValidPrincipalID(req.PrincipalID) {
		return &api.Error{Code: api.CodeMalformed, Pointer: "/principal_id"}
	}
	if req.Suspended && req.PrincipalID == actor.PrincipalID {
		return &api.Error{Code: api.CodeConflict}
	}
	err := r.cfg.Store.SetStatus(ctx, StatusChange{PrincipalID: req.PrincipalID, Active: !req.Suspended, By: actor, At: r.now()})
	if err != nil {
		return fromOffice(err)
	}
	r.lists.changed()
	r.log.InfoContext(ctx, "principal status set", "principal", req.PrincipalID, "suspended", req.Suspended)
	return nil
}

// Withdraw ends a credential for ever: who presents it is unknown from then on. The actor
// is the principal that it speaks for, or the operator; an operator's credential is an
// operator's to withdraw. An issuer's subjects stay listed. A repeat changes nothing.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed; api.CodeNotFound.
func (r *Registry) Withdraw(ctx context.Context, actor Actor, req api.Withdrawal) (refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RolePrincipal, api.RoleOperator); err != nil {
		return err
	}
	if _, err := jcs.ParseHex256(string(req.CredentialHash)); err != nil {
		return &api.Error{Code: api.CodeMalformed, Pointer: "/credential_sha256"}
	}
	w := Withdrawal{Credential: req.CredentialHash, PrincipalID: actor.PrincipalID, By: actor, At: r.now()}
	if actor.Role == api.RoleOperator {
		w.PrincipalID = ""
	}
	if err := r.cfg.Store.Withdraw(ctx, w); err != nil {
		return fromOffice(err)
	}
	r.log.InfoContext(ctx, "credential withdrawn", "role", actor.Role, "principal", actor.PrincipalID)
	return nil
}

// AuditRows returns the audit rows below an ID, the newest first: at most limit of them,
// 1 to api.MaxAuditRows. before 0 means from the newest. The actor is the operator.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed.
func (r *Registry) AuditRows(ctx context.Context, actor Actor, before int64, limit int) (_ api.Audit, refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RoleOperator); err != nil {
		return api.Audit{}, err
	}
	switch {
	case before < 0:
		return api.Audit{}, &api.Error{Code: api.CodeMalformed, Pointer: "/before"}
	case limit < 1 || limit > api.MaxAuditRows:
		return api.Audit{}, &api.Error{Code: api.CodeMalformed, Pointer: "/limit"}
	case before == 0:
		before = math.MaxInt64
	}
	rows, err := r.cfg.Store.AuditRows(ctx, before, limit)
	if err != nil {
		return api.Audit{}, fmt.Errorf("registry: %w", err)
	}
	return api.Audit{Rows: rows}, nil
}
