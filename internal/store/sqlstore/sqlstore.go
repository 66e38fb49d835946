// Package sqlstore keeps Bindery's durable state in an SQL database.
//
// It implements the Store interfaces of the roles (registry, centre, authority, execution), and
// the Ledger of package envelope, with hand-written SQL in the part of the language that SQLite
// and PostgreSQL share (design S1); packages sqlite and postgres open a database each and say
// what is theirs in a [Backend]: how a write begins, how a placeholder is spelled, which
// failure is a lost race. So each statement stands once, and both stores answer alike.
//
// All writes of a process go through one writer with group commit (S2): it takes what is
// queued, at most 64 requests and without waiting for more, gives each request that writes
// a savepoint of its own, and commits once. A request is reported as done only after that
// commit; a commit that fails, or whose outcome is unknown, fails all of its requests.
// Several processes may use one database: each batch begins by taking the database's one
// write lock. A batch that the database gives up in favour of another, for a deadlock say,
// is run again, a bounded number of times, and counted ([DB.Retries]). A connection that
// has died is replaced by the next batch.
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
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	auditlog "github.com/bindery/bindery/internal/audit"
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
	backend  Backend
	queue    chan job
	reads    querier
	retries  atomic.Int64
	around   atomic.Pointer[func(commit func() error) error]
	observer atomic.Pointer[Observer]
	wg       sync.WaitGroup

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
	err := db.migrate(ctx)
	if b.Migrating != nil {
		err = errors.Join(err, b.Migrating.Close())
	}
	if err != nil {
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

// Interpose puts f around every later COMMIT. Tests lose with it what was decided: f calls
// commit or does not, and what it returns is what the batch gets.
func (db *DB) Interpose(f func(commit func() error) error) { db.around.Store(&f) }

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
	w := &writer{backend: &db.backend, around: &db.around}
	defer w.close(nil)
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
	end := db.batch(len(batch))
	err := w.once(batch, results)
	for try := 0; err != nil && db.backend.Retry(err) && try < maxRetries; try++ {
		db.retries.Add(1)
		time.Sleep(backoff(try))
		err = w.once(batch, results)
	}
	end(err)
	if err == nil {
		db.tell(w.changes)
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
	around  *atomic.Pointer[func(commit func() error) error]
	conn    *sql.Conn
	q       querier
	changes []Change // of the last batch
}

// once runs the batch in one transaction. After an error nothing of it was kept, or
// nothing is known of it.
func (w *writer) once(batch []job, results []error) error {
	ctx := context.Background() // a caller that leaves must not undo its neighbours' work
	if err := w.begin(ctx); err != nil {
		return err
	}
	err := w.transaction(ctx, batch, results)
	if err == nil {
		return nil
	}
	w.undo(ctx)
	return err
}

// undo leaves the connection without a transaction, or leaves it.
func (w *writer) undo(ctx context.Context) {
	_, err := w.conn.ExecContext(ctx, "ROLLBACK")
	switch {
	case w.backend.Lost(w.conn):
		w.close(driver.ErrBadConn)
	case err != nil: // the engine has done so itself
		w.close(nil)
	}
}

// begin takes the write lock. A connection that has died since its last batch is replaced:
// what was not begun was not done.
func (w *writer) begin(ctx context.Context) error {
	held := w.conn != nil
	if err := w.connect(ctx); err != nil {
		return err
	}
	err := w.lock(ctx)
	if err == nil {
		return nil
	}
	lost := w.backend.Lost(w.conn)
	w.undo(ctx)
	if !held || !lost {
		return err
	}
	return w.begin(ctx)
}

func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn != nil {
		return nil
	}
	if w.conn, err = w.backend.Write.Conn(ctx); err != nil {
		w.conn = nil
		return err
	}
	w.q = w.backend.querier(w.conn)
	return nil
}

func (w *writer) lock(ctx context.Context) error {
	for _, statement := range w.backend.Begin {
		if _, err := w.conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) transaction(ctx context.Context, batch []job, results []error) error {
	t := &tx{ctx: ctx, q: w.q, nested: w.backend.Nested}
	for i, j := range batch {
		results[i] = t.run(j)
		// The engine has given up the whole transaction: a full disk, or a lost race, or a
		// statement that failed where no savepoint stood.
		if errors.Is(results[i], errBroken) || results[i] != nil && (w.backend.Retry(results[i]) || w.backend.Lost(w.conn)) {
			return results[i]
		}
	}
	w.changes = t.changes
	commit := func() error { return w.commit(ctx) }
	if f := w.around.Load(); f != nil {
		return (*f)(commit)
	}
	return commit()
}

// commit refuses for a transaction that has failed: PostgreSQL answers its COMMIT with a
// rollback, and calls that success.
func (w *writer) commit(ctx context.Context) error {
	if w.backend.Lost(w.conn) {
		return errBroken
	}
	_, err := w.conn.ExecContext(ctx, "COMMIT")
	return err
}

// close gives the connection back; with driver.ErrBadConn it does not come again.
func (w *writer) close(state error) {
	if w.conn == nil {
		return
	}
	w.q.close()
	w.conn.Raw(func(any) error { return state })
	w.conn.Close()
	w.conn, w.q = nil, nil
}

// tx is what a request sees of one batch, or a reader of the last commit.
type tx struct {
	ctx    context.Context
	q      querier
	nested bool // see Backend.Nested
	// The request that runs now has not written yet, and so has no savepoint.
	clean bool

	changes []Change      // noted by the requests that stand
	tip     *auditlog.Tip // where the audit log ends, if a request of this batch has looked
	logTip  *auditlog.Tip // where the gateway's does
}

// run runs one request, so that nothing of it is kept if it fails.
func (t *tx) run(j job) (err error) {
	if err := j.ctx.Err(); err != nil {
		return err
	}
	t.clean = true
	noted := len(t.changes)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sqlstore: a write panicked: %v", p)
		}
		if err != nil {
			t.forget(noted)
		}
		if t.clean {
			return
		}
		t.clean = true // what follows needs no savepoint
		if err != nil {
			if undo := t.send("ROLLBACK TO request"); undo != nil {
				err = errors.Join(errBroken, err, undo)
				return
			}
		}
		if t.nested {
			return
		}
		if release := t.send("RELEASE request"); release != nil {
			err = errors.Join(errBroken, err, release)
		}
	}()
	return j.fn(t)
}

// protect sets the request's savepoint before its first write.
func (t *tx) protect() error {
	if !t.clean {
		return nil
	}
	if err := t.send("SAVEPOINT request"); err != nil {
		return errors.Join(errBroken, err)
	}
	t.clean = false
	return nil
}

func (t *tx) send(statement string) error {
	_, err := t.q.exec(t.ctx, statement)
	return err
}

func (t *tx) exec(query string, args ...any) error {
	_, err := t.changed(query, args...)
	return err
}

// changed runs a statement and says how many rows it changed: the compare-and-swap
// of every state machine here.
func (t *tx) changed(query string, args ...any) (int64, error) {
	if err := t.protect(); err != nil {
		return 0, err
	}
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
