package crossing_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/crossing"
)

// The golden messages were computed as the golden record was; act_profile is the SHA-256 of
// "acts".
const (
	goldenP1 = `{"act_profile":"0b19c278ddd6476dfa18b5f7b6e8f1f8797f1fa8c465270bfd94886c92445e52","closing":"agent",` +
		`"crossing_state":"mandates_pending","intended_act":"engagement_code_issuance","intended_class":"financial",` +
		`"open_mandate":"eyJ.open~","party":{"agc_level":1,"agent_id":"urn:anax:agent:trust-front",` +
		`"clearance_id_hash":"b0bedd158bf51813ce782e5462c285c752bcf6ad0b6923850235e73292811f43",` +
		`"principal_id":"urn:anax:principal:trust","trust_basis":"third_party_audited"}}`
	goldenP2 = `{"agreement_hash":"` + td1Hash + `","crossing_id":"` + goldenID + `","crossing_state":"terms_proposed",` +
		`"terms_document":"{\"terms_version\":\"1\",\"a\":1,\"a\":1}"}`
	goldenP3 = `{"closed_mandate":"eyJ.closed~","crossing_id":"` + goldenID + `","crossing_state":"sealing",` +
		`"open_disclosures":["WyJzIl0"],"receipt":"eyJ.receipt"}`
)

func messages() map[string]*crossing.Message {
	return map[string]*crossing.Message{
		goldenP1: {State: crossing.MandatesPending, P1: &crossing.P1{
			Closing: "agent", OpenMandate: "eyJ.open~", Party: golden().Initiator.Profile, IntendedClass: "financial",
			IntendedAct: "engagement_code_issuance", ActProfile: "0b19c278ddd6476dfa18b5f7b6e8f1f8797f1fa8c465270bfd94886c92445e52",
		}},
		// The Terms Document is text: what R-3 forbids is still in it.
		goldenP2: {State: crossing.TermsProposed, P2: &crossing.P2{
			CrossingID: goldenID, TermsDocument: `{"terms_version":"1","a":1,"a":1}`, AgreementHash: td1Hash,
		}},
		goldenP3: {State: crossing.Sealing, P3: &crossing.P3{
			CrossingID: goldenID, ClosedMandate: "eyJ.closed~", Receipt: "eyJ.receipt", OpenDisclosures: []string{"WyJzIl0"},
		}},
	}
}

func messageBytes(m *crossing.Message) []byte {
	switch {
	case m.Refusal != nil:
		return crossing.RefusalBytes(m.State, m.Refusal)
	case m.P1 != nil:
		return m.P1.Bytes()
	case m.P2 != nil:
		return m.P2.Bytes()
	case m.P3 != nil:
		return m.P3.Bytes()
	}
	return nil
}

// covers GC-272, GC-283, GC-287
func TestMessageGolden(t *testing.T) {
	for want, m := range messages() {
		if got := string(messageBytes(m)); got != want {
			t.Errorf("Bytes()\n got %s\nwant %s", got, want)
		}
		parsed, refusal := crossing.ParseMessage(parse(t, want))
		if refusal != nil {
			t.Errorf("%s: refused: %v", m.State, refusal)
			continue
		}
		if diff := cmp.Diff(m, parsed); diff != "" {
			t.Errorf("ParseMessage (-want +got)\n%s", diff)
		}
	}
}

// TestMessageWithout leaves out what only one side, or only some, will say.
//
// covers GC-272, GC-283, GC-287
func TestMessageWithout(t *testing.T) {
	for src, members := range map[string][]string{
		goldenP1: {"intended_class", "intended_act", "act_profile"},
		goldenP2: {"terms_document"},
		goldenP3: {"open_disclosures"},
	} {
		for _, name := range members {
			src = edited(t, src, "/"+name, removed{})
		}
		src = string(parse(t, src).Bytes())
		m, refusal := crossing.ParseMessage(parse(t, src))
		if refusal != nil {
			t.Errorf("without %v: refused: %v", members, refusal)
			continue
		}
		if got := string(messageBytes(m)); got != src {
			t.Errorf("Bytes()\n got %s\nwant %s", got, src)
		}
	}
	m, refusal := crossing.ParseMessage(parse(t, edited(t, goldenP3, "/open_disclosures", []any{})))
	if refusal != nil || len(m.P3.OpenDisclosures) != 0 {
		t.Errorf("no disclosures in an array: %v, %v", m, refusal)
	}
}

