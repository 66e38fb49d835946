package gateway_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/mcp"
	"github.com/bindery/bindery/internal/toolaction"
)

// The one table has every name that a refusal can have, each once, with a number of our own, of
// JSON-RPC's or of MCP's, and docs/gateway.md shows exactly it.
//
// covers EXA-077
func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	var table strings.Builder
	for _, c := range gateway.Codes() {
		if seen[c.Name] {
			t.Errorf("%s stands twice", c.Name)
		}
		seen[c.Name] = true
		own := -32019 <= c.Number && c.Number <= -32000
		if c.Number == -32020 && c.Name == "HEADER_MISMATCH" {
			own = true // it is what MCP says of the very same
		}
		if !own && c.Number != -32700 && c.Number != -32600 {
			t.Errorf("%s: number %d belongs to somebody else", c.Name, c.Number)
		}
		if c.Status < 400 || c.Status > 599 || c.Meaning == "" || strings.HasSuffix(c.Meaning, ".") || !strings.HasSuffix(c.Next, ".") {
			t.Errorf("%+v", c)
		}
		if found, ok := gateway.CodeOf(c.Name); !ok || found != c {
			t.Errorf("%s is not found", c.Name)
		}
		fmt.Fprintf(&table, "| `%s` | %d | %d | %s | %s |\n", c.Name, c.Number, c.Status, c.Meaning, c.Next)
	}
	for _, name := range []string{
		mcp.Malformed, mcp.Invalid, mcp.Batch, mcp.Large, mcp.Ambiguous,
		agentauth.Unauthenticated, agentauth.CredentialInvalid, agentauth.TokenExpired, agentauth.CredentialConflict, agentauth.KeysUnavailable,
		toolaction.Invalid, toolaction.SemanticsUndeclared, toolaction.TimestampInvalid,
		execution.NameCollision, execution.NameReplay, execution.NamePending, execution.NameRefused, execution.NameUnavailable, execution.NameContinuation,
	} {
		if !seen[name] {
			t.Errorf("%s has no row", name)
		}
	}
	doc, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "|---|---|---|---|---|\n"+table.String()+"\n") {
		t.Errorf("docs/gateway.md has another table; it is:\n%s", table.String())
	}
	if _, ok := gateway.CodeOf("execution_replay"); ok {
		t.Error("a name in another spelling is one")
	}
}

// What a model sees of a refusal is often its message alone: what is safe to do next stands in it,
// where there is nothing more particular to say.
//
// covers EXA-077
func TestRefusalSaysWhatIsSafe(t *testing.T) {
	w := newWorld(t, says(`{}`), func(c *gateway.Config) { c.Require = toolaction.RequireAll })
	d := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"charge"}}`).decode(t)
	if d.refused() != "EXECUTION_ID_REQUIRED" || !strings.HasSuffix(d.Error.Message, ": "+d.Error.Data.SafeNext) || !strings.Contains(d.Error.Message, `_meta["bindery/execution_id"]`) {
		t.Errorf("%+v", d.Error)
	}
	const odd = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"charge","_meta":{"bindery/execution_id":"e","bindery/action_timestamp":"now"}}}`
	if d := w.post(odd).decode(t); !strings.Contains(d.Error.Message, "whole seconds, such as") || strings.Contains(d.Error.Message, d.Error.Data.SafeNext) {
		t.Errorf("%+v", d.Error)
	}
}
