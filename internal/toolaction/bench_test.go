package toolaction_test

import (
	"strings"
	"testing"
)

// BenchmarkAdapt is a call of 1 KiB of arguments: spelled as it is forwarded, and with a number for
// which the input schema has to be asked.
func BenchmarkAdapt(b *testing.B) {
	schema := `{"type":"object","properties":{"to":{"type":"string"},"amount":{"$ref":"#/$defs/amount"},"note":{"type":"string"},` +
		`"items":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}},"$defs":{"amount":{"anyOf":[{"type":"number"},{"type":"null"}]}}}`
	tool := tool(b, schema, `{}`)
	for name, amount := range map[string]string{"canonical": "5", "schema": "5.0"} {
		arguments := []byte(`{"to":"merchant-7","amount":` + amount + `,"note":"` + strings.Repeat("n", 800) + `","items":[{"n":1},{"n":2},{"n":3},{"n":4},{"n":5},{"n":6}]}`)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tool.Adapt("agent", at, arguments); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
