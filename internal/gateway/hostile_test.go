package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
)

func events(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			io.WriteString(w, strings.ReplaceAll(p, "@", idIn(r)))
			w.(http.Flusher).Flush()
		}
	}
}

func status(n int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(n)
		io.WriteString(w, strings.ReplaceAll(body, "@", idIn(r)))
	}
}

// gigabyte says a thousand mebibytes, or as many as are read.
func gigabyte(before string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(before, "data:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		io.WriteString(w, before)
		piece := []byte(strings.Repeat("x", 1<<20))
		for range 1 << 10 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
}

// sentFirst is a transport to an upstream that has a call in any case: however short the call's time is,
// it is over when that has come.
type sentFirst struct {
	http.RoundTripper
	came <-chan struct{}
}

func (s sentFirst) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, over := context.WithCancel(context.WithoutCancel(r.Context()))
	context.AfterFunc(r.Context(), func() {
		<-s.came
		over()
	})
	return s.RoundTripper.RoundTrip(r.WithContext(ctx))
}

// Whatever an upstream does with a call that was sent, the execution ends, the client is told so,
// and no repeat is sent.
//
// covers EXA-060, EXA-071
func TestHostileUpstream(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	type hostile struct {
		name   string
		answer http.HandlerFunc
		state  execution.State
		reason string
		reply  string // name of the refusal; "" for an answer of the upstream's, "-" for an error of its
	}
	var cases []hostile
	all := map[string]http.HandlerFunc{}
	for _, c := range []hostile{
		{"answers", says(`{}`), "succeeded", "", ""},
		{"says it is an error", says(`{"isError":true}`), "failed", "", ""},
		{"errs", status(200, "application/json", `{"jsonrpc":"2.0","id":@,"error":{"code":-32603,"message":"no"}}`), "failed", "", "-"},
		{"answers by an event", events(`data: {"jsonrpc":"2.0","id":@,"result":{}}`, "\n\n"), "succeeded", "", ""},
		{"answers twice", events(`data: {"jsonrpc":"2.0","id":@,"result":{"n":1}}` + "\n\n" + `data: {"jsonrpc":"2.0","id":@,"result":{"n":2}}` + "\n\n"), "succeeded", "", ""},
		{"answers twice in one", status(200, "application/json", `{"jsonrpc":"2.0","id":@,"result":{}}{"jsonrpc":"2.0","id":@,"result":{}}`), "outcome_unknown", "answer_malformed", "EXECUTION_OUTCOME_UNKNOWN"},
		{"result and error", status(200, "application/json", `{"jsonrpc":"2.0","id":@,"result":{},"error":{}}`), "outcome_unknown", "answer_malformed", "EXECUTION_OUTCOME_UNKNOWN"},
		{"answers another", status(200, "application/json", `{"jsonrpc":"2.0","id":"other","result":{}}`), "outcome_unknown", "answer_to_another", "EXECUTION_OUTCOME_UNKNOWN"},
		{"answers another by an event", events(`data: {"jsonrpc":"2.0","id":"other","result":{}}` + "\n\n"), "outcome_unknown", "answer_to_another", "EXECUTION_OUTCOME_UNKNOWN"},
		{"answers deep", says(`{"a":` + deep + `}`), "outcome_unknown", "answer_malformed", "EXECUTION_OUTCOME_UNKNOWN"},
		{"answers deep by an event", events(`data: {"jsonrpc":"2.0","id":@,"result":{"a":` + deep + "}}\n\n"), "outcome_unknown", "answer_malformed", "EXECUTION_OUTCOME_UNKNOWN"},
		{"answers with a name twice", says(`{"a":1,"a":2}`), "outcome_unknown", "answer_malformed", "EXECUTION_OUTCOME_UNKNOWN"},
		{"no JSON", status(200, "application/json", "<html>"), "outcome_unknown", "answer_malformed", "EXECUTION_OUTCOME_UNKNOWN"},
		{"a page", status(200, "text/html", "<html>"), "outcome_unknown", "no_answer", "EXECUTION_OUTCOME_UNKNOWN"},
		{"nothing", status(200, "application/json", ""), "outcome_unknown", "answer_malformed", "EXECUTION_OUTCOME_UNKNOWN"},
		{"accepts", status(202, "application/json", ""), "outcome_unknown", "no_answer", "EXECUTION_OUTCOME_UNKNOWN"},
		{"a new kind of result", says(`{"resultType":"surprise"}`), "outcome_unknown", "answer_of_a_new_kind", "EXECUTION_OUTCOME_UNKNOWN"},
		{"half an event", events("data: {\"jsonrpc\":\"2.0\",\"id\":@,\"result\":{}}\n"), "outcome_unknown", "answer_broken", "EXECUTION_OUTCOME_UNKNOWN"},
		{"no event", events(": bye\n\n"), "outcome_unknown", "answer_broken", "EXECUTION_OUTCOME_UNKNOWN"},
		{"an event of no JSON", events("data: {]\n\n"), "outcome_unknown", "answer_malformed", "EXECUTION_OUTCOME_UNKNOWN"},
		{"500", status(500, "text/plain", "oops"), "outcome_unknown", "upstream_status_500", "EXECUTION_OUTCOME_UNKNOWN"},
		{"503", status(503, "text/plain", "oops"), "outcome_unknown", "upstream_status_503", "EXECUTION_OUTCOME_UNKNOWN"},
		{"408", status(408, "text/plain", "oops"), "outcome_unknown", "upstream_status_408", "EXECUTION_OUTCOME_UNKNOWN"},
		{"a redirect", status(307, "text/plain", ""), "outcome_unknown", "UPSTREAM_REDIRECT", "EXECUTION_OUTCOME_UNKNOWN"},
		{"400 with an error", status(400, "application/json", `{"jsonrpc":"2.0","id":@,"error":{"code":-32602,"message":"no"}}`), "failed", "upstream_status_400", "-"},
		{"400", status(400, "text/plain", "no"), "failed", "upstream_status_400", "EXECUTION_FAILED"},
		{"404", status(404, "text/plain", "no session"), "failed", "upstream_status_404", "EXECUTION_FAILED"},
		{"401", status(401, "application/json", `{"jsonrpc":"2.0","id":@,"error":{"code":1,"message":"secret"}}`), "failed", "UPSTREAM_REFUSED", "EXECUTION_FAILED"},
		{"resets", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "outcome_unknown", "connection_lost", "EXECUTION_OUTCOME_UNKNOWN"},
		{"breaks off", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"jsonrpc":"2.0"`)
		}, "outcome_unknown", "answer_broken", "EXECUTION_OUTCOME_UNKNOWN"},
		{"compresses", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			says(`{}`)(w, r)
		}, "outcome_unknown", "answer_malformed", "EXECUTION_OUTCOME_UNKNOWN"},
		{"never ends", gigabyte(`{"jsonrpc":"2.0","id":1,"result":{"x":"`), "outcome_unknown", "answer_too_large", "EXECUTION_OUTCOME_UNKNOWN"},
		{"an event that never ends", gigabyte("data: "), "outcome_unknown", "answer_too_large", "EXECUTION_OUTCOME_UNKNOWN"},
		{"never answers", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "outcome_unknown", "upstream_timeout", "EXECUTION_OUTCOME_UNKNOWN"},
		{"never goes on", func(w http.ResponseWriter, r *http.Request) {
			events(": wait\n\n", `data: {"jsonrpc":"2.0","method":"notifications/progress"}`+"\n\n")(w, r)
			<-r.Context().Done()
		}, "outcome_unknown", "upstream_timeout", "EXECUTION_OUTCOME_UNKNOWN"},
	} {
		all[strings.ReplaceAll(c.name, " ", "-")] = c.answer
		cases = append(cases, c)
	}
	behave := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, id, _ := strings.Cut(string(body), `execution_id":"`)
		id, _, _ = strings.Cut(id, `"`)
		all[id](w, r)
	}
	limited := func(timeout time.Duration) func(*gateway.Config) {
		return func(cfg *gateway.Config) {
			cfg.Limits.Answer, cfg.Upstreams[0].Timeout = 1<<20, timeout
		}
	}
	patient := newWorld(t, behave, limited(patience))
	came := make(chan struct{}, len(cases))
	hasty := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		behave(w, r)
	}, limited(200*time.Millisecond), func(cfg *gateway.Config) { cfg.Upstreams[0].Transport = sentFirst{gateway.NewTransport(), came} })
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, id := patient, strings.ReplaceAll(c.name, " ", "-")
			if c.reason == "upstream_timeout" {
				w = hasty
			}
			before := len(w.up.bodies())
			d := w.post(bound("1", id, `{}`)).decode(t)
			row := w.row(id)
			if row.State != c.state || row.Reason != c.reason {
				t.Errorf("state %s, reason %q", row.State, row.Reason)
			}
			if row.State == "outcome_unknown" && c.reason != "upstream_timeout" && c.reason != "connection_lost" && row.Digest == "" {
				t.Error("nothing tells what was seen")
			}
			switch {
			case c.reply == "-" && (d.Error == nil || d.refused() != ""):
				t.Errorf("replied %+v", d.Error)
			case c.reply != "-" && d.refused() != c.reply:
				t.Errorf("replied %q %+v", d.refused(), d.Error)
			case c.reply == "" && d.meta["state"] != string(c.state):
				t.Errorf("replied %+v", d)
			}
			if d.Error != nil && strings.Contains(d.Error.Message, "secret") {
				t.Errorf("the upstream's words on its credential: %+v", d.Error)
			}
			if d := w.post(bound("1", id, `{}`)).decode(t); d.refused() != "EXECUTION_REPLAY" || d.of("state") != string(c.state) {
				t.Errorf("repeated: %+v", d.Error)
			}
			if n := len(w.up.bodies()) - before; n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}

