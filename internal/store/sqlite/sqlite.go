// Package sqlite opens Bindery's durable state in one SQLite file: the store for which
// nothing has to be set up.
//
// What is kept, and how, is package sqlstore's (design S1). Of SQLite it asks: WAL with
// synchronous=FULL, so that a committed seal survives a power cut; BEGIN IMMEDIATE, which
// takes the file's one write lock and waits at most ten seconds for another process;
// STRICT tables. Reads use their own connections and see the last commit.
//
// Room: adapters.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver, pure Go (docs/dependencies.md)

	"github.com/bindery/bindery/internal/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

const readers = 4

// Open opens the database file at path, creates it with mode 0600 if it is missing,
// and brings its schema up to date.
func Open(ctx context.Context, path string) (*sqlstore.DB, error) {
	if err := touch(path); err != nil {
		return nil, err
	}
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	write, err := sql.Open("sqlite", dsn(path, false))
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	write.SetMaxOpenConns(1)
	if err := write.PingContext(ctx); err != nil {
		write.Close()
		return nil, fmt.Errorf("sqlite: open %s: %w", filepath.Base(path), err)
	}
	read, err := sql.Open("sqlite", dsn(path, true))
	if err != nil {
		write.Close()
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	return sqlstore.Open(ctx, sqlstore.Backend{
		Name: "sqlite", Write: write, Read: read,
		Begin:      []string{"BEGIN IMMEDIATE"},
		Prime:      func(context.Context, *sql.Conn) error { return nil },
		Bind:       func(query string) string { return query },
		Prepare:    true,
		Retry:      func(error) bool { return false },     // busy_timeout has waited before
		Lost:       func(*sql.Conn) bool { return false }, // what the engine gives up, a savepoint's end tells
		Clock:      "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
		Migrations: scripts,
		Revision: func(ctx context.Context, c *sql.Conn) (revision int, err error) {
			err = c.QueryRowContext(ctx, "PRAGMA user_version").Scan(&revision)
			return revision, err
		},
		SetRevision: func(revision int) string { return fmt.Sprintf("PRAGMA user_version = %d", revision) },
	})
}

// touch creates the file with a private mode before the driver can create it with a
// public one.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func dsn(path string, readOnly bool) string {
	q := url.Values{}
	for _, p := range []string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		"temp_store(MEMORY)", "wal_autocheckpoint(4000)",
	} {
		q.Add("_pragma", p)
	}
	// Each connection has a cache of pages, in kB, that fills as the file grows: small ones keep the
	// memory of a process that runs for long where it was. The system's cache holds the file.
	if readOnly {
		q.Add("_pragma", "query_only(1)")
		q.Add("_pragma", "cache_size(-256)")
	} else {
		q.Add("_pragma", "cache_size(-1000)")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}
