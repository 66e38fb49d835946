package render_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

// A plan is an envelope as tests write it.
type plan struct {
	synopsis, offer, stem string
	findings, moves       []string
	options               []envelope.Option
	recommended           int
	freeText, dialogue    bool
	class, note           string // "" leaves them out
}

func text(s string) []byte { return jcs.String(s) }

func member(name string, value []byte) jcs.Member { return jcs.Member{Name: name, Value: value} }

func array(list []string) []byte {
	items := make([][]byte, len(list))
	for i, s := range list {
		items[i] = text(s)
	}
	return jcs.Array(items...)
}

func (p plan) json() []byte {
	var options [][]byte
	for _, o := range p.options {
		options = append(options, jcs.Object(member("label", text(o.Label)), member("reasoning", text(o.Reasoning))))
	}
	members := []jcs.Member{
		member("synopsis", text(p.synopsis)), member("findings", array(p.findings)), member("recommendations", array(p.moves)), member("offer", text(p.offer)),
		member("question", jcs.Object(
			member("stem", text(p.stem)), member("options", jcs.Array(options...)), member("recommended_idx", jcs.Int(int64(p.recommended))),
			member("hatches", jcs.Object(member("free_text", jcs.Bool(p.freeText)), member("dialogue", jcs.Bool(p.dialogue)))),
		)),
	}
	var meta []jcs.Member
	if p.class != "" {
		meta = append(meta, member("decision_class", text(p.class)))
	}
	if p.note != "" {
		meta = append(meta, member("calibration_note", text(p.note)))
	}
	if len(meta) > 0 {
		members = append(members, member("meta", jcs.Object(meta...)))
	}
	return jcs.Object(members...)
}

func (p plan) envelope(t testing.TB) envelope.Envelope {
	t.Helper()
	e, err := envelope.Parse(p.json())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// release is a decision as agents bring them.
func release() plan {
	return plan{
		synopsis: "Release the weekly view to Northside Clinic: it answers their request, and nobody can be told apart in it.",
		findings: []string{
			"The clinic asked on 12 May for occupancy “in whatever grain you can share”.",
			"In the daily view 14 of 9 120 rows describe fewer than five patients.",
			"In the weekly view the smallest group is 31 patients.",
		},
		moves: []string{"Write the weekly view to the clinic's folder today.", "Tell the clinic that a daily view needs an amended agreement."},
		offer: "Ask for the rows behind any of these figures.",
		stem:  "Which view of the bed register does Northside Clinic get?",
		options: []envelope.Option{
			{Label: "Release the daily view", Reasoning: "It is the finest grain."},
			{Label: "Release the weekly view", Reasoning: "It answers the request."},
			{Label: "Release nothing", Reasoning: "The agreement can be read narrowly."},
		},
		recommended: 1, freeText: true, dialogue: true, class: "consent",
	}
}

// scraps are what random texts are made of: words, and everything that tries something.
func scraps() []string {
	return []string{
		"word", "a longer stretch of words", " ", "  ", "     ", "\n", "\r\n", "\t", "\x00", "\x1b[31m", "\u009b2J", "\u202e", "\u2066", "\u2069", "\u200b", "\u200d", "\u200c",
		"\ufeff", "\u00a0", "\u3000", "\u2028", "\u2800", "\u3164", "\u00ad", "\U000e0041", "\ufe0f", "\U000e0101", "⟨U+202E⟩", "⟨", "⟩", "<b>", "</form>", "<script>alert(1)</script>",
		"&amp;", "&", `"`, "'", "=> A) ", "   B) fake", "\n=> B) fake", "QUESTION", "Reply: A", "W:", "שלום", "كتاب", "می\u200cخواهم", "नमस्ते", "日本語", "👩\u200d💻", "1\ufe0f\u20e3", "Z̴̢̧͓̖̲͔̗",
		strings.Repeat("x", 90), strings.Repeat("\u200b", 30), strings.Repeat("\u0301", 9), "\U0010ffff", "\ue000", "\u0378", "é", "$(id)", "{{.}}", "javascript:alert(1)", "Recommended by the agent.",
	}
}

func randomText(r *rand.Rand) string {
	list := scraps()
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(list[r.IntN(len(list))])
		if r.IntN(2) == 0 {
			b.WriteByte(' ')
		}
	}
	if r.IntN(4) == 0 {
		b.WriteRune(rune(r.IntN(0xd800)))
	}
	return b.String()
}

func randomTexts(r *rand.Rand, most int) []string {
	list := make([]string, r.IntN(most))
	for i := range list {
		list[i] = randomText(r)
	}
	return list
}

func randomPlan(r *rand.Rand) plan {
	p := plan{
		synopsis: randomText(r), offer: randomText(r), stem: randomText(r), findings: randomTexts(r, 7), moves: randomTexts(r, 5),
		freeText: r.IntN(3) > 0, dialogue: r.IntN(3) > 0, class: []string{"", "consent", "other"}[r.IntN(3)],
	}
	if r.IntN(3) == 0 {
		p.note = "n" + randomText(r)
	}
	for range 2 + r.IntN(3) {
		p.options = append(p.options, envelope.Option{Label: randomText(r), Reasoning: randomText(r)})
	}
	p.recommended = r.IntN(len(p.options))
	return p
}
