package crossing

import (
	"time"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A Side is one party's mandates with what is known about them.
type Side struct {
	Profile              // from P1, confirmed by the RA's record of the Principal
	Open        string   // as presented at P1
	Disclosures []string // of that Open, from P3
	Closed      string   // the exact string received or stored; "" when the party has none
	// Issuer is the RA's record of the Principal, verified under a pinned RA key; nil
	// when it does not resolve.
	Issuer *mandate.Principal
	// Registered says that the RA has registered exactly this Closed, and so that its
	// draw is within the Open (design M5).
	Registered bool
}

// A Nonce is the place of a nonce within one crossing (AG-19).
type Nonce struct{ Issuer, Value string }

// Evidence is all that a responder holds when crossing:seal reaches it.
type Evidence struct {
	At            time.Time
	Acts          commitment.Profile
	Params        *SealParams
	Initiator     Side // Closed is taken from Params
	Responder     Side
	CrossingID    string     // of the responder's own session
	AgreementHash jcs.Hex256 // recomputed from the terms it holds
	TaskID        string
	ContextID     string
	Used          map[Nonce]jcs.Hex256 // nonces seen for this crossing_id → token_sha256
}

// A Cleared is a record that passed every pure check of a seal. Only [Clear] makes
// one, and without one no attempt is opened and nothing is spent.
type Cleared struct {
	record  *Record
	seal    jcs.Hex256
	params  *SealParams
	nonces  map[Nonce]jcs.Hex256
	present bool
}

// Record is the responder's own record: equal, byte for byte, to the received one.
func (c *Cleared) Record() *Record { return c.record }

// JointSeal is the responder's own computation (GC-066).
func (c *Cleared) JointSeal() jcs.Hex256 { return c.seal }

// Params are the params that were cleared.
func (c *Cleared) Params() *SealParams { return c.params }

// Nonces are the two nonces to remember for this crossing.
func (c *Cleared) Nonces() map[Nonce]jcs.Hex256 { return c.nonces }

// Valid is false for the zero Cleared.
func (c *Cleared) Valid() bool { return c != nil && c.present }

// Triple names what a record spends (design R3).
func (r *Record) Triple() mandate.Triple {
	return mandate.Triple{CrossingID: r.CrossingID, InitiatorToken: r.Initiator.ClosedMandateHash, ResponderToken: r.Responder.ClosedMandateHash}
}

// ChainID is the pair's chain (§4.4.2-1).
func (r *Record) ChainID() jcs.Hex256 { return chain.ID(r.Initiator.AgentID, r.Responder.AgentID) }

// Clear is the precedence function (design C4, AG-58 steps 4 to 18 and the comparison
// with a record of one's own). The first check that fails gives the refusal; at each
// step the initiator is looked at before the responder. ev.Params come from
// [ParseSealParams], which has judged step 2. CLASS_BELOW_FLOOR stands between steps 4
// and 5, SEAL_MISMATCH after step 18.
func Clear(ev Evidence) (*Cleared, *Refusal) {
	rec := ev.Params.Record
	amount, refusal := rec.Amount()
	if refusal != nil {
		return nil, refusal
	}
	if refusal := floor(amount.Class, rec.Act, ev.Acts); refusal != nil {
		return nil, refusal
	}
	ev.Initiator.Closed = ev.Params.ClosedMandate
	e := &exam{
		at: ev.At, record: rec, amount: &amount, class: amount.Class,
		crossingID: rec.CrossingID, act: rec.Act, agreement: ev.AgreementHash, used: ev.Used,
		sides: []*side{
			{Side: ev.Initiator, slot: rec.Initiator, other: rec.Responder.PrincipalID},
			{Side: ev.Responder, slot: rec.Responder, other: rec.Initiator.PrincipalID},
		},
	}
	if refusal := e.run(); refusal != nil {
		return nil, refusal
	}
	own := e.ownRecord(ev)
	if own.JointSeal() != ev.Params.JointSeal() {
		return nil, Refuse(SealMismatch)
	}
	if claimed := ev.Params.InitiatorSeal; claimed != "" && claimed != own.JointSeal() {
		return nil, Refuse(SealMismatch)
	}
	return &Cleared{record: own, seal: own.JointSeal(), params: ev.Params, nonces: e.nonces(), present: true}, nil
}

// ownRecord builds the record from what this party knows itself. Only created_at, the
// timestamps and the artifact id are taken from the received one (design C3).
func (e *exam) ownRecord(ev Evidence) *Record {
	i, r := e.sides[0], e.sides[1]
	return &Record{
		CrossingID: ev.CrossingID, CreatedAt: e.record.CreatedAt,
		Initiator: i.party(Initiator), Responder: r.party(Responder),
		AgreementHash: ev.AgreementHash,
		Class:         i.asserted.Class.String(), Act: i.closed.Act(),
		Magnitude: int64(i.asserted.Magnitude), Currency: string(i.asserted.Currency),
		Context:    A2AContext{TaskID: ev.TaskID, ContextID: ev.ContextID, ArtifactID: e.record.Context.ArtifactID},
		Timestamps: e.record.Timestamps,
	}
}

func (s *side) party(role Role) Party {
	return PartyOf(role, s.Profile, s.closed)
}

// PartyOf is the record entry that a verified Closed gives.
func PartyOf(role Role, p Profile, c *mandate.Closed) Party {
	return Party{
		Role: role, Profile: p, OpenMandateHash: c.OpenMandateHash(), ClosedMandateHash: c.TokenHash(),
		SignerRole: string(c.SignerRole()), Basis: c.Basis(),
	}
}

// ClockPath is the failure path of a record whose sealed_at lies outside the window.
// It is the one refusal after which the same Closeds may be sealed again in a new
// record (design C5).
const ClockPath = "§4.4 timestamps.sealed_at"

// InWindow judges sealed_at against the responder's clock, ±300 s (AG-31). It comes
// after the lookup of stored results, so that an old record always finds its own.
func (r *Record) InWindow(now time.Time) *Refusal {
	if d := r.Timestamps.SealedAt.Sub(now); d > 300*time.Second || d < -300*time.Second {
		return malformed(ClockPath, "/record/timestamps/sealed_at")
	}
	return nil
}
