//go:build unix

package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/gateway"
)

// overPrograms is a gateway over HTTP in front of programs.
func overPrograms(t *testing.T, cfg gateway.ProcessesConfig) *world {
	t.Helper()
	p := processes(t, cfg)
	return newWorld(t, nil, func(c *gateway.Config) {
		c.Upstreams = []gateway.Upstream{{Name: "bank", URL: "http://stdio.invalid/mcp", Transport: p, Timeout: patience}}
	})
}

func beginSession(t *testing.T, w *world, headers ...string) (session string, pid int) {
	t.Helper()
	r := w.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, headers...)
	return r.header.Get("Mcp-Session-Id"), pidIn(t, r)
}

func pidIn(t *testing.T, r reply) int {
	t.Helper()
	var m struct{ Result struct{ Pid int } }
	if err := json.Unmarshal([]byte(r.body), &m); err != nil || m.Result.Pid == 0 {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return m.Result.Pid
}

// clock stands, but for what later is moved by.
func clock() (now func() time.Time, later *atomic.Int64) {
	began, later := time.Now(), new(atomic.Int64)
	return func() time.Time { return began.Add(time.Duration(later.Load())) }, later
}

const askPid = `{"jsonrpc":"2.0","id":1,"method":"pid"}`

// Each session has a program of its own, which is another agent's no more than its id is; it ends with the
// session, and leaves no zombie.
func TestSessionsOfPrograms(t *testing.T) {
	t.Parallel()
	w := overPrograms(t, gateway.ProcessesConfig{Most: 4})
	one, pid1 := beginSession(t, w)
	two, pid2 := beginSession(t, w)
	if pid1 == pid2 || one == two || one == "" {
		t.Errorf("sessions %q and %q have the programs %d and %d", one, two, pid1, pid2)
	}
	if got := pidIn(t, w.post(askPid, "Mcp-Session-Id", two)); got != pid2 {
		t.Errorf("the second session is asked at %d, not at %d", got, pid2)
	}
	if r := w.post(askPid, "Mcp-Session-Id", one, "X-Test-Agent", "key:two"); r.status != http.StatusNotFound {
		t.Errorf("another agent's session: %d %s", r.status, r.body)
	}
	if r := w.post(askPid); r.status != http.StatusBadRequest {
		t.Errorf("no session: %d %s", r.status, r.body)
	}
	if r := w.send("GET", "/mcp", "", "Mcp-Session-Id", "none.none"); r.status != http.StatusNotFound {
		t.Errorf("an unknown session: %d %s", r.status, r.body)
	}
	if r := w.send("DELETE", "/mcp", "", "Mcp-Session-Id", one); r.status != http.StatusNoContent {
		t.Errorf("the end: %d %s", r.status, r.body)
	}
	eventually(t, "the program of an ended session is gone", func() bool { return syscall.Kill(pid1, 0) == syscall.ESRCH })
	if r := w.post(askPid, "Mcp-Session-Id", one); r.status != http.StatusNotFound {
		t.Errorf("the ended session: %d %s", r.status, r.body)
	}
	if _, pid3 := beginSession(t, w); pid3 == pid2 {
		t.Error("a new session has an old program")
	}
}

// There are no more programs than may be. One that is in use is not ended for another.
func TestMostPrograms(t *testing.T) {
	t.Parallel()
	now, _ := clock() // so that nothing is idle
	w := overPrograms(t, gateway.ProcessesConfig{Most: 1, Now: now})
	_, pid := beginSession(t, w)
	r := w.post(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
	if !strings.Contains(r.body, "UPSTREAM_UNREACHABLE") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if syscall.Kill(pid, 0) != nil {
		t.Error("the program that was there is gone")
	}
}

// One agent has half of the programs at most. For a new one its own idle one ends, and another agent's
// only as long as it has fewer.
func TestProgramsOfOneAgent(t *testing.T) {
	t.Parallel()
	now, later := clock()
	w := overPrograms(t, gateway.ProcessesConfig{Most: 4, Now: now})
	const greedy, other = "key:greedy", "key:other"
	begins := func(agent string) string {
		t.Helper()
		r := w.post(`{"jsonrpc":"2.0","id":0,"method":"initialize"}`, "X-Test-Agent", agent)
		return r.header.Get("Mcp-Session-Id")
	}
	lives := func(agent, session string) bool {
		t.Helper()
		return w.post(askPid, "X-Test-Agent", agent, "Mcp-Session-Id", session).status == http.StatusOK
	}
	mine := begins(other) // the oldest of all
	first, second := begins(greedy), begins(greedy)
	if third := begins(greedy); mine == "" || first == "" || second == "" || third != "" {
		t.Fatalf("sessions %q, %q, %q, %q", mine, first, second, third)
	}
	later.Add(int64(10 * time.Second))
	if !lives(greedy, second) { // used just now
		t.Fatal("the second is gone")
	}
	fourth := begins(greedy)
	if fourth == "" || lives(greedy, first) || !lives(greedy, second) || !lives(other, mine) {
		t.Error("it is not the agent's own idle program that gave way")
	}
	later.Add(int64(10 * time.Second))
	if !lives(greedy, second) || !lives(greedy, fourth) || begins(greedy) != "" || !lives(other, mine) {
		t.Error("another agent's idle program gave way to who has half")
	}
	later.Add(int64(10 * time.Second)) // now all are idle, and there is room for one more
	third := begins("key:third")
	if third == "" || !lives(other, mine) || !lives(greedy, second) {
		t.Error("one gave way although there was room")
	}
	later.Add(int64(10 * time.Second))
	if !lives(other, mine) {
		t.Fatal("gone")
	}
	later.Add(int64(10 * time.Second)) // the other one's is the last that was used
	if again := begins(other); again == "" || lives(other, mine) || !lives(other, again) || !lives("key:third", third) {
		t.Error("it is not the agent's own idle program that gave way, although all are full")
	}
	later.Add(int64(10 * time.Second))
	if begins("key:fourth") == "" {
		t.Error("nobody gave way for an agent that has none")
	}
}

// A program is one agent's alone, and so are its tasks.
func TestTasksOfPrograms(t *testing.T) {
	t.Parallel()
	w := overPrograms(t, gateway.ProcessesConfig{})
	if got := w.post(askTask("tasks/list", "any"), "Mcp-Protocol-Version", modern).decode(t).refused(); got != "" {
		t.Errorf("%s", got)
	}
}

// A program that nobody uses ends, and its session with it; while somebody listens it stays.
func TestIdlePrograms(t *testing.T) {
	t.Parallel()
	now, later := clock()
	w := overPrograms(t, gateway.ProcessesConfig{Idle: time.Second, Now: now})
	heard, pid := beginSession(t, w)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", heard)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	defer resp.Body.Close()
	idle, pid2 := beginSession(t, w)
	later.Add(int64(time.Second))
	eventually(t, "the idle program is gone", func() bool { return syscall.Kill(pid2, 0) == syscall.ESRCH })
	if r := w.post(askPid, "Mcp-Session-Id", idle); r.status != http.StatusNotFound {
		t.Errorf("the idle session: %d %s", r.status, r.body)
	}
	if got := pidIn(t, w.post(askPid, "Mcp-Session-Id", heard)); got != pid {
		t.Errorf("the session that is listened to has the program %d, not %d", got, pid)
	}
	// what the program says about no request comes by the stream
	w.post(`{"jsonrpc":"2.0","method":"notifications/x"}`, "Mcp-Session-Id", heard)
	buf := make([]byte, 1024)
	n, err := resp.Body.Read(buf)
	if !strings.Contains(string(buf[:n]), "notifications/got") {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

// Without sessions the clients of one agent share a program, and use the same ids and progress tokens:
// each gets its own answer and its own progress. Another agent has another program.
func TestSharedProgram(t *testing.T) {
	t.Parallel()
	w := overPrograms(t, gateway.ProcessesConfig{})
	modern := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "steps"}
	var all sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		all.Go(func() {
			id := []string{"1", `"1"`}[i%2]
			answers[i] = w.post(`{"jsonrpc":"2.0","id":`+id+`,"method":"steps","params":{"_meta":{"progressToken":1}}}`, modern...).body
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for i, body := range answers {
		id := []string{"1", `"1"`}[i%2]
		var wire string
		for _, line := range strings.Split(body, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, `"result"`) {
				var m struct {
					ID     json.RawMessage
					Result struct{ ID json.RawMessage }
				}
				_ = json.Unmarshal([]byte(data), &m)
				wire = string(m.Result.ID)
				if string(m.ID) != id {
					t.Errorf("%d: the answer's id is %s, not %s", i, m.ID, id)
				}
			}
		}
		if wire == "" || seen[wire] {
			t.Errorf("%d: the program's id is %q, another's: %s", i, wire, body)
		}
		seen[wire] = true
		if strings.Count(body, "notifications/progress") != 1 || !strings.Contains(body, `"progressToken":1}`) {
			t.Errorf("%d: progress is not this client's: %s", i, body)
		}
	}
	pid := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "pid"}
	one, again := pidIn(t, w.post(askPid, pid...)), pidIn(t, w.post(askPid, pid...))
	other := pidIn(t, w.post(askPid, append(pid, "X-Test-Agent", "key:two")...))
	if one != again || one == other {
		t.Errorf("programs %d and %d of one agent, %d of another", one, again, other)
	}
}

// Nothing is written for a call that may not be sent, and the error says so by coming before any
// trace of a byte.
//
// covers EXA-064
func TestAskedBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	p := processes(t, gateway.ProcessesConfig{})
	ctx := gateway.WithAgent(context.Background(), "one")
	post := func(ctx context.Context, method, arguments string) (*http.Response, error) {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"arguments":` + arguments + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://stdio.invalid/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return p.RoundTrip(req)
	}
	file := filepath.Join(t.TempDir(), "effects")
	no := errors.New("no")
	if _, err := post(gateway.WithStart(ctx, func() error { return no }), "tools/call", fmt.Sprintf(`{"file":%q}`, file)); !errors.Is(err, no) {
		t.Errorf("error %v", err)
	}
	resp, err := post(ctx, "x", `{}`) // and the program has dealt with all that was before it
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if _, err := os.Stat(file); err == nil {
		t.Error("a call that may not be sent was sent")
	}
}

// A session's program is its agent's also for who knows the id as the program's transport has it.
//
// covers EXA-045
func TestAgentsApart(t *testing.T) {
	t.Parallel()
	p := processes(t, gateway.ProcessesConfig{})
	post := func(agent, session, body string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(gateway.WithAgent(context.Background(), agent), http.MethodPost, "http://stdio.invalid/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := p.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	session := post("one", "", `{"id":0,"method":"initialize"}`).Header.Get("Mcp-Session-Id")
	if got := post("one", session, askPid).StatusCode; got != http.StatusOK {
		t.Errorf("its own agent gets %d", got)
	}
	if got := post("two", session, askPid).StatusCode; got != http.StatusNotFound {
		t.Errorf("another agent gets %d", got)
	}
}

// A program does not get what is the gateway's of the environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("BINDERY_AGENT_KEY", "secret")
	t.Setenv("TOOLS_TOKEN", "secret")
	t.Setenv("OTHER", "shown")
	said := make(chan string, 1)
	p, err := gateway.StartProcess(gateway.ProcessConfig{Command: program("raw"), Hide: []string{"TOOLS_TOKEN"}}, func(line []byte) { said <- string(line) })
	if err != nil {
		t.Fatal(err)
	}
	defer p.End()
	if err := p.Send(context.Background(), `{"id":1,"method":"environ"}`); err != nil {
		t.Fatal(err)
	}
	if got := <-said; strings.Contains(got, "secret") || !strings.Contains(got, `"OTHER=shown"`) || !strings.Contains(got, `"PATH=`) {
		t.Error(got)
	}
}

// deaf is a program that neither reads nor obeys.
func deaf(t *testing.T) gateway.Process {
	t.Helper()
	up := make(chan bool, 1)
	p, err := gateway.StartProcess(gateway.ProcessConfig{Command: program("deaf"), Grace: 100 * time.Millisecond}, func([]byte) { up <- true })
	if err != nil {
		t.Fatal(err)
	}
	<-up
	return p
}

// A program that does not obey is killed.
func TestDisobedientProgram(t *testing.T) {
	t.Parallel()
	p := deaf(t)
	ended := make(chan bool)
	go func() {
		p.End()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second): // it ends by itself after a minute
		_ = syscall.Kill(p.Pid(), syscall.SIGKILL)
		t.Fatal("it does not end")
	}
	if syscall.Kill(p.Pid(), 0) != syscall.ESRCH {
		t.Error("it is still there")
	}
	if err := p.Send(context.Background(), "{}"); !errors.Is(err, gateway.ErrEnded) {
		t.Errorf("afterwards: %v", err)
	}
}

// Who writes to a program that does not read does not wait for ever.
func TestDeafProgram(t *testing.T) {
	t.Parallel()
	p := deaf(t)
	defer p.End()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	sent := make(chan error, 1)
	go func() { sent <- p.Send(ctx, strings.Repeat("x", 1<<20)) }()
	select {
	case err := <-sent:
		if err == nil {
			t.Error("a line that nobody reads is sent")
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits")
	}
}

func TestNoSuchProgram(t *testing.T) {
	t.Parallel()
	_, err := gateway.NewProcesses(gateway.ProcessesConfig{Process: gateway.ProcessConfig{Command: []string{"no-such-program"}}, Direct: func([]byte) {}})
	if !errors.Is(err, gateway.ErrEnded) || !strings.Contains(err.Error(), "no-such-program") {
		t.Error(err)
	}
}

func TestSight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, id, method string
		answer, ok       bool
	}{
		{`{"id":1,"method":"a"}`, "1", `"a"`, false, true},
		{" {\"x\":[{\"id\":2}],\"id\" : \"}\" ,\"result\":null}\t", `"}"`, "", true, true},
		{`{"id":1,"error":{}}`, "1", "", true, true},
		{`{"id":1,"id":2,"result":{}}`, "", "", false, false},
		{`{"\u0069d":1,"result":{}}`, "", "", false, false},
		{`{"ID":1,"result":{}}`, "", "", false, false},
		{`{"id":1,"Result":{}}`, "", "", false, false},
		{`{"id":1,"result":{"id":2,"ID":3,"\u0069d":4}}`, "1", "", true, true},
		{`[1]`, "", "", false, false},
		{`{"id":1`, "", "", false, false},
		{``, "", "", false, false},
		{`{}`, "", "", false, true},
	} {
		id, method, answer, ok := gateway.Sight(c.text)
		if ok != c.ok || ok && (id != c.id || method != c.method || answer != c.answer) {
			t.Errorf("%s: %s %s %v %v", c.text, id, method, answer, ok)
		}
	}
}

