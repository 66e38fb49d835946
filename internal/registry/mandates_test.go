package registry_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

func TestRegisterOpenReceipt(t *testing.T) {
	w := newWorld(t)
	o := w.open(w.a, w.a.openDraft(irreversible(5)))
	register := func(token string) (string, error) {
		return w.ra.RegisterOpen(t.Context(), w.a.principal, api.RegisterOpen{Token: token})
	}
	receipt, err := register(o.Full())
	if err != nil {
		t.Fatal(err)
	}
	g, err := mandate.ParseRegistration(receipt, w.keys)
	if err != nil {
		t.Fatal(err)
	}
	jwt, _, _ := strings.Cut(o.Token, "~")
	signed := jwt[:strings.LastIndex(jwt, ".")]
	want := mandate.Registration{
		TokenHash: jcs.HexOf([]byte(o.Full())), SignedHash: jcs.HexOf([]byte(signed)), OpenMandateHash: jcs.HexOf([]byte(o.Token)),
		Variant: mandate.VariantOpen, PrincipalID: w.a.id, AgentID: w.a.agentID, At: start,
	}
	if g != want {
		t.Errorf("receipt %+v, want %+v", g, want)
	}
	w.sleep(48 * time.Hour)
	if again, err := register(o.Full()); err != nil || again != receipt {
		t.Errorf("the same bytes, after exp, got another receipt (%v)", err)
	}
	_, err = register(o.Token)
	refused(t, "the same Open, limit withheld", err, api.CodeConflict)
	_, err = w.ra.RegisterOpen(t.Context(), w.b.principal, api.RegisterOpen{Token: o.Full()})
	refused(t, "another principal", err, crossing.MandateInvalid)
}

