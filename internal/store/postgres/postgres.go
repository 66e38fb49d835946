// Package postgres opens Bindery's durable state in a PostgreSQL database, which several
// processes may share.
//
// What is kept, and how, is package sqlstore's (design S1). Of PostgreSQL it asks READ
// COMMITTED, keys, and row locks: each batch of writes first locks the one row of the table
// writer, so batches of all processes follow one another, and each sees all before it.
// That row also holds the schema's revision. There is no plpgsql, advisory lock, system
// column or LISTEN (S3).
//
//	postgres://bindery@db.example/bindery?sslmode=verify-full
//
// is the form of the URL; its options are libpq's. The password is the URL's, or that of
// PGPASSFILE or ~/.pgpass; none is ever part of an error. The database, or the schema that
// search_path names, must be Bindery's own.
//
// Nothing waits for ever: a server that does not answer is given up, a lock that does not
// come is too, and a process that was stopped inside a transaction loses it. So a call
// fails within about ten seconds while the database is away, and the next one after it has
// come back succeeds. Only a change of the schema, by Open, may take ten minutes. When a COMMIT gets no answer its outcome is unknown, and the call
// fails.
//
// It refuses a database of another program, one that does not keep text as UTF-8, and a
// schema revision that it does not know.
//
// Room: adapters.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/bindery/bindery/internal/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	readers = 8

	// READ COMMITTED: each statement after the lock sees every commit before it.
	begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT one FROM writer WHERE one = 1 FOR UPDATE"

	serializationFailure = "40001"
	deadlockDetected     = "40P01"
)

// Open opens the database that the URL names and brings its schema up to date. Several
// processes may do so at once. The error is an [*Error] where the database is away, or not
// one for Bindery.
func Open(ctx context.Context, url string) (*sqlstore.DB, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	write := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(durable))
	write.SetMaxOpenConns(1)
	reading := config.Copy()
	reading.RuntimeParams["default_transaction_read_only"] = "on"
	read := stdlib.OpenDB(*reading)
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	long, err := migrating(url)
	if err != nil {
		return nil, err
	}
	db, err := sqlstore.Open(ctx, sqlstore.Backend{
		Name: "postgres", Write: write, Read: read, Migrating: stdlib.OpenDB(*long, stdlib.OptionAfterConnect(durable)),
		Prime:      prime,
		Begin:      []string{begin},
		Bind:       bind,
		Prepare:    false, // the driver does
		Retry:      retry,
		Lost:       lost,
		Nested:     true,
		Clock:      "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
		Migrations: scripts,
		Revision: func(ctx context.Context, c *sql.Conn) (revision int, err error) {
			err = c.QueryRowContext(ctx, "SELECT revision FROM writer WHERE one = 1").Scan(&revision)
			return revision, err
		},
		SetRevision: func(revision int) string {
			return fmt.Sprintf("UPDATE writer SET revision = %d WHERE one = 1", revision)
		},
	})
	if err != nil {
		return nil, explain(err)
	}
	return db, nil
}

// Pool opens the database for whoever looks at it beside Bindery, and changes nothing.
func Pool(url string) (*sql.DB, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

// Fresh reports whether the database has no schema of Bindery's yet. It changes nothing.
func Fresh(ctx context.Context, url string) (bool, error) {
	db, err := Pool(url)
	if err != nil {
		return false, err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return false, explain(err)
	}
	defer c.Close()
	tables, err := ours(ctx, c)
	if err != nil || tables == 0 {
		return tables == 0, explain(err)
	}
	var revision int
	err = c.QueryRowContext(ctx, "SELECT revision FROM writer WHERE one = 1").Scan(&revision)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, explain(err)
	}
	return revision == 0, nil
}

// retry reports whether the whole transaction was undone in favour of another.
func retry(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == serializationFailure || pg.Code == deadlockDetected)
}

// lost reports whether the connection is closed, or in a transaction that has failed.
func lost(c *sql.Conn) bool {
	gone := true
	err := c.Raw(func(driver any) error {
		pg := driver.(*stdlib.Conn).Conn().PgConn()
		gone = pg.IsClosed() || pg.TxStatus() == 'E'
		return nil
	})
	return gone || err != nil
}
