package registry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/mandate"
)

func operatorOf(p *party) registry.Actor {
	return registry.Actor{Role: api.RoleOperator, PrincipalID: p.id}
}

// redraw draws one more unit of A's Open, for the same crossing.
func (w *world) redraw(d deal, wanted crossing.Name) {
	w.t.Helper()
	_, err := w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(d.openA, w.b, irreversible(1))), w.b)
	if wanted != "" {
		refused(w.t, "another draw", err, wanted)
	} else if err != nil {
		w.t.Errorf("another draw: %v", err)
	}
}

// covers GC-196, GC-198
func TestReleaseNone(t *testing.T) {
	w := newWorldIn(t, registry.ReleaseNone, nil)
	ctx, d := t.Context(), w.deal(irreversible(1))
	held, err := w.ra.Hold(ctx, w.b.effects, d.hold)
	w.spent("hold", held, err, d.hold.Triple(), mandate.Held)
	release := api.Release{Triple: d.hold.Triple()}
	for _, by := range []registry.Actor{w.b.effects, operatorOf(w.a)} {
		if got, err := w.ra.Release(ctx, by, release); err != nil || got != held {
			t.Errorf("release by %s: another receipt than that of the hold, %v", by.Role, err)
		}
	}
	w.sleep(5 * time.Minute)
	if err := w.ra.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	spent, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple())
	w.spent("confirm after the time of a hold", spent, err, d.hold.Triple(), mandate.Spent)
	if got, err := w.ra.Release(ctx, w.b.effects, release); err != nil || got != spent {
		t.Errorf("release of what is spent: another receipt, %v", err)
	}
	w.redraw(d, crossing.MagnitudeExhausted)

	// A Closed that lapses unsealed leaves its draw booked.
	unheld := w.opened(w.a, w.a.openDraft(irreversible(1)))
	if _, err := w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(unheld, w.b, irreversible(1))), w.b); err != nil {
		t.Fatal(err)
	}
	w.sleep(time.Hour)
	if err := w.ra.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	late := w.a.closedDraft(unheld, w.b, irreversible(1))
	late.ExpiresAt = w.clock().Add(time.Minute)
	_, err = w.register(w.a, w.closed(w.a.agent, late), w.b)
	refused(t, "a draw after a lapse", err, crossing.MagnitudeExhausted)
	if strings.Contains(w.log.String(), "mandate_unit_released") {
		t.Error("something was released")
	}
}

func TestReleaseOn(t *testing.T) {
	for what, by := range map[string]func(*world) registry.Actor{
		"effector": func(w *world) registry.Actor { return w.b.effects },
		"operator": func(w *world) registry.Actor { return operatorOf(w.a) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorldIn(t, registry.ReleaseOn, nil)
			ctx, d := t.Context(), w.deal(irreversible(1))
			tr, release := d.hold.Triple(), api.Release{Triple: d.hold.Triple()}
			_, err := w.ra.Release(ctx, by(w), release)
			w.undecided("before hold", err, crossing.MagnitudeExhausted)
			if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
				t.Fatal(err)
			}
			w.redraw(d, crossing.MagnitudeExhausted)
			_, err = w.ra.Release(ctx, w.a.effects, release)
			w.undecided("another effector", err, crossing.MagnitudeExhausted)
			for _, other := range []registry.Actor{w.b.principal, w.b.as} {
				_, err = w.ra.Release(ctx, other, release)
				refused(t, "another role", err, crossing.RoleMismatch)
			}
			_, err = w.ra.Release(ctx, w.b.effects, api.Release{Triple: mandate.Triple{CrossingID: crossing1}})
			refused(t, "no triple", err, api.CodeMalformed)

			got, err := w.ra.Release(ctx, by(w), release)
			w.spent("release", got, err, tr, mandate.Released)
			for what, repeat := range map[string]func() (string, error){
				"release": func() (string, error) { return w.ra.Release(ctx, w.b.effects, release) },
				"confirm": func() (string, error) { return w.ra.Confirm(ctx, w.b.effects, tr) },
				"hold":    func() (string, error) { return w.ra.Hold(ctx, w.b.effects, d.hold) },
			} {
				if again, err := repeat(); err != nil || again != got {
					t.Errorf("%s of what is released: another receipt, %v", what, err)
				}
			}
			w.redraw(d, "")
			w.redraw(d, crossing.MagnitudeExhausted)
			if n := strings.Count(w.log.String(), "mandate_unit_released"); n != 1 {
				t.Errorf("logged %d times", n)
			}
		})
	}
}

