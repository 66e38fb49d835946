package toolaction

import (
	"slices"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/jcs"
)

// An Explanation says what becomes of one call, for the operator who declares its tool. It repeats
// the arguments, so it is for that operator's eyes and not for a log.
type Explanation struct {
	Tool       Tool
	Adapted    Adapted // zero if the call is refused
	Refusal    *Error  // nil if it is not
	RequiresID bool

	Governing []byte   // the canonical JSON whose digest ends the scope; nil if the call is refused
	Numbers   []Number // all whose spelling is not canonical, in the order of the text
}

// Explain makes an action of a call as [Tool.Adapt] does, and shows how. A refused call is
// explained as well.
func Explain(t Tool, agent, timestamp string, arguments []byte) Explanation {
	e := Explanation{Tool: t, RequiresID: t.RequiresID()}
	adapted, err := t.adapt(agent, timestamp, arguments, func(n Number) { e.Numbers = append(e.Numbers, n) })
	if err != nil {
		e.Refusal = err
		return e
	}
	e.Adapted = adapted
	if v, err := (jcs.Profile{Numbers: jcs.DoubleNumbers}).Parse(adapted.Arguments); err == nil {
		e.Governing = slices.Clone(t.Declaration.governing(v))
	}
	return e
}

// JSON returns the explanation as canonical JSON: tool and upstream, requires_execution_id, the
// numbers that somebody had to settle, and either arguments, governing, semantics, preimage and
// binding, or error with its name, pointer, rule and advice. Bytes are texts in it.
func (e Explanation) JSON(alg actionbinding.Algorithm) []byte {
	var list [][]byte
	for _, n := range e.Numbers {
		list = append(list, jcs.Object(
			jcs.Member{Name: "pointer", Value: jcs.String(n.Pointer)},
			jcs.Member{Name: "token", Value: jcs.String(n.Token)},
			jcs.Member{Name: "forwarded_as", Value: textOrNil(n.Form)},
			jcs.Member{Name: "settled_by", Value: textOrNil(n.By)},
			jcs.Member{Name: "refused_as", Value: textOrNil(n.Refusal)},
		))
	}
	members := []jcs.Member{
		{Name: "upstream", Value: jcs.String(e.Tool.Upstream)},
		{Name: "tool", Value: jcs.String(e.Tool.Name)},
		{Name: "requires_execution_id", Value: jcs.Bool(e.RequiresID)},
		{Name: "numbers", Value: jcs.Array(list...)},
	}
	if e.Refusal != nil {
		return jcs.Object(append(members, jcs.Member{Name: "error", Value: jcs.Object(
			jcs.Member{Name: "error", Value: jcs.String(e.Refusal.Name)},
			jcs.Member{Name: "pointer", Value: jcs.String(e.Refusal.Pointer)},
			jcs.Member{Name: "message", Value: jcs.String(e.Refusal.Rule)},
			jcs.Member{Name: "try", Value: jcs.String(e.Refusal.Try)},
		)})...)
	}
	return jcs.Object(append(members,
		jcs.Member{Name: "arguments", Value: jcs.String(string(e.Adapted.Arguments))},
		jcs.Member{Name: "governing", Value: jcs.String(string(e.Governing))},
		jcs.Member{Name: "semantics", Value: jcs.String(e.Adapted.Semantics)},
		jcs.Member{Name: "preimage", Value: jcs.String(string(e.Adapted.Action.Preimage()))},
		jcs.Member{Name: "binding", Value: jcs.String(e.Adapted.Action.Bind(alg).String())},
	)...)
}
