package centre

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// A Counterparty is the responder as an initiator reaches it. Each call checks the
// activation echo (GC-046). Errors: a [*crossing.Refusal] if the counterparty refused
// or did not activate the extension; anything else means that no answer came.
type Counterparty interface {
	// Party is what the counterparty's card says of itself (P0): a hint, confirmed at P1.
	Party() (principalID string)
	// Exchange sends one phase message. taskID and contextID are "" for P1.
	Exchange(ctx context.Context, taskID, contextID string, metadata []byte) (*crossing.Task, error)
	// Seal calls crossing:seal with the exact params and returns the result's bytes.
	Seal(ctx context.Context, params []byte) ([]byte, error)
	// Task reads the task.
	Task(ctx context.Context, taskID string) (*crossing.Task, error)
}

// Dial performs P0: it reads the card at url and returns the counterparty, or refuses
// when the card does not declare the extension as full (GC-271).
type Dial func(ctx context.Context, url string) (Counterparty, error)

// ErrUnknown says that it could not be told whether a commitment exists. Resuming the
// crossing will tell.
var ErrUnknown = errors.New("centre: the outcome is not known yet")

// A Deal is what an initiator proposes.
type Deal struct {
	URL      string // of the counterparty
	Terms    *crossing.Terms
	Act      string
	Amount   commitment.Amount
	Disclose bool // put the Open's limit disclosure into P3 (design M5)
}

// An Event tells what has just been completed, for a person to follow.
type Event struct {
	Phase, Name string
	Took        time.Duration
	Facts       []string
}

// Cross makes a new crossing from P0 to P5. started is called with the crossing_id once
// it is durable, before any message leaves. The report is canonical JSON.
func (c *Centre) Cross(ctx context.Context, d Deal, dial Dial, started func(crossingID string), tell func(Event)) ([]byte, error) {
	if _, refusal := crossing.ParseIntent(d.Amount.Class.String(), d.Act, c.cfg.Acts); refusal != nil {
		return nil, refusal
	}
	begin := c.now()
	peer, err := dial(ctx, d.URL)
	if err != nil {
		return nil, err
	}
	grant, refusal := c.choose(ctx, want{
		class: d.Amount.Class, act: d.Act, counterparty: peer.Party(), currency: d.Amount.Currency, least: int64(d.Amount.Magnitude),
	})
	if refusal != nil {
		return nil, c.refuseOwn(ctx, refusal, "", peer.Party())
	}
	c.repair(ctx)
	now := c.now()
	x := &Crossing{
		Role: crossing.Initiator, CrossingID: c.uuid(), State: crossing.MandatesPending, PeerURL: d.URL,
		Class: d.Amount.Class.String(), Act: d.Act, Own: c.cfg.Self.Profile, OwnOpen: grant.Presented,
		Terms: []byte(d.Terms.Text()), Agreement: d.Terms.Hash(), Amount: &d.Amount, CreatedAt: now, UpdatedAt: now,
	}
	x.SessionID = x.CrossingID
	if d.Disclose {
		x.OwnDisclosure = grant.Disclosure
	}
	if err := c.cfg.Store.Put(ctx, x); err != nil {
		return nil, err
	}
	started(x.CrossingID)
	r := &run{c: c, x: x, peer: peer, tell: tell}
	r.done("P0", "discovery", begin, "the card declares the extension and names "+peer.Party())
	return r.advance(ctx)
}

// Resume takes up a crossing where its rows end. A finished one returns its report
// again, the same bytes; a refused one its refusal.
func (c *Centre) Resume(ctx context.Context, crossingID string, dial Dial, tell func(Event)) ([]byte, error) {
	x, err := c.cfg.Store.CrossingByID(ctx, crossingID)
	if err != nil {
		return nil, err
	}
	switch {
	case x.Role != crossing.Initiator:
		return nil, ErrNone
	case x.Report != nil:
		return x.Report, nil
	case x.Refusal != nil && x.State != crossing.FailedUnsealed: // F6: that may be tried again
		return nil, x.Refusal
	}
	begin := c.now()
	peer, err := dial(ctx, x.PeerURL)
	if err != nil {
		return nil, errors.Join(ErrUnknown, err)
	}
	r := &run{c: c, x: x, peer: peer, tell: tell, uncertain: true}
	r.done("P0", "discovery", begin, "resuming "+crossingID)
	return r.advance(ctx)
}

