package centre

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// sealed is a record whose commitment is known: its own joint seal, returned by the
// counterparty or resolved at the authority, with the block that names it.
type sealed struct {
	record *crossing.Record
	bytes  []byte
	block  crossing.Block
}

// errAnswer says that the counterparty sealed, or says so, in words that cannot be taken.
// It is no refusal and no evidence of absence: the authority is asked (§5.6-1).
var errAnswer = errors.New("centre: the answer to crossing:seal cannot be taken")

// Patience of an initiator with SEAL_PENDING and with calls that get no answer.
const (
	sealTries = 20
	sealPause = 250 * time.Millisecond
)

// p4 seals (§5.5). The record and the exact params are stored before they are sent;
// after an interruption the authority is asked first, and then the same bytes go out
// again, oldest record first (design C5).
func (r *run) p4(ctx context.Context) (*sealed, error) {
	begin := r.c.now()
	sent, err := r.c.cfg.Store.Sent(ctx, r.x.CrossingID)
	if err != nil {
		return nil, err
	}
	if len(sent) > 0 {
		if s, err := r.resolved(ctx, sent); s != nil || err != nil {
			return s, err
		}
	} else {
		params, err := r.newRecord(ctx, 0)
		sent = [][]byte{params}
		if errors.Is(err, ErrConflict) { // resumed twice at once: the other's record is the one
			sent, err = r.c.cfg.Store.Sent(ctx, r.x.CrossingID)
			r.uncertain = true
		}
		if err != nil {
			return nil, err
		}
	}
	s, err := r.sealAny(ctx, sent)
	if err != nil {
		return nil, err
	}
	r.done("P4", "joint sealing", begin, "joint_seal "+string(s.block.Seal)+" computed by both, equal", "seal_id "+s.block.SealID)
	r.c.cfg.Hook(PointAfterReply)
	return s, nil
}

// newRecord builds the record, and the params with it, and stores both.
func (r *run) newRecord(ctx context.Context, known int) ([]byte, error) {
	x, c := r.x, r.c
	own, err := r.verified(ctx, x.OwnOpen, x.OwnClosed, x.Own)
	if err != nil {
		return nil, err
	}
	peer, err := r.verified(ctx, x.PeerOpen, x.PeerClosed, x.Peer)
	if err != nil {
		return nil, err
	}
	rec := &crossing.Record{
		CrossingID: x.CrossingID, CreatedAt: x.CreatedAt,
		Initiator:     crossing.PartyOf(crossing.Initiator, x.Own, own),
		Responder:     crossing.PartyOf(crossing.Responder, x.Peer, peer),
		AgreementHash: x.Agreement, Class: x.Class, Act: x.Act,
		Magnitude: int64(x.Amount.Magnitude), Currency: string(x.Amount.Currency),
		Context:    crossing.A2AContext{TaskID: x.TaskID, ContextID: x.ContextID, ArtifactID: x.CrossingID},
		Timestamps: crossing.Timestamps{MandatesVerifiedAt: x.VerifiedAt, TermsAgreedAt: x.AgreedAt, SealedAt: latest(c.second(), x.CreatedAt, x.VerifiedAt, x.AgreedAt)},
	}
	intent, err := c.cfg.Store.Next(ctx, x.Own.AgentID, rec.ChainID())
	if err != nil {
		return nil, err
	}
	p := &crossing.SealParams{Record: rec, RecordBytes: rec.Bytes(), ClosedMandate: x.OwnClosed, AnchorIntent: intent}
	params := p.Bytes()
	return params, c.cfg.Store.PutSent(ctx, x.CrossingID, p.JointSeal(), p.RecordBytes, params, c.now(), known)
}

