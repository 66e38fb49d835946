package jcs_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// The public vectors EP-CANONICALIZATION-v1 lie beside the repository, not in it.
const publicVectors = "../../shared/vectors/ep-canonicalization.v1.json"

// publicFaults are the kind and the place of each refusal, which the vectors leave open. A
// reference in Python gave them.
var publicFaults = map[string]struct {
	kind   jcs.Kind
	offset int
}{
	"reject_duplicate_key_literal":          {jcs.KindDuplicate, 7},
	"reject_duplicate_key_escape_alias":     {jcs.KindDuplicate, 7},
	"reject_duplicate_key_nested":           {jcs.KindDuplicate, 16},
	"reject_duplicate_key_non_bmp_alias":    {jcs.KindDuplicate, 10},
	"reject_lone_high_surrogate":            {jcs.KindSurrogate, 6},
	"reject_lone_low_surrogate":             {jcs.KindSurrogate, 6},
	"reject_reversed_surrogate_pair":        {jcs.KindSurrogate, 6},
	"reject_high_surrogate_then_bmp_escape": {jcs.KindSurrogate, 6},
	"reject_lone_surrogate_in_member_name":  {jcs.KindSurrogate, 2},
	"reject_unsafe_integer_2_53":            {jcs.KindNumber, 5},
	"reject_unsafe_large_exponent":          {jcs.KindNumber, 5},
	"reject_non_integer_real":               {jcs.KindNumber, 5},
	"reject_nested_depth_over_limit":        {jcs.KindDepth, 320},
}

// TestPublicVectors replays EP-CANONICALIZATION-v1: the same profile, by other people. Each
// digest is the file's.
func TestPublicVectors(t *testing.T) {
	data, err := os.ReadFile(publicVectors)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("not run: EP-CANONICALIZATION-v1 (its file is not beside the repository)")
	}
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Suite   string
		Vectors []struct {
			ID     string
			Expect struct{ Valid bool }
			Canon  struct {
				Input  string `json:"input_json"`
				Digest string `json:"expected_digest"`
			} `json:"canonicalization"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if file.Suite != "EP-CANONICALIZATION-v1" || len(file.Vectors) != 35 {
		t.Fatalf("suite %q with %d vectors, want EP-CANONICALIZATION-v1 with 35", file.Suite, len(file.Vectors))
	}
	refused := 0
	for _, v := range file.Vectors {
		if !v.Expect.Valid {
			refused++
		}
		t.Run(v.ID, func(t *testing.T) {
			sum, err := jcs.Sum256([]byte(v.Canon.Input))
			if !v.Expect.Valid {
				want, ok := publicFaults[v.ID]
				if !ok {
					t.Fatal("a refusal that is not in the table")
				}
				wantFault(t, err, want.kind, want.offset)
				return
			}
			if err != nil || hex.EncodeToString(sum[:]) != v.Canon.Digest {
				t.Errorf("Sum256(%s) = %x, %v, want %s", v.Canon.Input, sum, err, v.Canon.Digest)
			}
		})
	}
	if refused != len(publicFaults) {
		t.Errorf("%d refusals, the table has %d", refused, len(publicFaults))
	}
}
