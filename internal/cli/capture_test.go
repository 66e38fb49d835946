package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// A tap keeps every byte that goes over the connections of its listeners.
type tap struct {
	mu    sync.Mutex // guards conns, and the buffers of each
	conns []*tapped
}

type tapped struct {
	net.Conn
	tap     *tap
	in, out bytes.Buffer
}

type tapListener struct {
	net.Listener
	tap *tap
}

func (l tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.tap.mu.Lock()
	defer l.tap.mu.Unlock()
	kept := &tapped{Conn: c, tap: l.tap}
	l.tap.conns = append(l.tap.conns, kept)
	return kept, nil
}

func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.in.Write(p[:n])
	return n, err
}

func (c *tapped) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.out.Write(p[:n])
	return n, err
}

// An exchange is one request and its answer as they went over the wire.
type exchange struct {
	name           string // "POST /v1/ra/opens", or the method of JSON-RPC
	status         int
	authorization  string
	head           string // both heads without the Authorization
	request, reply string // bodies
}

// exchanges parses what was kept, once the servers have ended.
func (p *tap) exchanges(t *testing.T) []exchange {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []exchange
	for _, c := range p.conns {
		in, out := bufio.NewReader(bytes.NewReader(c.in.Bytes())), bufio.NewReader(bytes.NewReader(c.out.Bytes()))
		for {
			req, err := http.ReadRequest(in)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(out, req)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				break // its caller was interrupted
			}
			if err != nil {
				t.Fatalf("%s %s has no answer: %v", req.Method, req.URL, err)
			}
			reply, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			x := exchange{name: req.Method + " " + req.URL.Path, status: resp.StatusCode, request: string(body), reply: string(reply)}
			x.authorization = req.Header.Get("Authorization")
			req.Header.Del("Authorization")
			var head bytes.Buffer
			head.WriteString(req.Method + " " + req.URL.String() + "\n")
			_ = req.Header.Write(&head)
			_ = resp.Header.Write(&head)
			x.head = head.String()
			var rpc struct {
				Method string `json:"method"`
			}
			if strings.HasSuffix(x.name, " /rpc") && json.Unmarshal(body, &rpc) == nil {
				x.name = rpc.Method
			}
			list = append(list, x)
		}
	}
	return list
}
