package crossing_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/crossingtest"
	"github.com/bindery/bindery/jcs"
)

// covers GC-244, GC-250, GC-292, GC-296, GC-300
func TestClear(t *testing.T) {
	disclose := func(d *crossingtest.Deal) { d.Initiator.DiscloseLimit, d.Responder.DiscloseLimit = true, true }
	tests := []struct {
		name string
		base *crossingtest.Deal
		edit func(*crossingtest.Deal)
	}{
		{"limits withheld", crossingtest.New(t), func(*crossingtest.Deal) {}},
		{"limits disclosed", crossingtest.New(t), disclose},
		{"financial, limits withheld", crossingtest.NewFinancial(t), func(*crossingtest.Deal) {}},
		{"financial, limits disclosed", crossingtest.NewFinancial(t), disclose},
		{"all magnitudes equal", crossingtest.NewFinancial(t), func(d *crossingtest.Deal) { disclose(d); d.Draw, d.Limit = d.Magnitude, d.Magnitude }},
		{"Open of a wider class", crossingtest.New(t), func(d *crossingtest.Deal) {
			d.Initiator.Open["commitment_class"] = `"binding"`
			d.Responder.Open["commitment_class"], d.Responder.Open["currency"] = `"financial"`, `"USD"`
		}},
		{"everybody permitted, any act", crossingtest.New(t), func(d *crossingtest.Deal) {
			d.Initiator.Open["permitted_counterparties"], d.Responder.Open["permitted_counterparties"] = `"*"`, `"*"`
			d.Initiator.Open["commitment_act"] = ""
		}},
		{"an Open of any aud", crossingtest.New(t), func(d *crossingtest.Deal) {
			d.Initiator.Open["aud"], d.Responder.Open["aud"] = `"*"`, ""
		}},
		{"the draw left out", crossingtest.New(t), func(d *crossingtest.Deal) { d.Initiator.Closed["magnitude_limit"] = "" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.base
			tt.edit(d)
			wantCleared(t, d.Build(t))
		})
	}
}

// wantCleared fails the test unless the crossing is cleared, with its own record.
func wantCleared(t *testing.T, b *crossingtest.Built) {
	t.Helper()
	p := b.Params(t)
	c, refusal := crossing.Clear(b.Evidence(p))
	if refusal != nil {
		t.Fatal(refusal)
	}
	if !c.Valid() || c.Params() != p || c.JointSeal() != p.JointSeal() {
		t.Errorf("cleared %t, seal %s of %s", c.Valid(), c.JointSeal(), p.JointSeal())
	}
	if diff := cmp.Diff(b.Record, c.Record()); diff != "" {
		t.Errorf("own record (-received +own)\n%s", diff)
	}
	want := map[crossing.Nonce]jcs.Hex256{}
	for _, role := range []crossing.Role{crossing.Initiator, crossing.Responder} {
		d := b.Deal.Party(role)
		signer := d.AgentID
		if d.Closer == d.Human {
			signer = d.HumanID()
		}
		want[crossing.Nonce{Issuer: signer, Value: "nonce-of-" + d.AgentID}] = jcs.HexOf([]byte(b.Tokens(role).Closed))
	}
	if diff := cmp.Diff(want, c.Nonces()); diff != "" {
		t.Errorf("Nonces() (-want +got)\n%s", diff)
	}
}

// A Closed that a human signed (T2) clears where the record says so; no other key will do.
//
// covers GC-167, GC-288
func TestClearHuman(t *testing.T) {
	d := crossingtest.New(t)
	human(d, crossing.Responder)
	d.Responder.Open["cnf"] = "" // only a human may close
	b := d.Build(t)
	b.Record.Responder.SignerRole = "human"
	wantCleared(t, b)

	b.Responder.Principal.Humans = nil
	_, refusal := crossing.Clear(b.Evidence(b.Params(t)))
	wantRefusal(t, refusal, crossing.MandateInvalid, "§5.4-1 closed kid", "")

	d.Responder.Closer = d.Responder.Agent
	b = d.Build(t)
	b.Record.Responder.SignerRole = "human"
	_, refusal = crossing.Clear(b.Evidence(b.Params(t)))
	wantRefusal(t, refusal, crossing.MandateInvalid, "§5.4-1 closed kid", "")
}

// The same bytes again are no replay, and neither is another crossing's or signer's nonce
// (AG-19).
//
// covers GC-100, GC-295
func TestClearNonceAgain(t *testing.T) {
	b := crossingtest.New(t).Build(t)
	ev := b.Evidence(b.Params(t))
	agent := b.Deal.Initiator.AgentID
	ev.Used[crossing.Nonce{Issuer: agent, Value: "nonce-of-" + agent}] = b.Record.Initiator.ClosedMandateHash
	ev.Used[crossing.Nonce{Issuer: agent, Value: "another"}] = someHash
	ev.Used[crossing.Nonce{Issuer: b.Deal.Responder.AgentID, Value: "nonce-of-" + agent}] = someHash
	if _, refusal := crossing.Clear(ev); refusal != nil {
		t.Error(refusal)
	}
}

