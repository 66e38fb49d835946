package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
)

// What is not bound passes byte for byte, both ways, whatever it is.
//
// covers EXA-052, EXA-055
func TestUnboundBytes(t *testing.T) {
	w := newWorld(t, nil)
	const answer = ` {"id" : 1 , "jsonrpc":"2.0", "result":{"x":1.0,"y":"\u0041\/","x2":[ ],"binding_moment":{}}} `
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"no/such","params":{"x":1.0,"\u0061":[ ]}}`,
		` { "id":"\u0041","method":"tools/call","params":{"name":"charge","arguments":{"b":1.0,"a":1e0}} , "jsonrpc":"2.0" } `,
		`{"jsonrpc":"2.0","id":"s-1","result":{"action":"accept","content":{"n":1.50}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p","_meta":{"bindery/execution_id":"e"}}}`,
	} {
		w.up.answers(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "application/json; charset=utf-8")
			io.WriteString(rw, answer)
		})
		r := w.post(message)
		got := w.up.got()
		if last := got[len(got)-1]; last.body != message {
			t.Errorf("upstream got %s\nof         %s", last.body, message)
		}
		if r.status != 200 || r.body != answer || r.header.Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%s: client got %d %q", message, r.status, r.body)
		}
	}
	// One of them ran a tool: the log has it, with nulls (EXA-052).
	e := w.logged(func(e audit.Entry) bool { return e.Event == audit.EventCall })
	if e.ExecutionID != "" || e.Binding != "" || e.CallID == "" || e.Tool != "charge" || e.AgentID != "key:one" {
		t.Errorf("%+v", e)
	}
	if calls := slices.DeleteFunc(w.log(), func(e audit.Entry) bool { return e.Event != audit.EventCall }); len(calls) != 1 {
		t.Errorf("%d calls in the log", len(calls))
	}
}

// Statuses and bodies of an upstream pass, but for those that are about its own credential, and
// redirects.
func TestUnboundStatus(t *testing.T) {
	w := newWorld(t, nil)
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for status, want := range map[int]string{
		202: "", 204: "", 400: "", 404: "", 405: "", 409: "", 429: "", 500: "", 503: "",
		401: "UPSTREAM_REFUSED", 403: "UPSTREAM_REFUSED", 407: "UPSTREAM_REFUSED",
		301: "UPSTREAM_REDIRECT", 302: "UPSTREAM_REDIRECT", 303: "UPSTREAM_REDIRECT", 307: "UPSTREAM_REDIRECT", 308: "UPSTREAM_REDIRECT",
	} {
		w.up.answers(func(rw http.ResponseWriter, r *http.Request) {
			h := rw.Header()
			h.Set("Location", "http://127.0.0.1:1/elsewhere")
			h.Set("Www-Authenticate", `Bearer resource_metadata="http://upstream.internal/"`)
			h.Set("Set-Cookie", "s=secret")
			h.Set("Server", "upstream/1")
			h.Set("X-Upstream", "secret")
			h.Set("Retry-After", "7")
			h.Set("Content-Type", "text/plain")
			rw.WriteHeader(status)
			if status != 204 {
				io.WriteString(rw, "upstream's words")
			}
		})
		before := len(w.up.got())
		r := w.post(ping)
		for _, name := range []string{"Location", "Www-Authenticate", "Set-Cookie", "Server", "X-Upstream"} {
			if v := r.header.Get(name); v != "" {
				t.Errorf("%d: %s is %q", status, name, v)
			}
		}
		switch {
		case want == "" && (r.status != status || r.header.Get("Retry-After") != "7" || status != 204 && r.body != "upstream's words"):
			t.Errorf("%d: became %d %q", status, r.status, r.body)
		case want != "" && (r.status != 200 || r.decode(t).refused() != want || strings.Contains(r.body, "upstream's words")):
			t.Errorf("%d: %d %s", status, r.status, r.body)
		}
		if n := len(w.up.got()) - before; n != 1 {
			t.Errorf("%d: %d requests", status, n)
		}
	}
	w.up.answers(status(401, "text/plain", "upstream's words"))
	if r := w.send("DELETE", "/mcp", ""); r.status != 502 || r.decode(t).refused() != "UPSTREAM_REFUSED" { // there is no request of JSON-RPC to answer
		t.Errorf("DELETE: %d %s", r.status, r.body)
	}
}

