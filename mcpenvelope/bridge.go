package mcpenvelope

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a bridge does where its configuration says nothing.
const (
	DefaultWait     = 50 * time.Second // clients commonly give a call a minute
	DefaultLifetime = 15 * time.Minute
)

const (
	modern      = "2026-07-28" // from here on a server asks in its answer, and sends no requests of its own
	maxHeld     = 1024         // questions and pages at one time
	maxRounds   = 3            // forms for one envelope
	maxAsked    = 8            // envelopes put to a person within one call
	keepDecided = 24 * time.Hour
)

// A BridgeConfig says how people are asked whose client renders no envelopes.
type BridgeConfig struct {
	// Pages is the origin under which this bridge's ServeHTTP is reached, "http://localhost:7413": a
	// loopback name, or https. Empty is none: then there are forms and text.
	Pages string
	// Wait bounds how long one call waits for a page. Zero is [DefaultWait].
	Wait time.Duration
	// Lifetime is how long a page, or a form's answer, is good. Zero is [DefaultLifetime].
	Lifetime time.Duration
	// Key authenticates what a client of protocol 2026-07-28 carries from one round to the next, at
	// least 32 bytes. Nil is a random one; replicas share one.
	Key []byte
}

// A Bridge makes an envelope usable in a client that does not render it but can put a question to its
// user (E2): by a page of this server, by a form, and else by text. What comes back is a resolution
// like any other, with the assurance client: it proves no human (E4, E7). A form that is declined or
// closed, and a page that is not answered, decide nothing.
//
// Pages, and what was decided on them and not yet handed over, are kept in memory: after a restart
// what was taken there is taken, and nobody acts on it. A call that waits learns of a resolution by
// argument or form in its own process alone; elsewhere it waits its time out, and the ledger decides.
//
// Make one with [NewBridge] and give it to one [Config]. For pages, serve it over HTTP at its origin.
type Bridge struct {
	cfg    BridgeConfig
	host   string // of the origin
	seal   sealer
	agent  string
	ledger envelope.Ledger
	now    func() time.Time

	mu       sync.Mutex // guards all below
	joined   bool
	byPath   map[string]*page
	byDigest map[string]*page
	held     map[string]held // by digest: what the tool said beside an envelope, while the client asks
}

// held is an ordinary result that waits for the next round.
type held struct {
	result  mcp.CallToolResult
	expires time.Time
}

// NewBridge checks cfg.
func NewBridge(cfg BridgeConfig) (*Bridge, error) {
	if cfg.Wait == 0 {
		cfg.Wait = DefaultWait
	}
	if cfg.Lifetime == 0 {
		cfg.Lifetime = DefaultLifetime
	}
	if cfg.Key == nil {
		cfg.Key = make([]byte, 32)
		_, _ = rand.Read(cfg.Key) // it never fails
	}
	if cfg.Wait < 0 || cfg.Lifetime < 0 || len(cfg.Key) < 32 {
		return nil, errors.New("mcpenvelope: a bridge waits and keeps for a positive time, and its key has 32 bytes at least")
	}
	b := &Bridge{cfg: cfg, seal: sealer{cfg.Key}, byPath: map[string]*page{}, byDigest: map[string]*page{}, held: map[string]held{}}
	if cfg.Pages != "" {
		u, err := url.Parse(cfg.Pages)
		if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != cfg.Pages || u.Scheme != "https" && !(u.Scheme == "http" && u.Hostname() == "localhost") {
			return nil, errors.New("mcpenvelope: pages have an origin, https://HOST or http://localhost:PORT, without a path (E7)")
		}
		b.host = u.Host
	}
	return b, nil
}

// join makes the bridge that of one emitter.
func (b *Bridge) join(cfg Config) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.joined {
		return errors.New("mcpenvelope: a bridge belongs to one emitter")
	}
	b.joined, b.agent, b.ledger, b.now = true, cfg.Agent, cfg.Ledger, cfg.Now
	return nil
}

