package sqlite_test

import (
	"testing"

	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/storetest"
)

// covers GC-100, GC-295, GC-015, GC-121, GC-139, GC-248, GC-254, GC-255, GC-257, GC-259, GC-270, GC-301, GC-302, GC-313
func TestCentreStore(t *testing.T) {
	t.Parallel()
	storetest.Centre(t, func(t *testing.T) (centre.Store, registry.Store) {
		db, _ := openAuthority(t)
		return db.Centre(), db.Registry()
	})
}