// Of headers passes what is listed, both ways; the upstream's own credential goes to it alone.
func TestHeaders(t *testing.T) {
	w := newWorld(t, says(`{}`), func(c *gateway.Config) {
		c.Upstreams[0].Header = http.Header{"authorization": {"Bearer upstream-secret"}, "X-Api-Key": {"k"}}
	})
	r := w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		"Authorization", "Bearer client-secret", "Cookie", "c=client-secret", "X-Api-Key", "client-secret", "X-Forwarded-For", "client-secret",
		"Proxy-Authorization", "client-secret", "Idempotency-Key", "x", "Connection", "X-Hop", "X-Hop", "1", "Referer", "http://client-secret/",
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "ping", "Mcp-Param-Region", "eu", "Last-Event-Id", "7",
		"Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Accept", "text/event-stream")
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	got := w.up.got()[0].header
	want := http.Header{
		"Accept": {"application/json, text/event-stream", "text/event-stream"}, "Content-Type": {"application/json"}, "Content-Length": {"40"},
		"Authorization": {"Bearer upstream-secret"}, "X-Api-Key": {"k"}, "User-Agent": {"bindery-gateway"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"ping"}, "Mcp-Param-Region": {"eu"}, "Last-Event-Id": {"7"},
		"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the upstream got (-want +got):\n%s", diff)
	}
}

// A session is its agent's at its upstream. Anybody else's is unknown, here and at every replica.
func TestSessions(t *testing.T) {
	open := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Mcp-Session-Id", "up.1")
		says(`{}`)(w, r)
	}
	w := newWorld(t, open, func(c *gateway.Config) {
		c.Upstreams = append(c.Upstreams, gateway.Upstream{Name: "other", URL: c.Upstreams[0].URL})
	})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	id := w.send("POST", "/mcp/bank", ping).header.Get("Mcp-Session-Id")
	if !strings.HasPrefix(id, "up.1.") || len(id) < 40 {
		t.Fatalf("session %q", id)
	}
	if r := w.send("POST", "/mcp/bank", ping, "Mcp-Session-Id", id); r.status != 200 {
		t.Errorf("its own: %d", r.status)
	}
	got := w.up.got()
	if s := got[len(got)-1].header.Get("Mcp-Session-Id"); s != "up.1" {
		t.Errorf("the upstream got session %q", s)
	}
	before := len(w.up.got())
	for _, c := range []struct{ name, path, id, agent string }{
		{"another agent", "/mcp/bank", id, "key:two"},
		{"another upstream", "/mcp/other", id, ""},
		{"the upstream's own", "/mcp/bank", "up.1", ""},
		{"a changed tag", "/mcp/bank", id[:len(id)-1] + "_", ""},
		{"no tag", "/mcp/bank", "up.1.", ""},
		{"only a tag", "/mcp/bank", id[4:], ""},
		{"another session", "/mcp/bank", "up.2" + id[4:], ""},
		{"nothing", "/mcp/bank", " ", ""},
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			body := ""
			if method == "POST" {
				body = ping
			}
			if r := w.send(method, c.path, body, "Mcp-Session-Id", c.id, "X-Test-Agent", c.agent); r.status != 404 || r.decode(t).refused() != "SESSION_UNKNOWN" {
				t.Errorf("%s, %s: %d %s", c.name, method, r.status, r.body)
			}
		}
	}
	if n := len(w.up.got()); n != before {
		t.Errorf("%d requests with a session that is not the agent's", n-before)
	}
	if r := w.send("POST", "/mcp/bank", ping, "Mcp-Session-Id", id, "Mcp-Session-Id", id); r.status != 404 {
		t.Errorf("two ids: %d", r.status)
	}
	w.send("DELETE", "/mcp/bank", "", "Mcp-Session-Id", id)
	got = w.up.got()
	if last := got[len(got)-1]; last.method != "DELETE" || last.header.Get("Mcp-Session-Id") != "up.1" || last.body != "" {
		t.Errorf("DELETE became %+v", last)
	}
}

