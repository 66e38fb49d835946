package a2acrossing_test

import (
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/jcs"
)

// TestWC10Signers is WC-10 with what signs: a key or a principal that is revoked between
// consumption and commit, with the RA in the responder's store, elsewhere, and with two; and
// one that is revoked after the seal.
//
// covers GC-101, GC-139, GC-301, GC-302
func TestWC10Signers(t *testing.T) { everywhere(t, wc10Signers) }

func wc10Signers(t *testing.T, cfg wiretest.Config) {
	for name, revoke := range map[string]func(*wiretest.World, *wiretest.Script){
		"the initiator's issuer key": func(_ *wiretest.World, s *wiretest.Script) { s.From.RevokeKey(s.From.Issuer) },
		"the initiator's cnf key":    func(_ *wiretest.World, s *wiretest.Script) { s.From.RevokeKey(s.From.Agent) },
		"the responder's issuer key": func(w *wiretest.World, _ *wiretest.Script) { w.Responder.RevokeKey(w.Responder.Issuer) },
		"the responder's cnf key":    func(w *wiretest.World, _ *wiretest.Script) { w.Responder.RevokeKey(w.Responder.Agent) },
		"the initiator":              func(_ *wiretest.World, s *wiretest.Script) { s.From.RevokeSelf() },
	} {
		if cfg.Postgres && cfg.Registries != wiretest.Shared && !strings.HasSuffix(name, "cnf key") {
			continue // one of each side is shown there
		}
		t.Run(name, func(t *testing.T) {
			w, s := readyIn(t, cfg)
			w.OnPoint(func(point string) {
				if point == "after-hold" {
					revoke(w, s)
				}
			})
			before := w.Count()
			wantError(t, s.Seal(), "MANDATE_REVOKED", "-40014")
			after := w.Count()
			if after.Seals != before.Seals || after.Anchors != before.Anchors || after.Attempts != before.Attempts+1 || after.Refusals != before.Refusals+1 {
				t.Errorf("counts %+v, before %+v", after, before)
			}
			row := w.Rows()["refusals"][0]
			if row["name"] != "MANDATE_REVOKED" || row["initiator_spent"] != "1" || row["responder_spent"] != "1" {
				t.Errorf("refusal row %v", row)
			}
		})
		t.Run(name+", after the seal", func(t *testing.T) {
			w, s := readyIn(t, cfg)
			first := s.Seal()
			if _, err := jcs.Parse(first.Body); err != nil || first.Result() == nil {
				t.Fatalf("the seal answered %s", first.Body)
			}
			revoke(w, s)
			if v := verdictOf(t, w.Verify(wiretest.Doc{"crossing_id": s.CrossingID})); wiretest.At(v, "checks", "resolves") != true {
				t.Errorf("the seal does not stand: %v", v)
			}
		})
	}
}
