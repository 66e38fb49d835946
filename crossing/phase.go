package crossing

import (
	"errors"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/jcs"
)

// P1 is a mandate exchange message (§5.2), the same shape both ways. The initiator
// also says what the crossing will be about, or checks 6 and 7 could not be evaluated
// (AG-71):
//
//	{"act_profile":"9c1f…","closing":"agent","crossing_state":"mandates_pending",
//	 "intended_act":"engagement_code_issuance","intended_class":"irreversible",
//	 "open_mandate":"eyJ…~","party":{"agc_level":1,"agent_id":"urn:anax:agent:…", …}}
type P1 struct {
	Closing       string // "agent" or "human": who will sign the Closed
	OpenMandate   string // as presented, without disclosures
	Party         Profile
	IntendedClass string // initiator only
	IntendedAct   string // initiator only
	ActProfile    string // digest of the act vocabulary; "" from a foreign initiator (design C3)
}

// P2 is a terms message (§5.3): the initiator proposes, the responder answers with its
// own hash and without the document.
type P2 struct {
	CrossingID    string
	TermsDocument string // JSON text as a string, so that R-3 stays decidable; "" in an answer
	AgreementHash jcs.Hex256
}

// P3 carries a Closed with the RA's registration receipt (§5.4), both ways.
type P3 struct {
	CrossingID      string
	ClosedMandate   string
	Receipt         string
	OpenDisclosures []string // of the Open of P1; only magnitude_limit can be one (design M5)
}

// A Message is what Message.metadata holds under [URI]. At most one of the pointers is
// set: Refusal, or else the one that State goes with. No phase sends a message in state
// committed, refused or failed_unsealed, so one without a refusal has none set.
type Message struct {
	State   State
	P1      *P1
	P2      *P2
	P3      *P3
	Refusal *Refusal
}

// Limits of a phase message.
const (
	maxToken       = 64 << 10 // bytes
	maxDisclosures = 1        // of 4096 bytes at most
)

// Bytes is the message's canonical JSON.
func (m *P1) Bytes() []byte {
	out := []jcs.Member{
		{Name: "crossing_state", Value: jcs.String(string(MandatesPending))},
		{Name: "closing", Value: jcs.String(m.Closing)},
		{Name: "open_mandate", Value: jcs.String(m.OpenMandate)},
		{Name: "party", Value: jcs.Object(m.Party.members()...)},
	}
	for _, opt := range []struct{ name, value string }{
		{"intended_class", m.IntendedClass}, {"intended_act", m.IntendedAct}, {"act_profile", m.ActProfile},
	} {
		if opt.value != "" {
			out = append(out, jcs.Member{Name: opt.name, Value: jcs.String(opt.value)})
		}
	}
	return jcs.Object(out...)
}

// Bytes is the message's canonical JSON.
func (m *P2) Bytes() []byte {
	out := []jcs.Member{
		{Name: "crossing_state", Value: jcs.String(string(TermsProposed))},
		{Name: "crossing_id", Value: jcs.String(m.CrossingID)},
		{Name: "agreement_hash", Value: jcs.String(string(m.AgreementHash))},
	}
	if m.TermsDocument != "" {
		out = append(out, jcs.Member{Name: "terms_document", Value: jcs.String(m.TermsDocument)})
	}
	return jcs.Object(out...)
}

// Bytes is the message's canonical JSON.
func (m *P3) Bytes() []byte {
	out := []jcs.Member{
		{Name: "crossing_state", Value: jcs.String(string(Sealing))},
		{Name: "crossing_id", Value: jcs.String(m.CrossingID)},
		{Name: "closed_mandate", Value: jcs.String(m.ClosedMandate)},
		{Name: "receipt", Value: jcs.String(m.Receipt)},
	}
	if len(m.OpenDisclosures) > 0 {
		items := make([][]byte, len(m.OpenDisclosures))
		for i, d := range m.OpenDisclosures {
			items[i] = jcs.String(d)
		}
		out = append(out, jcs.Member{Name: "open_disclosures", Value: jcs.Array(items...)})
	}
	return jcs.Object(out...)
}

// RefusalBytes is the metadata of an answer that refuses.
func RefusalBytes(state State, r *Refusal) []byte {
	return jcs.Object(
		jcs.Member{Name: "crossing_state", Value: jcs.String(string(state))},
		jcs.Member{Name: "refusal", Value: r.Bytes()},
	)
}

