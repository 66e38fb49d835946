package a2acrossing_test

import (
	"bytes"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
)

// fails sends the message that a failure path of §5.7 ends with: a refused task, one row,
// and on this side no Closed drawn for it. A task that was stored shows the refusal from
// then on, and takes no message any more.
func fails(t *testing.T, s *wiretest.Script, send func() wiretest.Answer, name string) {
	t.Helper()
	known := s.TaskID != ""
	before := s.W.Rows()
	wantTaskRefused(t, send(), name)
	row := s.W.Refused(before, name)
	if row["initiator_spent"] != "0" || row["responder_spent"] != "0" || row["counterparty"] != s.From.PrincipalID {
		t.Errorf("refusal row %v", row)
	}
	if !known {
		return
	}
	wantTaskRefused(t, s.Task(), name)
	before = s.W.Rows()
	for _, again := range []func() wiretest.Answer{s.P1, s.P2, send} {
		wantNoTask(t, again())
	}
	s.W.Unwritten(before)
}

// TestF1: an expired mandate, at P1 and at P3, judged when it is presented.
//
// covers GC-266, GC-275, GC-293, GC-314
func TestF1(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) *wiretest.Script {
		w := wiretest.New(t, wiretest.Config{})
		s := w.Script(w.Party("acme"))
		s.Open = s.From.Issue(s.Amount, nil)
		if _, err := s.From.RegisterOpen(s.Open); err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Run("the Open at P1", func(t *testing.T) {
		s := start(t)
		s.W.Clock.Advance(24 * time.Hour) // to the second of its exp, which is no longer valid
		s.W.Responder.Grant(s.W.Store, actions(5))
		fails(t, s, s.P1, "MANDATE_EXPIRED")
	})
	t.Run("the Open a second earlier", func(t *testing.T) {
		s := start(t)
		s.W.Clock.Advance(24*time.Hour - time.Second)
		s.W.Responder.Grant(s.W.Store, actions(5))
		if a := s.P1(); a.Name() != "" {
			t.Errorf("answered %s", a.Body)
		}
	})
	t.Run("the Open between P1 and P3", func(t *testing.T) {
		s := start(t)
		s.W.Clock.Advance(24*time.Hour - time.Minute)
		s.W.Responder.Grant(s.W.Store, actions(5))
		s.Through(wiretest.P2)
		s.Present(nil) // its own exp is later than its Open's, so no RA would take it
		s.W.Clock.Advance(time.Minute)
		fails(t, s, s.P3, "MANDATE_EXPIRED")
	})
	t.Run("the Closed between P3's signature and P3", func(t *testing.T) {
		s := start(t).Through(wiretest.Closing)
		s.W.Clock.Advance(10 * time.Minute)
		fails(t, s, s.P3, "MANDATE_EXPIRED")
	})
	t.Run("the Closed between P3 and the seal", func(t *testing.T) {
		s := start(t).Through(wiretest.P3)
		s.W.Clock.Advance(10 * time.Minute)
		wantSealRefused(t, s, "MANDATE_EXPIRED", "-40011")
		wantTaskRefused(t, s.Task(), "MANDATE_EXPIRED")
	})
	t.Run("the responder's own Open", func(t *testing.T) {
		s := start(t)
		s.W.Clock.Advance(24 * time.Hour)
		s.Open = s.From.Issue(s.Amount, nil)
		fails(t, s, s.P1, "MANDATE_EXPIRED")
	})
	t.Run("the initiator's own Open", func(t *testing.T) {
		w := wiretest.New(t, wiretest.Config{})
		i := w.Initiator("acme", nil)
		i.Clock.Advance(24 * time.Hour)
		_, _, err := crossed(t.Context(), i, w.URL)
		var refusal *crossing.Refusal
		if !errors.As(err, &refusal) || refusal.Name != crossing.MandateExpired {
			t.Errorf("error %v, want MANDATE_EXPIRED", err)
		}
		if rows := refusalsOf(t, i, ""); len(rows) != 1 || rows[0].Refusal.Name != crossing.MandateExpired {
			t.Errorf("refusal rows %+v", rows)
		}
	})
}

