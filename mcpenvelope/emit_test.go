package mcpenvelope_test

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/google/go-cmp/cmp"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestRoundTrip: on every transport and protocol version an envelope arrives as it was emitted, at
// the top level of the result and in the mirror, is resolved by the next call, and by no other after.
//
// covers ENV-001, ENV-003, ENV-004, ENV-005, ENV-006, ENV-053, ENV-078, ENV-079, ENV-081, ENV-083
func TestRoundTrip(t *testing.T) {
	eachLink(t, func(t *testing.T, l link, version string) {
		w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
		cs := l.connect(t, w, c, renders(t), version)

		r := call(t, c, cs, "propose", nil)
		want := parse(t, text("1"))
		if !r.Envelope.Equal(want) || r.Diagnostic != "" || r.Warning != "" {
			t.Fatalf("got %s, %q, %q", r.Envelope.JSON(), r.Diagnostic, r.Warning)
		}
		var top struct {
			Moment json.RawMessage            `json:"binding_moment"`
			Meta   map[string]json.RawMessage `json:"_meta"`
		}
		if err := json.Unmarshal(r.Raw, &top); err != nil {
			t.Fatal(err)
		}
		// The top level is the canonical text itself; the mirror is spelled by the SDK's encoder.
		if string(top.Moment) != string(want.JSON()) || !parse(t, string(top.Meta["bindery/binding_moment"])).Equal(want) {
			t.Errorf("on the wire stands %s", r.Raw)
		}
		if got := words(r.Result); got != "Release 1 is ready.\n" {
			t.Errorf("the ordinary content is %q", got)
		}
		if r := call(t, c, cs, "plain", nil); !r.Envelope.IsZero() || r.Diagnostic != "" {
			t.Errorf("a plain tool has an envelope")
		}

		chosen, err := envelope.Choose(r.Envelope, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"done: option 1\n", ""} {
			r, err := c.Resolve(t.Context(), cs, "propose", nil, chosen)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 && words(r.Result) != want {
				t.Errorf("the resolution was answered with %q", words(r.Result))
			}
			if i == 1 && (!r.Result.IsError || r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Taken) {
				t.Errorf("the second resolution was answered with %q, %v", words(r.Result), r.Result.Meta)
			}
		}
		if got := w.done(); len(got) != 1 || got[0] != "option 1" {
			t.Errorf("effects: %q", got)
		}
		if got := w.ledger.Discards(); len(got) != 1 || got[0].Name != envelope.Taken {
			t.Errorf("discarded: %v", got)
		}
		if taking, ok := w.ledger.Taking(want.Digest()); !ok || taking.Assurance != envelope.Client {
			t.Errorf("taken as %v", taking)
		}
	})
}

// TestNotWrapped: a session that does not go through the client is not taken for one without
// envelopes; its ordinary content is there.
func TestNotWrapped(t *testing.T) {
	w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{})
	cs := inMemory(t, w, newClient(t, mcpenvelope.ClientConfig{}), renders(t), "2025-11-25")
	r, err := c.Call(t.Context(), cs, &mcp.CallToolParams{Name: "propose"})
	if !errors.Is(err, mcpenvelope.ErrNotRaw) {
		t.Fatal("a result was looked at whose bytes are not known")
	}
	if words(r.Result) != "Release 1 is ready.\n" || !r.Envelope.IsZero() {
		t.Errorf("beside the error is %+v", r)
	}
}

// wire asks the server directly, so that what is compared are the members of its own results.
func wire(t *testing.T, w *world) map[string]json.RawMessage {
	t.Helper()
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	r := call(t, c, inMemory(t, w, c, renders(t), "2025-11-25"), "propose", nil)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Raw, &members); err != nil {
		t.Fatal(err)
	}
	return members
}

