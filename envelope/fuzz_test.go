package envelope_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

// Whatever comes in: no panic; what is accepted prints itself again with the same digest, and the
// slots are what the printed text says.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		if v.kind == "envelope" && len(v.input) < 4096 {
			f.Add([]byte(v.input))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		e, err := envelope.Parse(in)
		if err != nil {
			var fault *envelope.Error
			if !errors.As(err, &fault) || fault.Row == "" || fault.Rule == "" || !e.IsZero() || !utf8.ValidString(fault.Error()) {
				t.Fatalf("%#v", err)
			}
			return
		}
		back, err := envelope.Parse(e.JSON())
		if err != nil || back.Digest() != e.Digest() || !jcs.Canonical(e.JSON()) {
			t.Fatalf("%s: %v", e.JSON(), err)
		}
		if want, err := jcs.Digest256(in); err != nil || string(want) != e.Digest().String() {
			t.Fatalf("the digest is %s, package jcs has %s, %v", e.Digest(), want, err)
		}
		v, err := jcs.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		check := func(got string, v jcs.Value) {
			if want, ok := v.Text(); !ok || want != got {
				t.Fatalf("%q, want %q", got, want)
			}
		}
		check(e.Synopsis(), v.Get("synopsis"))
		check(e.Offer(), v.Get("offer"))
		check(e.Stem(), v.Get("question").Get("stem"))
		lists := append(e.Findings(), e.Recommendations()...)
		for _, name := range []string{"findings", "recommendations"} {
			for item := range v.Get(name).Items() {
				check(lists[0], item)
				lists = lists[1:]
			}
		}
		options := e.Options()
		for item := range v.Get("question").Get("options").Items() {
			check(options[0].Label, item.Get("label"))
			check(options[0].Reasoning, item.Get("reasoning"))
			options = options[1:]
		}
		if len(lists) != 0 || len(options) != 0 || e.Recommended() < 0 || e.Recommended() >= len(e.Options()) || len(e.Options()) < 2 || len(e.Options()) > 4 {
			t.Fatalf("%s", e.JSON())
		}
		envelope.Lint(e)
	})
}

// Whatever comes in: no panic; what is accepted has one of three forms, and prints itself again.
func FuzzResolution(f *testing.F) {
	for _, v := range vectors(f) {
		if v.kind == "resolution" && len(v.input) < 4096 {
			f.Add([]byte(v.input))
		}
	}
	e := mustParse(f, text(nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := envelope.ParseResolution(in)
		if err != nil {
			var refusal *envelope.Refusal
			if !errors.As(err, &refusal) || refusal.Row == "" || refusal.Name == "" || !r.IsZero() {
				t.Fatalf("%#v", err)
			}
			return
		}
		back, err := envelope.ParseResolution(r.JSON())
		if err != nil || !back.Equal(r) || r.EnvelopeDigest().IsZero() {
			t.Fatalf("%s: %v", r.JSON(), err)
		}
		_, chose := r.OptionIdx()
		_, said := r.AnswerText()
		if chose != (r.Kind() == envelope.KindOption) || said != (r.Kind() == envelope.KindAnswer) || !chose && !said && r.Kind() != envelope.KindQuestion {
			t.Fatalf("%s", r.JSON())
		}
		if r.Against(e) == nil && r.EnvelopeDigest() != e.Digest() {
			t.Fatalf("%s resolves another envelope", r.JSON())
		}
	})
}

// Any words that a draft can hold and that no lint blocks come back as they went in.
func FuzzBuild(f *testing.F) {
	f.Add("Release it.", "They name nobody.", "Which?", "One", "Two", 1)
	f.Add("Grün 🌱", "\u0001\"\\", "Who\u2028?", "a\xff", "", -1)
	f.Fuzz(func(t *testing.T, synopsis, finding, stem, one, two string, mark int) {
		d := goodDraft()
		d.Synopsis, d.Findings[0], d.Stem, d.Options[0].Label, d.Options[1].Reasoning, d.Recommended = synopsis, finding, stem, one, two, mark
		e, err := d.Build(envelope.Ready())
		if err != nil {
			return
		}
		if e.Synopsis() != synopsis || e.Findings()[0] != finding || e.Stem() != stem || e.Options()[0].Label != one || e.Options()[1].Reasoning != two || e.Recommended() != mark {
			t.Fatalf("%s", e.JSON())
		}
		if back, err := envelope.Parse(e.JSON()); err != nil || !back.Equal(e) {
			t.Fatal(err)
		}
	})
}
