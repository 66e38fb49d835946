package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	auditlog "github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
)

// insertMost is how many entries one statement adds: this, or a half of it, and so on, so that
// there are few statements.
const insertMost = 64

// insertEntries is the statement that adds so many entries.
func insertEntries(n int) string {
	const one = "(?, ?, ?, ?, ?)"
	return "INSERT INTO gateway_audit (seq, entry_sha256, agent_id, execution_id, line) VALUES " + one + strings.Repeat(", "+one, n-1)
}

// appendEntry writes an entry as the next of the gateway's log. That no other writer takes
// the same place is the write lock's doing, and the key's to prove.
func appendEntry(t *tx, e auditlog.Entry) error {
	list := [1]auditlog.Entry{e}
	return appendEntries(t, list[:])
}

func appendEntries(t *tx, list []auditlog.Entry) error {
	tip, err := t.gatewayTip()
	if err != nil {
		return err
	}
	args := make([]any, 0, 5*min(len(list), insertMost))
	for len(list) > 0 {
		n := insertMost
		for n > len(list) {
			n /= 2
		}
		args = args[:0]
		for _, e := range list[:n] {
			e, line := e.LineAfter(tip)
			tip = e.Tip()
			args = append(args, e.Seq, e.Entry, nullable(e.AgentID), nullable(e.ExecutionID), line)
		}
		if err := t.exec(insertEntries(n), args...); err != nil {
			return err
		}
		list = list[n:]
	}
	t.logTip = &tip
	return nil
}

// gatewayTip is where the log ends. Of a batch only the first request has to look, unless
// one was undone.
func (t *tx) gatewayTip() (auditlog.Tip, error) {
	if t.logTip != nil {
		return *t.logTip, nil
	}
	tip := auditlog.Genesis()
	err := t.row("SELECT seq, entry_sha256 FROM gateway_audit ORDER BY seq DESC LIMIT 1").Scan(&tip.Seq, &tip.Entry)
	if errors.Is(err, sql.ErrNoRows) {
		return auditlog.Genesis(), nil
	}
	return tip, err
}

func entries(rows *sql.Rows, err error) ([]auditlog.Entry, error) {
	return collect(rows, err, func(scan func(...any) error) (auditlog.Entry, error) {
		var line []byte
		if err := scan(&line); err != nil {
			return auditlog.Entry{}, err
		}
		return auditlog.ParseEntry(line)
	})
}

// Append implements [execution.Log].
func (s *Executions) Append(ctx context.Context, list []auditlog.Entry) error {
	return s.db.update(ctx, func(t *tx) error { return appendEntries(t, list) })
}

// About implements [execution.Log].
func (s *Executions) About(ctx context.Context, key execution.Key, limit int) ([]auditlog.Entry, error) {
	return entries(s.db.view(ctx).rows(
		"SELECT line FROM gateway_audit WHERE agent_id = ? AND execution_id = ? AND execution_id IS NOT NULL ORDER BY seq LIMIT ?",
		key.Agent, key.ID.String(), limit))
}

// AuditTip implements [execution.Log].
func (s *Executions) AuditTip(ctx context.Context) (auditlog.Tip, error) {
	return s.db.view(ctx).gatewayTip()
}

// AuditLog implements [execution.Log].
func (s *Executions) AuditLog(ctx context.Context, from int64, limit int) ([]auditlog.Entry, error) {
	return entries(s.db.view(ctx).rows("SELECT line FROM gateway_audit WHERE seq >= ? ORDER BY seq LIMIT ?", from, limit))
}

// AddAuditHead implements [execution.Log].
func (s *Executions) AddAuditHead(ctx context.Context, h auditlog.SignedHead) error {
	return s.db.update(ctx, func(t *tx) error {
		return t.exec("INSERT INTO gateway_audit_heads (seq, entry_sha256, head, signed_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			h.Seq, h.Entry, h.Signed, h.At.UnixMilli())
	})
}

// AuditHeads implements [execution.Log].
func (s *Executions) AuditHeads(ctx context.Context, from int64, limit int) ([]auditlog.SignedHead, error) {
	return gatewayHeads(s.db.view(ctx), "seq >= ? ORDER BY seq", from, limit)
}

// LastAuditHead implements [execution.Log].
func (s *Executions) LastAuditHead(ctx context.Context) (auditlog.SignedHead, error) {
	heads, err := gatewayHeads(s.db.view(ctx), "seq >= ? ORDER BY seq DESC", 0, 1)
	if err != nil || len(heads) == 0 {
		return auditlog.SignedHead{}, err
	}
	return heads[0], nil
}

func gatewayHeads(t *tx, where string, from int64, limit int) ([]auditlog.SignedHead, error) {
	rows, err := t.rows("SELECT seq, entry_sha256, head, signed_at FROM gateway_audit_heads WHERE "+where+" LIMIT ?", from, limit)
	return collect(rows, err, func(scan func(...any) error) (h auditlog.SignedHead, err error) {
		var at int64
		err = scan(&h.Seq, &h.Entry, &h.Signed, &at)
		h.At = fromMillis(at)
		return h, err
	})
}
