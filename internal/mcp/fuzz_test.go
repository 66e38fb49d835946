package mcp_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/mcp"
)

// What Read accepts, encoding/json reads the same way: it finds no other method, id, params,
// tool, arguments or execution. What is put into a message changes nothing else of it.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"c","arguments":{"x":1.0},"_meta":{"bindery/execution_id":"e"}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","method":"tools\/call","params":{"n\u0061me":"c","_cmcp":{"execution_id":"e\\"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":"\\\""},"content":[{"x":[]}]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"\\\\"}}`,
		` [ ] `, `{"jsonrpc":"2.0","method":"x","Method":"y"}`, `{"jsonrpc":"2.0","method":"x","params":null}`,
		"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", `{"jsonrpc":"2.0","method":"x","params":{"a":{"b":[1,{"c":"}]"}]}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		m, _, err := mcp.Read(body, nil, 1<<16)
		if err != nil {
			return
		}
		var peer struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(body, &peer); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		if string(peer.ID) != string(m.ID) && !(peer.ID == nil && string(m.ID) == "null") {
			t.Errorf("id %s, read %s", peer.ID, m.ID)
		}
		if peer.Method != m.Method || string(peer.Params) != string(m.Params.Of(body)) && m.Params.Of(body) != nil ||
			string(peer.Result) != string(m.Result.Of(body)) || string(peer.Error) != string(m.Error.Of(body)) {
			t.Errorf("another message: %+v, read %+v", peer, m)
		}
		call(t, &m)
		answer(t, &m)
		if !bytes.Equal(before, body) {
			t.Error("the message was changed")
		}
	})
}

// call compares what a tools/call says with what encoding/json makes of it, and puts other
// arguments in.
func call(t *testing.T, m *mcp.Message) {
	if m.Method != mcp.CallMethod || m.Params.Absent() || m.Params.Of(m.Body)[0] != '{' {
		return
	}
	c, err := m.Call()
	if err != nil {
		return
	}
	params := object(t, m.Params.Of(m.Body))
	var name string
	_ = json.Unmarshal(params["name"], &name)
	if params["name"] != nil && params["name"][0] == '"' && name != c.Tool {
		t.Errorf("tool %q, read %q", name, c.Tool)
	}
	if string(params["arguments"]) != string(c.Arguments.Of(m.Body)) {
		t.Errorf("arguments %s, read %s", params["arguments"], c.Arguments.Of(m.Body))
	}
	changed := object(t, object(t, m.WithArguments(c, []byte(`{"new":true}`)))["params"])
	params["arguments"] = json.RawMessage(`{"new":true}`)
	if diff := cmp.Diff(params, changed); diff != "" {
		t.Errorf("more than the arguments changed:\n%s", diff)
	}
}

// answer puts an execution into an answer.
func answer(t *testing.T, m *mcp.Message) {
	a, err := m.Answer()
	if err != nil || a.IsError {
		return
	}
	result := a.Result.Of(a.Body)
	changed := object(t, mcp.WithExecution(result, []byte(`{"state":"x"}`)))
	was := object(t, result)
	meta := object(t, changed["_meta"])
	if string(meta[mcp.MetaExecution]) != `{"state":"x"}` {
		t.Errorf("the execution is %s", meta[mcp.MetaExecution])
	}
	delete(meta, mcp.MetaExecution)
	if was["_meta"] != nil && was["_meta"][0] == '{' {
		old := object(t, was["_meta"])
		delete(old, mcp.MetaExecution)
		if diff := cmp.Diff(old, meta); diff != "" {
			t.Errorf("the rest of _meta changed:\n%s", diff)
		}
	}
	delete(was, "_meta")
	delete(changed, "_meta")
	if diff := cmp.Diff(was, changed); diff != "" {
		t.Errorf("the rest changed:\n%s", diff)
	}
}

func object(t *testing.T, b []byte) map[string]json.RawMessage {
	t.Helper()
	o := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return o
}
