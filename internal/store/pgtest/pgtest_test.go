package pgtest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
)

func TestStopStart(t *testing.T) {
	s := pgtest.New(t)
	url := s.URL(t)
	one := func() error {
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			return err
		}
		defer c.Close(t.Context())
		_, err = c.Exec(t.Context(), "CREATE TABLE IF NOT EXISTS t (n INTEGER)")
		return err
	}
	if err := one(); err != nil {
		t.Fatal(err)
	}
	s.Stop(t)
	if err := one(); err == nil {
		t.Fatal("a stopped server answers")
	}
	s.Start(t)
	if err := one(); err != nil {
		t.Fatal(err)
	}
}

// TestStore: a copy has the schema that the migrations make, and each is a database of its own.
func TestStore(t *testing.T) {
	schema := func(url string) (all []string) {
		db, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(t.Context())
		rows, err := c.Query(t.Context(), `SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns
			WHERE table_schema = current_schema() UNION ALL SELECT 'revision ' || revision FROM writer
			UNION ALL SELECT regexp_replace(indexdef, current_schema() || '\.', '') FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		if all, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
		return all
	}
	one, two := pgtest.Store(t), pgtest.Store(t)
	if one == two {
		t.Fatalf("%s twice", one)
	}
	if diff := cmp.Diff(schema(pgtest.URL(t)), schema(one)); diff != "" {
		t.Errorf("migrated and copied:\n%s", diff)
	}
}

func BenchmarkStore(b *testing.B) {
	for b.Loop() {
		pgtest.Store(b)
	}
}

func BenchmarkURL(b *testing.B) {
	for b.Loop() {
		pgtest.URL(b)
	}
}
