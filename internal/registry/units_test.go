package registry_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// requestID is the n-th name of an attempt.
func requestID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// units asks for units of an Open, in the bytes that were registered.
func units(o mandate.IssuedOpen, n int64, class string) api.Consume {
	return api.Consume{RequestID: requestID(1), Token: o.Full(), Class: class, Units: n}
}

// consume takes units as B's effector takes A's, or its own.
func (w *world) consume(p *party, n int, c api.Consume) (api.Consumed, error) {
	c.RequestID = requestID(n)
	return w.ra.Consume(w.t.Context(), p.effects, c)
}

// covers GC-190, GC-198, GC-201
func TestConsume(t *testing.T) {
	w := newWorld(t)
	o := w.opened(w.a, w.a.openDraft(irreversible(5)))
	one := units(o, 1, "irreversible")
	first, err := w.consume(w.a, 1, one)
	if err != nil {
		t.Fatal(err)
	}
	want := api.Consumed{
		RequestID: requestID(1), TokenHash: jcs.HexOf([]byte(o.Full())), Effector: w.a.id, Class: "irreversible", Units: 1,
		At: start, Receipt: first.Receipt,
	}
	if first != want || first.Verify(w.keys) != nil {
		t.Errorf("answer %+v, %v", first, first.Verify(w.keys))
	}
	w.sleep(time.Minute)
	if again, err := w.consume(w.a, 1, one); err != nil || again != first {
		t.Errorf("the same request got another answer: %+v, %v", again, err)
	}
	two := one
	two.Units = 2
	_, err = w.consume(w.a, 1, two)
	refused(t, "another request of that name", err, api.CodeConflict)
	for n := 2; n <= 5; n++ {
		if _, err := w.consume(w.a, n, one); err != nil {
			t.Errorf("unit %d: %v", n, err)
		}
	}
	_, err = w.consume(w.a, 6, one)
	refused(t, "the sixth", err, crossing.MagnitudeExhausted)
	_, err = w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(o, w.b, irreversible(1))), w.b)
	refused(t, "a draw of what is consumed", err, crossing.MagnitudeExhausted)
	w.sleep(48 * time.Hour)
	if again, err := w.consume(w.a, 1, one); err != nil || again != first {
		t.Errorf("the same request, after exp, got another answer: %v", err)
	}
}

// covers GC-072, GC-073, GC-074, GC-075
func TestConsumeByPossession(t *testing.T) {
	w := newWorld(t)
	o := w.opened(w.a, w.a.openDraft(irreversible(5)))
	never := w.open(w.a, w.a.openDraft(irreversible(5)))
	d := w.deal(irreversible(1))
	flipped := []byte(o.Full())
	flipped[len(flipped)/2] ^= 1
	var answers []string
	for what, token := range map[string]string{
		"never registered":        never.Full(),
		"one bit":                 string(flipped),
		"high s":                  highS(t, o.Full()),
		"extra tilde":             o.Full() + "~",
		"without its disclosure":  o.Token, // as a counterparty sees it at P1
		"open_mandate_hash":       string(jcs.HexOf([]byte(o.Token))),
		"token_sha256":            string(jcs.HexOf([]byte(o.Full()))),
		"a Closed, for its whole": d.hold.InitiatorClosed,
	} {
		c := units(o, 1, "irreversible")
		c.Token = token
		_, err := w.consume(w.a, 1, c)
		answers = append(answers, string(refused(t, what, err, crossing.MandateInvalid).Bytes()))
	}
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("answers differ: %s, %s", a, answers[0])
		}
	}
	if _, err := w.consume(w.a, 1, units(o, 5, "irreversible")); err != nil {
		t.Errorf("a refusal took something: %v", err)
	}
}

