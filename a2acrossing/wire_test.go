package a2acrossing_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/internal/wiretest"
)

// The vectors WC-1 … WC-6 are from the Governed Crossing specification, §3.7.7, CC BY 4.0,
// attribution "ANAX Standard — anaxstandard.ai".

// ready is a World with one crossing that waits for its seal.
func ready(t *testing.T) (*wiretest.World, *wiretest.Script) {
	t.Helper()
	return readyIn(t, wiretest.Config{})
}

func readyIn(t *testing.T, cfg wiretest.Config) (*wiretest.World, *wiretest.Script) {
	t.Helper()
	w := wiretest.New(t, cfg)
	return w, w.Script(w.Party("acme")).Through(wiretest.P3)
}

// everywhere runs a vector with the RA in the responder's store, with one elsewhere, and with
// one for each of the two organisations, on SQLite and on PostgreSQL. All of a vector's
// variants are shown with the RA in the responder's store, one of a kind with the others.
func everywhere(t *testing.T, vector func(t *testing.T, cfg wiretest.Config)) {
	t.Helper()
	t.Parallel()
	for _, where := range wiretest.AllRegistries() {
		if where != wiretest.Shared {
			t.Run(where.String(), func(t *testing.T) {
				t.Parallel()
				vector(t, wiretest.Config{Registries: where})
			})
		}
		t.Run(where.String()+" on PostgreSQL", func(t *testing.T) {
			t.Parallel()
			vector(t, wiretest.Config{Registries: where, Postgres: true})
		})
	}
	vector(t, wiretest.Config{})
}

// sealed is ready, and sealed.
func sealed(t *testing.T) (*wiretest.World, *wiretest.Script, wiretest.Answer) {
	t.Helper()
	w, s := ready(t)
	a := s.Seal()
	if a.Result() == nil {
		t.Fatalf("the honest seal is refused: %s", a.Body)
	}
	return w, s, a
}

// wantError requires a JSON-RPC error object of crossing:seal (AG-61).
func wantError(t *testing.T, a wiretest.Answer, name, code string) {
	t.Helper()
	if got := wiretest.Text(a.Doc, "error", "data", "error"); got != name || a.Code() != code || a.Status != http.StatusOK {
		t.Errorf("answered %d %s, want %s %s", a.Status, a.Body, name, code)
	}
	if wiretest.Text(a.Doc, "error", "data", "failure_path") == "" || a.Result() != nil {
		t.Errorf("answered %s, want a failure_path and no result", a.Body)
	}
}

// unspent requires both flags of a refusal row to be false and both Closeds unconsumed.
func unspent(t *testing.T, w *wiretest.World, s *wiretest.Script, row storetest.Row) {
	t.Helper()
	if row["initiator_spent"] != "0" || row["responder_spent"] != "0" {
		t.Errorf("spent flags %s and %s, want 0 and 0", row["initiator_spent"], row["responder_spent"])
	}
	for _, token := range []string{s.Closed, s.Peer.Closed} {
		if state := w.ClosedState(token); state != "active" {
			t.Errorf("a Closed is %q after the refusal, want active", state)
		}
	}
}

// covers GC-040, GC-042, GC-045, GC-048, GC-054, GC-096, GC-129
func TestWC1(t *testing.T) {
	t.Parallel()
	w, s := ready(t)
	for name, edit := range map[string]func(http.Header){
		"no header":          func(h http.Header) { h.Del(crossing.Header) },
		"empty header":       func(h http.Header) { h.Set(crossing.Header, "") },
		"foreign extension":  func(h http.Header) { h.Set(crossing.Header, "https://example.com/ext/other/v1") },
		"trailing slash":     func(h http.Header) { h.Set(crossing.Header, crossing.URI+"/") },
		"http":               func(h http.Header) { h.Set(crossing.Header, strings.Replace(crossing.URI, "https", "http", 1)) },
		"upper-case host":    func(h http.Header) { h.Set(crossing.Header, strings.Replace(crossing.URI, "anax", "ANAX", 1)) },
		"longer version":     func(h http.Header) { h.Set(crossing.Header, crossing.URI+"0") },
		"quoted":             func(h http.Header) { h.Set(crossing.Header, `"`+crossing.URI+`"`) },
		"separated by space": func(h http.Header) { h.Set(crossing.Header, "https://example.com/x "+crossing.URI) },
		"X- header only": func(h http.Header) {
			h.Del(crossing.Header)
			h.Set("X-A2A-Extensions", crossing.URI)
		},
		"no header, another version of A2A": func(h http.Header) {
			h.Del(crossing.Header)
			h.Set("A2A-Version", "9.9")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.Edit.Header = edit
			before := w.Rows()
			a := s.Seal()
			wantError(t, a, "EXT_NOT_ACTIVATED", "-40001")
			if echo := a.Header.Values(crossing.Header); len(echo) != 0 {
				t.Errorf("the answer echoes %q", echo)
			}
			unspent(t, w, s, w.OnlyRefusal(before, "EXT_NOT_ACTIVATED"))
		})
	}
	t.Run("no header, and a repeated name in the body", func(t *testing.T) {
		before := w.Rows()
		a := w.Post(wiretest.Plain(), []byte(`{"jsonrpc":"2.0","id":1,"id":2,"method":"`+crossing.RPCSeal+`","params":{}}`))
		wantError(t, a, "EXT_NOT_ACTIVATED", "-40001")
		w.OnlyRefusal(before, "EXT_NOT_ACTIVATED")
	})
	s.Edit.Header = nil
	if a := s.Seal(); a.Result() == nil {
		t.Errorf("the same bytes with the header are refused: %s", a.Body)
	}
}

