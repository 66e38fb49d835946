package execution_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/execution"
)

// The model explores every state that one execution can reach, with two replicas and up to
// four attempts at its call. What becomes of the row is the product's own: Row.On. Around it
// stand the registry's rules for what an attempt does next, and a world that does its worst:
//
//   - Any step may be taken at any later time, or never: so pauses of any length, and every
//     order of the attempts, are all there.
//   - Of any transaction that was committed the answer may be lost. The attempt then asks the
//     same again, any number of times, or leaves it to be settled some time.
//   - A replica may crash and start again at any time, and be late with its heartbeat for so
//     long that its epoch is declared dead while it goes on.
//   - Anybody may sweep at any time, with a clock that says that enough time has passed, or not.
//   - A held execution may be decided at any time, and more than once.

// guards are what a negative control takes away; the zero guards are the product.
type guards struct {
	on      func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision
	noStart bool // the heartbeat is not looked at before anything is sent
	noSwap  bool // the dispatch is written as it was decided before, whatever the row is now
	resends bool // an attempt whose answer is lost sends again
	unsends bool // an attempt that has sent may say that nothing was sent, and gives the row back
	forgets bool // an attempt that leaves says nothing of what it has reserved
}

// A client is one attempt that may come: at which replica, and what it carries.
type client struct {
	replica   uint8
	continues bool  // the requestState of the first question
	inputs    uint8 // what it carries beside it
	hold      bool
}

// A setting is what is explored.
type setting struct {
	guards
	clients []client
	asks    bool // the upstream may ask for more input, once
}

// What an attempt is about to do.
const (
	idle         = iota
	admitLost    // its admission was taken; it does not know how
	reserved     // to dispatch
	dispatchLost // as admitLost
	permitted    // to start
	started      // to send
	sent         // to wait for the answer, and settle
	settleLost
	suspendLost
	owesUnsent  // to have it stored that nothing was sent
	owesUnknown // to have it stored that nobody knows
	over        // answered, or gone
)

type attempt struct {
	at    uint8
	epoch uint8 // of its replica, when it was admitted
}

// row is execution.Row in a form that can be compared.
type row struct {
	state  uint8 // index of states
	owner  uint8 // 0: nobody; else 1 + 2*replica + epoch
	call   uint8 // 1 + attempt
	waits  bool  // for the first requestState
	used   bool  // that state was carried
	inputs uint8
	ended  bool
	late   bool
}

type world struct {
	row   row
	all   [4]attempt
	epoch [2]uint8 // of each replica: 0 or 1
	up    [2]bool
	dead  uint8 // bit 2*replica + epoch: declared so
	told  uint8 // the terminal state that a caller was told, as an index of states
	sends [2]uint8
}

var states = []execution.State{
	"", execution.Held, execution.Reserved, execution.Dispatched, execution.Suspended,
	execution.Succeeded, execution.Failed, execution.Refused, execution.OutcomeUnknown,
}

func index(s execution.State) uint8 {
	for i, one := range states {
		if one == s {
			return uint8(i)
		}
	}
	panic(s)
}

// A step is what leads from one world to the next, in a form that costs nothing until it is
// told.
type step struct {
	what    string
	who     int
	verdict execution.Verdict
}

func (s step) String() string { return fmt.Sprintf("%s %d (verdict %d)", s.what, s.who, s.verdict) }

type yield func(s step, n world, violation string)

func (m *setting) first() (w world) {
	w.up = [2]bool{true, true}
	return w
}

const theState, theDigest = "1111111111111111111111111111111111111111111111111111111111111111", "sha256:22"

func owner(n uint8) execution.Owner {
	if n == 0 {
		return execution.Owner{}
	}
	return execution.Owner{Name: "ab"[(n-1)/2 : (n-1)/2+1], Epoch: int64((n - 1) % 2)}
}

func ownerIndex(o execution.Owner) uint8 {
	if o.Name == "" {
		return 0
	}
	return 1 + 2*(o.Name[0]-'a') + uint8(o.Epoch)
}

func callName(n uint8) string { return "cccc"[:n] }

func (r row) real() execution.Row {
	x := execution.Row{
		State: states[r.state], Owner: owner(r.owner), CallID: callName(r.call),
		Inputs: callName(r.inputs), Ended: r.ended, TouchedAt: start, Binding: "b",
	}
	if r.waits {
		x.RequestState = theState
	}
	if r.used {
		x.Continued = theState
	}
	if r.late {
		x.Late = theDigest
	}
	return x
}

