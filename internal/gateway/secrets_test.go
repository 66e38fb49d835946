package gateway_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/gateway"
)

// The log has session, workflow, attempt and execution each by itself, for bound and unbound calls;
// of the session, which is a credential, the digest.
//
// covers EXA-026, EXA-046
func TestFourIDs(t *testing.T) {
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Mcp-Session-Id", "up")
		says(`{}`)(w, r)
	})
	session := w.post(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`).header.Get("Mcp-Session-Id")
	call := strings.Replace(bound("1", "e", `{}`), `"_meta":{`, `"_meta":{"bindery/workflow_id":"w 1",`, 1)
	w.post(call, "Mcp-Session-Id", session)
	w.post(strings.Replace(call, "bindery/execution_id", "x", 1), "Mcp-Session-Id", session)
	w.post(strings.Replace(call, `"e"`, `"a b"`, 1), "Mcp-Session-Id", session)
	digest := digestIn(t, session)
	attempts := map[string]bool{}
	for event, id := range map[string]string{audit.EventSucceeded: "e", audit.EventCall: "", audit.EventRefused: ""} {
		e := w.logged(func(e audit.Entry) bool { return e.Event == event && e.AgentID == "key:one" })
		if e.SessionID != digest || e.WorkflowID != "w 1" || e.ExecutionID != id || e.CallID == "" || attempts[e.CallID] {
			t.Errorf("%s: %+v", event, e)
		}
		attempts[e.CallID] = true
	}
}

// sink keeps what is logged.
type sink struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// No credential comes where it is not needed: not into the log of the process, not into the audit
// log, not into an answer or an observation, whatever goes wrong.
func TestSecretsStay(t *testing.T) {
	var log sink
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "SECRET")
		w.Header().Set("Www-Authenticate", "SECRET")
		w.Header().Set("Mcp-Session-Id", "SECRET-up")
		switch {
		case strings.Contains(r.Header.Get("X-Api-Key")+r.Header.Get("Authorization"), "CLIENT"):
			t.Error("the upstream has got the client's credential")
		case strings.Contains(idIn(r), "401"):
			status(401, "text/plain", "SECRET")(w, r)
		case strings.Contains(idIn(r), "reset"):
			panic(http.ErrAbortHandler)
		default:
			says(`{}`)(w, r)
		}
	}, func(c *gateway.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, nil))
		c.Upstreams[0].Header = http.Header{"Authorization": {"Bearer SECRET"}}
	})
	credentials := []string{"Authorization", "Bearer CLIENT", "Cookie", "CLIENT", "X-Api-Key", "CLIENT"}
	session := w.post(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, credentials...).header.Get("Mcp-Session-Id")
	headers := append(credentials, "Mcp-Session-Id", session)
	for i, id := range []string{`"ok"`, `"401"`, `"reset"`} {
		for _, body := range []string{bound(id, fmt.Sprint("e", i), `{"token":"ARGUMENT"}`), bound(id, "a b", `{"token":"ARGUMENT"}`), `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"x"}}`} {
			r := w.post(body, headers...)
			delete(r.header, "Mcp-Session-Id")
			if got := fmt.Sprint(r.header, r.body); strings.Contains(got, "SECRET") || strings.Contains(got, "CLIENT") {
				t.Errorf("%s: the client got %s", id, got)
			}
		}
	}
	w.logged(func(e audit.Entry) bool { return e.Event == audit.EventCall })
	for _, e := range w.log() {
		if line := string(e.Line()); strings.Contains(line, "SECRET") || strings.Contains(line, "CLIENT") || strings.Contains(line, "ARGUMENT") {
			t.Errorf("the audit log has %s", line)
		}
	}
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	for what, got := range map[string]string{"log": log.String(), "observations": fmt.Sprint(w.seen.all)} {
		if strings.Contains(got, "SECRET") || strings.Contains(got, "CLIENT") || strings.Contains(got, "ARGUMENT") {
			t.Errorf("%s: %s", what, got)
		}
	}
}
