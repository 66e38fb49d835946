package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/audit"
)

// A bound call reaches its tool once. What the upstream gets differs from what came by the value of
// params.arguments alone, and every later call of the same execution is answered without it.
//
// covers EXA-012, EXA-022, EXA-023, EXA-024, EXA-058, EXA-067
func TestBound(t *testing.T) {
	w := newWorld(t, says(`{ "content":[{"type":"text","text":"\u0064one"}] }`))
	first := w.post(bound("7", "order-7", `{ "b":1, "a":"\u0041" }`))
	d := first.decode(t)
	if first.status != 200 || string(d.ID) != "7" || d.refused() != "" || d.meta["state"] != "succeeded" || d.meta["execution_id"] != "order-7" ||
		d.meta["action_timestamp"] != clientTime || d.meta["binding"] != bindingOfOrder || d.meta["call_id"] == "" {
		t.Fatalf("%s", first.body)
	}
	if !strings.HasSuffix(first.body, `, "content":[{"type":"text","text":"\u0064one"}] }}`) {
		t.Errorf("the result has changed: %s", first.body)
	}
	want := strings.Replace(bound("7", "order-7", `@`), "@", `{"a":"A","b":1}`, 1)
	if got := w.up.bodies(); len(got) != 1 || got[0] != want {
		t.Errorf("the upstream got %q, want %q", got, want)
	}

	again := w.post(bound(`"other id"`, "order-7", `{"a":"A","b":1}`)).decode(t)
	if again.refused() != "EXECUTION_REPLAY" || string(again.ID) != `"other id"` || again.of("state") != "succeeded" ||
		again.of("call_id") != d.meta["call_id"] || again.of("binding") != d.meta["binding"] || again.of("completed_at") == "" ||
		again.of("result") != `{ "content":[{"type":"text","text":"\u0064one"}] }` || again.Error.Data.SafeNext == "" {
		t.Errorf("repeated: %+v", again.Error)
	}
	// the message alone is what many clients show
	if want := "this execution is over, and is not run again (succeeded): " + again.Error.Data.SafeNext; again.Error.Message != want {
		t.Errorf("the message is %q, want %q", again.Error.Message, want)
	}
	// echo -n '{ "content":[{"type":"text","text":"\u0064one"}] }' | sha256sum
	if digest := again.of("result_sha256"); digest != "sha256:"+sumOfDone {
		t.Errorf("digest of the result %s", digest)
	}

	other := w.post(bound("8", "order-7", `{"a":"A","b":2}`)).decode(t)
	if other.refused() != "EXECUTION_COLLISION" || other.of("result") != "" || other.Error.Code != -32009 {
		t.Errorf("another action: %+v", other.Error)
	}
	later := strings.Replace(bound("9", "order-7", `{"a":"A","b":1}`), clientTime, "2026-11-30T12:00:01Z", 1)
	if d := w.post(later).decode(t); d.refused() != "EXECUTION_COLLISION" {
		t.Errorf("another time: %+v", d.Error)
	}
	if n := len(w.up.bodies()); n != 1 {
		t.Errorf("the upstream was called %d times", n)
	}
	for _, event := range []string{audit.EventReserved, audit.EventDispatched, audit.EventSucceeded, audit.EventReplay, audit.EventCollision} {
		e := w.logged(func(e audit.Entry) bool { return e.Event == event && e.AgentID == "key:one" })
		if e.ExecutionID != "order-7" || e.AgentID != "key:one" || e.Upstream != "bank" || e.Tool != "charge" || e.CallID == "" {
			t.Errorf("%s: %+v", event, e)
		}
	}
}