// TestF1Restart: a mandate issued anew restarts the crossing at P1, in a task of its own.
//
// covers GC-315
func TestF1Restart(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme")).Through(wiretest.Closing)
	w.Clock.Advance(10 * time.Minute)
	fails(t, s, s.P3, "MANDATE_EXPIRED")
	again := w.Script(s.From)
	again.Open = s.Open
	if a := again.Through(wiretest.P3).Seal(); a.Result() == nil {
		t.Errorf("the restarted crossing is refused: %s", a.Body)
	}
	if again.TaskID == s.TaskID {
		t.Error("it goes on in the refused task")
	}
	wantTaskRefused(t, s.Task(), "MANDATE_EXPIRED")
}

// TestF2: a magnitude that is not covered is a refusal by structure. Nothing that the
// counterparty can say, and no repetition, changes it.
//
// covers GC-266, GC-316
func TestF2(t *testing.T) {
	t.Parallel()
	w, first := covering(t, wiretest.Config{}, actions(5), actions(100), actions(3), true)
	if a := first.Through(wiretest.P3).Seal(); a.Result() == nil {
		t.Fatalf("three of five are refused: %s", a.Body)
	}
	s := w.Script(first.From)
	s.Open, s.Amount, s.Draw = first.Open, first.Amount, 3
	s.Through(wiretest.Closing)
	x := *s
	x.Edit.P3 = set("refusal", nil)
	before := w.Rows()
	wantTaskRefused(t, x.P3(), "RECORD_MALFORMED")
	w.OnlyRefusal(before, "RECORD_MALFORMED")

	s.Edit.P3 = func(meta wiretest.Doc) { meta["override"], meta["approved_by"] = true, s.From.HumanID() }
	before = w.Rows()
	wantTaskRefused(t, s.P3(), "MAGNITUDE_EXHAUSTED")
	wantTaskRefused(t, s.Task(), "MAGNITUDE_EXHAUSTED")
	if rows := w.Rows().Since(before)["refusals"].Added; len(rows) != 1 || rows[0]["name"] != "MAGNITUDE_EXHAUSTED" {
		t.Errorf("refusal rows %v", rows)
	}
	if c, ok := w.Rows().Since(before)["closeds"]; ok {
		t.Errorf("Closeds were drawn: %v", c.Added)
	}
	wantNoTask(t, s.P3())
}

// TestF3: a counterparty that cannot be verified is refused, whatever it says of itself.
//
// covers GC-097, GC-266, GC-304, GC-317
func TestF3(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	from, other := w.Party("acme"), w.Party("other")
	self := func(member string, value any) func(wiretest.Doc) {
		return func(meta wiretest.Doc) { wiretest.Object(meta, "party")[member] = value }
	}
	for name, edit := range map[string]struct{ open, p1 func(wiretest.Doc) }{
		"a principal that nobody knows": {set("iss", "urn:anax:principal:nobody"), self("principal_id", "urn:anax:principal:nobody")},
		"another's name":                {set("iss", other.PrincipalID), self("principal_id", other.PrincipalID)},
		"another's name on the Open":    {set("iss", other.PrincipalID), nil},
		"another's name in the message": {nil, self("principal_id", other.PrincipalID)},
		"a better trust_basis":          {nil, self("trust_basis", "nca_verified")},
		"a higher agc_level":            {nil, self("agc_level", 9)},
		"another clearance":             {nil, self("clearance_id_hash", wiretest.Hash("another"))},
		"a bent signature":              {nil, bendToken("open_mandate")},
		"a Closed for an Open":          {set("vct", "anax-closed-mandate"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := w.Script(from)
			s.Open, s.Edit.P1 = from.Issue(s.Amount, edit.open), edit.p1
			before := w.Rows()
			wantTaskRefused(t, s.P1(), "MANDATE_INVALID")
			w.OnlyRefusal(before, "MANDATE_INVALID")
		})
	}
	t.Run("suspended after P2", func(t *testing.T) {
		s := w.Script(from).Through(wiretest.Closing)
		w.Suspend(from)
		fails(t, s, s.P3, "MANDATE_INVALID")
	})
	t.Run("suspended after P3", func(t *testing.T) {
		s := w.Script(other).Through(wiretest.P3)
		w.Suspend(other)
		wantSealRefused(t, s, "MANDATE_INVALID", "-40010")
		wantTaskRefused(t, s.Task(), "MANDATE_INVALID")
	})
	t.Run("suspended before P1", func(t *testing.T) {
		s := w.Script(from)
		s.Open = from.Issue(s.Amount, nil)
		fails(t, s, s.P1, "MANDATE_INVALID")
	})
}

