package actionbinding

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"time"
	"unicode/utf8"

	"github.com/bindery/bindery/jcs"
)

// Domain is the value of the member domain, and Version that of version (EXA-014, EXA-016).
const (
	Domain  = "cmcp.execution-action-binding"
	Version = 1
)

// The longest texts of an action, in bytes of UTF-8. The contract has no limits: these hold a
// SPIFFE id (2048 bytes by its own specification) and what an adapter writes.
const (
	MaxAgentID = 2048
	MaxType    = 256
	MaxScope   = 8192
)

// timestampForm is the one spelling of an instant (AX-03).
const timestampForm = "2006-01-02T15:04:05Z"

// An Error says which member of an action, a preimage or a binding broke which rule. It holds
// nothing of the input.
type Error struct {
	Member string // a member of the preimage, "preimage" for the whole, or "binding"
	Rule   string // in a few constant words
}

// Error returns, for example, "actionbinding: action_scope: empty".
func (e *Error) Error() string { return "actionbinding: " + e.Member + ": " + e.Rule }

// An Action is what a binding binds. Only [New] and [ParsePreimage] make one that is not zero, so
// its members keep their rules. Actions compare with ==.
type Action struct {
	agentID, actionType, actionScope, actionTimestamp string
}

// New checks the four members of an action (EXA-011). The agent is the authenticated identity of
// the caller: that it is, the caller of New has to see to (EXA-012). The error is an *[Error].
func New(agentID, actionType, actionScope, actionTimestamp string) (Action, error) {
	a := Action{agentID, actionType, actionScope, actionTimestamp}
	for _, m := range [...]struct {
		name, text string
		most       int
	}{
		{"agent_id", a.agentID, MaxAgentID},
		{"action_type", a.actionType, MaxType},
		{"action_scope", a.actionScope, MaxScope},
	} {
		if rule := textFault(m.text, m.most); rule != "" {
			return Action{}, &Error{m.name, rule}
		}
	}
	// The parser takes fractions of a second, which the printer then does not have.
	at, err := time.Parse(timestampForm, a.actionTimestamp)
	if err != nil || at.Format(timestampForm) != a.actionTimestamp {
		return Action{}, &Error{"action_timestamp", "not a time of RFC 3339 in UTC with whole seconds, such as 2026-09-10T16:30:00Z"}
	}
	return a, nil
}

func textFault(s string, most int) string {
	switch {
	case s == "":
		return "empty"
	case len(s) > most:
		return "longer than its limit"
	case !utf8.ValidString(s):
		return "not valid UTF-8"
	}
	return ""
}

// AgentID returns the authenticated agent of the action.
func (a Action) AgentID() string { return a.agentID }

// Type returns the verb of the action.
func (a Action) Type() string { return a.actionType }

// Scope returns what the action is done to.
func (a Action) Scope() string { return a.actionScope }

// Timestamp returns the caller's time of the operation, as 2026-09-10T16:30:00Z.
func (a Action) Timestamp() string { return a.actionTimestamp }

// Time returns the timestamp as a time in UTC, the zero time for the zero Action.
func (a Action) Time() time.Time {
	at, _ := time.Parse(timestampForm, a.actionTimestamp) // New has parsed it
	return at
}

// Preimage returns the canonical bytes that are digested, domain and version among them (EXA-001,
// EXA-003, EXA-015); nil for the zero Action.
func (a Action) Preimage() []byte {
	if a == (Action{}) {
		return nil
	}
	return jcs.Object(
		jcs.Member{Name: "action_scope", Value: jcs.String(a.actionScope)},
		jcs.Member{Name: "action_timestamp", Value: jcs.String(a.actionTimestamp)},
		jcs.Member{Name: "action_type", Value: jcs.String(a.actionType)},
		jcs.Member{Name: "agent_id", Value: jcs.String(a.agentID)},
		jcs.Member{Name: "domain", Value: jcs.String(Domain)},
		jcs.Member{Name: "version", Value: jcs.Int(Version)},
	)
}

// Bind returns the binding of the action; none for the zero Action, which binds nothing.
func (a Action) Bind(alg Algorithm) Binding {
	if a == (Action{}) {
		return Binding{}
	}
	preimage := a.Preimage()
	if alg == SHA384 {
		sum := sha512.Sum384(preimage)
		return Binding{"sha384:" + hex.EncodeToString(sum[:])}
	}
	sum := sha256.Sum256(preimage)
	return Binding{"sha256:" + hex.EncodeToString(sum[:])}
}
