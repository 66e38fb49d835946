package mcpenvelope_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// A reader is somebody at a page.
type reader struct {
	t      *testing.T
	server *httptest.Server
	url    *url.URL
}

func (r reader) request(method string, body io.Reader, set func(*http.Request)) (int, string, http.Header) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.server.URL+r.url.Path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Host = r.url.Host
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "http://"+r.url.Host)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if set != nil {
		set(req)
	}
	res, err := r.server.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

// form opens the page and returns what its form of that kind would send.
func (r reader) form(kind string) url.Values {
	r.t.Helper()
	status, text, _ := r.request(http.MethodGet, nil, nil)
	if status != http.StatusOK {
		r.t.Fatalf("the page answers %d", status)
	}
	for _, form := range strings.Split(text, "<form")[1:] {
		v := url.Values{}
		for _, m := range hidden.FindAllStringSubmatch(form, -1) {
			v.Set(m[1], m[2])
		}
		if v.Get("resolution") == kind {
			return v
		}
	}
	r.t.Fatalf("the page has no form of the kind %s", kind)
	return nil
}

func (r reader) post(v url.Values, set func(*http.Request)) (int, string) {
	r.t.Helper()
	status, text, _ := r.request(http.MethodPost, strings.NewReader(v.Encode()), set)
	return status, text
}

// at is the answer of a client whose user does something at the page before it says so.
func at(t *testing.T, s *httptest.Server, do func(reader)) func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		u, err := url.Parse(p.URL)
		if err != nil || p.Mode != "url" {
			return nil, fmt.Errorf("asked by %s at %q", p.Mode, p.URL)
		}
		do(reader{t, s, u})
		return &mcp.ElicitResult{Action: "accept"}, nil
	}
}

// TestPage: by a page, in both eras, each of the three. A second one is discarded and recorded.
//
// covers ENV-042, ENV-043, ENV-079, ENV-097
func TestPage(t *testing.T) {
	eras(t, func(t *testing.T, l link, version string) {
		if version < "2025-11-25" {
			return // has no pages
		}
		for kind, want := range map[string]string{"option": "option 1", "answer": "answer a\nb", "question": "question"} {
			w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
			c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
			u.answers = append(u.answers, at(t, s, func(r reader) {
				v := r.form(kind)
				switch kind {
				case "option":
					v.Set("option_idx", "1")
				case "answer":
					v.Set("answer", "a\r\nb")
				}
				if status, text := r.post(v, nil); status != http.StatusOK {
					t.Errorf("the page answers %d: %s", status, text)
				}
				for _, method := range []string{http.MethodGet, http.MethodPost} {
					if status, _, _ := r.request(method, strings.NewReader(v.Encode()), nil); status != http.StatusGone {
						t.Errorf("once more: %s is answered with %d", method, status)
					}
				}
				if got := w.ledger.Discards(); len(got) != 1 || got[0].Name != envelope.Taken || got[0].By != "page" {
					t.Errorf("of the second is recorded: %v", got)
				}
			}))
			r := call(t, c, l.connect(t, w, c, u.client(true, true), version), "propose", nil)
			if words(r.Result) != "done: "+want+"\n" {
				t.Errorf("answered with %s", r.Raw)
			}
			if diff := cmp.Diff([]string{want}, w.done()); diff != "" {
				t.Error(diff)
			}
			if (u.asked[0].ElicitationID == "") != (version >= "2026") {
				t.Errorf("elicitationId is %q", u.asked[0].ElicitationID)
			}
			if strings.Contains(u.asked[0].Message, "http") || !strings.Contains(u.asked[0].Message, "Release 1") {
				t.Errorf("the message is %q", u.asked[0].Message)
			}
		}
	})
}

