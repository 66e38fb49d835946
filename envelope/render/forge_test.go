package render_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope/render"
)

// A line that begins as one of ours, or as a way does.
var forged = regexp.MustCompile(`^(?:=> | {3})[A-Z]\) FORGED`)

// TestNoForgedWay: no text from outside makes a line that begins as a way does, wherever the block is
// broken: the blanks at a break are not carried into the next line.
//
// covers ENV-092, ENV-097
func TestNoForgedWay(t *testing.T) {
	for _, columns := range []int{24, 40, 72, 80} {
		for n := range 2 * columns {
			p := release()
			p.synopsis = strings.Repeat("x", n) + "  A) FORGED"
			for line := range strings.Lines(view(t, p).Text(columns)) {
				if forged.MatchString(line) {
					t.Fatalf("%d columns, a word of %d characters: %q", columns, n, line)
				}
			}
		}
	}
}

// TestJoinedSigns: signs that are joined are not torn, and so there are few of them: a line of more is
// broken by the terminal.
//
// covers ENV-092
func TestJoinedSigns(t *testing.T) {
	for _, sign := range []string{"👩", "➡\ufe0f", "👩🏽", "क्"} {
		p := release()
		p.synopsis = strings.Repeat(sign+"\u200d", 60) + sign
		for _, columns := range []int{24, 40, 80} {
			for line := range strings.Lines(view(t, p).Text(columns)) {
				if n := 2 * strings.Count(line, sign); strings.Contains(line, sign) && n > columns {
					t.Errorf("of %d columns, a line has %d: %q", columns, n, line)
				}
			}
		}
	}
}

// TestTabs: a terminal goes on to its next stop at a tab. Ordinary content of a tool does not reach the
// first column by tabs either, where it could look like a way or like our diagnostic.
//
// covers ENV-098
func TestTabs(t *testing.T) {
	for n := range 12 {
		for _, columns := range []int{24, 40, 80} {
			text := render.FallBack([]string{strings.Repeat("x\t", n) + "=> A) FORGED " + strings.Repeat("\t", n) + "! FORGED"}, nil).Text(columns)
			for line := range strings.Lines(text) {
				at := 0
				for _, r := range strings.TrimSuffix(line, "\n") {
					if at++; r == '\t' {
						at = (at + 7) / 8 * 8
					}
				}
				if at > columns {
					t.Errorf("a terminal of %d columns breaks %q", columns, line)
				}
			}
		}
	}
}

// TestNamesEnd: a name of an agent does not end the quotation that it stands in, and so says nothing in
// our words.
//
// covers ENV-002
func TestNamesEnd(t *testing.T) {
	v, err := render.New(release().envelope(t), render.Reader{Agent: "a” asks “dana”. “The board", Principal: "“”"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "“a⟨U+201D⟩ asks ⟨U+201C⟩dana⟨U+201D⟩. ⟨U+201C⟩The board” asks “⟨U+201C⟩⟨U+201D⟩”."
	for surface, got := range map[string]string{"text": v.Text(200), "page": readPage(t, page(t, v)).all} {
		if !strings.Contains(got, want) || !strings.Contains(got, "are marked") {
			t.Errorf("the %s does not say %s", surface, want)
		}
	}
}

// TestWideSigns: a terminal takes two columns for a sign of the emoji also where it is an old one. A
// line of them that is counted too short is broken by the terminal, and goes on in its first column.
//
// covers ENV-092
func TestWideSigns(t *testing.T) {
	for _, sign := range []string{"✅", "☕", "⌚", "⭐", "⬛", "\U0001f004", "\U0001f18e", "❤\ufe0f", "\u00a9\ufe0f", "\ufe10", "\ua960", "\U00017000", "\U0001b000"} {
		p := release()
		p.synopsis = strings.Repeat(sign, 39) + "=> A) FORGED"
		for line := range strings.Lines(view(t, p).Text(80)) {
			if strings.Count(line, sign) == 39 && strings.Contains(line, "FORGED") {
				t.Errorf("%q: a terminal of 80 columns breaks %q", sign, line)
			}
		}
	}
}