// verified makes the Closed of a stored, once verified token again; expiry is for the
// responder to judge. An RA that gives no answer now decides nothing: the checks were
// made at P1 and P3, and the crossing can be resumed.
func (r *run) verified(ctx context.Context, open, closed string, p crossing.Profile) (*mandate.Closed, error) {
	keys := r.c.cfg.Self.Issuers
	presented, err := mandate.ParseClosed(closed)
	if err != nil {
		return nil, err
	}
	po, err := mandate.ParseOpen(open)
	if err != nil {
		return nil, err
	}
	issuer, err := r.c.principal(ctx, p.PrincipalID)
	switch {
	case errors.Is(err, &api.Error{Code: api.CodeNotFound}):
		return nil, crossing.RefuseAt(crossing.MandateInvalid, "§4.1.5 iss")
	case err != nil:
		return nil, errors.Join(ErrUnknown, err)
	}
	if p.PrincipalID != r.c.cfg.Self.PrincipalID {
		keys = issuer.IssuerKeys(r.c.now())
	}
	o, err := po.Verify(keys)
	if err != nil { // it verified at P1: a record that has lapsed by this clock, say
		return nil, errors.Join(ErrUnknown, err)
	}
	return presented.Verify(issuer.HumanKeys(presented.Issuer(), r.c.now()), o)
}

// sealAny sends each kept record, oldest first, until one is sealed. A mismatch ends
// nothing by itself; a refusal for the clock on the newest alone lets one new record be
// built with the same Closeds. An answer that cannot be read or believed is none.
func (r *run) sealAny(ctx context.Context, sent [][]byte) (*sealed, error) {
	var last error
	renewed := false
	for i := 0; i < len(sent); i++ {
		s, err := r.sealOne(ctx, sent[i])
		if err == nil {
			return s, nil
		}
		last = err
		var refusal *crossing.Refusal
		if errors.Is(err, errAnswer) {
			return r.byAuthority(ctx, sent, errors.Join(ErrUnknown, err))
		}
		if !errors.As(err, &refusal) {
			return nil, err
		}
		newest := i == len(sent)-1
		switch {
		case refusal.Name == crossing.SealMismatch:
			continue
		case refusal.Name == crossing.RecordMalformed && refusal.Path == crossing.ClockPath:
			if !newest {
				continue
			}
			if renewed {
				return nil, err
			}
			renewed = true
			params, err := r.newRecord(ctx, len(sent))
			if err != nil {
				return nil, err
			}
			sent = append(sent, params)
			continue
		case !refusal.Peer: // a missing echo, say (AG-54): the counterparty may have sealed
			return r.byAuthority(ctx, sent, errors.Join(ErrUnknown, refusal))
		case r.uncertain: // an earlier call may have sealed, whatever this one is told
			return r.byAuthority(ctx, sent, err)
		}
		return nil, err
	}
	return r.byAuthority(ctx, sent, last)
}

// byAuthority asks the authority before a refusal that proves nothing is believed
// (§5.6-1, AG-54).
func (r *run) byAuthority(ctx context.Context, sent [][]byte, refusal error) (*sealed, error) {
	s, err := r.resolved(ctx, sent)
	var mismatch *crossing.Refusal
	switch {
	case errors.As(err, &mismatch): // another record of this crossing resolves (F7)
		return nil, err
	case err != nil:
		return nil, errors.Join(ErrUnknown, refusal, err)
	case s == nil:
		return nil, refusal
	}
	return s, nil
}

// sealOne calls crossing:seal until something is decided, within bounds.
func (r *run) sealOne(ctx context.Context, params []byte) (*sealed, error) {
	var last error
	for try := range sealTries {
		if try > 0 {
			if err := pause(ctx); err != nil {
				return nil, errors.Join(ErrUnknown, err, last)
			}
		}
		body, err := r.peer.Seal(ctx, params)
		if err == nil {
			return r.compare(params, body)
		}
		last = err
		var refusal *crossing.Refusal
		if errors.As(err, &refusal) && decided(refusal) {
			return nil, err
		}
		r.uncertain = r.uncertain || refusal == nil || refusal.Name != crossing.ChainPositionUnavailable
	}
	var refusal *crossing.Refusal
	if errors.As(last, &refusal) && refusal.Name == crossing.ChainPositionUnavailable {
		return nil, last // given only before an attempt: no seal can come of it (design C7)
	}
	return nil, errors.Join(ErrUnknown, last)
}

