package browsertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const programs = "../../interop/pages"

// axe returns the source of axe-core, which is fetched where everything has to run.
var axe = sync.OnceValues(func() (string, error) {
	file := filepath.Join(programs, "node_modules", "axe-core", "axe.min.js")
	source, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && everything() {
		cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
		cmd.Dir = programs
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("npm ci: %w\n%s", err, out)
		}
		source, err = os.ReadFile(file)
	}
	return string(source), err
})

func everything() bool { return os.Getenv("BINDERY_TEST_ALL") == "1" }

func notRun(t testing.TB, what string) {
	t.Helper()
	if everything() {
		t.Fatal("not run: " + what)
	}
	t.Skip("not run: " + what)
}

// A Browser is one Chromium with a profile of its own.
type Browser struct {
	ctx      context.Context
	axe      string
	pictures string
}

// Start starts a browser that ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := chromium()
	if path == "" {
		notRun(t, "pages in a browser (no Chromium)")
	}
	source, err := axe()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		notRun(t, "pages in a browser (no axe-core: npm ci in interop/pages)")
	case err != nil:
		t.Fatal(err)
	}
	pictures := os.Getenv("BINDERY_SCREENSHOTS")
	if pictures == "" {
		pictures = t.TempDir()
	} else if err := os.MkdirAll(pictures, 0o755); err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU, chromedp.NoSandbox,
	}
	for _, flag := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-extensions",
		"disable-default-apps", "no-proxy-server", "disable-dev-shm-usage", "mute-audio", "hide-scrollbars",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(alloc)
	t.Cleanup(func() {
		closeBrowser()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	return &Browser{ctx, source, pictures}
}

func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
