package render_test

import (
	"testing"
	"unicode/utf8"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
)

// FuzzRender holds the invariants against texts that nobody thought of.
//
// covers ENV-002, ENV-090, ENV-091, ENV-092, ENV-093, ENV-095, ENV-097
func FuzzRender(f *testing.F) {
	f.Add("Pay now.", "It is due.", "Pay.", "Pay?", "Pay it", "It is due.", uint8(0b0011))
	for i, s := range scraps() {
		f.Add(s, "x"+s, s+"y", s+s, s, " "+s+" ", uint8(i))
	}
	f.Fuzz(func(t *testing.T, synopsis, finding, move, stem, label, reasoning string, bits uint8) {
		for _, s := range []string{synopsis, finding, move, stem, label, reasoning} {
			if !utf8.ValidString(s) || len(s) > 400 {
				t.Skip()
			}
			if got := readBack(string(render.Show(s))); got != s {
				t.Fatalf("%q is shown as %q", s, render.Show(s))
			}
		}
		p := plan{
			synopsis: synopsis, findings: []string{finding, synopsis}, moves: []string{move}, offer: move, stem: stem,
			options:  []envelope.Option{{Label: label, Reasoning: reasoning}, {Label: reasoning, Reasoning: label}, {Label: stem, Reasoning: finding}},
			freeText: bits&1 == 0, dialogue: bits&2 == 0, recommended: int(bits>>2) % 3, note: move,
		}
		v, err := render.New(p.envelope(t), render.Reader{Agent: "agent"})
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, p, v)
	})
}
