package wiretest

import (
	"net/http"
	"strings"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// Terms is the document that a Script proposes unless a test changes it.
const Terms = `{"terms_version":"1","unit":"code","count":1}`

// CanonicalTerms is the RFC 8785 form of Terms; the agreement_hash is over it.
const CanonicalTerms = `{"count":1,"terms_version":"1","unit":"code"}`

// A Phase is a step of a Script before the seal.
type Phase int

// The steps. Closing signs and registers the initiator's Closed, P3 presents it.
const (
	P0 Phase = iota
	P1
	P2
	Closing
	P3
)

// Edits change what an honest initiator would send. Each is called on one thing, right
// before it is signed or sent; nil changes nothing.
type Edits struct {
	Open    func(claims Doc) // of the initiator's Open, before it is signed and registered
	P1      func(meta Doc)   // what stands under the URI in Message.metadata
	P2      func(meta Doc)
	Closed  func(claims Doc) // of the initiator's Closed, before it is signed and registered
	P3      func(meta Doc)
	Record  func(record Doc) // before its joint seal is computed
	Params  func(params Doc) // of crossing:seal, the record among them
	Message func(message Doc)
	Header  func(http.Header) // of every request of the Script
}

// A Script is one crossing of a Party with the World's responder, step by step. Fields
// that a step fills may be read and changed between steps.
type Script struct {
	W    *World
	From *Party
	Edit Edits

	Act         string
	Amount      commitment.Amount // asserted by the initiator's Closed and by the record
	Draw, Limit commitment.Magnitude
	Terms       string
	Disclose    bool         // show the Open's limit at P3
	Closer      *jose.Signer // signs the Closed; nil: the agent
	// Registrar registers the Closed; nil: the RA over the wire, which must take it. A
	// test replaces it to present a Closed that no RA would register.
	Registrar func(closed string) (receipt string)

	CrossingID, TaskID, ContextID string
	Open                          Open
	Closed, Receipt               string
	Peer                          Peer
	Begun, Verified, Agreed       time.Time
	Record, Params                Doc // made at the first Seal, sent again by the next
}

// A Peer is what the responder said.
type Peer struct {
	Party                 Doc
	Open, Closed, Receipt string
}

// Script begins a crossing of one unit of engagement_code_issuance.
func (w *World) Script(from *Party) *Script {
	return &Script{
		W: w, From: from, Act: "engagement_code_issuance", Terms: Terms,
		Amount: commitment.Amount{Class: commitment.Irreversible, Magnitude: 1}, Draw: 1, Limit: 100,
		CrossingID: newUUID(),
	}
}

// Through does every step up to and including last, and ends the test if one is refused.
func (s *Script) Through(last Phase) *Script {
	s.W.t.Helper()
	for _, step := range []func() Answer{s.P0, s.P1, s.P2, s.Close, s.P3}[:last+1] {
		if a := step(); a.Status != http.StatusOK || a.Name() != "" || a.Code() != "" {
			s.W.t.Fatalf("a step of the script is refused: %s", a.Body)
		}
	}
	return s
}

// P0 reads the card.
func (s *Script) P0() Answer {
	s.W.t.Helper()
	return s.W.Get("/.well-known/agent-card.json")
}

// P1 presents the Open. The first time it signs and registers one.
func (s *Script) P1() Answer {
	s.W.t.Helper()
	if s.Begun.IsZero() {
		s.Begun = s.W.Clock.Now()
	}
	if s.Open.Token == "" {
		amount := s.Amount
		amount.Magnitude = s.Limit
		s.Open = s.From.Issue(amount, s.Edit.Open)
		if s.Edit.Open == nil {
			_, err := s.From.RegisterOpen(s.Open)
			s.W.check(err)
		}
	}
	meta := Doc{
		"crossing_state": "mandates_pending", "closing": "agent", "open_mandate": s.Open.Token,
		"party":          s.From.Doc(),
		"intended_class": s.Amount.Class.String(), "intended_act": s.Act, "act_profile": s.W.Acts.Digest(),
	}
	a := s.exchange(meta, s.Edit.P1)
	if m := a.Meta(); a.Name() == "" && m != nil {
		s.TaskID, s.ContextID = Text(a.Task(), "id"), Text(a.Task(), "contextId")
		s.Peer.Party, s.Peer.Open = Object(m, "party"), Text(m, "open_mandate")
		s.Verified = s.W.Clock.Now()
	}
	return a
}

// P2 proposes the terms.
func (s *Script) P2() Answer {
	s.W.t.Helper()
	a := s.exchange(Doc{
		"crossing_state": "terms_proposed", "crossing_id": s.CrossingID,
		"terms_document": s.Terms, "agreement_hash": s.Agreement(),
	}, s.Edit.P2)
	if a.Name() == "" {
		s.Agreed = s.W.Clock.Now()
	}
	return a
}

// Agreement is the agreement_hash of Terms, "" if they are no JSON object.
func (s *Script) Agreement() string {
	terms, err := Parse([]byte(s.Terms))
	if err != nil {
		return ""
	}
	return Hash(string(JSON(terms)))
}

// Close signs the Closed and registers it at the RA. Its answer says nothing.
func (s *Script) Close() Answer {
	s.W.t.Helper()
	s.Closed = s.SignClosed(s.Edit.Closed)
	if s.Registrar != nil {
		s.Receipt = s.Registrar(s.Closed)
		return Answer{Status: http.StatusOK}
	}
	var err error
	s.Receipt, err = s.From.RegisterClosed(s.Closed, s.W.Responder)
	s.W.check(err)
	return Answer{Status: http.StatusOK}
}

// SignClosed signs a Closed of this crossing without registering it.
func (s *Script) SignClosed(edit func(Doc)) string {
	s.W.t.Helper()
	now, p := s.W.Clock.Now(), s.From
	claims := Doc{
		"vct": mandate.ClosedType, "iss": p.AgentID, "sub": p.AgentID, "aud": s.W.Responder.PrincipalID,
		"iat": now.Unix(), "exp": now.Add(closedLifetime).Unix(), "nonce": random(16),
		"crossing_id": s.CrossingID, "agreement_hash": s.Agreement(), "open_mandate_hash": OpenHash(s.Open.Token),
		"signer_role": "agent", "commitment_act": s.Act,
		"governance_basis": Doc{"pack_id": p.Basis.PackID, "pack_version": p.Basis.PackVersion},
		"commitment_class": s.Amount.Class.String(), "magnitude_asserted": int64(s.Amount.Magnitude), "magnitude_limit": int64(s.Draw),
	}
	if s.Amount.Currency != "" {
		claims["currency"] = string(s.Amount.Currency)
	}
	if edit != nil {
		edit(claims)
	}
	if s.Closer != nil {
		return sign(s.W.t, s.Closer, claims)
	}
	return sign(s.W.t, p.Agent, claims)
}

// P3 presents the Closed and takes the responder's.
func (s *Script) P3() Answer {
	s.W.t.Helper()
	meta := Doc{
		"crossing_state": "sealing", "crossing_id": s.CrossingID, "closed_mandate": s.Closed, "receipt": s.Receipt,
	}
	if s.Disclose {
		meta["open_disclosures"] = []any{s.Open.Disclosure}
	}
	a := s.exchange(meta, s.Edit.P3)
	if m := a.Meta(); a.Name() == "" && m != nil {
		s.Peer.Closed, s.Peer.Receipt = Text(m, "closed_mandate"), Text(m, "receipt")
	}
	return a
}

// Task reads the task, without activation.
func (s *Script) Task() Answer {
	s.W.t.Helper()
	return s.W.Post(Plain(), Envelope("GetTask", Doc{"id": s.TaskID}))
}

// exchange sends one phase message.
func (s *Script) exchange(meta Doc, edit func(Doc)) Answer {
	s.W.t.Helper()
	if edit != nil {
		edit(meta)
	}
	message := Doc{
		"messageId": random(16), "role": "ROLE_USER", "extensions": []any{crossing.URI},
		"metadata": Doc{crossing.URI: meta}, "parts": []any{Doc{"text": "Governed Crossing"}},
	}
	if s.TaskID != "" {
		message["taskId"], message["contextId"] = s.TaskID, s.ContextID
	}
	if s.Edit.Message != nil {
		s.Edit.Message(message)
	}
	return s.W.Post(s.header(), Envelope("SendMessage", Doc{"message": message}))
}

func (s *Script) header() http.Header {
	h := Activated()
	if s.Edit.Header != nil {
		s.Edit.Header(h)
	}
	return h
}

// Doc is what the Party says of itself at P1 and in a record.
func (p *Party) Doc() Doc {
	return Doc{
		"principal_id": p.PrincipalID, "agent_id": p.AgentID, "clearance_id_hash": string(p.ClearanceIDHash),
		"trust_basis": p.TrustBasis, "agc_level": p.AGCLevel,
	}
}

// claimsOf reads a token's payload. No signature is looked at.
func claimsOf(token string) Doc {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	b, err := jose.DecodeBase64(payload)
	if err != nil {
		return nil
	}
	d, _ := Parse(b)
	return d
}

func newUUID() string {
	x := random(16)
	return x[:8] + "-" + x[8:12] + "-4" + x[13:16] + "-8" + x[17:20] + "-" + x[20:]
}
