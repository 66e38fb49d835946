package wiretest

import (
	"context"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/mandate"
)

// localRA is a Party's RA as it speaks to it in this process: registrar, resolver, spender.
type localRA struct{ p *Party }

func (l *localRA) RegisterClosed(ctx context.Context, token, counterparty string) (string, error) {
	actor := registry.Actor{Role: api.RoleAgent, PrincipalID: l.p.PrincipalID, AgentID: l.p.AgentID}
	return l.p.ra.RegisterClosed(ctx, actor, api.RegisterClosed{Token: token, CounterpartyAgent: counterparty})
}

func (l *localRA) Principal(ctx context.Context, id string) (*mandate.Principal, error) {
	token, err := l.p.ra.Principal(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := mandate.ParsePrincipal(token, jose.NewKeySet(l.p.ra.key.Key()))
	return &p, err
}

func (l *localRA) effector() registry.Actor {
	return registry.Actor{Role: api.RoleEffector, PrincipalID: l.p.PrincipalID}
}

func (l *localRA) Hold(ctx context.Context, crossingID, initiatorClosed, responderClosed string) (string, error) {
	return l.p.ra.Hold(ctx, l.effector(), api.Hold{
		CrossingID: crossingID, InitiatorClosed: initiatorClosed, ResponderClosed: responderClosed,
	})
}

func (l *localRA) Confirmation(ctx context.Context, t mandate.Triple) (string, error) {
	return l.p.ra.Confirmation(ctx, l.effector(), t)
}

// localVA is the World's VA as its own party speaks to it.
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
