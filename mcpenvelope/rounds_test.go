package mcpenvelope_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAskedAfterArgument: a resolution that comes as an argument may lead to the next question, and that
// one is decided in the same call: the client sends its arguments again, resolution included, and it is
// not taken twice. So it is with a call that asks what was decided on a page.
//
// covers ENV-003, ENV-004
func TestAskedAfterArgument(t *testing.T) {
	eras(t, func(t *testing.T, l link, version string) {
		for _, by := range []string{"argument", "bare", "await"} {
			if by == "await" && version < "2025-11-25" {
				continue // has no pages
			}
			w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages", Wait: 20 * time.Millisecond})
			asks := func(name string) *mcp.CallToolResult {
				r := said("asks")
				mcpenvelope.Attach(r, emission(t, name))
				return r
			}
			tool := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				w.seen = append(w.seen, string(req.Params.Arguments))
				d, ok := mcpenvelope.DecisionOf(ctx)
				if !ok {
					return asks("first"), nil
				}
				w.effects = append(w.effects, string(d.Resolution.Kind()))
				if d.Resolution.Kind() == envelope.KindOption {
					return said("decided"), nil
				}
				return asks("second"), nil
			}
			w.server.AddTool(&mcp.Tool{Name: "propose", InputSchema: json.RawMessage(`{"type":"object"}`)}, tool)
			c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
			var page reader
			if by == "await" {
				u.answers = append(u.answers, at(t, s, func(r reader) { page = r }), at(t, s, func(r reader) {
					v := r.form("option")
					v.Set("option_idx", "0")
					if status, _ := r.post(v, nil); status != http.StatusOK {
						t.Errorf("the page answers %d", status)
					}
				}))
			} else {
				u.answers = append(u.answers, action("cancel"), accept(map[string]any{"choice": "A"}))
			}
			cs := l.connect(t, w, c, u.client(by != "await", by == "await"), version)
			e := call(t, c, cs, "propose", nil).Envelope
			args := `{"topic":"t","binding_resolution":{"envelope_digest":"` + e.Digest().String() + `","resolution":"answer","answer":"x"}}`
			switch by {
			case "bare":
				args = `{"envelope_digest":"` + e.Digest().String() + `","resolution":"answer","answer":"x"}`
			case "await":
				v := page.form("answer")
				v.Set("answer", "x")
				page.post(v, nil)
				args = `{"topic":"t","binding_await":"` + e.Digest().String() + `"}`
			}
			r, err := c.Call(t.Context(), cs, &mcp.CallToolParams{Name: "propose", Arguments: json.RawMessage(args)})
			if err != nil {
				t.Errorf("%s: %v", by, err)
				continue
			}
			if words(r.Result) != "decided\n" || len(u.asked) != 2 {
				t.Errorf("%s: asked %d times, answered with %s", by, len(u.asked), r.Raw)
			}
			if diff := cmp.Diff([]string{"answer", "option"}, w.effects); diff != "" {
				t.Errorf("%s: %s", by, diff)
			}
			if got := w.seen[len(w.seen)-1]; strings.Contains(got, "envelope_digest") || strings.Contains(got, "binding_") {
				t.Errorf("%s: the tool is called with %s", by, got)
			}
		}
	})
}

// manual is a client of protocol 2026-07-28 that takes its rounds itself.
func manual(form, page bool) *mcp.Client {
	e := &mcp.ElicitationCapabilities{}
	if form {
		e.Form = &mcp.FormElicitationCapabilities{}
	}
	if page {
		e.URL = &mcp.URLElicitationCapabilities{}
	}
	return mcp.NewClient(&mcp.Implementation{Name: "manual", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: e}, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, Logger: quiet,
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("not asked")
		},
	})
}

// TestReplicas: what one replica has asked another takes, if they have one key and one ledger, and no
// server of another key does. Of a page that is not its own a replica does not say what came of it.
func TestReplicas(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	for _, x := range []struct {
		name string
		key  []byte
		page bool
		want string
	}{{"the same key", key, false, "done: option 0"}, {"another key", nil, false, "request state"}, {"a page of the other", key, true, "The page of this question is gone"}} {
		first, _, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages", Key: key})
		second, _, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages", Key: x.key}, func(c *mcpenvelope.Config) { c.Ledger = first.ledger })
		c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
		asked, err := inMemory(t, first, c, manual(true, x.page), "2026-07-28").CallTool(t.Context(), &mcp.CallToolParams{Name: "propose"})
		if err != nil || !asked.NeedsInput() {
			t.Fatalf("%s: %+v, %v", x.name, asked, err)
		}
		answer := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"choice": "A"}}
		res, err := inMemory(t, second, c, manual(true, x.page), "2026-07-28").CallTool(t.Context(), &mcp.CallToolParams{
			Name: "propose", RequestState: asked.RequestState, InputResponses: mcp.InputResponseMap{"binding": answer},
		})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = words(res)
		}
		if !strings.Contains(got, x.want) || strings.Contains(got, "othing was decided") {
			t.Errorf("%s: answered with %s", x.name, got)
		}
		if done := len(second.done()); done != 0 != (x.want == "done: option 0") || len(first.done()) > 0 {
			t.Errorf("%s: effects %q and %q", x.name, first.done(), second.done())
		}
	}
}

// A forgetful ledger has no words of what is resolved.
type forgetful struct{ *envelope.Memory }

func (l forgetful) Envelope(ctx context.Context, d envelope.Digest) (envelope.Emission, error) {
	em, err := l.Memory.Envelope(ctx, d)
	if _, taken := l.Memory.Taking(d); taken && err == nil {
		return envelope.Emission{Agent: em.Agent, Session: em.Session}, envelope.ErrTaken
	}
	return em, err
}

