package a2acrossing_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/jcs"
)

// A raising is one way to a name of §3.7.4.
type raising struct {
	w    *wiretest.World
	send func() wiretest.Answer
	// What the refusal row holds: crossing_id ("NULL": none) and the spent flags of the
	// initiator and of the responder, as two digits. "" for a name that leaves no row.
	crossingID, spent string
}

// bySeal is a raising at crossing:seal that spends nothing.
func bySeal(s *wiretest.Script) raising {
	return raising{w: s.W, send: s.Seal, crossingID: s.CrossingID, spent: "00"}
}

// byRecord is bySeal for a crossing at P3 whose record is changed.
func byRecord(edit func(wiretest.Doc)) func(*testing.T) raising {
	return func(t *testing.T) raising {
		_, s := ready(t)
		s.Edit.Record = edit
		return bySeal(s)
	}
}

// byClosed is bySeal for a crossing at P3 that then presents another Closed.
func byClosed(edit func(wiretest.Doc)) func(*testing.T) raising {
	return func(t *testing.T) raising {
		_, s := ready(t)
		s.Present(edit)
		return bySeal(s)
	}
}

// raisings are ways to all 24 names, each by the path on which a party meets it first.
func raisings() map[string]func(*testing.T) raising {
	return map[string]func(*testing.T) raising{
		"EXT_NOT_ACTIVATED": func(t *testing.T) raising {
			_, s := ready(t)
			s.Edit.Header = lines()
			r := bySeal(s)
			r.crossingID = "NULL" // nothing of a body is believed that did not activate the extension
			return r
		},
		"MANDATE_INVALID":            byClosed(set("vct", "https://example.com/other")),
		"MANDATE_AUDIENCE":           byClosed(set("aud", "urn:anax:principal:third")),
		"AGREEMENT_HASH_MISMATCH":    byRecord(set("agreement_hash", wiretest.Hash("other terms"))),
		"CLASS_EXCEEDED":             byRecord(set("commitment_class", "binding")),
		"NARROWING_VIOLATION":        byClosed(set("magnitude_limit", 1000)),
		"MALFORMED_MANDATE":          byRecord(set("commitment_act", "unheard_of")),
		"MAGNITUDE_MISMATCH":         byRecord(set("magnitude_asserted", 2)),
		"CLASS_BELOW_FLOOR":          byRecord(set("commitment_class", "reversible")),
		"RECORD_MALFORMED":           byRecord(set("clearance_id", "x")),
		"MANDATE_EXPIRED":            raiseExpired,
		"MANDATE_NONCE_REPLAY":       raiseNonceReplay,
		"MANDATE_REVOKED":            raiseRevoked,
		"MAGNITUDE_EXHAUSTED":        raiseExhausted,
		"CURRENCY_MISMATCH":          raiseCurrency,
		"COUNTERPARTY_NOT_PERMITTED": raiseCounterparty,
		"SERVICE_HELD_MANDATE":       raiseServiceHeld,
		"MANDATE_PARTY_MISMATCH":     raiseParty,
		"CHAIN_POSITION_UNAVAILABLE": raisePosition,
		"SEAL_MISMATCH":              raiseMismatch,
		"SEAL_PENDING":               raisePending,
		"ROLE_MISMATCH":              raiseRole,
		"VERIFY_PARAMS": func(t *testing.T) raising {
			w := wiretest.New(t, wiretest.Config{})
			return raising{w: w, send: func() wiretest.Answer { return w.Verify(wiretest.Doc{"seal_id": "a", "crossing_id": "b"}) }}
		},
		"RATE_LIMITED": func(t *testing.T) raising {
			w := wiretest.New(t, wiretest.Config{VerifyRate: wiretest.Rate{PerSecond: 1, Burst: 1}})
			return raising{w: w, send: func() wiretest.Answer {
				w.Verify(wiretest.Doc{"seal_id": "a"})
				return w.Verify(wiretest.Doc{"seal_id": "a"})
			}}
		},
	}
}

func raiseExpired(t *testing.T) raising {
	w, s := ready(t)
	w.Clock.Advance(10 * time.Minute)
	return bySeal(s)
}

// raiseNonceReplay lets one record fail at the hold, so that its nonces are used, and then
// presents another Closed with the same nonce.
func raiseNonceReplay(t *testing.T) raising {
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme"))
	s.Edit.Closed = set("nonce", "0123456789abcdef0123456789abcdef")
	s.Through(wiretest.P3)
	s.From.Revoke(wiretest.Hash(s.Closed))
	if a := s.Seal(); a.Name() != "MANDATE_REVOKED" {
		t.Fatalf("the first record: %s", a.Body)
	}
	s.Present(s.Edit.Closed)
	return bySeal(s)
}

// raiseRevoked is WC-10: between consumption and commit.
func raiseRevoked(t *testing.T) raising {
	w, s := ready(t)
	w.OnPoint(func(point string) {
		if point == centre.PointAfterHold {
			s.From.Revoke(wiretest.Hash(s.Closed))
		}
	})
	r := bySeal(s)
	r.spent = "11"
	return r
}

