package envelope_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
)

// How the lints agree with a reader over the sentences that they were made on, and over those that
// they were only ever measured on (held, written before the lints; fresh, after them). The bounds are
// a little below what was measured: a change that makes them worse fails, and no more is claimed.
//
// covers ENV-014, ENV-016, ENV-017, ENV-021, ENV-023, ENV-025, ENV-028, ENV-030, ENV-034, ENV-114
func TestLintCorpus(t *testing.T) {
	for _, half := range []struct {
		name                                string
		precision, recall, blocks, blockAll float64
	}{
		{"lint_dev.tsv", 0.98, 0.98, 0.98, 0.65},
		{"lint_held.tsv", 0.93, 0.80, 0.90, 0.54},
		{"lint_fresh.tsv", 0.91, 0.76, 0.90, 0.42},
	} {
		list := corpus(t, half.name)
		if len(list) != 100 {
			t.Errorf("%s has %d sentences", half.name, len(list))
		}
		all, blocked := measure(t, list, anyFinding, nil), measure(t, list, blocking, nil)
		t.Logf("%s: all: %s; block: %s", half.name, all, blocked)
		if all.precision() < half.precision || all.recall() < half.recall || blocked.precision() < half.blocks || blocked.recall() < half.blockAll {
			t.Errorf("%s: all: %s; block: %s", half.name, all, blocked)
		}
	}
}

// Each sentence breaks one rule, and is found by the lint that is for it, at its slot, with its row.
//
// covers ENV-014, ENV-015, ENV-016, ENV-017, ENV-021, ENV-022, ENV-023, ENV-025, ENV-027, ENV-028, ENV-029, ENV-030, ENV-033, ENV-034, ENV-110, ENV-111
func TestLints(t *testing.T) {
	for _, c := range []struct{ slot, text, context, rule, row string }{
		{"synopsis", " ", "", "blank", "ENV-015"},
		{"synopsis", "Pay it\nnow.", "", "line_break", "ENV-015"},
		{"synopsis", "Pay it\u202e now.", "", "hidden", "ENV-014"},
		{"synopsis", "Pay it now. The bank closes at noon.", "", "several_sentences", "ENV-015"},
		{"synopsis", "Perhaps the lease should be renewed.", "", "hedge", "ENV-017"},
		{"synopsis", "There is much to be said for either bank.", "", "hedge", "ENV-017"},
		{"synopsis", "The choice of the clinic is up to you.", "", "defers", "ENV-017"},
		{"synopsis", "It is too early to name a supplier.", "", "defers", "ENV-017"},
		{"synopsis", "Four couriers have sent a quote.", "", "no_position", "ENV-016"},
		{"finding", "The lease for the garage should be renewed.", "Renew the lease for the garage.", "restates", "ENV-021"},
		{"finding", "The garage lease: renew.", "Renew the lease for the garage.", "restates", "ENV-021"},
		{"finding", "You asked for the cheapest garage.", "Renew the lease.", "recaps_input", "ENV-022"},
		{"finding", "Mr Hale's wife is in rehab.", "Renew the lease.", "unrelated", "ENV-111"},
		{"finding", strings.Repeat("word ", 41), "Renew the lease.", "too_long", "ENV-110"},
		{"finding", "The roof leaks. The door jams.", "Renew the lease.", "several_sentences", "ENV-019"},
		{"recommendation", "Weigh the pros and cons of the garage.", "", "consideration_not_action", "ENV-025"},
		{"recommendation", "Please consider a longer lease.", "", "consideration_not_action", "ENV-025"},
		{"recommendation", "The lease is long.", "", "no_action", "ENV-023"},
		{"stem", "Surely the lease is renewed?", "Cancel", "leading", "ENV-028"},
		{"stem", "Is the lease renewed, as we recommend?", "Cancel", "embeds_recommendation", "ENV-029"},
		{"stem", "Should we renew the lease this week?", "Renew the lease", "embeds_recommendation", "ENV-029"},
		{"stem", "Is the lease renewed unless you object?", "Cancel", "path_of_least_resistance", "ENV-030"},
		{"stem", "Shall I just renew the lease?", "Cancel", "path_of_least_resistance", "ENV-030"},
		{"stem", "The lease ends in May.", "Cancel", "no_question", "ENV-027"},
		{"stem", "The lease ends in May. Who renews it?", "Cancel", "several_sentences", "ENV-027"},
		{"label", "None of the above", "", "hatch_as_option", "ENV-034"},
		{"label", "Discuss this further", "", "hatch_as_option", "ENV-034"},
		{"label", "Something else (please say)", "", "hatch_as_option", "ENV-034"},
		{"label", "Peace of mind", "", "not_action_shaped", "ENV-032"},
		{"reasoning", "Cheap\nand near.", "", "line_break", "ENV-033"},
		{"reasoning", "This is the first option.", "", "no_reason", "ENV-033"},
		{"reasoning", "One", "", "no_reason", "ENV-033"}, // the label
		{"reasoning", "Only a fool would take it.", "", "against_itself", "ENV-033"},
	} {
		found := sentence{slot: c.slot, text: c.text, context: c.context}.judge(t)
		hit := false
		for _, f := range found {
			hit = hit || f.Rule == c.rule && f.Row == c.row
			if f.Reason == "" || f.Fix == "" || f.Severity != envelope.Block && f.Severity != envelope.Warn {
				t.Errorf("%+v", f)
			}
		}
		if !hit {
			t.Errorf("%s %q: %+v, want %s of %s", c.slot, c.text, found, c.rule, c.row)
		}
	}
	if rules := envelope.LintRules(); len(rules) < 40 {
		t.Errorf("%d rules", len(rules))
	}
}