// decided reports whether a refusal of a seal call is an answer, and not a "later".
func decided(r *crossing.Refusal) bool {
	switch r.Name {
	case crossing.SealPending, crossing.ChainPositionUnavailable, crossing.RateLimited:
		return false
	}
	return true
}

// compare holds the counterparty's seal against one computed here (§5.5-2, F7).
func (r *run) compare(params, body []byte) (*sealed, error) {
	p, err := parseParams(params)
	if err != nil {
		return nil, err
	}
	v, err := jcs.Parse(body)
	if err != nil {
		return nil, errors.Join(errAnswer, err)
	}
	res, err := crossing.ParseSealResult(v)
	if err != nil {
		return nil, errors.Join(errAnswer, err)
	}
	if res.CrossingID != r.x.CrossingID || res.Block.Seal != p.JointSeal() || !res.Block.SealedAt.Equal(p.Record.Timestamps.SealedAt) {
		return nil, crossing.Refuse(crossing.SealMismatch)
	}
	return r.named(p, res.Block)
}

// named checks what a block says about its own resolution: the seal's form, and that
// the URL is the pinned authority's. It is compared, never followed (design V5).
func (r *run) named(p *crossing.SealParams, b crossing.Block) (*sealed, error) {
	if !crossing.ValidSealID(b.SealID) {
		return nil, errors.Join(errAnswer, errors.New("centre: the seal_id has another form"))
	}
	if b.VerifyURL != r.c.cfg.VerifyURL(b.SealID) {
		return nil, errors.Join(errAnswer, errors.New("centre: the verify_url is not the pinned authority's"))
	}
	return &sealed{record: p.Record, bytes: p.RecordBytes, block: b}, nil
}

func parseParams(b []byte) (*crossing.SealParams, error) {
	v, err := jcs.Parse(b)
	if err != nil {
		return nil, err
	}
	p, refusal := crossing.ParseSealParams(v)
	if refusal != nil {
		return nil, refusal
	}
	return p, nil
}

// resolved asks the authority for the crossing_id. It returns nil, nil when nothing
// resolves there, and the sealed record when the seal is that of any record sent.
func (r *run) resolved(ctx context.Context, sent [][]byte) (*sealed, error) {
	v, err := r.verdict(ctx, api.VerifyRequest{CrossingID: r.x.CrossingID})
	if err != nil {
		return nil, err
	}
	if ok, _ := v.Get("checks").Get("resolves").Bool(); !ok {
		return nil, nil
	}
	block, err := crossing.ParseBlock(v)
	if err != nil {
		return nil, err
	}
	// The joint seal of any record kept means committed, also of one that another process
	// has sent meanwhile (design C5).
	stored, err := r.c.cfg.Store.Sent(ctx, r.x.CrossingID)
	if err != nil {
		return nil, err
	}
	for _, params := range append(stored, sent...) {
		p, err := parseParams(params)
		if err != nil {
			return nil, err
		}
		if p.JointSeal() == block.Seal {
			return r.named(p, *block)
		}
	}
	return nil, crossing.Refuse(crossing.SealMismatch)
}

// verdict resolves, and has patience with an authority that is asked too often.
func (r *run) verdict(ctx context.Context, req api.VerifyRequest) (jcs.Value, error) {
	for try := 1; ; try++ {
		body, err := r.c.cfg.Verifier.Verify(ctx, req)
		if err == nil {
			return jcs.Parse(body)
		}
		if !errors.Is(err, &api.Error{Code: string(crossing.RateLimited)}) || try == sealTries {
			return jcs.Value{}, err
		}
		if err := pause(ctx); err != nil {
			return jcs.Value{}, err
		}
	}
}

