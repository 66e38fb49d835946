package envelope_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope"
)

// A sentence of the corpus: one slot's text, with a reader's verdict.
type sentence struct {
	slot, kind, text, context string
	bad                       bool
}

func corpus(t testing.TB, name string) (list []sentence) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := append(strings.Split(line, "\t"), "")
		if len(f) < 5 {
			t.Fatalf("%s: a line has %d fields", name, len(f)-1)
		}
		list = append(list, sentence{slot: f[0], bad: f[1] == "bad", kind: f[2], text: strings.ReplaceAll(f[3], `\n`, "\n"), context: f[4]})
	}
	return list
}

// judge puts one sentence into its slot of an envelope that is otherwise good, and returns what the
// lints say of that slot.
func (s sentence) judge(t testing.TB) (found []envelope.Finding) {
	t.Helper()
	replace, path := map[string]string{}, ""
	switch s.slot {
	case "synopsis":
		replace["synopsis"], path = str(s.text), "/synopsis"
	case "finding":
		replace["findings"], replace["synopsis"], path = "["+str(s.text)+"]", str(s.context), "/findings/0"
	case "recommendation":
		replace["recommendations"], path = "["+str(s.text)+"]", "/recommendations/0"
	case "stem":
		replace["stem"], path = str(s.text), "/question/stem"
		replace["options"] = `[{"label":` + str(s.context) + `,"reasoning":"r"},{"label":"Two","reasoning":"s"}]`
	case "label":
		replace["options"], path = `[{"label":`+str(s.text)+`,"reasoning":"r"},{"label":"Two","reasoning":"s"}]`, "/question/options/0/label"
	case "reasoning":
		replace["options"], path = `[{"label":"One","reasoning":`+str(s.text)+`},{"label":"Two","reasoning":"s"}]`, "/question/options/0/reasoning"
	default:
		t.Fatalf("no slot is called %q", s.slot)
	}
	for _, f := range envelope.Lint(mustParse(t, text(replace))) {
		if f.Path == path {
			found = append(found, f)
		}
	}
	return found
}

// A score counts how the lints agree with the reader: hit is bad and found.
type score struct{ hit, missed, falsely, silent int }

func (s score) precision() float64 { return float64(s.hit) / float64(max(s.hit+s.falsely, 1)) }
func (s score) recall() float64    { return float64(s.hit) / float64(max(s.hit+s.missed, 1)) }

func (s score) String() string {
	return fmt.Sprintf("precision %.3f, recall %.3f (%d found, %d missed, %d found wrongly, %d rightly let pass)", s.precision(), s.recall(), s.hit, s.missed, s.falsely, s.silent)
}

func measure(t testing.TB, list []sentence, counts func(envelope.Finding) bool, each func(sentence, []envelope.Finding, bool)) (s score) {
	for _, one := range list {
		found := one.judge(t)
		flagged := false
		for _, f := range found {
			flagged = flagged || counts(f)
		}
		switch {
		case one.bad && flagged:
			s.hit++
		case one.bad:
			s.missed++
		case flagged:
			s.falsely++
		default:
			s.silent++
		}
		if each != nil {
			each(one, found, flagged)
		}
	}
	return s
}

func anyFinding(envelope.Finding) bool { return true }

func blocking(f envelope.Finding) bool { return f.Severity == envelope.Block }