// TestCounterpartyCannotDrain: what an Open's counterparties are shown is no proof that
// its agent acts.
func TestCounterpartyCannotDrain(t *testing.T) {
	w := newWorld(t)
	disclosed := w.a.openDraft(irreversible(5))
	disclosed.DiscloseLimit = true // then the bytes of P1 are the registered ones
	named := w.a.openDraft(irreversible(5))
	named.Counterparties = mandate.OnlyCounterparties(w.b.id)
	for n, d := range []mandate.OpenDraft{disclosed, named} {
		o := w.opened(w.a, d)
		_, err := w.consume(w.b, n, units(o, 1, "irreversible"))
		refused(t, "counterparty's effector", err, crossing.MandatePartyMismatch)
		if _, err := w.consume(w.a, n, units(o, 5, "irreversible")); err != nil {
			t.Errorf("own effector: %v", err)
		}
	}
	alone := w.a.openDraft(irreversible(5))
	alone.Counterparties = mandate.OnlyCounterparties()
	silent := resign(t, w.a.issuer, w.open(w.a, disclosed).Token, `,"permitted_counterparties":"*"`, "")
	for n, token := range []string{w.open(w.a, alone).Full(), silent} {
		if _, err := w.ra.RegisterOpen(t.Context(), w.a.principal, api.RegisterOpen{Token: token}); err != nil {
			t.Fatal(err)
		}
		c := api.Consume{Token: token, Class: "irreversible", Units: 5}
		if _, err := w.consume(w.b, 10+n, c); err != nil {
			t.Errorf("an effector that the agent has shown its Open to: %v", err)
		}
	}
}

// covers GC-175, GC-202
func TestConsumeClass(t *testing.T) {
	w := newWorld(t)
	n := 0
	for class := commitment.Observe; class <= commitment.Binding; class++ {
		amount := commitment.Amount{Class: class, Magnitude: 100}
		currency := ""
		if class == commitment.Financial {
			amount.Currency, currency = "EUR", "EUR"
		}
		d := w.a.openDraft(amount)
		d.Acts = nil
		o := w.opened(w.a, d)
		for act := commitment.Observe; act <= commitment.Binding; act++ {
			n++
			c := units(o, 1, act.String())
			c.Currency = currency
			_, err := w.consume(w.a, n, c)
			switch {
			case act <= class && err != nil:
				t.Errorf("%s under %s: %v", act, class, err)
			case act > class:
				refused(t, act.String()+" under "+class.String(), err, crossing.ClassExceeded)
			}
		}
	}
}

// covers GC-179, GC-186, GC-188
func TestConsumeRefusals(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	o := w.opened(w.a, w.a.openDraft(financial(250000, "EUR")))
	revoked := w.opened(w.a, w.a.openDraft(irreversible(5)))
	if _, err := w.ra.Revoke(ctx, w.a.principal, api.Revoke{Hash: jcs.HexOf([]byte(revoked.Token))}); err != nil {
		t.Fatal(err)
	}
	none := w.opened(w.a, w.a.openDraft(irreversible(0)))
	good := units(o, 100, "financial")
	good.Currency = "EUR"
	for what, c := range map[string]struct {
		change  func(*api.Consume)
		name    crossing.Name
		pointer string
	}{
		"no request id":   {func(c *api.Consume) { c.RequestID = "" }, api.CodeMalformed, "/request_id"},
		"upper-case id":   {func(c *api.Consume) { c.RequestID = "ABCDEFAB-0000-4000-8000-000000000001" }, api.CodeMalformed, "/request_id"},
		"no token":        {func(c *api.Consume) { c.Token = "" }, api.CodeMalformed, "/open_mandate"},
		"finance":         {func(c *api.Consume) { c.Class = "finance" }, api.CodeMalformed, "/class"},
		"Financial":       {func(c *api.Consume) { c.Class = "Financial" }, api.CodeMalformed, "/class"},
		"no units":        {func(c *api.Consume) { c.Units = 0 }, api.CodeMalformed, "/units"},
		"units back":      {func(c *api.Consume) { c.Units = -1 }, api.CodeMalformed, "/units"},
		"beyond 2^53-1":   {func(c *api.Consume) { c.Units = 1 << 53 }, api.CodeMalformed, "/units"},
		"no such money":   {func(c *api.Consume) { c.Currency = "EURO" }, api.CodeMalformed, "/currency"},
		"another money":   {func(c *api.Consume) { c.Currency = "GBP" }, crossing.CurrencyMismatch, ""},
		"money untold":    {func(c *api.Consume) { c.Currency = "" }, crossing.CurrencyMismatch, ""},
		"above the limit": {func(c *api.Consume) { c.Units = 250001 }, crossing.MagnitudeExhausted, ""},
		"revoked":         {func(c *api.Consume) { *c = units(revoked, 1, "irreversible") }, crossing.MandateRevoked, ""},
		"limit of none":   {func(c *api.Consume) { *c = units(none, 1, "irreversible") }, crossing.MagnitudeExhausted, ""},
	} {
		x := good
		c.change(&x)
		_, err := w.ra.Consume(ctx, w.a.effects, x)
		if e := refused(t, what, err, c.name); e.Pointer != c.pointer {
			t.Errorf("%s: pointer %q", what, e.Pointer)
		}
	}
	good.Units = 250000
	if _, err := w.consume(w.a, 1, good); err != nil {
		t.Errorf("the whole limit after all that: %v", err)
	}
	w.sleep(24 * time.Hour)
	_, err := w.consume(w.a, 2, good)
	refused(t, "at exp", err, crossing.MandateExpired)
}

