package mandate

import (
	"slices"

	"github.com/bindery/bindery/jcs"
)

const (
	wildcard          = "*"
	maxCounterparties = 1000
	maxActs           = 256
)

// Counterparties is the claim permitted_counterparties of an Open (GC-162, AG-17): an
// allowlist of Principals, or everybody, said in so many words. The zero value is
// silence, and silence permits nobody.
type Counterparties struct {
	stated bool
	any    bool
	ids    []string
}

// AnyCounterparty returns the explicit wildcard, the string "*".
func AnyCounterparty() Counterparties { return Counterparties{stated: true, any: true} }

// OnlyCounterparties returns the allowlist of the given Principals. With none given it
// permits nobody.
func OnlyCounterparties(principalIDs ...string) Counterparties {
	return Counterparties{stated: true, ids: slices.Clone(principalIDs)}
}

// IsSilent reports whether the claim is absent. A verifier answers silence with
// COUNTERPARTY_NOT_PERMITTED (CL-3).
func (c Counterparties) IsSilent() bool { return !c.stated }

// Any reports whether the claim is the wildcard, which only the string "*" is.
func (c Counterparties) Any() bool { return c.any }

// Permits reports whether the Principal is permitted. Identifiers are compared byte for
// byte, and a "*" in a list is not a wildcard and names nobody.
func (c Counterparties) Permits(principalID string) bool {
	if !ValidPrincipalID(principalID) {
		return false
	}
	return c.any || slices.Contains(c.ids, principalID)
}

// List returns the allowlist, in the order of the claim. The slice is the caller's.
func (c Counterparties) List() []string { return slices.Clone(c.ids) }

func (c Counterparties) claim() []byte {
	switch {
	case !c.stated:
		return nil
	case c.any:
		return jcs.String(wildcard)
	}
	return stringArray(c.ids)
}

func readCounterparties(v jcs.Value) (Counterparties, error) {
	switch v.Type() {
	case jcs.Absent:
		return Counterparties{}, nil
	case jcs.StringType:
		if text, _ := v.Text(); text == wildcard {
			return AnyCounterparty(), nil
		}
	case jcs.ArrayType:
		if ids, ok := readStrings(v, maxCounterparties, maxIdentifier); ok {
			return Counterparties{stated: true, ids: ids}, nil
		}
	}
	return Counterparties{}, invalid(claimCounterparties, "not an array of identifiers and not the wildcard")
}

// readActs reads commitment_act of an Open: absent, one act, or a list that is not empty
// (AG-16). nil means that no act is named, so that the profile alone bounds it.
func readActs(v jcs.Value) ([]string, error) {
	switch v.Type() {
	case jcs.Absent:
		return nil, nil
	case jcs.StringType:
		if act, _ := v.Text(); shortWord(act) {
			return []string{act}, nil
		}
	case jcs.ArrayType:
		if acts, ok := readStrings(v, maxActs, maxText); ok && len(acts) > 0 {
			return acts, nil
		}
	}
	return nil, invalid(claimAct, "not an act and not a list of acts")
}

// readStrings reads an array of printable words within the limits.
func readStrings(v jcs.Value, maxItems, maxBytes int) ([]string, bool) {
	if v.Len() > maxItems {
		return nil, false
	}
	list := make([]string, 0, v.Len())
	for item := range v.Items() {
		text, ok := item.Text()
		if !ok || len(text) > maxBytes || !graphic(text) {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

func stringArray(list []string) []byte {
	items := make([][]byte, 0, len(list))
	for _, text := range list {
		items = append(items, jcs.String(text))
	}
	return jcs.Array(items...)
}