func rowOf(x execution.Row) row {
	return row{
		state: index(x.State), owner: ownerIndex(x.Owner), call: uint8(len(x.CallID)),
		waits: x.RequestState != "", used: x.Continued != "", inputs: uint8(len(x.Inputs)), ended: x.Ended, late: x.Late != "",
	}
}

func (w *world) buried(owner uint8) bool { return owner == 0 || w.dead&(1<<(owner-1)) != 0 }

func (m *setting) mine(w *world, i int) uint8 { return 1 + 2*m.clients[i].replica + w.all[i].epoch }

func (m *setting) decide(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
	if m.on != nil {
		return m.on(r, e, f)
	}
	return r.On(e, f)
}

// ask delivers one event: its transaction. A broken promise is told by violation.
func (m *setting) ask(w *world, e execution.Event) (d execution.Decision, violation string) {
	asker := ownerIndex(e.Asker())
	f := execution.Facts{Absent: w.row.state == 0, OwnerAlive: !w.buried(w.row.owner), AskerAlive: !w.buried(asker)}
	if f.Absent {
		f.OwnerAlive = false
	}
	before := w.row.real()
	d = m.decide(before, e, f)
	if !d.Changed {
		return d, ""
	}
	w.row = rowOf(d.Row)
	switch {
	case before.State.Terminal() && d.Row.State != before.State:
		violation = "a terminal state was left"
	case d.Row.State == execution.Dispatched && before.State != execution.Dispatched && !f.AskerAlive:
		violation = "dispatched by a dead epoch"
	case d.Verdict == execution.Swept && f.OwnerAlive:
		violation = "swept from the living"
	case d.Event == "" && d.Row.State != before.State:
		violation = "a state without an audit entry"
	}
	return d, violation
}

// moves calls yield with every world that is one step away.
func (m *setting) moves(w world, yield yield) {
	for i := range m.clients {
		m.attempts(w, i, yield)
	}
	for r := range uint8(2) {
		m.replicas(w, r, yield)
	}
	for _, late := range []time.Duration{0, time.Hour} {
		n := w
		_, bad := m.ask(&n, execution.Sweeping{At: start.Add(late), Abandoned: time.Hour})
		yield(step{what: "sweep after " + late.String()}, n, bad)
	}
	if m.clients[0].hold {
		for _, release := range []bool{false, true} {
			n := w
			_, bad := m.ask(&n, execution.Deciding{Release: release, Reason: "no"})
			yield(step{what: "decision"}, n, bad)
		}
	}
}

// replicas is what befalls one.
func (m *setting) replicas(w world, r uint8, yield yield) {
	bit := func(epoch uint8) uint8 { return 1 << (2*r + epoch) }
	befalls := func(what string, change func(n *world)) {
		n := w
		change(&n)
		yield(step{what: what, who: int(r)}, n, "")
	}
	if w.up[r] {
		befalls("crash of", func(n *world) {
			n.up[r] = false
			for i, c := range m.clients {
				if c.replica == r && n.all[i].at != idle {
					n.all[i].at = over
				}
			}
		})
		if w.dead&bit(w.epoch[r]) != 0 && w.epoch[r] == 0 {
			befalls("new epoch of", func(n *world) { n.epoch[r] = 1 })
		}
	} else if w.epoch[r] == 0 {
		befalls("restart of", func(n *world) { n.up[r], n.epoch[r] = true, 1 })
	}
	for epoch := range w.epoch[r] + 1 {
		befalls("burial of an epoch of", func(n *world) { n.dead |= bit(epoch) })
	}
}

// attempts is what one does next.
func (m *setting) attempts(w world, i int, yield yield) {
	a, r := w.all[i], m.clients[i].replica
	if !w.up[r] {
		return
	}
	to := func(what string, at uint8) {
		n := w
		n.all[i].at = at
		yield(step{what: what, who: i}, n, "")
	}
	switch a.at {
	case idle:
		w.all[i].epoch = w.epoch[r]
		m.admit(w, i, yield)
	case admitLost:
		m.admit(w, i, yield)
		to("giving up", owesUnsent)
	case reserved:
		m.dispatch(w, i, yield)
		if m.forgets {
			to("leaving", over)
		}
		to("leaving", owesUnsent)
	case dispatchLost:
		m.dispatch(w, i, yield)
		to("giving up", owesUnsent)
	case permitted:
		if m.trusts(&w, i) {
			to("start", started)
		}
		to("start refused", owesUnsent)
	case started:
		n := w
		n.all[i].at = sent
		n.sends[m.round(i)]++
		yield(step{what: "send by", who: i}, n, "")
	case sent, settleLost, suspendLost:
		m.settle(w, i, yield)
		if m.resends {
			to("resend", started)
		}
		if m.unsends {
			to("unsend", owesUnsent)
		}
	case owesUnsent:
		m.pay(w, i, execution.Unsending{Attempt: m.who(&w, i), Reason: "x"}, yield)
	case owesUnknown:
		m.pay(w, i, execution.Settling{Attempt: m.who(&w, i), State: execution.OutcomeUnknown, Digest: theDigest}, yield)
	}
}

