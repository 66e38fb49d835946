//go:build unix

package bindery_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The README's shell blocks, in order. A new one needs a place here, so that it is run.
const (
	demoBlock = iota
	buildBlock
	serveBlock
	crossBlock
	ownRABlock
	gatewayBlock
	digestBlock
	shellBlocks
)

func readmeShell(t *testing.T, n int) string {
	t.Helper()
	list := blocks(t, "README.md", "sh")
	if len(list) != shellBlocks {
		t.Fatalf("README.md has %d sh blocks, %d are run", len(list), shellBlocks)
	}
	return list[n]
}

// shell runs a block as a person would paste it, with the built command on the PATH.
func shell(ctx context.Context, bin, dir, block string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", block)
	cmd.Dir = dir
	cmd.WaitDelay = 10 * time.Second
	for _, v := range os.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "PATH", "BIN", "ARGS", "BINDERY_DIR", "MAKEFLAGS", "MAKELEVEL", "MFLAGS": // ours, or an outer make's
		default:
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(bin)+string(filepath.ListSeparator)+os.Getenv("PATH"), "BIN="+bin)
	return cmd
}

// The demo block, and its output but for what differs from run to run.
func TestReadmeDemo(t *testing.T) {
	bin := binary(t)
	lines := strings.Split(repoFiles(t)["README.md"], "\n")
	if end := strings.Join(lines[:20], "\n"); strings.Count(end, "\n```") != 4 {
		t.Error("README.md does not show a block and its output within its first 20 lines")
	}
	block := readmeShell(t, demoBlock)
	if _, err := exec.LookPath("make"); err != nil {
		block = strings.ReplaceAll(block, "make demo", "bindery demo")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out, err := shell(ctx, bin, ".", block).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shown := blocks(t, "README.md", "text")[0]
	if !shownBy(shown, string(out)) {
		t.Errorf("README.md shows\n%s\nbut the command prints\n%s", shown, out)
	}
}

// What differs from run to run, each with one word for it.
var varying = []struct {
	pattern *regexp.Regexp
	word    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`\bcanal-[0-9a-z]+-[0-9a-f]{12}\b`), "SEAL-ID"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b`), "CROSSING-ID"},
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+\b`), "ADDR"},
	{regexp.MustCompile(`  +\d+ ms\b`), "  N ms"},
	{regexp.MustCompile(`\b\d+ ms\b`), "N ms"},
}

func steady(s string) string {
	for _, v := range varying {
		s = v.pattern.ReplaceAllString(s, v.word)
	}
	return s
}

// shownBy reports whether an excerpt is what the output says, where "…" alone on a line
// stands for any lines, and within a line for any text.
func shownBy(excerpt, output string) bool {
	pattern := regexp.QuoteMeta(steady(excerpt))
	pattern = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(pattern, `(?s:.*?\n)?`)
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	return regexp.MustCompile(`\A` + pattern + `\z`).MatchString(steady(output))
}

func TestShownBy(t *testing.T) {
	for _, tt := range []struct {
		excerpt, output string
		want            bool
	}{
		{"a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\nd\n", "a\nd\n", true},
		{"a\n…\nd\n", "a\nb\nc\n", false},
		{"a\nc\n", "a\nb\nc\n", false},
		{"a … z\n", "a b z\n", true},
		{"a … z\n", "a b\n", false},
		{"took   8 ms  x\n", "took 123 ms  x\n", false}, // the column's two spaces are kept
		{"took    8 ms  x\n", "took  123 ms  x\n", true},
	} {
		if got := shownBy(tt.excerpt, tt.output); got != tt.want {
			t.Errorf("shownBy(%q, %q) = %t", tt.excerpt, tt.output, got)
		}
	}
}

