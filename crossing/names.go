package crossing

import (
	"unicode"
	"unicode/utf8"

	"github.com/bindery/bindery/jcs"
)

// A Name is an error name of §3.7.4. Callers switch on it; the number exists for
// JSON-RPC alone (GC-119). No name is ever removed or renamed within /v1 (GC-123).
type Name string

// The 22 names of the table, then the two that Bindery adds (E-3, GC-124).
const (
	ExtNotActivated          Name = "EXT_NOT_ACTIVATED"
	MandateInvalid           Name = "MANDATE_INVALID"
	MandateExpired           Name = "MANDATE_EXPIRED"
	MandateAudience          Name = "MANDATE_AUDIENCE"
	MandateNonceReplay       Name = "MANDATE_NONCE_REPLAY"
	MandateRevoked           Name = "MANDATE_REVOKED"
	AgreementHashMismatch    Name = "AGREEMENT_HASH_MISMATCH"
	ClassExceeded            Name = "CLASS_EXCEEDED"
	MagnitudeExhausted       Name = "MAGNITUDE_EXHAUSTED"
	NarrowingViolation       Name = "NARROWING_VIOLATION"
	CurrencyMismatch         Name = "CURRENCY_MISMATCH"
	MalformedMandate         Name = "MALFORMED_MANDATE"
	MagnitudeMismatch        Name = "MAGNITUDE_MISMATCH"
	CounterpartyNotPermitted Name = "COUNTERPARTY_NOT_PERMITTED"
	RoleMismatch             Name = "ROLE_MISMATCH"
	ServiceHeldMandate       Name = "SERVICE_HELD_MANDATE"
	MandatePartyMismatch     Name = "MANDATE_PARTY_MISMATCH"
	ChainPositionUnavailable Name = "CHAIN_POSITION_UNAVAILABLE"
	SealMismatch             Name = "SEAL_MISMATCH"
	RecordMalformed          Name = "RECORD_MALFORMED"
	VerifyParams             Name = "VERIFY_PARAMS"
	RateLimited              Name = "RATE_LIMITED"

	ClassBelowFloor Name = "CLASS_BELOW_FLOOR" // a class under its act's floor (design C8, 11-16 ii)
	SealPending     Name = "SEAL_PENDING"      // an attempt is open or not yet published; never a refusal (design C7)
)

// A Row is one line of the error table.
type Row struct {
	Name    Name
	Code    int    // JSON-RPC code, −40000…−40099 (GC-118)
	HTTP    int    // REST status (GC-120)
	GRPC    string // gRPC status (AG-62)
	Path    string // the clause that produces it
	Message string // constant; says what to look at, never a value (AG-77)
}

// Table returns the whole error table in the specification's order.
func Table() []Row {
	return []Row{
		{ExtNotActivated, -40001, 428, "FAILED_PRECONDITION", "§3.5.2-1", "the request did not activate the extension"},
		{MandateInvalid, -40010, 401, "UNAUTHENTICATED", "§5.4", "a mandate's signature, structure or issuer does not hold"},
		{MandateExpired, -40011, 401, "UNAUTHENTICATED", "§5.7 F1", "a mandate has expired"},
		{MandateAudience, -40012, 403, "PERMISSION_DENIED", "§5.4-7", "a closed mandate names another audience"},
		{MandateNonceReplay, -40013, 409, "ABORTED", "§5.4-8", "a closed mandate's nonce was used before in this crossing"},
		{MandateRevoked, -40014, 401, "UNAUTHENTICATED", "§5.4 revocation at commit", "a mandate is no longer active"},
		{AgreementHashMismatch, -40020, 422, "FAILED_PRECONDITION", "§4.2", "the terms are not the agreed terms, or not a Terms Document"},
		{ClassExceeded, -40030, 403, "PERMISSION_DENIED", "§4.1.3 L-1", "the commitment class is above what the mandate permits"},
		{MagnitudeExhausted, -40031, 403, "PERMISSION_DENIED", "§4.1.3 M-4", "the mandate does not cover this magnitude, or is spent"},
		{NarrowingViolation, -40032, 403, "PERMISSION_DENIED", "§4.1.3 L-2, M-3", "a closed mandate is wider than its open mandate"},
		{CurrencyMismatch, -40033, 422, "FAILED_PRECONDITION", "§4.1.3 M-2", "the currencies differ"},
		{MalformedMandate, -40034, 400, "INVALID_ARGUMENT", "§4.1.3 L-5, M-2", "an unknown class or act, or a magnitude without its unit"},
		{MagnitudeMismatch, -40035, 403, "PERMISSION_DENIED", "§5.4 magnitude equality", "the record and a closed mandate assert different magnitudes"},
		{ClassBelowFloor, -40036, 403, "PERMISSION_DENIED", "§10 11-16 ii", "the commitment class is below the act's floor"},
		{CounterpartyNotPermitted, -40040, 403, "PERMISSION_DENIED", "§4.1.3 permitted_counterparties", "the open mandate does not permit this counterparty"},
		{RoleMismatch, -40041, 403, "PERMISSION_DENIED", "§3.7.2-3", "this credential's role has no business on this route"},
		{ServiceHeldMandate, -40042, 403, "PERMISSION_DENIED", "§3.7.2-2", "a mandate held by a service is not spendable by an effector"},
		{MandatePartyMismatch, -40043, 403, "PERMISSION_DENIED", "§5.4-9", "a mandate is not the one the record names for its party"},
		{ChainPositionUnavailable, -40050, 503, "UNAVAILABLE", "§4.4-5", "no chain position can be established"},
		{SealMismatch, -40051, 409, "ABORTED", "§4.4-6", "the parties' records differ"},
		{SealPending, -40052, 503, "UNAVAILABLE", "§5.6", "the seal is being written or published; ask again"},
		{RecordMalformed, -40060, 400, "INVALID_ARGUMENT", "§4.4-1…3", "the request or its record breaks a rule of shape"},
		{VerifyParams, -40070, 400, "INVALID_ARGUMENT", "§3.7.3", "name exactly one of seal_id and crossing_id"},
		{RateLimited, -40090, 429, "RESOURCE_EXHAUSTED", "§3.7.3", "too many requests"},
	}
}

