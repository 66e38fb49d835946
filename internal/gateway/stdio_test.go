package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
)

// A client is a client on standard input and output.
type client struct {
	t       testing.TB
	in      *io.PipeWriter
	answers chan string
	end     func() error
}

func newClient(t testing.TB, front func(in io.Reader, out io.Writer) *gateway.Front) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	f := front(inR, outW)
	f.SetFarewell(patience)
	done := make(chan error, 1)
	go func() {
		err := f.Run(context.Background())
		_ = outW.Close()
		done <- err
	}()
	c := &client{t: t, in: inW, answers: make(chan string, 64)}
	go func() { _ = gateway.ReadLines(outR, func(line []byte) { c.answers <- string(line) }) }()
	c.end = sync.OnceValue(func() error {
		_ = inW.Close()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return errors.New("the front does not end")
		}
	})
	t.Cleanup(func() {
		if err := c.end(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) hear() string {
	c.t.Helper()
	select {
	case line := <-c.answers:
		return line
	case <-time.After(patience):
		c.t.Fatal("no answer")
		return ""
	}
}

func (c *client) ask(line string) string {
	c.t.Helper()
	c.say(line)
	return c.hear()
}

// processes are an upstream of programs until the end of the test.
func processes(t testing.TB, cfg gateway.ProcessesConfig) *gateway.Processes {
	t.Helper()
	if cfg.Process.Command == nil {
		cfg.Process.Command = program("raw")
	}
	p, err := gateway.NewProcesses(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return p
}

// overStdio is a client on standard input and output, in front of one program, and the whole gateway between.
func overStdio(t testing.TB) (*client, *world, *gateway.Processes) {
	t.Helper()
	var front *gateway.Front
	ready := make(chan struct{})
	p := processes(t, gateway.ProcessesConfig{Direct: func(line []byte) {
		<-ready
		front.Send(line)
	}})
	w := newWorld(t, nil, func(cfg *gateway.Config) {
		cfg.Upstreams = []gateway.Upstream{{Name: "bank", URL: "http://stdio.invalid/mcp", Transport: p, Timeout: patience}}
		cfg.Hosts = []string{"stdio"}
		cfg.Authenticate = func(*http.Request) (agentauth.Identity, error) { return agentauth.Identity{ID: "local:stdio"}, nil }
	})
	c := newClient(t, func(in io.Reader, out io.Writer) *gateway.Front {
		front = gateway.NewFront(gateway.FrontConfig{Handler: w.gw, Path: "/mcp", Host: "stdio", In: in, Out: out, Leave: time.Second})
		return front
	})
	close(ready)
	return c, w, p
}

// From line to line every byte stays, both ways, whatever a JSON library would make of it. What only
// looks like an answer is not passed on, and nor is a second one.
//
// covers EXA-047, EXA-052, EXA-055
func TestLinesStay(t *testing.T) {
	t.Parallel()
	c, _, _ := overStdio(t)
	for _, step := range []struct{ line, want string }{
		{` {"id":  "a\/b", "method":"x", "x":1.50, "jsonrpc":"2.0"}`, `{ "result":{"got":" {\"id\":  \"a\\/b\", \"method\":\"x\", \"x\":1.50, \"jsonrpc\":\"2.0\"}","x":1.0,"x":1e400,"z":"\u00e9\/"}, "jsonrpc":"2.0","id": "a\/b" }`},
		{`{"method":"notifications/x","jsonrpc":"2.0"}`, `{"method" : "notifications/got","jsonrpc":"2.0", "params":{"got":"{\"method\":\"notifications/x\",\"jsonrpc\":\"2.0\"}","got":1e400}}`},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"twice"}`, `{"jsonrpc":"2.0","id":9007199254740993,"result":{"n":1}}`},
		{`{"jsonrpc":"2.0","id":"a\u002bb","method":"respelled"}`, `{"jsonrpc":"2.0","id":"a+b","result":{"content":[]}}`}, // an id is what it says
		{`{"jsonrpc":"2.0","id":2,"method":"sly"}`, `{"jsonrpc":"2.0","id":2,"result":{"sly":0}}`},
	} {
		if got := c.ask(step.line); got != step.want {
			t.Errorf("%s\n got %s\nwant %s", step.line, got, step.want)
		}
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	if len(c.answers) > 0 {
		t.Errorf("and it says %s", <-c.answers)
	}
}

// What is no message, or repeats the id of one that is open, has an answer with a name; a client is never
// left waiting.
func TestBadLines(t *testing.T) {
	t.Parallel()
	c, _, _ := overStdio(t)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"silent"}`)
	for _, step := range []struct{ line, want string }{
		{`{`, "MESSAGE_MALFORMED"},
		{`[]`, "BATCH_UNSUPPORTED"},
		{`{"jsonrpc":"2.0","id":null,"method":"x"}`, "MESSAGE_INVALID"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"x"}`, "MESSAGE_INVALID"},
		{`{"jsonrpc":"2.0","id":7,"method":"x","method":"y"}`, "MESSAGE_MALFORMED"},
		{`{"jsonrpc":"2.0","id":1,"method":"x"}`, `"a request with this id is open"`},
	} {
		if got := c.ask(step.line); !strings.Contains(got, step.want) || !strings.Contains(got, `"error"`) {
			t.Errorf("%s: %s, want %s", step.line, got, step.want)
		}
	}
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if got := c.hear(); !strings.Contains(got, "requestId") { // the program says what it got
		t.Errorf("the cancelling comes as %s", got)
	}
}

// A bound call over standard input and output has one effect, and its repeat the recorded answer.
//
// covers EXA-047
func TestBoundOverStdio(t *testing.T) {
	t.Parallel()
	c, w, _ := overStdio(t)
	file := filepath.Join(t.TempDir(), "effects")
	arguments := fmt.Sprintf(`{"file":%q,"plan":""}`, file)
	first := c.ask(bound("1", "order-1", arguments))
	if !strings.Contains(first, `"state":"succeeded"`) || !strings.Contains(first, `"id":1,`) {
		t.Errorf("first: %s", first)
	}
	if again := c.ask(bound(`"b"`, "order-1", arguments)); !strings.Contains(again, execution.NameReplay) || !strings.Contains(again, `"id":"b"`) {
		t.Errorf("again: %s", again)
	}
	if d := c.ask(bound(`"\u0061"`, "order-2", `{"plan":"respelled"}`)); !strings.Contains(d, `"state":"succeeded"`) {
		t.Errorf("under an id that is spelled otherwise in the answer: %s", d)
	}
	if other := c.ask(bound("3", "order-1", `{}`)); !strings.Contains(other, execution.NameCollision) {
		t.Errorf("other: %s", other)
	}
	if got := effects(t, file); got != 1 {
		t.Errorf("%d effects", got)
	}
	_ = w
}

func effects(t testing.TB, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("\n"))
}

// The program ends with calls open: each has an answer with a name, the bound one that nobody knows
// what came of it, and that is what is recorded. So it is if it breaks off or says too much.
//
// covers EXA-060
func TestProgramEnds(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{"die", "cut", "long"} {
		t.Run(plan, func(t *testing.T) {
			t.Parallel()
			c, w, p := overStdio(t)
			file := filepath.Join(t.TempDir(), "effects")
			c.say(`{"jsonrpc":"2.0","id":"open","method":"silent"}`)
			c.say(bound("1", "order-1", fmt.Sprintf(`{"file":%q,"plan":%q}`, file, plan)))
			var all string
			for range 2 {
				all += c.hear() + "\n"
			}
			if !strings.Contains(all, `"id":"open","error"`) || !strings.Contains(all, "UPSTREAM_UNREACHABLE") {
				t.Errorf("the open call has no answer: %s", all)
			}
			if !strings.Contains(all, `"state":"outcome_unknown"`) {
				t.Errorf("the bound call: %s", all)
			}
			select {
			case <-p.Ended():
			case <-time.After(patience):
				t.Error("the program has not ended")
			}
			if after := c.ask(`{"jsonrpc":"2.0","id":"after","method":"x"}`); !strings.Contains(after, "UPSTREAM_UNREACHABLE") {
				t.Errorf("after: %s", after)
			}
			id, err := execution.ParseID("order-1")
			if err != nil {
				t.Fatal(err)
			}
			h, err := w.registry.Show(context.Background(), execution.Key{Agent: "local:stdio", ID: id})
			if err != nil || h.Row.State != execution.OutcomeUnknown {
				t.Errorf("recorded: %v, %v", h.Row.State, err)
			}
			if got := effects(t, file); got != 1 {
				t.Errorf("%d effects", got)
			}
		})
	}
}

// overHTTP is a client on standard input and output in front of an upstream over HTTP.
func overHTTP(t testing.TB, answer http.HandlerFunc) (*client, *world) {
	t.Helper()
	w := newWorld(t, answer, func(cfg *gateway.Config) {
		cfg.Hosts = []string{"stdio"}
		cfg.Authenticate = func(*http.Request) (agentauth.Identity, error) { return agentauth.Identity{ID: "local:stdio"}, nil }
	})
	c := newClient(t, func(in io.Reader, out io.Writer) *gateway.Front {
		return gateway.NewFront(gateway.FrontConfig{Handler: w.gw, Path: "/mcp", Host: "stdio", In: in, Out: out, Listen: true})
	})
	return c, w
}

func eventStream(w http.ResponseWriter, list ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range list {
		_, _ = io.WriteString(w, e+"\n\n")
	}
	w.(http.Flusher).Flush()
}

// A client on standard input and output gets all that a client over HTTP would: the session and the
// version are kept for it, the server's own words are listened to, a stream that broke before its answer
// is taken up again, and the session is ended.
func TestFrontIsAClient(t *testing.T) {
	t.Parallel()
	c, w := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "initialize\""):
			w.Header().Set("Mcp-Session-Id", "s1")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":0,`+"\r\n"+`"result":{"protocolVersion":"2025-06-18"}}`)
		case strings.Contains(string(body), "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "7":
			eventStream(w, "id: 8\ndata: "+`{"jsonrpc":"2.0","id":1,"result":{"whole":true}}`)
		case r.Method == http.MethodGet:
			eventStream(w, ": hello", `data: {"jsonrpc":"2.0","method":"notifications/own"}`)
			<-r.Context().Done()
		case r.Method == http.MethodPost:
			eventStream(w, "id: 7\nretry: 10\ndata: "+`{"jsonrpc":"2.0","method":"notifications/part"}`)
		}
	})
	if got := c.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`); got != `{"jsonrpc":"2.0","id":0,  "result":{"protocolVersion":"2025-06-18"}}` {
		t.Errorf("initialize: %s", got)
	}
	if got := c.ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); !strings.Contains(got, "notifications/own") {
		t.Errorf("the server's own: %s", got)
	}
	if got := c.ask(`{"jsonrpc":"2.0","id":1,"method":"work"}`); !strings.Contains(got, "notifications/part") {
		t.Errorf("the first part: %s", got)
	}
	if got := c.hear(); !strings.Contains(got, `"whole":true`) {
		t.Errorf("the answer: %s", got)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	deleted := false
	for _, h := range w.up.got() {
		deleted = deleted || h.method == http.MethodDelete
		begins := strings.Contains(h.body, `"initialize"`)
		if got := h.header.Get("Mcp-Session-Id"); (got == "s1") == begins {
			t.Errorf("%s %s: session %q", h.method, h.body, got)
		}
		if got := h.header.Get("Mcp-Protocol-Version"); (got == "2025-06-18") == begins {
			t.Errorf("%s %s: version %q", h.method, h.body, got)
		}
	}
	if !deleted {
		t.Error("the session is not ended")
	}
}

// Without sessions the headers repeat the body, also arguments that a tool's schema marks; and a
// request is cancelled by nobody's waiting for it any more.
func TestFrontWithoutSessions(t *testing.T) {
	t.Parallel()
	gone := make(chan bool, 1)
	c, w := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case strings.Contains(string(body), "tools/list"):
			says(`{"tools":[{"name":"zahl","inputSchema":{"type":"object","properties":{"amount":{"type":"integer","x-mcp-header":"Amount"},"to":{"type":"object","properties":{"name":{"type":"string","x-mcp-header":"To"}}}}}}]}`)(w, r)
		case strings.Contains(string(body), `"slow"`):
			eventStream(w, `data: {"jsonrpc":"2.0","method":"notifications/slow"}`)
			<-r.Context().Done()
			gone <- true
		default:
			says(`{"content":[]}`)(w, r)
		}
	})
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`)
	c.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"zahl","arguments":{"amount":12,"to":{"name":"Ä"}},` + meta + `}}`)
	c.ask(`{"jsonrpc":"2.0","id":3,"method":"slow","params":{` + meta + `}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the upstream is not told that nobody waits")
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	all := w.up.got()
	if len(all) != 3 {
		t.Fatalf("%d requests", len(all))
	}
	for name, want := range map[string]string{
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "zahl", "Mcp-Param-Amount": "12", "Mcp-Param-To": "=?base64?w4Q=?=",
	} {
		if got := all[1].header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A client that has cancelled a request is not told that its upstream cannot be reached.
func TestFrontCancelled(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		came, gone := make(chan bool, 1), make(chan bool, 1)
		c, _ := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			switch {
			case strings.Contains(string(body), `"mute"`):
				came <- true
				<-r.Context().Done()
				gone <- true
			case strings.Contains(string(body), "notifications/"):
				w.WriteHeader(http.StatusAccepted)
			default:
				says(`{"protocolVersion":"`+version+`"}`)(w, r)
			}
		})
		c.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `"}}`)
		c.say(`{"jsonrpc":"2.0","id":1,"method":"mute"}`)
		<-came // or nobody would tell when it has been cancelled
		c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		<-gone
		if got := c.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); !strings.Contains(got, `"id":2,`) {
			t.Errorf("%s: %s", version, got)
		}
	}
}

