package mcpenvelope_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestDecidedThenClosed: who decides on the page, and then closes the question in the client, has
// decided: the call says no other thing.
//
// covers ENV-079
func TestDecidedThenClosed(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
		c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
		decide := at(t, s, func(r reader) {
			v := r.form("option")
			v.Set("option_idx", "1")
			if status, _ := r.post(v, nil); status != http.StatusOK {
				t.Errorf("the page answers %d", status)
			}
		})
		u.answers = append(u.answers, func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			_, err := decide(p)
			return &mcp.ElicitResult{Action: "cancel"}, err
		})
		r := call(t, c, inMemory(t, w, c, u.client(false, true), version), "propose", nil)
		if words(r.Result) != "done: option 1\n" {
			t.Errorf("%s: answered with %s", version, r.Raw)
		}
	}
}

// slow is a ledger that takes when it is told to.
type slow struct {
	envelope.Ledger
	begun, end chan struct{}
}

func (l slow) Take(ctx context.Context, t envelope.Taking) (envelope.Emission, error) {
	close(l.begun)
	<-l.end
	return l.Ledger.Take(ctx, t)
}

// TestClosedWhileTaken: what is taken on a page while its question is closed in the client is not
// lost: the next call that asks gets it.
//
// covers ENV-079
func TestClosedWhileTaken(t *testing.T) {
	l := slow{envelope.NewMemory(), make(chan struct{}), make(chan struct{})}
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"}, func(c *mcpenvelope.Config) { c.Ledger = l })
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	status := make(chan int, 1)
	u.answers = append(u.answers, func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		_, err := at(t, s, func(r reader) {
			v := r.form("option")
			v.Set("option_idx", "0")
			go func() {
				code, _ := r.post(v, nil)
				status <- code
			}()
			<-l.begun
		})(p)
		return &mcp.ElicitResult{Action: "cancel"}, err
	})
	cs := inMemory(t, w, c, u.client(false, true), "2025-11-25")
	e := call(t, c, cs, "propose", nil).Envelope
	close(l.end)
	if code := <-status; code != http.StatusOK {
		t.Fatalf("the page answers %d", code)
	}
	r := call(t, c, cs, "propose", map[string]any{"binding_await": e.Digest().String()})
	if diff := cmp.Diff([]string{"option 0"}, w.done()); diff != "" {
		t.Errorf("answered with %s: %s", r.Raw, diff)
	}
}

// TestLongAnswer: an answer of the greatest length has room in the form, in every script.
//
// covers ENV-042
func TestLongAnswer(t *testing.T) {
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	u.answers = append(u.answers, at(t, s, func(r reader) {
		v := r.form("answer")
		v.Set("answer", strings.Repeat("答", envelope.MaxAnswer))
		if status, _ := r.post(v, nil); status != http.StatusOK {
			t.Errorf("the page answers %d", status)
		}
	}))
	call(t, c, inMemory(t, w, c, u.client(false, true), "2025-11-25"), "propose", nil)
	if len(w.done()) != 1 {
		t.Errorf("done: %d", len(w.done()))
	}
}

// TestClaimTooLate: what was decided on a page is kept for a day, and an answer's text no longer than
// that. A page whose time is over is not said to be open.
//
// covers ENV-113
func TestClaimTooLate(t *testing.T) {
	for _, decided := range []bool{false, true} {
		now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages", Wait: 20 * time.Millisecond}, func(c *mcpenvelope.Config) { c.Now = func() time.Time { return now } })
		c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
		var page reader
		u.answers = append(u.answers, at(t, s, func(r reader) { page = r }))
		cs := inMemory(t, w, c, u.client(false, true), "2025-11-25")
		e := call(t, c, cs, "propose", nil).Envelope
		if decided {
			v := page.form("answer")
			v.Set("answer", "later")
			page.post(v, nil)
		}
		now = now.Add(25 * time.Hour)
		r := call(t, c, cs, "propose", map[string]any{"binding_await": e.Digest().String()})
		if r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Unknown || len(w.done()) != 0 {
			t.Errorf("decided %v: answered with %s", decided, r.Raw)
		}
	}
}

