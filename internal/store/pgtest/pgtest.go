package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bindery/bindery/internal/store/postgres"
)

// shared is the one server of this test binary; it ends with it.
var shared = sync.OnceValues(func() (*Server, error) { return start(false) })

var spaces atomic.Int64

// errMissing is why a test is not run rather than failed.
var errMissing = errors.New("no PostgreSQL server on this machine")

// URL returns the URL of a new, empty database on the server that the tests of this binary
// share.
func URL(t testing.TB) string {
	t.Helper()
	s, err := shared()
	orNotRun(t, err)
	return s.space(t)
}

// made is the database of this program's revision that those of Store are copies of.
var made = sync.OnceValues(func() (*Server, error) {
	s, err := shared()
	if err != nil {
		return nil, err
	}
	if err := s.exec("CREATE DATABASE " + template); err != nil {
		return nil, err
	}
	db, err := postgres.Open(context.Background(), s.url(template))
	if err != nil {
		return nil, err
	}
	return s, db.Close() // nobody may be in a database that is copied
})

const template = "made"

// Store returns the URL of a new database, empty but for its schema, on the server that the
// tests of this binary share. It is dropped at the test's end.
func Store(t testing.TB) string {
	t.Helper()
	s, err := made()
	orNotRun(t, err)
	name := "store" + strconv.FormatInt(spaces.Add(1), 10)
	if err := s.exec("CREATE DATABASE " + name + " TEMPLATE " + template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.url(name)
}

// New starts a server for one test. It is stopped at the test's end.
func New(t testing.TB) *Server {
	t.Helper()
	return own(t, false)
}

// Durable is New with a server that syncs as it would in earnest: for what measures it.
func Durable(t testing.TB) *Server {
	t.Helper()
	return own(t, true)
}

func own(t testing.TB, sync bool) *Server {
	t.Helper()
	s, err := start(sync)
	orNotRun(t, err)
	t.Cleanup(s.end)
	return s
}

func orNotRun(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errMissing) && os.Getenv("BINDERY_TEST_ALL") != "1":
		t.Skip("not run: PostgreSQL (" + err.Error() + ")")
	case errors.Is(err, errMissing):
		t.Fatal("not run: PostgreSQL (" + err.Error() + ")")
	default:
		t.Fatal(err)
	}
}

// A Server is one PostgreSQL server.
type Server struct {
	bin, dir string
	sync     bool                // wait for the disk
	as       *syscall.Credential // nil: whoever runs the test
	watch    io.Closer           // the pipe whose end is the server's
	watchdog *exec.Cmd
}

// URL returns the URL of a new, empty database.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	return s.space(t)
}

// Stop ends the server as a crash would: connections break, nothing is written any more.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.run("pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "stop"); err != nil {
		t.Fatal(err)
	}
}

// Start starts the server again, and returns when it takes connections.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.up(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// start makes a server. On error nothing is left.
func start(sync bool) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, sync: sync}
	if s.as, err = owner(); err != nil {
		return nil, err
	}
	// A socket's path may have about a hundred bytes, which some temporary folders exceed.
	if s.dir, err = os.MkdirTemp("/tmp", "pgtest"); err != nil {
		return nil, err
	}
	if s.as != nil {
		if err := os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.dir))
		}
	}
	if err := s.guard(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	err = s.run("initdb", "-D", s.data(), "-U", "bindery", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if err == nil {
		err = s.up()
	}
	if err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// up starts postgres. Only what the tests need differs from its defaults.
func (s *Server) up() error {
	options := fmt.Sprintf("-c listen_addresses= -k %s -c max_connections=200 -c shared_buffers=64MB", s.dir)
	if !s.sync {
		options += " -c fsync=off -c full_page_writes=off -c autovacuum=off"
	}
	return s.run("pg_ctl", "-D", s.data(), "-l", filepath.Join(s.dir, "log"), "-o", options, "-w", "-t", "60", "start")
}

// guard starts the shell that outlives this process and then cleans up.
func (s *Server) guard() error {
	script := `trap '' INT TERM HUP; cd /; read -r _; "$1/pg_ctl" -D "$2/data" -m immediate -w stop; rm -rf "$2"`
	s.watchdog = s.command("/bin/sh", "-c", script, "sh", s.bin, s.dir)
	s.watchdog.SysProcAttr.Setsid = true // not in reach of a signal to the tests' group
	in, err := s.watchdog.StdinPipe()
	if err != nil {
		return err
	}
	s.watch = in
	return s.watchdog.Start()
}

func (s *Server) end() {
	s.watch.Close()
	s.watchdog.Wait()
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + s.dir, "TZ=UTC"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return c
}

// run runs one of the server's binaries. Its output goes to a file: a pipe would be held
// open by the server that pg_ctl leaves behind.
func (s *Server) run(name string, args ...string) error {
	out, err := os.OpenFile(filepath.Join(s.dir, name+".out"), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	c := s.command(filepath.Join(s.bin, name), args...)
	c.Stdout, c.Stderr = out, out
	if err := c.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
		return fmt.Errorf("%s: %w\n%s%s", name, err, text, log)
	}
	return nil
}

// space makes a schema and names it in the URL: for whoever connects, that is an empty
// database, at a hundredth of the time that a new one takes.
func (s *Server) space(t testing.TB) string {
	t.Helper()
	name := "test" + strconv.FormatInt(spaces.Add(1), 10)
	if err := s.exec("CREATE SCHEMA " + name); err != nil {
		t.Fatal(err)
	}
	return s.url("postgres") + "&search_path=" + name
}

func (s *Server) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, statement)
	return err
}

func (s *Server) url(database string) string {
	return "postgres://bindery@/" + database + "?" + url.Values{"host": {s.dir}}.Encode()
}

// binaries finds the folder of initdb, postgres and pg_ctl.
func binaries() (string, error) {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(folders, func(a, b string) int { return version(b) - version(a) })
	folders = append(filepath.SplitList(os.Getenv("PATH")), folders...)
	for _, folder := range folders {
		if !slices.ContainsFunc([]string{"initdb", "postgres", "pg_ctl"}, func(name string) bool {
			_, err := exec.LookPath(filepath.Join(folder, name))
			return err != nil
		}) {
			return folder, nil
		}
	}
	return "", errMissing
}

func version(folder string) int {
	n, _ := strconv.Atoi(strings.Split(folder, "/")[4])
	return n
}

// owner is whom the server runs as: this process's user, or postgres where that is root.
func owner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("%w that root may start: no user postgres", errMissing)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}
