// Package sqlitetest gives tests SQLite files whose schema is made already.
//
// [Path] copies one file that the test binary makes once: to run all migrations for each test
// takes longer than most tests do, and under the race detector many times as long.
//
//	db, err := sqlite.Open(t.Context(), sqlitetest.Path(t))
//
// Tests of the migrations themselves begin with a file that is not there.
//
// Room: tests. Files in temporary folders.
package sqlitetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bindery/bindery/internal/store/sqlite"
)

// made is an empty database of this program's revision.
var made = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "sqlitetest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "empty.db")
	db, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Path returns the path of a new database file, empty but for its schema, in a temporary
// folder of the test's.
func Path(t testing.TB) string {
	t.Helper()
	file, err := made()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bindery.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
