package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/bindery/bindery/jcs"
)

// ErrNoList is an upstream that gives no list of its tools.
var ErrNoList = errors.New("gateway: the upstream gives no list of its tools")

const (
	mostPages   = 64
	lastSession = "2025-11-25" // the last revision of MCP with sessions
)

// ListTools asks an upstream for its tools, as no agent: without a session if it can do without,
// else in one that it ends again. It hands each page of the list, the result of a tools/list, to
// take. [Gateway.Learn] takes them, too.
func ListTools(ctx context.Context, u Upstream, take func(result []byte)) error {
	if u.Transport == nil {
		u.Transport = NewTransport()
	}
	l := lister{u: u, version: stateless}
	if l.pages(ctx, take) == nil {
		return nil
	}
	l.version = ""
	if err := l.enter(ctx); err != nil {
		return err
	}
	defer l.leave(ctx)
	return l.pages(ctx, take)
}

// enter begins a session, which leave ends.
func (l *lister) enter(ctx context.Context) error {
	if _, err := l.ask(ctx, "initialize", []byte(`{"protocolVersion":"`+lastSession+`","capabilities":{},"clientInfo":{"name":"bindery","version":"1"}}`)); err != nil {
		return err
	}
	l.version = firstText(l.version, lastSession)
	if err := l.tell(ctx, "notifications/initialized"); err != nil {
		l.leave(ctx)
		return err
	}
	return nil
}

// ownMeta is what a request without a session says of who sends it.
func ownMeta() []byte {
	return jcs.Object(
		jcs.Member{Name: "io.modelcontextprotocol/clientCapabilities", Value: jcs.Object()},
		jcs.Member{Name: "io.modelcontextprotocol/clientInfo", Value: jcs.Object(
			jcs.Member{Name: "name", Value: jcs.String("bindery")}, jcs.Member{Name: "version", Value: jcs.String("1")})},
		jcs.Member{Name: "io.modelcontextprotocol/protocolVersion", Value: jcs.String(stateless)},
	)
}

// lister is a client that can list.
type lister struct {
	u                Upstream
	version, session string
	name             string // for Mcp-Name, where the method has one
	asked            int
}

func (l *lister) pages(ctx context.Context, take func([]byte)) error {
	cursor := jcs.Value{}
	for range mostPages {
		var params []jcs.Member
		if cursor.Type() == jcs.StringType {
			params = append(params, jcs.Member{Name: "cursor", Value: cursor.Bytes()})
		}
		if l.version == stateless {
			params = append(params, jcs.Member{Name: "_meta", Value: ownMeta()})
		}
		result, err := l.ask(ctx, "tools/list", jcs.Object(params...))
		if err != nil {
			return err
		}
		v, err := jcs.Profile{Numbers: jcs.DoubleNumbers}.Parse(result)
		if err != nil || v.Get("tools").Type() != jcs.ArrayType {
			return ErrNoList
		}
		take(result)
		if cursor = v.Get("nextCursor"); cursor.Type() != jcs.StringType {
			return nil
		}
	}
	return nil
}

// ask returns the result of a request.
func (l *lister) ask(ctx context.Context, method string, params []byte) ([]byte, error) {
	l.asked++
	id := fmt.Appendf(nil, "%d", l.asked)
	resp, err := l.post(ctx, method, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if session := resp.Header.Get(headerSession); session != "" {
		l.session = session
	}
	var answer []byte
	take := func(text []byte) {
		if s, ok := sight(text); ok && s.answer() && bytes.Equal(s.id.in(text), id) && answer == nil {
			answer = text
		}
	}
	if isEvents(resp.Header.Get("Content-Type")) {
		events := &eventReader{take: take}
		for buf := make([]byte, 32<<10); answer == nil; {
			n, err := resp.Body.Read(buf)
			if _, bad := events.Write(buf[:n]); bad != nil || err != nil {
				break
			}
		}
	} else if body, err := io.ReadAll(io.LimitReader(resp.Body, MaxLine)); err == nil {
		take(body)
	}
	s, _ := sight(answer)
	if !s.result.there() {
		return nil, ErrNoList
	}
	if method == "initialize" {
		l.version = named(answer, find(answer, s.result, "protocolVersion"))
	}
	return s.result.in(answer), nil
}

func (l *lister) tell(ctx context.Context, method string) error {
	resp, err := l.post(ctx, method, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q}`, method))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (l *lister) post(ctx context.Context, method string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.u.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	l.head(req)
	req.Header.Set("Content-Type", typeJSON)
	req.Header.Set("Accept", typeJSON+", "+typeEvents)
	if l.version == stateless {
		req.Header.Set(headerMethod, method)
		if l.name != "" {
			req.Header.Set(headerName, headerValue(l.name))
		}
	}
	resp, err := l.u.Transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoList, err)
	}
	return resp, nil
}

func (l *lister) head(req *http.Request) {
	for name, values := range l.u.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("User-Agent", userAgent)
	if l.session != "" {
		req.Header.Set(headerSession, l.session)
	}
	if l.version != "" {
		req.Header.Set(headerVersion, l.version)
	}
}

// leave ends the session.
func (l *lister) leave(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, l.u.URL, nil)
	if err != nil || l.session == "" {
		return
	}
	l.head(req)
	if resp, err := l.u.Transport.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
	}
}
