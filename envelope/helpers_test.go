package envelope_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

// noon is when everything happens in these tests, unless a test says later.
func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// goodDraft is a draft that builds, and of which no lint says anything.
func goodDraft() envelope.Draft {
	return envelope.Draft{
		Synopsis: "Release the fourth file alone to the institute.",
		Findings: []string{
			"Three of the four files name patients on their first page.",
			"The ethics board cleared anonymous scans in March.",
			"A secure channel has been set up since Tuesday.",
		},
		Recommendations: []string{"Send the scans by the secure channel.", "Tell the board on Friday."},
		Stem:            "Which files go to the institute?",
		Options: []envelope.Option{
			{Label: "Release the scans without names", Reasoning: "They carry nobody's name."},
			{Label: "Release nothing", Reasoning: "Keeps every file in the house until the audit in May."},
		},
	}
}

func mustBuild(t testing.TB, d envelope.Draft) envelope.Envelope {
	t.Helper()
	e, err := d.Build(envelope.Ready())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustParse(t testing.TB, text string) envelope.Envelope {
	t.Helper()
	e, err := envelope.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func emission(e envelope.Envelope) envelope.Emission {
	return envelope.Emission{Envelope: e, Agent: "agent:files", Principal: "~dana", Matter: "release-17", At: noon()}
}

// text is the JSON of an envelope whose slots a test may replace: by member, JSON text.
func text(replace map[string]string) string {
	members := map[string]string{
		"findings": `["a","b","c"]`, "offer": `"Ask."`, "recommendations": `["Send it.","Tell them."]`, "synopsis": `"Release it."`,
		"stem": `"Which?"`, "options": `[{"label":"One","reasoning":"r"},{"label":"Two","reasoning":"s"}]`, "recommended_idx": `0`, "hatches": `{"dialogue":true,"free_text":true}`,
	}
	for name, value := range replace {
		members[name] = value
	}
	list := func(names ...string) string {
		var parts []string
		for _, name := range names {
			if value := members[name]; value != "" {
				parts = append(parts, fmt.Sprintf("%q:%s", name, value))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	if _, ok := members["question"]; !ok {
		members["question"] = list("hatches", "options", "recommended_idx", "stem", "extra")
	}
	return list("findings", "meta", "offer", "question", "recommendations", "synopsis", "surplus")
}

func wantError(t *testing.T, err error, row, path string) {
	t.Helper()
	var fault *envelope.Error
	if !errors.As(err, &fault) {
		t.Errorf("the error is %v, want %s at %s", err, row, path)
		return
	}
	if fault.Row != row || fault.Path != path {
		t.Errorf("got %s at %q (%s), want %s at %q", fault.Row, fault.Path, fault.Rule, row, path)
	}
}

func wantRefusal(t *testing.T, err error, name, row string) {
	t.Helper()
	var refusal *envelope.Refusal
	if !errors.As(err, &refusal) {
		t.Errorf("the error is %v, want %s", err, name)
		return
	}
	if refusal.Name != name || row != "" && refusal.Row != row {
		t.Errorf("got %s of %s at %q (%s), want %s of %s", refusal.Name, refusal.Row, refusal.Path, refusal.Rule, name, row)
	}
}

func str(s string) string { return string(jcs.String(s)) }
