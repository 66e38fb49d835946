package render

import (
	_ "embed" // the style sheet
	"errors"
	"strconv"
	"strings"

	"github.com/bindery/bindery/envelope"
)

//go:embed page.css
var stylesheet string

// Stylesheet returns the style of all pages, as text/css. The server of a page serves it under the
// path of [Page.Stylesheet]; it asks for nothing else.
func Stylesheet() string { return stylesheet }

// Policy is the Content-Security-Policy under which the pages work.
const Policy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var (
	errPath  = errors.New("render: a path of a page begins with one slash and has visible ASCII characters alone")
	errField = errors.New("render: a field of a surface has a name of letters, digits, - and _, and none of a resolution")
)

// A Page is where a page stands.
type Page struct {
	Action     string  // path that the forms are sent to by POST
	Stylesheet string  // path of [Stylesheet]
	Hidden     []Field // fields that every form carries, such as a token against forged requests
}

// A Field is one of the surface's own.
type Field struct{ Name, Text string }

func (p Page) check() error {
	for _, path := range []string{p.Action, p.Stylesheet} {
		if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.HasPrefix(path, "/\\") ||
			strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errPath
		}
	}
	for _, f := range p.Hidden {
		switch f.Name {
		case "", fieldDigest, fieldResolution, fieldOption, fieldAnswer:
			return errField
		}
		if strings.ContainsFunc(f.Name, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			return errField
		}
	}
	return nil
}

// Page returns the decision page: a whole HTML document of the briefing and one form for each of the
// three resolutions that is open. It works without a script. Serve it as text/html; charset=utf-8
// under [Policy], and read what comes back with [View.Submit]. The error is about p.
func (v View) Page(p Page) (string, error) {
	if err := p.check(); err != nil {
		return "", err
	}
	m := &markup{}
	m.begin(p, v.style, string(v.synopsis()))
	m.briefing(v)
	m.raw(`<section class="sheet" aria-labelledby="stem">` + "\n")
	m.options(v, p)
	for _, w := range v.ways {
		if w.Kind != envelope.KindOption {
			m.hatch(v, w, p)
		}
	}
	m.raw("</section>\n")
	m.footer(append(v.notes(), wordEnvelope+v.envelope.Digest().String()))
	m.end()
	return m.String(), nil
}

// Page returns the ordinary content as a page; it has no form.
func (f Fallback) Page(p Page) (string, error) {
	if err := p.check(); err != nil {
		return "", err
	}
	m := &markup{}
	m.begin(p, Plain, wordResult)
	m.raw("<h1>" + wordResult + "</h1>\n")
	for _, part := range f.payload {
		m.raw(`<div class="payload">`)
		m.slot(part)
		m.raw("</div>\n")
	}
	if f.diagnostic != "" {
		m.raw(`<footer><p class="diagnostic" role="status">`)
		m.attr(f.diagnostic)
		m.raw("</p></footer>\n")
	}
	m.end()
	return m.String(), nil
}

