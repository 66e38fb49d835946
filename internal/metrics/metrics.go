// Package metrics counts what a process does, for Prometheus.
//
// It implements what the roles, the store and the gateway have for whoever watches them
// ([registry.Observer], [authority.Observer], [sqlstore.Observer], [gateway.Observer],
// [execution.Observer]), so that none of them
// knows of Prometheus, and serves the text format that a scraper asks for. For example,
// after one crossing whose mandate was revoked between hold and confirm:
//
//	bindery_ra_operations_total{operation="hold"} 1
//	bindery_ra_burned_attempts_total 1
//	bindery_ra_units_burned_total 2
//	bindery_centre_crossings{role="responder",state="refused"} 1
//
// A change is counted after the commit that made it durable, once, whoever asked for it and
// however often: bindery_ra_operations_total counts audit rows. What is counted from the
// start of the process is a counter; what the store knows, as the depth of the outbox, is
// read when it is asked for. GC-199's loss is bindery_ra_units_burned_total: units of a
// consumption that its effector reports as lost, and, where the RA returns nothing, the
// draws of a hold whose confirm is refused for good.
//
// No label holds a principal, an agent, a hash, a crossing_id, a tool, an execution_id or an
// address: every label has one of few values, fixed in this package, in the specification's
// table of names or, for upstreams, in the gateway's configuration, and any other word is
// counted as "other".
//
// Room: adapters. Reads the clock of its Config and asks the store when it is asked; no
// network: whoever serves the handler decides who may read it (design H1).
package metrics

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

var (
	_ registry.Observer  = (*Metrics)(nil)
	_ authority.Observer = (*Metrics)(nil)
	_ sqlstore.Observer  = (*Metrics)(nil)
)

// A Config says what is counted.
type Config struct {
	Now func() time.Time // required
	// Returns says that the RA's release mode is on: what a refused confirm leaves held
	// returns to its Open, and is not burned.
	Returns bool
}

// Metrics are the counters of one process. All methods may be called concurrently.
type Metrics struct {
	cfg   Config
	all   *prometheus.Registry
	names []string // of refusals

	operations, refusals        *prometheus.CounterVec
	burnedUnits, burnedAttempts prometheus.Counter
	batches                     *prometheus.CounterVec
	batchSize, commitSeconds    prometheus.Histogram
	seals, anchors              prometheus.Counter
	crossingRefusals            *prometheus.CounterVec
	publications, verifications *prometheus.CounterVec
	rateLimited                 prometheus.Counter

	watching sync.Mutex // guards the rest
	gateway  *Gateway
	traces   prometheus.Collector
}

// New makes Metrics whose counters stand at 0.
func New(cfg Config) (*Metrics, error) {
	if cfg.Now == nil {
		return nil, errors.New("metrics: no clock")
	}
	m := &Metrics{cfg: cfg, all: prometheus.NewRegistry(), names: names()}
	m.operations = m.counters("ra_operations_total", "State changes of the RA that are durable, each with its audit row; register_closed books a draw.", "operation")
	m.refusals = m.counters("ra_refusals_total", "Calls that the RA has refused, by the name of the refusal.", "operation", "name")
	m.burnedUnits = m.counter("ra_units_burned_total", "Units taken by attempts that failed downstream, and not returned.")
	m.burnedAttempts = m.counter("ra_burned_attempts_total", "Attempts that failed downstream after they had taken units.")
	m.batches = m.counters("store_batches_total", "Batches of the store's writer, by how they ended.", "result")
	m.batchSize = m.histogram("store_batch_requests", "Requests in one batch.", prometheus.ExponentialBuckets(1, 2, 7))
	m.commitSeconds = m.histogram("store_commit_seconds", "Time from the start of a batch to the end of its commit.", prometheus.ExponentialBuckets(0.0005, 2, 14))
	m.seals = m.counter("centre_seals_total", "Crossings that this party has sealed as a responder.")
	m.anchors = m.counter("centre_anchors_total", "Seals that this party has anchored as an initiator.")
	m.crossingRefusals = m.counters("centre_refusals_total", "Refusals that this party has given or got, by name.", "name")
	m.publications = m.counters("va_publications_total", "Publications that the VA has answered: acknowledged, or by the code of the refusal.", "result")
	m.verifications = m.counters("va_verifications_total", "Resolutions that the VA has answered, by verdict.", "verdict")
	m.rateLimited = m.counter("va_rate_limited_total", "Resolutions that the VA has refused as too many from one address.")
	for _, word := range verdicts[:] {
		m.verifications.WithLabelValues(word)
	}
	for _, word := range []string{"committed", "failed"} {
		m.batches.WithLabelValues(word)
	}
	m.all.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m, nil
}

