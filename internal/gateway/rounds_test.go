package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// continued is a bound call that carries what was asked for.
func continued(id, execution, state, responses string) string {
	return strings.Replace(bound(id, execution, `{}`), `"arguments"`, `"requestState":`+state+`,"inputResponses":`+responses+`,"arguments"`, 1)
}

// An answer that asks for input belongs to the same execution as the call that carries the input, and
// each state is used once.
func TestRounds(t *testing.T) {
	var round atomic.Int32
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		switch round.Add(1) {
		case 1:
			says(`{"resultType":"input_required","requestState":"s1","inputRequests":{"a":{"method":"elicitation/create"}}}`)(w, r)
		default:
			says(`{"resultType":"complete","content":[]}`)(w, r)
		}
	})
	first := w.post(bound("1", "e", `{}`)).decode(t)
	if first.meta["state"] != "suspended" || !strings.Contains(string(first.Result), `"requestState":"s1"`) {
		t.Fatalf("%s", first.Result)
	}
	if again := w.post(bound("2", "e", `{}`)).decode(t); again.meta["state"] != "suspended" || !strings.Contains(string(again.Result), `"requestState":"s1"`) {
		t.Errorf("asked again: %s %+v", again.Result, again.Error)
	}
	if d := w.post(continued("3", "e", `"other"`, `{}`)).decode(t); d.refused() != "EXECUTION_CONTINUATION_MISMATCH" {
		t.Errorf("another state: %+v", d)
	}
	if d := w.post(continued("3", "e", `7`, `{}`)).decode(t); d.refused() != "MESSAGE_INVALID" {
		t.Errorf("a state that is no string: %+v", d)
	}
	if n := round.Load(); n != 1 {
		t.Fatalf("sent %d times", n)
	}
	last := w.post(continued("4", "e", `"s\u0031"`, `{"a":{"action":"accept"}}`)).decode(t)
	if last.meta["state"] != "succeeded" || last.meta["binding"] != first.meta["binding"] {
		t.Errorf("continued: %s %+v", last.Result, last.Error)
	}
	if d := w.post(continued("5", "e", `"s1"`, `{"a":{"action":"accept"}}`)).decode(t); d.refused() != "EXECUTION_REPLAY" {
		t.Errorf("continued again: %+v", d)
	}
	if n := round.Load(); n != 2 {
		t.Errorf("sent %d times", n)
	}
}

// tasker is an upstream whose answer is a task.
type tasker struct {
	created, working, done string // results
	final                  string // result of tasks/result; "" if there is no such method
	polls                  atomic.Int32
	left                   int32 // polls before it is done
	headers                atomic.Value
}

func (u *tasker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		Method string
		Params struct{ TaskID string }
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	switch m.Method {
	case "tools/call":
		says(u.created)(w, r)
	case "tasks/get":
		u.headers.Store(r.Header.Clone())
		if m.Params.TaskID != "t-1" {
			status(200, "application/json", `{"jsonrpc":"2.0","id":@,"error":{"code":-32602,"message":"no such task"}}`)(w, r)
			return
		}
		if u.polls.Add(1) <= u.left {
			says(u.working)(w, r)
			return
		}
		says(u.done)(w, r)
	case "tasks/result":
		says(u.final)(w, r)
	}
}

