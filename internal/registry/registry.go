// Package registry is the Registration Authority: it knows the principals, registers
// their mandates, books what is drawn and consumed of an Open, and spends Closeds.
//
// It implements the RA's half of the Governed Crossing specification: §3.7.2's effector
// rules (GC-072 … GC-082), draws, units and spending (M-4, M-4a, M-4b, GC-190 … GC-199),
// the re-read of §5.4 (GC-301, GC-302) and the resolution of issuers (§4.1.5), by the
// decisions R1 … R6, M3 … M6 and S3.
//
// A mandate is known by digests of its exact bytes and by nothing else. A Closed goes
//
//	registered ──hold──► held under a triple ──confirm──► spent
//	    └─ revoked, or expired ─┘ and then never spent
//	    └─ lapse ──► released ◄── release ─┘ and ◄── against another RA's word ─┘
//
// where the second line of ways back is there in release mode on alone. What becomes of a
// row is one pure function, [Spending.On], which the store's transaction calls and a model
// explores; a compare-and-swap on the row carries it out.
//
// A triple is the crossing and the token_sha256 of both Closeds. Hold consumes both, in
// one step; confirm reads both again in the step that spends them. Both are idempotent
// on the triple for the effector that holds, and answer with a signed receipt, whose
// payload is for example
//
//	{"at":1786000000,"crossing_id":"7f3c…","effector":"urn:anax:principal:b",
//	 "initiator_token_sha256":"<64 hex>","responder_token_sha256":"<64 hex>","state":"held"}
//
// An effector may also consume units of an Open, one act at a time and before the act:
// draws and units share the Open's one counter (AG-21). An Open that permits counterparties
// is shown to them at P1, so that holding it proves nothing there: only the effector of
// its own principal consumes units of it. One that permits nobody is for whoever holds its
// registered bytes.
//
// A service issuer registers Opens for the subjects on its list, which the operator
// keeps. No effector spends a mandate of such a subject: SERVICE_HELD_MANDATE, before
// anything else is asked of it (§3.7.2 rule 2, AG-24).
//
// Where two parties have an RA each, each RA keeps one Closed of the triple: hold, confirm
// and release work on that half, the statements say which it is (mandate.Half), and the
// effector of the responder's principal holds at both (R4).
//
// In release mode none, the default, nothing that was drawn, held or consumed ever returns
// (GC-196, GC-198). In mode on a draw returns to its Open, once, when no seal can come of its
// Closed any more (11-17): a hold is released by its effector, by the operator, or by Sweep
// when nobody has confirmed it in HoldTimeout or before a Closed expires; what nobody held
// lapses when it expires. Released is for good. What is spent is released in one case: by the
// first of two RAs, against the signed word of the second. Units never return. A return
// is logged as mandate_unit_released, a loss that the RA learns of as mandate_unit_burned
// (GC-199).
//
// Refusals are [*api.Error] values with a name of §3.7.4 or an api.Code constant. One
// that no later call can undo carries a signed final refusal of the triple: a mandate
// that is revoked, expired on the RA's clock, consumed under another triple, or no pair
// with the other. Refused, among more: bytes that were never registered, which cannot
// be told from bytes that were changed (GC-075); a high-S signature (M3); a draw above
// what is left (GC-192); a credential on a route of another role (GC-080 … GC-082). A
// suspended principal has no credential and no key, and no mandate of its is registered,
// held or consumed until it is reinstated. A key, a human or a principal may also be
// revoked for good, and with it what it has signed. Whether a mandate is active is told by a
// signed status and, of Opens, by a status list, from the same rows (R5). Any other error is a fault of the store or the
// signer: nothing was decided.
//
// A key signs in its own time (R6). What is registered must be signed by a key that may
// sign at the token's iat and now: a retired key cannot date anything back. What was
// registered stands by its iat; retiring a key ends nothing that it has signed, hold and
// confirm do not ask for it, and revoking it does. A human's key signs nothing before the
// operator has approved it. A principal's domain is shown in its record when the document
// https://DOMAIN/.well-known/jwt-vc-issuer lists all issuer keys that are not retired.
//
// Every change has its row in the audit log, in the transaction that makes it (design R2).
// The rows are a chain (package audit) whose head the RA signs, once it has read again that
// the rows go on from what it signed before.
//
// An organisation with an RA of its own is entered as a counterpart, by a code (EnrolPeer):
// its effector holds and confirms here against mandates that name its agents, and it has
// nothing else. Each of the two RAs then keeps its own half of a triple (design R4).
//
// Expiry is judged on Config.Now. What a hold or a confirm was refused for as expired stays
// refused, whatever another clock says: that refusal is signed as final. Elsewhere an
// operator who sets that clock back lets an expired mandate live again.
//
// Room: roles. Writes through its Store, reads the clock of its Config, draws enrolment
// codes and places in status lists from crypto/rand, logs. No network but through the
// Domains of its Config.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/limit"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	// DefaultStatusLifetime is how long a signed status holds.
	DefaultStatusLifetime = 60 * time.Second
	// PrincipalLifetime is how long a signed principal record may be kept.
	PrincipalLifetime = 5 * time.Minute
	// DomainLifetime is how long a record shows a domain after it was seen to publish the
	// principal's keys.
	DomainLifetime = 48 * time.Hour
	// RenewDomainsAfter is how long after that it is read again.
	RenewDomainsAfter = 24 * time.Hour
	// CodeLifetime is how long an enrolment code may be used (design R1).
	CodeLifetime = 24 * time.Hour
)

