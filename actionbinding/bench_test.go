package actionbinding_test

import (
	"crypto/sha256"
	"testing"

	"github.com/bindery/bindery/actionbinding"
)

// BenchmarkBind is a binding of the members of EAB-001; BenchmarkSHA256 is its bound: the digest of
// the same 207 bytes alone.
func BenchmarkBind(b *testing.B) {
	a := action(b)
	b.ReportAllocs()
	for b.Loop() {
		if a.Bind(actionbinding.SHA256) == (actionbinding.Binding{}) {
			b.Fatal("none")
		}
	}
}

func BenchmarkSHA256(b *testing.B) {
	preimage := action(b).Preimage()
	b.ReportAllocs()
	for b.Loop() {
		if sha256.Sum256(preimage) == [32]byte{} {
			b.Fatal("zero")
		}
	}
}
