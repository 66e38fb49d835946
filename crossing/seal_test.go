package crossing_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Golden values as in golden_test.go; prev_hash is the SHA-256 of "prev".
const (
	sealID      = "canal-mf0z8k00-00112233aabb"
	verifyURL   = "https://verify.example/canal/verify/" + sealID
	goldenBlock = `{"chain_seq":42,"crossing_state":"committed","is_genesis":false,"outcome":"CLEARED","pack_id":"anax-eu",` +
		`"pack_version":"0.1.0","prev_hash":"84fd9bac333ad79154348296204fa7f8c537a96e08983e5f73b3f5aca8e8edf7",` +
		`"seal":"4917dd729039eccd692e58678a07dc1b605059b688b299de045492ddd2b148e7","seal_id":"canal-mf0z8k00-00112233aabb",` +
		`"seal_version":3,"sealed_at":"2026-09-01T12:00:05Z","verify_url":"https://verify.example/canal/verify/canal-mf0z8k00-00112233aabb"}`
	goldenGenesis = `{"chain_seq":0,"crossing_state":"committed","is_genesis":true,"outcome":"CLEARED","pack_id":"anax-eu",` +
		`"pack_version":"0.1.0","prev_hash":null,"seal":"4917dd729039eccd692e58678a07dc1b605059b688b299de045492ddd2b148e7",` +
		`"seal_id":"canal-mf0z8k00-00112233aabb","seal_version":3,"sealed_at":"2026-09-01T12:00:05Z",` +
		`"verify_url":"https://verify.example/canal/verify/canal-mf0z8k00-00112233aabb"}`
	goldenProjection = `{"chain_id":"bedee5da39cfa09b20bd7a602a265bbd9e72ed4a13e2f34be60ac17004eb1ede","chain_seq":0,` +
		`"crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","crossing_state":"committed","is_genesis":true,"outcome":"CLEARED",` +
		`"pack_id":"anax-eu","pack_version":"0.1.0","prev_hash":null,` +
		`"seal":"4917dd729039eccd692e58678a07dc1b605059b688b299de045492ddd2b148e7","seal_id":"canal-mf0z8k00-00112233aabb",` +
		`"seal_version":3,"sealed_at":"2026-09-01T12:00:05Z","verify_url":"https://verify.example/canal/verify/canal-mf0z8k00-00112233aabb"}`
	goldenResult = `{"artifact_block":` + goldenBlock + `,"crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001",` +
		`"joint_seal":"4917dd729039eccd692e58678a07dc1b605059b688b299de045492ddd2b148e7",` +
		`"responder_anchor":{"chain_seq":42,"prev_hash":"84fd9bac333ad79154348296204fa7f8c537a96e08983e5f73b3f5aca8e8edf7"},` +
		`"seal_id":"canal-mf0z8k00-00112233aabb","sealed_at":"2026-09-01T12:00:05Z",` +
		`"verify_url":"https://verify.example/canal/verify/canal-mf0z8k00-00112233aabb"}`
	goldenParams = `{"idempotency_key":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","initiator_anchor_intent":{"chain_seq":42,` +
		`"prev_hash":"84fd9bac333ad79154348296204fa7f8c537a96e08983e5f73b3f5aca8e8edf7"},` +
		`"initiator_closed_mandate":"eyJ.closed~","initiator_joint_seal":"` + goldenSeal + `","record":` + goldenRecord + `}`
)

func goldenSealParams() *crossing.SealParams {
	return &crossing.SealParams{
		Record: golden(), RecordBytes: []byte(goldenRecord), ClosedMandate: "eyJ.closed~",
		AnchorIntent: chain.Position{Prev: someHash, Seq: 42}, InitiatorSeal: goldenSeal,
	}
}

