package centre

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Errors that a Store must return, wrapped or not.
var (
	ErrNone     = errors.New("centre: no such row")
	ErrConflict = errors.New("centre: the row has changed")
)

// A Crossing is one party's row of a crossing. Version guards it: [Crossings.Put]
// succeeds only over the version that was read.
type Crossing struct {
	SessionID string // task id for a responder, crossing_id for an initiator
	Role      crossing.Role
	Version   int64 // 0: not stored yet
	TaskID    string
	ContextID string
	// CrossingID is "" until P2.
	CrossingID string
	State      crossing.State
	PeerURL    string // initiator only
	Class, Act string // as intended at P1
	Own, Peer  crossing.Profile
	OwnOpen    string // as presented
	PeerOpen   string
	Terms      []byte // as written
	Agreement  jcs.Hex256
	Amount     *commitment.Amount // the initiator's from the start, the responder's from P3

	OwnDisclosure   string // of the own Open, if it is to be sent at P3
	OwnClosed       string
	OwnReceipt      string
	PeerClosed      string
	PeerReceipt     string
	PeerDisclosures []string

	// Nonces are kept with the row by the next Put, which returns [ErrConflict] if one
	// belongs to another token. They are not read back here: see [Seals.Nonces].
	Nonces map[crossing.Nonce]jcs.Hex256

	VerifiedAt time.Time // mandates_verified_at
	AgreedAt   time.Time // terms_agreed_at
	ArtifactID string
	Refusal    *crossing.Refusal
	Report     []byte
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// A Grant is an Open that this party may present.
type Grant struct {
	OpenHash   jcs.Hex256
	Presented  string
	Disclosure string // of its magnitude_limit
	Receipt    string
	Drawn      int64 // a hint for choosing; the RA decides
	ExpiresAt  time.Time
	CreatedAt  time.Time
	Revoked    bool // as far as this party has heard; the RA decides
}

// A RefusalRow is what E-1 asks to be recorded, and AG-76 with it.
type RefusalRow struct {
	Refusal                        crossing.Refusal
	CrossingID                     string // "" when unknown
	At                             time.Time
	Counterparty                   string // principal_id, or "" for a stranger
	InitiatorSpent, ResponderSpent bool
	Detail                         string // for the operator; never sent
}

// An Attempt is a cleared record on its way to a seal (design R4). A Store makes one
// only from a [crossing.Cleared].
type Attempt struct {
	CrossingID string
	JointSeal  jcs.Hex256
	Record     []byte
	Params     []byte
}

// An Outcome is what a Store knows of one crossing_id, judged for one joint seal.
type Outcome struct {
	Seal    *Seal             // sealed: whatever joint seal it has
	Open    *Attempt          // an attempt is open: whatever joint seal it has
	Refused *crossing.Refusal // this joint seal was refused, finally
}

// A Seal is a stored seal.
type Seal struct {
	CrossingID   string
	JointSeal    jcs.Hex256
	SealID       string
	Record       []byte
	Response     []byte
	Block        []byte
	SpendReceipt string // of the responder's RA
	// InitiatorReceipt is that of the initiator's RA, where it is another; else "".
	InitiatorReceipt string
	SealedAt         time.Time
	Published        bool // the authority has acknowledged it
}

// A Commit is the one transaction that makes a commitment.
type Commit struct {
	Attempt      *Attempt
	Party        string // this party's agent_id: whose chain
	ChainID      jcs.Hex256
	Triple       mandate.Triple
	Effector     string // this party's principal_id
	Counterparty string // the other's, for a refusal row
	SpendReceipt string // stored as the hold's final receipt
	At           time.Time
	// Build forms seal and publication for the position that the transaction takes.
	// It is pure and may be called again.
	Build func(p chain.Position, spendReceipt string) (Seal, Publication, error)
}

// A Word is the latest signed answer of a Registration Authority elsewhere about one Closed of
// an attempt.
type Word struct {
	Token     jcs.Hex256 // token_sha256 of the Closed
	Statement string     // mandate.SpendReceipt or mandate.FinalRefusal, verified
	Spent     bool       // it says that the Closed is consumed under this crossing_id
}

// A Publication waits in the outbox until the authority has acknowledged it.
type Publication struct {
	ID         int64
	Role       crossing.Role
	CrossingID string
	ChainID    jcs.Hex256
	Seq        int64
	Body       []byte
}

// An Anchored is a link of this party's chain with its publication.
type Anchored struct {
	Party       string
	ChainID     jcs.Hex256
	CrossingID  string
	JointSeal   jcs.Hex256
	At          time.Time
	Publication func(chain.Position) (Publication, error) // pure
}

// Crossings keeps the rows of crossings and of refusals. Every method is atomic and
// durable when it returns nil.
type Crossings interface {
	// Crossing finds a row by session id, or returns [ErrNone].
	Crossing(ctx context.Context, sessionID string) (*Crossing, error)
	// CrossingByID finds a row by crossing_id, or returns [ErrNone].
	CrossingByID(ctx context.Context, crossingID string) (*Crossing, error)
	// Put inserts a row of version 0 or replaces the version it was read at, and
	// increments x.Version. Otherwise, or if the crossing_id belongs to another row,
	// it returns [ErrConflict] and changes nothing.
	Put(ctx context.Context, x *Crossing) error
	// Unfinished lists an initiator's rows in state sealing that have no report and have
	// not changed since before, oldest first, at most limit.
	Unfinished(ctx context.Context, before time.Time, limit int) ([]*Crossing, error)
	// Refuse writes a refusal row and, unless x is nil, x with it.
	Refuse(ctx context.Context, row RefusalRow, x *Crossing) error
	// Refusals lists the newest rows first, at most limit.
	Refusals(ctx context.Context, limit int) ([]RefusalRow, error)
	// CountRefusals counts what a counterparty was refused here under a name since a
	// moment, but for some failure paths and for crossings that this party initiated.
	CountRefusals(ctx context.Context, counterparty string, name crossing.Name, since time.Time, except ...string) (int, error)
}

// Grants keeps this party's Opens.
type Grants interface {
	// PutGrant stores a grant; the same hash again changes nothing.
	PutGrant(ctx context.Context, g Grant) error
	// Grants lists them, expired ones too, newest first, at most 1000.
	Grants(ctx context.Context) ([]Grant, error)
	// Drawn adds to a grant's hint.
	Drawn(ctx context.Context, openHash jcs.Hex256, n int64) error
	// RevokeGrant notes that the RA has revoked a grant, so that it is presented no more.
	RevokeGrant(ctx context.Context, openHash jcs.Hex256, at time.Time) error
}

// Seals keeps attempts and seals.
type Seals interface {
	// Lookup reads the outcome for crossing_id and joint seal; the zero Outcome when
	// nothing is known.
	Lookup(ctx context.Context, crossingID string, jointSeal jcs.Hex256) (Outcome, error)
	// OpenAttempt inserts the attempt with its nonces. [ErrConflict] if any attempt
	// of the crossing_id is open, this joint seal has a row, a nonce belongs to
	// another token, or the responder's row of the crossing_id no longer holds the
	// Closed that the record names. It changes that row's version, so that whoever
	// read it before cannot free its crossing_id any more.
	OpenAttempt(ctx context.Context, c *crossing.Cleared, at time.Time) (*Attempt, error)
	// OpenAttempts lists open ones whose crossing_id follows after, in that order and at most
	// limit of them; "" is before all.
	OpenAttempts(ctx context.Context, after string, limit int) ([]*Attempt, error)
	// RefuseRecord makes a pure refusal final for its joint seal and writes the refusal
	// row with the spent flags that the RA's rows show, or the words kept of it. It returns [ErrConflict] if the
	// joint seal has a row: an open attempt is not closed by a late pure check.
	RefuseRecord(ctx context.Context, a *Attempt, t mandate.Triple, row RefusalRow) error
	// RefuseAttempt moves an open attempt to refused, by the RA's word, and writes the
	// refusal row as RefuseRecord does. [ErrConflict] if it is not open.
	RefuseAttempt(ctx context.Context, a *Attempt, t mandate.Triple, row RefusalRow) error
	// Commit moves the hold row to spent, takes the next chain position, and writes
	// anchor, seal and outbox row, all or nothing; no mandate row is written. If a
	// mandate was revoked or has expired meanwhile it refuses the attempt in the same
	// transaction, with both spent flags, and returns the refusal. [ErrConflict] if
	// the attempt is not open.
	Commit(ctx context.Context, c Commit) (*Seal, *crossing.Refusal, error)
	// CommitConfirmed is Commit where RAs elsewhere have spent the Closeds: c.SpendReceipt is
	// their word, and no row of an RA is looked at. [ErrConflict] if the attempt is not open.
	CommitConfirmed(ctx context.Context, c Commit) (*Seal, error)
	// RefuseApart moves an open attempt to refused, by the word of RAs elsewhere, keeps
	// their words, and writes the refusal row with the flags that these tell: later refusals
	// of the crossing_id have the same. [ErrConflict] if it is not open.
	RefuseApart(ctx context.Context, a *Attempt, t mandate.Triple, words []Word, row RefusalRow) error
	// Nonces are those used in a crossing.
	Nonces(ctx context.Context, crossingID string) (map[crossing.Nonce]jcs.Hex256, error)
}

// Chains keeps this party's pair chains.
type Chains interface {
	// Next is the position after the head of a chain.
	Next(ctx context.Context, party string, chainID jcs.Hex256) (chain.Position, error)
	// Links lists a chain from its genesis.
	Links(ctx context.Context, party string, chainID jcs.Hex256) ([]chain.Link, error)
	// ChainOf finds the chain that holds an anchor of this party, "" if none does.
	ChainOf(ctx context.Context, party string, anchor jcs.Hex256) (jcs.Hex256, error)
	// Anchor appends a link and its outbox row, once a crossing_id: a repeat changes
	// nothing and returns the link that stands.
	Anchor(ctx context.Context, a Anchored) (chain.Link, error)
	// Link is the link of a crossing, or [ErrNone].
	Link(ctx context.Context, party, crossingID string) (chain.Link, error)
}

// Outbox keeps publications until they are acknowledged, and the records that an
// initiator has sent.
type Outbox interface {
	// Waiting lists publications in order, at most limit; crossingID "" means any.
	Waiting(ctx context.Context, crossingID string, limit int) ([]Publication, error)
	Acknowledge(ctx context.Context, id int64, at time.Time) error
	// Undelivered counts a try and keeps the reason.
	Undelivered(ctx context.Context, id int64, reason string) error
	// Sent lists the sealing params sent for a crossing, oldest first.
	Sent(ctx context.Context, crossingID string) ([][]byte, error)
	// PutSent keeps sealing params before they leave. after is how many of the crossing
	// the caller knows of: [ErrConflict] if there are more, since another process is at it.
	PutSent(ctx context.Context, crossingID string, jointSeal jcs.Hex256, record, params []byte, at time.Time, after int) error
}

// A Store is a party's durable state.
type Store interface {
	Crossings
	Grants
	Seals
	Chains
	Outbox
	Depths
}
