package centre_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/internal/wiretest"
)

// TestSealBeforeP3: a party without a Closed of its own has nothing to seal (AG-59).
//
// covers GC-031, GC-056, GC-269
func TestSealBeforeP3(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	from := w.Party("acme")
	// A whole crossing lends the responder's half of the record.
	lender := w.Script(from).Through(wiretest.P3)
	for name, after := range map[string]wiretest.Phase{"unknown crossing": wiretest.P1, "after P2": wiretest.P2, "after the draw": wiretest.Closing} {
		t.Run(name, func(t *testing.T) {
			s := w.Script(from).Through(after)
			s.Peer = lender.Peer
			if s.Closed == "" {
				s.Closed = s.SignClosed(nil)
			}
			if s.Agreed.IsZero() {
				s.Agreed = s.Verified
			}
			before := w.Rows()
			wantName(t, s.Seal(), "MANDATE_PARTY_MISMATCH")
			row := w.OnlyRefusal(before, "MANDATE_PARTY_MISMATCH")
			if row["crossing_id"] != s.CrossingID || row["initiator_spent"] != "0" || row["responder_spent"] != "0" {
				t.Errorf("refusal row %v", row)
			}
		})
	}
}

// TestClockWindow: sealed_at counts within 300 s of the responder's clock (AG-31). A record
// outside is refused for good; the same Closeds may be sealed in a new one (design C5).
func TestClockWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		drift time.Duration // of the initiator's sealed_at
		ok    bool
	}{
		"300 s late": {-300 * time.Second, true}, "301 s late": {-301 * time.Second, false},
		"300 s early": {300 * time.Second, true}, "301 s early": {301 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, _ := world(t, 0)
			s := w.Script(w.Party("acme"))
			s.Through(wiretest.P3)
			s.Begun, s.Verified, s.Agreed = s.Begun.Add(-time.Hour), s.Verified.Add(-time.Hour), s.Agreed.Add(-time.Hour)
			s.Edit.Record = func(record wiretest.Doc) {
				wiretest.Object(record, "timestamps")["sealed_at"] = w.Clock.Now().Add(c.drift).Format("2006-01-02T15:04:05Z")
			}
			before := w.Rows()
			a := s.Seal()
			if c.ok {
				wantSealed(t, a)
				return
			}
			wantName(t, a, "RECORD_MALFORMED")
			if a.Path() != crossing.ClockPath || wiretest.Text(a.Refusal(), "member") != "/record/timestamps/sealed_at" {
				t.Errorf("answered %s", a.Body)
			}
			w.Refused(before, "RECORD_MALFORMED")

			before = w.Rows()
			w.Clock.Advance(c.drift) // now the record's time is right
			if again := s.Seal(); !bytes.Equal(again.Body, a.Body) {
				t.Errorf("the refusal was not final: %s", again.Body)
			}
			w.Unwritten(before)
			w.Clock.Advance(-c.drift)

			s.Forget()
			s.Edit.Record = nil
			wantSealed(t, s.Seal())
			if task := s.Task(); task.State() != "committed" || len(wiretest.Object(task.Task(), "artifacts", 0)) == 0 {
				t.Errorf("the task of a sealed crossing shows %s", task.Body)
			}
			w.Clock.Advance(time.Hour)
			wantSealed(t, s.Seal())
		})
	}
}

// TestRefusalsAreFinalPerRecord: another record of the same crossing and Closeds may pass.
func TestRefusalsAreFinalPerRecord(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	s.Edit.Record = func(record wiretest.Doc) { record["agreement_hash"] = wiretest.Hash("other terms") }
	first := s.Seal()
	wantName(t, first, "AGREEMENT_HASH_MISMATCH")
	bad := s.SealBody()
	s.Forget()
	s.Edit.Record = nil
	wantSealed(t, s.Seal())
	a, err := w.Send(wiretest.Activated(), bad)
	if err != nil {
		t.Fatal(err)
	}
	wantName(t, a, "SEAL_MISMATCH")
}

// TestNonceReplay: a nonce that another token of the same issuer has used in this crossing
// is not taken again (§5.4-8).
//
// covers GC-100, GC-295
func TestNonceReplay(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	s := w.Script(w.Party("acme"))
	s.Disclose = true
	fixed := func(claims wiretest.Doc) { claims["nonce"] = "the-same-nonce" }
	s.Edit.Closed = fixed
	s.Through(wiretest.P3)
	s.From.Revoke(wiretest.Hash(s.Closed)) // the attempt is opened, and the hold refused
	wantName(t, s.Seal(), "MANDATE_REVOKED")

	s.Forget()
	w.Clock.Advance(time.Second) // another token
	s.Close()
	before := w.Rows()
	wantName(t, s.Seal(), "MANDATE_NONCE_REPLAY")
	w.Refused(before, "MANDATE_NONCE_REPLAY")

	s.Forget()
	s.Edit.Closed = nil
	s.Close()
	wantSealed(t, s.Seal())
}

// TestCommitWritesNoMandate: consumption is the hold's; the transaction of the seal reads
// both mandates and writes neither.
//
// covers GC-193, GC-303
func TestCommitWritesNoMandate(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	var held storetest.Rows
	w.OnPoint(func(point string) {
		if point == centre.PointAfterHold {
			held = w.Rows()
		}
	})
	before := w.Rows()
	wantSealed(t, s.Seal())
	if c, ok := w.Rows().Since(before)["opens"]; ok { // a seal does not touch the Open (M-4a)
		t.Errorf("opens: %v became %v", c.Removed, c.Added)
	}
	changes := w.Rows().Since(held)
	for _, table := range []string{"opens", "closeds"} {
		if c, ok := changes[table]; ok {
			t.Errorf("%s: %v became %v", table, c.Removed, c.Added)
		}
	}
	if c := changes["holds"]; len(c.Added) != 1 || c.Added[0]["state"] != "spent" || len(c.Removed) != 1 || c.Removed[0]["state"] != "held" {
		t.Errorf("holds: %v became %v", c.Removed, c.Added)
	}
}

