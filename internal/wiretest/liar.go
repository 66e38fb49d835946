package wiretest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/bindery/bindery/crossing"
)

// Lies say where a responder departs from what an honest one does. Each function sees
// what the World's own responder said, or is told, and changes it; nil changes nothing.
// The liar has the responder's keys: see [World.Resign].
type Lies struct {
	Card       func(card Doc)
	Request    func(call string, request Doc)     // before the responder sees it; call is P1, P2, P3, seal or task
	P1, P2, P3 func(meta Doc)                     // of its answers
	Sealed     func(result Doc)                   // of crossing:seal
	Shown      func(task Doc)                     // of GetTask
	Header     func(call string, h http.Header)   // of any answer
	Forward    func(call string, h http.Header)   // of a request, before the responder sees it
	Instead    func(call string, request Doc) Doc // the whole answer, and the responder is not asked; nil: it is
}

// Liar starts a responder that lies and returns its URL. It ends with the test.
func (w *World) Liar(l Lies) string {
	w.t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	w.t.Cleanup(server.Close)
	mux.HandleFunc("GET /.well-known/agent-card.json", func(rw http.ResponseWriter, _ *http.Request) {
		a, err := w.request(http.MethodGet, "/.well-known/agent-card.json", nil, nil)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		card, _ := Parse([]byte(strings.ReplaceAll(string(a.Body), w.URL+"/rpc", server.URL+"/rpc")))
		edit(l.Card, card)
		_, _ = rw.Write(JSON(card))
	})
	mux.HandleFunc("POST /rpc", func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request, err := Parse(body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		l.answer(w, rw, r.Header, request)
	})
	return server.URL
}

func edit(f func(Doc), d Doc) {
	if f != nil && d != nil {
		f(d)
	}
}

// callOf is what a request asks for.
func callOf(request Doc) string {
	switch Text(request, "method") {
	case crossing.RPCSeal:
		return "seal"
	case "GetTask":
		return "task"
	}
	return map[string]string{"mandates_pending": "P1", "terms_proposed": "P2", "sealing": "P3"}[Text(
		request, "params", "message", "metadata", crossing.URI, "crossing_state")]
}

func (l Lies) answer(w *World, rw http.ResponseWriter, header http.Header, request Doc) {
	call := callOf(request)
	h := http.Header{}
	h.Set(crossing.Header, crossing.URI)
	var answer Doc
	if l.Request != nil {
		l.Request(call, request)
	}
	if l.Instead != nil {
		answer = l.Instead(call, request)
	}
	if answer == nil {
		header = header.Clone()
		if l.Forward != nil {
			l.Forward(call, header)
		}
		a, err := w.Send(header, JSON(request))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		h, answer = a.Header, a.Doc
		l.bend(call, a)
	}
	if l.Header != nil {
		l.Header(call, h)
	}
	for _, value := range h.Values(crossing.Header) {
		rw.Header().Add(crossing.Header, value)
	}
	_, _ = rw.Write(JSON(answer))
}

func (l Lies) bend(call string, a Answer) {
	switch call {
	case "P1":
		edit(l.P1, a.Meta())
	case "P2":
		edit(l.P2, a.Meta())
	case "P3":
		edit(l.P3, a.Meta())
	case "seal":
		edit(l.Sealed, Object(a.Doc, "result"))
	case "task":
		edit(l.Shown, a.Task())
	}
}

// Resign signs the claims of one of the responder's Closeds again, as edit leaves them,
// with its agent's key. No RA is asked.
func (w *World) Resign(closed string, edit func(claims Doc)) string {
	claims := claimsOf(closed)
	edit(claims)
	return sign(w.t, w.Responder.Agent, claims)
}
