package registry_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/mandate"
)

// The model explores every state that one crossing can reach, at one RA or at two that keep
// a Closed each. What an RA decides is the product's own: Spending.On, ClosedRow.Lapses and
// Facts.With. Around it stand the centre's rules of design R4 and a world that does its worst:
//
//   - Every message that was ever sent may arrive at any time, any number of times, or never;
//     every answer that was ever given may be read at any time, or never. So loss, duplicates,
//     pauses of any length, a crash and its restart, and any number of workers of one centre
//     are all the same: a step may be taken as soon as its answer exists, and for ever.
//   - Every decision may be taken by a replica of the RA with a clock of its own: whether
//     something has expired, or is due, is free each time.
//   - Revocations, releases by effector or operator, the timer, and rivals that consume a
//     Closed under another triple may come at any time.

// An option is what a negative control takes away; the zero options are the product.
type options struct {
	on        func(registry.Spending, registry.Event, registry.Facts) (registry.Spending, error)
	lapses    func(c registry.ClosedRow, expired, returns bool) bool
	noSwap    registry.Event // its decision is written without looking at the row again
	early     bool           // the anchor is written before the receipts are stored
	forgets   bool           // a hold that is refused as expired is not kept on the row
	noWait    bool           // the first confirm does not wait for both holds
	unordered bool           // the second confirm does not wait for the first
	anyWord   bool           // an unsigned refusal undoes what is spent
}

// A setting is what is explored.
type setting struct {
	options
	returns []bool // one RA or two, each in release mode on or not
	local   bool   // the commit confirms in its own transaction (same store)
}

// Answers of an RA that exist.
const (
	saidHeld = 1 << iota
	saidSpent
	saidReleased
	saidFinal
	saidRefused // without a signature: it may pass
)

// States of the attempt. Sealed is the anchor.
const (
	opened = 1 << iota
	sealed
	refusedForGood
)

// side is one RA: its rows for the crossing, and what it has said.
type side struct {
	row     registry.Spending
	closeds [2]registry.ClosedRow // one RA keeps both; of two each keeps the first
	drawn   [2]int8               // counter of the Open, whose limit is 1
	more    [2]int8               // drawn once more, for another crossing
	said    uint8
	proved  bool // a revocation was answered so that no seal can come (C5)
	stale   mandate.SpendState
}

type state struct {
	ra      [2]side
	attempt uint8
}

func (m *setting) closeds() int {
	if len(m.returns) == 2 {
		return 1
	}
	return 2
}

func (m *setting) start() (s state) {
	for i := range m.returns {
		for j := range m.closeds() {
			s.ra[i].closeds[j].State = registry.ClosedActive
			s.ra[i].drawn[j] = 1
		}
	}
	return s
}

func (m *setting) facts(s *state, i int, expired, due bool) registry.Facts {
	f := registry.Facts{Due: due, First: len(m.returns) == 2 && i == 0, Returns: m.returns[i]}
	for j := range m.closeds() {
		f = f.With(s.ra[i].closeds[j], expired)
	}
	return f
}

func (m *setting) decide(r registry.Spending, e registry.Event, f registry.Facts) (registry.Spending, error) {
	if m.on != nil {
		return m.on(r, e, f)
	}
	return r.On(e, f)
}

// ask delivers one message to an RA: its transaction, and the answer.
func (m *setting) ask(s state, i int, e registry.Event, expired, due bool) state {
	ra := &s.ra[i]
	next, err := m.decide(ra.row, e, m.facts(&s, i, expired, due))
	if err != nil {
		for j := range m.closeds() {
			c := &ra.closeds[j]
			keeps := e == registry.ToHold && errors.Is(err, registry.ErrExpired) && expired && !m.forgets
			c.Refused = c.Refused || keeps
		}
		ra.row = next
		ra.said |= saidRefused
		if registry.Final(err) {
			ra.said |= saidFinal
		}
		return s
	}
	m.write(ra, next.State)
	ra.row = next
	switch {
	case next.State == mandate.Released:
		ra.said |= saidReleased
	case next.State == mandate.Held || e == registry.ToHold:
		ra.said |= saidHeld
	default:
		ra.said |= saidSpent
	}
	return s
}

// write is what a step of the row does to the Closeds and their Opens.
func (m *setting) write(ra *side, to mandate.SpendState) {
	for j := range m.closeds() {
		switch {
		case to == mandate.Held && ra.row.State == "":
			ra.closeds[j].State = registry.ClosedConsumed
		case to == mandate.Released && ra.row.State != mandate.Released:
			ra.giveBack(j)
		}
	}
}

func (ra *side) giveBack(j int) {
	ra.closeds[j].State = registry.ClosedReleased
	ra.drawn[j] = max(0, ra.drawn[j]-1)
}

