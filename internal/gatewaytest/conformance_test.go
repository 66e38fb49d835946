package gatewaytest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
	node(t, "MCP conformance")
	program := build(t, "github.com/modelcontextprotocol/go-sdk/conformance/everything-server")
	for _, r := range revisions {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			direct := serveEverything(t, program, r.server...)
			through := gatewayAt(t, nil, "--upstream", serveEverything(t, program, r.server...)) // a server each: the suite changes what it lists
			var want, got []string
			var both sync.WaitGroup
			both.Go(func() { want = conformance(t, direct, "--requirements", r.name) })
			both.Go(func() { got = conformance(t, through, "--requirements", r.name) })
			both.Wait()
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

// bareProxy is what Go has for this: it forwards whatever comes. It has the message whole first, as
// the gateway does: net/http closes a request's body when its answer begins, and a transport that has
// not seen the body's end by then breaks off the exchange. So a proxy that streams the body loses an
// answer now and then, on a busy machine in every second run of the suite.
func bareProxy(t testing.TB, upstream string) string {
	t.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	to.Path = ""
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
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
	args = append([]string{inPackages(t, "@modelcontextprotocol", "conformance", "dist", "index.js"), "server", "--url", serverURL, "-o", dir, "--timeout", "60000"}, args...)
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