// Events come to the client as they are said, and as they are spelled.
func TestStreams(t *testing.T) {
	more := make(chan struct{})
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, ": hello\r\nid: 7\r\ndata:{\"x\":1.0}\r\n\r\n")
		w.(http.Flusher).Flush()
		<-more
		io.WriteString(w, "event: odd\ndata: not json\n\n\x00")
	})
	for _, method := range []string{"POST", "GET"} {
		body := ""
		if method == "POST" {
			body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
		}
		req, _ := http.NewRequest(method, w.server.URL+"/mcp", strings.NewReader(body))
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(resp.Body)
		var head strings.Builder
		for range 4 {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			head.WriteString(line)
		}
		more <- struct{}{} // only now is the rest said
		rest, err := io.ReadAll(r)
		if got := head.String() + string(rest); err != nil || got != ": hello\r\nid: 7\r\ndata:{\"x\":1.0}\r\n\r\nevent: odd\ndata: not json\n\n\x00" {
			t.Errorf("%s: %q, %v", method, got, err)
		}
		resp.Body.Close()
	}
}

// An answer that breaks off is not made to look whole.
func TestBrokenAnswer(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if _, err := w.try("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`); err == nil {
		t.Error("the client took half an answer for the whole")
	}
}

// Who is not to be served is told so by name, before the upstream hears of it.
func TestGuard(t *testing.T) {
	w := newWorld(t, says(`{}`), func(c *gateway.Config) {
		c.Hosts = append(c.Hosts, "tools.example:7412")
		c.Origins = []string{"https://app.example"}
	})
	addr := w.server.Listener.Addr().String()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		name, method, path, want string
		status                   int
		headers                  []string
	}{
		{"its own name", "POST", "/mcp", "", 200, nil},
		{"another of its names", "POST", "/mcp", "", 200, []string{"Host", "Tools.Example:7412"}},
		{"a page of its own", "POST", "/mcp", "", 200, []string{"Origin", "http://" + addr}},
		{"a page that is allowed", "POST", "/mcp", "", 200, []string{"Origin", "https://app.example"}},
		{"a name that was bound anew", "POST", "/mcp", "HOST_REFUSED", 403, []string{"Host", "evil.example"}},
		{"a name that was bound anew, to listen", "GET", "/mcp", "HOST_REFUSED", 403, []string{"Host", "evil.example:80"}},
		{"another port", "POST", "/mcp", "HOST_REFUSED", 403, []string{"Host", "tools.example:80"}},
		{"another page", "POST", "/mcp", "ORIGIN_REFUSED", 403, []string{"Origin", "http://evil.example"}},
		{"a page without origin", "POST", "/mcp", "ORIGIN_REFUSED", 403, []string{"Origin", "null"}},
		{"a page of another scheme", "POST", "/mcp", "ORIGIN_REFUSED", 403, []string{"Origin", "file://" + addr}},
		{"two origins", "POST", "/mcp", "ORIGIN_REFUSED", 403, []string{"Origin", "http://" + addr, "Origin", "http://" + addr}},
		{"no upstream", "POST", "/mcp/none", "UPSTREAM_UNKNOWN", 404, nil},
		{"no path", "POST", "/", "UPSTREAM_UNKNOWN", 404, nil},
		{"by name", "POST", "/mcp/bank", "", 200, nil},
		{"another method", "PUT", "/mcp", "METHOD_REFUSED", 405, nil},
		{"preflight", "OPTIONS", "/mcp", "METHOD_REFUSED", 405, nil},
		{"nobody", "POST", "/mcp", "AGENT_UNAUTHENTICATED", 401, []string{"X-Test-Agent", "nobody"}},
	} {
		before := len(w.up.got())
		r := w.send(c.method, c.path, ping, c.headers...)
		d := r.decode(t)
		if r.status != c.status || d.refused() != c.want {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
		if n := len(w.up.got()) - before; (n == 1) != (c.want == "") {
			t.Errorf("%s: %d requests to the upstream", c.name, n)
		}
		if challenge := r.header.Get("Www-Authenticate"); (challenge != "") != (c.status == 401) {
			t.Errorf("%s: challenge %q", c.name, challenge)
		}
	}
}

