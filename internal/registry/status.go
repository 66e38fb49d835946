package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Status is the signed answer to whether a mandate is active, reached by either of its
// hashes (design R5). Anyone may ask: unknown, revoked, expired and spent look alike.
func (r *Registry) Status(ctx context.Context, req api.StatusRequest) (status string, err error) {
	defer r.observe(callStatus, &err)
	if _, err := jcs.ParseHex256(string(req.Hash)); err != nil {
		return "", &api.Error{Code: api.CodeMalformed, Pointer: "/hash"}
	}
	if !api.ValidNonce(req.Nonce) {
		return "", &api.Error{Code: api.CodeMalformed, Pointer: "/nonce"}
	}
	now := r.now()
	principalID, err := r.cfg.Store.Active(ctx, req.Hash, now)
	if err != nil {
		return "", fmt.Errorf("registry: %w", err)
	}
	if req.PrincipalID != "" && req.PrincipalID != principalID {
		principalID = "" // that principal has no such mandate here
	}
	status, err = mandate.Status{
		Hash: req.Hash, Active: principalID != "", PrincipalID: principalID, Nonce: req.Nonce, At: now, Expires: now.Add(r.cfg.StatusLifetime),
	}.Sign(r.cfg.Signer)
	if err != nil {
		return "", fmt.Errorf("registry: status: %w", err)
	}
	return status, nil
}

// Revoke ends a mandate, reached by either of its hashes; an Open takes every Closed
// under it along. The principal of the mandate may, and the operator. The answer names
// the state before, signed. Of a Closed, "spent" means that a seal may stand, and every
// other state that none can come of it any more (design C5). A repeat gets the same
// answer, signed anew.
//
// Refusals: ROLE_MISMATCH; api.CodeNotFound for an unknown or another's mandate.
func (r *Registry) Revoke(ctx context.Context, actor Actor, req api.Revoke) (_ api.Revoked, refused error) {
	defer r.observe(callRevoke, &refused)
	if err := actor.require(api.RolePrincipal, api.RoleOperator); err != nil {
		return api.Revoked{}, err
	}
	if _, err := jcs.ParseHex256(string(req.Hash)); err != nil {
		return api.Revoked{}, &api.Error{Code: api.CodeMalformed, Pointer: "/hash"}
	}
	owner := actor.PrincipalID
	if actor.Role == api.RoleOperator {
		owner = ""
	}
	before, at, err := r.cfg.Store.Revoke(ctx, Revocation{Hash: req.Hash, PrincipalID: owner, By: actor, At: r.now()})
	if errors.Is(err, ErrNotFound) {
		return api.Revoked{}, &api.Error{Code: api.CodeNotFound}
	}
	if err != nil {
		return api.Revoked{}, fmt.Errorf("registry: %w", err)
	}
	answer, err := api.Revoked{Hash: req.Hash, Before: before, At: at.UTC().Truncate(time.Second)}.Sign(r.cfg.Signer)
	if err != nil {
		return api.Revoked{}, fmt.Errorf("registry: revocation: %w", err)
	}
	r.lists.changed()
	r.log.InfoContext(ctx, "mandate revoked", "role", actor.Role, "principal", actor.PrincipalID, "hash", req.Hash)
	return answer, nil
}
