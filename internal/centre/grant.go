package centre

import (
	"context"
	"errors"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/mandate"
)

// want is what an Open must cover.
type want struct {
	class        commitment.Class
	act          string
	counterparty string
	currency     commitment.Currency // only if known
	least        int64               // what should be left, if the hint is right
}

// choose picks one of this party's active Opens: newest first, one with enough left
// before one without. Silence is refusal: with none, the name tells which bound failed
// and nothing of the others.
func (c *Centre) choose(ctx context.Context, w want) (*Grant, *crossing.Refusal) {
	grants, err := c.cfg.Store.Grants(ctx)
	if err != nil {
		c.cfg.Log.Error("the grants cannot be read", "reason", err.Error())
		return nil, crossing.Refuse(crossing.CounterpartyNotPermitted)
	}
	var spent *Grant
	refusal := crossing.Refuse(crossing.CounterpartyNotPermitted)
	for i := range grants {
		g := &grants[i]
		left, no := c.covers(g, w)
		switch {
		case no != nil:
			if no.Name != crossing.CounterpartyNotPermitted {
				refusal = no
			}
		case left >= w.least:
			return g, nil
		case spent == nil:
			spent = g
		}
	}
	if spent != nil {
		return spent, nil // the RA decides, not the hint
	}
	return nil, refusal
}

// covers holds one Open against w and says how much the hint leaves of it.
func (c *Centre) covers(g *Grant, w want) (left int64, refusal *crossing.Refusal) {
	presented, err := mandate.ParseOpen(g.Presented)
	if err == nil && g.Disclosure != "" {
		presented, err = presented.Disclose(g.Disclosure)
	}
	if err != nil {
		return 0, crossing.Refuse(crossing.MandateInvalid)
	}
	open, err := presented.Verify(c.cfg.Self.Issuers)
	if err != nil {
		return 0, crossing.Refuse(crossing.MandateInvalid)
	}
	amount, _, err := open.Amount()
	switch {
	case err != nil:
		return 0, crossing.Refuse(crossing.MalformedMandate)
	case !open.Counterparties().Permits(w.counterparty), !open.PermitsAct(w.act):
		return 0, crossing.Refuse(crossing.CounterpartyNotPermitted)
	case !amount.Class.Permits(w.class):
		return 0, crossing.Refuse(crossing.ClassExceeded)
	case w.currency != "" && amount.Class == w.class && amount.Currency != w.currency:
		return 0, crossing.Refuse(crossing.CurrencyMismatch)
	case g.Revoked:
		return 0, crossing.Refuse(crossing.MandateRevoked)
	case open.Expired(c.now()):
		return 0, crossing.Refuse(crossing.MandateExpired)
	}
	return int64(amount.Magnitude) - g.Drawn, nil
}

// refusalOf is the refusal that an answer of the RA amounts to: one with a name of the
// table that says no. Anything else has decided nothing, "later" among it.
func refusalOf(err error) *crossing.Refusal {
	var e *api.Error
	if !errors.As(err, &e) {
		return nil
	}
	name := crossing.Name(e.Code)
	_, known := crossing.RowOf(name)
	if !known || name == crossing.RateLimited || name == crossing.SealPending || name == crossing.ChainPositionUnavailable {
		return nil
	}
	return crossing.Refuse(name)
}

// heard takes note of a grant that the RA says is revoked: a newer one is not to stand
// in the way of an older one that holds.
func (c *Centre) heard(ctx context.Context, refusal *crossing.Refusal, own string) {
	open, err := mandate.ParseOpen(own)
	if refusal.Name != crossing.MandateRevoked || err != nil {
		return
	}
	if err := c.cfg.Store.RevokeGrant(ctx, open.OpenHash(), c.now()); err != nil {
		c.cfg.Log.Warn("a revoked grant could not be marked", "reason", err.Error())
	}
}