// moves calls yield with every state that is one step away.
func (m *setting) moves(s state, yield func(string, state)) {
	if s.attempt == 0 {
		n := s
		n.attempt = opened
		yield("attempt", n)
	}
	for i := range m.returns {
		m.messages(s, i, yield)
		m.world(s, i, yield)
	}
	m.centre(s, yield)
}

func (m *setting) messages(s state, i int, yield func(string, state)) {
	label := func(what string, flag bool) string {
		if flag {
			what += ", late clock"
		}
		return fmt.Sprintf("%s at %d", what, i+1)
	}
	for _, late := range []bool{false, true} {
		if s.attempt != 0 {
			yield(label("hold", late), m.ask(s, i, registry.ToHold, late, late))
		}
		if s.attempt != 0 && m.mayConfirm(s, i) && !m.local {
			yield(label("confirm", late), m.ask(s, i, registry.ToConfirm, late, late))
		}
		yield(label("timer", late), m.ask(s, i, registry.ToLapse, late, late))
	}
	if s.ra[i].row.State != "" {
		yield(label("release", false), m.ask(s, i, registry.ToRelease, false, false))
	}
	if word := s.ra[1-i].said; len(m.returns) == 2 && (word&(saidFinal|saidReleased) != 0 || m.anyWord && word&saidRefused != 0) {
		yield(label("undo", false), m.ask(s, i, registry.ToUndo, false, false))
	}
	m.stale(s, i, yield)
}

// stale is a transaction that has read the row as held, and writes later.
func (m *setting) stale(s state, i int, yield func(string, state)) {
	if m.noSwap == 0 {
		return
	}
	next, err := m.decide(s.ra[i].row, m.noSwap, m.facts(&s, i, false, false))
	if err == nil && next != s.ra[i].row && s.ra[i].said&saidHeld != 0 {
		n := s
		n.ra[i].stale = next.State
		yield("read", n)
	}
	if to := s.ra[i].stale; to != "" {
		n := s
		m.write(&n.ra[i], to)
		n.ra[i].row.State, n.ra[i].stale = to, ""
		if to == mandate.Spent {
			n.ra[i].said |= saidSpent
		}
		yield("write "+string(to), n)
	}
}

// mayConfirm is the centre's rule: both holds are answered, and the initiator's RA confirms
// first.
func (m *setting) mayConfirm(s state, i int) bool {
	first, second := s.ra[0].said, s.ra[1].said
	switch {
	case len(m.returns) == 1:
		return first&saidHeld != 0
	case i == 0:
		return first&saidHeld != 0 && (second&saidHeld != 0 || m.noWait)
	case m.unordered:
		return second&saidHeld != 0
	}
	return first&saidSpent != 0 && (second&saidHeld != 0 || m.noWait)
}

// world is what others do.
func (m *setting) world(s state, i int, yield func(string, state)) {
	for j := range m.closeds() {
		c := s.ra[i].closeds[j]
		change := func(what string, do func(*side)) {
			n := s
			do(&n.ra[i])
			yield(fmt.Sprintf("%s %d at %d", what, j+1, i+1), n)
		}
		if !c.Revoked {
			change("revoke", func(ra *side) {
				ra.closeds[j].Revoked = true
				ra.proved = ra.proved || ra.row.State != mandate.Spent
			})
		}
		if c.State == registry.ClosedActive {
			change("rival", func(ra *side) { ra.closeds[j].State = registry.ClosedConsumed })
		}
		lapses := c.Lapses(true, m.returns[i])
		if m.lapses != nil {
			lapses = m.lapses(c, true, m.returns[i])
		}
		if lapses {
			change("lapse", func(ra *side) { ra.giveBack(j) })
		}
		if j == 0 && s.ra[i].drawn[j] < 1 {
			change("draw", func(ra *side) { ra.drawn[j]++; ra.more[j]++ })
		}
	}
}

// centre ends the attempt.
func (m *setting) centre(s state, yield func(string, state)) {
	spent, dead := true, false
	for i := range m.returns {
		said := s.ra[i].said
		spent = spent && (said&saidSpent != 0 || m.early && said&saidHeld != 0)
		dead = dead || said&(saidFinal|saidReleased) != 0
	}
	open := s.attempt == opened
	if open && m.local && s.ra[0].said&saidHeld != 0 {
		m.commit(s, yield)
	}
	if open && spent {
		n := s
		n.attempt |= sealed
		yield("commit", n)
	}
	if open && dead {
		n := s
		n.attempt |= refusedForGood
		yield("refuse", n)
	}
}

