package envelope

import (
	"slices"
	"strings"
	"unicode"

	"github.com/bindery/bindery/jcs"
)

// fillers are letters and symbols by their category, and nothing to the eye: of Hangul, and the blank
// of Braille.
const fillers = "\u115f\u1160\u3164\uffa0\u2800"

// sameKey is the key under which two wordings are the same (E6, AE-15): letters without case and
// without marks, runs of white space as one space, no punctuation at the end, and nothing that
// cannot be seen. It is coarser than NFC with case folding, so that a question that was declined
// does not come back with an accent or a zero-width space more.
func sameKey(s string) string {
	key := make([]rune, 0, len(s))
	space := false
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Z) || unicode.IsSpace(r):
			space = len(key) > 0
			continue
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Cc), strings.ContainsRune(fillers, r):
			continue
		case space:
			key, space = append(key, ' '), false
		}
		key = appendKey(key, r)
	}
	end := len(key)
	for end > 0 && (unicode.IsPunct(key[end-1]) || key[end-1] == ' ') {
		end--
	}
	return string(key[:end])
}

// appendKey appends the bare form of one character.
func appendKey(key []rune, r rune) []rune {
	const (
		firstSyllable, lastSyllable = 0xAC00, 0xD7A3
		leads, vowels, tails        = 0x1100, 0x1161, 0x11A7
		tailsPerVowel, tailsPerLead = 28, 21 * 28
		firstComposed               = 0xC0
	)
	switch {
	case firstSyllable <= r && r <= lastSyllable: // Hangul is composed by arithmetic
		n := r - firstSyllable
		key = append(key, leads+n/tailsPerLead, vowels+n%tailsPerLead/tailsPerVowel)
		if tail := n % tailsPerVowel; tail > 0 {
			key = append(key, tails+tail)
		}
		return key
	case r >= firstComposed:
		r = baseOf(unicode.ToLower(r))
	}
	return append(key, unicode.ToLower(orbit(r)))
}

// baseOf returns the bare letter of a lower-case one.
func baseOf(r rune) rune {
	i := strings.IndexRune(baseLetters, r)
	if i < 0 || r == '\n' {
		return r
	}
	line := baseLetters[strings.LastIndexByte(baseLetters[:i], '\n')+1:]
	for _, base := range line {
		return base
	}
	return r
}

// orbit returns the first of all characters that differ from r in case alone.
func orbit(r rune) rune {
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		first = min(first, next)
	}
	return first
}

// An asking is what a matter remembers of a question that was put: names and digests, no wording.
type asking struct {
	envelope Digest
	stem     jcs.Hex256 // of the stem's key
	labels   jcs.Hex256 // of the labels' keys, as a set
	options  int
	hatches  Hatches
}

func askingOf(e Envelope) asking {
	keys := []string{}
	for _, o := range e.Options() {
		keys = append(keys, sameKey(o.Label))
	}
	slices.Sort(keys)
	return asking{
		envelope: e.Digest(), options: e.get().count, hatches: e.Hatches(),
		stem:   jcs.HexOf([]byte(sameKey(e.Stem()))),
		labels: jcs.HexOf([]byte(strings.Join(slices.Compact(keys), "\n"))),
	}
}
