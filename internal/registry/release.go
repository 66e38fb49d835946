package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// A ReleaseMode says whether what was drawn may return to its Open (design R3).
type ReleaseMode string

// Release modes.
const (
	// ReleaseNone: nothing ever returns (GC-196, GC-198). The default.
	ReleaseNone ReleaseMode = "none"
	// ReleaseOn: what a seal can no longer come of returns its draw, once (11-17).
	ReleaseOn ReleaseMode = "on"
)

// ParseReleaseMode reads a mode; "" is none.
func ParseReleaseMode(s string) (ReleaseMode, error) {
	switch m := ReleaseMode(s); m {
	case "", ReleaseNone:
		return ReleaseNone, nil
	case ReleaseOn:
		return m, nil
	}
	return "", errors.New(`registry: release mode is neither "none" nor "on"`)
}

const (
	// DefaultHoldTimeout is how long an unconfirmed hold stands in release mode on.
	DefaultHoldTimeout = 60 * time.Second
	// SweepLimit bounds what one Sweep takes on of holds, and of Closeds.
	SweepLimit = 64
	// RoleTimer is the role, in audit rows, of the RA's own sweep.
	RoleTimer = "timer"
)

// Points at which [Config.Hook] is called: around the transaction of a release, asked for or
// by the sweep.
const (
	PointBeforeRelease = "before-release"
	PointAfterRelease  = "after-release"
	PointBeforeLapse   = "before-lapse" // before a sweep gives back what nobody has held, if anything
)

// logReleased is the event of a draw that returned to its Open.
const logReleased = "mandate_unit_released"

// Peers knows the other Registration Authorities: those that keep the mandates of a
// counterparty (design R4).
type Peers interface {
	// PeerKeys returns the pinned keys of the RA that keeps the principal's mandates; none
	// where no other RA is known to.
	PeerKeys(ctx context.Context, principalID string) (jose.KeySet, error)
}

// Releases is the way back from a hold (design R3).
type Releases interface {
	// Find returns the row of a triple. ErrConsumed, ErrNotHeld: as in Confirm.
	Find(ctx context.Context, triple mandate.Triple) (HoldRow, error)
	// Kept tells which Closeds of the triple are registered here. ErrNotFound: neither.
	Kept(ctx context.Context, triple mandate.Triple) (mandate.Half, error)
	// Release asks the row by Spending.On. Where that moves it to state released, it stores
	// v.Receipt and returns the draw of every Closed that is kept here to its Open; first is
	// true. Else it writes nothing and returns the row's stored receipt: the held one, or the
	// final one. ErrConsumed, ErrNotHeld, ErrForeign, ErrHalf: as in Confirm.
	Release(ctx context.Context, v Releasing) (receipt string, first bool, err error)
	// Due returns at most limit rows in state held whose time is over, the earliest first.
	Due(ctx context.Context, at time.Time, limit int) ([]HoldRow, error)
	// Lapse marks at most limit Closeds that nobody has held and that have expired, and
	// returns their draws.
	Lapse(ctx context.Context, at time.Time, limit int) (lapsed int, err error)
}

// A HoldRow is what the RA knows of a triple.
type HoldRow struct {
	mandate.Triple
	Spending
	Half     mandate.Half
	Effector string // principal of the effector that holds
	Receipt  string // the latest
	// Peer is the principal of the Closed that another RA keeps, as far as its agent is
	// registered here. Due leaves it out.
	Peer string
}

// A Releasing asks for a release.
type Releasing struct {
	mandate.Triple
	Half     mandate.Half
	Event    Event  // ToRelease, ToLapse or ToUndo
	Returns  bool   // release mode on
	Effector string // who must hold it; "" for anyone
	By       Actor  // for the audit row
	Receipt  string // signed for the state released
	Refusal  string // for ToUndo: the other RA's word, which the row keeps
	At       time.Time
}

// Release gives back what is held under a triple and returns the signed receipt with state
// released; the Closeds are dead from then on (design R3). The effector that holds may ask,
// and the operator. A triple that is decided gets its stored receipt, and in release mode
// none every triple gets it: the answer is the state as it is. What is spent is released in
// one case alone: in release mode on, at the initiator's RA, which confirms first, against the
// word of the RA that keeps the other Closed that no seal can come of this triple (design R4). That word must be signed by
// a key that is pinned for the other Closed's principal.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed, also for a word that is not the other RA's
// about this triple; MAGNITUDE_EXHAUSTED when the triple is not held by this effector.
func (r *Registry) Release(ctx context.Context, actor Actor, req api.Release) (receipt string, err error) {
	defer r.observe(callRelease, &err)
	if err := actor.require(api.RoleEffector, api.RoleOperator); err != nil {
		return "", err
	}
	if err := validTriple(req.Triple); err != nil {
		return "", err
	}
	row, err := r.cfg.Store.Find(ctx, req.Triple)
	if err != nil {
		return "", r.refuse(ctx, req.Triple, err)
	}
	v := Releasing{Triple: req.Triple, Half: row.Half, Event: ToRelease, Returns: r.returns(), By: actor, At: r.now()}
	if actor.Role == api.RoleEffector {
		v.Effector = actor.PrincipalID
	}
	if v.Effector != "" && v.Effector != row.Effector {
		return "", r.refuse(ctx, req.Triple, ErrForeign)
	}
	if req.Refusal != "" {
		if err := r.undoes(ctx, row, req.Refusal); err != nil {
			return "", err
		}
		v.Event, v.Refusal = ToUndo, req.Refusal
	}
	return r.release(ctx, row, v)
}

