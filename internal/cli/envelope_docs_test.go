package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestEnvelopeDoc: the envelope that docs/envelope.md shows is one, and nothing is wrong with its
// wording.
func TestEnvelopeDoc(t *testing.T) {
	text, err := os.ReadFile("../../docs/envelope.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("there is none")
	}
	path := filepath.Join(t.TempDir(), "decision.json")
	if err := os.WriteFile(path, block[1], 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := binderyOn(nil, "envelope", "lint", path); code != 0 || out != "" {
		t.Errorf("%d, %s%s", code, out, errOut)
	}
}