// commit confirms and seals in one transaction.
func (m *setting) commit(s state, yield func(string, state)) {
	for _, late := range []bool{false, true} {
		n := m.ask(s, 0, registry.ToConfirm, late, late)
		switch n.ra[0].row.State {
		case mandate.Spent:
			n.attempt |= sealed
		case mandate.Released:
			n.attempt |= refusedForGood
		default:
			if n.ra[0].said&saidFinal == 0 {
				continue
			}
			n.attempt |= refusedForGood
		}
		yield("commit with confirm", n)
	}
}

// violation names the promise that a state breaks.
func (m *setting) violation(s state) string {
	anchored := s.attempt&sealed != 0
	if anchored && s.attempt&refusedForGood != 0 {
		return "sealed and refused"
	}
	for i := range m.returns {
		ra := s.ra[i]
		switch {
		case anchored && ra.row.State == mandate.Released:
			return "anchored and released"
		case anchored && ra.row.State != mandate.Spent:
			return "anchored and not confirmed"
		case anchored && ra.proved:
			return "anchored after the proof that no seal can come"
		case ra.row.State == mandate.Spent && ra.said&saidFinal != 0:
			return "spent after a final refusal"
		case ra.row.State != mandate.Released && ra.said&saidReleased != 0:
			return "alive after its release"
		}
		for j := range m.closeds() {
			if fault := m.closedViolation(ra, i, j); fault != "" {
				return fault
			}
		}
	}
	if len(m.returns) == 2 {
		first, second := s.ra[0].row.State, s.ra[1].row.State
		switch {
		case first == mandate.Spent && second == "":
			return "the first spent, the second never held"
		case second == mandate.Spent && first != mandate.Spent:
			return "the second spent, the first not"
		}
	}
	return ""
}

func (m *setting) closedViolation(ra side, i, j int) string {
	c := ra.closeds[j]
	var booked int8 = 1
	if c.State == registry.ClosedReleased {
		booked = 0
	}
	wanted := map[mandate.SpendState]string{
		mandate.Held: registry.ClosedConsumed, mandate.Spent: registry.ClosedConsumed, mandate.Released: registry.ClosedReleased,
	}[ra.row.State]
	switch {
	case c.State == registry.ClosedReleased && !m.returns[i]:
		return "a draw returned where nothing returns"
	case wanted != "" && c.State != wanted:
		return "two of spent, booked and returned"
	case booked+ra.more[j] > 1:
		return "more drawn than the limit"
	case booked+ra.more[j] != ra.drawn[j]:
		return "a draw counted twice, or returned twice"
	}
	return ""
}

// explore visits every state. It returns the shortest way to the first violation, and else
// checks that every open attempt can still end.
func (m *setting) explore() (states int, fault string) {
	type visit struct {
		from int32
		by   string
	}
	seen := map[state]int32{}
	var queue []state
	var visits []visit
	var back [][]int32 // predecessors
	add := func(s state, from int32, by string) {
		at, ok := seen[s]
		if !ok {
			at = int32(len(queue))
			seen[s] = at
			queue, visits, back = append(queue, s), append(visits, visit{from, by}), append(back, nil)
		}
		if from >= 0 && from != at {
			back[at] = append(back[at], from)
		}
	}
	path := func(at int32) string {
		var steps []string
		for ; at > 0; at = visits[at].from {
			steps = append(steps, visits[at].by)
		}
		slices.Reverse(steps)
		return strings.Join(steps, "; ")
	}
	add(m.start(), -1, "")
	var ended []int32
	for at := int32(0); int(at) < len(queue); at++ {
		s := queue[at]
		if v := m.violation(s); v != "" {
			return len(queue), v + ": " + path(at)
		}
		if s.attempt&(sealed|refusedForGood) != 0 {
			ended = append(ended, at)
		}
		m.moves(s, func(by string, n state) { add(n, at, by) })
	}
	ends := make([]bool, len(queue))
	for len(ended) > 0 {
		at := ended[len(ended)-1]
		ended = ended[:len(ended)-1]
		if !ends[at] {
			ends[at] = true
			ended = append(ended, back[at]...)
		}
	}
	if at := slices.Index(ends, false); at >= 0 {
		return len(queue), "an attempt that cannot end: " + path(int32(at))
	}
	return len(queue), ""
}

var settings = map[string]setting{
	"one RA, none":             {returns: []bool{false}},
	"one RA, on":               {returns: []bool{true}},
	"one RA, same store, none": {returns: []bool{false}, local: true},
	"one RA, same store, on":   {returns: []bool{true}, local: true},
	"two RAs, none and none":   {returns: []bool{false, false}},
	"two RAs, none and on":     {returns: []bool{false, true}},
	"two RAs, on and none":     {returns: []bool{true, false}},
	"two RAs, on and on":       {returns: []bool{true, true}},
}

