package mcpenvelope

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A surface is what is known of the server at the other end.
type surface struct {
	known atomic.Bool // a process of our own, or HTTPS
	plain atomic.Bool // something came over a connection that proves nothing; this one stays
}

func (s *surface) authenticated() bool { return s.known.Load() && !s.plain.Load() }

// A tapped transport puts the bytes of each result into its _meta, where they survive the SDK.
type tapped struct {
	mcp.Transport
	client *Client
}

// Connect implements [mcp.Transport].
func (t *tapped) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &tappedConn{conn, t.client}, nil
}

type tappedConn struct {
	mcp.Connection
	client *Client
}

// Read implements [mcp.Connection].
func (c *tappedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if res, ok := msg.(*jsonrpc.Response); ok && err == nil && res.Result != nil {
		if with, ok := c.client.withRaw(res.Result); ok {
			copied := *res
			copied.Result = with
			return &copied, nil
		}
	}
	return msg, err
}

// withRaw returns a result with its own bytes in its _meta; ok is false if it is no tool's. The SDK
// reads what is returned here; whoever looks for an envelope reads the bytes.
func (c *Client) withRaw(result []byte) (with []byte, ok bool) {
	top, ok := parseObject(result)
	if !ok || bytes.Equal(bytes.TrimSpace(result), []byte("null")) {
		return nil, false
	}
	if found, _ := candidates(result, c.cfg.Names); len(found) == 0 && isOther(top) {
		return nil, false
	}
	meta := object{}
	if text, there := top["_meta"]; there {
		if meta, ok = parseObject(text); !ok {
			return nil, false
		}
	}
	for name := range meta {
		if strings.EqualFold(name, c.rawKey) {
			delete(meta, name)
		}
	}
	meta[c.rawKey] = raw(strconv.Quote(base64.StdEncoding.EncodeToString(result)))
	text, err := encode(meta)
	if err != nil {
		return nil, false
	}
	top["_meta"] = text
	if with, err = encode(top); err != nil {
		return nil, false
	}
	return with, true
}

// isOther reports whether a result is that of a list, a document or a handshake, which may be long
// and need not be carried twice.
func isOther(top object) bool {
	for _, name := range []string{"tools", "resources", "resourceTemplates", "prompts", "contents", "messages", "capabilities"} {
		if top[name] != nil && top["content"] == nil {
			return true
		}
	}
	return false
}

// withRawMessage does the same in a whole message.
func (c *Client) withRawMessage(message []byte) (with []byte, ok bool) {
	top, _ := parseObject(message)
	if top["result"] == nil {
		return nil, false
	}
	if top["result"], ok = c.withRaw(top["result"]); !ok {
		return nil, false
	}
	with, err := encode(top)
	return with, err == nil
}

// A roundTripper does for HTTP what a tapped transport does for others.
type roundTripper struct {
	next   http.RoundTripper
	client *Client
}

// RoundTrip implements [http.RoundTripper].
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme == "https" {
		t.client.surface.known.Store(true)
	} else {
		t.client.surface.plain.Store(true)
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		return t.json(res)
	case "text/event-stream":
		res.Body = &eventBody{client: t.client, body: res.Body, lines: bufio.NewReader(res.Body), whole: true}
		forget(res)
	}
	return res, nil
}

// forget takes back what was said of a body that is now another.
func forget(res *http.Response) {
	res.ContentLength = -1
	res.Header.Del("Content-Length")
}

// json rewrites a body that is one message. A body that is too long goes on as it is; its result is
// not known then, and a call says so.
func (t *roundTripper) json(res *http.Response) (*http.Response, error) {
	text, err := io.ReadAll(io.LimitReader(res.Body, MaxResult+1))
	if err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	if with, ok := t.client.withRawMessage(text); ok && len(text) <= MaxResult {
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(with))
		forget(res)
		return res, nil
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), res.Body), res.Body}
	return res, nil
}

// An eventBody is a stream of events in which the data of tools' results are rewritten, one event at a
// time. Everything else goes on as it came, and so does what is too long for an event.
type eventBody struct {
	client *Client
	body   io.ReadCloser
	lines  *bufio.Reader
	ready  []byte // what is read next
	err    error  // after ready
	whole  bool   // false: in the middle of an event that is too long
}

// Close implements [io.Closer].
func (b *eventBody) Close() error { return b.body.Close() }

// Read implements [io.Reader].
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && b.err == nil {
		b.fill()
	}
	if len(b.ready) == 0 {
		return 0, b.err
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

// fill reads one event, or a piece of one that is too long.
func (b *eventBody) fill() {
	var event [][]byte
	var line []byte
	size := 0
	for size <= MaxResult {
		piece, err := b.lines.ReadSlice('\n')
		line = append(line, piece...)
		size += len(piece)
		if err == bufio.ErrBufferFull {
			continue
		}
		event = append(event, line)
		if blank := len(bytes.TrimRight(line, "\r\n")) == 0; blank || err != nil {
			b.err = err
			if b.whole {
				event = b.client.event(event)
			}
			b.whole = true
			b.ready = bytes.Join(event, nil)
			return
		}
		line = nil
	}
	b.whole = false
	b.ready = append(bytes.Join(event, nil), line...)
}

// event returns the lines of one event, its data rewritten if it is a tool's result.
func (c *Client) event(lines [][]byte) [][]byte {
	var data, rest [][]byte
	for _, line := range lines {
		if value, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte(" ")))
			continue
		}
		rest = append(rest, line)
	}
	with, ok := c.withRawMessage(bytes.Join(data, []byte("\n")))
	if !ok {
		return lines
	}
	return append([][]byte{[]byte("data: "), with, []byte("\n")}, rest...)
}
