package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/jcs"
)

// Where the answer to a bound call is a task, the client gets the task, and the gateway follows it
// until it has the outcome. What the client asks about the task itself passes as any other message.

const (
	maxFollowed  = 1024
	leastPoll    = 100 * time.Millisecond
	defaultPoll  = time.Second
	mostPoll     = 10 * time.Second
	maxPollFails = 10        // in a row
	maxFollow    = time.Hour // of one task
)

// Reasons of outcomes of tasks.
const (
	reasonCancelled = "task_cancelled" // what it had done by then is not known
	reasonTaskLost  = "task_lost"      // the upstream no longer says what has become of it
	reasonTaskLong  = "task_too_long"
	reasonTaskMany  = "too_many_tasks"
	reasonEnded     = execution.ReasonGatewayEnded
)

// background is what a gateway does while nobody waits for it. It ends with Run.
type background struct {
	ctx      context.Context // ends with Run
	stop     context.CancelFunc
	wait     sync.WaitGroup
	patience time.Duration // of the end: endTime

	mu    sync.Mutex // guards below
	ended bool       // nothing begins any more
	tasks int        // that are followed
}

func newBackground() background {
	ctx, stop := context.WithCancel(context.Background())
	return background{ctx: ctx, stop: stop, patience: endTime}
}

// begin has a task followed. It returns why not, "" if it is.
func (b *background) begin(f *follower) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended:
		return reasonEnded
	case b.tasks >= maxFollowed:
		return reasonTaskMany
	}
	b.tasks++
	b.wait.Go(func() {
		f.run()
		b.mu.Lock()
		defer b.mu.Unlock()
		b.tasks--
	})
	return ""
}

// errEnded is why a call ends with the gateway.
var errEnded = errors.New("gateway: it has ended")

// until is ctx, which ends with the gateway too; let is called when it is not needed any more.
func (b *background) until(ctx context.Context) (_ context.Context, let func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(errEnded) }
	if b.ctx.Err() != nil { // nothing begins any more
		end()
	}
	stop := context.AfterFunc(b.ctx, end)
	return ctx, func() { stop(); cancel(nil) }
}

// hold has the end wait for a call under way, until what came of it is stored.
func (b *background) hold() (stored func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return func() {}
	}
	b.wait.Add(1)
	return sync.OnceFunc(b.wait.Done)
}

// endTime is how long the end waits: a client on standard output may have stopped reading in the midst
// of a call. What is not stored by then is found by the registry's sweep.
const endTime = 5 * time.Second

func (b *background) end() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.stop()
	all := make(chan struct{})
	go func() {
		b.wait.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-time.After(b.patience):
	}
}

// Stop ends the bound calls that are under way, and the following of tasks, as the end of Run does, and
// does not wait.
func (g *Gateway) Stop() { g.background.stop() }

// Run lets the gateway work in the background until ctx ends, and returns when all of it has ended, or after
// endTime: of a bound call that is under way then, and of a task that is followed, the outcome is not known.
func (g *Gateway) Run(ctx context.Context) error {
	<-ctx.Done()
	g.background.end()
	return nil
}

// followed tells the client of its task, and follows it.
func (x *exchanging) followed(m *mcp.Message, c mcp.Call, o outcome, permit Permit) {
	record := permit.Record()
	record.TaskID, record.Answer, record.IsError = o.task, o.Answer, false
	reason := ""
	if err := permit.Follow(x.ctx, o.task); err != nil {
		x.g.cfg.Log.Error("following a task", "error", err)
		reason = reasonTaskLost
	}
	if reason == "" {
		reason = x.g.begin(&follower{
			g: x.g, up: x.up, agent: x.agent.ID, permit: permit, task: o.task, poll: pollOf(o.Answer),
			meta: m.ProtocolMeta(c), header: outbound(x.up, x.r.Header, x.session),
		})
	}
	if reason != "" {
		u := execution.Outcome{State: execution.OutcomeUnknown, Reason: reason, Digest: digestOf(o.Answer)}
		var err error
		if record, err = permit.Finish(x.ctx, u); err != nil {
			x.refuseLast(refusal{name: codeUnknown}, m.ID)
			return
		}
		o.Answer = nil
	} else {
		x.kept = true
	}
	x.reply(m.ID, record, o.Answer)
}

// pollOf is how often the upstream wishes to be asked.
func pollOf(result []byte) time.Duration {
	v, err := jcs.Profile{Numbers: jcs.DoubleNumbers}.Parse(result)
	if err != nil {
		return defaultPoll
	}
	for _, at := range []jcs.Value{v.Get("pollIntervalMs"), v.Get("pollInterval"), inside(v, "pollIntervalMs"), inside(v, "pollInterval")} {
		if ms, ok := at.Int(); ok && ms > 0 {
			return min(max(time.Duration(min(ms, 1<<20))*time.Millisecond, leastPoll), mostPoll)
		}
	}
	return defaultPoll
}