// The id may stand where cMCP has it, and one id is another agent's own.
//
// covers EXA-045, EXA-057
func TestBoundAgents(t *testing.T) {
	w := newWorld(t, says(`{}`))
	cmcp := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"charge","_cmcp":{"execution_id":"e","action_timestamp":"` + clientTime + `"}}}`
	if d := w.post(cmcp).decode(t); d.meta["execution_id"] != "e" {
		t.Errorf("as cMCP has it: %+v", d)
	}
	if d := w.post(bound("1", "e", `{}`)).decode(t); d.refused() != "EXECUTION_REPLAY" {
		t.Errorf("the same in _meta: %+v", d)
	}
	if d := w.post(bound("1", "e", `{"x":1}`), "X-Test-Agent", "key:two").decode(t); d.meta["execution_id"] != "e" {
		t.Errorf("another agent: %+v", d)
	}
	if n := len(w.up.bodies()); n != 2 {
		t.Errorf("the upstream was called %d times", n)
	}
}

// What is refused before there is a reservation leaves the id free, reaches no upstream, and is in
// the log: an id that has not been found valid as null, with its digest.
//
// covers EXA-045, EXA-053, EXA-077
func TestBoundRefused(t *testing.T) {
	w := newWorld(t, says(`{}`))
	ok := bound("1", "e", `{"x":1}`)
	for _, c := range []struct {
		name, body, want, logged string
		headers                  []string
	}{
		{"an id of odd characters", bound("1", "a b", `{}`), "EXECUTION_ID_INVALID", "", nil},
		{"an empty id", bound("1", "", `{}`), "EXECUTION_ID_INVALID", "", nil},
		{"a long id", bound("1", strings.Repeat("a", 201), `{}`), "EXECUTION_ID_INVALID", "", nil},
		{"an id beyond ASCII", bound("1", "é", `{}`), "EXECUTION_ID_INVALID", "", nil},
		{"an id of a number", strings.Replace(ok, `"e"`, `7`, 1), "EXECUTION_ID_INVALID", "", nil},
		{"an id of null", strings.Replace(ok, `"e"`, `null`, 1), "EXECUTION_ID_INVALID", "", nil},
		{"two ids", strings.Replace(ok, `"_meta"`, `"_cmcp":{"execution_id":"f"},"_meta"`, 1), "EXECUTION_ID_CONFLICT", "", nil},
		{"two times", strings.Replace(ok, `"_meta"`, `"_cmcp":{"action_timestamp":"f"},"_meta"`, 1), "EXECUTION_ID_CONFLICT", "", nil},
		{"no time", strings.Replace(ok, `"bindery/action_timestamp"`, `"x"`, 1), "ACTION_TIMESTAMP_INVALID", "e", nil},
		{"a time of another zone", strings.Replace(ok, clientTime, "2026-11-30T12:00:00+01:00", 1), "ACTION_TIMESTAMP_INVALID", "e", nil},
		{"a time of a number", strings.Replace(ok, `"`+clientTime+`"`, `1`, 1), "ACTION_TIMESTAMP_INVALID", "e", nil},
		{"a number of two meanings", bound("1", "e", `{"x":1.0}`), "ACTION_SEMANTICS_UNDECLARED", "e", nil},
		{"a number that changes", bound("1", "e", `{"x":9007199254740993}`), "ACTION_INVALID|ACTION_SEMANTICS_UNDECLARED", "e", nil},
		{"arguments of a list", bound("1", "e", `[1]`), "ACTION_INVALID", "e", nil},
		{"no tool", strings.Replace(ok, `"name":"charge"`, `"name":7`, 1), "ACTION_INVALID", "e", nil},
		{"a workflow of a number", strings.Replace(ok, `"_meta":{`, `"_meta":{"bindery/workflow_id":7,`, 1), "EXECUTION_CONTEXT_INVALID", "e", nil},
		{"a member of ours that nobody knows", strings.Replace(ok, `"bindery/execution_id"`, `"bindery/executionid"`, 1), "EXECUTION_CONTEXT_INVALID", "", nil},
		{"an id by another case", strings.Replace(ok, `"bindery/execution_id"`, `"Bindery/Execution_id"`, 1), "EXECUTION_CONTEXT_INVALID", "", nil},
		{"an id, and a member that nobody knows", strings.Replace(ok, `"_meta":{`, `"_meta":{"bindery/workflow":"w",`, 1), "EXECUTION_CONTEXT_INVALID", "", nil},
		{"an id by another case in _cmcp", strings.Replace(ok, `"_meta":{"bindery/execution_id"`, `"_cmcp":{"Execution_Id":"e"},"_meta":{"x"`, 1), "EXECUTION_CONTEXT_INVALID", "", nil},
		{"another method in the header", ok, "HEADER_MISMATCH", "e", []string{"Mcp-Method", "tools/list"}},
		{"another tool in the header", ok, "HEADER_MISMATCH", "e", []string{"Mcp-Name", "refund"}},
		{"a parameter that nobody knows", ok, "HEADER_MISMATCH", "e", []string{"Mcp-Param-X", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(w.log())
			r := w.post(c.body, c.headers...)
			d := r.decode(t)
			if r.status != http.StatusOK || !strings.Contains(c.want, d.refused()) || d.refused() == "" || d.Error.Data.SafeNext == "" || string(d.ID) != "1" {
				t.Fatalf("%d %s", r.status, r.body)
			}
			entries := w.log()[before:]
			if len(entries) != 1 || entries[0].Event != audit.EventRefused || entries[0].Reason != d.refused() || entries[0].ExecutionID != c.logged ||
				(c.logged == "") != (entries[0].Digest != "") {
				t.Errorf("logged %+v", entries)
			}
		})
	}
	if got := w.up.bodies(); len(got) != 0 {
		t.Errorf("the upstream got %q", got)
	}
	if d := w.post(ok, "Mcp-Method", "tools/call", "Mcp-Name", "=?base64?Y2hhcmdl?=").decode(t); d.meta["state"] != "succeeded" {
		t.Errorf("the id is no longer free: %+v", d)
	}
}

// sumOfDone is what sha256sum says of the result that TestBound sends.
const sumOfDone = "ba1f3f4ce6b94bae377cdb453146677d17f128f7ac336446af53f8b847927f71"

// bindingOfOrder is the binding of the call that TestBound sends, by hashlib and json of Python: over
// the six members with agent_id key:one, action_type mcp.tools/call and action_scope
// mcp:bank/charge#sha256: with the SHA-256 of {"a":"A","b":1}.
const bindingOfOrder = "sha256:13f2557150bd43694596a8b978ed826ffc7a6af80d83182d0e9cc617719cbf6a"
