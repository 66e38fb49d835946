package centre

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/crossing"
)

// Repair is for an initiator that died between the counterparty's answer and its own
// anchor (GC-247, GC-248): the seal resolves, so the commitment exists and the anchor is
// to be written, without a person and without the counterparty.
const (
	repairAfter = 30 * time.Second // whoever walks the crossing has left by then
	repairBatch = 8
)

// repair finishes crossings whose seal resolves at the authority. One whose outcome is
// not known blocks nothing (design C9); it is looked at again.
func (c *Centre) repair(ctx context.Context) {
	rows, err := c.cfg.Store.Unfinished(ctx, c.now().Add(-repairAfter), repairBatch)
	if err != nil {
		c.cfg.Log.Error("unfinished crossings cannot be read", "reason", err.Error())
		return
	}
	for _, x := range rows {
		err := c.repairOne(ctx, x)
		var mismatch *crossing.Refusal
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.As(err, &mismatch): // another record resolves: that is an end (F7)
			x.State, x.Refusal, x.UpdatedAt = crossing.Refused, mismatch, c.now()
			row := RefusalRow{Refusal: *mismatch, CrossingID: x.CrossingID, At: c.now(), Counterparty: x.Peer.PrincipalID}
			err = c.cfg.Store.Refuse(ctx, row, x)
		default:
			c.cfg.Log.Info("a crossing stays unfinished", "crossing_id", x.CrossingID, "reason", reason(err))
			err = c.put(ctx, x) // behind the others, so that none can hold them up
		}
		if err != nil && ctx.Err() == nil {
			c.cfg.Log.Info("an unfinished crossing has moved on", "crossing_id", x.CrossingID)
		}
	}
}

func (c *Centre) repairOne(ctx context.Context, x *Crossing) error {
	sent, err := c.cfg.Store.Sent(ctx, x.CrossingID)
	if err != nil || len(sent) == 0 {
		return err
	}
	r := &run{c: c, x: x, tell: func(Event) {}, uncertain: true}
	s, err := r.resolved(ctx, sent)
	if err != nil {
		return err
	}
	if s == nil {
		return c.put(ctx, x) // to the end of the queue
	}
	_, err = r.p5(ctx, s)
	return err
}

// restart frees a crossing_id for a new task of the same counterparty, after a refusal
// or a failure before anything was sealed (AG-33, AG-69). The old task keeps its state.
func (c *Centre) restart(ctx context.Context, x *Crossing) (freed bool, err error) {
	old, err := c.cfg.Store.CrossingByID(ctx, x.CrossingID)
	if err != nil {
		return false, err
	}
	if old.Role != crossing.Responder || old.Peer.AgentID != x.Peer.AgentID || old.SessionID == x.SessionID {
		return false, nil
	}
	t, err := c.shown(ctx, old)
	if err != nil || t.State != crossing.Refused && t.State != crossing.FailedUnsealed {
		return false, err
	}
	id := old.CrossingID
	old.State, old.CrossingID = t.State, ""
	if err := c.put(ctx, old); err != nil {
		if errors.Is(err, ErrConflict) { // an attempt was opened meanwhile
			return false, nil
		}
		return false, err
	}
	c.writable(id)
	return true, nil
}
