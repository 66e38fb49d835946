package envelope_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
)

func newMatter(t testing.TB) envelope.Deliberating {
	t.Helper()
	d, err := envelope.NewMatter(envelope.Matter{Agent: "agent:files", Principal: "~dana", Subject: "release-17"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func asking(t testing.TB, stem string, labels ...string) envelope.Envelope {
	t.Helper()
	var options []string
	for _, l := range labels {
		options = append(options, `{"label":`+str(l)+`,"reasoning":"r"}`)
	}
	return mustParse(t, text(map[string]string{"stem": str(stem), "options": "[" + strings.Join(options, ",") + "]"}))
}

func wantMatter(t *testing.T, err error, name, row string) {
	t.Helper()
	var fault *envelope.MatterError
	if !errors.As(err, &fault) || fault.Name != name || fault.Row != row || !strings.HasPrefix(err.Error(), name) {
		t.Errorf("got %v, want %s of %s", err, name, row)
	}
}

// reopened is a matter whose question was declined at noon.
func reopened(t testing.TB, e envelope.Envelope) envelope.Reopened {
	t.Helper()
	a, err := newMatter(t).Ask(e)
	if err != nil {
		t.Fatal(err)
	}
	r, err := envelope.Reopen(e)
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Resolve(r, noon())
	if err != nil {
		t.Fatal(err)
	}
	return out.(envelope.Reopened)
}

func message(t testing.TB, from string, at time.Time) envelope.Message {
	t.Helper()
	m, err := envelope.NewMessage(from, "Why only these four?", at)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every event is put to every state: each either moves as the picture of Matter says, or is refused
// by name. States are kept as JSON in between, so that the walk is a store's.
//
// covers ENV-003, ENV-064, ENV-065, ENV-066, ENV-068
func TestWalk(t *testing.T) {
	first, next := asking(t, "Which?", "One", "Two"), asking(t, "Whose?", "Mine", "Yours")
	resolved := func(r envelope.Resolution, err error) envelope.Event {
		if err != nil {
			t.Fatal(err)
		}
		return envelope.Resolved{Resolution: r, At: noon()}
	}
	events := map[string]envelope.Event{
		"ask": envelope.Asked{Envelope: next}, "ask nothing": envelope.Asked{}, "option": resolved(envelope.Choose(first, 1)), "answer": resolved(envelope.Answer(first, "x")),
		"question": resolved(envelope.Reopen(first)), "another's": resolved(envelope.Choose(next, 0)), "nothing": envelope.Resolved{},
		"message": envelope.Heard{Message: message(t, "~dana", noon().Add(time.Second))}, "old message": envelope.Heard{Message: message(t, "~dana", noon())},
		"other's message": envelope.Heard{Message: message(t, "~eve", noon().Add(time.Second))}, "no message": envelope.Heard{}, "continue": envelope.Continued{}, "nil": nil,
	}
	begin := newMatter(t)
	awaiting, err := begin.Ask(first)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]envelope.State{"Deliberating": begin, "Awaiting": awaiting}
	for name, event := range map[string]string{"Decided": "option", "Answered": "answer", "Reopened": "question"} {
		if states[name], err = envelope.Step(awaiting, events[event]); err != nil {
			t.Fatal(err)
		}
	}
	moves := map[string]string{ // the picture
		"Deliberating ask": "Awaiting", "Awaiting option": "Decided", "Awaiting answer": "Answered", "Awaiting question": "Reopened",
		"Decided continue": "Deliberating", "Answered continue": "Deliberating", "Reopened message": "Deliberating",
	}
	walked := 0
	for from, state := range states {
		if got := strings.TrimPrefix(fmt.Sprintf("%T", state), "envelope."); got != from {
			t.Errorf("%s is %s", from, got)
		}
		kept, err := envelope.ParseState(state.JSON())
		if err != nil || string(kept.JSON()) != string(state.JSON()) || kept.About() != (envelope.Matter{Agent: "agent:files", Principal: "~dana", Subject: "release-17"}) {
			t.Fatalf("%s: %v", from, err)
		}
		for name, event := range events {
			to, err := envelope.Step(kept, event)
			want, moves := moves[from+" "+name]
			switch {
			case moves && (err != nil || fmt.Sprintf("%T", to) != "envelope."+want):
				t.Errorf("%s on %s: %T, %v, want %s", from, name, to, err, want)
			case !moves && (err == nil || to != nil):
				t.Errorf("%s on %s goes to %T", from, name, to)
			}
			if moves {
				walked++
			}
		}
	}
	if walked != len(moves) {
		t.Errorf("%d of %d transitions", walked, len(moves))
	}
	_, err = envelope.Step(states["Reopened"], events["ask"])
	wantMatter(t, err, envelope.WrongTransition, "ENV-068")
	_, err = envelope.Step(states["Decided"], events["option"])
	wantMatter(t, err, envelope.WrongTransition, "ENV-003")
	_, err = envelope.Step(awaiting, events["another's"])
	wantRefusal(t, err, envelope.Unknown, "ENV-072")
	if _, err := envelope.Step(nil, events["ask"]); err == nil {
		t.Error("no state moves")
	}
	if d := states["Decided"].(envelope.Decided); d.Option() != 1 || d.Envelope() != first.Digest() || states["Answered"].(envelope.Answered).Envelope() != first.Digest() || awaiting.Envelope() != first.Digest() {
		t.Error("what was decided")
	}
	if r := states["Reopened"].(envelope.Reopened); r.Envelope() != first.Digest() || !r.At().Equal(noon()) {
		t.Error("what was reopened")
	}
}

// A declined question does not come back: neither its stem nor its labels, however they are spelled.
//
// covers ENV-066, ENV-067
func TestSameQuestion(t *testing.T) {
	declined := asking(t, "Which files go to the Café?", "Release now", "Wait for May")
	d, err := reopened(t, declined).Hear(message(t, "~dana", noon().Add(time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := envelope.ParseState(d.JSON())
	if err != nil {
		t.Fatal(err)
	}
	d = kept.(envelope.Deliberating)
	for name, e := range map[string]envelope.Envelope{
		"the same": declined, "the same stem": asking(t, "Which files go to the Café?", "A", "B"), "another case": asking(t, "WHICH FILES GO TO THE CAFÉ?", "A", "B"),
		"spaces": asking(t, "  Which  files\tgo to the\u00a0Café ?", "A", "B"), "punctuation": asking(t, "Which files go to the Café …!?", "A", "B"),
		"decomposed": asking(t, "Which files go to the Cafe\u0301?", "A", "B"), "bare": asking(t, "Which files go to the Cafe", "A", "B"),
		"a zero-width space": asking(t, "Which fi\u200bles go to the Café?", "A", "B"), "fillers": asking(t, "Which\u3164 files\u2800 go to the Café?\uffa0", "A", "B"), "the same labels": asking(t, "Who decides?", "Release now", "Wait for May"),
		"labels in another order": asking(t, "Who decides?", "wait for may.", "RELEASE NOW"), "labels, one twice": asking(t, "Who decides?", "Release now", "Wait for May", "release  now"),
	} {
		_, err := d.Ask(e)
		t.Run(name, func(t *testing.T) { wantMatter(t, err, envelope.SameQuestion, "ENV-067") })
	}
	for name, e := range map[string]envelope.Envelope{
		"another question": asking(t, "Who reads the files first?", "The board", "The clinic"), "one label more": asking(t, "Who decides?", "Release now", "Wait for May", "Ask the board"),
		"other words": asking(t, "Which file goes to the Café?", "A", "B"),
	} {
		if _, err := d.Ask(e); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// In another matter it is another question, and so is one that was answered.
	other, err := envelope.NewMatter(envelope.Matter{Agent: "agent:files", Principal: "~dana", Subject: "release-18"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := other.Ask(declined)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := envelope.Answer(declined, "x")
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Resolve(answer, noon())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.(envelope.Answered).Continue().Ask(declined); err != nil {
		t.Errorf("the question of an answer does not stand: %v", err)
	}
	if strings.Contains(string(out.JSON()), "Which files") {
		t.Error("the state holds the wording")
	}
}

// Sameness across scripts: composed and decomposed spellings, by Unicode's own forms. The pairs are
// NFC and NFD of Python's unicodedata.
//
// covers ENV-067
func TestSameAcrossScripts(t *testing.T) {
	for composed, decomposed := range map[string]string{
		"Ärger über Öl": "A\u0308rger u\u0308ber O\u0308l", "Чей йод?": "Чеи\u0306 и\u0306од?", "결정은?": "\u1100\u1167\u11af\u110c\u1165\u11bc\u110b\u1173\u11ab?",
		"Ποιός;": "Ποιο\u0301ς;", "Việt": "Vie\u0323\u0302t", "ẛ": "\u017f\u0307", "K": "\u212a", "ΣΑΣ": "σας",
	} {
		d, err := reopened(t, asking(t, composed, "One", "Two")).Hear(message(t, "~dana", noon().Add(time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Ask(asking(t, decomposed, "Three", "Four")); err == nil {
			t.Errorf("%q and %+q are two questions", composed, decomposed)
		}
		if _, err := d.Ask(asking(t, decomposed+"x", "Three", "Four")); err != nil {
			t.Errorf("%q: %v", decomposed, err)
		}
	}
}

// Only a message of the principal, after the veto, lets the agent ask again.
//
// covers ENV-068, ENV-117
func TestHear(t *testing.T) {
	r := reopened(t, asking(t, "Which?", "One", "Two"))
	for name, m := range map[string]envelope.Message{
		"none": {}, "before": message(t, "~dana", noon().Add(-time.Second)), "at the same time": message(t, "~dana", noon()), "of another": message(t, "~eve", noon().Add(time.Hour)),
		"without a text": {From: "~dana", At: noon().Add(time.Hour)},
	} {
		_, err := r.Hear(m)
		t.Run(name, func(t *testing.T) { wantMatter(t, err, envelope.NotHeard, "ENV-068") })
	}
	_, err := envelope.NewMessage("~dana", " \u200b", noon())
	wantMatter(t, err, envelope.NotHeard, "ENV-068")
	if _, err := r.Hear(message(t, "~dana", noon().Add(time.Millisecond))); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("x", 1025)
	for _, m := range []envelope.Matter{
		{}, {Agent: "a", Principal: "p"}, {Agent: "a", Subject: "s"}, {Principal: "p", Subject: "s"},
		{Agent: long, Principal: "p", Subject: "s"}, {Agent: "a", Principal: long, Subject: "s"}, {Agent: "a", Principal: "p", Subject: long}, {Agent: "a", Principal: "p", Subject: "\xff"},
	} {
		if _, err := envelope.NewMatter(m); err == nil {
			t.Errorf("%.40q is a matter", m)
		}
	}
}

// A matter bears 64 declined questions, and then no other. What it is by then can still be kept: with a
// state that a store cannot read again, the vetoes would be lost.
//
// covers ENV-067
func TestExhausted(t *testing.T) {
	long := strings.Repeat("\x01", 1024) // as long as JSON makes it
	d, err := envelope.NewMatter(envelope.Matter{Agent: "a" + long[1:], Principal: "p" + long[1:], Subject: "s" + long[1:]})
	if err != nil {
		t.Fatal(err)
	}
	at := noon()
	for i := range 65 {
		e := asking(t, fmt.Sprintf("Which of %d?", i), fmt.Sprint("A", i), fmt.Sprint("B", i))
		a, err := d.Ask(e)
		if i == 64 {
			wantMatter(t, err, envelope.Exhausted, "ENV-066")
			if kept, err := envelope.ParseState(d.JSON()); err != nil || string(kept.JSON()) != string(d.JSON()) {
				t.Errorf("a state of %d bytes is not read again: %v", len(d.JSON()), err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := envelope.Reopen(e)
		if err != nil {
			t.Fatal(err)
		}
		out, err := a.Resolve(r, at)
		if err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		if d, err = out.(envelope.Reopened).Hear(message(t, "p"+long[1:], at)); err != nil {
			t.Fatal(err)
		}
	}
}

// States are values: what becomes of one question changes nothing of another state, and a state that was
// kept knows which hatches are closed.
//
// covers ENV-042, ENV-043, ENV-067
func TestStatesAreValues(t *testing.T) {
	d := newMatter(t)
	decline := func(d envelope.Deliberating, e envelope.Envelope) envelope.Deliberating {
		t.Helper()
		a, err1 := d.Ask(e)
		r, err2 := envelope.Reopen(e)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		out, err := a.Resolve(r, noon())
		if err != nil {
			t.Fatal(err)
		}
		next, err := out.(envelope.Reopened).Hear(message(t, "~dana", noon().Add(time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	for i := range 9 { // so many that a list of them has room for more at some time
		one, other := asking(t, fmt.Sprint("One ", i, "?"), fmt.Sprint("A", i), "B"), asking(t, fmt.Sprint("Other ", i, "?"), fmt.Sprint("C", i), "D")
		next := decline(d, one)
		decline(d, other)
		_, err := next.Ask(one)
		wantMatter(t, err, envelope.SameQuestion, "ENV-067")
		if _, err := next.Ask(other); err != nil {
			t.Errorf("what was declined elsewhere: %v", err)
		}
		d = next
	}
	shut := mustParse(t, text(map[string]string{"stem": `"Shut?"`, "hatches": `{"dialogue":false,"free_text":false}`}))
	a, err := newMatter(t).Ask(shut)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := envelope.ParseState(a.JSON())
	if err != nil {
		t.Fatal(err)
	}
	for form, row := range map[string]string{`"resolution":"answer","answer":"x"`: "ENV-042", `"resolution":"question"`: "ENV-043"} {
		r, err := envelope.ParseResolution([]byte(`{"envelope_digest":"` + shut.Digest().String() + `",` + form + `}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = envelope.Step(kept, envelope.Resolved{Resolution: r, At: noon()})
		wantRefusal(t, err, envelope.HatchClosed, row)
	}
}

// What is no state is refused.
func TestParseStateRefuses(t *testing.T) {
	a, err := newMatter(t).Ask(asking(t, "Which?", "One", "Two"))
	if err != nil {
		t.Fatal(err)
	}
	r := reopened(t, asking(t, "Which?", "One", "Two"))
	for _, good := range []string{string(a.JSON()), string(r.JSON())} {
		for _, bad := range []string{
			"", "[]", "{}", good[1:], strings.Replace(good, `"state":"awaiting"`, `"state":"gone"`, 1), strings.Replace(good, `"state":"reopened"`, `"state":"awaiting"`, 1),
			strings.Replace(good, `"agent"`, `"a":1,"agent"`, 1), strings.Replace(good, `"stem"`, `"a":1,"stem"`, 1), strings.Replace(good, `sha256:`, `sha512:`, 1),
			strings.Replace(good, `"principal":"~dana"`, `"principal":""`, 1), strings.Replace(good, `"options":2`, `"options":"2"`, 1),
		} {
			if s, err := envelope.ParseState([]byte(bad)); bad != good && (err == nil || s != nil) {
				t.Errorf("%s is the state %T, with the error %v", bad, s, err)
			}
		}
	}
}
