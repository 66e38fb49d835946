package toolaction_test

import (
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/toolaction"
)

const numberSchema = `{"type":"object","properties":{"x":{"type":"number"}}}`

// EAB-S001: {"x":1} and {"x":1.0} have no verdict of their own. Declared equal they are one class,
// declared distinct or undeclared the second spelling is refused.
//
// covers EXA-028, EXA-029, EXA-030, EXA-033, EXA-042
func TestSemanticWitness(t *testing.T) {
	const plain, point = `{"x":1}`, `{"x":1.0}`
	undeclared := tool(t, `{"type":"object","properties":{"x":{}}}`, `{}`)
	refused(t, undeclared, point, toolaction.SemanticsUndeclared, "/x")
	if a := adapt(t, undeclared, plain); a.Semantics != "canonical spelling" {
		t.Errorf("semantics %q", a.Semantics)
	}
	distinct := tool(t, numberSchema, `{"numbers":"distinct"}`)
	refused(t, distinct, point, toolaction.Invalid, "/x")
	adapt(t, distinct, plain)
	for _, c := range []struct{ schema, declaration, semantics string }{
		// The digests are hashlib's, of the canonical schema.
		{numberSchema, `{}`, "inputSchema sha256:SCHEMA"},
		{`{}`, `{"numbers":"equal"}`, "declaration"},
		{numberSchema, `{"numbers":{"/x":"equal"}}`, "declaration"},
	} {
		equal := tool(t, c.schema, c.declaration)
		a, b := adapt(t, equal, plain), adapt(t, equal, point)
		if a.Action != b.Action || string(a.Arguments) != plain || string(b.Arguments) != plain {
			t.Errorf("%s: one value and two treatments: %s and %s", c.declaration, a.Arguments, b.Arguments)
		}
		if want := strings.Replace(c.semantics, "SCHEMA", schemaDigest, 1); b.Semantics != want {
			t.Errorf("%s: settled by %q, want %q", c.declaration, b.Semantics, want)
		}
	}
	both := tool(t, numberSchema, `{"numbers":{"/y":"equal"}}`)
	if a := adapt(t, both, `{"x":1.0,"y":1.0}`); a.Semantics != "declaration, inputSchema sha256:"+schemaDigest {
		t.Errorf("settled by %q", a.Semantics)
	}
}

// One class if and only if one treatment: of two spellings that are both taken, the actions are
// equal exactly if the forwarded bytes are, and exactly if the values are.
//
// covers EXA-013, EXA-028, EXA-029, EXA-073
func TestDifferential(t *testing.T) {
	spellings := []string{
		"1", "1.0", "1e0", "1E0", "1e+0", "10e-1", "0.1e1", "1.00", "-0", "0", "0.0", "-0.0", "0e0", "0e999999999999", "-1", "-1.0",
		"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740992.0", "9007199254740991.4", "1e400", "-1e400", "1e-400", "5e-324", "4.9e-324", "2.5e-324",
		"0.1", "0.10", "1e-1", "0.1000000000000000055511151231257827", "1.00000000000000000001", "1e21", "1e+21", "1000000000000000000000", "1e23", "1E400000000000000000000",
		"1.5", "1.50", "15e-1", "100", "1e2", "\"1\"", "\"1.0\"", "\"caf\u00e9\"", "\"cafe\u0301\"", "true", "null", "[1.0]", "[1]", "{\"x\":1.0}",
	}
	for _, schema := range []string{`{}`, numberSchema, `{"properties":{"x":{"type":"integer"}}}`, `{"properties":{"x":{"type":["number","string","array"],"items":{"type":"number"}}}}`, `{"properties":{"x":{"type":"string"}}}`} {
		for _, declaration := range []string{`{}`, `{"numbers":"equal"}`, `{"numbers":"distinct"}`} {
			tool := tool(t, schema, declaration)
			type class struct {
				action actionbinding.Action
				bytes  string
				sent   string
			}
			var taken []class
			for _, s := range spellings {
				a, err := tool.Adapt("agent", at, []byte(`{"x":`+s+`}`))
				if err != nil {
					continue
				}
				got := class{a.Action, string(a.Arguments), s}
				if number(s) != nil && number(s).Cmp(number(got.bytes[5:len(got.bytes)-1])) != 0 {
					t.Errorf("%s with %s: %s is forwarded as %s", schema, declaration, s, got.bytes)
				}
				for _, other := range taken {
					same := got.action == other.action
					values := number(s) != nil && number(other.sent) != nil && number(s).Cmp(number(other.sent)) == 0
					if same != (got.bytes == other.bytes) || number(s) != nil && number(other.sent) != nil && same != values {
						t.Errorf("%s with %s: %s and %s: one action %v, forwarded as %s and %s", schema, declaration, s, other.sent, same, got.bytes, other.bytes)
					}
				}
				taken = append(taken, got)
			}
			if len(taken) < 10 {
				t.Errorf("%s with %s: only %d spellings are taken", schema, declaration, len(taken))
			}
		}
	}
}

