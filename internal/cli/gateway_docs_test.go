package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestOperationsConfig: the configuration that docs/operations.md shows is one, and so is the
// status query of docs/gateway.md.
func TestOperationsConfig(t *testing.T) {
	fenced := regexp.MustCompile("(?s)```json\n(.*?)```")
	blocks := func(doc string) [][][]byte {
		text, err := os.ReadFile(filepath.Join("../../docs", doc))
		if err != nil {
			t.Fatal(err)
		}
		return fenced.FindAllSubmatch(text, -1)
	}
	operations, page := blocks("operations.md"), blocks("gateway.md")
	if len(operations) != 1 || len(page) != 2 {
		t.Fatalf("%d and %d blocks", len(operations), len(page))
	}
	dir := audited(t, 0)
	accepts := func(gateway any) {
		t.Helper()
		path := filepath.Join(dir, "config.json")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var config map[string]any
		if err := json.Unmarshal(b, &config); err != nil {
			t.Fatal(err)
		}
		config["gateway"] = gateway
		if b, err = json.Marshal(config); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, errOut := binderyOn(nil, "gateway", "agent", "list", "--dir", dir); code != 0 {
			t.Errorf("%d, %s", code, errOut)
		}
	}
	accepts(json.RawMessage(operations[0][1]))
	accepts(map[string]any{"upstreams": []any{map[string]any{
		"name": "bank", "url": "https://bank.example/mcp", "tools": map[string]any{"charge": json.RawMessage(page[1][1])},
	}}})
	var call any
	if err := json.Unmarshal(page[0][1], &call); err != nil {
		t.Error(err)
	}
}