// covers GC-066, GC-067, GC-069, GC-070, GC-071, GC-130, GC-240, GC-241, GC-244
func TestWC2(t *testing.T) {
	t.Parallel()
	w, s := ready(t)
	s.Edit.Params = func(p wiretest.Doc) { p["initiator_joint_seal"] = wiretest.JointSeal(s.Record) }
	a := s.Seal()
	var result wiretest.Doc
	if err := json.Unmarshal(a.Result(), &result); err != nil {
		t.Fatalf("seal answered %s", a.Body)
	}
	seal := wiretest.JointSeal(s.Record)
	sealID := wiretest.Text(result, "seal_id")
	position := wiretest.Doc{"prev_hash": nil, "chain_seq": 0.0}
	want := wiretest.Doc{
		"crossing_id": s.CrossingID, "joint_seal": seal, "seal_id": sealID, "sealed_at": "2026-09-01T12:00:00Z",
		"responder_anchor": map[string]any(position), "verify_url": w.URL + "/?id=" + sealID,
		"artifact_block": map[string]any{
			"crossing_state": "committed", "seal_id": sealID, "seal": seal, "prev_hash": nil, "chain_seq": 0.0,
			"is_genesis": true, "seal_version": 3.0, "pack_id": "globex-pack", "pack_version": "1.0.0",
			"outcome": "CLEARED", "sealed_at": "2026-09-01T12:00:00Z", "verify_url": w.URL + "/?id=" + sealID,
		},
	}
	if diff := cmp.Diff(want, result); diff != "" {
		t.Errorf("result (-want +got)\n%s", diff)
	}
	if !crossing.ValidSealID(sealID) {
		t.Errorf("seal_id %q", sealID)
	}
	rows := w.Rows()
	if got := rows["anchors"]; len(got) != 1 || got[0]["joint_seal"] != seal || got[0]["anchor"] != wiretest.Hash(seal+"|genesis|0") {
		t.Errorf("anchors %v", got)
	}
	if got := rows["seals"]; len(got) != 1 || wiretest.Hash(got[0]["record"]) != seal {
		t.Errorf("the stored record does not hash to the joint seal")
	}
	if a.Header.Get(crossing.Header) != crossing.URI {
		t.Errorf("the echo is %q", a.Header.Get(crossing.Header))
	}
}