// TestAdditive: without the field and its mirror a result is what it is with the flag off.
//
// covers ENV-082, ENV-088
func TestAdditive(t *testing.T) {
	rich := func(w *world) {
		w.attach = func(int) *mcp.CallToolResult {
			res := &mcp.CallToolResult{
				Meta:              mcp.Meta{"vendor/x": 1},
				Content:           []mcp.Content{&mcp.TextContent{Text: "é <&>"}, &mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png"}},
				StructuredContent: map[string]any{"n": 1.5, "binding_moment": "not here"},
			}
			mcpenvelope.Attach(res, emission(t, "1"))
			return res
		}
	}
	on, off := newWorld(t), newWorld(t, func(c *mcpenvelope.Config) { c.Enabled = func(*mcp.CallToolRequest) bool { return false } })
	rich(on)
	rich(off)
	with, without := wire(t, on), wire(t, off)
	if _, ok := with["binding_moment"]; !ok {
		t.Fatal("there is no envelope")
	}
	delete(with, "binding_moment")
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(with["_meta"], &meta); err != nil {
		t.Fatal(err)
	}
	delete(meta, "bindery/binding_moment")
	text, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	with["_meta"] = text
	if diff := cmp.Diff(without, with); diff != "" {
		t.Errorf("with an envelope (+) the rest is another than without (-):\n%s", diff)
	}
	if _, err := off.ledger.Envelope(t.Context(), parse(t, text1).Digest()); err == nil {
		t.Error("with the flag off an envelope was emitted")
	}
}

var text1 = text("1")

// TestServerFaults: what no result may carry beside an envelope.
//
// covers ENV-089, ENV-099
func TestServerFaults(t *testing.T) {
	two := said("x")
	for name, attach := range map[string]func() *mcp.CallToolResult{
		"ENV-099": func() *mcp.CallToolResult { r := said(" \n"); mcpenvelope.Attach(r, emission(t, "1")); return r },
		"there is none (ENV-099)": func() *mcp.CallToolResult {
			r := &mcp.CallToolResult{}
			mcpenvelope.Attach(r, emission(t, "1"))
			return r
		},
		"one result has one envelope, for one principal (ENV-089)": func() *mcp.CallToolResult {
			mcpenvelope.Attach(two, emission(t, "1"))
			mcpenvelope.Attach(two, emission(t, "2"))
			return two
		},
		"names one agent and one principal (ENV-089)": func() *mcp.CallToolResult {
			r, e := said("x"), emission(t, "1")
			e.Principal = " "
			mcpenvelope.Attach(r, e)
			return r
		},
		"asks for input carries no envelope (D3)": func() *mcp.CallToolResult {
			r := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"x": &mcp.ElicitParams{Message: "m", RequestedSchema: json.RawMessage(`{"type":"object"}`)}}}
			mcpenvelope.Attach(r, emission(t, "1"))
			return r
		},
		"ENV-045": func() *mcp.CallToolResult {
			r, e := said("x"), emission(t, "1")
			e.Closed = []envelope.Closure{{Hatch: envelope.Dialogue, Reason: "it is open"}}
			mcpenvelope.Attach(r, e)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{})
			w.attach = func(int) *mcp.CallToolResult { return attach() }
			cs := inMemory(t, w, c, renders(t), "2026-07-28")
			_, err := c.Call(t.Context(), cs, &mcp.CallToolParams{Name: "propose"})
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("it was answered with %v", err)
			}
			if _, err := w.ledger.Envelope(t.Context(), parse(t, text1).Digest()); err == nil {
				t.Error("an envelope was emitted")
			}
		})
	}
}

// TestEmittedOnce: a digest that was emitted before is not emitted again; the ordinary result goes
// alone and says why.
//
// covers ENV-115
func TestEmittedOnce(t *testing.T) {
	w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	w.attach = func(int) *mcp.CallToolResult { r := said("again"); mcpenvelope.Attach(r, emission(t, "1")); return r }
	cs := inMemory(t, w, c, renders(t), "2025-11-25")
	if r := call(t, c, cs, "propose", nil); r.Envelope.IsZero() {
		t.Fatal("the first is not emitted")
	}
	r := call(t, c, cs, "propose", nil)
	if why, _ := r.Result.Meta[mcpenvelope.MetaWithheld].(string); !r.Envelope.IsZero() || words(r.Result) != "again\n" || !strings.Contains(why, "ENV-115") {
		t.Errorf("the second is answered with %s", r.Raw)
	}
}

// A broken ledger is one whose storage is gone.
type broken struct{ envelope.Ledger }

func (broken) Emit(context.Context, envelope.Emission) error { return errors.New("disk") }

func (broken) Envelope(context.Context, envelope.Digest) (envelope.Emission, error) {
	return envelope.Emission{}, errors.New("disk")
}

