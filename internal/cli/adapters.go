package cli

import (
	"context"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// localRA is the registry of this process, spoken to as this party.
type localRA struct {
	registry  *registry.Registry
	keys      jose.KeySet
	principal string
	agent     string
}

func (l *localRA) RegisterOpen(ctx context.Context, token string) (string, error) {
	return l.registry.RegisterOpen(ctx, registry.Actor{Role: api.RolePrincipal, PrincipalID: l.principal}, api.RegisterOpen{Token: token})
}

func (l *localRA) RegisterClosed(ctx context.Context, token, counterparty string) (string, error) {
	actor := registry.Actor{Role: api.RoleAgent, PrincipalID: l.principal, AgentID: l.agent}
	return l.registry.RegisterClosed(ctx, actor, api.RegisterClosed{Token: token, CounterpartyAgent: counterparty})
}

func (l *localRA) Principal(ctx context.Context, id string) (*mandate.Principal, error) {
	token, err := l.registry.Principal(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := mandate.ParsePrincipal(token, l.keys)
	return &p, err
}

func (l *localRA) Status(ctx context.Context, hash jcs.Hex256) (mandate.Status, error) {
	nonce := credential()
	token, err := l.registry.Status(ctx, api.StatusRequest{Hash: hash, Nonce: nonce})
	if err != nil {
		return mandate.Status{}, err
	}
	return mandate.ParseStatus(token, l.keys)
}

func (l *localRA) Revoke(ctx context.Context, hash jcs.Hex256) (api.Revoked, error) {
	return l.registry.Revoke(ctx, registry.Actor{Role: api.RolePrincipal, PrincipalID: l.principal}, api.Revoke{Hash: hash})
}

// remoteRA is the registry that this party has joined.
type remoteRA struct{ *client.Registry }

func (r remoteRA) RegisterOpen(ctx context.Context, token string) (string, error) {
	return r.Registry.RegisterOpen(ctx, api.RegisterOpen{Token: token})
}

func (r remoteRA) RegisterClosed(ctx context.Context, token, counterparty string) (string, error) {
	return r.Registry.RegisterClosed(ctx, api.RegisterClosed{Token: token, CounterpartyAgent: counterparty})
}

func (r remoteRA) Revoke(ctx context.Context, hash jcs.Hex256) (api.Revoked, error) {
	return r.Registry.Revoke(ctx, api.Revoke{Hash: hash})
}

func (r remoteRA) Principal(ctx context.Context, id string) (*mandate.Principal, error) {
	p, err := r.Registry.Principal(ctx, id)
	return &p, err
}

// localSpender spends at the registry of this process.
type localSpender struct {
	registry *registry.Registry
	actor    registry.Actor
}

func (l *localSpender) Hold(ctx context.Context, crossingID, initiatorClosed, responderClosed string) (string, error) {
	return l.registry.Hold(ctx, l.actor, api.Hold{CrossingID: crossingID, InitiatorClosed: initiatorClosed, ResponderClosed: responderClosed})
}

func (l *localSpender) Confirmation(ctx context.Context, t mandate.Triple) (string, error) {
	return l.registry.Confirmation(ctx, l.actor, t)
}

// localVA is the authority of this process.
type localVA struct {
	authority  *authority.Authority
	credential string
}

func (l localVA) Publish(ctx context.Context, body []byte) error {
	_, err := l.authority.Publish(ctx, l.credential, body)
	return err
}

func (l localVA) Verify(ctx context.Context, req api.VerifyRequest) ([]byte, error) {
	return l.authority.Verify(ctx, req)
}

// remoteVA is the authority that this party has joined.
type remoteVA struct{ *client.Authority }

func (r remoteVA) Publish(ctx context.Context, body []byte) error {
	_, err := r.Authority.Publish(ctx, body)
	return err
}

func (r remoteVA) Verify(ctx context.Context, req api.VerifyRequest) ([]byte, error) {
	result, err := r.Authority.Verify(ctx, req)
	if err != nil {
		return nil, err
	}
	return result.Raw, nil
}
