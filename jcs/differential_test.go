package jcs_test

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// TestDifferential replays documents and the answers of an independent implementation; how they
// were made stands at the head of the file.
//
// covers GC-215
func TestDifferential(t *testing.T) {
	data, err := os.ReadFile("testdata/differential.txt")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		count++
		fields := strings.Fields(line)
		src := unhex(t, fields[0])
		got, err := jcs.Append(nil, src)
		if fields[1] == "ok" {
			want := unhex(t, fields[2])
			if err != nil || string(got) != string(want) {
				t.Errorf("Append(%q) = %q, %v, want %q", src, got, err, want)
			}
			if jcs.Canonical(src) != (string(src) == string(want)) {
				t.Errorf("Canonical(%q) is wrong", src)
			}
			continue
		}
		fault, ok := err.(*jcs.Error)
		if !ok || fault.Kind.String() != fields[1] || strconv.Itoa(fault.Offset) != fields[2] {
			t.Errorf("Append(%q) = %v, want %s at byte %s", src, err, fields[1], fields[2])
		}
	}
	if count < 400 {
		t.Errorf("only %d documents", count)
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	if s == "-" {
		return nil
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
