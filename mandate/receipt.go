package mandate

import (
	"strings"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// A Triple is what a hold, and every call about it, names: one crossing and the exact
// bytes of its two Closeds (R3).
type Triple struct {
	CrossingID     string     // lower-case UUID
	InitiatorToken jcs.Hex256 // token_sha256 of the initiator's Closed
	ResponderToken jcs.Hex256 // of the responder's, another
}

func (t Triple) members() []jcs.Member {
	return []jcs.Member{
		textMember("crossing_id", t.CrossingID),
		textMember("initiator_token_sha256", string(t.InitiatorToken)),
		textMember("responder_token_sha256", string(t.ResponderToken)),
	}
}

func readTriple(r *jcs.Reader) Triple {
	t := Triple{
		CrossingID:     readWord(r, "crossing_id", ValidCrossingID),
		InitiatorToken: readHex(r, "initiator_token_sha256"),
		ResponderToken: readHex(r, "responder_token_sha256"),
	}
	if t.InitiatorToken == t.ResponderToken {
		r.Fail("responder_token_sha256", ruleValue)
	}
	return t
}

// A SpendState is the state of a hold row at the RA (R3).
type SpendState string

// States of a hold. Spent and Released are terminal.
const (
	Held     SpendState = "held"
	Spent    SpendState = "spent"
	Released SpendState = "released"
)

// A Half says which Closeds of a triple an RA keeps, where the two parties have an RA
// each (R4). It is the member half of a statement, "initiator" or "responder", and absent
// for Both.
type Half string

// Halves of a triple.
const (
	Both          Half = ""
	InitiatorHalf Half = "initiator"
	ResponderHalf Half = "responder"
)

// Other is the half that another RA keeps: none for Both.
func (h Half) Other() (Half, bool) {
	switch h {
	case InitiatorHalf:
		return ResponderHalf, true
	case ResponderHalf:
		return InitiatorHalf, true
	}
	return Both, false
}

// member leaves Both out: a statement about both reads as it always did.
func (h Half) member() jcs.Member {
	if h == Both {
		return jcs.Member{Name: memberHalf}
	}
	return textMember(memberHalf, string(h))
}

const memberHalf = "half"

func readHalf(r *jcs.Reader) Half {
	s, given := r.OptText(memberHalf)
	if h := Half(s); !given || h == InitiatorHalf || h == ResponderHalf {
		return h
	}
	r.Fail(memberHalf, ruleValue)
	return Both
}

// A SpendReceipt is the RA's answer to hold, confirm and release: the state of the row for
// this triple and this effector (R3). A receipt with state Spent is what an anchor and a
// publication rest on; one with a Half speaks of that Closed alone.
type SpendReceipt struct {
	Triple
	Half     Half
	Effector string // the Principal whose effector holds
	State    SpendState
	At       time.Time // whole seconds, on the RA's clock
}

// Sign returns the receipt as a compact statement of the RA. The error is a [*Fault] where
// a field is not what [ParseSpendReceipt] would accept.
func (p SpendReceipt) Sign(s *jose.Signer) (string, error) {
	payload := jcs.Object(append(p.Triple.members(),
		p.Half.member(),
		textMember("effector", p.Effector),
		textMember("state", string(p.State)),
		whenMember(memberAt, p.At))...)
	return signStatement(s, typReceipt, payload, readReceipt)
}

// ParseSpendReceipt verifies a receipt under the RA's pinned keys and reads it. The error
// is a [*Fault] of kind Invalid.
func ParseSpendReceipt(token string, keys jose.KeySet) (SpendReceipt, error) {
	return parseStatement(token, typReceipt, keys, readReceipt)
}

func readReceipt(r *jcs.Reader) SpendReceipt {
	return SpendReceipt{
		Triple:   readTriple(r),
		Half:     readHalf(r),
		Effector: readWord(r, "effector", ValidPrincipalID),
		State: SpendState(readWord(r, "state", func(s string) bool {
			return s == string(Held) || s == string(Spent) || s == string(Released)
		})),
		At: readWhen(r, memberAt),
	}
}

// A FinalRefusal is the RA's signed word that no later call about the triple can succeed
// (R3): revoked, released, expired on its clock, or spent under another triple. It is also
// where a refusal's flags come from. With a Half, the RA does not know the other Closed:
// of it, its flag says nothing and is false.
type FinalRefusal struct {
	Triple
	Half           Half
	Name           string // a name of §3.7.4, for example MANDATE_REVOKED
	InitiatorSpent bool
	ResponderSpent bool
	At             time.Time // whole seconds, on the RA's clock
}

// Sign returns the refusal as a compact statement of the RA. The error is a [*Fault] where
// a field is not what [ParseFinalRefusal] would accept.
func (f FinalRefusal) Sign(s *jose.Signer) (string, error) {
	payload := jcs.Object(append(f.Triple.members(),
		f.Half.member(),
		textMember("name", f.Name),
		jcs.Member{Name: "initiator_spent", Value: jcs.Bool(f.InitiatorSpent)},
		jcs.Member{Name: "responder_spent", Value: jcs.Bool(f.ResponderSpent)},
		whenMember(memberAt, f.At))...)
	return signStatement(s, typRefusal, payload, readRefusal)
}

// ParseFinalRefusal verifies a refusal under the RA's pinned keys and reads it. The error
// is a [*Fault] of kind Invalid.
func ParseFinalRefusal(token string, keys jose.KeySet) (FinalRefusal, error) {
	return parseStatement(token, typRefusal, keys, readRefusal)
}

func readRefusal(r *jcs.Reader) FinalRefusal {
	return FinalRefusal{
		Triple:         readTriple(r),
		Half:           readHalf(r),
		Name:           readWord(r, "name", validRefusalName),
		InitiatorSpent: r.Bool("initiator_spent"),
		ResponderSpent: r.Bool("responder_spent"),
		At:             readWhen(r, memberAt),
	}
}

// validRefusalName reports whether s is spelled like the names of §3.7.4.
func validRefusalName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}
