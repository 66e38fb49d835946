package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// A list of tools is read however it comes: whole or as an event, whatever its type says beside that.
func TestListTools(t *testing.T) {
	t.Parallel()
	const list = `{"tools":[{"name":"charge"}]}`
	for name, answer := range map[string]http.HandlerFunc{
		"JSON":   says(list),
		"events": events(": x\n\n", `data: {"jsonrpc":"2.0","id":@,"result":`+list+"}\n\n"),
		"events of a character set": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+idIn(r)+`,"result":`+list+"}\n\n")
		},
	} {
		up, got := newRecorder(t, answer), ""
		err := gateway.ListTools(t.Context(), gateway.Upstream{Name: "bank", URL: up.URL}, func(result []byte) { got += string(result) })
		if err != nil || got != list {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// The name of a tool, or of a task, may be in any script; a header has ASCII alone.
func TestNamesInHeaders(t *testing.T) {
	t.Parallel()
	v, err := jcs.Parse([]byte(`{"status":{"tool":"prüfe","arguments":{},"succeeded":{"pointer":"/structuredContent/state","equals":"paid"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := toolaction.ParseDeclaration(v)
	if err != nil {
		t.Fatal(err)
	}
	var clock atomic.Int64
	w := newWorld(t, breaks, func(c *gateway.Config) {
		c.Upstreams[0].Tools = map[string]toolaction.Declaration{"charge": d}
		c.Now = func() time.Time { return time.Now().Add(time.Duration(clock.Load())) }
	})
	w.lose("pay-1")
	w.up.answers(says(`{"structuredContent":{"state":"paid"}}`))
	clock.Store(int64(time.Minute))
	if err := gateway.NewFinder(w.gw, w.registry).Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	// base64 of Python
	if got := w.up.got(); got[len(got)-1].header.Get("Mcp-Name") != "=?base64?cHLDvGZl?=" || len(w.findings("pay-1")) != 1 {
		t.Errorf("asked with %v", got[len(got)-1].header)
	}

	up := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if strings.Contains(string(body), "tools/call") {
			says(`{"resultType":"task","taskId":"tâche","pollIntervalMs":100}`)(w, r)
			return
		}
		says(`{"taskId":"tâche","status":"completed","result":{}}`)(w, r)
	})
	up.post(bound("1", "e", `{}`), "Mcp-Method", "tools/call", "Mcp-Name", "charge")
	up.ends("e", execution.Succeeded)
	got := up.up.got()
	if last := got[len(got)-1]; last.header.Get("Mcp-Name") != "=?base64?dMOiY2hl?=" {
		t.Errorf("asked with %v", last.header)
	}
}

// ends waits until an execution is in its last state.
func (w *world) ends(id string, want execution.State) {
	w.t.Helper()
	w.until(id+" ended", func() bool { return w.row(id).State.Terminal() })
	if row := w.row(id); row.State != want {
		w.t.Fatalf("%s: %s, %q", id, row.State, row.Reason)
	}
}

// until waits, on a busy machine for long.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for began := time.Now(); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > patience {
			w.t.Fatal("never: ", what)
		}
	}
}

// Tasks that are followed at once, perhaps in one session, are asked about under ids of their own: an
// upstream could take one request for the other.
func TestTasksAtOnce(t *testing.T) {
	t.Parallel()
	var made, polls atomic.Int32
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		switch {
		case strings.Contains(string(body), "tools/call"):
			says(`{"task":{"taskId":"t-`+string('0'+made.Add(1))+`","pollInterval":100}}`)(w, r)
		case polls.Add(1) <= 4:
			says(`{"status":"working"}`)(w, r)
		default:
			says(`{"status":"completed","result":{}}`)(w, r)
		}
	})
	w.post(bound("1", "e", `{}`))
	w.post(bound("1", "f", `{}`))
	w.ends("e", execution.Succeeded)
	w.ends("f", execution.Succeeded)
	ids := map[string]bool{}
	for _, h := range w.up.got() {
		if strings.Contains(h.body, "tasks/get") {
			_, id, _ := strings.Cut(h.body, `"id":`)
			id, _, _ = strings.Cut(id, ",")
			if ids[id] {
				t.Errorf("%s was asked with twice", id)
			}
			ids[id] = true
		}
	}
}

// A stale takes nothing from its second request on, as the connection of a server that has just left.
type stale struct {
	net.Conn
	wrote atomic.Int32
}

func (s *stale) Write(b []byte) (int, error) {
	if s.wrote.Add(1) > 1 {
		return 0, syscall.EPIPE
	}
	return s.Conn.Write(b)
}

// No message is sent anew, also where a kept connection has taken nothing of it: whether to repeat it is
// its client's to decide.
func TestStaleConnection(t *testing.T) {
	t.Parallel()
	dials := 0
	w := newWorld(t, says(`{}`), func(c *gateway.Config) {
		c.Upstreams[0].Transport = &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			dials++
			return &stale{Conn: conn}, err
		}}
	})
	for _, want := range []string{"", "UPSTREAM_UNREACHABLE"} {
		if r := w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.decode(t).refused() != want {
			t.Errorf("%s", r.body)
		}
	}
	if n := len(w.up.got()); n != 1 || dials != 1 {
		t.Errorf("%d requests over %d connections", n, dials)
	}
}

// However many lists come at once, few are kept to learn from; they pass all the same.
func TestListsAtOnce(t *testing.T) {
	t.Parallel()
	const most = 16
	release, entered := make(chan struct{}), make(chan struct{}, most)
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Name") == "wait" {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			<-release
		}
		says(`{"tools":[{"name":"read","annotations":{"readOnlyHint":true}}]}`)(w, r)
	}, func(c *gateway.Config) { c.Require = toolaction.RequireDestructive })
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	known := func() bool {
		tool, _ := w.gw.Tool("bank", "read")
		return !tool.RequiresID()
	}
	var asking sync.WaitGroup
	for range most {
		asking.Go(func() {
			req, _ := http.NewRequest("POST", w.server.URL+"/mcp", strings.NewReader(list))
			req.Header.Set("Mcp-Name", "wait")
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = resp.Body.Read(make([]byte, 1))
			entered <- struct{}{}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		})
	}
	for range most {
		<-entered
	}
	if r := w.post(list); !strings.Contains(r.body, "read") || known() {
		t.Errorf("beside the others: %s, learned: %t", r.body, known())
	}
	close(release)
	asking.Wait()
	if !known() {
		t.Error("nothing was learned")
	}
}

// The answers about tasks that are followed share the room of all large answers.
func TestLargeTasks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300<<10)
	var asked atomic.Int32
	entered, release := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		switch {
		case strings.Contains(string(body), `execution_id":"e"`):
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"x":"`+long)
			w.(http.Flusher).Flush()
			close(entered)
			<-release
			io.WriteString(w, `"}}`)
		case strings.Contains(string(body), "tools/call"):
			says(`{"task":{"taskId":"t","pollInterval":100}}`)(w, r)
		default:
			asked.Add(1)
			says(`{"status":"completed","result":{"x":"`+long+`"}}`)(w, r)
		}
	}, func(c *gateway.Config) { c.Limits.Large = 1 })
	var asking sync.WaitGroup
	asking.Go(func() { w.post(bound("1", "e", `{}`)) })
	<-entered
	w.until("room taken", func() bool { return w.gw.LargeAnswers() == 1 })
	w.post(bound("1", "f", `{}`))
	w.until("asked", func() bool { return asked.Load() > 0 })
	time.Sleep(100 * time.Millisecond)
	if row := w.row("f"); row.State != execution.Dispatched || asked.Load() != 1 {
		t.Errorf("without room: %s, asked %d times", row.State, asked.Load())
	}
	close(release)
	asking.Wait()
	w.ends("f", execution.Succeeded)
}