// number is the exact value of a token, nil if it is no number.
func number(token string) *big.Rat {
	if token == "" || strings.Trim(token, "0123456789+-.eE") != "" || len(token) > 40 {
		return nil
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(token), "e"); ok && len(exponent) > 5 {
		return nil
	}
	r, ok := new(big.Rat).SetString(token)
	if !ok {
		return nil
	}
	return r
}

// Whatever schema and declaration say, a number that its canonical form would change is refused.
//
// covers EXA-013, EXA-073
func TestInexactIsRefused(t *testing.T) {
	equal := tool(t, numberSchema, `{"numbers":"equal"}`)
	for _, token := range []string{
		"9007199254740993", "9007199254740991.4", "1.00000000000000000001", "1e400", "-1e400", "1e-400", "2.5e-324", "4.9e-324", "0.1000000000000000055511151231257827",
		"1e99999999999999999999", "1e-99999999999999999999", "123456789012345678901234567890", "0.30000000000000004440",
	} {
		refused(t, equal, `{"x":`+token+`}`, toolaction.Invalid, "/x")
	}
	for token, form := range map[string]string{
		"0.1": "0.1", "0.10": "0.1", "1e-1": "0.1", "-0": "0", "-0.0e-9": "0", "0e99999999999999999999": "0", "0e-99999999999999999999": "0", "1e0": "1", "1E+2": "100", "1e21": "1e+21", "1000000000000000000000": "1e+21",
		"5e-324": "5e-324", "0.000001": "0.000001", "1e-7": "1e-7", "0.0000001": "1e-7", "12.50e1": "125", "00": "",
		"1" + strings.Repeat("0", 300) + "e-300": "1", "0." + strings.Repeat("0", 400) + "1e401": "1",
	} {
		if form == "" {
			continue
		}
		if got := string(adapt(t, equal, `{"x":`+token+`}`).Arguments); got != `{"x":`+form+`}` {
			t.Errorf("%s is forwarded as %s", token, got)
		}
	}
}

