package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/audit"
)

// AuditLog is the name of an RA's audit log in its signed heads.
const AuditLog = audit.LogRA

// An AuditHead is a signed head of the audit log as it is kept.
type AuditHead = audit.SignedHead

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
	return auditError(r.ledger(ctx).SignHead(r.now()))
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
	err := r.ledger(ctx).Export(from, r.now(), write)
	if errors.Is(err, audit.ErrNoRow) {
		return &api.Error{Code: api.CodeMalformed, Pointer: "/from"}
	}
	return auditError(err)
}

// auditError says whose an error is; a fault says it itself.
func auditError(err error) error {
	var fault *audit.Fault
	if err == nil || errors.As(err, &fault) {
		return err
	}
	return fmt.Errorf("registry: audit: %w", err)
}

// ledger is the log in the store, for one call.
func (r *Registry) ledger(ctx context.Context) *audit.Ledger[audit.Row] {
	store := r.cfg.Store
	return &audit.Ledger[audit.Row]{
		Of: AuditLog, Signer: r.cfg.Signer,
		End:  func() (audit.Tip, error) { return store.AuditTip(ctx) },
		Rows: func(from int64, limit int) ([]audit.Row, error) { return store.AuditLog(ctx, from, limit) },
		Heads: func(from int64, limit int) ([]AuditHead, error) {
			return store.AuditHeads(ctx, from, limit)
		},
		Last: func() (AuditHead, error) {
			last, err := store.LastAuditHead(ctx)
			if errors.Is(err, ErrNotFound) {
				return AuditHead{}, nil
			}
			return last, err
		},
		Keep: func(h AuditHead) error { return store.AddAuditHead(ctx, h) },
	}
}
