package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bindery/bindery/docs/requirements"
)

// TestEnvelopeScripts runs the envelope commands as their users do.
//
// covers ENV-007, ENV-010, ENV-011, ENV-014, ENV-036, ENV-042, ENV-043, ENV-051, ENV-053, ENV-055, ENV-056, ENV-057, ENV-059, ENV-060, ENV-061
// covers ENV-069, ENV-070, ENV-075, ENV-090, ENV-092, ENV-093, ENV-097, ENV-101, ENV-118
func TestEnvelopeScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/envelope",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			return nil
		},
		Cmds: commands(),
	})
}

// TestExplainEnvelopeNames: every name by which package envelope refuses, as its source has them, is
// explained, with a row of the register and a fix of its own.
func TestExplainEnvelopeNames(t *testing.T) {
	fixes := map[string]string{}
	names := []string{"ENVELOPE_MALFORMED", "ENVELOPE_BLOCKED", "EVIDENCE_MALFORMED", "EVIDENCE_MISSING"}
	for _, file := range []string{"../../envelope/error.go", "../../envelope/matter.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Split(string(source), `"`) {
			if strings.Contains(word, " ") { // of a comment
				continue
			}
			if strings.HasPrefix(word, "RESOLUTION_") || strings.HasPrefix(word, "MATTER_") {
				names = append(names, word)
			}
		}
	}
	if len(names) < 15 {
		t.Errorf("only %d names were found", len(names))
	}
	for _, name := range names {
		code, out, errOut := bindery("explain", "--json", name)
		var got struct{ Name, Row, Message, Fix string }
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || errOut != "" {
			t.Errorf("%s: exit code %d, %q, %v", name, code, errOut, err)
			continue
		}
		if _, ok := requirements.Find(got.Row); !ok || got.Name != name || got.Message == "" {
			t.Errorf("%s: %+v", name, got)
		}
		if other, taken := fixes[got.Fix]; taken || !strings.HasSuffix(got.Fix, ".") {
			t.Errorf("%s has no fix of its own, as %s", name, other)
		}
		fixes[got.Fix] = name
	}
}

// TestEnvelopeSchemas: what is printed is what is committed.
func TestEnvelopeSchemas(t *testing.T) {
	for _, of := range []string{"envelope", "resolution"} {
		code, out, _ := bindery("envelope", "schema", of)
		var printed, committed any
		file, err := os.ReadFile("../../envelope/schema/" + of + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(file, &committed); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out), &printed); err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %v", of, code, err)
		}
		one, _ := json.Marshal(printed)
		other, _ := json.Marshal(committed)
		if string(one) != string(other) {
			t.Errorf("%s: printed and committed differ", of)
		}
	}
}
