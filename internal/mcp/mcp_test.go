package mcp_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/mcp"
)

const limit = 1 << 20

func read(t *testing.T, body string) mcp.Message {
	t.Helper()
	m, _, err := mcp.Read([]byte(body), nil, limit)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return m
}

// The kinds, and ids as the tokens they came as.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		body   string
		kind   mcp.Kind
		id     string
		method string
	}{
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`, mcp.Request, `7`, "tools/call"},
		{` { "params" : null , "method" : "ping" , "id" : "a" , "jsonrpc" : "2.0" } `, mcp.Request, `"a"`, "ping"},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}`, mcp.Request, `9007199254740993`, "x"},
		{`{"jsonrpc":"2.0","id":-1,"method":"x"}`, mcp.Request, `-1`, "x"},
		{`{"jsonrpc":"2.0","id":"","method":"x"}`, mcp.Request, `""`, "x"},
		{`{"jsonrpc":"2.0","id":"\u0061\\","method":"no/such"}`, mcp.Request, `"\u0061\\"`, "no/such"},
		{`{"jsonrpc":"2.0","m\u0065thod":"tools\/call","id":1}`, mcp.Request, `1`, "tools/call"},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, mcp.Notification, ``, "notifications/initialized"},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, mcp.Response, `1`, ""},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`, mcp.Response, `null`, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"x","later":[{"method":"y"}]}`, mcp.Request, `1`, "x"},
	} {
		m := read(t, c.body)
		if m.Kind != c.kind || string(m.ID) != c.id || m.Method != c.method {
			t.Errorf("%s: kind %d, id %s, method %q", c.body, m.Kind, m.ID, m.Method)
		}
	}
}

