package crossing

import (
	"errors"
	"strings"
	"time"

	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// decoder reads a record through a jcs.Reader; the first fault sticks in the reader.
type decoder struct{ r *jcs.Reader }

func recordFault(err error) *Refusal {
	var m *jcs.MemberError
	if !errors.As(err, &m) {
		return malformed("§4.4", "")
	}
	path := "§4.4"
	switch {
	case strings.HasSuffix(m.Pointer, "/clearance_id_hash"), strings.HasSuffix(m.Pointer, "/clearance_id"):
		path = "§4.4-3"
	case strings.HasPrefix(m.Pointer, "/parties"):
		path = "§4.4-1"
	case m.Pointer == "/prev_hash", m.Pointer == "/chain_seq":
		path = "§3.7.1 record"
	}
	return malformed(path+" "+m.Rule, m.Pointer)
}

func (d *decoder) record() *Record {
	r := d.r
	rec := &Record{}
	if r.Text("record") != RecordType {
		r.Fail("record", "value")
	}
	rec.CrossingID = uuid(r, "crossing_id")
	rec.CreatedAt = instantOf(r, "created_at")
	d.parties(rec)
	rec.AgreementHash = hex256(r, "agreement_hash")
	rec.Class = short(r, "commitment_class")
	rec.Act = short(r, "commitment_act")
	rec.Magnitude = r.Int("magnitude_asserted")
	if c, ok := r.OptText("currency"); ok {
		if rec.Currency = c; c == "" || len(c) > 16 {
			r.Fail("currency", "value")
		}
	}
	a := r.Object("a2a_context")
	rec.Context = A2AContext{TaskID: short(a, "task_id"), ContextID: short(a, "context_id"), ArtifactID: printable(a, "artifact_id")}
	t := r.Object("timestamps")
	rec.Timestamps = Timestamps{
		MandatesVerifiedAt: instantOf(t, "mandates_verified_at"),
		TermsAgreedAt:      instantOf(t, "terms_agreed_at"),
		SealedAt:           instantOf(t, "sealed_at"),
	}
	return rec
}

func (d *decoder) parties(rec *Record) {
	items := d.r.Items("parties")
	if len(items) != 2 {
		d.r.Fail("parties", "value")
		return
	}
	for i, role := range []Role{Initiator, Responder} {
		p := jcs.NewReader(items[i])
		*rec.Party(role) = party(p, role)
		if err := p.Close(); err != nil {
			d.nested(i, err)
			return
		}
	}
}

// nested lifts a fault of a list item into the record's reader, under its own pointer.
func (d *decoder) nested(i int, err error) {
	at := "parties/" + string(rune('0'+i))
	rule := "value"
	var m *jcs.MemberError
	if errors.As(err, &m) {
		at, rule = at+m.Pointer, m.Rule
	}
	d.r.Fail(at, rule)
}

func party(r *jcs.Reader, role Role) Party {
	p := Party{Role: role, Profile: profile(r)}
	if Role(r.Text("role")) != role {
		r.Fail("role", "value")
	}
	p.OpenMandateHash = hex256(r, "open_mandate_hash")
	p.ClosedMandateHash = hex256(r, "closed_mandate_hash")
	if p.SignerRole = r.Text("signer_role"); p.SignerRole != "agent" && p.SignerRole != "human" {
		r.Fail("signer_role", "value")
	}
	b := r.Object("governance_basis")
	p.Basis = mandate.GovernanceBasis{PackID: short(b, "pack_id"), PackVersion: short(b, "pack_version")}
	return p
}

// profile reads the five members that P1's party and a record's party share.
func profile(r *jcs.Reader) Profile {
	p := Profile{PrincipalID: uri(r, "principal_id"), AgentID: uri(r, "agent_id"), ClearanceIDHash: hex256(r, "clearance_id_hash")}
	if strings.HasPrefix(p.AgentID, "urn:anax:") && !strings.HasPrefix(p.AgentID, "urn:anax:agent:") {
		r.Fail("agent_id", "value") // §4.4-7, GC-253
	}
	if p.TrustBasis = r.Text("trust_basis"); !mandate.ValidTrustBasis(p.TrustBasis) {
		r.Fail("trust_basis", "value")
	}
	if p.AGCLevel = r.Int("agc_level"); p.AGCLevel < 0 {
		r.Fail("agc_level", "value")
	}
	return p
}

func hex256(r *jcs.Reader, name string) jcs.Hex256 {
	h, err := jcs.ParseHex256(r.Text(name))
	if err != nil {
		r.Fail(name, "value")
	}
	return h
}

// short reads a non-empty text of at most 256 bytes.
func short(r *jcs.Reader, name string) string {
	s := r.Text(name)
	if s == "" || len(s) > 256 {
		r.Fail(name, "value")
	}
	return s
}

// printable reads 1–128 printable ASCII characters (design C3).
func printable(r *jcs.Reader, name string) string {
	s := r.Text(name)
	if !ascii(s, 128) {
		r.Fail(name, "value")
	}
	return s
}

// uri reads an identifier: 1–256 printable ASCII characters without space.
func uri(r *jcs.Reader, name string) string {
	s := r.Text(name)
	if !ascii(s, 256) || strings.Contains(s, " ") {
		r.Fail(name, "value")
	}
	return s
}

func ascii(s string, most int) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func instantOf(r *jcs.Reader, name string) time.Time {
	s := r.Text(name)
	t, err := time.Parse(timeLayout, s)
	if err != nil || t.Format(timeLayout) != s {
		r.Fail(name, "value")
	}
	return t
}

func uuid(r *jcs.Reader, name string) string {
	s := r.Text(name)
	if !ValidCrossingID(s) {
		r.Fail(name, "value")
	}
	return s
}

// ValidCrossingID reports whether s is a lower-case RFC 9562 UUID (AG-28).
func ValidCrossingID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return s[14] >= '1' && s[14] <= '8' && strings.IndexByte("89ab", s[19]) >= 0
}
