package client

import (
	"cmp"
	"context"
	"errors"
	"net/url"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Paths of the Registration Authority.
const (
	pathEnrol       = "/v1/ra/enrol"
	pathOpens       = "/v1/ra/opens"
	pathCloseds     = "/v1/ra/closeds"
	pathHolds       = "/v1/ra/holds"
	pathConfirms    = "/v1/ra/confirms"
	pathReleases    = "/v1/ra/releases"
	pathRevocations = "/v1/ra/revocations"
	pathStatus      = "/v1/ra/status"
	pathPrincipals  = "/v1/ra/principals/"
)

var errOther = errors.New("it is about something else")

// A Registry speaks to a Registration Authority. Refusals are those that the method of
// the same name in the authority documents.
type Registry struct{ c *Client }

// Registry returns the Registration Authority behind c.
func (c *Client) Registry() *Registry { return &Registry{c} }

// JWKS returns the keys that the authority publishes. They are not pinned by that: see
// [PinnedKeys].
func (r *Registry) JWKS(ctx context.Context) (jose.KeySet, error) { return r.c.jwks(ctx) }

// Enrol registers a principal by the secret of an enrolment code. After an error with
// api.CodeUnavailable the very same request may be sent again: it gets the same answer.
func (r *Registry) Enrol(ctx context.Context, req api.Enrol) (api.Enrolled, error) {
	if err := req.Validate(); err != nil {
		return api.Enrolled{}, err
	}
	body, err := r.c.post(ctx, pathEnrol, "", req.Bytes())
	if err != nil {
		return api.Enrolled{}, err
	}
	answer, err := api.ParseEnrolled(body)
	if err != nil {
		return api.Enrolled{}, unavailable(pathEnrol, err)
	}
	if answer.PrincipalID != req.PrincipalID || (answer.PublisherGrant != "") != (req.Publisher != nil) {
		return api.Enrolled{}, unverified(pathEnrol, errOther)
	}
	if p := req.Publisher; p != nil {
		grant, err := mandate.ParsePublisherGrant(answer.PublisherGrant, r.c.keys)
		if err != nil {
			return api.Enrolled{}, unverified(pathEnrol, err)
		}
		if grant.PrincipalID != req.PrincipalID || grant.CredentialHash != p.CredentialHash || !grant.Key.Same(p.Key) {
			return api.Enrolled{}, unverified(pathEnrol, errOther)
		}
	}
	return answer, nil
}

// RegisterOpen registers an Open, with the principal's credential or, without one, a
// service issuer's, and returns the verified receipt, a mandate.Registration.
func (r *Registry) RegisterOpen(ctx context.Context, req api.RegisterOpen) (receipt string, err error) {
	credential := cmp.Or(r.c.credentials.Principal, r.c.credentials.Issuer)
	receipt, err = r.statement(ctx, pathOpens, credential, req.Bytes())
	if err != nil {
		return "", err
	}
	if err := r.registered(pathOpens, receipt, req.Token, mandate.VariantOpen); err != nil {
		return "", err
	}
	return receipt, nil
}

// RegisterClosed registers a Closed and books its draw, with the agent's credential, and
// returns the verified receipt, a mandate.Registration.
func (r *Registry) RegisterClosed(ctx context.Context, req api.RegisterClosed) (receipt string, err error) {
	receipt, err = r.statement(ctx, pathCloseds, r.c.credentials.Agent, req.Bytes())
	if err != nil {
		return "", err
	}
	if err := r.registered(pathCloseds, receipt, req.Token, mandate.VariantClosed); err != nil {
		return "", err
	}
	return receipt, nil
}

func (r *Registry) registered(path, receipt, token string, variant mandate.Variant) error {
	g, err := mandate.ParseRegistration(receipt, r.c.keys)
	if err != nil {
		return unverified(path, err)
	}
	if g.TokenHash != jcs.HexOf([]byte(token)) || g.Variant != variant {
		return unverified(path, errOther)
	}
	return nil
}

// Hold consumes both Closeds of a crossing, with the effector's credential, and returns
// the verified receipt, a mandate.SpendReceipt with state held, or released where the
// triple has been. A refusal that cannot be undone carries the authority's verified
// mandate.FinalRefusal in the Receipt of its [*api.Error]; one without is asked again.
func (r *Registry) Hold(ctx context.Context, req api.Hold) (receipt string, err error) {
	receipt, err = r.statement(ctx, pathHolds, r.c.credentials.Effector, req.Bytes())
	if err != nil {
		return "", r.refusal(err, req.Triple())
	}
	half := req.Half()
	if err := r.spend(pathHolds, receipt, req.Triple(), &half, mandate.Held, mandate.Released); err != nil {
		return "", err
	}
	return receipt, nil
}

// Confirm spends a held triple, with the effector's credential, and returns the
// verified receipt, a mandate.SpendReceipt with state spent, or released where the
// triple has been. Its Half is what the authority keeps, which the caller compares with what
// it has held there. Refusals as in Hold.
func (r *Registry) Confirm(ctx context.Context, triple mandate.Triple) (receipt string, err error) {
	receipt, err = r.statement(ctx, pathConfirms, r.c.credentials.Effector, api.Confirm{Triple: triple}.Bytes())
	if err != nil {
		return "", r.refusal(err, triple)
	}
	if err := r.spend(pathConfirms, receipt, triple, nil, mandate.Spent, mandate.Released); err != nil {
		return "", err
	}
	return receipt, nil
}

// Release gives back what is held under a triple, with the effector's credential or,
// without one, the operator's, and returns the verified receipt, a mandate.SpendReceipt:
// with state released, or with the state as it is where the authority releases nothing.
// Refusals as in Hold.
func (r *Registry) Release(ctx context.Context, req api.Release) (receipt string, err error) {
	credential := cmp.Or(r.c.credentials.Effector, r.c.credentials.Operator)
	receipt, err = r.statement(ctx, pathReleases, credential, req.Bytes())
	if err != nil {
		return "", r.refusal(err, req.Triple)
	}
	if err := r.spend(pathReleases, receipt, req.Triple, nil, mandate.Held, mandate.Spent, mandate.Released); err != nil {
		return "", err
	}
	return receipt, nil
}

// spend checks that the receipt is about this triple, this half unless that is nil, and one
// of these states.
func (r *Registry) spend(path, receipt string, triple mandate.Triple, half *mandate.Half, states ...mandate.SpendState) error {
	s, err := mandate.ParseSpendReceipt(receipt, r.c.keys)
	if err != nil {
		return unverified(path, err)
	}
	if half != nil && s.Half != *half {
		return unverified(path, errOther)
	}
	for _, state := range states {
		if s.Triple == triple && s.State == state {
			return nil
		}
	}
	return unverified(path, errOther)
}

// refusal takes the receipt out of a refusal unless it is the authority's word about
// this triple and this name: what is not signed is not final.
func (r *Registry) refusal(err error, triple mandate.Triple) error {
	refused, ok := errors.AsType[*api.Error](err)
	if !ok || refused.Receipt == "" {
		return err
	}
	f, fault := mandate.ParseFinalRefusal(refused.Receipt, r.c.keys)
	if fault == nil && f.Triple == triple && f.Name == refused.Code {
		return err
	}
	return &api.Error{Code: refused.Code, Pointer: refused.Pointer}
}

// Revoke ends a mandate, with the principal's credential or, without one, the
// operator's. The answer, which names the state before, is verified.
func (r *Registry) Revoke(ctx context.Context, req api.Revoke) (api.Revoked, error) {
	body, err := r.c.postAs(ctx, pathRevocations, r.owner(), req.Bytes())
	if err != nil {
		return api.Revoked{}, err
	}
	answer, err := api.ParseRevoked(body)
	if err != nil {
		return api.Revoked{}, unavailable(pathRevocations, err)
	}
	if answer.Hash != req.Hash {
		return api.Revoked{}, unverified(pathRevocations, errOther)
	}
	if err := answer.Verify(r.c.keys); err != nil {
		return api.Revoked{}, unverified(pathRevocations, err)
	}
	return answer, nil
}

// owner is the credential for what a principal may do for itself and an operator for all.
func (r *Registry) owner() string {
	return cmp.Or(r.c.credentials.Principal, r.c.credentials.Operator)
}

// Status asks whether a mandate is active, by token_sha256 or open_mandate_hash. The
// answer is verified, fresh by its nonce, and in force now.
func (r *Registry) Status(ctx context.Context, hash jcs.Hex256) (mandate.Status, error) {
	status, _, err := r.c.status(ctx, pathStatus, r.c.credentials.Agent, api.StatusRequest{Hash: hash, Nonce: newNonce()})
	return status, err
}

// Principal returns the verified record of a principal, in force now (design R6).
func (r *Registry) Principal(ctx context.Context, principalID string) (mandate.Principal, error) {
	credential := cmp.Or(r.c.credentials.Agent, r.c.credentials.Effector)
	body, err := r.c.getAs(ctx, pathPrincipals+url.PathEscape(principalID), credential)
	if err != nil {
		return mandate.Principal{}, err
	}
	answer, err := api.ParseStatement(body)
	if err != nil {
		return mandate.Principal{}, unavailable(pathPrincipals, err)
	}
	p, err := mandate.ParsePrincipal(answer.Token, r.c.keys)
	if err != nil {
		return mandate.Principal{}, unverified(pathPrincipals, err)
	}
	if p.ID != principalID || !r.c.now().Before(p.Expires) {
		return mandate.Principal{}, unverified(pathPrincipals, errOther)
	}
	return p, nil
}

// statement posts and reads an answer that is one signed statement.
func (r *Registry) statement(ctx context.Context, path, credential string, body []byte) (string, error) {
	answer, err := r.c.postAs(ctx, path, credential, body)
	if err != nil {
		return "", err
	}
	s, err := api.ParseStatement(answer)
	if err != nil {
		return "", unavailable(path, err)
	}
	return s.Token, nil
}
