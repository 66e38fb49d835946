package cli_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/docs/requirements"
	"github.com/bindery/bindery/internal/cli"
)

// bindery runs one command in this process.
func bindery(args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = cli.Main(args, strings.NewReader(""), &out, &errOut)
	return code, out.String(), errOut.String()
}

// TestExplainNames: every name of the table is explained, each with a fix of its own.
func TestExplainNames(t *testing.T) {
	fixes := map[string]crossing.Name{}
	for _, row := range crossing.Table() {
		code, out, errOut := bindery("explain", string(row.Name))
		if code != 0 || errOut != "" {
			t.Errorf("%s: exit code %d, %q", row.Name, code, errOut)
		}
		heading, rest, _ := strings.Cut(out, "\n")
		_, fix, _ := strings.Cut(rest, "\nUsual fix: ")
		if heading != string(row.Name)+": "+row.Message+"." || !strings.Contains(rest, strconv.Itoa(row.Code)) || !strings.Contains(rest, row.Path) {
			t.Errorf("%s: %q", row.Name, out)
		}
		if other, taken := fixes[fix]; taken || !strings.HasSuffix(fix, ".\n") || strings.Contains(fix, "unknown name") {
			t.Errorf("%s has no fix of its own: %q, as %s", row.Name, fix, other)
		}
		fixes[fix] = row.Name

		var got map[string]any
		_, structured, _ := bindery("explain", "--json", strings.ToLower(string(row.Name)))
		if err := json.Unmarshal([]byte(structured), &got); err != nil {
			t.Fatal(err)
		}
		if got["name"] != string(row.Name) || got["code"] != float64(row.Code) || got["http"] != float64(row.HTTP) || got["fix"] != strings.TrimSpace(fix) {
			t.Errorf("%s as JSON: %s", row.Name, structured)
		}
	}
}

// TestExplainFixes: a fix that names a command names one that exists.
func TestExplainFixes(t *testing.T) {
	named := 0
	for _, row := range crossing.Table() {
		_, out, _ := bindery("explain", string(row.Name))
		_, rest, found := strings.Cut(out, "bindery ")
		if !found {
			continue
		}
		named++
		var words []string
		for word := range strings.FieldsSeq(rest) {
			bare := strings.TrimRight(word, ".,;:")
			if strings.ToLower(bare) != bare || strings.HasPrefix(bare, "-") {
				break
			}
			if words = append(words, bare); bare != word {
				break
			}
		}
		words = words[:min(len(words), 2)]
		if code, help, _ := bindery(append(words, "--help")...); code != 0 || !strings.Contains(help, "Usage:\n  bindery "+words[0]) {
			t.Errorf("%s: there is no command bindery %s", row.Name, strings.Join(words, " "))
		}
	}
	if named < 4 {
		t.Errorf("only %d fixes name a command", named)
	}
}

// TestExplainRows: rows of all three registers.
func TestExplainRows(t *testing.T) {
	for _, id := range []string{"GC-001", "GC-134", "GC-372", "ENV-001", "ENV-121", "EXA-001", "EXA-078"} {
		want, ok := requirements.Find(id)
		if !ok {
			t.Fatal(id)
		}
		code, out, errOut := bindery("explain", id)
		if code != 0 || errOut != "" || !strings.HasPrefix(out, id+"  "+want.Level+"  "+want.Clause) || !strings.Contains(out, "\n\n"+want.Requirement+"\n\nShown by: "+want.Test+"\n") {
			t.Errorf("%s: exit code %d, %q, %q", id, code, out, errOut)
		}
		for line := range strings.Lines(out) {
			if strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
				t.Errorf("%s: a line ends with spaces: %q", id, line)
			}
		}
	}
}

// TestExplainCodes: what an RA or a VA refuses under a name of its own is explained too.
func TestExplainCodes(t *testing.T) {
	fixes := map[string]string{}
	for _, name := range []string{
		api.CodeMalformed, api.CodeUnauthenticated, api.CodeNotFound, api.CodeEnrolment, api.CodeEnrolmentMismatch, api.CodeUnproved, api.CodeConflict, api.CodePredecessorMissing,
		api.CodeTooLarge, api.CodeRegistryUnreachable, api.CodeUnavailable, api.CodeDomainUnreachable, api.CodeDomainMalformed,
		api.CodeDomainMismatch, "AUDIT_BROKEN",
	} {
		code, out, errOut := bindery("explain", name)
		heading, fix, _ := strings.Cut(out, "\n\nUsual fix: ")
		if code != 0 || errOut != "" || !strings.HasPrefix(heading, name+": ") || strings.Contains(heading, ": refused: ") || !strings.HasSuffix(fix, ".\n") || fixes[fix] != "" {
			t.Errorf("%s: exit code %d, %q, %q, as %s", name, code, out, errOut, fixes[fix])
		}
		fixes[fix] = name
		var got map[string]string
		_, structured, _ := bindery("explain", "--json", strings.ToUpper(name))
		if err := json.Unmarshal([]byte(structured), &got); err != nil || got["name"] != name || got["fix"] != strings.TrimSpace(fix) {
			t.Errorf("%s as JSON: %s, %v", name, structured, err)
		}
	}
}
