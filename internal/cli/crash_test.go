package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bindery/bindery/a2acrossing"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
)

// rounds is how often each point is visited.
func rounds(t *testing.T) int {
	t.Helper()
	if s := os.Getenv("BINDERY_SOAK"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("BINDERY_SOAK is %q", s)
		}
		return n
	}
	if testing.Short() {
		return 2
	}
	return 12
}

// seeded is the source of the offsets; BINDERY_SEED repeats a run.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("BINDERY_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("BINDERY_SEED is %q", s)
		}
	}
	t.Logf("BINDERY_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// offset is how long the program goes on after the point: not at all in every third
// round, else up to four milliseconds.
func offset(r *rand.Rand, round int) time.Duration {
	if round%3 == 0 {
		return 0
	}
	return time.Duration(1+r.IntN(4000)) * time.Microsecond
}

func killAt(point string, after time.Duration) string {
	return fmt.Sprintf("BINDERY_KILL_AT=%s+%d", point, after.Microseconds())
}

// TestCrashResponder kills the responder, its RA and its VA with it, at every point of
// its way to a seal. The initiator meanwhile waits, or gives up as one who cannot tell.
// Afterwards the crossing is resumed: one seal, one anchor and one position a party,
// both Closeds spent once.
//
// covers GC-068, GC-131, GC-313, GC-359
func TestCrashResponder(t *testing.T) {
	t.Parallel()
	for e, points := range map[engine][]string{
		onSQLite: {
			centre.PointBeforeAttempt, centre.PointAfterAttempt, centre.PointAfterHold, centre.PointBeforeCommit, centre.PointAfterSeal,
			centre.PointBeforeReply,
		},
		onPostgres: {centre.PointAfterAttempt, centre.PointAfterHold, centre.PointBeforeCommit, centre.PointAfterSeal},
	} {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			newWorldShared(t, e).crashAt(t, points)
		})
	}
}

// crashAt kills the responder at each of the points, and each time settles the crossing.
func (w *world) crashAt(t *testing.T, points []string) {
	t.Helper()
	r, n := seeded(t), rounds(t)
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			for round := range n {
				w.serve(t, killAt(point, offset(r, round)))
				cross := w.cross(t, "")
				if !w.responder.died(patience) {
					t.Fatalf("round %d: the responder has not reached %s:\n%s", round, point, cross.stderr)
				}
				w.serve(t, "")
				if code := cross.code(t); code != 0 && code != 3 {
					t.Fatalf("round %d: cross ends with %d:\n%s", round, code, cross.stderr)
				}
				w.settle(t, cross)
			}
		})
	}
}

// TestCrashInitiator kills the initiator's process at every point between its durable
// steps, while the responder stays up.
//
// covers GC-269, GC-313
func TestCrashInitiator(t *testing.T) {
	t.Parallel()
	r, n := seeded(t), rounds(t)
	w := newWorld(t)
	w.serve(t, "")
	died := 0
	for _, point := range []string{centre.PointAfterP2, centre.PointAfterP3, centre.PointAfterReply, centre.PointBeforePublication} {
		t.Run(point, func(t *testing.T) {
			for round := range n {
				after := offset(r, round)
				cross := w.cross(t, killAt(point, after))
				switch code := cross.code(t); {
				case code == killed:
					died++
				case code != 0 || after == 0:
					t.Fatalf("round %d: cross ends with %d:\n%s", round, code, cross.stderr)
				}
				if round%6 == 1 {
					untilSecond(5 * time.Millisecond)
				}
				w.settle(t, cross)
			}
		})
	}
	if died == 0 && !t.Failed() {
		t.Error("no process has died")
	}
}

