package actionbinding

import (
	"errors"

	"github.com/bindery/bindery/jcs"
)

// maxPreimage is the longest text that is read as a preimage: every member at its limit, with
// every byte of it escaped.
const maxPreimage = 6*(MaxAgentID+MaxType+MaxScope) + 1024

// ParsePreimage reads a preimage that somebody else has made, in any JSON spelling of strings and
// order of members. It is for those who verify: an adapter makes its own (AX-05). The object has
// exactly the six members (EXA-002), the domain of version 1 (EXA-014), and as version the token 1,
// which is looked at before canonicalisation could make 1.0 of it the same (EXA-016). The error is
// an *[Error], or a *[jcs.Error] for what is no strict JSON.
func ParsePreimage(text []byte) (Action, error) {
	// TokenStrict: the only number admitted as an integer 1 is then spelled so.
	v, err := jcs.Profile{TokenStrict: true, MaxSize: maxPreimage}.Parse(text)
	if err != nil {
		return Action{}, notStrict(text, err)
	}
	r := jcs.NewReader(v)
	domain, version := r.Text("domain"), r.Value("version")
	agentID, actionType := r.Text("agent_id"), r.Text("action_type")
	actionScope, actionTimestamp := r.Text("action_scope"), r.Text("action_timestamp")
	if err := r.Close(); err != nil {
		return Action{}, memberFault(err)
	}
	if domain != Domain {
		return Action{}, &Error{"domain", "not " + Domain}
	}
	if n, ok := version.Int(); !ok || n != Version {
		return Action{}, &Error{"version", "not the integer 1"}
	}
	return New(agentID, actionType, actionScope, actionTimestamp)
}

// notStrict names the version if it is its number that the text was refused for.
func notStrict(text []byte, err error) error {
	var fault *jcs.Error
	if errors.As(err, &fault) && fault.Kind == jcs.KindNumber && jcs.PointerAt(text, fault.Offset) == "/version" {
		return &Error{"version", "not the integer 1"}
	}
	return err
}

// memberFault says of which member a Reader complained; what is not of the six goes unnamed, since
// its name is the sender's.
func memberFault(err error) error {
	var fault *jcs.MemberError
	if !errors.As(err, &fault) {
		return err
	}
	switch {
	case fault.Rule == "unknown":
		return &Error{"preimage", "has a member that is not one of the six"}
	case fault.Pointer == "":
		return &Error{"preimage", "not an object"}
	case fault.Rule == "missing":
		return &Error{fault.Pointer[1:], "missing"}
	}
	return &Error{fault.Pointer[1:], "not a string"}
}
