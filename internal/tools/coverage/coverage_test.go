package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// The committed file is what this command writes, and nothing is wrong with the lines and
// the mutants that it is made of.
func TestUpToDate(t *testing.T) {
	text, err := report(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	if err := put(filepath.Join("../../..", output), text, true); err != nil {
		t.Error(err)
	}
}

const register1 = `# Requirement register – Crossing v1 (a text)

## 1 Scope

| ID | Label | Level | § | Requirement (own words) | Role | Test that shows it |
|---|---|---|---|---|---|---|
| GC-001 | — | MUST† | 1.3 | One. | all | t |
| GC-002 (overridden by design X1) | — | MUST | 1.4 | a\|b | all | t |
| GC-003 | — | SHOULD | 1.4 | Three. | all | t |

## 3.1–3.4 Card

| ID | Label | Level | § | Requirement (own words) | Role | Test that shows it |
|---|---|---|---|---|---|---|
| GC-004 | V-1 | VECTOR | 3.3 | Four. | all | t |

## Readings

| # | Where | The problem | Recommended reading | Why |
|---|---|---|---|---|
| AG-01 | 4.1 | p | r | w |
`

const mutant1 = `== guard
rows: GC-002
why: w
file: a/a.go
package: ./a
test: TestB/deep
--- old
	guard()
--- new
--- end
`

// tree is a small repository in which everything is right.
func tree() fstest.MapFS {
	f := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"docs/requirements/crossing.md":  f(register1),
		"docs/requirements/envelope.md":  f(strings.NewReplacer("GC-", "ENV-", "AG-", "AE-", "Crossing", "Envelope").Replace(register1)),
		"docs/requirements/execution.md": f(strings.NewReplacer("GC-", "EXA-", "AG-", "AX-", "Crossing", "Execution").Replace(register1)),
		"internal/mutants/mutants.txt":   f(mutant1),
		"a/a.go":                         f("package a\n\nfunc A() {\n\tguard()\n}\n\n// covers everything, which is no row.\nfunc guard() {}\n"),
		"a/a_test.go":                    f("package a\n\n// covers GC-001\nfunc TestA() {}\n\n// TestB is more.\n//\n// covers GC-002, AG-01\n// covers GC-003\nfunc TestB() {}\n"),
		"a/testdata/deep.txtar":          f("# A script.\n# covers GC-004\n"),
		"a/testdata/not.go":              f("// covers GC-999"),
		"kit/kit.go":                     f("package kit\n\nimport \"testing\"\n\n// covers GC-001\nfunc suite(*testing.T) {}\n"),
		"root_test.go":                   f("package root\n\n// covers GC-001\nfunc FuzzRoot() {}\n"),
		".git/x_test.go":                 f("not Go"),
	}
}

func TestReport(t *testing.T) {
	text, err := report(tree())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| [Crossing v1](crossing.md) | 3 | 33 % (1) | 100 % (3) |\n",
		"| – of it sections 1 and 3.5 to 6 | 2 | 50 % (1) | 100 % (2) |\n",
		"| [Envelope v1](envelope.md) | 3 | 0 % (0) | 0 % (0) |\n",
		"| 3.1–3.4 Card | 1 | 0 % (0) | 100 % (1) |\n",
		"\nNamed by nobody: none.\n",
		"\nNamed by nobody: ENV-001, ENV-002, ENV-004.\n",
		"| GC-001 | MUST† | 1.3 | FuzzRoot, a.TestA, kit.suite | – |\n",
		"| GC-002 | MUST | 1.4 | a.TestB | guard |\n",
		"| GC-004 | VECTOR | 3.3 | a script deep | – |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "GC-003") || strings.Contains(text, "| ENV-001") {
		t.Errorf("a row that does not bind, or a table of nothing, in\n%s", text)
	}
	again, err := report(tree())
	if err != nil || again != text {
		t.Errorf("the second report differs (%v)", err)
	}
}

