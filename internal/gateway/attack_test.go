package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
)

// A client that reads nothing holds up neither what becomes of its call nor the next one's.
func TestClientThatReadsNothing(t *testing.T) {
	t.Parallel()
	told := "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"" + strings.Repeat("x", 16<<10) + "\"}}\n\n"
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		for range 512 {
			if _, err := io.WriteString(rw, told); err != nil {
				return
			}
		}
		fmt.Fprintf(rw, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n\n", idIn(r))
	}, func(c *gateway.Config) { c.Limits.Writing, c.Upstreams[0].Timeout = 50*time.Millisecond, time.Minute })
	conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	body := bound("1", "e", `{}`)
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", conn.RemoteAddr(), len(body), body)
	id, err := execution.ParseID("e")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		row, _, _ := w.store.Find(context.Background(), execution.Key{Agent: "key:one", ID: id})
		if row.State == execution.Succeeded {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the execution is %q", row.State)
		}
	}
}

// late is a transport that fails, and asks whether it may send when it has said so.
type late struct{ asked context.Context }

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	l.asked = r.Context()
	return nil, errors.New("no connection")
}

// lateRegistry asks between the answer of the transport and the end of the execution.
type lateRegistry struct {
	gateway.Registry
	over *late
	may  *error
}

func (r lateRegistry) Admit(ctx context.Context, c execution.Call) (gateway.Permit, *execution.Record, error) {
	p, rec, err := r.Registry.Admit(ctx, c)
	if p != nil {
		p = latePermit{p, r}
	}
	return p, rec, err
}

type latePermit struct {
	gateway.Permit
	r lateRegistry
}

func (p latePermit) Finish(ctx context.Context, o execution.Outcome) (*execution.Record, error) {
	*p.r.may = gateway.FirstByte(p.r.over.asked)
	return p.Permit.Finish(ctx, o)
}

// Once it is said that nothing was sent, nothing is.
func TestNothingIsSentLate(t *testing.T) {
	t.Parallel()
	over, may := &late{}, error(nil)
	w := newWorld(t, nil, func(c *gateway.Config) {
		c.Upstreams[0].Transport = over
		c.Registry = lateRegistry{c.Registry, over, &may}
	})
	if d := w.post(bound("1", "e", `{}`)).decode(t); d.refused() != "EXECUTION_NOT_SENT" {
		t.Errorf("%+v", d.Error)
	}
	if may == nil {
		t.Error("the message could be sent although the execution had failed as not_sent")
	}
}

// refusing is an upstream that refuses a message without asking for it, as a program that is gone.
type refusing int

func (s refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(s), Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil)), Request: r}, nil
}

// A refusal that came without the message having been asked for is no unknown outcome. Anything
// else that did is one.
func TestRefusedUnasked(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{404: "EXECUTION_NOT_SENT", 200: "EXECUTION_OUTCOME_UNKNOWN"} {
		w := newWorld(t, nil, func(c *gateway.Config) { c.Upstreams[0].Transport = refusing(status) })
		if d := w.post(bound("1", "e", `{}`)).decode(t); d.refused() != want {
			t.Errorf("%d: %+v", status, d.Error)
		}
	}
}

// The caller's time is one at which the operation can have been meant. A repeat may come late, so
// that the past goes far back.
func TestImplausibleTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says(`{}`), func(c *gateway.Config) { c.Upstreams[0].Transport = refusing(404) })
	for at, want := range map[string]string{
		"0001-01-01T00:00:00Z": "ACTION_TIMESTAMP_INVALID",
		"1970-01-01T00:00:00Z": "ACTION_TIMESTAMP_INVALID",
		"9999-12-31T23:59:59Z": "ACTION_TIMESTAMP_INVALID",
		time.Now().Add(25 * time.Hour).UTC().Format("2006-01-02T15:04:05Z"):        "ACTION_TIMESTAMP_INVALID",
		time.Now().Add(23 * time.Hour).UTC().Format("2006-01-02T15:04:05Z"):        "EXECUTION_NOT_SENT",
		time.Now().Add(-365 * 24 * time.Hour).UTC().Format("2006-01-02T15:04:05Z"): "EXECUTION_NOT_SENT",
	} {
		if d := w.post(strings.Replace(bound("1", "at-"+at, `{}`), clientTime, at, 1)).decode(t); d.refused() != want {
			t.Errorf("%s: %+v", at, d.Error)
		}
	}
}

