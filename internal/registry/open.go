package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/mandate"
)

// RegisterOpen registers an Open that the actor's principal issued to one of its
// agents, and returns the signed mandate.Registration. The token carries the disclosure
// of its limit (M5). The same bytes again get the stored receipt, whatever has happened
// since.
//
// The actor is a principal; or a service issuer of that principal, for a subject on its
// list, which without a cnf need be no registered agent (AG-24).
//
// Refusals: ROLE_MISMATCH, also for a subject that is not on the issuer's list;
// MANDATE_INVALID for form, signature, a high s, a key outside its time, another issuer, another's agent, a cnf
// that is not the agent's registered key, a withheld limit, or a suspended principal;
// MALFORMED_MANDATE for class, limit, currency or an act outside the profile;
// MANDATE_EXPIRED; api.CodeConflict when the same Open is registered in other bytes.
func (r *Registry) RegisterOpen(ctx context.Context, actor Actor, req api.RegisterOpen) (receipt string, err error) {
	defer r.observe(callRegisterOpen, &err)
	if err := actor.require(api.RolePrincipal, api.RoleIssuer); err != nil {
		return "", err
	}
	presented, err := mandate.ParseOpen(req.Token)
	if err != nil {
		return "", fromFault(err)
	}
	if err := r.mayIssue(ctx, actor, presented.Subject()); err != nil {
		return "", err
	}
	if stored, ok, err := r.knownOpen(ctx, presented, actor); ok || err != nil {
		return stored, err
	}
	o, err := r.judgeOpen(ctx, presented, actor)
	if err != nil {
		return "", err
	}
	if receipt, err = r.addOpen(ctx, o); err != nil {
		return "", err
	}
	r.log.InfoContext(ctx, "open registered", "principal", o.PrincipalID, "open_mandate_hash", o.OpenHash)
	return receipt, nil
}

// mayIssue refuses an issuer for whatever is not on its list: membership, literally
// (AG-24). A principal issues for all its agents.
func (r *Registry) mayIssue(ctx context.Context, actor Actor, subject string) error {
	if actor.Role != api.RoleIssuer {
		return nil
	}
	may, err := r.cfg.Store.MayIssue(ctx, actor.Issuer, subject)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if !may {
		return refusal(crossing.RoleMismatch)
	}
	return nil
}

// knownOpen finds the receipt of an earlier registration of the same bytes. It is looked
// up before they are judged, so that a lost answer is given again after exp, too.
func (r *Registry) knownOpen(ctx context.Context, p *mandate.PresentedOpen, actor Actor) (receipt string, ok bool, err error) {
	o, err := r.cfg.Store.FindOpen(ctx, p.OpenHash())
	switch {
	case errors.Is(err, ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("registry: %w", err)
	case o.PrincipalID != actor.PrincipalID:
		return "", false, refusal(crossing.MandateInvalid)
	case o.TokenHash != p.TokenHash():
		return "", false, &api.Error{Code: api.CodeConflict}
	}
	return o.Receipt, true, nil
}

func (r *Registry) judgeOpen(ctx context.Context, p *mandate.PresentedOpen, actor Actor) (Open, error) {
	now := r.now()
	principal, err := r.principal(ctx, actor.PrincipalID, now)
	if err != nil {
		return Open{}, err
	}
	if p.Issuer() != principal.ID || p.HighS() {
		return Open{}, refusal(crossing.MandateInvalid)
	}
	open, err := p.Verify(principal.IssuerKeys(now))
	if err != nil {
		return Open{}, fromFault(err)
	}
	if !signsNow(principal.IssuerKeys(now), open.KeyID(), now) || !ownAgent(principal, open, actor, now) {
		return Open{}, refusal(crossing.MandateInvalid)
	}
	limit, disclosed, err := open.Amount()
	if err != nil {
		return Open{}, fromFault(err)
	}
	if !disclosed {
		return Open{}, refusal(crossing.MandateInvalid) // the draws could not be bounded
	}
	for _, act := range open.Acts() {
		if _, ok := r.cfg.Profile.Floor(act); !ok {
			return Open{}, refusal(crossing.MalformedMandate)
		}
	}
	if open.Expired(now) {
		return Open{}, refusal(crossing.MandateExpired)
	}
	cnf, _ := open.ConfirmationKey()
	return Open{
		OpenHash: open.OpenHash(), TokenHash: open.TokenHash(), SignedHash: open.SignedHash(),
		PrincipalID: principal.ID, AgentID: open.Subject(),
		Limit: limit, ExpiresAt: open.ExpiresAt(), Token: open.Token(), At: now,
		SingleParty: permitsNobody(open.Counterparties()), By: actor,
		SignerKey: open.SignerKey().ID, ConfirmationKey: cnf.ID,
	}, nil
}

func permitsNobody(c mandate.Counterparties) bool { return !c.Any() && len(c.List()) == 0 }

// ownAgent reports whether the Open is for an agent of the principal and, unless it
// leaves closing to humans (CL-2), for that agent's registered key. A service that an
// issuer is listed for is the principal's by that list.
func ownAgent(principal mandate.Principal, open *mandate.Open, actor Actor, now time.Time) bool {
	if key, bound := open.ConfirmationKey(); bound {
		return principal.HasAgent(open.Subject(), key, now)
	}
	return actor.Role == api.RoleIssuer || slices.ContainsFunc(principal.Agents, func(a mandate.Agent) bool { return a.ID == open.Subject() })
}

func (o Open) registration() mandate.Registration {
	return mandate.Registration{
		Variant: mandate.VariantOpen, TokenHash: o.TokenHash, SignedHash: o.SignedHash, OpenMandateHash: o.OpenHash,
		PrincipalID: o.PrincipalID, AgentID: o.AgentID, At: o.At,
	}
}