// covers GC-059, GC-060, GC-061, GC-062
func TestSealParamsGolden(t *testing.T) {
	want := goldenSealParams()
	if got := string(want.Bytes()); got != goldenParams {
		t.Errorf("Bytes()\n got %s\nwant %s", got, goldenParams)
	}
	for name, src := range map[string]string{
		"as it is": goldenParams, "with an unknown param": edited(t, goldenParams, "/zz", 1),
		"spelled otherwise": strings.Replace(goldenParams, `"chain_seq":42`, "\n\"chain_seq\" : 42.0", 1),
	} {
		got, refusal := crossing.ParseSealParams(parse(t, src))
		if refusal != nil {
			t.Errorf("%s: %v", name, refusal)
			continue
		}
		if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".possibleIntents" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if got.JointSeal() != goldenSeal || got.Possible() != nil {
			t.Errorf("%s: seal %s, %v", name, got.JointSeal(), got.Possible())
		}
	}
	without, refusal := crossing.ParseSealParams(parse(t, edited(t, goldenParams, "/initiator_joint_seal", removed{})))
	if refusal != nil || without.InitiatorSeal != "" {
		t.Errorf("without the optional seal: %v", refusal)
	}
}

// covers GC-059, GC-060, GC-061, GC-062, GC-115
func TestSealParamsRefused(t *testing.T) {
	for _, name := range []string{"record", "initiator_closed_mandate", "initiator_anchor_intent", "idempotency_key", "initiator_joint_seal"} {
		for _, other := range []any{nil, true, 7, []any{}} {
			path := "§3.7.1 type"
			if name == "record" {
				path = "§4.4 type"
			}
			wantParamsRefused(t, edited(t, goldenParams, "/"+name, other), path, "/"+name)
		}
		if name != "initiator_joint_seal" {
			wantParamsRefused(t, edited(t, goldenParams, "/"+name, removed{}), "§3.7.1 missing", "/"+name)
		}
	}
	tests := []struct {
		pointer string
		value   any
		path    string
		member  string
	}{
		{"/initiator_closed_mandate", "", "§3.7.1 value", "/initiator_closed_mandate"},
		{"/initiator_closed_mandate", strings.Repeat("a", 64<<10+1), "§3.7.1 value", "/initiator_closed_mandate"},
		{"/initiator_anchor_intent/chain_seq", removed{}, "§3.7.1 missing", "/initiator_anchor_intent/chain_seq"},
		{"/initiator_anchor_intent/chain_seq", "42", "§3.7.1 type", "/initiator_anchor_intent/chain_seq"},
		{"/initiator_anchor_intent/prev_hash", removed{}, "§3.7.1 missing", "/initiator_anchor_intent/prev_hash"},
		{"/initiator_anchor_intent/prev_hash", 7, "§3.7.1 type", "/initiator_anchor_intent/prev_hash"},
		{"/initiator_anchor_intent/prev_hash", "genesis", "§3.7.1 value", "/initiator_anchor_intent/prev_hash"},
		{"/initiator_joint_seal", "sha256:" + goldenSeal, "§3.7.1 value", "/initiator_joint_seal"},
		{"/idempotency_key", otherUUID, "§3.7.1 idempotency_key", "/idempotency_key"},
		{"/idempotency_key", strings.ToUpper(goldenID), "§3.7.1 idempotency_key", "/idempotency_key"},
		{"/record/crossing_id", otherUUID, "§3.7.1 idempotency_key", "/idempotency_key"},
		{"/record/chain_seq", 42, "§3.7.1 record unknown", "/record/chain_seq"},
		{"/record/parties/0/clearance_id", "secret", "§4.4-3 unknown", "/record/parties/0/clearance_id"},
		{"/record/parties/1/agc_level", -1, "§4.4-1 value", "/record/parties/1/agc_level"},
	}
	for _, tt := range tests {
		wantParamsRefused(t, edited(t, goldenParams, tt.pointer, tt.value), tt.path, tt.member)
	}
	wantParamsRefused(t, `[]`, "§3.7.1 type", "")
}

func wantParamsRefused(t *testing.T, src, path, member string) {
	t.Helper()
	p, refusal := crossing.ParseSealParams(parse(t, src))
	if p != nil {
		t.Error("ParseSealParams returned params beside its refusal")
	}
	wantRefusal(t, refusal, crossing.RecordMalformed, path, member)
}