// covers GC-068, GC-131, GC-313
func TestWC3(t *testing.T) {
	t.Parallel()
	t.Run("repeat", func(t *testing.T) {
		w, s, first := sealed(t)
		before := w.Rows()
		if again := s.Seal(); !bytes.Equal(again.Result(), first.Result()) {
			t.Errorf("the repeat answered\n%s\nafter\n%s", again.Body, first.Body)
		}
		w.Clock.Advance(48 * time.Hour) // every mandate has expired, the record's clock window too
		if again := s.Seal(); !bytes.Equal(again.Result(), first.Result()) {
			t.Errorf("two days later the repeat answered %s", again.Body)
		}
		w.Unwritten(before)
	})
	t.Run("other spelling", func(t *testing.T) {
		w, s, first := sealed(t)
		before := w.Rows()
		var indented bytes.Buffer
		if err := json.Indent(&indented, s.SealBody(), "\t", "   "); err != nil {
			t.Fatal(err)
		}
		body := strings.Replace(indented.String(), `"magnitude_asserted": 1`, `"magnitude_asserted": 1.0`, 1)
		body = strings.Replace(body, `"irreversible"`, `"\u0069rreversible"`, 1)
		if again := w.Post(wiretest.Activated(), []byte(body)); !bytes.Equal(again.Result(), first.Result()) {
			t.Errorf("the same record in other bytes answered %s", again.Body)
		}
		w.Unwritten(before)
	})
	t.Run("64 at once", func(t *testing.T) {
		w, s := ready(t)
		body := s.SealBody()
		answers, errs := make([]wiretest.Answer, 64), make([]error, 64)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i], errs[i] = w.Send(wiretest.Activated(), body) })
		}
		wg.Wait()
		for i, a := range answers {
			if errs[i] != nil || a.Result() == nil || !bytes.Equal(a.Result(), answers[0].Result()) {
				t.Errorf("call %d: %s %v", i, a.Body, errs[i])
			}
		}
		want := wiretest.Counts{Anchors: 1, Seals: 1, Holds: 1, Attempts: 1, Outbox: 1, Projections: 1}
		if got := w.Count(); got != want {
			t.Errorf("counts %+v, want %+v", got, want)
		}
	})
}

// covers GC-064, GC-102, GC-132
func TestWC4(t *testing.T) {
	t.Parallel()
	w, s := ready(t)
	s.Edit.Record = func(record wiretest.Doc) { record["agreement_hash"] = wiretest.Hash("other terms") }
	before := w.Rows()
	wantError(t, s.Seal(), "AGREEMENT_HASH_MISMATCH", "-40020")
	row := w.Refused(before, "AGREEMENT_HASH_MISMATCH")
	if row["crossing_id"] != s.CrossingID {
		t.Errorf("the refusal row names crossing %q", row["crossing_id"])
	}
	unspent(t, w, s, row)
}

// verdictOf is the result of crossing:verify.
func verdictOf(t *testing.T, a wiretest.Answer) wiretest.Doc {
	t.Helper()
	v := wiretest.Object(a.Doc, "result")
	if v == nil {
		t.Fatalf("verify answered %s", a.Body)
	}
	return v
}

// covers GC-086, GC-090, GC-091, GC-093, GC-133, GC-232
func TestWC5(t *testing.T) {
	t.Parallel()
	w, s, a := sealed(t)
	sealID := wiretest.Text(a.Doc, "result", "seal_id")
	allTrue := map[string]any{
		"resolves": true, "seal_matches": true, "chain_consistent": true, "basis_present": true,
		"not_superseded": true, "chain_position_valid": true,
	}
	unmatched := maps.Clone(allTrue)
	unmatched["seal_matches"] = nil
	mismatched := maps.Clone(allTrue)
	mismatched["seal_matches"] = false
	foreign := s.Record.Clone()
	foreign["magnitude_asserted"] = 2
	for name, c := range map[string]struct {
		params wiretest.Doc
		want   map[string]any
	}{
		"with the record":     {wiretest.Doc{"seal_id": sealID, "record": s.Record}, allTrue},
		"without":             {wiretest.Doc{"seal_id": sealID}, unmatched},
		"with another record": {wiretest.Doc{"seal_id": sealID, "record": foreign}, mismatched},
		"by crossing_id":      {wiretest.Doc{"crossing_id": s.CrossingID, "record": s.Record}, allTrue},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdictOf(t, w.Verify(c.params))
			if diff := cmp.Diff(c.want, map[string]any(wiretest.Object(v, "checks"))); diff != "" {
				t.Errorf("checks (-want +got)\n%s", diff)
			}
			if wiretest.Text(v, "seal") != wiretest.JointSeal(s.Record) || wiretest.Text(v, "crossing_id") != s.CrossingID {
				t.Errorf("verdict %v", v)
			}
		})
	}
	t.Run("nothing secret", func(t *testing.T) {
		for _, answer := range []wiretest.Answer{
			w.Verify(wiretest.Doc{"seal_id": sealID}), w.Verify(wiretest.Doc{"crossing_id": s.CrossingID, "record": s.Record}),
			w.Get("/canal/verify/" + sealID), w.Get("/?id=" + sealID), w.Get("/?id=" + s.CrossingID), s.Task(),
		} {
			if !bytes.Contains(answer.Body, []byte(sealID)) {
				t.Fatalf("does not resolve: %s", answer.Body)
			}
			if wiretest.HasName(answer.Doc, "clearance_id") || wiretest.HasName(answer.Doc, "clearance_id_hash") {
				t.Errorf("a clearance id stands in %s", answer.Body)
			}
			for _, secret := range []string{
				s.From.ClearanceID, w.Responder.ClearanceID, s.From.AgentID, w.Responder.AgentID,
				s.Open.Token, s.Closed, s.Peer.Open, s.Peer.Closed, `"unit"`,
			} {
				if bytes.Contains(answer.Body, []byte(secret)) {
					t.Errorf("%q stands in %s", secret, answer.Body)
				}
			}
		}
	})
}

