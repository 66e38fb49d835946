package toolaction

import (
	"errors"

	"github.com/bindery/bindery/jcs"
)

// Require says of which tools every call must have an execution_id.
type Require uint8

// What a gateway's configuration may ask for. The zero value asks for none.
const (
	RequireNone        Require = iota // none, but those that a declaration names
	RequireDestructive                // all that do not say that repeating them does no harm
	RequireAll                        // all
)

// ParseRequire accepts none, destructive and all.
func ParseRequire(word string) (r Require, ok bool) {
	switch word {
	case "none":
		return RequireNone, true
	case "destructive":
		return RequireDestructive, true
	case "all":
		return RequireAll, true
	}
	return RequireNone, false
}

// Annotations are the hints of an MCP tool about itself, each with MCP's default where the
// upstream does not give it.
type Annotations struct {
	ReadOnly    bool // readOnlyHint, by default false
	Destructive bool // destructiveHint, by default true
	Idempotent  bool // idempotentHint, by default false
}

// A Tool is one tool of one upstream, with what is said of it by the upstream and by the operator.
// Its methods may be called from many goroutines.
type Tool struct {
	Upstream string // the operator's name for the upstream
	Name     string // exactly as the upstream spells it

	InputSchema jcs.Value // of the upstream; absent settles no number
	Annotations Annotations

	Declaration Declaration
	Require     Require
}

// ErrTool refuses an entry of tools/list that has no name.
var ErrTool = errors.New("toolaction: not a tool with a name")

// ReadTool takes name, input schema and annotations of an entry of tools/list, an open object that
// was parsed with [jcs.DoubleNumbers]. Hints that are no truth values count as not given. The error
// is [ErrTool].
func ReadTool(upstream string, entry jcs.Value) (Tool, error) {
	name, ok := entry.Get("name").Text()
	if !ok || name == "" {
		return Tool{}, ErrTool
	}
	hints := entry.Get("annotations")
	hint := func(name string, otherwise bool) bool {
		if b, ok := hints.Get(name).Bool(); ok {
			return b
		}
		return otherwise
	}
	return Tool{
		Upstream: upstream, Name: name,
		InputSchema: entry.Get("inputSchema"),
		Annotations: Annotations{hint("readOnlyHint", false), hint("destructiveHint", true), hint("idempotentHint", false)},
	}, nil
}

// RequiresID reports whether every call of the tool must have an execution_id. The declaration
// decides, if it says so. Otherwise, under [RequireDestructive], a call goes without only if the
// tool calls itself read-only, or both not destructive and idempotent: a tool that adds something
// at each call does harm when it is repeated. A hint is the upstream's word, and so a reason to ask
// for an id and never one against [RequireAll] or a declaration.
func (t Tool) RequiresID() bool {
	switch t.Declaration.requireID {
	case yes:
		return true
	case no:
		return false
	}
	harmless := t.Annotations.ReadOnly || !t.Annotations.Destructive && t.Annotations.Idempotent
	return t.Require == RequireAll || t.Require == RequireDestructive && !harmless
}
