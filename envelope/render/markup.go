package render

import "strings"

// A constant is markup that stands in this package's source: the compiler takes a literal for one,
// and no string that was made while the program ran.
type constant string

// A markup is HTML in the making. Text enters it by text and attr alone, which escape.
type markup struct{ strings.Builder }

func (m *markup) raw(c constant) { m.WriteString(string(c)) }

// escape makes text of markup, for elements and for quoted attributes.
func escape(s string) string {
	if !strings.ContainsAny(s, `&<>"'`) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '"':
			b.WriteString("&#34;")
		case '\'':
			b.WriteString("&#39;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (m *markup) attr(s string) { m.WriteString(escape(s)) }

// text writes shown text; what [Show] has marked stands in an element of its own.
func (m *markup) text(s Shown) {
	rest := string(s)
	for {
		before, after, found := strings.Cut(rest, "⟨")
		m.WriteString(escape(before))
		if !found {
			return
		}
		name, tail, _ := strings.Cut(after, "⟩")
		m.raw(`<span class="odd">⟨`)
		m.WriteString(escape(name))
		m.raw(`⟩</span>`)
		rest = tail
	}
}

// slot writes text from outside into an element that isolates its direction.
func (m *markup) slot(s Shown) {
	m.raw(`<bdi class="slot" dir="auto">`)
	m.text(s)
	m.raw(`</bdi>`)
}
