package centre

import (
	"context"
	"errors"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// View shows a crossing to its owner: canonical JSON with crossing_id, role, state, both
// parties with their mandates, the terms and, once there is one, the record, the joint
// seal, the block, this party's own link and, from a responder, the RA's spend receipt. api.CodeNotFound when there is none.
func (c *Centre) View(ctx context.Context, crossingID string) ([]byte, error) {
	x, err := c.cfg.Store.CrossingByID(ctx, crossingID)
	if errors.Is(err, ErrNone) {
		return nil, &api.Error{Code: api.CodeNotFound}
	}
	if err != nil {
		return nil, err
	}
	out, err := c.cfg.Store.Lookup(ctx, crossingID, "")
	if err != nil {
		return nil, err
	}
	if out.Seal != nil && out.Seal.Published {
		x.State = crossing.Committed // a responder's row stays at sealing: the seal's row tells
	}
	m := []jcs.Member{
		{Name: "crossing_id", Value: jcs.String(x.CrossingID)},
		{Name: "role", Value: jcs.String(string(x.Role))},
		{Name: "state", Value: jcs.String(string(x.State))},
		{Name: "agreement_hash", Value: jcs.String(string(x.Agreement))},
		{Name: "own", Value: holding(x.Own, x.OwnOpen, x.OwnClosed, x.OwnReceipt)},
		{Name: "peer", Value: holding(x.Peer, x.PeerOpen, x.PeerClosed, x.PeerReceipt)},
	}
	if x.Refusal != nil {
		m = append(m, jcs.Member{Name: "refusal", Value: x.Refusal.Bytes()})
	}
	if terms, refusal := crossing.ParseTerms(x.Terms); refusal == nil {
		m = append(m, jcs.Member{Name: "terms", Value: terms.Canonical()})
	}
	if out.Seal != nil {
		m = append(m, jcs.Member{Name: "spend_receipt", Value: jcs.String(out.Seal.SpendReceipt)})
		if out.Seal.InitiatorReceipt != "" {
			m = append(m, jcs.Member{Name: "initiator_spend_receipt", Value: jcs.String(out.Seal.InitiatorReceipt)})
		}
	}
	rec, block, err := c.Holds(ctx, crossingID)
	if errors.Is(err, ErrNone) {
		return jcs.Object(m...), nil
	}
	if err != nil {
		return nil, err
	}
	link, err := c.cfg.Store.Link(ctx, x.Own.AgentID, crossingID)
	if err != nil {
		return nil, err
	}
	m = append(m, jcs.Member{Name: "record", Value: rec}, jcs.Member{Name: "joint_seal", Value: jcs.String(string(link.JointSeal))},
		jcs.Member{Name: "artifact_block", Value: block}, jcs.Member{Name: "link", Value: linkBytes(link)})
	return jcs.Object(m...), nil
}

// Holds returns the sealed record of a crossing and its block, or [ErrNone].
func (c *Centre) Holds(ctx context.Context, crossingID string) (record, block []byte, err error) {
	out, err := c.cfg.Store.Lookup(ctx, crossingID, "")
	if err != nil {
		return nil, nil, err
	}
	if out.Seal != nil {
		return out.Seal.Record, out.Seal.Block, nil
	}
	x, err := c.cfg.Store.CrossingByID(ctx, crossingID)
	if err != nil {
		return nil, nil, err
	}
	if x.Report == nil {
		return nil, nil, ErrNone
	}
	v, err := jcs.Parse(x.Report)
	if err != nil {
		return nil, nil, err
	}
	return v.Get("record").Bytes(), v.Get("artifact_block").Bytes(), nil
}

func holding(p crossing.Profile, open, closed, receipt string) []byte {
	return jcs.Object(
		jcs.Member{Name: "principal_id", Value: jcs.String(p.PrincipalID)},
		jcs.Member{Name: "agent_id", Value: jcs.String(p.AgentID)},
		jcs.Member{Name: "open_mandate", Value: jcs.String(open)},
		jcs.Member{Name: "closed_mandate", Value: jcs.String(closed)},
		jcs.Member{Name: "receipt", Value: jcs.String(receipt)},
	)
}

func linkBytes(l chain.Link) []byte {
	prev := jcs.Null()
	if !l.IsGenesis() {
		prev = jcs.String(string(l.Prev))
	}
	return jcs.Object(
		jcs.Member{Name: "chain_seq", Value: jcs.Int(l.Seq)},
		jcs.Member{Name: "prev_hash", Value: prev},
		jcs.Member{Name: "anchor", Value: jcs.String(string(l.Anchor))},
	)
}