// TestPossible: a position that no chain has is well formed, and is refused late (AG-43).
//
// covers GC-061, GC-113, GC-257
func TestPossible(t *testing.T) {
	tests := []struct {
		prev any
		seq  int64
		ok   bool
	}{
		{nil, 0, true}, {someHash, 1, true}, {someHash, 1<<53 - 1, true},
		{nil, 1, false}, {someHash, 0, false}, {someHash, -1, false}, {nil, -1, false},
	}
	for _, tt := range tests {
		src := edited(t, goldenParams, "/initiator_anchor_intent", map[string]any{"prev_hash": tt.prev, "chain_seq": tt.seq})
		p, refusal := crossing.ParseSealParams(parse(t, src))
		if refusal != nil {
			t.Fatal(refusal)
		}
		if p.JointSeal() != goldenSeal {
			t.Errorf("%v, %d: the joint seal changes with the intended position", tt.prev, tt.seq)
		}
		if tt.ok {
			if refusal := p.Possible(); refusal != nil {
				t.Errorf("%v, %d: %v", tt.prev, tt.seq, refusal)
			}
			continue
		}
		wantRefusal(t, p.Possible(), crossing.ChainPositionUnavailable, "§4.4.2-2", "")
	}
}

func block(p chain.Position) crossing.Block {
	return crossing.Block{
		SealID: sealID, Seal: goldenSeal, Position: p, Basis: mandate.GovernanceBasis{PackID: "anax-eu", PackVersion: "0.1.0"},
		SealedAt: sealedAt, VerifyURL: verifyURL,
	}
}

// covers GC-004, GC-231, GC-232
func TestBlockGolden(t *testing.T) {
	second, genesis := block(chain.Position{Prev: someHash, Seq: 42}), block(chain.Genesis())
	if got := string(second.Bytes()); got != goldenBlock {
		t.Errorf("Bytes()\n got %s\nwant %s", got, goldenBlock)
	}
	if got := string(genesis.Bytes()); got != goldenGenesis {
		t.Errorf("Bytes() at the genesis\n got %s\nwant %s", got, goldenGenesis)
	}
	if got := string(genesis.Projection(goldenID, golden().ChainID())); got != goldenProjection {
		t.Errorf("Projection()\n got %s\nwant %s", got, goldenProjection)
	}
	if n := len(second.Members()); n != 12 {
		t.Errorf("%d members", n)
	}
	for src, want := range map[string]crossing.Block{
		goldenBlock: second, goldenGenesis: genesis, goldenProjection: genesis,
		edited(t, goldenBlock, "/zz", map[string]any{"clearance_id": "x"}): second,
		edited(t, goldenBlock, "/outcome", removed{}):                      second,
		edited(t, goldenBlock, "/is_genesis", removed{}):                   second,
		edited(t, goldenBlock, "/seal_version", 4):                         second,
	} {
		got, err := crossing.ParseBlock(parse(t, src))
		if err != nil {
			t.Errorf("%v in %s", err, src)
			continue
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("ParseBlock (-want +got)\n%s", diff)
		}
	}
}

// covers GC-231, GC-234
func TestBlockRefused(t *testing.T) {
	for _, name := range []string{"crossing_state", "seal_id", "seal", "prev_hash", "chain_seq", "pack_id", "pack_version", "sealed_at", "verify_url"} {
		wantMemberError(t, edited(t, goldenBlock, "/"+name, removed{}), "/"+name, "missing")
		wantMemberError(t, edited(t, goldenBlock, "/"+name, true), "/"+name, "type")
	}
	tests := []struct {
		pointer string
		value   any
		member  string
		rule    string
	}{
		{"/crossing_state", "sealing", "/crossing_state", "value"},
		{"/seal_id", "", "/seal_id", "value"},
		{"/seal", "sha256:" + goldenSeal, "/seal", "value"},
		{"/prev_hash", nil, "/chain_seq", "value"},
		{"/chain_seq", 0, "/chain_seq", "value"},
		{"/chain_seq", -1, "/chain_seq", "value"},
		{"/is_genesis", true, "/is_genesis", "value"},
		{"/is_genesis", "false", "/is_genesis", "value"},
		{"/outcome", "REFUSED", "/outcome", "value"},
		{"/outcome", nil, "/outcome", "type"},
		{"/sealed_at", "2026-09-01T12:00:05.000Z", "/sealed_at", "value"},
		{"/verify_url", "https://" + strings.Repeat("a", 256), "/verify_url", "value"},
	}
	for _, tt := range tests {
		wantMemberError(t, edited(t, goldenBlock, tt.pointer, tt.value), tt.member, tt.rule)
	}
	wantMemberError(t, `[]`, "", "type")
}

