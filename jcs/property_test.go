package jcs_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// TestSpellingDoesNotCount writes each of 1,000 values down three times. All spellings have the one
// canonical form, which is its own, and which only itself is.
//
// covers GC-215, GC-324
func TestSpellingDoesNotCount(t *testing.T) {
	g := newGarden(t)
	for range 1000 {
		value := g.container(4)
		want := value.canonical(nil)
		wantSum, _ := jcs.Sum256(want)
		for _, src := range [][]byte{g.write(nil, value), g.write(nil, value), g.write(nil, value), want} {
			got, err := jcs.Append(nil, src)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("Append(%q) = %q, %v, want %q", src, got, err, want)
			}
			if jcs.Canonical(src) != bytes.Equal(src, want) {
				t.Fatalf("Canonical(%q) = %t", src, jcs.Canonical(src))
			}
			if sum, err := jcs.Sum256(src); err != nil || sum != wantSum {
				t.Fatalf("Sum256(%q) = %x, %v, want %x", src, sum, err, wantSum)
			}
			if doubles, err := (jcs.Profile{Numbers: jcs.DoubleNumbers}).Append(nil, src); err != nil || !bytes.Equal(doubles, want) {
				t.Fatalf("as doubles Append(%q) = %q, %v, want %q", src, doubles, err, want)
			}
		}
	}
}

// TestEqualBytesAreEqualValues draws pairs from a world so small that values meet again: the
// canonical forms of two are equal just if the values are. Then one change, and the forms differ.
//
// covers GC-215
func TestEqualBytesAreEqualValues(t *testing.T) {
	g := newGarden(t)
	g.names = []string{"a", "b", "\uFF61", "😀"}
	form := func(value *tree) string {
		got, err := jcs.Append(nil, g.write(nil, value))
		if err != nil {
			t.Fatalf("Append(%q): %v", g.write(nil, value), err)
		}
		return string(got)
	}
	met := 0
	last := g.tree(2)
	for range 3000 {
		value := g.tree(2)
		same := value.equal(last)
		if same {
			met++
		}
		if (form(value) == form(last)) != same {
			t.Fatalf("equal values %t: %s and %s", same, form(value), form(last))
		}
		last = value
		changed := value.clone()
		g.change(changed)
		if form(changed) == form(value) {
			t.Fatalf("%+v and %+v have one form %s", value, changed, form(value))
		}
	}
	if met < 30 {
		t.Errorf("only %d pairs were equal: the world is too large", met)
	}
}

// TestAnotherDecoderSeesTheSame decodes input and output with encoding/json, whose numbers are
// compared as exact fractions.
func TestAnotherDecoderSeesTheSame(t *testing.T) {
	g := newGarden(t)
	for range 500 {
		src := g.write(nil, g.container(4))
		got, err := jcs.Append(nil, src)
		if err != nil {
			t.Fatalf("Append(%q): %v", src, err)
		}
		if a, b := decoded(t, src), decoded(t, got); a != b {
			t.Fatalf("%q has the form %q, but\n%s\n%s", src, got, a, b)
		}
	}
}

func decoded(t *testing.T, src []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	return flat(v)
}

// flat shows a decoded value so that equal ones look alike.
func flat(v any) string {
	switch v := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		return r.String()
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, flat(item))
		}
		return "[" + strings.Join(all, ",") + "]"
	case map[string]any:
		var all []string
		for name, item := range v {
			all = append(all, strconv.Quote(name)+":"+flat(item))
		}
		slices.SortFunc(all, cmp.Compare)
		return "{" + strings.Join(all, ",") + "}"
	}
	return fmt.Sprintf("%#v", v)
}

// TestDoublesKeepTheirValue prints any finite double as encoding/json does, whose format is that
// of ECMAScript but for the sign of zero, from any spelling that rounds to it.
func TestDoublesKeepTheirValue(t *testing.T) {
	g := newGarden(t)
	p := jcs.Profile{Numbers: jcs.DoubleNumbers}
	for range 3000 {
		f := math.Float64frombits(g.Uint64())
		if g.IntN(2) == 0 { // near the borders of the format, 1e-7 and 1e21
			f = (g.Float64() - 0.5) * math.Pow10(g.IntN(32)-9)
		}
		if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 {
			continue
		}
		want, _ := json.Marshal(f)
		for _, src := range []string{
			strconv.FormatFloat(f, 'e', -1, 64), strconv.FormatFloat(f, 'E', 17+g.IntN(20), 64), strconv.FormatFloat(f, 'f', -1, 64),
		} {
			if got, err := p.Append(nil, []byte(src)); err != nil || string(got) != string(want) {
				t.Fatalf("Append(%s) = %s, %v, want %s", src, got, err, want)
			}
		}
	}
}

// spoil makes a fault of most inputs.
func (g *garden) spoil(src []byte) []byte {
	src = bytes.Clone(src)
	i := g.IntN(len(src))
	switch g.IntN(4) {
	case 0:
		src[i] = byte(g.Uint32())
	case 1:
		src = slices.Delete(src, i, i+1)
	case 2:
		src = slices.Insert(src, i, []byte(`,"\{[]}:019.e-`)[g.IntN(14)])
	case 3:
		src = src[:i]
	}
	return src
}

