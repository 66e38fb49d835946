package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/toolaction"
	"github.com/bindery/bindery/jcs"
)

// One class, one treatment, over the wire: of any two spellings of an argument either one is
// refused, or they are one class for the binding exactly where they are one for the registry and
// exactly where the upstream gets the same bytes. Which of these it is, schema or declaration say.
//
// covers EXA-028, EXA-029, EXA-033, EXA-042, EXA-073
func TestOneClassOneTreatment(t *testing.T) {
	const (
		refused    = "refused"
		composed   = "\"\u00e9\""  // one character, in NFC
		decomposed = "\"e\u0301\"" // the same in NFD: another text
	)
	values := []string{
		`1`, `1.0`, `1e0`, `10e-1`, `1.00`, `0`, `-0`, `0.0`, `-0.0`, `0.5`, `5e-1`,
		`9007199254740991`, `9007199254740992`, `9007199254740993`, `1e21`, `1e400`,
		`"\u00e9"`, composed, `"e\u0301"`, decomposed, `"1"`, `true`, `null`, `[1]`, `[1.0]`, `{"y":1}`, `{ "y" : 1 }`,
	}
	for name, c := range map[string]struct {
		schema, declaration string
		classes             map[string]string // of some spellings: which they are like, or refused
	}{
		"nobody says": {``, `{}`, map[string]string{
			`1.0`: refused, `1e0`: refused, `-0`: refused, `5e-1`: refused, `[1.0]`: refused, `9007199254740993`: refused, `1e400`: refused,
			`"\u00e9"`: composed, `"e\u0301"`: decomposed, `{ "y" : 1 }`: `{"y":1}`,
		}},
		"the schema says integer": {`{"type":"integer"}`, `{}`, map[string]string{
			`1.0`: `1`, `1e0`: `1`, `10e-1`: `1`, `-0`: `0`, `0.0`: `0`, `9007199254740993`: refused, `1e400`: refused, `[1.0]`: refused,
		}},
		"the schema says number":        {`{"type":"number"}`, `{}`, map[string]string{`1.0`: `1`, `5e-1`: `0.5`, `-0.0`: `0`, `9007199254740993`: refused}},
		"the declaration says equal":    {``, `{"numbers":"equal"}`, map[string]string{`1.0`: `1`, `[1.0]`: `[1]`, `9007199254740993`: refused}},
		"the declaration says distinct": {`{"type":"number"}`, `{"numbers":"distinct"}`, map[string]string{`1.0`: refused, `1e0`: refused, `-0`: refused}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := jcs.Parse([]byte(c.declaration))
			if err != nil {
				t.Fatal(err)
			}
			declaration, err := toolaction.ParseDeclaration(v)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, says(`{}`), func(cfg *gateway.Config) {
				cfg.Upstreams[0].Tools = map[string]toolaction.Declaration{"charge": declaration}
			})
			if c.schema != "" {
				w.gw.Learn("bank", []byte(`{"tools":[{"name":"charge","inputSchema":{"type":"object","properties":{"x":`+c.schema+`}}}]}`))
			}
			type treatment struct{ binding, forwarded string }
			treated := map[string]treatment{}
			for i, value := range values {
				before := len(w.up.bodies())
				d := w.post(bound("1", fmt.Sprintf("e%d", i), `{"x":`+value+`}`)).decode(t)
				after := w.up.bodies()
				if d.meta == nil {
					if len(after) != before {
						t.Errorf("%s: refused, and sent", value)
					}
					continue
				}
				treated[value] = treatment{d.meta["binding"], argumentsIn(t, after[len(after)-1])}
			}
			for i, a := range values {
				first, ok := treated[a]
				if !ok {
					continue
				}
				for _, b := range values[i:] {
					second, ok := treated[b]
					if !ok {
						continue
					}
					d := w.post(bound("1", fmt.Sprintf("e%d", i), `{"x":`+b+`}`)).decode(t)
					one := d.refused() == "EXECUTION_REPLAY"
					if !one && d.refused() != "EXECUTION_COLLISION" {
						t.Errorf("%s after %s: %s", b, a, d.refused())
					}
					if one != (first.binding == second.binding) || one != (first.forwarded == second.forwarded) {
						t.Errorf("%s and %s: one for the registry %v, for the binding %v, for the upstream %v", a, b, one, first.binding == second.binding, first.forwarded == second.forwarded)
					}
				}
			}
			for value, like := range c.classes {
				got, sent := treated[value]
				if like == refused && sent || like != refused && (!sent || got != treated[like]) {
					t.Errorf("%s: sent %v, %+v; want as %s", value, sent, got, like)
				}
			}
			if !slices.Contains([]string{"nobody says", "the declaration says distinct"}, name) && len(treated) < 8 {
				t.Errorf("only %d are sent", len(treated))
			}
		})
	}
}

func argumentsIn(t *testing.T, body string) string {
	t.Helper()
	var m struct {
		Params struct{ Arguments json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	return string(m.Params.Arguments)
}
