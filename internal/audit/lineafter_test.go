package audit_test

import (
	"testing"
	"time"

	"github.com/bindery/bindery/internal/audit"
)

// TestLineAfter: the quick way gives what the two slow ones give, also where a text looks
// like the member that it looks for.
//
// covers EXA-043
func TestLineAfter(t *testing.T) {
	tip := audit.Genesis()
	for _, text := range []string{"", `,"event":`, `\",\"event\":`, "\xff", "\x00\u2028", `","event":"`} {
		e := audit.Entry{
			At: time.UnixMilli(1_786_000_000_000), AgentID: text, CallID: text, Event: text, Tool: text, Reason: text, WorkflowID: text,
		}
		got, line := e.LineAfter(tip)
		if want := e.After(tip); got != want || string(line) != string(want.Line()) {
			t.Errorf("%q:\n%s\n%s", text, line, want.Line())
		}
		tip = got.Tip()
	}
}
