package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
)

// Tx is what a request sees of one batch.
type Tx = tx

// Update is the write behind every method.
func (db *DB) Update(ctx context.Context, fn func(*Tx) error) error { return db.update(ctx, fn) }

// Count is the one number of a query over the last commit.
func (db *DB) Count(ctx context.Context, query string) (n int, err error) {
	err = db.view(ctx).row(query).Scan(&n)
	return n, err
}

// Exec runs one statement of a request.
func (t *tx) Exec(query string, args ...any) error { return t.exec(query, args...) }

// OnQuery calls f with every query from now on, as the engine gets it, at its first use on
// each connection. It comes before the first write.
func (db *DB) OnQuery(f func(query string)) {
	bind := db.backend.Bind
	db.backend.Bind = func(query string) string {
		query = bind(query)
		f(query)
		return query
	}
	db.reads = db.backend.querier(db.backend.Read)
}

var explained atomic.Int64

// Explain is the engine's plan of a query, whose placeholders it takes to be NULL.
func (db *DB) Explain(ctx context.Context, query string, arguments int) (string, error) {
	c, err := db.backend.Read.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close()
	var args []any
	explain := "EXPLAIN QUERY PLAN " + query
	if db.backend.Name == "postgres" {
		nulls := strings.TrimSuffix(strings.Repeat("NULL,", arguments), ",")
		if nulls != "" {
			nulls = "(" + nulls + ")"
		}
		// The plan for any values, as the driver's prepared statements get it in time.
		name := fmt.Sprintf("q%d", explained.Add(1))
		prepare := "SET plan_cache_mode = force_generic_plan; PREPARE " + name + " AS " + query
		if _, err := c.ExecContext(ctx, prepare); err != nil {
			return "", err
		}
		explain = "EXPLAIN EXECUTE " + name + nulls
	} else {
		args = make([]any, arguments)
	}
	rows, err := c.QueryContext(ctx, explain, args...)
	if err != nil {
		return "", err
	}
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	lines, err := collect(rows, nil, func(scan func(...any) error) (line string, err error) {
		dest := make([]any, len(columns))
		for i := range dest {
			dest[i] = new(any)
		}
		dest[len(dest)-1] = &line // SQLite has numbers before it
		return line, scan(dest...)
	})
	return strings.Join(lines, "\n"), err
}

// A Statement is one that a writer has sent, with its arguments.
type Statement struct {
	query string
	args  []any
	reads bool
}

// Record returns what the writer sends from now on, in its order, without savepoints. It
// comes before the first write.
func (db *DB) Record() *[]Statement {
	all := new([]Statement)
	db.backend.wrap = func(q querier) querier { return &recorder{q, all} }
	return all
}

type recorder struct {
	querier
	all *[]Statement
}

func (r *recorder) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if len(args) > 0 {
		*r.all = append(*r.all, Statement{query, append([]any(nil), args...), false})
	}
	return r.querier.exec(ctx, query, args...)
}

func (r *recorder) row(ctx context.Context, query string, args ...any) row {
	*r.all = append(*r.all, Statement{query, append([]any(nil), args...), true})
	return r.querier.row(ctx, query, args...)
}

func (r *recorder) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	*r.all = append(*r.all, Statement{query, append([]any(nil), args...), true})
	return r.querier.query(ctx, query, args...)
}

// Replay sends the statements in one transaction, and nothing else: what a writer would
// cost that was nothing but its statements.
func (db *DB) Replay(ctx context.Context, all []Statement) error {
	return db.update(ctx, func(t *tx) error {
		for _, s := range all {
			if !s.reads {
				if _, err := t.q.exec(ctx, s.query, s.args...); err != nil {
					return err
				}
				continue
			}
			rows, err := t.q.query(ctx, s.query, s.args...)
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			if err := rows.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}