// What is no message, by name and place; the id is given where it could be read.
func TestReadRefuses(t *testing.T) {
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`
	}
	read(t, deep(62)) // 64 with the two objects around it
	for _, c := range []struct{ body, name, rule, id string }{
		{``, mcp.Malformed, "unexpected end", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"x"`, mcp.Malformed, "", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"x"} {}`, mcp.Malformed, "", ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", mcp.Malformed, "UTF-8", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, mcp.Malformed, "surrogate", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`, mcp.Malformed, "repeated", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/call"}`, mcp.Malformed, "repeated", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"b":1,"b":2}}}`, mcp.Malformed, "repeated", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1e400}}`, mcp.Malformed, "", ""},
		{deep(63), mcp.Malformed, "deep", ""},
		{`[{"jsonrpc":"2.0","id":1,"method":"x"}]`, mcp.Batch, "batch", ""},
		{`[]`, mcp.Batch, "batch", ""},
		{`"x"`, mcp.Invalid, "not an object", ""},
		{`{}`, mcp.Invalid, "jsonrpc", ""},
		{`{"id":1,"method":"x"}`, mcp.Invalid, "jsonrpc", "1"},
		{`{"jsonrpc":2.0,"id":1,"method":"x"}`, mcp.Invalid, "jsonrpc", "1"},
		{`{"jsonrpc":"2.0","id":null,"method":"x"}`, mcp.Invalid, "id is null", ""},
		{`{"jsonrpc":"2.0","id":true,"method":"x"}`, mcp.Invalid, "neither", ""},
		{`{"jsonrpc":"2.0","id":{},"method":"x"}`, mcp.Invalid, "neither", ""},
		{`{"jsonrpc":"2.0","id":[1],"method":"x"}`, mcp.Invalid, "neither", ""},
		{`{"jsonrpc":"2.0","id":1.5,"method":"x"}`, mcp.Invalid, "integer", ""},
		{`{"jsonrpc":"2.0","id":1.0,"method":"x"}`, mcp.Invalid, "integer", ""},
		{`{"jsonrpc":"2.0","id":1e0,"method":"x"}`, mcp.Invalid, "integer", ""},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("a", 511) + `","method":"x"}`, mcp.Invalid, "512", ""},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, mcp.Invalid, "method", "1"},
		{`{"jsonrpc":"2.0","id":1,"method":3}`, mcp.Invalid, "method", "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}`, mcp.Invalid, "params", "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","params":"p"}`, mcp.Invalid, "params", "1"},
		{`{"jsonrpc":"2.0","id":1}`, mcp.Invalid, "not one of", "1"},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, mcp.Invalid, "not one of", "1"},
		{`{"jsonrpc":"2.0","id":1,"method":"x","result":{}}`, mcp.Invalid, "both", "1"},
		{`{"jsonrpc":"2.0","result":{}}`, mcp.Invalid, "without an id", ""},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, mcp.Invalid, "id is null", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`, mcp.Ambiguous, "case", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","param\u017f":{}}`, mcp.Ambiguous, "case", ""},
		{`{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"charge"}}`, mcp.Ambiguous, "case", "1"},
		{`{"jsonrpc":"2.0","method":"tool\u017f/call","params":{"name":"charge"}}`, mcp.Ambiguous, "case", ""},
	} {
		_, _, err := mcp.Read([]byte(c.body), nil, limit)
		var f *mcp.Fault
		if !errors.As(err, &f) || f.Name != c.name || !strings.Contains(f.Rule, c.rule) || string(f.ID) != c.id {
			t.Errorf("%s: %v, id %q; want %s, %q, id %q", c.body, err, idOf(f), c.name, c.rule, c.id)
		}
	}
	_, _, err := mcp.Read([]byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`), nil, 8)
	var f *mcp.Fault
	if !errors.As(err, &f) || f.Name != mcp.Large {
		t.Errorf("beyond the limit: %v", err)
	}
}

func idOf(f *mcp.Fault) []byte {
	if f == nil {
		return nil
	}
	return f.ID
}

// The execution is named in _meta or as cMCP has it, and only there.
//
// covers EXA-044, EXA-047, EXA-049
func TestCallContext(t *testing.T) {
	call := func(params string) mcp.Call {
		t.Helper()
		m := read(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`)
		c, err := m.Call()
		if err != nil {
			t.Fatalf("%s: %v", params, err)
		}
		return c
	}
	c := call(`{"name":"charge","arguments":{"cents":1},"_meta":{"bindery/execution_id":"e-1","bindery/action_timestamp":"t","bindery/workflow_id":"w"}}`)
	if c.Tool != "charge" || c.Context.ExecutionID.Text != "e-1" || c.Context.ActionTimestamp.Text != "t" || c.Context.WorkflowID.Text != "w" || c.Context.Conflict != "" {
		t.Errorf("_meta: %+v", c)
	}
	c = call(`{"name":"charge","_cmcp":{"execution_id":"e\u002d1","workflow_id":"w"}}`)
	if c.Context.ExecutionID.Text != "e-1" || c.Context.WorkflowID.Text != "w" || c.Context.ActionTimestamp.Set {
		t.Errorf("_cmcp: %+v", c)
	}
	c = call(`{"name":"charge","_meta":{"bindery/execution_id":"e"},"_cmcp":{"execution_id":"e"}}`)
	if c.Context.ExecutionID.Text != "e" || c.Context.Conflict != "" {
		t.Errorf("both alike: %+v", c)
	}
	for params, member := range map[string]string{
		`{"name":"c","_meta":{"bindery/execution_id":"e"},"_cmcp":{"execution_id":"f"}}`:         "execution_id",
		`{"name":"c","_cmcp":{"execution_id":"e"},"_meta":{"bindery/execution_id":null}}`:        "execution_id",
		`{"name":"c","_meta":{"bindery/action_timestamp":"e"},"_cmcp":{"action_timestamp":"f"}}`: "action_timestamp",
		`{"name":"c","_meta":{"bindery/workflow_id":"e"},"_cmcp":{"workflow_id":1}}`:             "workflow_id",
	} {
		if c := call(params); c.Context.Conflict != member {
			t.Errorf("%s: conflict %q", params, c.Context.Conflict)
		}
	}
	for _, params := range []string{
		`{"name":"c","execution_id":"e","arguments":{"execution_id":"e","_meta":{"bindery/execution_id":"e"}}}`,
		`{"name":"c","_meta":{"execution_id":"e","x":{"bindery/execution_id":"e"}},"_cmcp":"execution_id"}`,
		`{"name":"c","_meta":["bindery/execution_id","e"]}`,
		`{"name":"c","_meta":{"Bindery/execution_id":"e"}}`,
		`null`,
	} {
		if c := call(params); c.Context.ExecutionID.Set {
			t.Errorf("%s: taken for an execution_id", params)
		}
	}
	for params, stray := range map[string]string{
		`{"name":"c","_meta":{"bindery/executionid":"e"}}`:                         `"bindery/executionid"`,
		`{"name":"c","_meta":{"bindery/execution_id":"e","BINDERY/Workflow":1}}`:   `"BINDERY/Workflow"`,
		`{"name":"c","_meta":{"bindery\u002fx":1}}`:                                `"bindery\u002fx"`,
		`{"name":"c","_meta":{"bindery/execution_id":"e","binder":1,"bindery":2}}`: "",
		`{"name":"c","_cmcp":{"executionid":"e"},"arguments":{"bindery/x":1}}`:     "",
		`{"name":"c","_cmcp":{"Execution_Id":"e"}}`:                                `"Execution_Id"`,
		`{"name":"c","_cmcp":{"workflow_id":"w","ACTION\u005ftimestamp":1}}`:       `"ACTION\u005ftimestamp"`,
		`{"name":"c","_meta":{"Execution_Id":"e"}}`:                                "",
	} {
		if c := call(params); string(c.Context.Stray) != stray {
			t.Errorf("%s: stray %q", params, c.Context.Stray)
		}
	}
	for _, raw := range []string{`null`, `7`, `{"a":1}`, `true`} {
		c := call(`{"name":"c","_meta":{"bindery/execution_id":` + raw + `}}`)
		if f := c.Context.ExecutionID; !f.Set || f.String() || string(f.Raw) != raw {
			t.Errorf("%s: %+v", raw, f)
		}
	}
	if c := call(`{"name":"c","requestState":"s\u0041","inputResponses":{}}`); !c.Continues || c.RequestState.Absent() || c.InputResponses.Absent() {
		t.Errorf("continuation: %+v", c)
	}
	if c := call(`{"name":"c","task":{"ttl":1}}`); c.Continues {
		t.Errorf("task: %+v", c)
	}
	m := read(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}`)
	var f *mcp.Fault
	if _, err := m.Call(); !errors.As(err, &f) || f.Name != mcp.Ambiguous {
		t.Errorf("a Name beside name: %v", err)
	}
	m = read(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_CMCP":{"execution_id":"b"}}}`)
	if _, err := m.Call(); !errors.As(err, &f) || f.Name != mcp.Ambiguous {
		t.Errorf("a _CMCP: %v", err)
	}
	m = read(t, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","_meta":{"bindery/execution_id":"e"}}}`)
	if c, err := m.Call(); err != nil || c.Tool != "" || c.Context.ExecutionID.Set {
		t.Errorf("another method: %+v, %v", c, err)
	}
}