// run is one walk of an initiator through the phases.
type run struct {
	c    *Centre
	x    *Crossing
	peer Counterparty
	tell func(Event)
	// uncertain: the counterparty may have sealed, for all this run knows. A refusal is
	// then believed only when the authority shows no seal (§5.6-1).
	uncertain bool
	phases    []Event
}

func (r *run) done(phase, name string, since time.Time, facts ...string) {
	e := Event{Phase: phase, Name: name, Took: r.c.now().Sub(since), Facts: facts}
	r.phases = append(r.phases, e)
	r.tell(e)
}

// advance does each step whose outcome is not stored yet. Each stores its outcome
// before the next begins (GC-269).
func (r *run) advance(ctx context.Context) ([]byte, error) {
	for _, step := range []func(context.Context) error{r.p1, r.p2, r.p3} {
		if err := step(ctx); err != nil {
			return nil, r.ended(ctx, err)
		}
	}
	sealed, err := r.p4(ctx)
	if err != nil {
		return nil, r.ended(ctx, err)
	}
	report, err := r.p5(ctx, sealed)
	if err != nil {
		return nil, r.ended(ctx, err)
	}
	return report, nil
}

// ended stores a refusal as the crossing's end. Anything else leaves it to be resumed.
func (r *run) ended(ctx context.Context, err error) error {
	var refusal *crossing.Refusal
	if !errors.As(err, &refusal) {
		return errors.Join(ErrUnknown, err)
	}
	if refusal.Name == crossing.SealPending || errors.Is(err, ErrUnknown) {
		return errors.Join(ErrUnknown, err)
	}
	r.x.State, r.x.Refusal, r.x.UpdatedAt = crossing.Refused, refusal, r.c.now()
	if refusal.Name == crossing.ChainPositionUnavailable {
		r.x.State = crossing.FailedUnsealed // nothing was refused, something failed (F6)
	}
	row := RefusalRow{Refusal: *refusal, CrossingID: r.x.CrossingID, At: r.c.now(), Counterparty: r.x.Peer.PrincipalID}
	if stored := r.c.cfg.Store.Refuse(ctx, row, r.x); stored != nil {
		return errors.Join(ErrUnknown, refusal, stored)
	}
	return refusal
}

func (c *Centre) refuseOwn(ctx context.Context, r *crossing.Refusal, crossingID, counterparty string) error {
	row := RefusalRow{Refusal: *r, CrossingID: crossingID, At: c.now(), Counterparty: counterparty}
	if err := c.cfg.Store.Refuse(ctx, row, nil); err != nil {
		return errors.Join(r, err)
	}
	return r
}

// answer sends one phase message and reads the answer: the task in the wanted state,
// or the counterparty's refusal.
func (r *run) answer(ctx context.Context, metadata []byte, want crossing.State) (*crossing.Task, *crossing.Message, error) {
	t, err := r.peer.Exchange(ctx, r.x.TaskID, r.x.ContextID, metadata)
	if err != nil {
		return nil, nil, err
	}
	v, err := jcs.Parse(t.Answer)
	if err != nil {
		return nil, nil, crossing.RefuseAt(crossing.RecordMalformed, "§5 answer")
	}
	m, refusal := crossing.ParseMessage(v)
	if refusal != nil {
		return nil, nil, refusal
	}
	if m.Refusal != nil {
		return nil, nil, m.Refusal
	}
	if m.State != want {
		return nil, nil, crossing.RefuseAt(crossing.RecordMalformed, "§5.1 phase order")
	}
	return t, m, nil
}

// p1 exchanges Opens (§5.2).
func (r *run) p1(ctx context.Context) error {
	x, c := r.x, r.c
	if x.TaskID != "" {
		return nil
	}
	begin := r.c.now()
	own := c.ownP1(x)
	own.IntendedClass, own.IntendedAct = x.Class, x.Act
	t, m, err := r.answer(ctx, own.Bytes(), crossing.MandatesPending)
	if err != nil {
		return err
	}
	if m.P1.Party.PrincipalID != r.peer.Party() {
		return crossing.RefuseAt(crossing.MandateInvalid, "§4.1.5 card")
	}
	if _, refusal := crossing.Screen(c.screening(ctx, m.P1, x.Amount.Class, x.Act)); refusal != nil {
		return refusal
	}
	x.TaskID, x.ContextID, x.PeerOpen, x.Peer, x.VerifiedAt = t.ID, t.ContextID, m.P1.OpenMandate, m.P1.Party, latest(c.now(), x.CreatedAt)
	if err := c.put(ctx, x); err != nil {
		return err
	}
	r.done("P1", "mandate exchange", begin, "both Opens presented; the counterparty's passes the seven checks of §5.2")
	return nil
}