// What looks like a fault and is none.
//
// covers ENV-016, ENV-028, ENV-034
func TestLintsLetPass(t *testing.T) {
	for _, c := range []struct{ slot, text, context string }{
		{"synopsis", "Visitors may enter the ward from May, so lift the ban now.", ""},
		{"synopsis", "Send Dr. Hale's copy to St. Anne's by 2.30 p.m. on Friday.", ""},
		{"synopsis", "Refuse it: the file headed \"could be anyone\" is still there.", ""},
		{"synopsis", "Both bids are level on price, so award it to Karo, which can start earlier.", ""},
		{"synopsis", "The grant should go to the Leeds team, since its budget is complete.", ""},
		{"finding", "The probe failed on four of nine nodes.", "Replace the probe on all nodes."},
		{"finding", "The vendor's partner network covers 14 countries.", "Sign with the vendor."},
		{"finding", "Renewing the lease for the garage costs 400 a month.", "Renew the lease for the garage."},
		{"recommendation", "Weigh the parcel and bill the difference.", ""},
		{"recommendation", "Assess the damage and bill the tenant.", ""},
		{"recommendation", "Observe the notice period of 14 days and leave on the 30th.", ""},
		{"stem", "Should the refund go to the card or to the account?", "To the card"},
		{"stem", "Who should write to the tenant?", "The agent"},
		{"stem", "How should the loss be booked?", "As scrap"},
		{"stem", "Choose where the records are kept.", "Here"},
		{"label", "Explain the delay to the client", ""},
		{"label", "Other warehouse", ""},
		{"label", "Drop the question from the survey", ""},
		{"label", "Discuss the rent with the landlord", ""},
		{"reasoning", "Not recommended by the vendor, but cheapest by far.", ""},
		{"reasoning", "It is the only option that keeps the warranty.", ""},
	} {
		if found := (sentence{slot: c.slot, text: c.text, context: c.context}).judge(t); len(found) > 0 {
			t.Errorf("%s %q: %+v", c.slot, c.text, found)
		}
	}
}

// The lints take about as long for one text as for another of its length: what is received is linted
// too, and its sender must not have the reader work for a minute.
func TestLintsTakeNoLonger(t *testing.T) {
	took := func(finding string) time.Duration {
		e := mustParse(t, text(map[string]string{"findings": "[" + str(finding) + "]"}))
		least := time.Hour
		for range 3 {
			begin := time.Now()
			envelope.Lint(e)
			least = min(least, time.Since(begin))
		}
		return least
	}
	plain := took(strings.Repeat("word ", 400))
	for _, unit := range []string{"A. ", "A.) ", ". 1", "if, "} {
		words := strings.Repeat(unit, 2000/len(unit))
		hostile := took(words)
		for end := time.Now().Add(10 * time.Second); hostile > 50*plain && time.Now().Before(end); { // the machine may have been busy
			hostile = min(hostile, took(words))
		}
		if hostile > 50*plain {
			t.Errorf("%q over and over takes %s, and words take %s", unit, hostile, plain)
		}
	}
}

