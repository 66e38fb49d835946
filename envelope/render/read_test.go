package render_test

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/bindery/bindery/envelope/render"
)

// A reading is what somebody finds on a surface who knows nothing but what is there.
type reading struct {
	surface string
	all     string       // every word, in order
	ways    []foundWay   // in order
	slots   []string     // texts from outside as they stand, where the surface shows where each begins and ends
	control []*html.Node // elements to act with
}

type foundWay struct {
	key         string // of a text
	words       string // label, reasoning and what stands there besides
	recommended bool
	form        map[string][]string // of a page: what is sent if it is taken, but for an answer
}

var wayHead = regexp.MustCompile(`^(=> |   |>> |>  )([A-DWR])\) `)

// readText reads a block: a way begins with its letter at its place, and ends with an empty line.
func readText(surface, block string) reading {
	r := reading{surface: surface, all: block}
	var way *foundWay
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		if m := wayHead.FindStringSubmatch(line); m != nil {
			r.ways = append(r.ways, foundWay{key: m[2], recommended: strings.HasSuffix(strings.TrimRight(m[1], " "), ">") && m[1][1] != ' '})
			way, line = &r.ways[len(r.ways)-1], line[len(m[0]):]
		}
		if line == "" {
			way = nil
		}
		if way != nil {
			way.words += line + "\n"
		}
	}
	return r
}

func parseHTML(t testing.TB, text string) *html.Node {
	t.Helper()
	n, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readPage reads a page with the parser of others.
func readPage(t testing.TB, text string) reading {
	t.Helper()
	root := parseHTML(t, text)
	r := reading{surface: "page", all: words(find(root, "body", "")[0])}
	for _, n := range find(root, "bdi", "slot") {
		r.slots = append(r.slots, words(n))
	}
	for _, form := range find(root, "form", "") {
		r.forms(form)
	}
	for _, tag := range []string{"form", "input", "button", "textarea", "a", "select", "script", "style", "img", "iframe"} {
		r.control = append(r.control, find(root, tag, "")...)
	}
	return r
}

func (r *reading) forms(form *html.Node) {
	fields := map[string][]string{}
	for _, input := range find(form, "input", "") {
		if attr(input, "type") == "hidden" {
			fields[attr(input, "name")] = append(fields[attr(input, "name")], attr(input, "value"))
		}
	}
	for _, option := range find(form, "div", "option") {
		sent := map[string][]string{}
		for name, values := range fields {
			sent[name] = values
		}
		for _, input := range find(option, "input", "") {
			sent[attr(input, "name")] = []string{attr(input, "value")}
		}
		r.ways = append(r.ways, foundWay{
			words: words(option), form: sent, recommended: strings.Contains(" "+attr(option, "class")+" ", " recommended ") && len(find(option, "p", "mark")) == 1,
		})
	}
	if len(find(form, "div", "option")) == 0 {
		r.ways = append(r.ways, foundWay{words: words(form), form: fields})
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func find(n *html.Node, tag, class string) []*html.Node {
	var list []*html.Node
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == tag && (class == "" || strings.Contains(" "+attr(d, "class")+" ", " "+class+" ")) {
			list = append(list, d)
		}
	}
	return list
}

func words(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// squeezed is text without spaces and line ends, and without what isolates directions: what is left
// is not touched by wrapping.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '\u2068' || r == '\u2069' {
			return -1
		}
		return r
	}, s)
}

func place() render.Page {
	return render.Page{Action: "/decision", Stylesheet: "/page.css", Hidden: []render.Field{{Name: "token", Text: "t"}}}
}

func page(t testing.TB, v render.View) string {
	t.Helper()
	s, err := v.Page(place())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readings reads every renderer's output of one view.
func readings(t testing.TB, v render.View) []reading {
	t.Helper()
	at, _, _ := v.Picker().Press(render.Down)
	n := v.Notification()
	return []reading{
		readText("text of 24", v.Text(24)), readText("text of 40", v.Text(40)), readText("text of 80", v.Text(0)),
		readText("picker", v.Picker().Frame(40)), readText("picker with a cursor", at.Frame(72)),
		readText("notification", n.Whole), readPage(t, page(t, v)),
	}
}
