package render_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
)

func view(t testing.TB, p plan) render.View {
	t.Helper()
	v, err := render.New(p.envelope(t), render.Reader{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestReply: a reply is one of those that were shown, or nothing is decided.
//
// covers ENV-042, ENV-043, ENV-070, ENV-097
func TestReply(t *testing.T) {
	v := view(t, release())
	d := v.Envelope().Digest().String()
	option := func(idx string) string {
		return `{"envelope_digest":"` + d + `","option_idx":` + idx + `,"resolution":"option"}`
	}
	answer := func(s string) string {
		return `{"answer":"` + s + `","envelope_digest":"` + d + `","resolution":"answer"}`
	}
	for reply, want := range map[string]string{
		"A": option("0"), "b": option("1"), " C) \n": option("2"), "b.": option("1"),
		"W: Only May": answer("Only May"), "w:Only May": answer("Only May"), " W :  A ": answer(" A "), "W: a: b\r\nc\rd": answer(`a: b\nc\nd`),
		"R": `{"envelope_digest":"` + d + `","resolution":"question"}`,
	} {
		r, err := v.Reply(reply)
		if err != nil || string(r.JSON()) != want {
			t.Errorf("%q makes %s, %v, want %s", reply, r.JSON(), err, want)
		}
	}
	for _, reply := range []string{"", "D", "A good question", "A B", "A))", "AB", "W", "W answer", "1", "yes", "R: because", "Ä", "reply: A", "a\x00"} {
		if r, err := v.Reply(reply); !errors.Is(err, render.ErrUnclear) || !r.IsZero() {
			t.Errorf("%q makes %s, %v", reply, r.JSON(), err)
		}
	}
	var refusal *envelope.Refusal
	if _, err := v.Reply("W:  \u200b "); !errors.As(err, &refusal) || refusal.Name != envelope.Blank {
		t.Errorf("a blank answer: %v", err)
	}
}

// TestClosed: what the envelope closes cannot be taken on any surface.
//
// covers ENV-042, ENV-043
func TestClosed(t *testing.T) {
	p := release()
	p.freeText, p.dialogue = false, false
	v := view(t, p)
	d := []string{v.Envelope().Digest().String()}
	for _, reply := range []string{"W: x", "R"} {
		if _, err := v.Reply(reply); !errors.Is(err, render.ErrUnclear) {
			t.Errorf("%q: %v", reply, err)
		}
	}
	for _, form := range []map[string][]string{
		{"envelope_digest": d, "resolution": {"answer"}, "answer": {"x"}}, {"envelope_digest": d, "resolution": {"question"}},
	} {
		if _, err := v.Submit(form); !errors.Is(err, render.ErrUnclear) {
			t.Errorf("%v: %v", form, err)
		}
	}
	at, _, _ := v.Picker().Press("w")
	if _, ok := at.At(); ok {
		t.Error("the picker has a way to a closed hatch")
	}
}

// covers ENV-069, ENV-074, ENV-076, ENV-077
func TestSubmit(t *testing.T) {
	v := view(t, release())
	d := v.Envelope().Digest().String()
	base := map[string][]string{"envelope_digest": {d}, "resolution": {"option"}, "option_idx": {"1"}, "token": {"t", "u"}}
	if r, err := v.Submit(base); err != nil || string(r.JSON()) != `{"envelope_digest":"`+d+`","option_idx":1,"resolution":"option"}` {
		t.Errorf("the form makes %s, %v", r.JSON(), err)
	}
	for name, change := range map[string]map[string][]string{
		"two digests": {"envelope_digest": {d, d}}, "two indices": {"option_idx": {"1", "0"}}, "two kinds": {"resolution": {"option", "question"}},
		"an index and an answer": {"answer": {"x"}}, "no index": {"option_idx": nil}, "an index of a question": {"resolution": {"question"}},
		"an answer without one": {"resolution": {"answer"}, "option_idx": nil}, "another kind": {"resolution": {"maybe"}}, "an empty index": {"option_idx": {""}},
		"an index too high": {"option_idx": {"3"}}, "a spelled index": {"option_idx": {"01"}}, "two digits": {"option_idx": {"12"}}, "a sign": {"option_idx": {"-1"}},
	} {
		form := maps.Clone(base)
		for field, values := range change {
			if form[field] = values; values == nil {
				delete(form, field)
			}
		}
		if r, err := v.Submit(form); !errors.Is(err, render.ErrUnclear) || !r.IsZero() {
			t.Errorf("%s: %s, %v", name, r.JSON(), err)
		}
	}
	other := release()
	other.options[0], other.options[1] = other.options[1], other.options[0]
	for _, digest := range []string{"", "sha256:00", other.envelope(t).Digest().String()} {
		form := maps.Clone(base)
		form["envelope_digest"] = []string{digest}
		var refusal *envelope.Refusal
		if _, err := v.Submit(form); !errors.As(err, &refusal) || refusal.Name != envelope.Unknown {
			t.Errorf("the digest %q: %v", digest, err)
		}
	}
}

// TestPicker: nothing is under the cursor at the beginning, and Return then takes nothing.
//
// covers ENV-092, ENV-096
func TestPicker(t *testing.T) {
	p := view(t, release()).Picker()
	if _, _, taken := p.Press(render.Return); taken {
		t.Error("Return takes a way that nobody pointed at")
	}
	for keys, want := range map[string]string{"up": "R", "down": "A", "b": "B", "3": "C", "w": "W", "5": "R", "x": "", "6": "", "": ""} {
		next, _, _ := p.Press(render.Key(keys))
		w, ok := next.At()
		if w.Key != want || ok != (want != "") {
			t.Errorf("%q leads to %q", keys, w.Key)
		}
	}
	for range 6 {
		p, _, _ = p.Press(render.Down)
	}
	if w, _ := p.At(); w.Key != "A" {
		t.Errorf("six times down from nowhere leads to %q", w.Key)
	}
	if p, _, _ = p.Press(render.Up); p.Frame(40) == "" {
		t.Error("no frame")
	}
	if w, way, taken := p.Press(render.Return); !taken || way.Key != "R" || way.Kind != envelope.KindQuestion || w.Frame(40) != p.Frame(40) {
		t.Errorf("Return takes %v, %v", way, taken)
	}
}
