package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// Limits of [Processes] where its configuration names none.
const (
	DefaultProcesses = 32
	DefaultIdle      = 10 * time.Minute
)

// ErrProcesses is a request that would need one process more than there may be, or than one agent may
// have of them: half, and one at least.
var ErrProcesses = errors.New("gateway: too many processes of this upstream are in use")

// stateless is the first revision of MCP without sessions.
const stateless = "2026-07-28"

// The headers of streamable HTTP that bridges read and write.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerParam   = "Mcp-Param-"
	headerLast    = "Last-Event-Id"
)

// The two types of answers.
const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// A ProcessesConfig says which program is the upstream.
type ProcessesConfig struct {
	Process ProcessConfig
	// Direct makes it one process for one client on standard input and output: what it says is
	// either an answer to a request, or goes to Direct, in the order in which it was said. Without it
	// there is a process for each session, and one for each agent that speaks without one
	// (2026-07-28).
	Direct func(line []byte)
	// Most is how many processes there may be, of which one agent may have half; 0 is
	// [DefaultProcesses].
	Most int
	// Idle is how long one is kept that nobody asks or listens to; 0 is [DefaultIdle].
	Idle time.Duration
	// Said is told what was thrown away of what a process said, and why; nil: nobody is.
	Said func(why string)
	Now  func() time.Time // nil: time.Now
}

// Processes is an upstream over the standard input and output of a program, as streamable HTTP:
// the handler's transport for it. It keeps every agent's processes apart.
type Processes struct {
	cfg  ProcessesConfig
	stop chan struct{}

	mu    sync.Mutex // guards below
	peers map[string]*peer
	ended bool
}

// NewProcesses starts nothing but, with Direct, its one process.
func NewProcesses(cfg ProcessesConfig) (*Processes, error) {
	if cfg.Most <= 0 {
		cfg.Most = DefaultProcesses
	}
	if cfg.Idle <= 0 {
		cfg.Idle = DefaultIdle
	}
	if cfg.Said == nil {
		cfg.Said = func(string) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	p := &Processes{cfg: cfg, stop: make(chan struct{}), peers: map[string]*peer{}}
	if cfg.Direct != nil {
		if _, err := p.open(onlyPeer, "", ""); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// The kinds of peers, by which their keys begin.
const (
	onlyPeer    = "only"
	sessionPeer = "session"
	agentPeer   = "agent"
)

func peerKey(kind, name string) string { return kind + "\x00" + name }

// Ended is closed, with Direct, when the one process has ended; [Processes.Why] says how.
func (p *Processes) Ended() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if only := p.peers[peerKey(onlyPeer, "")]; only != nil {
		return only.process.ended
	}
	return nil
}

// Why is, with Direct, how the one process has ended.
func (p *Processes) Why() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if only := p.peers[peerKey(onlyPeer, "")]; only != nil {
		return only.process.why
	}
	return nil
}

// Run ends what is idle, until ctx ends; then it ends every process, and returns when all are no more.
func (p *Processes) Run(ctx context.Context) error {
	tick := time.NewTicker(max(p.cfg.Idle/8, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.Close()
			return nil
		case <-tick.C:
			for _, idle := range p.idle(p.cfg.Idle) {
				go p.drop(idle)
			}
		}
	}
}

// Close ends every process and waits for that.
func (p *Processes) Close() {
	p.mu.Lock()
	p.ended = true
	all := make([]*peer, 0, len(p.peers))
	for _, one := range p.peers {
		all = append(all, one)
	}
	p.mu.Unlock()
	var wait sync.WaitGroup
	for _, one := range all {
		wait.Go(one.process.end)
	}
	wait.Wait()
}

// idle are the peers that nobody has used for so long.
func (p *Processes) idle(long time.Duration) (list []*peer) {
	if p.cfg.Direct != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.peers {
		if one.unused() >= long {
			list = append(list, one)
		}
	}
	return list
}

// drop ends a peer. Its session is unknown from then on.
func (p *Processes) drop(one *peer) {
	p.mu.Lock()
	if p.peers[one.key] == one {
		delete(p.peers, one.key)
	}
	p.mu.Unlock()
	one.process.end()
}

// open starts a process for an agent, unless there is one of the kind and name.
func (p *Processes) open(kind, name, agent string) (*peer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return nil, ErrEnded
	case p.peers[peerKey(kind, name)] != nil: // somebody else was first
		return p.peers[peerKey(kind, name)], nil
	case len(p.peers) >= p.cfg.Most, p.full(agent):
		return nil, ErrProcesses
	}
	one := newPeer(kind, name, agent, p.cfg)
	process, err := startProcess(p.cfg.Process, one.heard)
	if err != nil {
		return nil, err
	}
	one.process = process
	close(one.started)
	p.peers[one.key] = one
	if p.cfg.Direct == nil {
		go func() {
			<-process.ended
			p.drop(one)
		}()
	}
	return one, nil
}