// A Config holds what a Registry works with.
type Config struct {
	Store   Store              // required
	Signer  *jose.Signer       // required: the RA's key
	Now     func() time.Time   // required
	Profile commitment.Profile // acts that a Closed may name; commitment.Builtin if it has none
	// URL is what this RA's public listener is reached by, without a final slash: where its
	// status lists are served. "": it has none.
	URL string
	// StatusLifetime bounds the use of a signed status; 0 is DefaultStatusLifetime.
	StatusLifetime time.Duration
	VAURL          string // where the operator's Verification Authority answers; told to those who enrol
	Host           *Host  // who runs it and crosses with organisations that have an RA of their own; nil: nobody
	// Release says whether what no seal can come of returns its draw; "" is ReleaseNone.
	Release ReleaseMode
	// HoldTimeout is when an unconfirmed hold lapses, in release mode on; 0 is DefaultHoldTimeout.
	HoldTimeout time.Duration
	Peers       Peers        // the RAs of counterparties; nil: there are none
	Domains     Domains      // reads what a principal's domain publishes; nil: no domain can be proved
	RateLimit   Rate         // of requests without a credential, by remote address
	Log         *slog.Logger // nil: no log. Never sees a token, a limit or a clearance_id
	Observer    Observer     // nil: nobody is told
	// Hook is called at the points of a release, so that a crash can be provoked there; nil:
	// nothing is.
	Hook func(point string)
}

// A Registry is a Registration Authority. Its methods may be called concurrently.
type Registry struct {
	cfg     Config
	log     *slog.Logger
	limiter limiter
	proving limiter // of domains, by principal
	lists   lists
}

// New checks cfg and returns the Registry.
func New(cfg Config) (*Registry, error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("registry: no store")
	case cfg.Signer == nil:
		return nil, errors.New("registry: no signer")
	case cfg.Now == nil:
		return nil, errors.New("registry: no clock")
	case cfg.StatusLifetime < 0:
		return nil, errors.New("registry: negative status lifetime")
	}
	if err := cfg.RateLimit.Check(); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	mode, err := ParseReleaseMode(string(cfg.Release))
	switch {
	case err != nil:
		return nil, err
	case cfg.HoldTimeout < 0:
		return nil, errors.New("registry: negative hold timeout")
	}
	cfg.Release = mode
	cfg.HoldTimeout = cmp.Or(cfg.HoldTimeout, DefaultHoldTimeout)
	if cfg.StatusLifetime == 0 {
		cfg.StatusLifetime = DefaultStatusLifetime
	}
	if len(cfg.Profile.Acts()) == 0 {
		cfg.Profile = commitment.Builtin()
	}
	if cfg.Hook == nil {
		cfg.Hook = func(string) {}
	}
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	proving := limit.Rate{PerSecond: 1, Burst: 5} // of one principal that sends the RA to a domain
	return &Registry{cfg: cfg, log: log, limiter: limiter{buckets: limit.New(cfg.RateLimit)}, proving: limiter{buckets: limit.New(proving)}}, nil
}

// JWKS is the RA's public key as a JWK Set (GC-207).
func (r *Registry) JWKS() []byte { return jose.NewKeySet(r.cfg.Signer.Key()).JWKS() }

// An Actor is whom a credential speaks for. One credential has one role (design R1).
type Actor struct {
	Role        string // an api.Role constant
	PrincipalID string
	AgentID     string // for api.RoleAgent alone
	// Issuer is the hash of the credential, for api.RoleIssuer alone: it names the list of
	// subjects that the issuer may issue for.
	Issuer jcs.Hex256
}

// Authenticate finds whom credential speaks for. No credential, an unknown one, a
// withdrawn one and one of a suspended principal look alike: api.CodeUnauthenticated.
func (r *Registry) Authenticate(ctx context.Context, credential string) (Actor, error) {
	if credential == "" {
		return Actor{}, &api.Error{Code: api.CodeUnauthenticated}
	}
	actor, err := r.cfg.Store.Actor(ctx, api.CredentialHash(credential))
	if errors.Is(err, ErrNotFound) {
		return Actor{}, &api.Error{Code: api.CodeUnauthenticated}
	}
	if err != nil {
		return Actor{}, fmt.Errorf("registry: %w", err)
	}
	return actor, nil
}

// require refuses an actor of another role (§3.7.2 rule 3, GC-080 … GC-082).
func (a Actor) require(roles ...string) error {
	for _, role := range roles {
		if a.Role == role {
			return nil
		}
	}
	return refusal(crossing.RoleMismatch)
}

func (r *Registry) now() time.Time { return r.cfg.Now().UTC() }

func refusal(name crossing.Name) error { return &api.Error{Code: string(name)} }

// fromFault gives a fault of package mandate its name of §3.7.4.
func fromFault(err error) error {
	fault, ok := errors.AsType[*mandate.Fault](err)
	if !ok {
		return refusal(crossing.MandateInvalid)
	}
	switch fault.Kind {
	case mandate.Malformed:
		return refusal(crossing.MalformedMandate)
	case mandate.Expired:
		return refusal(crossing.MandateExpired)
	}
	return refusal(crossing.MandateInvalid)
}