// What is no message is named, with the id where there is one, and goes nowhere.
func TestBadMessages(t *testing.T) {
	w := newWorld(t, says(`{}`), func(c *gateway.Config) { c.Limits.Body = 4096 })
	for _, c := range []struct {
		name, body, want string
		status           int
		id               string
	}{
		{"nothing", "", "MESSAGE_MALFORMED", 400, "null"},
		{"no JSON", "hello", "MESSAGE_MALFORMED", 400, "null"},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "BATCH_UNSUPPORTED", 400, "null"},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"\u0062":2}}}`, "MESSAGE_MALFORMED", 400, "null"},
		{"deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`, "MESSAGE_MALFORMED", 400, "null"},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc0\x80\"}", "MESSAGE_MALFORMED", 400, "null"},
		{"too large", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 4096) + `"}`, "MESSAGE_TOO_LARGE", 413, "null"},
		{"an id of null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "MESSAGE_INVALID", 400, "null"},
		{"an id of a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "MESSAGE_INVALID", 400, "null"},
		{"an id of an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "MESSAGE_INVALID", 400, "null"},
		{"params of a list", `{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}`, "MESSAGE_INVALID", 400, "3"},
		{"two methods", `{"jsonrpc":"2.0","id":4,"method":"ping","Method":"tools/call"}`, "MESSAGE_AMBIGUOUS", 400, "null|4"},
		{"two tools", `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"a","NAME":"b"}}`, "MESSAGE_AMBIGUOUS", 400, "5"},
		{"a call that wants no answer", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}`, "CALL_WITHOUT_ID", 400, "null"},
	} {
		r := w.post(c.body)
		d := r.decode(t)
		if r.status != c.status || d.refused() != c.want || !strings.Contains(c.id, string(d.ID)) {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
	}
	// Without a length it is as large.
	req, _ := http.NewRequest("POST", w.server.URL+"/mcp", io.MultiReader(strings.NewReader(`{"a":"`), strings.NewReader(strings.Repeat("x", 8192))))
	if resp, err := http.DefaultTransport.RoundTrip(req); err != nil || resp.StatusCode != 413 {
		t.Errorf("of unknown length: %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	if got := w.up.got(); len(got) != 0 {
		t.Errorf("the upstream got %q", got)
	}
}

// One agent cannot take the room of the others, and all together have theirs.
func TestOverload(t *testing.T) {
	release := make(chan struct{})
	entered := make(chan struct{}, 8)
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
		says(`{}`)(w, r)
	}, func(c *gateway.Config) { c.Limits.Calls, c.Limits.PerAgent = 3, 2 })
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	replies := make(chan reply, 8)
	ask := func(agent string) {
		go func() {
			r, _ := w.try("POST", "/mcp", ping, "X-Test-Agent", agent)
			replies <- r
		}()
	}
	ask("key:one")
	ask("key:one")
	<-entered
	<-entered
	if r := w.post(ping, "X-Test-Agent", "key:one"); r.status != 503 || r.decode(t).refused() != "GATEWAY_OVERLOADED" || r.header.Get("Retry-After") == "" {
		t.Errorf("beyond the agent's: %d %s", r.status, r.body)
	}
	ask("key:two")
	<-entered
	if r := w.post(ping, "X-Test-Agent", "key:three"); r.status != 503 {
		t.Errorf("beyond all: %d", r.status)
	}
	close(release)
	for range 3 {
		if r := <-replies; r.status != 200 {
			t.Errorf("one that had begun: %d", r.status)
		}
	}
	if r := w.post(ping); r.status != 200 {
		t.Errorf("afterwards: %d", r.status)
	}
}

// An upstream that is away or says nothing is named so.
func TestUnreachable(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(c *gateway.Config) {
		c.Upstreams[0].Timeout = 50 * time.Millisecond
		c.Upstreams = append(c.Upstreams, gateway.Upstream{Name: "away", URL: "http://127.0.0.1:1/mcp"})
	})
	const ping = `{"jsonrpc":"2.0","id":"a","method":"ping"}`
	if r := w.send("POST", "/mcp/away", ping); r.status != 200 || r.decode(t).refused() != "UPSTREAM_UNREACHABLE" || string(r.decode(t).ID) != `"a"` {
		t.Errorf("away: %d %s", r.status, r.body)
	}
	if r := w.send("GET", "/mcp/away", ""); r.status != 502 {
		t.Errorf("away, to listen: %d", r.status)
	}
	if r := w.send("POST", "/mcp/bank", ping); r.status != 200 || r.decode(t).refused() != "UPSTREAM_TIMEOUT" {
		t.Errorf("silent: %d %s", r.status, r.body)
	}
	if r := w.send("POST", "/mcp/bank", `{"jsonrpc":"2.0","method":"x"}`); r.status != 504 {
		t.Errorf("silent, to a notification: %d %s", r.status, r.body)
	}
}

func TestNewRefuses(t *testing.T) {
	good := func() gateway.Config {
		return gateway.Config{Upstreams: []gateway.Upstream{{Name: "a", URL: "http://h/"}}, Hosts: []string{"h"}, SessionKey: make([]byte, 32)}
	}
	if _, err := gateway.New(good()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*gateway.Config){
		"no upstream":        func(c *gateway.Config) { c.Upstreams = nil },
		"no host":            func(c *gateway.Config) { c.Hosts = nil },
		"a short key":        func(c *gateway.Config) { c.SessionKey = make([]byte, 31) },
		"two of a name":      func(c *gateway.Config) { c.Upstreams = append(c.Upstreams, c.Upstreams[0]) },
		"a name in capitals": func(c *gateway.Config) { c.Upstreams[0].Name = "A" },
		"a name of dots":     func(c *gateway.Config) { c.Upstreams[0].Name = ".." },
		"no name":            func(c *gateway.Config) { c.Upstreams[0].Name = "" },
		"no URL":             func(c *gateway.Config) { c.Upstreams[0].URL = "" },
		"a URL of a file":    func(c *gateway.Config) { c.Upstreams[0].URL = "file:///x" },
		"a URL with a user":  func(c *gateway.Config) { c.Upstreams[0].URL = "http://u:p@h/" },
	} {
		cfg := good()
		spoil(&cfg)
		if _, err := gateway.New(cfg); err == nil || strings.Contains(fmt.Sprint(err), "u:p") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A client that does not come to the end of its message keeps no place, whether or not anybody reads it.
func TestSlowMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says(`{}`), func(c *gateway.Config) { c.Limits.Reading = 50 * time.Millisecond })
	for request, want := range map[string]string{
		"POST /mcp HTTP/1.1\r\n":                             "400",
		"POST /mcp HTTP/1.1\r\nX-Test-Agent: nobody\r\n":     "401",
		"POST /mcp HTTP/1.1\r\nOrigin: http://elsewhere\r\n": "403",
		"POST /other HTTP/1.1\r\n":                           "404",
		"PUT /mcp HTTP/1.1\r\n":                              "405",
		"GET /mcp HTTP/1.1\r\n":                              "200",
	} {
		conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "%sHost: %s\r\nContent-Length: 100\r\n\r\n{", request, conn.RemoteAddr())
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+want+" ") {
			t.Fatalf("%q: %v, %q", request, err, answer)
		}
	}
}

