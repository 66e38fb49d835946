package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
)

// A Gateway is an [http.Handler]. It is made by [New].
type Gateway struct {
	cfg       Config
	hosts     []string
	origins   []string
	upstreams map[string]*upstream
	only      *upstream // if there is one alone
	calls     *counts
	streams   *counts
	memory    memory
	bodies    *rooms       // for large messages
	answers   *rooms       // for large answers to bound calls
	learning  atomic.Int32 // answers to tools/list that are kept to learn from
	recalled  recalled
	handed    handed
	background
}

// upstream is one Upstream in use.
type upstream struct {
	Upstream
	url    *url.URL
	header http.Header
	tools  tools
}

// New makes a Gateway. It does nothing until it is asked; [Gateway.Run] does what it does by itself.
func New(cfg Config) (*Gateway, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Limits = cfg.Limits.filled()
	g := &Gateway{
		cfg: cfg, hosts: lowered(cfg.Hosts), origins: lowered(cfg.Origins), upstreams: map[string]*upstream{},
		calls:      newCounts(cfg.Limits.Calls, cfg.Limits.PerAgent),
		streams:    newCounts(cfg.Limits.Streams, cfg.Limits.PerAgent),
		bodies:     newRooms(cfg.Limits.Large),
		answers:    newRooms(cfg.Limits.Large),
		background: newBackground(),
	}
	for _, u := range cfg.Upstreams {
		up := newUpstream(u)
		g.upstreams[u.Name] = up
		if len(cfg.Upstreams) == 1 {
			g.only = up
		}
	}
	return g, nil
}

func newUpstream(u Upstream) *upstream {
	if u.Transport == nil {
		u.Transport = NewTransport()
	}
	if u.Timeout <= 0 {
		u.Timeout = DefaultTimeout
	}
	at, _ := url.Parse(u.URL) // check has parsed it
	up := &upstream{Upstream: u, url: at, header: http.Header{}, tools: newTools()}
	for name, v := range u.Header {
		up.header[http.CanonicalHeaderKey(name)] = v
	}
	return up
}

func lowered(list []string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	return list
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.timeBody(w, r)
	x := &exchanging{g: g, w: w, r: r, began: g.cfg.Now(), ctx: r.Context()}
	if g.cfg.Tracer != nil {
		x.ctx, x.span = g.cfg.Tracer.Start(x.ctx, r.Header)
	}
	defer x.over()
	if name := g.misplaced(r); name != "" {
		x.refuse(name, nil)
		return
	}
	if x.up = g.at(r.URL.Path); x.up == nil {
		x.refuse(codePath, nil)
		return
	}
	x.seen.Upstream = x.up.Name
	if !x.authenticated() {
		return
	}
	if !slices.Contains([]string{http.MethodPost, http.MethodGet, http.MethodDelete}, r.Method) {
		w.Header().Set("Allow", "POST, GET, DELETE")
		x.refuse(codeMethod, nil)
		return
	}
	counted := g.calls
	if r.Method == http.MethodGet {
		counted = g.streams
	}
	if !counted.take(x.agent.ID) {
		x.refuse(codeOverload, nil)
		return
	}
	x.leave = func() { counted.leave(x.agent.ID) }
	defer func() { x.leave() }()
	if !x.hasSession() {
		return
	}
	if r.Method == http.MethodPost {
		x.post()
		return
	}
	x.seen.Method = r.Method
	x.forward(nil, false)
}

// timeBody gives a client its time for a body. Of whoever is refused nobody here reads it: net/http does,
// before it answers, and would wait for as long as the client likes.
func (g *Gateway) timeBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(g.cfg.Now().Add(g.cfg.Limits.Reading)) // whoever has no connection has no deadline
	}
}

// misplaced returns why a request is not for this gateway, "" if it is: a name that is not its own, as
// in DNS rebinding, or a page of another origin.
func (g *Gateway) misplaced(r *http.Request) string {
	if !slices.Contains(g.hosts, strings.ToLower(r.Host)) {
		return codeHost
	}
	origin := r.Header.Values("Origin")
	if len(origin) == 0 {
		return ""
	}
	lower := strings.ToLower(origin[0])
	scheme, host, ok := strings.Cut(lower, "://")
	own := ok && (scheme == "http" || scheme == "https") && slices.Contains(g.hosts, host)
	if len(origin) > 1 || !own && !slices.Contains(g.origins, lower) {
		return codeOrigin
	}
	return ""
}

// at is the upstream at a path, nil if there is none.
func (g *Gateway) at(path string) *upstream {
	switch name, ok := strings.CutPrefix(path, "/mcp/"); {
	case path == "/mcp":
		return g.only
	case ok:
		return g.upstreams[name]
	}
	return nil
}

// exchanging is one request that is being answered.
type exchanging struct {
	g       *Gateway
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context
	up      *upstream
	agent   agentauth.Identity
	session string // the upstream's id
	sealed  string // the client's
	began   time.Time
	leave   func()
	span    Span
	seen    Observation

	in        *large // the message
	streaming bool   // of a bound call: events have gone to the client
	gone      bool   // the client has
	kept      bool   // a follower has the permit
}

// over tells who watches.
func (x *exchanging) over() {
	if p := recover(); p != nil {
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		x.g.cfg.Log.Error("handler panicked", "panic", p)
		if x.seen.Status != 0 { // half an answer is not to be taken for one
			panic(http.ErrAbortHandler)
		}
		x.refuse(codeInternal, nil)
	}
	x.seen.Took = x.g.cfg.Now().Sub(x.began)
	if x.g.cfg.Observer != nil {
		x.g.cfg.Observer.Observe(x.seen)
	}
	if x.span != nil {
		x.span.End(x.seen)
	}
}

// hasSession takes the session of a request, which must be this agent's.
func (x *exchanging) hasSession() bool {
	values := x.r.Header[headerSession]
	if len(values) == 0 {
		return true
	}
	x.sealed = values[0]
	var ok bool
	x.session, ok = openSession(x.g.cfg.SessionKey, x.agent.ID, x.up.Name, x.sealed)
	if !ok || len(values) > 1 {
		x.refuse(codeSession, nil)
		return false
	}
	return true
}

// newCallID names one attempt (EXA-050).
func newCallID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "call-" + hex.EncodeToString(b[:])
}