func raiseExhausted(t *testing.T) raising {
	_, s := covering(t, wiretest.Config{}, actions(1000), actions(10), actions(6), true)
	s.Through(wiretest.P3).Present(set("magnitude_limit", 5))
	return bySeal(s)
}

func raiseCurrency(t *testing.T) raising {
	_, s := covering(t, wiretest.Config{}, money(1000, "EUR"), money(250, "EUR"), money(100, "EUR"), false)
	s.Through(wiretest.P3).Present(set("currency", "GBP"))
	return bySeal(s)
}

func raiseCounterparty(t *testing.T) raising {
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme"))
	s.Edit.Open = set("permitted_counterparties", []any{"urn:anax:principal:third"})
	return raising{w: w, send: s.P1, crossingID: "NULL", spent: "00"}
}

// raiseServiceHeld makes the initiator's agent a subject that a service issuer may issue for.
func raiseServiceHeld(t *testing.T) raising {
	w, s := ready(t)
	w.HoldByService(s.From)
	return bySeal(s)
}

// raiseParty seals before P3: the responder has no Closed of its own (AG-59).
func raiseParty(t *testing.T) raising {
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme")).Through(wiretest.Closing)
	s.Peer.Closed = s.Closed
	return bySeal(s)
}

func raisePosition(t *testing.T) raising {
	_, s := ready(t)
	s.Edit.Params = set("initiator_anchor_intent", wiretest.Doc{"prev_hash": nil, "chain_seq": 1})
	return bySeal(s)
}

func raiseMismatch(t *testing.T) raising {
	w, s, _ := sealed(t)
	s.Forget()
	w.Clock.Advance(time.Second) // another sealed_at, and so another record
	return bySeal(s)
}

// raisePending has an authority that does not acknowledge.
func raisePending(t *testing.T) raising {
	w := wiretest.New(t, wiretest.Config{
		AckTimeout: 50 * time.Millisecond,
		Publisher:  func(centre.Publisher) centre.Publisher { return deaf{} },
	})
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	s.Seal()
	return raising{w: w, send: s.Seal}
}

type deaf struct{}

func (deaf) Publish(context.Context, []byte) error { return errors.New("no answer") }

// raiseRole sends a principal's credential to the agent's route. The RA keeps no refusal
// rows: those are of parties (E-1, AG-76).
func raiseRole(t *testing.T) raising {
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme")).Through(wiretest.Closing)
	body := api.RegisterClosed{Token: s.Closed, CounterpartyAgent: w.Responder.AgentID}.Bytes()
	return raising{w: w, send: func() wiretest.Answer { return w.Role("/v1/ra/closeds", s.From.Credentials.Principal, body) }}
}

// TestRefusalNames raises every name of the table over the wire, and requires its code, a
// failure path, HTTP 200 under JSON-RPC, and one refusal row that says what E-1 asks.
//
// covers GC-096, GC-097, GC-098, GC-099, GC-100, GC-101, GC-102, GC-103, GC-104, GC-105, GC-106, GC-107, GC-108, GC-109, GC-110, GC-111, GC-112, GC-113, GC-114, GC-115, GC-116, GC-117, GC-118, GC-121, GC-322
func TestRefusalNames(t *testing.T) {
	ways := raisings()
	for _, row := range crossing.Table() {
		name := string(row.Name)
		raise := ways[name]
		if raise == nil {
			t.Errorf("%s is raised by nothing", name)
			continue
		}
		delete(ways, name)
		t.Run(name, func(t *testing.T) {
			r := raise(t)
			r.w.Clock.Advance(1500 * time.Millisecond)
			before, at := r.w.Rows(), r.w.Clock.Now().UnixMilli()
			a := r.send()
			switch {
			case name == "ROLE_MISMATCH":
				wantRole(t, a, name, row.HTTP)
			case name == "COUNTERPARTY_NOT_PERMITTED":
				wantTaskRefused(t, a, name)
			default:
				wantError(t, a, name, strconv.Itoa(row.Code))
			}
			if path := a.Path(); path != "" && !strings.HasPrefix(path, "§") {
				t.Errorf("failure_path %q names no clause", path)
			}
			written := r.w.Rows().Since(before)["refusals"]
			if r.spent == "" {
				if len(written.Added) != 0 {
					t.Errorf("it leaves the rows %v", written.Added)
				}
				return
			}
			if len(written.Added) != 1 || len(written.Removed) != 0 {
				t.Fatalf("refusal rows %v, gone %v; want one new", written.Added, written.Removed)
			}
			got := written.Added[0]
			if got["name"] != name || got["crossing_id"] != r.crossingID || got["at"] != strconv.FormatInt(at, 10) ||
				got["initiator_spent"]+got["responder_spent"] != r.spent || got["failure_path"] == "" {
				t.Errorf("refusal row %v", got)
			}
		})
	}
	for name := range ways {
		t.Errorf("%s stands in no table", name)
	}
}