// A repeat that its client has cancelled while it waits with the first call is not answered either.
func TestFrontCancelledRepeat(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	c, _ := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		says(`{"content":[]}`)(w, r)
	})
	c.say(bound("1", "e", `{}`))
	<-entered
	c.say(bound("2", "e", `{}`))
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	if got := c.ask(`[]`); !strings.Contains(got, "BATCH_UNSUPPORTED") { // lines are taken in order
		t.Errorf("%s", got)
	}
	close(release)
	if got := c.hear(); !strings.Contains(got, `"id":1,`) {
		t.Errorf("%s", got)
	}
}

// An upstream over HTTP that does not answer as one does leaves nobody waiting.
func TestFrontAlwaysAnswers(t *testing.T) {
	t.Parallel()
	c, w := overHTTP(t, nil)
	for i, answer := range []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) },
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such page", http.StatusNotFound) },
		func(w http.ResponseWriter, _ *http.Request) { eventStream(w) },
		func(w http.ResponseWriter, _ *http.Request) {
			eventStream(w, `data: {"jsonrpc":"2.0","id":"other","result":{}}`)
		},
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"half":`)
		},
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
		},
	} {
		w.up.answers(answer)
		want := fmt.Sprintf(`"id":%d,"error"`, i)
		got := c.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, i))
		if strings.Contains(got, `"id":"other"`) {
			got = c.hear()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
}
