package envelope_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/envelope"
)

// What a draft says is what the envelope says; what it leaves out has its default.
//
// covers ENV-026, ENV-044
func TestBuild(t *testing.T) {
	d := goodDraft()
	e := mustBuild(t, d)
	if diff := cmp.Diff([]any{d.Synopsis, d.Findings, d.Recommendations, envelope.DefaultOffer, d.Stem, d.Options, 0, envelope.Hatches{FreeText: true, Dialogue: true}, envelope.Meta{}},
		[]any{e.Synopsis(), e.Findings(), e.Recommendations(), e.Offer(), e.Stem(), e.Options(), e.Recommended(), e.Hatches(), e.Meta()}); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if found := envelope.Lint(e); len(found) != 0 {
		t.Errorf("the lints say %+v", found)
	}
	if back := mustParse(t, string(e.JSON())); !back.Equal(e) {
		t.Error("what Build made is not what Parse reads")
	}
	d.Offer, d.DecisionClass, d.Recommended = "Ask.", "consent", 1
	if e := mustBuild(t, d); e.Offer() != "Ask." || e.Meta() != (envelope.Meta{DecisionClass: "consent", HasDecisionClass: true}) || e.Recommended() != 1 {
		t.Errorf("%s", e.JSON())
	}
}

// A malformed envelope cannot be built: the rules of the grammar are those of Parse.
//
// covers ENV-010, ENV-031, ENV-036, ENV-058
func TestBuildMakesNothingMalformed(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(d *envelope.Draft)
		row, path string
	}{
		"one option":     {func(d *envelope.Draft) { d.Options = d.Options[:1] }, "ENV-031", "/question/options"},
		"five options":   {func(d *envelope.Draft) { d.Options = append(append(d.Options, d.Options...), d.Options[0]) }, "ENV-031", "/question/options"},
		"mark beyond":    {func(d *envelope.Draft) { d.Recommended = 2 }, "ENV-036", "/question/recommended_idx"},
		"mark far off":   {func(d *envelope.Draft) { d.Recommended = 1 << 60 }, "ENV-036", "/question/recommended_idx"},
		"mark below":     {func(d *envelope.Draft) { d.Recommended = -1 }, "ENV-036", "/question/recommended_idx"},
		"long synopsis":  {func(d *envelope.Draft) { d.Synopsis = strings.Repeat("x", 2049) }, "ENV-055", "/synopsis"},
		"too much":       {func(d *envelope.Draft) { d.Findings = slicesOf(strings.Repeat("x", 4000), 17) }, "ENV-055", ""},
		"bytes":          {func(d *envelope.Draft) { d.Synopsis = "a\xffb" }, "ENV-058", "/synopsis"},
		"bytes, offer":   {func(d *envelope.Draft) { d.Offer = "\xc0\xaf" }, "ENV-058", "/offer"},
		"bytes, stem":    {func(d *envelope.Draft) { d.Stem = "\xed\xa0\x80?" }, "ENV-058", "/question/stem"},
		"bytes, class":   {func(d *envelope.Draft) { d.DecisionClass = "\xff" }, "ENV-058", "/meta/decision_class"},
		"bytes, finding": {func(d *envelope.Draft) { d.Findings[1] = "\xff" }, "ENV-058", "/findings/1"},
		"bytes, move":    {func(d *envelope.Draft) { d.Recommendations[1] = "\xff" }, "ENV-058", "/recommendations/1"},
		"bytes, label":   {func(d *envelope.Draft) { d.Options[1].Label = "\xff" }, "ENV-058", "/question/options/1/label"},
		"bytes, reason":  {func(d *envelope.Draft) { d.Options[0].Reasoning = "\xff" }, "ENV-058", "/question/options/0/reasoning"},
		"bytes, note": {func(d *envelope.Draft) {
			d.Calibration = &envelope.Calibration{Note: "x\xff", Earlier: "e"}
		}, "ENV-058", "/meta/calibration_note"},
	} {
		d := goodDraft()
		c.change(&d)
		e, err := d.Build(envelope.Ready())
		if !e.IsZero() {
			t.Errorf("%s: built", name)
		}
		wantError(t, err, c.row, c.path)
	}
}

func slicesOf(s string, n int) (list []string) {
	for range n {
		list = append(list, s)
	}
	return list
}

// The agent's own veto: what is not ready is not built, and there is something else to return.
//
// covers ENV-018, ENV-062, ENV-063
func TestReadiness(t *testing.T) {
	for _, r := range []envelope.Readiness{{}, {Synthesised: true, Partitioned: true}, {Synthesised: true, Deliberated: true}, {Partitioned: true, Deliberated: true}} {
		e, err := goodDraft().Build(r)
		var premature *envelope.PrematureError
		if !errors.As(err, &premature) || premature.Readiness != r || !e.IsZero() || !strings.Contains(err.Error(), "ENV-062") {
			t.Errorf("%+v: %v", r, err)
		}
	}
	d, err := envelope.Withhold("Two of the four files are read.", "")
	if err != nil || d.State != "Two of the four files are read." || d.Request != envelope.DefaultRequest {
		t.Errorf("%+v, %v", d, err)
	}
	for _, blank := range [][2]string{{"", ""}, {" ", "May I?"}, {"s", "\t"}} {
		if _, err := envelope.Withhold(blank[0], blank[1]); err == nil {
			t.Errorf("%q is withheld", blank)
		}
	}
}

