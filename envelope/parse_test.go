package envelope_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/envelope"
)

// The example of the package comment; its digest was computed with Python's hashlib over
// json.dumps(…, sort_keys=True, separators=(',', ':')).
//
// covers ENV-051, ENV-053
func TestParseReadsEverySlot(t *testing.T) {
	e := mustParse(t, `{"synopsis":"Release the fourth file alone.",
	 "meta":{"decision_class":"consent","calibration_note":"It is more than I said."},
	 "findings":["Three of the four files name \"patients\".","b"], "recommendations":["Send the fourth\tfile."],
	 "offer":"Ask for any of the files.",
	 "question":{"stem":"Which files go?","options":[{"label":"L0","reasoning":"r0"},{"reasoning":"r1\u0001é","label":"L1"},{"label":"L2","reasoning":""}],
	  "recommended_idx":2,"hatches":{"free_text":true,"dialogue":false}}}`)
	got := []any{e.Synopsis(), e.Findings(), e.Recommendations(), e.Offer(), e.Stem(), e.Options(), e.Recommended(), e.Hatches(), e.Meta()}
	want := []any{
		"Release the fourth file alone.", []string{`Three of the four files name "patients".`, "b"}, []string{"Send the fourth\tfile."}, "Ask for any of the files.", "Which files go?",
		[]envelope.Option{{Label: "L0", Reasoning: "r0"}, {Label: "L1", Reasoning: "r1\x01é"}, {Label: "L2", Reasoning: ""}}, 2,
		envelope.Hatches{FreeText: true}, envelope.Meta{DecisionClass: "consent", CalibrationNote: "It is more than I said.", HasDecisionClass: true, HasCalibrationNote: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	// A text that ends in what stands before a quotation mark, and what follows it.
	for _, s := range []string{`\`, `\\`, `\"`, `"\`, `a\`, `",`, "\x01\\", "\b\f\n\r\t\x00\x1f\x7f"} {
		e := mustParse(t, text(map[string]string{"offer": str(s), "synopsis": str(s), "findings": "[" + str(s) + "," + str(s) + "]"}))
		if diff := cmp.Diff([]any{s, s, []string{s, s}, "Which?"}, []any{e.Offer(), e.Synopsis(), e.Findings(), e.Stem()}); diff != "" {
			t.Errorf("%q: want -, got +:\n%s", s, diff)
		}
	}
	if m, want := mustParse(t, text(map[string]string{"meta": `{"calibration_note":"","decision_class":""}`})).Meta(), (envelope.Meta{HasDecisionClass: true, HasCalibrationNote: true}); m != want {
		t.Errorf("empty texts are absent: %+v", m)
	}
	doc := mustParse(t, `{"findings":["Three of the four files name patients."],"offer":"Ask for any of the files.","question":{"hatches":{"dialogue":true,"free_text":true},`+
		`"options":[{"label":"Release the fourth file","reasoning":"It names nobody."},{"label":"Release nothing","reasoning":"The request is withdrawn anyway in May."}],`+
		`"recommended_idx":0,"stem":"Which files go to the institute?"},"recommendations":["Send the fourth file by the secure channel."],"synopsis":"Release the fourth file alone."}`)
	if want := "sha256:cf846d4222d2dd0c4f4b55cc221eea7cdca9053e8fd53966ef8f9d4020685ba3"; doc.Digest().String() != want || len(doc.JSON()) != 482 {
		t.Errorf("%s, %d bytes", doc.Digest(), len(doc.JSON()))
	}
}

// An envelope cannot be changed through what it gives out, and the zero one is empty, not a panic.
//
// covers ENV-005
func TestEnvelopeDoesNotChange(t *testing.T) {
	e := mustParse(t, text(nil))
	digest := e.Digest()
	e.Findings()[0], e.Recommendations()[0], e.Options()[0].Label, e.JSON()[0] = "x", "x", "x", 'x'
	if e.Findings()[0] != "a" || e.Recommendations()[0] != "Send it." || e.Options()[0].Label != "One" || e.JSON()[0] != '{' || e.Digest() != digest {
		t.Error("a slice that was given out is the envelope's own")
	}
	var zero envelope.Envelope
	if !zero.IsZero() || zero.Synopsis() != "" || len(zero.Options())+len(zero.Findings())+len(zero.Recommendations()) != 0 || zero.JSON() != nil || !zero.Digest().IsZero() ||
		zero.Digest().String() != "" || len(envelope.Lint(zero)) != 0 || zero.Equal(e) {
		t.Error("the zero envelope is not empty")
	}
}

// Each text may be as long as its limit, in characters, and no longer; each list likewise.
//
// covers ENV-055
func TestLimits(t *testing.T) {
	option := func(label, reasoning string) string {
		return `[{"label":` + str(label) + `,"reasoning":` + str(reasoning) + `},{"label":"b","reasoning":"r"}]`
	}
	for _, l := range []struct {
		path  string
		limit int
		put   func(s string) map[string]string
	}{
		{"/synopsis", envelope.MaxSynopsis, func(s string) map[string]string { return map[string]string{"synopsis": str(s)} }},
		{"/findings/0", envelope.MaxFinding, func(s string) map[string]string { return map[string]string{"findings": "[" + str(s) + "]"} }},
		{"/recommendations/0", envelope.MaxRecommendation, func(s string) map[string]string { return map[string]string{"recommendations": "[" + str(s) + "]"} }},
		{"/offer", envelope.MaxOffer, func(s string) map[string]string { return map[string]string{"offer": str(s)} }},
		{"/question/stem", envelope.MaxStem, func(s string) map[string]string { return map[string]string{"stem": str(s)} }},
		{"/question/options/0/label", envelope.MaxLabel, func(s string) map[string]string { return map[string]string{"options": option(s, "r")} }},
		{"/question/options/0/reasoning", envelope.MaxReasoning, func(s string) map[string]string { return map[string]string{"options": option("l", s)} }},
		{"/meta/decision_class", envelope.MaxClass, func(s string) map[string]string {
			return map[string]string{"meta": `{"decision_class":` + str(s) + `}`}
		}},
		{"/meta/calibration_note", envelope.MaxCalibration, func(s string) map[string]string {
			return map[string]string{"meta": `{"calibration_note":` + str(s) + `}`}
		}},
	} {
		for _, char := range []string{"x", "é", "🌱", `"`, "\x01"} {
			if _, err := envelope.Parse([]byte(text(l.put(strings.Repeat(char, l.limit))))); err != nil {
				t.Errorf("%s: %d of %s: %v", l.path, l.limit, char, err)
			}
			_, err := envelope.Parse([]byte(text(l.put(strings.Repeat(char, l.limit+1)))))
			wantError(t, err, "ENV-055", l.path)
		}
	}
	for path, name := range map[string]string{"/findings": "findings", "/recommendations": "recommendations"} {
		items := strings.Repeat(`"x",`, 64)
		if _, err := envelope.Parse([]byte(text(map[string]string{name: "[" + items[:len(items)-1] + "]"}))); err != nil {
			t.Errorf("%s: 64: %v", path, err)
		}
		_, err := envelope.Parse([]byte(text(map[string]string{name: "[" + items + `"x"]`})))
		wantError(t, err, map[string]string{"/findings": "ENV-019", "/recommendations": "ENV-023"}[path], path)
	}
}

// An extra member at each of the five levels, the lead of an index, a wrong type at every place: the
// vectors have them one by one. Here every place of a good envelope is broken in every way.
//
// covers ENV-007, ENV-008, ENV-055, ENV-101, ENV-103
func TestEveryPlaceIsChecked(t *testing.T) {
	good := text(map[string]string{"meta": `{"calibration_note":"n","decision_class":"c"}`})
	mustParse(t, good)
	for i := range len(good) {
		if good[i] != '{' {
			continue
		}
		broken := good[:i+1] + `"\u0000":0,` + good[i+1:]
		_, err := envelope.Parse([]byte(broken))
		var fault *envelope.Error
		if !errors.As(err, &fault) || fault.Row != "ENV-007" {
			t.Errorf("a member more at byte %d: %v", i, err)
		}
	}
	// A null stands for nothing anywhere, and an object or an array in place of any text, either.
	for _, value := range []string{"null", `{"a":1}`, `[[]]`, "-1"} {
		places := 0
		for i := range len(good) {
			if good[i] != ':' && good[i] != '[' {
				continue
			}
			places++
			if _, err := envelope.Parse([]byte(good[:i+1] + value + good[valueEnd(good, i+1):])); err == nil {
				t.Errorf("%s at byte %d is accepted", value, i)
			}
		}
		if places < 20 {
			t.Errorf("%d places", places)
		}
	}
}

// valueEnd is the end of the JSON value at i of a text without white space and escapes.
func valueEnd(s string, i int) int {
	depth, quoted := 0, false
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return i
			}
			depth--
		case c == ',' && depth == 0:
			return i
		}
	}
	return i
}