// What is told before the answer comes at once; the answer is withheld until it is stored, and no id
// is left by which the stream could be taken up without the gateway.
//
// covers EXA-066
func TestBoundStream(t *testing.T) {
	more := make(chan struct{})
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		events("id: 1\nretry: 5\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/progress\",\"params\":{\"x\":1.0}}\n\n")(w, r)
		<-more
		events(": still here\n\n", "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":@,\ndata: \"result\":{\"x\": 1.0}}\n\n")(w, r)
	})
	req, _ := http.NewRequest("POST", w.server.URL+"/mcp", strings.NewReader(bound("1", "e", `{}`)))
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/progress\",\"params\":{\"x\":1.0}}\n\n"
	got := make([]byte, len(first))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != first {
		t.Errorf("%q, %v", got, err)
	}
	if row := w.row("e"); row.State != execution.Dispatched {
		t.Errorf("meanwhile %s", row.State)
	}
	close(more)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasPrefix(string(rest), ":\n\nevent: message\ndata: {") || !strings.HasSuffix(string(rest), `"x": 1.0}}`+"\n\n") || strings.Contains(string(rest), "id: ") {
		t.Errorf("%q, %v", rest, err)
	}
}

// A client that goes away ends nothing: the call is seen through, and the same call finds what came
// of it. Those who ask meanwhile get the answer of the one call.
//
// covers EXA-022
func TestLostReply(t *testing.T) {
	entered, release := make(chan struct{}, 1), make(chan struct{})
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		select {
		case <-release:
			says(`{"n":1}`)(w, r)
		case <-r.Context().Done():
		}
	})
	noticed := make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		context.AfterFunc(r.Context(), func() { close(noticed) })
		w.gw.ServeHTTP(rw, r)
	}))
	defer front.Close()
	ctx, leave := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "POST", front.URL+"/mcp", strings.NewReader(bound("1", "e", `{}`)))
	req.Host = w.server.Listener.Addr().String()
	gone := make(chan error, 1)
	go func() {
		_, err := http.DefaultTransport.RoundTrip(req)
		gone <- err
	}()
	<-entered
	leave()
	<-gone
	<-noticed
	var asking sync.WaitGroup
	replies := make([]decoded, 8)
	for i := range replies {
		asking.Go(func() { replies[i] = w.post(bound(fmt.Sprintf(`"id %d"`, i), "e", `{}`)).decode(t) })
	}
	time.Sleep(20 * time.Millisecond)
	close(release)
	asking.Wait()
	for i, d := range replies {
		joined := d.meta["state"] == "succeeded"
		if string(d.ID) != fmt.Sprintf(`"id %d"`, i) || !joined && d.refused() != "EXECUTION_REPLAY" {
			t.Errorf("%d: %s %+v", i, d.Result, d.Error)
		}
	}
	if n, row := len(w.up.bodies()), w.row("e"); n != 1 || row.State != execution.Succeeded {
		t.Errorf("sent %d times, %s", n, row.State)
	}
}

