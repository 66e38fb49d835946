package client

import (
	"context"
	"net/url"

	"github.com/bindery/bindery/api"
)

// Paths of the Registration Authority for keys.
const (
	pathRetirements    = "/v1/ra/retirements"
	pathHumanRequests  = "/v1/ra/human-requests"
	pathHumanDecisions = "/v1/ra/human-decisions"
	pathDomains        = "/v1/ra/domains"
)

// Retire gives a key its last moment, with the principal's credential or, without one, the
// operator's.
func (r *Registry) Retire(ctx context.Context, req api.Retirement) error {
	if err := req.Validate(); err != nil {
		return err
	}
	return r.change(ctx, pathRetirements, r.owner(), req.Bytes())
}

// HumanRequests returns the humans' keys that are not registered: with the principal's
// credential its own, with the operator's those of principalID or, with "", all that are
// pending. They are the authority's word over this connection; they are not signed.
func (r *Registry) HumanRequests(ctx context.Context, principalID string) (api.HumanRequests, error) {
	if r.owner() == "" {
		return api.HumanRequests{}, &api.Error{Code: api.CodeUnauthenticated}
	}
	path := pathHumanRequests
	if principalID != "" {
		path += "?principal_id=" + url.QueryEscape(principalID)
	}
	body, err := r.c.getAs(ctx, path, r.owner())
	if err != nil {
		return api.HumanRequests{}, err
	}
	answer, err := api.ParseHumanRequests(body)
	if err != nil {
		return api.HumanRequests{}, unavailable(pathHumanRequests, err)
	}
	return answer, nil
}

// DecideHuman approves or rejects a human's key, with the operator's credential.
func (r *Registry) DecideHuman(ctx context.Context, req api.HumanDecision) error {
	if err := req.Validate(); err != nil {
		return err
	}
	return r.change(ctx, pathHumanDecisions, r.c.credentials.Operator, req.Bytes())
}

// ProveDomain has the authority read what a domain publishes, with the principal's
// credential or, without one, the operator's. It may take as long as two documents.
func (r *Registry) ProveDomain(ctx context.Context, req api.DomainProof) error {
	if err := req.Validate(); err != nil {
		return err
	}
	return r.change(ctx, pathDomains, r.owner(), req.Bytes())
}