// The digest block and its output, to the digit.
func TestReadmeDigest(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := shell(ctx, binary(t), t.TempDir(), readmeShell(t, digestBlock)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list := blocks(t, "README.md", "text")
	if shown := list[len(list)-1]; string(out)+"\n" != shown { // canon writes no line feed
		t.Errorf("README.md shows\n%s\nbut the commands print\n%s", shown, out)
	}
}

// The gateway's block prints an entry that is JSON, and writes nothing.
func TestReadmeGateway(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	cmd := shell(ctx, binary(t), dir, readmeShell(t, gatewayBlock))
	cmd.Env = append(cmd.Env, "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var entry struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(out, &entry); err != nil || len(entry.Servers) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, s := range entry.Servers {
		if args := strings.Join(s.Args, " "); !strings.HasPrefix(args, "gateway --dir "+dir) || !strings.HasSuffix(args, " -- npx -y @modelcontextprotocol/server-filesystem "+dir+"/files") {
			t.Errorf("%s: %s %s", name, s.Command, args)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it has written %v, %v", left, err)
	}
}

// The recipe for two organisations, each in its terminal, on ports that are free.
func TestReadmeRecipe(t *testing.T) {
	if got, want := readmeShell(t, buildBlock), "make build\nexport PATH=\"$PWD/bin:$PATH\"\n"; got != want {
		t.Errorf("the block that builds is %q", got)
	}
	r := newRecipe(t)
	r.terminal("the first", readmeShell(t, serveBlock))
	awaitServing(t, r.ctx, "http://"+r.ports.Replace("127.0.0.1:7410")+"/.well-known/agent-card.json")
	r.crosses(readmeShell(t, crossBlock))
}

// The recipe with an RA on each side: its block takes the place of the enrolment, and ends
// with a server of its own. The rest is the same.
func TestReadmeOwnRA(t *testing.T) {
	r := newRecipe(t)
	r.terminal("the first", readmeShell(t, serveBlock))
	awaitServing(t, r.ctx, "http://"+r.ports.Replace("127.0.0.1:7410")+"/.well-known/agent-card.json")
	r.terminal("the second", readmeShell(t, ownRABlock))
	awaitServing(t, r.ctx, "http://"+r.ports.Replace("127.0.0.1:7420")+"/.well-known/jwks.json")
	enrolment, rest, ok := strings.Cut(readmeShell(t, crossBlock), "bindery mandate open")
	if !ok || strings.Count(enrolment, "\n") != 2 {
		t.Fatalf("the block that crosses begins with %q", enrolment)
	}
	r.crosses("bindery mandate open" + rest)
}

// A recipe is run in a folder of its own, with the ports that are free.
type recipe struct {
	t     *testing.T
	ctx   context.Context
	bin   string
	dir   string
	ports *strings.Replacer
}

func newRecipe(t *testing.T) *recipe {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	return &recipe{t: t, ctx: ctx, bin: binary(t), dir: t.TempDir(), ports: freePorts(t)}
}

// terminal runs a block that ends with a server, until the end of the test.
func (r *recipe) terminal(which, block string) {
	r.t.Helper()
	var serving bytes.Buffer
	cmd := shell(r.ctx, r.bin, r.dir, r.ports.Replace(block))
	cmd.Stdout, cmd.Stderr = &serving, &serving
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that serve ends with its shell
	end := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.Cancel = end
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	r.t.Cleanup(func() {
		_ = end() // it may have ended by itself
		<-ended
		if r.t.Failed() {
			r.t.Logf("%s terminal says\n%s", which, serving.String())
		}
	})
}

// crosses runs the block of the crossing and reads what it prints.
func (r *recipe) crosses(block string) {
	r.t.Helper()
	out, err := shell(r.ctx, r.bin, r.dir, r.ports.Replace(block)).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	text := steady(string(out))
	for what, want := range map[string]int{
		"verified by VA-001\n":                       2,
		"seal_matches       yes\n":                   1, // from the initiator's directory
		"seal_matches       not checked":             1, // from anywhere
		"deviations         GC-024, GC-233\n":        2,
		"seal_id     SEAL-ID\n":                      1, // the resumed crossing
		"verify_url  http://ADDR/?id=SEAL-ID\n":      1,
		"P5  distribution  N ms  own anchor written": 1,
	} {
		if got := strings.Count(text, what); got != want {
			r.t.Errorf("%q is printed %d times, want %d", what, got, want)
		}
	}
	if r.t.Failed() {
		r.t.Logf("the terminal of the crossing says\n%s", out)
	}
}

// freePorts puts free ports in place of the README's, below those that the system gives to
// clients, so that no connection takes one before its server does.
func freePorts(t *testing.T) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, shown := range []string{"7410", "7411", "7420"} {
		l := listenBelow(t)
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, shown, port)
	}
	return strings.NewReplacer(pairs...)
}

func listenBelow(t *testing.T) net.Listener {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if err == nil {
			return l
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
	t.Fatal("no port is free")
	return nil
}

func awaitServing(t *testing.T, ctx context.Context, url string) {
	t.Helper()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatal("nothing serves at " + url)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
