package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// bound runs a call that names its execution, at most once (design X3, X4).
func (x *exchanging) bound(m *mcp.Message, c mcp.Call, tool toolaction.Tool) {
	b, e, fault := x.bind(m, c, tool)
	if fault != nil {
		x.refuseCall(m, c, e, *fault)
		return
	}
	permit, record, err := x.g.cfg.Registry.Admit(x.ctx, b.call)
	switch {
	case err != nil:
		x.unadmitted(err, m.ID)
	case permit == nil:
		x.seen.Joined = true
		x.reply(m.ID, record, nil)
	default:
		x.dispatch(m, c, b, permit)
	}
}

// unadmitted answers a call that was not admitted. The log has it by then.
func (x *exchanging) unadmitted(err error, id []byte) {
	var refused *execution.Refusal
	switch {
	case errors.As(err, &refused):
		f := refusal{name: refused.Name, next: refused.SafeNext}
		if refused.Record != nil {
			f.execution = described(refused.Record, refused.Name == execution.NameReplay)
			f.state = refused.Record.State
			x.seen.State = string(f.state)
			x.handTask(refused.Record.TaskID)
		}
		x.refuseAs(f, id)
	case errors.Is(context.Cause(x.r.Context()), errCancelled):
		x.seen.Refusal = codePending
	case x.r.Context().Err() != nil: // the client has gone, or seems to
		x.refuse(codePending, id)
	default:
		x.g.cfg.Log.Error("admission", "error", err)
		x.refuse(codeUnavailable, id)
	}
}

// dispatch sends a call that was admitted, and stores what came of it before anybody learns it. The
// client's going away ends nothing: what was sent is seen through, for as long as the upstream has and
// the gateway runs.
func (x *exchanging) dispatch(m *mcp.Message, c mcp.Call, b binding, permit Permit) {
	stored := x.g.hold()
	defer stored()
	defer func() {
		if !x.kept { // else a follower ends it
			permit.Close()
		}
	}()
	ctx, let := x.g.until(context.WithoutCancel(x.ctx))
	defer let()
	ctx, cancel := context.WithTimeout(ctx, x.up.Timeout)
	defer cancel()
	in := &large{ctx: ctx, room: x.g.answers, agent: x.agent.ID}
	defer in.leave()
	sent := x.g.cfg.Now()
	o := x.send(ctx, m, b, permit, in)
	x.seen.Waited = x.g.cfg.Now().Sub(sent)
	var record *execution.Record
	var err error
	switch {
	case o.task != "":
		x.followed(m, c, o, permit)
		return
	case o.suspends:
		record, err = permit.Suspend(ctx, o.Answer, o.state)
	default:
		record, err = permit.Finish(ctx, o.Outcome)
	}
	stored()
	if err != nil {
		x.g.cfg.Log.Error("outcome", "error", err)
		x.refuseLast(refusal{name: codeUnknown}, m.ID)
		return
	}
	if record.State == execution.OutcomeUnknown && x.up.Tools[c.Tool].Status() != nil {
		x.g.recalled.keep(record.Key, b.args) // what to ask with
	}
	x.reply(m.ID, record, o.Answer)
}

// An outcome is what an upstream has made of a call.
type outcome struct {
	execution.Outcome
	suspends bool   // it asks for more input: state is the digest of its requestState
	state    string // hex SHA-256
	task     string // a task will have the outcome
}

// send sends a bound call, once, and reads what comes of it.
func (x *exchanging) send(ctx context.Context, m *mcp.Message, b binding, permit Permit, in *large) outcome {
	s := starting{permit: permit}
	req := x.request(withStart(ctx, s.start), http.MethodPost, b.body, outbound(x.up, x.r.Header, x.session))
	resp, err := x.up.Transport.RoundTrip(req)
	if err != nil {
		x.g.cfg.Log.Warn("upstream", "upstream", x.up.Name, "error", err)
		if !s.end() {
			return failed(execution.ReasonNotSent)
		}
		return unknown(ctx, reasonLost)
	}
	defer resp.Body.Close()
	switch asked := s.end(); {
	case !asked && resp.StatusCode >= 400 && resp.StatusCode < 500: // as a program whose session is over
		return failed(execution.ReasonNotSent)
	case !asked: // it has answered what it was never asked
		return unknown(ctx, reasonUnasked)
	}
	if id := resp.Header.Get(headerSession); id != "" && len(id) <= maxSession {
		x.w.Header()[headerSession] = []string{sealSession(x.g.cfg.SessionKey, x.agent.ID, x.up.Name, id)}
	}
	in.r = resp.Body
	return x.outcomeOf(ctx, m, resp, in)
}

