package envelope

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

var (
	quoted       = regexp.MustCompile(`"[^"]*"|“[^”]*”|‘[^’]*’|«[^»]*»`)
	abbreviation = regexp.MustCompile(`(?i)(?:^|[\s(])(?:dr|mr|mrs|ms|mx|prof|st|no|nos|vs|cf|e\.g|i\.e|etc|inc|ltd|co|corp|plc|p|pp|art|arts|sec|fig|approx|dept|est|min|max|jr|sr|a\.m|p\.m|u\.s|u\.k|rev|gen|col|capt|lt|sgt|hon|messrs|mt|ave|rd|vol|ed|ref|tel|ext|[a-z])\.$`)
)

// maxAbbreviation is more than any of them has in bytes, so that a match needs the blank before it or
// the beginning of the text: looking further back would take its time again at every full stop.
const maxAbbreviation = 16

// plainText is a text for patterns: lower case, straight apostrophes, one blank between words, and
// nothing of what is quoted, which is somebody else's wording.
func plainText(s string) string {
	s = strings.ReplaceAll(quoted.ReplaceAllString(s, `""`), "’", "'")
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}

// severalSentences reports whether a sentence ends within the text and another begins.
func severalSentences(s string) bool {
	s = strings.Join(strings.Fields(quoted.ReplaceAllString(s, `""`)), " ")
	for i := 0; i < len(s)-2; i++ {
		if c := s[i]; c != '.' && c != '!' && c != '?' || s[i+1] != ' ' && s[i+1] != ')' {
			continue
		}
		next, _ := utf8.DecodeRuneInString(strings.TrimLeft(s[i+1:], ` )("'`))
		if !unicode.IsUpper(next) && !unicode.IsDigit(next) || s[i] == '.' && abbreviation.MatchString(s[max(0, i-maxAbbreviation):i+1]) {
			continue
		}
		return true
	}
	return false
}

// The words that carry nothing when two sentences are compared.
const emptyWords = ` a an the this that these those it its he she they them their his her we us our you your i my me who which what
 is are was were be been being am do does did has have had will would shall should can could may might must ought
 and or but nor so yet if then than as at by for from in into of off on onto out over to up with without about after before under until
 not no yes there here now today very more most also only just too all any some each both either neither
 way right answer better best good `

// stems are the words of a text that carry something, cut to what their forms share.
func stems(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 1 && !strings.Contains(emptyWords, " "+w+" ") {
			set[stem(w)] = true
		}
	}
	return set
}

// stem cuts the endings of English that make forms of one word.
func stem(w string) string {
	for _, ending := range []string{"ations", "ation", "ments", "ment", "ings", "ing", "ers", "ies", "ied", "al", "es", "ed", "er", "ly", "s", "e", "y"} {
		if cut, ok := strings.CutSuffix(w, ending); ok && len(cut) >= 3 {
			w = cut
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] { // cancelled, cancel
		w = w[:n-1]
	}
	return strings.TrimSuffix(w, "e")
}

// share is how much of a is also in b, from 0 to 1.
func share(a, b map[string]bool) float64 {
	if len(a) == 0 {
		return 0
	}
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return float64(n) / float64(len(a))
}

var (
	asideMark = regexp.MustCompile(`(?:,? (?:because|although|even though|though|since|even if|while|whereas|despite|until|unless|so that|in case|as long as|provided)\b|: |; | \(| – | — )`)
	firstMark = regexp.MustCompile(`^(?:although|even though|though|since|because|while|despite|as|if|on|in|at|by|from|after|before|until|to|for|this|next|when|once|with|given)\b[^,]*, `)
)

// mainClause is the plain text without what is said on the side.
func mainClause(plain string) string {
	plain = firstMark.ReplaceAllString(plain, "")
	if at := asideMark.FindStringIndex(plain); at != nil {
		plain = plain[:at[0]]
	}
	return plain
}

// patterns are compiled when the first text is looked at: that takes milliseconds, which a program
// that lints nothing does not spend.
var patterns = sync.OnceValue(func() *allPatterns { return &allPatterns{newBriefPatterns(), newBindPatterns()} })

type allPatterns struct {
	briefPatterns
	bindPatterns
}
