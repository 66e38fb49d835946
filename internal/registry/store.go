package registry

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// What a Store answers when it does not do what it was asked. It may wrap them.
var (
	ErrNotFound     = errors.New("registry: not found")
	ErrExists       = errors.New("registry: exists already with other contents")
	ErrCode         = errors.New("registry: enrolment code unknown, used or expired")
	ErrExhausted    = errors.New("registry: draw exceeds what is left of the open mandate")
	ErrRevoked      = errors.New("registry: mandate revoked")
	ErrExpired      = errors.New("registry: mandate expired")
	ErrMismatch     = errors.New("registry: mandates are not a pair in this crossing")
	ErrNotResponder = errors.New("registry: effector is not of the responder's principal")
	ErrConsumed     = errors.New("registry: mandate consumed under another triple")
	ErrForeign      = errors.New("registry: triple held by another effector")
	ErrNotHeld      = errors.New("registry: triple not held")
)

// A Store keeps a Registration Authority's state. Implementations must pass
// storetest.Registry.
//
// Every method that writes is one serializable transaction, also across processes and
// restarts, and writes its audit row in it; when it returns nil, all of it is durable.
// When it returns one of the errors above, nothing was written. After any other error
// the write may stand or not, and asking again finds out. Stored times have a
// resolution of one millisecond. All methods may be called concurrently.
type Store interface {
	Directory
	Mandates
	Holds
}

// A Directory keeps principals and what belongs to them.
type Directory interface {
	// AddCode stores an enrolment code by its secret's hash.
	AddCode(ctx context.Context, secret jcs.Hex256, at, expires time.Time) error
	// Enrol uses the code and stores the principal with its keys and credentials. The
	// code's first request stores e.Answer and gets it; the same request again, even
	// when the code has expired since, gets the stored answer. ErrCode: unknown,
	// expired, or used by another request. ErrExists: a principal, agent, key or
	// credential is there already; the code stays unused.
	Enrol(ctx context.Context, e Enrolment) (answer []byte, err error)
	// Actor finds whom a credential speaks for. ErrNotFound: unknown, withdrawn, or of
	// a principal that is not active.
	Actor(ctx context.Context, credential jcs.Hex256) (Actor, error)
	// Principal returns what is registered, with At and Expires zero. ErrNotFound.
	Principal(ctx context.Context, principalID string) (mandate.Principal, error)
}

// An Enrolment is all that one enrolment writes.
type Enrolment struct {
	Code        jcs.Hex256 // hash of the code's secret; "" for the authority's own principal
	Request     jcs.Hex256 // hash of the request's bytes
	Answer      []byte
	At          time.Time
	Principal   mandate.Principal
	Credentials []api.Credential
}

// Mandates keeps what is registered.
type Mandates interface {
	// AddOpen stores an Open. An Open with the same TokenHash and PrincipalID is the
	// same Open: its stored receipt is returned. ErrExists: one of the three hashes is
	// known otherwise.
	AddOpen(ctx context.Context, o Open) (receipt string, err error)
	// FindOpen returns an Open by its open_mandate_hash. ErrNotFound.
	FindOpen(ctx context.Context, hash jcs.Hex256) (Open, error)
	// AddClosed stores a Closed and books its Draw on the Open, or does neither. A
	// Closed with the same TokenHash, AgentID and CounterpartyAgent is the same Closed:
	// its stored receipt is returned and nothing is booked. ErrExists: one of the two
	// hashes is known otherwise. ErrNotFound: no such Open. ErrRevoked, ErrExpired: the
	// Open. ErrExhausted: drawn + Draw would exceed the Open's limit; the limit 0 of an
	// Open of class observe is no limit (M-5).
	AddClosed(ctx context.Context, c Closed) (receipt string, err error)
	// FindClosed returns a Closed by its token_sha256. ErrNotFound.
	FindClosed(ctx context.Context, hash jcs.Hex256) (Closed, error)
	// Revoke revokes the mandate that either of its hashes names. What was revoked
	// keeps its first time. ErrNotFound: unknown, or not of r.PrincipalID.
	Revoke(ctx context.Context, r Revocation) (before string, at time.Time, err error)
	// Active reports whether the mandate that either of its hashes names is registered,
	// not revoked, not expired at the given time and, if a Closed, not consumed and its
	// Open not revoked. What is unknown is not active.
	Active(ctx context.Context, hash jcs.Hex256, at time.Time) (bool, error)
}

// An Open is a registered Open.
type Open struct {
	OpenHash, TokenHash, SignedHash jcs.Hex256
	PrincipalID, AgentID            string
	Limit                           commitment.Amount
	ExpiresAt                       time.Time
	Token                           string // with the disclosure of the limit
	Receipt                         string
	At                              time.Time
}

// A Closed is a registered Closed.
type Closed struct {
	TokenHash, SignedHash, OpenHash         jcs.Hex256
	PrincipalID, AgentID, CounterpartyAgent string
	ChainID                                 jcs.Hex256
	CrossingID                              string
	Limit                                   commitment.Magnitude // spent whole by a hold (M-4b)
	Draw                                    commitment.Magnitude // what AddClosed books; not read back
	ExpiresAt                               time.Time
	Receipt                                 string
	At                                      time.Time
}

// A Revocation asks for one.
type Revocation struct {
	Hash        jcs.Hex256
	PrincipalID string // whose mandate it must be; "" for anyone's
	By          Actor  // for the audit row
	At          time.Time
}

// Holds keeps what is consumed (design R3). A triple's row decides; no word of an
// effector does.
type Holds interface {
	// Hold consumes both Closeds and stores h.Receipt, or does neither. A triple that
	// h.Effector holds already, or has confirmed, gets its stored held receipt, whatever
	// has happened since; one that was released gets its final receipt. Else, asked in
	// this order: ErrNotFound, a token is unknown; ErrForeign, the triple is another
	// effector's; ErrConsumed, a token is consumed; ErrMismatch, the two do not name
	// each other, the chain and the crossing; ErrNotResponder; ErrRevoked, a Closed or
	// its Open; ErrExpired, at h.At.
	Hold(ctx context.Context, h Hold) (receipt string, err error)
	// Confirm turns a held triple spent and stores receipt. A triple that is decided
	// gets its stored final receipt. Else: ErrConsumed, a token is consumed under another
	// triple; ErrNotHeld; ErrForeign; ErrRevoked and ErrExpired as in Hold. No mandate's
	// row is written (GC-303).
	Confirm(ctx context.Context, c Confirmation) (receipt string, err error)
	// Spent tells of each token of the triple whether it is held or spent under the
	// triple's crossing_id.
	Spent(ctx context.Context, triple mandate.Triple) (initiator, responder bool, err error)
}

// A Hold asks for one.
type Hold struct {
	mandate.Triple
	Effector string // principal of the effector
	Receipt  string // signed for the state held
	At       time.Time
}

// A Confirmation asks for one.
type Confirmation struct {
	mandate.Triple
	Effector string // principal of the effector
	Receipt  string // signed for the state spent
	At       time.Time
}
