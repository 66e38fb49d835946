package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/bindery/bindery/internal/mcp"
)

// askUpstream sends a request of the gateway's own and returns the answer to it.
func (g *Gateway) askUpstream(ctx context.Context, u *upstream, agent string, h http.Header, id, body []byte) (mcp.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, u.Timeout)
	defer cancel()
	req := (&http.Request{
		Method: http.MethodPost, URL: u.url, Host: u.url.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}).WithContext(withAgent(ctx, agent))
	resp, err := u.Transport.RoundTrip(req)
	if err != nil {
		return mcp.Answer{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return mcp.Answer{}, errors.New("gateway: the upstream gives no answer")
	}
	limit := g.cfg.Limits.Answer
	if !isEvents(resp.Header.Get("Content-Type")) {
		b, err := readAll(resp.Body, -1, limit)
		if err != nil {
			return mcp.Answer{}, err
		}
		return answerTo(id, b, limit)
	}
	for events := newSSE(io.LimitReader(resp.Body, maxStream), limit); ; {
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
