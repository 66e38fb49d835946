package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/jcs"
)

// request is a request of this exchange to its upstream, with body as its message; nil for none.
func (x *exchanging) request(ctx context.Context, method string, body []byte, h http.Header) *http.Request {
	out := (&http.Request{
		Method: method, URL: x.up.url, Host: x.up.url.Host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(withAgent(ctx, x.agent.ID))
	if body != nil {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	if x.span != nil {
		x.span.Inject(h)
	}
	return out
}

// forward sends on what is not bound, in its own bytes, and brings back what comes, as it comes.
// m is nil for a request without a message. learns says that the answer lists tools.
func (x *exchanging) forward(m *mcp.Message, learns bool) {
	ctx, cancel := context.WithCancelCause(x.ctx)
	defer cancel(nil)
	patience := time.AfterFunc(x.up.Timeout, func() { cancel(errSlow) })
	defer patience.Stop()
	var id, body []byte
	if m != nil {
		body = m.Body
		if m.Kind == mcp.Request {
			id = m.ID
		}
	}
	sent := x.g.cfg.Now()
	resp, err := x.up.Transport.RoundTrip(x.request(ctx, x.r.Method, body, outbound(x.up, x.r.Header, x.session)))
	x.seen.Waited = x.g.cfg.Now().Sub(sent)
	if x.in != nil {
		x.in.leave() // it has been sent, and a stream may last
	}
	if err != nil {
		x.unreached(ctx, err, id)
		return
	}
	defer resp.Body.Close()
	if name := unwanted(resp.StatusCode); name != "" {
		x.refuse(name, id)
		return
	}
	defer func() { x.seen.Waited = x.g.cfg.Now().Sub(sent) }()
	x.bring(resp, learns, x.lookFor(m, resp.Header), func() { patience.Reset(x.g.cfg.Limits.Idle) })
}

// errSlow ends a request of an upstream that says nothing.
var errSlow = errors.New("gateway: the upstream says nothing")

// unreached answers for an upstream that has not. A client that seems to have gone may only have said all
// that it has to say; an answer without words would be one that says 200.
func (x *exchanging) unreached(ctx context.Context, err error, id []byte) {
	name := codeUnreachable
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		name = codeUpstreamTime
	case errors.Is(context.Cause(x.r.Context()), errCancelled):
		x.seen.Refusal = codeUnreachable
		return
	case x.r.Context().Err() == nil: // else the client has ended it
		x.g.cfg.Log.Warn("upstream", "upstream", x.up.Name, "error", err)
	}
	x.refuse(name, id)
}

// unwanted returns why an answer with this status is not brought to a client, "" if it is. An
// upstream that wants a credential wants the gateway's, which is no matter of the client's; a
// redirect would send the client, credential and all, to where the upstream likes.
func unwanted(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return codeUpstreamAuth
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		return codeRedirect
	}
	return ""
}

// bring copies an answer.
func (x *exchanging) bring(resp *http.Response, learns bool, task *taskLook, came func()) {
	h := x.w.Header()
	for name, v := range passing(resp.Header, toClient[:]) {
		h[name] = v
	}
	if id := resp.Header.Get(headerSession); id != "" && len(id) <= maxSession {
		h[headerSession] = []string{sealSession(x.g.cfg.SessionKey, x.agent.ID, x.up.Name, id)}
	}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	if resp.ContentLength >= 0 && resp.Header.Get("Content-Length") != "" {
		h["Content-Length"] = resp.Header["Content-Length"]
	}
	live := resp.ContentLength < 0
	x.seen.Status = resp.StatusCode
	x.w.WriteHeader(resp.StatusCode)
	if live { // the head of a stream is news by itself
		_ = http.NewResponseController(x.w).Flush()
	}
	var list []byte
	if learns {
		learns = x.g.learning.Add(1) <= maxLearning
		defer x.g.learning.Add(-1)
	}
	came()
	err := x.g.memory.copyOut(x.w, resp.Body, live, func(piece []byte) {
		came()
		x.hurry(len(piece))
		task.at(piece)
		if learns = learns && len(list)+len(piece) <= maxList; learns {
			list = append(list, piece...)
		}
	})
	if err != nil {
		x.abort()
		return
	}
	if learns {
		x.learn(resp.Header.Get("Content-Type"), list)
	}
}

// abort ends an answer that broke off, so that the client does not take half of it for the whole: its
// connection is cut.
func (x *exchanging) abort() {
	if x.r.Context().Value(http.ServerContextKey) != nil {
		panic(http.ErrAbortHandler)
	}
}

// learn reads the answer to a tools/list that has passed by.
func (x *exchanging) learn(kind string, body []byte) {
	take := func(message []byte) {
		v, err := jcs.Profile{Numbers: jcs.DoubleNumbers, MaxSize: maxList}.Parse(message)
		if err == nil {
			x.up.tools.learn(x.up.Name, v.Get("result"))
		}
	}
	if !isEvents(kind) {
		take(body)
		return
	}
	for events := newSSE(bytes.NewReader(body), maxList); ; {
		e, err := events.next()
		if err != nil {
			return
		}
		if e.data != nil {
			take(e.data)
		}
	}
}

func isEvents(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(kind), typeEvents)
}

func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(kind), typeJSON)
}
