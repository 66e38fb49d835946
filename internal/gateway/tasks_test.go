package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
)

const modern = "2026-07-28"

func askTask(method, task string) string {
	return `{"jsonrpc":"2.0","id":9,"method":"` + method + `","params":{"taskId":"` + task + `"}}`
}

// inPieces answers a call with what is written in pieces, and anything else with a result.
func inPieces(kind string, pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "tools/call") {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":9,"result":{"taskId":"t-1","status":"working"}}`)
			return
		}
		w.Header().Set("Content-Type", kind)
		for _, p := range pieces {
			io.WriteString(w, p)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// Without sessions every agent is the same client to an upstream: what is asked about a task passes for
// whom the gateway has answered with it, whatever way that answer came. Listing passes for nobody.
func TestTasksOfAgents(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`
	const created = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t-1","status":"working"}}`
	for name, answer := range map[string]http.HandlerFunc{
		"whole":      inPieces("application/json", created),
		"in pieces":  inPieces("application/json", created[:40], created[40:60], created[60:]+"\n"),
		"2025-11-25": inPieces("application/json", `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t-1","status":"working"}}}`),
		"events":     inPieces("text/event-stream", ": hello\n\n", "data: "+created[:50], created[50:]+"\r\n\r", "\n"),
		"an event behind others": inPieces("text/event-stream",
			"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"taskId\":\"t-0\"}}\n\n"+
				"data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"task\",\"taskId\":\"t-0\"}}\n\ndata: "+created+"\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, answer)
			ask := func(agent, method, task string) string {
				t.Helper()
				return w.post(askTask(method, task), "X-Test-Agent", agent, "Mcp-Protocol-Version", modern).decode(t).refused()
			}
			if got := ask("key:two", "tasks/get", "t-1"); got != "TASK_UNKNOWN" {
				t.Errorf("before: %q", got)
			}
			before := len(w.up.got())
			w.post(call, "X-Test-Agent", "key:two", "Mcp-Protocol-Version", modern)
			for _, method := range []string{"tasks/get", "tasks/result", "tasks/update", "tasks/cancel"} {
				if got := ask("key:two", method, "t-1"); got != "" {
					t.Errorf("%s of its own: %s", method, got)
				}
				for _, task := range []string{"t-1", "t-0", ""} {
					if got := ask("key:three", method, task); got != "TASK_UNKNOWN" {
						t.Errorf("%s of another's %q: %q", method, task, got)
					}
				}
			}
			if got := ask("key:two", "tasks/get", "t-0"); got != "TASK_UNKNOWN" {
				t.Errorf("one that was only spoken of: %q", got)
			}
			if got := len(w.up.got()) - before; got != 5 {
				t.Errorf("the upstream got %d requests", got)
			}
		})
	}
}

