package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/cli"
	"github.com/bindery/bindery/internal/store/pgtest"
)

// crashBinary builds the command once with the crash points switched on.
var crashBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bindery-crash-")
	if err != nil {
		return "", err
	}
	atExit(func() error {
		if left := naming(dir); left != "" {
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
	p.cmd.Env = append(os.Environ(), "BINDERY_DIR=", "BINDERY_KILL_AT=", fmt.Sprint("BINDERY_HOLD_TIMEOUT=", holdTimeout.Milliseconds()),
		fmt.Sprint("BINDERY_STALE_AFTER=", staleAfter.Milliseconds()))
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
	case <-time.After(patience):
		select { // it may have ended meanwhile
		case <-p.ended:
		default:
			return false
		}
	}
	return status(p.cmd) == killed
}

// code waits for the end and returns the exit code, negative for a signal.
func (p *process) code(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * patience): // a crossing has a patience of its own
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
	apart           []string // the directories of the RAs; nil: the responder's
	registry        *process // of the first of them, where it is none of the responder's
	committed       int      // crossings that both must hold by now
	returned        int      // holds that their RA has given back, at each RA
	refusedSeals    int      // attempts that ended refused, with nothing held
	tolerated       string   // the name of a refusal that may be recorded on the way
}

const wide = "1000000000" // a limit that no test can exhaust

// holdTimeout is when a registry of a world gives back a hold, in release mode on, and how
// often it looks.
const holdTimeout = 200 * time.Millisecond

// An engine is where the directories of a world keep what they know.
type engine string

const (
	onSQLite   engine = "SQLite"
	onPostgres engine = "PostgreSQL"
)

// store is what init has to be told, each time of a new database.
func (e engine) store(t *testing.T) []string {
	t.Helper()
	if e == onSQLite {
		return nil
	}
	return []string{"--store", pgtest.URL(t)}
}

// newWorld is the recipe of two directories on SQLite: B has all roles, and A has joined it.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldShared(t, onSQLite)
}

// initialise makes a directory; more are further words.
func initialise(t *testing.T, e engine, dir, principal string, more ...string) {
	t.Helper()
	words := append([]string{"init", "--dir", dir, "--principal", "urn:anax:principal:" + principal}, e.store(t)...)
	must(t, append(words, more...)...)
}

// newWorldShared is newWorld on either store. more are words for the init of whoever has an RA.
func newWorldShared(t *testing.T, e engine, more ...string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		a: filepath.Join(dir, "A"), b: filepath.Join(dir, "B"), va: filepath.Join(dir, "B"), terms: writeTerms(t, dir),
		addr: freePort(t), admin: freePort(t),
	}
	w.vaAddr = w.addr
	initialise(t, e, w.b, "globex", more...)
	w.serve(t, "")
	code := must(t, "enrol", "--dir", w.b)
	initialise(t, e, w.a, "acme", "--join", "http://"+w.addr, "--code", code)
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

// ras are the directories of the RAs.
func (w *world) ras() []string {
	if w.apart == nil {
		return []string{w.b}
	}
	return w.apart
}

// newWorldOfTwoRAs is the recipe with an RA on each side: A brings its own, which is served
// beside its crossings, and B has all roles.
func newWorldOfTwoRAs(t *testing.T, e engine, more ...string) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		a: filepath.Join(dir, "A"), b: filepath.Join(dir, "B"), va: filepath.Join(dir, "B"), terms: writeTerms(t, dir),
		addr: freePort(t), admin: freePort(t),
	}
	w.vaAddr, w.apart = w.addr, []string{w.a, w.b}
	initialise(t, e, w.b, "globex", more...)
	w.serve(t, "")
	code := must(t, "enrol", "--dir", w.b)
	own := freePort(t)
	initialise(t, e, w.a, "acme", append(more, "--join", "http://"+w.addr, "--code", code, "--own-ra", "http://"+own)...)
	w.registry = serve(t, "", w.a, own, freePort(t), "--roles", "ra")
	w.grant(t)
	return w
}

// newWorldElsewhere has the RA and the VA at a third party C, which both sides have joined.
func newWorldElsewhere(t *testing.T, e engine, more ...string) *world {
	t.Helper()
	dir := t.TempDir()
	c := filepath.Join(dir, "C")
	w := &world{
		a: filepath.Join(dir, "A"), b: filepath.Join(dir, "B"), va: c, terms: writeTerms(t, dir),
		addr: freePort(t), admin: freePort(t), apart: []string{c}, vaAddr: freePort(t),
	}
	initialise(t, e, c, "third", more...)
	w.registry = serve(t, "", c, w.vaAddr, freePort(t))
	for _, p := range []struct{ dir, name string }{{w.a, "acme"}, {w.b, "globex"}} {
		code := must(t, "enrol", "--dir", c)
		initialise(t, e, p.dir, p.name, "--join", "http://"+w.vaAddr, "--code", code)
	}
	w.serve(t, "")
	w.grant(t)
	return w
}

// serveRegistry replaces the process of the RA that is none of the responder's.
func (w *world) serveRegistry(t *testing.T, env string) {
	t.Helper()
	w.registry.kill()
	addr, admin := addresses(t, w.apart[0])
	var roles []string
	if w.apart[0] == w.a {
		roles = []string{"--roles", "ra"}
	}
	w.registry = serve(t, env, w.apart[0], addr, admin, roles...)
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

// serve starts a serving process and waits for its first answer, or for its death, if it is to
// die: a timer's point may come first. A port that a client of somebody has taken meanwhile comes
// back.
func serve(t *testing.T, env, dir, addr, admin string, more ...string) *process {
	t.Helper()
	for try := range 20 {
		p := run(t, env, append([]string{"serve", "--dir", dir, "--addr", addr, "--admin-addr", admin}, more...)...)
		_, err := served(dir, p.ended, more...)
		if err == nil || env != "" && p.died(0) {
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

// freePort finds a loopback port that nobody else takes while its owner is down.
func freePort(t *testing.T) string {
	t.Helper()
	addr, err := cli.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}