// covers GC-153, GC-179, GC-187, GC-205, GC-206
func TestRegisterOpenRefusals(t *testing.T) {
	w := newWorld(t)
	money := w.a.openDraft(financial(250000, "EUR"))
	money.DiscloseLimit = true
	plain := w.open(w.a, money).Token
	draft := func(change func(*mandate.OpenDraft)) string {
		d := w.a.openDraft(irreversible(5))
		change(&d)
		return w.open(w.a, d).Full()
	}
	alter := func(old, new string) string { return resign(t, w.a.issuer, plain, old, new) }
	for what, c := range map[string]struct {
		token string
		name  crossing.Name
	}{
		"no mandate":         {"x", crossing.MandateInvalid},
		"limit withheld":     {w.open(w.a, w.a.openDraft(irreversible(5))).Token, crossing.MandateInvalid},
		"high s":             {highS(t, plain), crossing.MandateInvalid},
		"foreign key":        {resign(t, w.b.issuer, plain, "EUR", "USD"), crossing.MandateInvalid},
		"tampered signature": {plain[:len(plain)-9] + "AAAAAAAA~", crossing.MandateInvalid},
		"foreign issuer":     {alter(w.a.id, w.b.id), crossing.MandateInvalid},
		"foreign agent":      {draft(func(d *mandate.OpenDraft) { d.Subject = w.b.agentID }), crossing.MandateInvalid},
		"foreign cnf":        {draft(func(d *mandate.OpenDraft) { d.ConfirmationKey = w.b.agent.Key() }), crossing.MandateInvalid},
		"human's cnf":        {draft(func(d *mandate.OpenDraft) { d.ConfirmationKey = w.a.human.Key() }), crossing.MandateInvalid},
		"no exp":             {alter(`"exp":1786086400,`, ``), crossing.MandateInvalid},
		"unlisted act":       {draft(func(d *mandate.OpenDraft) { d.Acts = []string{act, "bribery"} }), crossing.MalformedMandate},
		"class finance":      {alter(`"financial"`, `"finance"`), crossing.MalformedMandate},
		"no currency":        {alter(`,"currency":"EUR"`, ``), crossing.MalformedMandate},
		"string limit":       {alter(`"magnitude_limit":250000`, `"magnitude_limit":"250000"`), crossing.MalformedMandate},
		"expired":            {draft(func(d *mandate.OpenDraft) { d.IssuedAt, d.ExpiresAt = start.Add(-time.Hour), start }), crossing.MandateExpired},
	} {
		_, err := w.ra.RegisterOpen(t.Context(), w.a.principal, api.RegisterOpen{Token: c.token})
		refused(t, what, err, c.name)
	}
	// What the cases were made of is in order.
	for what, token := range map[string]string{
		"plain limit": plain,
		"re-signed":   alter("EUR", "USD"),
		"no cnf":      draft(func(d *mandate.OpenDraft) { d.ConfirmationKey = jose.Key{} }),
		"any act":     draft(func(d *mandate.OpenDraft) { d.Acts = nil }),
	} {
		if _, err := w.ra.RegisterOpen(t.Context(), w.a.principal, api.RegisterOpen{Token: token}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// covers GC-076, GC-191
func TestRegisterClosedReceipt(t *testing.T) {
	w := newWorld(t)
	o := w.opened(w.a, w.a.openDraft(irreversible(5)))
	token := w.closed(w.a.agent, w.a.closedDraft(o, w.b, irreversible(3)))
	receipt, err := w.register(w.a, token, w.b)
	if err != nil {
		t.Fatal(err)
	}
	g, err := mandate.ParseRegistration(receipt, w.keys)
	if err != nil {
		t.Fatal(err)
	}
	signed := token[:strings.LastIndex(token, ".")]
	want := mandate.Registration{
		TokenHash: jcs.HexOf([]byte(token)), SignedHash: jcs.HexOf([]byte(signed)), OpenMandateHash: jcs.HexOf([]byte(o.Token)),
		Variant: mandate.VariantClosed, PrincipalID: w.a.id, AgentID: w.a.agentID, CounterpartyAgent: w.b.agentID,
		ChainID: chain.ID(w.a.agentID, w.b.agentID), CrossingID: crossing1, At: start,
	}
	if g != want {
		t.Errorf("receipt %+v, want %+v", g, want)
	}
	if again, err := w.register(w.a, token, w.b); err != nil || again != receipt {
		t.Errorf("the same bytes got another receipt (%v)", err)
	}
	c := newParty(t, "c")
	_, err = w.register(w.a, token, c)
	refused(t, "another counterparty", err, api.CodeConflict)
	_, err = w.register(w.b, token, w.a)
	refused(t, "another agent", err, crossing.MandateInvalid)
	// A second signature over the same payload is another token for the same mandate.
	_, err = w.register(w.a, resign(t, w.a.agent, token, crossing1, crossing1), w.b)
	refused(t, "signed again", err, api.CodeConflict)
	if _, err := w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(o, w.b, irreversible(2))), w.b); err != nil {
		t.Errorf("the repeats booked a draw: %v", err)
	}
	w.sleep(48 * time.Hour)
	if again, err := w.register(w.a, token, w.b); err != nil || again != receipt {
		t.Errorf("the same bytes, after exp, got another receipt (%v)", err)
	}
}

// covers GC-021, GC-153, GC-188, GC-189, GC-200, GC-203, GC-204, GC-297
func TestRegisterClosedRefusals(t *testing.T) {
	w := newWorld(t)
	o := w.opened(w.a, w.a.openDraft(financial(250000, "EUR")))
	anyAct := w.a.openDraft(financial(250000, "EUR"))
	anyAct.Acts = nil
	anyOpen := w.opened(w.a, anyAct)
	theirs := w.opened(w.b, w.b.openDraft(financial(250000, "EUR")))
	draft := func(change func(*mandate.ClosedDraft)) string {
		d := w.a.closedDraft(o, w.b, financial(100000, "EUR"))
		change(&d)
		return w.closed(w.a.agent, d)
	}
	plain := draft(func(*mandate.ClosedDraft) {})
	alter := func(old, new string) string { return resign(t, w.a.agent, plain, old, new) }
	asserts := func(a commitment.Amount) string { return draft(func(d *mandate.ClosedDraft) { d.Asserted = a }) }
	for what, c := range map[string]struct {
		token string
		name  crossing.Name
	}{
		"no mandate":      {"x", crossing.MandateInvalid},
		"an Open":         {o.Full(), crossing.MandateInvalid},
		"high s":          {highS(t, plain), crossing.MandateInvalid},
		"foreign key":     {resign(t, w.b.agent, plain, crossing1, crossing2), crossing.MandateInvalid},
		"principal's key": {resign(t, w.a.issuer, plain, crossing1, crossing2), crossing.MandateInvalid},
		"unknown open":    {draft(func(d *mandate.ClosedDraft) { d.OpenMandateHash = jcs.HexOf([]byte("x")) }), crossing.MandateInvalid},
		"another's open": {draft(func(d *mandate.ClosedDraft) { d.OpenMandateHash = jcs.HexOf([]byte(theirs.Token)) }),
			crossing.MandateInvalid},
		"another's agent": {w.closed(w.b.agent, w.b.closedDraft(theirs, w.a, financial(1, "EUR"))), crossing.MandateInvalid},
		"no act":          {alter(`"commitment_act":"`+act+`",`, ``), crossing.MandateInvalid},
		"wrong sd_hash":   {draft(func(d *mandate.ClosedDraft) { d.OpenPresented = theirs.Token }), crossing.MandateInvalid},
		"unlisted act":    {alter(act, "bribery"), crossing.MalformedMandate},
		"class finance":   {alter(`"financial"`, `"finance"`), crossing.MalformedMandate},
		"no currency":     {alter(`,"currency":"EUR"`, ``), crossing.MalformedMandate},
		"below the floor": {asserts(commitment.Amount{Class: commitment.Reversible, Magnitude: 1}), crossing.ClassBelowFloor},
		"act not opened":  {alter(act, "proposal_within_tariff"), crossing.NarrowingViolation},
		"class widened":   {asserts(commitment.Amount{Class: commitment.Binding, Magnitude: 1}), crossing.NarrowingViolation},
		"currency":        {asserts(financial(1, "GBP")), crossing.CurrencyMismatch},
		"currency first":  {asserts(financial(300000, "GBP")), crossing.CurrencyMismatch},
		"above the limit": {asserts(financial(300000, "EUR")), crossing.NarrowingViolation},
		"outlives":        {draft(func(d *mandate.ClosedDraft) { d.ExpiresAt = start.Add(24*time.Hour + time.Second) }), crossing.NarrowingViolation},
		"asserted above": {resign(t, w.a.agent, plain, `"magnitude_asserted":100000`, `"magnitude_asserted":100001`),
			crossing.MagnitudeExhausted},
		"limit of none": {asserts(financial(0, "EUR")), crossing.MagnitudeExhausted},
		"expired":       {draft(func(d *mandate.ClosedDraft) { d.IssuedAt, d.ExpiresAt = start.Add(-time.Hour), start }), crossing.MandateExpired},
	} {
		_, err := w.register(w.a, c.token, w.b)
		refused(t, what, err, c.name)
	}
	// CM-3 as its publisher restates it, in class irreversible.
	units := w.opened(w.a, w.a.openDraft(irreversible(250000)))
	_, err := w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(units, w.b, irreversible(300000))), w.b)
	refused(t, "child 300000 of 250000 units", err, crossing.NarrowingViolation)
	if _, err := w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(units, w.b, irreversible(100000))), w.b); err != nil {
		t.Errorf("child 100000 of 250000 units: %v", err)
	}
	for _, counterparty := range []string{"", "x", w.a.agentID} {
		_, err := w.ra.RegisterClosed(t.Context(), w.a.as, api.RegisterClosed{Token: plain, CounterpartyAgent: counterparty})
		refused(t, "counterparty "+counterparty, err, api.CodeMalformed)
	}
	for what, token := range map[string]string{
		"child 100000":   plain,
		"narrower class": asserts(irreversible(1_000_000)),
		"bare sd_hash":   draft(func(d *mandate.ClosedDraft) { d.OpenPresented = o.Token }),
		"act of the profile": draft(func(d *mandate.ClosedDraft) {
			d.Act, d.OpenMandateHash = "proposal_within_tariff", jcs.HexOf([]byte(anyOpen.Token))
		}),
		"full sd_hash": draft(func(d *mandate.ClosedDraft) {
			d.OpenPresented, d.OpenMandateHash = anyOpen.Full(), jcs.HexOf([]byte(anyOpen.Token))
		}),
	} {
		if _, err := w.register(w.a, token, w.b); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// covers GC-021, GC-169
func TestHumanCloses(t *testing.T) {
	w := newWorld(t)
	d := w.a.openDraft(irreversible(5))
	d.ConfirmationKey = jose.Key{}
	o := w.opened(w.a, d)
	human := w.a.closedDraft(o, w.b, irreversible(1))
	human.SignerRole, human.Issuer = mandate.RoleHuman, w.a.humanID
	if _, err := w.register(w.a, w.closed(w.a.human, human), w.b); err != nil {
		t.Errorf("registered human: %v", err)
	}
	_, err := w.register(w.a, w.closed(w.a.agent, human), w.b)
	refused(t, "agent's key as a human's", err, crossing.MandateInvalid)
	_, err = w.register(w.a, w.closed(w.b.human, human), w.b)
	refused(t, "another's human", err, crossing.MandateInvalid)
	_, err = w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(o, w.b, irreversible(1))), w.b)
	refused(t, "agent without cnf", err, crossing.MandateInvalid)
	human.Issuer = "urn:anax:human:x"
	_, err = w.register(w.a, w.closed(w.a.human, human), w.b)
	refused(t, "another name for the human", err, crossing.MandateInvalid)
}

