package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// maxWorkflow is the longest workflow_id, in bytes.
const maxWorkflow = 256

// nul is the one character that not every store has in a text.
const nul = "\x00"

// An action_timestamp is plausible from mostBehind before the gateway's clock to mostAhead after it
// (AX-02): no other time can be when the operation was meant. A repeat may come late, and clocks
// and time zones be wrong.
const (
	mostBehind = 10 * 365 * 24 * time.Hour
	mostAhead  = 24 * time.Hour
)

// post reads a message and sends it on its way.
func (x *exchanging) post() {
	ctx, cancel := context.WithTimeoutCause(x.ctx, x.g.cfg.Limits.Reading, errRoom)
	defer cancel()
	x.in = &large{r: x.r.Body, ctx: ctx, room: x.g.bodies, agent: x.agent.ID}
	defer x.in.leave()
	body, err := readAll(x.in, x.r.ContentLength, x.g.cfg.Limits.Body)
	if err != nil {
		x.w.Header().Set("Connection", "close") // nobody waits for the rest of it
		x.unreadable(err)
		return
	}
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Time{}) // see timeBody
	s := x.g.memory.get()
	m, used, err := mcp.Read(body, s.b, x.g.cfg.Limits.Body)
	s.b = used
	x.g.memory.put(s)
	if err != nil {
		x.unreadable(err)
		return
	}
	x.seen.Method = m.Method
	if m.Method != mcp.CallMethod {
		if passesForAnother(x.r.Header, m.Method) {
			x.refuseBody(refusal{name: codeHeader, detail: headerMethod}, m.ID)
			return
		}
		if f := x.notItsTask(&m); f != nil {
			x.refuseAs(*f, m.ID)
			return
		}
		x.forward(&m, m.Method == listMethod)
		return
	}
	c, err := m.Call()
	if err != nil {
		x.unreadable(err)
		return
	}
	x.call(&m, c)
}

// listMethod is the method whose answers say what tools there are.
const listMethod = "tools/list"

// call runs a tool, bound or not.
func (x *exchanging) call(m *mcp.Message, c mcp.Call) {
	x.seen.Tool = c.Tool
	tool := x.g.tool(x.up, c.Tool)
	switch named := c.Context.ExecutionID.Set || c.Context.Conflict == "execution_id"; {
	case m.Kind != mcp.Request: // nobody could be told what came of it
		x.refuse(codeCallID, nil)
	case c.Context.Stray != nil:
		x.refuseCall(m, c, audit.Entry{Digest: digestOf(c.Context.Stray)}, refusal{name: codeContext})
	case named:
		x.seen.Bound = true
		x.bound(m, c, tool)
	case tool.RequiresID():
		x.refuseCall(m, c, audit.Entry{}, refusal{name: codeIDRequired})
	default:
		if name := mislabelled(x.r.Header, m.Method, c.Tool); name != "" {
			f := refusal{name: codeHeader, detail: name}
			x.logRefusal(c, audit.Entry{}, f)
			x.refuseBody(f, m.ID)
			return
		}
		x.note(c)
		x.forward(m, false)
	}
}

// entry is what the log says of this call, beyond what happened. The session's id is a credential,
// and so is its digest alone.
func (x *exchanging) entry(c mcp.Call) audit.Entry {
	return audit.Entry{
		At: x.began, AgentID: x.agent.ID, SessionID: x.sessionDigest(), WorkflowID: workflow(c.Context.WorkflowID),
		Upstream: x.up.Name, Tool: c.Tool,
	}
}

func (x *exchanging) sessionDigest() string {
	if x.sealed == "" {
		return ""
	}
	return digestOf([]byte(x.sealed))
}

// digestOf is the digest of exactly these bytes.
func digestOf(b []byte) string { return "sha256:" + string(jcs.HexOf(b)) }

// workflow is the workflow_id of a call that has one of a form that is kept, else "".
func workflow(f mcp.Field) string {
	if !f.String() || len(f.Text) > maxWorkflow || strings.Contains(f.Text, nul) {
		return ""
	}
	return f.Text
}

// note logs an unbound call (EXA-052): its execution_id is null.
func (x *exchanging) note(c mcp.Call) {
	if x.g.cfg.Registry == nil {
		return
	}
	e := x.entry(c)
	e.Event, e.CallID = audit.EventCall, newCallID()
	x.g.cfg.Registry.Note(e)
}

