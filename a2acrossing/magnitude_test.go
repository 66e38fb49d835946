package a2acrossing_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/jcs"
)

// The vectors CM-1 … CM-6, WC-7 and WC-9 are from the Governed Crossing specification,
// §4.1.3 and §3.7.7, CC BY 4.0, attribution "ANAX Standard — anaxstandard.ai".
//
// Each vector is shown at every place of the wire where its fault can be met: the RA's own
// routes, P1, P3 and crossing:seal. An amount above what an Open has left is refused where
// it is drawn, so no honest Closed carries it to a seal.

func actions(n commitment.Magnitude) commitment.Amount {
	return commitment.Amount{Class: commitment.Irreversible, Magnitude: n}
}

func money(n commitment.Magnitude, currency commitment.Currency) commitment.Amount {
	return commitment.Amount{Class: commitment.Financial, Magnitude: n, Currency: currency}
}

// units are the units in which the vectors are shown: the class of the publisher's own
// restatement, and, where all variants are, two currencies.
func units(cfg wiretest.Config) map[string]func(commitment.Magnitude) commitment.Amount {
	if cfg.Registries != wiretest.Shared {
		return map[string]func(commitment.Magnitude) commitment.Amount{"irreversible": actions}
	}
	return map[string]func(commitment.Magnitude) commitment.Amount{
		"irreversible": actions,
		"EUR":          func(n commitment.Magnitude) commitment.Amount { return money(n, "EUR") },
		"USD":          func(n commitment.Magnitude) commitment.Amount { return money(n, "USD") },
	}
}

// covering is a World whose responder has one Open, and a Script for amount under an Open
// of limit, whose limit is disclosed at P3 or not.
func covering(t *testing.T, cfg wiretest.Config, own, limit, amount commitment.Amount, disclose bool) (*wiretest.World, *wiretest.Script) {
	t.Helper()
	cfg.Grants = []commitment.Amount{own}
	w := wiretest.New(t, cfg)
	s := w.Script(w.Party("acme"))
	s.Amount, s.Draw, s.Limit, s.Disclose = amount, amount.Magnitude, limit.Magnitude, disclose
	return w, s
}

// wantSealRefused requires the next seal to be refused by name, with a row and nothing else.
func wantSealRefused(t *testing.T, s *wiretest.Script, name, code string) {
	t.Helper()
	before := s.W.Rows()
	wantError(t, s.Seal(), name, code)
	row := s.W.Refused(before, name)
	if row["crossing_id"] != s.CrossingID || row["initiator_spent"] != "0" || row["responder_spent"] != "0" {
		t.Errorf("refusal row %v", row)
	}
}

// wantTaskRefused requires a phase message to be answered with a refused task.
func wantTaskRefused(t *testing.T, a wiretest.Answer, name string) {
	t.Helper()
	if a.Status != http.StatusOK || a.Name() != name || a.State() != "refused" || a.Path() == "" {
		t.Errorf("answered %d %s, want a task refused for %s", a.Status, a.Body, name)
	}
	if core := wiretest.Text(a.Task(), "status", "state"); core != "TASK_STATE_REJECTED" {
		t.Errorf("the core state is %q", core)
	}
}

// wantRole requires an error of the RA or VA with the status of the table.
func wantRole(t *testing.T, a wiretest.Answer, name string, status int) {
	t.Helper()
	if a.RoleName() != name || a.Status != status {
		t.Errorf("answered %d %s, want %d %s", a.Status, a.Body, status, name)
	}
}

// atRegistration registers the Script's next Closed at the RA over HTTP.
func atRegistration(s *wiretest.Script, edit func(wiretest.Doc)) wiretest.Answer {
	body := api.RegisterClosed{Token: s.SignClosed(edit), CounterpartyAgent: s.W.Responder.AgentID}.Bytes()
	return s.From.Role("/v1/ra/closeds", s.From.Credentials.Agent, body)
}

// openAtRegistration registers an Open at the RA over HTTP.
func openAtRegistration(s *wiretest.Script, edit func(wiretest.Doc)) wiretest.Answer {
	o := s.From.Issue(s.Amount, edit)
	return s.From.Role("/v1/ra/opens", s.From.Credentials.Principal, api.RegisterOpen{Token: o.Full()}.Bytes())
}