// TestF4: other terms abort the crossing, and so do terms that cannot be made canonical.
// No Closed is drawn for them on either side.
//
// covers GC-064, GC-213, GC-266, GC-284, GC-285, GC-286, GC-318
func TestF4(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	from := w.Party("acme")
	for name, edit := range map[string]func(wiretest.Doc){
		"another hash":     set("agreement_hash", wiretest.Hash("other terms")),
		"other terms":      set("terms_document", `{"terms_version":"1","unit":"code","count":2}`),
		"a fraction":       set("terms_document", `{"terms_version":"1","unit":"code","count":1.5}`),
		"a repeated name":  set("terms_document", `{"terms_version":"1","unit":"code","count":1,"count":1}`),
		"a lone surrogate": set("terms_document", `{"terms_version":"1","unit":"\ud800","count":1}`),
		"2^53":             set("terms_document", `{"terms_version":"1","unit":"code","count":9007199254740992}`),
		"no terms_version": set("terms_document", `{"unit":"code","count":1}`),
		"an array":         set("terms_document", `[1]`),
		"no JSON":          set("terms_document", `terms`),
		"hash of the text": set("agreement_hash", wiretest.Hash(wiretest.Terms)), // the text as written is not canonical
	} {
		t.Run(name, func(t *testing.T) {
			s := w.Script(from).Through(wiretest.P1)
			x := *s
			x.Edit.P2 = edit
			before := w.Rows()
			fails(t, &x, x.P2, "AGREEMENT_HASH_MISMATCH")
			if c, ok := w.Rows().Since(before)["closeds"]; ok {
				t.Errorf("Closeds were drawn: %v", c.Added)
			}
			s.Closed, s.Receipt = "eyJhbGciOiJFUzI1NiJ9.e30.AA~", "none"
			wantNoTask(t, s.P3())
		})
	}
}

