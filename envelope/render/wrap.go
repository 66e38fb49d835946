package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	defaultColumns = 80
	leastColumns   = 24 // below, a mark would have to be torn
	fsi            = "\u2068"
	pdi            = "\u2069"
	emojiSelector  = '\ufe0f'
)

// A sheet is a plain text in the making, so many columns wide.
type sheet struct {
	strings.Builder
	columns int
}

func newSheet(columns int) *sheet {
	if columns == 0 {
		columns = defaultColumns
	}
	return &sheet{columns: max(columns, leastColumns)}
}

// line writes a line of our own words, as it is.
func (s *sheet) line(words string) { s.WriteString(words + "\n") }

// put writes text after a head, and below it as far to the right. Lines are broken at spaces, and
// inside a word only if it has no room on a line of its own.
func (s *sheet) put(head string, text Shown) {
	indent := strings.Repeat(" ", len(head))
	for line := range strings.SplitSeq(string(text), "\n") {
		for _, part := range wrap(line, s.columns-len(head)) {
			s.line(strings.TrimRight(head+isolated(part), " "))
			head = indent
		}
	}
}

// isolated keeps right-to-left writing from turning what stands beside it.
func isolated(s string) string {
	if strings.ContainsFunc(s, rightToLeft) {
		return fsi + s + pdi
	}
	return s
}

func rightToLeft(r rune) bool {
	return 0x0590 <= r && r <= 0x08ff || 0xfb1d <= r && r <= 0xfdff || 0xfe70 <= r && r <= 0xfeff ||
		0x10800 <= r && r <= 0x10fff || 0x1e800 <= r && r <= 0x1efff
}

// wrap breaks a line into parts of at most room columns; it returns at least one.
func wrap(line string, room int) []string {
	var parts []string
	var part strings.Builder
	used, broken := 0, false
	flush := func() { // what is left of spaces at a break is no line
		if p := part.String(); strings.Trim(p, " ") != "" {
			parts = append(parts, p)
		}
		part.Reset()
		used, broken = 0, true
	}
	for i, word := range strings.Split(line, " ") {
		w := width(word)
		switch {
		case i == 0 || broken && used == 0: // nor do they begin one: with them it could look like a way
		case used+1+w <= room:
			part.WriteByte(' ')
			used++
		default:
			flush()
		}
		for len(word) > 0 {
			unit, size := word, w
			if used+w > room {
				unit = cluster(word)
				size = width(unit)
				if used > 0 && used+size > room {
					flush()
				}
			}
			part.WriteString(unit)
			used += size
			word, w = word[len(unit):], w-size
		}
	}
	flush()
	if len(parts) == 0 {
		return []string{""}
	}
	return parts
}

// cluster returns the first part of s that is not torn: a mark, or a character with what combines
// with it.
func cluster(s string) string {
	if strings.HasPrefix(s, "⟨") {
		return s[:strings.Index(s, "⟩")+len("⟩")]
	}
	_, end := utf8.DecodeRuneInString(s)
	for joined := false; end < len(s); {
		r, size := utf8.DecodeRuneInString(s[end:])
		if !joined && columnsOf(r) > 0 && r != emojiSelector {
			break
		}
		joined = r == zwj
		end += size
	}
	return s[:end]
}

// width returns how many columns a terminal takes for s. Where terminals disagree, as on emoji, it is
// the most that one takes: a line that is counted too short is broken by the terminal itself, and
// goes on in the first column.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	switch {
	case r == '\t':
		return 8
	case r < 0x300, r == emojiSelector: // which makes a sign of text as wide as an emoji
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me) || r == zwj || r == zwnj:
		return 0
	case wide(r):
		return 2
	}
	return 1
}

// wide reports whether r is one of the wide characters of East Asia, or of a block that has emoji.
func wide(r rune) bool {
	return 0x1100 <= r && r <= 0x115f || 0x2300 <= r && r <= 0x23ff || 0x25a0 <= r && r <= 0x27bf || 0x2b00 <= r && r <= 0x2bff ||
		0x2e80 <= r && r <= 0xa4cf || 0xa960 <= r && r <= 0xa97f || 0xac00 <= r && r <= 0xd7a3 || 0xf900 <= r && r <= 0xfaff ||
		0xfe10 <= r && r <= 0xfe6f || 0xff00 <= r && r <= 0xff60 || 0xffe0 <= r && r <= 0xffe6 ||
		0x16fe0 <= r && r <= 0x18dff || 0x1aff0 <= r && r <= 0x1b2ff || 0x1d300 <= r && r <= 0x1d37f || 0x1f000 <= r && r <= 0x1faff ||
		0x20000 <= r && r <= 0x3fffd
}
