package mandate

import (
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// A Variant tells Opens from Closeds in a [Registration].
type Variant string

// The two variants.
const (
	VariantOpen   Variant = "open"
	VariantClosed Variant = "closed"
)

// A Registration is the RA's statement that it has registered a mandate by its exact
// bytes (M4, M6). For a Closed it says that signature, act and narrowing were in order
// and that the draw was booked; since a draw above an Open's limit is never registered,
// it stands for the limit that the counterparty does not see (M5).
type Registration struct {
	TokenHash       jcs.Hex256 // of the exact string with its last tilde
	SignedHash      jcs.Hex256 // of the signing input
	OpenMandateHash jcs.Hex256 // the Open's own, or of the Open that a Closed is drawn under
	Variant         Variant
	PrincipalID     string // the Principal of the Open
	AgentID         string // its agent

	// The next three are for a Closed alone, and empty for an Open.
	CounterpartyAgent string     // agent_id from the counterparty's P1 (S3)
	ChainID           jcs.Hex256 // of the pair of agents
	CrossingID        string     // lower-case UUID

	// StatusList is where an Open's bit stands in the RA's status list (R5). It is zero for
	// a Closed, and for an Open of an RA that serves no list.
	StatusList StatusReference

	At time.Time // whole seconds, on the RA's clock
}

// Sign returns the registration as a compact statement of the RA. The error is a [*Fault]
// where a field is not what [ParseRegistration] would accept.
func (g Registration) Sign(s *jose.Signer) (string, error) {
	members := []jcs.Member{
		textMember("token_sha256", string(g.TokenHash)),
		textMember("signed_sha256", string(g.SignedHash)),
		textMember("open_mandate_hash", string(g.OpenMandateHash)),
		textMember("variant", string(g.Variant)),
		textMember("principal_id", g.PrincipalID),
		textMember("agent_id", g.AgentID),
		whenMember(memberAt, g.At),
	}
	for _, m := range []jcs.Member{
		textMember("counterparty_agent", g.CounterpartyAgent),
		textMember("chain_id", string(g.ChainID)),
		textMember("crossing_id", g.CrossingID),
	} {
		if string(m.Value) != `""` {
			members = append(members, m)
		}
	}
	if g.StatusList != (StatusReference{}) {
		members = append(members, jcs.Member{Name: memberStatus, Value: g.StatusList.claim()})
	}
	return signStatement(s, typRegistration, jcs.Object(members...), readRegistration)
}

// ParseRegistration verifies a registration under the RA's pinned keys and reads it. The
// error is a [*Fault] of kind Invalid.
func ParseRegistration(token string, keys jose.KeySet) (Registration, error) {
	return parseStatement(token, typRegistration, keys, readRegistration)
}

func readRegistration(r *jcs.Reader) Registration {
	g := Registration{
		TokenHash:       readHex(r, "token_sha256"),
		SignedHash:      readHex(r, "signed_sha256"),
		OpenMandateHash: readHex(r, "open_mandate_hash"),
		Variant:         Variant(r.Text("variant")),
		PrincipalID:     readWord(r, "principal_id", ValidPrincipalID),
		AgentID:         readWord(r, "agent_id", ValidAgentID),
		At:              readWhen(r, memberAt),
	}
	switch g.Variant {
	case VariantOpen:
		g.StatusList = readReference(r)
	case VariantClosed:
		g.CounterpartyAgent = readWord(r, "counterparty_agent", ValidAgentID)
		g.ChainID = readHex(r, "chain_id")
		g.CrossingID = readWord(r, "crossing_id", ValidCrossingID)
	default:
		r.Fail("variant", ruleValue)
	}
	return g
}
