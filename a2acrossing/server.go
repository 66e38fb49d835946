package a2acrossing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// A Desk is the party behind the handler.
type Desk interface {
	// Exchange takes a phase message; see [crossing.Message]. A refusal is a task.
	// [crossing.ErrNoTask] for a task id that takes no message of this caller.
	Exchange(ctx context.Context, taskID, contextID string, m *crossing.Message) (*crossing.Task, error)
	// Task shows a task, or returns [crossing.ErrNoTask].
	Task(ctx context.Context, taskID string) (*crossing.Task, error)
	// Seal answers crossing:seal with the result's bytes or a [*crossing.Refusal].
	Seal(ctx context.Context, params jcs.Value) ([]byte, error)
	// Refuse records a refusal made at the edge and gives it the form of a task.
	Refuse(ctx context.Context, r *crossing.Refusal) (*crossing.Task, error)
}

// Config makes a handler.
type Config struct {
	Card Card
	Desk Desk // nil: this process is no party of crossings
	// Verify answers crossing:verify from the params' bytes; its error is an
	// *api.Error whose code is a name of the table. nil: no authority here.
	Verify func(ctx context.Context, params []byte) ([]byte, error)
	Log    *slog.Logger // nil: nothing is logged
}

const maxBody = 1 << 20

// NewHandler serves the card and JSON-RPC, at /rpc and at the root.
func NewHandler(cfg Config) (http.Handler, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &server{cfg: cfg}
	mux := http.NewServeMux()
	if cfg.Desk != nil {
		card, err := cfg.Card.JSON()
		if err != nil {
			return nil, err
		}
		mux.HandleFunc("GET "+a2asrv.WellKnownAgentCardPath, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=60")
			writeJSON(w, card)
		})
		s.core = a2asrv.NewJSONRPCHandler(&requestHandler{desk: cfg.Desk, card: cfg.Card})
	}
	mux.Handle("POST /rpc", s)
	mux.Handle("POST /{$}", s)
	return mux, nil
}

type server struct {
	cfg  Config
	core http.Handler // the library's JSON-RPC handler over ours; nil without a desk
}

func writeJSON(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // a client that has gone cannot be told anything
}

type activeKey struct{}

// activate reads the activation header, several URIs and several lines of it, and
// echoes the extension if the request names it exactly (GC-028, GC-040, GC-041).
func activate(w http.ResponseWriter, r *http.Request) *http.Request {
	var uris []string
	for _, line := range r.Header.Values(crossing.Header) {
		for uri := range strings.SplitSeq(line, ",") {
			if uri = strings.TrimSpace(uri); uri != "" {
				uris = append(uris, uri)
			}
		}
	}
	active := false
	r.Header.Del(crossing.Header)
	for _, uri := range uris {
		r.Header.Add(crossing.Header, uri) // one a line: the library does not split
		active = active || uri == crossing.URI
	}
	if active {
		w.Header().Set(crossing.Header, crossing.URI)
	}
	return r.WithContext(context.WithValue(r.Context(), activeKey{}, active))
}

func activated(ctx context.Context) bool {
	active, _ := ctx.Value(activeKey{}).(bool)
	return active
}

// ServeHTTP answers one JSON-RPC request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = activate(w, r)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "the request body is too large", http.StatusRequestEntityTooLarge)
		return
	}
	request, strict := jcs.Parse(body)
	if strict != nil {
		// Foreign payloads may hold any JSON number (design J3), ours may not.
		if request, err = (jcs.Profile{Numbers: jcs.DoubleNumbers}).Parse(body); err != nil {
			s.unreadable(w, r, body, err)
			return
		}
	}
	method, _ := request.Get("method").Text()
	rpc, _ := request.Get("jsonrpc").Text()
	switch version := r.Header.Get(a2a.SvcParamVersion); {
	case rpc != "2.0":
		writeRPCError(w, request.Get("id"), -32600, "invalid request", nil)
	case method == crossing.RPCSeal && s.cfg.Desk != nil:
		s.seal(w, r, body, request, strict)
	case method == crossing.RPCVerify && s.cfg.Verify != nil:
		s.verify(w, r, body, request)
	case version != "" && version != string(a2a.Version): // of the core methods: those above are the extension's own
		writeRPCError(w, request.Get("id"), -32009, "this version of A2A is not supported", nil)
	case s.core != nil:
		r = r.WithContext(context.WithValue(r.Context(), metadataKey{}, member(body, "params", "message", "metadata", crossing.URI)))
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.core.ServeHTTP(w, r)
	default:
		writeRPCError(w, request.Get("id"), -32601, "method not found", nil)
	}
}

type metadataKey struct{}

// metadata is the message's object under the URI in the bytes that came in.
func metadata(ctx context.Context) []byte {
	raw, _ := ctx.Value(metadataKey{}).([]byte)
	return raw
}

// member is what stands at a place of a body, as it was written, or nil. The body has
// been scanned: its names are unique and its text is sound.
func member(body []byte, path ...string) []byte {
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(body, &object) != nil {
			return nil
		}
		body = object[name]
	}
	return body
}