// ParseMessage reads the object under [URI]. Unknown members are ignored and never
// copied; known ones have exact types (design C3). A fault is RECORD_MALFORMED with
// the JSON Pointer of the member inside that object.
func ParseMessage(v jcs.Value) (*Message, *Refusal) {
	r := jcs.NewReader(v)
	m := &Message{State: State(r.Text("crossing_state"))}
	if r.Err() == nil && !m.State.Valid() {
		r.Fail("crossing_state", "value")
	}
	if refusal := r.OptValue("refusal"); refusal.Type() != jcs.Absent {
		var ok bool
		if m.Refusal, ok = ParseRefusal(refusal); !ok {
			r.Fail("refusal", "value")
		}
	} else {
		m.phase(r)
	}
	if fault := messageFault(r); fault != nil {
		return nil, fault
	}
	return m, nil
}

func (m *Message) phase(r *jcs.Reader) {
	switch m.State {
	case MandatesPending:
		m.P1 = p1(r)
	case TermsProposed:
		m.P2 = p2(r)
	case Sealing:
		m.P3 = p3(r)
	}
}

func messageFault(r *jcs.Reader) *Refusal {
	var m *jcs.MemberError
	switch err := r.Err(); {
	case err == nil:
		return nil
	case errors.As(err, &m):
		return malformed("§5 message "+m.Rule, m.Pointer)
	default:
		return malformed("§5 message", "")
	}
}

func p1(r *jcs.Reader) *P1 {
	m := &P1{Closing: r.Text("closing"), OpenMandate: token(r, "open_mandate")}
	if m.Closing != "agent" && m.Closing != "human" {
		r.Fail("closing", "value")
	}
	m.Party = profile(r.Object("party"))
	m.IntendedClass = optShort(r, "intended_class")
	m.IntendedAct = optShort(r, "intended_act")
	m.ActProfile = optShort(r, "act_profile")
	return m
}

func p2(r *jcs.Reader) *P2 {
	m := &P2{CrossingID: uuid(r, "crossing_id"), AgreementHash: hex256(r, "agreement_hash")}
	if doc, ok := r.OptText("terms_document"); ok {
		if m.TermsDocument = doc; doc == "" || len(doc) > MaxTerms {
			r.Fail("terms_document", "value")
		}
	}
	return m
}

func p3(r *jcs.Reader) *P3 {
	m := &P3{CrossingID: uuid(r, "crossing_id"), ClosedMandate: token(r, "closed_mandate"), Receipt: token(r, "receipt")}
	if r.OptValue("open_disclosures").Type() == jcs.Absent {
		return m
	}
	items := r.Items("open_disclosures")
	if len(items) > maxDisclosures {
		r.Fail("open_disclosures", "value")
		return m
	}
	for _, item := range items {
		s, ok := item.Text()
		if !ok || s == "" || len(s) > 4096 {
			r.Fail("open_disclosures", "value")
			return m
		}
		m.OpenDisclosures = append(m.OpenDisclosures, s)
	}
	return m
}

func token(r *jcs.Reader, name string) string {
	s := r.Text(name)
	if s == "" || len(s) > maxToken {
		r.Fail(name, "value")
	}
	return s
}

func optShort(r *jcs.Reader, name string) string {
	s, ok := r.OptText(name)
	if ok && (s == "" || len(s) > 256) {
		r.Fail(name, "value")
	}
	return s
}

// ParseIntent reads the class and act an initiator announces at P1 (AG-71):
// MALFORMED_MANDATE for an unknown class or an act outside the profile's vocabulary,
// CLASS_BELOW_FLOOR for a class under the act's floor (design C8).
func ParseIntent(class, act string, profile commitment.Profile) (commitment.Class, *Refusal) {
	c, err := commitment.ParseClass(class)
	if err != nil {
		return 0, RefuseAt(MalformedMandate, "§4.1.3 L-5")
	}
	return c, floor(c, act, profile)
}

func floor(c commitment.Class, act string, profile commitment.Profile) *Refusal {
	least, known := profile.Floor(act)
	switch {
	case !known:
		return RefuseAt(MalformedMandate, "§5.4-9 act vocabulary")
	case c == commitment.Observe || !c.Permits(least):
		return Refuse(ClassBelowFloor)
	}
	return nil
}
