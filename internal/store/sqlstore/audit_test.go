package sqlstore_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// TestAuditInOneBatch: in one batch, a request that is undone leaves no row and no gap, and
// the observer is told of what stands, after the commit.
func TestAuditInOneBatch(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	seen := &observer{}
	db.Observe(seen)
	undone := errors.New("undone")
	gate := make(chan struct{})
	running := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = db.Update(t.Context(), func(*sqlstore.Tx) error { close(running); <-gate; return nil })
	})
	<-running
	for i := range 9 {
		wg.Go(func() {
			err := db.Update(t.Context(), func(x *sqlstore.Tx) error {
				for range 2 {
					if err := x.Audit("subject"); err != nil {
						return err
					}
				}
				if i%3 == 0 {
					return undone
				}
				return nil
			})
			if errors.Is(err, undone) != (i%3 == 0) {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	for db.Queued() < 9 {
		select {
		case <-t.Context().Done():
			t.Fatal("not queued")
		default:
		}
	}
	close(gate)
	wg.Wait()
	rows, err := db.Registry().AuditLog(t.Context(), 1, 100)
	if err != nil || len(rows) != 12 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	tip := audit.Genesis()
	for _, row := range rows {
		if row != row.After(tip) {
			t.Errorf("row %+v after %+v", row, tip)
		}
		tip = row.Tip()
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if !slices.Equal(seen.batches, []int{1, 9}) || seen.ended != 2 || len(seen.changes) != 12 {
		t.Errorf("batches %v, %d ended, changes %v", seen.batches, seen.ended, seen.changes)
	}
	if c := seen.changes[0]; c != (sqlstore.Change{Of: "ra", Operation: "test", Outcome: "done"}) {
		t.Errorf("change %+v", c)
	}
}

// TestUnkeptIsNotTold: a commit that fails has changed nothing, as far as anyone is told.
func TestUnkeptIsNotTold(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	seen := &observer{}
	db.Observe(seen)
	lost := errors.New("lost")
	db.Interpose(func(func() error) error { return lost })
	write := func() error {
		return db.Update(t.Context(), func(x *sqlstore.Tx) error { return x.Audit("subject") })
	}
	if err := write(); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	db.Interpose(func(commit func() error) error { return commit() })
	if err := write(); err != nil {
		t.Fatal(err)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.changes) != 1 || seen.failed != 1 || seen.ended != 2 {
		t.Errorf("told of %d changes, %d of %d batches failed", len(seen.changes), seen.failed, seen.ended)
	}
}

type observer struct {
	mu            sync.Mutex
	batches       []int
	ended, failed int
	changes       []sqlstore.Change
}

func (o *observer) Batch(size int) func(error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.batches = append(o.batches, size)
	return func(err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.ended++
		if err != nil {
			o.failed++
		}
	}
}

func (o *observer) Changed(c sqlstore.Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changes = append(o.changes, c)
}
