package jcs_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cyberphone "github.com/cyberphone/json-canonicalization/go/src/webpki.org/jsoncanonicalizer"
	gowebpki "github.com/gowebpki/jcs"

	"github.com/bindery/bindery/jcs"
)

// BenchmarkJCS measures every size and form beside the hash of the same bytes and two peers.
//
// Each of its lines is one run of rounds in which all contestants take turns, so that a busy
// machine slows them alike, and the figures are medians over the rounds: ns/op, MB/s and
// allocs/call are ours, x-sha256 is our time against SHA-256 alone over the input's bytes, and x-gowebpki and
// x-cyberphone say how many times as long those peers take for the same input.
func BenchmarkJCS(b *testing.B) {
	for _, doc := range benchDocuments() {
		for _, form := range doc.forms() {
			name := fmt.Sprintf("size=%s/input=%s", doc.name, form.name)
			b.Run(name+"/op=append", func(b *testing.B) {
				dst := make([]byte, 0, 2*len(form.src))
				compare(b, form.src, func() { must(jcs.Append(dst[:0], form.src)) })
			})
			b.Run(name+"/op=sum256", func(b *testing.B) {
				compare(b, form.src, func() { must(jcs.Sum256(form.src)) })
			})
			if form.name == "canonical" {
				b.Run(name+"/op=verify", func(b *testing.B) {
					compare(b, form.src, func() {
						if !jcs.Canonical(form.src) {
							panic("not canonical")
						}
					})
				})
			}
		}
	}
}

// BenchmarkHostile holds inputs that peers are slow or die on against a flat document of the
// same size: x-flat is our time against that of the flat one.
func BenchmarkHostile(b *testing.B) {
	for _, tt := range hostileShapes() {
		b.Run(tt.name, func(b *testing.B) {
			flat := flatDocument(len(tt.src))
			dst := make([]byte, 0, len(tt.src)+len(flat))
			rounds := interleave(b, func() { _, _ = jcs.Append(dst[:0], tt.src) }, func() { must(jcs.Append(dst[:0], flat)) })
			report(b, tt.src, rounds)
			b.ReportMetric(rounds[0]/rounds[1], "x-flat")
		})
	}
}

func must[T any](_ T, err error) {
	if err != nil {
		panic(err)
	}
}

func compare(b *testing.B, src []byte, ours func()) {
	m := interleave(b, ours,
		func() { sha256.Sum256(src) },
		func() { must(gowebpki.Transform(src)) },
		func() { must(cyberphone.Transform(src)) })
	report(b, src, m)
	b.ReportMetric(m[0]/m[1], "x-sha256")
	b.ReportMetric(m[2]/m[0], "x-gowebpki")
	b.ReportMetric(m[3]/m[0], "x-cyberphone")
	b.ReportMetric(testing.AllocsPerRun(10, ours), "allocs/call")
}

func report(b *testing.B, src []byte, m []float64) {
	b.ReportMetric(m[0], "ns/op")
	b.ReportMetric(float64(len(src))*1e3/m[0], "MB/s")
}

// interleave lets the contestants take turns and returns the median nanoseconds of one call of
// each. One iteration of the benchmark is all rounds. A contestant's turn begins with a collection,
// so that it does not pay for the garbage of another, and with one call that does not count.
func interleave(b *testing.B, contestants ...func()) []float64 {
	const rounds, turn = 15, 4 * time.Millisecond
	times := make([][]float64, len(contestants))
	for b.Loop() {
		for range rounds {
			for i, f := range contestants {
				runtime.GC()
				f()
				start := time.Now()
				f()
				calls := 1 + int(turn/max(time.Since(start), 50))
				start = time.Now()
				for range calls {
					f()
				}
				times[i] = append(times[i], float64(time.Since(start))/float64(calls))
			}
		}
	}
	medians := make([]float64, len(contestants))
	for i, t := range times {
		slices.Sort(t)
		medians[i] = t[len(t)/2]
	}
	return medians
}

type benchDocument struct {
	name      string
	canonical []byte
}

type benchForm struct {
	name string
	src  []byte
}

// benchDocuments are a binding's preimage, an envelope's prose, and two documents of order lines:
// names of 4 to 12 bytes, one text in ten with a character beyond ASCII or an escape.
func benchDocuments() []benchDocument {
	rng := rand.New(rand.NewSource(8785))
	binding := jcs.Object(
		jcs.Member{Name: "version", Value: jcs.Int(1)},
		jcs.Member{Name: "domain", Value: jcs.String("io.example/execution-action-binding")},
		jcs.Member{Name: "agent_id", Value: jcs.String("spiffe://example.org/ns/payments/sa/agent-7")},
		jcs.Member{Name: "action_type", Value: jcs.String("payments.transfer.create")},
		jcs.Member{Name: "scope", Value: jcs.String("account=NL91ABNA0417164300;amount=125000;currency=EUR")},
		jcs.Member{Name: "timestamp", Value: jcs.String("2026-11-30T14:45:54Z")},
	)
	var slots []jcs.Member
	for _, name := range []string{"situation", "decision", "options", "recommendation", "stakes", "evidence", "reversal", "deadline"} {
		value := jcs.String(benchProse(rng, 180))
		if name == "options" {
			value = jcs.Array(
				jcs.Object(jcs.Member{Name: "id", Value: jcs.Int(0)}, jcs.Member{Name: "title", Value: jcs.String(benchProse(rng, 40))}, jcs.Member{Name: "reasoning", Value: jcs.String(benchProse(rng, 90))}),
				jcs.Object(jcs.Member{Name: "id", Value: jcs.Int(1)}, jcs.Member{Name: "title", Value: jcs.String(benchProse(rng, 40))}, jcs.Member{Name: "reasoning", Value: jcs.String(benchProse(rng, 90))}))
		}
		slots = append(slots, jcs.Member{Name: name, Value: value})
	}
	return []benchDocument{
		{"267B", binding},
		{"1.8KB", jcs.Object(slots...)},
		{"64KB", benchRecords(rng, 64<<10)},
		{"1MB", benchRecords(rng, 1<<20)},
	}
}

