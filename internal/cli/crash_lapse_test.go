package cli_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// TestCrashLapse kills an RA while its timer gives back the draws of Closeds that have expired
// unheld: all that a sweep finds returns together or not at all, at the end each draw once,
// with one audit row.
//
// covers GC-195, GC-366
func TestCrashLapse(t *testing.T) {
	t.Parallel()
	for _, e := range []engine{onSQLite, onPostgres} {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			const each = 16
			dir, r, n := filepath.Join(t.TempDir(), "B"), seeded(t), rounds(t)
			addr, admin := freePort(t), freePort(t)
			initialise(t, e, dir, "globex", "--release", "on")
			must(t, "mandate", "open", "--dir", dir, "--class", "irreversible", "--limit", wide, "--act", "engagement_code_issuance", "--counterparty", "*")
			db := writable(t, dir)
			window := map[engine]time.Duration{onSQLite: 5, onPostgres: 40}[e] // a sweep takes longer there
			early, late, before := 0, 0, 0
			for round := range n {
				expire(t, db, round, each)
				p := serve(t, killAt(registry.PointBeforeLapse, window*offset(r, round)), dir, addr, admin, "--roles", "ra")
				if !p.died(patience) {
					t.Fatalf("round %d: the point is not reached:\n%s", round, p.stderr)
				}
				after := released(t, db, wrongDraws, 0)
				switch after {
				case before:
					early++
				case min(before+registry.SweepLimit, each*(round+1)):
					late++
				default:
					t.Fatalf("round %d: %d draws have returned, and %d before it", round, after, before)
				}
				before = after
			}
			t.Logf("%d before the commit, %d after it", early, late)
			p := serve(t, "", dir, addr, admin, "--roles", "ra")
			defer p.kill()
			for deadline := time.Now().Add(patience); released(t, db, wrongDraws, 0) < each*n; {
				if time.Now().After(deadline) {
					t.Fatal("the rest does not return")
				}
				time.Sleep(20 * time.Millisecond)
			}
			released(t, db, "SELECT drawn FROM opens", 0)
			released(t, db, "SELECT count(*) FROM registry_audit WHERE operation = 'lapse'", each*n)
			released(t, db, "SELECT count(DISTINCT subject) FROM registry_audit WHERE operation = 'lapse'", each*n)
		})
	}
}

// writable is the directory's database, for a test that ages what is in it.
func writable(t *testing.T, dir string) *book {
	t.Helper()
	b := ledger(t, dir)
	if !b.postgres {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		if b.DB, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "bindery.db")+"?_pragma=busy_timeout(60000)"); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// expire registers Closeds of one unit each that have expired.
func expire(t *testing.T, b *book, round, n int) {
	t.Helper()
	for i := range n {
		hash := jcs.HexOf([]byte(fmt.Sprint("closed ", round, " ", i)))
		for _, query := range []string{
			`INSERT INTO closeds (token_sha256, signed_sha256, open_mandate_hash, principal_id, agent_id, counterparty_agent, chain_id, crossing_id,
			   magnitude_limit, draw, state, expires_at, receipt, registered_at)
			 SELECT '` + string(hash) + `', 's' || '` + string(hash) + `', open_mandate_hash, principal_id, agent_id, 'urn:anax:agent:x', 'chain', 'crossing',
			   1, 1, 'active', 1, 'receipt', 1 FROM opens`,
			"UPDATE opens SET drawn = drawn + 1",
		} {
			if _, err := b.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// released fails the test unless the query finds want, and counts the draws that have returned.
func released(t *testing.T, b *book, query string, want int) (n int) {
	t.Helper()
	var got int
	if err := b.QueryRow(query).Scan(&got); err != nil || got != want {
		t.Fatalf("%s: %d, want %d, %v", query, got, want, err)
	}
	if err := b.QueryRow("SELECT count(*) FROM closeds WHERE state = 'released'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
