package crossing

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// decoder reads a record through a jcs.Reader; the first fault sticks in the reader.
// The two parties are items of a list and have readers of their own: what is wrong with
// one of them is kept in item, under the pointer from the root.
type decoder struct {
	r    *jcs.Reader
	item *jcs.MemberError
}

// close returns the first fault. The parties are read before the members that follow
// them, so the fault of an item comes first.
func (d *decoder) close() error {
	if d.item != nil {
		return d.item
	}
	return d.r.Close()
}

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
		var m *jcs.MemberError
		if errors.As(p.Close(), &m) {
			d.item = &jcs.MemberError{Pointer: "/parties/" + strconv.Itoa(i) + m.Pointer, Rule: m.Rule}
			return
		}
	}
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
	p := Profile{
		PrincipalID: identifier(r, "principal_id", mandate.ValidPrincipalID),
		AgentID:     identifier(r, "agent_id", validAgentID), ClearanceIDHash: hex256(r, "clearance_id_hash"),
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
	outside := func(c rune) bool { return c < 0x20 || c > 0x7e }
	if s == "" || len(s) > 128 || strings.ContainsFunc(s, outside) {
		r.Fail(name, "value")
	}
	return s
}

func identifier(r *jcs.Reader, name string, valid func(string) bool) string {
	s := r.Text(name)
	if !valid(s) {
		r.Fail(name, "value")
	}
	return s
}

// validAgentID is the form of a mandate's sub (§4.4-7, GC-253) without "|": package chain
// joins two agents with it, and with one inside two pairs could have one chain_id.
func validAgentID(s string) bool { return mandate.ValidAgentID(s) && !strings.Contains(s, "|") }

func instantOf(r *jcs.Reader, name string) time.Time {
	s := r.Text(name)
	t, err := time.Parse(timeLayout, s)
	if err != nil || t.Format(timeLayout) != s {
		r.Fail(name, "value")
	}
	return t
}

func uuid(r *jcs.Reader, name string) string { return identifier(r, name, ValidCrossingID) }

// ValidCrossingID reports whether s is a lower-case RFC 9562 UUID (AG-28).
func ValidCrossingID(s string) bool { return mandate.ValidCrossingID(s) }