// unreadable answers a body that is no strict JSON. If it speaks of the extension it is
// a refusal with a name, a place and a row; the A2A library never sees it.
func (s *server) unreadable(w http.ResponseWriter, r *http.Request, body []byte, fault error) {
	if s.cfg.Desk == nil || !bytes.Contains(body, []byte("anaxstandard")) && !activated(r.Context()) {
		writeRPCError(w, jcs.Value{}, -32700, "parse error", nil)
		return
	}
	refusal := bodyRefusal(body, fault)
	if !activated(r.Context()) && bytes.Contains(body, []byte(crossing.RPCSeal)) {
		refusal = crossing.Refuse(crossing.ExtNotActivated) // the first step of AG-58, as far as the body can be read
	}
	if bytes.Contains(body, []byte(crossing.RPCVerify)) && !bytes.Contains(body, []byte(crossing.RPCSeal)) {
		writeRefusal(w, jcs.Value{}, refusal, "") // no refusal row: anyone may resolve, as often as they like (AG-76)
		return
	}
	s.refuse(w, r, jcs.Value{}, refusal)
}

func bodyRefusal(body []byte, fault error) *crossing.Refusal {
	refusal := crossing.RefuseAt(crossing.RecordMalformed, "§3.7.1 JSON")
	var at *jcs.Error
	if errors.As(fault, &at) {
		refusal.Path += " " + at.Kind.String()
		refusal.Member = jcs.PointerAt(body, at.Offset)
	}
	return refusal
}

// refuse records and answers.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, id jcs.Value, refusal *crossing.Refusal) {
	if _, err := s.cfg.Desk.Refuse(r.Context(), refusal); err != nil {
		s.cfg.Log.Error("a refusal could not be recorded", "name", string(refusal.Name), "reason", err.Error())
		refusal = crossing.Refuse(crossing.SealPending)
	}
	writeRefusal(w, id, refusal, "")
}

func (s *server) seal(w http.ResponseWriter, r *http.Request, body []byte, request jcs.Value, strict error) {
	id := request.Get("id")
	switch {
	case !activated(r.Context()):
		s.refuse(w, r, id, crossing.Refuse(crossing.ExtNotActivated))
		return
	case strict != nil:
		s.refuse(w, r, id, bodyRefusal(body, strict))
		return
	}
	params := request.Get("params")
	result, err := s.cfg.Desk.Seal(r.Context(), params)
	if err == nil {
		writeResult(w, id, result)
		return
	}
	var refusal *crossing.Refusal
	if !errors.As(err, &refusal) {
		s.cfg.Log.Error("a seal call failed", "reason", err.Error())
		refusal = crossing.Refuse(crossing.SealPending) // nothing was decided
	}
	crossingID, _ := params.Get("record").Get("crossing_id").Text()
	if !crossing.ValidCrossingID(crossingID) {
		crossingID = ""
	}
	writeRefusal(w, id, refusal, crossingID)
}

func (s *server) verify(w http.ResponseWriter, r *http.Request, body []byte, request jcs.Value) {
	id := request.Get("id")
	params := member(body, "params") // as written: the authority judges their numbers
	if params == nil {
		params = []byte("{}")
	}
	result, err := s.cfg.Verify(r.Context(), params)
	if err == nil {
		writeResult(w, id, result)
		return
	}
	var e *api.Error
	if !errors.As(err, &e) {
		writeRPCError(w, id, -32603, "internal error", nil)
		return
	}
	refusal := crossing.Refuse(crossing.Name(e.Code))
	refusal.Member = e.Pointer
	writeRefusal(w, id, refusal, "")
}

func writeResult(w http.ResponseWriter, id jcs.Value, result []byte) {
	writeJSON(w, jcs.Object(
		jcs.Member{Name: "jsonrpc", Value: jcs.String("2.0")},
		jcs.Member{Name: "id", Value: idBytes(id)},
		jcs.Member{Name: "result", Value: result},
	))
}

// writeRefusal answers with HTTP 200 and an error object (AG-61, AG-62).
func writeRefusal(w http.ResponseWriter, id jcs.Value, r *crossing.Refusal, crossingID string) {
	row, ok := crossing.RowOf(r.Name)
	if !ok {
		writeRPCError(w, id, -32603, "internal error", nil)
		return
	}
	writeRPCError(w, id, int64(row.Code), row.Message, r.Data(crossingID))
}

func writeRPCError(w http.ResponseWriter, id jcs.Value, code int64, message string, data []byte) {
	writeJSON(w, jcs.Object(
		jcs.Member{Name: "jsonrpc", Value: jcs.String("2.0")},
		jcs.Member{Name: "id", Value: idBytes(id)},
		jcs.Member{Name: "error", Value: jcs.Object(
			jcs.Member{Name: "code", Value: jcs.Int(code)},
			jcs.Member{Name: "message", Value: jcs.String(message)},
			jcs.Member{Name: "data", Value: data},
		)},
	))
}

func idBytes(id jcs.Value) []byte {
	switch id.Type() {
	case jcs.StringType, jcs.NumberType:
		return id.Bytes()
	}
	return jcs.Null()
}
