package commitment

import "errors"

// Class is a step of the commitment ladder (§4.1.3, GC-174):
// Observe < Reversible < Irreversible < Financial < Binding. The zero value is no class; it
// permits nothing and is permitted nowhere.
type Class uint8

// The five classes, in the order of the ladder.
const (
	Observe Class = iota + 1
	Reversible
	Irreversible
	Financial
	Binding
)

var errClass = errors.New("commitment: unknown class")

// ParseClass accepts the five lower-case spellings and nothing else (L-5, GC-179). A refusal is
// malformed input, not a class that is too high.
func ParseClass(s string) (Class, error) {
	switch s {
	case "observe":
		return Observe, nil
	case "reversible":
		return Reversible, nil
	case "irreversible":
		return Irreversible, nil
	case "financial":
		return Financial, nil
	case "binding":
		return Binding, nil
	}
	return 0, errClass
}

// String returns the spelling that ParseClass accepts, or "invalid".
func (c Class) String() string {
	switch c {
	case Observe:
		return "observe"
	case Reversible:
		return "reversible"
	case Irreversible:
		return "irreversible"
	case Financial:
		return "financial"
	case Binding:
		return "binding"
	}
	return "invalid"
}

// Permits reports whether a mandate of class c covers an action of class action, that is, whether
// action ≤ c on the ladder and both are classes (L-1, GC-175). The same rule bounds a delegated
// mandate by its parent (L-2, GC-176).
func (c Class) Permits(action Class) bool {
	return c.valid() && action.valid() && action <= c
}

func (c Class) valid() bool { return Observe <= c && c <= Binding }
