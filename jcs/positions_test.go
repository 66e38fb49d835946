package jcs_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bindery/bindery/jcs"
)

// A scan that reads several bytes at a time must miss none that matters, wherever it stands. The
// tests here put such bytes at every place of the first words, and build what they expect from
// the same parts.

// special is what may stand inside a string and is more than a plain letter.
type special struct {
	src  string
	want string   // its canonical spelling; "" if it is refused
	kind jcs.Kind // of the refusal, at the first byte of src
}

func specials() []special {
	list := []special{
		{`\"`, `\"`, 0}, {`\\`, `\\`, 0}, {`\n`, `\n`, 0}, {`\u000b`, `\u000b`, 0}, {`\u001f`, `\u001f`, 0},
		{`\u000B`, `\u000b`, 0}, {`\u000a`, `\n`, 0}, {`\/`, `/`, 0}, {`\u0041`, `A`, 0}, {`\u0022`, `\"`, 0},
		{`\u00e9`, "\u00E9", 0}, {`\ud83d\ude00`, "\U0001F600", 0},
		{"\u0080", "\u0080", 0}, {"\u00A2", "\u00A2", 0}, {"\u00E9", "\u00E9", 0}, {"\u0700", "\u0700", 0},
		{"\u20AC", "\u20AC", 0}, {"\uD7FF", "\uD7FF", 0}, {"\uFFFF", "\uFFFF", 0}, {"\U0001F600", "\U0001F600", 0},
		{"\x7f", "\x7f", 0}, {"!", "!", 0}, {"#", "#", 0}, {"[", "[", 0}, {"]", "]", 0}, {" ", " ", 0},
		{`\x`, "", jcs.KindSyntax}, {`\u00g0`, "", jcs.KindSyntax}, {"\\\x80", "", jcs.KindSyntax},
		{`\ud800`, "", jcs.KindSurrogate}, {`\udc00`, "", jcs.KindSurrogate},
		{"\x80", "", jcs.KindUTF8}, {"\xff", "", jcs.KindUTF8}, {"\xa2", "", jcs.KindUTF8}, {"\xc0\xaf", "", jcs.KindUTF8},
		{"\xed\xa0\x80", "", jcs.KindUTF8}, {"\xe2\x82", "", jcs.KindUTF8}, {"\xf4\x90\x80\x80", "", jcs.KindUTF8},
	}
	for c := range byte(0x20) {
		list = append(list, special{string(rune(c)), "", jcs.KindSyntax})
	}
	return list
}

// plain gives n bytes of text that hold nothing special; filler has one or two bytes.
func plain(filler string, n int) string {
	return strings.Repeat("a", n%len(filler)) + strings.Repeat(filler, n/len(filler))
}

// TestSpecialAtEachPlace tries each special as text, item and name, in documents that are
// canonical but for it, that need sorting, and that are not UTF-8 further on.
//
// covers GC-215
func TestSpecialAtEachPlace(t *testing.T) {
	contexts := []struct{ head, tail, wantHead, wantTail string }{
		{`"`, `"`, `"`, `"`},
		{`{"`, `":0}`, `{"`, `":0}`},
		{`["xyz","`, `"]`, `["xyz","`, `"]`},
		{`{"b":"`, `","a":0}`, `{"a":0,"b":"`, `"}`},
	}
	// The second bytes of the last three are the quote, the backslash and a control, each with
	// the high bit set.
	fillers := []string{"a", "\u00A2", "\u071C", "\u0080"}
	for _, s := range specials() {
		for _, filler := range fillers {
			for place := range 18 {
				for _, after := range []int{0, 1, 9} {
					before, after := plain(filler, place), plain(filler, after)
					for _, c := range contexts {
						src := c.head + before + s.src + after + c.tail
						if s.want == "" {
							wantRefusal(t, src, s.kind, len(c.head)+place)
							wantRefusal(t, src[:len(src)-1]+"\xff", s.kind, len(c.head)+place)
							continue
						}
						wantForm(t, src, c.wantHead+before+s.want+after+c.wantTail)
						wantRefusal(t, src+"\xff", jcs.KindUTF8, len(src))
					}
				}
			}
			if t.Failed() {
				t.Fatalf("special %q among %q", s.src, filler)
			}
		}
	}
}

