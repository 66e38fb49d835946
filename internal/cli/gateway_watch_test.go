package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A tap is what one of the gateway's neighbours has got, headers and all.
type tap struct {
	mu  sync.Mutex
	got bytes.Buffer
}

func (p *tap) add(r *http.Request) []byte {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	b, _ := io.ReadAll(body)
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = r.Header.Write(&p.got)
	p.got.Write(b)
	return b
}

func (p *tap) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got.String()
}

// toolServer is an MCP server that answers every request alike, and every session by one name.
func toolServer(t *testing.T, p *tap) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ ID json.RawMessage }
		if json.Unmarshal(p.add(r), &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "SESSION-of-upstream")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"content":[{"type":"text","text":"ANSWER-text"}]}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// configureGateway changes the member gateway of a directory's configuration.
func configureGateway(t *testing.T, dir string, change func(gateway map[string]any)) {
	t.Helper()
	path := filepath.Join(dir, "config.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	gateway, _ := c["gateway"].(map[string]any)
	if gateway == nil {
		gateway = map[string]any{}
	}
	change(gateway)
	c["gateway"] = gateway
	if b, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// runOwn starts the bindery of the scripts, which is this test binary. It ends with the test.
func runOwn(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command("bindery", args...), stdout: &lockedText{}, stderr: &lockedText{}, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "BINDERY_DIR=")
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// addAgent registers a key and returns it.
func addAgent(t *testing.T, dir, name string) string {
	t.Helper()
	p := runOwn(t, "gateway", "agent", "add", "--dir", dir, name)
	if code := p.code(t); code != 0 {
		t.Fatal(p.stderr)
	}
	return strings.TrimSpace(p.stdout.String())
}

var gatewayAt = regexp.MustCompile(`is at (http://\S+)`)

// serveGateway serves the directory and returns where the gateway is.
func serveGateway(t *testing.T, dir string) (p *process, url string) {
	t.Helper()
	p = runOwn(t, "serve", "--dir", dir, "--admin-addr", "localhost:0")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if m := gatewayAt.FindStringSubmatch(p.stderr.String()); m != nil {
			return p, m[1]
		}
	}
	t.Fatal("it is not served: ", p.stderr)
	return nil, ""
}

// call sends one message and returns the status, the headers and the body of its answer.
func call(t *testing.T, url, authorization, body string, headers ...string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var all bytes.Buffer
	_ = res.Header.Write(&all)
	if _, err := io.Copy(&all, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, all.String()
}

const boundCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"charge","arguments":{"card":"ARGUMENT-card"},` +
	`"_meta":{"bindery/execution_id":"order-7","bindery/action_timestamp":"2026-11-30T12:00:00Z"}}}`

// TestGatewayWatched: what metrics, traces, the log, the upstream and other answers get to see of
// a call: never a credential, an argument or a session's id. And a gateway that runs takes
// over the agents that are added and removed.
//
// covers EXA-012, EXA-045
func TestGatewayWatched(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "g")
	key := addAgent(t, dir, "buyer")
	var upstream, traces tap
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { traces.add(r) }))
	t.Cleanup(collector.Close)
	at := toolServer(t, &upstream)
	configureGateway(t, dir, func(g map[string]any) {
		g["addr"] = "127.0.0.1:0"
		g["otlp_endpoint"] = collector.URL
		g["upstreams"] = []any{map[string]any{"name": "pay", "url": at, "headers_env": map[string]string{}}}
	})
	p, url := serveGateway(t, dir)

	if status, text := call(t, url, "", boundCall); status != 401 || !strings.Contains(text, `Www-Authenticate: Bearer realm="bindery"`) {
		t.Error(status, text)
	}
	const other = "bnk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, authorization := range []string{"Bearer " + other, "Basic SECRET-basic", "Bearer eyJhbGciOiJub25lIn0.SECRET-token."} {
		if status, text := call(t, url, authorization, boundCall); status != 401 || !strings.Contains(text, "AGENT_CREDENTIAL_INVALID") || strings.Contains(text, "SECRET") {
			t.Error(authorization, status, text)
		}
	}
	for _, session := range []string{"", "SESSION-made-up"} {
		headers := []string{"Cookie", "SECRET-cookie", "X-Agent-Id", "somebody", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
		if session != "" {
			headers = append(headers, "Mcp-Session-Id", session)
		}
		status, text := call(t, url, "Bearer "+key, boundCall, headers...)
		if want := 200; session == "" && (status != want || !strings.Contains(text, `"state":"succeeded"`)) || session != "" && status != 404 {
			t.Error(session, status, text)
		}
	}
	if status, text := call(t, url, "Bearer "+key, boundCall); status != 200 || !strings.Contains(text, "EXECUTION_REPLAY") {
		t.Error(status, text)
	}

	second := addAgent(t, dir, "clerk")
	within(t, "the new agent", func() bool { status, _ := call(t, url, "Bearer "+second, boundCall); return status == 200 })
	if q := runOwn(t, "gateway", "agent", "remove", "--dir", dir, "buyer"); q.code(t) != 0 {
		t.Fatal(q.stderr)
	}
	within(t, "the removed agent", func() bool { status, _ := call(t, url, "Bearer "+key, boundCall); return status == 401 })
	configureGateway(t, dir, func(g map[string]any) { g["agents"] = map[string]any{} })
	within(t, "a faulty configuration", func() bool { return strings.Contains(p.stderr.String(), "are not taken over") })
	if status, _ := call(t, url, "", boundCall); status != 401 {
		t.Error("a faulty configuration has opened the door")
	}

	_, admin := addresses(t, dir)
	_, metrics := scrape(t, admin, "")
	for _, line := range []string{
		`bindery_gateway_refusals_total{name="EXECUTION_REPLAY"} `, `bindery_gateway_messages_total{kind="bound_call",outcome="refused",upstream="pay"}`,
		`bindery_gateway_messages_total{kind="bound_call",outcome="succeeded",upstream="pay"} 2`, `bindery_execution_admissions_total{verdict="permit"} 2`,
		`bindery_execution_attempts_total{state="succeeded"} 2`, "bindery_execution_active 1", `bindery_gateway_upstream_seconds_count{upstream="pay"} 2`,
	} {
		if !strings.Contains(metrics, "\n"+line) {
			t.Errorf("no line %q in\n%s", line, regexp.MustCompile(`(?m)^bindery_(gateway|execution).*$`).FindAllString(metrics, -1))
		}
	}
	within(t, "the traces", func() bool { return strings.Contains(traces.text(), "EXECUTION_REPLAY") })
	if got := upstream.text(); !strings.Contains(got, "Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-") || strings.Contains(got, "00f067aa0ba902b7") {
		t.Error("the upstream is not in the trace:", got)
	}
	for _, where := range []struct{ name, text string }{
		{"metrics", metrics}, {"traces", traces.text()}, {"the log", p.stderr.String()}, {"the upstream", upstream.text()},
	} {
		for _, secret := range []string{key, second, other, "SECRET-", "SESSION-made-up", "SESSION-of", "ARGUMENT-", "ANSWER-", "somebody"} {
			own := where.name == "the upstream" && (secret == "ARGUMENT-" || secret == "SESSION-of")
			if strings.Contains(where.text, secret) && !own {
				t.Errorf("%s is in %s", secret, where.name)
			}
		}
		if where.name == "metrics" && (strings.Contains(where.text, "order-7") || strings.Contains(where.text, "charge")) {
			t.Error("an execution or a tool is in the metrics")
		}
	}
}

func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("%s: it did not come to that", what)
}

// A gateway on standard input and output that is stopped by a signal sees its calls through.
//
// covers EXA-060
func TestGatewayStopped(t *testing.T) {
	t.Parallel()
	entered, stopped := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(body), "order-1") {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		close(entered)
		<-stopped
		time.Sleep(1500 * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	}))
	defer server.Close()
	var out bytes.Buffer
	cmd := exec.Command("patient", "gateway", "--dir", filepath.Join(t.TempDir(), "G"), "--upstream", server.URL+"/mcp")
	cmd.Stdout = &out
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","_meta":{"bindery/execution_id":"order-1","bindery/action_timestamp":"2026-11-30T12:00:00Z"}}}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	<-entered
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	close(stopped)
	_ = cmd.Wait() // a signal has its own code
	if !strings.Contains(out.String(), `"state":"succeeded"`) {
		t.Errorf("%s", out.String())
	}
}
