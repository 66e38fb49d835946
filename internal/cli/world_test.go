package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// crashBinary builds the command once with the crash points switched on.
var crashBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bindery-crash-")
	if err != nil {
		return "", err
	}
	atExit(func() error {
		if left := naming(dir, 2*time.Second); left != "" {
			return errors.New("these processes have outlived the tests: " + left)
		}
		return os.RemoveAll(dir)
	})
	bin := filepath.Join(dir, "bindery")
	out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", bin, "github.com/bindery/bindery/cmd/bindery").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
})

// A process is a bindery under test.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *lockedText
	ended          chan struct{}
}

// run starts a bindery. It ends with the test at the latest.
func run(t *testing.T, env string, args ...string) *process {
	t.Helper()
	bin, err := crashBinary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(bin, args...), stdout: &lockedText{}, stderr: &lockedText{}, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "BINDERY_DIR=", "BINDERY_KILL_AT=")
	if env != "" {
		p.cmd.Env = append(p.cmd.Env, env)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process as kill -9 does, and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

// died reports whether the process ends by SIGKILL in time.
func (p *process) died(patience time.Duration) bool {
	select {
	case <-p.ended:
		return status(p.cmd) == killed
	case <-time.After(patience):
		return false
	}
}

// code waits for the end and returns the exit code, negative for a signal.
func (p *process) code(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		p.kill()
		t.Fatalf("%v does not end:\n%s", p.cmd.Args, p.stderr)
	}
	return status(p.cmd)
}

func status(cmd *exec.Cmd) int {
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -int(ws.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// id is the crossing_id that cross has told, "" if it has not come so far.
func (p *process) id() string {
	for line := range strings.Lines(p.stderr.String()) {
		if id, ok := strings.CutPrefix(line, "crossing "); ok && strings.HasSuffix(id, "\n") {
			return strings.TrimSpace(id)
		}
	}
	return ""
}

// must runs a bindery to a good end and returns its stdout.
func must(t *testing.T, args ...string) string {
	t.Helper()
	p := run(t, "", args...)
	if code := p.code(t); code != 0 {
		t.Fatalf("%v ends with %d:\n%s", args, code, p.stderr)
	}
	return strings.TrimSpace(p.stdout.String())
}

// world is an initiator A and a responder B that can cross as often as a test likes.
type world struct {
	a, b, va, terms string // va: the directory of the authority, B's own or another
	addr, admin     string // B's
	vaAddr          string
	open            string // A's Open, as it is presented
	responder       *process
	authority       *process // nil: it is part of the responder
	committed       int      // crossings that both must hold by now
	tolerated       string   // the name of a refusal that may be recorded on the way
}

const wide = "1000000000" // a limit that no test can exhaust

// newWorld is the recipe of two directories: B has all roles, and A has joined it.

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		a: filepath.Join(dir, "A"), b: filepath.Join(dir, "B"), va: filepath.Join(dir, "B"), terms: writeTerms(t, dir),
		addr: freePort(t), admin: freePort(t),
	}
	w.vaAddr = w.addr
	must(t, "init", "--dir", w.b, "--principal", "urn:anax:principal:globex")
	w.serve(t, "")
	code := must(t, "enrol", "--dir", w.b)
	must(t, "init", "--dir", w.a, "--principal", "urn:anax:principal:acme", "--join", "http://"+w.addr, "--code", code)
	w.grant(t)
	return w
}

// newWorldOfThree takes over what a demo leaves: the authority is a process of its own,
// and the responder has its own RA.
func newWorldOfThree(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		a: filepath.Join(dir, "initiator"), b: filepath.Join(dir, "responder"), va: filepath.Join(dir, "authority"),
		terms: writeTerms(t, dir), committed: 1,
	}
	must(t, "demo", "--once", "--dir", dir)
	w.addr, w.admin = addresses(t, w.b)
	w.vaAddr, _ = addresses(t, w.va)
	w.serveAuthority(t)
	w.serve(t, "")
	w.grant(t)
	return w
}

func writeTerms(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "agreed.json")
	if err := os.WriteFile(path, []byte(`{"terms_version":"1","subject":"a code"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// grant gives both agents an Open that lasts.
func (w *world) grant(t *testing.T) {
	t.Helper()
	for _, dir := range []string{w.b, w.a} {
		made := must(t, "mandate", "open", "--dir", dir, "--class", "irreversible", "--limit", wide,
			"--act", "engagement_code_issuance", "--counterparty", "*", "--json")
		var open struct {
			Token string `json:"open_mandate"`
		}
		if err := json.Unmarshal([]byte(made), &open); err != nil {
			t.Fatal(err)
		}
		w.open = open.Token
	}
}

// serve replaces the responder's process by a new one; the old one gets no chance to
// tidy up.
func (w *world) serve(t *testing.T, env string) {
	t.Helper()
	if w.responder != nil {
		w.responder.kill()
	}
	w.responder = serve(t, env, w.b, w.addr, w.admin)
}

func (w *world) serveAuthority(t *testing.T) {
	t.Helper()
	if w.authority != nil {
		w.authority.kill()
	}
	addr, admin := addresses(t, w.va)
	w.authority = serve(t, "", w.va, addr, admin)
}

// serve starts a serving process and waits for its first answer. A port that a client
// of somebody has taken meanwhile comes back.
func serve(t *testing.T, env, dir, addr, admin string) *process {
	t.Helper()
	for try := range 20 {
		p := run(t, env, "serve", "--dir", dir, "--addr", addr, "--admin-addr", admin)
		_, err := served(dir, p.ended, 20*time.Second)
		if err == nil {
			return p
		}
		if !strings.Contains(p.stderr.String(), "cannot listen") || try == 19 {
			t.Fatalf("%v\n%s", err, p.stderr)
		}
		time.Sleep(100 * time.Millisecond)
	}
	panic("not reached")
}

// cross begins a crossing.
func (w *world) cross(t *testing.T, env string) *process {
	t.Helper()
	return run(t, env, "cross", "--dir", w.a, "--to", "http://"+w.addr, "--terms", w.terms,
		"--act", "engagement_code_issuance", "--class", "irreversible", "--magnitude", "1", "--json")
}

func (w *world) resume(t *testing.T, id string) *process {
	t.Helper()
	return run(t, "", "cross", "--dir", w.a, "--crossing-id", id, "--json")
}

// freePort finds a loopback port below those that the system gives to clients, so that
// no connection takes it while its owner is down.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000))
		l, err := net.Listen("tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		return addr
	}
	t.Fatal("no port is free")
	return ""
}
