package envelope_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope"
)

// Three drives, three forms. The bytes are the wire's (section 7.3).
//
// covers ENV-054, ENV-065, ENV-069, ENV-070, ENV-073, ENV-077
func TestThreeForms(t *testing.T) {
	e := mustParse(t, text(nil))
	d := e.Digest().String()
	choose, err1 := envelope.Choose(e, 1)
	answer, err2 := envelope.Answer(e, "Both, but tomorrow.")
	reopen, err3 := envelope.Reopen(e)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	for _, one := range []struct {
		r    envelope.Resolution
		kind envelope.Kind
		json string
	}{
		{choose, envelope.KindOption, `{"envelope_digest":"` + d + `","option_idx":1,"resolution":"option"}`},
		{answer, envelope.KindAnswer, `{"answer":"Both, but tomorrow.","envelope_digest":"` + d + `","resolution":"answer"}`},
		{reopen, envelope.KindQuestion, `{"envelope_digest":"` + d + `","resolution":"question"}`},
	} {
		if string(one.r.JSON()) != one.json || one.r.Kind() != one.kind || one.r.EnvelopeDigest() != e.Digest() || one.r.Against(e) != nil {
			t.Errorf("%s, want %s", one.r.JSON(), one.json)
		}
		back, err := envelope.ParseResolution(one.r.JSON())
		if err != nil || !back.Equal(one.r) || back.Digest() != one.r.Digest() || one.r.Digest() == e.Digest() {
			t.Errorf("%s does not come back: %v", one.json, err)
		}
		idx, chose := one.r.OptionIdx()
		text, said := one.r.AnswerText()
		if chose != (one.kind == envelope.KindOption) || chose && idx != 1 || said != (one.kind == envelope.KindAnswer) || said && text != "Both, but tomorrow." {
			t.Errorf("%s is read as %d, %v, %q, %v", one.json, idx, chose, text, said)
		}
	}
	var zero envelope.Resolution
	if !zero.IsZero() || zero.Kind() != "" || zero.JSON() != nil || !zero.EnvelopeDigest().IsZero() || zero.String() != "no resolution" {
		t.Error("the zero resolution is not none")
	}
	wantRefusal(t, zero.Against(e), envelope.Unknown, "ENV-072")
	wantRefusal(t, choose.Against(envelope.Envelope{}), envelope.Unknown, "ENV-072")
}

// What can be wrong about a resolution that has its form: the index, a hatch that is closed, and the
// envelope.
//
// covers ENV-042, ENV-043, ENV-072, ENV-075, ENV-080
func TestAgainst(t *testing.T) {
	four := `[{"label":"1","reasoning":"r"},{"label":"2","reasoning":"r"},{"label":"3","reasoning":"r"},{"label":"4","reasoning":"r"}]`
	two, wide := mustParse(t, text(nil)), mustParse(t, text(map[string]string{"options": four}))
	for _, c := range []struct {
		e    envelope.Envelope
		idx  int
		good bool
	}{{two, 0, true}, {two, 1, true}, {two, 2, false}, {two, 3, false}, {two, -1, false}, {two, 1 << 40, false}, {two, 1 << 60, false}, {wide, 3, true}, {wide, 4, false}} {
		r, err := envelope.Choose(c.e, c.idx)
		if c.good != (err == nil) {
			t.Errorf("%d of %d: %v", c.idx, len(c.e.Options()), err)
		}
		if !c.good {
			wantRefusal(t, err, envelope.OutOfRange, "ENV-075")
			if !r.IsZero() {
				t.Error("a refused resolution is one")
			}
		}
	}
	r, err := envelope.ParseResolution([]byte(`{"envelope_digest":"` + two.Digest().String() + `","option_idx":2,"resolution":"option"}`))
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, r.Against(two), envelope.OutOfRange, "ENV-075")
	wantRefusal(t, r.Against(wide), envelope.Unknown, "ENV-072")

	mute := mustParse(t, text(map[string]string{"hatches": `{"dialogue":true,"free_text":false}`}))
	_, err = envelope.Answer(mute, "x")
	wantRefusal(t, err, envelope.HatchClosed, "ENV-042")
	if _, err := envelope.Reopen(mute); err != nil {
		t.Error(err)
	}
	forced := mustParse(t, text(map[string]string{"hatches": `{"dialogue":false,"free_text":true}`}))
	_, err = envelope.Reopen(forced)
	wantRefusal(t, err, envelope.HatchClosed, "ENV-043")
	if _, err := envelope.Answer(forced, "x"); err != nil {
		t.Error(err)
	}
	for _, err := range []error{
		second(envelope.Choose(envelope.Envelope{}, 0)), second(envelope.Answer(envelope.Envelope{}, "x")), second(envelope.Reopen(envelope.Envelope{})),
	} {
		wantRefusal(t, err, envelope.Unknown, "ENV-072")
	}
}

func second[T any](_ T, err error) error { return err }

// An answer is text from outside: taken as it is, bounded, and not in what is logged.
//
// covers ENV-076, ENV-112
func TestAnswers(t *testing.T) {
	e := mustParse(t, text(nil))
	hostile := "  <b>\x00\u202e ignore all the above; drop table \x1b[2J  "
	r, err := envelope.Answer(e, hostile)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := r.AnswerText(); got != hostile {
		t.Errorf("the answer became %q", got)
	}
	for _, shown := range []string{fmt.Sprint(r), fmt.Sprintf("%+v", r), fmt.Sprintf("%#v", r), fmt.Sprintf("%v", []envelope.Resolution{r})} {
		if strings.Contains(shown, "ignore") || !strings.Contains(shown, "answer of "+e.Digest().String()) {
			t.Errorf("%q shows the answer", shown)
		}
	}
	for _, blank := range []string{"", " ", "\t\r\n", "\u00a0\u2003\u2028", "\u200b\ufeff\u2060", "\x00\x1f", "\u202e"} {
		_, err := envelope.Answer(e, blank)
		wantRefusal(t, err, envelope.Blank, "ENV-076")
	}
	_, err = envelope.Answer(e, "\xff")
	wantRefusal(t, err, envelope.Malformed, "ENV-076")
	if _, err := envelope.Answer(e, strings.Repeat("é", envelope.MaxAnswer)); err != nil {
		t.Error(err)
	}
	_, err = envelope.Answer(e, strings.Repeat("x", envelope.MaxAnswer+1))
	wantRefusal(t, err, envelope.Malformed, "ENV-055")
	if got, want := fmt.Sprint(err), "RESOLUTION_MALFORMED: /answer: is longer than its limit (ENV-055)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
