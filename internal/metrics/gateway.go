package metrics

import (
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
)

var (
	_ gateway.Observer   = (*Gateway)(nil)
	_ execution.Observer = (*Gateway)(nil)
)

// Gateway are the counters of one gateway and its executions.
type Gateway struct {
	upstreams                               atomic.Pointer[[]string]
	status                                  atomic.Pointer[func() execution.Status]
	names                                   []string
	messages, refusals                      *prometheus.CounterVec
	joined                                  prometheus.Counter
	upstream, added                         *prometheus.HistogramVec
	admissions, settled, swept, auditResult *prometheus.CounterVec
	attempt                                 prometheus.Histogram
	buried                                  prometheus.Counter
}

// Labels of the gateway's counters.
var (
	// outcomes of messages: of a bound call the state of its execution.
	outcomes = [...]string{
		passed, refusedWord, string(execution.Held), string(execution.Reserved), string(execution.Dispatched), string(execution.Suspended),
		string(execution.Succeeded), string(execution.Failed), string(execution.OutcomeUnknown),
	}
	executionStates = [...]string{
		string(execution.Suspended), string(execution.Succeeded), string(execution.Failed), string(execution.Refused), string(execution.OutcomeUnknown),
	}
	admitted = [...]string{"permit", "recorded", "left"}
)

const (
	passed      = "passed"
	refusedWord = "refused"
)

// WatchGateway adds a gateway's counters, which stand at 0. Upstreams are the configured names;
// status is asked at each scrape. A gateway that is opened again goes on with the counters
// of the one before.
func (m *Metrics) WatchGateway(upstreams []string, status func() execution.Status) *Gateway {
	m.watching.Lock()
	defer m.watching.Unlock()
	if m.gateway == nil {
		m.gateway = m.newGateway()
	}
	g := m.gateway
	upstreams = slices.Clone(upstreams)
	g.upstreams.Store(&upstreams)
	g.status.Store(&status)
	for _, u := range upstreams {
		g.upstream.WithLabelValues(u)
	}
	return g
}

func (m *Metrics) newGateway() *Gateway {
	g := &Gateway{}
	for _, c := range gateway.Codes() {
		g.names = append(g.names, c.Name)
	}
	g.messages = m.counters("gateway_messages_total", "Messages of clients that were dealt with, by upstream, by kind, and by what became of them.", "upstream", "kind", "outcome")
	g.refusals = m.counters("gateway_refusals_total", "Messages that the gateway has refused, by the name of the refusal.", "name")
	g.joined = m.counter("gateway_joined_total", "Calls that were answered with the outcome of another call of the same execution.")
	g.upstream = m.histograms("gateway_upstream_seconds", "Time in which an upstream had the word, from the first byte to it until the last of its answer.", prometheus.ExponentialBuckets(0.001, 2, 16), "upstream")
	g.added = m.histograms("gateway_added_seconds", "Time of a message that is not its upstream's: what the gateway adds.", prometheus.ExponentialBuckets(0.00005, 2, 16), "bound")
	g.admissions = m.counters("execution_admissions_total", "Bound calls that were asked to admit: a permit, an answer from the stored row, a caller that left, or the name of the refusal.", "verdict")
	g.settled = m.counters("execution_attempts_total", "Attempts that have ended, by the state of their execution then.", "state")
	g.attempt = m.histogram("execution_attempt_seconds", "Time from the admission of an attempt until its outcome was durable.", prometheus.ExponentialBuckets(0.001, 2, 16))
	g.swept = m.counters("execution_swept_total", "Executions whose replica died, and that the sweep has ended, by state.", "state")
	g.buried = m.counter("execution_epochs_dead_total", "Lives of replicas that this one has declared dead.")
	g.auditResult = m.counters("gateway_audit_entries_total", "Entries of the gateway's log beside those of executions: written, or missing.", "result")
	for _, state := range executionStates {
		g.settled.WithLabelValues(state)
		g.swept.WithLabelValues(state)
	}
	for _, name := range g.names {
		g.refusals.WithLabelValues(name)
	}
	for _, verdict := range admitted {
		g.admissions.WithLabelValues(verdict)
	}
	for _, result := range []string{"written", "missing"} {
		g.auditResult.WithLabelValues(result)
	}
	m.watchStatus(g)
	return g
}

