package cli_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/registry"
)

// TestCrashRelease has registries in release mode on, whose timer runs out while the responder
// is down, and kills them, too: before or after the transaction that gives a hold back, or not
// at all. Where it is a race, the row decides it. At the end each unit is spent with an anchor,
// or booked, or returned, and no two of these.
//
// covers GC-194, GC-195, GC-304, GC-359
func TestCrashRelease(t *testing.T) {
	t.Parallel()
	settings := apart()
	settings["an RA in the responder's store"] = setting{newWorldShared, []string{centre.PointAfterAttempt, centre.PointAfterHold, centre.PointBeforeCommit}}
	for name, c := range settings {
		for _, e := range []engine{onSQLite, onPostgres} {
			t.Run(name+" on "+string(e), func(t *testing.T) {
				t.Parallel()
				w := c.world(t, e, "--release", "on")
				w.tolerated = "MAGNITUDE_EXHAUSTED"
				w.releases(t, seeded(t), c.points)
			})
		}
	}
}

// standing is how long holds are left to a registry that stand in any case.
const standing = 3 * holdTimeout

// releases kills the responder at a point and lets the timer run meanwhile; how long, and what
// becomes of the registries, is drawn.
func (w *world) releases(t *testing.T, r *rand.Rand, points []string) {
	t.Helper()
	sealed, died, missed := 0, 0, 0
	n := rounds(t)
	for round := range n {
		point := points[round%len(points)]
		if round < 2 { // whatever else is drawn, holds that stand are given back
			point = centre.PointAfterHold
		}
		deadly := ""
		if round%3 != 2 {
			deadly = killAt([]string{registry.PointBeforeRelease, registry.PointAfterRelease}[round%2], offset(r, round))
		}
		if w.registry != nil {
			w.serveRegistry(t, deadly)
		}
		w.serve(t, killAt(point, 0)) // later, and the race would be over
		cross := w.cross(t, "")
		if !w.responder.died(10 * time.Second) { // on a slow machine the timer is quicker, and nothing is left to commit
			w.responder.kill()
			missed++
		}
		pause := time.Duration(r.IntN(int(4 * holdTimeout)))
		if round < 2 {
			pause = standing // one sweep at least
		}
		died += w.meanwhile(t, deadly, pause, r.IntN(2) == 0)
		if w.settled(t, cross, fmt.Sprintf("round %d, %s, %s, %v", round, point, deadly, pause)) {
			sealed++
		}
	}
	t.Logf("%d sealed, %d returned, %d registries died", sealed, w.returned, died)
	if n > 1 && (w.returned == 0 || died == 0) {
		t.Errorf("%d crossings were given back, and %d registries died", w.returned, died)
	}
	if missed > n/2 {
		t.Errorf("in %d of %d rounds the responder has not reached its point", missed, n)
	}
}

// meanwhile serves the registries alone for a time, once more if they have died and again is
// set, and then everybody, without more deaths. It tells how many have died.
func (w *world) meanwhile(t *testing.T, deadly string, pause time.Duration, again bool) (died int) {
	t.Helper()
	died = w.alone(t, deadly, pause)
	if w.registry != nil {
		w.serveRegistry(t, "")
	}
	if died > 0 && again {
		w.alone(t, "", pause)
	}
	w.serve(t, "")
	return died
}

// alone serves the responder's RA, if it has one, beside the one that is not.
func (w *world) alone(t *testing.T, deadly string, pause time.Duration) (died int) {
	t.Helper()
	registries := []*process{w.registry}
	if w.apart == nil || w.apart[0] == w.a {
		w.responder.kill()
		w.responder = serve(t, deadly, w.b, w.addr, w.admin, "--roles", "ra")
		registries = append(registries, w.responder)
	}
	time.Sleep(pause)
	wait := time.Duration(0)
	switch {
	case deadly != "" && pause == standing:
		wait = patience // it will die, sooner or later
	case deadly != "" && pause > standing:
		wait = 5 * time.Second // if it is going to
	}
	for _, p := range registries {
		if p != nil && p.died(wait) {
			died++
		}
	}
	return died
}

// settled brings a crossing to its end: sealed, and then all is as settle has it, or given
// back.
func (w *world) settled(t *testing.T, cross *process, what string) (sealed bool) {
	t.Helper()
	code := cross.code(t)
	id := cross.id()
	for deadline := time.Now().Add(patience); code == 3; {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it does not end:\n%s", what, cross.stderr)
		}
		again := w.resume(t, id)
		if code = again.code(t); code == 3 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	switch code {
	case 0:
		w.settle(t, cross)
		return true
	case 1:
		w.wasReturned(t, id, what)
		return false
	}
	t.Fatalf("%s: it ends with %d:\n%s", what, code, cross.stderr)
	return false
}

// wasReturned looks at a crossing that has ended without a seal: it stays so, no trace of a
// seal is anywhere, and of its Closeds none is spent, and each draw has returned.
func (w *world) wasReturned(t *testing.T, id, what string) {
	t.Helper()
	if code := w.resume(t, id).code(t); code != 1 {
		t.Errorf("%s: refused, and resuming it ends with %d", what, code)
	}
	w.refusedSeals++
	w.returned++
	for _, dir := range []string{w.a, w.b, w.va} {
		w.count(t, dir, what, map[string]int{
			"SELECT count(*) FROM seals WHERE crossing_id = ?":                            0,
			"SELECT count(*) FROM anchors WHERE crossing_id = ?":                          0,
			"SELECT count(*) FROM projections WHERE crossing_id = ?":                      0,
			"SELECT count(*) FROM attempts WHERE crossing_id = ? AND state <> 'refused'":  0,
			"SELECT count(*) FROM crossings WHERE crossing_id = ? AND state <> 'refused'": 0,
		}, id)
	}
	n := len(w.ras())
	for _, dir := range w.ras() {
		w.count(t, dir, what, map[string]int{
			"SELECT count(*) FROM holds WHERE crossing_id = ? AND state = 'released'":   1,
			"SELECT count(*) FROM holds WHERE crossing_id = ?":                          1,
			"SELECT count(*) FROM closeds WHERE crossing_id = ? AND state = 'released'": 2 / n,
			"SELECT count(*) FROM closeds WHERE crossing_id = ?":                        2 / n,
		}, id)
		w.count(t, dir, what, map[string]int{wrongDraws: 0})
	}
	if t.Failed() {
		t.FailNow()
	}
}

func (w *world) count(t *testing.T, dir, what string, queries map[string]int, args ...any) {
	t.Helper()
	db := ledger(t, dir)
	defer db.Close()
	for query, want := range queries {
		var got int
		if err := db.QueryRow(query, args...).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %s at %s: %d, want %d", what, query, dir, got, want)
		}
	}
}
