package crossing_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// The golden values were computed by Python 3: canonical bytes with json.dumps(sort_keys=True,
// separators=(',', ':')), digests with hashlib.sha256. Hashes in the record are those of
// "open trust", "closed trust", "clearance trust", the same with anax, and "terms".
const (
	goldenRecord = `{"a2a_context":{"artifact_id":"artifact-1","context_id":"context-1","task_id":"task-1"},` +
		`"agreement_hash":"51d2361f4faea3bc8f9facdbc7d99abb555596a2e51f7b25fd3b41c93587e616",` +
		`"commitment_act":"engagement_code_issuance","commitment_class":"financial","created_at":"2026-09-01T12:00:02Z",` +
		`"crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","currency":"EUR","magnitude_asserted":250,"parties":[` +
		`{"agc_level":1,"agent_id":"urn:anax:agent:trust-front",` +
		`"clearance_id_hash":"b0bedd158bf51813ce782e5462c285c752bcf6ad0b6923850235e73292811f43",` +
		`"closed_mandate_hash":"5ddd2cba05f1d69898a7f22db79c6dd93f98bdaafdba3f7d61370bf85bc525c6",` +
		`"governance_basis":{"pack_id":"anax-eu","pack_version":"0.1.0"},` +
		`"open_mandate_hash":"6c54d7969d2ced940ec85d159cd5abb8c9331f17f87cdca5c09b604db8091462",` +
		`"principal_id":"urn:anax:principal:trust","role":"initiator","signer_role":"agent","trust_basis":"third_party_audited"},` +
		`{"agc_level":2,"agent_id":"urn:anax:agent:anax-front",` +
		`"clearance_id_hash":"bb445e8519f86f841548c2cb08c63ef2473d5b938aa4ee6468592ef31e142978",` +
		`"closed_mandate_hash":"275a0bdfd19c4b12617e9b75597e32361a41bac38b8030ba70f5e4c2eeb3244e",` +
		`"governance_basis":{"pack_id":"anax-eu","pack_version":"0.1.0"},` +
		`"open_mandate_hash":"2286fdf5268e6514c98989241ce3e8065a314e67b13e1db0e61031e53a637d88",` +
		`"principal_id":"urn:anax:principal:anax","role":"responder","signer_role":"human","trust_basis":"third_party_audited"}],` +
		`"record":"anax-bilateral-crossing-v1","timestamps":{"mandates_verified_at":"2026-09-01T12:00:03Z",` +
		`"sealed_at":"2026-09-01T12:00:05Z","terms_agreed_at":"2026-09-01T12:00:04Z"}}`
	goldenSeal = "4917dd729039eccd692e58678a07dc1b605059b688b299de045492ddd2b148e7"

	goldenID  = "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001"
	someHash  = "84fd9bac333ad79154348296204fa7f8c537a96e08983e5f73b3f5aca8e8edf7" // of "prev"
	otherUUID = "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be002"
)

var sealedAt = time.Date(2026, 9, 1, 12, 0, 5, 0, time.UTC)

// golden is goldenRecord as a value.
func golden() *crossing.Record {
	party := func(role crossing.Role, name string, level int64, signer string, clearance, open, closed jcs.Hex256) crossing.Party {
		return crossing.Party{
			Role: role, Profile: crossing.Profile{
				PrincipalID: "urn:anax:principal:" + name, AgentID: "urn:anax:agent:" + name + "-front",
				ClearanceIDHash: clearance, TrustBasis: "third_party_audited", AGCLevel: level,
			},
			OpenMandateHash: open, ClosedMandateHash: closed, SignerRole: signer,
			Basis: mandate.GovernanceBasis{PackID: "anax-eu", PackVersion: "0.1.0"},
		}
	}
	return &crossing.Record{
		CrossingID: goldenID, CreatedAt: sealedAt.Add(-3 * time.Second),
		Initiator: party(crossing.Initiator, "trust", 1, "agent",
			"b0bedd158bf51813ce782e5462c285c752bcf6ad0b6923850235e73292811f43",
			"6c54d7969d2ced940ec85d159cd5abb8c9331f17f87cdca5c09b604db8091462",
			"5ddd2cba05f1d69898a7f22db79c6dd93f98bdaafdba3f7d61370bf85bc525c6"),
		Responder: party(crossing.Responder, "anax", 2, "human",
			"bb445e8519f86f841548c2cb08c63ef2473d5b938aa4ee6468592ef31e142978",
			"2286fdf5268e6514c98989241ce3e8065a314e67b13e1db0e61031e53a637d88",
			"275a0bdfd19c4b12617e9b75597e32361a41bac38b8030ba70f5e4c2eeb3244e"),
		AgreementHash: "51d2361f4faea3bc8f9facdbc7d99abb555596a2e51f7b25fd3b41c93587e616",
		Class:         "financial", Act: "engagement_code_issuance", Magnitude: 250, Currency: "EUR",
		Context: crossing.A2AContext{TaskID: "task-1", ContextID: "context-1", ArtifactID: "artifact-1"},
		Timestamps: crossing.Timestamps{
			MandatesVerifiedAt: sealedAt.Add(-2 * time.Second), TermsAgreedAt: sealedAt.Add(-time.Second), SealedAt: sealedAt,
		},
	}
}

func parse[T string | []byte](t testing.TB, src T) jcs.Value {
	t.Helper()
	v, err := jcs.Parse([]byte(src))
	if err != nil {
		t.Fatalf("%v in %s", err, src)
	}
	return v
}

// removed, as a new value of edited, takes the member out.
type removed struct{}

// edited is the document src with the value at a JSON Pointer replaced.
func edited(t testing.TB, src, pointer string, value any) string {
	t.Helper()
	root := decode(t, src)
	steps := strings.Split(pointer, "/")[1:]
	root = replace(t, root, steps, value)
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func decode(t testing.TB, src string) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(src)))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	return root
}

func replace(t testing.TB, at any, steps []string, value any) any {
	t.Helper()
	if len(steps) == 0 {
		return value
	}
	_, remove := value.(removed)
	remove = remove && len(steps) == 1
	switch at := at.(type) {
	case map[string]any:
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[0])
		if remove {
			delete(at, name)
			return at
		}
		at[name] = replace(t, at[name], steps[1:], value)
		return at
	case []any:
		i, err := strconv.Atoi(steps[0])
		if err != nil || i > len(at) {
			t.Fatalf("no item %q", steps[0])
		}
		switch {
		case remove:
			return slices.Delete(at, i, i+1)
		case i == len(at):
			return append(at, value)
		}
		at[i] = replace(t, at[i], steps[1:], value)
		return at
	}
	t.Fatalf("nothing at %q", steps[0])
	return nil
}

// pointers lists the JSON Pointers of all values below v, with the values.
func pointers(v any, at string) map[string]any {
	out := map[string]any{}
	add := func(name string, child any) {
		p := at + "/" + name
		out[p] = child
		for q, grandchild := range pointers(child, p) {
			out[q] = grandchild
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			add(name, child)
		}
	case []any:
		for i, child := range v {
			add(strconv.Itoa(i), child)
		}
	}
	return out
}

func must(t testing.TB, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