// TestMessageUnknown: unknown members are ignored and never copied (design C3).
//
// covers GC-128, GC-272
func TestMessageUnknown(t *testing.T) {
	for src := range messages() {
		more := edited(t, src, "/zz", map[string]any{"a": 1})
		more = edited(t, more, "/clearance_id", "secret")
		if strings.Contains(src, "party") {
			more = edited(t, more, "/party/clearance_id", "secret")
		}
		m, refusal := crossing.ParseMessage(parse(t, more))
		if refusal != nil {
			t.Errorf("refused: %v", refusal)
			continue
		}
		if got := string(messageBytes(m)); got != src {
			t.Errorf("Bytes()\n got %s\nwant %s", got, src)
		}
	}
}

// TestMessageMembers removes and retypes every member of every message.
//
// covers GC-272, GC-287
func TestMessageMembers(t *testing.T) {
	optional := map[string]bool{"/intended_class": true, "/intended_act": true, "/act_profile": true, "/terms_document": true, "/open_disclosures": true}
	for src := range messages() {
		for pointer, value := range pointers(decode(t, src), "") {
			if strings.HasPrefix(pointer, "/open_disclosures/") {
				continue
			}
			if !optional[pointer] {
				wantMessageRefused(t, edited(t, src, pointer, removed{}), "missing", pointer)
			}
			for _, other := range []any{nil, true, 7, "7", map[string]any{}, []any{}} {
				if typeOf(other) != typeOf(value) {
					wantMessageRefused(t, edited(t, src, pointer, other), "type", pointer)
				}
			}
		}
	}
}

func wantMessageRefused(t *testing.T, src, rule, member string) {
	t.Helper()
	m, refusal := crossing.ParseMessage(parse(t, src))
	if m != nil {
		t.Error("ParseMessage returned a message beside its refusal")
	}
	wantRefusal(t, refusal, crossing.RecordMalformed, "§5 message "+rule, member)
}

// covers GC-253, GC-272, GC-287
func TestMessageRefused(t *testing.T) {
	long, disclosure := strings.Repeat("a", 257), strings.Repeat("a", 4097)
	token := strings.Repeat("a", 64<<10+1)
	tests := []struct {
		src, pointer string
		value        any
		member       string
	}{
		{goldenP1, "/crossing_state", "pending", "/crossing_state"},
		{goldenP1, "/crossing_state", "", "/crossing_state"},
		{goldenP1, "/closing", "service", "/closing"},
		{goldenP1, "/open_mandate", "", "/open_mandate"},
		{goldenP1, "/open_mandate", token, "/open_mandate"},
		{goldenP1, "/intended_class", "", "/intended_class"},
		{goldenP1, "/intended_act", long, "/intended_act"},
		{goldenP1, "/act_profile", "", "/act_profile"},
		{goldenP1, "/party/principal_id", "urn:anax:agent:trust", "/party/principal_id"},
		{goldenP1, "/party/agent_id", "urn:anax:principal:trust", "/party/agent_id"},
		{goldenP1, "/party/agent_id", "urn:anax:agent:a|b", "/party/agent_id"},
		{goldenP1, "/party/clearance_id_hash", "CLR-1", "/party/clearance_id_hash"},
		{goldenP1, "/party/trust_basis", "hearsay", "/party/trust_basis"},
		{goldenP1, "/party/agc_level", -1, "/party/agc_level"},
		{goldenP2, "/crossing_id", strings.ToUpper(goldenID), "/crossing_id"},
		{goldenP2, "/agreement_hash", "sha256:" + td1Hash, "/agreement_hash"},
		{goldenP2, "/terms_document", "", "/terms_document"},
		{goldenP2, "/terms_document", strings.Repeat("a", crossing.MaxTerms+1), "/terms_document"},
		{goldenP3, "/crossing_id", "1", "/crossing_id"},
		{goldenP3, "/closed_mandate", "", "/closed_mandate"},
		{goldenP3, "/closed_mandate", token, "/closed_mandate"},
		{goldenP3, "/receipt", "", "/receipt"},
		{goldenP3, "/receipt", token, "/receipt"},
		{goldenP3, "/open_disclosures", []any{"a", "b"}, "/open_disclosures"},
		{goldenP3, "/open_disclosures", []any{""}, "/open_disclosures"},
		{goldenP3, "/open_disclosures", []any{7}, "/open_disclosures"},
		{goldenP3, "/open_disclosures", []any{disclosure}, "/open_disclosures"},
	}
	for _, tt := range tests {
		wantMessageRefused(t, edited(t, tt.src, tt.pointer, tt.value), "value", tt.member)
	}
	for _, src := range []string{`null`, `[]`, `"P1"`, `7`} {
		wantMessageRefused(t, src, "type", "")
	}
}

