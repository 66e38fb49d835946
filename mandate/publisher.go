package mandate

import (
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// A PublisherGrant is the RA's word that a key publishes projections for a Principal: it
// lets a VA that pins the RA accept this publisher (V4).
type PublisherGrant struct {
	PrincipalID    string
	Key            jose.Key   // the publisher's key
	CredentialHash jcs.Hex256 // of the credential that the publisher will present
	At             time.Time  // whole seconds, on the RA's clock
}

// Sign returns the grant as a compact statement of the RA. The error is a [*Fault] where a
// field is not what [ParsePublisherGrant] would accept.
func (g PublisherGrant) Sign(s *jose.Signer) (string, error) {
	payload := jcs.Object(
		textMember("principal_id", g.PrincipalID),
		jcs.Member{Name: "jwk", Value: jwkOf(g.Key)},
		textMember("credential_sha256", string(g.CredentialHash)),
		whenMember(memberAt, g.At))
	return signStatement(s, typPublisher, payload, readPublisherGrant)
}

// ParsePublisherGrant verifies a grant under the RA's pinned keys and reads it. The error
// is a [*Fault] of kind Invalid.
func ParsePublisherGrant(token string, keys jose.KeySet) (PublisherGrant, error) {
	return parseStatement(token, typPublisher, keys, readPublisherGrant)
}

func readPublisherGrant(r *jcs.Reader) PublisherGrant {
	return PublisherGrant{
		PrincipalID:    readWord(r, "principal_id", ValidPrincipalID),
		Key:            readKey(r, "jwk"),
		CredentialHash: readHex(r, "credential_sha256"),
		At:             readWhen(r, memberAt),
	}
}
