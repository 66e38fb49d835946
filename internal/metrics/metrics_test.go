package metrics_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/metrics"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/internal/store/storetest"
)

func newMetrics(t *testing.T, cfg metrics.Config) *metrics.Metrics {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return time.UnixMilli(1_786_000_000_000) }
	}
	m, err := metrics.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// scrape is what a scraper gets, bindery's own lines alone and without comments.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d, %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	var own strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "bindery_") {
			own.WriteString(line)
		}
	}
	return own.String()
}

func has(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q in\n%s", part, text)
		}
	}
}

// covers GC-199
func TestCounts(t *testing.T) {
	now := time.UnixMilli(1_786_000_000_000)
	m := newMetrics(t, metrics.Config{Now: func() time.Time { return now }})
	has(t, scrape(t, m), "bindery_ra_units_burned_total 0", "bindery_ra_burned_attempts_total 0", "bindery_va_rate_limited_total 0",
		`bindery_va_verifications_total{verdict="verified"} 0`, `bindery_store_batches_total{result="failed"} 0`, "bindery_centre_seals_total 0")
	for range 2 {
		m.Changed(sqlstore.Change{Of: "ra", Operation: "hold", Outcome: "held"})
	}
	m.Changed(sqlstore.Change{Of: "ra", Operation: sqlstore.Burned, Outcome: sqlstore.BurnedHold, Units: 5})
	m.Changed(sqlstore.Change{Of: "ra", Operation: sqlstore.Burned, Outcome: sqlstore.BurnedReport, Units: 3})
	m.Changed(sqlstore.Change{Of: "ra", Operation: sqlstore.Burned, Outcome: sqlstore.BurnedHold})
	m.Changed(sqlstore.Change{Of: "centre", Operation: "seal"})
	m.Changed(sqlstore.Change{Of: "centre", Operation: "anchor"})
	m.Changed(sqlstore.Change{Of: "centre", Operation: "refuse", Outcome: "MANDATE_REVOKED"})
	m.Refused("hold", "MAGNITUDE_EXHAUSTED")
	m.Refused("office", "not_found")
	m.Published("")
	m.Published("conflict")
	m.Verified("unknown")
	m.Limited()
	end := m.Batch(3)
	now = now.Add(1500 * time.Microsecond)
	end(nil)
	m.Batch(64)(errors.New("lost"))
	has(t, scrape(t, m),
		`bindery_ra_operations_total{operation="hold"} 2`,
		"bindery_ra_units_burned_total 8", "bindery_ra_burned_attempts_total 3",
		"bindery_centre_seals_total 1", "bindery_centre_anchors_total 1", `bindery_centre_refusals_total{name="MANDATE_REVOKED"} 1`,
		`bindery_ra_refusals_total{name="MAGNITUDE_EXHAUSTED",operation="hold"} 1`, `bindery_ra_refusals_total{name="not_found",operation="office"} 1`,
		`bindery_va_publications_total{result="acknowledged"} 1`, `bindery_va_publications_total{result="conflict"} 1`,
		`bindery_va_verifications_total{verdict="unknown"} 1`, "bindery_va_rate_limited_total 1",
		`bindery_store_batches_total{result="committed"} 1`, `bindery_store_batches_total{result="failed"} 1`,
		`bindery_store_batch_requests_bucket{le="2"} 0`, `bindery_store_batch_requests_bucket{le="4"} 1`, "bindery_store_batch_requests_sum 67",
		`bindery_store_commit_seconds_bucket{le="0.001"} 1`, `bindery_store_commit_seconds_bucket{le="0.002"} 2`, "bindery_store_commit_seconds_sum 0.0015",
	)
}

// TestReturned: where a released hold gives its draw back, a refused confirm has burned
// nothing.
//
// covers GC-199
func TestReturned(t *testing.T) {
	m := newMetrics(t, metrics.Config{Returns: true})
	m.Changed(sqlstore.Change{Of: "ra", Operation: sqlstore.Burned, Outcome: sqlstore.BurnedHold, Units: 5})
	m.Changed(sqlstore.Change{Of: "ra", Operation: sqlstore.Burned, Outcome: sqlstore.BurnedReport, Units: 3})
	has(t, scrape(t, m), "bindery_ra_units_burned_total 3", "bindery_ra_burned_attempts_total 1")
}