// variants are all of them, and the first where an RA is not in the responder's store.
func variants[T any](cfg wiretest.Config, all ...T) []T {
	if cfg.Registries != wiretest.Shared {
		return all[:1]
	}
	return all
}

func set(name string, value any) func(wiretest.Doc) {
	return func(d wiretest.Doc) { d[name] = value }
}

func without(name string) func(wiretest.Doc) {
	return func(d wiretest.Doc) { delete(d, name) }
}

// covers GC-201, GC-104
func TestCM1(t *testing.T) { everywhere(t, cm1) }

func cm1(t *testing.T, cfg wiretest.Config) {
	for name, unit := range units(cfg) {
		t.Run("above the limit in "+name, func(t *testing.T) {
			w, s := covering(t, cfg, unit(1000), unit(10), unit(6), true)
			s.Through(wiretest.Closing)
			wantRole(t, atRegistration(s, set("magnitude_limit", 5)), "MAGNITUDE_EXHAUSTED", http.StatusForbidden)
			s.P3()
			s.Present(set("magnitude_limit", 5))
			wantSealRefused(t, s, "MAGNITUDE_EXHAUSTED", "-40031")

			x := w.Script(s.From)
			x.Open, x.Amount, x.Draw, x.Disclose = s.Open, s.Amount, 5, true
			x.Through(wiretest.P2)
			x.Present(nil)
			wantTaskRefused(t, x.P3(), "MAGNITUDE_EXHAUSTED")
		})
	}
	t.Run("spent initiator Closed", func(t *testing.T) { spentClosed(t, cfg, true) })
	t.Run("spent responder Closed", func(t *testing.T) { spentClosed(t, cfg, false) })
	t.Run("five draws", func(t *testing.T) { fiveDraws(t, cfg) })
}