// TestFormMark: no label looks as if it were the one that is recommended, which is said before the
// letter.
//
// covers ENV-092
func TestFormMark(t *testing.T) {
	const mark = "[recommended by the agent] "
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		w, _, _ := bridged(t, mcpenvelope.BridgeConfig{})
		w.attach = func(int) *mcp.CallToolResult {
			r := said("x")
			mcpenvelope.Attach(r, emission(t, "1", "Publish one", mark+"Publish all"))
			return r
		}
		c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{answers: []func(*mcp.ElicitParams) (*mcp.ElicitResult, error){action("cancel")}}
		call(t, c, inMemory(t, w, c, u.client(true, false), version), "propose", nil)
		schema, err := json.Marshal(u.asked[0].RequestedSchema)
		if err != nil || !strings.Contains(string(schema), `"`+mark+"A) Publish one") || strings.Contains(string(schema), `"`+mark+"B)") || !strings.Contains(string(schema), `"B) `) {
			t.Errorf("%v: %s", err, schema)
		}
	}
}

// TestResolvedElsewhere: a call that waits on a page says that the envelope was resolved by argument
// meanwhile, at once; so does the next that asks, and one whose question is closed.
//
// covers ENV-079
func TestResolvedElsewhere(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, action := range []string{"accept", "cancel"} {
			w, b, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
			c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
			e := parse(t, text1)
			chosen, err := envelope.Choose(e, 0)
			if err != nil {
				t.Fatal(err)
			}
			other := inMemory(t, w, c, renders(t), version)
			u.answers = append(u.answers, func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				if got := b.PageOf(e.Digest()); got == "" || got != p.URL {
					t.Errorf("the page is at %q and not at %q", got, p.URL)
				}
				_, err := c.Resolve(t.Context(), other, "propose", nil, chosen)
				return &mcp.ElicitResult{Action: action}, err
			})
			cs := inMemory(t, w, c, u.client(false, true), version)
			r := call(t, c, cs, "propose", nil)
			if r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Taken || !strings.Contains(words(r.Result), "another way") {
				t.Errorf("%s, %s: answered with %s", version, action, r.Raw)
			}
			r = call(t, c, cs, "propose", map[string]any{"binding_await": e.Digest().String()})
			if r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Taken || len(w.done()) != 1 {
				t.Errorf("%s, %s: who asks later is answered with %s", version, action, r.Raw)
			}
			if got := b.PageOf(e.Digest()); got != "" {
				t.Errorf("a page that decides nothing is at %q", got)
			}
		}
	}
	// A page that waits already is told.
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	chosen, err := envelope.Choose(parse(t, text1), 0)
	if err != nil {
		t.Fatal(err)
	}
	other, opened := inMemory(t, w, c, renders(t), "2025-11-25"), make(chan struct{})
	u.answers = append(u.answers, at(t, s, func(reader) { close(opened) }))
	resolved := make(chan error, 1)
	go func() {
		<-opened
		time.Sleep(20 * time.Millisecond)
		_, err := c.Resolve(t.Context(), other, "propose", nil, chosen)
		resolved <- err
	}()
	if r := call(t, c, inMemory(t, w, c, u.client(false, true), "2025-11-25"), "propose", nil); r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Taken {
		t.Errorf("answered with %s", r.Raw)
	}
	if err := <-resolved; err != nil {
		t.Error(err)
	}
}

