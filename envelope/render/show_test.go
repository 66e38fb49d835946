package render_test

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope/render"
)

// covers ENV-002, ENV-112
func TestShow(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "Pay 1,200.00 EUR <now> & \"here\"", "Pay 1,200.00 EUR <now> & \"here\""},
		{"languages", "naïve Straße Đặng 日本語 한국어 Ελλάδα שָׁלוֹם مُحَمَّد नमस्ते ไทย", "naïve Straße Đặng 日本語 한국어 Ελλάδα שָׁלוֹם مُحَمَّد नमस्ते ไทย"},
		{"joiners of Persian and Hindi", "می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष"},
		{"joiners elsewhere", "pay\u200cpal pay\u200dpal می\u200c x \u200d", "pay⟨U+200C⟩pal pay⟨U+200D⟩pal می⟨U+200C⟩ x ⟨U+200D⟩"},
		{"joiner at the end", "نمی\u200c", "نمی⟨U+200C⟩"},
		{"emoji", "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3 ℹ\ufe0f 👍🏽", "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3 ℹ\ufe0f 👍🏽"},
		{"a family, and a kiss", "👨\u200d👩\u200d👧\u200d👦 👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏻", "👨\u200d👩\u200d👧\u200d👦 👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏻"},
		{"a chain without an end", strings.Repeat("👩\u200d", 6) + "👩", strings.Repeat("👩\u200d", 4) + "👩⟨U+200D⟩👩\u200d👩"},
		{"one of skins", strings.Repeat("👩🏽\u200d", 5) + "👩", strings.Repeat("👩🏽\u200d", 4) + "👩🏽⟨U+200D⟩👩"},
		{"one of letters", strings.Repeat("क्\u200d", 5) + "ष", strings.Repeat("क्\u200d", 4) + "क्⟨U+200D⟩ष"},
		{"selectors elsewhere", "a\ufe0f x\ufe0f\ufe0f \U000e0101", "a⟨U+FE0F⟩ x⟨U+FE0F×2⟩ ⟨U+E0101⟩"},
		{"a second selector", "❤\ufe0f\ufe0f", "❤\ufe0f⟨U+FE0F⟩"},
		{"escape sequences", "\x1b[2J\x1b]8;;x\x07y\u009b1m", "⟨U+001B⟩[2J⟨U+001B⟩]8;;x⟨U+0007⟩y⟨U+009B⟩1m"},
		{"a control in plain letters", "red \x1b[31m, end\n", "red ⟨U+001B⟩[31m, end⟨U+000A⟩"},
		{"controls", "a\x00b\rc\nd\te\x7f", "a⟨U+0000⟩b⟨U+000D⟩c⟨U+000A⟩d⟨U+0009⟩e⟨U+007F⟩"},
		{"directions", "\u202egnp\u202c\u2066\u2069\u200e\u200f\u061c", "⟨U+202E⟩gnp⟨U+202C⟩⟨U+2066⟩⟨U+2069⟩⟨U+200E⟩⟨U+200F⟩⟨U+061C⟩"},
		{"zero width", "a\u200bb\ufeffc\u2060d\u00ade", "a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+2060⟩d⟨U+00AD⟩e"},
		{"separators", "a\u2028b\u2029c\u0085d", "a⟨U+2028⟩b⟨U+2029⟩c⟨U+0085⟩d"},
		{"spaces", "a\u00a0b\u2003c\u202fd\u3000e\u1680f", "a⟨U+00A0⟩b⟨U+2003⟩c⟨U+202F⟩d⟨U+3000⟩e⟨U+1680⟩f"},
		{"a run of spaces", "end.  Two      many", "end.  Two  ⟨U+0020×4⟩many"},
		{"spaces alone", "   ", "⟨U+0020×3⟩"},
		{"fillers", "\u3164\u115f\u1160\uffa0\u2800\u17b4\u034f\ufffc", "⟨U+3164⟩⟨U+115F⟩⟨U+1160⟩⟨U+FFA0⟩⟨U+2800⟩⟨U+17B4⟩⟨U+034F⟩⟨U+FFFC⟩"},
		{"tags", "x\U000e0041\U000e0042\U000e007f", "x⟨U+E0041⟩⟨U+E0042⟩⟨U+E007F⟩"},
		{"private, unassigned, no character", "\ue000\u0378\uffff\U0010ffff", "⟨U+E000⟩⟨U+0378⟩⟨U+FFFF⟩⟨U+10FFFF⟩"},
		{"a heap of combining marks", "a\u0301\u0302\u0303\u0304\u0305\u0305\u0305", "a\u0301\u0302\u0303\u0304⟨U+0305×3⟩"},
		{"a combining mark on nothing", "\u0301a \u0301", "⟨U+0301⟩a ⟨U+0301⟩"},
		{"our own mark", "⟨U+202E⟩", "⟨U+27E8⟩U+202E⟨U+27E9⟩"},
		{"many", strings.Repeat("\u200b", 900), "⟨U+200B×900⟩"},
		{"no UTF-8", "a\xffb\xc3", "a⟨0xFF⟩b⟨0xC3⟩"},
		{"its replacement", "\ufffd", "\ufffd"},
	} {
		if got := string(render.Show(c.text)); got != c.want {
			t.Errorf("%s: %q is shown as %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

// covers ENV-098
func TestShowLines(t *testing.T) {
	const text = "one\r\n\ttwo    far\n\n  three\rfour\x1b[1m"
	const want = "one\n\ttwo    far\n\n  three⟨U+000D⟩four⟨U+001B⟩[1m"
	if got := string(render.ShowLines(text)); got != want {
		t.Errorf("%q is shown as %q, want %q", text, got, want)
	}
}

var marks = regexp.MustCompile(`⟨(?:U\+([0-9A-F]{4,6})|0x([0-9A-F]{2}))(?:×([0-9]+))?⟩`)

// readBack undoes Show: what was there can be told from what is shown.
func readBack(shown string) string {
	return marks.ReplaceAllStringFunc(shown, func(mark string) string {
		m := marks.FindStringSubmatch(mark)
		times := 1
		if m[3] != "" {
			times, _ = strconv.Atoi(m[3])
		}
		if m[2] != "" {
			n, _ := strconv.ParseUint(m[2], 16, 8)
			return strings.Repeat(string([]byte{byte(n)}), times)
		}
		n, _ := strconv.ParseInt(m[1], 16, 32)
		return strings.Repeat(string(rune(n)), times)
	})
}

// TestNothingIsLost: what was there can be read back from what is shown, to the byte.
//
// covers ENV-002
func TestNothingIsLost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		s := randomText(r)
		if r.IntN(10) == 0 {
			s += string([]byte{byte(r.IntN(256)), byte(r.IntN(256))})
		}
		if got := readBack(string(render.Show(s))); got != s {
			t.Fatalf("%q is shown as %q, which reads back as %q", s, render.Show(s), got)
		}
	}
	for c := rune(0); c <= 0x10ffff; c++ {
		switch {
		case c == 0xd800:
			c = 0xe000 // surrogates are no characters
		case c >= 0x3400 && c < 0xf900, c >= 0x12000 && c < 0x1d000:
			c += 20 // ideographs, private use and their like
		case c >= 0x20000 && c < 0xe0000, c >= 0xe0200:
			c += 250 // mostly nothing
		}
		s := "a" + string(c) + "b"
		if got := string(render.Show(s)); got != s && readBack(got) != s {
			t.Fatalf("%U is shown as %q", c, got)
		}
	}
}
