package render

import (
	"errors"

	"github.com/bindery/bindery/envelope"
)

// An Outcome is what a surface says after something came back: that it was taken, or why not.
type Outcome struct {
	Taken  bool
	Title  string
	Lines  []Shown
	Digest envelope.Digest // of the envelope, if the outcome is of one
}

// Taken returns the outcome of a resolution that the ledger has taken. It does not repeat an answer
// (ENV-113).
func (v View) Taken(r envelope.Resolution) Outcome {
	o := Outcome{Taken: true, Title: "Your decision is taken", Digest: r.EnvelopeDigest()}
	switch r.Kind() {
	case envelope.KindOption:
		for _, w := range v.ways {
			if idx, _ := r.OptionIdx(); w.Kind == r.Kind() && w.Index == idx {
				o.Lines = []Shown{Shown(w.Key+": ") + w.Title}
			}
		}
	case envelope.KindAnswer:
		o.Lines = []Shown{"Your answer is on its way to the agent. It takes the place of the options."}
	default:
		o.Title = "The question is declined"
		o.Lines = []Shown{"Nothing is decided. Tell the agent what is wrong with the question: it has to hear you before it asks anew."}
	}
	return o
}

// Refused returns the outcome of what was not taken. The words say what to do, and repeat nothing of
// what came in.
func Refused(err error) Outcome {
	o := Outcome{Title: "Nothing is decided by this"}
	var refusal *envelope.Refusal
	switch {
	case errors.Is(err, envelope.ErrTaken):
		o.Lines = []Shown{"This question is resolved already. What was decided first stands."}
	case errors.Is(err, envelope.ErrUnknown):
		o.Lines = []Shown{"This question is not open here. Load the page again, and decide by what it says then."}
	case errors.As(err, &refusal) && refusal.Name == envelope.Blank:
		o.Lines = []Shown{"The answer is empty. Go back and write one, or take another way."}
	case errors.As(err, &refusal) && refusal.Name == envelope.Unproven:
		o.Lines = []Shown{"This decision takes more proof of who decides than this surface gives."}
	case errors.As(err, &refusal) && refusal.Path == "/answer":
		o.Lines = []Shown{"The answer is too long, or holds what is no text. Go back and change it."}
	case errors.Is(err, ErrUnclear), errors.As(err, &refusal):
		o.Lines = []Shown{"What came back is none of the answers that were offered. Go back and take one of them."}
	default:
		o.Title = "It is not known what became of this"
		o.Lines = []Shown{"It may have been recorded, and nothing is done because of it. Try again later: you are told then whether it was."}
	}
	return o
}

func (o Outcome) foot() []string {
	if o.Digest.IsZero() {
		return nil
	}
	return []string{wordEnvelope + o.Digest.String()}
}

// Text returns the outcome in lines.
func (o Outcome) Text(columns int) string {
	s := newSheet(columns)
	s.put("", Shown(o.Title+"."))
	for _, line := range o.Lines {
		s.put(inset, line)
	}
	for _, words := range o.foot() {
		s.put(inset, Shown(words))
	}
	return s.String()
}

// Page returns the outcome as a page without a form.
func (o Outcome) Page(p Page) (string, error) {
	if err := p.check(); err != nil {
		return "", err
	}
	m := &markup{}
	m.begin(p, Plain, o.Title)
	m.raw(`<div class="outcome" role="status"><h1>`)
	m.attr(o.Title)
	m.raw("</h1>\n")
	for _, line := range o.Lines {
		m.raw("<p>")
		m.slot(line)
		m.raw("</p>\n")
	}
	m.raw("</div>\n")
	if words := o.foot(); len(words) > 0 {
		m.footer(words)
	}
	m.end()
	return m.String(), nil
}
