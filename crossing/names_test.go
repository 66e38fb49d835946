package crossing_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/crossing"
)

// table is the error table as §3.7.4 prints it, with the two names that were added (design
// C7, C8) and the gRPC status of AG-62. It is written out here and not derived: no name may
// ever be removed or renamed.
var table = []struct {
	name  crossing.Name
	code  int
	http  int
	grpc  string
	path  string
	added bool
}{
	{"EXT_NOT_ACTIVATED", -40001, 428, "FAILED_PRECONDITION", "§3.5.2-1", false},
	{"MANDATE_INVALID", -40010, 401, "UNAUTHENTICATED", "§5.4", false},
	{"MANDATE_EXPIRED", -40011, 401, "UNAUTHENTICATED", "§5.7 F1", false},
	{"MANDATE_AUDIENCE", -40012, 403, "PERMISSION_DENIED", "§5.4-7", false},
	{"MANDATE_NONCE_REPLAY", -40013, 409, "ABORTED", "§5.4-8", false},
	{"MANDATE_REVOKED", -40014, 401, "UNAUTHENTICATED", "§5.4 revocation at commit", false},
	{"AGREEMENT_HASH_MISMATCH", -40020, 422, "FAILED_PRECONDITION", "§4.2", false},
	{"CLASS_EXCEEDED", -40030, 403, "PERMISSION_DENIED", "§4.1.3 L-1", false},
	{"MAGNITUDE_EXHAUSTED", -40031, 403, "PERMISSION_DENIED", "§4.1.3 M-4", false},
	{"NARROWING_VIOLATION", -40032, 403, "PERMISSION_DENIED", "§4.1.3 L-2, M-3", false},
	{"CURRENCY_MISMATCH", -40033, 422, "FAILED_PRECONDITION", "§4.1.3 M-2", false},
	{"MALFORMED_MANDATE", -40034, 400, "INVALID_ARGUMENT", "§4.1.3 L-5, M-2", false},
	{"MAGNITUDE_MISMATCH", -40035, 403, "PERMISSION_DENIED", "§5.4 magnitude equality", false},
	{"CLASS_BELOW_FLOOR", -40036, 403, "PERMISSION_DENIED", "§10 11-16 ii", true},
	{"COUNTERPARTY_NOT_PERMITTED", -40040, 403, "PERMISSION_DENIED", "§4.1.3 permitted_counterparties", false},
	{"ROLE_MISMATCH", -40041, 403, "PERMISSION_DENIED", "§3.7.2-3", false},
	{"SERVICE_HELD_MANDATE", -40042, 403, "PERMISSION_DENIED", "§3.7.2-2", false},
	{"MANDATE_PARTY_MISMATCH", -40043, 403, "PERMISSION_DENIED", "§5.4-9", false},
	{"CHAIN_POSITION_UNAVAILABLE", -40050, 503, "UNAVAILABLE", "§4.4-5", false},
	{"SEAL_MISMATCH", -40051, 409, "ABORTED", "§4.4-6", false},
	{"SEAL_PENDING", -40052, 503, "UNAVAILABLE", "§5.6", true},
	{"RECORD_MALFORMED", -40060, 400, "INVALID_ARGUMENT", "§4.4-1…3", false},
	{"VERIFY_PARAMS", -40070, 400, "INVALID_ARGUMENT", "§3.7.3", false},
	{"RATE_LIMITED", -40090, 429, "RESOURCE_EXHAUSTED", "§3.7.3", false},
}

// covers GC-096, GC-097, GC-098, GC-099, GC-100, GC-101, GC-102, GC-103, GC-104, GC-105, GC-106, GC-107
// covers GC-108, GC-109, GC-110, GC-111, GC-112, GC-113, GC-114, GC-115, GC-116, GC-117, GC-118, GC-120, GC-123
func TestTable(t *testing.T) {
	rows := crossing.Table()
	if len(rows) != len(table) {
		t.Fatalf("%d rows, want %d", len(rows), len(table))
	}
	added, codes := 0, map[int]bool{}
	for i, want := range table {
		got := rows[i]
		if got.Name != want.name || got.Code != want.code || got.HTTP != want.http || got.GRPC != want.grpc || got.Path != want.path {
			t.Errorf("row %d: %+v, want %+v", i, got, want)
		}
		if row, ok := crossing.RowOf(want.name); !ok || row != got {
			t.Errorf("RowOf(%s) = %+v, %t", want.name, row, ok)
		}
		if got.Code > -40000 || got.Code < -40099 || codes[got.Code] {
			t.Errorf("%s: code %d", got.Name, got.Code)
		}
		codes[got.Code] = true
		if want.added {
			added++
		}
	}
	if added != 2 || len(table)-added != 22 {
		t.Errorf("%d names of the specification and %d added", len(table)-added, added)
	}
	rows[0].Name = "CHANGED" // the caller's own copy
	if _, ok := crossing.RowOf("EXT_NOT_ACTIVATED"); !ok {
		t.Error("Table gives away the table itself")
	}
}