// TestChains: each pair of agents has a chain of its own, without gaps, and its anchors
// recompute.
//
// covers GC-138, GC-241, GC-257
func TestChains(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	a, b := w.Party("acme"), w.Party("initech")
	for _, from := range []*wiretest.Party{a, b, a, a, b} {
		wantSealed(t, w.Script(from).Through(wiretest.P3).Seal())
	}
	for from, length := range map[*wiretest.Party]int{a: 3, b: 2} {
		id := chain.ID(from.AgentID, w.Responder.AgentID)
		links, err := w.Store.Links(t.Context(), w.Responder.AgentID, id)
		if err != nil {
			t.Fatal(err)
		}
		if len(links) != length {
			t.Errorf("%d links with %s, want %d", len(links), from.PrincipalID, length)
		}
		prev := "genesis"
		for i, l := range links {
			if want := wiretest.Hash(fmt.Sprintf("%s|%s|%d", l.JointSeal, prev, i)); string(l.Anchor) != want || l.Seq != int64(i) {
				t.Errorf("link %d: %+v, want anchor %s", i, l, want)
			}
			prev = string(l.Anchor)
		}
	}
}

// TestFinancial: an amount of money is sealed with its currency, and with no other.
func TestFinancial(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{Grants: []commitment.Amount{{Class: commitment.Financial, Magnitude: 500, Currency: "EUR"}}})
	from := w.Party("acme")
	money := func(cur commitment.Currency) *wiretest.Script {
		s := w.Script(from)
		s.Amount = commitment.Amount{Class: commitment.Financial, Magnitude: 250, Currency: cur}
		s.Draw, s.Limit = 300, 500
		return s
	}
	s := money("EUR").Through(wiretest.P3)
	a := s.Seal()
	wantSealed(t, a)
	if got := wiretest.Text(a.Doc, "result", "joint_seal"); got != wiretest.JointSeal(s.Record) {
		t.Errorf("joint seal %s", got)
	}
	s = money("EUR").Through(wiretest.P3)
	s.Edit.Record = func(record wiretest.Doc) { record["currency"] = "USD" }
	wantName(t, s.Seal(), "CURRENCY_MISMATCH")
	wantName(t, money("USD").Through(wiretest.P0).P1(), "CURRENCY_MISMATCH") // no Open of the responder's
}

// TestHumanCloses: a registered human may sign the Closed (T2).
func TestHumanCloses(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	s := w.Script(w.Party("acme"))
	s.Closer = s.From.Human
	s.Edit.P1 = func(meta wiretest.Doc) { meta["closing"] = "human" }
	s.Edit.Closed = func(claims wiretest.Doc) { claims["iss"], claims["signer_role"] = s.From.HumanID(), "human" }
	s.Through(wiretest.P3)
	a := s.Seal()
	wantSealed(t, a)
	if role := wiretest.Slot(s.Record, 0)["signer_role"]; role != "human" {
		t.Errorf("the record names signer_role %v", role)
	}
}

// TestAnchorIntent: the initiator's intended position is judged for whether it can be
// (AG-43), before anything is spent, and is no part of the seal.
//
// covers GC-061, GC-113, GC-258
func TestAnchorIntent(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	from, other := w.Party("acme"), w.Party("initech")
	wantSealed(t, w.Script(from).Through(wiretest.P3).Seal())
	wantSealed(t, w.Script(other).Through(wiretest.P3).Seal())
	links, err := w.Store.Links(t.Context(), w.Responder.AgentID, chain.ID(other.AgentID, w.Responder.AgentID))
	if err != nil || len(links) != 1 {
		t.Fatalf("%v %v", links, err)
	}
	for name, c := range map[string]struct {
		prev any
		seq  any
		name string
	}{
		"null after the first":       {nil, 1, "CHAIN_POSITION_UNAVAILABLE"},
		"an anchor at 0":             {wiretest.Hash("x"), 0, "CHAIN_POSITION_UNAVAILABLE"},
		"an anchor of another chain": {string(links[0].Anchor), 1, "CHAIN_POSITION_UNAVAILABLE"},
		"negative":                   {wiretest.Hash("x"), -1, "CHAIN_POSITION_UNAVAILABLE"},
		"no hash":                    {"genesis", 0, "RECORD_MALFORMED"},
		"a gap":                      {wiretest.Hash("x"), 7, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := w.Script(from).Through(wiretest.P3)
			s.Edit.Params = func(p wiretest.Doc) {
				p["initiator_anchor_intent"] = wiretest.Doc{"prev_hash": c.prev, "chain_seq": c.seq}
			}
			before := w.Rows()
			a := s.Seal()
			if a.Name() != c.name {
				t.Fatalf("answered %s, want %s", a.Body, c.name)
			}
			if c.name == "" {
				return
			}
			w.OnlyRefusal(before, c.name)
			if c.name != "CHAIN_POSITION_UNAVAILABLE" {
				return
			}
			seal := wiretest.JointSeal(s.Record)
			s.Edit.Params = nil
			s.Params["initiator_anchor_intent"] = wiretest.Doc{"prev_hash": nil, "chain_seq": 0}
			a = s.Seal() // 503 names are not final for a record (design R4)
			wantSealed(t, a)
			if got := wiretest.Text(a.Doc, "result", "joint_seal"); got != seal {
				t.Errorf("joint seal %s, want %s", got, seal)
			}
		})
	}
}