// Closing a hatch takes a reason, each its own; the reason is kept with the emission.
//
// covers ENV-044, ENV-045, ENV-108
func TestClosingAHatch(t *testing.T) {
	ft, dl := envelope.Closure{Hatch: envelope.FreeText, Reason: "The ballot has two names."}, envelope.Closure{Hatch: envelope.Dialogue, Reason: "The court has put the question."}
	for _, c := range []struct {
		closed []envelope.Closure
		want   envelope.Hatches
		ok     bool
	}{
		{nil, envelope.Hatches{FreeText: true, Dialogue: true}, true},
		{[]envelope.Closure{ft}, envelope.Hatches{Dialogue: true}, true},
		{[]envelope.Closure{dl}, envelope.Hatches{FreeText: true}, true},
		{[]envelope.Closure{ft, dl}, envelope.Hatches{}, true},
		{[]envelope.Closure{{Hatch: envelope.FreeText}}, envelope.Hatches{}, false},
		{[]envelope.Closure{{Hatch: envelope.Dialogue, Reason: " \u200b"}}, envelope.Hatches{}, false},
		{[]envelope.Closure{{Hatch: envelope.Dialogue, Reason: strings.Repeat("x", 1025)}}, envelope.Hatches{}, false},
		{[]envelope.Closure{{Hatch: "other", Reason: "x"}}, envelope.Hatches{}, false},
		{[]envelope.Closure{ft, ft}, envelope.Hatches{}, false},
	} {
		d := goodDraft()
		d.Closed = c.closed
		e, err := d.Build(envelope.Ready())
		if (err == nil) != c.ok || c.ok && e.Hatches() != c.want {
			t.Errorf("%+v: %+v, %v", c.closed, e.Hatches(), err)
			continue
		}
		if err != nil {
			continue
		}
		em := d.Emission(e)
		em.Agent, em.Principal, em.At = "a", "p", noon()
		if err := em.Check(); err != nil || len(em.Closed) != len(c.closed) {
			t.Errorf("%+v: %v", em.Closed, err)
		}
		if len(c.closed) > 0 {
			em.Closed = em.Closed[1:]
			if err := em.Check(); err == nil {
				t.Error("an emission without the reason is let pass")
			}
		}
	}
	open := emission(mustBuild(t, goodDraft()))
	open.Closed = []envelope.Closure{ft}
	if err := open.Check(); err == nil {
		t.Error("a reason to close a hatch that is open is let pass")
	}
}

// On a tie the mark falls on the least regret, and the synopsis says so.
//
// covers ENV-038, ENV-039, ENV-040
func TestTies(t *testing.T) {
	draft := func(synopsis string, regret ...int64) envelope.Draft {
		d := goodDraft()
		d.Synopsis, d.Tie = synopsis, &envelope.Tie{Regret: regret}
		d.Options = append(d.Options, envelope.Option{Label: "Release all but page 2", Reasoning: "Leaves the figures whole."})
		return d
	}
	const named = "Two of the ways tie on safety, and I choose the fourth file."
	for _, c := range []struct {
		regret []int64
		want   int
	}{{[]int64{3, 2, 9}, 1}, {[]int64{3, 2, -1}, 2}, {[]int64{0, 0, 0}, 0}, {[]int64{5, 1, 1}, 1}} {
		if e, err := draft(named, c.regret...).Build(envelope.Ready()); err != nil || e.Recommended() != c.want {
			t.Errorf("%v: %d, %v", c.regret, e.Recommended(), err)
		}
	}
	marked := draft(named, 1, 2, 3)
	marked.Recommended = 1
	for name, d := range map[string]envelope.Draft{
		"the tie is not named": draft("Release the fourth file alone.", 1, 2, 3), "too few regrets": draft(named, 1, 2), "too many": draft(named, 1, 2, 3, 4), "a mark as well": marked,
		"none": draft(named),
	} {
		if e, err := d.Build(envelope.Ready()); err == nil {
			t.Errorf("%s: built, with the mark on %d", name, e.Recommended())
		}
	}
}

// A calibration note comes with the framing that it corrects, and is rare.
//
// covers ENV-048
func TestCalibration(t *testing.T) {
	for _, c := range []struct {
		note, earlier string
		ok            bool
	}{{"It names more people than I said.", "sha256:…", true}, {"It names more people than I said.", "", false}, {"", "sha256:…", false}, {"x", "\u200b", false}} {
		d := goodDraft()
		d.Calibration = &envelope.Calibration{Note: c.note, Earlier: c.earlier}
		e, err := d.Build(envelope.Ready())
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if err != nil {
			continue
		}
		em := d.Emission(e)
		em.Agent, em.Principal, em.At = "a", "p", noon()
		if err := em.Check(); err != nil || em.Earlier != c.earlier || e.Meta().CalibrationNote != c.note {
			t.Errorf("%+v: %v", em, err)
		}
		em.Earlier = ""
		if err := em.Check(); err == nil {
			t.Error("a note without a reference is emitted")
		}
	}
	em := emission(mustBuild(t, goodDraft()))
	em.Earlier = "sha256:…"
	if err := em.Check(); err == nil {
		t.Error("a reference without a note is emitted")
	}
}
