package mandate

import (
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// A Status is the RA's answer to one question about one mandate (R5). It is positive or
// nothing: unknown, revoked, expired and spent are all the same Active false.
type Status struct {
	Hash   jcs.Hex256 // token_sha256 or signed_sha256, as the question had it
	Active bool
	// PrincipalID is whose mandate it is, if it is active: the RA speaks for this Principal with
	// it, so that whoever knows the mandate sees whether that RA is the one to ask. "" of one
	// that is not active, for which all reasons look alike.
	PrincipalID string
	Nonce       string // the question's, 1 to 128 printable characters
	At          time.Time
	Expires     time.Time // after At
}

// Sign returns the status as a compact statement of the RA. The error is a [*Fault] where
// a field is not what [ParseStatus] would accept.
func (t Status) Sign(s *jose.Signer) (string, error) {
	m := []jcs.Member{
		textMember("hash", string(t.Hash)),
		jcs.Member{Name: "active", Value: jcs.Bool(t.Active)},
		textMember("nonce", t.Nonce),
		whenMember(memberAt, t.At),
		whenMember(memberExpires, t.Expires),
	}
	if t.PrincipalID != "" {
		m = append(m, textMember("principal_id", t.PrincipalID))
	}
	return signStatement(s, typStatus, jcs.Object(m...), readStatus)
}

// ParseStatus verifies a status under the RA's pinned keys and reads it. Whether it
// answers one's own question, now, is for [Status.Confirms]. The error is a [*Fault] of
// kind Invalid.
func ParseStatus(token string, keys jose.KeySet) (Status, error) {
	return parseStatement(token, typStatus, keys, readStatus)
}

// Confirms reports whether t says of this principal's mandate with this hash, in answer to
// this nonce, that it is active, and still holds at the given time.
func (t Status) Confirms(principalID string, hash jcs.Hex256, nonce string, at time.Time) bool {
	return t.Active && principalID != "" && t.PrincipalID == principalID && hash != "" && t.Hash == hash && nonce != "" && t.Nonce == nonce && at.Before(t.Expires)
}

func readStatus(r *jcs.Reader) Status {
	t := Status{
		Hash:    readHex(r, "hash"),
		Active:  r.Bool("active"),
		Nonce:   readWord(r, "nonce", shortWord),
		At:      readWhen(r, memberAt),
		Expires: readWhen(r, memberExpires),
	}
	if t.Active {
		t.PrincipalID = readWord(r, "principal_id", ValidPrincipalID)
	}
	if !t.Expires.After(t.At) {
		r.Fail(memberExpires, ruleValue)
	}
	return t
}
