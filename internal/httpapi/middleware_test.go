package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/httpapi"
	"github.com/bindery/bindery/internal/wiretest"
)

const host = "127.0.0.1:8080"

// guarded runs one request through a Guard around handler.
func guarded(handler http.HandlerFunc, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	httpapi.Guard{Hosts: []string{host, "Verify.example:443"}}.Wrap(handler).ServeHTTP(w, r)
	return w
}

func request(method, path string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, path, body)
	r.Host = host
	return r
}

func code(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	return api.ParseError(w.Body.Bytes()).Code
}

func TestGuardHostAndOrigin(t *testing.T) {
	for _, c := range []struct {
		name    string
		host    string
		origins []string
		status  int
		code    string
	}{
		{"as configured", host, nil, 200, ""},
		{"case of a name", "VERIFY.example:443", nil, 200, ""},
		{"another port", "127.0.0.1:8081", nil, 421, "misdirected_request"},
		{"no port", "127.0.0.1", nil, 421, "misdirected_request"},
		{"another name for us", "localhost:8080", nil, 421, "misdirected_request"},
		{"rebound name", "evil.example:8080", nil, 421, "misdirected_request"},
		{"none", "", nil, 421, "misdirected_request"},
		{"own origin", host, []string{"http://" + host}, 200, ""},
		{"own origin, other host of ours", host, []string{"https://verify.example:443"}, 200, ""},
		{"foreign origin", host, []string{"https://evil.example"}, 403, "origin_refused"},
		{"suffix of an origin", host, []string{"http://" + host + ".evil.example"}, 403, "origin_refused"},
		{"opaque origin", host, []string{"null"}, 403, "origin_refused"},
		{"empty origin", host, []string{""}, 403, "origin_refused"},
		{"two origins", host, []string{"http://" + host, "https://evil.example"}, 403, "origin_refused"},
		{"another scheme", host, []string{"file://" + host}, 403, "origin_refused"},
	} {
		r := request("POST", "/x", strings.NewReader("{}"))
		r.Host = c.host
		for _, o := range c.origins {
			r.Header.Add("Origin", o)
		}
		ran := false
		w := guarded(func(w http.ResponseWriter, _ *http.Request) { ran = true }, r)
		if w.Code != c.status || ran != (c.status == 200) {
			t.Errorf("%s: status %d, handler ran %v", c.name, w.Code, ran)
		}
		if c.code != "" && code(t, w) != c.code {
			t.Errorf("%s: body %s", c.name, w.Body)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", c.name, w.Header())
		}
	}
}

func TestGuardBody(t *testing.T) {
	whole := strings.Repeat("x", api.MaxBody)
	for _, c := range []struct {
		name    string
		body    string
		chunked bool
		status  int
	}{
		{"empty", "", false, 200},
		{"largest", whole, false, 200},
		{"largest, length unknown", whole, true, 200},
		{"too large", whole + "x", false, 413},
		{"too large, length unknown", whole + "x", true, 413},
	} {
		r := request("POST", "/x", strings.NewReader(c.body))
		if c.chunked {
			r.ContentLength = -1
		}
		ran := false
		w := guarded(func(w http.ResponseWriter, r *http.Request) {
			ran = true
			got, err := io.ReadAll(r.Body)
			if err != nil || string(got) != c.body || r.ContentLength != int64(len(c.body)) {
				t.Errorf("%s: handler read %d bytes of %d, length %d, %v", c.name, len(got), len(c.body), r.ContentLength, err)
			}
		}, r)
		if w.Code != c.status || ran != (c.status == 200) {
			t.Errorf("%s: status %d, handler ran %v", c.name, w.Code, ran)
		}
		if c.status == 413 && code(t, w) != api.CodeTooLarge {
			t.Errorf("%s: body %s", c.name, w.Body)
		}
	}
	w := guarded(func(http.ResponseWriter, *http.Request) { t.Error("ran on a broken body") },
		request("POST", "/x", io.MultiReader(strings.NewReader("{"), broken{})))
	if w.Code != 400 {
		t.Errorf("broken body: status %d", w.Code)
	}
}

// TestGuardAnnouncedBody: what is announced as too large is not read at all.
func TestGuardAnnouncedBody(t *testing.T) {
	body := &counting{}
	r := request("POST", "/x", body)
	r.ContentLength = api.MaxBody + 1
	w := guarded(func(http.ResponseWriter, *http.Request) { t.Error("ran") }, r)
	if w.Code != 413 || body.reads != 0 {
		t.Errorf("status %d after %d reads", w.Code, body.reads)
	}
}

type counting struct{ reads int }

func (c *counting) Read(p []byte) (int, error) {
	c.reads++
	return len(p), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection lost") }

func TestGuardRecovers(t *testing.T) {
	var log bytes.Buffer
	w := httptest.NewRecorder()
	httpapi.Guard{Hosts: []string{host}, Log: slog.New(slog.NewTextHandler(&log, nil))}.
		Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the secret detail") })).
		ServeHTTP(w, request("GET", "/x", nil))
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") || code(t, w) != "internal_error" {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "the secret detail") {
		t.Error("the panic is not logged")
	}
	defer func() {
		if recover() == nil {
			t.Error("ErrAbortHandler does not abort")
		}
	}()
	guarded(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, request("GET", "/x", nil))
}

func TestRemote(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:1234":                "192.0.2.1",
		"[::ffff:192.0.2.1]:1234":       "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1234":   "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1234":           "fe80::/64",
		"":                              "unknown",
		"@":                             "unknown",
		"not an address":                "unknown",
		"[2001:db8:1:2:ffff:4:5:6]:999": "2001:db8:1:2::/64",
	} {
		if got := httpapi.Remote(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

// overPipes is a client of one who serves on pipes.
func overPipes(l *wiretest.Pipes) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return l.Dial() },
	}}
}

func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, ended := wiretest.NewPipes(), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		entered, leave := make(chan struct{}), make(chan struct{})
		go func() {
			ended <- httpapi.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				close(entered)
				<-leave
				io.WriteString(w, "done")
			}), nil)
		}()
		body, one := make(chan string, 1), overPipes(l)
		go func() {
			resp, err := one.Get("http://x/")
			if err != nil {
				body <- err.Error()
				return
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			body <- string(b)
		}()
		<-entered
		cancel()
		time.Sleep(10 * time.Millisecond) // let the shutdown meet the running request
		close(leave)
		if got := <-body; got != "done" {
			t.Errorf("a running request ended with %q", got)
		}
		if err := <-ended; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if _, err := l.Dial(); err == nil {
			t.Error("the listener is still open")
		}
	})
}

// TestServeSilent: a connection that has said nothing does not delay the end. The server
// would wait five seconds for it.
func TestServeSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, ended := wiretest.NewPipes(), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			ended <- httpapi.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "done") }), nil)
		}()
		silent, err := l.Dial()
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
		// Connections are accepted in turn: once a later one has its answer, the silent one
		// has been accepted too. It stays open, idle.
		one := overPipes(l)
		defer one.CloseIdleConnections()
		resp, err := one.Get("http://x/")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "done" {
			t.Fatalf("beside a silent connection a request ends with %q, %v", b, err)
		}

		began := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("a silent connection delays the end by %v", d)
		}
		_ = silent.SetReadDeadline(time.Now().Add(time.Second))
		if n, err := silent.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the silent connection is left open: %d, %v", n, err)
		}
	})
}
