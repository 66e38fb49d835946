package envelope_test

import (
	"bytes"
	"os"
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
