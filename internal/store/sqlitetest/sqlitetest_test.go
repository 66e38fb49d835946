package sqlitetest_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
)

// TestPath: a copy has the schema that the migrations make, and each is a database of its own.
func TestPath(t *testing.T) {
	open := func(path string) *sql.DB {
		db, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		raw, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { raw.Close() })
		return raw
	}
	schema := func(raw *sql.DB) (all []string) {
		rows, err := raw.Query("SELECT coalesce(sql, name) FROM sqlite_master UNION ALL SELECT user_version FROM pragma_user_version ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var s string
			if err := rows.Scan(&s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	one, two := sqlitetest.Path(t), sqlitetest.Path(t)
	if one == two {
		t.Fatalf("%s twice", one)
	}
	if diff := cmp.Diff(schema(open(filepath.Join(t.TempDir(), "new.db"))), schema(open(one))); diff != "" {
		t.Errorf("migrated and copied:\n%s", diff)
	}
}
