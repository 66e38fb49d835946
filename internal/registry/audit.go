package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/audit"
)

const (
	// AuditLog is the name of an RA's audit log in its signed heads.
	AuditLog = "ra"
	// auditPage is how many audit rows are read at a time.
	auditPage = 256
	// headPage is how many signed heads are read at a time.
	headPage = 64
)

// An AuditHead is a signed head of the audit log as it is kept.
type AuditHead struct {
	audit.Tip
	Signed string // an [audit.Head] from row 1
	At     time.Time
}

// Ledger is the audit rows as a chain, and what was signed of it. Rows are written by the
// methods of the other interfaces, each in its own transaction; none is ever changed.
type Ledger interface {
	// AuditTip is where the log ends; [audit.Genesis] if it is empty.
	AuditTip(ctx context.Context) (audit.Tip, error)
	// AuditLog returns at most limit rows from a seq on, in their order.
	AuditLog(ctx context.Context, from int64, limit int) ([]audit.Row, error)
	// AddAuditHead keeps a signed head. One with the same seq stays as it is. It changes no
	// authority, so it has no audit row.
	AddAuditHead(ctx context.Context, h AuditHead) error
	// AuditHeads returns at most limit heads from a seq on, in their order.
	AuditHeads(ctx context.Context, from int64, limit int) ([]AuditHead, error)
	// LastAuditHead is the head with the highest seq. ErrNotFound: none was signed.
	LastAuditHead(ctx context.Context) (AuditHead, error)
}