// RowOf finds a name's row. Unknown names are refusals all the same (GC-124); they
// have no row here.
func RowOf(n Name) (Row, bool) {
	for _, row := range Table() {
		if row.Name == n {
			return row, true
		}
	}
	return Row{}, false
}

// A Refusal is a normative no. It is what the refused party is told, so it holds
// nothing that the refusing party must keep to itself (§5.7 RM-2, GC-323).
type Refusal struct {
	Name Name
	Path string // the clause that fired; the table's path unless something finer is known (RM-1, GC-322)
	// Member is the JSON Pointer of the faulty member of a document that the refused
	// party wrote itself: terms, record or message.
	Member string
	// Peer is true on the side that was told this by the other party.
	Peer bool
}

// Refuse makes a refusal with the table's own path.
func Refuse(n Name) *Refusal {
	row, _ := RowOf(n)
	return &Refusal{Name: n, Path: row.Path}
}

// RefuseAt makes a refusal with a finer path.
func RefuseAt(n Name, path string) *Refusal { return &Refusal{Name: n, Path: path} }

// Error gives name, clause, constant message and, for documents, the place.
func (r *Refusal) Error() string {
	s := string(r.Name)
	if row, ok := RowOf(r.Name); ok {
		s += ": " + row.Message
	}
	if r.Path != "" {
		s += " (" + r.Path
		if r.Member != "" {
			s += ", at " + r.Member
		}
		s += ")"
	}
	return s
}

// Data is the error.data object of a JSON-RPC or REST error, {error, failure_path,
// crossing_id?, member?} (AG-61).
func (r *Refusal) Data(crossingID string) []byte {
	m := []jcs.Member{
		{Name: "error", Value: jcs.String(string(r.Name))},
		{Name: "failure_path", Value: jcs.String(r.Path)},
	}
	if crossingID != "" {
		m = append(m, jcs.Member{Name: "crossing_id", Value: jcs.String(crossingID)})
	}
	if r.Member != "" {
		m = append(m, jcs.Member{Name: "member", Value: jcs.String(r.Member)})
	}
	return jcs.Object(m...)
}

// Bytes is the refusal as a member of a phase message: {error, failure_path, member?}.
func (r *Refusal) Bytes() []byte { return r.Data("") }

// ParseRefusal reads what Data or Bytes wrote, or a foreign peer's like. An unknown
// name is kept: it is a refusal too (GC-124). ok is false when v is no refusal.
func ParseRefusal(v jcs.Value) (refusal *Refusal, ok bool) {
	r := jcs.NewReader(v)
	name := r.Text("error")
	if r.Err() != nil || name == "" || utf8.RuneCountInString(name) > 64 {
		return nil, false
	}
	path, _ := r.OptText("failure_path")
	member, _ := r.OptText("member")
	return &Refusal{Name: Name(clip(name)), Path: clip(path), Member: clip(member), Peer: true}, true
}

// clip keeps a peer's text short and printable before it reaches a terminal: no control
// characters, and none that turn the direction of writing or hide.
func clip(s string) string {
	out := make([]rune, 0, 128)
	for _, c := range s {
		if len(out) == 128 {
			break
		}
		if !unicode.IsPrint(c) {
			c = '·'
		}
		out = append(out, c)
	}
	return string(out)
}
