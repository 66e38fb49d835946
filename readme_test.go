//go:build unix

package bindery_test

import (
	"bytes"
	"context"
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
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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

// The recipe for two organisations, each in its terminal, on ports that are free.
func TestReadmeRecipe(t *testing.T) {
	bin := binary(t)
	if got, want := readmeShell(t, buildBlock), "make build\nexport PATH=\"$PWD/bin:$PATH\"\n"; got != want {
		t.Errorf("the block that builds is %q", got)
	}
	dir := t.TempDir()
	ports := freePorts(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()

	var serving bytes.Buffer
	first := shell(ctx, bin, dir, ports.Replace(readmeShell(t, serveBlock)))
	first.Stdout, first.Stderr = &serving, &serving
	first.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that serve ends with its shell
	end := func() error { return syscall.Kill(-first.Process.Pid, syscall.SIGTERM) }
	first.Cancel = end
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	t.Cleanup(func() {
		_ = end() // it may have ended by itself
		<-ended
		if t.Failed() {
			t.Logf("the first terminal says\n%s", serving.String())
		}
	})
	awaitServing(t, ctx, "http://"+ports.Replace("127.0.0.1:7410")+"/.well-known/agent-card.json")

	second := shell(ctx, bin, dir, ports.Replace(readmeShell(t, crossBlock)))
	out, err := second.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
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
			t.Errorf("%q is printed %d times, want %d", what, got, want)
		}
	}
	if t.Failed() {
		t.Logf("the second terminal says\n%s", out)
	}
}

// freePorts puts two free ports in place of the README's.
func freePorts(t *testing.T) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, shown := range []string{"7410", "7411"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, shown, port)
	}
	return strings.NewReplacer(pairs...)
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
