package registry

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// CodeTerms say what an enrolment code is good for. The zero value is for anybody and for
// either use.
type CodeTerms struct {
	Kind        CodeKind // "" is CodeAny
	PrincipalID string   // whom it may enrol; "" for anybody
}

// A CodeKind is what a code may be used for (design R1).
type CodeKind string

const (
	CodeAny      CodeKind = "any"      // whoever uses it chooses
	CodeParty    CodeKind = "party"    // Enrol: a principal whose mandates this RA keeps
	CodeRegistry CodeKind = "registry" // EnrolPeer: an RA that speaks for a principal of its own
)

// NewCode makes the secret of an enrolment code, good for one enrolment on its terms within
// CodeLifetime. It is meant for the operator's own terminal: only its hash is kept.
func (r *Registry) NewCode(ctx context.Context, terms CodeTerms) (secret string, err error) {
	terms.Kind = cmp.Or(terms.Kind, CodeAny)
	var random [16]byte
	rand.Read(random[:]) // ends the program rather than return an error
	secret = jose.EncodeBase64(random[:])
	now := r.now()
	code := Code{Secret: jcs.HexOf([]byte(secret)), CodeTerms: terms, At: now, Expires: now.Add(CodeLifetime)}
	if err := r.cfg.Store.AddCode(ctx, code); err != nil {
		return "", fmt.Errorf("registry: %w", err)
	}
	return secret, nil
}

// Enrol registers a principal by the secret of a code. The same request again gets the
// same answer. api.CodeEnrolment: the code is unknown, used for another request, or
// expired. api.CodeEnrolmentMismatch: it is for an RA, or for another principal; it may be
// used again. api.CodeUnproved: a key has not signed for its registration here; the code may
// be used again. api.CodeConflict: the principal, or an agent, key or credential, is known
// already; the code may be used again. ROLE_MISMATCH: the request wants a credential of
// a role that only the authority's own principal may have. A human's key that comes with
// it waits for the operator, as one of Add does; with EnrolSelf it is the operator who
// brings it.
func (r *Registry) Enrol(ctx context.Context, req api.Enrol) (_ api.Enrolled, refused error) {
	defer r.observe(callEnrol, &refused)
	for _, c := range req.Credentials {
		if c.Role == api.RoleOperator || c.Role == api.RoleIssuer {
			return api.Enrolled{}, refusal(crossing.RoleMismatch)
		}
	}
	if err := req.Validate(); err != nil {
		return api.Enrolled{}, err
	}
	if err := req.Proved(r.cfg.Signer.Key().ID); err != nil {
		return api.Enrolled{}, err
	}
	req.Proofs = nil // a key signs another each time, and the request is still the same
	return r.enrol(ctx, req, jcs.HexOf([]byte(req.Secret)))
}

// EnrolSelf registers the authority's own principal, without a code. It is called by
// the program that serves the RA and is no route. api.CodeConflict as in Enrol.
func (r *Registry) EnrolSelf(ctx context.Context, req api.Enrol) (api.Enrolled, error) {
	req.Secret = ""
	return r.enrol(ctx, req, "")
}

func (r *Registry) enrol(ctx context.Context, req api.Enrol, code jcs.Hex256) (api.Enrolled, error) {
	if err := req.Validate(); err != nil {
		return api.Enrolled{}, err
	}
	now := r.now()
	answer := api.Enrolled{PrincipalID: req.PrincipalID, VAURL: r.cfg.VAURL}
	if p := req.Publisher; p != nil {
		grant, err := mandate.PublisherGrant{
			PrincipalID: req.PrincipalID, Key: p.Key, CredentialHash: p.CredentialHash, At: now,
		}.Sign(r.cfg.Signer)
		if err != nil {
			return api.Enrolled{}, fmt.Errorf("registry: %w", err)
		}
		answer.PublisherGrant = grant
	}
	enrolment := Enrolment{
		Code:    code,
		Request: jcs.HexOf(req.Bytes()),
		Answer:  answer.Bytes(),
		At:      now,
		Principal: mandate.Principal{
			ID: req.PrincipalID, Name: req.Name, Active: true,
			Keys: req.Keys, Agents: req.Agents, Humans: req.Humans,
			ClearanceIDHash: req.ClearanceIDHash, TrustBasis: req.TrustBasis, AGCLevel: req.AGCLevel,
		},
		Credentials: req.Credentials,
	}
	if code != "" {
		enrolment.Principal.Humans, enrolment.Requests = nil, req.Humans
	}
	stored, err := r.cfg.Store.Enrol(ctx, enrolment)
	switch {
	case errors.Is(err, ErrCode):
		return api.Enrolled{}, &api.Error{Code: api.CodeEnrolment}
	case errors.Is(err, ErrCodeTerms):
		return api.Enrolled{}, &api.Error{Code: api.CodeEnrolmentMismatch}
	case errors.Is(err, ErrExists):
		return api.Enrolled{}, &api.Error{Code: api.CodeConflict}
	case err != nil:
		return api.Enrolled{}, fmt.Errorf("registry: %w", err)
	}
	r.log.InfoContext(ctx, "principal enrolled", "principal", req.PrincipalID)
	return api.ParseEnrolled(stored)
}

// Principal is the signed record of a principal (design R6, GC-209). Anyone may have
// it. api.CodeNotFound: there is none.
func (r *Registry) Principal(ctx context.Context, principalID string) (record string, err error) {
	p, err := r.principal(ctx, principalID, r.now())
	if err != nil {
		return "", err
	}
	if record, err = p.Sign(r.cfg.Signer); err != nil {
		return "", fmt.Errorf("registry: principal record: %w", err)
	}
	return record, nil
}

// principal is what is registered under the name, as a record made now.
func (r *Registry) principal(ctx context.Context, id string, now time.Time) (mandate.Principal, error) {
	p, err := r.cfg.Store.Principal(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return mandate.Principal{}, &api.Error{Code: api.CodeNotFound}
	}
	if err != nil {
		return mandate.Principal{}, fmt.Errorf("registry: %w", err)
	}
	p.At, p.Expires = now, now.Add(PrincipalLifetime)
	if p.DomainProvedAt.IsZero() || p.DomainProvedAt.After(now) || !now.Before(p.DomainProvedAt.Add(DomainLifetime)) {
		p.Domain, p.DomainProvedAt = "", time.Time{}
	}
	return p, nil
}