// TestResolvedMeanwhile: a question of protocol 2026-07-28 that is answered after its envelope was
// resolved, and its words are gone, is taken already, and no fault of the ledger.
//
// covers ENV-079
func TestResolvedMeanwhile(t *testing.T) {
	w, _, _ := bridged(t, mcpenvelope.BridgeConfig{})
	w2, _, _ := bridged(t, mcpenvelope.BridgeConfig{}, func(c *mcpenvelope.Config) { c.Ledger = forgetful{w.ledger} })
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	cs := inMemory(t, w2, c, manual(true, false), "2026-07-28")
	asked, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose"})
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := envelope.Choose(parse(t, text1), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Resolve(t.Context(), inMemory(t, w2, c, renders(t), "2026-07-28"), "propose", nil, chosen); err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"accept", "cancel"} {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose", RequestState: asked.RequestState, InputResponses: mcp.InputResponseMap{
			"binding": &mcp.ElicitResult{Action: action, Content: map[string]any{"choice": "A"}},
		}})
		if err != nil || res.Meta[mcpenvelope.MetaRefusal] != envelope.Taken || len(w2.done()) != 1 {
			t.Errorf("%s: %+v, %v", action, res, err)
		}
	}
}

// TestBounds: so many pages are open at one time, and then there are forms; so many results are kept
// between two rounds, and then there are words; so many questions are put in one call.
func TestBounds(t *testing.T) {
	const most = 1024
	w, _, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	cs := inMemory(t, w, c, manual(true, true), "2026-07-28")
	var asked *mcp.CallToolResult
	for i := range most + 1 {
		var err error
		if asked, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose"}); err != nil {
			t.Fatal(err)
		}
		if mode := asked.InputRequests["binding"].(*mcp.ElicitParams).Mode; mode == "url" != (i < most) {
			t.Fatalf("question %d is put by %s", i+1, mode)
		}
	}
	r, err := c.Call(t.Context(), cs, &mcp.CallToolParams{Name: "propose", RequestState: asked.RequestState, InputResponses: mcp.InputResponseMap{"binding": &mcp.ElicitResult{Action: "decline"}}})
	if err != nil || r.Envelope.IsZero() || !strings.HasPrefix(words(r.Result), "The question was closed") {
		t.Errorf("%+v, %v", r, err)
	}
	w.server.AddTool(&mcp.Tool{Name: "endless", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		w.calls++
		return w.attach(w.calls), nil
	})
	u := &user{}
	for range 16 {
		u.answers = append(u.answers, accept(map[string]any{"answer": "more"}))
	}
	r = call(t, c, inMemory(t, w, c, u.client(true, false), "2025-11-25"), "endless", nil)
	if len(u.asked) != 8 || r.Envelope.IsZero() || !strings.Contains(words(r.Result), "Which view is published?") {
		t.Errorf("asked %d times, answered with %s", len(u.asked), r.Raw)
	}
}

// TestAmbiguousRound: a call whose arguments parsers read in two ways can be bound to no round; it is
// answered, and its question is put in words.
//
// covers ENV-100
func TestAmbiguousRound(t *testing.T) {
	w, _, _ := bridged(t, mcpenvelope.BridgeConfig{})
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	r := call(t, c, inMemory(t, w, c, manual(true, false), "2026-07-28"), "propose", json.RawMessage(`{"topic":"a","topic":"b"}`))
	if r.Envelope.IsZero() || !strings.HasPrefix(words(r.Result), "Release 1 is ready.\n") || !strings.Contains(words(r.Result), "binding_resolution") {
		t.Errorf("answered with %s", r.Raw)
	}
}

// bearer adds a token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// TestUsers: where there are tokens, what one user was asked another cannot resolve, by argument, by the
// state of a round, or by asking for the outcome of a page; the same user can, over another connection.
//
// covers ENV-104
func TestUsers(t *testing.T) {
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages", Wait: 20 * time.Millisecond})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	mux := auth.RequireBearerToken(verify, nil)(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return w.server }, &mcp.StreamableHTTPOptions{Stateless: true, Logger: quiet}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	as := func(name string) *mcp.ClientSession {
		client := c.HTTP(&http.Client{Transport: bearer{name, http.DefaultTransport}})
		return session(t, manual(true, true), &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: client}, "2026-07-28")
	}
	ana, bob := as("ana"), as("bob")
	asked, err := ana.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose"})
	if err != nil || !asked.NeedsInput() {
		t.Fatalf("%+v, %v", asked, err)
	}
	digest := parse(t, text1).Digest()
	chosen, err := envelope.Choose(parse(t, text1), 0)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Resolve(t.Context(), bob, "propose", nil, chosen); err != nil || r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Unknown {
		t.Errorf("by argument: %v, %v", r, err)
	}
	accepted := mcp.InputResponseMap{"binding": &mcp.ElicitResult{Action: "accept"}}
	if res, err := bob.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose", RequestState: asked.RequestState, InputResponses: accepted}); err == nil {
		t.Errorf("by the state: %s", words(res))
	}
	_, _ = at(t, s, func(r reader) {
		v := r.form("option")
		v.Set("option_idx", "1")
		r.post(v, nil)
	})(asked.InputRequests["binding"].(*mcp.ElicitParams))
	await := map[string]any{"binding_await": digest.String()}
	if r := call(t, c, bob, "propose", await); r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Unknown || len(w.done()) > 0 {
		t.Errorf("by asking: %s", r.Raw)
	}
	if r := call(t, c, as("ana"), "propose", await); words(r.Result) != "done: option 1\n" {
		t.Errorf("the same user: %s", r.Raw)
	}
}