// covers GC-190, GC-191, GC-192, GC-201, GC-208
func TestDrawsNeverOversubscribe(t *testing.T) {
	w := newWorld(t)
	o := w.opened(w.a, w.a.openDraft(irreversible(5)))
	tokens := make([]string, 50)
	for i := range tokens {
		tokens[i] = w.closed(w.a.agent, w.a.closedDraft(o, w.b, irreversible(1)))
	}
	var wg sync.WaitGroup
	var cleared atomic.Int32
	for _, token := range tokens {
		wg.Go(func() {
			if _, err := w.register(w.a, token, w.b); err == nil {
				cleared.Add(1)
			} else if err.Error() != "MAGNITUDE_EXHAUSTED" {
				t.Errorf("draw: %v", err)
			}
		})
	}
	wg.Wait()
	if cleared.Load() != 5 {
		t.Errorf("%d draws of one cleared under a limit of five", cleared.Load())
	}
}

// covers GC-196
func TestLapsedDrawStaysBooked(t *testing.T) {
	w := newWorld(t)
	o := w.opened(w.a, w.a.openDraft(irreversible(5)))
	if _, err := w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(o, w.b, irreversible(4))), w.b); err != nil {
		t.Fatal(err)
	}
	w.sleep(time.Hour)
	late := w.a.closedDraft(o, w.b, irreversible(2))
	late.ExpiresAt = start.Add(2 * time.Hour)
	_, err := w.register(w.a, w.closed(w.a.agent, late), w.b)
	refused(t, "draw of a lapsed Closed's amount", err, crossing.MagnitudeExhausted)
}

func TestDrawFromRevokedOpen(t *testing.T) {
	w := newWorld(t)
	o := w.opened(w.a, w.a.openDraft(irreversible(5)))
	if _, err := w.ra.Revoke(t.Context(), w.a.principal, api.Revoke{Hash: jcs.HexOf([]byte(o.Token))}); err != nil {
		t.Fatal(err)
	}
	_, err := w.register(w.a, w.closed(w.a.agent, w.a.closedDraft(o, w.b, irreversible(1))), w.b)
	refused(t, "revoked open", err, crossing.MandateRevoked)
}