// spentClosed lets the effector spend one of the two Closeds with another of the same
// crossing, so that at the seal it is the very token that was agreed on and is spent.
func spentClosed(t *testing.T, cfg wiretest.Config, initiators bool) {
	w, s := readyIn(t, cfg)
	h := api.Hold{CrossingID: s.CrossingID, InitiatorClosed: s.Closed, ResponderClosed: s.Peer.Closed}
	if initiators {
		h.ResponderClosed = secondClosed(t, s)
	} else {
		x := *s
		x.Close()
		h.InitiatorClosed = x.Closed
	}
	w.Hold(h, s.From)
	before := w.Count()
	wantError(t, s.Seal(), "MAGNITUDE_EXHAUSTED", "-40031")
	want, flag := before, map[bool]string{true: "1", false: "0"}
	want.Attempts, want.Refusals = before.Attempts+1, before.Refusals+1
	if cfg.Registries == wiretest.Each { // the other RA has held its half at the same time
		want.Holds, flag[false] = before.Holds+1, "1"
	}
	if got := w.Count(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	row := w.Rows()["refusals"][0]
	if row["name"] != "MAGNITUDE_EXHAUSTED" || row["initiator_spent"] != flag[initiators] || row["responder_spent"] != flag[!initiators] {
		t.Errorf("refusal row %v", row)
	}
}

// secondClosed is another Closed of the responder for the same crossing, registered.
func secondClosed(t *testing.T, s *wiretest.Script) string {
	t.Helper()
	token, _, err := s.W.Centre.Close(t.Context(), centre.Draw{
		CrossingID: s.CrossingID, AgreementHash: jcs.Hex256(s.Agreement()), Counterparty: s.From.PrincipalID,
		CounterpartyAgent: s.From.AgentID, Act: s.Act, Amount: s.Amount,
	})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// fiveDraws clears five Closeds of one under a limit of five, in as many crossings. The
// sixth is refused: the initiator's by its RA, which books the draws, and then, under an
// Open that has enough, the responder's own.
func fiveDraws(t *testing.T, cfg wiretest.Config) {
	w, first := covering(t, cfg, actions(5), actions(5), actions(1), true)
	first.Through(wiretest.P1)
	for n := range 5 {
		s := w.Script(first.From)
		s.Open, s.Disclose = first.Open, true
		if a := s.Through(wiretest.P3).Seal(); a.Result() == nil {
			t.Fatalf("crossing %d is refused: %s", n, a.Body)
		}
	}
	s := w.Script(first.From)
	s.Open, s.Disclose = first.Open, true
	s.Through(wiretest.P2)
	wantRole(t, atRegistration(s, nil), "MAGNITUDE_EXHAUSTED", http.StatusForbidden)

	x := w.Script(first.From).Through(wiretest.Closing)
	before := w.Rows()
	wantTaskRefused(t, x.P3(), "MAGNITUDE_EXHAUSTED")
	if row := w.Rows().Since(before)["refusals"].Added; len(row) != 1 || row[0]["name"] != "MAGNITUDE_EXHAUSTED" {
		t.Errorf("refusal rows %v", row)
	}
	if state := w.ClosedState(x.Closed); state != "active" {
		t.Errorf("the initiator's Closed is %s", state)
	}
	if n := w.Count(); n.Seals != 5 || n.Anchors != 5 || n.Holds != 5 {
		t.Errorf("counts %+v, want five of each", n)
	}
	if seals := w.Rows().Where("opens", "drawn", "5"); len(seals) != 2 {
		t.Errorf("%d Opens are drawn in full, want both", len(seals))
	}
}

// covers GC-202, GC-103
func TestCM2(t *testing.T) { everywhere(t, cm2) }

func cm2(t *testing.T, cfg wiretest.Config) {
	reversible := commitment.Amount{Class: commitment.Reversible, Magnitude: 1}
	tariff := func(t *testing.T) *wiretest.Script {
		w := wiretest.New(t, cfg)
		s := w.Script(w.Party("acme"))
		s.Amount, s.Act = reversible, "proposal_within_tariff"
		return s
	}
	t.Run("at the seal", func(t *testing.T) {
		s := tariff(t).Through(wiretest.P3)
		s.Edit.Record = set("commitment_class", "irreversible")
		wantSealRefused(t, s, "CLASS_EXCEEDED", "-40030")
		s.Edit.Record = nil
		s.Forget()
		if a := s.Seal(); a.Result() == nil {
			t.Errorf("the reversible record is refused: %s", a.Body)
		}
	})
	for _, currency := range variants(cfg, commitment.Currency("EUR"), "USD") {
		t.Run("binding under "+string(currency), func(t *testing.T) {
			_, s := covering(t, cfg, money(1000, currency), money(10, currency), money(6, currency), true)
			s.Through(wiretest.P3)
			s.Edit.Record = func(record wiretest.Doc) {
				record["commitment_class"] = "binding"
				delete(record, "currency")
			}
			wantSealRefused(t, s, "CLASS_EXCEEDED", "-40030")
		})
	}
	t.Run("at P1", func(t *testing.T) {
		s := tariff(t)
		s.Edit.P1 = set("intended_class", "irreversible")
		before := s.W.Rows()
		s.Open = s.From.Issue(reversible, nil)
		wantTaskRefused(t, s.P1(), "CLASS_EXCEEDED")
		s.W.OnlyRefusal(before, "CLASS_EXCEEDED")
	})
	t.Run("at P3", func(t *testing.T) {
		s := tariff(t)
		s.Amount.Class = commitment.Irreversible
		s.Edit.P1 = set("intended_class", "reversible")
		s.Through(wiretest.Closing)
		before := s.W.Rows()
		wantTaskRefused(t, s.P3(), "CLASS_EXCEEDED")
		s.W.Refused(before, "CLASS_EXCEEDED")
	})
	t.Run("at the RA", func(t *testing.T) {
		s := tariff(t).Through(wiretest.P2)
		take := func(class string) wiretest.Answer {
			body := api.Consume{RequestID: s.CrossingID, Token: s.Open.Full(), Class: class, Units: 1}.Bytes()
			return s.From.Role("/v1/ra/units", s.From.Credentials.Effector, body)
		}
		wantRole(t, take("irreversible"), "CLASS_EXCEEDED", http.StatusForbidden)
		wantRole(t, take("reversible"), "", http.StatusOK)
		// A Closed does not exceed its Open, it fails to narrow it (AG-23).
		wantRole(t, atRegistration(s, set("commitment_class", "irreversible")), "NARROWING_VIOLATION", http.StatusForbidden)
	})
}

// covers GC-203, GC-105
func TestCM3(t *testing.T) { everywhere(t, cm3) }

func cm3(t *testing.T, cfg wiretest.Config) {
	for name, unit := range units(cfg) {
		for _, disclose := range variants(cfg, true, false) {
			t.Run(fmt.Sprintf("%s, disclosed %v", name, disclose), func(t *testing.T) {
				w, s := covering(t, cfg, unit(1000000), unit(250000), unit(100000), disclose)
				s.Through(wiretest.P2)
				wantRole(t, atRegistration(s, set("magnitude_limit", 300000)), "NARROWING_VIOLATION", http.StatusForbidden)
				s.Close()
				s.P3()
				registered := s.Closed
				s.Present(set("magnitude_limit", 300000))
				wantSealRefused(t, s, "NARROWING_VIOLATION", "-40032")
				s.Closed = registered
				s.Forget()
				if a := s.Seal(); a.Result() == nil {
					t.Errorf("the child of 100000 is refused: %s", a.Body)
				}

				x := w.Script(s.From)
				x.Open, x.Amount, x.Draw, x.Disclose = s.Open, s.Amount, 300000, disclose
				x.Through(wiretest.P2)
				x.Present(nil)
				before := w.Rows()
				wantTaskRefused(t, x.P3(), "NARROWING_VIOLATION")
				w.Refused(before, "NARROWING_VIOLATION")
			})
		}
	}
}

// covers GC-204, GC-106
func TestCM4(t *testing.T) { everywhere(t, cm4) }

func cm4(t *testing.T, cfg wiretest.Config) {
	for parent, child := range map[commitment.Currency]string{"EUR": "GBP", "USD": "EUR"} {
		for _, disclose := range variants(cfg, true, false) {
			t.Run(fmt.Sprintf("%s to %s, disclosed %v", parent, child, disclose), func(t *testing.T) {
				w, s := covering(t, cfg, money(1000, parent), money(250, parent), money(100, parent), disclose)
				s.Through(wiretest.P2)
				wantRole(t, atRegistration(s, set("currency", child)), "CURRENCY_MISMATCH", http.StatusUnprocessableEntity)
				s.Close()
				s.P3()
				registered := s.Closed
				s.Present(set("currency", child))
				wantSealRefused(t, s, "CURRENCY_MISMATCH", "-40033")
				s.Closed = registered
				s.Forget()
				s.Edit.Record = set("currency", child)
				wantSealRefused(t, s, "CURRENCY_MISMATCH", "-40033")

				x := w.Script(s.From)
				x.Open, x.Amount, x.Draw, x.Disclose = s.Open, s.Amount, 100, disclose
				x.Through(wiretest.P2)
				x.Present(set("currency", child))
				before := w.Rows()
				wantTaskRefused(t, x.P3(), "CURRENCY_MISMATCH")
				w.Refused(before, "CURRENCY_MISMATCH")
			})
		}
	}
	// The initiator's own mandates agree; the responder's Open is in another currency.
	t.Run("the responder's Open", func(t *testing.T) {
		_, s := covering(t, cfg, money(1000, "EUR"), money(250, "USD"), money(100, "USD"), false)
		wantTaskRefused(t, s.Through(wiretest.P0).P1(), "CURRENCY_MISMATCH")
	})
}

// covers GC-205, GC-107
func TestCM5(t *testing.T) { everywhere(t, cm5) }

func cm5(t *testing.T, cfg wiretest.Config) {
	for _, class := range variants(cfg, "finance", "Financial", "FINANCIAL", "financial ", "T1") {
		t.Run(class, func(t *testing.T) { malformed(t, cfg, set("commitment_class", class), set("intended_class", class)) })
	}
}

// covers GC-206, GC-107
func TestCM6(t *testing.T) { everywhere(t, cm6) }

func cm6(t *testing.T, cfg wiretest.Config) {
	malformed(t, cfg, without("currency"), nil)
}

// malformed puts one fault of class or unit into an Open, a Closed and a record in turn,
// and, unless intent is nil, into what the initiator intends.
func malformed(t *testing.T, cfg wiretest.Config, fault, intent func(wiretest.Doc)) {
	t.Helper()
	w, s := covering(t, cfg, money(1000, "EUR"), money(250, "EUR"), money(100, "EUR"), true)
	wantRole(t, openAtRegistration(s, fault), "MALFORMED_MANDATE", http.StatusBadRequest)

	x := w.Script(s.From)
	x.Open, x.Edit.P1 = s.From.Issue(s.Amount, nil), intent
	if intent != nil {
		before := w.Rows()
		wantTaskRefused(t, x.P1(), "MALFORMED_MANDATE")
		w.OnlyRefusal(before, "MALFORMED_MANDATE")
	}
	x.Open, x.Amount, x.Edit.P1 = s.From.Issue(s.Amount, fault), s.Amount, nil
	before := w.Rows()
	wantTaskRefused(t, x.P1(), "MALFORMED_MANDATE")
	w.OnlyRefusal(before, "MALFORMED_MANDATE")

	s.Through(wiretest.P2)
	wantRole(t, atRegistration(s, fault), "MALFORMED_MANDATE", http.StatusBadRequest)
	s.Close()
	s.P3()
	registered := s.Closed
	s.Present(fault)
	wantSealRefused(t, s, "MALFORMED_MANDATE", "-40034")
	s.Closed = registered
	s.Forget()
	s.Edit.Record = fault
	wantSealRefused(t, s, "MALFORMED_MANDATE", "-40034")

	x = w.Script(s.From)
	x.Open, x.Amount = s.Open, s.Amount
	x.Through(wiretest.P2)
	x.Present(fault)
	before = w.Rows()
	wantTaskRefused(t, x.P3(), "MALFORMED_MANDATE")
	w.Refused(before, "MALFORMED_MANDATE")
}

// TestWC7 sends the six refusals one after another to one crossing, each in a record of
// its own, and then seals it: no refusal spends anything, and each is final for its record
// alone.
//
// covers GC-135, GC-065, GC-121
func TestWC7(t *testing.T) {
	t.Parallel()
	w, s := covering(t, wiretest.Config{}, money(1000000, "EUR"), money(250000, "EUR"), money(100000, "EUR"), true)
	s.Through(wiretest.P3)
	registered := s.Closed
	for _, c := range []struct {
		vector         string
		closed, record func(wiretest.Doc)
		name, code     string
	}{
		{"CM-1", set("magnitude_limit", 99999), nil, "MAGNITUDE_EXHAUSTED", "-40031"},
		{"CM-2", nil, func(record wiretest.Doc) { record["commitment_class"] = "binding"; delete(record, "currency") }, "CLASS_EXCEEDED", "-40030"},
		{"CM-3", set("magnitude_limit", 300000), nil, "NARROWING_VIOLATION", "-40032"},
		{"CM-4", set("currency", "GBP"), nil, "CURRENCY_MISMATCH", "-40033"},
		{"CM-5", set("commitment_class", "finance"), nil, "MALFORMED_MANDATE", "-40034"},
		{"CM-6", without("currency"), nil, "MALFORMED_MANDATE", "-40034"},
	} {
		t.Run(c.vector, func(t *testing.T) {
			s.Closed, s.Edit.Record = registered, c.record
			s.Forget()
			if c.closed != nil {
				s.Present(c.closed)
			}
			wantSealRefused(t, s, c.name, c.code)
			before := w.Rows()
			wantError(t, s.Seal(), c.name, c.code) // the very same record, again
			w.Unwritten(before)
		})
	}
	s.Closed, s.Edit.Record = registered, nil
	s.Forget()
	if a := s.Seal(); a.Result() == nil {
		t.Errorf("the honest record is refused: %s", a.Body)
	}
	want := wiretest.Counts{Anchors: 1, Seals: 1, Holds: 1, Attempts: 7, Refusals: 6, Outbox: 1, Projections: 1}
	if got := w.Count(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}