// TestCrashAnywhere kills either side from outside, at any moment of a crossing. A
// crossing that had begun can be finished, whatever it was doing; only where the RA gave
// no answer to a check of P1 or P3 the check has failed, and then nothing is consumed.
//
// covers GC-269, GC-304, GC-313
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	r, n := seeded(t), rounds(t)
	w := newWorld(t)
	for round := range n {
		w.serve(t, "")
		cross := w.cross(t, "")
		time.Sleep(time.Duration(r.IntN(60_000)) * time.Microsecond)
		if round%2 == 0 {
			cross.kill()
		} else {
			w.responder.kill()
			w.serve(t, "")
		}
		code := cross.code(t)
		if cross.id() == "" {
			if code != 0 && code != 2 && code != killed {
				t.Fatalf("round %d: cross ends with %d:\n%s", round, code, cross.stderr)
			}
			continue // it had not begun
		}
		if code == 1 && round%2 == 1 && strings.Contains(cross.stderr.String(), "bindery: refused: MANDATE_INVALID") {
			w.refused(t, cross)
			continue
		}
		if code != 0 && code != 3 && code != killed {
			t.Fatalf("round %d: cross ends with %d:\n%s", round, code, cross.stderr)
		}
		w.settle(t, cross)
	}
}

// refused looks at a crossing that its initiator has refused: it stays so, and nothing
// of it is consumed, attempted or sealed.
func (w *world) refused(t *testing.T, cross *process) {
	t.Helper()
	id := cross.id()
	if code := w.resume(t, id).code(t); code != 1 {
		t.Errorf("%s: refused, and resuming it ends with %d", id, code)
	}
	b := ledger(t, w.b)
	defer b.Close()
	var rows int
	err := b.QueryRow(`SELECT (SELECT count(*) FROM attempts WHERE crossing_id = ?1) + (SELECT count(*) FROM holds WHERE crossing_id = ?1)
		+ (SELECT count(*) FROM seals WHERE crossing_id = ?1) + (SELECT count(*) FROM anchors WHERE crossing_id = ?1)
		+ (SELECT count(*) FROM projections WHERE crossing_id = ?1)`, id).Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	if rows != 0 {
		t.Fatalf("%s: refused by its initiator, and yet under way:\n%s", id, cross.stderr)
	}
	for _, dir := range w.ras() {
		ra := ledger(t, dir)
		defer ra.Close()
		if err := ra.QueryRow("SELECT count(*) FROM holds WHERE crossing_id = ?", id).Scan(&rows); err != nil || rows != 0 {
			t.Fatalf("%s: refused by its initiator, and %d holds at %s, %v", id, rows, dir, err)
		}
	}
}

// TestCrashAlone kills the responder after it has opened an attempt, and the initiator
// with it. The responder ends what it has begun when it is back, without being asked:
// the seal resolves while the initiator is still away.
//
// covers GC-359
func TestCrashAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, point := range []string{centre.PointAfterAttempt, centre.PointAfterHold, centre.PointAfterSeal} {
		w.serve(t, killAt(point, 0))
		cross := w.cross(t, "")
		if !w.responder.died(patience) {
			t.Fatalf("the responder has not reached %s:\n%s", point, cross.stderr)
		}
		cross.kill()
		w.serve(t, "")
		deadline := time.Now().Add(patience)
		for w.asked(t, cross.id()).Checks["resolves"] != true {
			if time.Now().After(deadline) {
				t.Fatalf("%s: nothing resolves", point)
			}
			time.Sleep(10 * time.Millisecond)
		}
		untilSecond(5 * time.Millisecond)
		w.settle(t, cross)
	}
}

// untilSecond waits for the turn of a second, or so much before or after it. From then on
// a record that is built anew has another sealed_at, and so another joint seal, than the
// one that was sent (design C5).
func untilSecond(after time.Duration) {
	now := time.Now()
	turn := now.Truncate(time.Second).Add(time.Second + after)
	if turn.Before(now) {
		turn = turn.Add(time.Second)
	}
	time.Sleep(turn.Sub(now))
}

// TestCrashNoAuthorities resumes while the RA or the VA gives no answer, and the
// counterparty does: that is never a refusal, and once they answer again the crossing
// ends well.
//
// covers GC-313
func TestCrashNoAuthorities(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct{ point, silent string }{
		{centre.PointAfterP3, "ra"},
		{centre.PointAfterReply, "va"},
		{centre.PointBeforePublication, "va"},
	} {
		cross := w.cross(t, killAt(c.point, 0))
		if code := cross.code(t); code != killed {
			t.Fatalf("%s: cross ends with %d:\n%s", c.point, code, cross.stderr)
		}
		restore := silence(t, w.a, c.silent)
		again := w.resume(t, cross.id())
		if code := again.code(t); code != 3 {
			t.Errorf("%s, no %s: resuming ends with %d:\n%s", c.point, c.silent, code, again.stderr)
		}
		restore()
		w.settle(t, cross)
	}
}