// pages reports whether there are pages at all.
func (b *Bridge) pages() bool { return b.host != "" }

// A mode is how a person is asked.
type mode string

const (
	byPage mode = "page"
	byForm mode = "form"
	byText mode = "text"
)

// mode chooses the best way that the client says it has: a page, since it shows the whole envelope;
// else a form; else text.
func (b *Bridge) mode(c *call, em envelope.Emission) mode {
	caps := c.req.ClientCapabilities()
	if caps == nil || caps.Elicitation == nil || c.asked >= maxAsked || !envelope.Client.AtLeast(em.Needs) {
		return byText
	}
	el := caps.Elicitation
	if b.pages() && el.URL != nil {
		return byPage
	}
	return formOrText(el)
}

// formOrText is the way where there is no page. A client that names neither forms nor pages has forms.
func formOrText(el *mcp.ElicitationCapabilities) mode {
	if el.Form != nil || el.URL == nil {
		return byForm
	}
	return byText
}

// A question is one envelope on its way to a person, beside what the tool has said.
type question struct {
	result *mcp.CallToolResult
	em     envelope.Emission
	view   render.View
	mode   mode
	page   *page
	round  int
	notice string // what was wrong with the last answer
}

// ask puts an envelope to the person behind the client.
func (b *Bridge) ask(ctx context.Context, c *call, r *mcp.CallToolResult, em envelope.Emission) (mcp.Result, error) {
	q := &question{result: r, em: em, mode: b.mode(c, em)}
	c.asked++
	return b.put(ctx, c, q)
}

func (b *Bridge) put(ctx context.Context, c *call, q *question) (mcp.Result, error) {
	if q.mode == byPage && q.page == nil {
		if q.page = b.open(c, q.em); q.page == nil {
			q.mode = formOrText(c.req.ClientCapabilities().Elicitation)
		}
	}
	var err error
	if q.view, err = b.viewFor(q); err != nil {
		return nil, err
	}
	if q.mode == byText {
		return b.tell(c, q, "")
	}
	if c.req.ProtocolVersion() >= modern {
		return b.askInAnswer(c, q)
	}
	res, err := c.req.Session.Elicit(ctx, b.elicitation(c, q))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.e.cfg.Log.WarnContext(ctx, "the client could not be asked", "mode", string(q.mode), "error", err)
		if b.drop(q.page) { // as in answered
			return b.await(ctx, c, q)
		}
		if q.mode == byPage && formOrText(c.req.ClientCapabilities().Elicitation) == byForm {
			q.mode, q.page = byForm, nil
			return b.put(ctx, c, q)
		}
		return b.tell(c, q, "Your client could not show the question.")
	}
	return b.answered(ctx, c, q, res)
}

// viewFor is the question in the words of the way by which it is asked.
func (b *Bridge) viewFor(q *question) (render.View, error) {
	v, err := render.New(q.em.Envelope, render.Reader{Agent: b.agent, Principal: q.em.Principal, Assurance: assured(q.em), Invoke: invoke(q.mode, q.em)})
	if err != nil {
		return v, internal("server fault: " + err.Error())
	}
	return v, nil
}

// assured is the assurance with which an emission is resolved at least.
func assured(em envelope.Emission) envelope.Assurance {
	if envelope.Client.AtLeast(em.Needs) {
		return envelope.Client
	}
	return em.Needs
}

// answered reads what came back from the client.
func (b *Bridge) answered(ctx context.Context, c *call, q *question, res *mcp.ElicitResult) (mcp.Result, error) {
	if res == nil || res.Action != "accept" {
		if b.drop(q.page) { // who decided on the page has decided, whatever the client says after
			return b.await(ctx, c, q)
		}
		return b.tell(c, q, "The question was closed without an answer. That decides nothing: it neither consents nor refuses.")
	}
	if q.mode == byPage {
		return b.await(ctx, c, q)
	}
	resolution, notice := fromForm(q.view, res.Content)
	if notice != "" {
		if q.round++; q.round >= maxRounds {
			return b.tell(c, q, "The form came back unclear. That decides nothing.")
		}
		q.notice = notice
		return b.put(ctx, c, q)
	}
	d, err := c.settle(ctx, resolution.JSON(), c.e.cfg.By(c.req)+" by form")
	return c.decided(ctx, d, err)
}