// Where the answer is a task the client gets it at once, and the gateway follows it to its end, in
// both revisions.
//
// covers EXA-060
func TestTasks(t *testing.T) {
	for _, c := range []struct {
		name   string
		up     *tasker
		state  execution.State
		reason string
		answer string
	}{
		{"2026-07-28", &tasker{
			created: `{"resultType":"task","taskId":"t-1","status":"working","pollIntervalMs":100}`,
			working: `{"resultType":"complete","taskId":"t-1","status":"working"}`, left: 1,
			done: `{"resultType":"complete","taskId":"t-1","status":"completed","result":{"content":[],"n":1.0}}`,
		}, "succeeded", "", `{"content":[],"n":1.0}`},
		{"2025-11-25", &tasker{
			created: `{"task":{"taskId":"t-1","status":"working","pollInterval":100}}`,
			working: `{"taskId":"t-1","status":"input_required"}`, left: 1,
			done: `{"taskId":"t-1","status":"completed"}`, final: `{"content":[],"isError":true}`,
		}, "failed", "", `{"content":[],"isError":true}`},
		{"failed", &tasker{
			created: `{"resultType":"task","taskId":"t-1","pollIntervalMs":100}`,
			done:    `{"taskId":"t-1","status":"failed","error":{"code":1,"message":"no"}}`,
		}, "failed", "", `{"code":1,"message":"no"}`},
		{"cancelled", &tasker{
			created: `{"resultType":"task","taskId":"t-1","pollIntervalMs":100}`,
			done:    `{"taskId":"t-1","status":"cancelled"}`,
		}, "outcome_unknown", "task_cancelled", ""},
		{"forgotten", &tasker{created: `{"resultType":"task","taskId":"t-2","pollIntervalMs":100}`}, "outcome_unknown", "task_lost", ""},
		{"a task of a task", &tasker{
			created: `{"resultType":"task","taskId":"t-1","pollIntervalMs":100}`,
			done:    `{"taskId":"t-1","status":"completed","result":{"resultType":"task","taskId":"t-1"}}`,
		}, "outcome_unknown", "answer_malformed", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.up.ServeHTTP)
			call := strings.Replace(bound("1", "e", `{}`), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, 1)
			d := w.post(call, "Mcp-Method", "tools/call", "Mcp-Name", "charge").decode(t)
			if d.meta["state"] != "dispatched" || d.refused() != "" || !strings.Contains(string(d.Result), "taskId") {
				t.Fatalf("%s %+v", d.Result, d.Error)
			}
			w.ends("e", c.state)
			row := w.row("e")
			if row.State != c.state || row.Reason != c.reason || string(row.Answer) != c.answer {
				t.Errorf("%s, %q, %s", row.State, row.Reason, row.Answer)
			}
			if d := w.post(call).decode(t); d.refused() != "EXECUTION_REPLAY" || d.of("state") != string(c.state) {
				t.Errorf("repeated: %s %+v", d.Result, d.Error)
			}
			w.logged(func(e audit.Entry) bool { return e.Event == audit.EventFollowing && e.ExecutionID == "e" })
			h, _ := c.up.headers.Load().(http.Header)
			if h.Get("Mcp-Method") != "tasks/get" || h.Get("Mcp-Name") == "charge" {
				t.Errorf("asked with %v", h)
			}
			if n := len(w.up.bodies()); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// Tools that need an execution_id are not called without: what the declaration says, and what the
// upstream has said of itself in passing, at once and in each spelling of a stream.
func TestRequired(t *testing.T) {
	declared, err := jcs.Parse([]byte(`{"require_execution_id":true}`))
	if err != nil {
		t.Fatal(err)
	}
	declaration, err := toolaction.ParseDeclaration(declared)
	if err != nil {
		t.Fatal(err)
	}
	const list = `{"tools":[{"name":"read","inputSchema":{},"annotations":{"readOnlyHint":true}},{"name":"charge","inputSchema":{}}]}`
	for name, answer := range map[string]http.HandlerFunc{
		"JSON":   says(list),
		"events": events(": x\n\n", `data: {"jsonrpc":"2.0","id":@,"result":`+list+"}\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				if strings.Contains(string(body), "tools/list") {
					answer(w, r)
					return
				}
				says(`{}`)(w, r)
			}, func(c *gateway.Config) {
				c.Require = toolaction.RequireDestructive
				c.Upstreams[0].Tools = map[string]toolaction.Declaration{"refund": declaration}
			})
			call := func(tool string) string {
				return w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`).decode(t).refused()
			}
			if got := call("read"); got != "EXECUTION_ID_REQUIRED" {
				t.Errorf("nothing is known yet: %q", got)
			}
			w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			for tool, want := range map[string]string{"read": "", "charge": "EXECUTION_ID_REQUIRED", "refund": "EXECUTION_ID_REQUIRED", "": "EXECUTION_ID_REQUIRED", "Read": "EXECUTION_ID_REQUIRED"} {
				if got := call(tool); got != want {
					t.Errorf("%q: %q", tool, got)
				}
			}
			w.logged(func(e audit.Entry) bool {
				return e.Event == audit.EventRefused && e.Reason == "EXECUTION_ID_REQUIRED" && e.Tool == "charge" && e.ExecutionID == ""
			})
			if n := len(w.up.bodies()); n != 1 {
				t.Errorf("%d calls reached the upstream", n)
			}
		})
	}
}

// Without an agent, or without a registry, no execution_id is taken; calls without one go on.
//
// covers EXA-034
func TestInactive(t *testing.T) {
	for want, change := range map[string]func(*gateway.Config){
		"EXECUTION_UNAUTHENTICATED": func(c *gateway.Config) { c.Authenticate = nil },
		"EXECUTION_UNAVAILABLE":     func(c *gateway.Config) { c.Registry = nil },
	} {
		w := newWorld(t, says(`{}`), change)
		if d := w.post(bound("1", "e", `{}`)).decode(t); d.refused() != want {
			t.Errorf("%+v, want %s", d.Error, want)
		}
		if n := len(w.up.bodies()); n != 0 {
			t.Errorf("%s: %d calls reached the upstream", want, n)
		}
		if d := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`).decode(t); d.refused() != "" {
			t.Errorf("unbound: %+v", d.Error)
		}
	}
}

