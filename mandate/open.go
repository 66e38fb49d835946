package mandate

import (
	"crypto/sha256"
	"slices"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/sdjwt"
	"github.com/bindery/bindery/jcs"
)

// A PresentedOpen is an Open as somebody presented it: well-formed, not verified. It
// tells which keys to fetch, and permits nothing.
type PresentedOpen struct {
	identity
	span           validity
	presented      string
	confirmation   jose.Key
	hasKey         bool
	counterparties Counterparties
	acts           []string
}

// ParseOpen reads an Open and checks its form: vct, iss, sub, exp, iat, cnf, the shapes
// of permitted_counterparties and commitment_act (step 5 of AG-58). The error is a
// [*Fault] of kind Invalid; of kind Malformed where a magnitude is a number but not an
// integer. Amounts are read later, by [Open.Amount].
func ParseOpen(token string) (*PresentedOpen, error) { return parseOpen(token, token) }

func parseOpen(token, presented string) (*PresentedOpen, error) {
	t, err := parseToken(token, claimLimit)
	if err != nil {
		return nil, err
	}
	claims := t.Claims()
	if err := checkType(claims, OpenType); err != nil {
		return nil, err
	}
	p := &PresentedOpen{presented: presented}
	if p.identity, p.span, err = readCommon(t, ValidPrincipalID); err != nil {
		return nil, err
	}
	if p.confirmation, p.hasKey, err = readConfirmation(claims.Get(claimCnf)); err != nil {
		return nil, err
	}
	if p.counterparties, err = readCounterparties(claims.Get(claimCounterparties)); err != nil {
		return nil, err
	}
	if p.acts, err = readActs(claims.Get(claimAct)); err != nil {
		return nil, err
	}
	return p, nil
}

// Disclose returns p with disclosures put in that came apart from it, at P3. What was
// presented at P1, and so [Open.Presented], stays as it was. p must not carry disclosures
// of its own. The error is that of [ParseOpen].
func (p *PresentedOpen) Disclose(disclosures ...string) (*PresentedOpen, error) {
	if p.token == nil {
		return nil, invalid("token", "missing")
	}
	if len(p.token.Disclosed()) > 0 {
		return nil, invalid("disclosure", "presented twice")
	}
	token := p.token.Bare()
	for _, d := range disclosures {
		if len(token)+len(d) >= sdjwt.MaxSize {
			return nil, invalid("token", "longer than 64 KiB")
		}
		token += d + "~"
	}
	return parseOpen(token, p.presented)
}

// OpenHash returns the open_mandate_hash: hex SHA-256 of the issuer-signed JWT with one
// tilde, whatever is disclosed (M4).
func (p *PresentedOpen) OpenHash() jcs.Hex256 {
	if p.token == nil {
		return ""
	}
	return p.token.OpenHash()
}

// Verify checks the signature under the key that keys has for the token's kid. keys must
// be the key set to which the issuer was resolved, and nothing wider: that is what ties
// the Open to its Principal (GC-209, GC-210, AG-02). iat must lie in the time of that key
// (R6). The error is a [*Fault] of kind Invalid.
func (p *PresentedOpen) Verify(keys jose.KeySet) (*Open, error) {
	if p.token == nil {
		return nil, invalid("token", "missing")
	}
	key, ok := keys.Find(p.token.KeyID())
	if !ok {
		return nil, invalid("kid", "not among the issuer's keys")
	}
	if !key.SignsAt(p.span.issuedAt) {
		return nil, invalid(claimIat, "outside the time of the issuer's key")
	}
	if p.token.Verify(key) != nil {
		return nil, invalid("signature", "does not verify under the issuer's key")
	}
	return &Open{identity: p.identity, validity: p.span, p: *p, key: key}, nil
}

// An Open is a verified Open Mandate: its signature is by a key of the Principal that it
// names. Only [PresentedOpen.Verify] makes one; the zero Open permits nothing and is
// expired.
type Open struct {
	identity
	validity
	p   PresentedOpen
	key jose.Key
}

// SignerKey returns the Principal's key under which the Open was verified.
func (o *Open) SignerKey() jose.Key { return o.key }

// Presented returns the string as it was presented at P1, over which a Closed's sd_hash
// is taken (M5). It equals the Token unless disclosures were put in later.
func (o *Open) Presented() string { return o.p.presented }

// OpenHash returns the open_mandate_hash (M4).
func (o *Open) OpenHash() jcs.Hex256 { return o.p.OpenHash() }

// ConfirmationKey returns the agent's key from cnf. Without one, only a human may close
// under this Open (CL-2).
func (o *Open) ConfirmationKey() (jose.Key, bool) { return o.p.confirmation, o.p.hasKey }

// Counterparties returns the claim permitted_counterparties; silent if it is absent.
func (o *Open) Counterparties() Counterparties { return o.p.counterparties }

// Acts returns the acts that the Open names, or nil if it names none, so that the profile
// alone bounds them (AG-16). The slice is the caller's.
func (o *Open) Acts() []string { return slices.Clone(o.p.acts) }

// PermitsAct reports whether the Open lets act be closed: act is among [Open.Acts], or
// that is nil. No Open permits the empty act.
func (o *Open) PermitsAct(act string) bool {
	if act == "" || o.token == nil {
		return false
	}
	return o.p.acts == nil || slices.Contains(o.p.acts, act)
}

// Amount reads commitment_class, magnitude_limit and currency (step 6 of AG-58). If the
// limit is withheld, disclosed is false, the Magnitude is 0 and means nothing, and Class
// and Currency hold. The error is a [*Fault] of kind Malformed.
func (o *Open) Amount() (amount commitment.Amount, disclosed bool, err error) {
	if o.token == nil {
		return commitment.Amount{}, false, malformed(claimClass, "missing")
	}
	claims := o.token.Claims()
	class, currency, err := readUnit(claims)
	if err != nil {
		return commitment.Amount{}, false, err
	}
	// The only digest that an Open may leave unanswered is the limit's.
	if claims.Get(claimLimit).Type() == jcs.Absent && o.token.Hidden() > 0 {
		return commitment.Amount{Class: class, Currency: currency}, false, nil
	}
	if amount, err = readAmount(claims, claimLimit, class, currency); err != nil {
		return commitment.Amount{}, false, err
	}
	return amount, true, nil
}

// presentationHash returns base64url SHA-256 of an Open as presented, which sd_hash has to
// be if a Closed carries it (AG-07, M5).
func presentationHash(presented string) string {
	sum := sha256.Sum256([]byte(presented))
	return jose.EncodeBase64(sum[:])
}
