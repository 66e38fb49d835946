package registry

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// What a Store answers when it does not do what it was asked. It may wrap them.
var (
	ErrNotFound     = errors.New("registry: not found")
	ErrExists       = errors.New("registry: exists already with other contents")
	ErrCode         = errors.New("registry: enrolment code unknown, used or expired")
	ErrCodeTerms    = errors.New("registry: enrolment code for another use or principal")
	ErrUnpinned     = errors.New("registry: the pin of the principal's registry has ended")
	ErrExhausted    = errors.New("registry: draw exceeds what is left of the open mandate")
	ErrRevoked      = errors.New("registry: mandate revoked")
	ErrExpired      = errors.New("registry: mandate expired")
	ErrMismatch     = errors.New("registry: mandates are not a pair in this crossing")
	ErrNotResponder = errors.New("registry: effector is not of the responder's principal")
	ErrConsumed     = errors.New("registry: mandate consumed under another triple")
	ErrForeign      = errors.New("registry: triple held by another effector")
	ErrNotHeld      = errors.New("registry: triple not held")
	ErrServiceHeld  = errors.New("registry: mandate's subject is a registered issuer's")
	ErrSuspended    = errors.New("registry: principal suspended")
	ErrNotOwn       = errors.New("registry: effector is not of the mandate's principal")
	ErrClass        = errors.New("registry: class above the mandate's")
	ErrCurrency     = errors.New("registry: currency is not the mandate's")
	ErrOperator     = errors.New("registry: principal has an operator's credential")
	ErrListed       = errors.New("registry: status list full, or index taken")
	ErrFull         = errors.New("registry: as many as one may have")
	ErrHalf         = errors.New("registry: the Closeds of the triple are kept otherwise")
)

// A Store keeps a Registration Authority's state. Implementations must pass
// storetest.Registry.
//
// Every method that writes is one serializable transaction, also across processes and
// restarts, and writes its audit row in it; when it returns nil, all of it is durable.
// When it returns one of the errors above, nothing was written, but for what Hold and
// Confirm say of ErrExpired. After any other error
// the write may stand or not, and asking again finds out. Stored times have a
// resolution of one millisecond. All methods may be called concurrently.
type Store interface {
	Directory
	Keyring
	Issuers
	Mandates
	Units
	Holds
	Releases
	Journal
	Revocations
	StatusLists
	Ledger
	PeerRegistries
}

// A Directory keeps principals and what belongs to them.
type Directory interface {
	// AddCode stores an enrolment code. ErrExists.
	AddCode(ctx context.Context, c Code) error
	// Enrol uses the code and stores the principal with its keys and credentials. The
	// code's first request stores e.Answer and gets it; the same request again, even
	// when the code has expired since, gets the stored answer. ErrCode: unknown,
	// expired, or used by another request. ErrCodeTerms: it is good, but not for this: with
	// a Peer its kind must permit an RA, without one a party, and its principal, if it names
	// one, must be e.Principal. ErrExists: a principal, agent, key or credential is there
	// already, or another RA speaks for the principal at the Verification Authority of this
	// store. After both the code stays unused.
	Enrol(ctx context.Context, e Enrolment) (answer []byte, err error)
	// Actor finds whom a credential speaks for. ErrNotFound: unknown, withdrawn, or of
	// a principal that is not active.
	Actor(ctx context.Context, credential jcs.Hex256) (Actor, error)
	// Principal returns what is registered, without keys that are revoked, and with At and
	// Expires zero. ErrNotFound: also for a counterpart, for whom a Peer speaks.
	Principal(ctx context.Context, principalID string) (mandate.Principal, error)
	// Add stores what an Addition lists and does not stand there yet; if nothing is new,
	// it writes nothing. ErrNotFound: no such principal, or a credential's agent is not
	// its. ErrExists: a key, agent or credential is there with another use or owner, or a
	// credential was withdrawn. ErrFull: the principal's record would become longer than
	// it may be.
	Add(ctx context.Context, a Addition) error
	// SetStatus suspends or reinstates a principal. ErrNotFound. ErrRevoked: it would
	// reinstate one that is revoked.
	SetStatus(ctx context.Context, s StatusChange) error
	// Withdraw ends a credential for ever. ErrNotFound: unknown, or not of w.PrincipalID,
	// or an operator's where w.PrincipalID is not "".
	Withdraw(ctx context.Context, w Withdrawal) error
}

// A Code is a one-time enrolment code as it is stored.
type Code struct {
	Secret jcs.Hex256 // hash of its secret
	CodeTerms
	At, Expires time.Time
}

// An Enrolment is all that one enrolment writes.
type Enrolment struct {
	Code        jcs.Hex256 // hash of the code's secret; "" for the authority's own principal
	Request     jcs.Hex256 // hash of the request's bytes
	Answer      []byte
	At          time.Time
	Principal   mandate.Principal
	Credentials []api.Credential
	Requests    []mandate.Human // wait for an operator; see Keyring
	Peer        *Peer           // the RA that speaks for the principal, if it is a counterpart's; nil: this one
}

