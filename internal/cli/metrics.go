package cli

import (
	"net/http"
	"time"

	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/metrics"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// A watcher counts what a serving process does, and shows it on the private listener.
type watcher interface {
	registry.Observer
	authority.Observer
	WatchStore(db *sqlstore.DB)
	WatchCentre(d centre.Depths)
	WatchGateway(upstreams []string, status func() execution.Status) *metrics.Gateway
	WatchTraces(dropped func() int64)
	Handler() http.Handler
}

func newWatcher(h *home) (watcher, error) {
	return metrics.New(metrics.Config{Now: time.Now, Returns: registry.ReleaseMode(h.Release) == registry.ReleaseOn})
}
