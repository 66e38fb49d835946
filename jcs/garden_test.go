package jcs_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/bindery/bindery/jcs"
)

// A tree is a JSON value as a person thinks of it: without spelling and without an order of names.
type tree struct {
	kind  jcs.Type
	text  string // of a string; "true" or "false"
	n     int64
	items []*tree
	names []string // of the items, if it is an object; unique
}

// A garden grows trees, and writes them down in any spelling. One seed gives one garden.
type garden struct {
	*rand.Rand
	names []string // to choose from; few names make documents that meet again
}

// newGarden takes its seed from BINDERY_SEED, or draws one, and names it if the test fails.
func newGarden(t *testing.T) *garden {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("BINDERY_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal("BINDERY_SEED: ", err)
		}
		seed = n
	}
	t.Logf("BINDERY_SEED=%d grows the same documents", seed)
	return &garden{Rand: rand.New(rand.NewPCG(seed, 0)), names: gardenNames}
}

// gardenNames stand at the borders of the order: prefixes of 7 to 17 bytes, escapes, and both
// sides of the surrogates.
var gardenNames = []string{
	"", "a", "aa", "ab", "b", "A", "1", "10", "9", "\n", "\u001f", " ", `"`, `\`, "/", "[", "{", "a\n", "a\x00", "a ",
	"\u007f", "\u0080", "é", "e\u0301", "\uD7FF", "\uE000", "\uFB33", "\uFF61", "\uFFFF", "\U00010000", "😀", "\U0010FFFF",
	"a\uFFFF", "a😀", "prefix7", "prefix7a", "prefix7\n", "prefix7b", "sixteen_bytes_ab", "sixteen_bytes_ab0",
	"sixteen_bytes_ab\uFFFF", "sixteen_bytes_ab😀", "eight_by", "eight_by8", "eight_bZ", "a_name_that_is_longer_than_any_word_of_a_machine",
}

var gardenRunes = []rune("abc xyz/\"\\\b\t\n\f\r\x00\x0b\x1f\x7f\u0080é€\u2028\uD7FF\uE000\uFDD0\uFFFD\uFFFF\U00010000😀\U0010FFFF<&")

func (g *garden) tree(depth int) *tree {
	kind := jcs.NullType + jcs.Type(g.IntN(6))
	if depth == 0 {
		kind = jcs.NullType + jcs.Type(g.IntN(4))
	}
	t := &tree{kind: kind}
	switch kind {
	case jcs.BoolType:
		t.text = strconv.FormatBool(g.IntN(2) == 0)
	case jcs.NumberType:
		t.n = g.integer()
	case jcs.StringType:
		t.text = g.text()
	case jcs.ArrayType, jcs.ObjectType:
		g.fill(t, depth-1)
	}
	return t
}

// container is a tree of which every cut is a fault.
func (g *garden) container(depth int) *tree {
	t := &tree{kind: jcs.ArrayType + jcs.Type(g.IntN(2))}
	g.fill(t, depth-1)
	return t
}

func (g *garden) fill(t *tree, depth int) {
	n := g.IntN(7)
	if g.IntN(50) == 0 {
		n = g.IntN(60)
	}
	for range n {
		name := g.names[g.IntN(len(g.names))]
		if n > 6 {
			name += g.text()
		}
		if t.kind == jcs.ObjectType {
			if slices.Contains(t.names, name) {
				continue
			}
			t.names = append(t.names, name)
		}
		t.items = append(t.items, g.tree(depth))
	}
}

func (g *garden) integer() int64 {
	switch g.IntN(4) {
	case 0:
		return g.Int64N(21) - 10
	case 1:
		return (1<<53 - 1 - g.Int64N(3)) * (1 - 2*g.Int64N(2))
	case 2:
		return g.Int64N(1000) * int64(math.Pow10(g.IntN(13)))
	}
	return g.Int64N(1<<54-1) - (1<<53 - 1)
}

func (g *garden) text() string {
	var b strings.Builder
	for range g.IntN(24) {
		if g.IntN(3) > 0 {
			b.WriteByte("abcdefgh"[g.IntN(8)])
		} else {
			b.WriteRune(gardenRunes[g.IntN(len(gardenRunes))])
		}
	}
	return b.String()
}

// write spells t in one of the many ways: any order of members, white space, escapes, numbers.
func (g *garden) write(b []byte, t *tree) []byte {
	b = g.space(b)
	switch t.kind {
	case jcs.NullType:
		b = append(b, "null"...)
	case jcs.BoolType:
		b = append(b, t.text...)
	case jcs.NumberType:
		b = append(b, g.number(t.n)...)
	case jcs.StringType:
		b = g.quote(b, t.text)
	case jcs.ArrayType:
		b = append(b, '[')
		for i, item := range t.items {
			b = g.write(comma(b, i), item)
		}
		b = append(g.space(b), ']')
	case jcs.ObjectType:
		b = append(b, '{')
		for i, k := range g.Perm(len(t.items)) {
			b = g.quote(g.space(comma(b, i)), t.names[k])
			b = g.write(append(g.space(b), ':'), t.items[k])
		}
		b = append(g.space(b), '}')
	}
	return g.space(b)
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func (g *garden) space(b []byte) []byte {
	for g.IntN(4) == 0 {
		b = append(b, " \t\r\n"[g.IntN(4)])
	}
	return b
}

func (g *garden) number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	if n == 0 {
		return []string{"0", "-0", "0.0", "-0.000e-7", "0e5", "0E400"}[g.IntN(6)]
	}
	switch g.IntN(8) {
	case 0:
		return digits + ".0"
	case 1:
		return digits + "e0"
	case 2:
		return digits + "0E-1"
	case 3:
		return digits + strings.Repeat("0", 30) + "e-030"
	case 4: // the point moved to the left
		sign, rest := "", digits
		if rest[0] == '-' {
			sign, rest = "-", rest[1:]
		}
		return sign + "0." + rest + "e+" + strconv.Itoa(len(rest))
	case 5: // zeros moved into the exponent
		short := strings.TrimRight(digits, "0")
		return short + "E" + strconv.Itoa(len(digits)-len(short))
	}
	return digits
}

func (g *garden) quote(b []byte, s string) []byte {
	b = append(b, '"')
	style := g.IntN(3) // 0 and 1: escape what must be; 2: escape anything
	for _, r := range s {
		must := r < 0x20 || r == '"' || r == '\\'
		short := strings.IndexRune("\"\\/\b\f\n\r\t", r)
		switch {
		case short >= 0 && (must || style == 2) && g.IntN(2) == 0:
			b = append(b, '\\', `"\/bfnrt`[short])
		case must || style == 2 && g.IntN(2) == 0:
			for _, unit := range utf16.Encode([]rune{r}) {
				b = fmt.Appendf(b, []string{`\u%04x`, `\u%04X`}[g.IntN(2)], unit)
			}
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}

