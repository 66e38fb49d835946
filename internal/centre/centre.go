// Package centre is one party of a Governed Crossing: the initiator who proposes and
// the responder who seals (§5).
//
// A responder answers P1, P2 and P3 from durable rows, so that a crossing survives a
// crash between any two messages. crossing:seal walks one path and there is no other
// to a commitment (GC-018): look up the crossing_id, [crossing.Clear] the record, open
// an attempt, hold both Closeds at the Registration Authority, and commit: spend
// receipt, anchor, seal, stored answer and outbox row in one transaction. Where the RA
// shares this party's store, that transaction spends the Closeds as well; else the RA's
// confirm comes before it and is the instant of commitment. Two organisations with an RA
// each are held at both, and confirmed at the initiator's first (design R4). Success is
// reported once the Verification Authority has acknowledged the projection (design C7);
// until then the answer is SEAL_PENDING and the state sealing.
//
// An initiator stores each step before the message that depends on it leaves. Resuming
// a crossing takes up the first step whose outcome it lacks; the sealing bytes are sent
// again as they were, and the joint seal of any record sent for a crossing_id, returned
// or resolved, means committed (design C5).
//
// Refused: whatever package crossing refuses; every refusal is a row with name,
// crossing_id, time and the two spent flags (E-1). A call that spends or publishes and
// gets no answer is never a refusal; a Principal that does not resolve is one, since the
// check that needs it has then failed (§5.4, GC-304).
//
// Room: roles. Storage, registry, authority and counterparty come in as interfaces;
// clock and randomness by configuration.
package centre

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// Points at which [Config.Hook] is called, so that a crash can be provoked there.
const (
	PointBeforeAttempt     = "before-attempt"
	PointAfterAttempt      = "after-attempt"
	PointAfterHold         = "after-hold"
	PointAfterFirstConfirm = "after-first-confirm" // two RAs: the instant of commitment has passed
	PointAfterConfirm      = "after-confirm"       // an RA elsewhere
	PointBeforeCommit      = "before-commit"
	PointAfterSeal         = "after-seal"
	PointBeforeReply       = "before-reply"
	PointAfterP2           = "after-p2"
	PointAfterP3           = "after-p3"
	PointAfterReply        = "after-reply"
	PointBeforePublication = "before-publication"
)

// A Registrar is this party's Registration Authority, seen with its agent's credential.
type Registrar interface {
	// RegisterClosed registers the exact token and books its draw; the same token
	// again gets the same receipt. Refusals are *api.Error with a name of §3.7.4.
	RegisterClosed(ctx context.Context, token, counterpartyAgent string) (receipt string, err error)
}

// A Resolver finds the RA's record of a Principal, verified under a pinned RA key
// (design R6). It returns an error when there is none.
type Resolver interface {
	Principal(ctx context.Context, principalID string) (*mandate.Principal, error)
}

// A Spender is the Registration Authority of both Closeds in this party's own store, seen
// with its effector credential (design R3): its hold row and the seal are one transaction.
type Spender interface {
	// Hold consumes both Closeds by possession of their exact bytes; idempotent on
	// the triple. A refusal is *api.Error with a name of §3.7.4; any other error
	// has decided nothing.
	Hold(ctx context.Context, crossingID, initiatorClosed, responderClosed string) (receipt string, err error)
	// Confirmation signs the receipt that [Seals.Commit] stores if, and only if, the
	// hold row goes from held to spent in that transaction.
	Confirmation(ctx context.Context, t mandate.Triple) (receipt string, err error)
}

// A Publisher is the Verification Authority as a publisher sees it. Publish returns nil
// once the authority serves the projection; the same body again is acknowledged again.
type Publisher interface {
	Publish(ctx context.Context, body []byte) error
}

// A Verifier resolves at the pinned Verification Authority. The result is the bytes of
// crossing:verify.
type Verifier interface {
	Verify(ctx context.Context, req api.VerifyRequest) ([]byte, error)
}

// An Identity is who this party is.
type Identity struct {
	crossing.Profile
	Basis     mandate.GovernanceBasis
	Issuers   jose.KeySet  // the Principal's own keys: its Opens verify under them
	Agent     *jose.Signer // signs Closeds (T1)
	Publisher *jose.Signer // signs publications; a key of its own, so that no signature passes for another's
}

// Config makes a Centre. Fields without a comment on their zero value are required.
type Config struct {
	Store     Store
	Self      Identity
	Acts      commitment.Profile
	RAKeys    jose.KeySet // pinned; verify the registration receipts of P3
	Registrar Registrar
	Resolver  Resolver // of this party's own RA
	// Spender is this party's RA where it shares the Store; nil: it does not.
	Spender Spender
	// Effector is this party's RA wherever it is. It may be nil where there is a Spender and
	// no Peers; without either, this party cannot respond.
	Effector Effector
	// Peers are the RAs of organisations that have their own; nil: one RA serves all.
	Peers     Peers
	Publisher Publisher
	Verifier  Verifier
	VerifyURL func(sealID string) string // of the pinned Verification Authority
	// ClosedLifetime is how long a Closed of ours lives; 0 means 10 minutes (design M6).
	ClosedLifetime time.Duration
	// AckTimeout is how long a seal call waits for RA and VA; 0 means 5 s (design C7).
	AckTimeout time.Duration
	Now        func() time.Time // nil: time.Now
	Rand       io.Reader        // nil: crypto/rand
	Log        *slog.Logger     // nil: discarded
	Hook       func(point string)
}

// A Centre is one party. All methods may be called concurrently.
type Centre struct {
	cfg Config

	resumed chan struct{} // one place for each attempt that sweeps are at
	after   string        // crossing_id of the attempt that had its turn last; Run's alone

	mu      sync.Mutex // guards what follows
	flights map[string]*flight
	failed  map[string]bool // crossings whose last attempt could not be written (F6)
	late    []RefusalRow    // refusals given while nothing could be written
}

// New checks the configuration.
func New(cfg Config) (*Centre, error) {
	switch {
	case cfg.Store == nil, cfg.Registrar == nil, cfg.Resolver == nil, cfg.Publisher == nil, cfg.Verifier == nil, cfg.VerifyURL == nil:
		return nil, errors.New("centre: a required part of the configuration is missing")
	case cfg.Self.Agent == nil || cfg.Self.Publisher == nil || cfg.Self.PrincipalID == "" || cfg.Self.AgentID == "":
		return nil, errors.New("centre: the configuration names no principal, agent or key")
	case cfg.Spender != nil && cfg.Effector == nil && cfg.Peers != nil:
		return nil, errors.New("centre: halves of two registries, and no effector")
	}
	if cfg.ClosedLifetime == 0 {
		cfg.ClosedLifetime = 10 * time.Minute
	}
	if cfg.AckTimeout == 0 {
		cfg.AckTimeout = 5 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Hook == nil {
		cfg.Hook = func(string) {}
	}
	return &Centre{cfg: cfg, resumed: make(chan struct{}, maxResumed), flights: map[string]*flight{}, failed: map[string]bool{}}, nil
}

func (c *Centre) now() time.Time { return c.cfg.Now() }

// second is now in whole seconds, the grain of a record (AG-32).
func (c *Centre) second() time.Time { return c.cfg.Now().UTC().Truncate(time.Second) }

// Responds reports whether this party can seal.
func (c *Centre) Responds() bool { return c.cfg.Spender != nil || c.cfg.Effector != nil }
