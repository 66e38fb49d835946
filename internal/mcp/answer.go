package mcp

import (
	"slices"

	"github.com/bindery/bindery/jcs"
)

// Values of resultType (2026-07-28). A result without it is complete.
const (
	Complete      = "complete"
	InputRequired = "input_required"
	TaskCreated   = "task"
)

// MetaExecution is the member of a result's _meta in which the gateway says which execution an
// answer belongs to.
const MetaExecution = "bindery/execution"

// An Answer is a response to a tools/call, and what it means.
type Answer struct {
	Message
	IsError      bool   // it has an error member
	ToolError    bool   // the result's isError is true
	ResultType   string // Complete, InputRequired, TaskCreated, or another word of the upstream
	RequestState string // the result's requestState; "" if there is none
	TaskID       string // of a task that will have the result
}

var (
	resultNames = [...]string{"isError", "resultType", "requestState", "task", "taskId"}
	taskNames   = [...]string{"taskId", "status", "result", "error"}
)

// ReadAnswer reads a response of at most limit bytes. The error is a *[Fault]; so is a message
// that is no response, and a result that is no object.
func ReadAnswer(body, scratch []byte, limit int) (Answer, []byte, error) {
	m, scratch, err := Read(body, scratch, limit)
	if err != nil {
		return Answer{}, scratch, err
	}
	a, err := m.Answer()
	return a, scratch, err
}

// Answer says what the response m means. The error is a *[Fault].
func (m *Message) Answer() (Answer, error) {
	a := Answer{Message: *m, ResultType: Complete, IsError: !m.Error.Absent()}
	switch {
	case m.Kind != Response:
		return Answer{}, &Fault{Name: Invalid, Rule: "not a response", Offset: -1}
	case a.IsError && m.Body[m.Error.Start] != '{':
		return Answer{}, &Fault{Name: Invalid, Rule: "error is not an object", Offset: m.Error.Start}
	case a.IsError:
		return a, nil
	case m.Body[m.Result.Start] != '{':
		return Answer{}, &Fault{Name: Invalid, Rule: "result is not an object", Offset: m.Result.Start}
	}
	return a, a.result()
}

// isNull: some upstreams write what they do not have as null.
func isNull(value []byte) bool { return string(value) == "null" }

func (a *Answer) result() error {
	var isError, kind, state, task, taskID Span
	parts := [...]*Span{&isError, &kind, &state, &task, &taskID}
	walk := object(a.Body, a.Result)
	for {
		key, value, ok := walk.next()
		if !ok {
			break
		}
		if i, _ := known(key.Of(a.Body), resultNames[:]); i >= 0 && !isNull(value.Of(a.Body)) {
			*parts[i] = value
		}
	}
	a.ToolError = string(isError.Of(a.Body)) == "true"
	a.RequestState, _ = text(state.Of(a.Body))
	if !kind.Absent() {
		word, ok := text(kind.Of(a.Body))
		if !ok {
			return &Fault{Name: Invalid, Rule: "resultType is not a string", Offset: kind.Start}
		}
		a.ResultType = word
	}
	switch {
	case !task.Absent() && kind.Absent():
		a.ResultType = TaskCreated
		a.TaskID = ReadTask(task.Of(a.Body)).ID
	case a.ResultType == TaskCreated && !task.Absent():
		a.TaskID = ReadTask(task.Of(a.Body)).ID
	case a.ResultType == TaskCreated:
		a.TaskID, _ = text(taskID.Of(a.Body))
	}
	if a.ResultType == TaskCreated && a.TaskID == "" {
		return &Fault{Name: Invalid, Rule: "a task without a taskId", Offset: a.Result.Start}
	}
	return nil
}

// A Task is the state of a task, as the result of tasks/get gives it.
type Task struct {
	ID     string
	Status string // working | input_required | completed | failed | cancelled
	Result []byte // the result, where tasks/get carries it (2026-07-28); nil if not
	Error  []byte // the error, likewise
}

// ReadTask reads an object that jcs has accepted. What is not there or of another type is "".
func ReadTask(result []byte) Task {
	var id, status, res, fault Span
	parts := [...]*Span{&id, &status, &res, &fault}
	walk := object(result, Span{0, len(result)})
	for {
		key, value, ok := walk.next()
		if !ok {
			break
		}
		if i, _ := known(key.Of(result), taskNames[:]); i >= 0 && !isNull(value.Of(result)) {
			*parts[i] = value
		}
	}
	t := Task{Result: res.Of(result), Error: fault.Of(result)}
	t.ID, _ = text(id.Of(result))
	t.Status, _ = text(status.Of(result))
	return t
}

// ResultAnswer is a response with the given token of an id and the given result.
func ResultAnswer(id, result []byte) []byte {
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), orNull(id), []byte(`,"result":`), result, []byte(`}`))
}

// ErrorAnswer is a response with the given token of an id and the given error member.
func ErrorAnswer(id, member []byte) []byte {
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), orNull(id), []byte(`,"error":`), member, []byte(`}`))
}

// ErrorMember is the error member of a response. data is canonical JSON, nil for none.
func ErrorMember(code int, message string, data []byte) []byte {
	return jcs.Object(
		jcs.Member{Name: "code", Value: jcs.Int(int64(code))},
		jcs.Member{Name: "message", Value: jcs.String(message)},
		jcs.Member{Name: "data", Value: data},
	)
}

func orNull(id []byte) []byte {
	if id == nil {
		return []byte("null")
	}
	return id
}

// WithExecution returns result, an object that jcs has accepted, with execution as the member
// MetaExecution of its _meta, and every other byte as it was. A member of that name which the
// upstream has put there gives way, and so does a _meta that is no object.
func WithExecution(result, execution []byte) []byte {
	return within(result, "_meta", MetaExecution, execution)
}

// WithExecutionData is WithExecution for an error member, whose data takes the place of _meta.
// Data of another type than object stays as it is.
func WithExecutionData(member, execution []byte) []byte {
	if v := find(member, "data"); !v.Absent() && member[v.Start] != '{' {
		return member
	}
	return within(member, "data", MetaExecution, execution)
}

// within sets outer.name of the object b to value.
func within(b []byte, outer, name string, value []byte) []byte {
	member := slices.Concat(jcs.String(name), []byte{':'}, value)
	at := find(b, outer)
	switch {
	case at.Absent():
		whole := slices.Concat(jcs.String(outer), []byte(`:{`), member, []byte{'}'})
		return insert(b, Span{space(b, 0), len(b)}, whole)
	case b[at.Start] != '{':
		return splice(b, at, slices.Concat([]byte{'{'}, member, []byte{'}'}))
	}
	if old := findIn(b, at, name); !old.Absent() {
		return splice(b, old, value)
	}
	return insert(b, at, member)
}

func find(b []byte, name string) Span { return findIn(b, Span{space(b, 0), len(b)}, name) }

func findIn(b []byte, s Span, name string) Span {
	walk := object(b, s)
	for {
		key, value, ok := walk.next()
		if !ok {
			return Span{}
		}
		if i, _ := known(key.Of(b), []string{name}); i == 0 {
			return value
		}
	}
}
