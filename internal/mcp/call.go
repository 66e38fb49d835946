package mcp

import (
	"slices"
	"strings"
)

// CallMethod is the method that runs a tool.
const CallMethod = "tools/call"

// Where a caller names its execution (design X2).
const (
	MetaExecutionID     = "bindery/execution_id"
	MetaActionTimestamp = "bindery/action_timestamp"
	MetaWorkflowID      = "bindery/workflow_id"
)

// metaOurs begins the names that are ours.
const metaOurs = "bindery/"

// A Field is one member of the execution context, as the caller has sent it.
type Field struct {
	Set  bool   // it is there, be it null
	Text string // if it is a string
	Raw  []byte // the token or container as it was sent; nil if not Set
}

// String reports whether the member is there and a string.
func (f Field) String() bool { return f.Set && f.Raw[0] == '"' }

// A Context is what a caller says of the execution that a call belongs to.
type Context struct {
	ExecutionID     Field
	ActionTimestamp Field
	WorkflowID      Field
	Conflict        string // the member that _meta and _cmcp give differently, "" if none
	// Stray is the name, as it was sent, of a member of _meta that begins as ours do, in any case, and
	// is none of them, or of one of _cmcp that is one of its own but for its case: a caller that has
	// misspelled its execution_id means to be bound. Nil if none.
	Stray []byte
}

// A Call is what a tools/call says, beyond being a message. The spans are of the message's bytes.
type Call struct {
	Tool      string // "" if params.name is no string, or not there
	Arguments Span   // the value of params.arguments; zero if there is none
	Context   Context
	// A continuation carries what an input_required answer asked for (2026-07-28).
	Continues      bool // requestState or inputResponses are there
	RequestState   Span // its value; zero if there is none
	InputResponses Span // likewise
	Meta           Span // the value of params._meta; zero if there is none
}

var callNames = [...]string{"name", "arguments", "_meta", "_cmcp", "requestState", "inputResponses", "task"}

// Call returns what the tools/call m says. For a message of any other method it is the zero Call.
// The error is a *[Fault]: a member that some parsers would take for another, or a name beyond
// [MaxName].
func (m *Message) Call() (Call, error) {
	var c Call
	if m.Method != CallMethod {
		return c, nil
	}
	var name, cmcp, task Span // task is known for its case alone
	parts := [...]*Span{&name, &c.Arguments, &c.Meta, &cmcp, &c.RequestState, &c.InputResponses, &task}
	walk := object(m.Body, m.Params)
	for {
		key, value, ok := walk.next()
		if !ok {
			break
		}
		i, similar := known(key.Of(m.Body), callNames[:])
		if similar {
			return Call{}, &Fault{Name: Ambiguous, Rule: "a member of params is named like one of tools/call but for its case", Offset: key.Start, ID: m.ID}
		}
		if i >= 0 {
			*parts[i] = value
		}
	}
	if c.Tool, _ = text(name.Of(m.Body)); len(c.Tool) > MaxName {
		return Call{}, &Fault{Name: Invalid, Rule: "params.name is longer than 1024 bytes", Offset: name.Start, ID: m.ID}
	}
	c.Continues = !c.RequestState.Absent() || !c.InputResponses.Absent()
	c.Context = m.context(c.Meta, cmcp)
	return c, nil
}

func (m *Message) context(meta, cmcp Span) Context {
	var c Context
	fields := [...]*Field{&c.ExecutionID, &c.ActionTimestamp, &c.WorkflowID}
	names := [...]string{"execution_id", "action_timestamp", "workflow_id"}
	for _, source := range []struct {
		at    Span
		names []string
	}{
		{meta, []string{MetaExecutionID, MetaActionTimestamp, MetaWorkflowID}},
		{cmcp, names[:]},
	} {
		walk := object(m.Body, source.at)
		for {
			key, value, ok := walk.next()
			if !ok {
				break
			}
			i, similar := known(key.Of(m.Body), source.names)
			if similar {
				c.Stray = key.Of(m.Body)
			}
			if i < 0 {
				if name, _ := text(key.Of(m.Body)); len(name) >= len(metaOurs) && strings.EqualFold(name[:len(metaOurs)], metaOurs) {
					c.Stray = key.Of(m.Body)
				}
				continue
			}
			raw := value.Of(m.Body)
			f := Field{Set: true, Raw: raw}
			f.Text, _ = text(raw)
			if fields[i].Set && !sameField(*fields[i], f) && c.Conflict == "" {
				c.Conflict = names[i]
			}
			if !fields[i].Set {
				*fields[i] = f
			}
		}
	}
	return c
}

