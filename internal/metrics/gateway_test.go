package metrics_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/metrics"
)

func TestGatewayCounts(t *testing.T) {
	m := newMetrics(t, metrics.Config{})
	status := execution.Status{}
	g := m.WatchGateway([]string{"pay", "files-2.x"}, func() execution.Status { return status })
	m.WatchTraces(func() int64 { return 7 })
	has(t, scrape(t, m), "bindery_execution_active 0", `bindery_execution_attempts_total{state="outcome_unknown"} 0`, "bindery_gateway_joined_total 0",
		`bindery_gateway_upstream_seconds_count{upstream="pay"} 0`, `bindery_gateway_audit_entries_total{result="missing"} 0`,
		`bindery_execution_swept_total{state="outcome_unknown"} 0`, `bindery_gateway_refusals_total{name="EXECUTION_OUTCOME_UNKNOWN"} 0`,
		`bindery_execution_admissions_total{verdict="permit"} 0`, "bindery_traces_dropped_total 7")

	g.Observe(gateway.Observation{Upstream: "files-2.x", Method: "tools/call", Tool: "read", Status: 200, Took: 5 * time.Millisecond, Waited: 3 * time.Millisecond})
	g.Observe(gateway.Observation{Upstream: "pay", Method: "tools/call", Tool: "charge", Bound: true, State: "succeeded", Joined: true, Took: time.Second})
	g.Observe(gateway.Observation{Upstream: "pay", Method: "tools/call", Tool: "charge", Bound: true, State: "succeeded", Refusal: "EXECUTION_REPLAY"})
	g.Observe(gateway.Observation{Upstream: "pay", Method: "tools/call", Tool: "charge", Bound: true, State: "outcome_unknown", Took: time.Second, Waited: 2 * time.Second})
	g.Observe(gateway.Observation{Method: "initialize"})
	g.Observe(gateway.Observation{Upstream: "pay", Method: "GET", Took: time.Hour})
	g.Admitted("permit")
	g.Admitted("left")
	g.Admitted("EXECUTION_COLLISION")
	g.Settled(execution.OutcomeUnknown, 3*time.Second)
	g.Noted(5, 2)
	g.Swept(execution.OutcomeUnknown)
	g.Buried(2)
	status = execution.Status{Active: true, Heartbeat: 2500 * time.Millisecond, UnderWay: 3, Waiting: 4, Unstored: 1}
	has(t, scrape(t, m),
		`bindery_gateway_messages_total{kind="call",outcome="passed",upstream="files-2.x"} 1`,
		`bindery_gateway_messages_total{kind="bound_call",outcome="succeeded",upstream="pay"} 1`,
		`bindery_gateway_messages_total{kind="bound_call",outcome="refused",upstream="pay"} 1`,
		`bindery_gateway_messages_total{kind="bound_call",outcome="outcome_unknown",upstream="pay"} 1`,
		`bindery_gateway_messages_total{kind="initialize",outcome="passed",upstream="other"} 1`,
		`bindery_gateway_messages_total{kind="stream",outcome="passed",upstream="pay"} 1`,
		`bindery_gateway_refusals_total{name="EXECUTION_REPLAY"} 1`, "bindery_gateway_joined_total 1",
		`bindery_gateway_upstream_seconds_count{upstream="files-2.x"} 1`, `bindery_gateway_upstream_seconds_sum{upstream="files-2.x"} 0.003`,
		`bindery_gateway_added_seconds_sum{bound="no"} 0.002`, `bindery_gateway_added_seconds_count{bound="no"} 2`, `bindery_gateway_added_seconds_sum{bound="yes"} 1`,
		`bindery_execution_admissions_total{verdict="permit"} 1`, `bindery_execution_admissions_total{verdict="left"} 1`, `bindery_execution_admissions_total{verdict="EXECUTION_COLLISION"} 1`,
		`bindery_execution_attempts_total{state="outcome_unknown"} 1`, "bindery_execution_attempt_seconds_sum 3",
		`bindery_gateway_audit_entries_total{result="written"} 5`, `bindery_gateway_audit_entries_total{result="missing"} 2`,
		`bindery_execution_swept_total{state="outcome_unknown"} 1`, "bindery_execution_epochs_dead_total 2",
		"bindery_execution_active 1", "bindery_execution_heartbeat_age_seconds 2.5", "bindery_execution_attempts_under_way 3",
		"bindery_execution_outcomes_unstored 1", "bindery_gateway_audit_waiting 4",
	)
}

// TestGatewayLabelsAreBounded: nothing that a client writes gets into a label, and no number of
// clients makes the list longer.
func TestGatewayLabelsAreBounded(t *testing.T) {
	m := newMetrics(t, metrics.Config{})
	g := m.WatchGateway([]string{"pay"}, func() execution.Status { return execution.Status{} })
	g.Observe(gateway.Observation{Upstream: "pay", Took: 2, Waited: 1, Bound: true, Refusal: "EXECUTION_REPLAY"})
	for _, word := range []string{"key:billing", "order-7", strings.Repeat("ab", 32), "bnk_AAAA", "tools/hack", "\xff\"\n", "192.0.2.1", "sha256:aa", "SECRET", ""} {
		g.Observe(gateway.Observation{Upstream: word, Method: word, Tool: word, ExecutionID: word, State: word, Refusal: word, Bound: true, Joined: true, Took: 2, Waited: 1})
		g.Observe(gateway.Observation{Upstream: word, Method: word, Tool: word, ExecutionID: word, State: word, Took: 2, Waited: 1})
		g.Observe(gateway.Observation{Method: "tools/call", Tool: word, ExecutionID: word, State: word, Bound: true})
		g.Admitted(word)
		g.Settled(execution.State(word), 1)
		g.Swept(execution.State(word))
	}
	text := scrape(t, m)
	label := regexp.MustCompile(`="([^"]*)"`)
	word := regexp.MustCompile(`^([a-z_]+|[A-Z_]+|[0-9.e+-]+|\+Inf)$`)
	for _, found := range label.FindAllStringSubmatch(text, -1) {
		if !word.MatchString(found[1]) || found[1] == "SECRET" {
			t.Errorf("label %q", found[1])
		}
	}
	hasNot(t, text, "billing", "order", "abab", "bnk", "hack", "192.0", "SECRET")
	if n := strings.Count(text, "\n"); n > 260 {
		t.Errorf("%d lines", n)
	}
}

// TestGatewayAgain: a gateway that is opened again, as when its first configuration was wrong.
func TestGatewayAgain(t *testing.T) {
	m := newMetrics(t, metrics.Config{})
	for i, names := range [][]string{{"pay"}, {"files"}} {
		g := m.WatchGateway(names, func() execution.Status { return execution.Status{Waiting: i + 1} })
		m.WatchTraces(func() int64 { return int64(i) })
		g.Observe(gateway.Observation{Upstream: "pay", Method: "tools/call"})
	}
	has(t, scrape(t, m), `bindery_gateway_messages_total{kind="call",outcome="passed",upstream="pay"} 1`,
		`bindery_gateway_messages_total{kind="call",outcome="passed",upstream="other"} 1`, "bindery_gateway_audit_waiting 2", "bindery_traces_dropped_total 1")
}