// TestTextNeedsMore: where a decision asks for more than a client's word, no agent is told to pass a
// resolution on, which would be refused.
//
// covers ENV-109
func TestTextNeedsMore(t *testing.T) {
	w, _, _ := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	w.attach = func(int) *mcp.CallToolResult {
		r, e := said("x"), emission(t, "1")
		e.Needs = envelope.PasskeyUV
		mcpenvelope.Attach(r, e)
		return r
	}
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	said := words(call(t, c, inMemory(t, w, c, (&user{}).client(true, true), "2025-11-25"), "propose", nil).Result)
	for _, not := range []string{"binding_resolution", "option_idx", "resolution option", "Reply: ", "Whoever reaches this place can decide"} {
		if strings.Contains(said, not) {
			t.Errorf("it says %q:\n%s", not, said)
		}
	}
	if !strings.Contains(said, "Which view is published?") || !strings.Contains(said, "passkey-uv") || !strings.Contains(said, "is refused") {
		t.Errorf("it says\n%s", said)
	}
}

// TestDecidedThenFailed: who decides on the page has decided, also if the client then fails to answer;
// nobody is asked once more.
//
// covers ENV-079
func TestDecidedThenFailed(t *testing.T) {
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	decide := at(t, s, func(r reader) {
		v := r.form("option")
		v.Set("option_idx", "1")
		r.post(v, nil)
	})
	u.answers = append(u.answers, func(p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		if _, err := decide(p); err != nil {
			t.Error(err)
		}
		return nil, errors.New("the browser is gone")
	})
	r := call(t, c, inMemory(t, w, c, u.client(true, true), "2025-11-25"), "propose", nil)
	if words(r.Result) != "done: option 1\n" || len(u.asked) != 1 {
		t.Errorf("asked %d times, answered with %s", len(u.asked), r.Raw)
	}
}