// Only the value of params.arguments changes.
//
// covers EXA-067
func TestWithArguments(t *testing.T) {
	const args = `{"x":1}`
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0", "id":1,"method":"tools/call","params":{ "name":"c","arguments" : { "x" : 1.0 } ,"z":"\u0041"}}`: `{"jsonrpc":"2.0", "id":1,"method":"tools/call","params":{ "name":"c","arguments" : {"x":1} ,"z":"\u0041"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"argument\u0073":7,"name":"c"}}`:                          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"argument\u0073":{"x":1},"name":"c"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"c"}}`:                                             `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"x":1},"name":"c"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{ }}`:                                                      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"x":1} }}`,
	} {
		m := read(t, in)
		c, err := m.Call()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.WithArguments(c, []byte(args))); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
		if string(m.Body) != in {
			t.Errorf("%s: was changed in place", in)
		}
	}
}

// What an answer means.
func TestReadAnswer(t *testing.T) {
	for _, c := range []struct {
		body      string
		isError   bool
		toolError bool
		kind      string
		state     string
		task      string
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, false, false, mcp.Complete, "", ""},
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`, false, true, mcp.Complete, "", ""},
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"isError":true}],"isError":false}}`, false, false, mcp.Complete, "", ""},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}`, true, false, mcp.Complete, "", ""},
		{`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`, false, false, mcp.Complete, "", ""},
		{`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`, false, false, mcp.InputRequired, `s`, ""},
		{`{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"t1","status":"working"}}`, false, false, mcp.TaskCreated, "", "t1"},
		{`{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","task":{"taskId":"t3"}}}`, false, false, mcp.TaskCreated, "", "t3"},
		{`{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t2","status":"working"}}}`, false, false, mcp.TaskCreated, "", "t2"},
		{`{"jsonrpc":"2.0","id":1,"result":{"resultType":"surprise"}}`, false, false, "surprise", "", ""},
		{`{"jsonrpc":"2.0","id":1,"result":{"isError":null,"resultType":null,"requestState":null,"task":null,"_meta":null}}`, false, false, mcp.Complete, "", ""},
	} {
		a, _, err := mcp.ReadAnswer([]byte(c.body), nil, limit)
		if err != nil || a.IsError != c.isError || a.ToolError != c.toolError || a.ResultType != c.kind || a.RequestState != c.state || a.TaskID != c.task {
			t.Errorf("%s: %v, %+v", c.body, err, a)
		}
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"result":7}`,
		`{"jsonrpc":"2.0","id":1,"error":"x"}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":7}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"task"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"task":{}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`,
	} {
		if _, _, err := mcp.ReadAnswer([]byte(body), nil, limit); err == nil {
			t.Errorf("%s: taken for an answer", body)
		}
	}
	task := mcp.ReadTask([]byte(`{"taskId":"t","status":"completed","result":{"content":[]}}`))
	if task.ID != "t" || task.Status != "completed" || string(task.Result) != `{"content":[]}` || task.Error != nil {
		t.Errorf("task: %+v", task)
	}
	if task := mcp.ReadTask([]byte(`{"taskId":"t","status":"failed","result":null,"error":{"code":1}}`)); task.Result != nil || string(task.Error) != `{"code":1}` {
		t.Errorf("a task that has failed: %+v", task)
	}
}

