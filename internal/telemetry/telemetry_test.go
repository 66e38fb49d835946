package telemetry_test

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/telemetry"
)

// A collector is one that keeps what it is sent.
type collector struct {
	mu      sync.Mutex
	spans   []message
	raw     []byte
	headers http.Header
	path    string
	answer  func(http.ResponseWriter)
	*httptest.Server
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(r.Body)
	}
	b, _ := io.ReadAll(body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw, c.path, c.headers = append(c.raw, b...), r.URL.Path, r.Header.Clone()
	// trace_service.proto, trace.proto: ResourceSpans 1, ScopeSpans 2, Span 2.
	for _, resource := range decode(b)[1] {
		for _, scope := range decode(resource)[2] {
			for _, s := range decode(scope)[2] {
				c.spans = append(c.spans, decode(s))
			}
		}
	}
	if c.answer != nil {
		c.answer(w)
	}
}

// A message is one of protocol buffers, taken apart by hand: the payloads of its fields, of
// varints the number in 8 bytes.
type message map[uint64][][]byte

func decode(b []byte) message {
	m := message{}
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		size := uint64(8)
		switch key & 7 {
		case 0:
			v, n := binary.Uvarint(b)
			m[key>>3] = append(m[key>>3], binary.BigEndian.AppendUint64(nil, v))
			b = b[n:]
			continue
		case 1:
		case 5:
			size = 4
		case 2:
			size, n = binary.Uvarint(b)
			b = b[n:]
		default:
			panic("no wire type of protobuf 3")
		}
		m[key>>3] = append(m[key>>3], b[:size])
		b = b[size:]
	}
	return m
}

func (m message) text(field uint64) string {
	if len(m[field]) == 0 {
		return ""
	}
	return string(m[field][0])
}

// attributes are those of a span with a text.
func (m message) attributes() map[string]string {
	all := map[string]string{}
	for _, a := range m[9] {
		kv := decode(a)
		if v := decode([]byte(kv.text(2))); len(v[1]) > 0 {
			all[kv.text(1)] = v.text(1)
		}
	}
	return all
}

func newTracer(t *testing.T, endpoint string) *telemetry.Tracer {
	t.Helper()
	tr, err := telemetry.New(telemetry.Config{Endpoint: endpoint, Version: "1.2.3", Headers: map[string]string{"X-Key": "collector-secret"}})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

const (
	parent      = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	parentTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentSpan  = "00f067aa0ba902b7"
)

// TestSpan: what the collector gets of one call, and what the upstream is told of the trace.
func TestSpan(t *testing.T) {
	c := newCollector(t)
	tr := newTracer(t, c.URL+"/base")
	in := http.Header{"Traceparent": {parent}, "Tracestate": {"a=1"}, "Authorization": {"Bearer SECRET"}, "Mcp-Session-Id": {"SESSION"}}
	_, s := tr.Start(t.Context(), in)
	out := http.Header{"Traceparent": {parent}, "Tracestate": {"b=2"}}
	s.Inject(out)
	s.End(gateway.Observation{
		Upstream: "pay", Method: "tools/call", Tool: "charge\xff", Bound: true, ExecutionID: "order-7", State: "succeeded",
		Refusal: "EXECUTION_REPLAY", Joined: true, Status: 200, Took: 3 * time.Second, Waited: time.Second,
	})
	if err := tr.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.path != "/base/v1/traces" || c.headers.Get("X-Key") != "collector-secret" || c.headers.Get("Content-Type") != "application/x-protobuf" {
		t.Error(c.path, c.headers)
	}
	if len(c.spans) != 1 {
		t.Fatalf("%d spans", len(c.spans))
	}
	got := c.spans[0]
	want := map[string]string{
		"mcp.method.name": "tools/call", "bindery.upstream": "pay", "gen_ai.tool.name": "charge\uFFFD", "bindery.execution_id": "order-7",
		"bindery.execution.state": "succeeded", "bindery.refusal": "EXECUTION_REPLAY",
	}
	if d := cmp.Diff(want, got.attributes()); d != "" {
		t.Error(d)
	}
	own := hex.EncodeToString(got[2][0])
	if hex.EncodeToString(got[1][0]) != parentTrace || hex.EncodeToString(got[4][0]) != parentSpan || got.text(3) != "a=1" || got.text(5) != "tools/call" {
		t.Errorf("%x", got)
	}
	if status := decode([]byte(got.text(15))); status.text(2) != "EXECUTION_REPLAY" || status[3][0][7] != 2 {
		t.Errorf("status %x", status)
	}
	if d := cmp.Diff(http.Header{"Traceparent": {"00-" + parentTrace + "-" + own + "-01"}, "Tracestate": {"a=1"}}, out); d != "" {
		t.Error(d)
	}
	for _, secret := range []string{"SECRET", "SESSION", "collector-secret"} {
		if strings.Contains(string(c.raw), secret) {
			t.Errorf("%s is in what is sent", secret)
		}
	}
}

// TestBounds: of what a client writes a span holds 200 bytes each, and an unsampled trace
// stays one.
func TestBounds(t *testing.T) {
	c := newCollector(t)
	tr := newTracer(t, c.URL)
	_, s := tr.Start(t.Context(), nil)
	long := strings.Repeat("é", 1000)
	s.End(gateway.Observation{Method: long, Tool: long, ExecutionID: long})
	_, s = tr.Start(t.Context(), http.Header{"Traceparent": {strings.TrimSuffix(parent, "1") + "0"}})
	out := http.Header{}
	s.Inject(out)
	s.End(gateway.Observation{Method: "ping"})
	_, s = tr.Start(t.Context(), http.Header{"Traceparent": {"nonsense"}, "Tracestate": {long}})
	s.End(gateway.Observation{Method: "x"})
	if err := tr.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) != 2 {
		t.Fatalf("%d spans", len(c.spans))
	}
	for name, v := range c.spans[0].attributes() {
		if v != strings.Repeat("é", 100) {
			t.Errorf("%s has %d bytes", name, len(v))
		}
	}
	if !strings.HasPrefix(out.Get("Traceparent"), "00-"+parentTrace) || !strings.HasSuffix(out.Get("Traceparent"), "-00") {
		t.Error(out)
	}
	if len(c.spans[1].text(4)) != 0 || c.spans[1].text(3) != "" {
		t.Error("a traceparent that is none has a child")
	}
}