// TestMessages: a message is constant for a name and says no number (design C4, AG-77).
//
// covers GC-323
func TestMessages(t *testing.T) {
	seen := map[string]crossing.Name{}
	for _, row := range crossing.Table() {
		if row.Message == "" || strings.ContainsAny(row.Message, "0123456789§%") {
			t.Errorf("%s: message %q", row.Name, row.Message)
		}
		if other, twice := seen[row.Message]; twice {
			t.Errorf("%s and %s have one message", row.Name, other)
		}
		seen[row.Message] = row.Name
		r := crossing.Refuse(row.Name)
		if r.Path != row.Path || r.Member != "" || r.Peer {
			t.Errorf("Refuse(%s) = %+v", row.Name, r)
		}
		if got, want := r.Error(), string(row.Name)+": "+row.Message+" ("+row.Path+")"; got != want {
			t.Errorf("Error() = %q, want %q", got, want)
		}
	}
}

// covers GC-124, GC-322
func TestRefusalError(t *testing.T) {
	tests := []struct {
		refusal crossing.Refusal
		want    string
	}{
		{crossing.Refusal{Name: crossing.RecordMalformed, Path: "§4.4 value", Member: "/record"},
			"RECORD_MALFORMED: the request or its record breaks a rule of shape (§4.4 value, at /record)"},
		{crossing.Refusal{Name: "A_NAME_OF_TOMORROW"}, "A_NAME_OF_TOMORROW"},
		{crossing.Refusal{Name: "A_NAME_OF_TOMORROW", Path: "§9"}, "A_NAME_OF_TOMORROW (§9)"},
		{*crossing.Refuse("A_NAME_OF_TOMORROW"), "A_NAME_OF_TOMORROW"},
	}
	for _, tt := range tests {
		if got := tt.refusal.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
	if row, ok := crossing.RowOf("A_NAME_OF_TOMORROW"); ok || row != (crossing.Row{}) {
		t.Errorf("RowOf of an unknown name = %+v", row)
	}
}

// The bytes are written out by hand.
//
// covers GC-118
func TestRefusalData(t *testing.T) {
	r := &crossing.Refusal{Name: crossing.RecordMalformed, Path: "§4.4-3 value", Member: "/parties/0/clearance_id_hash"}
	want := `{"crossing_id":"` + goldenID + `","error":"RECORD_MALFORMED","failure_path":"§4.4-3 value","member":"/parties/0/clearance_id_hash"}`
	if got := string(r.Data(goldenID)); got != want {
		t.Errorf("Data() = %s, want %s", got, want)
	}
	want = `{"error":"MANDATE_EXPIRED","failure_path":"§5.7 F1"}`
	if got := string(crossing.Refuse(crossing.MandateExpired).Bytes()); got != want {
		t.Errorf("Bytes() = %s, want %s", got, want)
	}
	want = `{"crossing_state":"refused","refusal":{"error":"MANDATE_EXPIRED","failure_path":"§5.7 F1"}}`
	if got := string(crossing.RefusalBytes(crossing.Refused, crossing.Refuse(crossing.MandateExpired))); got != want {
		t.Errorf("RefusalBytes() = %s, want %s", got, want)
	}
}

// covers GC-119, GC-124
func TestParseRefusal(t *testing.T) {
	tests := []struct {
		name, src string
		want      crossing.Refusal
	}{
		{"what Data wrote", string((&crossing.Refusal{Name: crossing.RecordMalformed, Path: "§4.4", Member: "/a"}).Data(goldenID)),
			crossing.Refusal{Name: crossing.RecordMalformed, Path: "§4.4", Member: "/a", Peer: true}},
		{"a known name with an unknown code", `{"error":"RATE_LIMITED","code":-1}`, crossing.Refusal{Name: crossing.RateLimited, Peer: true}},
		{"an unknown name", `{"error":"A_NAME_OF_TOMORROW","failure_path":"§9"}`, crossing.Refusal{Name: "A_NAME_OF_TOMORROW", Path: "§9", Peer: true}},
		{"a path that is no text", `{"error":"RATE_LIMITED","failure_path":7}`, crossing.Refusal{Name: crossing.RateLimited, Peer: true}},
		{"control characters", `{"error":"A\u001b[2J","failure_path":"a\nb\u007f\u0085\u202e","member":"\u2028é"}`,
			crossing.Refusal{Name: "A·[2J", Path: "a·b···", Member: "·é", Peer: true}},
		{"a name of 64 control characters", `{"error":"` + strings.Repeat(`\u0001`, 64) + `"}`,
			crossing.Refusal{Name: crossing.Name(strings.Repeat("·", 64)), Peer: true}},
		{"long texts", `{"error":"` + strings.Repeat("A", 64) + `","failure_path":"` + strings.Repeat("é", 200) + `","member":"` + strings.Repeat("m", 129) + `"}`,
			crossing.Refusal{Name: crossing.Name(strings.Repeat("A", 64)), Path: strings.Repeat("é", 128), Member: strings.Repeat("m", 128), Peer: true}},
	}
	for _, tt := range tests {
		got, ok := crossing.ParseRefusal(parse(t, tt.src))
		if !ok {
			t.Errorf("%s: no refusal", tt.name)
			continue
		}
		if diff := cmp.Diff(tt.want, *got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
	for _, src := range []string{`{}`, `[]`, `"RATE_LIMITED"`, `null`, `{"error":""}`, `{"error":7}`, `{"error":null}`, `{"error":"` + strings.Repeat("A", 65) + `"}`} {
		if r, ok := crossing.ParseRefusal(parse(t, src)); ok || r != nil {
			t.Errorf("ParseRefusal(%s) = %+v, %t", src, r, ok)
		}
	}
}