// A script names its rows for the mutants whose test it is.
func TestScriptNames(t *testing.T) {
	fsys := tree()
	edit(fsys, "internal/mutants/mutants.txt", "GC-002", "GC-002, GC-004")
	text, err := report(fsys)
	if err != nil {
		t.Fatal(err)
	}
	if want := "| GC-004 | VECTOR | 3.3 | a script deep | guard |\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

func TestReportRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ file, old, new, want string }{
		"unknown row":           {"a/a_test.go", "GC-001", "GC-777", "a/a_test.go:4:1 covers GC-777, which no register has"},
		"unknown row, script":   {"a/testdata/deep.txtar", "GC-004", "GC-778", "a/testdata/deep.txtar covers GC-778"},
		"unknown row, kit":      {"kit/kit.go", "GC-001", "GC-779", "covers GC-779"},
		"not an id":             {"a/a_test.go", "GC-002, AG-01", "GC-002 and more", "covers GC-002 and more, which no register has"},
		"stray in a test file":  {"a/a_test.go", "func TestA", "func helper", "a/a_test.go:3:1: a covers line that stands above no test"},
		"stray in a program":    {"a/a.go", "covers everything, which is no row.", "covers GC-001", "a/a.go:7:1: a covers line that stands above no test"},
		"mutant, row":           {"internal/mutants/mutants.txt", "GC-002", "GC-780", "internal/mutants/mutants.txt:1: guard: no register has GC-780"},
		"mutant, row not named": {"internal/mutants/mutants.txt", "GC-002", "GC-001", "guard: TestB/deep does not name GC-001"},
		"mutant, file":          {"internal/mutants/mutants.txt", "a/a.go", "a/b.go", "guard: open a/b.go"},
		"mutant, test":          {"internal/mutants/mutants.txt", "TestB", "TestC", "guard: ./a has no TestC/deep"},
		"mutant, package":       {"internal/mutants/mutants.txt", "./a\n", "./kit\n", "guard: ./kit has no TestB/deep"},
		"mutant, old absent":    {"a/a.go", "\tguard()\n", "", "stands 0 times in a/a.go"},
		"mutant, old twice":     {"a/a.go", "\tguard()\n", "\tguard()\n\tguard()\n", "stands 2 times in a/a.go"},
		"mutant, form":          {"internal/mutants/mutants.txt", "--- end\n", "", "internal/mutants/mutants.txt: line "},
		"register, row twice":   {"docs/requirements/crossing.md", "GC-004", "GC-001", "crossing.md:15: a second row GC-001"},
		"register, level":       {"docs/requirements/crossing.md", "VECTOR", "SHALL", `crossing.md:15: row GC-004 has the level "SHALL"`},
		"register, cells":       {"docs/requirements/crossing.md", `a\|b`, "a|b", "row GC-002 has 8 cells"},
		"register, no row":      {"docs/requirements/crossing.md", register1, "# Requirement register – X\n", "crossing.md: no title, or no row"},
		"test file is not Go":   {"a/a_test.go", "package a", "pack", "a/a_test.go:1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := tree()
			edit(fsys, tt.file, tt.old, tt.new)
			text, err := report(fsys)
			if err == nil || !strings.Contains(err.Error(), tt.want) || text != "" {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	for name := range tree() {
		if strings.HasPrefix(name, "docs/") || strings.HasPrefix(name, "internal/") {
			fsys := tree()
			delete(fsys, name)
			if _, err := report(fsys); err == nil {
				t.Errorf("accepted without %s", name)
			}
		}
	}
}

func edit(fsys fstest.MapFS, name, old, new string) {
	fsys[name] = &fstest.MapFile{Data: []byte(strings.Replace(string(fsys[name].Data), old, new, 1))}
}

func TestRun(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, tree()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, filepath.FromSlash(output))
	call := func(want int, args ...string) string {
		t.Helper()
		var stderr strings.Builder
		if got := run(append([]string{"-root", root}, args...), &stderr); got != want {
			t.Errorf("%v: exit code %d, want %d: %s", args, got, want, &stderr)
		}
		return stderr.String()
	}
	call(1, "-check") // no file yet
	call(0)
	call(0, "-check")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := call(1, "-check"); !strings.Contains(out, "not up to date") {
		t.Errorf("stderr: %s", out)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "old" {
		t.Errorf("-check wrote %q (%v)", b, err)
	}
	call(2, "extra")
	call(2, "-unknown")
}