// TestClearedOnlyByClear: a Cleared that nobody cleared is worth nothing (design C4).
//
// covers GC-299
func TestClearedOnlyByClear(t *testing.T) {
	var none *crossing.Cleared
	if none.Valid() || new(crossing.Cleared).Valid() {
		t.Error("a Cleared that Clear did not make is valid")
	}
	c, refusal := judge(t, crossingtest.New(t), fault{evidence: func(ev *crossing.Evidence) { ev.TaskID = "another" }})
	if c != nil || c.Valid() {
		t.Error("Clear returned a Cleared beside its refusal")
	}
	wantRefusal(t, refusal, crossing.SealMismatch, "§4.4-6", "")
}

// TestOneFault breaks one rule at a time, on either side.
//
// covers GC-097, GC-098, GC-099, GC-100, GC-102, GC-103, GC-104, GC-105, GC-106, GC-107, GC-108, GC-109, GC-112, GC-114
// covers GC-251, GC-252, GC-288, GC-289, GC-290, GC-291, GC-292, GC-293, GC-294, GC-295, GC-296, GC-297, GC-298, GC-299, GC-300, GC-066, GC-304, GC-063, GC-065
// covers GC-305
func TestOneFault(t *testing.T) {
	base := crossingtest.NewFinancial(t)
	if _, refusal := judge(t, base); refusal != nil {
		t.Fatalf("the crossing without a fault is refused: %v", refusal)
	}
	for _, f := range faults(t) {
		t.Run(fmt.Sprintf("%d %s %s", f.step, f.role, f.what), func(t *testing.T) {
			c, refusal := judge(t, base, f)
			if c != nil {
				t.Error("cleared")
			}
			wantRefusal(t, refusal, f.name, f.path, f.at)
		})
	}
}

// TestPrecedence breaks two rules at once, every pair that can be broken together: the
// first in the order of AG-58 is told, and on one step the initiator's.
//
// covers GC-115, GC-299, GC-322
func TestPrecedence(t *testing.T) {
	base, all := crossingtest.NewFinancial(t), leads(faults(t))
	steps, seen := map[int]bool{}, map[[2]int]bool{}
	for i, f := range all {
		steps[f.step] = true
		for _, g := range all[i+1:] {
			first, ordered := f.before(g)
			if !ordered || !f.applies(g) {
				continue
			}
			want := f
			if !first {
				want = g
			}
			seen[[2]int{min(f.step, g.step), max(f.step, g.step)}] = true
			wantFirst(t, base, want, f, g)
		}
	}
	list := slices.Sorted(maps.Keys(steps))
	if want := []int{20, 40, 45, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190}; !slices.Equal(list, want) {
		t.Errorf("steps %v, want %v", list, want)
	}
	for i, low := range list {
		for _, high := range list[i+1:] {
			if !seen[[2]int{low, high}] {
				t.Errorf("no request breaks steps %d and %d together", low, high)
			}
		}
	}
}

// TestPrecedenceOfMany breaks two, three and five rules at once, each in any of the ways
// known, drawn with a fixed seed.
//
// covers GC-299, GC-322
func TestPrecedenceOfMany(t *testing.T) {
	base, all := crossingtest.NewFinancial(t), faults(t)
	draw := rand.New(rand.NewPCG(58, 16))
	for _, n := range []int{2, 3, 5} {
		for range 150 {
			some := drawFaults(draw, all, n)
			first := some[0]
			for _, f := range some[1:] {
				if earlier, _ := f.before(first); earlier {
					first = f
				}
			}
			wantFirst(t, base, first, some...)
		}
	}
}

// drawFaults draws n faults that can be made together and that AG-58 orders.
func drawFaults(draw *rand.Rand, all []fault, n int) []fault {
	var some []fault
	for _, i := range draw.Perm(len(all)) {
		fits := !slices.ContainsFunc(some, func(f fault) bool {
			_, ordered := f.before(all[i])
			return !ordered || !f.applies(all[i])
		})
		if fits {
			some = append(some, all[i])
		}
		if len(some) == n {
			break
		}
	}
	return some
}

func wantFirst(t *testing.T, base *crossingtest.Deal, first fault, all ...fault) {
	t.Helper()
	_, refusal := judge(t, base, all...)
	if refusal != nil && refusal.Name == first.name && refusal.Path == first.path && refusal.Member == first.at {
		return
	}
	broken := ""
	for _, f := range all {
		broken += "\n\t" + strconv.Itoa(f.step) + " " + string(f.role) + ": " + f.what
	}
	t.Errorf("refused %v, want %s (%s) of%s", refusal, first.name, first.path, broken)
}