// What each schema says of the number 1.0 at a place.
//
// covers EXA-028, EXA-029, EXA-030, EXA-073
func TestSchemaSettles(t *testing.T) {
	const draft7, draft4 = `"$schema":"http://json-schema.org/draft-07/schema#",`, `"$schema":"http://json-schema.org/draft-04/schema#",`
	for _, c := range []struct {
		schema, arguments string
		settled           bool
	}{
		{`{}`, `{"x":1.0}`, false},
		{`true`, `{"x":1.0}`, false},
		{`false`, `{"x":1.0}`, false},
		{numberSchema, `{"x":1.0}`, true},
		{numberSchema, `{"\u0078":1.0}`, true},
		{numberSchema, `{"y":1.0}`, false},
		{numberSchema, `{"x":[1.0]}`, false},
		{numberSchema, `{"x":1.0,"y":1.0}`, false},
		{`{"properties":{"x":{"type":"integer"}}}`, `{"x":1.0}`, true},
		{`{"properties":{"x":{"type":["string","integer"]}}}`, `{"x":1.0}`, true},
		{`{"properties":{"x":{"type":"string"}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"type":"numeric"}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"type":["number","numeric"]}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"type":7}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"enum":[1,2]}}}`, `{"x":1.0}`, true},
		{`{"properties":{"x":{"enum":["1"]}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"const":1}}}`, `{"x":1.0}`, true},
		{`{"properties":{"x":{"const":"1"}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"enum":["a"],"const":1}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"minimum":0}}}`, `{"x":1.0}`, false},
		// Members and items.
		{`{"additionalProperties":{"type":"number"}}`, `{"x":1.0}`, true},
		{`{"properties":{"x":{}},"additionalProperties":{"type":"number"}}`, `{"x":1.0}`, false},
		{`{"patternProperties":{"^x":{}},"additionalProperties":{"type":"number"}}`, `{"x":1.0}`, false},
		{`{"patternProperties":{"^x":{"type":"number"}}}`, `{"x":1.0}`, false},
		{`{"additionalProperties":false}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"items":{"type":"number"}}}}`, `{"x":[0, 1.0]}`, true},
		{`{"properties":{"x":{"prefixItems":[{"type":"string"},{"type":"number"}]}}}`, `{"x":["",1.0]}`, true},
		{`{"properties":{"x":{"prefixItems":[{"type":"string"},{"type":"number"}]}}}`, `{"x":["",1.0,1.0]}`, false},
		{`{"properties":{"x":{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}}}`, `{"x":["",1.0]}`, true},
		{`{"properties":{"x":{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}}}`, `{"x":[1.0]}`, false},
		{`{"properties":{"x":{"prefixItems":[{}],"items":{"type":"number"}}}}`, `{"x":[1, 1.0, 1.0]}`, true},
		{`{"properties":{"x":{"prefixItems":[{}],"items":{"type":"number"}}}}`, `{"x":[1.0, 1.0]}`, false},
		{`{"properties":{"x":{"type":"object","items":{"type":"number"}}}}`, `{"x":[1.0]}`, false},
		{`{"properties":{"x":{"items":{"type":"number"}}}}`, `{"x":{"0":1.0}}`, false},
		{`{"properties":{"x":{"contains":{"type":"number"}}}}`, `{"x":[1.0]}`, false},
		// Combinations.
		{`{"properties":{"x":{"allOf":[{"minimum":0},{"type":"number"}]}}}`, `{"x":1.0}`, true},
		{`{"properties":{"x":{"allOf":[{"type":"string"},{"type":"number"}]}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, `{"x":1.0}`, true},
		{`{"properties":{"x":{"anyOf":[{"type":"integer"},{}]}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"oneOf":[{"type":"integer"},{"type":"number"},false]}}}`, `{"x":1.0}`, true},
		{`{"properties":{"x":{"oneOf":[{"type":"integer"},{"not":{"type":"integer"}}]}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"type":"number","anyOf":[{"minimum":0},{"maximum":-1}]}}}`, `{"x":1.0}`, true},
		{`{"anyOf":[{"properties":{"x":{"type":"number"}}},{"properties":{"x":{}}}]}`, `{"x":1.0}`, false},
		{`{"anyOf":[{"properties":{"x":{"type":"number"}}},{"properties":{"x":{"type":"string"}}}]}`, `{"x":1.0}`, true},
		{`{"anyOf":[{"properties":{"x":{"type":"number"}}},{"type":"array"}]}`, `{"x":1.0}`, true},
		{`{"anyOf":[]}`, `{"x":1.0}`, false},
		{`{"if":{"required":["x"]},"then":{"properties":{"x":{"type":"number"}}}}`, `{"x":1.0}`, false},
		{`{"not":{"properties":{"x":{"type":"number"}}}}`, `{"x":1.0}`, false},
		// References.
		{`{"$defs":{"n":{"type":"number"}},"properties":{"x":{"$ref":"#/$defs/n"}}}`, `{"x":1.0}`, true},
		{`{"definitions":{"n/1":{"type":"number"}},"properties":{"x":{"$ref":"#/definitions/n~11"}}}`, `{"x":1.0}`, true},
		{`{"$defs":{"é n":{"type":"number"}},"properties":{"x":{"$ref":"#/$defs/%C3%A9%20n"}}}`, `{"x":1.0}`, true},
		{`{"$defs":{"n":{}},"properties":{"x":{"$ref":"#/$defs/n","type":"number"}}}`, `{"x":1.0}`, true},
		{`{"$defs":{"node":{"properties":{"x":{"type":"number"},"next":{"$ref":"#/$defs/node"}}}},"$ref":"#/$defs/node"}`, `{"next":{"next":{"x":1.0}}}`, true},
		{`{"properties":{"x":{"type":"number"},"next":{"$ref":"#"}}}`, `{"next":{"next":{"x":1.0}}}`, true},
		{`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"$ref":"#/properties/x"}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"$ref":"#/$defs/none"}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"$ref":"#n"}},"$defs":{"n":{"$anchor":"n","type":"number"}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"$ref":"https://example.org/n"}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"$ref":"https://example.org/n","type":"number"}}}`, `{"x":1.0}`, true},
		{`{"properties":{"x":{"$ref":7}}}`, `{"x":1.0}`, false},
		{`{"properties":{"x":{"$id":"urn:x","type":"number"}}}`, `{"x":1.0}`, false},
		{`{"$id":"urn:root","properties":{"x":{"type":"number"}}}`, `{"x":1.0}`, true},
		{`{"$defs":{"e":{"$id":"urn:e","$defs":{"n":{"type":"number"}}}},"properties":{"x":{"$ref":"#/$defs/e/$defs/n"}}}`, `{"x":1.0}`, false},
		// Dialects.
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"x":{"type":"integer"}}}`, `{"x":1.0}`, true},
		{`{"$schema":"https://example.org/own","properties":{"x":{"type":"number"}}}`, `{"x":1.0}`, false},
		{`{"$schema":7,"properties":{"x":{"type":"number"}}}`, `{"x":1.0}`, false},
		{`{` + draft7 + `"properties":{"x":{"type":"integer"}}}`, `{"x":1.0}`, true},
		{`{` + draft7 + `"definitions":{"n":{}},"properties":{"x":{"$ref":"#/definitions/n","type":"number"}}}`, `{"x":1.0}`, false},
		{`{` + draft7 + `"properties":{"x":{"items":[{"type":"number"}],"additionalItems":{"type":"string"}}}}`, `{"x":[1.0]}`, true},
		{`{` + draft7 + `"properties":{"x":{"items":[{"type":"number"}],"additionalItems":{"type":"string"}}}}`, `{"x":[1,1.0]}`, false},
		{`{` + draft7 + `"properties":{"x":{"prefixItems":[{"type":"number"}]}}}`, `{"x":[1.0]}`, false},
		{`{` + draft4 + `"properties":{"x":{"type":"number"}}}`, `{"x":1.0}`, true},
		{`{` + draft4 + `"properties":{"x":{"type":"integer"}}}`, `{"x":1.0}`, false},
		{`{` + draft4 + `"properties":{"x":{"type":["integer","number"]}}}`, `{"x":1.0}`, true},
		{`{` + draft4 + `"properties":{"x":{"id":"urn:x","type":"number"}}}`, `{"x":1.0}`, false},
		{`{` + draft4 + `"definitions":{"id":{},"n":{"type":"number"}},"properties":{"x":{"$ref":"#/definitions/n"}}}`, `{"x":1.0}`, true},
	} {
		tool := tool(t, c.schema, `{}`)
		_, err := tool.Adapt("agent", at, []byte(c.arguments))
		if (err == nil) != c.settled {
			t.Errorf("%s of %s: settled %v, %v", c.schema, c.arguments, err == nil, err)
		}
	}
	if _, err := (toolaction.Tool{Upstream: "bank", Name: "pay"}).Adapt("agent", at, []byte(`{"x":1.0}`)); err == nil {
		t.Error("no schema settles a number")
	}
}