// TestPageGuards: whoever is not at the page, or knows only a part of it, decides nothing.
func TestPageGuards(t *testing.T) {
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	head := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	u.answers = append(u.answers, at(t, s, func(r reader) {
		v := r.form("option")
		v.Set("option_idx", "0")
		with := func(name, value string) url.Values {
			c := url.Values{}
			for k := range v {
				c[k] = v[k]
			}
			c.Set(name, value)
			return c
		}
		for name, x := range map[string]struct {
			v      url.Values
			set    func(*http.Request)
			status int
		}{
			"another host":                {v, func(r *http.Request) { r.Host = "evil.example" }, 403},
			"the address, not the name":   {v, func(r *http.Request) { r.Host = "127.0.0.1:" + strings.SplitN(r.Host, ":", 2)[1] }, 403},
			"another origin":              {v, head("Origin", "http://evil.example"), 403},
			"ours, but from another site": {v, head("Sec-Fetch-Site", "cross-site"), 403},
			"no origin, no site":          {v, func(r *http.Request) { r.Header.Del("Origin"); r.Header.Del("Sec-Fetch-Site") }, 403},
			"a null origin, another site": {v, func(r *http.Request) { r.Header.Set("Origin", "null"); r.Header.Set("Sec-Fetch-Site", "none") }, 403},
			"another token":               {with("token", strings.Repeat("A", 43)), nil, 403},
			"no token":                    {with("token", ""), nil, 403},
			"another envelope":            {with("envelope_digest", "sha256:"+strings.Repeat("0", 64)), nil, 400},
			"out of range":                {with("option_idx", "2"), nil, 400},
			"two ways at once":            {with("answer", "x"), nil, 400},
			"JSON":                        {v, head("Content-Type", "application/json"), 415},
			"too much":                    {with("x", strings.Repeat("x", 200<<10)), nil, 413},
			"a query":                     {v, func(r *http.Request) { r.URL.RawQuery = "a=b" }, 404},
			"a neighbour":                 {v, func(r *http.Request) { r.URL.Path = r.URL.Path[:len(r.URL.Path)-1] + "." }, 404},
		} {
			if status, text := r.post(x.v, x.set); status != x.status || strings.Contains(text, "is taken") {
				t.Errorf("%s: answered with %d: %s", name, status, text)
			}
		}
		if status, _, _ := r.request(http.MethodDelete, nil, nil); status != http.StatusMethodNotAllowed {
			t.Errorf("DELETE is answered with %d", status)
		}
		if len(w.ledger.Discards()) > 0 {
			t.Errorf("discarded: %v", w.ledger.Discards())
		}
		_, text, h := r.request(http.MethodGet, nil, nil)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"Cache-Control":           "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Content-Type": "text/html; charset=utf-8", "Set-Cookie": "",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %q", name, h.Get(name))
			}
		}
		if strings.Contains(text, "<script") || !strings.Contains(text, "/decide.css") {
			t.Error("the page has a script, or no style")
		}
		style := r
		style.url = &url.URL{Host: r.url.Host, Path: "/decide.css"}
		if status, text, h := style.request(http.MethodGet, nil, nil); status != 200 || h.Get("Content-Type") != "text/css; charset=utf-8" || text == "" {
			t.Errorf("the style is answered with %d", status)
		}
		// A browser under no-referrer names no origin, and says that the site is the same.
		if status, text := r.post(v, head("Origin", "null")); status != http.StatusOK {
			t.Errorf("a browser is answered with %d: %s", status, text)
		}
	}))
	if r := call(t, c, inMemory(t, w, c, u.client(false, true), "2025-11-25"), "propose", nil); words(r.Result) != "done: option 0\n" {
		t.Errorf("answered with %s", r.Raw)
	}
}

// TestPageLater: a call does not wait for ever. What is decided after it is handed over to the next
// one that asks, once, and to nobody else.
func TestPageLater(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		w, b, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages", Wait: 20 * time.Millisecond})
		c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
		var page reader
		u.answers = append(u.answers, at(t, s, func(r reader) { page = r }))
		cs := inMemory(t, w, c, u.client(false, true), version)
		waits := func(want bool) {
			t.Helper()
			if b.Decided(parse(t, text1).Digest()) != want {
				t.Errorf("decided, and nobody has come for it: %v", !want)
			}
		}
		r := call(t, c, cs, "propose", nil)
		if !strings.Contains(words(r.Result), "Nobody has decided yet") || r.Envelope.IsZero() || len(w.done()) > 0 {
			t.Fatalf("answered with %s", r.Raw)
		}
		await := map[string]any{"binding_await": r.Envelope.Digest().String(), "topic": "t"}
		if r := call(t, c, cs, "propose", await); !strings.Contains(words(r.Result), "Nobody has decided yet") {
			t.Errorf("answered with %s", r.Raw)
		}
		waits(false)
		v := page.form("answer")
		v.Set("answer", "later")
		if status, _ := page.post(v, nil); status != http.StatusOK {
			t.Fatalf("the page answers %d", status)
		}
		waits(true)
		if len(w.done()) > 0 {
			t.Error("the page itself has done something")
		}
		if r := call(t, c, cs, "plain", await); r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Unknown {
			t.Errorf("another tool is answered with %s", r.Raw)
		}
		if r := call(t, c, cs, "propose", await); words(r.Result) != "done: answer later\n" || w.seen[len(w.seen)-1] != `{"topic":"t"}` {
			t.Errorf("answered with %s, called with %q", r.Raw, w.seen)
		}
		waits(false)
		if r := call(t, c, cs, "propose", await); r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Taken || len(w.done()) != 1 {
			t.Errorf("the second is answered with %s", r.Raw)
		}
		if r := call(t, c, cs, "propose", map[string]any{"binding_await": "sha256:" + strings.Repeat("0", 64)}); r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Unknown {
			t.Errorf("another digest is answered with %s", r.Raw)
		}
	}
}

