package mandate

import (
	"crypto/rand"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/sdjwt"
	"github.com/bindery/bindery/jcs"
)

// Default lifetimes (M6).
const (
	OpenLifetime   = 24 * time.Hour
	ClosedLifetime = 10 * time.Minute
)

const nonceSize = 16 // bytes, 128 bits (AG-19)

// An OpenDraft is an Open before it is signed. Every field is required unless it says
// otherwise. Times count in whole seconds; what is below is cut off.
type OpenDraft struct {
	Issuer    string // the Principal
	Subject   string // the agent
	IssuedAt  time.Time
	ExpiresAt time.Time // after IssuedAt

	// ConfirmationKey is the agent's key. The zero Key leaves cnf out: then only a human
	// may close (CL-2).
	ConfirmationKey jose.Key
	Counterparties  Counterparties // not silent (CL-3)
	Acts            []string       // none: any act of the profile
	Amount          commitment.Amount

	// DiscloseLimit puts magnitude_limit in plain sight. By default it goes into a
	// disclosure of its own, apart from the token (M5).
	DiscloseLimit bool
}

// An IssuedOpen is a signed Open and, apart from it, the limit.
type IssuedOpen struct {
	Token           string // as it is presented to a counterparty
	LimitDisclosure string // "" if the limit is in plain sight
}

// Full returns the token with the limit disclosed, the form that the RA registers.
func (i IssuedOpen) Full() string {
	if i.LimitDisclosure == "" {
		return i.Token
	}
	return i.Token + i.LimitDisclosure + "~"
}

// Sign signs the draft with a key of its Issuer. It refuses, with a [*Fault], whatever
// [ParseOpen] and [Open.Amount] would refuse, and an Open that is silent on
// counterparties or ends before it begins. An error of the key's backend is returned as
// it is.
func (d OpenDraft) Sign(s *jose.Signer) (IssuedOpen, error) {
	if err := d.check(); err != nil {
		return IssuedOpen{}, err
	}
	limit := jcs.Member{Name: claimLimit, Value: jcs.Int(int64(d.Amount.Magnitude))}
	members, hidden := d.members(), []jcs.Member{limit}
	if d.DiscloseLimit {
		members, hidden = append(members, limit), nil
	}
	issued, err := sdjwt.Issue(s, jcs.Object(members...), hidden...)
	if err != nil {
		return IssuedOpen{}, tokenFault(err)
	}
	out := IssuedOpen{Token: issued.Bare()}
	if !d.DiscloseLimit {
		out.LimitDisclosure = issued.Disclosures[0]
	}
	// What we would refuse from others we do not hand out.
	p, err := ParseOpen(out.Full())
	if err != nil {
		return IssuedOpen{}, err
	}
	open, err := p.Verify(jose.NewKeySet(s.Key()))
	if err != nil {
		return IssuedOpen{}, err
	}
	if _, _, err := open.Amount(); err != nil {
		return IssuedOpen{}, err
	}
	return out, nil
}

func (d OpenDraft) check() error {
	switch {
	case !ValidPrincipalID(d.Issuer):
		return invalid(claimIss, "not the identifier of a Principal")
	case !ValidAgentID(d.Subject):
		return invalid(claimSub, "not the identifier of an agent")
	case d.Counterparties.IsSilent():
		return invalid(claimCounterparties, "missing")
	}
	for _, id := range d.Counterparties.ids {
		if !ValidPrincipalID(id) {
			return invalid(claimCounterparties, "not the identifier of a Principal")
		}
	}
	for _, act := range d.Acts {
		if !shortWord(act) {
			return invalid(claimAct, "not an act")
		}
	}
	if err := checkSpan(d.IssuedAt, d.ExpiresAt); err != nil {
		return err
	}
	return checkAmount(claimLimit, d.Amount)
}

