package mcpenvelope_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestDiscarded: each resolution that is none is answered with a named reason and recorded, the tool
// is not called, and the envelope stays open for the one that follows.
//
// covers ENV-069, ENV-070, ENV-071, ENV-072, ENV-073, ENV-074, ENV-075, ENV-076, ENV-077, ENV-078, ENV-112
func TestDiscarded(t *testing.T) {
	w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	w.attach = func(n int) *mcp.CallToolResult {
		r, e := said("x"), emission(t, fmt.Sprint(n))
		if n == 2 {
			closed := strings.Replace(text("closed"), `"dialogue":true`, `"dialogue":false`, 1)
			e.Envelope = parse(t, strings.Replace(closed, `"free_text":true`, `"free_text":false`, 1))
			e.Closed = []envelope.Closure{{Hatch: envelope.Dialogue, Reason: "there is nothing to discuss"}, {Hatch: envelope.FreeText, Reason: "a form follows"}}
		}
		mcpenvelope.Attach(r, e)
		return r
	}
	cs := inMemory(t, w, c, renders(t), "2025-11-25")
	open := call(t, c, cs, "propose", nil).Envelope.Digest().String()
	closed := call(t, c, cs, "propose", nil).Envelope.Digest().String()
	seen := len(w.seen)
	for i, x := range []struct{ name, text string }{
		{envelope.Malformed, `null`},
		{envelope.Malformed, `[]`},
		{envelope.Malformed, `"option"`},
		{envelope.Malformed, `{"resolution":"option","option_idx":0}`},
		{envelope.Malformed, `{"envelope_digest":"OPEN"}`},
		{envelope.Malformed, `{"envelope_digest":"OPEN","resolution":"accept"}`},
		{envelope.Malformed, `{"envelope_digest":"OPEN","resolution":"option"}`},
		{envelope.Malformed, `{"envelope_digest":"OPEN","resolution":"option","option_idx":"0"}`},
		{envelope.Malformed, `{"envelope_digest":"OPEN","resolution":"option","option_idx":0,"answer":"yes"}`},
		{envelope.Malformed, `{"envelope_digest":"OPEN","resolution":"answer"}`},
		{envelope.Malformed, `{"envelope_digest":"OPEN","resolution":"answer","answer":"x","option_idx":0}`},
		{envelope.Malformed, `{"envelope_digest":"OPEN","resolution":"question","answer":"x"}`},
		{envelope.Malformed, `{"envelope_digest":"OPEN","resolution":"question","by":"ana"}`},
		{envelope.Malformed, `{"envelope_digest":"` + strings.ToUpper("sha256:00") + `","resolution":"question"}`},
		{envelope.Blank, `{"envelope_digest":"OPEN","resolution":"answer","answer":" \u200b\n"}`},
		{envelope.OutOfRange, `{"envelope_digest":"OPEN","resolution":"option","option_idx":2}`},
		{envelope.OutOfRange, `{"envelope_digest":"OPEN","resolution":"option","option_idx":-1}`},
		{envelope.HatchClosed, `{"envelope_digest":"CLOSED","resolution":"answer","answer":"x"}`},
		{envelope.HatchClosed, `{"envelope_digest":"CLOSED","resolution":"question"}`},
		{envelope.Unknown, `{"envelope_digest":"sha256:` + strings.Repeat("0", 64) + `","resolution":"option","option_idx":0}`},
	} {
		text := strings.NewReplacer("OPEN", open, "CLOSED", closed).Replace(x.text)
		r := call(t, c, cs, "propose", json.RawMessage(`{"topic":"t","binding_resolution":`+text+`}`))
		if r.Result.Meta[mcpenvelope.MetaRefusal] != x.name || !r.Result.IsError || !strings.Contains(words(r.Result), x.name) {
			t.Errorf("%s is answered with %s", x.text, r.Raw)
		}
		if got := w.ledger.Discards(); len(got) != i+1 || got[i].Name != x.name || got[i].Agent != "release-approver" {
			t.Errorf("%s: recorded are %v", x.text, got)
		}
	}
	if len(w.seen) != seen || len(w.done()) > 0 {
		t.Errorf("the tool was called: %q", w.seen[seen:])
	}
	// What was discarded has closed nothing.
	r := call(t, c, cs, "propose", json.RawMessage(`{"topic":"t","binding_resolution":{"envelope_digest":"`+open+`","resolution":"answer","answer":"<b>neither</b>"}}`))
	if words(r.Result) != "done: answer <b>neither</b>\n" || w.seen[len(w.seen)-1] != `{"topic":"t"}` {
		t.Errorf("answered with %q, the tool was called with %q", words(r.Result), w.seen[len(w.seen)-1])
	}
	if taking, _ := w.ledger.Taking(parse(t, text1).Digest()); taking.Kind != envelope.KindAnswer || taking.By != "client:surface" {
		t.Errorf("taken as %+v", taking)
	}
}

