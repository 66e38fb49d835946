package sqlite_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/jcs"
)

func openAuthority(t *testing.T) (db *sqlstore.DB, path string) {
	t.Helper()
	path = sqlitetest.Path(t)
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, path
}

// covers GC-209, GC-255, GC-257
func TestAuthorityStore(t *testing.T) {
	t.Parallel()
	storetest.Authority(t, func(t *testing.T) authority.Store {
		db, _ := openAuthority(t)
		return db.Authority()
	})
}

// TestRefusalOnce counts the rows, which the interface does not show.
func TestRefusalOnce(t *testing.T) {
	t.Parallel()
	db, path := openAuthority(t)
	r := authority.Refusal{
		PrincipalID: "urn:anax:principal:p", CrossingID: "00000000-0000-4000-8000-000000000001", Role: crossing.Responder,
		Code: api.CodeConflict, BodyHash: jcs.HexOf([]byte("one")), At: time.Unix(0, 0),
	}
	other := r
	other.BodyHash = jcs.HexOf([]byte("two"))
	for _, x := range []authority.Refusal{r, r, other} {
		if err := db.Authority().Refuse(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	var n int
	if err := raw.QueryRow("SELECT count(*) FROM publication_refusals").Scan(&n); err != nil || n != 2 {
		t.Fatalf("%d refusals recorded, want 2 (%v)", n, err)
	}
}

// covers GC-209
func TestPins(t *testing.T) {
	t.Parallel()
	db, _ := openAuthority(t)
	storetest.Pins(t, db.Authority(), db.Registry())
}
