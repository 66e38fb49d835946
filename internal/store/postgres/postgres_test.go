package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/jcs"
)

func pool(t *testing.T, url string) *sql.DB {
	t.Helper()
	raw, err := postgres.Pool(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	return raw
}

func exec(t *testing.T, raw interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, query string) {
	t.Helper()
	if _, err := raw.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func TestBind(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT 1":              "SELECT 1",
		"a = ? AND b = ?":       "a = $1 AND b = $2",
		"a = ?2 OR a = ?1, ?12": "a = $2 OR a = $1, $12",
		"(?,?,?)":               "($1,$2,$3)",
		"LIMIT ?":               "LIMIT $1",
	} {
		if got := postgres.Bind(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// TestRetry: of a transaction that was given up in favour of another nothing was kept. Of
// one whose outcome is unknown nobody knows.
func TestRetry(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"40001": true, "40P01": true, // serialization_failure, deadlock_detected
		"40003": false, // statement_completion_unknown
		"08007": false, // transaction_resolution_unknown
		"55P03": false, // lock_not_available: waited for long enough
		"23505": false, "57014": false,
	} {
		if postgres.Retry(code) != want {
			t.Errorf("%s: want %v", code, want)
		}
	}
}

// TestPassword: the URL's, or the password file's; never the environment's.
func TestPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(file, []byte("db.example:5432:d:u:from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", file)
	t.Setenv("PGPASSWORD", "from-environment")
	for url, want := range map[string]string{
		"postgres://u@db.example/d":               "from-file",
		"postgres://u:from-url@db.example/d":      "from-url",
		"postgres://u@db.example/d?password=in-q": "in-q",
		"postgres://u@other.example/d":            "",
	} {
		if got, err := postgres.Password(url); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", url, got, want, err)
		}
	}
}

// TestOpenRefuses: each with what a person can do something about, and without a word of
// the URL.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t)
	const secret = "s3cr3t-and-long"
	with := func(change func(u *url.URL, q url.Values)) string {
		u, err := url.Parse(s.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword("bindery", secret)
		q := u.Query()
		change(u, q)
		u.RawQuery = q.Encode()
		return u.String()
	}
	foreign, newer := with(func(*url.URL, url.Values) {}), with(func(*url.URL, url.Values) {})
	exec(t, pool(t, foreign), "CREATE TABLE accounts (id INTEGER)")
	openURL(t, newer).Close()
	exec(t, pool(t, newer), "UPDATE writer SET revision = 9999")
	before := time.Now()
	for name, test := range map[string]struct {
		url  string
		kind postgres.Kind
	}{
		"no database": {with(func(u *url.URL, _ url.Values) { u.Path = "/elsewhere" }), postgres.Wrong},
		"no schema":   {with(func(_ *url.URL, q url.Values) { q.Set("search_path", "elsewhere") }), postgres.Wrong},
		"foreign":     {foreign, postgres.Wrong},
		"no server":   {with(func(_ *url.URL, q url.Values) { q.Set("host", t.TempDir()) }), postgres.Unreachable},
		"no port":     {"postgres://bindery:" + secret + "@127.0.0.1:1/bindery", postgres.Unreachable},
		"no user":     {with(func(u *url.URL, _ url.Values) { u.User = url.UserPassword("nobody", secret) }), postgres.Refused},
		"newer":       {newer, postgres.Newer},
		"no URL":      {"host=localhost password=" + secret, postgres.Wrong},
		"bad port":    {"postgres://u:" + secret + "@host:port/", postgres.Wrong},
		"bad option":  {"postgres://u:" + secret + "@localhost/?sslmode=perhaps", postgres.Wrong},
	} {
		_, err := postgres.Open(t.Context(), test.url)
		if err == nil {
			t.Errorf("%s: opened", name)
			continue
		}
		var e *postgres.Error
		if !errors.As(err, &e) || e.Kind != test.kind {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "nobody") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error repeats the URL: %v", name, err)
		}
	}
	if took := time.Since(before); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// TestOpenTogether: replicas that start at once on an empty database all succeed.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			db.Close()
		})
	}
	wg.Wait()
}

// addCode is a write that stands by itself.
func addCode(ctx context.Context, s registry.Store, name string) error {
	now := time.UnixMilli(1_786_000_000_000)
	return s.AddCode(ctx, registry.Code{
		Secret: jcs.HexOf([]byte(name)), CodeTerms: registry.CodeTerms{Kind: registry.CodeAny}, At: now, Expires: now.Add(time.Hour),
	})
}