// KeepAudit signs the head of the audit log at every interval, until ctx ends. A log that
// does not hold is logged each time, and its head is not signed any more.
func (r *Registry) KeepAudit(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := r.SignAudit(ctx); err != nil && ctx.Err() == nil {
			r.log.ErrorContext(ctx, "audit head not signed", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// SignAudit signs the head of the audit log if rows were added since the last one, and
// keeps it. It reads those rows again: on a log that does not go on from the last head, it
// returns an [*audit.Fault] and signs nothing.
func (r *Registry) SignAudit(ctx context.Context) error {
	last, tip, err := r.auditEnds(ctx)
	if err != nil || tip == last.Tip {
		return err
	}
	w := &auditWalk{registry: r, from: last.Seq + 1, to: tip.Seq, signed: last.Seq}
	if err := w.run(ctx); err != nil {
		return err
	}
	_, err = r.signAudit(ctx, 1, w.next)
	return err
}

// signAudit signs a head, and keeps it if it is one of the whole log.
func (r *Registry) signAudit(ctx context.Context, from int64, tip audit.Tip) (string, error) {
	h := audit.Head{Of: AuditLog, From: from, Tip: tip, At: r.now()}
	signed, err := h.Sign(r.cfg.Signer)
	if err != nil {
		return "", fmt.Errorf("registry: audit head: %w", err)
	}
	if from > 1 {
		return signed, nil
	}
	if err := r.cfg.Store.AddAuditHead(ctx, AuditHead{Tip: tip, Signed: signed, At: h.At}); err != nil {
		return "", fmt.Errorf("registry: audit head: %w", err)
	}
	return signed, nil
}

// ExportAudit writes the audit log from a row on, and then a head that it signs over it, as
// lines of package audit without their line feeds. Rows that are added meanwhile are not in
// it. The actor is the operator. A log that does not hold, or not up to a head that was
// signed before, is written as far as it does: the error is then an [*audit.Fault], and
// there is no head. Besides, an error is one of write's, or of the store.
//
// Refusals: ROLE_MISMATCH; api.CodeMalformed at /from for a row that is not there.
func (r *Registry) ExportAudit(ctx context.Context, actor Actor, from int64, write func(line []byte) error) error {
	if err := actor.require(api.RoleOperator); err != nil {
		return err
	}
	last, tip, err := r.auditEnds(ctx)
	if err != nil {
		return err
	}
	if from < 1 || from > max(tip.Seq, 1) {
		return &api.Error{Code: api.CodeMalformed, Pointer: "/from"}
	}
	w := &auditWalk{registry: r, from: from, to: tip.Seq, signed: last.Seq, heads: true, write: write}
	if err := w.run(ctx); err != nil {
		return err
	}
	signed, err := r.signAudit(ctx, from, w.next)
	if err != nil {
		return err
	}
	return write(audit.HeadLine(signed, r.cfg.Signer.Key()))
}

// auditEnds are the last head that was signed, with [audit.Genesis] if there is none, and
// then where the log ends: no later than that, since rows are never taken away.
func (r *Registry) auditEnds(ctx context.Context) (last AuditHead, tip audit.Tip, err error) {
	last, err = r.cfg.Store.LastAuditHead(ctx)
	if errors.Is(err, ErrNotFound) {
		last, err = AuditHead{Tip: audit.Genesis()}, nil
	}
	if err == nil {
		tip, err = r.cfg.Store.AuditTip(ctx)
	}
	if err != nil {
		return last, tip, fmt.Errorf("registry: audit: %w", err)
	}
	return last, tip, nil
}

// auditWalk reads a part of the log and judges it.
type auditWalk struct {
	registry *Registry
	from     int64
	to       int64
	signed   int64              // up to where the log was signed
	heads    bool               // judge every head that was signed, too; else the last one before from
	write    func([]byte) error // nil: nothing is written

	next  audit.Tip // of the row before
	lines int64
	kept  []AuditHead // heads from next on
}

// run goes from the row before w.from, of which only the entry counts, to w.to.
func (w *auditWalk) run(ctx context.Context) error {
	store := w.registry.cfg.Store
	w.next = audit.Genesis()
	at := max(w.from-1, 1)
	if err := w.readHeads(ctx, at); err != nil {
		return err
	}
	for at <= w.to {
		rows, err := store.AuditLog(ctx, at, int(min(auditPage, w.to-at+1)))
		if err != nil {
			return fmt.Errorf("registry: audit: %w", err)
		}
		if len(rows) == 0 {
			return w.fault(at, audit.RuleMissing)
		}
		for _, row := range rows {
			if err := w.take(ctx, row, at); err != nil {
				return err
			}
			at++
		}
	}
	if w.signed > w.to {
		return w.fault(w.to+1, audit.RuleMissing)
	}
	return nil
}

func (w *auditWalk) fault(seq int64, rule string) error {
	return &audit.Fault{Line: w.lines + 1, Seq: seq, Rule: rule}
}

func (w *auditWalk) take(ctx context.Context, row audit.Row, seq int64) error {
	before := seq < w.from
	switch {
	case row.Seq != seq:
		return w.fault(seq, audit.RuleSequence)
	case row.Prev != w.next.Entry && (!before || seq == 1):
		return w.fault(seq, audit.RulePrevious)
	case row.Entry != row.Sum():
		return w.fault(seq, audit.RuleEntry)
	}
	w.next = row.Tip()
	if err := w.judgeHead(ctx, row); err != nil {
		return err
	}
	if before || w.write == nil {
		return nil
	}
	w.lines++
	return w.write(row.Line())
}

// judgeHead compares a row with the head that was signed when it was the last.
func (w *auditWalk) judgeHead(ctx context.Context, row audit.Row) error {
	if len(w.kept) == 0 || w.kept[0].Seq != row.Seq {
		return nil
	}
	kept := w.kept[0]
	h, err := audit.ParseHead(kept.Signed, w.registry.cfg.Signer.Key())
	switch {
	case err != nil || h.Of != AuditLog || h.Tip != kept.Tip:
		return w.fault(row.Seq, audit.RuleSignature)
	case h.Tip != row.Tip():
		return w.fault(row.Seq, audit.RuleUncovered)
	}
	w.kept = w.kept[1:]
	if len(w.kept) == 0 && w.heads {
		return w.readHeads(ctx, row.Seq+1)
	}
	return nil
}

func (w *auditWalk) readHeads(ctx context.Context, from int64) (err error) {
	if w.kept, err = w.registry.cfg.Store.AuditHeads(ctx, from, headPage); err != nil {
		return fmt.Errorf("registry: audit: %w", err)
	}
	return nil
}
