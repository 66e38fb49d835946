package a2acrossing_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/a2acrossing"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/jcs"
)

func card() a2acrossing.Card {
	return a2acrossing.Card{
		Name: "globex", URL: "http://127.0.0.1:1", Version: "7",
		Profile: crossing.Profile{
			PrincipalID: "urn:anax:principal:globex", AgentID: "urn:anax:agent:globex-secret",
			ClearanceIDHash: jcs.HexOf([]byte("clearance")), TrustBasis: "nca_verified", AGCLevel: 3,
		},
		Full: true, Authority: "http://127.0.0.1:2/", Acts: commitment.Builtin(), Plain: true,
	}
}

// covers GC-003, GC-016, GC-032, GC-033, GC-034, GC-035, GC-037, GC-083
func TestCard(t *testing.T) {
	params := func(conformance string, principal map[string]any) map[string]any {
		return map[string]any{
			"conformance": conformance, "verification_authority": "http://127.0.0.1:2/", "principal": principal,
			"mandate_formats": []any{"sd-jwt"}, "commitment_classes": []any{"reversible", "irreversible", "financial", "binding"},
			"commitment_acts": []any{"engagement_code_issuance", "proposal_within_tariff"}, "act_profile": commitment.Builtin().Digest(),
		}
	}
	// The clearance id stands as its hash: printf clearance | sha256sum.
	full := params("full", map[string]any{
		"id": "urn:anax:principal:globex", "clearance_id": "213f67768585260948e5554d4e2d180e1f08cd0815d04dfcc9103295f93251b7",
		"trust_basis": "nca_verified", "agc_level": jsonNumber("3"),
	})
	only := params("verify-only", map[string]any{"id": "urn:anax:principal:globex"})
	for name, c := range map[string]struct {
		change   func(*a2acrossing.Card)
		required bool
		params   map[string]any
		skills   []string
	}{
		"full with a plain skill": {func(*a2acrossing.Card) {}, false, full, []string{"governed-crossing", "about"}},
		"every skill commits":     {func(c *a2acrossing.Card) { c.Plain = false }, true, full, []string{"governed-crossing"}},
		"verify-only":             {func(c *a2acrossing.Card) { c.Full = false }, false, only, []string{"about"}},
		"verify-only, not plain":  {func(c *a2acrossing.Card) { c.Full, c.Plain = false, false }, false, only, []string{"about"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := card()
			c.change(&in)
			b, err := in.JSON()
			if err != nil {
				t.Fatal(err)
			}
			d, err := wiretest.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if more := wiretest.Object(d, "capabilities", "extensions", 1); more != nil {
				t.Errorf("a second extension is declared: %v", more)
			}
			ext := wiretest.Object(d, "capabilities", "extensions", 0)
			if required, _ := ext["required"].(bool); wiretest.Text(ext, "uri") != crossing.URI || required != c.required || wiretest.Text(ext, "description") == "" {
				t.Errorf("extension %v, want required %v", ext, c.required)
			}
			if diff := cmp.Diff(c.params, map[string]any(wiretest.Object(ext, "params"))); diff != "" {
				t.Errorf("params (-want +got)\n%s", diff)
			}
			var skills []string
			for i := range 9 {
				if id := wiretest.Text(d, "skills", i, "id"); id != "" {
					skills = append(skills, id)
				}
			}
			if diff := cmp.Diff(c.skills, skills); diff != "" {
				t.Errorf("skills (-want +got)\n%s", diff)
			}
			iface := wiretest.Object(d, "supportedInterfaces", 0)
			if wiretest.Text(iface, "url") != "http://127.0.0.1:1/rpc" || wiretest.Text(iface, "protocolBinding") != "JSONRPC" || wiretest.Text(iface, "protocolVersion") != "1.0" {
				t.Errorf("interface %v", iface)
			}
			if bytes.Contains(b, []byte("globex-secret")) {
				t.Errorf("the agent's identifier stands on the card")
			}
		})
	}
}

// covers GC-032, GC-037
func TestServedCard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg         wiretest.Config
		conformance string
	}{"full": {wiretest.Config{}, "full"}, "verify-only": {wiretest.Config{VerifyOnly: true}, "verify-only"}} {
		t.Run(name, func(t *testing.T) {
			w := wiretest.New(t, c.cfg)
			a := w.Get("/.well-known/agent-card.json")
			if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "public, max-age=60" {
				t.Errorf("served with %d %v", a.Status, a.Header)
			}
			if got := wiretest.Text(a.Doc, "capabilities", "extensions", 0, "params", "conformance"); got != c.conformance {
				t.Errorf("conformance %q", got)
			}
			if bytes.Contains(a.Body, []byte(w.Responder.ClearanceID)) {
				t.Errorf("the clearance id stands on the card")
			}
		})
	}
}

// TestVerifyOnly: an agent without clearance neither opens a crossing nor seals one.
//
// covers GC-037
func TestVerifyOnly(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{VerifyOnly: true})
	s := w.Script(w.Party("acme"))
	s.Open = s.From.Issue(s.Amount, nil)
	before := w.Rows()
	if a := s.P1(); a.Name() != "COUNTERPARTY_NOT_PERMITTED" || a.State() != "refused" {
		t.Errorf("P1 answered %s", a.Body)
	}
	w.OnlyRefusal(before, "COUNTERPARTY_NOT_PERMITTED")
	before = w.Rows()
	wantError(t, w.Call(crossing.RPCSeal, wiretest.Doc{}), "MANDATE_PARTY_MISMATCH", "-40043")
	w.OnlyRefusal(before, "MANDATE_PARTY_MISMATCH")
}
