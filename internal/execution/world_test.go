package execution_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

const agent = "spiffe://example.test/agent"

// start is where a world's clock stands.
var start = time.UnixMilli(1_786_000_000_000).UTC()

// eachStore runs a test over both engines; more opens the same database once more.
func eachStore(t *testing.T, test func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB)) {
	opened := func(t *testing.T, db *sqlstore.DB, err error) *sqlstore.DB {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	t.Run("sqlite", func(t *testing.T) {
		path := sqlitetest.Path(t)
		more := func() *sqlstore.DB {
			db, err := sqlite.Open(context.Background(), path)
			return opened(t, db, err)
		}
		test(t, more(), more)
	})
	t.Run("postgres", func(t *testing.T) {
		url := pgtest.Store(t)
		more := func() *sqlstore.DB {
			db, err := postgres.Open(context.Background(), url)
			return opened(t, db, err)
		}
		test(t, more(), more)
	})
}

// sqliteDB is a database for what does not depend on the engine.
func sqliteDB(t testing.TB) *sqlstore.DB {
	t.Helper()
	db, err := sqlite.Open(context.Background(), sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// A clock stands until it is moved.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var key = sync.OnceValue(func() *jose.Signer {
	private, err := jose.GenerateKey()
	if err != nil {
		panic(err)
	}
	s, err := jose.NewSigner(private)
	if err != nil {
		panic(err)
	}
	return s
})

// replica is a started Registry over a store, with a clock that stands.
func replica(t testing.TB, s execution.Store, clk *clock, change ...func(*execution.Config)) *execution.Registry {
	t.Helper()
	r := unstarted(t, s, clk, change...)
	if err := r.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r
}

func unstarted(t testing.TB, s execution.Store, clk *clock, change ...func(*execution.Config)) *execution.Registry {
	t.Helper()
	cfg := execution.Config{Store: s, Signer: key(), Now: clk.Now}
	for _, f := range change {
		f(&cfg)
	}
	r, err := execution.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func parseID(t testing.TB, s string) execution.ID {
	t.Helper()
	id, err := execution.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// call is a call of the agent about a thing.
func call(t testing.TB, id, thing string) execution.Call {
	t.Helper()
	return callOf(t, agent, id, thing, actionbinding.SHA256)
}

func callOf(t testing.TB, agent, id, thing string, alg actionbinding.Algorithm) execution.Call {
	t.Helper()
	a, err := actionbinding.New(agent, "mcp.tools/call", "upstream/pay#"+thing, "2026-08-06T08:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	return execution.Call{
		Agent: agent, ID: parseID(t, id), Action: a, Binding: a.Bind(alg), Upstream: "bank", Tool: "pay",
		SessionID: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", WorkflowID: "workflow-1",
	}
}

func keyOf(c execution.Call) execution.Key { return execution.Key{Agent: c.Agent, ID: c.ID} }

// permit admits a call that must be admitted, and starts it. It does not count on the
// registry's Wait, which lasts for ever where the clock stands.
func permit(t testing.TB, r *execution.Registry, c execution.Call) *execution.Permit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	p, rec, err := r.Admit(ctx, c)
	if p == nil {
		t.Fatalf("not admitted: %+v, %v", rec, err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func finish(t testing.TB, p *execution.Permit, o execution.Outcome) *execution.Record {
	t.Helper()
	rec, err := p.Finish(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// recorded is what a repeat gets from the stored row.
func recorded(t testing.TB, r *execution.Registry, c execution.Call) *execution.Record {
	t.Helper()
	p, rec, err := r.Admit(t.Context(), c)
	if rec == nil || p != nil || err != nil {
		t.Fatalf("no record: %v, %v", p, err)
	}
	return rec
}

// refused is the refusal that a call must get.
func refused(t testing.TB, r *execution.Registry, c execution.Call, name string) *execution.Refusal {
	t.Helper()
	p, rec, err := r.Admit(t.Context(), c)
	var e *execution.Refusal
	if p != nil || rec != nil || !errors.As(err, &e) || e.Name != name {
		t.Fatalf("%v, %+v, %v; want %s", p, rec, err, name)
	}
	if e.SafeNext == "" {
		t.Errorf("%s says nothing of what is safe", name)
	}
	return e
}

// events are the entries about an execution: event, and reason after a colon.
func events(t testing.TB, s execution.Store, c execution.Call) (list []string) {
	t.Helper()
	for _, e := range about(t, s, c) {
		line := e.Event
		if e.Reason != "" {
			line += ":" + e.Reason
		}
		list = append(list, line)
	}
	return list
}

func about(t testing.TB, s execution.Store, c execution.Call) []audit.Entry {
	t.Helper()
	list, err := s.About(t.Context(), keyOf(c), 1000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func state(t testing.TB, s execution.Store, c execution.Call) execution.State {
	t.Helper()
	row, _, err := s.Find(t.Context(), keyOf(c))
	if err != nil {
		t.Fatal(err)
	}
	return row.State
}

var answer = []byte(`{"content":[{"type":"text","text":"paid"}]}`)

// answerDigest is python3: "sha256:" + hashlib.sha256(answer).hexdigest().
const answerDigest = "sha256:d07e4222be798d272abf61544d15cb84e738602ec81e07b34f85035d96465652"

func ids(prefix string) func() string {
	n := 0
	return func() string { n++; return fmt.Sprint(prefix, n) }
}

var equalBinding = cmp.Comparer(func(a, b actionbinding.Binding) bool { return a == b })

var equalID = cmp.Comparer(func(a, b execution.ID) bool { return a == b })