// TestMessageLargest takes everything at its limit.
//
// covers GC-272, GC-287
func TestMessageLargest(t *testing.T) {
	for pointer, tt := range map[string]struct {
		src   string
		value any
	}{
		"/open_mandate":     {goldenP1, strings.Repeat("a", 64<<10)},
		"/intended_act":     {goldenP1, strings.Repeat("a", 256)},
		"/terms_document":   {goldenP2, strings.Repeat("a", crossing.MaxTerms)},
		"/open_disclosures": {goldenP3, []any{strings.Repeat("a", 4096)}},
	} {
		if _, refusal := crossing.ParseMessage(parse(t, edited(t, tt.src, pointer, tt.value))); refusal != nil {
			t.Errorf("%s: %v", pointer, refusal)
		}
	}
}

// A refusal stands in place of everything else, in any state.
//
// covers GC-124, GC-322
func TestMessageRefusal(t *testing.T) {
	r := &crossing.Refusal{Name: crossing.RecordMalformed, Path: "§4.4 value", Member: "/record"}
	for _, state := range []crossing.State{crossing.Refused, crossing.FailedUnsealed, crossing.MandatesPending, crossing.Sealing} {
		m, refusal := crossing.ParseMessage(parse(t, crossing.RefusalBytes(state, r)))
		if refusal != nil {
			t.Errorf("%s: %v", state, refusal)
			continue
		}
		told := *r
		told.Peer = true
		if diff := cmp.Diff(&crossing.Message{State: state, Refusal: &told}, m); diff != "" {
			t.Errorf("%s (-want +got)\n%s", state, diff)
		}
	}
	for _, bad := range []string{`null`, `"no"`, `{}`, `{"error":7}`, `{"error":""}`} {
		wantMessageRefused(t, `{"crossing_state":"refused","refusal":`+bad+`}`, "value", "/refusal")
	}
	// No phase sends a message in these states.
	for _, state := range []crossing.State{crossing.Committed, crossing.Refused, crossing.FailedUnsealed} {
		m, refusal := crossing.ParseMessage(parse(t, `{"crossing_state":"`+string(state)+`"}`))
		if refusal != nil {
			t.Errorf("%s: %v", state, refusal)
		}
		if diff := cmp.Diff(&crossing.Message{State: state}, m); diff != "" {
			t.Errorf("%s (-want +got)\n%s", state, diff)
		}
	}
}

// covers GC-262, GC-263, GC-264, GC-265, GC-266, GC-267
func TestStates(t *testing.T) {
	tests := []struct {
		state    crossing.State
		spelling string
		core     string
		terminal bool
	}{
		{crossing.MandatesPending, "mandates_pending", "TASK_STATE_AUTH_REQUIRED", false},
		{crossing.TermsProposed, "terms_proposed", "TASK_STATE_INPUT_REQUIRED", false},
		{crossing.Sealing, "sealing", "TASK_STATE_WORKING", false},
		{crossing.Committed, "committed", "TASK_STATE_COMPLETED", true},
		{crossing.Refused, "refused", "TASK_STATE_REJECTED", true},
		{crossing.FailedUnsealed, "failed_unsealed", "TASK_STATE_FAILED", true},
	}
	for _, tt := range tests {
		if string(tt.state) != tt.spelling || tt.state.TaskState() != tt.core || tt.state.Terminal() != tt.terminal || !tt.state.Valid() {
			t.Errorf("%s: %s, terminal %t, valid %t", tt.state, tt.state.TaskState(), tt.state.Terminal(), tt.state.Valid())
		}
	}
	for _, s := range []crossing.State{"", "Committed", "done"} {
		if s.Valid() || s.Terminal() || s.TaskState() != "TASK_STATE_UNSPECIFIED" {
			t.Errorf("%q: %s", s, s.TaskState())
		}
	}
}

// covers GC-028, GC-049, GC-050
func TestFrozenNames(t *testing.T) {
	for got, want := range map[string]string{
		crossing.URI: "https://anaxstandard.ai/ext/governed-crossing/v1", crossing.Header: "A2A-Extensions",
		crossing.OpSeal: "crossing:seal", crossing.OpVerify: "crossing:verify",
		crossing.RPCSeal: "anaxstandard.crossing/seal", crossing.RPCVerify: "anaxstandard.crossing/verify",
		crossing.RecordType: "anax-bilateral-crossing-v1",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
