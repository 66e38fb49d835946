package centre

import (
	"context"
	"time"

	"github.com/bindery/bindery/crossing"
)

// A counterparty that may ask until it is no longer refused has measured the ceiling
// (§5.7, RM-2). After so many refusals for magnitude within the window it gets one
// constant refusal for every proposal.
const (
	probes       = 3
	probesWithin = 24 * time.Hour
)

// probedPath marks the constant refusal; it does not count as a probe itself.
const probedPath = "§5.7 F2"

// probing refuses a counterparty that has had its probes. If that cannot be looked up,
// the check has failed.
func (c *Centre) probing(ctx context.Context, principalID string) *crossing.Refusal {
	n, err := c.cfg.Store.CountRefusals(ctx, principalID, crossing.MagnitudeExhausted, c.now().Add(-probesWithin), probedPath, ReleasedPath)
	if err != nil {
		c.cfg.Log.Error("the refusals cannot be counted", "reason", err.Error())
		return crossing.RefuseAt(crossing.MagnitudeExhausted, probedPath)
	}
	if n >= probes {
		return crossing.RefuseAt(crossing.MagnitudeExhausted, probedPath)
	}
	return nil
}
