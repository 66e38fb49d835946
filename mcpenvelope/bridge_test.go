package mcpenvelope_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A user answers what a client asks, one answer after the other.
type user struct {
	mu       sync.Mutex
	answers  []func(*mcp.ElicitParams) (*mcp.ElicitResult, error)
	asked    []*mcp.ElicitParams
	complete []string
}

func accept(content map[string]any) func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: content}, nil
	}
}

func action(name string) func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { return &mcp.ElicitResult{Action: name}, nil }
}

// client is one that renders no envelopes and asks its user.
func (u *user) client(form, page bool) *mcp.Client {
	e := &mcp.ElicitationCapabilities{}
	if form {
		e.Form = &mcp.FormElicitationCapabilities{}
	}
	if page {
		e.URL = &mcp.URLElicitationCapabilities{}
	}
	return mcp.NewClient(&mcp.Implementation{Name: "asker", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: e}, Logger: quiet,
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			u.mu.Lock()
			u.asked = append(u.asked, req.Params)
			answer := func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, errors.New("asked too often") }
			if len(u.answers) > 0 {
				answer, u.answers = u.answers[0], u.answers[1:]
			}
			u.mu.Unlock()
			return answer(req.Params)
		},
		ElicitationCompleteHandler: func(_ context.Context, req *mcp.ElicitationCompleteNotificationRequest) {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.complete = append(u.complete, req.Params.ElicitationID)
		},
	})
}

// bridged is a world whose server asks people; its pages are at the server returned.
func bridged(t testing.TB, cfg mcpenvelope.BridgeConfig, options ...option) (*world, *mcpenvelope.Bridge, *httptest.Server) {
	t.Helper()
	var b *mcpenvelope.Bridge
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { b.ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	if cfg.Pages == "pages" {
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Pages = "http://localhost:" + u.Port()
	}
	if cfg.Wait == 0 {
		cfg.Wait = time.Minute
	}
	var err error
	if b, err = mcpenvelope.NewBridge(cfg); err != nil {
		t.Fatal(err)
	}
	return newWorld(t, append(options, func(c *mcpenvelope.Config) { c.Bridge = b })...), b, s
}

// eras are the ways in which a server asks: by a request of its own, and in its answer.
func eras(t *testing.T, test func(t *testing.T, l link, version string)) {
	for _, x := range []struct {
		link    int
		version string
	}{{0, "2025-06-18"}, {0, "2025-11-25"}, {1, "2025-11-25"}, {0, "2026-07-28"}, {3, "2026-07-28"}} {
		l := links()[x.link]
		t.Run(l.name+"/"+x.version, func(t *testing.T) { test(t, l, x.version) })
	}
}

// TestForm: a client that has forms alone decides by one, in each of the three ways, in both eras.
//
// covers ENV-042, ENV-043, ENV-064, ENV-065, ENV-070, ENV-096, ENV-097
func TestForm(t *testing.T) {
	eras(t, func(t *testing.T, l link, version string) {
		for want, content := range map[string]map[string]any{
			"option 1":             {"choice": "B"},
			"option 0":             {"choice": "A", "answer": " ", "reopen": false},
			"answer Neither. <b>x": {"answer": "Neither. <b>x"},
			"question":             {"reopen": true, "answer": ""},
		} {
			w, _, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
			c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{answers: []func(*mcp.ElicitParams) (*mcp.ElicitResult, error){accept(content)}}
			r := call(t, c, l.connect(t, w, c, u.client(true, false), version), "propose", nil)
			if words(r.Result) != "done: "+want+"\n" || r.Result.IsError || !r.Envelope.IsZero() {
				t.Errorf("%v is answered with %s", content, r.Raw)
			}
			if diff := cmp.Diff([]string{want}, w.done()); diff != "" {
				t.Error(diff)
			}
			if taking, ok := w.ledger.Taking(parse(t, text1).Digest()); !ok || taking.Assurance != envelope.Client || taking.By != "client:asker by form" {
				t.Errorf("taken as %+v", taking)
			}
		}
	})
}

// TestFormShows: the form shows the whole briefing, the reasoning of each option and the mark, has
// nothing filled in, and no field for a closed hatch.
//
// covers ENV-090, ENV-092, ENV-093, ENV-094, ENV-095
func TestFormShows(t *testing.T) {
	for version, values := range map[string]string{"2025-06-18": "enumNames", "2025-11-25": "oneOf", "2026-07-28": "oneOf"} {
		for _, closed := range []bool{false, true} {
			w, _, _ := bridged(t, mcpenvelope.BridgeConfig{})
			if closed {
				w.attach = func(int) *mcp.CallToolResult {
					r, e := said("x"), emission(t, "1")
					e.Envelope = parse(t, strings.Replace(text1, `"free_text":true,"dialogue":true`, `"free_text":false,"dialogue":false`, 1))
					e.Closed = []envelope.Closure{{Hatch: envelope.Dialogue, Reason: "r"}, {Hatch: envelope.FreeText, Reason: "r"}}
					mcpenvelope.Attach(r, e)
					return r
				}
			}
			c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{answers: []func(*mcp.ElicitParams) (*mcp.ElicitResult, error){action("cancel")}}
			call(t, c, inMemory(t, w, c, u.client(true, false), version), "propose", nil)
			if len(u.asked) != 1 {
				t.Fatalf("asked %d times", len(u.asked))
			}
			p := u.asked[0]
			schema, err := json.Marshal(p.RequestedSchema)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"Release 1 goes out as the daily view.", "It has 42 rows.", "No row names a person.", "Publish it today.", "The rows can be shown.", "Which view is published?"} {
				if !strings.Contains(p.Message, want) {
					t.Errorf("%s: the message lacks %q:\n%s", version, want, p.Message)
				}
			}
			for _, want := range []string{values, "[recommended by the agent] A) Publish the daily view", "It is the right one for reason 1"} {
				if !strings.Contains(string(schema), want) {
					t.Errorf("%s: the form lacks %q: %s", version, want, schema)
				}
			}
			if strings.Contains(string(schema), "default") || strings.Contains(string(schema), "required") {
				t.Errorf("%s: something is filled in beforehand: %s", version, schema)
			}
			if strings.Contains(string(schema), `"answer"`) == closed || strings.Contains(string(schema), `"reopen"`) == closed {
				t.Errorf("%s, hatches closed %v: %s", version, closed, schema)
			}
		}
	}
}

