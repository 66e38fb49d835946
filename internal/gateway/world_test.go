package gateway_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
)

const clientTime = "2026-11-30T12:00:00Z"

// A heard is a request as the upstream got it.
type heard struct {
	method string
	header http.Header
	body   string
}

// A recorder is an upstream over net/http that keeps what it gets and answers as it is told.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex // guards below
	all    []heard
	answer http.HandlerFunc
}

func newRecorder(t testing.TB, answer http.HandlerFunc) *recorder {
	t.Helper()
	u := &recorder{answer: answer}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the message has not come whole: no call
		}
		u.mu.Lock()
		u.all = append(u.all, heard{r.Method, r.Header.Clone(), string(body)})
		answer := u.answer
		u.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *recorder) got() []heard {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.all)
}

func (u *recorder) answers(h http.HandlerFunc) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer = h
}

// bodies are the tools/calls that it got.
func (u *recorder) bodies() (list []string) {
	for _, h := range u.got() {
		if strings.Contains(h.body, `tools/call`) {
			list = append(list, h.body)
		}
	}
	return list
}

// says answers with a result of JSON under the id of the request.
func says(result string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+idIn(r)+`,"result":`+result+`}`)
	}
}

func idIn(r *http.Request) string {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var m struct{ ID json.RawMessage }
	_ = json.Unmarshal(body, &m)
	return string(m.ID)
}

// patience is how long what must come is waited for: a machine that stalls takes no longer, and where
// it never comes a test ends soon.
const patience = 20 * time.Second

// A world is a gateway in front of one upstream, over a store.
type world struct {
	t        testing.TB
	up       *recorder
	gw       *gateway.Gateway
	registry *execution.Registry
	store    execution.Store
	server   *httptest.Server
	seen     watcher
}

type watcher struct {
	mu  sync.Mutex // guards all
	all []gateway.Observation
}

func (w *watcher) Observe(o gateway.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, o)
}

var signer = sync.OnceValue(func() *jose.Signer {
	private, err := jose.GenerateKey()
	if err != nil {
		panic(err)
	}
	s, err := jose.NewSigner(private)
	if err != nil {
		panic(err)
	}
	return s
})

// byHeader takes the agent from a header, as no real gateway does.
func byHeader(r *http.Request) (agentauth.Identity, error) {
	switch name := r.Header.Get("X-Test-Agent"); name {
	case "":
		return agentauth.Identity{ID: "key:one", How: agentauth.ByKey}, nil
	case "nobody":
		return agentauth.Identity{}, &agentauth.Error{Name: agentauth.Unauthenticated, Rule: "no credential came"}
	default:
		return agentauth.Identity{ID: name, How: agentauth.ByKey}, nil
	}
}

func newWorld(t testing.TB, answer http.HandlerFunc, change ...func(*gateway.Config)) *world {
	t.Helper()
	w := &world{t: t, up: newRecorder(t, answer)}
	db, err := sqlite.Open(context.Background(), sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w.store = db.Executions()
	w.registry, err = execution.New(execution.Config{
		Store: w.store, Signer: signer(), Now: time.Now, Wait: patience,
		Timing: execution.Timing{Trust: time.Minute, Stale: 2 * time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := w.registry.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = w.registry.Run(ctx) })
	w.server = httptest.NewUnstartedServer(nil)
	cfg := gateway.Config{
		Upstreams:    []gateway.Upstream{{Name: "bank", URL: w.up.URL + "/mcp", Timeout: patience}},
		Hosts:        []string{w.server.Listener.Addr().String()},
		Authenticate: byHeader,
		Registry:     gateway.Executions(w.registry),
		SessionKey:   bytes.Repeat([]byte{7}, 32),
		Observer:     &w.seen,
	}
	for _, f := range change {
		f(&cfg)
	}
	w.gw, err = gateway.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.gw.SetEnding(patience)
	w.server.Config.Handler = w.gw
	w.server.Start()
	running.Go(func() { _ = w.gw.Run(ctx) })
	t.Cleanup(func() {
		w.server.Close()
		cancel()
		running.Wait()
	})
	return w
}

// A reply is what a client got.
type reply struct {
	status int
	header http.Header
	body   string
}

// send sends bytes as they are. Headers are pairs of name and value.
func (w *world) send(method, path, body string, headers ...string) reply {
	w.t.Helper()
	r, err := w.try(method, path, body, headers...)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) try(method, path, body string, headers ...string) (reply, error) {
	target, _ := url.Parse(w.server.URL + path)
	req := &http.Request{Method: method, URL: target, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
	if body == "" {
		req.Body, req.ContentLength = nil, 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(b)}, err
}

func (w *world) post(body string, headers ...string) reply {
	w.t.Helper()
	return w.send("POST", "/mcp", body, headers...)
}

// bound is a tools/call with an execution_id.
func bound(id, execution, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"charge","arguments":` + arguments +
		`,"_meta":{"bindery/execution_id":"` + execution + `","bindery/action_timestamp":"` + clientTime + `"}}}`
}

// A decoded is an answer of JSON-RPC, read by another parser than the gateway's.
type decoded struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
		Data    struct {
			Error     string
			SafeNext  string `json:"safe_next"`
			Pointer   string
			Execution map[string]json.RawMessage
		}
	}
	meta map[string]string
}

func (r reply) decode(t testing.TB) decoded {
	t.Helper()
	body := r.body
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		i := strings.LastIndex(body, "data: ")
		body = strings.ReplaceAll(strings.TrimSpace(body[i+len("data: "):]), "\ndata: ", "\n")
	}
	var d decoded
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
	var result struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(d.Result, &result)
	_ = json.Unmarshal(result.Meta["bindery/execution"], &d.meta)
	return d
}

// refused is the name under which it was refused, "" if it was not.
func (d decoded) refused() string {
	if d.Error == nil {
		return ""
	}
	return d.Error.Data.Error
}

func (d decoded) of(name string) string {
	if d.Error == nil {
		return ""
	}
	var s string
	if err := json.Unmarshal(d.Error.Data.Execution[name], &s); err != nil {
		return string(d.Error.Data.Execution[name])
	}
	return s
}

// row is what is stored of an execution of the agent key:one.
func (w *world) row(id string) execution.Row {
	w.t.Helper()
	parsed, err := execution.ParseID(id)
	if err != nil {
		w.t.Fatal(err)
	}
	row, _, err := w.store.Find(context.Background(), execution.Key{Agent: "key:one", ID: parsed})
	if err != nil {
		w.t.Fatalf("%s: %v", id, err)
	}
	return row
}

// log are the entries of the log.
func (w *world) log() []audit.Entry {
	w.t.Helper()
	entries, err := w.store.AuditLog(context.Background(), 1, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	return entries
}

// logged waits for an entry.
func (w *world) logged(is func(audit.Entry) bool) audit.Entry {
	w.t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		all := w.log()
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i]
		}
		if time.Since(began) > patience {
			w.t.Fatalf("no such entry in %+v", all)
		}
	}
}

// digestIn is the digest of a text by another way than the gateway's.
func digestIn(t testing.TB, s string) string {
	t.Helper()
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s)))
}
