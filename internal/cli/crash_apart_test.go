package cli_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/centre"
)

// TestCrashApart kills the responder at every point of its way to a seal where the RA is
// elsewhere, and where each party has one: between its calls, and between the last of them and
// its own transaction. Whatever an RA has spent by then is spent for a seal, which comes about
// when the responder is back.
//
// covers GC-131, GC-359
func TestCrashApart(t *testing.T) {
	t.Parallel()
	for name, c := range apart() {
		for _, e := range []engine{onSQLite, onPostgres} {
			t.Run(name+" on "+string(e), func(t *testing.T) {
				t.Parallel()
				c.world(t, e).crashAt(t, c.points)
			})
		}
	}
}

// A setting is where the RAs are, and where the responder can be killed on its way to a seal.
type setting struct {
	world  func(t *testing.T, e engine, more ...string) *world
	points []string
}

// apart are the settings in which the responder's commit does not span all RAs.
func apart() map[string]setting {
	return map[string]setting{
		"one RA elsewhere": {newWorldElsewhere, []string{
			centre.PointAfterAttempt, centre.PointAfterHold, centre.PointAfterConfirm, centre.PointBeforeCommit, centre.PointAfterSeal,
		}},
		"an RA each": {newWorldOfTwoRAs, []string{
			centre.PointAfterAttempt, centre.PointAfterHold, centre.PointAfterFirstConfirm, centre.PointAfterConfirm, centre.PointBeforeCommit, centre.PointAfterSeal,
		}},
	}
}

// TestCrashRegistry kills the RA that is none of the responder's, at any moment of a crossing.
// Once the attempt is open, an RA that gives no answer is never a refusal; before that, a check
// that needs its word has failed, and then nothing is held.
//
// covers GC-304, GC-359
func TestCrashRegistry(t *testing.T) {
	t.Parallel()
	for name, c := range apart() {
		for _, e := range []engine{onSQLite, onPostgres} {
			t.Run(name+" on "+string(e), func(t *testing.T) {
				t.Parallel()
				r, n := seeded(t), rounds(t)
				w := c.world(t, e)
				for range n {
					cross := w.cross(t, "")
					w.killRegistry(t, r)
					if w.unbegun(t, cross) {
						continue
					}
					w.settle(t, cross)
				}
			})
		}
	}
}

// killRegistry ends the RA a little later, and starts it again.
func (w *world) killRegistry(t *testing.T, r *rand.Rand) {
	t.Helper()
	time.Sleep(time.Duration(r.IntN(80_000)) * time.Microsecond)
	w.serveRegistry(t, "")
}

// unbegun reports whether a crossing has ended before anything was held: it had not begun, or
// a check could not be made (GC-304).
func (w *world) unbegun(t *testing.T, cross *process) bool {
	t.Helper()
	code, id := cross.code(t), cross.id()
	switch {
	case id == "":
		return true
	case code == 0 || code == 3:
		return false
	case code != 1:
		t.Fatalf("cross ends with %d:\n%s", code, cross.stderr)
	}
	for _, dir := range slices.Compact(append(slices.Clone(w.ras()), w.b)) {
		db := ledger(t, dir)
		defer db.Close()
		var held int
		err := db.QueryRow(`SELECT (SELECT count(*) FROM holds WHERE crossing_id = ?1) + (SELECT count(*) FROM seals WHERE crossing_id = ?1)
			+ (SELECT count(*) FROM anchors WHERE crossing_id = ?1)`, id).Scan(&held)
		if err != nil || held != 0 {
			t.Fatalf("%s: refused, and %d rows of it at %s, %v:\n%s", id, held, dir, err, cross.stderr)
		}
		if dir == w.b {
			var refused int
			if err := db.QueryRow("SELECT count(*) FROM attempts WHERE crossing_id = ? AND state = 'refused'", id).Scan(&refused); err != nil {
				t.Fatal(err)
			}
			w.refusedSeals += refused
		}
	}
	return true
}
