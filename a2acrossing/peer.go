package a2acrossing

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// maxAnswer is the largest answer, in bytes, that is read from a counterparty.
const maxAnswer = 1 << 20

// A Peer is a responder as an initiator reaches it, found by [Discover].
type Peer struct {
	http      *http.Client
	rpc       string
	principal string
}

// PeerConfig makes a Peer.
type PeerConfig struct {
	HTTP    *http.Client  // nil: one without redirects
	Timeout time.Duration // of one call; 0 means 15 s. Only for a nil HTTP.
}

// ErrUnreachable says that a counterparty gave no answer that can be read. Nothing may
// be concluded from it.
var ErrUnreachable = errors.New("a2acrossing: no answer from the counterparty")

// Discover performs P0 (GC-271): it reads the Agent Card under base and refuses, with
// EXT_NOT_ACTIVATED and before any mandate moves, an agent that does not declare the
// extension as full. The card is a hint; P1 confirms what it says.
func Discover(ctx context.Context, cfg PeerConfig, base string) (*Peer, error) {
	p := &Peer{http: cfg.HTTP}
	if p.http == nil {
		timeout := cfg.Timeout
		if timeout == 0 {
			timeout = 15 * time.Second
		}
		p.http = &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if err := reachable(base, ""); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/.well-known/agent-card.json", nil)
	if err != nil {
		return nil, err
	}
	body, _, err := p.do(req)
	if err != nil {
		return nil, err
	}
	card, err := (jcs.Profile{Numbers: jcs.DoubleNumbers}).Parse(body)
	if err != nil {
		return nil, fmt.Errorf("%w: the card is no JSON", ErrUnreachable)
	}
	if p.principal = declared(card); p.principal == "" {
		return nil, crossing.RefuseAt(crossing.ExtNotActivated, "§3.3 card")
	}
	if p.rpc = endpoint(card); p.rpc == "" {
		return nil, crossing.RefuseAt(crossing.ExtNotActivated, "§3.6 card")
	}
	return p, reachable(p.rpc, base)
}

// declared returns the principal of a card that declares the extension as full.
func declared(card jcs.Value) string {
	for ext := range card.Get("capabilities").Get("extensions").Items() {
		uri, _ := ext.Get("uri").Text()
		conformance, _ := ext.Get("params").Get("conformance").Text()
		if uri == crossing.URI && conformance == "full" {
			id, _ := ext.Get("params").Get("principal").Get("id").Text()
			return id
		}
	}
	return ""
}

func endpoint(card jcs.Value) string {
	for iface := range card.Get("supportedInterfaces").Items() {
		binding, _ := iface.Get("protocolBinding").Text()
		version, _ := iface.Get("protocolVersion").Text()
		if binding == string(a2a.TransportProtocolJSONRPC) && strings.HasPrefix(version, "1.") {
			u, _ := iface.Get("url").Text()
			return u
		}
	}
	return ""
}

// reachable accepts https, http to a loopback host, and http to the origin that the
// user named.
func reachable(raw, named string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return fmt.Errorf("a2acrossing: %q is no URL", raw)
	}
	n, err := url.Parse(named)
	if err != nil {
		return err
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && (local || n.Host == u.Host && n.Scheme == u.Scheme) {
		return nil
	}
	return fmt.Errorf("a2acrossing: %s is neither https nor on this machine", u.Redacted())
}

// Party is the principal that the card names.
func (p *Peer) Party() string { return p.principal }

// Exchange sends one phase message in a core message (§3.6 T-4).
func (p *Peer) Exchange(ctx context.Context, taskID, contextID string, metadata []byte) (*crossing.Task, error) {
	msg := &a2a.Message{
		ID: a2a.NewMessageID(), Role: a2a.MessageRoleUser, TaskID: a2a.TaskID(taskID), ContextID: contextID,
		Extensions: []string{crossing.URI}, Metadata: map[string]any{crossing.URI: json.RawMessage(metadata)},
		Parts: a2a.ContentParts{a2a.NewTextPart("Governed Crossing")},
	}
	result, err := p.call(ctx, "SendMessage", &a2a.SendMessageRequest{Message: msg})
	if err != nil {
		return nil, err
	}
	return readTask(result.Get("task"))
}

// Task reads a task.
func (p *Peer) Task(ctx context.Context, taskID string) (*crossing.Task, error) {
	result, err := p.call(ctx, "GetTask", &a2a.GetTaskRequest{ID: a2a.TaskID(taskID)})
	if err != nil {
		return nil, err
	}
	return readTask(result)
}

// Seal calls crossing:seal with exactly these params.
func (p *Peer) Seal(ctx context.Context, params []byte) ([]byte, error) {
	result, err := p.call(ctx, crossing.RPCSeal, json.RawMessage(params))
	if err != nil {
		return nil, err
	}
	return result.Bytes(), nil
}

// readTask reads what a crossing needs of a task. The core state must be the one that
// the extension state maps to (§4.5).
func readTask(v jcs.Value) (*crossing.Task, error) {
	t := &crossing.Task{}
	t.ID, _ = v.Get("id").Text()
	t.ContextID, _ = v.Get("contextId").Text()
	meta := v.Get("metadata").Get(crossing.URI)
	state, _ := meta.Get("crossing_state").Text()
	t.State = crossing.State(state)
	core, _ := v.Get("status").Get("state").Text()
	if t.ID == "" || len(t.ID) > 256 || len(t.ContextID) > 256 || !t.State.Valid() || t.State.TaskState() != core {
		return nil, fmt.Errorf("%w: the task shows no crossing", ErrUnreachable)
	}
	t.Answer = v.Get("status").Get("message").Get("metadata").Get(crossing.URI).Bytes()
	for artifact := range v.Get("artifacts").Items() {
		if block := artifact.Get("metadata").Get(crossing.URI); block.Type() == jcs.ObjectType {
			t.ArtifactID, _ = artifact.Get("artifactId").Text()
			t.Block = block.Bytes()
		}
	}
	return t, nil
}

// call makes one JSON-RPC call under the activation header and checks the echo.
func (p *Peer) call(ctx context.Context, method string, params any) (jcs.Value, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return jcs.Value{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.rpc, bytes.NewReader(body))
	if err != nil {
		return jcs.Value{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(crossing.Header, crossing.URI)
	req.Header.Set(a2a.SvcParamVersion, string(a2a.Version))
	answer, header, err := p.do(req)
	if err != nil {
		return jcs.Value{}, err
	}
	v, err := (jcs.Profile{Numbers: jcs.DoubleNumbers}).Parse(answer)
	if err != nil {
		return jcs.Value{}, fmt.Errorf("%w: the answer is no JSON", ErrUnreachable)
	}
	if !echoed(header) {
		return jcs.Value{}, crossing.RefuseAt(crossing.ExtNotActivated, "§3.5.2-2 echo")
	}
	if e := v.Get("error"); e.Type() != jcs.Absent {
		return jcs.Value{}, rpcError(e)
	}
	return v.Get("result"), nil
}

func echoed(h http.Header) bool {
	for _, line := range h.Values(crossing.Header) {
		for uri := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(uri) == crossing.URI {
				return true
			}
		}
	}
	return false
}

// rpcError finds the name of the table in an error's data: the object form, or the
// array of A2A 1.0 (AG-61). Callers switch on the name, not on the number (GC-119).
func rpcError(e jcs.Value) error {
	data := e.Get("data")
	if r, ok := crossing.ParseRefusal(data); ok {
		return r
	}
	for item := range data.Items() {
		if r, ok := crossing.ParseRefusal(item); ok {
			return r
		}
	}
	code, _ := e.Get("code").Int()
	return fmt.Errorf("%w: JSON-RPC error %d", ErrUnreachable, code)
}

func (p *Peer) do(req *http.Request) ([]byte, http.Header, error) {
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, nil, errors.Join(ErrUnreachable, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, nil, errors.Join(ErrUnreachable, err)
	case len(body) > maxAnswer:
		return nil, nil, fmt.Errorf("%w: the answer is too large", ErrUnreachable)
	case resp.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("%w: HTTP %d from %s", ErrUnreachable, resp.StatusCode, req.URL.Redacted())
	}
	return body, resp.Header, nil
}