// trusts is Permit.Start. A heartbeat is trusted for less time than an epoch lives without
// one, so no epoch whose heartbeat is trusted is declared dead; any other may be.
func (m *setting) trusts(w *world, i int) bool {
	return m.noStart || w.all[i].epoch == w.epoch[m.clients[i].replica] && !w.buried(m.mine(w, i))
}

// round is 0 for the call itself, and 1 for its continuation.
func (m *setting) round(i int) int {
	if m.clients[i].continues {
		return 1
	}
	return 0
}

func (m *setting) who(w *world, i int) execution.Attempt {
	return execution.Attempt{Owner: owner(m.mine(w, i)), CallID: callName(uint8(i) + 1), At: start}
}

func (m *setting) admit(w world, i int, yield yield) {
	c, who := m.clients[i], m.who(&w, i)
	e := execution.Admitting{Binding: "b", Owner: who.Owner, CallID: who.CallID, Hold: c.hold, At: start}
	if c.continues {
		e.Continues, e.Inputs = theState, callName(c.inputs)
	}
	d, bad := m.ask(&w, e)
	n := w
	switch d.Verdict {
	case execution.TakenReserved:
		n.all[i].at = reserved
	case execution.Continued:
		n.all[i].at = permitted
	default:
		n.all[i].at = over
		if n.row.real().State.Terminal() {
			n.told = n.row.state
		}
	}
	yield(step{"admission of", i, d.Verdict}, n, bad)
	n = w
	n.all[i].at = admitLost
	yield(step{"unanswered admission of", i, d.Verdict}, n, bad)
}

func (m *setting) dispatch(w world, i int, yield yield) {
	d, bad := m.ask(&w, execution.Dispatching{Attempt: m.who(&w, i)})
	if m.noSwap && d.Verdict == execution.Lost && w.row.state != 0 && !states[w.row.state].Terminal() {
		w.row.state, w.row.owner, w.row.call = index(execution.Dispatched), m.mine(&w, i), uint8(i)+1
		d.Verdict = execution.SentOff
	}
	n := w
	switch {
	case d.Verdict == execution.SentOff:
		n.all[i].at = permitted
	case d.Verdict == execution.Lost, d.Verdict == execution.Dead:
		n.all[i].at = over // another attempt is made; the row is left to whoever takes it over
	}
	yield(step{"dispatch by", i, d.Verdict}, n, bad)
	n = w
	n.all[i].at = dispatchLost
	yield(step{"unanswered dispatch by", i, d.Verdict}, n, bad)
}

func (m *setting) settle(w world, i int, yield yield) {
	type outcome struct {
		e    execution.Event
		lost uint8
	}
	who := m.who(&w, i)
	var outcomes []outcome
	if w.all[i].at != suspendLost {
		outcomes = append(outcomes, outcome{execution.Settling{Attempt: who, State: execution.Succeeded, Digest: theDigest}, settleLost})
	}
	if w.all[i].at == sent {
		outcomes = append(outcomes, outcome{execution.Settling{Attempt: who, State: execution.OutcomeUnknown}, settleLost})
	}
	if m.asks && !m.clients[i].continues && w.all[i].at != settleLost {
		outcomes = append(outcomes, outcome{execution.Suspending{Attempt: who, RequestState: theState, Digest: theDigest}, suspendLost})
	}
	for _, o := range outcomes {
		n := w
		d, bad := m.ask(&n, o.e)
		lost := n
		n.all[i].at = over
		if n.row.real().State.Terminal() {
			n.told = n.row.state // a reply is the stored row
		}
		yield(step{"outcome of", i, d.Verdict}, n, bad)
		lost.all[i].at = o.lost
		yield(step{"unanswered outcome of", i, d.Verdict}, lost, bad)
	}
	if w.all[i].at != sent { // its caller is told that nobody knows, and it is stored some time
		n := w
		n.all[i].at = owesUnknown
		yield(step{what: "giving up by", who: i}, n, "")
	}
}

func (m *setting) pay(w world, i int, e execution.Event, yield yield) {
	d, bad := m.ask(&w, e)
	yield(step{"unanswered debt of", i, d.Verdict}, w, bad)
	w.all[i].at = over
	yield(step{"debt of", i, d.Verdict}, w, bad)
}

