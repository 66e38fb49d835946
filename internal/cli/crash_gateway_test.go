package cli_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/gatewaytest"
)

// staleAfter is when an epoch without a heartbeat is declared dead in these tests.
const staleAfter = 2 * time.Second

// A guarded is a gateway in front of a server that counts effects. Its first replica dies; the
// second, if there is one, never does.
type guarded struct {
	dirs     []string // of each replica
	addrs    []string
	key      string // of the agent
	upstream string
	ledger   *gatewaytest.Ledger
	dying    *process // the first replica
	made     int      // executions so far
	states   map[execution.State]int
}

// newGuarded makes the directories of one replica on SQLite, or of two on PostgreSQL.
func newGuarded(t *testing.T, e engine) *guarded {
	t.Helper()
	dir := t.TempDir()
	ledger, err := gatewaytest.OpenLedger(filepath.Join(dir, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gatewaytest.New(gatewaytest.Config{Ledger: ledger}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = ledger.Close()
	})
	g := &guarded{
		dirs: []string{filepath.Join(dir, "G")}, addrs: []string{freePort(t)}, upstream: server.URL + "/mcp",
		ledger: ledger, states: map[execution.State]int{},
	}
	if e == onPostgres {
		run(t, "", append([]string{"gateway", "--dir", g.dirs[0], "--upstream", g.upstream}, e.store(t)...)...).code(t) // stdin is at its end
	}
	g.key = must(t, "gateway", "agent", "add", "payer", "--dir", g.dirs[0])
	if e == onPostgres {
		g.dirs, g.addrs = append(g.dirs, filepath.Join(dir, "H")), append(g.addrs, freePort(t))
		if out, err := exec.Command("cp", "-a", g.dirs[0], g.dirs[1]).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		g.serve(t, 1, "")
	}
	return g
}

// serve runs a replica until it answers.
func (g *guarded) serve(t *testing.T, replica int, env string) *process {
	t.Helper()
	p := run(t, env, "gateway", "--dir", g.dirs[replica], "--addr", g.addrs[replica], "--upstream", g.upstream)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", g.addrs[replica])
		if err == nil {
			_ = conn.Close()
			return p
		}
		select {
		case <-p.ended:
			t.Fatalf("the gateway has ended:\n%s", p.stderr)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the gateway is not up: %v\n%s", err, p.stderr)
		}
	}
}

// survivor is the replica that is asked once the first has died: the second, or the first
// started again.
func (g *guarded) survivor(t *testing.T) int {
	t.Helper()
	if len(g.dirs) > 1 {
		return 1
	}
	g.dying = g.serve(t, 0, "")
	return 0
}

// An attempt is one execution, and what its first call was told.
type attempt struct {
	call  gatewaytest.Call
	plan  string
	first gatewaytest.Told
	heard bool // it was told something
}

func (g *guarded) attempt(plan string) *attempt {
	g.made++
	id := fmt.Sprintf("execution-%d", g.made)
	return &attempt{plan: plan, call: gatewaytest.Call{
		Tool: "pay", Arguments: fmt.Sprintf(`{"key":%q,"plan":%q}`, id, plan), ExecutionID: id,
		Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05Z"),
	}}
}

// ask sends the call of an attempt to a replica, over a connection of its own.
func (g *guarded) ask(t *testing.T, a *attempt, replica int) (gatewaytest.Told, error) {
	one := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	client := gatewaytest.Client{URL: "http://" + g.addrs[replica] + "/mcp", Token: g.key, HTTP: one}
	answer, err := client.Post(t.Context(), a.call.Body())
	if err != nil {
		return gatewaytest.Told{}, err
	}
	return answer.Tell()
}

// plans are what the server does with the calls of a round that is a race.
var plans = []string{"", "delay:2", "stream", "fails", "delay:5 error", "status:503", "ask:1"}

