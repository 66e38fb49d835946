package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/internal/store/storetest"
)

// TestMigrateAudit opens a database whose audit rows were not chained, with a gap and more
// of them than are chained at a time.
func TestMigrateAudit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bindery.db")
	raw, err := sql.Open("sqlite", path)
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
	for _, name := range []string{"0001_initial", "0002_registry"} {
		script, err := os.ReadFile("migrations/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		exec(string(script))
	}
	exec("PRAGMA user_version = 2")
	exec("INSERT INTO registry_audit VALUES (3, 1786000000001, 'operator', '', 'code', 's-3', 'issued'), (4, 1786000000002, 'operator', '', 'code', 's-4', 'issued')")
	const many = 2500
	exec(fmt.Sprintf(`INSERT INTO registry_audit
		WITH RECURSIVE n(i) AS (SELECT 9 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT i, 1786000000002 + i, 'effector', 'urn:anax:principal:b', 'hold', 's-' || i, 'held' FROM n`, 9+many-1))
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Registry().AuditLog(t.Context(), 1, 2*many)
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
	if rows[1].Subject != "s-4" || rows[2].Subject != "s-9" || rows[1].At.UnixMilli() != 1786000000002 || rows[2].PrincipalID != "urn:anax:principal:b" {
		t.Errorf("rows %+v, %+v", rows[1], rows[2])
	}
}

// TestBurnedUnits: what an attempt has cost that failed downstream is told once, with its
// units: what both Closeds had drawn, and what was reported as lost.
//
// covers GC-199
func TestBurnedUnits(t *testing.T) {
	t.Parallel()
	db, _ := openAuthority(t)
	s := db.Registry()
	seen := make(burned, 8)
	db.Observe(seen)
	operations := storetest.RegistryOperations(t)
	do := func(method, name string) error {
		i := slices.IndexFunc(operations, func(o storetest.Operation) bool { return o.Method == method && o.Name == name })
		if i < 0 {
			t.Fatalf("no operation %s %s", method, name)
		}
		return operations[i].Do(s)
	}
	for _, op := range operations {
		if err := op.Do(s); err != nil {
			t.Fatal(op.Method, op.Name, err)
		}
		if op.Method == "Hold" && op.Name == "pair" {
			break
		}
	}
	if err := do("Revoke", "closed"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := do("Confirm", "pair"); !errors.Is(err, registry.ErrRevoked) {
			t.Fatal(err)
		}
		_ = do("Burn", "units")
	}
	close(seen)
	var all []sqlstore.Change
	for c := range seen {
		all = append(all, c)
	}
	want := []sqlstore.Change{
		{Of: "ra", Operation: sqlstore.Burned, Outcome: sqlstore.BurnedReport, Units: 1},
		{Of: "ra", Operation: sqlstore.Burned, Outcome: sqlstore.BurnedHold, Units: 2},
	}
	if !slices.Equal(all, want) {
		t.Errorf("%+v", all)
	}
}

// burned takes the changes that are burned units.
type burned chan sqlstore.Change

func (b burned) Batch(int) func(error) { return func(error) {} }

func (b burned) Changed(c sqlstore.Change) {
	if c.Operation == sqlstore.Burned {
		b <- c
	}
}
