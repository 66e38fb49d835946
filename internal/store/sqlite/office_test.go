package sqlite_test

import (
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/jcs"
)

// TestAuditInOneTransaction: where the audit row cannot be written, nothing is.
func TestAuditInOneTransaction(t *testing.T) {
	t.Parallel()
	db, path := openAuthority(t)
	raw, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	exec := func(query string) {
		t.Helper()
		if _, err := raw.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	s := db.Registry()
	for _, op := range storetest.RegistryOperations(t) {
		before := storetest.ReadRows(t, raw)
		exec("CREATE TRIGGER stop BEFORE INSERT ON registry_audit BEGIN SELECT RAISE(ABORT, 'stop'); END")
		if err := op.Do(s); err == nil {
			t.Errorf("%s %s: reported as done without its audit row", op.Method, op.Name)
		}
		if changes := storetest.ReadRows(t, raw).Since(before); len(changes) != 0 {
			t.Errorf("%s %s: without its audit row, these have changed: %v", op.Method, op.Name, slices.Collect(maps.Keys(changes)))
		}
		exec("DROP TRIGGER stop")
		if err := op.Do(s); err != nil {
			t.Fatalf("%s %s: %v", op.Method, op.Name, err)
		}
		changes := storetest.ReadRows(t, raw).Since(before)
		if c := changes["registry_audit"]; len(c.Added) != 1 || len(c.Removed) != 0 || len(changes) < 2 {
			t.Errorf("%s %s: %d audit rows, changed tables %v", op.Method, op.Name, len(c.Added), slices.Collect(maps.Keys(changes)))
		}
	}
}

// TestMigrateRegistry opens a database of schema version 1. Its Opens count units, and may
// have been shown to anyone.
func TestMigrateRegistry(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bindery.db")
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	script, err := os.ReadFile("migrations/0001_initial.sql")
	if err != nil {
		t.Fatal(err)
	}
	token := jcs.HexOf([]byte("token"))
	for _, query := range []string{
		string(script), "PRAGMA user_version = 1",
		`INSERT INTO principals VALUES ('a', 'A', 'active', 'c', 'self_declared', 0, 0), ('b', 'B', 'active', 'c', 'self_declared', 0, 0)`,
		`INSERT INTO opens VALUES ('open', '` + string(token) + `', 'signed', 'a', 'agent', 'irreversible', 5, NULL, 3, 9000, NULL, 't', 'r', 0)`,
	} {
		if _, err := raw.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c := registry.Consumption{
		Effector: "b", RequestID: "1", Request: "q", Token: token, Class: commitment.Irreversible, Units: 2, Answer: []byte("{}"), At: time.UnixMilli(1),
	}
	if _, err := db.Registry().Consume(t.Context(), c); !errors.Is(err, registry.ErrNotOwn) {
		t.Errorf("another's effector: %v", err)
	}
	c.Effector = "a"
	if _, err := db.Registry().Consume(t.Context(), c); err != nil {
		t.Errorf("own effector: %v", err)
	}
	c.RequestID, c.Request = "2", "q2"
	if _, err := db.Registry().Consume(t.Context(), c); !errors.Is(err, registry.ErrExhausted) {
		t.Errorf("what is left after migration: %v", err)
	}
	var strict int
	err = raw.QueryRow("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' AND NOT strict").Scan(&strict)
	if err != nil || strict != 0 {
		t.Errorf("%d tables are not STRICT (%v)", strict, err)
	}
}
