package pgtest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bindery/bindery/internal/store/pgtest"
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

func BenchmarkURL(b *testing.B) {
	for b.Loop() {
		pgtest.URL(b)
	}
}