// The declaration says more than the schema, and of two of its pointers the longer.
//
// covers EXA-028, EXA-073
func TestDeclaredNumbers(t *testing.T) {
	tool := tool(t, `{"properties":{"c":{"type":"number"},"a":{"additionalProperties":{"type":"number"}}}}`, `{"numbers":{"/a":"distinct","/a/b":"equal","/a/b/c":"distinct","/d~1e":"equal"}}`)
	for arguments, pointer := range map[string]string{
		`{"a":1.0}`: "/a", `{"a":{"x":1.0}}`: "/a/x", `{"a":{"b":1.0}}`: "", `{"a":{"b":[1.0]}}`: "", `{"a":{"b":{"c":1.0}}}`: "/a/b/c", `{"a":{"b":{"cc":1.0}}}`: "",
		`{"c":1.0}`: "", `{"d/e":1.0}`: "", `{"a":{"bb":1.0}}`: "/a/bb",
	} {
		if pointer == "" {
			adapt(t, tool, arguments)
		} else {
			refused(t, tool, arguments, toolaction.Invalid, pointer)
		}
	}
	refused(t, tool, `{"ab":1.0}`, toolaction.SemanticsUndeclared, "/ab")
	// Of several faults the first in the text is told, so that a caller can mend it.
	refused(t, tool, `{"z":[1.0],"a":1.0}`, toolaction.SemanticsUndeclared, "/z/0")
}

