package interoptest_test

import (
	"bytes"
	"testing"
)

// TestEnvelopeVectors puts the vectors of package envelope to JavaScript: another strict reading,
// another grammar, the npm package canonicalize, and ajv over the committed schemas.
//
// covers ENV-052, ENV-053, ENV-055, ENV-119
func TestEnvelopeVectors(t *testing.T) {
	t.Parallel()
	needNode(t, "the vectors of envelopes and resolutions, judged by another implementation")
	const room = "../envelope/"
	out, code := node(t, "envelope.mjs", room+"testdata/vectors.json", room+"schema/envelope.schema.json", room+"schema/resolution.schema.json")
	if code != 0 || bytes.Count(out, []byte("ok ")) < 40 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
