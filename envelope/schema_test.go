package envelope_test

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/bindery/bindery/envelope"
)

// The committed schemas are what the table prints, line break included. What they say of the
// vectors, a validator of another language is asked in internal/interoptest.
//
// covers ENV-007, ENV-032, ENV-074
func TestSchemasAreCommitted(t *testing.T) {
	for name, want := range map[string][]byte{"envelope": envelope.EnvelopeSchema(), "resolution": envelope.ResolutionSchema()} {
		got, err := os.ReadFile("schema/" + name + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, append(want, '\n')) {
			t.Errorf("schema/%s.schema.json is not what the table prints:\n%s", name, want)
		}
	}
}

// A schema of a tool goes to validators in all languages. Most of them have no Unicode properties in
// patterns, and one that does not know a pattern refuses the tool, or all tools.
func TestSchemaPatterns(t *testing.T) {
	pattern := regexp.MustCompile(`"pattern":("(?:[^"\\]|\\.)*")`)
	seen := 0
	for _, schema := range [][]byte{envelope.EnvelopeSchema(), envelope.ResolutionSchema()} {
		for _, m := range pattern.FindAllSubmatch(schema, -1) {
			seen++
			if p := string(m[1]); p != `"^sha256:[0-9a-f]{64}$"` && p != `"\\S"` {
				t.Errorf("the pattern %s is not known to be understood everywhere", p)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d patterns", seen)
	}
}
