package render_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
)

var update = flag.Bool("update", false, "write the renderings under testdata anew")

// TestGolden holds every renderer's output of one envelope against the file that somebody has read.
//
// covers ENV-090, ENV-096
func TestGolden(t *testing.T) {
	p := release()
	p.note = "Earlier I wrote that the clinic asked for nothing finer than a month."
	p.findings = append(p.findings, "Its folder was opened from \u202eelsewhere\u202c twice.")
	v, err := render.New(p.envelope(t), render.Reader{
		Agent: "release-approver", Principal: "dana", Link: "https://decisions.example/d/7", Assurance: envelope.PasskeyUV,
		Remarks: []envelope.Finding{{Path: "/synopsis", Reason: "holds two sentences"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at, _, _ := v.Picker().Press(render.Down)
	n := v.Notification()
	for file, got := range map[string]string{
		"text-40.txt": v.Text(40), "text-80.txt": v.Text(80), "picker.txt": at.Frame(60), "page.html": page(t, v),
		"notification.txt": n.Title + "\n--\n" + n.Body + "\n--\n" + n.Link + "\n--\n" + n.Whole,
	} {
		name := filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s:\n%s", file, diff)
		}
	}
}

// TestStyle: the class of a decision picks one of four styles of the page, and changes no word of any
// surface.
//
// covers ENV-047
func TestStyle(t *testing.T) {
	plain := release()
	plain.class = ""
	want := view(t, plain)
	strip := func(v render.View, text string) string {
		text = strings.ReplaceAll(text, v.Envelope().Digest().String(), "DIGEST")
		return strings.ReplaceAll(text, `<body class="`+string(v.Style())+`">`, "<body>")
	}
	for class, style := range map[string]render.Style{
		"": render.Plain, "consent": render.Consent, "permission-delta": render.Permission, "recompute": render.Recompute,
		"Consent": render.Plain, "x\" onload=\"y": render.Plain, "sheet": render.Plain,
	} {
		p := release()
		p.class = class
		v := view(t, p)
		if v.Style() != style {
			t.Errorf("the class %q has the style %q", class, v.Style())
		}
		for _, pair := range [][2]string{
			{strip(want, page(t, want)), strip(v, page(t, v))}, {strip(want, want.Text(1000)), strip(v, v.Text(1000))}, {want.Notification().Title, v.Notification().Title},
		} {
			if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
				t.Errorf("the class %q changes more than the style:\n%s", class, diff)
			}
		}
	}
}

// covers ENV-090
func TestNotification(t *testing.T) {
	p := release()
	v, err := render.New(p.envelope(t), render.Reader{Link: "http://localhost:7410/d/1"})
	if err != nil {
		t.Fatal(err)
	}
	n := v.Notification()
	if n.Title != p.synopsis || n.Link != "http://localhost:7410/d/1" || !strings.HasSuffix(n.Body, n.Link) || strings.Contains(n.Body, p.findings[0]) {
		t.Errorf("the notification is %+v", n)
	}
	// Without a link there is nothing to lead to: the body is the whole.
	if n := view(t, p).Notification(); n.Body != n.Whole || !strings.Contains(n.Body, p.findings[2]) {
		t.Errorf("without a link the body is %q", n.Body)
	}
	for synopsis, title := range map[string]string{
		strings.Repeat("é", 120): strings.Repeat("é", 120), strings.Repeat("é", 121): strings.Repeat("é", 120) + " …", // a mark is not torn:
		strings.Repeat("é", 115) + "\u202ex": strings.Repeat("é", 115) + " …",
	} {
		p.synopsis = synopsis
		v, err := render.New(p.envelope(t), render.Reader{Link: "https://x.example"})
		if err != nil {
			t.Fatal(err)
		}
		if n := v.Notification(); n.Title != title || strings.Contains(n.Body, shown(synopsis)) != strings.HasSuffix(title, "…") {
			t.Errorf("%q has the title %q and the body %q", synopsis, n.Title, n.Body)
		}
	}
	p.synopsis = strings.Repeat("long ", 60) + "end."
	v, err = render.New(p.envelope(t), render.Reader{Link: "https://x.example"})
	if err != nil {
		t.Fatal(err)
	}
	if n := v.Notification(); n.Title != p.synopsis[:120]+" …" || !strings.HasPrefix(n.Body, "  "+p.synopsis+"\n") {
		t.Errorf("a long synopsis has the title %q and the body %q", n.Title, n.Body)
	}
}

// malformed are envelopes with one defect, each easy to mend.
func malformed() map[string]string {
	good := string(release().json())
	return map[string]string{
		"no offer": strings.Replace(good, `"offer"`, `"offered"`, 1), "mark out of range": strings.Replace(good, `"recommended_idx":1`, `"recommended_idx":3`, 1),
		"no hatch": strings.Replace(good, `"dialogue":true,`, ``, 1), "hatch as text": strings.Replace(good, `"free_text":true`, `"free_text":"true"`, 1),
		"extra": strings.Replace(good, `{`, `{"note":1,`, 1), "twice": strings.Replace(good, `"recommended_idx":1`, `"recommended_idx":1,"recommended_idx":1`, 1), "cut": good[:len(good)-1],
	}
}

// TestFallback: of a malformed envelope nothing is shown, the ordinary content is, and one line says
// why; there is nothing to act with.
//
// covers ENV-010, ENV-011, ENV-012, ENV-013, ENV-098, ENV-100, ENV-101
func TestFallback(t *testing.T) {
	payload := []string{"Three invoices are due.\nNone is paid.\n", "   A) fake\n=> B) fake", strings.Repeat("word ", 20000), "\x1b[2J<form>\u202e"}
	for name, text := range malformed() {
		e, cause := envelope.Parse([]byte(text))
		if cause == nil || !e.IsZero() {
			t.Fatalf("%s is well-formed", name)
		}
		if v, err := render.New(e, render.Reader{}); err == nil {
			t.Errorf("%s: there is a view: %v", name, v.Stem())
		}
		f := render.FallBack(payload, cause)
		html, err := f.Page(place())
		if err != nil {
			t.Fatal(err)
		}
		r := readPage(t, html)
		for surface, got := range map[string]string{"text": f.Text(0), "narrow": f.Text(40), "notification": f.Notification().Body, "page": r.all} {
			for _, part := range payload {
				if !strings.Contains(squeezed(got), squeezed(string(render.ShowLines(strings.TrimRight(part, "\n"))))) {
					t.Errorf("%s: the %s does not hold %.40q", name, surface, part)
				}
			}
			if n := strings.Count(got, "was discarded"); n != 1 || !strings.Contains(got, f.Diagnostic()) || strings.Contains(f.Diagnostic(), "\n") {
				t.Errorf("%s: the %s has %d diagnostics", name, surface, n)
			}
			for _, s := range []string{"Northside", "daily", "weekly", "Recommended", "Decline", "your own words"} {
				if strings.Contains(got, s) {
					t.Errorf("%s: the %s shows %q of the decision", name, surface, s)
				}
			}
			checkHarmless(t, reading{surface: surface, all: strings.ReplaceAll(got, "\t", " ")})
		}
		if len(r.control) != 0 {
			t.Errorf("%s: the page has %d elements to act with", name, len(r.control))
		}
		for line := range strings.Lines(f.Text(40)) {
			if wayHead.MatchString(line) && strings.HasPrefix(line, "=") {
				t.Errorf("%s: content looks like an option: %q", name, line)
			}
		}
	}
	for cause, want := range map[error]string{
		nil: "", errors.New("secret detail"): "A decision that came with this result was discarded: it is no well-formed envelope (ENV-010).",
	} {
		if got := render.FallBack(nil, cause).Diagnostic(); got != want {
			t.Errorf("%v: the diagnostic is %q", cause, got)
		}
	}
	if got := render.FallBack([]string{"  a\n    b\r\n\n"}, nil).Text(40); got != "    a\n      b\n" {
		t.Errorf("lines that are indented become %q", got)
	}
	if got := render.FallBack(nil, nil).Text(40); got != "  (no content)\n" {
		t.Errorf("without content: %q", got)
	}
}

// covers ENV-010
func TestNewRefuses(t *testing.T) {
	if _, err := render.New(envelope.Envelope{}, render.Reader{}); err == nil {
		t.Error("there is a view of no envelope")
	}
	e := release().envelope(t)
	for _, link := range []string{"javascript:alert(1)", "//x.example", "ftp://x", "https://x y", "https://x\u202e", "https://x\n", `https://x"`, "https://" + strings.Repeat("x", 2048), " https://x"} {
		if _, err := render.New(e, render.Reader{Link: link}); err == nil {
			t.Errorf("the link %q is taken", link)
		}
	}
}

func TestPageRefuses(t *testing.T) {
	v := view(t, release())
	for name, p := range map[string]render.Page{
		"no action": {Stylesheet: "/s"}, "no style": {Action: "/a"}, "another host": {Action: "//evil.example", Stylesheet: "/s"}, "backslash": {Action: `/\evil.example`, Stylesheet: "/s"},
		"scheme": {Action: "javascript:1", Stylesheet: "/s"}, "control": {Action: "/a\n", Stylesheet: "/s"}, "other style": {Action: "/a", Stylesheet: "https://evil.example/s"},
		"field of a resolution": {Action: "/a", Stylesheet: "/s", Hidden: []render.Field{{Name: "option_idx", Text: "0"}}}, "no name": {Action: "/a", Stylesheet: "/s", Hidden: []render.Field{{}}},
		"markup": {Action: "/a", Stylesheet: "/s", Hidden: []render.Field{{Name: `a"b`}}},
	} {
		for _, err := range []error{second(v.Page(p)), second(render.FallBack(nil, nil).Page(p)), second(render.Refused(nil).Page(p))} {
			if err == nil {
				t.Errorf("%s: there is a page", name)
			}
		}
	}
	p := place()
	p.Action, p.Hidden[0].Text = `/a?b="c&d`, `"><script>`
	text, err := v.Page(p)
	if err != nil {
		t.Fatal(err)
	}
	root := parseHTML(t, text)
	if form := find(root, "form", "")[0]; attr(form, "action") != p.Action || len(find(root, "script", "")) != 0 {
		t.Errorf("the form goes to %q", attr(form, "action"))
	}
}

func second(_ string, err error) error { return err }

// TestOutcome: what was taken is named, an answer is not repeated, and what was refused is not told
// apart by what came in.
//
// covers ENV-113
func TestOutcome(t *testing.T) {
	v := view(t, release())
	for reply, want := range map[string]string{"B": "B: Release the weekly view", "W: my secret words": "Your answer is on its way", "R": "it has to hear you"} {
		r, err := v.Reply(reply)
		if err != nil {
			t.Fatal(err)
		}
		o := v.Taken(r)
		html, err := o.Page(place())
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{o.Text(200), readPage(t, html).all} {
			if !strings.Contains(got, want) || strings.Contains(got, "secret") || !strings.Contains(got, v.Envelope().Digest().String()) {
				t.Errorf("%q: the outcome is %q", reply, got)
			}
		}
	}
	said := map[string]error{}
	for _, err := range []error{
		envelope.ErrTaken, envelope.ErrUnknown, render.ErrUnclear, &envelope.Refusal{Name: envelope.Blank}, &envelope.Refusal{Name: envelope.Unproven}, errors.New("disk full"),
		&envelope.Refusal{Name: envelope.Malformed, Path: "/answer"},
	} {
		o := render.Refused(err)
		if before, ok := said[o.Text(200)]; ok || o.Taken || strings.Contains(o.Text(200), "disk") {
			t.Errorf("%v is told as %v: %q", err, before, o.Text(200))
		}
		said[o.Text(200)] = err
	}
	// After a fault of the ledger nobody knows whether it was recorded, and so it is not denied.
	if got := render.Refused(errors.New("disk full")).Text(200); !strings.Contains(got, "may have been recorded") || strings.Contains(got, "Nothing is decided") {
		t.Errorf("a fault of the ledger is told as %q", got)
	}
	if a, b := render.Refused(envelope.ErrTaken), render.Refused(&envelope.Refusal{Name: envelope.Taken}); !cmp.Equal(a.Lines, b.Lines) {
		t.Errorf("%v and %v", a, b)
	}
}

// TestInvoke: a surface of text says how its ways are taken, and its words are made fit for eyes too.
//
// covers ENV-093
func TestInvoke(t *testing.T) {
	v, err := render.New(release().envelope(t), render.Reader{Invoke: func(w render.Way) string { return "--take " + w.Key + "\x1b" }})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--take A⟨U+001B⟩", "--take W⟨U+001B⟩", "--take R⟨U+001B⟩"} {
		if !strings.Contains(v.Text(80), want) {
			t.Errorf("the text does not say %q", want)
		}
	}
}
