package client

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/jcs"
)

// Paths of the Registration Authority beside those of mandates.
const (
	pathUnits       = "/v1/ra/units"
	pathBurned      = "/v1/ra/units/burned"
	pathIssuers     = "/v1/ra/issuers"
	pathAdditions   = "/v1/ra/additions"
	pathSuspensions = "/v1/ra/suspensions"
	pathWithdrawals = "/v1/ra/withdrawals"
	pathAudit       = "/v1/ra/audit"
)

// Consume takes units of an Open before an act of its agent, with the effector's
// credential, and returns the verified answer. After an error with api.CodeUnavailable the
// very same request, request_id included, may be sent again: it takes nothing twice. The
// act may begin once the answer is there, and not before.
func (r *Registry) Consume(ctx context.Context, req api.Consume) (api.Consumed, error) {
	if err := req.Validate(); err != nil {
		return api.Consumed{}, err
	}
	body, err := r.c.postAs(ctx, pathUnits, r.c.credentials.Effector, req.Bytes())
	if err != nil {
		return api.Consumed{}, err
	}
	answer, err := api.ParseConsumed(body)
	if err != nil {
		return api.Consumed{}, unavailable(pathUnits, err)
	}
	if answer.RequestID != req.RequestID || answer.TokenHash != jcs.HexOf([]byte(req.Token)) ||
		answer.Class != req.Class || answer.Units != req.Units || answer.Currency != req.Currency {
		return api.Consumed{}, unverified(pathUnits, errOther)
	}
	if err := answer.Verify(r.c.keys); err != nil {
		return api.Consumed{}, unverified(pathUnits, err)
	}
	return answer, nil
}

// Burned reports that the act failed for which units were consumed, with the effector's
// credential. It gives nothing back (GC-198); it lets the loss be counted (GC-199).
func (r *Registry) Burned(ctx context.Context, req api.Burn) error {
	return r.change(ctx, pathBurned, r.c.credentials.Effector, req.Bytes())
}

// RegisterIssuer registers a service issuer and its subjects, with the operator's
// credential.
func (r *Registry) RegisterIssuer(ctx context.Context, req api.RegisterIssuer) error {
	if err := req.Validate(); err != nil {
		return err
	}
	return r.change(ctx, pathIssuers, r.c.credentials.Operator, req.Bytes())
}

// Add registers further keys, agents, humans and credentials of a principal, with its
// credential or, without one, the operator's.
func (r *Registry) Add(ctx context.Context, req api.Addition) error {
	if err := req.Validate(); err != nil {
		return err
	}
	return r.change(ctx, pathAdditions, r.owner(), req.Bytes())
}

// SetSuspended suspends a principal or reinstates it, with the operator's credential.
func (r *Registry) SetSuspended(ctx context.Context, req api.Suspension) error {
	return r.change(ctx, pathSuspensions, r.c.credentials.Operator, req.Bytes())
}

// Withdraw ends a credential, with that of its principal or, without one, the operator's.
func (r *Registry) Withdraw(ctx context.Context, req api.Withdrawal) error {
	return r.change(ctx, pathWithdrawals, r.owner(), req.Bytes())
}

// AuditRows returns audit rows, the newest first, with the operator's credential: at most
// limit, 1 to api.MaxAuditRows, and only those with an ID below before, unless that is 0.
// They are the authority's word over this connection; they are not signed.
func (r *Registry) AuditRows(ctx context.Context, before int64, limit int) (api.Audit, error) {
	credential := r.c.credentials.Operator
	if credential == "" {
		return api.Audit{}, &api.Error{Code: api.CodeUnauthenticated}
	}
	path := pathAudit + "?limit=" + strconv.Itoa(limit)
	if before != 0 {
		path += "&before=" + strconv.FormatInt(before, 10)
	}
	body, err := r.c.getAs(ctx, path, credential)
	if err != nil {
		return api.Audit{}, err
	}
	answer, err := api.ParseAudit(body)
	if err != nil {
		return api.Audit{}, unavailable(pathAudit, err)
	}
	return answer, nil
}

// change posts what is answered with {}.
func (r *Registry) change(ctx context.Context, path, credential string, body []byte) error {
	answer, err := r.c.postAs(ctx, path, credential, body)
	if err != nil {
		return err
	}
	if !bytes.Equal(answer, jcs.Object()) {
		return unavailable(path, errors.New("answer is not {}"))
	}
	return nil
}