// TestQuoteAtEachPlace ends a string early and late.
func TestQuoteAtEachPlace(t *testing.T) {
	for _, filler := range []string{"a", "!", "#", "\u00A2"} {
		for n := range 34 {
			text := `"` + plain(filler, n)
			wantForm(t, text+`"`, text+`"`)
			wantForm(t, "["+text+`",1]`, "["+text+`",1]`)
			wantRefusal(t, text, jcs.KindSyntax, len(text))
			wantRefusal(t, text+`"b"`, jcs.KindSyntax, len(text)+1)
			wantRefusal(t, text+`\"`, jcs.KindSyntax, len(text)+2)
			wantForm(t, text+`\\"`, text+`\\"`)
			wantRefusal(t, text+`\\\"`, jcs.KindSyntax, len(text)+4)
		}
	}
}

// wantForm holds that src is accepted with exactly this form, and Canonical if it is the form.
func wantForm(t *testing.T, src, want string) {
	t.Helper()
	got, err := jcs.Append(nil, []byte(src))
	if err != nil || string(got) != want {
		t.Errorf("Append(%q) = %q, %v, want %q", src, got, err, want)
	}
	if got := jcs.Canonical([]byte(src)); got != (src == want) {
		t.Errorf("Canonical(%q) = %t", src, got)
	}
}

func wantRefusal(t *testing.T, src string, kind jcs.Kind, offset int) {
	t.Helper()
	_, err := jcs.Append(nil, []byte(src))
	if fault, ok := err.(*jcs.Error); !ok || fault.Kind != kind || fault.Offset != offset {
		t.Errorf("Append(%q) = %v, want %v at byte %d", src, err, kind, offset)
	}
	if jcs.Canonical([]byte(src)) {
		t.Errorf("Canonical(%q) = true", src)
	}
}

// TestNamesByPrefix compares two names that part after exactly so many bytes. What follows the
// difference would turn the order round.
//
// covers GC-215
func TestNamesByPrefix(t *testing.T) {
	pairs := [][2]string{ // in the order of UTF-16, by Node 20
		{"a", "b"}, {" ", "a"}, {"Z", "a"}, {"~", "\x7f"}, {"\x7f", "\u0080"}, {"\u07FF", "\u0800"}, {"a", "\u00E9"},
		{"\uD7FF", "\U00010000"}, {"\U00010000", "\uE000"}, {"\U0010FFFF", "\uFFFF"}, {"\U0001F600", "\uFF61"},
		{"\U0001F600", "\U0001F601"}, {"\uE000", "\uFFFF"},
		{`\n`, `\u001f`}, {`\u001f`, `[`}, {`\u0000`, ` `}, {`!`, `\"`}, {`\"`, `#`}, {`[`, `\\`}, {`\\`, `]`}, {`\\`, "\u00E9"},
	}
	for _, pair := range pairs {
		for _, size := range []int{7, 8, 9, 16, 17, 100} {
			for _, common := range []int{0, 7, 8, 9, 15, 16} {
				if common+6 > size {
					continue
				}
				prefix := strings.Repeat("n", common)
				low := prefix + pair[0] + strings.Repeat("z", size-common-len(pair[0]))
				high := prefix + pair[1] + strings.Repeat("A", size-common-len(pair[1]))
				wantPair(t, low, high)
			}
		}
	}
}

// TestNameBeforeItsContinuation holds that a name comes before whatever it is the beginning of,
// also where the next byte is less than a quote.
//
// covers GC-215
func TestNameBeforeItsContinuation(t *testing.T) {
	continuations := []string{
		" ", "!", `\"`, "#", "n", `\\`, `\u0000`, `\t`, "\x7f", "\u00E9", "\U0001F600", "\uFFFF",
		"nnnnnnnn", "        ",
	}
	for n := range 34 {
		for _, more := range continuations {
			wantPair(t, strings.Repeat("n", n), strings.Repeat("n", n)+more)
		}
	}
}