// TestRefusalStatus: what RA and VA raise on their own routes has the table's status there,
// and the name as its code.
//
// covers GC-110, GC-111, GC-116, GC-117, GC-120
func TestRefusalStatus(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{VerifyRate: wiretest.Rate{PerSecond: 1, Burst: 2}})
	from := w.Party("acme")
	s := w.Script(from).Through(wiretest.P3)
	closed := func(edit func(wiretest.Doc)) func() wiretest.Answer {
		return func() wiretest.Answer { return atRegistration(s, edit) }
	}
	consume := func(credential, class string, units int64) func() wiretest.Answer {
		return func() wiretest.Answer {
			body := api.Consume{RequestID: s.CrossingID, Token: s.Open.Full(), Class: class, Units: units}.Bytes()
			return w.Role("/v1/ra/units", credential, body)
		}
	}
	hold := func(p *wiretest.Party, initiator, responder string) func() wiretest.Answer {
		return func() wiretest.Answer {
			h := api.Hold{CrossingID: s.CrossingID, InitiatorClosed: initiator, ResponderClosed: responder}
			return w.Role("/v1/ra/holds", p.Credentials.Effector, h.Bytes())
		}
	}
	verify := func(params wiretest.Doc) func() wiretest.Answer {
		return func() wiretest.Answer { return w.Role("/v1/crossing:verify", "", wiretest.JSON(params)) }
	}
	revoked := from.Issue(actions(5), nil)
	if _, err := from.RegisterOpen(revoked); err != nil {
		t.Fatal(err)
	}
	from.Revoke(wiretest.OpenHash(revoked.Token))
	for _, c := range []struct {
		name crossing.Name
		send func() wiretest.Answer
	}{
		{crossing.MandateInvalid, closed(set("vct", "other"))},
		{crossing.MandateInvalid, hold(w.Responder, s.Closed+"~", s.Peer.Closed)},
		{crossing.MandateExpired, closed(set("exp", w.Clock.Now().Unix()))},
		{crossing.MandateRevoked, closed(set("open_mandate_hash", wiretest.OpenHash(revoked.Token)))},
		{crossing.ClassExceeded, consume(from.Credentials.Effector, "binding", 1)},
		{crossing.MagnitudeExhausted, consume(from.Credentials.Effector, "irreversible", 1000)},
		{crossing.NarrowingViolation, closed(set("magnitude_limit", 1000))},
		{crossing.CurrencyMismatch, currencyAtRegistration(t, w, from)},
		{crossing.MalformedMandate, closed(set("commitment_class", "finance"))},
		{crossing.ClassBelowFloor, closed(set("commitment_class", "reversible"))},
		{crossing.RoleMismatch, consume(from.Credentials.Agent, "irreversible", 1)},
		{crossing.MandatePartyMismatch, hold(from, s.Closed, s.Peer.Closed)},
		{crossing.RecordMalformed, verify(wiretest.Doc{"crossing_id": s.CrossingID, "record": wiretest.Doc{}})},
		{crossing.VerifyParams, verify(wiretest.Doc{})},
		{crossing.RateLimited, verify(wiretest.Doc{"crossing_id": s.CrossingID})},
		{crossing.RateLimited, statusUntilRefused(w)},
	} {
		t.Run(string(c.name), func(t *testing.T) {
			row, _ := crossing.RowOf(c.name)
			before := w.Rows()
			wantRole(t, c.send(), string(c.name), row.HTTP)
			w.Unwritten(before)
		})
	}
	t.Run("SERVICE_HELD_MANDATE", func(t *testing.T) {
		w.HoldByService(from)
		before := w.Rows()
		wantRole(t, hold(w.Responder, s.Closed, s.Peer.Closed)(), "SERVICE_HELD_MANDATE", http.StatusForbidden)
		wantRole(t, consume(from.Credentials.Effector, "irreversible", 1)(), "SERVICE_HELD_MANDATE", http.StatusForbidden)
		w.Unwritten(before)
	})
}

// currencyAtRegistration registers a Closed in another currency than its Open's.
func currencyAtRegistration(t *testing.T, w *wiretest.World, from *wiretest.Party) func() wiretest.Answer {
	t.Helper()
	x := w.Script(from)
	x.Amount, x.Open = commitment.Amount{Class: commitment.Financial, Magnitude: 1, Currency: "EUR"}, from.Issue(money(5, "EUR"), nil)
	if _, err := from.RegisterOpen(x.Open); err != nil {
		t.Fatal(err)
	}
	return func() wiretest.Answer { return atRegistration(x, set("currency", "GBP")) }
}

// statusUntilRefused asks without a credential until the budget of this address is spent.
func statusUntilRefused(w *wiretest.World) func() wiretest.Answer {
	body := api.StatusRequest{Hash: jcs.Hex256(wiretest.Hash("any")), Nonce: "n"}.Bytes()
	return func() wiretest.Answer {
		var a wiretest.Answer
		for range 200 {
			if a = w.Role("/v1/ra/status", "", body); a.Status != http.StatusOK {
				break
			}
		}
		return a
	}
}