// A balky registry says what it is told to.
type balky struct {
	gateway.Registry
	admit  func(gateway.Permit) (gateway.Permit, *execution.Record, error)
	refuse error
}

func (b *balky) Admit(ctx context.Context, c execution.Call) (gateway.Permit, *execution.Record, error) {
	p, rec, err := b.Registry.Admit(ctx, c)
	if b.admit == nil || p == nil {
		return p, rec, err
	}
	return b.admit(p)
}

func (b *balky) Refuse(ctx context.Context, e audit.Entry) error {
	return errors.Join(b.refuse, b.Registry.Refuse(ctx, e))
}

type deadEpoch struct{ gateway.Permit }

func (deadEpoch) Start() error { return execution.ErrEpoch }

// A replica that may have been declared dead sends nothing, not even a byte of the message.
//
// covers EXA-064
func TestDeadEpochSendsNothing(t *testing.T) {
	w := newWorld(t, says(`{}`), func(c *gateway.Config) {
		c.Registry = &balky{Registry: c.Registry, admit: func(p gateway.Permit) (gateway.Permit, *execution.Record, error) {
			return deadEpoch{p}, nil, nil
		}}
	})
	d := w.post(bound("1", "e", `{}`)).decode(t)
	if d.refused() != "EXECUTION_NOT_SENT" || w.row("e").Reason != "not_sent" {
		t.Errorf("%+v", d.Error)
	}
	if got := w.up.got(); len(got) != 0 {
		t.Errorf("the upstream got %v", got)
	}
}

// Where admission fails, nothing is sent; where a refusal cannot be logged, it is one nevertheless.
func TestRegistryFails(t *testing.T) {
	w := newWorld(t, says(`{}`), func(c *gateway.Config) {
		c.Registry = &balky{Registry: c.Registry, refuse: errors.New("disk full"), admit: func(p gateway.Permit) (gateway.Permit, *execution.Record, error) {
			p.Close()
			return nil, nil, errors.New("disk full: secret path")
		}}
	})
	if d := w.post(bound("1", "e", `{}`)).decode(t); d.refused() != "EXECUTION_UNAVAILABLE" || strings.Contains(fmt.Sprint(d.Error), "secret") {
		t.Errorf("%+v", d.Error)
	}
	if d := w.post(bound("1", "a b", `{}`)).decode(t); d.refused() != "EXECUTION_ID_INVALID" {
		t.Errorf("%+v", d.Error)
	}
	if got := w.up.got(); len(got) != 0 {
		t.Errorf("the upstream got %v", got)
	}
}

// An answer that is too long to be kept comes to the caller nevertheless, once; a repeat gets its
// digest.
func TestLongAnswer(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	w := newWorld(t, says(`{"text":"`+long+`"}`))
	d := w.post(bound("1", "e", `{}`)).decode(t)
	if d.meta["state"] != "succeeded" || !strings.Contains(string(d.Result), long) {
		t.Fatalf("%.200s %+v", d.Result, d.Error)
	}
	if d := w.post(bound("1", "e", `{}`)).decode(t); d.refused() != "EXECUTION_REPLAY" || d.of("result") != "" || !strings.HasPrefix(d.of("result_sha256"), "sha256:") {
		t.Errorf("%+v", d.Error)
	}
}

// A question that is too long to be kept is told once as well, and can be answered; its execution is
// not over.
func TestLongQuestion(t *testing.T) {
	w := newWorld(t, says(`{"resultType":"input_required","requestState":"s1","inputRequests":{"a":"`+strings.Repeat("x", 300<<10)+`"}}`))
	if d := w.post(bound("1", "e", `{}`)).decode(t); d.meta["state"] != "suspended" || !strings.Contains(string(d.Result), `"requestState":"s1"`) {
		t.Fatalf("%.200s %+v", d.Result, d.Error)
	}
	if d := w.post(bound("2", "e", `{}`)).decode(t); d.refused() != "EXECUTION_PENDING" || d.of("state") != "suspended" || !strings.Contains(d.Error.Data.SafeNext, "too long to be kept") {
		t.Errorf("%+v", d.Error)
	}
	w.up.answers(says(`{"resultType":"complete","content":[]}`))
	if d := w.post(continued("3", "e", `"s1"`, `{"a":{}}`)).decode(t); d.meta["state"] != "succeeded" {
		t.Errorf("%.200s %+v", d.Result, d.Error)
	}
}

