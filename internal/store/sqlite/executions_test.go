package sqlite_test

import (
	"database/sql"
	"maps"
	"slices"
	"testing"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/store/storetest"
)

// covers EXA-020, EXA-057, EXA-062, EXA-063, EXA-064, EXA-065, EXA-074
func TestExecutionStore(t *testing.T) {
	t.Parallel()
	storetest.Executions(t, func(t *testing.T) execution.Store {
		db, _ := openAuthority(t)
		return db.Executions()
	})
}

// covers EXA-070, EXA-074
func TestExecutionFaults(t *testing.T) {
	t.Parallel()
	storetest.ExecutionFaults(t, func(t *testing.T) (execution.Store, *storetest.Faults) {
		db, _ := openAuthority(t)
		return db.Executions(), storetest.NewFaults(db)
	})
}

// TestExecutionEntryInOneTransaction: where the entry of the log cannot be written, the row
// does not change.
//
// covers EXA-043, EXA-074
func TestExecutionEntryInOneTransaction(t *testing.T) {
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
	s := db.Executions()
	for i, step := range storetest.ExecutionOperations(t) {
		before := storetest.ReadRows(t, raw)
		exec("CREATE TRIGGER stop BEFORE INSERT ON gateway_audit BEGIN SELECT RAISE(ABORT, 'stop'); END")
		if err := step(s); err == nil {
			t.Errorf("step %d: reported as done without its entry", i)
		}
		if changes := storetest.ReadRows(t, raw).Since(before); len(changes) != 0 {
			t.Errorf("step %d: without its entry, these have changed: %v", i, slices.Collect(maps.Keys(changes)))
		}
		exec("DROP TRIGGER stop")
		if err := step(s); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
}
