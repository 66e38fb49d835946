package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A revision of MCP with what the suite has to be asked for it, and how its server is run.
var revisions = []struct {
	name   string
	server []string
	passes int // that the server has at least, reached directly
}{
	{"2025-11-25", []string{"-stateless=false"}, 80},
	{"2026-07-28", []string{"-stateless=true"}, 160},
}

// TestConformance: the server of the Go SDK that has everything passes the public suite
// through the gateway exactly where it does when reached directly, protection against DNS
// rebinding included.
//
// covers EXA-055
func TestConformance(t *testing.T) {
	t.Parallel()
	program := build(t, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	for _, r := range revisions {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			direct := serveEverything(t, program, r.server...)
			through := gatewayAt(t, nil, "--upstream", serveEverything(t, program, r.server...)) // a server each: the suite changes what it lists
			want, got := compared(t, direct, through, "--requirements", r.name)
			for again := 0; again < 2 && !cmp.Equal(want, got); again++ {
				want, got = settled(t, want, got, direct, through)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("through the gateway (+) the suite says otherwise than directly (-):\n%s", diff)
			}
			passed := 0
			for _, line := range want {
				if strings.HasSuffix(line, " SUCCESS") {
					passed++
				}
			}
			t.Logf("%d checks, %d passed", len(want), passed)
			if passed < r.passes {
				t.Errorf("%d checks passed directly, want %d at least", passed, r.passes)
			}
			if !slices.ContainsFunc(got, func(s string) bool {
				return strings.HasPrefix(s, "dns-rebinding-protection ") && strings.HasSuffix(s, " SUCCESS")
			}) {
				t.Error("no protection against DNS rebinding")
			}
		})
	}
}

// compared runs the suite both ways at once.
func compared(t *testing.T, direct, through string, args ...string) (want, got []string) {
	t.Helper()
	var both sync.WaitGroup
	both.Go(func() { want = conformance(t, direct, args...) })
	both.Go(func() { got = conformance(t, through, args...) })
	both.Wait()
	return want, got
}

// settled repeats the scenarios that differ. On a busy machine the server with everything
// loses an answer once in many runs, through any proxy: that is seen and not hidden, but
// only what happens each time is the gateway's.
func settled(t *testing.T, want, got []string, direct, through string) (_, _ []string) {
	t.Helper()
	scenarios := map[string]bool{}
	for _, pair := range [][2][]string{{want, got}, {got, want}} {
		for _, line := range pair[0] {
			if !slices.Contains(pair[1], line) {
				name, _, _ := strings.Cut(line, " ")
				scenarios[name] = true
			}
		}
	}
	for name := range scenarios {
		t.Logf("once more: %s", name)
		w, g := compared(t, direct, through, "--scenario", name)
		of := func(line string) bool { return strings.HasPrefix(line, name+" ") }
		want, got = append(slices.DeleteFunc(want, of), w...), append(slices.DeleteFunc(got, of), g...)
	}
	slices.Sort(want)
	slices.Sort(got)
	return want, got
}

// TestConformanceControl: a proxy that checks no Host is told apart.
func TestConformanceControl(t *testing.T) {
	t.Parallel()
	direct := serveEverything(t, build(t, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"))
	const scenario = "dns-rebinding-protection"
	want := conformance(t, direct, "--scenario", scenario)
	if got := conformance(t, bareProxy(t, direct), "--scenario", scenario); cmp.Equal(want, got) {
		t.Errorf("through a bare proxy the suite says the same:\n%s", strings.Join(got, "\n"))
	}
}

// serveEverything runs the SDK's server and returns the URL of its endpoint.
func serveEverything(t *testing.T, program string, args ...string) string {
	t.Helper()
	addr := freeAddr(t)
	start(t, exec.Command(program, append(args, "-http", addr)...))
	listening(t, addr)
	return "http://" + addr + "/mcp"
}

// bareProxy is what Go has for this: it forwards whatever comes.
func bareProxy(t testing.TB, upstream string) string {
	t.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	to.Path = ""
	s := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1})
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// stamp ends the name of a folder in which the suite leaves its findings.
var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[\dZ-]+$`)

// conformance runs the suite against a server and returns what it found: one line a check,
// "scenario check STATUS", in order.
func conformance(t *testing.T, serverURL string, args ...string) (lines []string) {
	t.Helper()
	bin, dir := node(t, "MCP conformance"), t.TempDir()
	args = append([]string{inPackages(t, "@modelcontextprotocol", "conformance", "dist", "index.js"), "server", "--url", serverURL, "-o", dir, "--timeout", "8000"}, args...)
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir = dir
	out, runErr := cmd.CombinedOutput() // it ends with 1 where a check fails
	found, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil || len(found) == 0 {
		t.Errorf("the suite has no findings: %v\n%s", runErr, out)
	}
	for _, path := range found {
		var checks []struct{ ID, Status string }
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &checks)
		}
		if err != nil {
			t.Error(err)
		}
		scenario := strings.TrimPrefix(stamp.ReplaceAllString(filepath.Base(filepath.Dir(path)), ""), "server-")
		for _, c := range checks {
			lines = append(lines, fmt.Sprintf("%s %s %s", scenario, c.ID, c.Status))
		}
	}
	slices.Sort(lines)
	return lines
}
