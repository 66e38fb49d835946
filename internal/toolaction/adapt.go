package toolaction

import (
	"errors"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/jcs"
)

// Adapted is a call that can be bound.
type Adapted struct {
	Action actionbinding.Action

	// Arguments are the canonical bytes to forward in place of those received, also where the call
	// had none. Calls of one tool with one Action and all arguments governing have equal Arguments.
	Arguments []byte

	// Semantics says who settled how the numbers are taken (EXA-030): CanonicalSpelling, or
	// "declaration", "inputSchema sha256:…" or both with a comma between.
	Semantics string
}

// CanonicalSpelling is the Semantics of a call in which no number needed any.
const CanonicalSpelling = "canonical spelling"

// Adapt makes the action of one call. The agent is the authenticated caller, the timestamp the
// caller's, and arguments the raw bytes of params.arguments as they were received; nil if the call
// has none. The error is an *[Error].
func (t Tool) Adapt(agent, timestamp string, arguments []byte) (Adapted, error) {
	a, err := t.adapt(agent, timestamp, arguments, nil)
	if err != nil {
		return Adapted{}, err // a nil *Error must not become an error
	}
	return a, nil
}

// adapt also reports every number whose spelling had to be settled, to whoever wants to know.
func (t Tool) adapt(agent, timestamp string, arguments []byte, report func(Number)) (Adapted, *Error) {
	if t.Upstream == "" || t.Name == "" {
		return Adapted{}, refuse(Invalid, "", "the tool or its upstream has no name", "name them")
	}
	v, semantics, err := t.settle(arguments, report)
	if err != nil {
		return Adapted{}, err
	}
	scope, err := t.scope(v)
	if err != nil {
		return Adapted{}, err
	}
	action, fault := actionbinding.New(agent, t.Declaration.Type(), scope, timestamp)
	if fault != nil {
		return Adapted{}, unbound(fault)
	}
	return Adapted{action, v.Bytes(), semantics}, nil
}

func unbound(err error) *Error {
	var fault *actionbinding.Error
	switch {
	case !errors.As(err, &fault):
		return refuse(Invalid, "", "no action", "see the contract")
	case fault.Member == "action_timestamp":
		return refuse(TimestampInvalid, "", fault.Member+": "+fault.Rule, "send the time of the operation beside its execution_id, and the same one with each retry")
	case fault.Member == "action_scope":
		return refuse(Invalid, "", fault.Member+": "+fault.Rule, "shorten the scope that is declared for the tool")
	}
	return refuse(Invalid, "", fault.Member+": "+fault.Rule, "see the identity of the agent and the verb that is declared for the tool")
}

// read accepts strict JSON that is an object. odd says that a number is not in canonical spelling.
func read(arguments []byte) (v jcs.Value, odd bool, refusal *Error) {
	v, err := jcs.Profile{Numbers: jcs.DoubleNumbers, TokenStrict: true}.Parse(arguments)
	var fault *jcs.Error
	if errors.As(err, &fault) && fault.Kind == jcs.KindNumber {
		odd = true
		v, err = jcs.Profile{Numbers: jcs.DoubleNumbers}.Parse(arguments)
	}
	switch {
	case err != nil:
		return jcs.Value{}, odd, malformed(arguments, err)
	case v.Type() != jcs.ObjectType:
		return jcs.Value{}, odd, refuse(Invalid, "", "arguments are no object", "send one JSON object")
	}
	return v, odd, nil
}
