package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Of a bound call a byte may leave only while its reservation is this process's own, and that is
// asked at the last moment. Whoever carries requests asks with firstByte: right before the first
// byte of the message, once. If it says no, nothing of the message is sent.

// startKey is the place of the question in the context of an outbound request.
type startKey struct{}

func withStart(ctx context.Context, start func() error) context.Context {
	return context.WithValue(ctx, startKey{}, start)
}

// firstByte asks whether the message of a request may be sent. Without a question it may.
func firstByte(ctx context.Context) error {
	start, _ := ctx.Value(startKey{}).(func() error)
	if start == nil {
		return nil
	}
	return start()
}

// idleConnection is shorter than what servers keep a connection for that says nothing (Node has
// five seconds), so that a call seldom meets one that has just been closed.
const idleConnection = 3 * time.Second

// NewTransport is the transport to an upstream over HTTP. It follows no redirect and asks no
// proxy; it uses no compression that the client has not asked for; the head of an answer has at most
// 64 KiB. It sends no message twice: the body is one that cannot be read again (design X4).
func NewTransport() http.RoundTripper {
	return carrier{&http.Transport{
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    128,
		IdleConnTimeout:        idleConnection,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		ForceAttemptHTTP2:      false,
	}}
}

// carrier asks firstByte when the connection asks for the message.
type carrier struct{ over http.RoundTripper }

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(startKey{}) != nil {
		r = r.Clone(r.Context())
		r.Body = &onceBody{ReadCloser: r.Body, ctx: r.Context()}
		r.GetBody = nil
	}
	resp, err := c.over.RoundTrip(r)
	if err != nil {
		return nil, quiet{err}
	}
	return resp, nil
}

// quiet is an error of net/http without what the upstream has said that is no HTTP, a header
// without its colon say: it may be a credential.
type quiet struct{ err error }

// Error ends where the upstream's words begin.
func (q quiet) Error() string {
	const broken = "transport connection broken"
	if before, _, said := strings.Cut(q.err.Error(), broken+": "); said {
		return before + broken
	}
	return q.err.Error()
}

// Unwrap returns the error itself.
func (q quiet) Unwrap() error { return q.err }

// onceBody is a message that is asked for once. It is read by one goroutine.
type onceBody struct {
	io.ReadCloser
	ctx   context.Context
	asked bool
	no    error
}

func (b *onceBody) Read(p []byte) (int, error) {
	if !b.asked {
		b.asked = true
		b.no = firstByte(b.ctx)
	}
	if b.no != nil {
		return 0, b.no
	}
	return b.ReadCloser.Read(p)
}
