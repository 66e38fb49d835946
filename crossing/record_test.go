package crossing_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// covers GC-235, GC-236, GC-240, GC-244, GC-250, GC-340
func TestRecordGolden(t *testing.T) {
	r := golden()
	if got := string(r.Bytes()); got != goldenRecord {
		t.Errorf("Bytes()\n got %s\nwant %s", got, goldenRecord)
	}
	if got := r.JointSeal(); got != goldenSeal {
		t.Errorf("JointSeal() = %s, want %s", got, goldenSeal)
	}
	parsed, refusal := crossing.ParseRecord(parse(t, goldenRecord))
	if refusal != nil {
		t.Fatal(refusal)
	}
	if diff := cmp.Diff(r, parsed); diff != "" {
		t.Errorf("ParseRecord (-want +got)\n%s", diff)
	}
	// Without a currency there is no member (AG-06).
	r.Class, r.Currency = "irreversible", ""
	if got, want := r.JointSeal(), jcs.Hex256("d440faf27d4d0ca11b65c2f378c0d33e359b24254c0a45b6b6c301121cb2ffc2"); got != want {
		t.Errorf("JointSeal() without currency = %s, want %s", got, want)
	}
	// Times are written in UTC, whatever zone they came in.
	r = golden()
	r.CreatedAt = r.CreatedAt.In(time.FixedZone("two hours east", 7200))
	if got := string(r.Bytes()); got != goldenRecord {
		t.Errorf("Bytes() of another zone = %s", got)
	}
}

// covers GC-240, GC-241
func TestJointSealOf(t *testing.T) {
	tests := []struct {
		name, pointer string
		value         any
		same          bool
	}{
		{"as it is", "/record", "anax-bilateral-crossing-v1", true},
		{"with prev_hash", "/prev_hash", someHash, true},
		{"with prev_hash null", "/prev_hash", nil, true},
		{"with chain_seq", "/chain_seq", 42, true},
		{"nested prev_hash", "/a2a_context/prev_hash", someHash, false},
		{"nested chain_seq", "/parties/0/chain_seq", 42, false},
		{"another member", "/next_hash", someHash, false},
		{"another magnitude", "/magnitude_asserted", 251, false},
		{"currency gone", "/currency", removed{}, false},
		{"currency null", "/currency", nil, false},
	}
	for _, tt := range tests {
		got := crossing.JointSealOf(parse(t, edited(t, goldenRecord, tt.pointer, tt.value)))
		if (got == goldenSeal) != tt.same {
			t.Errorf("%s: JointSealOf = %s", tt.name, got)
		}
	}
}

// covers GC-256, GC-260
func TestRecordChainAndTriple(t *testing.T) {
	r := golden()
	// SHA-256 of "urn:anax:agent:anax-front|urn:anax:agent:trust-front", by hashlib.
	if got, want := r.ChainID(), jcs.Hex256("bedee5da39cfa09b20bd7a602a265bbd9e72ed4a13e2f34be60ac17004eb1ede"); got != want {
		t.Errorf("ChainID() = %s, want %s", got, want)
	}
	want := mandate.Triple{
		CrossingID: goldenID, InitiatorToken: r.Initiator.ClosedMandateHash, ResponderToken: r.Responder.ClosedMandateHash,
	}
	if diff := cmp.Diff(want, r.Triple()); diff != "" {
		t.Errorf("Triple() (-want +got)\n%s", diff)
	}
	if r.Party(crossing.Initiator) != &r.Initiator || r.Party(crossing.Responder) != &r.Responder {
		t.Error("Party gives the wrong side")
	}
	if crossing.Initiator.Other() != crossing.Responder || crossing.Responder.Other() != crossing.Initiator {
		t.Error("Other is not the other")
	}
}

// pathOf is the clause under which a fault at a member of the record is refused.
func pathOf(pointer string) string {
	switch {
	case strings.HasSuffix(pointer, "/clearance_id_hash"):
		return "§4.4-3"
	case strings.HasPrefix(pointer, "/parties"):
		return "§4.4-1"
	}
	return "§4.4"
}