// TestPageAndArgument: page and argument are two ways to one resolution; the first is taken.
//
// covers ENV-079
func TestPageAndArgument(t *testing.T) {
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages", Wait: 20 * time.Millisecond})
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	var page reader
	u.answers = append(u.answers, at(t, s, func(r reader) { page = r }))
	cs := inMemory(t, w, c, u.client(false, true), "2026-07-28")
	e := call(t, c, cs, "propose", nil).Envelope
	v := page.form("question")
	chosen, err := envelope.Choose(e, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.Resolve(t.Context(), cs, "propose", nil, chosen); err != nil || words(r.Result) != "done: option 0\n" {
		t.Errorf("%v, %v", r, err)
	}
	if status, _, _ := page.request(http.MethodGet, nil, nil); status != http.StatusGone {
		t.Errorf("the page is shown with %d", status)
	}
	if status, _ := page.post(v, nil); status != http.StatusGone {
		t.Errorf("the page answers %d", status)
	}
	if got := w.ledger.Discards(); len(got) != 1 || got[0].Name != envelope.Taken || got[0].By != "page" {
		t.Errorf("discarded: %v", got)
	}
}

// TestRequestState: what a client carries from round to round holds for its call alone, unchanged,
// and not for long.
func TestRequestState(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	w, _, _ := bridged(t, mcpenvelope.BridgeConfig{Lifetime: time.Minute}, func(c *mcpenvelope.Config) { c.Now = func() time.Time { return now } })
	w.server.AddTool(&mcp.Tool{Name: "other", InputSchema: json.RawMessage(`{"type":"object"}`)}, w.propose)
	client := mcp.NewClient(&mcp.Implementation{Name: "manual", Version: "1"}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return nil, errors.New("not asked")
		}, Logger: quiet,
	})
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	cs := inMemory(t, w, c, client, "2026-07-28")
	first, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose", Arguments: map[string]any{"topic": "a"}})
	if err != nil || !first.NeedsInput() || len(first.Content) > 0 || len(first.InputRequests) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	answered := mcp.InputResponseMap{"binding": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"choice": "A"}}}
	send := func(tool, topic, state string) error {
		_, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"topic": topic}, RequestState: state, InputResponses: answered})
		return err
	}
	state := first.RequestState
	flipped := []byte(state)
	flipped[len("bindery.1.")+5] ^= 1
	for name, err := range map[string]error{
		"another tool":      send("other", "a", state),
		"other arguments":   send("propose", "b", state),
		"another byte":      send("propose", "a", string(flipped)),
		"without its seal":  send("propose", "a", state[:strings.LastIndex(state, ".")]),
		"with another seal": send("propose", "a", state[:strings.LastIndex(state, ".")+1]+strings.Repeat("A", 43)),
		"empty":             send("propose", "a", "bindery.1."),
	} {
		if err == nil || !strings.Contains(err.Error(), "request state") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose", RequestState: state, InputResponses: answered,
		Arguments: map[string]any{"topic": "a", "binding_resolution": map[string]any{"envelope_digest": parse(t, text1).Digest().String(), "resolution": "question"}}})
	if err == nil || !strings.Contains(err.Error(), "request state") || len(w.done()) > 0 {
		t.Errorf("a resolution beside an answer: %v, effects %q", err, w.done())
	}
	now = now.Add(time.Minute)
	if err := send("propose", "a", state); err == nil {
		t.Error("too late, and taken")
	}
	now = now.Add(-time.Second)
	if err := send("propose", "a", state); err != nil || len(w.done()) != 1 {
		t.Errorf("unchanged and in time: %v, effects %q", err, w.done())
	}
	// The same once more is a second resolution.
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose", Arguments: map[string]any{"topic": "a"}, RequestState: state, InputResponses: answered})
	if err != nil || res.Meta[mcpenvelope.MetaRefusal] != envelope.Taken || len(w.done()) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestBridgeConfig: what no bridge is made of.
func TestBridgeConfig(t *testing.T) {
	for _, cfg := range []mcpenvelope.BridgeConfig{
		{Pages: "http://127.0.0.1:80"}, {Pages: "http://example.org"}, {Pages: "localhost:80"}, {Pages: "http://localhost:80/"}, {Pages: "ftp://localhost"}, {Pages: "https://u@h"},
		{Wait: -1}, {Lifetime: -1}, {Key: make([]byte, 31)},
	} {
		if _, err := mcpenvelope.NewBridge(cfg); err == nil {
			t.Errorf("%+v makes a bridge", cfg)
		}
	}
	b, err := mcpenvelope.NewBridge(mcpenvelope.BridgeConfig{Pages: "https://decide.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	cfg := mcpenvelope.Config{Agent: "a", Ledger: envelope.NewMemory(), Bridge: b}
	if _, err := mcpenvelope.New(cfg); err != nil {
		t.Error(err)
	}
	if _, err := mcpenvelope.New(cfg); err == nil {
		t.Error("one bridge for two emitters")
	}
	if _, err := mcpenvelope.New(mcpenvelope.Config{Agent: "a"}); err == nil {
		t.Error("an emitter without a ledger")
	}
}

// TestPageFallsBack: a client that says that it opens pages and fails to, is asked by a form.
func TestPageFallsBack(t *testing.T) {
	w, _, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	fails := func(*mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, errors.New("no browser") }
	u.answers = append(u.answers, fails, accept(map[string]any{"choice": "B"}))
	r := call(t, c, inMemory(t, w, c, u.client(true, true), "2025-11-25"), "propose", nil)
	if words(r.Result) != "done: option 1\n" || len(u.asked) != 2 || u.asked[1].Mode != "form" {
		t.Errorf("asked %d times, answered with %s", len(u.asked), r.Raw)
	}
}
