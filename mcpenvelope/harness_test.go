package mcpenvelope_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// text is an envelope whose name is in its synopsis, so that two of them differ.
func text(name string, labels ...string) string {
	if len(labels) == 0 {
		labels = []string{"Publish the daily view", "Publish the weekly view"}
	}
	var options []string
	for i, l := range labels {
		options = append(options, fmt.Sprintf(`{"label":%q,"reasoning":"It is the right one for reason %d <&> \u00e9."}`, l, i))
	}
	return `{"synopsis":"Release ` + name + ` goes out as the daily view.","findings":["It has 42 rows.","No row names a person."],` +
		`"recommendations":["Publish it today."],"offer":"The rows can be shown.","question":{"stem":"Which view is published?",` +
		`"options":[` + strings.Join(options, ",") + `],"recommended_idx":0,"hatches":{"free_text":true,"dialogue":true}}}`
}

func parse(t testing.TB, text string) envelope.Envelope {
	t.Helper()
	e, err := envelope.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func emission(t testing.TB, name string, labels ...string) envelope.Emission {
	return envelope.Emission{Envelope: parse(t, text(name, labels...)), Principal: "ana"}
}

// A world is a server with the tool propose, which attaches what attach says, and with an effect for
// each decision it is called with.
type world struct {
	t       testing.TB
	ledger  *envelope.Memory
	server  *mcp.Server
	emitter *mcpenvelope.Emitter

	mu      sync.Mutex
	calls   int
	effects []string // kind and index or answer of each decision
	seen    []string // arguments that the tool was called with
	attach  func(n int) *mcp.CallToolResult
}

type option func(*mcpenvelope.Config)

func newWorld(t testing.TB, options ...option) *world {
	t.Helper()
	w := &world{t: t, ledger: envelope.NewMemory()}
	cfg := mcpenvelope.Config{Agent: "release-approver", Ledger: w.ledger, Emits: []string{"propose"}, Log: quiet}
	for _, o := range options {
		o(&cfg)
	}
	var err error
	if w.emitter, err = mcpenvelope.New(cfg); err != nil {
		t.Fatal(err)
	}
	caps := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if err := cfg.Names.AddToServer(caps); err != nil {
		t.Fatal(err)
	}
	w.server = mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Capabilities: caps, Logger: quiet})
	schema := json.RawMessage(`{"type":"object","properties":{"topic":{"type":"string"}},"additionalProperties":false}`)
	w.server.AddTool(&mcp.Tool{Name: "propose", InputSchema: schema, Annotations: &mcp.ToolAnnotations{Title: "Propose"}}, w.propose)
	w.server.AddTool(&mcp.Tool{Name: "plain", InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("plain"), nil
	})
	w.server.AddReceivingMiddleware(w.emitter.Middleware())
	w.attach = func(n int) *mcp.CallToolResult {
		res := said(fmt.Sprintf("Release %d is ready.", n))
		mcpenvelope.Attach(res, emission(t, fmt.Sprint(n)))
		return res
	}
	return w
}

func said(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func (w *world) propose(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, string(req.Params.Arguments))
	if d, ok := mcpenvelope.DecisionOf(ctx); ok {
		effect := string(d.Resolution.Kind())
		if idx, ok := d.Resolution.OptionIdx(); ok {
			effect += fmt.Sprint(" ", idx)
		}
		if answer, ok := d.Resolution.AnswerText(); ok {
			effect += " " + answer
		}
		w.effects = append(w.effects, effect)
		return said("done: " + effect), nil
	}
	w.calls++
	return w.attach(w.calls), nil
}

func (w *world) done() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.effects...)
}

// A link is one way to reach a server.
type link struct {
	name     string
	modern   bool
	versions []string
	connect  func(t testing.TB, w *world, c *mcpenvelope.Client, client *mcp.Client, version string) *mcp.ClientSession
}

var legacy = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

func links() []link {
	all := append([]string{"2026-07-28"}, legacy...)
	return []link{
		{name: "memory", modern: true, versions: all, connect: inMemory},
		{name: "stateful-sse", versions: legacy, connect: overHTTP(mcp.StreamableHTTPOptions{})},
		{name: "stateful-json", versions: legacy, connect: overHTTP(mcp.StreamableHTTPOptions{JSONResponse: true})},
		{name: "stateless-sse", modern: true, versions: []string{"2026-07-28", "2025-11-25"}, connect: overHTTP(mcp.StreamableHTTPOptions{Stateless: true})},
		{name: "stateless-json", modern: true, versions: []string{"2026-07-28"}, connect: overHTTP(mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})},
	}
}

func inMemory(t testing.TB, w *world, c *mcpenvelope.Client, client *mcp.Client, version string) *mcp.ClientSession {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := w.server.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ss.Close() })
	return session(t, client, c.Transport(ours), version)
}

func overHTTP(opts mcp.StreamableHTTPOptions) func(testing.TB, *world, *mcpenvelope.Client, *mcp.Client, string) *mcp.ClientSession {
	return func(t testing.TB, w *world, c *mcpenvelope.Client, client *mcp.Client, version string) *mcp.ClientSession {
		t.Helper()
		opts := opts
		opts.Logger = quiet
		s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.server }, &opts))
		t.Cleanup(s.Close)
		transport := &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: c.HTTP(s.Client())}
		return session(t, client, transport, version)
	}
}

func session(t testing.TB, client *mcp.Client, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	cs, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	if got := cs.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("negotiated %s and not %s", got, version)
	}
	return cs
}

// renders is a client that says that it renders envelopes.
func renders(t testing.TB) *mcp.Client {
	t.Helper()
	caps := &mcp.ClientCapabilities{}
	if err := (mcpenvelope.Names{}).AddToClient(caps); err != nil {
		t.Fatal(err)
	}
	return mcp.NewClient(&mcp.Implementation{Name: "surface", Version: "1"}, &mcp.ClientOptions{Capabilities: caps, Logger: quiet})
}

func newClient(t testing.TB, cfg mcpenvelope.ClientConfig) *mcpenvelope.Client {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = quiet
	}
	c, err := mcpenvelope.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// eachLink runs a test on every transport and protocol version.
func eachLink(t *testing.T, test func(t *testing.T, l link, version string)) {
	for _, l := range links() {
		for _, version := range l.versions {
			t.Run(l.name+"/"+version, func(t *testing.T) { test(t, l, version) })
		}
	}
}

func call(t testing.TB, c *mcpenvelope.Client, cs *mcp.ClientSession, tool string, args any) *mcpenvelope.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if args == nil {
		args = map[string]any{}
	}
	r, err := c.Call(ctx, cs, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func words(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text + "\n")
		}
	}
	return b.String()
}