// pause waits a moment before something is asked again.
func pause(ctx context.Context) error {
	select {
	case <-time.After(sealPause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// p5 (§5.6): the proof that the seal resolves, the task with its artifact, this party's
// own anchor and publication. An anchor is written only for a seal that resolves: an
// answer that merely repeats the joint seal is nobody's commitment, and an anchor for it
// would stand in the way of every later one of the pair.
func (r *run) p5(ctx context.Context, s *sealed) ([]byte, error) {
	begin, x, c := r.c.now(), r.x, r.c
	record, err := jcs.Parse(s.bytes)
	if err != nil {
		return nil, err
	}
	v, err := r.verdict(ctx, api.VerifyRequest{SealID: s.block.SealID, Record: record})
	if err != nil {
		return nil, err
	}
	if fault := r.judge(v, s, "resolves", "seal_matches"); fault != "" {
		return nil, unconfirmed(fault)
	}
	r.artifact(ctx, s)
	link, err := c.cfg.Store.Anchor(ctx, Anchored{
		Party: x.Own.AgentID, ChainID: s.record.ChainID(), CrossingID: x.CrossingID, JointSeal: s.block.Seal, At: c.now(),
		Publication: func(pos chain.Position) (Publication, error) {
			own := s.block
			own.Position, own.Basis = pos, s.record.Initiator.Basis
			return c.publication(crossing.Initiator, s.record, own, nil)
		},
	})
	if err != nil {
		return nil, err
	}
	c.cfg.Hook(PointBeforePublication)
	if err := c.deliver(ctx, x.CrossingID); err != nil {
		return nil, err
	}
	if fault := r.judge(v, s, "chain_consistent", "basis_present", "not_superseded"); fault != "" {
		return nil, unconfirmed(fault)
	}
	r.done("P5", "distribution", begin, "own anchor written at chain_seq "+itoa(link.Seq), "the authority resolves the seal; all five checks hold")
	x.State, x.Refusal, x.Report = crossing.Committed, nil, r.report(s, link, v)
	return r.finished(ctx)
}

// finished stores the report. A row that has changed meanwhile belongs to another process
// that walked the same crossing: its report stands, anything else yields to what is proven.
func (r *run) finished(ctx context.Context) ([]byte, error) {
	x, c := r.x, r.c
	err := c.put(ctx, x)
	for range 3 {
		if !errors.Is(err, ErrConflict) {
			break
		}
		now, readErr := c.cfg.Store.CrossingByID(ctx, x.CrossingID)
		if readErr != nil {
			return nil, errors.Join(ErrUnknown, readErr)
		}
		if now.Report != nil {
			return now.Report, nil
		}
		now.State, now.Refusal, now.Report = x.State, nil, x.Report
		err = c.put(ctx, now)
	}
	return x.Report, err
}

// unconfirmed says which check of §6.2 did not hold. The commitment may exist all the
// same, so it is nothing final.
func unconfirmed(check string) error {
	return errors.Join(ErrUnknown, errors.New("centre: the authority does not confirm: "+check))
}

// judge applies checks of §6.2 to a verdict on this crossing's seal.
func (r *run) judge(v jcs.Value, s *sealed, checks ...string) string {
	for _, check := range checks {
		if ok, _ := v.Get("checks").Get(check).Bool(); !ok {
			return check
		}
	}
	if id, _ := v.Get("crossing_id").Text(); id != r.x.CrossingID {
		return "crossing_id"
	}
	if seal, _ := v.Get("seal").Text(); seal != string(s.block.Seal) {
		return "seal"
	}
	return ""
}

// artifact compares the task's artifact with the seal's block. It is a convenience
// (§5.6-2): the seal resolves, so a task that cannot be read, or shows something else,
// is worth a line in the log and undoes nothing.
func (r *run) artifact(ctx context.Context, s *sealed) {
	if r.peer == nil {
		return // repaired without the counterparty
	}
	log := r.c.cfg.Log.With("crossing_id", r.x.CrossingID)
	t, err := r.peer.Task(ctx, r.x.TaskID)
	switch {
	case err != nil || t.State != crossing.Committed:
		log.Info("the task does not show the artifact")
	case !slices.Equal(t.Block, s.block.Bytes()) || t.ArtifactID != s.record.Context.ArtifactID:
		log.Warn("the task shows another artifact than the seal that resolves")
	}
}
