package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Backend is one database engine with its connections. All exported fields but Migrating are required.
type Backend struct {
	Name  string  // stands before errors
	Write *sql.DB // of which one connection is used
	Read  *sql.DB
	// Migrating is used instead of Write, and closed, where the schema has to be changed: a
	// script may take longer than any other statement. nil: Write may take as long.
	Migrating *sql.DB

	// Begin are the statements that begin a write and take the database's one write lock.
	Begin []string
	// Prime makes what Begin needs in a database that is empty. Several processes may do so
	// at once.
	Prime func(context.Context, *sql.Conn) error
	// Bind spells a query's placeholders for the engine.
	Bind func(query string) string
	// Prepare keeps statements prepared on their connection; a driver that does so itself
	// is not asked to.
	Prepare bool
	// Retry reports whether an error means that nothing was kept since another
	// transaction was preferred.
	Retry func(error) bool
	// Lost reports, without asking the database, whether the connection is closed or its
	// transaction can only be rolled back.
	Lost func(*sql.Conn) bool
	// Nested leaves a request's savepoint to the COMMIT, where releasing it is a round trip.
	Nested bool

	// Clock is the expression for the database's own time, in milliseconds, as each statement
	// begins.
	Clock string

	// Migrations holds the numbered scripts NNNN_name.sql, each run in a transaction of its own.
	Migrations fs.FS
	// Revision reads the schema's revision, 0 for an empty database; it is called after Begin, and
	// before, to see whether there is anything to do.
	Revision func(context.Context, *sql.Conn) (int, error)
	// SetRevision is the statement that writes it.
	SetRevision func(revision int) string

	wrap func(querier) querier // for tests that look on
}

// querier runs queries of this package on one connection or a pool.
type querier interface {
	exec(ctx context.Context, query string, args ...any) (sql.Result, error)
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	row(ctx context.Context, query string, args ...any) row
	close()
}

// conn is what *sql.DB and *sql.Conn have in common.
type conn interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (b *Backend) querier(c conn) (q querier) {
	q = &direct{conn: c, bind: b.Bind}
	if b.Prepare {
		q = &prepared{conn: c, bind: b.Bind}
	}
	if b.wrap != nil {
		q = b.wrap(q)
	}
	return q
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

// direct leaves it to the driver to keep statements.
type direct struct {
	conn  conn
	bind  func(string) string
	bound sync.Map // query to its spelling
}

func (d *direct) spell(query string) string {
	if s, ok := d.bound.Load(query); ok {
		return s.(string)
	}
	s := d.bind(query)
	d.bound.Store(query, s)
	return s
}

func (d *direct) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return d.conn.ExecContext(ctx, d.spell(query), numbers(args)...)
}

func (d *direct) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return d.conn.QueryContext(ctx, d.spell(query), numbers(args)...)
}

func (d *direct) row(ctx context.Context, query string, args ...any) row {
	return row{Row: d.conn.QueryRowContext(ctx, d.spell(query), numbers(args)...)}
}

func (d *direct) close() {}

// numbers writes truth values as 0 and 1, which is how the schema keeps them.
func numbers(args []any) []any {
	for i, arg := range args {
		if b, ok := arg.(bool); ok {
			args[i] = 0
			if b {
				args[i] = 1
			}
		}
	}
	return args
}

// prepared keeps each query of this package prepared: their number is that of the
// query texts here, and parsing SQL would otherwise be an eighth of the work.
type prepared struct {
	conn conn
	bind func(string) string

	mu   sync.Mutex // guards kept
	kept map[string]*sql.Stmt
}

func (p *prepared) get(ctx context.Context, query string) (*sql.Stmt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stmt, ok := p.kept[query]; ok {
		return stmt, nil
	}
	stmt, err := p.conn.PrepareContext(ctx, p.bind(query))
	if err != nil {
		return nil, err
	}
	if p.kept == nil {
		p.kept = map[string]*sql.Stmt{}
	}
	p.kept[query] = stmt
	return stmt, nil
}

func (p *prepared) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := p.get(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, numbers(args)...)
}

func (p *prepared) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := p.get(ctx, query)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, numbers(args)...)
}

func (p *prepared) row(ctx context.Context, query string, args ...any) row {
	stmt, err := p.get(ctx, query)
	if err != nil {
		return row{err: err}
	}
	return row{Row: stmt.QueryRowContext(ctx, numbers(args)...)}
}

func (p *prepared) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, stmt := range p.kept {
		stmt.Close()
	}
	p.kept = nil
}

// migrate applies, in one transaction each, the scripts that the database has not seen.
func (db *DB) migrate(ctx context.Context) error {
	b := &db.backend
	names, err := fs.Glob(b.Migrations, "*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	c, err := b.Write.Conn(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", b.Name, err)
	}
	defer c.Close()
	if err := b.Prime(ctx, c); err != nil {
		return fmt.Errorf("%s: %w", b.Name, err)
	}
	if b.Migrating != nil {
		old, err := b.outdated(ctx, c, names)
		if err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		if old {
			long, err := b.Migrating.Conn(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", b.Name, err)
			}
			defer long.Close()
			c = long
		}
	}
	have, known := 0, 0
	for _, name := range names {
		if known, err = revisionOf(name); err != nil {
			return err
		}
		if have, err = b.apply(ctx, c, name, known); err != nil {
			return fmt.Errorf("%s: %s: %w", b.Name, name, err)
		}
	}
	if have != known {
		return fmt.Errorf("%s: %w", b.Name, &RevisionError{Have: have, Known: known})
	}
	return nil
}

// outdated reports whether there is a script that the database has not seen.
func (b *Backend) outdated(ctx context.Context, c *sql.Conn, names []string) (bool, error) {
	have, err := b.Revision(ctx, c)
	if err != nil || len(names) == 0 {
		return false, err
	}
	newest, err := revisionOf(names[len(names)-1])
	return have < newest, err
}

// A RevisionError is a database with a schema that this program does not know.
type RevisionError struct{ Have, Known int }

// Error names both revisions.
func (e *RevisionError) Error() string {
	return fmt.Sprintf("the database has schema revision %d, this program knows %d", e.Have, e.Known)
}

func revisionOf(name string) (int, error) {
	digits, _, _ := strings.Cut(path.Base(name), "_")
	return strconv.Atoi(digits)
}

// apply runs one script unless the database has seen it, and returns the revision that
// the database has then.
func (b *Backend) apply(ctx context.Context, c *sql.Conn, name string, revision int) (have int, err error) {
	for _, statement := range b.Begin {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return 0, err
		}
	}
	defer func() {
		if err != nil {
			c.ExecContext(ctx, "ROLLBACK")
		}
	}()
	if have, err = b.Revision(ctx, c); err != nil {
		return 0, err
	}
	if have < revision {
		script, err := fs.ReadFile(b.Migrations, name)
		if err != nil {
			return 0, err
		}
		for _, statement := range []string{string(script), b.SetRevision(revision)} {
			if _, err := c.ExecContext(ctx, statement); err != nil {
				return 0, err
			}
		}
		if err := b.step(ctx, c, revision); err != nil {
			return 0, err
		}
		have = revision
	}
	_, err = c.ExecContext(ctx, "COMMIT")
	return have, err
}