// canonical prints t from the rules of RFC 8785 alone: UTF-16 units sorted as numbers, and the
// table of escapes.
func (t *tree) canonical(b []byte) []byte {
	switch t.kind {
	case jcs.NullType:
		return append(b, "null"...)
	case jcs.BoolType:
		return append(b, t.text...)
	case jcs.NumberType:
		return strconv.AppendInt(b, t.n, 10)
	case jcs.StringType:
		return plainQuote(b, t.text)
	case jcs.ArrayType:
		b = append(b, '[')
		for i, item := range t.items {
			b = item.canonical(comma(b, i))
		}
		return append(b, ']')
	}
	order := make([]int, len(t.items))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return slices.Compare(utf16.Encode([]rune(t.names[x])), utf16.Encode([]rune(t.names[y])))
	})
	b = append(b, '{')
	for i, k := range order {
		b = append(plainQuote(comma(b, i), t.names[k]), ':')
		b = t.items[k].canonical(b)
	}
	return append(b, '}')
}

func plainQuote(b []byte, s string) []byte {
	const short, letters = "\"\\\b\t\n\f\r", `"\btnfr`
	b = append(b, '"')
	for _, r := range s {
		i := strings.IndexRune(short, r)
		switch {
		case i >= 0:
			b = append(b, '\\', letters[i])
		case r < 0x20:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}

// equal compares as values: members in any order, items in theirs.
func (t *tree) equal(o *tree) bool {
	if t.kind != o.kind || t.text != o.text || t.n != o.n || len(t.items) != len(o.items) {
		return false
	}
	for i, item := range t.items {
		k := i
		if t.kind == jcs.ObjectType {
			k = slices.Index(o.names, t.names[i])
		}
		if k < 0 || !item.equal(o.items[k]) {
			return false
		}
	}
	return true
}

func (t *tree) clone() *tree {
	c := *t
	c.names = slices.Clone(t.names)
	c.items = nil
	for _, item := range t.items {
		c.items = append(c.items, item.clone())
	}
	return &c
}

// change makes one change somewhere in t that makes another value of it: a leaf, a name, the order
// of two items, one item more or less.
func (g *garden) change(t *tree) {
	if n := len(t.items); n > 0 && g.IntN(4) > 0 {
		g.change(t.items[g.IntN(n)])
		return
	}
	before := t.clone()
	for t.equal(before) {
		switch n := len(t.items); {
		case t.kind == jcs.NumberType:
			t.n = g.integer()
		case t.kind == jcs.StringType:
			t.text = g.text()
		case t.kind == jcs.ObjectType && n > 0 && g.IntN(2) == 0:
			if name := g.names[g.IntN(len(g.names))]; !slices.Contains(t.names, name) {
				t.names[g.IntN(n)] = name
			}
		case t.kind == jcs.ArrayType && n > 1 && g.IntN(2) == 0:
			i, k := g.IntN(n), g.IntN(n)
			t.items[i], t.items[k] = t.items[k], t.items[i]
			if t.equal(before) {
				t.items = t.items[1:]
			}
		case n > 0:
			t.items, t.names = t.items[1:], t.names[min(1, len(t.names)):]
		default:
			*t = *g.tree(1)
		}
	}
}
