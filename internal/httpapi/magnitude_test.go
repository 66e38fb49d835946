package httpapi_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

func clockOf(at time.Time) func() time.Time { return func() time.Time { return at } }

func unit(n commitment.Magnitude) commitment.Amount {
	return commitment.Amount{Class: commitment.Irreversible, Magnitude: n}
}

func money(n commitment.Magnitude, currency commitment.Currency) commitment.Amount {
	return commitment.Amount{Class: commitment.Financial, Magnitude: n, Currency: currency}
}

// open is an Open of the firm for its agent, good for an hour.
func (f *firm) open(t *testing.T, amount commitment.Amount, change func(*mandate.OpenDraft)) mandate.IssuedOpen {
	t.Helper()
	d := mandate.OpenDraft{
		Issuer: f.id, Subject: f.agentID, IssuedAt: start, ExpiresAt: start.Add(time.Hour), ConfirmationKey: f.agent.Key(),
		Counterparties: mandate.AnyCounterparty(), Amount: amount,
	}
	change(&d)
	o, err := d.Sign(f.issuer)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// opened is a registered Open.
func (f *firm) opened(t *testing.T, amount commitment.Amount) mandate.IssuedOpen {
	t.Helper()
	o := f.open(t, amount, func(*mandate.OpenDraft) {})
	if _, err := f.ra.RegisterOpen(t.Context(), api.RegisterOpen{Token: o.Full()}); err != nil {
		t.Fatal(err)
	}
	return o
}

// draft is a Closed under the Open, for the profile's act with the lowest floor.
func (f *firm) draft(o mandate.IssuedOpen, peer *firm, amount commitment.Amount) mandate.ClosedDraft {
	acts := commitment.Builtin().Acts()
	act := slices.MinFunc(acts, func(a, b string) int {
		x, _ := commitment.Builtin().Floor(a)
		y, _ := commitment.Builtin().Floor(b)
		return int(x) - int(y)
	})
	return mandate.ClosedDraft{
		SignerRole: mandate.RoleAgent, Issuer: f.agentID, Subject: f.agentID, Audience: peer.id, IssuedAt: start,
		ExpiresAt: start.Add(time.Minute), CrossingID: crossingOne, AgreementHash: jcs.HexOf([]byte("terms")),
		OpenMandateHash: jcs.HexOf([]byte(o.Token)), Basis: mandate.GovernanceBasis{PackID: "p", PackVersion: "1"},
		Act: act, Asserted: amount,
	}
}

// draw registers a Closed of that amount under the Open.
func (f *firm) draw(t *testing.T, o mandate.IssuedOpen, peer *firm, amount commitment.Amount) error {
	t.Helper()
	token, err := f.draft(o, peer, amount).Sign(f.agent)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.ra.RegisterClosed(t.Context(), api.RegisterClosed{Token: token, CounterpartyAgent: peer.agentID})
	return err
}

// take consumes units of the Open for an act of amount's class, under the n-th name.
func (f *firm) take(t *testing.T, n int, o mandate.IssuedOpen, amount commitment.Amount) error {
	t.Helper()
	_, err := f.ra.Consume(t.Context(), api.Consume{
		RequestID: attempt(n), Token: o.Full(), Class: amount.Class.String(), Units: int64(amount.Magnitude),
		Currency: string(amount.Currency),
	})
	return err
}

func cleared(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// covers GC-201, GC-190
func TestRegistryCM1(t *testing.T) {
	o := newOffice(t)
	a, b := o.join(t, "a"), o.join(t, "b")
	attempts := 0
	for _, c := range []struct{ limit, each commitment.Amount }{
		{unit(5), unit(1)},
		{money(250000, "EUR"), money(50000, "EUR")},
		{money(250000, "USD"), money(50000, "USD")},
	} {
		drawn, taken, mixed := a.opened(t, c.limit), a.opened(t, c.limit), a.opened(t, c.limit)
		for range 5 {
			attempts++
			cleared(t, "draw", a.draw(t, drawn, b, c.each))
			cleared(t, "units", a.take(t, attempts, taken, c.each))
			if attempts%2 == 0 {
				cleared(t, "one counter, a draw", a.draw(t, mixed, b, c.each))
			} else {
				cleared(t, "one counter, units", a.take(t, 100+attempts, mixed, c.each))
			}
		}
		named(t, "sixth draw", a.draw(t, drawn, b, c.each), "MAGNITUDE_EXHAUSTED")
		named(t, "sixth unit", a.take(t, 200, taken, c.each), "MAGNITUDE_EXHAUSTED")
		named(t, "one counter, sixth draw", a.draw(t, mixed, b, c.each), "MAGNITUDE_EXHAUSTED")
		named(t, "one counter, sixth units", a.take(t, 200, mixed, c.each), "MAGNITUDE_EXHAUSTED")
	}
	// Five Closeds of one Open clear through to spent, and none of them twice (M-4b).
	theirs, ours := b.opened(t, unit(5)), a.opened(t, unit(5))
	for range 5 {
		sign := func(f, peer *firm, o mandate.IssuedOpen) string {
			token, err := f.draft(o, peer, unit(1)).Sign(f.agent)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.ra.RegisterClosed(t.Context(), api.RegisterClosed{Token: token, CounterpartyAgent: peer.agentID})
			cleared(t, "register", err)
			return token
		}
		h := api.Hold{CrossingID: crossingOne, InitiatorClosed: sign(a, b, ours), ResponderClosed: sign(b, a, theirs)}
		_, err := b.ra.Hold(t.Context(), h)
		cleared(t, "hold", err)
		_, err = b.ra.Confirm(t.Context(), h.Triple())
		cleared(t, "confirm", err)
		other := api.Hold{CrossingID: crossingOne, InitiatorClosed: h.ResponderClosed, ResponderClosed: h.InitiatorClosed}
		_, err = a.ra.Hold(t.Context(), other)
		named(t, "spent again", err, "MAGNITUDE_EXHAUSTED")
	}
}

// covers GC-202, GC-176
func TestRegistryCM2(t *testing.T) {
	o := newOffice(t)
	a, b := o.join(t, "a"), o.join(t, "b")
	reversible := a.opened(t, commitment.Amount{Class: commitment.Reversible, Magnitude: 5})
	named(t, "irreversible action", a.take(t, 1, reversible, unit(1)), "CLASS_EXCEEDED")
	cleared(t, "reversible action", a.take(t, 1, reversible, commitment.Amount{Class: commitment.Reversible, Magnitude: 1}))
	for i, currency := range []commitment.Currency{"EUR", "USD"} {
		financial := a.opened(t, money(500, currency))
		binding := money(1, currency)
		binding.Class = commitment.Binding
		named(t, "binding action", a.take(t, 2, financial, binding), "CLASS_EXCEEDED")
		cleared(t, "financial action", a.take(t, 10+i, financial, money(500, currency)))
	}
	// Against its Open a Closed does not exceed, it fails to narrow (AG-23).
	named(t, "irreversible Closed", a.draw(t, reversible, b, unit(1)), "NARROWING_VIOLATION")
}

// TestRegistryCM3 runs the vector with the limit withheld from the counterparty and with it
// in the clear, in two currencies and in the class of its publisher's restatement.
//
// covers GC-203, GC-189
func TestRegistryCM3(t *testing.T) {
	o := newOffice(t)
	a, b := o.join(t, "a"), o.join(t, "b")
	for _, disclosed := range []bool{false, true} {
		for _, amount := range []func(commitment.Magnitude) commitment.Amount{
			func(n commitment.Magnitude) commitment.Amount { return money(n, "EUR") },
			func(n commitment.Magnitude) commitment.Amount { return money(n, "USD") },
			unit,
		} {
			open := a.open(t, amount(250000), func(d *mandate.OpenDraft) { d.DiscloseLimit = disclosed })
			if withheld := open.Full() != open.Token; withheld == disclosed {
				t.Fatalf("limit withheld %v, disclosed %v", withheld, disclosed)
			}
			if !disclosed {
				_, err := a.ra.RegisterOpen(t.Context(), api.RegisterOpen{Token: open.Token})
				named(t, "a limit that the RA does not see", err, "MANDATE_INVALID")
			}
			_, err := a.ra.RegisterOpen(t.Context(), api.RegisterOpen{Token: open.Full()})
			cleared(t, "parent", err)
			named(t, "child 300000", a.draw(t, open, b, amount(300000)), "NARROWING_VIOLATION")
			named(t, "child 250001", a.draw(t, open, b, amount(250001)), "NARROWING_VIOLATION")
			cleared(t, "child 100000", a.draw(t, open, b, amount(100000)))
			named(t, "child above the rest", a.draw(t, open, b, amount(150001)), "MAGNITUDE_EXHAUSTED")
			cleared(t, "child of the rest", a.draw(t, open, b, amount(150000)))
			// A narrower class counts in another unit: its class alone bounds it (M-3).
			cleared(t, "child of a narrower class", a.draw(t, open, b, commitment.Amount{Class: commitment.Reversible, Magnitude: 1_000_000}))
		}
	}
}

// covers GC-204, GC-188
func TestRegistryCM4(t *testing.T) {
	o := newOffice(t)
	a, b := o.join(t, "a"), o.join(t, "b")
	for i, c := range [][2]commitment.Currency{{"EUR", "GBP"}, {"GBP", "EUR"}, {"EUR", "USD"}} {
		parent := a.opened(t, money(250000, c[0]))
		named(t, "child in another currency", a.draw(t, parent, b, money(100000, c[1])), "CURRENCY_MISMATCH")
		named(t, "however large", a.draw(t, parent, b, money(300000, c[1])), "CURRENCY_MISMATCH")
		named(t, "units in another currency", a.take(t, 100+i, parent, money(100000, c[1])), "CURRENCY_MISMATCH")
		cleared(t, "all of it in its own", a.take(t, i, parent, money(250000, c[0])))
	}
}

// covers GC-205, GC-179
func TestRegistryCM5(t *testing.T) {
	o := newOffice(t)
	a, b := o.join(t, "a"), o.join(t, "b")
	for i, currency := range []commitment.Currency{"EUR", "USD"} {
		for j, class := range []string{"finance", "Financial", "fınancial"} {
			a.malformed(t, b, money(commitment.Magnitude(250000+10*i+j), currency), `"commitment_class":"financial"`, `"commitment_class":"`+class+`"`)
		}
	}
}

// covers GC-206, GC-187
func TestRegistryCM6(t *testing.T) {
	o := newOffice(t)
	a, b := o.join(t, "a"), o.join(t, "b")
	for _, currency := range []commitment.Currency{"EUR", "USD"} {
		a.malformed(t, b, money(250000, currency), `,"currency":"`+string(currency)+`"`, "")
	}
}

// malformed changes an Open and a Closed of class financial, which were in order, before
// they are signed, and fails the test unless both are refused as malformed.
func (f *firm) malformed(t *testing.T, peer *firm, limit commitment.Amount, old, new string) {
	t.Helper()
	open := f.open(t, limit, func(d *mandate.OpenDraft) { d.DiscloseLimit = true })
	_, err := f.ra.RegisterOpen(t.Context(), api.RegisterOpen{Token: changed(t, f.issuer, open.Token, old, new)})
	named(t, "Open with "+new, err, "MALFORMED_MANDATE")
	_, err = f.ra.RegisterOpen(t.Context(), api.RegisterOpen{Token: open.Token})
	cleared(t, "Open as it was", err)
	closed, err := f.draft(open, peer, money(100000, limit.Currency)).Sign(f.agent)
	if err != nil {
		t.Fatal(err)
	}
	register := func(token string) error {
		_, err := f.ra.RegisterClosed(t.Context(), api.RegisterClosed{Token: token, CounterpartyAgent: peer.agentID})
		return err
	}
	named(t, "Closed with "+new, register(changed(t, f.agent, closed, old, new)), "MALFORMED_MANDATE")
	cleared(t, "Closed as it was", register(closed))
}

// changed is a token without disclosures whose payload has new for old, signed again.
func changed(t *testing.T, s *jose.Signer, token, old, new string) string {
	t.Helper()
	jwt := strings.TrimSuffix(token, "~")
	c, err := jose.ParseCompact(jwt, len(jwt))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(c.Payload, []byte(old)) != 1 {
		t.Fatalf("payload does not have %s once: %s", old, c.Payload)
	}
	jwt, err = jose.SignCompact(s, "dc+sd-jwt", bytes.Replace(c.Payload, []byte(old), []byte(new), 1))
	if err != nil {
		t.Fatal(err)
	}
	return jwt + "~"
}
