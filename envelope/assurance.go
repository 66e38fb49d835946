package envelope

import (
	"errors"
	"slices"
)

// An Assurance says how surely it was the principal who resolved an envelope (E7). The zero value
// is [Client].
type Assurance string

// The assurances, the weakest first.
const (
	Client        Assurance = "client"         // the resolution came with a tool call: it proves no human (E4)
	TTYPassphrase Assurance = "tty-passphrase" // signed with a key whose passphrase was typed for it
	PasskeyUV     Assurance = "passkey-uv"     // a passkey whose user verification was checked
)

// ParseAssurance accepts the three names.
func ParseAssurance(s string) (Assurance, error) {
	if a := Assurance(s); a.rank() > 0 {
		return a, nil
	}
	return "", errors.New("envelope: an assurance is client, tty-passphrase or passkey-uv")
}

// AtLeast reports whether a is as sure as b. An unknown name is less sure than any.
func (a Assurance) AtLeast(b Assurance) bool {
	least := b.orClient().rank()
	return least > 0 && a.orClient().rank() >= least
}

func (a Assurance) orClient() Assurance {
	if a == "" {
		return Client
	}
	return a
}

func (a Assurance) rank() int {
	return 1 + slices.Index([]Assurance{Client, TTYPassphrase, PasskeyUV}, a)
}

// Consequential says which decisions need more than the session they came in (ENV-109, AE-21). The
// zero value says: all of them.
type Consequential struct {
	Ordinary []string // the decision classes that are not consequential
}

// Holds reports whether e is consequential: unless its class is an ordinary one and both hatches
// are open.
func (c Consequential) Holds(e Envelope) bool {
	h := e.Hatches()
	return !h.FreeText || !h.Dialogue || !slices.Contains(c.Ordinary, e.Meta().DecisionClass) || !e.Meta().HasDecisionClass
}
