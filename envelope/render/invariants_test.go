package render_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
)

// TestInvariants reads the rendered output of every renderer, of plain and of random envelopes: all
// slots are there, in order; one option is marked, the right one; each open hatch can be taken and
// no closed one; reasons stand with their options; and what is taken on one surface makes the same
// bytes as on any other.
//
// covers ENV-002, ENV-042, ENV-043, ENV-070, ENV-090, ENV-091, ENV-092, ENV-093, ENV-094, ENV-095, ENV-096, ENV-097
func TestInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	plans := []plan{release()}
	for _, hatches := range [][2]bool{{true, false}, {false, true}, {false, false}} {
		p := release()
		p.freeText, p.dialogue = hatches[0], hatches[1]
		plans = append(plans, p)
	}
	empty := release()
	empty.findings, empty.moves, empty.synopsis, empty.offer, empty.note = nil, nil, "", "", "Earlier I said less."
	plans = append(plans, empty)
	big := release() // as much as an envelope holds
	for range 10 {
		big.findings = append(big.findings, strings.Repeat("words ", 600)+strings.Repeat("w", 400))
	}
	plans = append(plans, big)
	for range 100 {
		plans = append(plans, randomPlan(r))
	}
	for _, p := range plans {
		v, err := render.New(p.envelope(t), render.Reader{Agent: "agent"})
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, p, v)
		if t.Failed() {
			t.Fatalf("of %s", p.json())
		}
	}
}

// shown is what stands for a text of an envelope.
func shown(s string) string {
	if s == "" {
		return "(empty)"
	}
	return string(render.Show(s))
}

func checkAll(t testing.TB, p plan, v render.View) {
	t.Helper()
	var resolved [][]string
	for _, r := range readings(t, v) {
		checkSlots(t, p, r)
		checkWays(t, p, r)
		checkHarmless(t, r)
		resolved = append(resolved, resolve(t, v, r))
	}
	for _, other := range resolved[1:] {
		if diff := cmp.Diff(resolved[0], other); diff != "" {
			t.Errorf("two surfaces make different resolutions:\n%s", diff)
		}
	}
	checkPage(t, p, page(t, v))
}

// inOrder are the slots as they are read from top to bottom, with the headings between them.
func inOrder(p plan) []string {
	var list []string
	if p.note != "" {
		list = append(list, "Before you read on", shown(p.note))
	}
	list = append(list, "Synopsis", shown(p.synopsis))
	for _, array := range []struct {
		heading string
		items   []string
	}{{"Findings", p.findings}, {"Recommendations", p.moves}} {
		list = append(list, array.heading)
		if len(array.items) == 0 {
			list = append(list, "(none)")
		}
		for _, item := range array.items {
			list = append(list, shown(item))
		}
	}
	return append(list, "Offer", shown(p.offer), "Question", shown(p.stem))
}

func checkSlots(t testing.TB, p plan, r reading) {
	t.Helper()
	rest := squeezed(r.all)
	for _, want := range inOrder(p) {
		want = squeezed(want)
		i := strings.Index(rest, want)
		if upper := strings.Index(rest, strings.ToUpper(want)); i < 0 {
			i = upper // headings of a block
		}
		if i < 0 {
			t.Errorf("%s: %q is not there, or not in its place", r.surface, want)
			return
		}
		rest = rest[i+len(want):]
	}
}

func checkWays(t testing.TB, p plan, r reading) {
	t.Helper()
	hatches := []string{}
	if p.freeText {
		hatches = append(hatches, "Answer in your own words")
	}
	if p.dialogue {
		hatches = append(hatches, "Decline the question")
	}
	if len(r.ways) != len(p.options)+len(hatches) {
		t.Errorf("%s: there are %d ways of %d options and %d hatches", r.surface, len(r.ways), len(p.options), len(hatches))
		return
	}
	for i, w := range r.ways {
		if w.recommended != (i == p.recommended) {
			t.Errorf("%s: whether way %d is recommended: %v", r.surface, i, w.recommended)
		}
		want := []string{}
		if i < len(p.options) {
			want = append(want, shown(p.options[i].Label), shown(p.options[i].Reasoning))
		} else {
			want = append(want, hatches[i-len(p.options)])
		}
		for _, s := range want {
			if !strings.Contains(squeezed(w.words), squeezed(s)) {
				t.Errorf("%s: way %d does not hold %q: %q", r.surface, i, s, w.words)
			}
		}
		if i == p.recommended && !strings.Contains(squeezed(w.words), squeezed("Recommended by the agent")) {
			t.Errorf("%s: the mark is not told in words", r.surface)
		}
	}
}

