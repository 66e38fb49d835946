package sqlstore_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// loadExecutions fills the tables with n executions that are over, one in a hundred with an
// answer or an unknown outcome, and n entries.
func loadExecutions(t testing.TB, db *sqlstore.DB, engine string, n int) {
	t.Helper()
	blob := map[string]string{"sqlite": "x'7b7d'", "postgres": "'{}'"}[engine]
	numbers := fmt.Sprintf("WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) ", n)
	err := db.Update(t.Context(), func(x *sqlstore.Tx) error {
		for _, query := range []string{
			numbers + `INSERT INTO executions (agent_id, execution_id, version, state, binding, preimage, action_timestamp, upstream, tool,
				timeout_ms, owner, epoch, call_id, created_at, touched_at, completed_at, is_error, ended)
				SELECT 'agent' || (n % 100), 'execution' || n, 3, CASE n % 100 WHEN 1 THEN 'outcome_unknown' ELSE 'succeeded' END, 'b', ` + blob + `, 't',
				  'bank', 'pay', 1, 'owner' || (n % 10), 1, 'call' || n, n, n, n, 0, 1 FROM s`,
			numbers + `INSERT INTO gateway_audit (seq, entry_sha256, agent_id, execution_id, line)
				SELECT n, 'e', 'agent' || (n % 100), CASE n % 2 WHEN 0 THEN 'execution' || n END, ` + blob + ` FROM s`,
			numbers + `INSERT INTO execution_epochs (owner, epoch, started_at, beat_at, dead_at) SELECT 'owner' || n, 1, n, n, n FROM s`,
			numbers + `INSERT INTO execution_findings (agent_id, execution_id, number, outcome, source, evidence_sha256, found_at, signed)
				SELECT 'agent' || (n % 100), 'execution' || n, 1, 'succeeded', 's', 'e', n, 'x' FROM s`,
			"UPDATE executions SET answer = " + blob + " WHERE touched_at % 100 = 2",
			"ANALYZE",
		} {
			if err := x.Exec(query); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wholeLog is what a plan says that reads a table of the gateway's from end to end.
var wholeLog = regexp.MustCompile(`(?m)(Seq Scan on|\bSCAN) (executions|gateway_audit|execution_epochs|execution_findings|x|e|f)\b(.*)$`)

// beyond is a plan that begins behind an id of an agent.
var beyond = regexp.MustCompile(`execution_id ?>|execution_id\) ?>`)

// owned are the rows that are reserved or dispatched: few, however many there were.
const owned = "executions_owned"

// TestExecutionPlans: every statement of a call, a sweep and a finding looks rows up by a key.
//
// covers EXA-020, EXA-063
func TestExecutionPlans(t *testing.T) {
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t)
			var mu sync.Mutex
			queries, on := map[string]bool{}, false
			db.OnQuery(func(query string) {
				mu.Lock()
				defer mu.Unlock()
				queries[query] = on
			})
			loadExecutions(t, db, name, size(t))
			on = true
			plannedCalls(t, db)
			seen := 0
			for query, hot := range queries {
				if verb, _, _ := strings.Cut(strings.TrimSpace(query), " "); !hot || !strings.Contains("SELECT INSERT UPDATE DELETE", verb) {
					continue
				}
				seen++
				plan, err := db.Explain(t.Context(), query, placeholders(query))
				if err != nil {
					t.Errorf("%s\n%v", query, err)
				}
				last := strings.HasSuffix(query, "ORDER BY seq DESC LIMIT 1") // which SQLite calls a scan
				if m := wholeLog.FindStringSubmatch(plan); m != nil && !last && !strings.Contains(m[3], owned) {
					t.Errorf("%s\n%s", query, plan)
				}
				if strings.Contains(query, "NOT IN") && !strings.Contains(plan, "executions_apart") { // a look at all that have succeeded
					t.Errorf("%s\n%s", query, plan)
				}
				if strings.Contains(query, "x.execution_id > ?") && !beyond.MatchString(plan) { // from an agent's first one on
					t.Errorf("%s\n%s", query, plan)
				}
			}
			if seen < 15 {
				t.Errorf("only %d statements were seen", seen)
			}
			// The control: what has no key is told apart.
			plan, err := db.Explain(t.Context(), "SELECT count(*) FROM executions WHERE reason = 'x'", 0)
			if err != nil || !wholeLog.MatchString(plan) {
				t.Errorf("a statement without a key has the plan\n%s (%v)", plan, err)
			}
		})
	}
}

// plannedCalls has each kind of statement sent.
func plannedCalls(t *testing.T, db *sqlstore.DB) {
	t.Helper()
	s := db.Executions()
	r := executions(t, db)
	for n, o := range []execution.Outcome{{State: execution.Succeeded, Answer: []byte("{}")}, {State: execution.OutcomeUnknown}} {
		c := numbered(t, n)
		for range 2 { // the second is a repeat
			p, _, _ := r.Admit(context.Background(), c)
			if p == nil {
				continue
			}
			if _, err := p.Finish(context.Background(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	unknown := execution.Key{Agent: numbered(t, 1).Agent, ID: numbered(t, 1).ID}
	_, found := r.Reconcile(t.Context(), execution.Reconciliation{Key: unknown, Outcome: execution.Succeeded, Evidence: []byte("e"), Source: "s"})
	_, shown := r.Show(t.Context(), unknown)
	_, listed := r.List(t.Context(), execution.Filter{State: execution.OutcomeUnknown, Silent: true}, 10)
	_, apart := r.List(t.Context(), execution.Filter{State: execution.Suspended, After: unknown}, 10)
	_, paged := r.List(t.Context(), execution.Filter{Agent: unknown.Agent, After: unknown}, 10)
	_, about := s.About(t.Context(), unknown, 10)
	_, forgot := s.Forget(t.Context(), loadedAt.Add(time.Hour), 1)
	_, log := s.AuditLog(t.Context(), 1<<40, 10)
	_, buried := s.Bury(t.Context(), execution.Owner{}, -time.Hour, loadedAt)
	for _, err := range []error{found, shown, listed, apart, paged, about, forgot, log, buried, r.Sweep(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