func sameField(a, b Field) bool {
	return a.String() && b.String() && a.Text == b.Text
}

// WithArguments returns the bytes of m with canonical in the place of the value of
// params.arguments, and every other byte as it was. If there is no such member it becomes the
// first of params: a call without arguments and one with {} are one class, and so are sent alike.
// m is a request whose params are an object.
func (m *Message) WithArguments(c Call, canonical []byte) []byte {
	if !c.Arguments.Absent() {
		return splice(m.Body, c.Arguments, canonical)
	}
	member := slices.Concat([]byte(`"arguments":`), canonical)
	return insert(m.Body, m.Params, member)
}

func splice(b []byte, at Span, with []byte) []byte {
	return slices.Concat(b[:at.Start], with, b[at.End:])
}

// insert puts a member at the front of the object at s.
func insert(b []byte, s Span, member []byte) []byte {
	first := s.Start + 1
	if b[space(b, first)] == '}' {
		return slices.Concat(b[:first], member, b[first:])
	}
	return slices.Concat(b[:first], member, []byte{','}, b[first:])
}

// Text is the decoded string at s; ok is false if there is none, or it is no string.
func (m *Message) Text(s Span) (string, bool) { return text(s.Of(m.Body)) }

// ProtocolMeta returns the members of params._meta that are the protocol's own, as an object: what
// every request of one client says of itself since 2026-07-28. Nil if there are none.
func (m *Message) ProtocolMeta(c Call) []byte {
	var own []byte
	walk := object(m.Body, c.Meta)
	for {
		key, value, ok := walk.next()
		if !ok {
			break
		}
		name, _ := text(key.Of(m.Body))
		if !strings.HasPrefix(name, "io.modelcontextprotocol/") {
			continue
		}
		if own == nil {
			own = append(own, '{')
		} else {
			own = append(own, ',')
		}
		own = slices.Concat(own, key.Of(m.Body), []byte{':'}, value.Of(m.Body))
	}
	if own == nil {
		return nil
	}
	return append(own, '}')
}

var (
	taskParams   = [...]string{"taskId", "taskIds", "notifications"}
	listenParams = [...]string{"taskIds"}
)

// Tasks returns the ids of the tasks that a request is about, as params.taskId, params.taskIds and
// params.notifications.taskIds name them. The error is a *[Fault]: one of these is named in another
// case, or has another type.
func (m *Message) Tasks() (ids []string, err error) {
	var one, many, inner, listed Span
	if err := m.pick(m.Params, taskParams[:], &one, &many, &inner); err != nil {
		return nil, err
	}
	if err := m.pick(inner, listenParams[:], &listed); err != nil {
		return nil, err
	}
	if !one.Absent() {
		id, ok := m.Text(one)
		if !ok {
			return nil, &Fault{Name: Invalid, Rule: "taskId is not a string", Offset: one.Start, ID: m.ID}
		}
		ids = append(ids, id)
	}
	for _, list := range []Span{many, listed} {
		b := list.Of(m.Body)
		if b != nil && b[0] != '[' {
			return nil, &Fault{Name: Invalid, Rule: "taskIds is not a list", Offset: list.Start, ID: m.ID}
		}
		for i := 1; b != nil; {
			if i = space(b, i); b[i] == ']' {
				break
			}
			end := skip(b, i)
			id, ok := text(b[i:end])
			if !ok {
				return nil, &Fault{Name: Invalid, Rule: "taskIds is not a list of strings", Offset: list.Start + i, ID: m.ID}
			}
			ids = append(ids, id)
			if i = space(b, end); b[i] == ',' {
				i++
			}
		}
	}
	return ids, nil
}

// pick finds the members of these names in the object at s.
func (m *Message) pick(s Span, names []string, parts ...*Span) error {
	walk := object(m.Body, s)
	for {
		key, value, ok := walk.next()
		if !ok {
			return nil
		}
		i, similar := known(key.Of(m.Body), names)
		if similar {
			return &Fault{Name: Ambiguous, Rule: "a member that names a task is written in another case", Offset: key.Start, ID: m.ID}
		}
		if i >= 0 {
			*parts[i] = value
		}
	}
}
