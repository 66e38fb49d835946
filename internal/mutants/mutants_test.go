package mutants_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/mutants"
)

const one = `# A comment.

== chain-prev
rows: GC-257, GC-258
why: a first anchor may name a predecessor
file: chain/chain.go
package: ./chain
test: TestPosition/no prev (at 0)
--- old
	if seq == 0 {
		return errPrev
	}
--- new
	_ = seq
--- end
`

func TestParse(t *testing.T) {
	list, err := mutants.Parse(one + strings.ReplaceAll(strings.Replace(one, "chain-prev", "b2", 1), "\t_ = seq\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	want := mutants.Mutant{
		ID: "chain-prev", Rows: []string{"GC-257", "GC-258"}, Why: "a first anchor may name a predecessor",
		File: "chain/chain.go", Package: "./chain", Test: "TestPosition/no prev (at 0)",
		Old: "\tif seq == 0 {\n\t\treturn errPrev\n\t}\n", New: "\t_ = seq\n", Line: 3,
	}
	second := want
	second.ID, second.New, second.Line = "b2", "", 18
	if diff := cmp.Diff([]mutants.Mutant{want, second}, list); diff != "" {
		t.Error(diff)
	}
	if got := want.Dir(); got != "chain" {
		t.Errorf("directory %q", got)
	}
	if got := (mutants.Mutant{Package: "."}).Dir(); got != "." {
		t.Errorf("directory of the root %q", got)
	}
	if got := want.Pattern(); got != `^TestPosition$/^no prev \(at 0\)$` {
		t.Errorf("pattern %q", got)
	}
}

func TestParseNoRows(t *testing.T) {
	list, err := mutants.Parse(strings.Replace(one, "rows: GC-257, GC-258", "rows: none", 1))
	if err != nil || len(list) != 1 || list[0].Rows != nil {
		t.Errorf("%v, %v", list, err)
	}
}

func TestParseRefuses(t *testing.T) {
	swap := func(old, new string) string { return strings.Replace(one, old, new, 1) }
	for name, tt := range map[string]struct{ text, want string }{
		"text between":     {"hello\n" + one, "line 1: an entry begins"},
		"id":               {swap("chain-prev", "Chain"), "line 3: an entry begins"},
		"id taken":         {one + one, "line 18: the id chain-prev is taken"},
		"unknown member":   {swap("why:", "because:"), "line 5: not a member"},
		"empty member":     {swap("why: a first anchor may name a predecessor", "why: "), "line 5: not a member"},
		"repeated member":  {swap("why: a", "rows: a"), "line 5: a second rows"},
		"no rows":          {swap("rows: GC-257, GC-258\n", ""), "lacks rows"},
		"no why":           {swap("why: a first anchor may name a predecessor\n", ""), "lacks rows, why"},
		"no file":          {swap("file: chain/chain.go\n", ""), "lacks rows, why or file"},
		"package":          {swap("./chain", "chain"), "package is written"},
		"test":             {swap("test: TestP", "test: P"), "test is written"},
		"no old":           {one[:strings.Index(one, "--- old")], "no --- old yet"},
		"no new":           {swap("--- new\n", ""), "no --- new"},
		"no end":           {swap("--- end\n", ""), "no --- end"},
		"empty old":        {swap("\tif seq == 0 {\n\t\treturn errPrev\n\t}\n", ""), "old is empty"},
		"new equal to old": {swap("\tif seq == 0 {\n\t\treturn errPrev\n\t}\n", "\t_ = seq\n"), "new is the same"},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := mutants.Parse(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, %v; want an error with %q", list, err, tt.want)
			}
		})
	}
}

func TestApply(t *testing.T) {
	m := mutants.Mutant{ID: "x", File: "f.go", Old: "\ta()\n", New: "\tb()\n"}
	for name, tt := range map[string]struct{ src, want, err string }{
		"first line":      {"\ta()\nc\n", "\tb()\nc\n", ""},
		"last line":       {"c\n\ta()\n", "c\n\tb()\n", ""},
		"absent":          {"c\n", "", "x: its old text stands 0 times in f.go, not once"},
		"twice":           {"\ta()\n\ta()\n", "", "stands 2 times"},
		"part of a line":  {"c\ta()\n", "", "stands 0 times"},
		"beside a longer": {"\ta()\n\ta() // again\n", "\tb()\n\ta() // again\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := m.Apply(tt.src)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestList(t *testing.T) {
	b, err := os.ReadFile("mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	list, err := mutants.Parse(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Error("the list is empty")
	}
}