// TestCancelled: what is decided on a page is not handed to a call that is over, but to the next that asks.
//
// covers ENV-079
func TestCancelled(t *testing.T) {
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	over := true
	w.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok && r.Params.RequestState != "" && over {
				cancelled, cancel := context.WithCancel(ctx)
				cancel()
				ctx = cancelled
			}
			return next(ctx, method, req)
		}
	})
	c := newClient(t, mcpenvelope.ClientConfig{Trusted: true})
	cs := inMemory(t, w, c, manual(false, true), "2026-07-28")
	asked, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose"})
	if err != nil || !asked.NeedsInput() {
		t.Fatalf("%+v, %v", asked, err)
	}
	_, _ = at(t, s, func(r reader) {
		v := r.form("option")
		v.Set("option_idx", "0")
		r.post(v, nil)
	})(asked.InputRequests["binding"].(*mcp.ElicitParams))
	again := func() (*mcp.CallToolResult, error) {
		return cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose", RequestState: asked.RequestState, InputResponses: mcp.InputResponseMap{"binding": &mcp.ElicitResult{Action: "accept"}}})
	}
	for range 16 { // which of two events that are both there is taken first is chance
		if res, err := again(); err == nil {
			t.Fatalf("a call that is over is answered with %q", words(res))
		}
	}
	over = false
	if res, err := again(); err != nil || words(res) != "done: option 0\n" {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestReaderGone: who sends the form of a page and closes it at once has decided all the same, and a
// ledger that never answers does not hold the page for ever.
//
// covers ENV-079
func TestReaderGone(t *testing.T) {
	l := patient{slow{envelope.NewMemory(), make(chan struct{}), make(chan struct{})}}
	w, b, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"}, func(c *mcpenvelope.Config) { c.Ledger = l })
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	u.answers = append(u.answers, at(t, s, func(r reader) {
		v := r.form("option")
		v.Set("option_idx", "0")
		ctx, leave := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.url.Host+r.url.Path, strings.NewReader(v.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", "http://"+r.url.Host)
		go func() {
			<-l.begun
			leave()
			close(l.end)
		}()
		b.ServeHTTP(httptest.NewRecorder(), req)
	}))
	r := call(t, c, inMemory(t, w, c, u.client(false, true), "2025-11-25"), "propose", nil)
	if words(r.Result) != "done: option 0\n" {
		t.Errorf("answered with %s", r.Raw)
	}
}

// A patient ledger takes, and does not answer who has left, or would wait without end.
type patient struct{ slow }

func (l patient) Take(ctx context.Context, t envelope.Taking) (envelope.Emission, error) {
	em, err := l.slow.Take(ctx, t)
	if _, bounded := ctx.Deadline(); !bounded {
		return em, errors.New("how long is this to be tried?")
	}
	return em, errors.Join(err, ctx.Err())
}

// TestHandedOver: a page whose decision is handed over makes room before the day that one is kept for
// whoever has not asked yet.
func TestHandedOver(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"}, func(c *mcpenvelope.Config) { c.Now = func() time.Time { return now } })
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	var page reader
	u.answers = append(u.answers, at(t, s, func(r reader) {
		page = r
		v := r.form("option")
		v.Set("option_idx", "0")
		r.post(v, nil)
	}))
	call(t, c, inMemory(t, w, c, u.client(false, true), "2025-11-25"), "propose", nil)
	for _, want := range []int{http.StatusGone, http.StatusNotFound} {
		if status, _, _ := page.request(http.MethodGet, nil, nil); status != want {
			t.Errorf("the page answers %d and not %d", status, want)
		}
		now = now.Add(mcpenvelope.DefaultLifetime)
	}
}

// TestResolvedByAnother: a page learns from the ledger that another process has resolved its envelope,
// and so does the call that waits for it.
//
// covers ENV-079
func TestResolvedByAnother(t *testing.T) {
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"})
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	chosen, err := envelope.Choose(parse(t, text1), 0)
	if err != nil {
		t.Fatal(err)
	}
	u.answers = append(u.answers, at(t, s, func(r reader) {
		v := r.form("option")
		v.Set("option_idx", "1")
		if _, err := envelope.Settle(t.Context(), w.ledger, chosen.JSON(), envelope.Arrival{Agent: "release-approver", By: "another", At: time.Now()}); err != nil {
			t.Error(err)
		}
		if status, _ := r.post(v, nil); status != http.StatusGone {
			t.Errorf("the page answers %d", status)
		}
	}))
	r := call(t, c, inMemory(t, w, c, u.client(false, true), "2025-11-25"), "propose", nil)
	if r.Result.Meta[mcpenvelope.MetaRefusal] != envelope.Taken || len(w.done()) > 0 {
		t.Errorf("answered with %s, effects %q", r.Raw, w.done())
	}
}

// late is a ledger whose first answer comes late: it has taken by then.
type late struct {
	envelope.Ledger
	begun, end chan struct{}
}

func (l late) Take(ctx context.Context, t envelope.Taking) (envelope.Emission, error) {
	em, err := l.Ledger.Take(ctx, t)
	if err == nil {
		close(l.begun)
		<-l.end
	}
	return em, err
}

// TestSentTwiceAtOnce: of two forms of one page at the same time one decides, whichever the ledger
// answers first, and the call that waits gets it.
//
// covers ENV-079
func TestSentTwiceAtOnce(t *testing.T) {
	l := late{envelope.NewMemory(), make(chan struct{}), make(chan struct{})}
	w, _, s := bridged(t, mcpenvelope.BridgeConfig{Pages: "pages"}, func(c *mcpenvelope.Config) { c.Ledger = l })
	c, u := newClient(t, mcpenvelope.ClientConfig{Trusted: true}), &user{}
	statuses := make(chan [2]int, 1)
	u.answers = append(u.answers, at(t, s, func(r reader) {
		v := r.form("option")
		v.Set("option_idx", "1")
		go func() {
			var two [2]int
			var group sync.WaitGroup
			group.Go(func() { two[0], _ = r.post(v, nil) })
			<-l.begun
			group.Go(func() { two[1], _ = r.post(v, nil) })
			time.Sleep(20 * time.Millisecond)
			close(l.end)
			group.Wait()
			statuses <- two
		}()
	}))
	r := call(t, c, inMemory(t, w, c, u.client(false, true), "2025-11-25"), "propose", nil)
	if words(r.Result) != "done: option 1\n" {
		t.Errorf("answered with %s", r.Raw)
	}
	if got := <-statuses; got != [2]int{http.StatusOK, http.StatusGone} {
		t.Errorf("the page answers %d", got)
	}
}