func TestReleaseOfSpent(t *testing.T) {
	w := newWorldIn(t, registry.ReleaseOn, nil)
	ctx, d := t.Context(), w.deal(irreversible(1))
	if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
		t.Fatal(err)
	}
	spent, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple())
	w.spent("confirm", spent, err, d.hold.Triple(), mandate.Spent)
	for _, by := range []registry.Actor{w.b.effects, operatorOf(w.b)} {
		if got, err := w.ra.Release(ctx, by, api.Release{Triple: d.hold.Triple()}); err != nil || got != spent {
			t.Errorf("release by %s: another receipt, %v", by.Role, err)
		}
	}
	w.sleep(time.Hour)
	if err := w.ra.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if again, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple()); err != nil || again != spent {
		t.Errorf("after a sweep: another receipt, %v", err)
	}
	// No word undoes what this RA keeps whole.
	_, err = w.ra.Release(ctx, w.b.effects, api.Release{Triple: d.hold.Triple(), Refusal: spent})
	refused(t, "a refusal for both", err, api.CodeMalformed)
}

func TestSweep(t *testing.T) {
	w := newWorldIn(t, registry.ReleaseOn, nil)
	ctx, d := t.Context(), w.deal(irreversible(1))
	sweep := func() {
		t.Helper()
		if err := w.ra.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
	}
	held, err := w.ra.Hold(ctx, w.b.effects, d.hold)
	w.spent("hold", held, err, d.hold.Triple(), mandate.Held)
	w.sleep(registry.DefaultHoldTimeout - time.Second)
	sweep()
	if again, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil || again != held {
		t.Errorf("released too early: %v", err)
	}
	w.sleep(time.Second)
	sweep()
	sweep()
	got, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple())
	w.spent("confirm", got, err, d.hold.Triple(), mandate.Released)
	w.redraw(d, "")
	rows, err := w.ra.AuditRows(ctx, operatorOf(w.a), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, row := range rows.Rows {
		if row.Operation == "release" && row.Role == registry.RoleTimer && row.Outcome == string(mandate.Released) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d audit rows of the release", n)
	}
	// The second draw is never held: it comes back when it has expired, not before.
	w.sleep(10*time.Minute - registry.DefaultHoldTimeout - time.Second)
	sweep()
	w.redraw(d, crossing.MagnitudeExhausted)
	w.sleep(time.Second)
	sweep()
	late := w.a.closedDraft(d.openA, w.b, irreversible(1))
	late.ExpiresAt = w.clock().Add(time.Minute)
	if _, err := w.register(w.a, w.closed(w.a.agent, late), w.b); err != nil {
		t.Errorf("a draw after the lapse: %v", err)
	}
}

// TestConfirmAfterTimeout: the row decides, no clock: until the sweep has come a hold may be
// confirmed.
func TestConfirmAfterTimeout(t *testing.T) {
	w := newWorldIn(t, registry.ReleaseOn, nil)
	ctx, d := t.Context(), w.deal(irreversible(1))
	if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
		t.Fatal(err)
	}
	w.sleep(5 * time.Minute)
	got, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple())
	w.spent("confirm", got, err, d.hold.Triple(), mandate.Spent)
}

// peers are the pinned keys of other RAs, by the principal whose mandates they keep.
type peers map[string]jose.KeySet

func (p peers) PeerKeys(_ context.Context, principalID string) (jose.KeySet, error) {
	return p[principalID], nil
}

// apart are two RAs that keep a Closed each of one crossing: A's the initiator's, B's the
// responder's.
type apart struct {
	a, b         *world
	triple       mandate.Triple
	holdA, holdB api.Hold
	openA        mandate.IssuedOpen
}

func newApart(t *testing.T, atA, atB registry.ReleaseMode) apart {
	t.Helper()
	pinnedAtA, pinnedAtB := peers{}, peers{}
	x := apart{a: newWorldIn(t, atA, pinnedAtA), b: newWorldIn(t, atB, pinnedAtB)}
	pinnedAtA[x.a.b.id], pinnedAtB[x.b.a.id] = x.b.keys, x.a.keys
	x.openA = x.a.opened(x.a.a, x.a.a.openDraft(irreversible(1)))
	openB := x.b.opened(x.b.b, x.b.b.openDraft(irreversible(1)))
	x.holdA = api.Hold{CrossingID: crossing1, InitiatorClosed: x.a.closed(x.a.a.agent, x.a.a.closedDraft(x.openA, x.a.b, irreversible(1))), CounterpartyAgent: x.a.b.agentID}
	x.holdB = api.Hold{CrossingID: crossing1, ResponderClosed: x.b.closed(x.b.b.agent, x.b.b.closedDraft(openB, x.b.a, irreversible(1))), CounterpartyAgent: x.b.a.agentID}
	whole := api.Hold{CrossingID: crossing1, InitiatorClosed: x.holdA.InitiatorClosed, ResponderClosed: x.holdB.ResponderClosed}
	x.triple = whole.Triple()
	x.holdA.ResponderToken, x.holdB.InitiatorToken = x.triple.ResponderToken, x.triple.InitiatorToken
	if _, err := x.a.register(x.a.a, x.holdA.InitiatorClosed, x.a.b); err != nil {
		t.Fatal(err)
	}
	if _, err := x.b.register(x.b.b, x.holdB.ResponderClosed, x.b.a); err != nil {
		t.Fatal(err)
	}
	return x
}

