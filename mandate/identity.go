package mandate

import (
	"time"

	"github.com/bindery/bindery/internal/sdjwt"
	"github.com/bindery/bindery/jcs"
)

// identity is what every mandate is known by: who issued it to whom, and its exact bytes.
type identity struct {
	token           *sdjwt.Token // nil in a zero mandate, which has no bytes and no hashes
	issuer, subject string
}

// Token returns the exact string that was parsed, disclosures included.
func (i *identity) Token() string {
	if i.token == nil {
		return ""
	}
	return i.token.String()
}

// Issuer returns the iss claim: the Principal of an Open, the signer of a Closed.
func (i *identity) Issuer() string { return i.issuer }

// Subject returns the sub claim, the agent that the mandate authorises.
func (i *identity) Subject() string { return i.subject }

// KeyID returns the kid of the header.
func (i *identity) KeyID() string {
	if i.token == nil {
		return ""
	}
	return i.token.KeyID()
}

// TokenHash returns the hex SHA-256 of the Token, last tilde included: token_sha256, and
// for a Closed the closed_mandate_hash (M4, AG-09).
func (i *identity) TokenHash() jcs.Hex256 {
	if i.token == nil {
		return ""
	}
	return i.token.TokenHash()
}

// SignedHash returns the hex SHA-256 of the signing input, which no holder can change
// without breaking the signature: signed_sha256 (M4).
func (i *identity) SignedHash() jcs.Hex256 {
	if i.token == nil {
		return ""
	}
	return i.token.SignedHash()
}

// HighS reports whether the signature has a high s. Such a mandate verifies, and the RA
// does not register it, since its twin with a low s has other bytes (M3).
func (i *identity) HighS() bool { return i.token != nil && i.token.HighS() }

// validity is the span of a verified mandate.
type validity struct {
	issuedAt, expiresAt time.Time
}

// IssuedAt returns iat, in UTC.
func (v *validity) IssuedAt() time.Time { return v.issuedAt }

// ExpiresAt returns exp, in UTC.
func (v *validity) ExpiresAt() time.Time { return v.expiresAt }

// Expired reports whether exp is at or before at. There is no leeway (F1, AG-18), and the
// zero mandate is always expired.
func (v *validity) Expired(at time.Time) bool { return !at.Before(v.expiresAt) }

// CheckExpiry returns nil, or a [*Fault] of kind Expired where Expired reports true.
func (v *validity) CheckExpiry(at time.Time) error {
	if v.Expired(at) {
		return &Fault{Kind: Expired, Claim: claimExp, Rule: "not in the future"}
	}
	return nil
}