// Neither a schema nor arguments make much work: what is beyond a limit is not settled.
func TestBoundedWork(t *testing.T) {
	begin := time.Now()
	many := `{"x":[` + strings.Repeat("1.0,", 20_000) + `1]}`
	adapt(t, tool(t, `{"properties":{"x":{"items":{"type":"number"}}}}`, `{}`), many)

	// 2^60 ways to the number.
	var defs []string
	for i := range 60 {
		next := `"$ref":"#/$defs/d` + strconv.Itoa(i+1) + `"`
		defs = append(defs, `"d`+strconv.Itoa(i)+`":{"properties":{"x":{"allOf":[{`+next+`},{`+next+`}]},"y":{"allOf":[{`+next+`},{`+next+`}]}},"allOf":[{`+next+`},{`+next+`}]}`)
	}
	explosive := tool(t, `{"$defs":{`+strings.Join(defs, ",")+`,"d60":{"type":"number"}},"$ref":"#/$defs/d0"}`, `{}`)
	refused(t, explosive, `{"x":{"x":1.0}}`, toolaction.SemanticsUndeclared, "/x/x")

	wide := tool(t, `{"properties":{"x":{"type":"number"}},"description":"`+strings.Repeat("d", 300_000)+`"}`, `{}`)
	refused(t, wide, `{"x":1.0}`, toolaction.SemanticsUndeclared, "/x")
	prefix := strings.Repeat(`{"type":"number"},`, 256)
	adapt(t, tool(t, `{"properties":{"x":{"prefixItems":[`+prefix[:len(prefix)-1]+`]}}}`, `{}`), `{"x":[1,1.0]}`)
	refused(t, tool(t, `{"properties":{"x":{"prefixItems":[`+prefix+`{"type":"number"}]}}}`, `{}`), `{"x":[1,1.0]}`, toolaction.SemanticsUndeclared, "/x/1")
	nested := strings.Repeat(`{"allOf":[`, 20)
	adapt(t, tool(t, `{"properties":{"x":`+nested+`{"type":"number"}`+strings.Repeat(`]}`, 20)+`}}`, `{}`), `{"x":1.0}`)
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("all of it took %s", took)
	}
}

func TestExplain(t *testing.T) {
	schemaTool := tool(t, numberSchema, `{"numbers":{"/d":"distinct"},"governed":["/x"],"require_execution_id":true}`)
	e := toolaction.Explain(schemaTool, "agent", at, []byte(`{"x":1.0,"n":2}`))
	if e.Refusal != nil || len(e.Numbers) != 1 || e.Numbers[0] != (toolaction.Number{Pointer: "/x", Token: "1.0", Form: "1", By: "inputSchema sha256:" + schemaDigest}) {
		t.Errorf("%+v", e)
	}
	v := value(t, string(e.JSON(actionbinding.SHA256)))
	for name, want := range map[string]string{
		"governing": `[["/x",1]]`, "arguments": `{"n":2,"x":1}`, "semantics": e.Adapted.Semantics, "binding": e.Adapted.Action.Bind(actionbinding.SHA256).String(),
		"preimage": string(e.Adapted.Action.Preimage()), "tool": "pay", "upstream": "bank",
	} {
		if text, _ := v.Get(name).Text(); text != want || text == "" {
			t.Errorf("%s is %q, want %q", name, text, want)
		}
	}
	if required, _ := v.Get("requires_execution_id").Bool(); !required {
		t.Error("an execution_id is not required")
	}
	// A refused call shows every number, not the first fault alone.
	e = toolaction.Explain(schemaTool, "agent", at, []byte(`{"u":1.0,"d":1e0,"x":-0,"big":1e400,"big2":9007199254740993}`))
	if e.Refusal == nil || e.Refusal.Name != toolaction.Invalid {
		t.Fatalf("%+v", e.Refusal)
	}
	e = toolaction.Explain(schemaTool, "agent", at, []byte(`{"u":1.0,"d":1e0,"x":-0,"big":9007199254740993}`))
	var names []string
	for _, n := range e.Numbers {
		names = append(names, n.Pointer+" "+n.Form+" "+n.Refusal)
	}
	if got, want := strings.Join(names, ", "), "/u 1 ACTION_SEMANTICS_UNDECLARED, /d 1 ACTION_INVALID, /x 0 , /big  ACTION_INVALID"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if text, _ := value(t, string(e.JSON(actionbinding.SHA256))).Get("error").Get("error").Text(); text != toolaction.SemanticsUndeclared {
		t.Errorf("error %q", text)
	}
}

// schemaDigest is hashlib's, of {"properties":{"x":{"type":"number"}},"type":"object"}.
const schemaDigest = "6f20c3d2d267499be281cfb16480ad1ed0985c34673938051e01ff7ba6f876c7"