// half reads a receipt of one of the two.
func (w *world) half(what, receipt string, err error, tr mandate.Triple, half mandate.Half, state mandate.SpendState) {
	w.t.Helper()
	w.spent(what, receipt, err, tr, state)
	if s, err := mandate.ParseSpendReceipt(receipt, w.keys); err != nil || s.Half != half {
		w.t.Errorf("%s: half %q, %v", what, s.Half, err)
	}
}

func (x apart) held(t *testing.T) {
	t.Helper()
	got, err := x.a.ra.Hold(t.Context(), x.a.b.effects, x.holdA)
	x.a.half("hold at A's", got, err, x.triple, mandate.InitiatorHalf, mandate.Held)
	got, err = x.b.ra.Hold(t.Context(), x.b.b.effects, x.holdB)
	x.b.half("hold at B's", got, err, x.triple, mandate.ResponderHalf, mandate.Held)
}

// covers GC-194, GC-195
func TestHalves(t *testing.T) {
	x := newApart(t, mode(t), mode(t))
	ctx := t.Context()
	_, err := x.a.ra.Hold(ctx, x.a.a.effects, x.holdA)
	x.a.undecided("the initiator's own effector", err, crossing.MandatePartyMismatch)
	_, err = x.b.ra.Hold(ctx, x.b.a.effects, x.holdB)
	x.b.undecided("the initiator's effector at the responder's", err, crossing.MandatePartyMismatch)
	other := x.holdA
	other.CounterpartyAgent = x.a.a.agentID
	_, err = x.a.ra.Hold(ctx, x.a.b.effects, other)
	x.a.undecided("another counterparty, of which the triple says nothing", err, crossing.MandatePartyMismatch)
	x.held(t)
	whole := api.Hold{CrossingID: crossing1, InitiatorClosed: x.holdA.InitiatorClosed, ResponderClosed: x.holdB.ResponderClosed}
	_, err = x.a.ra.Hold(ctx, x.a.b.effects, whole)
	x.a.undecided("both at one", err, crossing.MandateInvalid)

	got, err := x.a.ra.Confirm(ctx, x.a.b.effects, x.triple)
	x.a.half("confirm at A's", got, err, x.triple, mandate.InitiatorHalf, mandate.Spent)
	if again, err := x.a.ra.Confirm(ctx, x.a.b.effects, x.triple); err != nil || again != got {
		t.Errorf("the same confirm got another receipt, %v", err)
	}
	got, err = x.b.ra.Confirm(ctx, x.b.b.effects, x.triple)
	x.b.half("confirm at B's", got, err, x.triple, mandate.ResponderHalf, mandate.Spent)
	// Each refuses for its own Closed alone.
	another := x.holdA
	another.ResponderToken = x.triple.InitiatorToken[:63] + "0"
	if another.ResponderToken == x.triple.InitiatorToken {
		another.ResponderToken = x.triple.InitiatorToken[:63] + "1"
	}
	_, err = x.a.ra.Hold(ctx, x.a.b.effects, another)
	x.a.final("another triple", err, crossing.MagnitudeExhausted, another.Triple(), true, false)
	e, _ := errors.AsType[*api.Error](err)
	if f, err := mandate.ParseFinalRefusal(e.Receipt, x.a.keys); err != nil || f.Half != mandate.InitiatorHalf {
		t.Errorf("refusal for half %q, %v", f.Half, err)
	}
}

