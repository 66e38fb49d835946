package gateway

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/jcs"
)

// mostQueued is how much a process may say that nobody has read yet, in lines, before it waits
// for its reader; and how much is kept of what nobody listens to.
const (
	mostQueued = 16
	mostKept   = 1 << 20 // bytes
)

// peer is one process and who waits for what it says.
type peer struct {
	key     string
	agent   string // whose it is; "" is nobody's who has authenticated
	fresh   string // the session that began with it
	process *process
	started chan struct{} // closed when process is set
	direct  func(line []byte)
	said    func(why string)
	now     func() time.Time

	mu       sync.Mutex       // guards below
	open     map[string]*call // by the id on the wire, as idKey has it
	last     uint64           // of ids and progress tokens that are ours
	turns    uint64           // calls that have begun
	standing *standing        // the stream for what is about no request; nil: nobody listens
	kept     [][]byte         // what was said meanwhile
	size     int              // of all that is kept
	used     time.Time
}

func newPeer(kind, name, agent string, cfg ProcessesConfig) *peer {
	p := &peer{
		key: peerKey(kind, name), agent: agent, direct: cfg.Direct, said: cfg.Said,
		started: make(chan struct{}), open: map[string]*call{}, now: cfg.Now, used: cfg.Now(),
	}
	if kind == sessionPeer {
		p.fresh = name
	}
	return p
}

// shared: several clients of one agent use it, each with ids and tokens of its own making.
func (p *peer) shared() bool { return p.direct == nil && p.fresh == "" }

// unused is how long nobody has asked it or listened to it; 0 while somebody does.
func (p *peer) unused() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) > 0 || p.standing != nil {
		return 0
	}
	return p.now().Sub(p.used)
}

// call is one request that waits for what is said about it.
type call struct {
	line     []byte // as it is sent
	wire, id []byte // its id as sent, and as asked
	token    []byte // its progress token as sent; nil: none
	asked    []byte // that token as asked
	listens  bool   // to a subscription
	turn     uint64 // how many had begun before it
	says     chan said
	gone     chan struct{} // closed when nobody reads says any more
	ended    <-chan struct{}
	why      func() error
}

type said struct {
	line  []byte
	final bool
}

// idKey is an id without its spelling: some programs write a text, or a large number, otherwise than
// they have read it.
func idKey(id []byte) string {
	if len(id) > mcp.MaxID {
		return string(id)
	}
	key, err := jcs.Profile{Numbers: jcs.DoubleNumbers}.Append(nil, id)
	if err != nil {
		return string(id)
	}
	return string(key)
}

// begin registers a request. It is not ok if one with its id is open.
func (p *peer) begin(line []byte, s sighting) (*call, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := bytes.Clone(s.id.in(line))
	c := &call{
		line: line, id: id, wire: id, listens: named(line, s.method) == "subscriptions/listen",
		says: make(chan said, mostQueued), gone: make(chan struct{}),
		ended: p.process.ended, why: func() error { return p.process.why },
	}
	at := find(line, s.params, "_meta", "progressToken")
	if at.there() {
		c.asked = bytes.Clone(at.in(line))
		c.token = c.asked
	}
	if p.shared() {
		c.wire = p.ours()
		changes := []change{{s.id, c.wire}}
		if at.there() {
			c.token = p.ours()
			changes = append(changes, change{at, c.token})
			if at.from < s.id.from {
				changes[0], changes[1] = changes[1], changes[0]
			}
		}
		c.line = replaced(line, changes...)
	}
	if p.open[idKey(c.wire)] != nil {
		return nil, false
	}
	p.turns++
	c.turn = p.turns
	p.open[idKey(c.wire)] = c
	p.used = p.now()
	return c, true
}

// ours is an id that no client has made.
func (p *peer) ours() []byte {
	p.last++
	return strconv.AppendUint(nil, p.last, 10)
}

// forget ends a request for which nobody waits any more. Where several clients share a process,
// it is told; in a session that is the client's to say.
func (p *peer) forget(c *call, tell bool) {
	p.mu.Lock()
	waits := p.open[idKey(c.wire)] == c
	if waits {
		delete(p.open, idKey(c.wire))
		close(c.gone)
	}
	p.used = p.now()
	p.mu.Unlock()
	if !waits || !tell || !p.shared() {
		return
	}
	line := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), c.wire...)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), p.process.grace)
		defer cancel()
		_ = p.process.send(ctx, append(line, "}}"...), nil) // it has ended, or does not read
	}()
}

// next is the next that is said about a request.
func (c *call) next(ctx context.Context) (line []byte, final bool, err error) {
	select {
	case s := <-c.says:
		return s.line, s.final, nil
	default:
	}
	select {
	case s := <-c.says:
		return s.line, s.final, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-c.gone:
		return nil, false, io.ErrClosedPipe
	case <-c.ended:
	}
	select {
	case s := <-c.says:
		return s.line, s.final, nil
	default:
		return nil, false, c.why()
	}
}