// TestLedgerGone: without its ledger a server asks nothing and takes nothing, and says no more of the
// storage than that.
//
// covers ENV-100
func TestLedgerGone(t *testing.T) {
	w, c := newWorld(t, func(c *mcpenvelope.Config) { c.Ledger = broken{c.Ledger} }), newClient(t, mcpenvelope.ClientConfig{})
	cs := inMemory(t, w, c, renders(t), "2026-07-28")
	r := call(t, c, cs, "propose", nil)
	if !r.Envelope.IsZero() || words(r.Result) != "Release 1 is ready.\n" || strings.Contains(string(r.Raw), "disk") {
		t.Errorf("answered with %s", r.Raw)
	}
	chosen, err := envelope.Choose(parse(t, text1), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(t.Context(), cs, "propose", nil, chosen); err == nil || strings.Contains(err.Error(), "disk") || len(w.done()) > 0 {
		t.Errorf("a resolution without a ledger: %v, effects %q", err, w.done())
	}
}

// TestNames: other names, on both ends; and a surface that knows others finds the default.
//
// covers ENV-105
func TestNames(t *testing.T) {
	names := mcpenvelope.Names{Field: "decision", Mirror: "example.org/decision", Argument: "decided", Annotation: "decides", Manifest: "example.org/decides"}
	w := newWorld(t, func(c *mcpenvelope.Config) { c.Names = names })
	c := newClient(t, mcpenvelope.ClientConfig{Names: names, Trusted: true})
	cs := inMemory(t, w, c, renders(t), "2025-11-25")
	r := call(t, c, cs, "propose", nil)
	if r.Envelope.IsZero() || !strings.Contains(string(r.Raw), `"decision":{`) || strings.Contains(string(r.Raw), `binding_moment`) {
		t.Errorf("on the wire stands %s", r.Raw)
	}
	chosen, err := envelope.Choose(r.Envelope, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Resolve(t.Context(), cs, "propose", nil, chosen); err != nil || words(r.Result) != "done: option 0\n" {
		t.Errorf("%v, %v", r, err)
	}
	other := newWorld(t)
	if r := call(t, c, inMemory(t, other, c, renders(t), "2025-11-25"), "propose", nil); r.Envelope.IsZero() {
		t.Error("a surface with other names does not find the default ones")
	}
	for _, bad := range []mcpenvelope.Names{{Field: "content"}, {Field: `a"b`}, {Argument: "x", Await: "x"}, {Mirror: "\xff"}} {
		if _, err := mcpenvelope.New(mcpenvelope.Config{Agent: "a", Ledger: envelope.NewMemory(), Names: bad}); err == nil {
			t.Errorf("%+v are taken for names", bad)
		}
	}
}

// TestWithheldIsNoEnvelope: an agent that is not ready says where it stands, and asks for leave.
//
// covers ENV-018, ENV-062, ENV-063
func TestWithheldIsNoEnvelope(t *testing.T) {
	w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{})
	d, err := envelope.Withhold("Two views are still being counted.", "")
	if err != nil {
		t.Fatal(err)
	}
	w.attach = func(int) *mcp.CallToolResult { return mcpenvelope.Withheld(d) }
	r := call(t, c, inMemory(t, w, c, renders(t), "2025-11-25"), "propose", nil)
	if !r.Envelope.IsZero() || words(r.Result) != "Two views are still being counted.\n"+envelope.DefaultRequest+"\n" {
		t.Errorf("answered with %s", r.Raw)
	}
}

// TestAdvertised: what tools/list says, on the wire: the tool that may emit is marked twice and takes
// a resolution, and the others are as they were.
//
// covers ENV-085, ENV-086
func TestAdvertised(t *testing.T) {
	w := newWorld(t)
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: quiet}))
	defer s.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct {
		Result struct {
			Tools []struct {
				Name        string                     `json:"name"`
				Annotations map[string]any             `json:"annotations"`
				Meta        map[string]any             `json:"_meta"`
				Schema      map[string]json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Result.Tools) != 2 {
		t.Fatalf("%d tools", len(answer.Result.Tools))
	}
	plain, propose := answer.Result.Tools[0], answer.Result.Tools[1]
	if propose.Annotations["emits_binding_moment"] != true || propose.Annotations["title"] != "Propose" || propose.Meta["bindery/emits_binding_moment"] != true {
		t.Errorf("the tool that may emit has %v and %v", propose.Annotations, propose.Meta)
	}
	if !strings.Contains(string(propose.Schema["properties"]), `"binding_resolution"`) || !strings.Contains(string(propose.Schema["properties"]), `"topic"`) {
		t.Errorf("it takes %s", propose.Schema["properties"])
	}
	if plain.Annotations != nil || plain.Meta != nil || strings.Contains(string(plain.Schema["properties"]), "binding") {
		t.Errorf("the plain tool is marked: %v", plain)
	}
}

// TestExtension: both sides say in their capabilities that they have envelopes.
func TestExtension(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{})
		settings, ok := inMemory(t, w, c, renders(t), version).InitializeResult().Capabilities.Extensions["bindery/binding-moment"].(map[string]any)
		if !ok || settings["field"] != "binding_moment" || settings["argument"] != "binding_resolution" {
			t.Errorf("%s: the server declares %v", version, settings)
		}
	}
}