func refuseRecord(t *testing.T, src string) *crossing.Refusal {
	t.Helper()
	rec, refusal := crossing.ParseRecord(parse(t, src))
	if refusal != nil && rec != nil {
		t.Error("ParseRecord returned a record beside its refusal")
	}
	return refusal
}

// TestRecordMembers removes and retypes every member of the record and adds one to every
// object in it.
//
// covers GC-001, GC-115, GC-235, GC-236, GC-237, GC-239
func TestRecordMembers(t *testing.T) {
	all := pointers(decode(t, goldenRecord), "")
	if len(all) != 43 {
		t.Fatalf("%d values in the golden record", len(all))
	}
	all[""] = map[string]any{}
	for pointer, value := range all {
		item := pointer == "/parties/0" || pointer == "/parties/1"
		if pointer != "" && pointer != "/currency" && !item {
			r := refuseRecord(t, edited(t, goldenRecord, pointer, removed{}))
			wantRefusal(t, r, crossing.RecordMalformed, pathOf(pointer)+" missing", pointer)
		}
		for _, other := range []any{nil, true, 7, "7", map[string]any{}, []any{}} {
			if typeOf(other) == typeOf(value) {
				continue
			}
			src := edited(t, goldenRecord, pointer, other)
			if pointer == "" {
				src = string(must(t, other))
			}
			wantRefusal(t, refuseRecord(t, src), crossing.RecordMalformed, pathOf(pointer)+" type", pointer)
		}
		if _, object := value.(map[string]any); object {
			r := refuseRecord(t, edited(t, goldenRecord, pointer+"/zz", 1))
			wantRefusal(t, r, crossing.RecordMalformed, pathOf(pointer)+" unknown", pointer+"/zz")
		}
	}
}

func typeOf(v any) jcs.Type {
	switch v.(type) {
	case nil:
		return jcs.NullType
	case bool:
		return jcs.BoolType
	case string:
		return jcs.StringType
	case map[string]any:
		return jcs.ObjectType
	case []any:
		return jcs.ArrayType
	}
	return jcs.NumberType
}

