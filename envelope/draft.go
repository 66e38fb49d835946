package envelope

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bindery/bindery/jcs"
)

// DefaultOffer is the offer of a [Draft] that gives none.
const DefaultOffer = "Any line above can be unfolded: name it, and its details follow."

// A Draft is an envelope in the making. What it cannot say, an envelope cannot have: there is no
// place for attached detail (ENV-026), for an attribution (ENV-103) or for a second mark.
type Draft struct {
	Synopsis        string
	Findings        []string
	Recommendations []string
	Offer           string // "" is [DefaultOffer]
	Stem            string
	Options         []Option
	Recommended     int          // the index of the option that is recommended; must be 0 if Tie is set
	Tie             *Tie         // set on a genuine tie
	Closed          []Closure    // hatches that are closed, each with its reason; without any both are open (ENV-044)
	DecisionClass   string       // "" leaves it out
	Calibration     *Calibration // nil, but for a rare occasion
	Context         Context      // what the lints compare with
}

// A Tie says that no option is better than another, and what each costs if it turns out to be wrong.
// The mark falls on the least cost, on the first of several (ENV-038, ENV-039), and the synopsis has
// to say that there is a tie (ENV-040).
type Tie struct {
	Regret []int64 // one for each option, in whatever unit
}

// A Calibration is a calibration note with the framing that it corrects: a digest of the earlier
// envelope, or another reference that the agent can find again. There is no note without one
// (ENV-048).
type Calibration struct {
	Note    string
	Earlier string
}

// Readiness is the agent's own veto: an envelope is built when all three are so (section 7.1,
// ENV-062).
type Readiness struct {
	Synthesised bool // there is a position
	Partitioned bool // the options divide the decision among them
	Deliberated bool // no more deliberation is due
}

// Ready is the Readiness of an agent that has no veto left.
func Ready() Readiness { return Readiness{true, true, true} }

// A PrematureError says why an agent that is not ready gets no envelope. It returns a
// [Deliberation] instead (ENV-018, ENV-063).
type PrematureError struct {
	Readiness Readiness
}

// Error names what is missing.
func (e *PrematureError) Error() string {
	missing := []string{}
	for _, m := range []struct {
		ok   bool
		what string
	}{
		{e.Readiness.Synthesised, "there is no position yet"},
		{e.Readiness.Partitioned, "the options do not divide the decision"},
		{e.Readiness.Deliberated, "more deliberation is due"},
	} {
		if !m.ok {
			missing = append(missing, m.what)
		}
	}
	return "envelope: not ready: " + strings.Join(missing, ", ") + " (ENV-062)"
}

// A LintError says which lints block a draft.
type LintError struct {
	Findings []Finding // all of them, also those that only warn
}

// Error names the first that blocks, with its reason and its fix.
func (e *LintError) Error() string {
	i := slices.IndexFunc(e.Findings, func(f Finding) bool { return f.Severity == Block })
	if i < 0 {
		return "envelope: blocked by a lint"
	}
	f := e.Findings[i]
	return fmt.Sprintf("envelope: %s: %s: %s; %s (%s)", f.Path, f.Rule, f.Reason, f.Fix, f.Row)
}

// Build makes an envelope, or says why not: a *[PrematureError] if the agent is not ready, an
// *[Error] if the envelope would be malformed, a *[LintError] if its wording breaks the discipline
// of section 5 in a way that blocks (E1, ENV-014), and a plain error for a tie, a closure or a note
// that lacks its reason.
//
// What only warns does not keep it from being built: [LintIn] says it. That a digest was emitted
// before, the [Ledger] knows.
func (d Draft) Build(r Readiness) (Envelope, error) {
	if r != Ready() {
		return Envelope{}, &PrematureError{r}
	}
	mark, err := d.mark()
	if err != nil {
		return Envelope{}, err
	}
	hatches := Hatches{FreeText: true, Dialogue: true}
	for _, c := range d.Closed {
		switch c.Hatch {
		case FreeText:
			hatches.FreeText = false
		case Dialogue:
			hatches.Dialogue = false
		}
	}
	if err := checkClosures(hatches, d.Closed); err != nil {
		return Envelope{}, err
	}
	if d.Calibration != nil && (blank(d.Calibration.Note) || blank(d.Calibration.Earlier)) {
		return Envelope{}, errors.New("envelope: a calibration note goes with a reference to the earlier framing, and only with one (ENV-048)")
	}
	if fault := d.checkUTF8(); fault != nil {
		return Envelope{}, fault
	}
	e, err := Parse(d.json(mark, hatches))
	if err != nil {
		return Envelope{}, err
	}
	if found := LintIn(e, d.Context); Blocks(found) {
		return Envelope{}, &LintError{found}
	}
	return e, nil
}

// Emission begins the emission of an envelope that d built: with the reasons of its closed hatches
// and the framing that its note corrects. Agent, principal and time are the caller's to add.
func (d Draft) Emission(e Envelope) Emission {
	em := Emission{Envelope: e, Closed: slices.Clone(d.Closed)}
	if d.Calibration != nil {
		em.Earlier = d.Calibration.Earlier
	}
	return em
}