func FuzzSight(f *testing.F) {
	f.Add(`{"id":1,"method":"a","params":{"_meta":{"progressToken":[1]}}}`)
	for _, text := range []string{
		`{"id":"\\\"","result":[{},"]"]}`, `[]`, `[[],{}]`, `{"a":{},"b":[1,-0.5e+7,"\u00e9"]}`, `01`, `1.`, `1e`, `-`, `"\x"`, `"` + "\x01" + `"`, `[1,]`, `{,}`, `{"a"}`, `{"a":1,}`, `[1 2]`, `nul`, `[}`, ` true `, `"a`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, method, _, ok := gateway.Sight(text)
		var m map[string]json.RawMessage
		err := json.Unmarshal([]byte(text), &m)
		if got, want := gateway.WellFormed([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Fatalf("%q is well-formed: %v, another parser: %v", text, got, want)
		}
		if !ok {
			return
		}
		if err != nil { // it knows the grammar as RFC 8259 has it, and so do we
			t.Fatalf("%q is seen, and is no object: %v", text, err)
		}
		if id != string(m["id"]) || method != string(m["method"]) {
			t.Errorf("%q: id %q, method %q", text, id, method)
		}
	})
}

func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pieces []string
		want   []string
		last   string
	}{
		{[]string{"data: a\n\n"}, []string{"a"}, ""},
		{[]string{"da", "ta:a\r", "\n\r\ndata:b\r\rdata: c\n", "\n"}, []string{"a", "b", "c"}, ""},
		{[]string{"data: a\ndata:\ndata:  b\n\n"}, []string{"a\n\n b"}, ""},
		{[]string{": comment\nid: 7\n\nid: 8\nevent: message\ndata: a\n\n"}, []string{"a"}, "8"},
		{[]string{"event: other\ndata: a\n\ndata: b\n\n"}, []string{"b"}, ""},
		{[]string{"data: half"}, nil, ""},
		{[]string{"\n\n\n"}, nil, ""},
	} {
		got, last, err := gateway.Events(c.pieces...)
		if err != nil || !slices.Equal(got, c.want) || last != c.last {
			t.Errorf("%q: %q, %q, %v", c.pieces, got, last, err)
		}
	}
	if _, _, err := gateway.Events("data: ", strings.Repeat("x", gateway.MaxLine+100)); err == nil {
		t.Error("an event without an end is kept")
	}
}

func TestHeaderValue(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a b": "a b", " a": "=?base64?IGE=?=", "é": "=?base64?w6k=?=", "a\nb": "=?base64?YQpi?=", "=?base64?x?=": "=?base64?PT9iYXNlNjQ/eD89?=",
	} {
		if got := gateway.HeaderValue(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var got []string
	take := func(line []byte) { got = append(got, string(line)) }
	if err := gateway.ReadLines(strings.NewReader("a\r\n\n \nb\nc"), take); err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q, %v", got, err)
	}
	got = nil
	long := bytes.Repeat([]byte("x"), gateway.MaxLine)
	if err := gateway.ReadLines(bytes.NewReader(append(long, "\ny"...)), take); err != nil || len(got) != 2 {
		t.Errorf("%d lines, %v", len(got), err)
	}
	if err := gateway.ReadLines(bytes.NewReader(append(long, 'x')), take); !errors.Is(err, gateway.ErrLine) {
		t.Error(err)
	}
	if got := string(gateway.MakeOneLine([]byte("{\r\n\"a\":\n1}"))); got != "{  \"a\": 1}" {
		t.Errorf("%q", got)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Errorf("not so: %s", what)
			return
		}
	}
}