// TestOutage: while the server is away every call fails soon, and when it is back the next
// one succeeds. What was reported as done is there.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	db := openURL(t, server.URL(t))
	s := db.Registry()
	if err := addCode(t.Context(), s, "before"); err != nil {
		t.Fatal(err)
	}
	server.Stop(t)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range 100 { // more than a batch
		wg.Go(func() {
			if err := addCode(t.Context(), s, fmt.Sprint("away", i)); err == nil {
				t.Error("written without a server")
			}
			if _, err := s.Actor(t.Context(), "x"); err == nil || errors.Is(err, registry.ErrNotFound) {
				t.Errorf("read without a server: %v", err)
			}
		})
	}
	wg.Wait()
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("an outage was told after %v", took)
	}
	server.Start(t)
	for i := range 100 { // the first of each pool among them
		if _, err := s.Actor(t.Context(), "x"); !errors.Is(err, registry.ErrNotFound) {
			t.Fatalf("read %d after the outage: %v", i, err)
		}
	}
	if err := addCode(t.Context(), s, "before"); !errors.Is(err, registry.ErrExists) {
		t.Fatalf("what was written before the outage: %v", err)
	}
	if err := addCode(t.Context(), s, "away0"); err != nil {
		t.Fatalf("what was not written: %v", err)
	}
	server.Stop(t) // once more, with a write as the first call
	server.Start(t)
	if err := addCode(t.Context(), s, "away0"); !errors.Is(err, registry.ErrExists) {
		t.Fatalf("a write as the first call: %v", err)
	}
}

// TestSilence: an established connection that falls silent is given up, and replaced.
func TestSilence(t *testing.T) {
	t.Parallel()
	at, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{to: at.Query().Get("host") + "/.s.PGSQL.5432"}
	q := at.Query()
	q.Del("host")
	q.Set("sslmode", "disable")
	at.Host, at.RawQuery = p.listen(t), q.Encode()
	db := openURL(t, at.String())
	if err := addCode(t.Context(), db.Registry(), "one"); err != nil {
		t.Fatal(err)
	}
	p.silent.Store(true)
	began := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := addCode(t.Context(), db.Registry(), "two"); err == nil {
			t.Error("written in silence")
		}
	})
	wg.Go(func() {
		if _, err := db.Registry().Actor(t.Context(), "x"); err == nil || errors.Is(err, registry.ErrNotFound) {
			t.Errorf("read in silence: %v", err)
		}
	})
	wg.Wait()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("given up after %v", took)
	}
	p.silent.Store(false)
	if err := addCode(t.Context(), db.Registry(), "two"); err != nil {
		t.Errorf("with answers again: %v", err)
	}
}

// proxy passes connections on to a server, until it is told to be silent.
type proxy struct {
	to     string
	silent atomic.Bool
}

func (p *proxy) listen(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", p.to)
			if err != nil {
				in.Close()
				continue
			}
			go p.pass(in, out)
			go p.pass(out, in)
		}
	}()
	return l.Addr().String()
}

// pass drops what comes while it is to be silent.
func (p *proxy) pass(from, to net.Conn) {
	defer to.Close()
	b := make([]byte, 1<<16)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if !p.silent.Load() {
			to.Write(b[:n])
		}
	}
}

// TestPausedReplica: a process that was stopped while it held the write lock loses it, and
// others go on.
func TestPausedReplica(t *testing.T) {
	t.Parallel()
	db, url := open(t)
	other := pool(t, url)
	c, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	exec(t, c, "BEGIN; SELECT one FROM writer FOR UPDATE")
	began := time.Now()
	if err := addCode(t.Context(), db.Registry(), "waits"); err != nil {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if took := time.Since(began); took > 30*time.Second || took < time.Second {
		t.Errorf("waited %v", took)
	}
	if _, err := c.ExecContext(t.Context(), "COMMIT"); err == nil {
		t.Error("the paused process still has its transaction")
	}
}

// TestBusyReplica: a lock that does not come is not waited for without end.
func TestBusyReplica(t *testing.T) {
	t.Parallel()
	db, url := open(t)
	other := pool(t, url)
	c, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	exec(t, c, "BEGIN; SELECT one FROM writer FOR UPDATE; SET LOCAL idle_in_transaction_session_timeout = 0")
	began := time.Now()
	if err := addCode(t.Context(), db.Registry(), "waits"); err == nil {
		t.Error("written without the lock")
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("waited %v", took)
	}
	exec(t, c, "ROLLBACK")
	if err := addCode(t.Context(), db.Registry(), "waits"); err != nil {
		t.Errorf("with the lock free: %v", err)
	}
}

// TestCommitUnknown: the session is ended while the transaction stands before its COMMIT.
// Nothing was kept, the call fails, and the next one finds a new connection.
func TestCommitUnknown(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t).URL(t) // whose sessions are all this test's
	db := openURL(t, url)
	raw := pool(t, url+"&application_name=other")
	once := sync.OnceFunc(func() {
		exec(t, raw, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = 'bindery' AND state = 'idle in transaction' AND pid <> pg_backend_pid()`)
	})
	db.Interpose(func(commit func() error) error {
		once()
		return commit()
	})
	if err := addCode(t.Context(), db.Registry(), "c"); err == nil {
		t.Error("reported as done by a session that was ended")
	}
	if err := addCode(t.Context(), db.Registry(), "c"); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestSilentServer: a server that takes the connection and then says nothing is given up.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	l := listen(t)
	began := time.Now()
	_, err := postgres.Open(t.Context(), "postgres://bindery@"+l+"/bindery?sslmode=disable")
	var e *postgres.Error
	if !errors.As(err, &e) || e.Kind != postgres.Unreachable {
		t.Errorf("error: %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("given up after %v", took)
	}
}

// listen is a listener that never answers.
func listen(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}
