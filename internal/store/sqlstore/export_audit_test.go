package sqlstore

import (
	"time"

	"github.com/bindery/bindery/internal/registry"
)

// Audit writes an audit row in a request.
func (t *tx) Audit(subject string) error {
	return audit(t, time.UnixMilli(1), registry.Actor{Role: "operator"}, "test", subject, "done")
}

// Queued is how many requests wait for the writer.
func (db *DB) Queued() int { return len(db.queue) }