// TestFloor places CLASS_BELOW_FLOOR between the record's own faults and the mandates'.
//
// covers GC-364
func TestFloor(t *testing.T) {
	base := crossingtest.New(t)
	below := fault{built: func(_ testing.TB, b *crossingtest.Built) { b.Record.Class = "reversible" }}
	unlisted := fault{built: func(_ testing.TB, b *crossingtest.Built) { b.Record.Act = "unlisted_act" }}
	unresolved := fault{built: func(_ testing.TB, b *crossingtest.Built) { b.Initiator.Principal = nil }}
	_, refusal := judge(t, base, below)
	wantRefusal(t, refusal, crossing.ClassBelowFloor, "§10 11-16 ii", "")
	_, refusal = judge(t, base, below, unlisted)
	wantRefusal(t, refusal, crossing.MalformedMandate, "§5.4-9 act vocabulary", "")
	_, refusal = judge(t, base, below, unresolved)
	wantRefusal(t, refusal, crossing.ClassBelowFloor, "§10 11-16 ii", "")

	at := base.Clone() // at its floor an act seals
	at.Act, at.Class = "proposal_within_tariff", "reversible"
	wantCleared(t, at.Build(t))
	at.Class = "observe"
	at.Magnitude, at.Draw, at.Limit = 0, 0, 0
	b := at.Build(t)
	_, refusal = crossing.Clear(b.Evidence(b.Params(t)))
	wantRefusal(t, refusal, crossing.ClassBelowFloor, "§10 11-16 ii", "")
}

// TestClassOfRecordBelowClosed: a class below the Closed's counts in another unit, and the
// name for that is MAGNITUDE_MISMATCH, with or without a currency (AG-12).
//
// covers GC-103, GC-108
func TestClassOfRecordBelowClosed(t *testing.T) {
	d := crossingtest.NewFinancial(t)
	_, refusal := judge(t, d, fault{built: func(_ testing.TB, b *crossingtest.Built) { b.Record.Class, b.Record.Currency = "irreversible", "" }})
	wantRefusal(t, refusal, crossing.MagnitudeMismatch, "§5.4 magnitude equality", "")
	_, refusal = judge(t, d, fault{built: func(_ testing.TB, b *crossingtest.Built) { b.Record.Class, b.Record.Currency = "binding", "" }})
	wantRefusal(t, refusal, crossing.ClassExceeded, "§4.1.3 L-1", "")
}

// TestNoOracle asks for one more than the draw and for a great deal more: the answers are
// equal to the byte, and say neither number (design C4, AG-77).
//
// covers GC-104, GC-323
func TestNoOracle(t *testing.T) {
	for _, disclosed := range []bool{false, true} {
		base := crossingtest.NewFinancial(t)
		base.Initiator.DiscloseLimit, base.Responder.DiscloseLimit = disclosed, disclosed
		var answers []string
		for _, amount := range []int64{base.Draw + 1, base.Limit + 1, 1_000_000_000} {
			_, refusal := judge(t, base, fault{deal: func(d *crossingtest.Deal) { d.Magnitude = amount }})
			wantRefusal(t, refusal, crossing.MagnitudeExhausted, "§4.1.3 M-4", "")
			answers = append(answers, string(refusal.Data(goldenID))+refusal.Error())
		}
		if answers[0] != answers[1] || answers[0] != answers[2] {
			t.Errorf("the answers differ: %q", answers)
		}
	}
	// The same holds for a draw above the Open's limit.
	base := crossingtest.NewFinancial(t)
	base.Initiator.DiscloseLimit = true
	var answers []string
	for _, draw := range []int64{base.Limit + 1, 1_000_000_000} {
		_, refusal := judge(t, base, fault{deal: func(d *crossingtest.Deal) { d.Draw = draw }})
		wantRefusal(t, refusal, crossing.NarrowingViolation, "§4.1.3 M-3", "")
		answers = append(answers, string(refusal.Data(goldenID))+refusal.Error())
	}
	if answers[0] != answers[1] {
		t.Errorf("the answers differ: %q", answers)
	}
}

// TestDisclosures: a disclosure must be the Open's own, and come once: at P1 or at P3.
//
// covers GC-282, GC-292
func TestDisclosures(t *testing.T) {
	b := crossingtest.New(t).Build(t)
	ev := b.Evidence(b.Params(t))
	ev.Initiator.Registered = false
	ev.Initiator.Disclosures = []string{b.Initiator.Disclosure}
	if _, refusal := crossing.Clear(ev); refusal != nil {
		t.Errorf("the disclosed limit does not stand for the RA's word: %v", refusal)
	}
	whole := b.Initiator.Open + b.Initiator.Disclosure + "~"
	ev.Initiator.Open, ev.Initiator.Disclosures = whole, nil
	if _, refusal := crossing.Clear(ev); refusal != nil {
		t.Errorf("the limit disclosed at P1 does not stand for the RA's word: %v", refusal)
	}
	ev.Initiator.Disclosures = []string{b.Initiator.Disclosure}
	_, refusal := crossing.Clear(ev)
	wantRefusal(t, refusal, crossing.MandateInvalid, "§5.4 open_disclosures disclosure", "")
	ev.Initiator.Open, ev.Initiator.Disclosures = b.Initiator.Open, []string{b.Responder.Disclosure}
	_, refusal = crossing.Clear(ev)
	wantRefusal(t, refusal, crossing.MandateInvalid, "§5.4 open_disclosures disclosure", "")
}