// strike starts executions at the replica that is going to die, some of them at the other
// one too, and waits until it is dead.
func (g *guarded) strike(t *testing.T, r *rand.Rand, many int, die func()) []*attempt {
	t.Helper()
	var all []*attempt
	var open sync.WaitGroup
	for i := range many {
		plan := ""
		if many > 1 {
			plan = plans[r.IntN(len(plans))]
		}
		a := g.attempt(plan)
		all = append(all, a)
		open.Go(func() {
			var err error
			a.first, err = g.ask(t, a, 0)
			a.heard = err == nil
		})
		if len(g.dirs) > 1 && i > 0 && r.IntN(2) == 0 { // the first is the dying one's alone, or it might never come to the point
			open.Go(func() { _, _ = g.ask(t, a, 1) })
		}
	}
	die()
	if !g.dying.died(patience) {
		t.Fatalf("the gateway lives:\n%s", g.dying.stderr)
	}
	open.Wait()
	return all
}

// settle repeats the call of an attempt until it is told of an end, and then once more: it
// stays so, and whatever happened on the way there was at most one effect.
func (g *guarded) settle(t *testing.T, a *attempt, replica int) gatewaytest.Told {
	t.Helper()
	id := a.call.ExecutionID
	told := g.untilOver(t, a, replica)
	again, err := g.ask(t, a, replica)
	if err != nil || again.Error != "EXECUTION_REPLAY" || again.State != told.State || again.CallID != told.CallID || again.Text != told.Text {
		t.Errorf("%s: told %+v, and then %+v, %v", id, told, again, err)
	}
	n, state := g.ledger.Count(id), execution.State(told.State)
	g.states[state]++
	allowed := map[execution.State][]int{execution.Succeeded: {1}, execution.Failed: {0, 1}, execution.Refused: {0}, execution.OutcomeUnknown: {0, 1}}
	if !slices.Contains(allowed[state], n) {
		t.Errorf("%s (plan %q): %s with %d effects", id, a.plan, state, n)
	}
	if state == execution.Succeeded && told.Text == "" {
		t.Errorf("%s: succeeded, and nobody is told how: %+v", id, told)
	}
	if over := isOver(a.first.State); a.heard && over && (a.first.State != told.State || a.first.Text != told.Text) {
		t.Errorf("%s: the first call was told %+v, a later one %+v", id, a.first, told)
	}
	return told
}

func isOver(state string) bool {
	return slices.Contains([]execution.State{execution.Succeeded, execution.Failed, execution.Refused, execution.OutcomeUnknown}, execution.State(state))
}