// covers GC-181, GC-197
func TestConsumeReads(t *testing.T) {
	w := newWorld(t)
	draft := func(limit commitment.Magnitude) mandate.IssuedOpen {
		d := w.a.openDraft(commitment.Amount{Class: commitment.Observe, Magnitude: limit})
		d.Acts = nil
		return w.opened(w.a, d)
	}
	unlimited, three := draft(0), draft(3)
	for n := range 3 {
		for i, o := range []mandate.IssuedOpen{unlimited, three} {
			if _, err := w.consume(w.a, 10*i+n, units(o, 1, "observe")); err != nil {
				t.Errorf("read %d: %v", n, err)
			}
		}
	}
	_, err := w.consume(w.a, 30, units(three, 1, "observe"))
	refused(t, "a fourth of three", err, crossing.MagnitudeExhausted)
	if _, err := w.consume(w.a, 31, units(unlimited, 1<<53-1, "observe")); err != nil {
		t.Errorf("many reads: %v", err)
	}
}

// covers GC-190, GC-208
func TestConsumeNeverOversubscribes(t *testing.T) {
	w := newWorld(t)
	o := w.opened(w.a, w.a.openDraft(irreversible(5)))
	var wg sync.WaitGroup
	var cleared atomic.Int32
	for n := range 40 {
		wg.Go(func() {
			if _, err := w.consume(w.a, n, units(o, 1, "irreversible")); err == nil {
				cleared.Add(1)
			} else if err.Error() != "MAGNITUDE_EXHAUSTED" {
				t.Errorf("unit %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	if cleared.Load() != 5 {
		t.Errorf("%d units of five were taken", cleared.Load())
	}
}

// TestBurned: the loss is logged where it can be told from an ordinary consumption.
//
// covers GC-198, GC-199
func TestBurned(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	o := w.opened(w.a, w.a.openDraft(irreversible(424242)))
	if _, err := w.consume(w.a, 1, units(o, 424242, "irreversible")); err != nil {
		t.Fatal(err)
	}
	const event = "mandate_unit_burned"
	if strings.Contains(w.log.String(), event) {
		t.Error("a consumption is logged as a loss")
	}
	err := w.ra.Burned(ctx, w.b.effects, api.Burn{RequestID: requestID(1)})
	refused(t, "another's effector", err, api.CodeNotFound)
	err = w.ra.Burned(ctx, w.a.effects, api.Burn{RequestID: "x"})
	refused(t, "request id", err, api.CodeMalformed)
	for range 2 {
		if err := w.ra.Burned(ctx, w.a.effects, api.Burn{RequestID: requestID(1)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(w.log.String(), event); n != 1 {
		t.Errorf("the loss is logged %d times", n)
	}
	_, err = w.consume(w.a, 2, units(o, 1, "irreversible"))
	refused(t, "what was lost", err, crossing.MagnitudeExhausted)
	if log := w.log.String(); strings.Contains(log, "eyJ") || !strings.Contains(log, requestID(1)) {
		t.Errorf("log: %s", log)
	}
}

// TestBurnedByRefusal: both Closeds of a hold that cannot be confirmed are lost.
//
// covers GC-198, GC-199
func TestBurnedByRefusal(t *testing.T) {
	w := newWorld(t)
	ctx, d := t.Context(), w.deal(irreversible(1))
	if _, err := w.ra.Hold(ctx, w.b.effects, d.hold); err != nil {
		t.Fatal(err)
	}
	w.sleep(10 * time.Minute)
	_, err := w.ra.Confirm(ctx, w.b.effects, d.hold.Triple())
	refused(t, "confirm", err, crossing.MandateExpired)
	if !strings.Contains(w.log.String(), "mandate_unit_burned") {
		t.Error("the loss is not logged")
	}
}