func (r *Registry) returns() bool { return r.cfg.Release == ReleaseOn }

// release signs, unless the row as read shows that nothing will change, and asks the store,
// which decides on the row as it stands then.
func (r *Registry) release(ctx context.Context, row HoldRow, v Releasing) (receipt string, err error) {
	next, err := row.On(v.Event, Facts{Due: v.Event == ToLapse, First: row.Half == mandate.InitiatorHalf, Returns: v.Returns})
	if err != nil || next == row.Spending {
		return row.Receipt, err
	}
	v.Receipt, err = mandate.SpendReceipt{
		Triple: v.Triple, Half: v.Half, Effector: row.Effector, State: mandate.Released, At: v.At,
	}.Sign(r.cfg.Signer)
	if err != nil {
		return "", fmt.Errorf("registry: receipt: %w", err)
	}
	r.cfg.Hook(PointBeforeRelease)
	receipt, first, err := r.cfg.Store.Release(ctx, v)
	if err != nil {
		return "", r.refuse(ctx, v.Triple, err)
	}
	r.cfg.Hook(PointAfterRelease)
	if first {
		r.log.InfoContext(ctx, logReleased, "role", v.By.Role, "effector", row.Effector, "crossing_id", v.CrossingID)
	}
	return receipt, nil
}

// undoes checks the other RA's word.
func (r *Registry) undoes(ctx context.Context, row HoldRow, word string) error {
	fault := &api.Error{Code: api.CodeMalformed, Pointer: "/refusal"}
	other, half := row.Half.Other()
	if !half || r.cfg.Peers == nil || row.Peer == "" {
		return fault
	}
	keys, err := r.cfg.Peers.PeerKeys(ctx, row.Peer)
	if err != nil {
		return fmt.Errorf("registry: peers: %w", err)
	}
	if _, own := keys.Find(r.cfg.Signer.Key().ID); own {
		return fault // this RA's word about a Closed that it does not keep is none
	}
	if refusal, err := mandate.ParseFinalRefusal(word, keys); err == nil {
		if refusal.Triple == row.Triple && refusal.Half == other {
			return nil
		}
		return fault
	}
	receipt, err := mandate.ParseSpendReceipt(word, keys)
	if err == nil && receipt.Triple == row.Triple && receipt.Half == other && receipt.State == mandate.Released {
		return nil
	}
	return fault
}

// Sweep gives back, in release mode on, what nobody confirmed in time and what nobody held
// before it expired: of each at most [SweepLimit]. serve runs it every second.
func (r *Registry) Sweep(ctx context.Context) error {
	if !r.returns() {
		return nil
	}
	now := r.now()
	due, err := r.cfg.Store.Due(ctx, now, SweepLimit)
	if err != nil {
		return fmt.Errorf("registry: sweep: %w", err)
	}
	faults := make([]error, len(due))
	var all sync.WaitGroup
	for i, row := range due { // at once: the store groups them into few transactions
		all.Go(func() {
			_, faults[i] = r.release(ctx, row, Releasing{
				Triple: row.Triple, Half: row.Half, Event: ToLapse, Returns: true,
				By: Actor{Role: RoleTimer, PrincipalID: row.Effector}, At: now,
			})
		})
	}
	all.Wait()
	r.cfg.Hook(PointBeforeLapse)
	lapsed, err := r.cfg.Store.Lapse(ctx, now, SweepLimit)
	if lapsed > 0 {
		r.log.InfoContext(ctx, logReleased, "role", RoleTimer, "lapsed", lapsed)
	}
	if err = errors.Join(append(faults, err)...); err != nil {
		return fmt.Errorf("registry: sweep: %w", err)
	}
	return nil
}

// Run sweeps until ctx ends.
func (r *Registry) Run(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := r.Sweep(ctx); err != nil && ctx.Err() == nil {
			r.log.WarnContext(ctx, "a sweep of the registry waits", "reason", err.Error())
		}
	}
}
