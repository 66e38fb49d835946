package postgres_test

import (
	"testing"

	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/internal/store/storetest"
)

// open opens a new database, empty but for its schema.
func open(t *testing.T) (db *sqlstore.DB, url string) {
	t.Helper()
	url = pgtest.Store(t)
	return openURL(t, url), url
}

func openURL(t *testing.T, url string) *sqlstore.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// covers GC-073, GC-076, GC-082, GC-191, GC-192, GC-194, GC-195, GC-196, GC-208, GC-301
// covers GC-074, GC-077, GC-078, GC-079, GC-175, GC-181, GC-182, GC-183, GC-184, GC-185, GC-188, GC-190, GC-197, GC-198, GC-201
func TestRegistryStore(t *testing.T) {
	t.Parallel()
	storetest.Registry(t, func(t *testing.T) registry.Store {
		db, _ := open(t)
		return db.Registry()
	})
}

// covers GC-015, GC-121, GC-139, GC-248, GC-254, GC-255, GC-257, GC-259, GC-270, GC-301, GC-302, GC-313
func TestCentreStore(t *testing.T) {
	t.Parallel()
	storetest.Centre(t, func(t *testing.T) (centre.Store, registry.Store) {
		db, _ := open(t)
		return db.Centre(), db.Registry()
	})
}

// covers GC-209, GC-255, GC-257
func TestAuthorityStore(t *testing.T) {
	t.Parallel()
	storetest.Authority(t, func(t *testing.T) authority.Store {
		db, _ := open(t)
		return db.Authority()
	})
}

// covers GC-209
func TestPins(t *testing.T) {
	t.Parallel()
	db, _ := open(t)
	storetest.Pins(t, db.Authority(), db.Registry())
}