// mark returns the index of the recommended option.
func (d Draft) mark() (int, error) {
	switch {
	case d.Tie == nil:
		return d.Recommended, nil
	case d.Recommended != 0:
		return 0, errors.New("envelope: on a tie the mark follows from the regrets (ENV-039)")
	case len(d.Tie.Regret) != len(d.Options) || len(d.Options) == 0:
		return 0, errors.New("envelope: a tie has one regret for each option (ENV-039)")
	case !namesTie(d.Synopsis):
		return 0, errors.New("envelope: on a tie the synopsis says that there is one (ENV-040)")
	}
	return slices.Index(d.Tie.Regret, slices.Min(d.Tie.Regret)), nil
}

// checkUTF8 keeps texts from the builders of package jcs that no JSON can hold.
func (d Draft) checkUTF8() error {
	fault := func(text, path string) error {
		if !utf8.ValidString(text) {
			return &Error{Row: "ENV-058", Path: path, Rule: "is not valid UTF-8"}
		}
		return nil
	}
	errs := []error{fault(d.Synopsis, "/synopsis"), fault(d.Offer, "/offer"), fault(d.Stem, "/question/stem"), fault(d.DecisionClass, "/meta/decision_class")}
	for i, s := range d.Findings {
		errs = append(errs, fault(s, fmt.Sprintf("/findings/%d", i)))
	}
	for i, s := range d.Recommendations {
		errs = append(errs, fault(s, fmt.Sprintf("/recommendations/%d", i)))
	}
	for i, o := range d.Options {
		errs = append(errs, fault(o.Label, fmt.Sprintf("/question/options/%d/label", i)), fault(o.Reasoning, fmt.Sprintf("/question/options/%d/reasoning", i)))
	}
	if d.Calibration != nil {
		errs = append(errs, fault(d.Calibration.Note, "/meta/calibration_note"))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (d Draft) json(mark int, h Hatches) []byte {
	offer := d.Offer
	if offer == "" {
		offer = DefaultOffer
	}
	var options [][]byte
	for _, o := range d.Options {
		options = append(options, jcs.Object(
			jcs.Member{Name: "label", Value: jcs.String(o.Label)},
			jcs.Member{Name: "reasoning", Value: jcs.String(o.Reasoning)},
		))
	}
	return jcs.Object(
		jcs.Member{Name: "findings", Value: texts(d.Findings)},
		jcs.Member{Name: "meta", Value: d.meta()},
		jcs.Member{Name: "offer", Value: jcs.String(offer)},
		jcs.Member{Name: "question", Value: jcs.Object(
			jcs.Member{Name: "hatches", Value: jcs.Object(
				jcs.Member{Name: "dialogue", Value: jcs.Bool(h.Dialogue)},
				jcs.Member{Name: "free_text", Value: jcs.Bool(h.FreeText)},
			)},
			jcs.Member{Name: "options", Value: jcs.Array(options...)},
			jcs.Member{Name: "recommended_idx", Value: jcs.Int(int64(clampMark(mark)))},
			jcs.Member{Name: "stem", Value: jcs.String(d.Stem)},
		)},
		jcs.Member{Name: "recommendations", Value: texts(d.Recommendations)},
		jcs.Member{Name: "synopsis", Value: jcs.String(d.Synopsis)},
	)
}

// clampMark keeps an index within the integers of JSON; whatever is out of range is refused after.
func clampMark(mark int) int { return max(min(mark, MaxOptions), -1) }

func (d Draft) meta() []byte {
	members := []jcs.Member{}
	if d.DecisionClass != "" {
		members = append(members, jcs.Member{Name: "decision_class", Value: jcs.String(d.DecisionClass)})
	}
	if d.Calibration != nil {
		members = append(members, jcs.Member{Name: "calibration_note", Value: jcs.String(d.Calibration.Note)})
	}
	if len(members) == 0 {
		return nil
	}
	return jcs.Object(members...)
}

func texts(list []string) []byte {
	var items [][]byte
	for _, s := range list {
		items = append(items, jcs.String(s))
	}
	return jcs.Array(items...)
}

// DefaultRequest asks for leave to go on, where a [Deliberation] gives no words of its own.
const DefaultRequest = "May I keep working on this before I put it to you?"

// A Deliberation is what an agent returns in place of an envelope that would be premature: where it
// stands, and a request for leave to go on. It is no binding moment and asks for no decision
// (ENV-018, ENV-063).
type Deliberation struct {
	State   string
	Request string
}

// Withhold makes a Deliberation of where the agent stands; request "" is [DefaultRequest].
func Withhold(state, request string) (Deliberation, error) {
	if request == "" {
		request = DefaultRequest
	}
	if blank(state) || blank(request) {
		return Deliberation{}, errors.New("envelope: a deliberation says where the agent stands, and asks for leave to go on (ENV-063)")
	}
	return Deliberation{state, request}, nil
}
