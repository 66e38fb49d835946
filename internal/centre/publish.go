package centre

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
)

// publication forms the outbox row of this party's projection (design V4).
func (c *Centre) publication(role crossing.Role, rec *crossing.Record, b crossing.Block, receipts []string) (Publication, error) {
	p := api.Publication{
		Projection: api.Projection{CrossingID: rec.CrossingID, ChainID: rec.ChainID(), Block: b},
		Role:       role, InitiatorAgent: rec.Initiator.AgentID, ResponderAgent: rec.Responder.AgentID, Receipts: receipts,
	}
	var err error
	if p.Signature, err = jose.SignCompact(c.cfg.Self.Publisher, api.PublicationType, p.Statement()); err != nil {
		return Publication{}, err
	}
	return Publication{Role: role, CrossingID: rec.CrossingID, ChainID: rec.ChainID(), Seq: b.Position.Seq, Body: p.Bytes()}, nil
}

// deliver publishes what waits for one crossing.
func (c *Centre) deliver(ctx context.Context, crossingID string) error {
	waiting, err := c.cfg.Store.Waiting(ctx, crossingID, 16)
	if err != nil {
		return err
	}
	for _, p := range waiting {
		err := c.send(ctx, p)
		if errors.Is(err, &api.Error{Code: api.CodePredecessorMissing}) {
			// A party's publications leave in chain order: send what stands before.
			if err = c.deliverAll(ctx); err == nil {
				err = c.send(ctx, p)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Centre) send(ctx context.Context, p Publication) error {
	err := c.cfg.Publisher.Publish(ctx, p.Body)
	if err == nil {
		return c.cfg.Store.Acknowledge(ctx, p.ID, c.now())
	}
	if !temporary(err) {
		c.cfg.Log.Error("the authority holds another projection", "crossing_id", p.CrossingID)
	}
	return errors.Join(err, c.cfg.Store.Undelivered(context.WithoutCancel(ctx), p.ID, reason(err)))
}

// reason is a code, or the kind of failure: an error text could hold a URL.
func reason(err error) string {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return "unreachable"
}

func (c *Centre) deliverAll(ctx context.Context) error {
	waiting, err := c.cfg.Store.Waiting(ctx, "", 256)
	if err != nil {
		return err
	}
	var first error
	for _, p := range waiting {
		if err := c.send(ctx, p); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Run finishes open attempts and delivers publications until ctx ends: at once, for
// what a crash has left, and then every interval.
func (c *Centre) Run(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		c.sweep(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// maxResumed bounds the attempts that sweeps bring to their end at a time.
const maxResumed = 128

// resume takes on open attempts, a page of them, from where the last sweep has stopped: a
// registry that does not answer leaves as many as were begun, and they are neither to be read
// nor to be asked for all at once, nor to stand before those of another.
func (c *Centre) resume(ctx context.Context) error {
	attempts, err := c.cfg.Store.OpenAttempts(ctx, c.after, maxResumed)
	if err == nil && len(attempts) == 0 && c.after != "" {
		c.after = ""
		attempts, err = c.cfg.Store.OpenAttempts(ctx, "", maxResumed)
	}
	if err != nil {
		return err
	}
	for _, a := range attempts {
		select {
		case c.resumed <- struct{}{}:
		default:
			return nil
		}
		c.after = a.CrossingID
		if _, started := c.launch(a, func() { <-c.resumed }); !started {
			<-c.resumed
		}
	}
	if len(attempts) < maxResumed {
		c.after = ""
	}
	return nil
}

func (c *Centre) sweep(ctx context.Context) {
	c.recordLate(ctx)
	if c.Responds() {
		if err := c.resume(ctx); err != nil {
			c.cfg.Log.Error("open attempts cannot be read", "reason", err.Error())
		}
	}
	if err := c.deliverAll(ctx); err != nil && ctx.Err() == nil {
		c.cfg.Log.Warn("a publication waits", "reason", reason(err))
	}
	c.repair(ctx)
}