// covers GC-086, GC-092, GC-122, GC-134
func TestWC6(t *testing.T) {
	t.Parallel()
	w, s, a := sealed(t)
	before := w.Rows()
	unknown := w.Verify(wiretest.Doc{"seal_id": "canal-mxyz1234-0123456789ab"})
	want := map[string]any{
		"verified_by": "VA-001",
		"checks": map[string]any{
			"resolves": false, "seal_matches": nil, "chain_consistent": nil, "basis_present": nil,
			"not_superseded": nil, "chain_position_valid": nil,
		},
	}
	if diff := cmp.Diff(want, map[string]any(verdictOf(t, unknown))); diff != "" {
		t.Errorf("verdict (-want +got)\n%s", diff)
	}
	sealID := wiretest.Text(a.Doc, "result", "seal_id")
	for name, params := range map[string]wiretest.Doc{
		"empty":               {"seal_id": ""},
		"no seal at all":      {"seal_id": "hello"},
		"upper case":          {"seal_id": strings.ToUpper(sealID)},
		"trailing space":      {"seal_id": sealID + " "},
		"cut short":           {"seal_id": sealID[:len(sealID)-1]},
		"a wildcard":          {"seal_id": "canal-%-%"},
		"quotes":              {"seal_id": `' OR '1'='1`},
		"NUL":                 {"seal_id": sealID + "\x00"},
		"10 kB":               {"seal_id": strings.Repeat("a", 10_000)},
		"not ASCII":           {"seal_id": "canal-ü-🂡"},
		"crossing as seal":    {"seal_id": s.CrossingID},
		"unknown crossing":    {"crossing_id": "7f3c1a52-5d0e-4b7a-8c41-0a6f2d9be001"},
		"seal as crossing":    {"crossing_id": sealID},
		"upper-case crossing": {"crossing_id": strings.ToUpper(s.CrossingID)},
		"with a record":       {"seal_id": "canal-mxyz1234-0123456789ab", "record": s.Record},
	} {
		t.Run(name, func(t *testing.T) {
			if got := w.Verify(params); !bytes.Equal(got.Body, unknown.Body) {
				t.Errorf("answered\n%s\nwant, as for an unknown one,\n%s", got.Body, unknown.Body)
			}
		})
	}
	w.Unwritten(before)
}

// covers GC-112, GC-136, GC-251
func TestWC8(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	from, other := w.Party("acme"), w.Party("other")
	for i, who := range []string{"initiator", "responder"} {
		t.Run(who, func(t *testing.T) {
			s := w.Script(from).Through(wiretest.P3)
			s.Edit.Record = func(record wiretest.Doc) { wiretest.Slot(record, i)["agent_id"] = other.AgentID }
			before := w.Rows()
			wantError(t, s.Seal(), "MANDATE_PARTY_MISMATCH", "-40043")
			unspent(t, w, s, w.Refused(before, "MANDATE_PARTY_MISMATCH"))
		})
	}
}

// covers GC-112, GC-137
func TestWC8b(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	from := w.Party("acme")
	for i, who := range []string{"initiator", "responder"} {
		t.Run(who, func(t *testing.T) {
			s := w.Script(from).Through(wiretest.P3)
			s.Edit.Record = func(record wiretest.Doc) {
				wiretest.Slot(record, i)["closed_mandate_hash"] = wiretest.Hash("another token")
			}
			before := w.Rows()
			wantError(t, s.Seal(), "MANDATE_PARTY_MISMATCH", "-40043")
			unspent(t, w, s, w.Refused(before, "MANDATE_PARTY_MISMATCH"))
		})
	}
}

