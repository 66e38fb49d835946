package crossingtest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/sdjwt"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Tokens are what one party has signed.
type Tokens struct {
	Open       string // as presented at P1
	Disclosure string // of the Open's magnitude_limit; "" where a test took the claim out
	Closed     string
	Principal  *mandate.Principal // the RA's record
}

// Built is a Deal with everything signed. A test may change it before it takes evidence.
type Built struct {
	Deal                 *Deal
	Initiator, Responder Tokens
	Record               *crossing.Record
}

// Build signs both parties' mandates and fills in the record.
func (d *Deal) Build(t testing.TB) *Built {
	t.Helper()
	b := &Built{Deal: d, Initiator: d.sign(t, crossing.Initiator), Responder: d.sign(t, crossing.Responder)}
	b.Record = &crossing.Record{
		CrossingID: d.CrossingID, CreatedAt: d.At.Add(-3 * time.Second),
		Initiator:     d.Initiator.slot(crossing.Initiator, b.Initiator),
		Responder:     d.Responder.slot(crossing.Responder, b.Responder),
		AgreementHash: d.Agreement(),
		Class:         d.Class, Act: d.Act, Magnitude: d.Magnitude, Currency: d.Currency,
		Context: crossing.A2AContext{TaskID: d.TaskID, ContextID: d.ContextID, ArtifactID: d.CrossingID},
		Timestamps: crossing.Timestamps{
			MandatesVerifiedAt: d.At.Add(-2 * time.Second), TermsAgreedAt: d.At.Add(-time.Second), SealedAt: d.At,
		},
	}
	return b
}

// Agreement is the agreement_hash of the Deal's terms, "" if they are none.
func (d *Deal) Agreement() jcs.Hex256 {
	terms, refusal := crossing.ParseTerms([]byte(d.Terms))
	if refusal != nil {
		return ""
	}
	return terms.Hash()
}

func (p *Party) slot(role crossing.Role, t Tokens) crossing.Party {
	return crossing.Party{
		Role: role, Profile: p.Profile, OpenMandateHash: OpenHash(t.Open), ClosedMandateHash: jcs.HexOf([]byte(t.Closed)),
		SignerRole: "agent", Basis: p.Basis,
	}
}

// OpenHash is the open_mandate_hash of a token, whatever is disclosed.
func OpenHash(open string) jcs.Hex256 {
	jwt, _, _ := strings.Cut(open, "~")
	return jcs.HexOf([]byte(jwt + "~"))
}

func (d *Deal) sign(t testing.TB, role crossing.Role) Tokens {
	t.Helper()
	p, other := d.Party(role), d.Party(role.Other())
	out := d.once(p.Issuer, merge(d.openClaims(p, other), p.Open), func(c Claims) (k Tokens) {
		k.Open, k.Disclosure = p.signOpen(t, c)
		return k
	})
	closed := merge(d.closedClaims(p, other, OpenHash(out.Open)), p.Closed)
	out.Closed = d.once(p.Closer, closed, func(c Claims) Tokens { return Tokens{Closed: Sign(t, p.Closer, c)} }).Closed
	out.Principal = p.record(d.At)
	return out
}

func (d *Deal) once(s *jose.Signer, c Claims, sign func(Claims) Tokens) Tokens {
	key := s.Key().ID + c.json()
	if _, ok := d.signed[key]; !ok {
		d.signed[key] = sign(c)
	}
	return d.signed[key]
}

func (p *Party) signOpen(t testing.TB, c Claims) (open, disclosure string) {
	t.Helper()
	limit, ok := c["magnitude_limit"]
	if !ok {
		return Sign(t, p.Issuer, c), ""
	}
	delete(c, "magnitude_limit")
	issued, err := sdjwt.Issue(p.Issuer, []byte(c.json()), jcs.Member{Name: "magnitude_limit", Value: []byte(limit)})
	if err != nil {
		t.Fatal(err)
	}
	return issued.Bare(), issued.Disclosures[0]
}

// Sign signs claims as a token without disclosures.
func Sign(t testing.TB, s *jose.Signer, c Claims) string {
	t.Helper()
	jwt, err := jose.SignCompact(s, "dc+sd-jwt", []byte(c.json()))
	if err != nil {
		t.Fatal(err)
	}
	return jwt + "~"
}

func (d *Deal) openClaims(p, other *Party) Claims {
	c := Claims{
		"vct": text(mandate.OpenType), "iss": text(p.PrincipalID), "sub": text(p.AgentID), "aud": text(mandate.OpenAudience),
		"iat": seconds(d.At.Add(-time.Hour)), "exp": seconds(d.At.Add(23 * time.Hour)),
		"cnf":                      `{"jwk":` + string(p.Agent.Key().JWK()) + `}`,
		"permitted_counterparties": "[" + text(other.PrincipalID) + "]",
		"commitment_act":           `["engagement_code_issuance","proposal_within_tariff"]`,
		"magnitude_limit":          strconv.FormatInt(d.Limit, 10),
	}
	return d.unit(c)
}

