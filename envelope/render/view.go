package render

import (
	"errors"
	"strings"

	"github.com/bindery/bindery/envelope"
)

var (
	errNone = errors.New("render: there is no envelope to show")
	errLink = errors.New("render: a link begins with https:// or http:// and has visible ASCII characters alone, at most 2048")
)

// A Reader is what a surface knows besides the envelope. All fields may be zero. Agent and Principal
// are texts from outside, as the envelope's.
type Reader struct {
	Agent     string             // who asks
	Principal string             // who is asked
	Link      string             // absolute URL of a page that shows the whole
	Assurance envelope.Assurance // with which the surface takes resolutions; zero is Client

	// Remarks are shown as diagnostics beside the briefing, for example what [envelope.Lint] says.
	// They never make an envelope malformed (E1).
	Remarks []envelope.Finding

	// Invoke says how a way is taken on a surface of text, for example "--option 1" of a command.
	// If nil, it is the reply that [View.Reply] reads.
	Invoke func(Way) string
}

// A View is one envelope as all surfaces show it. Make one with [New]; it does not change.
type View struct {
	envelope envelope.Envelope
	asked    string // one sentence
	sections []Section
	stem     Shown
	ways     []Way
	closed   []string
	assured  string
	link     string
	style    Style
	marked   bool
}

// A Section is one briefing slot, or the calibration note, or the reader's remarks.
type Section struct {
	Heading string
	List    bool    // whether the slot is an array
	Items   []Shown // at least one for a text; none for an empty array
}

// A Way is one resolution that the principal can give: an option, or an open hatch.
type Way struct {
	Key         string // "A" to "D" for the options in their order, "W" and "R" for the hatches
	Kind        envelope.Kind
	Index       int   // of the option
	Title       Shown // its label
	Detail      Shown // its reasoning
	Recommended bool
	Invoke      Shown // how it is taken where there is text alone
}

// New returns the view of an envelope for a reader.
func New(e envelope.Envelope, r Reader) (View, error) {
	if e.IsZero() {
		return View{}, errNone
	}
	if r.Link != "" && !isLink(r.Link) {
		return View{}, errLink
	}
	v := View{
		envelope: e,
		asked:    askedBy(name(r.Agent), name(r.Principal)),
		sections: briefing(e),
		stem:     orEmpty(e.Stem()),
		ways:     waysOf(e),
		assured:  assured(r.Assurance),
		link:     r.Link,
		style:    styleOf(e.Meta().DecisionClass),
	}
	for i := range v.ways {
		w := &v.ways[i]
		w.Invoke = Show(replyTo(*w))
		if r.Invoke != nil {
			w.Invoke = Show(r.Invoke(*w))
		}
	}
	if h := e.Hatches(); !h.FreeText {
		v.closed = append(v.closed, wordWriteClosed)
	}
	if h := e.Hatches(); !h.Dialogue {
		v.closed = append(v.closed, wordDeclineClosed)
	}
	if len(r.Remarks) > 0 {
		v.sections = append(v.sections, remarks(r.Remarks))
	}
	v.marked = v.odd() > 0
	return v, nil
}

func isLink(s string) bool {
	if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") || len(s) > 2048 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"'<>\\^`{|}", r) })
}

// askedBy is a sentence of our words around two names, which quotation marks hold apart from them.
func askedBy(agent, principal string) string {
	switch {
	case agent != "" && principal != "":
		return agent + " asks " + principal + "."
	case agent != "":
		return agent + " asks."
	case principal != "":
		return principal + " is asked."
	}
	return ""
}

// name is a name in quotation marks, which it cannot end: its own are marked. "" stays so.
func name(s string) string {
	if s == "" {
		return ""
	}
	return "“" + strings.NewReplacer("“", "⟨U+201C⟩", "”", "⟨U+201D⟩").Replace(string(Show(s))) + "”"
}

func orEmpty(s string) Shown {
	if s == "" {
		return wordEmpty
	}
	return Show(s)
}

func briefing(e envelope.Envelope) []Section {
	var list []Section
	text := func(heading, s string) { list = append(list, Section{Heading: heading, Items: []Shown{orEmpty(s)}}) }
	array := func(heading string, items []string) {
		s := Section{Heading: heading, List: true}
		for _, item := range items {
			s.Items = append(s.Items, orEmpty(item))
		}
		list = append(list, s)
	}
	if m := e.Meta(); m.HasCalibrationNote {
		text(wordCalibration, m.CalibrationNote)
	}
	text(wordSynopsis, e.Synopsis())
	array(wordFindings, e.Findings())
	array(wordMoves, e.Recommendations())
	text(wordOffer, e.Offer())
	return list
}

func remarks(list []envelope.Finding) Section {
	s := Section{Heading: wordRemarks, List: true}
	for _, f := range list {
		s.Items = append(s.Items, Show(f.Path+": "+f.Reason))
	}
	return s
}

// waysOf lists the options, then each hatch that is open: nothing but the hatch itself decides
// about it (ENV-094).
func waysOf(e envelope.Envelope) []Way {
	var ways []Way
	for i, o := range e.Options() {
		ways = append(ways, Way{
			Key: string(rune('A' + i)), Kind: envelope.KindOption, Index: i,
			Title: orEmpty(o.Label), Detail: orEmpty(o.Reasoning), Recommended: i == e.Recommended(),
		})
	}
	if e.Hatches().FreeText {
		ways = append(ways, Way{Key: keyWrite, Kind: envelope.KindAnswer, Title: wordWrite, Detail: wordWriteMore})
	}
	if e.Hatches().Dialogue {
		ways = append(ways, Way{Key: keyDecline, Kind: envelope.KindQuestion, Title: wordDecline, Detail: wordDeclineMore})
	}
	return ways
}

func (v View) odd() int {
	n := strings.Count(v.asked, "⟨") + v.stem.odd()
	for _, s := range v.sections {
		for _, item := range s.Items {
			n += item.odd()
		}
	}
	for _, w := range v.ways {
		n += w.Title.odd() + w.Detail.odd() + w.Invoke.odd()
	}
	return n
}

// Envelope returns what is shown.
func (v View) Envelope() envelope.Envelope { return v.envelope }

// Sections returns the briefing in the order in which it is shown: the calibration note if there is
// one, the four briefing slots, always all four (ENV-090), and remarks if there are any.
func (v View) Sections() []Section {
	list := append([]Section(nil), v.sections...)
	for i := range list {
		list[i].Items = append([]Shown(nil), list[i].Items...)
	}
	return list
}

// Stem returns the question.
func (v View) Stem() Shown { return v.stem }

// Ways returns the options in their order and then the open hatches.
func (v View) Ways() []Way { return append([]Way(nil), v.ways...) }

// Style returns how the page is dressed.
func (v View) Style() Style { return v.style }

// recommended returns the way that the agent recommends.
func (v View) recommended() Way {
	for _, w := range v.ways {
		if w.Recommended {
			return w
		}
	}
	return Way{}
}
