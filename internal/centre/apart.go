package centre

import (
	"context"
	"errors"
	"sync"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// An Effector is a Registration Authority as this party's effector sees it (design R3): over
// the network, or in this process. A receipt is the RA's mandate.SpendReceipt. A refusal that
// no later call can undo is an *api.Error whose Receipt is its mandate.FinalRefusal; any other
// error has decided nothing, and the same call is made again.
type Effector interface {
	// Hold consumes the Closeds that h presents; idempotent on the triple.
	Hold(ctx context.Context, h api.Hold) (receipt string, err error)
	// Confirm spends a held triple; a triple that is decided gets its stored receipt.
	Confirm(ctx context.Context, t mandate.Triple) (receipt string, err error)
	// Release gives back what is held, in the release mode that returns anything. The
	// receipt tells the state as it is afterwards.
	Release(ctx context.Context, r api.Release) (receipt string, err error)
}

// A Peer is the Registration Authority of another organisation, pinned by enrolment (design
// R1): it alone speaks for the Principal that it was found by.
type Peer struct {
	Keys     jose.KeySet
	Resolver Resolver
	Effector Effector
}

// Peers finds the Registration Authority of a Principal, where it is another than this
// party's own. It returns nil and nil when none was pinned: the own one speaks for it then.
type Peers interface {
	Peer(ctx context.Context, principalID string) (*Peer, error)
}

func (c *Centre) peer(ctx context.Context, principalID string) (*Peer, error) {
	if c.cfg.Peers == nil || principalID == c.cfg.Self.PrincipalID {
		return nil, nil
	}
	return c.cfg.Peers.Peer(ctx, principalID)
}

// principal finds a Principal's record at the RA that speaks for it.
func (c *Centre) principal(ctx context.Context, principalID string) (*mandate.Principal, error) {
	peer, err := c.peer(ctx, principalID)
	switch {
	case err != nil:
		return nil, err
	case peer != nil:
		return resolved(ctx, peer.Resolver, principalID)
	}
	return resolved(ctx, c.cfg.Resolver, principalID)
}

// raKeys are the pinned keys of the RA that speaks for a Principal.
func (c *Centre) raKeys(ctx context.Context, principalID string) (jose.KeySet, error) {
	peer, err := c.peer(ctx, principalID)
	switch {
	case err != nil:
		return jose.KeySet{}, err
	case peer != nil:
		return peer.Keys, nil
	}
	return c.cfg.RAKeys, nil
}

// ReleasedPath is the failure path of an attempt whose hold was given back meanwhile. It says
// nothing about a ceiling, so that it is no probe of one (§5.7).
const ReleasedPath = "§4.1.3 M-4b released"

// A part is what one RA has to do with a triple: both Closeds, or the one registered with it
// (design R4), and its latest signed word.
type part struct {
	at       Effector
	keys     jose.KeySet
	hold     api.Hold
	effector string // this party's principal_id

	word    string             // "" before anything signed was heard
	state   mandate.SpendState // what word says, "" when it is a refusal
	refused *crossing.Refusal  // final
	// Which Closed is consumed under this crossing_id, by word; of one that this RA does
	// not keep, always false.
	initiator, responder bool
}

// dead reports whether no seal can come of the triple, by this RA's word.
func (p *part) dead() bool { return p.refused != nil || p.state == mandate.Released }

// live reports whether the RA has something to give back.
func (p *part) live() bool { return p.state == mandate.Held || p.state == mandate.Spent }

// hear takes an answer. What is not this RA's signed word about this part of the triple has
// decided nothing, and is returned.
func (p *part) hear(receipt string, err error) error {
	if err != nil {
		return p.hearRefusal(err)
	}
	r, err := mandate.ParseSpendReceipt(receipt, p.keys)
	switch {
	case err != nil:
		return err
	case r.Triple != p.hold.Triple() || r.Half != p.hold.Half() || r.Effector != p.effector:
		return errors.New("centre: the receipt is about something else")
	}
	p.word, p.state = receipt, r.State
	consumed := r.State != mandate.Released
	p.initiator = consumed && r.Half != mandate.ResponderHalf
	p.responder = consumed && r.Half != mandate.InitiatorHalf
	return nil
}

func (p *part) hearRefusal(err error) error {
	var e *api.Error
	refusal := refusalOf(err)
	if refusal == nil || !errors.As(err, &e) || e.Receipt == "" {
		return err
	}
	f, fault := mandate.ParseFinalRefusal(e.Receipt, p.keys)
	if fault != nil || f.Triple != p.hold.Triple() || f.Half != p.hold.Half() || f.Name != e.Code {
		return err
	}
	p.word, p.state, p.refused = e.Receipt, "", refusal
	p.initiator = f.InitiatorSpent && f.Half != mandate.ResponderHalf
	p.responder = f.ResponderSpent && f.Half != mandate.InitiatorHalf
	return nil
}

// parts are the RAs of a triple in the order in which they confirm: the initiator's first
// (design R4), where there are two.
func (c *Centre) parts(x *Crossing, p *crossing.SealParams, peer *Peer) ([]*part, error) {
	if c.cfg.Effector == nil {
		return nil, errors.New("centre: no way to its own registry")
	}
	t := p.Record.Triple()
	own := &part{at: c.cfg.Effector, keys: c.cfg.RAKeys, effector: c.cfg.Self.PrincipalID, hold: api.Hold{
		CrossingID: t.CrossingID, InitiatorClosed: p.ClosedMandate, ResponderClosed: x.OwnClosed,
	}}
	if peer == nil {
		return []*part{own}, nil
	}
	own.hold = api.Hold{
		CrossingID: t.CrossingID, InitiatorToken: t.InitiatorToken, ResponderClosed: x.OwnClosed, CounterpartyAgent: x.Peer.AgentID,
	}
	theirs := &part{at: peer.Effector, keys: peer.Keys, effector: c.cfg.Self.PrincipalID, hold: api.Hold{
		CrossingID: t.CrossingID, InitiatorClosed: p.ClosedMandate, ResponderToken: t.ResponderToken, CounterpartyAgent: x.Own.AgentID,
	}}
	return []*part{theirs, own}, nil
}

// finishApart brings an attempt to its end where a Closed is registered elsewhere than in
// this party's own store (design R4): hold at every RA and wait for all answers, confirm one
// after the other, and then one transaction of this store. The first confirm is the instant
// of commitment. Each call may be repeated, after a restart too: the RAs' rows are what has
// happened, and nothing is kept here of a seal that has not come about.
func (c *Centre) finishApart(ctx context.Context, a *Attempt, x *Crossing, p *crossing.SealParams, peer *Peer) (*Seal, *crossing.Refusal) {
	parts, err := c.parts(x, p, peer)
	if err != nil {
		return nil, c.pending("a way to the registries", a.CrossingID, err)
	}
	if err := holdAll(ctx, parts); err != nil {
		return nil, c.pending("hold", a.CrossingID, err)
	}
	if anyDead(parts) {
		return c.withdraw(ctx, a, x, parts)
	}
	c.cfg.Hook(PointAfterHold)
	for i, at := range parts {
		if err := at.hear(at.at.Confirm(ctx, at.hold.Triple())); err != nil {
			return nil, c.pending("confirm", a.CrossingID, err)
		}
		if at.dead() {
			return c.withdraw(ctx, a, x, parts)
		}
		if at.state != mandate.Spent {
			return nil, c.pending("confirm", a.CrossingID, errors.New("centre: a registry neither spends nor refuses"))
		}
		if i+1 < len(parts) {
			c.cfg.Hook(PointAfterFirstConfirm)
		}
	}
	c.cfg.Hook(PointAfterConfirm)
	return c.commitApart(ctx, a, x, p, parts)
}

// holdAll asks all RAs at once, and returns when each has answered.
func holdAll(ctx context.Context, parts []*part) error {
	errs := make([]error, len(parts))
	var all sync.WaitGroup
	for i, p := range parts {
		all.Go(func() { errs[i] = p.hear(p.at.Hold(ctx, p.hold)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func anyDead(parts []*part) bool {
	for _, p := range parts {
		if p.dead() {
			return true
		}
	}
	return false
}

func (c *Centre) commitApart(ctx context.Context, a *Attempt, x *Crossing, p *crossing.SealParams, parts []*part) (*Seal, *crossing.Refusal) {
	receipts := make([]string, len(parts))
	for i, at := range parts {
		receipts[i] = at.word
	}
	initiator := ""
	if len(parts) == 2 {
		initiator = receipts[0]
	}
	m := Commit{
		Attempt: a, Party: c.cfg.Self.AgentID, ChainID: p.Record.ChainID(), Triple: p.Record.Triple(), Effector: c.cfg.Self.PrincipalID,
		Counterparty: x.Peer.PrincipalID, SpendReceipt: receipts[len(receipts)-1], At: c.now(), Build: c.build(p, initiator),
	}
	c.cfg.Hook(PointBeforeCommit)
	seal, err := c.cfg.Store.CommitConfirmed(ctx, m)
	switch {
	case errors.Is(err, ErrConflict): // somebody else has finished it
		return c.outcome(ctx, a)
	case err != nil:
		return nil, c.pending("commit", a.CrossingID, err)
	}
	c.cfg.Hook(PointAfterSeal)
	return seal, nil
}

// withdraw ends an attempt of which no seal can come, by an RA's signed word. The other RA is
// shown that word, so that it can give back what it holds, or has spent already, where its
// mode returns anything; the flags are what the RAs' latest words say (design R4).
func (c *Centre) withdraw(ctx context.Context, a *Attempt, x *Crossing, parts []*part) (*Seal, *crossing.Refusal) {
	var refusal *crossing.Refusal
	evidence := ""
	for _, p := range parts {
		if p.dead() && refusal == nil {
			refusal, evidence = p.refused, p.word
			if refusal == nil {
				refusal = crossing.RefuseAt(crossing.MagnitudeExhausted, ReleasedPath)
			}
		}
	}
	for _, p := range parts {
		if !p.live() {
			continue
		}
		if err := p.release(ctx, evidence); err != nil {
			return nil, c.pending("release", a.CrossingID, err)
		}
	}
	row := RefusalRow{Refusal: *refusal, CrossingID: a.CrossingID, At: c.now(), Counterparty: x.Peer.PrincipalID}
	err := c.cfg.Store.RefuseApart(ctx, a, parts[0].hold.Triple(), heard(parts), row)
	switch {
	case errors.Is(err, ErrConflict): // another worker was quicker
		return c.outcome(ctx, a)
	case err != nil:
		return nil, c.pending("refusal", a.CrossingID, err)
	}
	return nil, refusal
}

// release asks for what the RA holds: against the other RA's word, and if that is not taken,
// without. An RA that says no, and not "later", keeps what it holds, and its last signed word
// stands. A call without an answer is made again.
func (p *part) release(ctx context.Context, evidence string) error {
	for _, word := range []string{evidence, ""} {
		err := p.hear(p.at.Release(ctx, api.Release{Triple: p.hold.Triple(), Refusal: word}))
		if err == nil || refusalOf(err) == nil && !errors.Is(err, &api.Error{Code: api.CodeMalformed}) {
			return err
		}
	}
	return nil
}

// heard are the parts' words, Closed by Closed. Of a Closed that no RA has spoken of, no hold
// was ever answered, and it is not spent.
func heard(parts []*part) []Word {
	var words []Word
	add := func(token jcs.Hex256, p *part, spent bool) {
		words = append(words, Word{Token: token, Statement: p.word, Spent: spent})
	}
	for _, p := range parts {
		t, half := p.hold.Triple(), p.hold.Half()
		if half != mandate.ResponderHalf {
			add(t.InitiatorToken, p, p.initiator)
		}
		if half != mandate.InitiatorHalf {
			add(t.ResponderToken, p, p.responder)
		}
	}
	return words
}
