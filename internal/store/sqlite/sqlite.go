// Package sqlite keeps Bindery's durable state in one SQLite file.
//
// It implements the Store interfaces of the roles (registry, centre, authority)
// with hand-written SQL (design S1). All writes of a process go through one writer
// with group commit (S2): it takes what is queued, at most 64 requests and without
// waiting for more, gives each request a savepoint of its own, and commits once. A
// request is reported as done only after that commit; a commit that fails fails all
// of its requests. A second process may use the same file: every batch begins with
// BEGIN IMMEDIATE and waits at most ten seconds for the other's transaction.
//
// WAL with synchronous=FULL: a committed seal survives a power cut. Reads use their
// own connections and see the last commit. Tables are STRICT; uniqueness is proved
// by keys, locks are only for speed (S3).
//
// A file made by a newer Bindery is refused, not guessed at.
//
// Room: adapters. The only place for SQL.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver, pure Go (docs/dependencies.md)
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	maxBatch    = 64
	readers     = 4
	queueLength = 1024
)

// ErrClosed is returned by every call on a closed DB.
var ErrClosed = errors.New("sqlite: database is closed")

// errBroken marks a savepoint that could not be undone or released.
var errBroken = errors.New("sqlite: transaction lost")

// A DB is one open database file. All methods may be called concurrently.
type DB struct {
	write *sql.Conn // owned by the writer goroutine
	pool  *sql.DB   // the writer's
	read  *sql.DB
	queue chan job

	writes, reads *statements
	wg            sync.WaitGroup

	mu     sync.RWMutex // guards closed, and sends on queue against its close
	closed bool
}

type job struct {
	ctx    context.Context
	fn     func(*tx) error
	result chan error
}

// Open opens the database file at path, creates it with mode 0600 if it is missing,
// and brings its schema up to date.
func Open(ctx context.Context, path string) (*DB, error) {
	if err := touch(path); err != nil {
		return nil, err
	}
	pool, err := sql.Open("sqlite", dsn(path, false))
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	pool.SetMaxOpenConns(1)
	conn, err := pool.Conn(ctx)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("sqlite: open %s: %w", filepath.Base(path), err)
	}
	db := &DB{write: conn, pool: pool, queue: make(chan job, queueLength), writes: &statements{prepare: conn.PrepareContext}}
	if err := db.migrate(ctx); err != nil {
		conn.Close()
		pool.Close()
		return nil, err
	}
	db.read, err = sql.Open("sqlite", dsn(path, true))
	if err != nil {
		conn.Close()
		pool.Close()
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db.reads = &statements{prepare: db.read.PrepareContext}
	db.read.SetMaxOpenConns(readers)
	db.read.SetMaxIdleConns(readers)
	db.wg.Go(db.run)
	return db, nil
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
		"cache_size(-2000)", "temp_store(MEMORY)", "wal_autocheckpoint(4000)",
	} {
		q.Add("_pragma", p)
	}
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// Close waits for queued writes and closes the file.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil
	}
	db.closed = true
	close(db.queue)
	db.mu.Unlock()
	db.wg.Wait()
	return errors.Join(db.read.Close(), db.write.Close(), db.pool.Close()) // the writer last: it folds the log into the file
}

// update runs fn in a durable transaction and returns after its commit. fn sees
// every earlier write; when it returns an error nothing of it is kept. fn must be
// quick, must not call update, and may run again after a busy database.
func (db *DB) update(ctx context.Context, fn func(*tx) error) error {
	j := job{ctx: ctx, fn: fn, result: make(chan error, 1)}
	db.mu.RLock()
	if db.closed {
		db.mu.RUnlock()
		return ErrClosed
	}
	select {
	case db.queue <- j:
	case <-ctx.Done():
		db.mu.RUnlock()
		return ctx.Err()
	}
	db.mu.RUnlock()
	// From here the outcome is known only to the writer: waiting for it is the one
	// way not to report as lost what was kept.
	return <-j.result
}

func (db *DB) run() {
	batch := make([]job, 0, maxBatch)
	for j := range db.queue {
		batch = append(batch[:0], j)
	fill:
		for len(batch) < maxBatch {
			select {
			case next, ok := <-db.queue:
				if !ok {
					break fill
				}
				batch = append(batch, next)
			default:
				break fill
			}
		}
		db.commit(batch)
	}
}

