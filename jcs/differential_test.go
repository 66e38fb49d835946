package jcs_test

import (
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// judged are the profiles of the verdicts in testdata/differential.txt. The first stands for
// every profile that a line does not name.
var judged = []struct {
	name string
	jcs.Profile
}{
	{"integer", jcs.Profile{}},
	{"strict", jcs.Profile{TokenStrict: true}},
	{"double", jcs.Profile{Numbers: jcs.DoubleNumbers}},
	{"double-strict", jcs.Profile{Numbers: jcs.DoubleNumbers, TokenStrict: true}},
	{"small", jcs.Profile{MaxDepth: 2, MaxSize: 128}},
}

// TestDifferential replays documents and the verdicts of another implementation; its head says
// how the file was made. Package internal/interoptest makes it anew and compares, and puts the
// same question for documents that are new on each run.
//
// covers GC-215
func TestDifferential(t *testing.T) {
	data, err := os.ReadFile("testdata/differential.txt")
	if err != nil {
		t.Fatal(err)
	}
	documents := map[string]bool{}
	kinds := map[string]int{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		documents[fields[0]] = true
		src := unhex(t, fields[0])
		want := frozenVerdicts(t, fields[1:])
		for _, p := range judged {
			got := frozenVerdict(p.Append(nil, src))
			if got == fields[0] {
				got = "="
			}
			if got != want[p.name] {
				t.Errorf("%s as %s: %s, want %s", fields[0], p.name, got, want[p.name])
			}
			kind, _, _ := strings.Cut(want[p.name], "@")
			kinds[kind]++
		}
		if jcs.Canonical(src) != (want["integer"] == "=") {
			t.Errorf("Canonical of %s is %t", fields[0], jcs.Canonical(src))
		}
	}
	if len(documents) < 2000 {
		t.Errorf("only %d documents", len(documents))
	}
	for kind := jcs.KindSyntax; kind <= jcs.KindSize; kind++ {
		if kinds[kind.String()] < 5 {
			t.Errorf("%d verdicts of the kind %s", kinds[kind.String()], kind)
		}
	}
	if kinds["="] < 200 {
		t.Errorf("only %d verdicts say canonical", kinds["="])
	}
}

// frozenVerdicts gives each profile its verdict, from a line without its document.
func frozenVerdicts(t *testing.T, fields []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, p := range judged {
		all[p.name] = fields[0]
	}
	for _, field := range fields[1:] {
		name, verdict, _ := strings.Cut(field, ":")
		if all[name] == "" || verdict == "" {
			t.Fatalf("%q is no verdict of a profile", field)
		}
		all[name] = verdict
	}
	return all
}

// frozenVerdict writes what Append returned as the file does.
func frozenVerdict(text []byte, err error) string {
	if fault := (*jcs.Error)(nil); errors.As(err, &fault) {
		return fault.Kind.String() + "@" + strconv.Itoa(fault.Offset)
	}
	if err != nil {
		return err.Error()
	}
	return hex.EncodeToString(text)
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	if s == "-" {
		return nil
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