// covers GC-059, GC-115, GC-235, GC-237, GC-238, GC-239, GC-253
func TestRecordRefused(t *testing.T) {
	const party = "/parties/0"
	long := strings.Repeat("a", 257)
	token := "eyJhbGciOiJFUzI1NiJ9.eyJ2Y3QiOjF9.c2ln"
	first := pointers(decode(t, goldenRecord), "")[party]
	// fill makes the record, with a member x of this text, longer than MaxRecord by n bytes.
	fill := func(n int) string { return strings.Repeat("a", crossing.MaxRecord-len(goldenRecord)-len(`,"x":""`)+n) }
	tests := []struct {
		name, pointer string
		value         any
		path, member  string
	}{
		{"another record type", "/record", "anax-bilateral-crossing-v2", "§4.4 value", "/record"},
		{"upper-case uuid", "/crossing_id", strings.ToUpper(goldenID), "§4.4 value", "/crossing_id"},
		{"uuid in braces", "/crossing_id", "{" + goldenID + "}", "§4.4 value", "/crossing_id"},
		{"uuid without dashes", "/crossing_id", strings.ReplaceAll(goldenID, "-", ""), "§4.4 value", "/crossing_id"},
		{"nil uuid", "/crossing_id", "00000000-0000-0000-0000-000000000000", "§4.4 value", "/crossing_id"},
		{"uuid of another variant", "/crossing_id", "7f3c1a52-5d0e-4b7a-7c41-0a6f2d9be001", "§4.4 value", "/crossing_id"},
		{"position in the record", "/prev_hash", someHash, "§3.7.1 record unknown", "/prev_hash"},
		{"position null in the record", "/prev_hash", nil, "§3.7.1 record unknown", "/prev_hash"},
		{"number in the record", "/chain_seq", 1, "§3.7.1 record unknown", "/chain_seq"},

		{"no party", "/parties", []any{}, "§4.4-1 value", "/parties"},
		{"one party", "/parties/1", removed{}, "§4.4-1 value", "/parties"},
		{"three parties", "/parties/2", first, "§4.4-1 value", "/parties"},
		{"responder first", party + "/role", "responder", "§4.4-1 value", party + "/role"},
		{"two initiators", "/parties/1/role", "initiator", "§4.4-1 value", "/parties/1/role"},
		{"another role", party + "/role", "witness", "§4.4-1 value", party + "/role"},
		{"same principal", party + "/principal_id", "urn:anax:principal:anax", "§4.4-1", "/parties"},
		{"same agent", party + "/agent_id", "urn:anax:agent:anax-front", "§4.4-7", "/parties"},
		{"raw clearance id", party + "/clearance_id", "a raw clearance id", "§4.4-3 unknown", party + "/clearance_id"},
		{"clearance id for its hash", party + "/clearance_id_hash", "CLR-1", "§4.4-3 value", party + "/clearance_id_hash"},
		{"upper-case hash", party + "/open_mandate_hash", strings.ToUpper(someHash), "§4.4-1 value", party + "/open_mandate_hash"},
		{"prefixed hash", party + "/closed_mandate_hash", "sha256:" + someHash, "§4.4-1 value", party + "/closed_mandate_hash"},
		{"prefixed agreement hash", "/agreement_hash", "sha256:" + someHash, "§4.4 value", "/agreement_hash"},

		{"agent that is a principal", party + "/agent_id", "urn:anax:principal:trust", "§4.4-1 value", party + "/agent_id"},
		{"agent that is a human", party + "/agent_id", "urn:anax:human:trust", "§4.4-1 value", party + "/agent_id"},
		{"agent without a name", party + "/agent_id", "urn:anax:agent:", "§4.4-1 value", party + "/agent_id"},
		{"agent in another case", party + "/agent_id", "URN:ANAX:principal:trust", "§4.4-1 value", party + "/agent_id"},
		{"agent with a bar", party + "/agent_id", "urn:anax:agent:a|b", "§4.4-1 value", party + "/agent_id"},
		{"foreign agent with a bar", party + "/agent_id", "https://a.example/|b", "§4.4-1 value", party + "/agent_id"},
		{"agent with a space", party + "/agent_id", "urn:anax:agent:a b", "§4.4-1 value", party + "/agent_id"},
		{"agent that is no URI", party + "/agent_id", "front", "§4.4-1 value", party + "/agent_id"},
		{"agent beyond 256 bytes", party + "/agent_id", "urn:anax:agent:" + long, "§4.4-1 value", party + "/agent_id"},
		{"principal that is an agent", party + "/principal_id", "urn:anax:agent:trust", "§4.4-1 value", party + "/principal_id"},
		{"principal not in ASCII", party + "/principal_id", "urn:anax:principal:é", "§4.4-1 value", party + "/principal_id"},

		{"another trust basis", party + "/trust_basis", "hearsay", "§4.4-1 value", party + "/trust_basis"},
		{"negative level", party + "/agc_level", -1, "§4.4-1 value", party + "/agc_level"},
		{"another signer", party + "/signer_role", "service", "§4.4-1 value", party + "/signer_role"},
		{"empty pack", party + "/governance_basis/pack_id", "", "§4.4-1 value", party + "/governance_basis/pack_id"},
		{"long pack version", "/parties/1/governance_basis/pack_version", long, "§4.4-1 value", "/parties/1/governance_basis/pack_version"},

		{"empty class", "/commitment_class", "", "§4.4 value", "/commitment_class"},
		{"empty act", "/commitment_act", "", "§4.4 value", "/commitment_act"},
		{"empty currency", "/currency", "", "§4.4 value", "/currency"},
		{"long currency", "/currency", strings.Repeat("E", 17), "§4.4 value", "/currency"},
		{"empty task", "/a2a_context/task_id", "", "§4.4 value", "/a2a_context/task_id"},
		{"long context", "/a2a_context/context_id", long, "§4.4 value", "/a2a_context/context_id"},
		{"long artifact", "/a2a_context/artifact_id", strings.Repeat("a", 129), "§4.4 value", "/a2a_context/artifact_id"},
		{"artifact not in ASCII", "/a2a_context/artifact_id", "é", "§4.4 value", "/a2a_context/artifact_id"},
		{"artifact with a control character", "/a2a_context/artifact_id", "a\x7f", "§4.4 value", "/a2a_context/artifact_id"},

		{"fractional seconds", "/created_at", "2026-09-01T12:00:02.0Z", "§4.4 value", "/created_at"},
		{"offset", "/timestamps/sealed_at", "2026-09-01T14:00:05+02:00", "§4.4 value", "/timestamps/sealed_at"},
		{"zero offset", "/timestamps/sealed_at", "2026-09-01T12:00:05+00:00", "§4.4 value", "/timestamps/sealed_at"},
		{"lower-case z", "/timestamps/terms_agreed_at", "2026-09-01T12:00:04z", "§4.4 value", "/timestamps/terms_agreed_at"},
		{"no such day", "/created_at", "2026-02-30T12:00:02Z", "§4.4 value", "/created_at"},
		{"leap second", "/timestamps/sealed_at", "2026-12-31T23:59:60Z", "§4.4 value", "/timestamps/sealed_at"},
		{"one digit", "/created_at", "2026-9-01T12:00:02Z", "§4.4 value", "/created_at"},
		{"created after verified", "/created_at", "2026-09-01T12:00:04Z", "§4.4 timestamps", "/timestamps"},
		{"verified after agreed", "/timestamps/mandates_verified_at", "2026-09-01T12:00:05Z", "§4.4 timestamps", "/timestamps"},
		{"agreed after sealed", "/timestamps/terms_agreed_at", "2026-09-01T12:00:06Z", "§4.4 timestamps", "/timestamps"},

		{"token in a party", party + "/governance_basis/pack_id", token, "§4.4-2", party + "/governance_basis/pack_id"},
		{"token for a hash", "/parties/1/closed_mandate_hash", token + "~", "§4.4-2", "/parties/1/closed_mandate_hash"},
		{"token as the artifact", "/a2a_context/artifact_id", token, "§4.4-2", "/a2a_context/artifact_id"},
		{"token in an unknown member", "/a~1b~0c", []any{1, token}, "§4.4-2", "/a~1b~0c/1"},
		{"large", "/x", fill(1), "§4.4 size", ""},
		{"as large as may be", "/x", fill(0), "§4.4 unknown", "/x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := refuseRecord(t, edited(t, goldenRecord, tt.pointer, tt.value))
			wantRefusal(t, r, crossing.RecordMalformed, tt.path, tt.member)
		})
	}
}

