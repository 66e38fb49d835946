package crossing

import (
	"strconv"
	"strings"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// RecordType is the literal of the record member (§4.4, GC-235).
const RecordType = "anax-bilateral-crossing-v1"

// MaxRecord is the largest record, in bytes, that is read.
const MaxRecord = 64 << 10

// timeLayout is RFC 3339 in UTC with whole seconds (AG-32).
const timeLayout = "2006-01-02T15:04:05Z"

// A Role is a party's place in a crossing.
type Role string

// The two roles.
const (
	Initiator Role = "initiator"
	Responder Role = "responder"
)

// Other is the counterparty's role.
func (r Role) Other() Role {
	if r == Initiator {
		return Responder
	}
	return Initiator
}

// A Party is one party's entry in a record (§4.4, GC-236). Mandates stand in it by
// hash, never by value (§4.4-2), and the clearance id by hash (§4.4-3).
type Party struct {
	Role Role
	Profile
	OpenMandateHash   jcs.Hex256
	ClosedMandateHash jcs.Hex256
	SignerRole        string // "agent" (T1) or "human" (T2)
	Basis             mandate.GovernanceBasis
}

// A Profile is what a party says of itself at P1 and what the Registration Authority's
// record of its Principal must confirm.
type Profile struct {
	PrincipalID     string
	AgentID         string
	ClearanceIDHash jcs.Hex256
	TrustBasis      string
	AGCLevel        int64
}

// An A2AContext ties a record to the A2A objects that carried it. ArtifactID is the
// responder-side artifact's id, at most 128 printable ASCII characters (design C3).
type A2AContext struct{ TaskID, ContextID, ArtifactID string }

// Timestamps are the three moments of a record: created ≤ verified ≤ agreed ≤ sealed
// (AG-31).
type Timestamps struct{ MandatesVerifiedAt, TermsAgreedAt, SealedAt time.Time }

// A Record is a Bilateral Record without chain position: the input of the joint seal.
// Class, Magnitude and Currency are kept as written; [Record.Amount] judges them,
// since their faults have a place of their own in the precedence (AG-58 step 4).
type Record struct {
	CrossingID    string
	CreatedAt     time.Time
	Initiator     Party
	Responder     Party
	AgreementHash jcs.Hex256
	Class         string
	Act           string
	Magnitude     int64
	Currency      string
	Context       A2AContext
	Timestamps    Timestamps
}

// Party returns the entry of a role.
func (r *Record) Party(role Role) *Party {
	if role == Initiator {
		return &r.Initiator
	}
	return &r.Responder
}

// Amount is class, magnitude and currency as one value; MALFORMED_MANDATE otherwise
// (L-5, M-1, M-2).
func (r *Record) Amount() (commitment.Amount, *Refusal) {
	class, err := commitment.ParseClass(r.Class)
	if err != nil {
		return commitment.Amount{}, RefuseAt(MalformedMandate, "§4.1.3 L-5")
	}
	m, err := commitment.ParseMagnitude(r.Magnitude)
	if err != nil {
		return commitment.Amount{}, RefuseAt(MalformedMandate, "§4.1.3 M-1")
	}
	amount, err := commitment.NewAmount(class, m, commitment.Currency(r.Currency))
	if err != nil {
		return commitment.Amount{}, RefuseAt(MalformedMandate, "§4.1.3 M-2")
	}
	return amount, nil
}

// Bytes is the record's RFC 8785 form.
func (r *Record) Bytes() []byte {
	m := []jcs.Member{
		{Name: "record", Value: jcs.String(RecordType)},
		{Name: "crossing_id", Value: jcs.String(r.CrossingID)},
		{Name: "created_at", Value: instant(r.CreatedAt)},
		{Name: "parties", Value: jcs.Array(r.Initiator.bytes(), r.Responder.bytes())},
		{Name: "agreement_hash", Value: jcs.String(string(r.AgreementHash))},
		{Name: "commitment_class", Value: jcs.String(r.Class)},
		{Name: "commitment_act", Value: jcs.String(r.Act)},
		{Name: "magnitude_asserted", Value: jcs.Int(r.Magnitude)},
		{Name: "a2a_context", Value: jcs.Object(
			jcs.Member{Name: "task_id", Value: jcs.String(r.Context.TaskID)},
			jcs.Member{Name: "context_id", Value: jcs.String(r.Context.ContextID)},
			jcs.Member{Name: "artifact_id", Value: jcs.String(r.Context.ArtifactID)},
		)},
		{Name: "timestamps", Value: jcs.Object(
			jcs.Member{Name: "mandates_verified_at", Value: instant(r.Timestamps.MandatesVerifiedAt)},
			jcs.Member{Name: "terms_agreed_at", Value: instant(r.Timestamps.TermsAgreedAt)},
			jcs.Member{Name: "sealed_at", Value: instant(r.Timestamps.SealedAt)},
		)},
	}
	if r.Currency != "" {
		m = append(m, jcs.Member{Name: "currency", Value: jcs.String(r.Currency)})
	}
	return jcs.Object(m...)
}

func (p *Party) bytes() []byte {
	return jcs.Object(append(p.Profile.members(),
		jcs.Member{Name: "role", Value: jcs.String(string(p.Role))},
		jcs.Member{Name: "open_mandate_hash", Value: jcs.String(string(p.OpenMandateHash))},
		jcs.Member{Name: "closed_mandate_hash", Value: jcs.String(string(p.ClosedMandateHash))},
		jcs.Member{Name: "signer_role", Value: jcs.String(p.SignerRole)},
		jcs.Member{Name: "governance_basis", Value: jcs.Object(
			jcs.Member{Name: "pack_id", Value: jcs.String(p.Basis.PackID)},
			jcs.Member{Name: "pack_version", Value: jcs.String(p.Basis.PackVersion)},
		)},
	)...)
}

func (p Profile) members() []jcs.Member {
	return []jcs.Member{
		{Name: "principal_id", Value: jcs.String(p.PrincipalID)},
		{Name: "agent_id", Value: jcs.String(p.AgentID)},
		{Name: "clearance_id_hash", Value: jcs.String(string(p.ClearanceIDHash))},
		{Name: "trust_basis", Value: jcs.String(p.TrustBasis)},
		{Name: "agc_level", Value: jcs.Int(p.AGCLevel)},
	}
}

func instant(t time.Time) []byte { return jcs.String(t.UTC().Format(timeLayout)) }

// JointSeal is the commitment: hex SHA-256 of the record's bytes (§4.4-4, GC-240).
func (r *Record) JointSeal() jcs.Hex256 { return jcs.HexOf(r.Bytes()) }

// JointSealOf computes a joint seal from any record object, leaving out a chain
// position if there is one (AG-29, AG-30).
func JointSealOf(record jcs.Value) jcs.Hex256 {
	var m []jcs.Member
	for name, v := range record.Members() {
		if name != "prev_hash" && name != "chain_seq" {
			m = append(m, jcs.Member{Name: name, Value: v.Bytes()})
		}
	}
	return jcs.HexOf(jcs.Object(m...))
}

// ParseRecord reads a record as crossing:seal takes it: closed at every level, exactly
// two parties in their order, no chain position. A party's principal_id and agent_id have
// the form of a mandate's iss and sub, and no agent_id holds the "|" that a chain_id is
// formed with. Faults are RECORD_MALFORMED with the JSON Pointer of the member: §4.4-2 for
// a mandate by value, §4.4-3 for a clearance id, §4.4-1 and §4.4-7 for the parties, §3.7.1
// for a chain position, §4.4 for the rest.
func ParseRecord(v jcs.Value) (*Record, *Refusal) {
	if len(v.Bytes()) > MaxRecord {
		return nil, malformed("§4.4 size", "")
	}
	if at := tokenShaped(v, ""); at != "" {
		return nil, malformed("§4.4-2", at)
	}
	d := &decoder{r: jcs.NewReader(v)}
	rec := d.record()
	if err := d.close(); err != nil {
		return nil, recordFault(err)
	}
	if path := rec.faultOfParties(); path != "" {
		return nil, malformed(path, "/parties")
	}
	if t := rec.Timestamps; t.MandatesVerifiedAt.Before(rec.CreatedAt) || t.TermsAgreedAt.Before(t.MandatesVerifiedAt) || t.SealedAt.Before(t.TermsAgreedAt) {
		return nil, malformed("§4.4 timestamps", "/timestamps")
	}
	return rec, nil
}

func (r *Record) faultOfParties() string {
	switch {
	case r.Initiator.PrincipalID == r.Responder.PrincipalID:
		return "§4.4-1"
	case r.Initiator.AgentID == r.Responder.AgentID:
		return "§4.4-7"
	}
	return ""
}

func malformed(path, member string) *Refusal {
	return &Refusal{Name: RecordMalformed, Path: path, Member: member}
}

// tokenShaped finds a string that looks like a signed token: a mandate by value in a
// record (§4.4-2, GC-238).
func tokenShaped(v jcs.Value, at string) string {
	switch v.Type() {
	case jcs.StringType:
		if s, _ := v.Text(); strings.HasPrefix(s, "eyJ") && strings.Count(s, ".") >= 2 {
			return at
		}
	case jcs.ArrayType:
		i := 0
		for item := range v.Items() {
			if found := tokenShaped(item, at+"/"+strconv.Itoa(i)); found != "" {
				return found
			}
			i++
		}
	case jcs.ObjectType:
		for name, member := range v.Members() {
			if found := tokenShaped(member, at+"/"+referenceToken(name)); found != "" {
				return found
			}
		}
	}
	return ""
}

// referenceToken escapes a member name for a JSON Pointer (RFC 6901 §3).
func referenceToken(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
