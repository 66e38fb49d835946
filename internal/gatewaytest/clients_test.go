package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/gatewaytest"
)

// TestClients: the clients of the TypeScript SDK, of either revision, get along with each form
// of the gateway. What they call twice under one execution_id happens once, and their second
// call is refused with the recorded result.
//
// covers EXA-024, EXA-052, EXA-061
func TestClients(t *testing.T) {
	t.Parallel()
	bin, gate := node(t, "clients of the TypeScript SDK"), bindery(t)
	program := build(t, "github.com/bindery/bindery/internal/gatewaytest/countingserver")
	for _, form := range []struct{ client, server string }{{"http", "http"}, {"http", "stdio"}, {"stdio", "http"}, {"stdio", "stdio"}} {
		t.Run(form.client+" to "+form.server, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			effects, home := filepath.Join(dir, "effects"), filepath.Join(dir, "G")
			var upstream []string
			if form.server == "http" {
				addr := freeAddr(t)
				start(t, exec.Command(program, "-addr", addr, "-ledger", effects, "-sessions"))
				listening(t, addr)
				upstream = []string{"--upstream", "http://" + addr + "/mcp"}
			} else {
				upstream = []string{"--", program, "-ledger", effects}
			}
			key, err := exec.Command(gate, "gateway", "agent", "add", "buyer", "--dir", home).Output()
			if err != nil {
				t.Fatal(err)
			}
			var to []string
			if form.client == "http" {
				addr := freeAddr(t)
				start(t, exec.Command(gate, append([]string{"gateway", "--dir", home, "--addr", addr}, upstream...)...))
				listening(t, addr)
				to = []string{"http", "http://" + addr + "/mcp"}
			} else {
				to = append([]string{"stdio", gate, "gateway", "--dir", home}, upstream...)
			}
			for i, kind := range []string{"v1", "v2", "modern"} {
				cmd := exec.CommandContext(t.Context(), bin, append([]string{"client.mjs", kind}, to...)...)
				cmd.Dir = packages
				cmd.Env = append(os.Environ(), "BINDERY_AGENT_KEY="+strings.TrimSpace(string(key)))
				var complaints strings.Builder
				cmd.Stderr = &complaints
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v\n%s", kind, err, &complaints)
				}
				var got map[string]any
				if err := json.Unmarshal(out, &got); err != nil {
					t.Fatal(err)
				}
				paid := fmt.Sprint("effect ", i+1)
				want := map[string]any{
					"tools": []any{"pay", "status", "echo"}, "echo": `{"s":"grüß","x":1.5}`,
					"first": paid, "state": "succeeded", "refused": "EXECUTION_REPLAY", "recorded": paid,
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", kind, diff)
				}
			}
			l, err := gatewaytest.OpenLedger(effects)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if diff := cmp.Diff(map[string]int{"paid-by-v1-over-" + form.client: 1, "paid-by-v2-over-" + form.client: 1, "paid-by-modern-over-" + form.client: 1}, l.Counts()); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}