// Nothing could be sent: the execution failed, and says that the upstream has got nothing.
func TestNotSent(t *testing.T) {
	w := newWorld(t, nil, func(c *gateway.Config) { c.Upstreams[0].URL = "http://127.0.0.1:1/mcp" })
	d := w.post(bound("1", "e", `{}`)).decode(t)
	if row := w.row("e"); d.refused() != "EXECUTION_NOT_SENT" || d.of("state") != "failed" || row.Reason != "not_sent" || row.Digest != "" {
		t.Errorf("%+v, %+v", d.Error, row)
	}
}

// Many at once with one id: one is sent, all are answered; with other arguments none is.
//
// covers EXA-023, EXA-065
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(30 * time.Millisecond)
		says(`{"n":1}`)(w, r)
	})
	const n = 64
	var asking sync.WaitGroup
	var answered, refused atomic.Int32
	for i := range n {
		asking.Go(func() {
			d := w.post(bound("1", "e", `{}`)).decode(t)
			if d.meta["state"] == "succeeded" || d.of("state") == "succeeded" {
				answered.Add(1)
			}
		})
		asking.Go(func() {
			d := w.post(bound("1", "f", fmt.Sprintf(`{"i":%d}`, i))).decode(t)
			if d.refused() == "EXECUTION_COLLISION" {
				refused.Add(1)
			}
		})
	}
	asking.Wait()
	if answered.Load() != n || refused.Load() != n-1 || len(w.up.bodies()) != 2 {
		t.Errorf("%d answered, %d refused, %d sent", answered.Load(), refused.Load(), len(w.up.bodies()))
	}
}
