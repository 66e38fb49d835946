package render

import (
	"strings"
	"unicode/utf8"
)

// maxTitle is where a title of a notification ends, in characters: systems cut longer ones
// without a sign.
const maxTitle = 120

// A Notification is what a system for notifications takes. The texts are plain: a system that reads
// markup in them, as some desktops do in a body, needs them escaped. Title and Body are short and lead to the whole, which is behind Link and in Whole,
// for a view that unfolds.
type Notification struct {
	Title string
	Body  string
	Link  string // "" if the surface has none; then Body is Whole
	Whole string // the text of all slots and ways, in lines that are not broken
}

// unbroken is a width at which no slot is wrapped.
const unbroken = 1 << 20

// Notification returns the synopsis as a title, and the question with the option that is recommended
// and the other ways as body. A synopsis too long for a title is continued in the body.
func (v View) Notification() Notification {
	n := Notification{Link: v.link, Whole: v.Text(unbroken)}
	synopsis := v.synopsis()
	n.Title = isolated(string(synopsis))
	var body strings.Builder
	if utf8.RuneCountInString(string(synopsis)) > maxTitle {
		n.Title = isolated(head(synopsis, maxTitle)) + " …"
		body.WriteString(inset + isolated(string(synopsis)) + "\n")
	}
	if v.link == "" {
		n.Body = n.Whole
		return n
	}
	body.WriteString(inset + isolated(string(v.stem)) + "\n")
	for _, w := range v.ways {
		arrow, mark := besides, ""
		if w.Recommended {
			arrow, mark = pointing, wordRecommended+": "
		}
		body.WriteString(arrow + w.Key + ") " + mark + isolated(string(w.Title)) + "\n")
	}
	body.WriteString("Findings, recommendations, reasons and all ways to answer: " + v.link)
	n.Body = body.String()
	return n
}

func (v View) synopsis() Shown {
	for _, s := range v.sections {
		if s.Heading == wordSynopsis {
			return s.Items[0]
		}
	}
	return ""
}

// head returns the beginning of s, at most so many characters and nothing torn.
func head(s Shown, most int) string {
	end, count := 0, 0
	for end < len(s) {
		unit := cluster(string(s[end:]))
		if count += utf8.RuneCountInString(unit); count > most {
			break
		}
		end += len(unit)
	}
	return string(s[:end])
}
