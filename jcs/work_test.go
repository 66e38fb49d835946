package jcs_test

import (
	"bytes"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// TestWork bounds the work on every shape that makes another implementation slow: the bytes that
// are copied and compared and the members that are moved, counted where it is done. A byte of the
// input may be copied twice, and compared or moved once for each halving of the number of names.
func TestWork(t *testing.T) {
	shapes := hostileShapes()
	prefix := strings.Repeat("x", 200)
	var long, nested, pretty bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&long, `,"%s%05d":1`, prefix, (i*7919)%20_000)
	}
	for range 64 {
		nested.WriteString(`{"b":[`)
	}
	for i := range 60 {
		fmt.Fprintf(&pretty, "%*s[{\"b\":1.0,\n\"a\":2}],", i, "")
	}
	shapes = append(shapes,
		shape{"names=long", append(append([]byte("{"), long.Bytes()[1:]...), '}')},
		shape{"open=64", nested.Bytes()},
		shape{"pretty", append([]byte("["), append(bytes.Repeat(pretty.Bytes(), 500), "0]"...)...)},
		shape{"escapes", append(append([]byte(`"`), bytes.Repeat([]byte(`\u0041`), 100_000)...), '"')},
		shape{"pairs", append(append([]byte("["), bytes.Repeat([]byte(`{"b":0,"a":{"d":0,"c":0}},`), 20_000)...), "0]"...)},
	)
	for _, tt := range shapes {
		names := bytes.Count(tt.src, []byte(":")) + 1
		limit := len(tt.src) * (3 + bits.Len(uint(names)))
		if work := jcs.Work(tt.src); work > limit {
			t.Errorf("%s: work %d on %d bytes and %d names, limit %d", tt.name, work, len(tt.src), names, limit)
		}
	}
}

// A text that is canonical costs no memory beyond its own.
func TestNoAllocations(t *testing.T) {
	for _, doc := range benchDocuments() {
		dst := make([]byte, 0, len(doc.canonical))
		for name, f := range map[string]func(){
			"Canonical": func() { jcs.Canonical(doc.canonical) },
			"Append":    func() { must(jcs.Append(dst, doc.canonical)) },
			"Sum256":    func() { must(jcs.Sum256(doc.canonical)) },
			"Sum384":    func() { must(jcs.Sum384(doc.canonical)) },
		} {
			if n := testing.AllocsPerRun(5, f); n != 0 {
				t.Errorf("%s of %s: %v allocations", name, doc.name, n)
			}
		}
	}
}
