package sqlstore_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

func TestGroupCommitIsolation(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a b?.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			err := db.Update(context.Background(), func(x *sqlstore.Tx) error {
				if err := x.Exec("INSERT INTO nonces VALUES (?, 'i', 'n', 't')", i); err != nil {
					return err
				}
				if i%2 == 1 {
					return sqlstore.ErrClosed
				}
				return nil
			})
			if (err != nil) != (i%2 == 1) {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n, err := db.Count(t.Context(), "SELECT count(*) FROM nonces"); err != nil || n != 50 {
		t.Fatalf("%d rows kept, want 50 (%v)", n, err)
	}
}
