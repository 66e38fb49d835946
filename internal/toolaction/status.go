package toolaction

import (
	"errors"

	"github.com/bindery/bindery/jcs"
)

// A Status is a declared way to ask an upstream what became of a call (EXA-072): a tool of the same
// upstream, its arguments, and what its answer has to say. For example
//
//	{"tool":"get_payment","arguments":{"reference":{"$execution_id":true},"account":{"$argument":"/to"}},
//	 "succeeded":{"pointer":"/structuredContent/state","equals":"paid"},
//	 "failed":{"pointer":"/structuredContent/state","equals":"rejected"}}
//
// In arguments, {"$execution_id":true} and {"$action_timestamp":true} stand for those of the
// execution, and {"$argument":"/pointer"} for an argument of its call, as it was forwarded. No other
// member name may begin with a dollar sign. A Status is not changed once it is read.
type Status struct {
	tool              string
	arguments         jcs.Value
	succeeded, failed *condition
}

// A condition holds of an answer in which that stands at the pointer.
type condition struct {
	pointer string
	equals  jcs.Value // a text, a truth value or an integer
}

// Facts are what is recorded of an execution whose outcome is not known.
type Facts struct {
	ExecutionID     string
	ActionTimestamp string
	Arguments       []byte // as they were forwarded; nil if they were not kept
}

// A Finding is what an answer to a status query says.
type Finding uint8

// Findings. FoundNothing is not evidence of anything.
const (
	FoundNothing Finding = iota
	FoundSucceeded
	FoundFailed
)

// String returns "unknown", "succeeded" or "failed".
func (f Finding) String() string {
	switch f {
	case FoundSucceeded:
		return "succeeded"
	case FoundFailed:
		return "failed"
	}
	return "unknown"
}

// ErrFacts refuses to ask: the record does not hold what the query needs.
var ErrFacts = errors.New("toolaction: the record does not hold what the status query asks with")

func readStatus(r *jcs.Reader) *Status {
	s := &Status{tool: r.Text("tool"), arguments: r.Value("arguments")}
	if s.tool == "" {
		r.Fail("tool", "empty")
	}
	_, hole := holeOf(s.arguments)
	if hole || s.arguments.Type() != jcs.ObjectType || !wellFormed(s.arguments) {
		r.Fail("arguments", "not an object, or with a $ member that is not $execution_id, $action_timestamp or $argument alone")
	}
	s.succeeded, s.failed = readCondition(r, "succeeded"), readCondition(r, "failed")
	if s.succeeded == nil && s.failed == nil {
		r.Fail("succeeded", "missing, and failed too")
	}
	return s
}

func readCondition(r *jcs.Reader, name string) *condition {
	if r.OptValue(name).Type() == jcs.Absent {
		return nil
	}
	o := r.Object(name)
	c := &condition{o.Text("pointer"), o.Value("equals")}
	if c.pointer == "" || len(c.pointer) > maxPointer || !isPointer(c.pointer) {
		o.Fail("pointer", "not a JSON Pointer into the result")
	}
	if _, integer := c.equals.Int(); !integer && c.equals.Type() != jcs.StringType && c.equals.Type() != jcs.BoolType {
		o.Fail("equals", "not a text, a truth value or an integer")
	}
	return c
}

// wellFormed accepts arguments whose holes are holes.
func wellFormed(v jcs.Value) bool {
	for name, sub := range v.Members() {
		if name != "" && name[0] == '$' {
			_, ok := holeOf(v)
			return ok
		}
		if !wellFormed(sub) {
			return false
		}
	}
	for sub := range v.Items() {
		if !wellFormed(sub) {
			return false
		}
	}
	return true
}

// holeOf returns the name of a hole, or the pointer of an argument.
func holeOf(v jcs.Value) (hole string, ok bool) {
	if v.Type() != jcs.ObjectType || v.Len() != 1 {
		return "", false
	}
	for _, name := range []string{"$execution_id", "$action_timestamp"} {
		if yes, _ := v.Get(name).Bool(); yes {
			return name, true
		}
	}
	p, ok := v.Get("$argument").Text()
	return p, ok && p != "" && isPointer(p)
}

// Tool returns the name of the tool to be asked.
func (s *Status) Tool() string { return s.tool }

// Arguments returns the canonical arguments of the call that asks. Its error is [ErrFacts].
func (s *Status) Arguments(f Facts) ([]byte, error) {
	var own jcs.Value
	if f.Arguments != nil {
		var err error
		if own, err = (jcs.Profile{Numbers: jcs.DoubleNumbers}).Parse(f.Arguments); err != nil {
			return nil, ErrFacts
		}
	}
	filled := fillArguments(s.arguments, f, own)
	if filled == nil {
		return nil, ErrFacts
	}
	return filled, nil
}

// fillArguments is nil if a hole cannot be filled.
func fillArguments(v jcs.Value, f Facts, own jcs.Value) []byte {
	hole, ok := holeOf(v)
	switch {
	case ok && hole == "$execution_id":
		return textOrNil(f.ExecutionID)
	case ok && hole == "$action_timestamp":
		return textOrNil(f.ActionTimestamp)
	case ok:
		return at(own, hole).Bytes()
	}
	switch v.Type() {
	case jcs.ObjectType:
		var members []jcs.Member
		for name, sub := range v.Members() {
			value := fillArguments(sub, f, own)
			if value == nil {
				return nil
			}
			members = append(members, jcs.Member{Name: name, Value: value})
		}
		return jcs.Object(members...)
	case jcs.ArrayType:
		var items [][]byte
		for sub := range v.Items() {
			value := fillArguments(sub, f, own)
			if value == nil {
				return nil
			}
			items = append(items, value)
		}
		return jcs.Array(items...)
	}
	return v.Bytes()
}

func textOrNil(s string) []byte {
	if s == "" {
		return nil
	}
	return jcs.String(s)
}

// Read returns what an answer says: the JSON of the result member of a tools/call. A result that is
// an error, or that is not complete, says nothing, and neither does one that meets both conditions
// or none.
func (s *Status) Read(result []byte) Finding {
	v, err := jcs.Profile{Numbers: jcs.DoubleNumbers}.Parse(result)
	if err != nil || v.Type() != jcs.ObjectType {
		return FoundNothing
	}
	if failed := v.Get("isError"); failed.Type() != jcs.Absent && string(failed.Bytes()) != "false" {
		return FoundNothing
	}
	if kind := v.Get("resultType"); kind.Type() != jcs.Absent && string(kind.Bytes()) != `"complete"` {
		return FoundNothing
	}
	succeeded, failed := s.succeeded.holds(v, result), s.failed.holds(v, result)
	switch {
	case succeeded == failed:
		return FoundNothing
	case succeeded:
		return FoundSucceeded
	}
	return FoundFailed
}

func (c *condition) holds(v jcs.Value, result []byte) bool {
	if c == nil || string(at(v, c.pointer).Bytes()) != string(c.equals.Bytes()) {
		return false
	}
	if c.equals.Type() != jcs.NumberType {
		return true
	}
	// Rounding may have made the integer of something else.
	_, err := jcs.Profile{Numbers: jcs.DoubleNumbers, TokenStrict: true}.Parse(result)
	return err == nil
}