// full reports whether an agent has as many processes as one may: half of them, rounded up. Who is
// nobody in particular may have all. It is called with p.mu held.
func (p *Processes) full(agent string) bool {
	if agent == "" {
		return false
	}
	n := 0
	for _, one := range p.peers {
		if one.agent == agent {
			n++
		}
	}
	return n >= (p.cfg.Most+1)/2
}

// RoundTrip implements [http.RoundTripper]. An error that comes before the trace of the request's
// context has been told that headers were written means that the program got nothing of it.
func (p *Processes) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	switch req.Method {
	case http.MethodPost:
		return p.post(req)
	case http.MethodGet:
		return p.listen(req)
	case http.MethodDelete:
		one, known := p.session(req)
		if !known {
			return noSession(req), nil
		}
		go p.drop(one)
		return answered(req, http.StatusNoContent, "", nil), nil
	}
	return answered(req, http.StatusMethodNotAllowed, "", nil), nil
}

// session is the peer of a request's session, which must be its agent's.
func (p *Processes) session(req *http.Request) (*peer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cfg.Direct != nil {
		one := p.peers[peerKey(onlyPeer, "")]
		return one, one != nil
	}
	one := p.peers[peerKey(sessionPeer, req.Header.Get(headerSession))]
	return one, one != nil && one.agent == agentOf(req.Context())
}

func (p *Processes) listen(req *http.Request) (*http.Response, error) {
	one, known := p.session(req)
	switch {
	case p.cfg.Direct != nil, req.Header.Get(headerSession) == "":
		return answered(req, http.StatusMethodNotAllowed, "", nil), nil
	case !known:
		return noSession(req), nil
	}
	return streamed(req, one.stand(req.Context())), nil
}

func (p *Processes) post(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(io.LimitReader(req.Body, MaxLine+1))
	if err != nil {
		return nil, err
	}
	if len(body) > MaxLine {
		return answered(req, http.StatusRequestEntityTooLarge, "", nil), nil
	}
	line := oneLine(body)
	s, ok := sight(line)
	if !ok {
		return faulty(req, nil, "the message is no JSON object"), nil
	}
	one, fault := p.peerFor(req, line, s)
	if fault != nil {
		return nil, fault
	}
	if one == nil {
		return noSession(req), nil
	}
	written := written(req)
	if !s.request() {
		if one.shared() && named(line, s.method) == "notifications/cancelled" {
			return answered(req, http.StatusAccepted, "", nil), nil // by ending its request there
		}
		if err := one.process.send(req.Context(), line, written.before); err != nil {
			return nil, err
		}
		written.after()
		return answered(req, http.StatusAccepted, "", nil), nil
	}
	return p.ask(req, one, line, s, written)
}

// ask sends a request and waits for the first that is said about it.
func (p *Processes) ask(req *http.Request, one *peer, line []byte, s sighting, written *tracing) (*http.Response, error) {
	c, ok := one.begin(line, s)
	if !ok {
		return faulty(req, s.id.in(line), "a request with this id is open"), nil
	}
	if err := one.process.send(req.Context(), c.line, written.before); err != nil {
		one.forget(c, false)
		return nil, err
	}
	written.after()
	first, final, err := c.next(req.Context())
	if err != nil {
		one.forget(c, true)
		return nil, err
	}
	resp := answered(req, http.StatusOK, typeJSON, first)
	if !final {
		resp = streamed(req, &events{ctx: req.Context(), say: c, first: first, forget: func() { one.forget(c, true) }})
	}
	if one.fresh != "" && named(line, s.method) == "initialize" {
		resp.Header.Set(headerSession, one.fresh)
	}
	return resp, nil
}

