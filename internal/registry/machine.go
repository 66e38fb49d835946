package registry

import "github.com/bindery/bindery/mandate"

// A Spending is the part of a triple's row that decides: held → spent | released (design
// R3). The zero Spending is no row.
type Spending struct {
	State mandate.SpendState
	// Refused is set for good when a confirm was refused as expired: the refusal was signed
	// as final, and the clock that said so may be another replica's, or be set back.
	Refused bool
}

// An Event is what a triple's row is asked to do.
type Event uint8

// Events. None of them carries a state or a time of the caller's: the row decides.
const (
	ToHold    Event = iota + 1
	ToConfirm       // the re-read of §5.4
	ToRelease       // by the effector that holds, or the operator
	ToLapse         // by the RA itself, once Facts.Due
	ToUndo          // by whoever may release, against the other RA's word that no seal can come
)

// Facts are what the transaction that decides reads beside the row, of the Closeds that
// this RA keeps.
type Facts struct {
	Consumed bool // one of them by another triple, or given back
	Revoked  bool // one of them, or its Open
	Expired  bool // one of them, on the clock of the RA that decides
	Due      bool // the time of an unconfirmed hold is over, on that clock
	First    bool // this RA keeps the initiator's Closed alone: of two RAs, it confirms first
	Returns  bool // release mode on
}

// On is what becomes of the row. An error is one of those that [Holds] lists, and may come
// with a changed row: what it refuses is refused for good. A row that does not change is
// answered with its stored receipt.
//
// What returns a draw is the step into state released and nothing else, and there is no
// way out of released: so a draw returns at most once, and nothing released is ever spent.
// What is spent is released at the RA that confirms first alone: once the second has
// confirmed, a seal may stand, and no later word of the first is taken back with it.
func (s Spending) On(e Event, f Facts) (Spending, error) {
	switch {
	case s.State == "" && e == ToHold:
		return s.hold(f)
	case s.State == "" && f.Consumed:
		return s, ErrConsumed
	case s.State == "":
		return s, ErrNotHeld
	case s.State == mandate.Held && e == ToConfirm:
		return s.confirm(f)
	case s.State == mandate.Held && s.returns(e, f), s.State == mandate.Spent && e == ToUndo && f.First && f.Returns:
		s.State = mandate.Released
	}
	return s, nil
}

func (s Spending) hold(f Facts) (Spending, error) {
	switch {
	case f.Consumed:
		return s, ErrConsumed
	case f.Revoked:
		return s, ErrRevoked
	case f.Expired:
		return s, ErrExpired
	}
	s.State = mandate.Held
	return s, nil
}

func (s Spending) confirm(f Facts) (Spending, error) {
	switch {
	case f.Revoked:
		return s, ErrRevoked
	case f.Expired, s.Refused:
		s.Refused = true
		return s, ErrExpired
	}
	s.State = mandate.Spent
	return s, nil
}

// returns reports whether the event gives back what is held.
func (s Spending) returns(e Event, f Facts) bool {
	return f.Returns && (e == ToRelease || e == ToUndo || e == ToLapse && f.Due)
}

// States of a Closed's row. Only a hold consumes; released is for good.
const (
	ClosedActive   = "active"
	ClosedConsumed = "consumed"
	ClosedReleased = "released"
)

// A ClosedRow is the part of a Closed's row that decides.
type ClosedRow struct {
	State   string // one of the Closed constants
	Revoked bool   // it, or its Open
	// Refused is set for good when a hold was refused as expired, like that of Spending.
	Refused bool
}

// With adds what the row of a further Closed says, of which a clock says whether it has
// expired. One that was given back once it had expired is refused as the expired one that
// it is.
func (f Facts) With(c ClosedRow, expired bool) Facts {
	expired = expired || c.Refused
	f.Expired = f.Expired || expired
	f.Revoked = f.Revoked || c.Revoked
	f.Consumed = f.Consumed || c.State == ClosedConsumed || c.State == ClosedReleased && !expired
	return f
}

// Lapses reports whether a Closed that nobody held gives its draw back: in release mode on,
// once it has expired on the RA's clock.
func (c ClosedRow) Lapses(expired, returns bool) bool {
	return c.State == ClosedActive && expired && returns
}