func wantMemberError(t *testing.T, src, member, rule string) {
	t.Helper()
	b, err := crossing.ParseBlock(parse(t, src))
	if b != nil {
		t.Error("ParseBlock returned a block beside its error")
	}
	var m *jcs.MemberError
	if !errors.As(err, &m) || m.Pointer != member || m.Rule != rule {
		t.Errorf("ParseBlock(%s): %v, want %s at %q", src, err, rule, member)
	}
}

// covers GC-069, GC-128
func TestSealResult(t *testing.T) {
	want := &crossing.SealResult{CrossingID: goldenID, Block: block(chain.Position{Prev: someHash, Seq: 42})}
	if got := string(want.Bytes()); got != goldenResult {
		t.Errorf("Bytes()\n got %s\nwant %s", got, goldenResult)
	}
	for _, src := range []string{goldenResult, edited(t, goldenResult, "/zz", 1), edited(t, goldenResult, "/artifact_block/zz", 1), edited(t, goldenResult, "/responder_anchor/zz", 1)} {
		got, err := crossing.ParseSealResult(parse(t, src))
		if err != nil {
			t.Errorf("%v in %s", err, src)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseSealResult (-want +got)\n%s", diff)
		}
	}
}

// TestSealResultRefused removes and retypes the members, and makes each disagree with the
// block.
//
// covers GC-069
func TestSealResultRefused(t *testing.T) {
	bad := []string{`[]`, `null`, `{}`}
	for _, name := range []string{"crossing_id", "joint_seal", "seal_id", "sealed_at", "responder_anchor", "responder_anchor/chain_seq", "responder_anchor/prev_hash", "verify_url", "artifact_block", "artifact_block/seal"} {
		bad = append(bad, edited(t, goldenResult, "/"+name, removed{}), edited(t, goldenResult, "/"+name, true))
	}
	for pointer, value := range map[string]any{
		"/crossing_id": strings.ToUpper(goldenID), "/joint_seal": someHash, "/seal_id": "canal-0-000000000000",
		"/sealed_at": "2026-09-01T12:00:06Z", "/verify_url": "https://other.example/", "/responder_anchor/chain_seq": 43,
		"/responder_anchor/prev_hash": goldenSeal, "/responder_anchor": map[string]any{"prev_hash": nil, "chain_seq": 0},
		"/artifact_block/seal": someHash, "/artifact_block/chain_seq": 43, "/artifact_block/seal_id": "canal-0-000000000000",
	} {
		bad = append(bad, edited(t, goldenResult, pointer, value))
	}
	for _, src := range bad {
		got, err := crossing.ParseSealResult(parse(t, src))
		var m *jcs.MemberError
		if got != nil || !errors.As(err, &m) {
			t.Errorf("ParseSealResult(%s) = %v, %v", src, got, err)
		}
	}
}

// covers GC-071, GC-341
func TestSealID(t *testing.T) {
	// Milliseconds since 1970 in base 36, by Python 3.
	at := sealedAt.Add(123 * time.Millisecond)
	id := crossing.SealID(at, [6]byte{0x00, 0x11, 0x22, 0x33, 0xaa, 0xbb})
	if want := "canal-mtim7tab-00112233aabb"; id != want {
		t.Errorf("SealID = %s, want %s", id, want)
	}
	for _, s := range []string{id, sealID, "canal-0-000000000000", "canal-" + strings.Repeat("z", 51) + "-ffffffffffff"} {
		if !crossing.ValidSealID(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{
		"", "canal-", "canal--00112233aabb", "canal-mf0z8k00", "canal-mf0z8k00-", "canal-mf0z8k00-00112233aab", "canal-mf0z8k00-00112233aabbc",
		"canal-mf0z8k00-00112233AABB", "canal-MF0Z8K00-00112233aabb", "canal-mf0z8k00-00112233aabg", "kanal-mf0z8k00-00112233aabb",
		"xcanal-mf0z8k00-00112233aabb", "canal-mf0z8k00-00112233aabb ", "canal-mf0_8k00-00112233aabb", "canal-mf0-z8k00-00112233aabb",
		"canal-" + strings.Repeat("z", 52) + "-ffffffffffff", goldenID,
	} {
		if crossing.ValidSealID(s) {
			t.Errorf("%q is accepted", s)
		}
	}
}