// TestFormUnclear: a form that is none of the three is asked again with a word on what was wrong,
// and decides nothing in the end. Closing and declining decide nothing at all.
//
// covers ENV-066, ENV-069
func TestFormUnclear(t *testing.T) {
	type answers = []func(*mcp.ElicitParams) (*mcp.ElicitResult, error)
	eras(t, func(t *testing.T, l link, version string) {
		for name, x := range map[string]struct {
			answers answers
			done    []string
			said    string
		}{
			"nothing, then two, then one": {answers{accept(nil), accept(map[string]any{"choice": "A", "reopen": true}), accept(map[string]any{"choice": "A"})}, []string{"option 0"}, ""},
			"nothing, three times":        {answers{accept(nil), accept(nil), accept(map[string]any{"answer": "\n "})}, []string{}, "unclear"},
			"declined":                    {answers{action("decline")}, []string{}, "neither consents nor refuses"},
			"closed":                      {answers{action("cancel")}, []string{}, "neither consents nor refuses"},
		} {
			w, _, _ := bridged(t, mcpenvelope.BridgeConfig{})
			c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{answers: x.answers}
			cs := l.connect(t, w, c, u.client(true, false), version)
			r := call(t, c, cs, "propose", nil)
			if diff := cmp.Diff(x.done, w.done()); diff != "" {
				t.Errorf("%s: %s\n%s", name, diff, words(r.Result))
			}
			if len(u.asked) != len(x.answers) {
				t.Errorf("%s: asked %d times", name, len(u.asked))
			}
			if x.said == "" {
				if !strings.Contains(u.asked[1].Message, "Nothing was filled in") || !strings.Contains(u.asked[2].Message, "More than one") {
					t.Errorf("%s: no word on what was wrong", name)
				}
				continue
			}
			// The question stays open, in the result and in words, and can be resolved by argument.
			if text := words(r.Result); !strings.HasPrefix(text, "Release 1 is ready.\n") || !strings.Contains(text, x.said) || !strings.Contains(text, "binding_resolution") {
				t.Errorf("%s: it says %q", name, text)
			}
			chosen, err := envelope.Choose(r.Envelope, 1)
			if err != nil {
				t.Fatalf("%s: %v, %q", name, err, r.Diagnostic)
			}
			if r, err := c.Resolve(t.Context(), cs, "propose", nil, chosen); err != nil || words(r.Result) != "done: option 1\n" {
				t.Errorf("%s: %v, %v", name, r, err)
			}
		}
	})
}

