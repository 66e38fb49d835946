package sqlite

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
)

func TestGroupCommitIsolation(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "a b?.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			err := db.update(context.Background(), func(x *tx) error {
				if err := x.exec("INSERT INTO nonces VALUES (?, 'i', 'n', 't')", i); err != nil {
					return err
				}
				if i%2 == 1 {
					return ErrClosed
				}
				return nil
			})
			if (err != nil) != (i%2 == 1) {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	var n int
	if err := db.view(t.Context()).row("SELECT count(*) FROM nonces").Scan(&n); err != nil || n != 50 {
		t.Fatalf("%d rows kept, want 50 (%v)", n, err)
	}
}