// await waits for the page, as long as one call may.
func (b *Bridge) await(ctx context.Context, c *call, q *question) (mcp.Result, error) {
	timer := time.NewTimer(b.cfg.Wait)
	defer timer.Stop()
	select {
	case <-q.page.done:
	case <-timer.C:
	case <-ctx.Done():
	}
	if ctx.Err() != nil { // nobody hears this call: what is decided stays for the next that asks
		return nil, ctx.Err()
	}
	select {
	case <-q.page.done:
	default:
		return b.tell(c, q, fmt.Sprintf("Nobody has decided yet. The page stays open until %s: %s\nTo ask what was decided, call this tool with {%q: %q}.",
			b.expiry(q.page).UTC().Format(time.RFC3339), b.cfg.Pages+q.page.path, c.e.cfg.Names.Await, q.em.Envelope.Digest()))
	}
	d, ok := b.collect(q.page)
	if !ok {
		return c.refused(b.takenBefore(q.page)), nil
	}
	if c.req.ProtocolVersion() < modern && c.req.Session != nil {
		// A courtesy: the client may take its own hint of the page away.
		_ = c.req.Session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{ElicitationID: q.page.path})
	}
	return c.decided(ctx, d, nil)
}

// claim answers a call that asks for the outcome of a page. Without a bridge there is none.
func (b *Bridge) claim(ctx context.Context, c *call, digest string) (mcp.Result, error) {
	p := b.pageOf(digest)
	if p == nil || p.em.Session != c.e.cfg.Session(c.req) || p.tool != c.req.Params.Name {
		return c.refused(&envelope.Refusal{Name: envelope.Unknown, Row: "ENV-078", Rule: "no page of this digest waits for this caller"}), nil
	}
	q := &question{result: c.result(), em: p.em, mode: byPage, page: p}
	return b.await(ctx, c, q)
}

// takenBefore says why a page that is over has nothing to hand over.
func (b *Bridge) takenBefore(p *page) *envelope.Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	rule := "what was decided on its page was handed over before"
	if p.elsewhere {
		rule = "the envelope was resolved by another way than its page"
	}
	return takenElsewhere(rule)
}

func takenElsewhere(rule string) *envelope.Refusal {
	return &envelope.Refusal{Name: envelope.Taken, Row: "ENV-079", Path: "/envelope_digest", Rule: rule}
}

// tell is the last way: the tool's own result, the envelope beside it, and the same in words for an
// agent that shows it to its principal.
func (b *Bridge) tell(c *call, q *question, said string) (mcp.Result, error) {
	r := *q.result
	q.mode = byText
	v, err := b.viewFor(q)
	if err != nil {
		return nil, err
	}
	text := v.Text(72)
	if said != "" {
		text = said + "\n\n" + text
	}
	if !envelope.Client.AtLeast(q.em.Needs) {
		text += "\nShow this to the principal. They decide it where they prove who they are (" + string(q.em.Needs) + "): a resolution that a tool call carries is refused.\n"
	} else {
		text += fmt.Sprintf("\nShow this to the principal. What they answer goes into the argument %s of your next call of %s:\n"+
			`{"envelope_digest": %q, "resolution": "option", "option_idx": N}, or "answer" with "answer", or "question" alone.`+"\n",
			c.e.cfg.Names.Argument, c.req.Params.Name, q.em.Envelope.Digest())
	}
	r.Content = append(append([]mcp.Content{}, r.Content...), &mcp.TextContent{Text: text})
	return c.e.carry(&r, q.em.Envelope), nil
}