func (d OpenDraft) members() []jcs.Member {
	members := []jcs.Member{
		{Name: claimVCT, Value: jcs.String(OpenType)},
		{Name: claimIss, Value: jcs.String(d.Issuer)},
		{Name: claimSub, Value: jcs.String(d.Subject)},
		{Name: claimAud, Value: jcs.String(OpenAudience)},
		{Name: claimIat, Value: jcs.Int(d.IssuedAt.Unix())},
		{Name: claimExp, Value: jcs.Int(d.ExpiresAt.Unix())},
		{Name: claimCounterparties, Value: d.Counterparties.claim()},
	}
	if len(d.Acts) > 0 {
		members = append(members, jcs.Member{Name: claimAct, Value: stringArray(d.Acts)})
	}
	if jwk := d.ConfirmationKey.JWK(); jwk != nil {
		members = append(members, jcs.Member{Name: claimCnf, Value: jcs.Object(jcs.Member{Name: "jwk", Value: jwk})})
	}
	return append(members, unitMembers(d.Amount)...)
}

// A ClosedDraft is a Closed before it is signed. Every field is required unless it says
// otherwise. Times count in whole seconds; what is below is cut off.
type ClosedDraft struct {
	SignerRole SignerRole
	Issuer     string // the agent (T1, then equal to Subject) or the human (T2)
	Subject    string // the agent
	Audience   string // the counterparty's Principal
	IssuedAt   time.Time
	ExpiresAt  time.Time // after IssuedAt
	Nonce      string    // optional; empty draws 128 random bits

	CrossingID      string
	AgreementHash   jcs.Hex256
	OpenMandateHash jcs.Hex256
	OpenPresented   string // optional; the Open as presented at P1, to be bound by sd_hash
	Basis           GovernanceBasis
	Act             string

	Asserted commitment.Amount
	Limit    commitment.Amount // the draw, at least Asserted; zero means equal to it
}

// Sign signs the draft with the agent's cnf key or the human's key. It refuses, with a
// [*Fault], whatever [ParseClosed] and [Closed.Amounts] would refuse, and a Closed without
// an act, one that asserts more than it draws, or one that ends before it begins. An error
// of the key's backend is returned as it is.
func (d ClosedDraft) Sign(s *jose.Signer) (token string, err error) {
	if d.Limit == (commitment.Amount{}) {
		d.Limit = d.Asserted
	}
	if d.Nonce == "" {
		var nonce [nonceSize]byte
		rand.Read(nonce[:]) // never fails: crypto/rand stops the process instead
		d.Nonce = jose.EncodeBase64(nonce[:])
	}
	if err := d.check(); err != nil {
		return "", err
	}
	issued, err := sdjwt.Issue(s, jcs.Object(d.members()...))
	if err != nil {
		return "", tokenFault(err)
	}
	// What we would refuse from others we do not hand out.
	p, err := ParseClosed(issued.Bare())
	if err != nil {
		return "", err
	}
	if p.token.Verify(s.Key()) != nil {
		return "", invalid("signature", "does not verify under the signer's key")
	}
	c := Closed{identity: p.identity, validity: p.span, p: *p}
	if _, _, err := c.Amounts(); err != nil {
		return "", err
	}
	return issued.Bare(), nil
}

func (d ClosedDraft) check() error {
	issuerIs := ValidAgentID
	if d.SignerRole == RoleHuman {
		issuerIs = ValidHumanID
	}
	switch {
	case d.SignerRole != RoleAgent && d.SignerRole != RoleHuman:
		return invalid(claimSignerRole, "neither agent nor human")
	case !issuerIs(d.Issuer):
		return invalid(claimIss, "not an identifier of the signer's kind")
	case !ValidAgentID(d.Subject):
		return invalid(claimSub, "not the identifier of an agent")
	case !ValidPrincipalID(d.Audience):
		return invalid(claimAud, "not the identifier of a Principal")
	case !shortWord(d.Nonce):
		return invalid(claimNonce, "not 1 to 128 printable characters")
	case !ValidCrossingID(d.CrossingID):
		return invalid(claimCrossingID, "not a lower-case UUID")
	case !d.Basis.valid():
		return invalid(claimBasis, "pack_id or pack_version missing")
	case !shortWord(d.Act):
		return invalid(claimAct, "missing or not an act")
	case !isHex256(d.AgreementHash):
		return invalid(claimAgreementHash, "not 64 lower-case hex digits")
	case !isHex256(d.OpenMandateHash):
		return invalid(claimOpenHash, "not 64 lower-case hex digits")
	}
	if err := checkSpan(d.IssuedAt, d.ExpiresAt); err != nil {
		return err
	}
	return d.checkAmounts()
}

