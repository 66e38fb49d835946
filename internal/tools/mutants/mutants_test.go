package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/mutants"
)

// A module of one file, and its tests.
const (
	sampleGo = `package sample

func Half(n int) int {
	n /= 2
	return n
}
`
	sampleTest = `package sample

import "testing"

func TestHalf(t *testing.T) {
	t.Run("of 4", func(t *testing.T) {
		if Half(4) != 2 {
			t.Error("not 2")
		}
	})
	t.Run("of 0", func(t *testing.T) {
		if Half(0) != 0 {
			t.Error("not 0")
		}
	})
}

func TestSkipped(t *testing.T) { t.Skip() }

func TestBroken(t *testing.T) { t.Error("always") }
`
)

// entries has one mutant for each way in which a mutant can end.
func entries() string {
	entry := func(id, test, old, new string) string {
		return "== " + id + "\nrows: GC-001\nwhy: because of " + id + "\nfile: sample.go\npackage: .\ntest: " + test +
			"\n--- old\n" + old + "\n--- new\n" + new + "\n--- end\n"
	}
	const halve = "\tn /= 2"
	return entry("fails", "TestHalf/of_4", halve, "\tn /= 1") +
		entry("not-this-one", "TestHalf/of_0", halve, "\tn /= 1") +
		entry("panics", "TestHalf/of_0", halve, "\tpanic(n)") +
		entry("never-ends", "TestHalf", halve, "\tfor {\n\t}") +
		entry("no-build", "TestHalf", halve, "\tn /= m") +
		entry("no-test", "TestHalf/of_5", halve, "\tn /= 1") +
		entry("skipped", "TestSkipped", halve, "\tn /= 1") +
		entry("broken", "TestBroken", halve, "\tn /= 1") +
		entry("absent", "TestHalf", "\tn /= 3", "\tn /= 1")
}

func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module sample\n\ngo 1.26\n", "sample.go": sampleGo, "sample_test.go": sampleTest,
		"internal/mutants/mutants.txt": entries(),
	} {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func call(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	if got := run(context.Background(), args, &out, &err); got != want {
		t.Errorf("%v: exit code %d, want %d\n%s%s", args, got, want, &out, &err)
	}
	return out.String(), err.String()
}

func TestVerdicts(t *testing.T) {
	root := module(t)
	list := filepath.Join(root, filepath.FromSlash(mutants.Path))
	before, rest, _ := strings.Cut(entries(), "== never-ends\n") // which is waited for, see TestNeverEnds
	_, after, _ := strings.Cut(rest, "--- end\n")
	if err := os.WriteFile(list, []byte(before+after), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := call(t, 1, "-root", root, "-j", "2")
	for id, want := range map[string]string{
		"fails":        `killed `,
		"panics":       `killed `,
		"not-this-one": `SURVIVED .*\n    because of not-this-one\n`,
		"no-build":     `ERROR .*\n    does not compile: .*\n(    .*\n)*.*undefined: m`,
		"no-test":      `ERROR .*\n    without a mutant TestHalf/of_5 does not run`,
		"skipped":      `ERROR .*\n    without a mutant TestSkipped does not run, or is skipped`,
		"broken":       `ERROR .*\n    without a mutant: exit status 1`,
		"absent":       `ERROR .*\n    absent: its old text stands 0 times in sample.go`,
	} {
		verdict, rest, _ := strings.Cut(want, " ")
		if !regexp.MustCompile(`(?m)^` + verdict + ` +` + id + ` ` + rest).MatchString(out) {
			t.Errorf("%s: no %q in\n%s", id, want, out)
		}
	}
	if want := "\n8 mutants: 2 killed, 1 survived, 5 errors\n"; !strings.HasSuffix(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	if b, err := os.ReadFile(filepath.Join(root, "sample.go")); err != nil || string(b) != sampleGo {
		t.Errorf("the work tree was touched: %q (%v)", b, err)
	}
}

// TestNeverEnds: where a machine is so busy that the sound program does not end in time either,
// both get more of it.
func TestNeverEnds(t *testing.T) {
	root := module(t)
	for _, limit := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		out, _ := call(t, 1, "-root", root, "-id", "never-ends", "-timeout", limit.String())
		if strings.Contains(out, "without a mutant") && limit < time.Minute {
			continue
		}
		if want := "TestHalf did not end within " + limit.String() + "\n1 mutants: 0 killed, 0 survived, 1 errors\n"; !strings.HasSuffix(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
		return
	}
}

func TestOne(t *testing.T) {
	root := module(t)
	out, _ := call(t, 0, "-root", root, "-id", "fails")
	if !strings.HasSuffix(out, "[GC-001]\n1 mutants: 1 killed, 0 survived, 0 errors\n") || strings.Contains(out, "seed") {
		t.Errorf("stdout: %s", out)
	}
}

// An equal seed draws equal mutants, in the order of the list; another seed others.
func TestDraw(t *testing.T) {
	root := module(t)
	draw := func(seed uint64) string {
		c := config{root: root, n: 4, seed: seed}
		list, err := choose(&c)
		if err != nil || len(list) != 4 || c.seed == 0 {
			t.Fatalf("%v, seed %d, %v", list, c.seed, err)
		}
		var ids []string
		for i, m := range list {
			ids = append(ids, m.ID)
			if i > 0 && m.Line <= list[i-1].Line {
				t.Errorf("not in the order of the list: %v", ids)
			}
		}
		return strings.Join(ids, " ")
	}
	if a, b := draw(7), draw(7); a != b {
		t.Errorf("seed 7 draws %s, then %s", a, b)
	}
	all := map[string]bool{}
	for seed := range uint64(20) {
		all[draw(seed)] = true
	}
	if len(all) < 10 {
		t.Errorf("20 seeds draw %d sets", len(all))
	}
	c := config{root: root, n: 100}
	if list, err := choose(&c); err != nil || len(list) != 9 {
		t.Errorf("%d of 9 drawn, %v", len(list), err)
	}
}

func TestUsage(t *testing.T) {
	root := module(t)
	for _, args := range [][]string{{"x"}, {"-n", "-1"}, {"-j", "0"}, {"-id", "fails", "-n", "1"}, {"-unknown"}} {
		if out, errs := call(t, 2, append([]string{"-root", root}, args...)...); out != "" || errs == "" {
			t.Errorf("%v: stdout %q, stderr %q", args, out, errs)
		}
	}
	if _, errs := call(t, 1, "-root", root, "-id", "nobody"); !strings.Contains(errs, "no mutant has the id nobody") {
		t.Errorf("stderr: %s", errs)
	}
	if _, errs := call(t, 1, "-root", t.TempDir()); errs == "" {
		t.Error("no list, no error")
	}
}
