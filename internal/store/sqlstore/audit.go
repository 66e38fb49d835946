package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	auditlog "github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/registry"
)

// chainRevision is the schema revision from which on audit rows are chained.
const chainRevision = 7

// chainPage is how many rows of before are chained at a time.
const chainPage = 1000

// audit writes the row that every state change carries with it, as the next of the log. It
// never sees a token, a limit or a clearance_id. That no other writer takes the same place
// is the write lock's doing, and the key's to prove.
func audit(t *tx, at time.Time, by registry.Actor, operation, subject, outcome string) error {
	tip, err := t.auditTip()
	if err != nil {
		return err
	}
	row := auditlog.Row{
		At: at, Role: by.Role, PrincipalID: by.PrincipalID, Operation: operation, Subject: subject, Outcome: outcome,
	}.After(tip)
	err = t.exec(
		`INSERT INTO registry_audit (audit_id, at, role, principal_id, operation, subject, outcome, prev, entry_sha256)
		 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		row.Seq, at.UnixMilli(), row.Role, row.PrincipalID, row.Operation, row.Subject, row.Outcome, row.Prev, row.Entry)
	if err != nil {
		return err
	}
	tip = row.Tip()
	t.tip = &tip
	t.note(Change{Of: "ra", Operation: operation, Outcome: outcome})
	return nil
}

// auditTip is where the log ends. Of a batch only the first request has to look, unless
// one was undone.
func (t *tx) auditTip() (auditlog.Tip, error) {
	if t.tip != nil {
		return *t.tip, nil
	}
	tip := auditlog.Genesis()
	err := t.row("SELECT audit_id, entry_sha256 FROM registry_audit ORDER BY audit_id DESC LIMIT 1").Scan(&tip.Seq, &tip.Entry)
	if errors.Is(err, sql.ErrNoRows) {
		return auditlog.Genesis(), nil
	}
	return tip, err
}

// chainAudit chains the rows of before chainRevision, in their order. Their numbers may have
// had gaps.
func chainAudit(t *tx) error {
	tip := auditlog.Genesis()
	for {
		rows, err := auditRows(t, "entry_sha256 = '' AND audit_id > ?", tip.Seq, chainPage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			was := row.Seq
			row = row.After(tip)
			tip = row.Tip()
			err := t.exec(
				`UPDATE registry_audit SET audit_id = ?, role = ?, principal_id = ?, operation = ?, subject = ?, outcome = ?, prev = ?, entry_sha256 = ?
				 WHERE audit_id = ?`,
				row.Seq, row.Role, row.PrincipalID, row.Operation, row.Subject, row.Outcome, row.Prev, row.Entry, was)
			if err != nil {
				return err
			}
		}
	}
}

// auditRows are rows of the log in order, at most limit.
func auditRows(t *tx, where string, from int64, limit int) ([]auditlog.Row, error) {
	rows, err := t.rows(
		`SELECT audit_id, at, role, principal_id, operation, subject, outcome, prev, entry_sha256 FROM registry_audit
		 WHERE `+where+` ORDER BY audit_id LIMIT ?`, from, limit)
	return collect(rows, err, func(scan func(...any) error) (auditlog.Row, error) {
		var r auditlog.Row
		var at int64
		err := scan(&r.Seq, &at, &r.Role, &r.PrincipalID, &r.Operation, &r.Subject, &r.Outcome, &r.Prev, &r.Entry)
		r.At = fromMillis(at)
		return r, err
	})
}

// AuditTip implements [registry.Journal].
func (r *Registry) AuditTip(ctx context.Context) (auditlog.Tip, error) {
	return r.db.view(ctx).auditTip()
}

// AuditLog implements [registry.Journal].
func (r *Registry) AuditLog(ctx context.Context, from int64, limit int) ([]auditlog.Row, error) {
	return auditRows(r.db.view(ctx), "audit_id >= ?", from, limit)
}

// AddAuditHead implements [registry.Journal].
func (r *Registry) AddAuditHead(ctx context.Context, h registry.AuditHead) error {
	return r.db.update(ctx, func(t *tx) error {
		return t.exec("INSERT INTO registry_audit_heads (seq, entry_sha256, head, signed_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			h.Seq, h.Entry, h.Signed, h.At.UnixMilli())
	})
}

// AuditHeads implements [registry.Journal].
func (r *Registry) AuditHeads(ctx context.Context, from int64, limit int) ([]registry.AuditHead, error) {
	return auditHeads(r.db.view(ctx), "seq >= ? ORDER BY seq", from, limit)
}

// LastAuditHead implements [registry.Journal].
func (r *Registry) LastAuditHead(ctx context.Context) (registry.AuditHead, error) {
	heads, err := auditHeads(r.db.view(ctx), "seq >= ? ORDER BY seq DESC", 0, 1)
	if err != nil {
		return registry.AuditHead{}, err
	}
	if len(heads) == 0 {
		return registry.AuditHead{}, registry.ErrNotFound
	}
	return heads[0], nil
}

func auditHeads(t *tx, where string, from int64, limit int) ([]registry.AuditHead, error) {
	rows, err := t.rows("SELECT seq, entry_sha256, head, signed_at FROM registry_audit_heads WHERE "+where+" LIMIT ?", from, limit)
	return collect(rows, err, func(scan func(...any) error) (registry.AuditHead, error) {
		var h registry.AuditHead
		var at int64
		err := scan(&h.Seq, &h.Entry, &h.Signed, &at)
		h.At = fromMillis(at)
		return h, err
	})
}

// step is what a script leaves to the program, in the script's transaction.
func (b *Backend) step(ctx context.Context, c *sql.Conn, revision int) error {
	if revision != chainRevision {
		return nil
	}
	q := b.querier(c)
	defer q.close()
	return chainAudit(&tx{ctx: ctx, q: q, clean: false})
}