// refuseCall answers a tools/call that goes no further, once the log has it, or could not be written:
// then the process's own log says so. An id that has not been found valid is not in e (AX-09).
func (x *exchanging) refuseCall(m *mcp.Message, c mcp.Call, e audit.Entry, f refusal) {
	x.logRefusal(c, e, f)
	x.refuseAs(f, m.ID)
}

func (x *exchanging) logRefusal(c mcp.Call, e audit.Entry, f refusal) {
	if x.g.cfg.Registry != nil {
		whole := x.entry(c)
		whole.Event, whole.CallID, whole.Reason = audit.EventRefused, newCallID(), f.name
		whole.ExecutionID, whole.Digest, whole.Binding = e.ExecutionID, e.Digest, e.Binding
		if err := x.g.cfg.Registry.Refuse(x.ctx, whole); err != nil {
			x.g.cfg.Log.Error("a refusal is not in the log", "refusal", f.name, "error", err)
		}
	}
}

// A binding is a bound call that has passed everything that can refuse it before its reservation.
type binding struct {
	call execution.Call
	body []byte // what the upstream gets
	args []byte // the arguments in it, canonical
}

// bind checks a bound call and makes its action (design X3): validate, then settle the semantics of
// numbers. It returns the refusal of one that goes no further, and what the log may say of its id.
func (x *exchanging) bind(m *mcp.Message, c mcp.Call, tool toolaction.Tool) (binding, audit.Entry, *refusal) {
	var e audit.Entry
	given := c.Context.ExecutionID
	id, err := execution.ParseID(given.Text)
	switch {
	case c.Context.Conflict != "":
		e.Digest = digestOf(given.Raw)
		return binding{}, e, &refusal{name: codeIDConflict, detail: c.Context.Conflict}
	case !given.String() || err != nil:
		e.Digest = digestOf(given.Raw)
		return binding{}, e, &refusal{name: codeIDInvalid}
	}
	e.ExecutionID, x.seen.ExecutionID = id.String(), id.String()
	at := c.Context.ActionTimestamp
	switch {
	case x.agent.Anonymous():
		return binding{}, e, &refusal{name: codeAnonymous}
	case x.g.cfg.Registry == nil:
		return binding{}, e, &refusal{name: codeUnavailable}
	case c.Tool == "", strings.Contains(c.Tool, nul):
		return binding{}, e, &refusal{name: codeAction, detail: "params.name is not the name of a tool"}
	case c.Context.WorkflowID.Set && workflow(c.Context.WorkflowID) == "":
		return binding{}, e, &refusal{name: codeContext}
	case at.Set && !at.String():
		return binding{}, e, &refusal{name: codeTimestamp}
	}
	adapted, err := tool.Adapt(x.agent.ID, at.Text, c.Arguments.Of(m.Body))
	if err != nil {
		return binding{}, e, adaptFault(err)
	}
	if off := adapted.Action.Time().Sub(x.g.cfg.Now()); off > mostAhead || off < -mostBehind {
		return binding{}, e, &refusal{name: codeTimestamp, detail: "it is more than a day ahead of the gateway's clock, or ten years behind"}
	}
	if name := disagreement(x.r.Header, tool, adapted.Arguments); name != "" {
		return binding{}, e, &refusal{name: codeHeader, detail: name}
	}
	b := binding{body: m.WithArguments(c, adapted.Arguments), args: adapted.Arguments, call: execution.Call{
		Agent: x.agent.ID, ID: id, Action: adapted.Action, Binding: adapted.Action.Bind(x.g.cfg.Algorithm),
		Upstream: x.up.Name, Tool: c.Tool, SessionID: x.sessionDigest(), WorkflowID: workflow(c.Context.WorkflowID),
		Timeout: x.up.Timeout,
	}}
	if f := continuation(m, c, &b.call); f != nil {
		return binding{}, e, f
	}
	return b, e, nil
}

// continuation says what a call carries that an input_required answer has asked for. An answer
// without requestState counts as one whose state is empty.
func continuation(m *mcp.Message, c mcp.Call, call *execution.Call) *refusal {
	if !c.Continues {
		return nil
	}
	state, ok := m.Text(c.RequestState)
	if !ok && !c.RequestState.Absent() {
		return &refusal{name: mcp.Invalid, detail: "requestState is not a string"}
	}
	call.Continues = string(jcs.HexOf([]byte(state)))
	if !c.InputResponses.Absent() {
		responses, err := jcs.Profile{Numbers: jcs.DoubleNumbers}.Parse(c.InputResponses.Of(m.Body))
		if err != nil {
			return &refusal{name: mcp.Malformed}
		}
		call.Inputs = string(jcs.HexOf(responses.Bytes()))
	}
	return nil
}
