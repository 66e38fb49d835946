package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// An old database is one of an earlier revision, and a way into it beside the store.
type old struct {
	*sql.DB
	t   *testing.T
	url string
}

// newOld makes a database with the first scripts alone.
func newOld(t *testing.T, scripts ...string) *old {
	t.Helper()
	url := pgtest.URL(t)
	raw, err := postgres.Pool(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	o := &old{raw, t, url}
	o.exec("CREATE TABLE writer (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL)")
	o.exec(fmt.Sprintf("INSERT INTO writer (one, revision) VALUES (1, %d)", len(scripts)))
	for _, name := range scripts {
		script, err := os.ReadFile("migrations/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		o.exec(string(script))
	}
	return o
}

func (o *old) exec(query string, args ...any) {
	o.t.Helper()
	if _, err := o.Exec(query, args...); err != nil {
		o.t.Fatal(err)
	}
}

// TestMigrateRegistry opens a database of schema revision 1. Its Opens count units, and may
// have been shown to anyone.
func TestMigrateRegistry(t *testing.T) {
	t.Parallel()
	o := newOld(t, "0001_initial")
	token := jcs.HexOf([]byte("token"))
	o.exec(`INSERT INTO principals VALUES ('a', 'A', 'active', 'c', 'self_declared', 0, 0), ('b', 'B', 'active', 'c', 'self_declared', 0, 0)`)
	o.exec(`INSERT INTO opens VALUES ('open', '` + string(token) + `', 'signed', 'a', 'agent', 'irreversible', 5, NULL, 3, 9000, NULL, 't', 'r', 0)`)
	s := openURL(t, o.url).Registry()
	c := registry.Consumption{
		Effector: "b", RequestID: "1", Request: "q", Token: token, Class: commitment.Irreversible, Units: 2, Answer: []byte("{}"), At: time.UnixMilli(1),
	}
	if _, err := s.Consume(t.Context(), c); !errors.Is(err, registry.ErrNotOwn) {
		t.Errorf("another's effector: %v", err)
	}
	c.Effector = "a"
	if _, err := s.Consume(t.Context(), c); err != nil {
		t.Errorf("own effector: %v", err)
	}
	c.RequestID, c.Request = "2", "q2"
	if _, err := s.Consume(t.Context(), c); !errors.Is(err, registry.ErrExhausted) {
		t.Errorf("what is left after migration: %v", err)
	}
}

// TestMigrateKeys opens a database of before keys had a time: its keys have no bounds, and
// its agents stay whose they are.
func TestMigrateKeys(t *testing.T) {
	t.Parallel()
	key := func() jose.Key {
		private, err := jose.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		k, err := jose.NewKey(&private.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	issuer, agent := key(), key()
	o := newOld(t, "0001_initial")
	o.exec(`INSERT INTO principals VALUES ('a', 'A', 'active', 'c', 'self_declared', 0, 0), ('b', 'B', 'active', 'c', 'self_declared', 0, 0)`)
	o.exec("INSERT INTO principal_keys VALUES ($1, 'a', 'principal', 'a', $2, 0)", issuer.ID, issuer.JWK())
	o.exec("INSERT INTO principal_keys VALUES ($1, 'a', 'agent', 'urn:anax:agent:a', $2, 0)", agent.ID, agent.JWK())
	s, ctx := openURL(t, o.url).Registry(), t.Context()
	p, err := s.Principal(ctx, "a")
	if err != nil || len(p.Keys) != 1 || !p.Keys[0].NotBefore.IsZero() || !p.Keys[0].NotAfter.IsZero() || p.Domain != "" || !p.DomainProvedAt.IsZero() {
		t.Errorf("record %+v, %v", p, err)
	}
	further := func(principal string) error {
		return s.Add(ctx, registry.Addition{
			PrincipalID: principal, Agents: []mandate.Agent{{ID: "urn:anax:agent:a", Key: key()}}, At: time.UnixMilli(1),
		})
	}
	if err := further("b"); !errors.Is(err, registry.ErrExists) {
		t.Errorf("another's agent: %v", err)
	}
	if err := further("a"); err != nil {
		t.Errorf("a further key of the agent: %v", err)
	}
}

// TestMigrateAudit opens a database whose audit rows were not chained, with a gap and more
// of them than are chained at a time.
func TestMigrateAudit(t *testing.T) {
	t.Parallel()
	o := newOld(t, "0001_initial", "0002_registry")
	const columns = "INSERT INTO registry_audit (audit_id, at, role, principal_id, operation, subject, outcome) "
	o.exec(columns + "VALUES (3, 1786000000001, 'operator', '', 'code', 's-3', 'issued'), (4, 1786000000002, 'operator', '', 'code', 's-4', 'issued')")
	const many = 2500
	o.exec(fmt.Sprintf(columns+`SELECT i, 1786000000002 + i, 'effector', 'urn:anax:principal:b', 'hold', 's-' || i, 'held' FROM generate_series(9, %d) i`, 9+many-1))
	rows, err := openURL(t, o.url).Registry().AuditLog(t.Context(), 1, 2*many)
	if err != nil || len(rows) != many+2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	tip := audit.Genesis()
	for _, row := range rows {
		if row != row.After(tip) {
			t.Fatalf("row %+v after %+v", row, tip)
		}
		tip = row.Tip()
	}
	if rows[1].Subject != "s-4" || rows[2].Subject != "s-9" || rows[2].PrincipalID != "urn:anax:principal:b" {
		t.Errorf("rows %+v, %+v", rows[1], rows[2])
	}
}

// TestMigrateSlowly: a script may take longer than other statements may. The table that it
// changes is locked for longer than that here.
func TestMigrateSlowly(t *testing.T) {
	t.Parallel()
	o := newOld(t, "0001_initial")
	tx, err := o.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE principal_keys"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		time.Sleep(3 * time.Second)
		ended <- tx.Rollback()
	}()
	db, err := postgres.Open(t.Context(), o.url+"&statement_timeout=2000&lock_timeout=200") // enough for a look at the revision
	if err != nil {
		t.Fatalf("with a table that is locked for a while: %v", err)
	}
	if err := errors.Join(<-ended, db.Close()); err != nil {
		t.Error(err)
	}
}

// TestAuditInOneTransaction: where the audit row cannot be written, nothing is.
func TestAuditInOneTransaction(t *testing.T) {
	t.Parallel()
	db, url := open(t)
	raw, err := postgres.Pool(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	o, s := &old{raw, t, url}, db.Registry()
	for _, op := range storetest.RegistryOperations(t) {
		before := storetest.ReadRows(t, raw)
		o.exec("ALTER TABLE registry_audit ADD CONSTRAINT stop CHECK (at < 0) NOT VALID")
		if err := op.Do(s); err == nil {
			t.Errorf("%s %s: reported as done without its audit row", op.Method, op.Name)
		}
		if changes := storetest.ReadRows(t, raw).Since(before); len(changes) != 0 {
			t.Errorf("%s %s: without its audit row, these have changed: %v", op.Method, op.Name, slices.Collect(maps.Keys(changes)))
		}
		o.exec("ALTER TABLE registry_audit DROP CONSTRAINT stop")
		if err := op.Do(s); err != nil {
			t.Fatalf("%s %s: %v", op.Method, op.Name, err)
		}
		changes := storetest.ReadRows(t, raw).Since(before)
		if c := changes["registry_audit"]; len(c.Added) != 1 || len(c.Removed) != 0 || len(changes) < 2 {
			t.Errorf("%s %s: %d audit rows, changed tables %v", op.Method, op.Name, len(c.Added), slices.Collect(maps.Keys(changes)))
		}
	}
}
