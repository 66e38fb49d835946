package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Codes with which two processes meet while both make the same table.
const (
	uniqueViolation = "23505"
	duplicateTable  = "42P07"
	duplicateObject = "42710" // the row type of a table
	duplicateType   = "42710" // a table is a type as well
	internalError   = "XX000" // tuple concurrently updated
)

var (
	errForeign  = errors.New("the database holds tables of another program")
	errEncoding = errors.New("the database does not keep text as UTF-8")
)

// prime makes the one row that every writer locks.
func prime(ctx context.Context, c *sql.Conn) error {
	if _, err := ours(ctx, c); err != nil {
		return err
	}
	var err error
	for try := range 5 {
		_, err = c.ExecContext(ctx, `
			CREATE TABLE IF NOT EXISTS writer (one INTEGER PRIMARY KEY CHECK (one = 1), revision INTEGER NOT NULL);
			INSERT INTO writer (one, revision) VALUES (1, 0) ON CONFLICT DO NOTHING`)
		if !met(err) {
			return err
		}
		time.Sleep(time.Duration(try+1) * 20 * time.Millisecond)
	}
	return err
}

func met(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == uniqueViolation || pg.Code == duplicateTable || pg.Code == duplicateType || pg.Code == internalError || retry(err))
}

// ours refuses a database that holds tables, but not Bindery's. Bindery's first table
// stands before all others, so that two processes in an empty database see it or nothing.
func ours(ctx context.Context, c *sql.Conn) (tables int, err error) {
	var encoding string
	var own int
	err = c.QueryRowContext(ctx, `
		SELECT current_setting('server_encoding'),
		  (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		   WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'f')),
		  (SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		   WHERE n.nspname = current_schema() AND c.relname = 'writer' AND a.attname IN ('one', 'revision') AND NOT a.attisdropped)`).Scan(&encoding, &tables, &own)
	switch {
	case err != nil:
		return 0, err
	case encoding != "UTF8":
		return 0, errEncoding
	case tables > 0 && own != 2:
		return 0, errForeign
	}
	return tables, nil
}

// durable makes the session wait for the disk also where the server's default is not to.
func durable(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`)
	if err != nil {
		return fmt.Errorf("synchronous_commit: %w", err)
	}
	return nil
}
