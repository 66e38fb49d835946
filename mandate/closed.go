package mandate

import (
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// A SignerRole says who signed a Closed (GC-167).
type SignerRole string

// The two roles: agent is T1, human is T2.
const (
	RoleAgent SignerRole = "agent"
	RoleHuman SignerRole = "human"
)

// GovernanceBasis names the governance rules that were applied (GC-165). Both members are
// 1 to 128 bytes of printable ASCII.
type GovernanceBasis struct{ PackID, PackVersion string }

// A PresentedClosed is a Closed as somebody presented it: well-formed, not verified. It
// tells which Open and which keys to fetch, and permits nothing.
type PresentedClosed struct {
	identity
	span          validity
	audience      string
	nonce         string
	sdHash        string // "" if absent
	agreementHash jcs.Hex256
	openHash      jcs.Hex256
	basis         GovernanceBasis
	crossingID    string
	role          SignerRole
	act           string // "" if absent
}

// ParseClosed reads a Closed and checks its form: vct, iss, sub, aud, exp, iat, nonce,
// the hashes, governance_basis, crossing_id, signer_role, and the shape of commitment_act
// if it is there (step 5 of AG-58). A Closed has no disclosures. The error is a [*Fault]
// of kind Invalid; of kind Malformed where a magnitude is a number but not an integer.
// Amounts are read later, by [Closed.Amounts].
func ParseClosed(token string) (*PresentedClosed, error) {
	t, err := parseToken(token)
	if err != nil {
		return nil, err
	}
	claims := t.Claims()
	if err := checkType(claims, ClosedType); err != nil {
		return nil, err
	}
	p := &PresentedClosed{}
	if p.role, err = readRole(claims.Get(claimSignerRole)); err != nil {
		return nil, err
	}
	issuerIs := ValidAgentID
	if p.role == RoleHuman {
		issuerIs = ValidHumanID
	}
	if p.identity, p.span, err = readCommon(t, issuerIs); err != nil {
		return nil, err
	}
	// T1: the agent signs for itself. T2: somebody else signs for it (AG-03).
	if (p.role == RoleAgent) != (p.issuer == p.subject) {
		return nil, invalid(claimIss, "does not fit signer_role and sub")
	}
	if err := p.readBindings(claims); err != nil {
		return nil, err
	}
	return p, nil
}

// readBindings reads what ties the Closed to one agreement.
func (p *PresentedClosed) readBindings(claims jcs.Value) (err error) {
	var ok bool
	aud := claims.Get(claimAud)
	if aud.Type() == jcs.Absent {
		return invalid(claimAud, "missing")
	}
	p.audience = readAudience(aud)
	if p.nonce, ok = claims.Get(claimNonce).Text(); !ok || !shortWord(p.nonce) {
		return invalid(claimNonce, "missing or not 1 to 128 printable characters")
	}
	if p.agreementHash, err = readHash(claims, claimAgreementHash); err != nil {
		return err
	}
	if p.openHash, err = readHash(claims, claimOpenHash); err != nil {
		return err
	}
	if p.basis, err = readBasis(claims.Get(claimBasis)); err != nil {
		return err
	}
	if p.crossingID, ok = claims.Get(claimCrossingID).Text(); !ok || !ValidCrossingID(p.crossingID) {
		return invalid(claimCrossingID, "missing or not a lower-case UUID")
	}
	if v := claims.Get(claimSDHash); v.Type() != jcs.Absent {
		if p.sdHash, ok = v.Text(); !ok || p.sdHash == "" {
			return invalid(claimSDHash, "not a string")
		}
	}
	if v := claims.Get(claimAct); v.Type() != jcs.Absent {
		if p.act, ok = v.Text(); !ok || !shortWord(p.act) {
			return invalid(claimAct, "not an act")
		}
	}
	return nil
}

func readRole(v jcs.Value) (SignerRole, error) {
	text, _ := v.Text()
	switch role := SignerRole(text); role {
	case RoleAgent, RoleHuman:
		return role, nil
	}
	return "", invalid(claimSignerRole, "neither agent nor human")
}

// readAudience reads a string or an array of one string (AG-04). Anything else is an
// audience that nobody is, "", and gets the name MANDATE_AUDIENCE from the caller.
func readAudience(v jcs.Value) string {
	if v.Type() == jcs.ArrayType && v.Len() == 1 {
		for item := range v.Items() {
			v = item
		}
	}
	aud, ok := v.Text()
	if !ok || !ValidPrincipalID(aud) {
		return ""
	}
	return aud
}

func readHash(claims jcs.Value, claim string) (jcs.Hex256, error) {
	text, ok := claims.Get(claim).Text()
	hash, err := jcs.ParseHex256(text)
	if !ok || err != nil {
		return "", invalid(claim, "missing or not 64 lower-case hex digits")
	}
	return hash, nil
}

func readBasis(v jcs.Value) (GovernanceBasis, error) {
	r := jcs.NewReader(v)
	basis := GovernanceBasis{PackID: r.Text("pack_id"), PackVersion: r.Text("pack_version")}
	if r.Close() != nil || !basis.valid() {
		return GovernanceBasis{}, invalid(claimBasis, "missing or not pack_id and pack_version alone")
	}
	return basis, nil
}

func (b GovernanceBasis) valid() bool { return shortText(b.PackID) && shortText(b.PackVersion) }

// OpenMandateHash returns the claim open_mandate_hash: by it, and by nothing in a record,
// the Open is looked up (AG-58).
func (p *PresentedClosed) OpenMandateHash() jcs.Hex256 { return p.openHash }

// SignerRole returns the claim signer_role, unverified: which keys [PresentedClosed.Verify]
// will want.
func (p *PresentedClosed) SignerRole() SignerRole { return p.role }

// CrossingID returns the claim crossing_id, unverified.
func (p *PresentedClosed) CrossingID() string { return p.crossingID }

// Verify checks that the Closed was signed under open by whom signer_role says:
//
//   - agent: by open's cnf key, whatever the kid; an open without cnf refuses (GC-153, GC-169);
//   - human: by the key that keys has for the kid. keys must be the registered keys of the
//     human named by the issuer, under open's Principal; the agent's own key is refused even
//     if it is among them (GC-021).
//
// The Closed must name open by its hash and be for open's subject, and sd_hash, if there is
// one, must be that of open as presented. Act, class, amounts, audience and expiry are not
// judged here. The error is a [*Fault] of kind Invalid.
func (p *PresentedClosed) Verify(keys jose.KeySet, open *Open) (*Closed, error) {
	if p.token == nil || open == nil || open.token == nil {
		return nil, invalid("token", "missing")
	}
	if p.openHash != open.OpenHash() {
		return nil, invalid(claimOpenHash, "names another Open")
	}
	if p.subject != open.subject {
		return nil, invalid(claimSub, "not the agent of the Open")
	}
	if p.sdHash != "" && p.sdHash != presentationHash(open.Presented()) {
		return nil, invalid(claimSDHash, "not that of the Open as presented")
	}
	key, err := p.signingKey(keys, open)
	if err != nil {
		return nil, err
	}
	if p.token.Verify(key) != nil {
		return nil, invalid("signature", "does not verify under the signer's key")
	}
	return &Closed{identity: p.identity, validity: p.span, p: *p, key: key}, nil
}

func (p *PresentedClosed) signingKey(keys jose.KeySet, open *Open) (jose.Key, error) {
	cnf, hasKey := open.ConfirmationKey()
	if p.role == RoleAgent {
		if !hasKey {
			return jose.Key{}, invalid(claimCnf, "missing, so only a human may close")
		}
		return cnf, nil
	}
	if p.issuer == open.issuer {
		return jose.Key{}, invalid(claimIss, "is the Principal, not a human")
	}
	key, ok := keys.Find(p.token.KeyID())
	if !ok {
		return jose.Key{}, invalid("kid", "not among the human's keys")
	}
	if !key.SignsAt(p.span.issuedAt) {
		return jose.Key{}, invalid(claimIat, "outside the time of the human's key")
	}
	if key.Same(cnf) {
		return jose.Key{}, invalid("kid", "is the agent's key")
	}
	return key, nil
}

// A Closed is a verified Closed Mandate: signed for one agreement, under one Open, by that
// Open's agent or by a human. Only [PresentedClosed.Verify] makes one; the zero Closed is
// expired and has no amounts.
type Closed struct {
	identity
	validity
	p   PresentedClosed
	key jose.Key
}

// SignerKey returns the key under which the Closed was verified: the Open's cnf key, or
// the human's.
func (c *Closed) SignerKey() jose.Key { return c.key }

// Audience returns the Principal that is to act on the Closed. An array of one is read as
// its element; an aud that names no single Principal is returned as "", which equals no
// Principal's identifier (AG-04).
func (c *Closed) Audience() string { return c.p.audience }

// Nonce returns the nonce, unique per crossing and signer (AG-19).
func (c *Closed) Nonce() string { return c.p.nonce }

// AgreementHash returns the hash of the canonical Terms Document.
func (c *Closed) AgreementHash() jcs.Hex256 { return c.p.agreementHash }

// OpenMandateHash returns the hash of the Open that the Closed was drawn under.
func (c *Closed) OpenMandateHash() jcs.Hex256 { return c.p.openHash }

// CrossingID returns the crossing, a lower-case UUID.
func (c *Closed) CrossingID() string { return c.p.crossingID }

// Act returns the act, or "" if the Closed names none, which the caller has to refuse
// (§5.4 check 9).
func (c *Closed) Act() string { return c.p.act }

// Basis returns the governance basis.
func (c *Closed) Basis() GovernanceBasis { return c.p.basis }

// SignerRole returns who signed.
func (c *Closed) SignerRole() SignerRole { return c.p.role }

// Amounts reads commitment_class, currency, magnitude_asserted and magnitude_limit (step 6
// of AG-58). A missing limit equals what is asserted (AG-05). That asserted is within limit
// is for the caller to check, whose name for it is MAGNITUDE_EXHAUSTED. The error is a
// [*Fault] of kind Malformed.
func (c *Closed) Amounts() (limit, asserted commitment.Amount, err error) {
	if c.token == nil {
		return limit, asserted, malformed(claimClass, "missing")
	}
	claims := c.token.Claims()
	class, currency, err := readUnit(claims)
	if err != nil {
		return limit, asserted, err
	}
	asserted, err = readAmount(claims, claimAsserted, class, currency)
	if err != nil {
		return commitment.Amount{}, commitment.Amount{}, err
	}
	if claims.Get(claimLimit).Type() == jcs.Absent {
		return asserted, asserted, nil
	}
	limit, err = readAmount(claims, claimLimit, class, currency)
	if err != nil {
		return commitment.Amount{}, commitment.Amount{}, err
	}
	return limit, asserted, nil
}
