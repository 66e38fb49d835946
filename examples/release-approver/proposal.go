package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

// A request is what the agent asks for.
type request struct {
	dataset   string
	recipient string
	views     []string // which views are put to choice; empty is all
	question  string   // other words for the question; empty is ours
}

// subject names the matter: what a veto counts for. A recipient is the same in whatever spelling of
// letters and spaces, or a veto would be worth no more than a shift key.
func (r request) subject() string { return r.dataset + " to " + folded(r.recipient) }

// folded is a name without case, without what cannot be seen, and with single spaces between words.
func folded(name string) string {
	seen := strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Cf, c) {
			return -1
		}
		return c
	}, name)
	return strings.ToLower(strings.ToUpper(strings.Join(strings.Fields(seen), " "))) // up first: some letters have two small forms
}

// A proposal is a position on a request. It is kept until its envelope is resolved.
type proposal struct {
	number  int64
	request request
	choices []string // view of each option; "" is to release nothing
}

// chosen are the views of a dataset that a request puts to choice.
func (r request) chosen(d dataset) ([]view, error) {
	if len(r.views) == 0 {
		return d.views, nil
	}
	var list []view
	for _, name := range r.views {
		found := false
		for _, v := range d.views {
			if v.name == name && !found {
				list, found = append(list, v), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%s has no view %q", d.name, name)
		}
	}
	return list, nil
}

// ready reports whether there is a position to take: the agent's own veto comes first.
func ready(d dataset, views []view) (envelope.Readiness, string) {
	r := envelope.Ready()
	if d.review {
		r.Deliberated = false
		return r, d.title + " is still under review; its views are not final."
	}
	for _, v := range views {
		if v.rows == 0 {
			r.Synthesised = false
			return r, fmt.Sprintf("The %s view of %s has no rows yet, so there is nothing to judge it by.", v.name, d.title)
		}
	}
	return r, ""
}

// draft takes the position: the most detailed view that shows nobody and no small group, or none.
func draft(p proposal, d dataset, views []view, smallest int64, released int) (envelope.Draft, []string) {
	to := p.request.recipient
	best := -1
	for i := range views {
		if views[i].fit(smallest) {
			best = i
		}
	}
	out := envelope.Draft{Stem: p.request.question, DecisionClass: "data-release"}
	if out.Stem == "" {
		out.Stem = fmt.Sprintf("Which view of %s goes to %s?", d.name, to)
	}
	var choices []string
	for i := range views {
		v := &views[i]
		out.Findings = append(out.Findings, v.sees(smallest))
		out.Options = append(out.Options, envelope.Option{Label: "Release the " + v.name + " view", Reasoning: reason(v, smallest)})
		choices = append(choices, v.name)
	}
	out.Findings = append(out.Findings, fmt.Sprintf("The outbox holds %d earlier releases of this dataset to the same recipient.", released))
	out.Options = append(out.Options, envelope.Option{Label: "Release nothing", Reasoning: "Nothing leaves, and what was asked for stays unanswered."})
	choices = append(choices, "")
	out.Offer = "The first rows of every view can be shown, by name, before anything is decided."
	if best < 0 {
		out.Recommended = len(views)
		out.Synopsis = fmt.Sprintf("Proposal %d keeps all of %s from %s, because every view shows a person or a count below %d.", p.number, d.name, to, smallest)
		out.Recommendations = []string{"Close the request of " + to + ".", "Ask the data office for a coarser view."}
		return out, choices
	}
	out.Recommended = best
	out.Synopsis = fmt.Sprintf("Proposal %d releases the %s view of %s to %s, because it is the most detailed one that shows no person and no count below %d.",
		p.number, views[best].name, d.name, to, smallest)
	out.Recommendations = []string{fmt.Sprintf("Write %s into the outbox for %s.", views[best].file, to), "Note the release beside the file."}
	return out, choices
}

func reason(v *view, smallest int64) string {
	switch {
	case len(v.identifies) > 0:
		return "It shows everything, persons included."
	case v.least >= 0 && v.least < smallest:
		return fmt.Sprintf("It is the more detailed one, at the price of groups as small as %d.", v.least)
	}
	return fmt.Sprintf("It shows the data %s, and nobody can be told apart in it.", v.about)
}

// actions fixes what each option does (ENV-120).
func actions(e envelope.Envelope, p proposal, views []view) (envelope.Actions, error) {
	digests := make([]jcs.Digest, len(p.choices))
	for i := range views {
		digests[i] = views[i].action(p.request.dataset, p.request.recipient)
	}
	return envelope.NewActions(e, digests...)
}

// evidence names the file that each finding about a view rests on (ENV-118).
func evidence(e envelope.Envelope, views []view) (envelope.Evidence, error) {
	digests := map[int][]jcs.Digest{}
	for i := range views {
		digests[i] = []jcs.Digest{views[i].digest}
	}
	return envelope.NewEvidence(e, digests)
}

// json is a proposal as it is kept.
func (p proposal) json() []byte {
	var choices [][]byte
	for _, name := range p.choices {
		choices = append(choices, jcs.String(name))
	}
	return jcs.Object(
		jcs.Member{Name: "choices", Value: jcs.Array(choices...)},
		jcs.Member{Name: "dataset", Value: jcs.String(p.request.dataset)},
		jcs.Member{Name: "number", Value: jcs.Int(p.number)},
		jcs.Member{Name: "recipient", Value: jcs.String(p.request.recipient)},
	)
}

func parseProposal(text []byte) (p proposal, err error) {
	v, err := jcs.Parse(text)
	if err != nil {
		return p, err
	}
	r := jcs.NewReader(v)
	p.number, p.request.dataset, p.request.recipient = r.Int("number"), r.Text("dataset"), r.Text("recipient")
	for _, item := range r.Items("choices") {
		s, ok := item.Text()
		if !ok {
			return p, errors.New("a choice is the name of a view")
		}
		p.choices = append(p.choices, s)
	}
	return p, r.Close()
}

// checkRequest bounds what an agent may ask for.
func checkRequest(r request) error {
	switch {
	case checkName(r.dataset) != nil:
		return fmt.Errorf("dataset: %w", errName)
	case strings.TrimSpace(r.recipient) == "" || len(r.recipient) > 100 || strings.ContainsFunc(r.recipient, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return errors.New("recipient: a name of 1 to 100 bytes, without control characters")
	case len(r.question) > 300 || len(r.views) > maxViews:
		return fmt.Errorf("question: at most 300 bytes; views: at most %d", maxViews)
	}
	return nil
}
