package commitment

import "errors"

// maxMagnitude is 2^53−1: magnitudes travel as numbers of canonical JSON.
const maxMagnitude = 1<<53 - 1

// Magnitude is a count in the unit that the class fixes, 0 … 2^53−1 (M-1, GC-186). Zero means
// none; in class observe it means unlimited reads (M-5, GC-197).
type Magnitude int64

var (
	errMagnitude       = errors.New("commitment: magnitude outside 0 to 2^53-1")
	errNoClass         = errors.New("commitment: amount without a class")
	errCurrencyMissing = errors.New("commitment: financial amount without a currency")
	errCurrencyExtra   = errors.New("commitment: currency outside class financial")
)

// The refusals of [Amount.Narrows]. Their texts name the rule and no number (GC-323).
var (
	// ErrClassWidened: the child's class is above its parent's (L-2), or one of them is no class.
	ErrClassWidened = errors.New("commitment: child class above its parent's")
	// ErrCurrencyDiffers: the two are not in one currency (M-2), or a currency stands where none
	// may, or is missing.
	ErrCurrencyDiffers = errors.New("commitment: child currency differs from its parent's")
	// ErrMagnitudeWidened: the child's magnitude is above its parent's (M-3).
	ErrMagnitudeWidened = errors.New("commitment: child magnitude above its parent's")
)

// ParseMagnitude accepts 0 … 2^53−1.
func ParseMagnitude(n int64) (Magnitude, error) {
	if m := Magnitude(n); m.valid() {
		return m, nil
	}
	return 0, errMagnitude
}

func (m Magnitude) valid() bool { return 0 <= m && m <= maxMagnitude }

// Amount is a magnitude with what gives it its unit. Two amounts of different class, or of
// different currency, are never added and never compared by magnitude (GC-200).
type Amount struct {
	Class     Class
	Magnitude Magnitude
	Currency  Currency // set iff Class is Financial (M-2, AG-06)
}

// NewAmount refuses an invalid class, a magnitude out of range, class financial without a currency
// (GC-187, CM-6) and a currency beside any other class (AG-06). All four are malformed input.
func NewAmount(c Class, m Magnitude, cur Currency) (Amount, error) {
	switch {
	case !c.valid():
		return Amount{}, errNoClass
	case !m.valid():
		return Amount{}, errMagnitude
	case c != Financial && cur != "":
		return Amount{}, errCurrencyExtra
	case c == Financial && cur == "":
		return Amount{}, errCurrencyMissing
	case c == Financial && !cur.valid():
		return Amount{}, errCurrency
	}
	return Amount{c, m, cur}, nil
}

// Unit returns what the magnitude counts: "reads", "actions" (both reversible and irreversible),
// "minor units of EUR" (financial) or "instruments" (GC-181 to GC-185). An invalid class gives "".
func (a Amount) Unit() string {
	switch a.Class {
	case Observe:
		return "reads"
	case Reversible, Irreversible:
		return "actions"
	case Financial:
		return "minor units of " + string(a.Currency)
	case Binding:
		return "instruments"
	}
	return ""
}

// Narrows reports whether a mandate of amount child may be drawn from one of amount a. It returns
// nil or the first that fails of
//
//   - [ErrClassWidened]: child class ≤ parent class (L-2)
//   - [ErrCurrencyDiffers]: within class financial, one currency (M-2, GC-188)
//   - [ErrMagnitudeWidened]: within one class, child magnitude ≤ parent magnitude (M-3)
//
// A child of a narrower class counts in another unit, so its class alone bounds it (GC-189). In
// class observe a parent of 0 is unlimited, and a child of 0 under a bounded parent widens (AG-20).
//
// An amount that NewAmount would refuse narrows nothing and is narrowed by nothing.
func (a Amount) Narrows(child Amount) error {
	switch {
	case !a.Class.Permits(child.Class):
		return ErrClassWidened
	case !a.currencyFits(), !child.currencyFits(),
		a.Class == child.Class && a.Currency != child.Currency:
		return ErrCurrencyDiffers
	case !a.Magnitude.valid(), !child.Magnitude.valid():
		return ErrMagnitudeWidened
	case child.Class < a.Class:
		return nil
	case a.unlimited():
		return nil
	case child.unlimited(), child.Magnitude > a.Magnitude:
		return ErrMagnitudeWidened
	}
	return nil
}

func (a Amount) unlimited() bool { return a.Class == Observe && a.Magnitude == 0 }

func (a Amount) currencyFits() bool {
	if a.Class == Financial {
		return a.Currency.valid()
	}
	return a.Currency == ""
}