// checkHarmless: no character is there that does not show, but line ends and balanced isolates.
func checkHarmless(t testing.TB, r reading) {
	t.Helper()
	depth := 0
	var before rune
	for _, c := range r.all {
		switch {
		case c == '\n':
			if depth != 0 {
				t.Errorf("%s: a line ends inside an isolate", r.surface)
			}
			depth = 0
		case c == '\u2068':
			depth++
		case c == '\u2069':
			depth--
		case c == '\u200c', c == '\u200d':
			if before < 0x300 {
				t.Errorf("%s: a joiner after %q", r.surface, before)
			}
		case c != ' ' && !unicode.IsPrint(c), unicode.Is(unicode.Bidi_Control, c), unicode.Is(unicode.Zs, c) && c != ' ':
			t.Errorf("%s: %U stands as it is", r.surface, c)
		}
		before = c
	}
}

// resolve takes every way of a reading as somebody does who sees nothing else, and returns what
// each makes.
func resolve(t testing.TB, v render.View, r reading) []string {
	t.Helper()
	const answer = "Only the first half\r\nof May"
	var made []string
	for i, w := range r.ways {
		var res envelope.Resolution
		var err error
		switch {
		case w.form != nil:
			if w.form["resolution"][0] == "answer" {
				w.form["answer"] = []string{answer}
			}
			res, err = v.Submit(w.form)
		case strings.HasPrefix(r.surface, "picker"):
			p := v.Picker()
			for range i + 1 {
				p, _, _ = p.Press(render.Down)
			}
			_, way, taken := p.Press(render.Return)
			letter, _, _ := v.Picker().Press(render.Key(strings.ToLower(w.key)))
			if at, ok := letter.At(); !taken || !ok || at.Key != way.Key {
				t.Errorf("%s: the letter %s and %d arrows do not lead to one way", r.surface, w.key, i+1)
			}
			res, err = v.Resolve(way, strings.ReplaceAll(answer, "\r", ""))
		case w.key == "W":
			res, err = v.Reply("W: " + answer)
		default:
			res, err = v.Reply(w.key)
		}
		if err != nil {
			t.Errorf("%s: way %d: %v", r.surface, i, err)
		}
		made = append(made, string(res.JSON()))
	}
	return made
}

// checkPage: each slot stands in an element of its own, letter for letter; nothing else than our
// markup came to be.
func checkPage(t testing.TB, p plan, text string) {
	t.Helper()
	r := readPage(t, text)
	want := []string{shown("“agent” asks.")}
	for _, s := range inOrder(p) {
		if !slices.Contains([]string{"Synopsis", "Findings", "Recommendations", "Offer", "Question", "Before you read on", "(none)"}, s) || slices.Contains(r.slots, s) {
			want = append(want, s)
		}
	}
	for _, o := range p.options {
		want = append(want, shown(o.Label), shown(o.Reasoning))
	}
	if diff := cmp.Diff(want, r.slots); diff != "" {
		t.Errorf("the page's slots:\n%s", diff)
	}
	forms := 1
	controls := len(p.options) + 1 // radios and a button
	if p.freeText {
		forms, controls = forms+1, controls+2
	}
	if p.dialogue {
		forms, controls = forms+1, controls+1
	}
	if want := forms + controls + 3*forms; len(r.control) != want { // three hidden fields each
		t.Errorf("the page has %d elements to act with, want %d", len(r.control), want)
	}
	for n := range parseHTML(t, text).Descendants() {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "checked" || a.Key == "formaction" || a.Key == "autofocus" {
				t.Errorf("the page has an attribute %s", a.Key)
			}
		}
	}
}