// TestBare: the arguments of a tool that emits may be the resolution itself; those of another tool
// are its own.
//
// covers ENV-004
func TestBare(t *testing.T) {
	w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	cs := inMemory(t, w, c, renders(t), "2026-07-28")
	digest := call(t, c, cs, "propose", nil).Envelope.Digest().String()
	bare := json.RawMessage(`{"envelope_digest":"` + digest + `","resolution":"question"}`)
	if r := call(t, c, cs, "plain", bare); words(r.Result) != "plain\n" {
		t.Errorf("a plain tool answers %q", words(r.Result))
	}
	if r := call(t, c, cs, "propose", bare); words(r.Result) != "done: question\n" || w.seen[len(w.seen)-1] != "{}" {
		t.Errorf("answered with %q, called with %q", words(r.Result), w.seen[len(w.seen)-1])
	}
}

// TestNotLookedAt: a resolution is taken before the tool is called. Where the tool has not looked at it,
// since its own arguments were refused or since it is another tool, the answer says that it is spent.
func TestNotLookedAt(t *testing.T) {
	for _, x := range []struct {
		tool, args, said string
		spent            bool
	}{
		{"typed", `{RESOLUTION}`, "missing properties", true},
		{"typed", `{"topic":"t",RESOLUTION}`, "looked at it", false},
		{"plain", `{RESOLUTION}`, "plain", true},
	} {
		w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
		mcp.AddTool(w.server, &mcp.Tool{Name: "typed"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct {
			Topic string `json:"topic"`
		}) (*mcp.CallToolResult, any, error) {
			if _, ok := mcpenvelope.DecisionOf(ctx); ok {
				return said("looked at it"), nil, nil
			}
			return said("not called with it"), nil, nil
		})
		cs := inMemory(t, w, c, renders(t), "2026-07-28")
		e := call(t, c, cs, "propose", nil).Envelope
		resolution := `"binding_resolution":{"envelope_digest":"` + e.Digest().String() + `","resolution":"question"}`
		r := call(t, c, cs, x.tool, json.RawMessage(strings.Replace(x.args, "RESOLUTION", resolution, 1)))
		if got := words(r.Result); !strings.Contains(got, x.said) || strings.Contains(got, "is taken") != x.spent {
			t.Errorf("%s with %s: answered with %s", x.tool, x.args, r.Raw)
		}
	}
}

// TestAmbiguousArguments: arguments that parsers read in two ways hold no resolution.
//
// covers ENV-056, ENV-057, ENV-058
func TestAmbiguousArguments(t *testing.T) {
	w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	cs := inMemory(t, w, c, renders(t), "2025-11-25")
	d := call(t, c, cs, "propose", nil).Envelope.Digest().String()
	one := `{"envelope_digest":"` + d + `","resolution":"option","option_idx":0}`
	two := `{"envelope_digest":"` + d + `","resolution":"question"}`
	for i, args := range []string{
		`{"binding_resolution":` + one + `,"binding_resolution":` + two + `}`,
		`{"binding_resolution":` + one + `,"binding\u005fresolution":` + two + `}`,
		`{"topic":"\ud800","binding_resolution":` + one + `}`,
		`{"topic":{"a":1,"\u0061":2},"binding_resolution":` + one + `}`,
		`{"binding_resolution":{"envelope_digest":"` + d + `","resolution":"question","resolution":"question"}}`,
	} {
		r := call(t, c, cs, "propose", json.RawMessage(args))
		if r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Malformed || len(w.ledger.Discards()) != i+1 {
			t.Errorf("%s is answered with %s", args, r.Raw)
		}
	}
	for _, args := range []string{`{"binding_await":"` + d + `","binding_resolution":` + one + `}`, `{"binding_await":7}`} {
		if _, err := c.Call(t.Context(), cs, &mcp.CallToolParams{Name: "propose", Arguments: json.RawMessage(args)}); err == nil {
			t.Errorf("%s is taken", args)
		}
	}
	if len(w.done()) > 0 {
		t.Errorf("effects: %q", w.done())
	}
}