// An Addition is what a principal gets in addition to its Enrolment.
type Addition struct {
	PrincipalID string
	Keys        []jose.Key
	Agents      []mandate.Agent
	Humans      []mandate.Human
	Credentials []api.Credential
	Requests    []mandate.Human // wait for an operator; see Keyring
	By          Actor           // for the audit row
	At          time.Time
}

// What one principal may have in all. Its record lists keys, agents and humans, and with
// the longest names it is still one that package mandate signs.
const (
	MaxKeys        = 32
	MaxAgents      = 128
	MaxHumans      = 128
	MaxCredentials = 1024 // withdrawn ones included
	MaxSubjects    = 1024 // of one issuer
)

// A StatusChange suspends a principal or reinstates it.
type StatusChange struct {
	PrincipalID string
	Active      bool
	By          Actor // for the audit row
	At          time.Time
}

// A Withdrawal ends a credential.
type Withdrawal struct {
	Credential  jcs.Hex256
	PrincipalID string // whose credential it must be; "" for anyone's
	By          Actor  // for the audit row
	At          time.Time
}

// Issuers keeps which subjects service issuers may issue for (§3.7.2 rule 2, AG-24). A
// subject is never taken off again.
type Issuers interface {
	// AddIssuer makes i.Credential an issuer's, unless it is that already, and lists the
	// subjects that are not listed yet; if nothing is new, it writes nothing. ErrNotFound:
	// no such principal. ErrExists: the credential has another role or owner, or was
	// withdrawn. ErrFull: the issuer would have more than MaxSubjects.
	AddIssuer(ctx context.Context, i Issuer) error
	// MayIssue reports whether the credential is an issuer's that is not withdrawn, and
	// the subject on its list.
	MayIssue(ctx context.Context, credential jcs.Hex256, subject string) (bool, error)
}

// An Issuer is a service issuer with subjects that it may issue for.
type Issuer struct {
	PrincipalID string
	Credential  jcs.Hex256
	Subjects    []string
	By          Actor // for the audit row
	At          time.Time
}

// Mandates keeps what is registered.
type Mandates interface {
	// AddOpen stores an Open. An Open with the same TokenHash and PrincipalID is the
	// same Open: its stored receipt is returned. ErrExists: one of the three hashes is
	// known otherwise. ErrRevoked: its principal, or one of its two keys. ErrSuspended: the
	// principal. ErrListed: its place in the status list cannot be had.
	AddOpen(ctx context.Context, o Open) (receipt string, err error)
	// FindOpen returns an Open by its open_mandate_hash. ErrNotFound.
	FindOpen(ctx context.Context, hash jcs.Hex256) (Open, error)
	// AddClosed stores a Closed and books its Draw on the Open, or does neither. A
	// Closed with the same TokenHash, AgentID and CounterpartyAgent is the same Closed:
	// its stored receipt is returned and nothing is booked. ErrExists: one of the two
	// hashes is known otherwise. ErrNotFound: no such Open. ErrRevoked, ErrExpired: the
	// Open. ErrExhausted: drawn + Draw would exceed the Open's limit; the limit 0 of an
	// Open of class observe is no limit (M-5). ErrSuspended: the principal.
	AddClosed(ctx context.Context, c Closed) (receipt string, err error)
	// FindClosed returns a Closed by its token_sha256. ErrNotFound.
	FindClosed(ctx context.Context, hash jcs.Hex256) (Closed, error)
	// Revoke revokes the mandate that either of its hashes names. What was revoked
	// keeps its first time. ErrNotFound: unknown, or not of r.PrincipalID.
	Revoke(ctx context.Context, r Revocation) (before string, at time.Time, err error)
	// Active returns whose the mandate is that either of its hashes names, if it is registered,
	// not revoked, not expired at the given time, its principal not suspended and, if a
	// Closed, not consumed and its Open not revoked. "": it is not, or it is unknown.
	Active(ctx context.Context, hash jcs.Hex256, at time.Time) (principalID string, err error)
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

	// What follows is not read back.
	SingleParty     bool   // it permits no counterparty, so it is never shown to one (CL-3)
	By              Actor  // who registers it, for the audit row
	SignerKey       string // thumbprint of the issuer key that has signed it
	ConfirmationKey string // thumbprint of its cnf key; "" without one
	StatusList      string // of the list in which it has an entry; "" without one
	StatusIndex     int64  // of that entry
}

// A Closed is a registered Closed.
type Closed struct {
	TokenHash, SignedHash, OpenHash         jcs.Hex256
	PrincipalID, AgentID, CounterpartyAgent string
	ChainID                                 jcs.Hex256
	CrossingID                              string
	Limit                                   commitment.Magnitude // spent whole by a hold (M-4b)
	Draw                                    commitment.Magnitude // what AddClosed books and a release gives back; not read back
	ExpiresAt                               time.Time
	Receipt                                 string
	At                                      time.Time
	SignerKey                               string // thumbprint of the key that has signed it; not read back
}