// peerFor is the process that a message is for: that of its session, a new one for a session that
// begins, or its agent's for a revision without sessions. Nil is a session that is not known.
func (p *Processes) peerFor(req *http.Request, line []byte, s sighting) (*peer, error) {
	if one, known := p.session(req); known || p.cfg.Direct != nil || req.Header.Get(headerSession) != "" {
		if !known {
			return nil, nil
		}
		return one, nil
	}
	agent := agentOf(req.Context())
	if named(line, s.method) == "initialize" {
		return p.room(sessionPeer, rand.Text(), agent)
	}
	version := named(line, find(line, s.params, "_meta", "io.modelcontextprotocol/protocolVersion"))
	if version == "" {
		version = req.Header.Get(headerVersion)
	}
	if version < stateless {
		return nil, nil
	}
	p.mu.Lock()
	one := p.peers[peerKey(agentPeer, agent)]
	p.mu.Unlock()
	if one != nil {
		return one, nil
	}
	return p.room(agentPeer, agent, agent)
}

// room opens a process, if need be in the place of one that has been idle for a while: one of the
// agent's own, and of another's only for an agent that has fewer than it may.
func (p *Processes) room(kind, name, agent string) (*peer, error) {
	one, err := p.open(kind, name, agent)
	if !errors.Is(err, ErrProcesses) {
		return one, err
	}
	oldest := p.oldest(agent)
	if oldest == nil {
		return nil, err
	}
	p.drop(oldest)
	return p.open(kind, name, agent)
}

// oldest is the idle peer that gives way to a new one of an agent; nil: none does.
func (p *Processes) oldest(agent string) (oldest *peer) {
	p.mu.Lock()
	full := p.full(agent)
	p.mu.Unlock()
	for _, idle := range p.idle(time.Second) {
		own := idle.agent == agent
		switch {
		case full && !own:
		case oldest == nil,
			own && oldest.agent != agent,
			own == (oldest.agent == agent) && idle.unused() > oldest.unused():
			oldest = idle
		}
	}
	return oldest
}

// tracing tells what net/http's transport would: whether the message may be sent is asked right
// before it is.
type tracing struct {
	ctx   context.Context
	trace *httptrace.ClientTrace
}

func written(req *http.Request) *tracing {
	return &tracing{req.Context(), httptrace.ContextClientTrace(req.Context())}
}

// before is the last moment at which nothing has been sent.
func (t *tracing) before() error {
	if err := firstByte(t.ctx); err != nil {
		return err
	}
	if t.trace != nil && t.trace.WroteHeaders != nil {
		t.trace.WroteHeaders()
	}
	return nil
}

func (t *tracing) after() {
	if t.trace != nil && t.trace.WroteRequest != nil {
		t.trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
}

// answered is a whole answer.
func answered(req *http.Request, status int, contentType string, body []byte) *http.Response {
	resp := &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
	if contentType != "" {
		resp.Header.Set("Content-Type", contentType)
	}
	return resp
}

// streamed is an answer of server-sent events.
func streamed(req *http.Request, body io.ReadCloser) *http.Response {
	resp := answered(req, http.StatusOK, typeEvents, nil)
	resp.Header.Set("Cache-Control", "no-cache")
	resp.Body, resp.ContentLength = body, -1
	return resp
}

// noSession is the answer for a session that is not known, or is another agent's.
func noSession(req *http.Request) *http.Response {
	if req.Header.Get(headerSession) != "" {
		return answered(req, http.StatusNotFound, typeJSON, rpcFault(nil, "there is no such session"))
	}
	return answered(req, http.StatusBadRequest, typeJSON, rpcFault(nil, "no "+headerSession))
}

func faulty(req *http.Request, id []byte, what string) *http.Response {
	return answered(req, http.StatusBadRequest, typeJSON, rpcFault(id, what))
}

// rpcFault is an error of JSON-RPC, invalid request; what holds nothing of others.
func rpcFault(id []byte, what string) []byte {
	if id == nil {
		id = []byte("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":%q}}`, id, what)
}
