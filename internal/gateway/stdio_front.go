package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Limits of a [Front].
const (
	mostOpen      = 4096                   // requests of one client
	resumeTries   = 5                      // of a stream that broke before the answer
	resumeWait    = time.Second            // before each, unless the server wishes another
	longestWait   = 30 * time.Second       // before an attempt to listen again
	cancelledWait = 500 * time.Millisecond // for the answer to a request that was cancelled
	orderPatient  = 100 * time.Millisecond // how long a line waits for the one before it to be sent
	goodbyeTime   = time.Second            // for the end of the session
)

// A FrontConfig says where the lines of a client go.
type FrontConfig struct {
	// Handler is the gateway's.
	Handler http.Handler
	// Path is the upstream's at the handler, such as /mcp, and Host the name by which it may be called.
	Path, Host string
	In         io.Reader
	Out        io.Writer
	// Listen says that the upstream speaks HTTP, so that what it says about no request comes by a
	// stream that has to be asked for. Otherwise it comes through [Front.Send].
	Listen bool
	// Leave is how long the calls that are open when In ends may still take; 0 is no time.
	Leave time.Duration
	// Said is told what cannot be said to the client; nil: nobody is.
	Said func(what string)
	Now  func() time.Time // nil: time.Now
}

// Front is a client on standard input and output: each of its lines becomes a request to the
// handler, in process, and what comes back becomes lines. It does by itself what the client of an
// HTTP server has to do: it keeps the session and the negotiated version, sets the headers that
// repeat the body, listens, and takes up a stream again that broke before its answer.
type Front struct {
	cfg      FrontConfig
	params   paramHeaders
	wait     sync.WaitGroup
	farewell time.Duration // goodbyeTime

	out    sync.Mutex // held by who writes a line
	bad    error      // of the first line that could not be written
	broken chan struct{}

	mu        sync.Mutex // guards below
	session   string
	version   string // as negotiated
	open      map[string]*exchange
	listening bool
}

// NewFront makes one; [Front.Run] runs it.
func NewFront(cfg FrontConfig) *Front {
	if cfg.Said == nil {
		cfg.Said = func(string) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Front{cfg: cfg, farewell: goodbyeTime, open: map[string]*exchange{}, broken: make(chan struct{})}
}

// Run serves the client until its lines end or ctx does. It returns nil after the end of the lines,
// and [ErrLine] after one that is too long, or the reason why nothing can be written any more.
func (f *Front) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read := make(chan error, 1)
	go func() { // a reader cannot be woken: it ends with its input, or with the process
		read <- readLines(f.cfg.In, func(line []byte) {
			if ctx.Err() == nil {
				f.line(ctx, line)
			}
		})
	}()
	var err error
	select {
	case err = <-read: // whoever has said all need not read all
	case <-f.broken:
		err = f.failed()
	case <-ctx.Done():
	}
	f.leave(ctx)
	cancel()
	f.Settle(time.Second)
	f.goodbye(ctx)
	return err
}

// leave waits for the calls that are open.
func (f *Front) leave(ctx context.Context) {
	left := make(chan struct{})
	go func() {
		defer close(left)
		for f.busy() {
			time.Sleep(5 * time.Millisecond)
		}
	}()
	select {
	case <-left:
	case <-time.After(f.cfg.Leave):
	case <-f.broken:
	case <-ctx.Done():
	}
}

// Settle waits until the handler has returned from all that it was asked, for a while. A call that is
// bound it may see through when the client has gone.
func (f *Front) Settle(patience time.Duration) {
	done := make(chan struct{})
	go func() {
		f.wait.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}

func (f *Front) busy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open) > 0
}

// goodbye ends the session at the upstream.
func (f *Front) goodbye(ctx context.Context) {
	f.mu.Lock()
	session := f.session
	f.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.farewell)
	defer cancel()
	f.serve(f.request(ctx, http.MethodDelete, nil), &answerWriter{front: f})
}

func (f *Front) failed() error {
	f.out.Lock()
	defer f.out.Unlock()
	return f.bad
}

// Send writes a line to the client.
func (f *Front) Send(line []byte) {
	line = append(bytes.Clone(oneLine(line)), '\n')
	f.out.Lock()
	defer f.out.Unlock()
	if f.bad != nil {
		return
	}
	if _, f.bad = f.cfg.Out.Write(line); f.bad != nil {
		close(f.broken)
	}
}

// exchange is one request of the client and what comes of it.
type exchange struct {
	id     []byte
	method string
	sent   chan struct{} // closed when the upstream has the request, or there is an answer
	once   sync.Once
	cancel context.CancelCauseFunc
}

func (x *exchange) isSent() { x.once.Do(func() { close(x.sent) }) }