func (db *DB) commit(batch []job) {
	ctx := context.Background() // a caller that leaves must not undo its neighbours' work
	results := make([]error, len(batch))
	err := func() error {
		if _, err := db.write.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		t := &tx{ctx: ctx, q: db.writes}
		for i, j := range batch {
			if results[i] = t.savepoint(j); errors.Is(results[i], errBroken) {
				// The engine has given up the whole transaction (a full disk, say);
				// what follows would run outside it.
				_, rollback := db.write.ExecContext(ctx, "ROLLBACK")
				return errors.Join(results[i], rollback)
			}
		}
		if _, err := db.write.ExecContext(ctx, "COMMIT"); err != nil {
			_, rollback := db.write.ExecContext(ctx, "ROLLBACK")
			return errors.Join(err, rollback)
		}
		return nil
	}()
	for i, j := range batch {
		switch {
		case err != nil:
			j.result <- fmt.Errorf("sqlite: %w", err)
		default:
			j.result <- results[i]
		}
	}
}

// tx is what a write sees: the writer's connection inside one batch.
type tx struct {
	ctx context.Context
	q   *statements
}

func (t *tx) savepoint(j job) (err error) {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if err := t.exec("SAVEPOINT request"); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sqlite: a write panicked: %v", p)
		}
		if err != nil {
			if undo := t.exec("ROLLBACK TO request"); undo != nil {
				err = errors.Join(errBroken, err, undo)
				return
			}
		}
		if release := t.exec("RELEASE request"); release != nil {
			err = errors.Join(errBroken, err, release)
		}
	}()
	return j.fn(t)
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.q.exec(t.ctx, query, args...)
	return err
}

// changed runs a statement and says how many rows it changed: the compare-and-swap
// of every state machine here.
func (t *tx) changed(query string, args ...any) (int64, error) {
	r, err := t.q.exec(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// row is the one row of a query, or sql.ErrNoRows from its Scan.
func (t *tx) row(query string, args ...any) row {
	stmt, err := t.q.get(t.ctx, query)
	if err != nil {
		return row{err: err}
	}
	return row{Row: stmt.QueryRowContext(t.ctx, args...)}
}

// A row is what tx.row found; its Scan also reports a query that could not be prepared.
type row struct {
	*sql.Row
	err error
}

// Scan reads the row's columns.
func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.Row.Scan(dest...)
}

func (t *tx) rows(query string, args ...any) (*sql.Rows, error) {
	return t.q.query(t.ctx, query, args...)
}

// view returns a reader over the last commit.
func (db *DB) view(ctx context.Context) *tx { return &tx{ctx: ctx, q: db.reads} }

// statements keeps each query of this package prepared: their number is that of the
// query texts here, and parsing SQL would otherwise be an eighth of the work.
type statements struct {
	prepare func(context.Context, string) (*sql.Stmt, error)

	mu   sync.Mutex // guards kept
	kept map[string]*sql.Stmt
}

func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt, ok := s.kept[query]; ok {
		return stmt, nil
	}
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	if s.kept == nil {
		s.kept = map[string]*sql.Stmt{}
	}
	s.kept[query] = stmt
	return stmt, nil
}

func (s *statements) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := s.get(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}

func (s *statements) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.get(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// migrate applies, in one transaction each, the numbered files that the database has
// not seen (PRAGMA user_version holds the last number).
func (db *DB) migrate(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	sort.Strings(names)
	for _, name := range names {
		if err := db.apply(ctx, name); err != nil {
			return fmt.Errorf("sqlite: %s: %w", filepath.Base(name), err)
		}
	}
	var have int
	if err := db.write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return fmt.Errorf("sqlite: schema version: %w", err)
	}
	if have != len(names) {
		return fmt.Errorf("sqlite: the database has schema version %d, this program knows %d", have, len(names))
	}
	return nil
}

func (db *DB) apply(ctx context.Context, name string) error {
	digits, _, _ := strings.Cut(filepath.Base(name), "_")
	number, err := strconv.Atoi(digits)
	if err != nil {
		return err
	}
	if _, err := db.write.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err = func() error {
		var have int
		if err := db.write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil || have >= number {
			return err
		}
		script, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := db.write.ExecContext(ctx, string(script)); err != nil {
			return err
		}
		_, err = db.write.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", number))
		return err
	}()
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	_, endErr := db.write.ExecContext(ctx, end)
	return errors.Join(err, endErr)
}

// nullable maps the empty string to NULL.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