func (d *Deal) closedClaims(p, other *Party, open jcs.Hex256) Claims {
	c := Claims{
		"vct": text(mandate.ClosedType), "iss": text(p.AgentID), "sub": text(p.AgentID), "aud": text(other.PrincipalID),
		"iat": seconds(d.At.Add(-time.Minute)), "exp": seconds(d.At.Add(9 * time.Minute)),
		"nonce":       text("nonce-of-" + p.AgentID),
		"crossing_id": text(d.CrossingID), "agreement_hash": text(string(d.Agreement())),
		"open_mandate_hash": text(string(open)), "signer_role": `"agent"`, "commitment_act": text(d.Act),
		"governance_basis":   `{"pack_id":` + text(p.Basis.PackID) + `,"pack_version":` + text(p.Basis.PackVersion) + `}`,
		"magnitude_asserted": strconv.FormatInt(d.Magnitude, 10), "magnitude_limit": strconv.FormatInt(d.Draw, 10),
	}
	return d.unit(c)
}

func (d *Deal) unit(c Claims) Claims {
	c["commitment_class"] = text(d.Class)
	if d.Currency != "" {
		c["currency"] = text(d.Currency)
	}
	return c
}

func (p *Party) record(at time.Time) *mandate.Principal {
	return &mandate.Principal{
		ID: p.PrincipalID, Name: "Example " + p.PrincipalID, Active: true,
		Keys:            []jose.Key{p.Issuer.Key()},
		Agents:          []mandate.Agent{{ID: p.AgentID, Key: p.Agent.Key()}},
		Humans:          []mandate.Human{{ID: p.HumanID(), Key: p.Human.Key()}},
		ClearanceIDHash: p.ClearanceIDHash, TrustBasis: p.TrustBasis, AGCLevel: p.AGCLevel,
		At: at.Add(-time.Hour), Expires: at.Add(time.Hour),
	}
}

// Params are the params of crossing:seal, parsed from the bytes that an initiator sends.
func (b *Built) Params(t testing.TB) *crossing.SealParams {
	t.Helper()
	v, err := jcs.Parse(b.ParamsBytes())
	if err != nil {
		t.Fatal(err)
	}
	p, refusal := crossing.ParseSealParams(v)
	if refusal != nil {
		t.Fatalf("the fixture's params are refused: %v", refusal)
	}
	return p
}

// ParamsBytes is what an initiator sends to crossing:seal.
func (b *Built) ParamsBytes() []byte {
	p := crossing.SealParams{
		Record: b.Record, RecordBytes: b.Record.Bytes(), ClosedMandate: b.Initiator.Closed, AnchorIntent: chain.Genesis(),
	}
	return p.Bytes()
}

// Evidence is what the responder holds when these params reach it.
func (b *Built) Evidence(p *crossing.SealParams) crossing.Evidence {
	d := b.Deal
	return crossing.Evidence{
		At: d.At, Acts: d.Acts, Params: p, Initiator: b.Side(crossing.Initiator), Responder: b.Side(crossing.Responder),
		CrossingID: d.CrossingID, AgreementHash: d.Agreement(), TaskID: d.TaskID, ContextID: d.ContextID,
		Used: map[crossing.Nonce]jcs.Hex256{},
	}
}

// Side is what the other party knows of one side after P3: registered at the RA, the limit
// disclosed only if the Deal says so.
func (b *Built) Side(role crossing.Role) crossing.Side {
	p, t := b.Deal.Party(role), b.Tokens(role)
	s := crossing.Side{Profile: p.Profile, Open: t.Open, Closed: t.Closed, Issuer: t.Principal, Registered: true}
	if p.DiscloseLimit {
		s.Disclosures = []string{t.Disclosure}
	}
	return s
}

// P1 is the mandate exchange message of one side; the initiator's names class and act.
func (b *Built) P1(role crossing.Role) *crossing.P1 {
	p := &crossing.P1{
		Closing: "agent", OpenMandate: b.Tokens(role).Open, Party: b.Deal.Party(role).Profile, ActProfile: b.Deal.Acts.Digest(),
	}
	if role == crossing.Initiator {
		p.IntendedClass, p.IntendedAct = b.Deal.Class, b.Deal.Act
	}
	return p
}

// Tokens returns one side.
func (b *Built) Tokens(role crossing.Role) *Tokens {
	if role == crossing.Initiator {
		return &b.Initiator
	}
	return &b.Responder
}

func merge(base, changes Claims) Claims {
	for name, raw := range changes {
		if base[name] = raw; raw == "" {
			delete(base, name)
		}
	}
	return base
}

func (c Claims) json() string {
	members := make([]string, 0, len(c))
	for _, name := range slices.Sorted(maps.Keys(c)) {
		members = append(members, text(name)+":"+c[name])
	}
	return "{" + strings.Join(members, ",") + "}"
}

func text(s string) string { return string(jcs.String(s)) }

func seconds(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