// TestNeeds: an envelope that needs more than a client's word is not resolved by one.
//
// covers ENV-109
func TestNeeds(t *testing.T) {
	w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	w.attach = func(int) *mcp.CallToolResult {
		r, e := said("x"), emission(t, "1")
		e.Needs = envelope.PasskeyUV
		mcpenvelope.Attach(r, e)
		return r
	}
	cs := inMemory(t, w, c, renders(t), "2025-11-25")
	chosen, err := envelope.Choose(call(t, c, cs, "propose", nil).Envelope, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Resolve(t.Context(), cs, "propose", nil, chosen)
	if err != nil || r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Unproven || len(w.done()) > 0 {
		t.Errorf("%v, %v, effects %q", r, err, w.done())
	}
}

// TestRace: of 64 clients that resolve one envelope at once, over two transports, one is taken.
//
// covers ENV-079
func TestRace(t *testing.T) {
	w, c := newWorld(t, func(c *mcpenvelope.Config) { c.Session = func(*mcp.CallToolRequest) string { return "" } }), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	var sessions []*mcp.ClientSession
	for i := range 8 {
		l := links()[0]
		if i%2 == 1 {
			l = links()[4]
		}
		sessions = append(sessions, l.connect(t, w, c, renders(t), "2026-07-28"))
	}
	e := call(t, c, sessions[0], "propose", nil).Envelope
	var taken, discarded atomic.Int64
	var group sync.WaitGroup
	begin := make(chan struct{})
	for i := range 64 {
		group.Go(func() {
			r, err := envelope.Choose(e, i%2)
			if i%4 == 3 {
				r, err = envelope.Reopen(e)
			}
			if err != nil {
				t.Error(err)
				return
			}
			<-begin
			reply, err := c.Resolve(t.Context(), sessions[i%len(sessions)], "propose", nil, r)
			switch {
			case err != nil:
				t.Error(err)
			case reply.Result.Meta[mcpenvelope.MetaRefusal] == envelope.Taken:
				discarded.Add(1)
			case !reply.Result.IsError:
				taken.Add(1)
			}
		})
	}
	close(begin)
	group.Wait()
	if taken.Load() != 1 || discarded.Load() != 63 || len(w.done()) != 1 {
		t.Errorf("%d taken, %d discarded, effects %q", taken.Load(), discarded.Load(), w.done())
	}
}

// TestTwoAgents: two agents ask the same with their options in another order. What is chosen in the
// one's envelope is nothing in the other's, whichever way it is sent.
//
// covers ENV-080, ENV-104
func TestTwoAgents(t *testing.T) {
	ledger := envelope.NewMemory() // one store for both: it is the envelope that tells them apart
	agent := func(name string, labels ...string) (*world, *mcpenvelope.Client, *mcp.ClientSession) {
		w, c := newWorld(t, func(c *mcpenvelope.Config) { c.Agent, c.Ledger = name, ledger }), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
		w.attach = func(int) *mcp.CallToolResult {
			r := said("x")
			mcpenvelope.Attach(r, emission(t, "1", labels...))
			return r
		}
		return w, c, inMemory(t, w, c, renders(t), "2025-11-25")
	}
	w1, c1, cs1 := agent("first", "Publish the daily view", "Publish the weekly view")
	w2, c2, cs2 := agent("second", "Publish the weekly view", "Publish the daily view")
	e1, e2 := call(t, c1, cs1, "propose", nil).Envelope, call(t, c2, cs2, "propose", nil).Envelope
	if e1.Equal(e2) {
		t.Fatal("the order of the options is not in the digest")
	}
	for i := range 2 {
		r1, err := envelope.Choose(e1, i)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c2.Resolve(t.Context(), cs2, "propose", nil, r1)
		if err != nil || r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Unknown {
			t.Errorf("the second agent answers a resolution for the first with %v, %v", r, err)
		}
	}
	for _, x := range []struct {
		c  *mcpenvelope.Client
		cs *mcp.ClientSession
		e  envelope.Envelope
	}{{c1, cs1, e1}, {c2, cs2, e2}} {
		r, err := envelope.Choose(x.e, 0)
		if err != nil {
			t.Fatal(err)
		}
		if reply, err := x.c.Resolve(t.Context(), x.cs, "propose", nil, r); err != nil || words(reply.Result) != "done: option 0\n" {
			t.Errorf("%v, %v", reply, err)
		}
	}
	if len(w1.done()) != 1 || len(w2.done()) != 1 {
		t.Errorf("effects: %q and %q", w1.done(), w2.done())
	}
}

// TestSessions: over HTTP with sessions, what one session was asked another cannot resolve.
//
// covers ENV-104
func TestSessions(t *testing.T) {
	w, c := newWorld(t), newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	l := links()[1]
	first := l.connect(t, w, c, renders(t), "2025-11-25")
	second := l.connect(t, w, c, renders(t), "2025-11-25")
	r, err := envelope.Choose(call(t, c, first, "propose", nil).Envelope, 0)
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := c.Resolve(t.Context(), second, "propose", nil, r); err != nil || reply.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Unknown {
		t.Errorf("another session: %v, %v", reply, err)
	}
	if reply, err := c.Resolve(t.Context(), first, "propose", nil, r); err != nil || words(reply.Result) != "done: option 0\n" {
		t.Errorf("the same session: %v, %v", reply, err)
	}
}
