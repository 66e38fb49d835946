package centre

import (
	"context"
	"errors"

	"github.com/bindery/bindery/crossing"
)

// maxUnsealed bounds what is remembered while a disk is full.
const maxUnsealed = 4096

// noPosition is a chain that cannot be read: no position, no seal (§4.4-5).
func (c *Centre) noPosition(err error) *crossing.Refusal {
	c.cfg.Log.Error("the chain cannot be read", "reason", err.Error())
	return crossing.Refuse(crossing.ChainPositionUnavailable)
}

// unwritable answers a seal call whose attempt could not be written (F6): no commitment,
// state failed_unsealed. If the attempt is there all the same, it goes on.
func (c *Centre) unwritable(ctx context.Context, x *Crossing, p *crossing.SealParams, cause error) *crossing.Refusal {
	out, err := c.cfg.Store.Lookup(ctx, x.CrossingID, p.JointSeal())
	if err != nil || out.Open != nil || out.Seal != nil {
		return c.pending("attempt", x.CrossingID, errors.Join(cause, err))
	}
	c.cfg.Log.Error("a seal cannot be written", "crossing_id", x.CrossingID, "reason", cause.Error())
	c.unsealed(x.CrossingID)
	r := crossing.RefuseAt(crossing.ChainPositionUnavailable, "§5.7 F6")
	c.recordSoon(RefusalRow{Refusal: *r, CrossingID: x.CrossingID, At: c.now(), Counterparty: x.Peer.PrincipalID})
	return r
}

func (c *Centre) unsealed(crossingID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failed) < maxUnsealed {
		c.failed[crossingID] = true
	}
}

// writable ends failed_unsealed: a retry has been taken (F6).
func (c *Centre) writable(crossingID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.failed, crossingID)
}

func (c *Centre) isUnsealed(crossingID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed[crossingID]
}

// recordSoon keeps a refusal row until it can be written: the disk that refused the
// attempt has no room for it either.
func (c *Centre) recordSoon(row RefusalRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.late) < maxUnsealed {
		c.late = append(c.late, row)
	}
}

func (c *Centre) recordLate(ctx context.Context) {
	c.mu.Lock()
	rows := c.late
	c.late = nil
	c.mu.Unlock()
	for i, row := range rows {
		if err := c.cfg.Store.Refuse(ctx, row, nil); err != nil {
			c.mu.Lock()
			c.late = append(rows[i:], c.late...)
			c.mu.Unlock()
			return
		}
	}
}