// TestUndo: the first of two RAs gives back what is spent against the second's word, and
// against no other.
//
// covers GC-195
func TestUndo(t *testing.T) {
	for name, modes := range map[string]struct{ a, b registry.ReleaseMode }{
		"on and none": {registry.ReleaseOn, registry.ReleaseNone}, "on and on": {registry.ReleaseOn, registry.ReleaseOn},
		"none and on": {registry.ReleaseNone, registry.ReleaseOn},
	} {
		t.Run(name, func(t *testing.T) {
			x := newApart(t, modes.a, modes.b)
			ctx := t.Context()
			x.held(t)
			spent, err := x.a.ra.Confirm(ctx, x.a.b.effects, x.triple)
			x.a.half("confirm at A's", spent, err, x.triple, mandate.InitiatorHalf, mandate.Spent)
			word := x.word(t, modes.b)
			x.badWords(t, spent)

			got, err := x.a.ra.Release(ctx, x.a.b.effects, api.Release{Triple: x.triple, Refusal: word})
			if modes.a == registry.ReleaseNone {
				if err != nil || got != spent {
					t.Errorf("in mode none it does not stay spent: %v", err)
				}
				return
			}
			x.a.half("release against the word", got, err, x.triple, mandate.InitiatorHalf, mandate.Released)
			again, err := x.a.ra.Confirm(ctx, x.a.b.effects, x.triple)
			if err != nil || again != got {
				t.Errorf("confirm after that: %v", err)
			}
			if _, err := x.a.register(x.a.a, x.a.closed(x.a.a.agent, x.a.a.closedDraft(x.openA, x.a.b, irreversible(1))), x.a.b); err != nil {
				t.Errorf("the draw did not return: %v", err)
			}
		})
	}
}

// TestUndoSecond: what the second of two RAs has spent stands, whatever the first says then.
// It confirms after the first, so a seal may have come of it.
//
// covers GC-195
func TestUndoSecond(t *testing.T) {
	x := newApart(t, registry.ReleaseOn, registry.ReleaseOn)
	ctx := t.Context()
	x.held(t)
	if _, err := x.a.ra.Confirm(ctx, x.a.b.effects, x.triple); err != nil {
		t.Fatal(err)
	}
	spent, err := x.b.ra.Confirm(ctx, x.b.b.effects, x.triple)
	x.b.half("confirm at B's", spent, err, x.triple, mandate.ResponderHalf, mandate.Spent)
	lie, err := mandate.FinalRefusal{
		Triple: x.triple, Half: mandate.InitiatorHalf, Name: string(crossing.MandateRevoked), At: start,
	}.Sign(x.a.key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := x.b.ra.Release(ctx, x.b.b.effects, api.Release{Triple: x.triple, Refusal: lie})
	if err != nil || got != spent {
		t.Errorf("it does not stay spent: %v", err)
	}
}

// word is what B's RA says of the triple when no seal can come of it any more: that it has
// released it, or why it never will confirm it.
func (x apart) word(t *testing.T, mode registry.ReleaseMode) string {
	t.Helper()
	if mode == registry.ReleaseOn {
		x.b.sleep(registry.DefaultHoldTimeout)
		if err := x.b.ra.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := x.b.ra.Confirm(t.Context(), x.b.b.effects, x.triple)
		x.b.half("confirm at B's", got, err, x.triple, mandate.ResponderHalf, mandate.Released)
		return got
	}
	x.b.sleep(10 * time.Minute)
	_, err := x.b.ra.Confirm(t.Context(), x.b.b.effects, x.triple)
	x.b.final("confirm at B's", err, crossing.MandateExpired, x.triple, false, true)
	e, _ := errors.AsType[*api.Error](err)
	return e.Receipt
}

func (x apart) badWords(t *testing.T, spent string) {
	t.Helper()
	sign := func(w *world, f mandate.FinalRefusal, key *jose.Signer) string {
		f.Name, f.At = string(crossing.MandateRevoked), start
		token, err := f.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	stranger := signer(t)
	other := x.triple
	other.CrossingID = crossing2
	held, err := x.b.ra.Hold(t.Context(), x.b.b.effects, x.holdB)
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]string{
		"a stranger's":      sign(x.b, mandate.FinalRefusal{Triple: x.triple, Half: mandate.ResponderHalf}, stranger),
		"its own receipt":   spent,
		"nonsense":          "x.y.z",
		"of another triple": sign(x.b, mandate.FinalRefusal{Triple: other, Half: mandate.ResponderHalf}, x.b.key),
		"of the wrong half": sign(x.b, mandate.FinalRefusal{Triple: x.triple, Half: mandate.InitiatorHalf}, x.b.key),
		"of both":           sign(x.b, mandate.FinalRefusal{Triple: x.triple}, x.b.key),
		"signed by this RA": sign(x.a, mandate.FinalRefusal{Triple: x.triple, Half: mandate.ResponderHalf}, x.a.key),
	}
	if s, err := mandate.ParseSpendReceipt(held, x.b.keys); err == nil && s.State == mandate.Held {
		words["that it is held"] = held
	}
	for what, word := range words {
		_, err := x.a.ra.Release(t.Context(), x.a.b.effects, api.Release{Triple: x.triple, Refusal: word})
		if e := refused(t, what, err, api.CodeMalformed); e.Pointer != "/refusal" {
			t.Errorf("%s: pointer %q", what, e.Pointer)
		}
	}
}