// violation names the promise that a world breaks.
func (m *setting) violation(w *world) string {
	x := w.row.real()
	if w.sends[0] > 1 || w.sends[1] > 1 {
		return "sent twice"
	}
	if w.sends[1] > 0 && w.sends[0] == 0 {
		return "continued what was never sent"
	}
	if x.State == execution.Failed && w.sends[m.round(int(w.row.call)-1)] > 0 { // nothing else fails here
		return "said not to have been sent, and it was"
	}
	if w.told != 0 && w.told != w.row.state {
		return "told " + string(states[w.told]) + ", and it is " + string(x.State)
	}
	if x.Allows(execution.Failed, !w.buried(w.row.owner), start.Add(1000*time.Hour)) == nil {
		for i, c := range m.clients {
			if w.up[c.replica] && w.all[i].at == permitted && m.trusts(w, i) && w.row.call == uint8(i)+1 {
				return "found not to have happened, and about to be sent"
			}
		}
	}
	return m.stuck(w, x)
}

// stuck: what waits has somebody who takes it on.
func (m *setting) stuck(w *world, x execution.Row) string {
	if x.State != execution.Reserved && x.State != execution.Dispatched {
		return ""
	}
	if w.buried(w.row.owner) {
		fresh := execution.Admitting{Binding: "b", Owner: execution.Owner{Name: "a", Epoch: 1}, CallID: "new", At: start}
		if d := m.decide(x, fresh, execution.Facts{AskerAlive: true}); x.State == execution.Reserved && d.Verdict != execution.TakenReserved {
			return "reserved by a dead epoch, and not taken over by a repeat"
		}
		if d := m.decide(x, execution.Sweeping{At: start.Add(time.Hour), Abandoned: time.Hour}, execution.Facts{}); !d.Row.State.Terminal() {
			return "left by a dead epoch, and not swept"
		}
		return ""
	}
	r, epoch := (w.row.owner-1)/2, (w.row.owner-1)%2
	if !w.up[r] || w.epoch[r] != epoch {
		return "" // it will be declared dead
	}
	for i, c := range m.clients {
		if c.replica == r && w.row.call == uint8(i)+1 && w.all[i].at != over && w.all[i].at != idle {
			return ""
		}
	}
	return "held for ever by a living epoch"
}

// forget makes equal what makes no difference any more.
func (w *world) forget() {
	for i := range w.all {
		if w.all[i].at == over {
			w.all[i].epoch = 0
		}
	}
}

// explore returns the number of worlds, and the way to the first violation.
func explore(m *setting, most int) (count int, path string) {
	type from struct {
		before world
		what   step
	}
	w := m.first()
	seen := map[world]from{w: {}}
	queue := []world{w}
	told := func(n world, what string) string { // backwards
		lines := []string{what}
		for n != w {
			f := seen[n]
			lines = append(lines, fmt.Sprintf("%s -> %s by %d", f.what, states[n.row.state], n.row.call))
			n = f.before
		}
		for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
			lines[i], lines[j] = lines[j], lines[i]
		}
		return strings.Join(lines, "\n")
	}
	for len(queue) > 0 && path == "" && len(seen) < most {
		now := queue[0]
		queue = queue[1:]
		m.moves(now, func(what step, n world, violation string) {
			n.forget()
			if _, known := seen[n]; known && violation == "" || path != "" {
				return
			}
			if _, known := seen[n]; !known {
				seen[n] = from{now, what}
				queue = append(queue, n)
			}
			if violation == "" {
				violation = m.violation(&n)
			}
			if violation != "" {
				path = told(now, what.String()+": "+violation)
			}
		})
	}
	return len(seen), path
}

var settings = map[string]setting{
	"calls": {clients: []client{{replica: 0}, {replica: 1}, {replica: 0}}},
	"held":  {clients: []client{{replica: 0, hold: true}, {replica: 1, hold: true}}},
	"rounds": {asks: true, clients: []client{
		{replica: 0}, {replica: 1, continues: true, inputs: 1}, {replica: 0, continues: true, inputs: 2},
	}},
}

// TestModel: in every world that can be reached the upstream was called at most once for the
// execution, and once more for its continuation; nothing has left a terminal state; no dead
// epoch has dispatched; what a caller was told is so; and nothing waits for nobody.
//
// covers EXA-024, EXA-059, EXA-060, EXA-062, EXA-064, EXA-072, EXA-074
func TestModel(t *testing.T) {
	t.Parallel()
	for name, m := range settings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, path := explore(&m, 20_000_000)
			if path != "" {
				t.Fatalf("after\n%s", path)
			}
			t.Log(n, "worlds")
		})
	}
}