// TestSlowCollector: nobody waits for a collector, not even the end; what it does not take is
// counted.
func TestSlowCollector(t *testing.T) {
	c, let := newCollector(t), make(chan struct{})
	defer close(let)
	c.answer = func(http.ResponseWriter) { <-let }
	tr := newTracer(t, c.URL)
	begin := time.Now()
	const n = 5000
	for range n {
		_, s := tr.Start(t.Context(), nil)
		s.End(gateway.Observation{Method: "ping"})
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("%d calls took %v", n, took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tr.Shutdown(ctx); err == nil {
		t.Error("a collector that says nothing has taken all")
	}
	if d := tr.Dropped(); d < n-2048-256-1 || d > n {
		t.Errorf("dropped %d of %d", d, n)
	}
}

// TestCollectorRefuses: spans that a collector refuses, or that come after the end, are counted.
func TestCollectorRefuses(t *testing.T) {
	c, elsewhere := newCollector(t), newCollector(t)
	for _, answer := range []func(http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(503) },
		func(w http.ResponseWriter) { w.Header().Set("Location", elsewhere.URL); w.WriteHeader(307) },
	} {
		c.answer = answer
		tr := newTracer(t, c.URL)
		one := func() { _, s := tr.Start(t.Context(), nil); s.End(gateway.Observation{}) }
		one()
		if err := tr.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		one()
		if d := tr.Dropped(); d != 1 && d != 2 { // after the end the library makes no spans
			t.Errorf("dropped %d", d)
		}
	}
	if elsewhere.path != "" {
		t.Error("spans went where the collector pointed")
	}
}

// TestEndpoint: none is no Tracer, and one that would carry traces in clear through the world
// is refused.
func TestEndpoint(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://192.0.2.1:4318")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x=y")
	if tr, err := telemetry.New(telemetry.Config{}); tr != nil || err != nil {
		t.Error(tr, err)
	}
	for endpoint, want := range map[string]bool{
		"https://otel.example:4318": true, "http://127.0.0.1:4318": true, "http://[::1]:4318/": true, "http://10.0.0.7:4318": true, "http://collector:4318": true,
		"http://otel.example:4318": false, "http://192.0.2.1:4318": false, "otel:4318": false, "https://u:p@otel.example": false, "https://otel.example?x": false,
		"ftp://127.0.0.1": false, "https:///x": false, "%": false,
	} {
		if _, err := telemetry.New(telemetry.Config{Endpoint: endpoint}); (err == nil) != want {
			t.Error(endpoint, err)
		} else if err != nil && strings.Contains(err.Error(), endpoint) {
			t.Error("the endpoint is in the error:", err)
		}
	}
}

// TestNeverUsed: the end of a Tracer that never had a span waits for nothing.
func TestNeverUsed(t *testing.T) {
	tr := newTracer(t, "http://127.0.0.1:1")
	if err := tr.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