// TestCrashManyResume has several processes resume one crossing at once, around the turn
// of a second, where each may build a record of its own. Whoever is slower may not be
// able to tell, but nobody takes the crossing for refused.
//
// covers GC-313
func TestCrashManyResume(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	w := newWorld(t)
	w.tolerated = "SEAL_MISMATCH" // of a record that is not the one that was sealed
	for _, point := range []string{centre.PointAfterP2, centre.PointAfterP3, centre.PointAfterReply} {
		cross := w.cross(t, killAt(point, 0))
		if code := cross.code(t); code != killed {
			t.Fatalf("%s: cross ends with %d:\n%s", point, code, cross.stderr)
		}
		untilSecond(-40 * time.Millisecond)
		var all []*process
		for range 6 {
			all = append(all, w.resume(t, cross.id()))
			time.Sleep(time.Duration(r.IntN(12_000)) * time.Microsecond)
		}
		for _, p := range all {
			if code := p.code(t); code != 0 && code != 3 {
				t.Errorf("%s: one of many ends with %d:\n%s", point, code, p.stderr)
			}
		}
		w.settle(t, cross)
	}
}

// silence points a directory's RA or VA to where nobody answers.
func silence(t *testing.T, dir, authority string) (restore func()) {
	t.Helper()
	path := filepath.Join(dir, "config.json")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(before, &c); err != nil {
		t.Fatal(err)
	}
	c[authority].(map[string]any)["url"] = "http://127.0.0.1:1"
	changed, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(path, changed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTwiceAtOnce sends the same P2 several times at once, as an initiator does that
// dies and comes back while its first message is still on the way: all get the one
// answer.
//
// covers GC-269
func TestTwiceAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	peer, err := a2acrossing.Discover(ctx, a2acrossing.PeerConfig{}, "http://"+w.addr)
	if err != nil {
		t.Fatal(err)
	}
	p1 := &crossing.P1{
		Closing: "agent", OpenMandate: w.open, Party: profile(t, w.a), IntendedClass: "irreversible",
		IntendedAct: "engagement_code_issuance", ActProfile: commitment.Builtin().Digest(),
	}
	for round := range 5 {
		task, err := peer.Exchange(ctx, "", "", p1.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if task.State != crossing.MandatesPending {
			t.Fatalf("P1 ends in %s: %s", task.State, task.Answer)
		}
		terms, refusal := crossing.ParseTerms([]byte(`{"terms_version":"1"}`))
		if refusal != nil {
			t.Fatal(refusal)
		}
		p2 := &crossing.P2{
			CrossingID: fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", round), TermsDocument: terms.Text(), AgreementHash: terms.Hash(),
		}
		answers := make(chan string, 8)
		for range cap(answers) {
			go func() {
				task, err := peer.Exchange(ctx, task.ID, task.ContextID, p2.Bytes())
				if err != nil {
					answers <- err.Error()
					return
				}
				answers <- string(task.State) + " " + string(task.Answer)
			}()
		}
		first := <-answers
		if !strings.HasPrefix(first, string(crossing.TermsProposed)+" ") {
			t.Errorf("round %d: %s", round, first)
		}
		for range cap(answers) - 1 {
			if other := <-answers; other != first {
				t.Errorf("round %d: one got %s\nand another %s", round, first, other)
			}
		}
	}
}

// profile is what a directory's party says of itself at P1.
func profile(t *testing.T, dir string) crossing.Profile {
	t.Helper()
	var c struct {
		Principal string `json:"principal"`
		AgentID   string `json:"agent_id"`
		Clearance struct {
			TrustBasis string `json:"trust_basis"`
			AGCLevel   int64  `json:"agc_level"`
		} `json:"clearance"`
	}
	var s struct {
		ClearanceID string `json:"clearance_id"`
	}
	for name, into := range map[string]any{"config.json": &c, "secrets.json": &s} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return crossing.Profile{
		PrincipalID: c.Principal, AgentID: c.AgentID, ClearanceIDHash: jcs.HexOf([]byte(s.ClearanceID)),
		TrustBasis: c.Clearance.TrustBasis, AGCLevel: c.Clearance.AGCLevel,
	}
}

// TestCrashAuthority has the authority apart from the responder, and kills either: the
// authority at any moment, the responder between its commit and the publication.
//
// covers GC-313, GC-359
func TestCrashAuthority(t *testing.T) {
	t.Parallel()
	r, n := seeded(t), rounds(t)
	w := newWorldOfThree(t)
	for round := range n {
		var cross *process
		if round%2 == 0 {
			cross = w.cross(t, "")
			time.Sleep(time.Duration(r.IntN(60_000)) * time.Microsecond)
			w.serveAuthority(t)
		} else {
			point := []string{centre.PointAfterSeal, centre.PointBeforeReply}[r.IntN(2)]
			w.serve(t, killAt(point, offset(r, round)))
			cross = w.cross(t, "")
			if !w.responder.died(patience) {
				t.Fatalf("round %d: the responder has not reached %s:\n%s", round, point, cross.stderr)
			}
			w.serve(t, "")
		}
		if code := cross.code(t); code != 0 && code != 3 {
			t.Fatalf("round %d: cross ends with %d:\n%s", round, code, cross.stderr)
		}
		w.settle(t, cross)
	}
}

// TestCrashStaysDown leaves the responder down after it has consumed both Closeds: the
// first command gives up, the second cannot tell either, and neither concludes anything.
// When the responder is back, the crossing ends as one seal.
//
// covers GC-313, GC-359
func TestCrashStaysDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve(t, killAt(centre.PointAfterHold, 0))
	cross := w.cross(t, "")
	if !w.responder.died(patience) {
		t.Fatalf("the responder lives:\n%s", cross.stderr)
	}
	if code := cross.code(t); code != 3 || !strings.Contains(cross.stderr.String(), "resume it with: bindery cross --dir "+w.a+" --crossing-id "+cross.id()) {
		t.Errorf("cross ends with %d:\n%s", code, cross.stderr)
	}
	again := w.resume(t, cross.id())
	if code := again.code(t); code != 3 || !strings.Contains(again.stderr.String(), "could not tell") {
		t.Errorf("resuming ends with %d:\n%s", code, again.stderr)
	}
	if got := again.stdout.String(); !strings.Contains(got, `{"error":{"error":"UNKNOWN"`) {
		t.Errorf("resuming prints %s", got)
	}
	w.serve(t, "")
	w.settle(t, cross)
}

// settle resumes a crossing twice and then looks at everything that either side and the
// authority hold of it.
func (w *world) settle(t *testing.T, cross *process) {
	t.Helper()
	id := cross.id()
	if id == "" {
		t.Fatalf("the crossing has no id:\n%s", cross.stderr)
	}
	first := w.resume(t, id)
	if code := first.code(t); code != 0 {
		t.Fatalf("%s: resuming ends with %d:\n%s\nthe crossing was:\n%s", id, code, first.stderr, cross.stderr)
	}
	second := w.resume(t, id)
	if code := second.code(t); code != 0 {
		t.Fatalf("%s: resuming again ends with %d:\n%s", id, code, second.stderr)
	}
	if !bytes.Equal(first.stdout.Bytes(), second.stdout.Bytes()) {
		t.Errorf("%s: resuming again gives other bytes", id)
	}
	if said := cross.stdout.Bytes(); len(said) > 0 && cross.code(t) == 0 && !bytes.Equal(said, first.stdout.Bytes()) {
		t.Errorf("%s: resuming gives other bytes than the crossing did", id)
	}
	w.committed++
	w.inspect(t, id, first.stdout.Bytes())
	if t.Failed() {
		t.FailNow()
	}
}

// killed is the exit code of a process that SIGKILL has ended.
const killed = -int(syscall.SIGKILL)