// TestRecordFirstFault: the parties stand before most members, and the first fault is told.
//
// covers GC-115
func TestRecordFirstFault(t *testing.T) {
	src := edited(t, goldenRecord, "/parties/1/agc_level", -1)
	r := refuseRecord(t, edited(t, src, "/agreement_hash", "none"))
	wantRefusal(t, r, crossing.RecordMalformed, "§4.4-1 value", "/parties/1/agc_level")
	r = refuseRecord(t, edited(t, src, "/created_at", "yesterday"))
	wantRefusal(t, r, crossing.RecordMalformed, "§4.4 value", "/created_at")
	if _, refusal := crossing.ParseRecord(jcs.Value{}); refusal == nil || refusal.Name != crossing.RecordMalformed {
		t.Errorf("no record at all: %v", refusal)
	}
}

// covers GC-235, GC-253
func TestRecordTaken(t *testing.T) {
	tests := []struct {
		name, pointer string
		value         any
	}{
		{"all times equal", "/timestamps", map[string]any{
			"mandates_verified_at": "2026-09-01T12:00:02Z", "terms_agreed_at": "2026-09-01T12:00:02Z", "sealed_at": "2026-09-01T12:00:02Z"}},
		{"uuid of version 7", "/crossing_id", "01990000-0000-7000-8000-000000000001"},
		{"foreign agent", "/parties/0/agent_id", "https://agents.example/front"},
		{"foreign principal", "/parties/0/principal_id", "did:web:example.org"},
		{"level zero", "/parties/0/agc_level", 0},
		{"longest artifact", "/a2a_context/artifact_id", strings.Repeat(" ~", 64)},
		{"longest task", "/a2a_context/task_id", strings.Repeat("é", 128)},
		{"longest currency", "/currency", strings.Repeat("E", 16)},
		{"a dot and a dash are no token", "/a2a_context/artifact_id", "artifact.1.eyJ"},
		{"no currency", "/currency", removed{}},
		{"another currency", "/currency", "XXX"},
		{"another class", "/commitment_class", "extreme"},
		{"negative magnitude", "/magnitude_asserted", -1},
	}
	for _, tt := range tests {
		src := edited(t, goldenRecord, tt.pointer, tt.value)
		rec, refusal := crossing.ParseRecord(parse(t, src))
		if refusal != nil {
			t.Errorf("%s: refused: %v", tt.name, refusal)
			continue
		}
		if got, want := string(rec.Bytes()), string(parse(t, src).Bytes()); got != want {
			t.Errorf("%s: Bytes()\n got %s\nwant %s", tt.name, got, want)
		}
	}
}

