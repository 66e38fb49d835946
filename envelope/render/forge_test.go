package render_test

import (
	"regexp"
	"strings"
	"testing"
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