func (m *Metrics) watchStatus(g *Gateway) {
	gauge := func(name, help string, value func(execution.Status) float64) {
		m.all.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help},
			func() float64 { return value((*g.status.Load())()) }))
	}
	gauge("execution_active", "Whether executions are admitted: the self-test has passed, and the registry runs.", func(s execution.Status) float64 {
		if s.Active {
			return 1
		}
		return 0
	})
	gauge("execution_heartbeat_age_seconds", "Time since this replica's last heartbeat that arrived. Beyond 10 it sends nothing.", func(s execution.Status) float64 { return s.Heartbeat.Seconds() })
	gauge("execution_attempts_under_way", "Attempts that are not settled.", func(s execution.Status) float64 { return float64(s.UnderWay) })
	gauge("execution_outcomes_unstored", "Outcomes that the store has not taken yet.", func(s execution.Status) float64 { return float64(s.Unstored) })
	gauge("gateway_audit_waiting", "Entries of the log that wait to be written.", func(s execution.Status) float64 { return float64(s.Waiting) })
}

// WatchTraces adds how many spans were not sent.
func (m *Metrics) WatchTraces(dropped func() int64) {
	m.watching.Lock()
	defer m.watching.Unlock()
	if m.traces != nil {
		m.all.Unregister(m.traces)
	}
	m.traces = prometheus.NewCounterFunc(
		prometheus.CounterOpts{Namespace: namespace, Name: "traces_dropped_total", Help: "Spans that no collector has taken."},
		func() float64 { return float64(dropped()) })
	m.all.MustRegister(m.traces)
}

// Observe implements [gateway.Observer].
func (g *Gateway) Observe(o gateway.Observation) {
	upstream := known(o.Upstream, *g.upstreams.Load())
	outcome := passed
	switch {
	case o.Refusal != "":
		outcome = refusedWord
		g.refusals.WithLabelValues(known(o.Refusal, g.names)).Inc()
	case o.Bound && o.State != "":
		outcome = known(o.State, outcomes[:])
	}
	g.messages.WithLabelValues(upstream, kind(o), outcome).Inc()
	if o.Joined {
		g.joined.Inc()
	}
	if o.Method == http.MethodGet { // a stream lasts as long as its client listens
		return
	}
	bound := "no"
	if o.Bound {
		bound = "yes"
	}
	g.added.WithLabelValues(bound).Observe(max(o.Took-o.Waited, 0).Seconds())
	if o.Waited > 0 {
		g.upstream.WithLabelValues(upstream).Observe(o.Waited.Seconds())
	}
}

func kind(o gateway.Observation) string {
	switch {
	case o.Method == "tools/call" && o.Bound:
		return "bound_call"
	case o.Method == "tools/call":
		return "call"
	case o.Method == "tools/list":
		return "list_tools"
	case o.Method == "initialize":
		return "initialize"
	case o.Method == http.MethodGet:
		return "stream"
	case o.Method == http.MethodDelete:
		return "end"
	}
	return other
}

// Admitted implements [execution.Observer].
func (g *Gateway) Admitted(verdict string) {
	if !slices.Contains(admitted[:], verdict) {
		verdict = known(verdict, g.names)
	}
	g.admissions.WithLabelValues(verdict).Inc()
}

// Settled implements [execution.Observer].
func (g *Gateway) Settled(state execution.State, took time.Duration) {
	g.settled.WithLabelValues(known(string(state), executionStates[:])).Inc()
	g.attempt.Observe(took.Seconds())
}

// Noted implements [execution.Observer].
func (g *Gateway) Noted(written, lost int) {
	g.auditResult.WithLabelValues("written").Add(float64(max(written, 0)))
	g.auditResult.WithLabelValues("missing").Add(float64(max(lost, 0)))
}

// Swept implements [execution.Observer].
func (g *Gateway) Swept(state execution.State) {
	g.swept.WithLabelValues(known(string(state), executionStates[:])).Inc()
}

// Buried implements [execution.Observer].
func (g *Gateway) Buried(n int) { g.buried.Add(float64(max(n, 0))) }

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.all.MustRegister(h)
	return h
}
