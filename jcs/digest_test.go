package jcs_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// Digests of {"a":"€/","b":1} by hashlib of Python 3.
const (
	exampleSource = `{ "b": 1.0, "a": "\u20AC\/" }`
	example256    = "733398e374f61182cb31c82f57559206309ae528d2b2d47c819743434edd985a"
	example384    = "6b36864ead3e0158d26f279a6f656cd2a81829b38b3cf3c2766d9e0e75b3628049dc50a8895ac6d7c21f9b92187035ae"
)

// covers GC-212
func TestDigests(t *testing.T) {
	for _, src := range []string{exampleSource, `{"a":"€/","b":1}`} {
		sum, err := jcs.Sum256([]byte(src))
		if got := hex.EncodeToString(sum[:]); err != nil || got != example256 {
			t.Errorf("Sum256 = %s, %v", got, err)
		}
		sum384, err := jcs.Sum384([]byte(src))
		if got := hex.EncodeToString(sum384[:]); err != nil || got != example384 {
			t.Errorf("Sum384 = %s, %v", got, err)
		}
		d, err := jcs.Digest256([]byte(src))
		if err != nil || d != "sha256:"+example256 {
			t.Errorf("Digest256 = %s, %v", d, err)
		}
		d, err = jcs.Digest384([]byte(src))
		if err != nil || d != "sha384:"+example384 {
			t.Errorf("Digest384 = %s, %v", d, err)
		}
	}
	for _, digest := range []func([]byte) (jcs.Digest, error){jcs.Digest256, jcs.Digest384} {
		d, err := digest([]byte(`{"a":1,"a":1}`))
		wantFault(t, err, jcs.KindDuplicate, 7)
		if d != "" {
			t.Errorf("digest of a refused text = %q", d)
		}
	}
}

func TestHexOf(t *testing.T) {
	// SHA-256 of no bytes, by hashlib.
	if got := jcs.HexOf(nil); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("HexOf(nil) = %s", got)
	}
}

// covers GC-212
func TestParseDigests(t *testing.T) {
	h64, h96 := strings.Repeat("0a", 32), strings.Repeat("9f", 48)
	tests := []struct {
		s           string
		hex, digest bool
	}{
		{h64, true, false},
		{"sha256:" + h64, false, true},
		{"sha384:" + h96, false, true},
		{h96, false, false},
		{"", false, false},
		{h64[:63], false, false},
		{h64 + "0", false, false},
		{h64[:63] + "A", false, false},
		{h64[:63] + "g", false, false},
		{h64[:63] + "/", false, false},
		{h64[:63] + ":", false, false},
		{strings.ToUpper(h64), false, false},
		{" " + h64[1:], false, false},
		{"sha256:" + h96, false, false},
		{"sha384:" + h64, false, false},
		{"SHA256:" + h64, false, false},
		{"sha256:" + strings.ToUpper(h64), false, false},
		{"sha512:" + h64 + h64, false, false},
		{"sha256:sha256:" + h64, false, false},
		{"sha256:", false, false},
		{"sha256:" + h64 + "\n", false, false},
	}
	for _, tt := range tests {
		h, err := jcs.ParseHex256(tt.s)
		if (err == nil) != tt.hex || (err == nil) != (h == jcs.Hex256(tt.s) && h != "") {
			t.Errorf("ParseHex256(%q) = %q, %v", tt.s, h, err)
		}
		d, err := jcs.ParseDigest(tt.s)
		if (err == nil) != tt.digest || (err == nil) != (d == jcs.Digest(tt.s) && d != "") {
			t.Errorf("ParseDigest(%q) = %q, %v", tt.s, d, err)
		}
	}
}