// TestAppendTouchesNothingElse watches src, and dst up to its length; on a fault dst comes back as
// it was, down to its address and capacity.
func TestAppendTouchesNothingElse(t *testing.T) {
	g := newGarden(t)
	faults := 0
	for range 2000 {
		src := g.write(nil, g.container(4))
		if g.IntN(2) == 0 {
			src = g.spoil(src)
		}
		kept := bytes.Clone(src)
		clean, cleanErr := jcs.Append(nil, src)
		dst := append(make([]byte, 0, g.IntN(2*len(src)+8)), "kept"...)
		got, err := jcs.Append(dst, src)
		if !bytes.Equal(src, kept) || string(dst) != "kept" {
			t.Fatalf("Append(%q) wrote to src or dst: %q, %q", kept, src, dst)
		}
		if err != nil {
			faults++
			if cleanErr == nil || *cleanErr.(*jcs.Error) != *err.(*jcs.Error) {
				t.Fatalf("Append(%q): %v, and with a dst %v", src, cleanErr, err)
			}
			if len(got) != 4 || cap(got) != cap(dst) || address(got) != address(dst) {
				t.Fatalf("Append(%q) with a fault returns another dst, %q", src, got)
			}
			continue
		}
		if cleanErr != nil || string(got) != "kept"+string(clean) {
			t.Fatalf("Append(%q) = %q, %v, and with a dst %q", src, clean, cleanErr, got)
		}
	}
	if faults < 300 {
		t.Errorf("only %d faults", faults)
	}
}

// address is that of a slice that may be empty.
func address(b []byte) *byte { return &b[:1][0] }

// TestAppendOverItsSource shares memory between dst and src in every way a caller may: the same
// start, src behind a prefix, and dst ending anywhere before, in or after src.
func TestAppendOverItsSource(t *testing.T) {
	g := newGarden(t)
	for range 2000 {
		value := g.container(4)
		want := value.canonical(nil)
		src := want
		if g.IntN(3) > 0 {
			src = g.write(nil, value)
		}
		before, after := g.IntN(20), g.IntN(3)*len(want)
		buf := make([]byte, before+len(src)+after)
		copy(buf[before:], src)
		in := buf[before : before+len(src)]
		dst := buf[:g.IntN(len(buf)+1)]
		if g.IntN(3) == 0 {
			dst = in[:0]
		}
		prefix := bytes.Clone(dst)
		got, err := jcs.Append(dst, in)
		if err != nil || !bytes.Equal(got[:len(prefix)], prefix) || !bytes.Equal(got[len(prefix):], want) {
			t.Fatalf("src %q at %d of %d, dst of %d: %q, %v, want %q", src, before, len(buf), len(prefix), got, err, want)
		}
	}
}

// TestEveryCutIsAFault cuts objects and arrays at every byte: what is left is no document, and the
// fault stands in it. Nothing but white space may follow either.
func TestEveryCutIsAFault(t *testing.T) {
	g := newGarden(t)
	for range 300 {
		src := bytes.TrimSpace(g.write(nil, g.container(3)))
		if len(src) > 300 {
			continue
		}
		for cut := range len(src) {
			_, err := jcs.Append(nil, src[:cut])
			fault, ok := err.(*jcs.Error)
			if !ok || fault.Offset > cut {
				t.Fatalf("Append(%q) = %v", src[:cut], err)
			}
		}
		for _, more := range []string{"0", "{}", ",", "]", "\x00", "\xEF\xBB\xBF", "null"} {
			_, err := jcs.Append(nil, append(bytes.Clone(src), more...))
			fault, ok := err.(*jcs.Error)
			if !ok || fault.Offset != len(src) || fault.Kind != jcs.KindSyntax {
				t.Fatalf("Append(%q and %q) = %v", src, more, err)
			}
		}
	}
}

// TestConcurrentCalls canonicalises different documents at once, of sizes that would make pooled
// memory move from one to the other.
func TestConcurrentCalls(t *testing.T) {
	g := newGarden(t)
	var group sync.WaitGroup
	for range 8 {
		own := &garden{rand.New(rand.NewPCG(g.Uint64(), 1)), gardenNames}
		group.Go(func() {
			var buf []byte
			for range 150 {
				value := own.container(2 + own.IntN(3))
				want := value.canonical(nil)
				src := own.write(nil, value)
				var err error
				if buf, err = jcs.Append(buf[:0], src); err != nil || !bytes.Equal(buf, want) {
					t.Errorf("Append(%q) = %q, %v, want %q", src, buf, err, want)
				}
				v, err := jcs.Parse(src)
				if spoiled := own.spoil(src); err != nil || len(spoiled) > 0 {
					_, _ = jcs.Sum256(spoiled)
				}
				if err != nil || !bytes.Equal(v.Bytes(), want) {
					t.Errorf("Parse(%q) = %q, %v, want %q", src, v.Bytes(), err, want)
				}
			}
		})
	}
	group.Wait()
}