// line takes one line of the client. Lines are taken in order; each request but a tools/call has
// reached the upstream, or waited a moment for that, before the next line is taken.
func (f *Front) line(ctx context.Context, line []byte) {
	s, ok := sight(line)
	method := named(line, s.method)
	if !ok || !s.request() {
		if method == "notifications/cancelled" && f.cancelled(ctx, line, s) {
			return
		}
		w := &answerWriter{front: f, unread: !ok}
		f.serve(f.post(ctx, line, s), w)
		w.end()
		if method == "notifications/initialized" && w.status < http.StatusMultipleChoices {
			f.listen(ctx)
		}
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	x := &exchange{id: bytes.Clone(s.id.in(line)), method: method, sent: make(chan struct{}), cancel: cancel}
	if why := f.begin(x); why != "" {
		cancel(nil)
		f.Send(rpcFault(x.id, why))
		return
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { x.isSent() }})
	f.wait.Go(func() {
		defer f.end(x)
		f.ask(ctx, line, s, x)
	})
	if method != "tools/call" {
		f.awaitSent(ctx, x, orderPatient)
	}
}

func (f *Front) awaitSent(ctx context.Context, x *exchange, patience time.Duration) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-x.sent:
	case <-late.C:
	case <-ctx.Done():
	}
}

func (f *Front) begin(x *exchange) (why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.open[string(x.id)] != nil:
		return "a request with this id is open"
	case len(f.open) >= mostOpen:
		return "too many requests are open"
	}
	f.open[string(x.id)] = x
	return ""
}

func (f *Front) end(x *exchange) {
	x.isSent()
	x.cancel(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, string(x.id))
}

// errCancelled is why a request ends that its client has cancelled: nobody is told of that.
var errCancelled = errors.New("gateway: the client has cancelled it")

// cancelled deals with the cancelling of a request. It overtakes none. Where there are no sessions,
// a request is cancelled by nobody's waiting for it (2026-07-28), and nothing is sent.
func (f *Front) cancelled(ctx context.Context, line []byte, s sighting) bool {
	f.mu.Lock()
	x, version := f.open[string(find(line, s.params, "requestId").in(line))], f.version
	f.mu.Unlock()
	if x == nil {
		return false
	}
	f.awaitSent(ctx, x, time.Second)
	if !f.cfg.Listen || version != "" && version < stateless {
		// Most servers do not answer it any more. One that does has a moment.
		time.AfterFunc(cancelledWait, func() { x.cancel(errCancelled) })
		return false
	}
	x.cancel(errCancelled)
	return true
}

// ask sends a request and writes what comes of it, until its answer has come.
func (f *Front) ask(ctx context.Context, line []byte, s sighting, x *exchange) {
	w := &answerWriter{front: f, x: x}
	f.serve(f.post(ctx, line, s), w)
	w.end()
	for try := 0; !w.answered && w.events != nil && w.events.last != "" && try < resumeTries && ctx.Err() == nil; try++ {
		if !pause(ctx, w.events.retry, resumeWait) {
			break
		}
		req := f.request(ctx, http.MethodGet, nil)
		req.Header.Set(headerLast, w.events.last)
		again := &answerWriter{front: f, x: x}
		f.serve(req, again)
		again.end()
		if again.events == nil || again.status >= http.StatusBadRequest {
			break
		}
		if again.events.last == "" {
			again.events.last = w.events.last
		} else {
			try = 0 // it goes on
		}
		w = again
	}
	if !w.answered && ctx.Err() == nil {
		f.Send(w.fault())
	}
}