// A Revocation asks for one.
type Revocation struct {
	Hash        jcs.Hex256
	PrincipalID string // whose mandate it must be; "" for anyone's
	By          Actor  // for the audit row
	At          time.Time
}

// Units keeps what is consumed of Opens without a counterparty (AG-21). Units and draws
// share the one counter of an Open.
type Units interface {
	// Consume adds c.Units to what is drawn from the Open that c.Token is the SHA-256 of,
	// and stores c.Answer, or does neither. The same c.Request under this RequestID of
	// this Effector gets its stored answer, whatever has happened since. Else, asked in
	// this order: ErrExists, the RequestID is another request's; ErrNotFound;
	// ErrServiceHeld, the Open's agent is on an issuer's list; ErrNotOwn, the Open
	// permits counterparties and the effector is not of its principal; ErrExpired, at c.At;
	// ErrClass; ErrCurrency; ErrRevoked; ErrSuspended, the Open's principal or the
	// effector's; ErrExhausted, drawn + Units would exceed the limit; the limit 0 of an
	// Open of class observe is no limit (M-5).
	Consume(ctx context.Context, c Consumption) (answer []byte, err error)
	// Burn marks units as lost to an act that failed, and returns nothing to the Open.
	// first is false when they were marked before. ErrNotFound: this effector has
	// consumed nothing under this RequestID.
	Burn(ctx context.Context, b Burn) (units commitment.Magnitude, first bool, err error)
}

// A Consumption asks for units of an Open.
type Consumption struct {
	Effector  string     // principal of the effector
	RequestID string     // the effector's name for the attempt
	Request   jcs.Hex256 // hash of the request's bytes
	Token     jcs.Hex256 // SHA-256 of the presented bytes
	Class     commitment.Class
	Units     commitment.Magnitude // at least 1
	Currency  commitment.Currency
	Answer    []byte
	At        time.Time
}

// A Burn reports units as lost.
type Burn struct {
	Effector  string
	RequestID string
	At        time.Time
}

// Journal is the audit rows, which the other methods write.
type Journal interface {
	// AuditRows returns at most limit rows with an ID below before, the highest first.
	AuditRows(ctx context.Context, before int64, limit int) ([]api.AuditRow, error)
}

// Holds keeps what is consumed (design R3). A triple's row decides; no word of an
// effector does.
type Holds interface {
	// Hold consumes the Closeds of h.Half and stores h.Receipt, or does neither. A triple that
	// h.Effector holds already, or has confirmed, gets its stored held receipt, whatever
	// has happened since; one that was released gets its final receipt. Else, asked in
	// this order: ErrNotFound, a token is unknown; ErrForeign, the triple is another
	// effector's; ErrHalf, it is held with another half; ErrServiceHeld, the agent of one is
	// on an issuer's list; ErrConsumed, a token is consumed, or was given back; ErrMismatch,
	// the two do not name each other, the chain and the crossing, or the one does not name
	// the crossing; ErrHalf, the one does not name h.CounterpartyAgent; ErrNotResponder, h.Effector is not the responder's
	// principal: of the responder's Closed, or, where that is kept elsewhere, the one that
	// its agent is registered for; ErrHalf, the other Closed is kept here, too; ErrRevoked, a
	// Closed or its Open; ErrExpired, at h.At, which the Closed's row keeps, so that no other
	// clock holds it; ErrSuspended, the principal of one.
	Hold(ctx context.Context, h Hold) (receipt string, err error)
	// Confirm turns a held triple spent and stores c.Receipt. A triple that is decided
	// gets its stored final receipt. Else: ErrConsumed, a token is consumed under another
	// triple; ErrNotHeld; ErrForeign; ErrHalf; ErrRevoked and ErrExpired as in Hold. The row
	// keeps that it was refused as expired, so that no other clock confirms it, and is marked
	// as burned at the first of these two, with an audit row. No mandate's row is written
	// (GC-303).
	Confirm(ctx context.Context, c Confirmation) (receipt string, err error)
	// Spent tells of each token of the triple whether it is held or spent under the
	// triple's crossing_id; false of a token that is not kept here.
	Spent(ctx context.Context, triple mandate.Triple) (initiator, responder bool, err error)
}

// A Hold asks for one.
type Hold struct {
	mandate.Triple
	Half     mandate.Half
	Effector string // principal of the effector
	Receipt  string // signed for the state held
	At       time.Time
	// Lapses is when the RA may release the hold if nobody has confirmed it; zero, and after
	// it, when the earlier of its Closeds expires.
	Lapses            time.Time
	CounterpartyAgent string // for a half: agent of the Closed that another RA keeps
}

// A Confirmation asks for one.
type Confirmation struct {
	mandate.Triple
	Half     mandate.Half
	Effector string // principal of the effector
	Receipt  string // signed for the state spent
	At       time.Time
}