func (d ClosedDraft) checkAmounts() error {
	if err := checkAmount(claimAsserted, d.Asserted); err != nil {
		return err
	}
	if err := checkAmount(claimLimit, d.Limit); err != nil {
		return err
	}
	switch {
	case d.Limit.Class != d.Asserted.Class || d.Limit.Currency != d.Asserted.Currency:
		return malformed(claimLimit, "in another unit than what is asserted")
	case d.Asserted.Magnitude > d.Limit.Magnitude:
		return malformed(claimAsserted, "above the limit")
	}
	return nil
}

func (d ClosedDraft) members() []jcs.Member {
	members := []jcs.Member{
		{Name: claimVCT, Value: jcs.String(ClosedType)},
		{Name: claimIss, Value: jcs.String(d.Issuer)},
		{Name: claimSub, Value: jcs.String(d.Subject)},
		{Name: claimAud, Value: jcs.String(d.Audience)},
		{Name: claimIat, Value: jcs.Int(d.IssuedAt.Unix())},
		{Name: claimExp, Value: jcs.Int(d.ExpiresAt.Unix())},
		{Name: claimNonce, Value: jcs.String(d.Nonce)},
		{Name: claimCrossingID, Value: jcs.String(d.CrossingID)},
		{Name: claimAgreementHash, Value: jcs.String(string(d.AgreementHash))},
		{Name: claimOpenHash, Value: jcs.String(string(d.OpenMandateHash))},
		{Name: claimBasis, Value: jcs.Object(
			jcs.Member{Name: "pack_id", Value: jcs.String(d.Basis.PackID)},
			jcs.Member{Name: "pack_version", Value: jcs.String(d.Basis.PackVersion)})},
		{Name: claimAct, Value: jcs.String(d.Act)},
		{Name: claimSignerRole, Value: jcs.String(string(d.SignerRole))},
		{Name: claimAsserted, Value: jcs.Int(int64(d.Asserted.Magnitude))},
		{Name: claimLimit, Value: jcs.Int(int64(d.Limit.Magnitude))},
	}
	if d.OpenPresented != "" {
		members = append(members, jcs.Member{Name: claimSDHash, Value: jcs.String(presentationHash(d.OpenPresented))})
	}
	return append(members, unitMembers(d.Asserted)...)
}

func unitMembers(a commitment.Amount) []jcs.Member {
	members := []jcs.Member{{Name: claimClass, Value: jcs.String(a.Class.String())}}
	if a.Currency != "" {
		members = append(members, jcs.Member{Name: claimCurrency, Value: jcs.String(string(a.Currency))})
	}
	return members
}

func checkAmount(claim string, a commitment.Amount) error {
	if _, err := commitment.NewAmount(a.Class, a.Magnitude, a.Currency); err != nil {
		return malformed(claim, "not an amount of its class")
	}
	return nil
}

func checkSpan(issued, expires time.Time) error {
	for _, t := range []time.Time{issued, expires} {
		if t.Unix() < 0 || t.Unix() > maxSeconds {
			return invalid(claimExp, "iat or exp not between 1970 and 9999")
		}
	}
	if expires.Unix() <= issued.Unix() {
		return invalid(claimExp, "not after iat")
	}
	return nil
}

func isHex256(h jcs.Hex256) bool {
	_, err := jcs.ParseHex256(string(h))
	return err == nil
}
