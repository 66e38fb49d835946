package gateway_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/gateway"
)

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []gateway.SSE
		last string
	}{
		{"data: a\n\n", []gateway.SSE{{Data: "a"}}, ""},
		{"data:a\r\ndata: b\r\rdata:  c\n\n", []gateway.SSE{{Data: "a\nb"}, {Data: " c"}}, ""},
		{"\uFEFFevent: x\nid: 7\ndata\n\n", []gateway.SSE{{Name: "x"}}, "7"},
		{": note\n\nretry: 5\n\ndata: a\n: note\ndata: b\n\n", []gateway.SSE{{Data: "\x00"}, {Data: "a\nb"}}, ""},
		{"data: a\n", nil, ""},
		{"data: a", nil, ""},
		{"id: 1\n\nid: a\x00b\ndata: x\n\n", []gateway.SSE{{Data: "x"}}, "1"},
		{"datax: a\n\ndata : b\n\n", nil, ""},
		{"data: a\r\n\r\ndata: b\n\n", []gateway.SSE{{Data: "a"}, {Data: "b"}}, ""},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
			got, last, err := gateway.AllEvents(r, 100)
			if diff := cmp.Diff(c.want, got); diff != "" || last != c.last || !errors.Is(err, io.EOF) {
				t.Errorf("%q: last %q, %v\n%s", c.in, last, err, diff)
			}
		}
	}
	for _, in := range []string{"data: " + strings.Repeat("x", 200), strings.Repeat("data: x\n", 50), strings.Repeat(": x", 100)} {
		if _, _, err := gateway.AllEvents(strings.NewReader(in), 100); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%.20q…: %v", in, err)
		}
	}
}

// What is written is read again, however it comes.
func FuzzEvents(f *testing.F) {
	f.Add("message", "{\"a\":1}\n{\"b\":2}")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, name, data string) {
		if strings.ContainsAny(name, "\r\n") || strings.Contains(data, "\r") || data == "\x00" {
			return
		}
		in := gateway.AppendEvent(gateway.SSE{Name: name, Data: data})
		got, _, err := gateway.AllEvents(iotest.HalfReader(strings.NewReader(string(in)+": end\n\n")), 1<<20)
		want := []gateway.SSE{{Name: name, Data: data}, {Data: "\x00"}}
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
			t.Errorf("%q: %v\n%s", in, err, diff)
		}
	})
}

// A stream that its upstream closes before the answer, having said how to go on, is taken up by the
// gateway; the call is not sent again.
func TestResumedStream(t *testing.T) {
	var asked atomic.Int32
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			events("id: a\nretry: 10\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n")(w, r)
			return
		}
		switch asked.Add(1) {
		case 1:
			if r.Header.Get("Last-Event-Id") != "a" || r.Header.Get("Mcp-Method") != "" || r.Header.Get("Accept") != "text/event-stream" {
				t.Errorf("asked with %v", r.Header)
			}
			events("id: b\n\n", ": x\n\n")(w, r)
		case 2:
			if r.Header.Get("Last-Event-Id") != "b" {
				t.Errorf("asked again with %v", r.Header)
			}
			events("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":1}}\n\n")(w, r)
		}
	})
	r := w.post(bound("1", "e", `{}`), "Mcp-Method", "tools/call")
	d := r.decode(t)
	if d.meta["state"] != "succeeded" || strings.Contains(r.body, "id: ") {
		t.Errorf("%s", r.body)
	}
	if n := len(w.up.bodies()); n != 1 || asked.Load() != 2 {
		t.Errorf("sent %d times, taken up %d times", n, asked.Load())
	}
	// One that lasts may be closed as often as its upstream likes, and cannot always be had at once.
	asked.Store(0)
	w.up.answers(func(w http.ResponseWriter, r *http.Request) {
		switch n := asked.Add(1); {
		case n == 5:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case n == 10:
			panic(http.ErrAbortHandler)
		case n <= 15:
			events("id: a\nretry: 1\ndata: \n\n")(w, r)
			return
		}
		events("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")(w, r)
	})
	if d := w.post(bound("1", "g", `{}`)).decode(t); d.meta["state"] != "succeeded" {
		t.Errorf("%+v", d.Error)
	}
	// It has an end.
	w.up.answers(func(w http.ResponseWriter, r *http.Request) { events("id: a\nretry: 1\n\n")(w, r) })
	if d := w.post(bound("1", "f", `{}`)).decode(t); d.refused() != "EXECUTION_OUTCOME_UNKNOWN" || d.of("reason") != "answer_broken" {
		t.Errorf("%+v", d.Error)
	}
}
