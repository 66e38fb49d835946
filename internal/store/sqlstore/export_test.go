package sqlstore

import "context"

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
