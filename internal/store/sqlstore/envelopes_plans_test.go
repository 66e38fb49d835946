package sqlstore_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// loadEnvelopes fills the tables with n envelopes, of which one in a hundred is outstanding.
func loadEnvelopes(t testing.TB, db *sqlstore.DB, engine string, n int) {
	t.Helper()
	blob := map[string]string{"sqlite": "x'7b7d'", "postgres": "CAST('{}' AS BYTEA)"}[engine]
	numbers := fmt.Sprintf("WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) ", n)
	err := db.Update(t.Context(), func(x *sqlstore.Tx) error {
		for _, query := range []string{
			numbers + `INSERT INTO envelopes (digest, agent, session, decision_class, noted, closed, emitted_at, envelope, sidecar,
				resolution_digest, kind, option_idx, resolved_by, assurance, resolved_at)
				SELECT 'digest' || n, 'agent' || (n % 100), '', 'class' || (n % 100), 0, 1, n, CASE n % 100 WHEN 1 THEN ` + blob + ` WHEN 2 THEN ` + blob + ` END, ` + blob + `,
				  CASE n % 100 WHEN 1 THEN NULL ELSE 'r' END, CASE n % 100 WHEN 1 THEN NULL ELSE 'option' END, CASE n % 100 WHEN 1 THEN NULL ELSE 0 END,
				  'dana', 'client', CASE n % 100 WHEN 1 THEN NULL ELSE n END FROM s`,
			numbers + `INSERT INTO envelope_closures (agent, emitted_at, digest, hatch, reason)
				SELECT 'agent' || (n % 100), n, 'digest' || n, 'free_text', 'r' FROM s`,
			numbers + `INSERT INTO envelope_discards (agent, number, name, text_digest, discarded_by, discarded_at)
				SELECT 'agent' || (n % 100), n, 'RESOLUTION_TAKEN', 't', 'dana', n FROM s`,
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

// wholeLedger is what a plan says that reads a table of the ledger from end to end.
var wholeLedger = regexp.MustCompile(`(?m)(Seq Scan on|\bSCAN) (envelopes|envelope_closures|envelope_discards)\b`)

// TestEnvelopePlans: every statement of the ledger looks rows up by a key, however many envelopes
// there ever were.
//
// covers ENV-079, ENV-115
func TestEnvelopePlans(t *testing.T) {
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
			loadEnvelopes(t, db, name, size(t))
			on = true
			useLedger(t, db.Envelopes())
			seen := 0
			for query, hot := range queries {
				if verb, _, _ := strings.Cut(strings.TrimSpace(query), " "); !hot || !strings.Contains("SELECT INSERT UPDATE DELETE", verb) {
					continue
				}
				seen++
				plan, err := db.Explain(t.Context(), query, placeholders(query))
				if err != nil || wholeLedger.MatchString(plan) {
					t.Errorf("%s\n%s (%v)", query, plan, err)
				}
			}
			if seen < 14 {
				t.Errorf("only %d statements were seen", seen)
			}
			// The control: what has no key is told apart.
			plan, err := db.Explain(t.Context(), "SELECT count(*) FROM envelopes WHERE resolved_by = 'x'", 0)
			if err != nil || !wholeLedger.MatchString(plan) {
				t.Errorf("a statement without a key has the plan\n%s (%v)", plan, err)
			}
		})
	}
}

// useLedger has each kind of statement sent.
func useLedger(t *testing.T, s *sqlstore.Envelopes) {
	t.Helper()
	ctx := t.Context()
	e, err := envelope.Parse([]byte(`{"synopsis":"Release it.","findings":["a"],"recommendations":[],"offer":"Ask.","question":{"stem":"Which?",
		"options":[{"label":"One","reasoning":"r"},{"label":"Two","reasoning":"s"}],"recommended_idx":0,"hatches":{"free_text":false,"dialogue":true}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := envelope.Choose(e, 0)
	if err != nil {
		t.Fatal(err)
	}
	closed := []envelope.Closure{{Hatch: envelope.FreeText, Reason: "r"}}
	emitted := s.Emit(ctx, envelope.Emission{Envelope: e, Agent: "agent", Principal: "dana", At: loadedAt, Closed: closed})
	from := envelope.Arrival{Agent: "agent", By: "dana", At: loadedAt}
	_, settled := envelope.Settle(ctx, s, r.JSON(), from)
	_, _, taking := s.Taking(ctx, e.Digest())
	discarded := s.Discard(ctx, envelope.Discarded{Name: envelope.Taken, Agent: "agent1", Text: envelope.EvidenceDigest(nil), At: loadedAt})
	_, discards := s.Discards(ctx, "agent1", 10)
	_, listed := s.Closed(ctx, "agent", 10)
	_, ofAgent := s.RatesOfAgent(ctx, "agent1", loadedAt, envelope.RateConfig{})
	_, ofClass := s.RatesOfClass(ctx, "class1", loadedAt, envelope.RateConfig{})
	_, purged := s.Purge(ctx, loadedAt.Add(time.Hour), 1)
	for _, err := range []error{emitted, settled, taking, discarded, discards, listed, ofAgent, ofClass, purged} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