// TestLabelsAreBounded: whatever word comes, no label shows it unless it is foreseen.
func TestLabelsAreBounded(t *testing.T) {
	m := newMetrics(t, metrics.Config{})
	d := &depth{centre.Depth{Crossings: []centre.StateCount{{Role: "urn:anax:principal:x", State: "7f3c", N: 2}, {Role: "observer", State: "x", N: 3}}}, nil}
	m.WatchCentre(d.depths())
	for _, word := range []string{"urn:anax:principal:acme", "00000000-0000-4000-8000-000000000001", strings.Repeat("ab", 32), "192.0.2.1", "\xff\"\n", ""} {
		m.Changed(sqlstore.Change{Of: "ra", Operation: word, Outcome: word})
		m.Changed(sqlstore.Change{Of: "centre", Operation: "refuse", Outcome: word})
		m.Changed(sqlstore.Change{Of: word, Operation: word})
		m.Refused(word, word)
		m.Published(word)
		m.Verified(word)
	}
	text := scrape(t, m)
	value := regexp.MustCompile(`="([^"]*)"`)
	word := regexp.MustCompile(`^([a-z_]+|[A-Z_]+|[0-9.e+-]+|\+Inf)$`)
	for _, found := range value.FindAllStringSubmatch(text, -1) {
		if !word.MatchString(found[1]) {
			t.Errorf("label %q", found[1])
		}
	}
	has(t, text, `bindery_ra_operations_total{operation="other"} 6`, `bindery_ra_refusals_total{name="other",operation="other"} 6`,
		`bindery_centre_refusals_total{name="other"} 6`, `bindery_centre_crossings{role="other",state="other"} 5`, `bindery_va_verifications_total{verdict="other"} 6`)
	hasNot(t, text, "anax", "192.0.2", "abab", "-8000-")
	if n := strings.Count(text, "\n"); n > 80 {
		t.Errorf("%d lines", n)
	}
}

// TestOperationsAreKnown: each operation that an RA's store has an audit row for.
func TestOperationsAreKnown(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m := newMetrics(t, metrics.Config{})
	m.WatchStore(db)
	m.WatchCentre(db.Centre())
	all := storetest.RegistryOperations(t)
	for _, op := range all {
		if err := op.Do(db.Registry()); err != nil {
			t.Fatal(op.Method, op.Name, err)
		}
		_ = op.Do(db.Registry()) // a repeat, which counts nothing
	}
	text := scrape(t, m)
	has(t, text, `bindery_ra_operations_total{operation="confirm"} 1`, `bindery_ra_operations_total{operation="register_open"} 3`,
		"bindery_ra_units_burned_total 1", "bindery_store_retries_total 0",
		"bindery_store_reachable 1", "bindery_centre_publications_waiting 0", "bindery_centre_attempts_open 0")
	hasNot(t, text, `"other"`, `result="failed"} 1`)
}

type depth struct {
	centre.Depth
	err error
}

func (d *depth) of() (centre.Depth, error) { return d.Depth, d.err }

// A depths answers as it is told.
func (d *depth) depths() centre.Depths { return depths(d.of) }

type depths func() (centre.Depth, error)

func (f depths) Depth(context.Context) (centre.Depth, error) { return f() }

// TestStoreAway: with the store away the scrape goes on, and shows no old depth.
func TestStoreAway(t *testing.T) {
	m := newMetrics(t, metrics.Config{})
	d := &depth{centre.Depth{Crossings: []centre.StateCount{{Role: "responder", State: "sealing", N: 2}}, Waiting: 3, Attempts: 1}, nil}
	m.WatchCentre(d.depths())
	has(t, scrape(t, m), `bindery_centre_crossings{role="responder",state="sealing"} 2`, "bindery_centre_publications_waiting 3",
		"bindery_centre_attempts_open 1", "bindery_store_reachable 1")
	d.err = errors.New("away")
	text := scrape(t, m)
	has(t, text, "bindery_store_reachable 0", "bindery_ra_units_burned_total 0")
	hasNot(t, text, "waiting", "attempts_open", "crossings{")
}

func TestNoClock(t *testing.T) {
	if _, err := metrics.New(metrics.Config{}); err == nil {
		t.Error("made without a clock")
	}
}