// starting is the one question of a bound call, whether its first byte may leave. Once the
// transport has answered it is not asked any more: a message that was not sent by then never is.
type starting struct {
	permit Permit

	mu          sync.Mutex // guards below
	asked, over bool
}

func (s *starting) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return execution.ErrSpent
	}
	err := s.permit.Start()
	s.asked = s.asked || err == nil
	return err
}

// end reports whether something may have been sent.
func (s *starting) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.asked
}

// described is what a reply says of an execution, canonical JSON. With the answer that is kept, if
// there is one and whole.
func described(r *execution.Record, whole bool) []byte {
	members := append(make([]jcs.Member, 0, 10), short(r)...)
	members = append(members,
		jcs.Member{Name: "completed_at", Value: moment(r)},
		jcs.Member{Name: "result_sha256", Value: textOrNil(r.Digest)},
		jcs.Member{Name: "reason", Value: textOrNil(r.Reason)},
	)
	if whole && r.Answer != nil {
		name := "result"
		if r.IsError {
			name = "upstream_error"
		}
		members = append(members, jcs.Member{Name: name, Value: r.Answer})
	}
	return jcs.Object(members...)
}

// short is what every reply to a bound call says.
func short(r *execution.Record) []jcs.Member {
	return []jcs.Member{
		{Name: "execution_id", Value: jcs.String(r.ID.String())},
		{Name: "state", Value: jcs.String(string(r.State))},
		{Name: "call_id", Value: textOrNil(r.CallID)},
		{Name: "action_timestamp", Value: textOrNil(r.ActionTimestamp)},
		{Name: "binding", Value: textOrNil(r.Binding.String())},
	}
}

func textOrNil(s string) []byte {
	if s == "" {
		return nil
	}
	return jcs.String(s)
}

func moment(r *execution.Record) []byte {
	if r.CompletedAt.IsZero() {
		return nil
	}
	return jcs.String(r.CompletedAt.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// reply answers with what is stored. mine is the answer that this very call has brought: the row
// keeps none that is too long, but has its digest.
func (x *exchanging) reply(id []byte, r *execution.Record, mine []byte) {
	x.handTask(r.TaskID)
	x.seen.State = string(r.State)
	answer := r.Answer
	if answer == nil && mine != nil && digestOf(mine) == r.Digest {
		answer = mine
	}
	settled := r.State == execution.Succeeded || r.State == execution.Failed || r.State == execution.Suspended || r.State == execution.Dispatched
	switch {
	case settled && answer != nil && r.IsError:
		x.last(mcp.ErrorAnswer(id, mcp.WithExecutionData(answer, jcs.Object(short(r)...))))
	case settled && answer != nil:
		x.last(mcp.ResultAnswer(id, mcp.WithExecution(answer, jcs.Object(short(r)...))))
	default:
		x.refuseLast(refusal{name: nameOf(r), next: r.SafeNext, execution: described(r, false), state: r.State}, id)
	}
}

// nameOf is the name under which a stored row without an answer is replied.
func nameOf(r *execution.Record) string {
	switch r.State {
	case execution.Failed:
		if r.Reason == execution.ReasonNotSent {
			return codeNotSent
		}
		return codeFailed
	case execution.OutcomeUnknown:
		return codeUnknown
	case execution.Held:
		return codeHeld
	case execution.Refused:
		return codeRefused
	case execution.Reserved, execution.Dispatched, execution.Suspended:
		return codePending
	}
	return codeReplay // it is over, and its answer is not kept
}

func (x *exchanging) refuseLast(f refusal, id []byte) {
	x.seen.Refusal = code(f.name).Name
	x.last(mcp.ErrorAnswer(id, f.member()))
}

// last sends the answer to a bound call: as JSON, or as the last event of a stream that has begun.
func (x *exchanging) last(body []byte) {
	if !x.streaming {
		x.answer(http.StatusOK, body)
		return
	}
	x.write(appendEvent(nil, sseEvent{name: "message", data: body}))
}

// event passes on what an upstream says before it answers.
func (x *exchanging) event(e sseEvent) {
	if !x.streaming {
		if e.data == nil {
			return
		}
		x.streaming = true
		h := x.w.Header()
		h.Set("Content-Type", typeEvents)
		h.Set("Cache-Control", "no-cache, no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		x.seen.Status = http.StatusOK
		x.w.WriteHeader(http.StatusOK)
	}
	x.write(appendEvent(nil, e))
}

// write sends a piece of a stream. A client that has gone gets nothing, and nothing else changes.
func (x *exchanging) write(b []byte) {
	if x.gone {
		return
	}
	x.hurry(len(b))
	_, err := x.w.Write(b)
	if err == nil {
		err = http.NewResponseController(x.w).Flush()
	}
	x.gone = err != nil
}