// What a store cannot hold on every engine is refused before it.
func TestTextsWithNUL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says(`{}`))
	workflow := strings.Replace(bound("1", "e", `{}`), `"_meta":{`, `"_meta":{"bindery/workflow_id":"a\u0000b",`, 1)
	if d := w.post(workflow).decode(t); d.refused() != "EXECUTION_CONTEXT_INVALID" {
		t.Errorf("workflow_id: %+v", d.Error)
	}
	tool := strings.Replace(bound("1", "e", `{}`), `"charge"`, `"char\u0000ge"`, 1)
	if d := w.post(tool).decode(t); d.refused() != "ACTION_INVALID" {
		t.Errorf("tool: %+v", d.Error)
	}
	if n := len(w.up.bodies()); n != 0 {
		t.Errorf("sent %d times", n)
	}
}

// One agent cannot take all the room for large answers: another's call is seen to its end.
func TestShareOfRoom(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		big := `{"x":"` + strings.Repeat("x", 400<<10) + `"}`
		if r.Header.Get("Mcp-Hold") == "" {
			says(big)(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"jsonrpc":"2.0","id":`+idIn(r)+`,"result":`+big[:300<<10])
		rw.(http.Flusher).Flush()
		<-held
	}, func(c *gateway.Config) { c.Limits.Large, c.Upstreams[0].Timeout = 2, time.Minute })
	var holding sync.WaitGroup
	for i := range 2 {
		holding.Go(func() {
			_, _ = w.try("POST", "/mcp", bound("1", fmt.Sprintf("held-%d", i), `{}`), "X-Test-Agent", "key:greedy", "Mcp-Hold", "1")
		})
	}
	defer holding.Wait()
	defer close(held)
	w.until("both sent, and room taken", func() bool { return len(w.up.bodies()) == 2 && w.gw.LargeAnswers() == 1 })
	time.Sleep(50 * time.Millisecond) // for the other one to have taken what it can
	began := time.Now()
	if d := w.post(bound("1", "e", `{}`)).decode(t); d.meta["state"] != "succeeded" || time.Since(began) > 30*time.Second { // and not when those have no more time
		t.Errorf("%+v after %s", d.Error, time.Since(began))
	}
}

// A long event needs room as a long line does, in however many lines it comes.
func TestRoomForLongEvents(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	let := sync.OnceFunc(func() { close(held) })
	defer let()
	piece := strings.Repeat("x", 200<<10)
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(rw, `data: {"jsonrpc":"2.0","id":`+idIn(r)+`,"result":{"x":"`+piece+"\",\ndata: \"y\":\""+piece+"\",\ndata: ")
		rw.(http.Flusher).Flush()
		if r.Header.Get("Mcp-Hold") != "" {
			<-held
		}
		_, _ = io.WriteString(rw, "\"z\":1}}\n\n")
	}, func(c *gateway.Config) { c.Limits.Large = 1 })
	ended := make(chan string, 2)
	ask := func(name string, headers ...string) {
		_, _ = w.try("POST", "/mcp", bound("1", name, `{}`), headers...)
		ended <- name
	}
	go ask("held", "X-Test-Agent", "key:greedy", "Mcp-Hold", "1")
	w.until("room taken", func() bool { return w.gw.LargeAnswers() == 1 })
	go ask("other")
	select {
	case name := <-ended:
		t.Errorf("%s has ended although there was no room", name)
		let()
	case <-time.After(300 * time.Millisecond):
		let()
		<-ended
	}
	<-ended
	if row := w.row("other"); row.State != execution.Succeeded {
		t.Errorf("%+v", row)
	}
}

// One agent cannot take all streams.
func TestShareOfStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(c *gateway.Config) { c.Limits.Streams, c.Limits.PerAgent = 4, 2 })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	open := func(agent string) int {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.server.URL+"/mcp", nil)
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("X-Test-Agent", agent)
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp.StatusCode
	}
	if a, b, c, other := open("key:a"), open("key:a"), open("key:a"), open("key:b"); a != 200 || b != 200 || c != 503 || other != 200 {
		t.Errorf("%d %d %d, another's %d", a, b, c, other)
	}
	cancel()
}

// What an upstream says instead of HTTP is not in the log of the process: it may be a credential.
func TestNoHTTP(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nSet-Cookie SECRET\r\n\r\n")
			_ = conn.Close()
		}
	}()
	var log sink
	w := newWorld(t, nil, func(c *gateway.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, nil))
		c.Upstreams[0].URL = "http://" + l.Addr().String() + "/mcp"
	})
	w.post(bound("1", "e", `{}`))
	w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if got := log.String(); strings.Contains(got, "SECRET") || strings.Count(got, "broken") != 2 {
		t.Error(got)
	}
}
