package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// Domains reads what a domain publishes about its keys.
type Domains interface {
	// Keys returns the key set of https://DOMAIN/.well-known/jwt-vc-issuer. The error is
	// an [*api.Error] with api.CodeDomainUnreachable, CodeDomainMalformed or
	// CodeDomainMismatch.
	Keys(ctx context.Context, domain string) (jose.KeySet, error)
}

// renewals is how many domains are read from the store at once.
const renewals = 64

// signsNow reports whether the key that kid names in keys may sign at this moment.
func signsNow(keys jose.KeySet, kid string, now time.Time) bool {
	key, ok := keys.Find(kid)
	return ok && key.SignsAt(now)
}

// signerNow reports whether the signer of a verified Closed may sign at its iat and at
// this moment. The Open's cnf says nothing of an agent's time: the record does.
func signerNow(closed *mandate.Closed, open *mandate.Open, principal mandate.Principal, now time.Time) bool {
	if closed.SignerRole() == mandate.RoleHuman {
		return signsNow(principal.HumanKeys(closed.Issuer(), now), closed.KeyID(), now)
	}
	key, bound := open.ConfirmationKey()
	return bound && principal.AgentSigns(closed.Subject(), key, closed.IssuedAt(), now) &&
		principal.AgentSigns(closed.Subject(), key, now, now)
}

// Retire gives a key its last moment; see [api.Retirement]. The actor is the principal
// whose key it is, or the operator.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed, also for a moment that is past;
// api.CodeNotFound for an unknown or another's key; api.CodeConflict when the key has an
// earlier one.
func (r *Registry) Retire(ctx context.Context, actor Actor, req api.Retirement) (refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RolePrincipal, api.RoleOperator); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	if actor.Role == api.RolePrincipal && actor.PrincipalID != req.PrincipalID {
		return &api.Error{Code: api.CodeNotFound}
	}
	now := r.now()
	until := req.NotAfter
	switch {
	case until.IsZero(): // the next second: what was signed in this one stands
		until = now.Truncate(time.Second).Add(time.Second)
	case until.Before(now):
		return &api.Error{Code: api.CodeMalformed, Pointer: "/not_after"}
	}
	err := r.cfg.Store.Retire(ctx, Retirement{PrincipalID: req.PrincipalID, Key: req.Key, NotAfter: until, By: actor, At: now})
	if errors.Is(err, ErrExists) && req.NotAfter.IsZero() {
		return nil // it has been retired already, which is all that was asked for
	}
	if err != nil {
		return fromOffice(err)
	}
	r.log.InfoContext(ctx, "key retired", "role", actor.Role, "principal", req.PrincipalID)
	return nil
}

// HumanRequests returns the humans' keys that are not registered, the oldest first, at most
// api.MaxHumanRequests: a principal's own, pending and rejected; for the operator those of
// the principal that it names, or with "" all that are pending.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed; api.CodeNotFound for another principal.
func (r *Registry) HumanRequests(ctx context.Context, actor Actor, principalID string) (_ api.HumanRequests, refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RolePrincipal, api.RoleOperator); err != nil {
		return api.HumanRequests{}, err
	}
	switch {
	case principalID != "" && !mandate.ValidPrincipalID(principalID):
		return api.HumanRequests{}, &api.Error{Code: api.CodeMalformed, Pointer: "/principal_id"}
	case actor.Role == api.RoleOperator:
	case principalID == "":
		principalID = actor.PrincipalID
	case principalID != actor.PrincipalID:
		return api.HumanRequests{}, &api.Error{Code: api.CodeNotFound}
	}
	all, err := r.cfg.Store.HumanRequests(ctx, principalID, api.MaxHumanRequests)
	if err != nil {
		return api.HumanRequests{}, fmt.Errorf("registry: %w", err)
	}
	return api.HumanRequests{Requests: all}, nil
}

