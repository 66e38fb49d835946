package authority

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// Errors that a Store answers with. Any other error means that nothing is known to have
// been decided.
var (
	// ErrNotFound: no such row.
	ErrNotFound = errors.New("authority: not found")
	// ErrCode: the enrolment code is unknown, expired, or used by another request.
	ErrCode = errors.New("authority: enrolment code refused")
	// ErrCodeTerms: the code is good, and for another principal. It stays unused.
	ErrCodeTerms = errors.New("authority: enrolment code for another principal")
	// ErrTaken: the name is held by something else.
	ErrTaken = errors.New("authority: taken")
)

// CodeTerms say what a code is good for. The zero value is for any RA, of one organisation.
type CodeTerms struct {
	PrincipalID string // whose RA it may pin; "" for anybody's
	// Shared lets the RA speak for whomever it registers, but for those who have another RA.
	Shared bool
}

// A Code is a one-time enrolment code as it is stored.
type Code struct {
	SecretHash jcs.Hex256
	CodeTerms
	Created, Expires time.Time
}

// A Redemption is the one use of a code: it pins Key, which speaks for PrincipalID, and, unless
// the code is Shared, for nobody else.
type Redemption struct {
	PrincipalID string
	URL         string // where the RA answers
	SecretHash  jcs.Hex256
	RequestHash jcs.Hex256 // of the request's canonical bytes
	Key         jose.Key
	Answer      []byte
	At          time.Time
}

// A Publisher may publish for one principal.
type Publisher struct {
	CredentialHash jcs.Hex256
	PrincipalID    string
	Key            jose.Key // verifies its publications
	RegistryKey    string   // thumbprint of the pinned key that granted it
	At             time.Time
}

// A Row is one stored publication.
type Row struct {
	Publication   api.Publication // as it was published
	PrincipalID   string          // the publisher's
	ProjectionJWS string          // the authority's signature, made once
	Answer        []byte          // the acknowledgement, repeated for equal bytes
	At            time.Time

	// Position and Seal are what the store has indexed the row by. They are compared
	// with the projection when the chain is judged: an index that was changed alone
	// shows (GC-328).
	Position chain.Position
	Seal     jcs.Hex256
}

// A Refusal is a publication that lost against other bytes.
type Refusal struct {
	PrincipalID string
	CrossingID  string
	Role        crossing.Role
	Code        string
	BodyHash    jcs.Hex256 // of the publication's canonical bytes
	At          time.Time
}

// A Store keeps an authority's state. Implementations must pass storetest.Authority.
//
// Every method is one transaction, durable when it returns nil, and may be called
// concurrently, also by several processes. Times have millisecond precision.
type Store interface {
	Members
	Projections
}

// Members are who may publish, and on whose word.
type Members interface {
	// AddCode stores an unused code. A code whose SecretHash is there already is ErrTaken.
	AddCode(ctx context.Context, c Code) error
	// Redeem uses a code once and pins the key in the same transaction. A code that
	// RequestHash has used already gives the answer stored then, also after its expiry.
	// ErrCode: unknown, used by another request, or r.At not before its expiry. ErrCodeTerms.
	// ErrTaken, and the code stays unused: the key is pinned already, or the principal is
	// another RA's: bound to it here, its publisher's, or known to the RA of this store.
	Redeem(ctx context.Context, r Redemption) (answer []byte, err error)
	// PinRegistry pins a key; one that is pinned stays as it is.
	PinRegistry(ctx context.Context, key jose.Key, at time.Time) error
	// Registries returns the keys that are pinned.
	Registries(ctx context.Context) ([]jose.Key, error)
	// SpeaksFor returns the principals that a key was pinned for, by a code or as the RA of a
	// counterparty: it speaks for them alone. None: it speaks for whomever it registers, and
	// is for no other key.
	SpeaksFor(ctx context.Context, registryKey string) (principals []string, err error)
	// SpokenFor returns the key that was pinned for a principal; "" for none. A pin that has
	// ended still counts: nobody else speaks for the principal.
	SpokenFor(ctx context.Context, principalID string) (registryKey string, err error)
	// Unpin ends the pin of a key for good, with an audit row. A repeat changes nothing.
	// ErrNotFound.
	Unpin(ctx context.Context, registryKey string, at time.Time) error
	// AddPublisher stores p. The same credential, principal and key again change nothing.
	// The credential with another principal or key is ErrTaken, and so is a principal that
	// another registry has granted a publisher for.
	AddPublisher(ctx context.Context, p Publisher) error
	// Publisher finds a publisher by its credential, or ErrNotFound, also where the registry
	// that has granted it is pinned no more.
	Publisher(ctx context.Context, credential jcs.Hex256) (Publisher, error)
}

// Projections are the stored publications. They are written once and never changed.
type Projections interface {
	// Put stores row, unless (crossing_id, role) has a row: that one is then returned, and
	// nothing is changed. Without such a row, a seal_id that another crossing's responder
	// holds, or a (principal, chain_id, chain_seq) that is held, is ErrTaken.
	Put(ctx context.Context, row Row) (standing Row, err error)
	// Find returns the row of (crossing_id, role), or ErrNotFound.
	Find(ctx context.Context, crossingID string, role crossing.Role) (Row, error)
	// BySeal returns the responder's row with this seal_id, or ErrNotFound.
	BySeal(ctx context.Context, sealID string) (Row, error)
	// At returns the principal's row at a position of a chain, in either role, or ErrNotFound.
	At(ctx context.Context, principalID string, chainID jcs.Hex256, seq int64) (Row, error)
	// Refuse records a refusal. One with the same principal, crossing, role and body is
	// recorded once.
	Refuse(ctx context.Context, r Refusal) error
}
