package a2acrossing_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/a2acrossing"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/wiretest"
)

func jsonNumber(s string) json.Number { return json.Number(s) }

// A scripted responder: a card, and one answer to every call.
type scripted struct {
	*httptest.Server
	card   string // URL stands for its own
	answer func(w http.ResponseWriter, request wiretest.Doc)
	posts  atomic.Int64
}

const goodCard = `{"name":"x","capabilities":{"extensions":[{"uri":"https://example.com/other"},{"uri":"` + crossing.URI +
	`","params":{"conformance":"full","principal":{"id":"urn:anax:principal:globex"}}}]},
	"supportedInterfaces":[{"url":"grpc://127.0.0.1","protocolBinding":"GRPC","protocolVersion":"1.0"},
	{"url":"URL/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{card: goodCard}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.ReplaceAll(s.card, "URL", s.URL))
	})
	mux.HandleFunc("POST /rpc", func(w http.ResponseWriter, r *http.Request) {
		s.posts.Add(1)
		body, _ := io.ReadAll(r.Body)
		request, err := wiretest.Parse(body)
		if err != nil || r.Header.Get(crossing.Header) != crossing.URI || r.Header.Get("A2A-Version") != "1.0" {
			t.Errorf("the peer sent %v %s", r.Header, body)
		}
		s.answer(w, request)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// echoing answers with a body under the echo.
func echoing(body string) func(http.ResponseWriter, wiretest.Doc) {
	return func(w http.ResponseWriter, _ wiretest.Doc) {
		w.Header().Set(crossing.Header, "https://example.com/other, "+crossing.URI)
		_, _ = io.WriteString(w, body)
	}
}

func discover(t *testing.T, s *scripted) *a2acrossing.Peer {
	t.Helper()
	p, err := a2acrossing.Discover(t.Context(), a2acrossing.PeerConfig{Timeout: time.Minute}, s.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantRefused requires a refusal of the counterparty, by name.
func wantRefused(t *testing.T, err error, name crossing.Name) {
	t.Helper()
	var r *crossing.Refusal
	if !errors.As(err, &r) || r.Name != name {
		t.Errorf("error %v, want %s", err, name)
	}
}

// covers GC-046
func TestMissingEcho(t *testing.T) {
	s := newScripted(t)
	task := `{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED"},"metadata":{"` +
		crossing.URI + `":{"crossing_state":"mandates_pending"}}}}}`
	p := discover(t, s)
	for name, header := range map[string][]string{
		"none": nil, "empty": {""}, "another": {"https://example.com/other"}, "with a slash": {crossing.URI + "/"},
		"not a list": {"https://example.com/other " + crossing.URI},
	} {
		t.Run(name, func(t *testing.T) {
			s.answer = func(w http.ResponseWriter, _ wiretest.Doc) {
				w.Header()["A2a-Extensions"] = header
				_, _ = io.WriteString(w, task)
			}
			_, err := p.Exchange(t.Context(), "", "", []byte(`{}`))
			wantRefused(t, err, crossing.ExtNotActivated)
			_, err = p.Seal(t.Context(), []byte(`{}`))
			wantRefused(t, err, crossing.ExtNotActivated)
		})
	}
	s.answer = echoing(task)
	got, err := p.Exchange(t.Context(), "", "", []byte(`{}`))
	if want := (&crossing.Task{ID: "t", ContextID: "c", State: crossing.MandatesPending}); err != nil || !cmp.Equal(got, want) {
		t.Errorf("with the echo: %v %v", got, err)
	}
}

