package execution

import (
	"context"
	"fmt"

	"github.com/bindery/bindery/internal/audit"
)

func (r *Registry) ledger(ctx context.Context) *audit.Ledger[audit.Entry] {
	s := r.cfg.Store
	return &audit.Ledger[audit.Entry]{
		Of: audit.LogGateway, Signer: r.cfg.Signer,
		End:   func() (audit.Tip, error) { return s.AuditTip(ctx) },
		Rows:  func(from int64, limit int) ([]audit.Entry, error) { return s.AuditLog(ctx, from, limit) },
		Heads: func(from int64, limit int) ([]audit.SignedHead, error) { return s.AuditHeads(ctx, from, limit) },
		Last:  func() (audit.SignedHead, error) { return s.LastAuditHead(ctx) },
		Keep:  func(h audit.SignedHead) error { return s.AddAuditHead(ctx, h) },
	}
}

// SignAudit signs the head of the gateway's log if entries were added since the last one, by
// [audit.Ledger]. Run does so every minute.
func (r *Registry) SignAudit(ctx context.Context) error {
	if err := r.ledger(ctx).SignHead(r.now()); err != nil {
		return fmt.Errorf("execution: audit head: %w", err)
	}
	return nil
}

// ExportAudit writes the gateway's log from an entry on, and then a head that it signs over
// it, as lines of package audit without their line feeds: see [audit.Ledger.Export].
func (r *Registry) ExportAudit(ctx context.Context, from int64, write func(line []byte) error) error {
	return r.ledger(ctx).Export(from, r.now(), write)
}
