package sqlite_test

import (
	"testing"

	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/storetest"
)

// covers GC-301
func TestRegistryFaults(t *testing.T) {
	t.Parallel()
	storetest.RegistryFaults(t, func(t *testing.T) (registry.Store, *storetest.Faults) {
		db, _ := openAuthority(t)
		return db.Registry(), storetest.NewFaults(db)
	})
}