// leaving is a registry whose callers wait until they have gone.
type leaving struct {
	gateway.Registry
	entered chan<- struct{}
}

func (l *leaving) Admit(ctx context.Context, _ execution.Call) (gateway.Permit, *execution.Record, error) {
	l.entered <- struct{}{}
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// A client that has said all may close its side, and net/http takes it for one that has gone. It is not
// told 200 where nothing was done.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 2)
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
	}, func(c *gateway.Config) {
		c.Upstreams[0].Timeout = time.Minute
		c.Registry = &leaving{c.Registry, entered}
	})
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`: "UPSTREAM_UNREACHABLE",
		bound("1", "e", `{}`):                      "EXECUTION_PENDING",
	} {
		conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", conn.RemoteAddr(), len(body), body)
		<-entered
		_ = conn.(*net.TCPConn).CloseWrite()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		if answer, err := io.ReadAll(conn); err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %v, %q", body, err, answer)
		}
	}
}

// Large messages share a room that is bounded: who finds none in time is told so.
func TestLargeMessages(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			close(entered)
			<-release
		})
		says(`{}`)(w, r)
	}, func(c *gateway.Config) {
		c.Limits.Large = 1
		c.Now = func() time.Time { return time.Now().Add(time.Hour) } // no connection's time is over
	})
	large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`
	first := make(chan reply, 1)
	go func() {
		r, _ := w.try("POST", "/mcp", large)
		first <- r
	}()
	select {
	case <-entered:
	case r := <-first:
		t.Fatalf("with room: %d %.200s", r.status, r.body)
	}
	w.gw.SetReading(50 * time.Millisecond)
	if r := w.post(large); r.status != 503 || r.decode(t).refused() != "GATEWAY_OVERLOADED" {
		t.Errorf("without room: %d %.200s", r.status, r.body)
	}
	w.gw.SetReading(time.Minute)
	close(release)
	if r := <-first; r.status != 200 {
		t.Errorf("with room: %d", r.status)
	}
	if r := w.post(large); r.status != 200 {
		t.Errorf("when there is room again: %d", r.status)
	}
}