// TestF7 is what an initiator makes of a responder whose seal is not its own.
//
// covers GC-114, GC-306, GC-307, GC-310, GC-321
func TestF7(t *testing.T) {
	s := newStage(t, wiretest.Config{})
	fake := func(edit func(params, result wiretest.Doc)) wiretest.Lies {
		return wiretest.Lies{Instead: func(call string, request wiretest.Doc) wiretest.Doc {
			if call != "seal" {
				return nil
			}
			params := wiretest.Object(request, "params")
			result := sealedBy(s.w, params)
			edit(params, result)
			return wiretest.Doc{"jsonrpc": "2.0", "id": request["id"], "result": result}
		}}
	}
	for name, l := range map[string]wiretest.Lies{
		"another joint_seal": fake(func(_, result wiretest.Doc) {
			result["joint_seal"] = wiretest.Hash("another")
			wiretest.Object(result, "artifact_block")["seal"] = result["joint_seal"]
		}),
		"another crossing": fake(func(_, result wiretest.Doc) { result["crossing_id"] = otherCrossing }),
		"another sealed_at": fake(func(_, result wiretest.Doc) {
			result["sealed_at"] = "2026-09-01T12:00:01Z"
			wiretest.Object(result, "artifact_block")["sealed_at"] = result["sealed_at"]
		}),
		"the word of the responder": {Instead: func(call string, request wiretest.Doc) wiretest.Doc {
			if call != "seal" {
				return nil
			}
			return wiretest.Doc{"jsonrpc": "2.0", "id": request["id"], "error": wiretest.Doc{
				"code": -40051, "message": "no", "data": wiretest.Doc{"error": "SEAL_MISMATCH", "failure_path": "§4.4-6"},
			}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			id, report, err := crossed(t.Context(), s.i, s.w.Liar(l))
			if report != nil {
				t.Errorf("reported %s", report)
			}
			wantStopped(t, s.i, id, err, crossing.SealMismatch)
		})
	}
	// The responder seals a record of its own, and the authority serves that one.
	t.Run("another record is sealed", func(t *testing.T) {
		id, report, err := crossed(t.Context(), s.i, s.w.Liar(wiretest.Lies{Request: func(call string, request wiretest.Doc) {
			if call == "seal" {
				delete(wiretest.Object(request, "params"), "initiator_joint_seal")
				wiretest.Object(request, "params", "record", "timestamps")["sealed_at"] = "2026-09-01T12:00:01Z"
			}
		}}))
		if report != nil || s.w.Count().Seals != 1 {
			t.Fatalf("reported %s, sealed %+v", report, s.w.Count())
		}
		if errors.Is(err, centre.ErrUnknown) { // it may ask once more before it says so
			_, err = s.i.Centre.Resume(t.Context(), id, s.i.Dial, func(centre.Event) {})
		}
		wantStopped(t, s.i, id, err, crossing.SealMismatch)
	})
}

// sealedBy is the result of a seal that never took place, for params as they came.
func sealedBy(w *wiretest.World, params wiretest.Doc) wiretest.Doc {
	const sealID = "canal-mxyz1234-0123456789ab"
	record := wiretest.Object(params, "record")
	at, url, seal := wiretest.Text(record, "timestamps", "sealed_at"), w.Authority.VerifyURL(sealID), wiretest.JointSeal(record)
	return wiretest.Doc{
		"crossing_id": record["crossing_id"], "joint_seal": seal, "seal_id": sealID, "sealed_at": at, "verify_url": url,
		"responder_anchor": wiretest.Doc{"prev_hash": nil, "chain_seq": 0},
		"artifact_block": wiretest.Doc{
			"crossing_state": "committed", "seal_id": sealID, "seal": seal, "prev_hash": nil, "chain_seq": 0, "is_genesis": true,
			"seal_version": 3, "pack_id": "globex-pack", "pack_version": "1.0.0", "outcome": "CLEARED", "sealed_at": at, "verify_url": url,
		},
	}
}

// TestLyingSeal: the seal stands, whatever the responder says of it, so the authority's
// word is taken and the commitment reported; and a seal that does not resolve is reported
// by nobody.
//
// covers GC-006, GC-014, GC-046, GC-310, GC-311, GC-312, GC-331
func TestLyingSeal(t *testing.T) {
	s := newStage(t, wiretest.Config{})
	for name, l := range map[string]wiretest.Lies{
		"no echo": {Header: func(call string, h http.Header) {
			if call == "seal" {
				h.Del(crossing.Header)
			}
		}},
		"another joint_seal": {Sealed: func(result wiretest.Doc) {
			result["joint_seal"] = wiretest.Hash("another")
			wiretest.Object(result, "artifact_block")["seal"] = result["joint_seal"]
		}},
		"an authority of its own": {Sealed: func(result wiretest.Doc) {
			result["verify_url"] = "https://example.com/?id=" + wiretest.Text(result, "seal_id")
			wiretest.Object(result, "artifact_block")["verify_url"] = result["verify_url"]
		}},
		"no block": {Sealed: without("artifact_block")},
		"a task at work": {Shown: func(task wiretest.Doc) {
			wiretest.Object(task, "status")["state"] = "TASK_STATE_WORKING"
			wiretest.Object(task, "metadata", crossing.URI)["crossing_state"] = "sealing"
		}},
	} {
		t.Run("sealed, "+name, func(t *testing.T) {
			before := s.w.Count()
			id, report, err := crossed(t.Context(), s.i, s.w.Liar(l))
			if err != nil || !bytes.Contains(report, []byte(id)) {
				t.Fatalf("reported %s, %v", report, err)
			}
			if n := s.w.Count(); n.Seals != before.Seals+1 || n.Projections != before.Projections+2 {
				t.Errorf("counts %+v after %+v", n, before)
			}
			if link, err := s.i.Store.Link(t.Context(), s.i.AgentID, id); err != nil || link.CrossingID != id {
				t.Errorf("own anchor %+v, %v", link, err)
			}
		})
	}
	t.Run("never sealed", func(t *testing.T) {
		before := s.w.Count()
		id, report, err := crossed(t.Context(), s.i, s.w.Liar(wiretest.Lies{Instead: func(call string, request wiretest.Doc) wiretest.Doc {
			if call != "seal" {
				return nil
			}
			return wiretest.Doc{"jsonrpc": "2.0", "id": request["id"], "result": sealedBy(s.w, wiretest.Object(request, "params"))}
		}}))
		if report != nil || !errors.Is(err, centre.ErrUnknown) {
			t.Errorf("reported %s, %v", report, err)
		}
		if x, err := s.i.Store.CrossingByID(t.Context(), id); err != nil || x.State == crossing.Committed {
			t.Errorf("the crossing is %+v, %v", x, err)
		}
		if n := s.w.Count(); n.Seals != before.Seals || n.Projections != before.Projections {
			t.Errorf("counts %+v after %+v", n, before)
		}
	})
}