// TestText: a client that can do neither gets the envelope and the same in words; what the bridge
// cannot ask about, an envelope that needs more than a client's word, goes the same way.
//
// covers ENV-084, ENV-096, ENV-109
func TestText(t *testing.T) {
	bare := mcp.NewClient(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}, Logger: quiet})
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		w, _, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
		r := call(t, c, inMemory(t, w, c, bare, version), "propose", nil)
		if text := words(r.Result); r.Envelope.IsZero() || !strings.HasPrefix(text, "Release 1 is ready.\n") || !strings.Contains(text, "Which view is published?") || !strings.Contains(text, r.Envelope.Digest().String()) {
			t.Errorf("%s: answered with %s", version, r.Raw)
		}
	}
	w, _, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	w.attach = func(int) *mcp.CallToolResult {
		r, e := said("x"), emission(t, "1")
		e.Needs = envelope.TTYPassphrase
		mcpenvelope.Attach(r, e)
		return r
	}
	u := &user{}
	if r := call(t, c, inMemory(t, w, c, u.client(true, true), "2026-07-28"), "propose", nil); r.Envelope.IsZero() || len(u.asked) > 0 {
		t.Errorf("asked %d times, answered with %s", len(u.asked), r.Raw)
	}
	// Without sessions an older client cannot be asked either.
	w, _, _ = bridged(t, mcpenvelope.BridgeConfig{})
	if r := call(t, c, links()[3].connect(t, w, c, (&user{}).client(true, false), "2025-11-25"), "propose", nil); r.Envelope.IsZero() || len(w.done()) > 0 {
		t.Errorf("answered with %s", r.Raw)
	}
	// And a client that renders envelopes is not asked otherwise.
	w, _, _ = bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	if r := call(t, c, inMemory(t, w, c, renders(t), "2025-11-25"), "propose", nil); words(r.Result) != "Release 1 is ready.\n" || r.Envelope.IsZero() {
		t.Errorf("answered with %s", r.Raw)
	}
}

// TestFollowUp: a tool that asks again after an answer is asked about again, in the same call.
func TestFollowUp(t *testing.T) {
	eras(t, func(t *testing.T, l link, version string) {
		w, _, _ := bridged(t, mcpenvelope.BridgeConfig{})
		w.server.AddTool(&mcp.Tool{Name: "two", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			d, ok := mcpenvelope.DecisionOf(ctx)
			if ok && d.Resolution.Kind() == envelope.KindOption {
				return said("decided"), nil
			}
			r := said("asks")
			mcpenvelope.Attach(r, emission(t, fmt.Sprint("round ", ok)))
			return r, nil
		})
		c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{answers: []func(*mcp.ElicitParams) (*mcp.ElicitResult, error){accept(map[string]any{"answer": "smaller"}), accept(map[string]any{"choice": "A"})}}
		r := call(t, c, l.connect(t, w, c, u.client(true, false), version), "two", nil)
		if words(r.Result) != "decided\n" || len(u.asked) != 2 {
			t.Errorf("asked %d times, answered with %s", len(u.asked), r.Raw)
		}
	})
}
