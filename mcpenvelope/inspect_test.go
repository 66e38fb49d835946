package mcpenvelope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const noMoment = `{"content":[{"type":"text","text":"ordinary"}]}`

// cases are results, and what is found in them: an envelope, a part of a diagnostic, or nothing.
func cases() []struct{ name, result, want string } {
	e, other := text1, text("2")
	in := func(members string) string { return `{"content":[{"type":"text","text":"ordinary"}],` + members + `}` }
	return []struct{ name, result, want string }{
		{"none", noMoment, ""},
		{"not advertised, at the top", in(`"binding_moment":` + e), "yes"},
		{"in the mirror alone", in(`"_meta":{"bindery/binding_moment":` + e + `}`), "yes"},
		{"both, spelled in two ways", in(`"binding_moment":` + e + `,"_meta":{"bindery/binding_moment":` + strings.ReplaceAll(e, "Release", `\u0052elease`) + `}`), "yes"},
		{"both, and they differ", in(`"binding_moment":` + e + `,"_meta":{"bindery/binding_moment":` + other + `}`), "two envelopes that differ"},
		{"the mirror is malformed", in(`"binding_moment":` + e + `,"_meta":{"bindery/binding_moment":{}}`), "ENV-008"},
		{"the top is malformed", in(`"binding_moment":{},"_meta":{"bindery/binding_moment":` + e + `}`), "ENV-008"},
		{"the field is null", in(`"binding_moment":null`), "ENV-007"},
		{"the field twice", in(`"binding_moment":` + e + `,"binding_moment":` + e), "not strict JSON"},
		{"the field twice, once escaped", in(`"binding_moment":` + e + `,"binding\u005fmoment":` + other), "not strict JSON"},
		{"a name twice, elsewhere", in(`"structuredContent":{"a":1,"a":2},"binding_moment":` + e), "not strict JSON"},
		{"bad UTF-8, elsewhere", in("\"x\":\"\xff\",\"binding_moment\":" + e), "not strict JSON"},
		{"_meta is a list", in(`"_meta":[],"binding_moment":` + e), "not an object"},
		{"numbers and depth, elsewhere", in(`"structuredContent":{"x":1.5e300,"y":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `},"binding_moment":` + e), "yes"},
		{"a fraction, inside", in(`"binding_moment":` + strings.Replace(e, `"recommended_idx":0`, `"recommended_idx":0.5`, 1)), "ENV-059"},
		{"what only rounding makes an integer, inside", in(`"binding_moment":` + strings.Replace(e, `"recommended_idx":0`, `"recommended_idx":1.00000000000000000001`, 1)), "ENV-059"},
		{"out of range", in(`"binding_moment":` + strings.Replace(e, `"recommended_idx":0`, `"recommended_idx":2`, 1)), "ENV-036"},
		{"an unknown member", in(`"binding_moment":` + strings.Replace(e, `{"synopsis"`, `{"by":"ana","synopsis"`, 1)), "ENV-007"},
		{"65 levels, inside", in(`"binding_moment":` + strings.Repeat("[", 65) + strings.Repeat("]", 65)), "ENV-060"},
		{"an escaped half of a pair, inside", in(`"binding_moment":` + strings.Replace(e, "42 rows", `\ud800`, 1)), "not strict JSON"},
		{"beside a request for input", `{"resultType":"input_required","inputRequests":{},"binding_moment":` + e + `}`, "asks for input"},
		{"in the structured content", in(`"structuredContent":{"binding_moment":` + e + `}`), ""},
		{"with another case", in(`"Binding_Moment":` + e), ""},
		{"no result at all", `[1]`, ""},
	}
}

// TestInspect: the order of detection, and that what is malformed is dropped as a whole.
//
// covers ENV-010, ENV-051, ENV-055, ENV-056, ENV-057, ENV-059, ENV-060, ENV-087, ENV-101
func TestInspect(t *testing.T) {
	for _, x := range cases() {
		i, err := mcpenvelope.Inspect([]byte(x.result), mcpenvelope.Names{})
		if err != nil {
			t.Fatal(err)
		}
		d := i.Diagnostic()
		switch {
		case x.want == "yes":
			if d != "" || !i.Envelope.Equal(parse(t, text1)) {
				t.Errorf("%s: %q", x.name, d)
			}
		case !i.Envelope.IsZero(), (x.want == "") != (d == ""), !strings.Contains(d, x.want), strings.Contains(d, "\n"):
			t.Errorf("%s: found %v, %q", x.name, !i.Envelope.IsZero(), d)
		}
	}
}

// A script is a server that answers tools/call with the results given, over HTTP, byte for byte.
func script(t *testing.T, results map[string]string, stream bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		_ = json.Unmarshal(body, &m)
		result := results[m.Params.Name]
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case "tools/call":
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
		if !stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		// A comment, an event in several lines with CRLF, and another that is no result.
		_, _ = io.WriteString(w, ": hello\n\nevent: message\r\ndata: "+strings.Replace(answer, `,"result":`, ",\r\ndata:  \"result\":", 1)+"\r\n\r\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func reach(t *testing.T, c *mcpenvelope.Client, url string) *mcp.ClientSession {
	t.Helper()
	return session(t, renders(t), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: c.HTTP(nil), DisableStandaloneSSE: true}, "2025-11-25")
}

// TestNothingFails: over the wire each of these results is a call that succeeds, with its ordinary
// content and its exact bytes, and one line for the operator where something was discarded.
//
// covers ENV-011, ENV-012, ENV-013, ENV-084, ENV-087, ENV-098, ENV-100, ENV-101
func TestNothingFails(t *testing.T) {
	results, n := map[string]string{}, 0
	for i, x := range cases() {
		if strings.HasPrefix(x.result, `{"content"`) && x.name != "_meta is a list" { // the SDK reads the rest as no result
			results[fmt.Sprint("tool-", i)] = x.result
		}
	}
	for _, stream := range []bool{false, true} {
		c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
		cs := reach(t, c, script(t, results, stream))
		for i, x := range cases() {
			if results[fmt.Sprint("tool-", i)] == "" {
				continue
			}
			n++
			r := call(t, c, cs, fmt.Sprint("tool-", i), nil)
			if words(r.Result) != "ordinary\n" || !bytes.Equal(r.Raw, []byte(x.result)) {
				t.Errorf("%s: the content is %q, the bytes are %s", x.name, words(r.Result), r.Raw)
			}
			if (x.want == "yes") != !r.Envelope.IsZero() || x.want != "yes" && !strings.Contains(r.Diagnostic, x.want) {
				t.Errorf("%s: %v, %q", x.name, !r.Envelope.IsZero(), r.Diagnostic)
			}
			for name := range r.Result.Meta {
				if strings.Contains(name, "raw") {
					t.Errorf("%s: our member %s is left in _meta", x.name, name)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("%d calls", n)
	}
}

// TestTooLarge: of a result that is too large to be looked at the ordinary content is there, beside an
// error that says that an envelope may have been overlooked.
//
// covers ENV-087, ENV-100
func TestTooLarge(t *testing.T) {
	large := `{"content":[{"type":"text","text":"ordinary"}],"structuredContent":{"x":"` + strings.Repeat("x", mcpenvelope.MaxResult) + `"},"binding_moment":` + text1 + `}`
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	r, err := c.Call(t.Context(), reach(t, c, script(t, map[string]string{"x": large}, false)), &mcp.CallToolParams{Name: "x"})
	if !errors.Is(err, mcpenvelope.ErrNotRaw) || r == nil || words(r.Result) != "ordinary\n" || !r.Envelope.IsZero() {
		t.Errorf("%v", err)
	}
}

// TestSurface: envelopes of a server that is not authenticated are warned of, or refused by setting.
//
// covers ENV-106
func TestSurface(t *testing.T) {
	url := script(t, map[string]string{"x": `{"content":[{"type":"text","text":"ordinary"}],"binding_moment":` + text1 + `}`, "y": noMoment}, false)
	for _, x := range []struct {
		cfg                mcpenvelope.ClientConfig
		given, warned, not bool
	}{
		{mcpenvelope.ClientConfig{}, true, true, false},
		{mcpenvelope.ClientConfig{Unauthenticated: mcpenvelope.Refuse}, false, false, true},
		{mcpenvelope.ClientConfig{Unauthenticated: mcpenvelope.Allow}, true, false, false},
		{mcpenvelope.ClientConfig{Trusted: true, Unauthenticated: mcpenvelope.Refuse}, true, false, false},
	} {
		c := newClient(t, x.cfg)
		cs := reach(t, c, url)
		r := call(t, c, cs, "x", nil)
		if !r.Envelope.IsZero() != x.given || (r.Warning != "") != x.warned || (r.Diagnostic != "") != x.not || words(r.Result) != "ordinary\n" {
			t.Errorf("%+v: given %v, %q, %q", x.cfg, !r.Envelope.IsZero(), r.Warning, r.Diagnostic)
		}
		if r := call(t, c, cs, "y", nil); r.Warning != "" || r.Diagnostic != "" {
			t.Errorf("an ordinary result is warned of: %q, %q", r.Warning, r.Diagnostic)
		}
	}
	w := newWorld(t)
	c := newClient(t, mcpenvelope.ClientConfig{Unauthenticated: mcpenvelope.Refuse})
	if r := call(t, c, inMemory(t, w, c, renders(t), "2025-11-25"), "propose", nil); r.Envelope.IsZero() || r.Warning != "" {
		t.Errorf("part of this process counts as not authenticated: %q", r.Diagnostic)
	}
	tls := httptest.NewTLSServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.server }, &mcp.StreamableHTTPOptions{Stateless: true, Logger: quiet}))
	defer tls.Close()
	c = newClient(t, mcpenvelope.ClientConfig{Unauthenticated: mcpenvelope.Refuse})
	cs := session(t, renders(t), &mcp.StreamableClientTransport{Endpoint: tls.URL, HTTPClient: c.HTTP(tls.Client())}, "2026-07-28")
	if r := call(t, c, cs, "propose", nil); r.Envelope.IsZero() {
		t.Errorf("HTTPS counts as not authenticated: %q", r.Diagnostic)
	}
	if _, err := mcpenvelope.NewClient(mcpenvelope.ClientConfig{Unauthenticated: "maybe"}); err == nil {
		t.Error("a policy of another name is taken")
	}
}

// FuzzInspect: whatever comes, at most one of envelope and diagnostic; an envelope is one that stands
// there, and is not there in another spelling of the same text.
func FuzzInspect(f *testing.F) {
	for _, x := range cases() {
		f.Add([]byte(x.result))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		i, err := mcpenvelope.Inspect(text, mcpenvelope.Names{})
		if err != nil {
			t.Fatal(err)
		}
		if !i.Envelope.IsZero() && i.Fault != nil {
			t.Fatal("an envelope and a fault")
		}
		if i.Envelope.IsZero() {
			return
		}
		if _, err := envelope.Parse(i.Envelope.JSON()); err != nil {
			t.Fatal(err)
		}
		var top map[string]json.RawMessage
		if err := json.Unmarshal(text, &top); err != nil {
			t.Fatal("an envelope in what is no object")
		}
	})
}
