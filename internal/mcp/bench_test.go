package mcp_test

import (
	"testing"

	"github.com/bindery/bindery/internal/mcp"
)

// One call as clients of JavaScript and Go send it.
func BenchmarkRead(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"charge","arguments":{"customer":"c-1024","cents":1999,"currency":"EUR","note":"two of the blue ones"},"_meta":{"progressToken":7,"bindery/execution_id":"order-7","bindery/action_timestamp":"2026-11-30T12:00:00Z"}}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var scratch []byte
	for b.Loop() {
		m, s, err := mcp.Read(body, scratch, 1<<22)
		if err != nil {
			b.Fatal(err)
		}
		scratch = s
		if _, err := m.Call(); err != nil {
			b.Fatal(err)
		}
	}
}