// Errors name the row, the member and the rule, and repeat nothing of the input.
//
// covers ENV-036
func TestErrorTexts(t *testing.T) {
	_, err := envelope.Parse([]byte(text(map[string]string{"recommended_idx": "2"})))
	if got, want := fmt.Sprint(err), "envelope: /question/recommended_idx: is not the index of an option (ENV-036)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, in := range []string{
		text(map[string]string{"surplus": `"geheim"`}), strings.Replace(text(nil), `"offer"`, `"geheim"`, 1), `{"geheim":1,"geheim":2}`, `{"offer":{"geheim":[1.5]}}`,
		`"geheim`, `{"meta":{"geheim/x~y":1},"findings":[]}`, `{"4711":1}`, `{"question":{"4711":1}}`, `{"findings":{"4711":1.5}}`, `{"findings":[[{"4711":1.5}]]}`,
		`{"question":{"question":{"geheim":1.5}}}`, `{"":{"4711":1.5}}`,
	} {
		_, err := envelope.Parse([]byte(in))
		if err == nil || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "4711") {
			t.Errorf("%s: %v", in, err)
		}
	}
	for in, want := range map[string]string{
		text(map[string]string{"findings": `["a","b",1]`}):                                      "envelope: /findings/2: is not a string (ENV-019)",
		text(map[string]string{"options": `[{"label":"One","reasoning":"r"},{"label":"Two"}]`}): "envelope: /question/options/1/reasoning: is missing (ENV-032)",
		text(map[string]string{"meta": `{"by":"me"}`}):                                          "envelope: /meta: is not a member that the grammar knows (ENV-007)",
	} {
		if _, err := envelope.Parse([]byte(in)); fmt.Sprint(err) != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	_, err = envelope.Parse([]byte(`[]`))
	if got, want := fmt.Sprint(err), "envelope: the whole: is not an object (ENV-007)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// covers ENV-053, ENV-054, ENV-072
func TestDigestSpelling(t *testing.T) {
	d := mustParse(t, text(nil)).Digest()
	back, err := envelope.ParseDigest(d.String())
	if err != nil || back != d || d.IsZero() {
		t.Errorf("%v, %s", err, back)
	}
	if b, err := d.MarshalText(); err != nil || string(b) != d.String() {
		t.Errorf("%s, %v", b, err)
	}
	s := d.String()
	for _, bad := range []string{
		"", "sha256:", s[7:], s[:len(s)-1], s + "0", " " + s, s + " ", strings.ToUpper(s), "sha256:" + strings.ToUpper(s[7:]), "sha-256:" + s[7:],
		"sha384:" + s[7:] + strings.Repeat("0", 32), strings.Replace(s, ":", "-", 1), s[:len(s)-1] + "g",
	} {
		if _, err := envelope.ParseDigest(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// Order and mark are inside of the digest (ENV-080); what is around the envelope is not (ENV-051).
//
// covers ENV-051, ENV-072, ENV-080
func TestDigestNamesOneDecision(t *testing.T) {
	seen := map[envelope.Digest]bool{}
	for _, s := range []string{
		text(nil),
		text(map[string]string{"options": `[{"label":"Two","reasoning":"s"},{"label":"One","reasoning":"r"}]`}),
		text(map[string]string{"recommended_idx": "1"}),
		text(map[string]string{"hatches": `{"dialogue":true,"free_text":false}`}),
		text(map[string]string{"meta": "{}"}),
	} {
		seen[mustParse(t, s).Digest()] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d digests of 5 decisions", len(seen))
	}
	one := mustParse(t, text(nil))
	if spaced := mustParse(t, " \n"+strings.ReplaceAll(text(nil), `":`, `" :	`)+" "); spaced.Digest() != one.Digest() || !spaced.Equal(one) {
		t.Error("white space changes the digest")
	}
	swapped := mustParse(t, text(map[string]string{"options": `[{"label":"Two","reasoning":"s"},{"label":"One","reasoning":"r"}]`}))
	r, err := envelope.Choose(one, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, r.Against(swapped), envelope.Unknown, "ENV-072")
}

// A decision of 2 KiB takes at most ten allocations to read.
func TestParseAllocations(t *testing.T) {
	for name, in := range map[string][]byte{"plain": twoKiB(), "with escapes": []byte(strings.ReplaceAll(string(twoKiB()), "seven", `\"\n\t\\`))} {
		if n := testing.AllocsPerRun(200, func() {
			if _, err := envelope.Parse(in); err != nil {
				t.Fatal(err)
			}
		}); n > 10 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// twoKiB is a canonical envelope of about 2 KiB with every slot in use.
func twoKiB() []byte {
	line := strings.Repeat("seven words make a line of this ", 4)
	return mustParseBytes(text(map[string]string{
		"synopsis": str(line), "stem": str(line), "offer": str(line[:40]),
		"findings":        "[" + str(line+"1") + "," + str(line+"2") + "," + str(line+"3") + "," + str(line+"4") + "]",
		"recommendations": "[" + str(line+"1") + "," + str(line+"2") + "," + str(line+"3") + "]",
		"options":         `[{"label":"a","reasoning":` + str(line) + `},{"label":"b","reasoning":` + str(line) + `},{"label":"c","reasoning":` + str(line) + `}]`,
		"meta":            `{"calibration_note":` + str(line) + `,"decision_class":"consent"}`,
	}))
}

func mustParseBytes(s string) []byte {
	e, err := envelope.Parse([]byte(s))
	if err != nil {
		panic(err)
	}
	return e.JSON()
}
