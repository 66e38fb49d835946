package envelope_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope"
)

// The page of the lints lists each of them with its row and with what it does.
//
// covers ENV-114
func TestLintsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/envelope-lints.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, r := range envelope.LintRules() {
		slot := strings.TrimPrefix(strings.ReplaceAll(strings.ReplaceAll(r.Path, "/0", ""), "/question/", ""), "/")
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s | %s |", r.Rule, strings.ReplaceAll(slot, "/", " "), r.Row, r.Severity, r.Reason))
	}
	var listed []string
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| `") {
			listed = append(listed, strings.TrimSuffix(line, "\n"))
		}
	}
	if strings.Join(rows, "\n") != strings.Join(listed, "\n") {
		t.Errorf("docs/envelope-lints.md should list\n%s", strings.Join(rows, "\n"))
	}
}