// wantPair tries two names, given in canonical spelling, in order, out of order and repeated, at
// eight places against the borders of words.
func wantPair(t *testing.T, low, high string) {
	t.Helper()
	for shift := range 8 {
		head := `["` + strings.Repeat("s", shift) + `",{`
		sorted := head + `"` + low + `":1,"` + high + `":2}]`
		wantForm(t, sorted, sorted)
		wantForm(t, head+`"`+high+`":2,"`+low+`":1}]`, sorted)
		for _, again := range []string{low, high} {
			first := head + `"` + again + `":1,`
			wantRefusal(t, first+`"`+again+`":2}]`, jcs.KindDuplicate, len(first))
		}
		both := head + `"` + high + `":1,"` + low + `":2,`
		wantRefusal(t, both+`"`+high+`":3}]`, jcs.KindDuplicate, len(both))
		wantRefusal(t, both+`"`+low+`":3}]`, jcs.KindDuplicate, len(both))
	}
}

// ordered are names in the order of UTF-16, by Array.prototype.sort of Node 20.
var ordered = []string{
	"", "\x0a", "\x1f", " ", "!", "\"", "#", "0", "1", "10", "9", "A", "Z", "[", "\\", "]", "_", "a", "aa", "ab",
	"abcdefg", "abcdefgh", "abcdefgha", "abcdefghb", "abcdefghijklmnop", "abcdefghijklmnopq", "b", "~", "\x7f",
	"\u0080", "\u00E9", "\u07FF", "\u0800", "\u20AC", "\uD7FF", "\U0001F600", "\U0010FFFF", "\uE000", "\uFF61", "\uFFFF",
}

// spelled is the canonical spelling of those names.
func spelled(name string) string {
	return `"` + strings.NewReplacer("\x0a", `\n`, "\x1f", `\u001f`, `"`, `\"`, `\`, `\\`).Replace(name) + `"`
}

// TestShuffledMembers writes objects of 2 to 40 members in any order, then again with some of the
// names repeated, half of them by escapes.
//
// covers GC-215
func TestShuffledMembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8785, 40))
	for n := 2; n <= len(ordered); n++ {
		for range 12 {
			picked := rng.Perm(len(ordered))[:n]
			slices.Sort(picked)
			var sorted strings.Builder
			for i, at := range picked {
				fmt.Fprintf(&sorted, `%c%s:%d`, "{,"[min(i, 1)], spelled(ordered[at]), at)
			}
			sorted.WriteByte('}')
			rng.Shuffle(n, func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
			src, _ := writeMembers(rng, picked)
			wantForm(t, src, sorted.String())
			again := slices.Clone(picked)
			for range 1 + rng.IntN(3) {
				again = slices.Insert(again, rng.IntN(len(again)+1), picked[rng.IntN(n)])
			}
			src, offset := writeMembers(rng, again)
			wantRefusal(t, src, jcs.KindDuplicate, offset)
		}
	}
}

// writeMembers writes members in this order, some names all in escapes, and returns the offset of
// the first name that was there before.
func writeMembers(rng *rand.Rand, members []int) (src string, repeated int) {
	var b strings.Builder
	seen := map[int]bool{}
	for i, at := range members {
		b.WriteByte("{,"[min(i, 1)])
		if seen[at] && repeated == 0 {
			repeated = b.Len()
		}
		seen[at] = true
		name := spelled(ordered[at])
		if rng.IntN(2) == 0 {
			name = escaped(ordered[at])
		}
		fmt.Fprintf(&b, `%s:%d`, name, at)
	}
	b.WriteByte('}')
	return b.String(), repeated
}

// escaped spells every character as \uXXXX.
func escaped(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x`, 0xD800+r>>10)
			r = 0xDC00 + r&0x3FF
		}
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	b.WriteByte('"')
	return b.String()
}