// untilOver asks what has become of an attempt, and answers what the server asks.
func (g *guarded) untilOver(t *testing.T, a *attempt, replica int) gatewaytest.Told {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		told, err := g.ask(t, a, replica)
		if err != nil {
			t.Fatalf("%s: %v", a.call.ExecutionID, err)
		}
		switch {
		case isOver(told.State):
			return told
		case told.State == string(execution.Suspended) && a.call.State == "":
			a.call.State = a.call.ExecutionID + "#1"
		case told.Error == "it does not go" && told.State == "": // the server's own words, passed on; the next answer is a record
		case told.Error != "EXECUTION_PENDING" && told.Error != "EXECUTION_UNAVAILABLE":
			t.Fatalf("%s: told %+v", a.call.ExecutionID, told)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not end: %+v", a.call.ExecutionID, told)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// gaps are the five of design X3. Where the gateway dies at once, one call has come so far
// and no further, so that what becomes of it is known.
var gaps = []struct {
	point   string
	state   execution.State
	effects int
}{
	{execution.PointBeforeReserve, execution.Succeeded, 1},
	{execution.PointAfterReserve, execution.Succeeded, 1}, // taken over by the repeat
	{execution.PointAfterDispatch, execution.OutcomeUnknown, 0},
	{execution.PointAfterAnswer, execution.OutcomeUnknown, 1},
	{execution.PointAfterOutcome, execution.Succeeded, 1},
}

// TestCrashGateway kills the gateway at each of the five gaps, against a server that counts
// its effects, and repeats the calls: on SQLite at the same gateway, started again, and on
// PostgreSQL at a second replica, which lives on. No execution has two effects, each comes
// to an end and stays there, and the log verifies.
//
// covers EXA-024, EXA-050, EXA-060, EXA-062, EXA-063, EXA-064, EXA-066, EXA-069, EXA-074
func TestCrashGateway(t *testing.T) {
	t.Parallel()
	for _, e := range []engine{onSQLite, onPostgres} {
		for _, gap := range gaps {
			t.Run(string(e)+" "+gap.point, func(t *testing.T) {
				t.Parallel()
				r, n := seeded(t), rounds(t)
				g := newGuarded(t, e)
				for round := range n {
					after, many := offset(r, round), 4
					if after == 0 {
						many = 1
					}
					g.dying = g.serve(t, 0, killAt(gap.point, after))
					all := g.strike(t, r, many, func() {})
					told := g.settleAll(t, all)
					if n := g.ledger.Count(all[0].call.ExecutionID); after == 0 && (execution.State(told[0].State) != gap.state || n != gap.effects) {
						t.Errorf("round %d: %s with %d effects, want %s with %d", round, told[0].State, n, gap.state, gap.effects)
					}
					if t.Failed() {
						t.FailNow()
					}
				}
				g.audited(t)
			})
		}
	}
}

// TestCrashGatewayAnywhere kills the gateway from outside, at any moment of several calls.
//
// covers EXA-063, EXA-069, EXA-074
func TestCrashGatewayAnywhere(t *testing.T) {
	t.Parallel()
	for _, e := range []engine{onSQLite, onPostgres} {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			r := seeded(t)
			g := newGuarded(t, e)
			for range rounds(t) {
				g.dying = g.serve(t, 0, "")
				g.settleAll(t, g.strike(t, r, 6, func() {
					time.Sleep(time.Duration(r.IntN(25_000)) * time.Microsecond)
					g.dying.kill()
				}))
				if t.Failed() {
					t.FailNow()
				}
			}
			g.audited(t)
		})
	}
}

// settleAll settles attempts side by side at the survivor, and stops it if it is going to be
// started again.
func (g *guarded) settleAll(t *testing.T, all []*attempt) []gatewaytest.Told {
	t.Helper()
	replica := g.survivor(t)
	told := make([]gatewaytest.Told, len(all))
	for i, a := range all {
		told[i] = g.settle(t, a, replica)
	}
	if replica == 0 {
		g.dying.kill()
	}
	return told
}

// audited exports the log, has it verified, and looks for what stands in it of each
// execution: one end, and no more attempts than one a round of input.
func (g *guarded) audited(t *testing.T) {
	t.Helper()
	t.Logf("%d executions: %v", g.made, g.states)
	exported := must(t, "audit", "export", "--of", "gateway", "--dir", g.dirs[0])
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(file, []byte(exported+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "audit", "verify", "--of", "gateway", file, "--dir", g.dirs[0])
	dispatched, ended := map[string]int{}, map[string]int{}
	for line := range bytes.Lines([]byte(exported)) {
		e, err := audit.ParseEntry(bytes.TrimSpace(line))
		if err != nil {
			continue // the head
		}
		switch e.Event {
		case audit.EventDispatched:
			dispatched[e.ExecutionID]++
		case audit.EventSucceeded, audit.EventFailed, audit.EventOutcomeUnknown, audit.EventRefused:
			ended[e.ExecutionID]++
		}
	}
	for i := range g.made {
		id := fmt.Sprintf("execution-%d", i+1)
		if ended[id] != 1 || dispatched[id] > 2 {
			t.Errorf("the log has %d attempts and %d ends of %s", dispatched[id], ended[id], id)
		}
	}
	for key, n := range g.ledger.Counts() {
		if n > 1 || !strings.HasPrefix(key, "execution-") {
			t.Errorf("%d effects of %s", n, key)
		}
	}
}