// The builder refuses what blocks, slot by slot, and a received envelope of the same words is still
// well-formed: the lints decide nothing for a surface (E1, AE-19).
//
// covers ENV-014, ENV-015, ENV-016, ENV-017, ENV-025, ENV-026, ENV-027, ENV-028, ENV-029, ENV-030, ENV-033, ENV-034, ENV-062
func TestBuildLints(t *testing.T) {
	for path, change := range map[string]func(d *envelope.Draft){
		"/synopsis":                         func(d *envelope.Draft) { d.Synopsis = "It depends on the board." },
		"/findings/1":                       func(d *envelope.Draft) { d.Findings[1] = "a\nb" },
		"/recommendations/0":                func(d *envelope.Draft) { d.Recommendations[0] = "Consider the board's view." },
		"/offer":                            func(d *envelope.Draft) { d.Offer = " " },
		"/question/stem":                    func(d *envelope.Draft) { d.Stem = "Should we release the scans without names?" },
		"/question/options/1/label":         func(d *envelope.Draft) { d.Options[1].Label = "Other" },
		"/question/options/0/reasoning":     func(d *envelope.Draft) { d.Options[0].Reasoning = "a\u2028b" },
		"/question/options/1/label, a twin": func(d *envelope.Draft) { d.Options[1].Label = "release the  scans without names." },
	} {
		d := goodDraft()
		change(&d)
		e, err := d.Build(envelope.Ready())
		var lint *envelope.LintError
		if !errors.As(err, &lint) || !e.IsZero() {
			t.Errorf("%s: %v", path, err)
			continue
		}
		path, _, _ = strings.Cut(path, ",")
		if !envelope.Blocks(lint.Findings) || !strings.Contains(err.Error(), path+": ") {
			t.Errorf("%s: %v", path, err)
		}
	}
	// Beside what blocks stands all that warns, also by what the draft is compared with.
	said := goodDraft()
	said.Synopsis, said.Context.Input = "It depends on the board.", said.Findings[:1]
	var lint *envelope.LintError
	if _, err := said.Build(envelope.Ready()); !errors.As(err, &lint) || !slices.ContainsFunc(lint.Findings, func(f envelope.Finding) bool { return f.Rule == "recaps_input" }) {
		t.Errorf("what the principal said is not compared with: %v", err)
	}
	hedged := mustParse(t, text(map[string]string{"synopsis": `"It depends."`, "stem": `"Surely?"`}))
	if !envelope.Blocks(envelope.Lint(hedged)) {
		t.Error("a surface is not told")
	}
}

// Counts warn, and are well-formed.
//
// covers ENV-020, ENV-024
func TestLintCounts(t *testing.T) {
	count := func(findings, recs int) (paths string) {
		d := goodDraft()
		d.Findings, d.Recommendations = nil, nil
		for i := range findings {
			d.Findings = append(d.Findings, strings.Repeat("Fact ", i+1)+"stands.")
		}
		for range recs {
			d.Recommendations = append(d.Recommendations, "Send the scans by post.")
		}
		e := mustBuild(t, d)
		for _, f := range envelope.Lint(e) {
			if f.Severity == envelope.Block {
				t.Errorf("%+v", f)
			}
			paths += f.Row + " " + f.Path + "\n"
		}
		return paths
	}
	for _, c := range []struct {
		findings, recs int
		want           string
	}{
		{3, 2, ""}, {6, 4, ""}, {2, 2, "ENV-020 /findings\n"}, {7, 4, "ENV-020 /findings\n"}, {4, 1, "ENV-024 /recommendations\n"}, {4, 5, "ENV-024 /recommendations\n"},
		{0, 0, "ENV-020 /findings\nENV-024 /recommendations\n"},
	} {
		if got := count(c.findings, c.recs); got != c.want {
			t.Errorf("%d findings, %d recommendations: %q", c.findings, c.recs, got)
		}
	}
}

// What the principal said is not repeated, and nobody is named who is not in the matter.
//
// covers ENV-022, ENV-111
func TestLintContext(t *testing.T) {
	rules := func(finding string, c envelope.Context) (list string) {
		e := mustParse(t, text(map[string]string{"findings": `["a","b",` + str(finding) + `]`}))
		for _, f := range envelope.LintIn(e, c) {
			if f.Path == "/findings/2" {
				list += f.Rule + " "
			}
		}
		return list
	}
	said := envelope.Context{Input: []string{"The garage on Mill Street leaks and I want it sold by June."}}
	matter := envelope.Context{Subject: []string{"Buyer: t.hale@example.org, +44 20 7946 0000"}}
	for _, c := range []struct {
		finding string
		context envelope.Context
		want    string
	}{
		{"The garage on Mill Street leaks.", said, "recaps_input "}, {"The garage on Mill Street leaks since 2019.", said, ""}, {"The garage on Mill Street leaks.", envelope.Context{}, ""},
		{"The buyer writes from t.hale@example.org.", matter, ""}, {"The buyer writes from eve@example.org.", matter, "unrelated "}, {"Reach him at +44 20 7946 0999.", matter, "unrelated "},
		{"The buyer writes from eve@example.org.", envelope.Context{}, ""},
	} {
		if got := rules(c.finding, c.context); got != c.want {
			t.Errorf("%q: %q, want %q", c.finding, got, c.want)
		}
	}
}
