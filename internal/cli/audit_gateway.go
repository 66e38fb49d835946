package cli

import (
	"context"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
)

// gatewayKey is the name of the key that signs for a gateway: heads of its log, and findings.
const gatewayKey = "gateway"

func (a *app) exportGatewayAudit(ctx context.Context, from int64) error {
	return a.withExecutions(ctx, func(r *execution.Registry, _ execution.Store) error {
		return a.printExport(audit.LogGateway, from, func(write func([]byte) error) error {
			return r.ExportAudit(ctx, from, write)
		})
	})
}