// pause waits as long as the server wishes, or else as long as is usual.
func pause(ctx context.Context, wish, usual time.Duration) bool {
	if wish <= 0 {
		wish = usual
	}
	wait := time.NewTimer(min(wish, longestWait))
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// listen keeps the stream of what is about no request open, once.
func (f *Front) listen(ctx context.Context) {
	f.mu.Lock()
	begin := f.cfg.Listen && !f.listening && f.version < stateless
	f.listening = f.listening || begin
	f.mu.Unlock()
	if !begin {
		return
	}
	f.wait.Go(func() {
		last, wait := "", resumeWait
		for {
			req := f.request(ctx, http.MethodGet, nil)
			if last != "" {
				req.Header.Set(headerLast, last)
			}
			w := &answerWriter{front: f}
			began := f.cfg.Now()
			f.serve(req, w)
			w.end()
			if w.events == nil && w.status < http.StatusInternalServerError {
				return // it has no such stream, or the session has ended
			}
			wish := time.Duration(0)
			if w.events != nil {
				last, wish = firstText(w.events.last, last), w.events.retry
			}
			wait = min(2*wait, longestWait)
			if f.cfg.Now().Sub(began) > longestWait {
				wait = resumeWait
			}
			if !pause(ctx, wish, wait) {
				return
			}
		}
	})
}

func firstText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// post is the request that a line becomes.
func (f *Front) post(ctx context.Context, line []byte, s sighting) *http.Request {
	req := f.request(ctx, http.MethodPost, line)
	req.Header.Set("Content-Type", typeJSON)
	if version := named(line, find(line, s.params, "_meta", "io.modelcontextprotocol/protocolVersion")); version != "" {
		req.Header.Set(headerVersion, version)
		f.mu.Lock()
		f.version = version
		f.mu.Unlock()
	}
	if named(line, s.method) == "initialize" {
		req.Header.Del(headerSession)
		req.Header.Del(headerVersion)
	}
	if req.Header.Get(headerVersion) >= stateless && s.method.there() {
		f.params.set(req.Header, line, s)
	}
	return req
}

func (f *Front) request(ctx context.Context, method string, body []byte) *http.Request {
	req := &http.Request{
		Method: method, URL: &url.URL{Path: f.cfg.Path}, Host: f.cfg.Host, RequestURI: f.cfg.Path, RemoteAddr: "stdio",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody,
	}
	if method == http.MethodPost {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.Header.Set("Accept", typeJSON+", "+typeEvents)
	}
	if method == http.MethodGet {
		req.Header.Set("Accept", typeEvents)
	}
	f.mu.Lock()
	session, version := f.session, f.version
	f.mu.Unlock()
	if session != "" {
		req.Header.Set(headerSession, session)
	}
	if version != "" {
		req.Header.Set(headerVersion, version)
	}
	return req.WithContext(ctx)
}

// serve runs the handler. A handler ends an answer that has broken off by a panic, as net/http has it.
func (f *Front) serve(req *http.Request, w *answerWriter) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
	}()
	f.cfg.Handler.ServeHTTP(w, req)
}

// answerWriter takes what the handler answers to one request.
type answerWriter struct {
	front  *Front
	x      *exchange // nil: the message was no request
	unread bool      // the line was no message: the answer has no id

	header   http.Header
	status   int
	events   *eventReader // nil: it is no stream
	body     []byte
	over     bool
	answered bool
}

// Header implements [http.ResponseWriter].
func (w *answerWriter) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

// WriteHeader implements [http.ResponseWriter].
func (w *answerWriter) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if strings.EqualFold(strings.TrimSpace(kind), typeEvents) && status == http.StatusOK {
		w.events = &eventReader{take: w.said}
	}
	if w.x != nil && w.x.method == "initialize" && status < http.StatusMultipleChoices {
		w.front.mu.Lock()
		w.front.session = w.Header().Get(headerSession)
		w.front.mu.Unlock()
	}
}

// Flush implements [http.Flusher]: each line is written when it is whole.
func (w *answerWriter) Flush() {}

// Write implements [http.ResponseWriter].
func (w *answerWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.events != nil {
		return w.events.Write(p)
	}
	if len(w.body)+len(p) > MaxLine {
		w.over, w.body = true, nil
		return 0, ErrLine
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

// said takes one message of a stream.
func (w *answerWriter) said(data []byte) {
	s, ok := sight(data)
	if !ok {
		w.front.cfg.Said("an event of the upstream is no message")
		return
	}
	if w.x != nil && s.answer() && idKey(s.id.in(data)) == idKey(w.x.id) {
		w.learn(data, s)
	}
	w.front.Send(data)
}

// learn takes from an answer what later requests need.
func (w *answerWriter) learn(text []byte, s sighting) {
	w.answered = true
	switch w.x.method {
	case "initialize":
		w.front.mu.Lock()
		w.front.version = named(text, find(text, s.result, "protocolVersion"))
		w.front.mu.Unlock()
	case "tools/list":
		w.front.params.learn(text, s.result)
	}
}

// end takes the whole of an answer that is no stream. What the handler has to say to a message
// that was no request is said to nobody: there is no answer to one.
func (w *answerWriter) end() {
	if w.events != nil || w.over {
		return
	}
	s, ok := sight(w.body)
	switch {
	case !ok, !s.answer():
	case w.x != nil && idKey(s.id.in(w.body)) == idKey(w.x.id):
		w.learn(w.body, s)
		w.front.Send(w.body)
	case w.x != nil && string(s.id.in(w.body)) == "null": // of a handler that has not read so far
		w.answered = true
		w.front.Send(replaced(w.body, change{s.id, w.x.id}))
	case w.unread:
		w.front.Send(w.body)
	}
	if w.x == nil && w.status >= http.StatusBadRequest {
		w.front.cfg.Said(fmt.Sprintf("a message was not taken: status %d", w.status))
	}
}

// fault is the answer where none has come.
func (w *answerWriter) fault() []byte {
	what := "no answer has come"
	switch {
	case w.over:
		what = "the answer is longer than 16 MiB"
	case w.events != nil:
		what = "the stream of the answer has ended before the answer"
	case w.status >= http.StatusMultipleChoices:
		what = fmt.Sprintf("the upstream answers with status %d", w.status)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q}}`, w.x.id, what)
}