// Other ways to what is another agent's.
func TestTasksRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inPieces("application/json", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"mine"}}`))
	w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`)
	before := len(w.up.got())
	for _, c := range []struct {
		name, method, params, want string
		headers                    []string
	}{
		{"the list", "tasks/list", `{}`, "TASK_UNKNOWN", nil},
		{"the list in another case", "Tasks/List", `{}`, "TASK_UNKNOWN", nil},
		{"no params", "tasks/get", `null`, "TASK_UNKNOWN", nil},
		{"two", "tasks/get", `{"taskId":"mine","taskIds":["other"]}`, "TASK_UNKNOWN", nil},
		{"by another case", "tasks/get", `{"taskId":"mine","taskID":"other"}`, "MESSAGE_AMBIGUOUS", nil},
		{"no string", "tasks/get", `{"taskId":["other"]}`, "MESSAGE_INVALID", nil},
		{"a subscription", "subscriptions/listen", `{"notifications":{"taskIds":["mine","other"]}}`, "TASK_UNKNOWN", nil},
		{"by name", "tasks/get", `{"taskId":"mine"}`, "HEADER_MISMATCH", []string{"Mcp-Name", "other"}},
		{"by method", "ping", `{"taskId":"other"}`, "HEADER_MISMATCH", []string{"Mcp-Method", "tasks/get"}},
	} {
		body := `{"jsonrpc":"2.0","id":9,"method":"` + c.method + `","params":` + c.params + `}`
		if got := w.post(body, c.headers...).decode(t).refused(); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	if got := len(w.up.got()) - before; got != 0 {
		t.Fatalf("the upstream got %d requests", got)
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["mine"]}}}`,
		`{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`,
		askTask("tasks/get", "mine"),
	} {
		if got := w.post(body, "Mcp-Protocol-Version", modern).decode(t).refused(); got != "" {
			t.Errorf("%s: %s", body, got)
		}
	}
}

// Where there are no agents there is nobody to keep apart, and in a session of its own the upstream does.
func TestTasksPass(t *testing.T) {
	t.Parallel()
	const list = `{"jsonrpc":"2.0","id":9,"method":"tasks/list"}`
	open := newWorld(t, says(`{"tasks":[]}`), func(c *gateway.Config) { c.Authenticate = nil })
	if got := open.post(list).decode(t).refused(); got != "" {
		t.Errorf("without agents: %s", got)
	}
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Mcp-Session-Id", "s")
		says(`{}`)(rw, r)
	})
	session := w.post(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`).header.Get("Mcp-Session-Id")
	for _, c := range []struct {
		want    string
		headers []string
	}{
		{"", []string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-11-25"}},
		{"", []string{"Mcp-Session-Id", session}},
		{"TASK_UNKNOWN", []string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", modern}}, // it is none there
		{"TASK_UNKNOWN", nil},
	} {
		if got := w.post(list, c.headers...).decode(t).refused(); got != c.want {
			t.Errorf("%v: %q", c.headers, got)
		}
	}
}

// The task of a bound call is its agent's, also by a repeat at a gateway that has not seen it created.
func TestTaskOfExecution(t *testing.T) {
	t.Parallel()
	up := &tasker{created: `{"resultType":"task","taskId":"t-1","pollIntervalMs":100}`, working: `{"taskId":"t-1","status":"working"}`, left: 1 << 20}
	w := newWorld(t, up.ServeHTTP)
	ask := func(w *world, agent string) string {
		t.Helper()
		return w.post(askTask("tasks/get", "t-1"), "X-Test-Agent", agent).decode(t).refused()
	}
	call := bound("1", "e", `{}`)
	if d := w.post(call).decode(t); d.meta["state"] != "dispatched" {
		t.Fatalf("%+v", d)
	}
	if one, two := ask(w, "key:one"), ask(w, "key:two"); one != "" || two != "TASK_UNKNOWN" {
		t.Errorf("%q, %q", one, two)
	}
	hasty, err := execution.New(execution.Config{Store: w.store, Signer: signer(), Now: time.Now, Wait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := hasty.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := newWorld(t, up.ServeHTTP, func(c *gateway.Config) { c.Registry = gateway.Executions(hasty) })
	if got := ask(other, "key:one"); got != "TASK_UNKNOWN" {
		t.Errorf("at another gateway: %q", got)
	}
	other.post(call)
	if got := ask(other, "key:one"); got != "" {
		t.Errorf("after the repeat: %q", got)
	}
}

// What is known of tasks is bounded, and an agent with many takes nothing from the others.
func TestHanded(t *testing.T) {
	t.Parallel()
	var h gateway.Handed
	for i := range 1025 {
		h.Add("many", "bank", strconv.Itoa(i))
		h.Add("one", "bank", "0")
	}
	for _, c := range []struct {
		agent, upstream, task string
		want                  bool
	}{
		{"many", "bank", "0", false}, {"many", "bank", "1", true}, {"many", "bank", "1024", true},
		{"one", "bank", "0", true}, {"one", "shop", "0", false}, {"two", "bank", "0", false},
	} {
		if h.Has(c.agent, c.upstream, c.task) != c.want {
			t.Errorf("%+v", c)
		}
	}
	var full gateway.Handed
	full.Add("one", "bank", "0")
	for i := range 66 * 1000 {
		full.Add(fmt.Sprint("agent-", i/1000), "bank", strconv.Itoa(i))
	}
	if !full.Has("one", "bank", "0") || !full.Has("agent-65", "bank", "65999") || full.Has("agent-0", "bank", "0") && full.Has("agent-1", "bank", "1000") && full.Has("agent-2", "bank", "2000") {
		t.Error("what is forgotten is not the oldest of who has most")
	}
}
