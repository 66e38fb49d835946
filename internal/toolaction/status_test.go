package toolaction_test

import (
	"errors"
	"testing"

	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

const query = `"tool":"get_payment","arguments":{"reference":{"$execution_id":true},"since":{"$action_timestamp":true},"to":[{"$argument":"/to/account"},1],"deep":{"a":null}},` +
	`"succeeded":{"pointer":"/structuredContent/state","equals":"paid"}`

func status(t *testing.T, text string) *toolaction.Status {
	t.Helper()
	s := declare(t, `{"status":{`+text+`}}`).Status()
	if s == nil {
		t.Fatalf("%s: no status", text)
	}
	return s
}

// covers EXA-072
func TestStatusArguments(t *testing.T) {
	s := status(t, query)
	facts := toolaction.Facts{ExecutionID: "exec-1", ActionTimestamp: at, Arguments: []byte(`{"to":{"account":{"n":0.5}}}`)}
	got, err := s.Arguments(facts)
	if want := `{"deep":{"a":null},"reference":"exec-1","since":"2026-09-10T16:30:00Z","to":[{"n":0.5},1]}`; err != nil || string(got) != want || s.Tool() != "get_payment" {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	for what, change := range map[string]func(*toolaction.Facts){
		"no id":           func(f *toolaction.Facts) { f.ExecutionID = "" },
		"no time":         func(f *toolaction.Facts) { f.ActionTimestamp = "" },
		"nothing kept":    func(f *toolaction.Facts) { f.Arguments = nil },
		"no such":         func(f *toolaction.Facts) { f.Arguments = []byte(`{"to":{}}`) },
		"no JSON":         func(f *toolaction.Facts) { f.Arguments = []byte(`{"to":`) },
		"another account": func(f *toolaction.Facts) { f.Arguments = []byte(`{"to":{"Account":1}}`) },
	} {
		lacking := facts
		change(&lacking)
		if got, err := s.Arguments(lacking); !errors.Is(err, toolaction.ErrFacts) || got != nil {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
}

// An answer says succeeded or failed, or nothing; nothing is evidence of nothing.
//
// covers EXA-027, EXA-072
func TestStatusRead(t *testing.T) {
	both := query + `,"failed":{"pointer":"/structuredContent/state","equals":"rejected"}`
	for _, c := range []struct {
		status, answer string
		want           toolaction.Finding
	}{
		{both, `{"structuredContent":{"state":"paid"}}`, toolaction.FoundSucceeded},
		{both, `{"content":[],"isError":false,"resultType":"complete","structuredContent":{"state":"paid"}}`, toolaction.FoundSucceeded},
		{both, `{"structuredContent":{"state":"rejected"}}`, toolaction.FoundFailed},
		{query, `{"structuredContent":{"state":"rejected"}}`, toolaction.FoundNothing},
		{both, `{"structuredContent":{"state":"pending"}}`, toolaction.FoundNothing},
		{both, `{"structuredContent":{"state":"Paid"}}`, toolaction.FoundNothing},
		{both, `{"structuredContent":{"state":["paid"]}}`, toolaction.FoundNothing},
		{both, `{"structuredContent":{}}`, toolaction.FoundNothing},
		{both, `{"isError":true,"structuredContent":{"state":"paid"}}`, toolaction.FoundNothing},
		{both, `{"isError":"false","structuredContent":{"state":"paid"}}`, toolaction.FoundNothing},
		{both, `{"resultType":"input_required","structuredContent":{"state":"paid"}}`, toolaction.FoundNothing},
		{both, `{"resultType":"task","structuredContent":{"state":"paid"}}`, toolaction.FoundNothing},
		{both, `{"structuredContent":{"state":"paid","state":"paid"}}`, toolaction.FoundNothing},
		{both, `["paid"]`, toolaction.FoundNothing},
		{both, ``, toolaction.FoundNothing},
		// Both conditions at once.
		{query + `,"failed":{"pointer":"/failed","equals":true}`, `{"failed":true,"structuredContent":{"state":"paid"}}`, toolaction.FoundNothing},
		{query + `,"failed":{"pointer":"/failed","equals":true}`, `{"failed":true,"structuredContent":{"state":""}}`, toolaction.FoundFailed},
		// An integer, which rounding must not make.
		{`"tool":"t","arguments":{},"succeeded":{"pointer":"/n/0","equals":1}`, `{"n":[1]}`, toolaction.FoundSucceeded},
		{`"tool":"t","arguments":{},"succeeded":{"pointer":"/n/0","equals":1}`, `{"n":["1"]}`, toolaction.FoundNothing},
		{`"tool":"t","arguments":{},"succeeded":{"pointer":"/n/0","equals":1}`, `{"n":[1.00000000000000000001]}`, toolaction.FoundNothing},
		{`"tool":"t","arguments":{},"failed":{"pointer":"/n","equals":9007199254740991}`, `{"n":9007199254740991.4}`, toolaction.FoundNothing},
		{`"tool":"t","arguments":{},"failed":{"pointer":"/n","equals":9007199254740991}`, `{"n":9007199254740991}`, toolaction.FoundFailed},
	} {
		if got := status(t, c.status).Read([]byte(c.answer)); got != c.want {
			t.Errorf("%s is read as %s, want %s", c.answer, got, c.want)
		}
	}
}

func TestStatusRefuses(t *testing.T) {
	const done = `"succeeded":{"pointer":"/s","equals":"x"}`
	for _, c := range [][2]string{
		{`"arguments":{},` + done, "/status/tool"},
		{`"tool":"","arguments":{},` + done, "/status/tool"},
		{`"tool":"t",` + done, "/status/arguments"},
		{`"tool":"t","arguments":[],` + done, "/status/arguments"},
		{`"tool":"t","arguments":{"a":{"$call_id":true}},` + done, "/status/arguments"},
		{`"tool":"t","arguments":{"a":{"$execution_id":false}},` + done, "/status/arguments"},
		{`"tool":"t","arguments":{"a":[{"$execution_id":true,"b":1}]},` + done, "/status/arguments"},
		{`"tool":"t","arguments":{"a":{"$argument":"to"}},` + done, "/status/arguments"},
		{`"tool":"t","arguments":{"a":{"$argument":""}},` + done, "/status/arguments"},
		{`"tool":"t","arguments":{"$execution_id":true},` + done, "/status/arguments"},
		{`"tool":"t","arguments":{}`, "/status/succeeded"},
		{`"tool":"t","arguments":{},"succeeded":{"pointer":"","equals":"x"}`, "/status/succeeded/pointer"},
		{`"tool":"t","arguments":{},"succeeded":{"pointer":"s","equals":"x"}`, "/status/succeeded/pointer"},
		{`"tool":"t","arguments":{},"succeeded":{"pointer":"/s","equals":null}`, "/status/succeeded/equals"},
		{`"tool":"t","arguments":{},"succeeded":{"pointer":"/s","equals":[1]}`, "/status/succeeded/equals"},
		{`"tool":"t","arguments":{},"succeeded":{"pointer":"/s","equals":1.5}`, "/status/succeeded/equals"},
		{`"tool":"t","arguments":{},"succeeded":{"pointer":"/s","equals":"x","not":1}`, "/status/succeeded/not"},
		{`"tool":"t","arguments":{},"unknown":{"pointer":"/s","equals":"x"},` + done, "/status/unknown"},
	} {
		_, err := toolaction.ParseDeclaration(value(t, `{"status":{`+c[0]+`}}`))
		var fault *jcs.MemberError
		if !errors.As(err, &fault) || fault.Pointer != c[1] {
			t.Errorf("%s: %v, want a fault at %s", c[0], err, c[1])
		}
	}
}