func (m *markup) begin(p Page, style Style, title string) {
	m.raw(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<link rel="stylesheet" href="`)
	m.attr(p.Stylesheet)
	m.raw("\">\n<title>")
	m.attr(title)
	m.raw("</title>\n</head>\n<body class=\"")
	m.attr(string(style))
	m.raw("\">\n<main>\n")
}

func (m *markup) end() { m.raw("</main>\n</body>\n</html>\n") }

func (m *markup) footer(lines []string) {
	m.raw("<footer>\n")
	for _, words := range lines {
		m.raw("<p>")
		m.attr(words)
		m.raw("</p>\n")
	}
	m.raw("</footer>\n")
}

func (m *markup) briefing(v View) {
	m.raw("<header>\n<p class=\"title\">" + wordTitle + "</p>\n")
	if v.asked != "" {
		m.raw(`<p class="asked">`)
		m.slot(Shown(v.asked))
		m.raw("</p>\n")
	}
	if v.marked {
		m.raw(`<p class="marks">`)
		m.text(wordMarks)
		m.raw("</p>\n")
	}
	m.raw("</header>\n<article>\n")
	for _, s := range v.sections {
		m.section(s)
	}
	m.raw("</article>\n")
}

func (m *markup) section(s Section) {
	switch {
	case s.Heading == wordSynopsis:
		m.raw(`<p class="eyebrow" id="synopsis-name">` + wordSynopsis + `</p>` + "\n" + `<h1 aria-describedby="synopsis-name">`)
		m.slot(s.Items[0])
		m.raw("</h1>\n")
		return
	case s.Heading == wordCalibration:
		m.raw(`<section class="calibration">`)
	case s.Heading == wordOffer:
		m.raw(`<section class="offer">`)
	default:
		m.raw(`<section>`)
	}
	m.raw("<h2>")
	m.attr(s.Heading)
	m.raw("</h2>\n")
	switch {
	case !s.List:
		m.raw("<p>")
		m.slot(s.Items[0])
		m.raw("</p>\n")
	case len(s.Items) == 0:
		m.raw("<p>" + wordNone + "</p>\n")
	default:
		m.raw("<ol>\n")
		for _, item := range s.Items {
			m.raw("<li>")
			m.slot(item)
			m.raw("</li>\n")
		}
		m.raw("</ol>\n")
	}
	m.raw("</section>\n")
}

func (m *markup) form(v View, kind envelope.Kind, p Page) {
	m.raw(`<form method="post" action="`)
	m.attr(p.Action)
	m.raw("\">\n")
	for _, f := range append([]Field{{fieldDigest, v.envelope.Digest().String()}, {fieldResolution, string(kind)}}, p.Hidden...) {
		m.raw(`<input type="hidden" name="`)
		m.attr(f.Name)
		m.raw(`" value="`)
		m.attr(f.Text)
		m.raw("\">\n")
	}
}

// options writes the form of the options. None is checked, and the form does not go without one.
func (m *markup) options(v View, p Page) {
	m.form(v, envelope.KindOption, p)
	m.raw("<fieldset>\n<legend><span class=\"eyebrow\">" + wordQuestion + `</span> <span class="stem" id="stem">`)
	m.slot(v.stem)
	m.raw("</span></legend>\n<div class=\"options\">\n")
	for _, w := range v.ways {
		if w.Kind == envelope.KindOption {
			m.option(w)
		}
	}
	m.raw("</div>\n</fieldset>\n<p class=\"act\"><button type=\"submit\" class=\"first\">Take this option</button></p>\n</form>\n")
}

func (m *markup) option(w Way) {
	n := strconv.Itoa(w.Index)
	id := func(name string) { m.attr(name + n) }
	if w.Recommended {
		m.raw(`<div class="option recommended">`)
	} else {
		m.raw(`<div class="option">`)
	}
	m.raw("\n" + `<input type="radio" name="` + fieldOption + `" required value="`)
	m.attr(n)
	m.raw(`" id="`)
	id("option-")
	m.raw(`" aria-describedby="`)
	if w.Recommended {
		id("mark-")
		m.raw(" ")
	}
	id("reason-")
	m.raw("\">\n" + `<label for="`)
	id("option-")
	m.raw(`"><span class="key">`)
	m.attr(w.Key)
	m.raw(`</span> `)
	m.slot(w.Title)
	m.raw("</label>\n")
	if w.Recommended {
		m.raw(`<p class="mark" id="`)
		id("mark-")
		m.raw(`">` + wordRecommended + "</p>\n")
	}
	m.raw(`<p class="reason" id="`)
	id("reason-")
	m.raw(`">`)
	m.slot(w.Detail)
	m.raw("</p>\n</div>\n")
}

// hatch writes the form of one hatch.
func (m *markup) hatch(v View, w Way, p Page) {
	m.form(v, w.Kind, p)
	if w.Kind == envelope.KindAnswer {
		m.raw(`<h2><label for="answer">` + wordWrite + `</label></h2>
<p id="answer-more">` + wordWriteMore + `</p>
<textarea id="answer" name="` + fieldAnswer + `" rows="3" required dir="auto" aria-describedby="answer-more" maxlength="`)
		m.attr(strconv.Itoa(envelope.MaxAnswer))
		m.raw("\"></textarea>\n<p class=\"act\"><button type=\"submit\">Send this answer</button></p>\n</form>\n")
		return
	}
	m.raw(`<h2>` + wordDecline + `</h2>
<p id="decline-more">` + wordDeclineMore + "</p>\n" +
		`<p class="act"><button type="submit" aria-describedby="decline-more">` + wordDecline + "</button></p>\n</form>\n")
}