// Headers that repeat arguments are those of the canonical ones, or the call is refused.
func TestParamHeaders(t *testing.T) {
	const list = `{"tools":[{"name":"charge","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"in":{"properties":{"b":{"type":"boolean","x-mcp-header":"B"}}}}}}]}`
	w := newWorld(t, says(`{}`))
	w.gw.Learn("bank", []byte(list))
	w.gw.Learn("bank", []byte(`{"tools":[{"name":"charge"`))
	w.gw.Learn("none", []byte(list))
	for i, c := range []struct {
		arguments string
		headers   []string
		want      string
	}{
		{`{"region":"eu","n":7,"in":{"b":true}}`, []string{"Mcp-Param-Region", "eu", "Mcp-Param-N", "7", "Mcp-Param-B", "true"}, ""},
		{`{"region":"é","n":7.0}`, []string{"Mcp-Param-Region", "=?base64?w6k=?=", "Mcp-Param-n", "7"}, ""},
		{`{"n":7.0}`, []string{"Mcp-Param-N", "7.0"}, "HEADER_MISMATCH"},
		{`{"n":7}`, []string{"Mcp-Param-N", "8"}, "HEADER_MISMATCH"},
		{`{"n":7}`, []string{"Mcp-Param-N", "7", "Mcp-Param-N", "8"}, "HEADER_MISMATCH"},
		{`{"region":"eu"}`, []string{"Mcp-Param-Region", "us"}, "HEADER_MISMATCH"},
		{`{"region":"eu"}`, []string{"Mcp-Param-Region", "=?base64?!?="}, "HEADER_MISMATCH"},
		{`{}`, []string{"Mcp-Param-Region", ""}, "HEADER_MISMATCH"},
		{`{"in":7}`, []string{"Mcp-Param-B", "true"}, "HEADER_MISMATCH"},
		{`{"in":{"b":"true"}}`, []string{"Mcp-Param-B", "false"}, "HEADER_MISMATCH"},
	} {
		if d := w.post(bound("1", fmt.Sprintf("e%d", i), c.arguments), c.headers...).decode(t); d.refused() != c.want {
			t.Errorf("%s with %q: %+v", c.arguments, c.headers, d.Error)
		}
	}
}