// covers GC-271
func TestDiscoverRefuses(t *testing.T) {
	s := newScripted(t)
	for name, card := range map[string]string{
		"no extensions":   `{"name":"x","supportedInterfaces":[{"url":"URL/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
		"another one":     strings.Replace(goodCard, crossing.URI, "https://example.com/x", 1),
		"trailing slash":  strings.Replace(goodCard, crossing.URI, crossing.URI+"/", 1),
		"verify-only":     strings.Replace(goodCard, `"full"`, `"verify-only"`, 1),
		"no conformance":  strings.Replace(goodCard, `"conformance":"full",`, ``, 1),
		"other spelling":  strings.Replace(goodCard, `"full"`, `"Full"`, 1),
		"no principal":    strings.Replace(goodCard, `"id":"urn:anax:principal:globex"`, ``, 1),
		"empty principal": strings.Replace(goodCard, `urn:anax:principal:globex`, ``, 1),
		"gRPC alone":      strings.Replace(goodCard, `"JSONRPC"`, `"HTTP+JSON"`, 1),
		"A2A 0.3":         strings.Replace(goodCard, `"JSONRPC","protocolVersion":"1.0"`, `"JSONRPC","protocolVersion":"0.3"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s.card = card
			_, err := a2acrossing.Discover(t.Context(), a2acrossing.PeerConfig{Timeout: time.Minute}, s.URL)
			wantRefused(t, err, crossing.ExtNotActivated)
		})
	}
	for name, card := range map[string]string{
		"no JSON":          `<html>`,
		"duplicate name":   strings.Replace(goodCard, `"conformance":"full"`, `"conformance":"verify-only","conformance":"full"`, 1),
		"too large":        goodCard + strings.Repeat(" ", 1<<20),
		"rpc without TLS":  strings.Replace(goodCard, "URL/rpc", "http://example.com/rpc", 1),
		"rpc as a file":    strings.Replace(goodCard, "URL/rpc", "file:///etc/passwd", 1),
		"rpc without host": strings.Replace(goodCard, "URL/rpc", "/rpc", 1),
	} {
		t.Run(name, func(t *testing.T) {
			s.card = card
			_, err := a2acrossing.Discover(t.Context(), a2acrossing.PeerConfig{Timeout: time.Minute}, s.URL)
			var r *crossing.Refusal
			if err == nil || errors.As(err, &r) {
				t.Errorf("error %v, want one that is no refusal", err)
			}
		})
	}
	if n := s.posts.Load(); n != 0 {
		t.Errorf("%d messages were sent before the card was accepted", n)
	}
}

// noNetwork fails the test when anything is sent.
type noNetwork struct{ t *testing.T }

func (n noNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("a request was sent to %s", r.URL)
	return nil, errors.New("no network")
}

func TestPlainHTTP(t *testing.T) {
	for _, base := range []string{
		"http://example.com", "http://127.0.0.1.example.com", "http://localhost.example.com", "http://10.0.0.1", "http://0.0.0.0",
		"http://user@example.com", "ftp://127.0.0.1", "127.0.0.1:80", "", "http://", "https://", "http://[::]",
	} {
		cfg := a2acrossing.PeerConfig{HTTP: &http.Client{Transport: noNetwork{t}}}
		if _, err := a2acrossing.Discover(t.Context(), cfg, base); err == nil {
			t.Errorf("%q is accepted", base)
		}
	}
}

