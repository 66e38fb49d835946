package render

import (
	"fmt"
	"strings"
)

// What stands in the first columns of a block, which no text from outside can reach.
const (
	inset    = "  "     // of a slot
	besides  = "   "    // before an option
	pointing = "=> "    // before the option that is recommended
	under    = "      " // below a label
)

// Text returns the whole as a labelled multiple-choice block of so many columns, 80 if 0 and at
// least 24. Slots are wrapped and never shortened; only a link is longer than the block is wide.
// The option that is recommended stands behind an arrow and says so, the hatches are ways as the
// options are. Every line ends with LF.
func (v View) Text(columns int) string {
	s := newSheet(columns)
	v.brief(s)
	for _, w := range v.ways {
		arrow := besides
		if w.Recommended {
			arrow = pointing
		}
		v.way(s, arrow, w)
	}
	v.foot(s)
	return s.String()
}

// brief writes what is read before the ways.
func (v View) brief(s *sheet) {
	s.put("", Shown(strings.ToUpper(wordTitle)))
	if v.asked != "" {
		s.put(inset, Shown(v.asked))
	}
	if v.marked {
		s.put(inset, wordMarks)
	}
	for _, section := range v.sections {
		s.heading(section.Heading)
		s.section(section)
	}
	s.heading(wordQuestion)
	s.put(inset, v.stem)
	s.line("")
}

func (s *sheet) heading(words string) {
	s.line("")
	s.put("", Shown(strings.ToUpper(words)))
}

func (s *sheet) section(section Section) {
	if len(section.Items) == 0 {
		s.put(inset, wordNone)
	}
	for i, item := range section.Items {
		head := inset
		if section.List {
			head = fmt.Sprintf("%s%2d. ", inset, i+1)
		}
		s.put(head, item)
	}
}

func (v View) way(s *sheet, arrow string, w Way) {
	s.put(arrow+w.Key+") ", w.Title)
	if w.Recommended {
		s.put(under, wordRecommended+".")
	}
	s.put(under, w.Detail)
	if w.Invoke != "" {
		s.put(under, w.Invoke)
	}
	s.line("")
}

// foot writes what is read after the ways.
func (v View) foot(s *sheet) {
	for _, words := range v.notes() {
		s.put("", Shown(words))
	}
	if v.link != "" {
		s.line("The same on a page: " + v.link)
	}
	s.put("", Shown(wordEnvelope+v.envelope.Digest().String()))
}

// notes are our own sentences below the ways.
func (v View) notes() []string {
	list := []string{"The agent recommends " + v.recommended().Key + ". Nothing is chosen until you choose."}
	return append(append(list, v.closed...), v.assured)
}