// DecideHuman registers a human's key that a principal has asked for, or rejects it for
// ever (T2, GC-021). The actor is the operator. A repeat of the decision changes nothing.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed; api.CodeNotFound when the principal has not
// asked for it; api.CodeConflict when it was decided otherwise, the key is registered with
// another use, or the principal has as many as it may.
func (r *Registry) DecideHuman(ctx context.Context, actor Actor, req api.HumanDecision) (refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RoleOperator); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	err := r.cfg.Store.DecideHuman(ctx, HumanDecision{
		PrincipalID: req.PrincipalID, Key: req.Key, Approve: req.Approve, By: actor, At: r.now(),
	})
	if err != nil {
		return fromOffice(err)
	}
	r.log.InfoContext(ctx, "human's key decided", "principal", req.PrincipalID, "approved", req.Approve)
	return nil
}

// ProveDomain reads what the domain publishes and, if all issuer keys of the principal that
// are not retired are among its keys, shows the domain in the principal's record. The actor
// is that principal, or the operator.
//
// Refusals, after any of which nothing has changed: ROLE_MISMATCH; api.CodeMalformed;
// api.CodeNotFound for another principal; RATE_LIMITED; those of [Domains];
// api.CodeDomainMismatch when a key is missing there. api.CodeDomainUnreachable also when
// this RA has no way to read domains.
func (r *Registry) ProveDomain(ctx context.Context, actor Actor, req api.DomainProof) (refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RolePrincipal, api.RoleOperator); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	if actor.Role == api.RolePrincipal && actor.PrincipalID != req.PrincipalID {
		return &api.Error{Code: api.CodeNotFound}
	}
	if _, err := r.principal(ctx, req.PrincipalID, r.now()); err != nil {
		return err
	}
	if err := r.proving.admit(actor.PrincipalID, r.now()); err != nil {
		return err
	}
	return r.proveDomain(ctx, actor, req)
}

func (r *Registry) proveDomain(ctx context.Context, actor Actor, req api.DomainProof) error {
	if r.cfg.Domains == nil {
		return &api.Error{Code: api.CodeDomainUnreachable}
	}
	asked := r.now() // the proof is of what stood there when it was asked for
	published, err := r.cfg.Domains.Keys(ctx, req.Domain)
	if err != nil {
		if _, named := errors.AsType[*api.Error](err); named {
			return err
		}
		return fmt.Errorf("registry: domain: %w", err)
	}
	d := DomainProof{PrincipalID: req.PrincipalID, Domain: req.Domain, By: actor, At: asked}
	for _, k := range published.Keys() {
		d.Keys = append(d.Keys, k.ID)
	}
	err = r.cfg.Store.ProveDomain(ctx, d)
	if errors.Is(err, ErrExists) {
		return &api.Error{Code: api.CodeDomainMismatch}
	}
	if err != nil {
		return fromOffice(err)
	}
	r.log.InfoContext(ctx, "domain proved", "principal", req.PrincipalID, "domain", req.Domain)
	return nil
}

// RenewDomains reads the domains again whose last proof is RenewDomainsAfter ago or more,
// or older than a key. One that no longer proves anything keeps its last proof, which its
// record shows for DomainLifetime. It is called by the program that serves the RA, every
// hour or so, and is no route. The error is one of the store or ctx.
func (r *Registry) RenewDomains(ctx context.Context) error {
	if r.cfg.Domains == nil {
		return nil
	}
	operator := Actor{Role: api.RoleOperator}
	for after := ""; ; {
		due, err := r.cfg.Store.Domains(ctx, r.now().Add(-RenewDomainsAfter), after, renewals)
		if err != nil {
			return fmt.Errorf("registry: %w", err)
		}
		for _, d := range due {
			after = d.PrincipalID
			if err := r.proveDomain(ctx, operator, d); err != nil {
				r.log.WarnContext(ctx, "domain not proved", "principal", d.PrincipalID, "domain", d.Domain, "reason", err.Error())
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if len(due) < renewals {
			return nil
		}
	}
}

// KeepDomains renews proofs, at once and then every so often, until ctx ends. A store that
// fails is asked again the next time.
func (r *Registry) KeepDomains(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := r.RenewDomains(ctx); err != nil && ctx.Err() == nil {
			r.log.ErrorContext(ctx, "domains not renewed", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
