package sqlite_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/jcs"
)

// covers GC-021, GC-209, GC-369
// covers GC-073, GC-076, GC-082, GC-191, GC-192, GC-194, GC-195, GC-196, GC-208, GC-301
// covers GC-074, GC-077, GC-078, GC-079, GC-175, GC-181, GC-182, GC-183, GC-184, GC-185, GC-188, GC-190, GC-197, GC-198, GC-201
func TestRegistryStore(t *testing.T) {
	t.Parallel()
	storetest.Registry(t, func(t *testing.T) registry.Store {
		db, _ := openAuthority(t)
		return db.Registry()
	})
}

// TestRegistryAudit counts the rows, which the interface does not show: one for each
// change, none for a refusal or a repeat.
func TestRegistryAudit(t *testing.T) {
	t.Parallel()
	path := sqlitetest.Path(t)
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	s, at := db.Registry(), time.UnixMilli(1_786_000_000_123)
	for range 2 { // the second is refused
		_ = s.AddCode(t.Context(), registry.Code{
			Secret: jcs.HexOf([]byte("code")), CodeTerms: registry.CodeTerms{Kind: registry.CodeAny}, At: at, Expires: at.Add(time.Hour),
		})
	}
	if _, _, err := s.Revoke(t.Context(), registry.Revocation{Hash: jcs.HexOf([]byte("x")), At: at}); err == nil {
		t.Error("revoked what was never registered")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	var n, stamp int64
	if err := raw.QueryRow("SELECT count(*), max(at) FROM registry_audit").Scan(&n, &stamp); err != nil {
		t.Fatal(err)
	}
	if n != 1 || stamp != 1_786_000_000_123 {
		t.Errorf("%d audit rows, the last at %d", n, stamp)
	}
}
