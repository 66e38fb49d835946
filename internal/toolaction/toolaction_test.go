package toolaction_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

const at = "2026-09-10T16:30:00Z"

// scopeDigests are hashlib's of Python.
var scopeDigests = map[string]string{
	"EMPTY":    "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
	"ASTRAL":   "04208f6cdb854e2ab1b07dd3633a39dec854344fe72824cf7f2fdb4e2e33129e",
	"GOVERNED": "2372fd8044f46b0634703df0f10bcda41ab13d0e4fa3d96e82aa5784048fc218",
	"BELOW":    "3f7519e8cfb0b19d27d214b9fa1f40af01ac9c15744522332883973a7cada83f",
	"TEMPLATE": "09205d0ff37bfbc9fb7be25a4c2bd2ecbfe7b8ffd6e5056b57c3560f0fecd65c",
}

// value parses what is not ours, as a gateway does.
func value(t testing.TB, text string) jcs.Value {
	t.Helper()
	v, err := jcs.Profile{Numbers: jcs.DoubleNumbers}.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func declare(t testing.TB, text string) toolaction.Declaration {
	t.Helper()
	d, err := toolaction.ParseDeclaration(value(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// tool is pay at bank with this input schema and declaration.
func tool(t testing.TB, schema, declaration string) toolaction.Tool {
	t.Helper()
	return toolaction.Tool{Upstream: "bank", Name: "pay", InputSchema: value(t, schema), Declaration: declare(t, declaration)}
}

func adapt(t testing.TB, tool toolaction.Tool, arguments string) toolaction.Adapted {
	t.Helper()
	a, err := tool.Adapt("agent", at, []byte(arguments))
	if err != nil {
		t.Fatalf("%s: %v", arguments, err)
	}
	return a
}

func refused(t testing.TB, tool toolaction.Tool, arguments, name, pointer string) {
	t.Helper()
	a, err := tool.Adapt("agent", at, []byte(arguments))
	var refusal *toolaction.Error
	if !errors.As(err, &refusal) || refusal.Name != name || refusal.Pointer != pointer || refusal.Rule == "" || refusal.Try == "" {
		t.Errorf("%s: %v, want %s at %q", arguments, err, name, pointer)
	}
	if a.Action != (actionbinding.Action{}) || a.Arguments != nil {
		t.Errorf("%s: refused and adapted", arguments)
	}
}

// The digests are hashlib's, of the canonical bytes in the comment beside each.
//
// covers EXA-013, EXA-075, EXA-076
func TestScope(t *testing.T) {
	const merchant = "3fdb184684dc1d153ce81beef5fa47656885f66a29af029ea46131e8899a117a" // {"amount":5,"to":"merchant-7"}
	open := toolaction.Tool{Upstream: "bank", Name: "pay"}
	for _, c := range []struct {
		what      string
		tool      toolaction.Tool
		arguments string
		scope     string
	}{
		{"the default", open, `{ "to": "merchant-7", "amount": 5 }`, "mcp:bank/pay#sha256:" + merchant},
		{"no arguments", open, `{}`, "mcp:bank/pay#sha256:EMPTY"},
		{"names", toolaction.Tool{Upstream: "a/b:c", Name: "d#e%2F|é~._-Z0 "}, `{}`, "mcp:a%2Fb%3Ac/d%23e%252F%7C%C3%A9~._-Z0%20#sha256:EMPTY"},
		// {"😀":1,"\ue000":2}: U+1F600 is before U+E000 in UTF-16 and after it in code points
		{"astral names", open, `{"\ue000":2,"\ud83d\ude00":1}`, "mcp:bank/pay#sha256:ASTRAL"},
		// [["/amount"],["/to","merchant-7"]]
		{"some arguments", tool(t, `{}`, `{"governed":["/to","/amount"]}`), `{"to":"merchant-7","note":"x"}`, "mcp:bank/pay#sha256:GOVERNED"},
		// [["/a~1b/1",null]]
		{"below an argument", tool(t, `{}`, `{"governed":["/a~1b/1"]}`), `{"a/b":[0,null]}`, "mcp:bank/pay#sha256:BELOW"},
		{"a template", tool(t, `{}`, `{"scope":"{upstream}.{tool}/account:{/to} x{/amount}{/ok}"}`), `{"to":"a b|c","amount":5,"ok":true}`, "bank.pay/account:a%20b%7Cc x5true|mcp:bank/pay#sha256:TEMPLATE"},
	} {
		for word, hex := range scopeDigests {
			c.scope = strings.Replace(c.scope, word, hex, 1)
		}
		a := adapt(t, c.tool, c.arguments)
		if a.Action.Scope() != c.scope {
			t.Errorf("%s: scope %s, want %s", c.what, a.Action.Scope(), c.scope)
		}
		if a.Action.Type() != "mcp.tools/call" || a.Action.AgentID() != "agent" || a.Action.Timestamp() != at || a.Semantics != toolaction.CanonicalSpelling {
			t.Errorf("%s: %+v", c.what, a)
		}
	}
	none, err := open.Adapt("agent", at, nil)
	if err != nil || none.Action != adapt(t, open, `{}`).Action || string(none.Arguments) != `{}` {
		t.Errorf("no arguments at all: %s, %v", none.Arguments, err)
	}
	if a := adapt(t, tool(t, `{}`, `{"action_type":"payments.transfer"}`), `{}`); a.Action.Type() != "payments.transfer" {
		t.Errorf("type %s", a.Action.Type())
	}
}

// covers EXA-013
func TestRefusals(t *testing.T) {
	open := toolaction.Tool{Upstream: "bank", Name: "pay"}
	for _, c := range [][2]string{
		{``, ""}, {`[]`, ""}, {`null`, ""}, {`"x"`, ""}, {`{} {}`, ""}, {`{"a":1,"a":1}`, "/a"}, {`{"a":{"b":1,"\u0062":2}}`, "/a/b"},
		{"{\"a\":\"\xff\"}", "/a"}, {`{"a":"\ud800"}`, "/a"}, {`{"a":01}`, "/a"}, {`{"a":tru}`, ""}, {`{"a":NaN}`, "/a"}, {"\ufeff{}", ""},
	} {
		refused(t, open, c[0], toolaction.Invalid, c[1])
	}
	deep := strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64)
	adapt(t, open, deep)
	refused(t, open, `{"a":`+deep+"}", toolaction.Invalid, strings.Repeat("/a", 64))
	for _, bad := range []string{"", "2026-09-10T16:30:00.0Z", "2026-09-10 16:30:00Z", "now"} {
		_, err := open.Adapt("agent", bad, []byte(`{}`))
		var refusal *toolaction.Error
		if !errors.As(err, &refusal) || refusal.Name != toolaction.TimestampInvalid {
			t.Errorf("timestamp %q: %v", bad, err)
		}
	}
	for _, c := range []struct {
		tool  toolaction.Tool
		agent string
	}{{open, ""}, {open, "\xff"}, {toolaction.Tool{Upstream: "bank"}, "agent"}, {toolaction.Tool{Name: "pay"}, "agent"}, {toolaction.Tool{Upstream: "bank", Name: strings.Repeat("/", 3000)}, "agent"}} {
		_, err := c.tool.Adapt(c.agent, at, []byte(`{}`))
		var refusal *toolaction.Error
		if !errors.As(err, &refusal) || refusal.Name != toolaction.Invalid {
			t.Errorf("%q of %q: %v", c.agent, c.tool.Name, err)
		}
	}
	templated := tool(t, `{}`, `{"scope":"account:{/to}"}`)
	for _, arguments := range []string{`{}`, `{"to":null}`, `{"to":{}}`, `{"to":[]}`} {
		refused(t, templated, arguments, toolaction.Invalid, "/to")
	}
	_, err := open.Adapt("agent", at, []byte(`{"secret":1,"secret":2}`))
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("a text of the sender is in %q", err)
	}
	_, err = open.Adapt("agent", at, []byte(`{"`+strings.Repeat("x", 600)+`":01}`))
	var refusal *toolaction.Error
	if !errors.As(err, &refusal) || refusal.Pointer != "" {
		t.Error("a pointer of 600 bytes is told")
	}
}

// Two calls whose governed arguments differ never have one action; calls that differ elsewhere do.
//
// covers EXA-013, EXA-028, EXA-075
func TestInjective(t *testing.T) {
	documents := []string{
		`{}`, `{"a":null}`, `{"a":1}`, `{"a":"1"}`, `{"a":true}`, `{"a":"true"}`, `{"a":[]}`, `{"a":{}}`, `{"a":[1]}`, `{"a":[[1]]}`, `{"a":{"0":1}}`,
		`{"a":""}`, `{"a":" "}`, `{"b":1}`, `{"a":1,"b":null}`, `{"a":1,"b":1}`, `{"a":{"b":1}}`, `{"A":1}`, `{"a":0}`, `{"a":0.1}`, `{"a":1e+21}`,
		"{\"a\":\"caf\u00e9\"}", "{\"a\":\"cafe\u0301\"}", "{\"caf\u00e9\":1}", "{\"cafe\u0301\":1}", `{"/a":1}`, `{"a":"\u0000"}`, `{"a":9007199254740992}`, `{"a":9007199254740994}`,
	}
	type call struct{ upstream, name, arguments, declaration string }
	var calls []call
	for _, names := range [][2]string{{"bank", "pay"}, {"bank/pay", ""}, {"", "bank/pay"}, {"bank", "pay/x"}, {"bank/pay", "x"}, {"bank%2Fpay", "x"}, {"bank", "Pay"}, {"bank", "pay#sha256:"}} {
		if names[0] == "" || names[1] == "" {
			continue
		}
		for _, arguments := range documents {
			calls = append(calls, call{names[0], names[1], arguments, `{}`})
		}
	}
	for _, arguments := range documents {
		calls = append(calls, call{"bank", "pay", arguments, `{"governed":["/a","/b","/A","/café","/cafe` + "\u0301" + `","/~1a"]}`})
		calls = append(calls, call{"bank", "pay", arguments, `{"scope":"mcp:bank/{tool}"}`})
	}
	seen := map[actionbinding.Action]call{}
	for _, c := range calls {
		made := toolaction.Tool{Upstream: c.upstream, Name: c.name, Declaration: declare(t, c.declaration)}
		a := adapt(t, made, c.arguments)
		if other, known := seen[a.Action]; known {
			t.Errorf("%+v and %+v have one action", c, other)
		}
		seen[a.Action] = c
	}
	some := tool(t, `{}`, `{"governed":["/a"]}`)
	if x, y := adapt(t, some, `{"a":1,"note":"x"}`), adapt(t, some, `{"a":1,"note":"y"}`); x.Action != y.Action || bytes.Equal(x.Arguments, y.Arguments) {
		t.Error("what does not govern tells operations apart, or is not forwarded")
	}
	if x, y := adapt(t, some, `{}`), adapt(t, some, `{"a":null}`); x.Action == y.Action {
		t.Error("absent is null")
	}
}

// covers EXA-075
func FuzzInjective(f *testing.F) {
	for _, seed := range [][4]string{
		{"bank", "pay", `{"a":1}`, `{"a":2}`}, {"a/b", "c", `{"x":"\u00e9"}`, `{"x":"é"}`}, {"a", "b/c", `{"a":1.0}`, `{"a":1}`},
		{"a", "b", `{"n":[1,2.50]}`, `{"n":[1,2.5]}`}, {"a", "b", `{"n":-0}`, `{"n":0}`}, {"a%2F", "b", `{"a":9007199254740993}`, `{"a":9007199254740992}`},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	schema := value(f, `{"additionalProperties":{"type":["number","string","array","object"],"items":{"type":"number"}}}`)
	f.Fuzz(func(t *testing.T, upstream, name, one, two string) {
		x := toolaction.Tool{Upstream: upstream, Name: name, InputSchema: schema}
		a, errA := x.Adapt("agent", at, []byte(one))
		b, errB := x.Adapt("agent", at, []byte(two))
		if errA != nil || errB != nil {
			return
		}
		if (a.Action == b.Action) != bytes.Equal(a.Arguments, b.Arguments) {
			t.Errorf("%q and %q: one action and two treatments, or the reverse", one, two)
		}
		again, err := x.Adapt("agent", at, a.Arguments)
		if err != nil || again.Action != a.Action || !bytes.Equal(again.Arguments, a.Arguments) {
			t.Errorf("%q: what is forwarded is another call: %v", one, err)
		}
		y := toolaction.Tool{Upstream: name, Name: upstream, InputSchema: schema}
		if c, err := y.Adapt("agent", at, []byte(one)); err == nil && (c.Action == a.Action) != (upstream == name) {
			t.Errorf("%q and %q change places unseen", upstream, name)
		}
	})
}

func TestRequiresID(t *testing.T) {
	entry := func(annotations string) toolaction.Tool {
		made, err := toolaction.ReadTool("bank", value(t, `{"name":"pay","inputSchema":{"type":"object"},"annotations":`+annotations+`}`))
		if err != nil || made.Upstream != "bank" || made.Name != "pay" || made.InputSchema.Type() != jcs.ObjectType {
			t.Fatalf("%+v, %v", made, err)
		}
		return made
	}
	for _, c := range []struct {
		annotations string
		destructive bool // what RequireDestructive makes of it
	}{
		{`{}`, true}, {`null`, true}, {`7`, true}, {`{"readOnlyHint":"true"}`, true}, {`{"readOnlyHint":true}`, false}, {`{"readOnlyHint":false}`, true},
		{`{"destructiveHint":false}`, true}, {`{"destructiveHint":false,"idempotentHint":true}`, false}, {`{"idempotentHint":true}`, true},
		{`{"destructiveHint":false,"idempotentHint":null}`, true}, {`{"destructiveHint":true,"idempotentHint":true}`, true},
	} {
		for _, r := range []struct {
			word        string
			declaration string
			want        bool
		}{
			{"none", `{}`, false}, {"destructive", `{}`, c.destructive}, {"all", `{}`, true},
			{"none", `{"require_execution_id":true}`, true}, {"destructive", `{"require_execution_id":true}`, true},
			{"all", `{"require_execution_id":false}`, false}, {"destructive", `{"require_execution_id":false}`, false},
		} {
			made := entry(c.annotations)
			made.Declaration = declare(t, r.declaration)
			var ok bool
			if made.Require, ok = toolaction.ParseRequire(r.word); !ok {
				t.Fatal(r.word)
			}
			if made.RequiresID() != r.want {
				t.Errorf("%s under %s with %s: %v", c.annotations, r.word, r.declaration, !r.want)
			}
		}
	}
	if _, ok := toolaction.ParseRequire("some"); ok {
		t.Error("some is no word")
	}
	for _, bad := range []string{`{}`, `{"name":""}`, `{"name":1}`, `[]`, `"x"`} {
		if _, err := toolaction.ReadTool("bank", value(t, bad)); !errors.Is(err, toolaction.ErrTool) {
			t.Errorf("%s is a tool", bad)
		}
	}
}

// covers EXA-013
func TestDeclarationRefuses(t *testing.T) {
	for _, c := range [][2]string{
		{`[]`, ""}, {`{"action":"x"}`, "/action"}, {`{"action_type":""}`, "/action_type"}, {`{"action_type":1}`, "/action_type"},
		{`{"action_type":"` + strings.Repeat("x", 257) + `"}`, "/action_type"},
		{`{"governed":[]}`, "/governed"}, {`{"governed":"/a"}`, "/governed"}, {`{"governed":[""]}`, "/governed"}, {`{"governed":["a"]}`, "/governed"},
		{`{"governed":["/a~2"]}`, "/governed"}, {`{"governed":["/a~"]}`, "/governed"}, {`{"governed":["/a","/a"]}`, "/governed"}, {`{"governed":[1]}`, "/governed"},
		{`{"governed":["` + "/" + strings.Repeat("x", 512) + `"]}`, "/governed"}, {`{"governed":["/a"` + strings.Repeat(`,"/a"`, 64) + `]}`, "/governed"},
		{`{"scope":""}`, "/scope"}, {`{"scope":"a|b"}`, "/scope"}, {`{"scope":"é"}`, "/scope"}, {`{"scope":"a{"}`, "/scope"}, {`{"scope":"a}"}`, "/scope"}, {`{"scope":"{}"}`, "/scope"},
		{`{"scope":"{a}"}`, "/scope"}, {`{"scope":"{/to}","governed":["/amount"]}`, "/scope"}, {`{"scope":"{/top}","governed":["/to"]}`, "/scope"}, {`{"scope":"` + strings.Repeat("x", 1025) + `"}`, "/scope"},
		{`{"numbers":"same"}`, "/numbers"}, {`{"numbers":true}`, "/numbers"}, {`{"numbers":{"a":"equal"}}`, "/numbers"}, {`{"numbers":{"/a":"same"}}`, "/numbers"}, {`{"numbers":["equal"]}`, "/numbers"},
		{`{"require_execution_id":1}`, "/require_execution_id"}, {`{"require_execution_id":null}`, "/require_execution_id"},
		{`{"status":null}`, "/status"}, {`{"status":{}}`, "/status/tool"},
	} {
		_, err := toolaction.ParseDeclaration(value(t, c[0]))
		var fault *jcs.MemberError
		if !errors.As(err, &fault) || fault.Pointer != c[1] {
			t.Errorf("%s: %v, want a fault at %q", c[0], err, c[1])
		}
	}
	d := declare(t, `{"governed":["/to/account"],"scope":"{/to/account}","numbers":{"/a":"equal","/a/b":"distinct"}}`)
	if got := d.Governed(); len(got) != 1 || got[0] != "/to/account" || d.Status() != nil || d.Type() != toolaction.DefaultType {
		t.Errorf("%v", got)
	}
}