// A fault of the gateway's own is named and says nothing.
func TestPanics(t *testing.T) {
	w := newWorld(t, says(`{}`), func(c *gateway.Config) {
		c.Authenticate = func(*http.Request) (agentauth.Identity, error) { panic("secret") }
	})
	r := w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if r.status != 500 || r.decode(t).refused() != "GATEWAY_INTERNAL" || strings.Contains(r.body, "secret") {
		t.Errorf("%d %s", r.status, r.body)
	}
	w = newWorld(t, says(`{}`), func(c *gateway.Config) {
		c.Authenticate = func(*http.Request) (agentauth.Identity, error) { return agentauth.Identity{}, errors.New("secret") }
	})
	r = w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if r.status != 500 || strings.Contains(r.body, "secret") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

type unstored struct{ gateway.Permit }

func (p unstored) Finish(ctx context.Context, o execution.Outcome) (*execution.Record, error) {
	return p.Permit.Finish(ctx, execution.Outcome{State: execution.OutcomeUnknown, Reason: execution.ReasonNotPersisted, Digest: "sha256:" + sumOfDone})
}

type unfinished struct{ gateway.Permit }

func (p unfinished) Finish(context.Context, execution.Outcome) (*execution.Record, error) {
	return nil, execution.ErrSpent
}

// The reply is what is stored, not what the upstream has said: where the outcome could not be stored
// the caller is told that it is unknown.
//
// covers EXA-066, EXA-070
func TestReplyIsStored(t *testing.T) {
	for _, wrap := range []func(gateway.Permit) gateway.Permit{
		func(p gateway.Permit) gateway.Permit { return unstored{p} },
		func(p gateway.Permit) gateway.Permit { return unfinished{p} },
	} {
		w := newWorld(t, says(`{"content":[{"type":"text","text":"paid"}]}`), func(c *gateway.Config) {
			c.Registry = &balky{Registry: c.Registry, admit: func(p gateway.Permit) (gateway.Permit, *execution.Record, error) {
				return wrap(p), nil, nil
			}}
		})
		if r := w.post(bound("1", "e", `{}`)); r.decode(t).refused() != "EXECUTION_OUTCOME_UNKNOWN" || strings.Contains(r.body, "paid") {
			t.Errorf("%s", r.body)
		}
	}
}

// A tool whose declaration asks for an execution_id is not called without under another case: some
// upstreams take the one name for the other.
func TestRequiredInAnyCase(t *testing.T) {
	v, err := jcs.Parse([]byte(`{"require_execution_id":true}`))
	if err != nil {
		t.Fatal(err)
	}
	declaration, err := toolaction.ParseDeclaration(v)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, says(`{}`), func(c *gateway.Config) {
		c.Upstreams[0].Tools = map[string]toolaction.Declaration{"charge": declaration}
	})
	for tool, want := range map[string]string{"charge": "EXECUTION_ID_REQUIRED", "CHARGE": "EXECUTION_ID_REQUIRED", "other": ""} {
		if got := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`).decode(t).refused(); got != want {
			t.Errorf("%s: %q", tool, got)
		}
	}
}

// When the gateway ends, a call under way has an end too, and its client is told. Whoever waits for the
// gateway finds that stored.
//
// covers EXA-060
func TestCallsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *world){
		"Run": func(t *testing.T, w *world) {
			ended, end := context.WithCancel(t.Context())
			end()
			if err := w.gw.Run(ended); err != nil {
				t.Error(err)
			}
			if row := w.row("e"); row.State != "outcome_unknown" || row.Reason != "gateway_ended" {
				t.Errorf("%s, %q", row.State, row.Reason)
			}
		},
		"Stop": func(_ *testing.T, w *world) { w.gw.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			entered := make(chan struct{})
			w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
				close(entered)
				<-r.Context().Done()
			})
			asked := make(chan decoded, 1)
			go func() { asked <- w.post(bound("1", "e", `{}`)).decode(t) }()
			<-entered
			end(t, w)
			if d := <-asked; d.refused() != "EXECUTION_OUTCOME_UNKNOWN" || d.of("reason") != "gateway_ended" {
				t.Errorf("%+v", d.Error)
			}
		})
	}
}

// When the gateway ends, what it follows is said to be unknown; nothing begins any more.
func TestTasksEnd(t *testing.T) {
	up := &tasker{created: `{"resultType":"task","taskId":"t-1"}`, working: `{"taskId":"t-1","status":"working"}`, left: 1 << 30}
	w := newWorld(t, up.ServeHTTP)
	w.post(bound("1", "e", `{}`))
	ended, end := context.WithCancel(t.Context())
	end()
	if err := w.gw.Run(ended); err != nil {
		t.Error(err)
	}
	if row := w.row("e"); row.State != "outcome_unknown" || row.Reason != "gateway_ended" {
		t.Errorf("%s, %q", row.State, row.Reason)
	}
	if d := w.post(bound("1", "f", `{}`)).decode(t); d.refused() != "EXECUTION_NOT_SENT" {
		t.Errorf("%+v", d.Error)
	}
}

// ending is a permit whose gateway ends when a task is about to be followed.
type ending struct {
	gateway.Permit
	end func()
}

func (p ending) Follow(ctx context.Context, task string) error {
	p.end()
	return p.Permit.Follow(ctx, task)
}

// A task that is answered with while the gateway ends is not followed.
func TestTaskAtTheEnd(t *testing.T) {
	t.Parallel()
	up := &tasker{created: `{"resultType":"task","taskId":"t-1"}`, working: `{"taskId":"t-1","status":"working"}`, left: 1 << 30}
	ended, end := context.WithCancel(t.Context())
	end()
	var w *world
	w = newWorld(t, up.ServeHTTP, func(c *gateway.Config) {
		c.Registry = &balky{Registry: c.Registry, admit: func(p gateway.Permit) (gateway.Permit, *execution.Record, error) {
			return ending{p, func() {
				go func() { _ = w.gw.Run(ended) }()
				w.until("its end", w.gw.Ended)
			}}, nil, nil
		}}
	})
	if d := w.post(bound("1", "e", `{}`)).decode(t); d.refused() != "EXECUTION_OUTCOME_UNKNOWN" || d.of("reason") != "gateway_ended" {
		t.Errorf("%+v", d)
	}
}