// covers GC-119, GC-124
func TestErrorData(t *testing.T) {
	s := newScripted(t)
	p := discover(t, s)
	envelope := func(code, data string) string {
		return `{"jsonrpc":"2.0","id":1,"error":{"code":` + code + `,"message":"no","data":` + data + `}}`
	}
	for name, c := range map[string]struct {
		body string
		want *crossing.Refusal
	}{
		"an object": {
			envelope("-40020", `{"error":"AGREEMENT_HASH_MISMATCH","failure_path":"§4.2","member":"/x","more":1}`),
			&crossing.Refusal{Name: crossing.AgreementHashMismatch, Path: "§4.2", Member: "/x", Peer: true},
		},
		"an array": {
			envelope("-32008", `[{"@type":"a"},{"@type":"type.googleapis.com/google.protobuf.Struct","error":"EXT_NOT_ACTIVATED","code":-40001}]`),
			&crossing.Refusal{Name: crossing.ExtNotActivated, Peer: true},
		},
		"another number": {envelope("7", `{"error":"MANDATE_EXPIRED"}`), &crossing.Refusal{Name: crossing.MandateExpired, Peer: true}},
		"a new name":     {envelope("-40099", `{"error":"MOON_PHASE"}`), &crossing.Refusal{Name: "MOON_PHASE", Peer: true}},
		"control characters": {
			envelope("-40099", `{"error":"A\u001b[2J","failure_path":"b\u202e"}`),
			&crossing.Refusal{Name: "A·[2J", Path: "b·", Peer: true},
		},
		"no data":        {`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`, nil},
		"data of others": {envelope("-32603", `"x"`), nil},
		"an empty name":  {envelope("-40020", `{"error":""}`), nil},
		"a number":       {envelope("-40020", `{"error":7}`), nil},
		"a long name":    {envelope("-40020", `{"error":"`+strings.Repeat("A", 65)+`"}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s.answer = echoing(c.body)
			for _, call := range []func() error{
				func() error { _, err := p.Seal(t.Context(), []byte(`{}`)); return err },
				func() error { _, err := p.Exchange(t.Context(), "t", "c", []byte(`{}`)); return err },
				func() error { _, err := p.Task(t.Context(), "t"); return err },
			} {
				err := call()
				var r *crossing.Refusal
				switch {
				case c.want == nil && (!errors.Is(err, a2acrossing.ErrUnreachable) || errors.As(err, &r)):
					t.Errorf("error %v, want ErrUnreachable", err)
				case c.want != nil && (!errors.As(err, &r) || !cmp.Equal(r, c.want)):
					t.Errorf("error %#v, want %#v", err, c.want)
				}
			}
		})
	}
}

// TestNoAnswer: what cannot be read is no refusal; nothing is concluded from it.
func TestNoAnswer(t *testing.T) {
	s := newScripted(t)
	p := discover(t, s)
	task := func(state, core string) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","contextId":"c","status":{"state":"` + core + `"},"metadata":{"` +
			crossing.URI + `":{"crossing_state":"` + state + `"}}}}}`
	}
	status := func(n int) func(http.ResponseWriter, wiretest.Doc) {
		return func(w http.ResponseWriter, _ wiretest.Doc) {
			w.Header().Set(crossing.Header, crossing.URI)
			w.WriteHeader(n)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-40020,"message":"no","data":{"error":"SEAL_MISMATCH"}}}`)
		}
	}
	for name, answer := range map[string]func(http.ResponseWriter, wiretest.Doc){
		"no JSON":        echoing(`<html>`),
		"a duplicate":    echoing(`{"result":{},"result":{}}`),
		"too large":      echoing(`"` + strings.Repeat("x", 1<<20) + `"`),
		"500":            status(500),
		"a redirect":     func(w http.ResponseWriter, _ wiretest.Doc) { w.Header().Set("Location", s.URL); w.WriteHeader(307) },
		"a message":      echoing(`{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m"}}}`),
		"no such state":  echoing(task("agreed", "TASK_STATE_WORKING")),
		"another core":   echoing(task("committed", "TASK_STATE_WORKING")),
		"a bare success": echoing(`{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}}`),
		"a long id":      echoing(strings.Replace(task("sealing", "TASK_STATE_WORKING"), `"t"`, `"`+strings.Repeat("t", 257)+`"`, 1)),
		"cut off": func(w http.ResponseWriter, _ wiretest.Doc) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.answer = answer
			_, err := p.Exchange(t.Context(), "t", "c", []byte(`{}`))
			var r *crossing.Refusal
			if !errors.Is(err, a2acrossing.ErrUnreachable) || errors.As(err, &r) {
				t.Errorf("error %v, want ErrUnreachable", err)
			}
		})
	}
	s.Close()
	if _, err := p.Seal(t.Context(), []byte(`{}`)); !errors.Is(err, a2acrossing.ErrUnreachable) {
		t.Errorf("a closed port: %v", err)
	}
}

// TestPeer speaks to a real responder.
//
// covers GC-055, GC-057
func TestPeer(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme")).Through(wiretest.Closing)
	p, err := a2acrossing.Discover(t.Context(), a2acrossing.PeerConfig{Timeout: time.Minute}, w.URL)
	if err != nil {
		t.Fatal(err)
	}
	if p.Party() != w.Responder.PrincipalID {
		t.Errorf("the card names %q", p.Party())
	}
	p3 := &crossing.P3{CrossingID: s.CrossingID, ClosedMandate: s.Closed, Receipt: s.Receipt}
	task, err := p.Exchange(t.Context(), s.TaskID, s.ContextID, p3.Bytes())
	if err != nil || task.ID != s.TaskID || task.ContextID != s.ContextID || task.State != crossing.Sealing {
		t.Fatalf("P3 answered %v %v", task, err)
	}
	answer, err := wiretest.Parse(task.Answer)
	if err != nil {
		t.Fatal(err)
	}
	s.Peer.Closed = wiretest.Text(answer, "closed_mandate")
	s.SealBody()
	result, err := p.Seal(t.Context(), wiretest.JSON(s.Params))
	if err != nil {
		t.Fatal(err)
	}
	if again := s.Seal(); !bytes.Equal(again.Result(), result) {
		t.Errorf("the peer read\n%s\nof\n%s", result, again.Result())
	}
	task, err = p.Task(t.Context(), s.TaskID)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := wiretest.Parse(result)
	if task.State != crossing.Committed || task.ArtifactID != s.CrossingID || !bytes.Equal(task.Block, wiretest.JSON(wiretest.Object(d, "artifact_block"))) {
		t.Errorf("the task is %s with %s, want the block of %s", task.State, task.Block, result)
	}
	s.Forget()
	s.Edit.Record = func(record wiretest.Doc) { record["magnitude_asserted"] = 2 }
	s.SealBody()
	_, err = p.Seal(t.Context(), wiretest.JSON(s.Params))
	wantRefused(t, err, crossing.SealMismatch)
}
