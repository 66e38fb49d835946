package postgres_test

import (
	"testing"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/store/storetest"
)

// covers EXA-020, EXA-057, EXA-062, EXA-063, EXA-064, EXA-065, EXA-074
func TestExecutionStore(t *testing.T) {
	t.Parallel()
	storetest.Executions(t, func(t *testing.T) execution.Store {
		db, _ := open(t)
		return db.Executions()
	})
}

// covers EXA-070, EXA-074
func TestExecutionFaults(t *testing.T) {
	t.Parallel()
	storetest.ExecutionFaults(t, func(t *testing.T) (execution.Store, *storetest.Faults) {
		db, _ := open(t)
		return db.Executions(), storetest.NewFaults(db)
	})
}
