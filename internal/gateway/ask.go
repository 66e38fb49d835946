package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/bindery/bindery/internal/mcp"
)

// askUpstream sends a request of the gateway's own, for the agent of in, and returns the answer to it,
// which has its room there.
func (g *Gateway) askUpstream(ctx context.Context, u *upstream, in *large, h http.Header, id, body []byte) (mcp.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, u.Timeout)
	defer cancel()
	req := (&http.Request{
		Method: http.MethodPost, URL: u.url, Host: u.url.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(withAgent(ctx, in.agent))
	resp, err := u.Transport.RoundTrip(req)
	if err != nil {
		return mcp.Answer{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return mcp.Answer{}, errors.New("gateway: the upstream gives no answer")
	}
	in.r, in.ctx = resp.Body, ctx
	limit := g.cfg.Limits.Answer
	if !isEvents(resp.Header.Get("Content-Type")) {
		b, err := readAll(in, -1, limit)
		if err != nil {
			return mcp.Answer{}, err
		}
		return answerTo(id, b, limit)
	}
	events := newSSE(io.LimitReader(resp.Body, maxStream), limit)
	events.grow = in.take
	for {
		e, err := events.next()
		if err != nil {
			return mcp.Answer{}, err
		}
		if m, _, err := mcp.Read(e.data, nil, limit); len(e.data) > 0 && (err != nil || m.Kind == mcp.Response) {
			return answerTo(id, e.data, limit)
		}
	}
}

func answerTo(id, body []byte, limit int) (mcp.Answer, error) {
	a, _, err := mcp.ReadAnswer(body, nil, limit)
	if err == nil && !mcp.SameID(a.ID, id) {
		err = errors.New("gateway: an answer to something else")
	}
	return a, err
}