// heard takes a line of the process: to whom it belongs.
func (p *peer) heard(line []byte) {
	<-p.started
	s, ok := sight(line)
	if !ok {
		p.said("it is no message of JSON-RPC")
		return
	}
	if s.answer() {
		p.answered(line, s)
		return
	}
	if p.direct != nil {
		p.direct(line)
		return
	}
	if c, own := p.about(line, s); c != nil {
		c.say(said{line: own})
		return
	}
	if p.shared() {
		p.said("it is about no request, and several clients could be meant")
		return
	}
	p.mu.Lock()
	to := p.standing
	if to == nil {
		p.keep(line)
	}
	p.mu.Unlock()
	if to != nil {
		to.say(line)
	}
}

// keep keeps what nobody listens to, a bounded part of it.
func (p *peer) keep(line []byte) {
	p.kept = append(p.kept, line)
	p.size += len(line)
	for len(p.kept) > mostQueued || p.size > mostKept {
		p.size -= len(p.kept[0])
		p.kept = p.kept[1:]
		p.said("nobody listens")
	}
}

// answered hands an answer to who waits for it. Nobody waits for a second one.
func (p *peer) answered(line []byte, s sighting) {
	wire := s.id.in(line)
	key := idKey(wire)
	p.mu.Lock()
	c := p.open[key]
	delete(p.open, key)
	p.used = p.now()
	p.mu.Unlock()
	switch {
	case c != nil:
		if p.shared() {
			line = replaced(line, change{s.id, c.id})
		}
		c.say(said{line: line, final: true})
	case p.direct != nil && string(wire) == "null":
		p.direct(line) // it could not read a request, and does not know whose
	default:
		p.said("nobody waits for this answer")
	}
}

// say queues what is said for a reader, and waits for room.
func (c *call) say(s said) {
	select {
	case c.says <- s:
	case <-c.gone:
	}
}

// about is the request that something is said about, and what is said in its own words: by its
// progress token, or by the id of the subscription; else it is the one request that is open, and
// in a session the last one.
func (p *peer) about(line []byte, s sighting) (*call, []byte) {
	subscription := find(line, s.params, "_meta", "io.modelcontextprotocol/subscriptionId")
	progress := token{}
	if named(line, s.method) == "notifications/progress" {
		progress = find(line, s.params, "progressToken")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case subscription.there():
		if c := p.open[idKey(subscription.in(line))]; c != nil {
			return c, replaced(line, change{subscription, c.id})
		}
		return nil, nil
	case progress.there():
		for _, c := range p.open {
			if c.token != nil && bytes.Equal(c.token, progress.in(line)) {
				return c, replaced(line, change{progress, c.asked})
			}
		}
		return nil, nil
	}
	return p.nearest(), line
}

// nearest is the request that is meant where nothing says so. Nobody's is a guess among several
// clients.
func (p *peer) nearest() (nearest *call) {
	open := 0
	for _, c := range p.open {
		if c.listens {
			continue
		}
		open++
		if nearest == nil || c.turn > nearest.turn {
			nearest = c
		}
	}
	if open != 1 && p.shared() {
		return nil
	}
	return nearest
}

// standing is the stream of what is about no request.
type standing struct {
	says chan []byte
	gone chan struct{}
	once sync.Once
}

func (s *standing) say(line []byte) {
	select {
	case s.says <- line:
	case <-s.gone:
	}
}

func (s *standing) end() { s.once.Do(func() { close(s.gone) }) }

// stand makes a stream for what is about no request, in the place of an earlier one: whoever
// opens a second has lost the first.
func (p *peer) stand(ctx context.Context) io.ReadCloser {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.standing != nil {
		p.standing.end()
	}
	s := &standing{says: make(chan []byte, 2*mostQueued), gone: make(chan struct{})}
	for _, line := range p.kept {
		s.says <- line
	}
	p.kept, p.size, p.standing = nil, 0, s
	return &events{ctx: ctx, say: &listener{s, p.process.ended}, forget: func() {
		s.end()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.standing == s {
			p.standing = nil
		}
		p.used = p.now()
	}}
}

// listener reads a standing stream.
type listener struct {
	s     *standing
	ended <-chan struct{}
}

func (l *listener) next(ctx context.Context) ([]byte, bool, error) {
	select {
	case line := <-l.s.says:
		return line, false, nil
	default:
	}
	select {
	case line := <-l.s.says:
		return line, false, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-l.s.gone:
	case <-l.ended:
	}
	return nil, false, io.EOF
}

// events is a stream of server-sent events, one for each line, as a body.
type events struct {
	ctx context.Context
	say interface {
		next(context.Context) (line []byte, final bool, err error)
	}
	first  []byte // has come already
	rest   []byte
	final  bool
	forget func()
	once   sync.Once
}

// Read implements [io.Reader].
func (e *events) Read(b []byte) (int, error) {
	if len(e.rest) == 0 {
		line, err := e.take()
		if err != nil {
			return 0, err
		}
		e.rest = event(line)
	}
	n := copy(b, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func (e *events) take() (line []byte, err error) {
	switch {
	case e.first != nil:
		line, e.first = e.first, nil
	case e.final:
		return nil, io.EOF
	default:
		line, e.final, err = e.say.next(e.ctx)
	}
	return line, err
}

// Close implements [io.Closer].
func (e *events) Close() error {
	e.once.Do(e.forget)
	return nil
}

// event is one server-sent event.
func event(line []byte) []byte {
	b := make([]byte, 0, len(line)+24)
	b = append(b, "event: message\ndata: "...)
	b = append(b, oneLine(line)...)
	return append(b, "\n\n"...)
}