func benchProse(rng *rand.Rand, n int) string {
	words := strings.Fields("the release goes to every tenant of the region once two people agree and nothing may leave before")
	var s strings.Builder
	for s.Len() < n {
		s.WriteString(words[rng.Intn(len(words))])
		s.WriteByte(' ')
	}
	return s.String()
}

// benchRecords is an array of order lines: each name has its one type, some lines lack some.
func benchRecords(rng *rand.Rand, size int) []byte {
	special := []string{"€", "é", "\n", "\"quoted\"", "日本"}
	var items [][]byte
	for total := 0; total < size; {
		text := func(n int) []byte {
			s := benchProse(rng, rng.Intn(n))
			if rng.Intn(10) == 0 {
				s += special[rng.Intn(len(special))]
			}
			return jcs.String(s)
		}
		members := []jcs.Member{
			{Name: "reference", Value: jcs.String(fmt.Sprintf("PO-%07d", rng.Intn(1e7)))},
			{Name: "description", Value: text(60)},
			{Name: "quantity", Value: jcs.Int(rng.Int63n(500))},
			{Name: "unit_price", Value: jcs.Object(
				jcs.Member{Name: "amount_minor", Value: jcs.Int(rng.Int63n(1e6))},
				jcs.Member{Name: "currency", Value: jcs.String([]string{"EUR", "USD", "JPY"}[rng.Intn(3)])})},
			{Name: "delivery", Value: jcs.String(fmt.Sprintf("2026-12-%02dT09:00:00Z", 1+rng.Intn(28)))},
			{Name: "reversible", Value: jcs.Bool(rng.Intn(4) == 0)},
		}
		if rng.Intn(3) == 0 {
			members = append(members, jcs.Member{Name: "note", Value: text(90)})
		}
		if rng.Intn(3) == 0 {
			members = append(members, jcs.Member{Name: "conditions", Value: jcs.Array(text(40), text(40))})
		}
		item := jcs.Object(members...)
		items = append(items, item)
		total += len(item) + 1
	}
	return jcs.Array(items...)
}

func (d benchDocument) forms() []benchForm {
	shuffled := shuffle(rand.New(rand.NewSource(3)), d.canonical)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, shuffled, "", "  "); err != nil {
		panic(err)
	}
	return []benchForm{{"canonical", d.canonical}, {"shuffled", shuffled}, {"pretty", pretty.Bytes()}}
}

// shuffle returns the text with the members of every object in random order.
func shuffle(rng *rand.Rand, canonical []byte) []byte {
	v, err := jcs.Parse(canonical)
	if err != nil {
		panic(err)
	}
	var write func(dst []byte, v jcs.Value) []byte
	write = func(dst []byte, v jcs.Value) []byte {
		var parts [][]byte
		switch v.Type() {
		case jcs.ObjectType:
			for name, value := range v.Members() {
				parts = append(parts, write(append(jcs.String(name), ':'), value))
			}
			rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			return append(append(append(dst, '{'), bytes.Join(parts, []byte(","))...), '}')
		case jcs.ArrayType:
			for item := range v.Items() {
				parts = append(parts, write(nil, item))
			}
			return append(append(append(dst, '['), bytes.Join(parts, []byte(","))...), ']')
		}
		return append(dst, v.Bytes()...)
	}
	return write(nil, v)
}

type shape struct {
	name string
	src  []byte
}

func hostileShapes() []shape {
	numbered := func(n int, next func(i int) int) []byte {
		dst := []byte{'{'}
		for i := range n {
			dst = fmt.Appendf(dst, `"%06d":1,`, next(i))
		}
		dst[len(dst)-1] = '}'
		return dst
	}
	perm := rand.New(rand.NewSource(1)).Perm(100_000)
	deep := bytes.Repeat([]byte(`{"b":1,"a":`), 64)
	deep = append(deep, jcs.String(strings.Repeat("x", 1<<20))...)
	deep = append(deep, bytes.Repeat([]byte("}"), 64)...)
	return []shape{
		{"names=ascending", numbered(100_000, func(i int) int { return i })},
		{"names=descending", numbered(100_000, func(i int) int { return 99_999 - i })},
		{"names=shuffled", numbered(100_000, func(i int) int { return perm[i] })},
		{"brackets=5MB", bytes.Repeat([]byte("["), 5<<20)},
		{"levels=64", deep},
	}
}

// flatDocument is one array of short strings and integers, n bytes long.
func flatDocument(n int) []byte {
	dst := []byte{'['}
	for len(dst) < n {
		dst = append(dst, `"reference",12345,`...)
	}
	dst[len(dst)-1] = ']'
	return dst
}
