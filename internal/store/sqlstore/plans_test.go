package sqlstore_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const partyPrefix = "urn:anax:principal:"

var loadedAt = time.UnixMilli(1_786_000_000_000)

// load fills the tables with n Opens, n Closeds and n/2 spent pairs, by raw statements, in
// parts that no limit of a server's is too short for.
func load(t testing.TB, db *sqlstore.DB, n int) {
	t.Helper()
	exec := func(queries ...string) {
		t.Helper()
		err := db.Update(t.Context(), func(x *sqlstore.Tx) error {
			for _, query := range queries {
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
	exec(`INSERT INTO principals (principal_id, name, status, clearance_id_hash, trust_basis, agc_level, created_at)
		VALUES ('urn:anax:principal:a', 'A', 'active', 'c', 'self_declared', 0, 0), ('urn:anax:principal:b', 'B', 'active', 'c', 'self_declared', 0, 0)`)
	const part = 10_000
	for from := 1; from <= n; from += part {
		numbers := fmt.Sprintf("WITH RECURSIVE s(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM s WHERE n < %d) ", from, min(from+part-1, n))
		exec(numbers+`INSERT INTO opens (open_mandate_hash, token_sha256, signed_sha256, principal_id, agent_id, class,
			  magnitude_limit, expires_at, receipt, registered_at)
			SELECT 'open' || n, 'opentoken' || n, 'opensigned' || n, CASE n % 2 WHEN 0 THEN 'urn:anax:principal:a' ELSE 'urn:anax:principal:b' END, 'agent' || (n % 1000),
			  'irreversible', 1000000, 2000000000000, 'receipt', n FROM s`,
			numbers+`INSERT INTO open_tokens (open_mandate_hash, token) SELECT 'open' || n, 'token' FROM s`,
			numbers+`INSERT INTO closeds (token_sha256, signed_sha256, open_mandate_hash, principal_id, agent_id, counterparty_agent,
			  chain_id, crossing_id, magnitude_limit, state, expires_at, receipt, registered_at)
			SELECT 'closed' || n, 'closedsigned' || n, 'open' || n, CASE n % 2 WHEN 0 THEN 'urn:anax:principal:a' ELSE 'urn:anax:principal:b' END, 'agent' || (n % 1000),
			  'agent' || (n % 997), 'chain' || (n / 2), 'crossing' || (n / 2), 1, 'consumed', 2000000000000, 'receipt', n FROM s`,
			numbers+`INSERT INTO holds (crossing_id, initiator_token, responder_token, half, effector, state, held_receipt, final_receipt,
			  held_at, lapses_at, decided_at)
			SELECT 'crossing' || (n / 2), 'closed' || n, 'closed' || (n - 1), '', 'urn:anax:principal:b', 'spent', 'held', 'spent', n, n, n FROM s WHERE n % 2 = 0`)
	}
	exec("ANALYZE")
}

// cross registers a pair under two Opens of its own, holds and confirms it, and asks for it.
func cross(t testing.TB, s registry.Store, i int) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	name := func(what string) jcs.Hex256 { return jcs.HexOf([]byte(fmt.Sprint(what, i))) }
	crossing := fmt.Sprintf("00000000-0000-4000-8000-%012x", i)
	limit := commitment.Amount{Class: commitment.Irreversible, Magnitude: 5}
	until := loadedAt.Add(time.Hour)
	pair := [2]registry.Closed{}
	for side, principal := range []string{"a", "b"} {
		open := name("open" + principal)
		_, err := s.AddOpen(ctx, registry.Open{
			OpenHash: open, TokenHash: name("ot" + principal), SignedHash: name("os" + principal), PrincipalID: partyPrefix + principal,
			AgentID: "agent-" + principal, Limit: limit, ExpiresAt: until, Token: "token", Receipt: "r", At: loadedAt,
		})
		check(err)
		pair[side] = registry.Closed{
			TokenHash: name("ct" + principal), SignedHash: name("cs" + principal), OpenHash: open, PrincipalID: partyPrefix + principal,
			AgentID: "agent-" + principal, CounterpartyAgent: "agent-" + string("ba"[side]), ChainID: name("chain"), CrossingID: crossing,
			Limit: 1, Draw: 1, ExpiresAt: until, Receipt: "r", At: loadedAt,
		}
		_, err = s.AddClosed(ctx, pair[side])
		check(err)
		_, err = s.FindOpen(ctx, open)
		check(err)
		_, err = s.FindClosed(ctx, pair[side].TokenHash)
		check(err)
		_, err = s.Active(ctx, pair[side].TokenHash, loadedAt)
		check(err)
	}
	triple := mandate.Triple{CrossingID: crossing, InitiatorToken: pair[0].TokenHash, ResponderToken: pair[1].TokenHash}
	_, err := s.Hold(ctx, registry.Hold{Triple: triple, Effector: partyPrefix + "b", Receipt: "held", At: loadedAt})
	check(err)
	_, err = s.Confirm(ctx, registry.Confirmation{Triple: triple, Effector: partyPrefix + "b", Receipt: "spent", At: loadedAt})
	check(err)
	_, _, err = s.Spent(ctx, triple)
	check(err)
}

// size is how many mandates stand in the tables: BINDERY_MANDATES, or enough for a planner
// to care.
func size(t testing.TB) int {
	n, err := strconv.Atoi(os.Getenv("BINDERY_MANDATES"))
	if err != nil {
		return 10_000
	}
	return n
}

// placeholders counts those of a query on either engine.
func placeholders(query string) (most int) {
	for _, m := range regexp.MustCompile(`[?$]([0-9]*)`).FindAllStringSubmatch(query, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			most = max(most, n)
		} else {
			most++
		}
	}
	return most
}

// wholeTable is what a plan says that reads a table of mandates from end to end, or an
// index of one.
var wholeTable = regexp.MustCompile(`(?m)(Seq Scan on|\bSCAN) (opens|closeds|holds|open_tokens|o|c|h)\b.*$`)

// TestPlans: every statement between a registration and a status looks mandates up by a
// key, however many there are.
//
// covers GC-192, GC-194
func TestPlans(t *testing.T) {
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
			load(t, db, size(t))
			on = true
			cross(t, db.Registry(), 1)
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
				if line := wholeTable.FindString(plan); line != "" {
					t.Errorf("%s\n%s", query, plan)
				}
			}
			if seen < 15 {
				t.Errorf("only %d statements were seen", seen)
			}
			// The control: what has no key is told apart.
			plan, err := db.Explain(t.Context(), "SELECT count(*) FROM closeds WHERE receipt = 'x'", 0)
			if err != nil || !wholeTable.MatchString(plan) {
				t.Errorf("a statement without a key has the plan\n%s (%v)", plan, err)
			}
		})
	}
}

// engines open a new, empty database each, one that syncs as in earnest where it is measured.
func engines() map[string]func(t testing.TB) *sqlstore.DB {
	opened := func(t testing.TB, db *sqlstore.DB, err error) *sqlstore.DB {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	return map[string]func(t testing.TB) *sqlstore.DB{
		"sqlite": func(t testing.TB) *sqlstore.DB {
			db, err := sqlite.Open(t.Context(), sqlitetest.Path(t))
			return opened(t, db, err)
		},
		"postgres": func(t testing.TB) *sqlstore.DB {
			url := pgtest.Store
			if _, measured := t.(*testing.B); measured {
				url = func(t testing.TB) string { return pgtest.Durable(t).URL(t) }
			}
			db, err := postgres.Open(t.Context(), url(t))
			return opened(t, db, err)
		},
	}
}