// covers GC-107, GC-179, GC-186, GC-187
func TestRecordAmount(t *testing.T) {
	eur, err := commitment.NewAmount(commitment.Financial, 250, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	if got, refusal := golden().Amount(); refusal != nil || got != eur {
		t.Errorf("Amount() = %v, %v", got, refusal)
	}
	tests := []struct {
		name string
		edit func(*crossing.Record)
		path string
	}{
		{"unknown class", func(r *crossing.Record) { r.Class = "extreme" }, "§4.1.3 L-5"},
		{"class in another case", func(r *crossing.Record) { r.Class = "Financial" }, "§4.1.3 L-5"},
		{"negative", func(r *crossing.Record) { r.Magnitude = -1 }, "§4.1.3 M-1"},
		{"beyond", func(r *crossing.Record) { r.Magnitude = 1 << 53 }, "§4.1.3 M-1"},
		{"financial without currency", func(r *crossing.Record) { r.Currency = "" }, "§4.1.3 M-2"},
		{"no such currency", func(r *crossing.Record) { r.Currency = "XXX" }, "§4.1.3 M-2"},
		{"currency in another case", func(r *crossing.Record) { r.Currency = "eur" }, "§4.1.3 M-2"},
		{"binding with currency", func(r *crossing.Record) { r.Class = "binding" }, "§4.1.3 M-2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := golden()
			tt.edit(r)
			_, refusal := r.Amount()
			wantRefusal(t, refusal, crossing.MalformedMandate, tt.path, "")
		})
	}
}

// covers GC-115
func TestInWindow(t *testing.T) {
	r := golden()
	for _, offset := range []time.Duration{0, 300 * time.Second, -300 * time.Second, 299 * time.Second} {
		if refusal := r.InWindow(sealedAt.Add(offset)); refusal != nil {
			t.Errorf("%v: %v", offset, refusal)
		}
	}
	for _, offset := range []time.Duration{300*time.Second + 1, -300*time.Second - 1, 24 * time.Hour, -24 * time.Hour} {
		wantRefusal(t, r.InWindow(sealedAt.Add(offset)), crossing.RecordMalformed, crossing.ClockPath, "/record/timestamps/sealed_at")
	}
}