// covers GC-192, GC-195, GC-196, GC-198, GC-301, GC-302
func TestModel(t *testing.T) {
	for name, m := range settings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, fault := m.explore()
			if fault != "" {
				t.Errorf("%s", fault)
			}
			t.Logf("%d states", states)
		})
	}
}

// TestModelControls takes away one clause each: then the exploration finds what the clause
// is there for. A control that finds nothing would say that the clause, or the promise that
// needs it, is not in the model.
func TestModelControls(t *testing.T) {
	on := registry.Spending.On
	for what, c := range map[string]struct {
		setting string
		options options
		fault   string
	}{
		"confirm without compare-and-swap": {"one RA, on", options{noSwap: registry.ToConfirm}, "spent after a final refusal"},
		"release without compare-and-swap": {"one RA, on", options{noSwap: registry.ToRelease}, "anchored and released"},
		"release of what is spent": {"one RA, on", options{on: func(s registry.Spending, e registry.Event, f registry.Facts) (registry.Spending, error) {
			if e == registry.ToRelease && s.State == mandate.Spent {
				return registry.Spending{State: mandate.Released}, nil
			}
			return on(s, e, f)
		}}, "anchored and released"},
		"timer by somebody's word, not by the row": {"one RA, on", options{on: func(s registry.Spending, e registry.Event, f registry.Facts) (registry.Spending, error) {
			if e == registry.ToLapse && f.Due && s.State != "" {
				return registry.Spending{State: mandate.Released}, nil
			}
			return on(s, e, f)
		}}, "anchored and released"},
		"released is not terminal": {"one RA, on", options{on: func(s registry.Spending, e registry.Event, f registry.Facts) (registry.Spending, error) {
			if s.State == mandate.Released && e == registry.ToConfirm {
				return registry.Spending{State: mandate.Spent}, nil
			}
			return on(s, e, f)
		}}, "alive after its release"},
		"released may be held again": {"one RA, on", options{on: func(s registry.Spending, e registry.Event, f registry.Facts) (registry.Spending, error) {
			if s.State == mandate.Released && e == registry.ToHold {
				return registry.Spending{State: mandate.Held}, nil
			}
			return on(s, e, f)
		}}, "alive after its release"},
		"release in mode none": {"one RA, none", options{on: func(s registry.Spending, e registry.Event, f registry.Facts) (registry.Spending, error) {
			f.Returns = true
			return on(s, e, f)
		}}, "a draw returned where nothing returns"},
		"undo in mode none": {"two RAs, none and on", options{on: func(s registry.Spending, e registry.Event, f registry.Facts) (registry.Spending, error) {
			f.Returns = f.Returns || e == registry.ToUndo
			return on(s, e, f)
		}}, "a draw returned where nothing returns"},
		"confirm without the re-read": {"one RA, none", options{on: func(s registry.Spending, e registry.Event, f registry.Facts) (registry.Spending, error) {
			if e == registry.ToConfirm {
				f.Revoked, f.Expired = false, false
			}
			return on(s, e, f)
		}}, "anchored after the proof that no seal can come"},
		"anchor before the receipt is stored":      {"one RA, on", options{early: true}, "anchored and not confirmed"},
		"the same with two":                        {"two RAs, none and none", options{early: true}, "anchored and not confirmed"},
		"what has lapsed lapses again":             {"one RA, on", options{lapses: lapsesAgain}, "a draw counted twice, or returned twice"},
		"what is held lapses":                      {"one RA, on", options{lapses: lapsesHeld}, "two of spent, booked and returned"},
		"a refusal by one clock, forgotten":        {"two RAs, on and none", options{on: forgetful}, "spent after a final refusal"},
		"a hold refused by one clock, forgotten":   {"two RAs, on and none", options{forgets: true}, "spent after a final refusal"},
		"the first confirm does not wait":          {"two RAs, none and none", options{noWait: true}, "the first spent, the second never held"},
		"the second confirm does not wait":         {"two RAs, none and none", options{unordered: true}, "the second spent, the first not"},
		"an unsigned refusal undoes what is spent": {"two RAs, on and on", options{anyWord: true}, "the second spent, the first not"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := settings[c.setting]
			m.options = c.options
			if _, fault := m.explore(); !strings.HasPrefix(fault, c.fault) {
				t.Errorf("found %q, want %s", fault, c.fault)
			} else {
				t.Log(fault)
			}
		})
	}
}

func lapsesAgain(c registry.ClosedRow, _, returns bool) bool {
	return returns && c.State != registry.ClosedConsumed
}

func lapsesHeld(c registry.ClosedRow, _, returns bool) bool {
	return returns && c.State == registry.ClosedConsumed
}

// forgetful does not keep that a confirm was refused as expired.
func forgetful(s registry.Spending, e registry.Event, f registry.Facts) (registry.Spending, error) {
	next, err := s.On(e, f)
	next.Refused = false
	return next, err
}