// The execution of an answer stands in _meta, and nothing else changes; what the upstream has
// put in its place goes.
func TestWithExecution(t *testing.T) {
	const mine = `{"state":"succeeded"}`
	for in, want := range map[string]string{
		`{ "content" : [ ] }`:         `{"_meta":{"bindery/execution":{"state":"succeeded"}}, "content" : [ ] }`,
		`{}`:                          `{"_meta":{"bindery/execution":{"state":"succeeded"}}}`,
		`{"a":1,"_meta":{ "b" : 2 }}`: `{"a":1,"_meta":{"bindery/execution":{"state":"succeeded"}, "b" : 2 }}`,
		`{"_meta":{}}`:                `{"_meta":{"bindery/execution":{"state":"succeeded"}}}`,
		`{"_meta":null,"a":1}`:        `{"_meta":{"bindery/execution":{"state":"succeeded"}},"a":1}`,
		`{"_meta":{"x":1,"bindery\/execution":{"state":"f"}}}`:    `{"_meta":{"x":1,"bindery\/execution":{"state":"succeeded"}}}`,
		`{"structuredContent":{"_meta":{"bindery/execution":1}}}`: `{"_meta":{"bindery/execution":{"state":"succeeded"}},"structuredContent":{"_meta":{"bindery/execution":1}}}`,
	} {
		if got := string(mcp.WithExecution([]byte(in), []byte(mine))); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"code":1,"message":"m"}`:                `{"data":{"bindery/execution":{"state":"succeeded"}},"code":1,"message":"m"}`,
		`{"code":1,"message":"m","data":{"a":1}}`: `{"code":1,"message":"m","data":{"bindery/execution":{"state":"succeeded"},"a":1}}`,
		`{"code":1,"message":"m","data":"text"}`:  `{"code":1,"message":"m","data":"text"}`,
	} {
		if got := string(mcp.WithExecutionData([]byte(in), []byte(mine))); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	if got := string(mcp.ResultAnswer([]byte(`9007199254740993`), []byte(`{}`))); got != `{"jsonrpc":"2.0","id":9007199254740993,"result":{}}` {
		t.Error(got)
	}
	member := mcp.ErrorMember(-32003, "m", []byte(`{"error":"X"}`))
	if got := string(mcp.ErrorAnswer(nil, member)); got != `{"jsonrpc":"2.0","id":null,"error":{"code":-32003,"data":{"error":"X"},"message":"m"}}` {
		t.Error(got)
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`1`, `1`, true}, {`"a"`, `"\u0061"`, true}, {`1`, `"1"`, false}, {`1`, `2`, false}, {`"a"`, `"A"`, false},
		{`9007199254740993`, `9007199254740992`, true}, {`1`, `1.0`, true}, {`1`, `null`, false},
	} {
		if mcp.SameID([]byte(c.a), []byte(c.b)) != c.same {
			t.Errorf("%s and %s: same is not %v", c.a, c.b, c.same)
		}
	}
}

// Reading takes no memory that grows with the message.
func TestReadAllocates(t *testing.T) {
	body := []byte(`{"method":"tools/list","params":{"x":"` + strings.Repeat("y", 100_000) + `"},"jsonrpc":"2.0","id":1}`)
	scratch := make([]byte, 0, len(body))
	per := testing.AllocsPerRun(20, func() {
		_, s, err := mcp.Read(body, scratch, limit)
		if err != nil || &s[0] != &scratch[:1][0] {
			t.Fatal("it took memory of its own")
		}
	})
	if per > 8 { // three, and more under the race detector
		t.Errorf("%v allocations for one message", per)
	}
	if !bytes.HasPrefix(body, []byte(`{"method"`)) {
		t.Error("the message was changed")
	}
}

// The tasks that a request is about, and what could be taken for them.
func TestRequestTasks(t *testing.T) {
	for params, want := range map[string]string{
		`{}`:                                    `[]`,
		`null`:                                  `[]`,
		`{"taskId":"a\u0062"}`:                  `[ab]`,
		`{"taskIds":[ ]}`:                       `[]`,
		`{"taskIds":[ "a" , "b"],"taskId":"c"}`: `[c a b]`,
		`{"notifications":{"taskIds":["a"],"other":[1]}}`: `[a]`,
		`{"x":{"taskId":"a"}}`:                            `[]`,
		`{"TaskId":"a"}`:                                  mcp.Ambiguous,
		`{"taskId":"a","taskid":"b"}`:                     mcp.Ambiguous,
		`{"notifications":{"TASKIDS":[]}}`:                mcp.Ambiguous,
		`{"Notifications":{"taskIds":[]}}`:                mcp.Ambiguous,
		`{"taskId":7}`:                                    mcp.Invalid,
		`{"taskIds":"a"}`:                                 mcp.Invalid,
		`{"taskIds":["a",{"b":"c"}]}`:                     mcp.Invalid,
		`{"notifications":{"taskIds":null}}`:              mcp.Invalid,
	} {
		m := read(t, `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":`+params+`}`)
		ids, err := m.Tasks()
		got := fmt.Sprint(ids)
		var f *mcp.Fault
		if errors.As(err, &f) {
			got = f.Name
		}
		if got != want {
			t.Errorf("%s: %s", params, got)
		}
	}
}