// p2 proposes the terms and compares the hashes (§5.3).
func (r *run) p2(ctx context.Context) error {
	x := r.x
	if !x.AgreedAt.IsZero() {
		return nil
	}
	begin := r.c.now()
	own := &crossing.P2{CrossingID: x.CrossingID, TermsDocument: string(x.Terms), AgreementHash: x.Agreement}
	_, m, err := r.answer(ctx, own.Bytes(), crossing.TermsProposed)
	if err != nil {
		return err
	}
	if m.P2.CrossingID != x.CrossingID || m.P2.AgreementHash != x.Agreement {
		return crossing.RefuseAt(crossing.AgreementHashMismatch, "§5.3 P2-3")
	}
	x.State, x.AgreedAt = crossing.TermsProposed, latest(r.c.now(), x.VerifiedAt)
	if err := r.c.put(ctx, x); err != nil {
		return err
	}
	r.done("P2", "terms", begin, "agreement_hash "+string(x.Agreement)+" computed by both")
	r.c.cfg.Hook(PointAfterP2)
	return nil
}

// p3 draws this party's Closed, exchanges Closeds and verifies the counterparty's
// against its Open (§5.4).
func (r *run) p3(ctx context.Context) error {
	x, c := r.x, r.c
	if x.PeerClosed != "" {
		return nil
	}
	begin := r.c.now()
	if x.OwnClosed == "" {
		var err error
		if x.OwnClosed, err = c.signClosed(x); err != nil {
			return err
		}
		if err := c.put(ctx, x); err != nil { // before it is registered
			return err
		}
	}
	if refusal, err := c.draw(ctx, x); err != nil {
		return err
	} else if refusal != nil {
		return refusal
	}
	own := &crossing.P3{CrossingID: x.CrossingID, ClosedMandate: x.OwnClosed, Receipt: x.OwnReceipt}
	if x.OwnDisclosure != "" {
		own.OpenDisclosures = []string{x.OwnDisclosure}
	}
	_, m, err := r.answer(ctx, own.Bytes(), crossing.Sealing)
	if err != nil {
		return err
	}
	if refusal := r.accept(ctx, m.P3); refusal != nil {
		return refusal
	}
	if err := c.put(ctx, x); err != nil {
		return err
	}
	r.done("P3", "mutual verification", begin, "both Closeds registered at the RA and verified by the other party")
	c.cfg.Hook(PointAfterP3)
	return nil
}

func (r *run) accept(ctx context.Context, m *crossing.P3) *crossing.Refusal {
	x, c := r.x, r.c
	if m.CrossingID != x.CrossingID {
		return crossing.Refuse(crossing.MandatePartyMismatch)
	}
	x.PeerClosed, x.PeerReceipt, x.PeerDisclosures = m.ClosedMandate, m.Receipt, m.OpenDisclosures
	peer := c.peerSide(ctx, x)
	_, _, refusal := crossing.CheckClosed(crossing.Closing{
		At: c.now(), Peer: peer, Own: c.cfg.Self.PrincipalID, CrossingID: x.CrossingID,
		AgreementHash: x.Agreement, Class: x.Amount.Class, Act: x.Act, Amount: x.Amount,
	})
	if refusal == nil {
		refusal = unregistered(peer)
	}
	if refusal != nil {
		x.PeerClosed, x.PeerReceipt, x.PeerDisclosures = "", "", nil
		return refusal
	}
	x.State = crossing.Sealing
	return nil
}

// latest keeps the moments of a record in order when a clock is set back (AG-31).
func latest(t time.Time, others ...time.Time) time.Time {
	for _, o := range others {
		if o.After(t) {
			t = o
		}
	}
	return t
}

// uuid is a random RFC 9562 version 4 UUID (AG-28).
func (c *Centre) uuid() string {
	b := make([]byte, 16)
	if _, err := io.ReadFull(c.cfg.Rand, b); err != nil {
		panic("centre: the random source is broken: " + err.Error())
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