func inside(v jcs.Value, name string) jcs.Value {
	if task := v.Get("task"); task.Type() == jcs.ObjectType {
		return task.Get(name)
	}
	return jcs.Value{}
}

// follower follows one task.
type follower struct {
	g      *Gateway
	up     *upstream
	agent  string
	permit Permit
	task   string
	poll   time.Duration
	meta   []byte      // the members of _meta that every request of this client has; nil for none
	header http.Header // of the call
	in     large       // the latest answer
}

func (f *follower) run() {
	defer f.permit.Close()
	defer f.in.leave()
	ctx, cancel := context.WithTimeout(f.g.ctx, maxFollow)
	defer cancel()
	o := f.outcome(ctx)
	if _, err := f.permit.Finish(context.WithoutCancel(ctx), o.Outcome); err != nil {
		f.g.cfg.Log.Error("outcome of a task", "error", err)
	}
}

// outcome asks until the task has one.
func (f *follower) outcome(ctx context.Context) outcome {
	tick := time.NewTicker(f.poll)
	defer tick.Stop()
	for fails := 0; ; {
		f.in.leave() // nobody needs the last answer any more
		select {
		case <-ctx.Done(): // which ends with the gateway, too
			if f.g.ctx.Err() != nil {
				return lost(reasonEnded)
			}
			return lost(reasonTaskLong)
		case <-tick.C:
		}
		a, err := f.ask(ctx, "tasks/get")
		if err != nil {
			if fails++; fails >= maxPollFails {
				return lost(reasonTaskLost)
			}
			continue
		}
		fails = 0
		if a.IsError { // it knows the task no more
			return lost(reasonTaskLost)
		}
		if o, over := f.judge(ctx, a); over {
			return o
		}
	}
}

func lost(reason string) outcome {
	return outcome{Outcome: execution.Outcome{State: execution.OutcomeUnknown, Reason: reason}}
}

// judge says whether a task is over, and what came of it.
func (f *follower) judge(ctx context.Context, a mcp.Answer) (outcome, bool) {
	task := mcp.ReadTask(a.Result.Of(a.Body))
	switch task.Status {
	case "completed", "failed":
	case "cancelled":
		return lost(reasonCancelled), true
	default:
		return outcome{}, false
	}
	answer, ok := f.final(ctx, task)
	if !ok {
		return lost(reasonTaskLost), true
	}
	o := judged(ctx, &answer, answer.Body, f.g.cfg.Limits.Answer)
	if o.suspends || o.task != "" { // the outcome of a task is neither
		o = lost(reasonMalformed)
		o.Digest = digestOf(answer.Body)
	}
	return o, true
}

// final is the answer that the task stands for. Since 2026-07-28 the task has it; before, it is
// asked for.
func (f *follower) final(ctx context.Context, task mcp.Task) (mcp.Message, bool) {
	id := []byte("1")
	switch {
	case task.Result != nil:
		return mcp.Message{ID: id, Body: mcp.ResultAnswer(id, task.Result)}, true
	case task.Error != nil:
		return mcp.Message{ID: id, Body: mcp.ErrorAnswer(id, task.Error)}, true
	}
	for range maxPollFails {
		if a, err := f.ask(ctx, "tasks/result"); err == nil {
			return a.Message, true
		}
		select {
		case <-time.After(f.poll):
		case <-ctx.Done():
			return mcp.Message{}, false
		}
	}
	return mcp.Message{}, false
}

// ask sends a request about the task and returns its answer, which has its room until the next one
// is asked for. No other request has its id, in the same session neither.
func (f *follower) ask(ctx context.Context, method string) (mcp.Answer, error) {
	f.in.leave()
	f.in = large{room: f.g.answers, agent: f.agent}
	id := jcs.String("bindery-task-" + rand.Text())
	params := []jcs.Member{{Name: "taskId", Value: jcs.String(f.task)}, {Name: "_meta", Value: f.meta}}
	body := jcs.Object(
		jcs.Member{Name: "jsonrpc", Value: jcs.String("2.0")},
		jcs.Member{Name: "id", Value: id},
		jcs.Member{Name: "method", Value: jcs.String(method)},
		jcs.Member{Name: "params", Value: jcs.Object(params...)},
	)
	h := f.header.Clone()
	for name := range h {
		if len(name) > len(headerParam) && name[:len(headerParam)] == headerParam {
			delete(h, name)
		}
	}
	if h.Get(headerMethod) != "" {
		h[headerMethod], h[headerName] = []string{method}, []string{headerValue(f.task)}
	}
	return f.g.askUpstream(ctx, f.up, &f.in, h, id, body)
}
