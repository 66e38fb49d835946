package wiretest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/bindery/bindery/crossing"
)

// An Answer is what came back from one request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Doc    Doc // the body, if it is a JSON object
}

// Activated is the header of a request that activates the extension.
func Activated() http.Header {
	h := Plain()
	h.Set(crossing.Header, crossing.URI)
	return h
}

// Plain is the header of an A2A 1.0 request that activates nothing.
func Plain() http.Header {
	h := http.Header{}
	h.Set("A2A-Version", "1.0")
	h.Set("Content-Type", "application/json")
	return h
}

// Envelope is the body of a JSON-RPC request.
func Envelope(method string, params any) []byte {
	return JSON(Doc{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

// Send posts a body to the JSON-RPC endpoint. It may be called from any goroutine.
func (w *World) Send(header http.Header, body []byte) (Answer, error) {
	return w.request(http.MethodPost, "/rpc", header, body)
}

// Call is Send of one call under the activation header. A transport error ends the test.
func (w *World) Call(method string, params any) Answer {
	w.t.Helper()
	return w.Post(Activated(), Envelope(method, params))
}

// Post is Send for the test's own goroutine. A transport error ends the test.
func (w *World) Post(header http.Header, body []byte) Answer {
	w.t.Helper()
	a, err := w.Send(header, body)
	w.check(err)
	return a
}

// Get reads a path, such as /.well-known/agent-card.json.
func (w *World) Get(path string) Answer {
	w.t.Helper()
	a, err := w.request(http.MethodGet, path, nil, nil)
	w.check(err)
	return a
}

// Verify calls crossing:verify. It needs no activation (§3.7.3).
func (w *World) Verify(params Doc) Answer {
	w.t.Helper()
	return w.Post(Plain(), Envelope(crossing.RPCVerify, params))
}

func (w *World) request(method, path string, header http.Header, body []byte) (Answer, error) {
	return w.requestAt(w.URL, method, path, header, body)
}

func (w *World) requestAt(base, method, path string, header http.Header, body []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(context.Background(), method, base+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if header != nil {
		req.Header = header.Clone()
	}
	resp, err := w.HTTP.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	a := Answer{Status: resp.StatusCode, Header: resp.Header}
	if a.Body, err = io.ReadAll(resp.Body); err != nil {
		return Answer{}, err
	}
	a.Doc, _ = Parse(a.Body) // not every answer is an object
	return a, nil
}

// Result is the raw bytes of a JSON-RPC result, nil when there is none.
func (a Answer) Result() []byte {
	var envelope struct {
		Result json.RawMessage `json:"result"`
	}
	if json.Unmarshal(a.Body, &envelope) != nil {
		return nil
	}
	return envelope.Result
}

// Code is the code of a JSON-RPC error, "" when there is none.
func (a Answer) Code() string {
	n, _ := At(a.Doc, "error", "code").(json.Number)
	return n.String()
}

// Task is the task in the answer to SendMessage or GetTask.
func (a Answer) Task() Doc {
	if t := Object(a.Doc, "result", "task"); t != nil {
		return t
	}
	return Object(a.Doc, "result")
}

// Meta is the extension's object in the status message: the counterparty's phase message.
func (a Answer) Meta() Doc { return Object(a.Task(), "status", "message", "metadata", crossing.URI) }

// State is the crossing_state that the task shows.
func (a Answer) State() string { return Text(a.Task(), "metadata", crossing.URI, "crossing_state") }

// Refusal is the object that names a refusal, wherever this answer carries it: in the
// error's data, in its first item (A2A 1.0), or in the task's status message. nil: none.
func (a Answer) Refusal() Doc {
	for _, d := range []Doc{
		Object(a.Doc, "error", "data"), Object(a.Doc, "error", "data", 0), Object(a.Meta(), "refusal"),
	} {
		if Text(d, "error") != "" {
			return d
		}
	}
	return nil
}

// Name is the error name of a refusal, "" when nothing was refused.
func (a Answer) Name() string { return Text(a.Refusal(), "error") }

// Path is the failure_path of a refusal.
func (a Answer) Path() string { return Text(a.Refusal(), "failure_path") }