// WatchStore adds what a database counts itself.
func (m *Metrics) WatchStore(db *sqlstore.DB) {
	m.all.MustRegister(prometheus.NewCounterFunc(
		prometheus.CounterOpts{Namespace: namespace, Name: "store_retries_total", Help: "Batches that the database gave up in favour of another, and that were run again."},
		func() float64 { return float64(db.Retries()) }))
	db.Observe(m)
}

// WatchCentre adds what a party's store knows of its crossings.
func (m *Metrics) WatchCentre(d centre.Depths) { m.all.MustRegister(newDepths(d)) }

// Handler answers in the text format of Prometheus, whoever asks.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, DisableCompression: true})
}

// Refused implements [registry.Observer].
func (m *Metrics) Refused(operation, code string) {
	m.refusals.WithLabelValues(known(operation, calls[:]), known(code, m.names)).Inc()
}

// Published implements [authority.Observer].
func (m *Metrics) Published(code string) {
	result := acknowledged
	if code != "" {
		result = known(code, m.names)
	}
	m.publications.WithLabelValues(result).Inc()
}

// Verified implements [authority.Observer].
func (m *Metrics) Verified(verdict string) {
	m.verifications.WithLabelValues(known(verdict, verdicts[:])).Inc()
}

// Limited implements [authority.Observer].
func (m *Metrics) Limited() { m.rateLimited.Inc() }

// Batch implements [sqlstore.Observer].
func (m *Metrics) Batch(size int) (end func(error)) {
	begin := m.cfg.Now()
	return func(err error) {
		m.commitSeconds.Observe(m.cfg.Now().Sub(begin).Seconds())
		m.batchSize.Observe(float64(size))
		result := "committed"
		if err != nil {
			result = "failed"
		}
		m.batches.WithLabelValues(result).Inc()
	}
}

// Changed implements [sqlstore.Observer].
func (m *Metrics) Changed(c sqlstore.Change) {
	switch {
	case c.Operation == sqlstore.Burned:
		if c.Outcome == sqlstore.BurnedHold && m.cfg.Returns {
			return
		}
		m.burnedAttempts.Inc()
		m.burnedUnits.Add(float64(max(c.Units, 0)))
	case c.Of == "ra":
		m.operations.WithLabelValues(known(c.Operation, operations[:])).Inc()
	case c.Operation == "seal":
		m.seals.Inc()
	case c.Operation == "anchor":
		m.anchors.Inc()
	case c.Operation == "refuse":
		m.crossingRefusals.WithLabelValues(known(c.Outcome, m.names)).Inc()
	}
}

const namespace = "bindery"

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	m.all.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.all.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	m.all.MustRegister(h)
	return h
}

// depthTimeout is how long a scrape waits for the store.
const depthTimeout = 5 * time.Second

// depths asks a party's store when it is scraped. A store that does not answer is a gauge,
// too; the others are then left out rather than shown as they were.
type depths struct {
	store                                   centre.Depths
	crossings, waiting, attempts, reachable *prometheus.Desc
}

func newDepths(d centre.Depths) *depths {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	return &depths{
		store:     d,
		crossings: desc("centre_crossings", "Crossings that this party knows, by role and state.", "role", "state"),
		waiting:   desc("centre_publications_waiting", "Publications that the VA has not acknowledged yet."),
		attempts:  desc("centre_attempts_open", "Attempts to seal that are not decided yet."),
		reachable: desc("store_reachable", "Whether the store answered when it was asked just now."),
	}
}

// Describe implements [prometheus.Collector].
func (d *depths) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{d.crossings, d.waiting, d.attempts, d.reachable} {
		out <- desc
	}
}

// Collect implements [prometheus.Collector].
func (d *depths) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), depthTimeout)
	defer cancel()
	now, err := d.store.Depth(ctx)
	gauge := func(desc *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	if err != nil {
		gauge(d.reachable, 0)
		return
	}
	gauge(d.reachable, 1)
	gauge(d.waiting, now.Waiting)
	gauge(d.attempts, now.Attempts)
	count := map[[2]string]int64{}
	for _, s := range now.Crossings {
		count[[2]string{known(s.Role, roles[:]), known(s.State, states[:])}] += s.N
	}
	for labels, n := range count {
		gauge(d.crossings, n, labels[0], labels[1])
	}
}