// TestBlock: of a text, nothing from outside reaches the first two columns, and no line but that of a
// link is wider than was asked.
//
// covers ENV-091, ENV-092
func TestBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 80 {
		p := randomPlan(r)
		v, err := render.New(p.envelope(t), render.Reader{Link: "https://decisions.example/" + strings.Repeat("x", 100)})
		if err != nil {
			t.Fatal(err)
		}
		for _, columns := range []int{24, 40, 80} {
			arrows := 0
			for line := range strings.Lines(v.Text(columns)) {
				line = strings.TrimSuffix(line, "\n")
				if strings.HasPrefix(line, "=> ") {
					arrows++
				} else if line != "" && !strings.HasPrefix(line, "  ") && !ours(line) {
					t.Errorf("of %d columns, this begins in the first: %q", columns, line)
				}
				if n := len([]rune(line)); n > columns && !strings.Contains(line, "https://") && !hasZeroWidth(line) {
					t.Errorf("of %d columns, a line has %d: %q", columns, n, line)
				}
			}
			if arrows != 1 {
				t.Errorf("there are %d arrows", arrows)
			}
		}
	}
}

func hasZeroWidth(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.In(r, unicode.M, unicode.Cf) })
}

// ours reports whether a line is one of our own words, which are ASCII and begin as words do.
func ours(line string) bool {
	c := line[0]
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}

// TestNotificationLeads: a notification with a link shows the question, each way and the mark, all of
// the synopsis, and where the rest is; nothing in it is harmful or looks like a way that is none.
//
// covers ENV-092, ENV-093, ENV-094
func TestNotificationLeads(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 7))
	plans := []plan{release()}
	for range 100 {
		plans = append(plans, randomPlan(r))
	}
	for _, p := range plans {
		const link = "https://decisions.example/1"
		v, err := render.New(p.envelope(t), render.Reader{Link: link})
		if err != nil {
			t.Fatal(err)
		}
		n := v.Notification()
		got := readText("notification", n.Body)
		whole := readText("whole", n.Whole)
		if len(got.ways) != len(whole.ways) {
			t.Fatalf("%d ways of %d in %q", len(got.ways), len(whole.ways), n.Body)
		}
		for i, w := range got.ways {
			title, _, _ := strings.Cut(whole.ways[i].words, "\n")
			if w.recommended {
				title = "Recommended by the agent: " + title
			}
			if w.key != whole.ways[i].key || w.recommended != (i == p.recommended) || !strings.HasPrefix(w.words, title) {
				t.Errorf("way %d is %+v, and of the whole %+v", i, w, whole.ways[i])
			}
		}
		checkHarmless(t, reading{surface: "notification", all: n.Title + "\n" + n.Body})
		for _, want := range []string{shown(p.synopsis), shown(p.stem), link} {
			if !strings.Contains(squeezed(n.Title+n.Body), squeezed(want)) {
				t.Errorf("%q is not there: %q", want, n.Title+"\n"+n.Body)
			}
		}
	}
}

// TestDirections: writing from right to left turns nothing that stands beside it.
func TestDirections(t *testing.T) {
	p := release()
	p.findings[0], p.options[0].Label = "לשלם 3 (of 5)", "שלום"
	v := view(t, p)
	for _, want := range []string{"\n   1. \u2068לשלם 3 (of 5)\u2069\n", "\n   A) \u2068שלום\u2069\n", "\n   2. In the"} {
		if !strings.Contains(v.Text(0), want) {
			t.Errorf("the text does not hold %q", want)
		}
	}
	for _, n := range find(parseHTML(t, page(t, v)), "bdi", "") {
		if attr(n, "dir") != "auto" {
			t.Errorf("%q has the direction %q", words(n), attr(n, "dir"))
		}
	}
	if !strings.Contains(render.Stylesheet(), "unicode-bidi: isolate") {
		t.Error("the style sheet isolates no direction")
	}
}

// TestClosedIsSaid: a way that the agent has closed is no way on any surface, and each surface says so.
//
// covers ENV-093
func TestClosedIsSaid(t *testing.T) {
	for _, closed := range []bool{true, false} {
		p := release()
		p.freeText, p.dialogue = !closed, !closed
		for _, r := range readings(t, view(t, p)) {
			for _, words := range []string{"The agent has closed the way to an answer in your own words.", "The agent has closed the way to decline the question."} {
				if strings.Contains(squeezed(r.all), squeezed(words)) != closed {
					t.Errorf("%s, closed %v: whether it says %q", r.surface, closed, words)
				}
			}
		}
	}
}
