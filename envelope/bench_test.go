package envelope_test

import (
	"crypto/sha256"
	"testing"

	"github.com/bindery/bindery/envelope"
)

// BenchmarkParse reads, checks and digests an envelope of 2 KiB; its bound is the SHA-256 of the
// same bytes alone, in the same run. The aim is four times that.
func BenchmarkParse(b *testing.B) {
	in := twoKiB()
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			sha256.Sum256(in)
		}
	})
	b.Run("envelope", func(b *testing.B) {
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := envelope.Parse(in); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLint prints how the lints agree with a reader: over the sentences that they were made on
// (dev), and over those that they were not (held, fresh). block counts what the builder refuses alone.
func BenchmarkLint(b *testing.B) {
	for _, half := range []string{"dev", "held", "fresh"} {
		b.Run(half, func(b *testing.B) {
			list := corpus(b, "lint_"+half+".tsv")
			var all, blocked score
			for b.Loop() {
				all, blocked = measure(b, list, anyFinding, nil), measure(b, list, blocking, nil)
			}
			b.ReportMetric(all.precision(), "precision")
			b.ReportMetric(all.recall(), "recall")
			b.ReportMetric(blocked.precision(), "block-precision")
			b.ReportMetric(blocked.recall(), "block-recall")
		})
	}
}