// covers GC-101, GC-139, GC-301, GC-302
func TestWC10(t *testing.T) { everywhere(t, wc10) }

func wc10(t *testing.T, cfg wiretest.Config) {
	for name, revoke := range map[string]func(*wiretest.World, *wiretest.Script){
		"the initiator's Closed": func(_ *wiretest.World, s *wiretest.Script) { s.From.Revoke(wiretest.Hash(s.Closed)) },
		"the responder's Closed": func(w *wiretest.World, s *wiretest.Script) { w.Responder.Revoke(wiretest.Hash(s.Peer.Closed)) },
		"the initiator's Open":   func(_ *wiretest.World, s *wiretest.Script) { s.From.Revoke(wiretest.OpenHash(s.Open.Token)) },
	} {
		t.Run(name, func(t *testing.T) {
			w, s := readyIn(t, cfg)
			w.OnPoint(func(point string) {
				if point == "after-hold" {
					revoke(w, s)
				}
			})
			before := w.Count()
			a := s.Seal()
			wantError(t, a, "MANDATE_REVOKED", "-40014")
			after := w.Count()
			want := before
			want.Holds, want.Attempts, want.Refusals = before.Holds+1, before.Attempts+1, before.Refusals+1
			if after != want {
				t.Errorf("counts %+v, want %+v", after, want)
			}
			rows := w.Rows()
			row := rows["refusals"][0]
			if row["name"] != "MANDATE_REVOKED" || row["initiator_spent"] != "1" || row["responder_spent"] != "1" || row["crossing_id"] != s.CrossingID {
				t.Errorf("refusal row %v", row)
			}
			for _, hold := range rows["holds"] {
				want := "held" // nothing was spent by a seal
				if hold["half"] == "initiator" && name == "the responder's Closed" {
					want = "spent" // at the RA that was asked first
				}
				if hold["state"] != want {
					t.Errorf("the hold is %s, want %s", hold["state"], want)
				}
			}
			if again := s.Seal(); !bytes.Equal(again.Body, a.Body) {
				t.Errorf("the repeat answered %s", again.Body)
			}
			if v := verdictOf(t, w.Verify(wiretest.Doc{"crossing_id": s.CrossingID})); wiretest.At(v, "checks", "resolves") != false {
				t.Errorf("the crossing resolves: %v", v)
			}
			if slices.Contains([]string{"committed", "sealing"}, s.Task().State()) {
				t.Errorf("the task shows %s", s.Task().State())
			}
		})
	}
}

// covers GC-108, GC-140, GC-300
func TestWC11(t *testing.T) {
	t.Parallel()
	t.Run("the record against both", func(t *testing.T) {
		w, s := ready(t)
		s.Edit.Record = func(record wiretest.Doc) { record["magnitude_asserted"] = 2 }
		before := w.Rows()
		wantError(t, s.Seal(), "MAGNITUDE_MISMATCH", "-40035")
		unspent(t, w, s, w.Refused(before, "MAGNITUDE_MISMATCH"))
	})
	// The responder's Closed asserts 1. At the seal the initiator presents another Closed
	// that asserts 2, as the record does.
	t.Run("the responder's alone", func(t *testing.T) {
		w := wiretest.New(t, wiretest.Config{})
		s := w.Script(w.Party("acme"))
		s.Disclose, s.Draw = true, 2
		s.Through(wiretest.P3)
		first := s.Closed
		s.Amount.Magnitude = 2
		s.Close()
		before := w.Rows()
		wantError(t, s.Seal(), "MAGNITUDE_MISMATCH", "-40035")
		row := w.Refused(before, "MAGNITUDE_MISMATCH")
		unspent(t, w, s, row)
		if state := w.ClosedState(first); state != "active" {
			t.Errorf("the first Closed is %s", state)
		}
	})
	// The responder's Closed asserts 1, as the record does. At the seal the initiator
	// presents a Closed that asserts 2.
	t.Run("the initiator's alone", func(t *testing.T) {
		w := wiretest.New(t, wiretest.Config{})
		s := w.Script(w.Party("acme"))
		s.Disclose, s.Draw = true, 2
		s.Through(wiretest.P3)
		s.Amount.Magnitude = 2
		s.Close()
		s.Amount.Magnitude = 1
		before := w.Rows()
		wantError(t, s.Seal(), "MAGNITUDE_MISMATCH", "-40035")
		unspent(t, w, s, w.Refused(before, "MAGNITUDE_MISMATCH"))
	})
}
