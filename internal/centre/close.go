package centre

import (
	"context"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// A Draw is what a Closed is signed for, outside of a crossing that this centre walks.
type Draw struct {
	CrossingID        string
	AgreementHash     jcs.Hex256
	Counterparty      string // principal: the Closed's audience
	CounterpartyAgent string
	Act               string
	Amount            commitment.Amount
}

// Close signs a Closed under an Open that covers the draw and registers it at the RA,
// which books it (M-4a). The error is a [*crossing.Refusal] if nothing covers it or the
// RA refuses.
func (c *Centre) Close(ctx context.Context, d Draw) (token, receipt string, err error) {
	grant, refusal := c.choose(ctx, want{
		class: d.Amount.Class, act: d.Act, counterparty: d.Counterparty, currency: d.Amount.Currency, least: int64(d.Amount.Magnitude),
	})
	if refusal != nil {
		return "", "", refusal
	}
	x := &Crossing{
		CrossingID: d.CrossingID, Act: d.Act, Own: c.cfg.Self.Profile, OwnOpen: grant.Presented, Agreement: d.AgreementHash, Amount: &d.Amount,
		Peer: crossing.Profile{PrincipalID: d.Counterparty, AgentID: d.CounterpartyAgent},
	}
	if token, err = c.signClosed(x); err != nil {
		return "", "", err
	}
	receipt, err = c.cfg.Registrar.RegisterClosed(ctx, token, d.CounterpartyAgent)
	if refusal := refusalOf(err); refusal != nil {
		c.heard(ctx, refusal, x.OwnOpen)
		return "", "", refusal
	}
	if err != nil {
		return "", "", err
	}
	return token, receipt, c.cfg.Store.Drawn(ctx, grant.OpenHash, int64(d.Amount.Magnitude))
}