// Headers that contradict the message are refused as the protocol asks of a server, also where no
// execution is named: an upstream that goes by them would run another tool than the log has.
func TestUnboundHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says(`{}`))
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}`
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		name, body string
		headers    []string
	}{
		{"another tool", call, []string{"Mcp-Method", "tools/call", "Mcp-Name", "charge"}},
		{"another tool, encoded", call, []string{"Mcp-Name", "=?base64?Y2hhcmdl?="}},
		{"two tools", call, []string{"Mcp-Name", "read", "Mcp-Name", "charge"}},
		{"another method", call, []string{"Mcp-Method", "ping"}},
		{"a call that the body is not", ping, []string{"Mcp-Method", "tools/call", "Mcp-Name", "charge"}},
		{"in another case", ping, []string{"Mcp-Method", "Tools/Call"}},
	} {
		r := w.post(c.body, c.headers...)
		d := r.decode(t)
		if r.status != http.StatusBadRequest || d.refused() != "HEADER_MISMATCH" || d.Error.Code != -32020 || string(d.ID) != "1" {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
	}
	if n := len(w.up.got()); n != 0 {
		t.Fatalf("the upstream got %d", n)
	}
	w.logged(func(e audit.Entry) bool {
		return e.Event == audit.EventRefused && e.Reason == "HEADER_MISMATCH" && e.Tool == "read"
	})
	for _, headers := range [][]string{nil, {"Mcp-Method", "tools/call", "Mcp-Name", "read"}, {"Mcp-Name", "=?base64?cmVhZA==?="}} {
		if r := w.post(call, headers...); r.status != http.StatusOK {
			t.Errorf("%v: %d %s", headers, r.status, r.body)
		}
	}
}
