package wiretest_test

import (
	"net/http"
	"testing"

	"github.com/bindery/bindery/internal/wiretest"
)

// fixed is one whole record with a chain position, its members in no order.
const fixed = `{"record":"anax-bilateral-crossing-v1","prev_hash":null,"chain_seq":0,
"crossing_id":"7f3c1a52-5d0e-4b7a-8c41-0a6f2d9be001","created_at":"2026-09-01T12:00:00Z",
"parties":[{"role":"initiator","principal_id":"urn:anax:principal:acme","agent_id":"urn:anax:agent:acme-1",
"clearance_id_hash":"1111111111111111111111111111111111111111111111111111111111111111","trust_basis":"self_declared","agc_level":1,
"open_mandate_hash":"2222222222222222222222222222222222222222222222222222222222222222",
"closed_mandate_hash":"3333333333333333333333333333333333333333333333333333333333333333",
"signer_role":"agent","governance_basis":{"pack_id":"acme-pack","pack_version":"1.0.0"}},
{"role":"responder","principal_id":"urn:anax:principal:globex","agent_id":"urn:anax:agent:globex-1",
"clearance_id_hash":"4444444444444444444444444444444444444444444444444444444444444444","trust_basis":"self_declared","agc_level":2,
"open_mandate_hash":"5555555555555555555555555555555555555555555555555555555555555555",
"closed_mandate_hash":"6666666666666666666666666666666666666666666666666666666666666666",
"signer_role":"agent","governance_basis":{"pack_id":"globex-pack","pack_version":"1.0.0"}}],
"agreement_hash":"7777777777777777777777777777777777777777777777777777777777777777",
"commitment_class":"irreversible","commitment_act":"engagement_code_issuance","magnitude_asserted":1,
"a2a_context":{"task_id":"t","context_id":"c","artifact_id":"a"},
"timestamps":{"mandates_verified_at":"2026-09-01T12:00:01Z","terms_agreed_at":"2026-09-01T12:00:02Z","sealed_at":"2026-09-01T12:00:03Z"}}`

// TestIndependentSeal ties the judge of WC-2 to two others: python3's json.dumps with
// sort_keys and separators (",", ":") and hashlib, and a node script that sorts keys
// itself, both over the record without prev_hash and chain_seq.
func TestIndependentSeal(t *testing.T) {
	record, err := wiretest.Parse([]byte(fixed))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := wiretest.JointSeal(record), "37db436cec22c5f995b486710f053b5bea8e18a75fc72517986b4075149dfd01"; got != want {
		t.Errorf("joint seal %s, want %s", got, want)
	}
	terms, err := wiretest.Parse([]byte(wiretest.Terms))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := wiretest.Hash(string(wiretest.JSON(terms))), "329b8b3d06c2baefb1a0e0f0b638ad013a25504e0ac1354f2cee0ddfbbe3b4b3"; got != want {
		t.Errorf("agreement hash %s, want %s", got, want)
	}
}

// TestHonestScript runs one crossing without an edit.
func TestHonestScript(t *testing.T) {
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	if a := s.Seal(); a.Status != http.StatusOK || a.Result() == nil {
		t.Fatalf("seal answered %d %s", a.Status, a.Body)
	}
	want := wiretest.Counts{Anchors: 1, Seals: 1, Holds: 1, Attempts: 1, Outbox: 1, Projections: 1}
	if got := w.Count(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	for _, token := range []string{s.Closed, s.Peer.Closed} {
		if state := w.ClosedState(token); state != "consumed" {
			t.Errorf("a Closed is %q after the seal", state)
		}
	}
}
