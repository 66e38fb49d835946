package gatewaytest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/gatewaytest"
)

// A talker sends one message and returns what came back for it, its notifications first;
// nil for a notification of its own.
type talker interface {
	talk(t *testing.T, message string) [][]byte
}

// overStdio talks to a program.
type overStdio struct {
	in    io.WriteCloser
	lines chan []byte
	got   [][]byte // all lines so far
}

func talkTo(t *testing.T, env []string, command ...string) *overStdio {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	s := &overStdio{in: in, lines: make(chan []byte, 1024)}
	go func() {
		defer close(s.lines)
		for r := bufio.NewReaderSize(out, 1<<20); ; {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				s.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = in.Close() })
	return s
}

func (s *overStdio) talk(t *testing.T, message string) (all [][]byte) {
	t.Helper()
	if _, err := io.WriteString(s.in, message+"\n"); err != nil {
		t.Fatal(err)
	}
	want := part(t, []byte(message), "id")
	if want == "" {
		return nil
	}
	for patience := time.After(time.Minute); ; {
		select {
		case line, ok := <-s.lines:
			if !ok {
				t.Fatalf("no answer to %s", message)
			}
			s.got = append(s.got, line)
			all = append(all, bytes.TrimSuffix(line, []byte("\n")))
			if part(t, line, "id") == want && part(t, line, "method") == "" {
				return all
			}
		case <-patience:
			t.Fatalf("no answer in time to %s", message)
		}
	}
}

// part is a member of a message as it stands there, "" if it is not there.
func part(t *testing.T, message []byte, name string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(message, &m); err != nil {
		t.Fatalf("%v: %.200s", err, message)
	}
	return string(m[name])
}

// overHTTP talks to an endpoint, in a session if it is given one.
type overHTTP struct {
	client gatewaytest.Client
	bodies []string // all answers as they came
}

func (s *overHTTP) talk(t *testing.T, message string) [][]byte {
	t.Helper()
	a, err := s.client.Post(t.Context(), []byte(message))
	if err != nil {
		t.Fatal(err)
	}
	if id := a.Header.Get("Mcp-Session-Id"); id != "" {
		s.client.Header = http.Header{"Mcp-Session-Id": {id}}
	}
	s.bodies = append(s.bodies, string(a.Body))
	if part(t, []byte(message), "id") == "" {
		return nil
	}
	if len(a.Messages) == 0 {
		t.Fatalf("status %d and no message for %s:\n%s", a.Status, message, a.Body)
	}
	return a.Messages
}

// A tap stands between a gateway and its upstream, and keeps what passes. The gateway also
// asks for itself.
type tap struct {
	mu      sync.Mutex        // guards answers
	answers map[string]string // by the body of a POST as the upstream got it, that of its answer
}

// answersTo are the answers to messages that the upstream must have got as they are here.
func (p *tap) answersTo(t *testing.T, messages []string) (list []string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range messages {
		answer, ok := p.answers[m]
		if !ok {
			t.Errorf("the upstream never got %s", m)
		}
		list = append(list, answer)
	}
	return list
}

func tapped(t *testing.T, upstream string) (string, *tap) {
	t.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	to.Path = ""
	p := &tap{answers: map[string]string{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPost {
				sent, _ := r.Request.Context().Value(sentKey{}).(string)
				r.Body = &copied{r.Body, &bytes.Buffer{}, p, sent}
			}
			return nil
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			b, _ := io.ReadAll(r.Body)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
			r = r.WithContext(context.WithValue(r.Context(), sentKey{}, string(b)))
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL + "/mcp", p
}

type sentKey struct{}

// copied keeps a body once it was read to its end.
type copied struct {
	io.ReadCloser
	seen *bytes.Buffer
	to   *tap
	sent string
}

func (c *copied) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.seen.Write(b[:n])
	return n, err
}

func (c *copied) Close() error {
	c.to.mu.Lock()
	c.to.answers[c.sent] = c.seen.String()
	c.to.mu.Unlock()
	return c.ReadCloser.Close()
}

// teed is a command with its lines kept in two files: what it was sent, and what it said.
func teed(t *testing.T, command ...string) (tee []string, in, out string) {
	t.Helper()
	dir := t.TempDir()
	in, out = filepath.Join(dir, "in"), filepath.Join(dir, "out")
	return append([]string{"sh", "-c", `in=$0 out=$1; shift; tee "$in" | "$@" | tee "$out"`, in, out}, command...), in, out
}

// kept are the lines of a file of teed, once there are so many.
func kept(t *testing.T, path string, many int) [][]byte {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		b, err := os.ReadFile(path)
		if err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(b, []byte("\n"))
		lines = lines[:len(lines)-1]
		if len(lines) >= many {
			return lines
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d lines in %s, want %d", len(lines), path, many)
		}
	}
}
