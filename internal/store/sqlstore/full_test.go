package sqlstore_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// TestDiskFull: the engine gives up a whole transaction when the disk is full. Nothing of
// the batch is kept and nothing of it is reported as done; with room again the next write
// succeeds.
//
// covers GC-320
func TestDiskFull(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "full.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	limit := func(pages int) {
		t.Helper()
		// The writer's own connection: the limit belongs to a connection.
		if err := db.Update(t.Context(), func(x *sqlstore.Tx) error { return x.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)) }); err != nil {
			t.Fatal(err)
		}
	}
	insert := func(i int) error {
		return db.Update(t.Context(), func(x *sqlstore.Tx) error {
			return x.Exec("INSERT INTO nonces VALUES (?, ?, 'n', 't')", i, strings.Repeat("x", 3000))
		})
	}
	rows := func() int {
		t.Helper()
		n, err := db.Count(t.Context(), "SELECT count(*) FROM nonces")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	limit(1) // SQLite takes the present size for the least
	var wg sync.WaitGroup
	var mu sync.Mutex
	kept := 0
	for i := range 64 {
		wg.Go(func() {
			if insert(i) == nil {
				mu.Lock()
				kept++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if n := rows(); n != kept || kept > 8 {
		t.Errorf("%d rows are there, %d were reported as kept", n, kept)
	}
	if err := insert(100); err == nil {
		t.Error("a full disk took a row")
	}
	limit(1 << 20)
	if err := insert(101); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if n := rows(); n != kept+1 {
		t.Errorf("%d rows, want %d", n, kept+1)
	}
}
