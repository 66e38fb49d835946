package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/gateway"
)

// Every name that the gateway refuses under is explained, as its table has it, and completed.
//
// covers EXA-077
func TestExplainGateway(t *testing.T) {
	for _, c := range gateway.Codes() {
		code, out, _ := bindery("explain", strings.ToLower(c.Name), "--json")
		var got struct {
			Name, Message, Fix string
			Code, HTTP         int
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
			t.Fatalf("%s: exit %d, %q: %v", c.Name, code, out, err)
		}
		if got.Name != c.Name || got.Message != c.Meaning || got.Fix != c.Next || got.Code != c.Number || got.HTTP != c.Status {
			t.Errorf("%s: %+v", c.Name, got)
		}
	}
	code, out, _ := bindery("explain", "EXECUTION_REPLAY")
	if code != 0 || !strings.HasPrefix(out, "EXECUTION_REPLAY: this execution is over") || !strings.Contains(out, "Usual fix: use the recorded result") {
		t.Errorf("exit %d, %q", code, out)
	}
	if _, out, _ := bindery("__complete", "explain", "execution_out"); !strings.Contains(out, "EXECUTION_OUTCOME_UNKNOWN") {
		t.Errorf("completed to %q", out)
	}
}
