package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A Scheme is the colours that a person prefers.
type Scheme string

// The schemes.
const (
	Light Scheme = "light"
	Dark  Scheme = "dark"
)

// A Screen is what a page is shown on; sizes are CSS pixels.
type Screen struct {
	Width, Height int64
	Scale         float64
	Touch         bool
	Scheme        Scheme
}

// Phone is a screen of 360 by 780.
func Phone(s Scheme) Screen { return Screen{360, 780, 2, true, s} }

// Narrow is a screen of 320 pixels, as which a page at 400 % of a usual size counts.
func Narrow(s Scheme) Screen { return Screen{320, 640, 2, true, s} }

// Desktop is a screen of 1280 by 900.
func Desktop(s Scheme) Screen { return Screen{1280, 900, 1, false, s} }

// A Tab is one page on one screen. Its methods fail the test.
type Tab struct {
	t      testing.TB
	b      *Browser
	ctx    context.Context
	screen Screen

	mu       sync.Mutex
	troubles []string // what the browser complained of
}

// Tab opens an empty tab that closes with the test.
func (b *Browser) Tab(t testing.TB, s Screen) *Tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx)
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(func() {
		stop()
		closeTab()
	})
	tab := &Tab{t: t, b: b, ctx: ctx, screen: s}
	tab.check(chromedp.Listen(ctx, tab.listen))
	command(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.Width, Height: s.Height, DeviceScaleFactor: s.Scale, Mobile: s.Touch,
	})
	command(tab, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: s.Touch})
	command(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: string(s.Scheme)},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	return tab
}

func (tab *Tab) check(err error) {
	tab.t.Helper()
	if err != nil {
		tab.t.Fatal(err)
	}
}

func (tab *Tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	tab.check(chromedp.Do(tab.ctx, steps...))
}

func command[P, R any](tab *Tab, c cdp.Command[P, R], params P) {
	tab.t.Helper()
	_, err := chromedp.Call(tab.ctx, c, params)
	tab.check(err)
}

func (tab *Tab) listen(event any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		tab.troubles = append(tab.troubles, e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		tab.troubles = append(tab.troubles, "a dialog: "+e.Message)
		go func() {
			_, _ = chromedp.Call(tab.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
		}()
	case *runtime.EventExceptionThrown:
		tab.troubles = append(tab.troubles, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		tab.troubles = append(tab.troubles, fmt.Sprintf("console.%s", e.Type))
	}
}

// Troubles returns what the browser has complained of up to now, and forgets it.
func (tab *Tab) Troubles() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	list := tab.troubles
	tab.troubles = nil
	return list
}

// Scripts turns scripts of pages on or off. Eval works either way, but no promise comes true without
// them.
func (tab *Tab) Scripts(on bool) {
	tab.t.Helper()
	command(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// Open loads a page.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	tab.do(chromedp.Navigate(url))
}

// Press presses keys one after the other: Tab, Shift+Tab, Space, Enter, Down, or characters to type.
func (tab *Tab) Press(keys ...string) {
	tab.t.Helper()
	for _, k := range keys {
		switch k {
		case "Tab":
			k = kb.Tab
		case "Enter":
			k = kb.Enter
		case "Space":
			k = " "
		case "Down":
			k = kb.ArrowDown
		}
		tab.do(chromedp.KeyEvent(k))
	}
}

// Until waits for a condition, a JavaScript expression, for at most a minute. On the way from one
// page to the next there may be nothing that could be asked.
func (tab *Tab) Until(condition string) {
	tab.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if yes, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool](condition)); err == nil && yes {
			return
		}
	}
	tab.t.Fatalf("it never came: %s", condition)
}

// Eval evaluates a JavaScript expression, awaiting it if it is a promise, and returns its value.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	value, err := chromedp.Run(tab.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	tab.check(err)
	return value
}

// Shoot keeps a picture of the whole page.
func (tab *Tab) Shoot(name string) {
	tab.t.Helper()
	picture, err := chromedp.Run(tab.ctx, chromedp.FullScreenshot(100))
	tab.check(err)
	if err := os.WriteFile(filepath.Join(tab.b.pictures, name+".png"), picture, 0o644); err != nil {
		tab.t.Fatal(err)
	}
}

// Look keeps a picture, and checks what holds for every page.
func (tab *Tab) Look(name string) {
	tab.t.Helper()
	tab.Shoot(name)
	if wide := Eval[int64](tab, `document.documentElement.scrollWidth`); wide > tab.screen.Width {
		tab.t.Errorf("%s: the page is %d pixels wide on a screen of %d", name, wide, tab.screen.Width)
	}
	if tab.screen.Touch {
		for _, small := range Eval[[]string](tab, smallTargets) {
			tab.t.Errorf("%s: too small to be touched: %s", name, small)
		}
	}
	for _, finding := range tab.Axe() {
		tab.t.Errorf("%s: %s", name, finding)
	}
	for _, trouble := range tab.Troubles() {
		tab.t.Errorf("%s: the browser says: %s", name, trouble)
	}
}

// A label that is drawn over its whole option is touched where the option is.
const smallTargets = `[...document.querySelectorAll('button, a[href], textarea, input:not([type=hidden]), label')]
	.map(e => e.closest('.option') || (e.matches('label') && e.control) || e)
	.filter(e => { const r = e.getBoundingClientRect(); return r.height < 44 || r.width < 44 })
	.map(e => e.outerHTML.slice(0, 120))`

// Axe returns what axe-core finds, of whatever weight.
func (tab *Tab) Axe() []string {
	tab.t.Helper()
	Eval[int](tab, tab.b.axe+";0")
	found := Eval[string](tab, `axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map(
		v => ({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map(n => n.html.slice(0, 200))}))))`)
	var violations []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		tab.t.Fatal(err)
	}
	var list []string
	for _, v := range violations {
		list = append(list, fmt.Sprintf("axe-core: %s (%s): %s: %s", v.ID, v.Impact, v.Help, strings.Join(v.Nodes, " | ")))
	}
	return list
}
