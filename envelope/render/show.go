package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Shown is text that is fit for eyes; only [Show] makes one of text from outside. It holds no
// control and no format character but the joiners and selectors of words and emoji, and no space but
// U+0020. Marks in it are written ⟨U+202E⟩, and no ⟨ in it is anything else.
type Shown string

const (
	maxSpaces    = 2 // that stand side by side, as after a full stop
	maxCombining = 4 // on one letter; Vietnamese takes two, pointed Hebrew three
	maxJoins     = 4 // in one sign, which no line break tears; a family takes three
	zwnj         = '\u200c'
	zwj          = '\u200d'
)

// Show makes any text fit for eyes. A character that does not show by itself, or not as what it is,
// becomes a mark with its number; of several equal ones in a row, one mark with their count. A byte
// that is not UTF-8 becomes ⟨0xFF⟩. Two texts that differ are shown differently.
func Show(s string) Shown { return show(s, "") }

// ShowLines is [Show] of a text whose lines stand: line ends (LF or CR LF), tabs and spaces are kept.
// It is for ordinary content of tools; no slot of an envelope has lines.
func ShowLines(s string) Shown { return show(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t") }

func show(s, keep string) Shown {
	if tame(s) {
		return Shown(s)
	}
	w := shower{keep: keep}
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		next, has := utf8.DecodeRuneInString(s[size:])
		if has == 0 || next == utf8.RuneError {
			next = 0
		}
		if r == utf8.RuneError && size == 1 {
			w.mark(fmt.Sprintf("0x%02X", s[0]))
		} else if w.stands(r, next) {
			w.plain(r)
		} else {
			w.mark(fmt.Sprintf("U+%04X", r))
		}
		s = s[size:]
	}
	w.flush()
	return Shown(w.out.String())
}

// tame reports whether s is printable ASCII without a run of spaces and without one at the beginning:
// it stands as it is.
func tame(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return !strings.Contains(s, "   ") && !strings.HasPrefix(s, " ")
}

// A shower writes what is shown, and remembers as much of it as decides about the next character.
type shower struct {
	out    strings.Builder
	keep   string // controls that stand
	last   rune   // that stands as it is; 0 at the beginning and after a mark
	base   rune   // the last that is no combining mark
	heap   int    // combining marks on base
	joins  int    // in the sign that base belongs to
	spaces int    // up to here, in a row
	begun  bool   // something but spaces came
	odd    string // a mark that is not written yet
	times  int
}

func (w *shower) plain(r rune) {
	w.flush()
	w.out.WriteRune(r)
	switch {
	case r == zwj:
		w.joins++
	case w.last != zwj && !unicode.In(r, unicode.M, unicode.Sk): // neither joined nor a modifier
		w.joins = 0
	}
	w.last = r
	switch {
	case unicode.Is(unicode.M, r):
		w.heap++
	default:
		w.base, w.heap = r, 0
	}
	if r == ' ' {
		w.spaces++
	} else {
		w.spaces, w.begun = 0, true
	}
}

func (w *shower) mark(name string) {
	if name != w.odd {
		w.flush()
		w.odd = name
	}
	w.times++
	w.last, w.base, w.heap = 0, 0, 0
	if name != "U+0020" {
		w.spaces, w.begun = 0, true
	}
}

func (w *shower) flush() {
	switch {
	case w.times == 1:
		w.out.WriteString("⟨" + w.odd + "⟩")
	case w.times > 1:
		fmt.Fprintf(&w.out, "⟨%s×%d⟩", w.odd, w.times)
	}
	w.odd, w.times = "", 0
}

// stands reports whether r is shown as it is, before next.
func (w *shower) stands(r, next rune) bool {
	switch {
	case r == ' ':
		return w.keep != "" || w.begun && w.spaces < maxSpaces
	case r > ' ' && r <= '~', strings.ContainsRune(w.keep, r):
		return true
	case r == '⟨', r == '⟩', unseen(r):
		return false
	case r == zwnj:
		return joining(w.last) && joining(next)
	case r == zwj:
		return w.joins < maxJoins && (joining(w.last) && joining(next) || w.pictured() && unicode.Is(unicode.So, next))
	case r == '\ufe0e', r == '\ufe0f':
		return w.last == w.base && w.base != 0 && (w.pictured() || strings.ContainsRune("0123456789#*ℹ‼⁉〰", w.base))
	case unicode.Is(unicode.M, r):
		return w.base != 0 && w.base != ' ' && w.heap < maxCombining
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
}

// pictured reports whether an emoji stands before: a symbol, and what modifies it.
func (w *shower) pictured() bool {
	return w.base > '~' && unicode.In(w.base, unicode.So, unicode.Sk, unicode.Sm)
}

// joining reports whether r is written joined to its neighbours, or stacked: there the joiners are
// a matter of spelling, as in Persian and in the languages of India.
func joining(r rune) bool {
	return r != 0 && unicode.In(r, unicode.L, unicode.M) && unicode.In(r,
		unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
		unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}

// unseen reports whether r is a letter, mark or symbol by its category and nothing to the eye.
func unseen(r rune) bool {
	switch r {
	case '\u034f', // combining grapheme joiner
		'\u115f', '\u1160', '\u3164', '\uffa0', // fillers of Hangul
		'\u17b4', '\u17b5', // inherent vowels of Khmer
		'\u2800',     // blank of Braille
		'\ufffc',     // place of an object
		'\U0001d159', // null notehead
		'\U00016fe4': // filler of Khitan
		return true
	}
	return '\u180b' <= r && r <= '\u180f' || // selectors of Mongolian
		'\ufe00' <= r && r <= '\ufe0d' || '\U000e0100' <= r && r <= '\U000e01ef' // variation selectors
}

// odd counts the marks in s.
func (s Shown) odd() int { return strings.Count(string(s), "⟨") }
