// Package sqlstore keeps Bindery's durable state in an SQL database.
//
// It implements the Store interfaces of the roles (registry, centre, authority) with
// hand-written SQL in the part of the language that SQLite and PostgreSQL share (design
// S1); packages sqlite and postgres open a database each and say what is theirs in a
// [Backend]: how a write begins, how a placeholder is spelled, which failure is a lost
// race. So each statement stands once, and both stores answer alike.
//
// All writes of a process go through one writer with group commit (S2): it takes what is
// queued, at most 64 requests and without waiting for more, gives each request a savepoint
// of its own, and commits once. A request is reported as done only after that commit; a
// commit that fails fails all of its requests. Several processes may use one database:
// each batch begins by taking the database's one write lock. A batch that the database
// gives up in favour of another, for a deadlock say, is run again, a bounded number of
// times, and counted ([DB.Retries]).
//
// Uniqueness is proved by keys, locks are only for speed (S3). Placeholders are ? in order
// or ?1, ?2 by number; times are integer milliseconds, hashes text, documents bytes,
// truth values 0 and 1.
//
// A database with another schema revision than this program's is refused, not guessed at.
//
// Room: adapters. With sqlite and postgres the only place for SQL.
package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxBatch    = 64
	queueLength = 1024
	maxRetries  = 10
)

// ErrClosed is returned by every call on a closed DB.
var ErrClosed = errors.New("sqlstore: database is closed")

// errBroken marks a savepoint that could not be undone or released.
var errBroken = errors.New("sqlstore: transaction lost")

// A DB is one open database. All methods may be called concurrently.
type DB struct {
	backend Backend
	queue   chan job
	reads   querier
	retries atomic.Int64
	wg      sync.WaitGroup

	mu     sync.RWMutex // guards closed, and sends on queue against its close
	closed bool
}

type job struct {
	ctx    context.Context
	fn     func(*tx) error
	result chan error
}

// Open brings the schema up to date and starts the writer. It owns b's pools from then
// on, also when it returns an error.
func Open(ctx context.Context, b Backend) (*DB, error) {
	db := &DB{backend: b, queue: make(chan job, queueLength), reads: b.querier(b.Read)}
	if err := db.migrate(ctx); err != nil {
		return nil, errors.Join(err, b.Read.Close(), b.Write.Close())
	}
	db.wg.Go(db.run)
	return db, nil
}

// Close waits for queued writes and closes the database.
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
	return errors.Join(db.backend.Read.Close(), db.backend.Write.Close()) // the writer last: SQLite folds its log into the file then
}

// Retries counts the batches that were run again since the database was opened.
func (db *DB) Retries() int64 { return db.retries.Load() }

// update runs fn in a durable transaction and returns after its commit. fn sees
// every earlier write; when it returns an error nothing of it is kept. fn must be
// quick, must not call update, and may run again after a lost race.
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

// view returns a reader over the last commit.
func (db *DB) view(ctx context.Context) *tx { return &tx{ctx: ctx, q: db.reads} }

func (db *DB) run() {
	w := &writer{backend: &db.backend}
	defer w.close()
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
		db.commit(w, batch)
	}
}

// commit runs the batch until it is committed, or has failed otherwise than by a lost
// race, or has lost too often.
func (db *DB) commit(w *writer, batch []job) {
	results := make([]error, len(batch))
	err := w.once(batch, results)
	for try := 0; err != nil && db.backend.Retry(err) && try < maxRetries; try++ {
		db.retries.Add(1)
		time.Sleep(backoff(try))
		err = w.once(batch, results)
	}
	for i, j := range batch {
		if err != nil {
			results[i] = fmt.Errorf("%s: %w", db.backend.Name, err)
		}
		j.result <- results[i]
	}
}

// backoff is a random time that doubles with each try, so that two replicas do not meet again.
func backoff(try int) time.Duration {
	var b [1]byte
	rand.Read(b[:])
	return time.Millisecond << min(try, 6) * time.Duration(1+int(b[0])) / 256
}

// writer is the one connection that writes, or none while the database is away.
type writer struct {
	backend *Backend
	conn    *sql.Conn
	q       querier
}

// once runs the batch in one transaction. After an error nothing is known of it, or
// nothing was kept: a new connection is taken for the next one.
func (w *writer) once(batch []job, results []error) (err error) {
	ctx := context.Background() // a caller that leaves must not undo its neighbours' work
	if w.conn == nil {
		if w.conn, err = w.backend.Write.Conn(ctx); err != nil {
			w.conn = nil
			return err
		}
		w.q = w.backend.querier(w.conn)
	}
	if err := w.transaction(ctx, batch, results); err != nil {
		_, rollback := w.conn.ExecContext(ctx, "ROLLBACK")
		if rollback != nil {
			w.close()
		}
		return err
	}
	return nil
}

func (w *writer) transaction(ctx context.Context, batch []job, results []error) error {
	for _, statement := range w.backend.Begin {
		if _, err := w.conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	t := &tx{ctx: ctx, q: w.q}
	for i, j := range batch {
		results[i] = t.savepoint(j)
		if errors.Is(results[i], errBroken) || results[i] != nil && w.backend.Retry(results[i]) {
			return results[i] // the engine has given up the whole transaction: a full disk, or a lost race
		}
	}
	_, err := w.conn.ExecContext(ctx, "COMMIT")
	return err
}

// close gives the connection back; one that is broken does not come again.
func (w *writer) close() {
	if w.conn == nil {
		return
	}
	w.q.close()
	w.conn.Close()
	w.conn, w.q = nil, nil
}

// tx is what a request sees of one batch, or a reader of the last commit.
type tx struct {
	ctx context.Context
	q   querier
}

func (t *tx) savepoint(j job) (err error) {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if err := t.exec("SAVEPOINT request"); err != nil {
		return errors.Join(errBroken, err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sqlstore: a write panicked: %v", p)
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
func (t *tx) row(query string, args ...any) row { return t.q.row(t.ctx, query, args...) }

func (t *tx) rows(query string, args ...any) (*sql.Rows, error) {
	return t.q.query(t.ctx, query, args...)
}

// nullable maps the empty string to NULL.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
