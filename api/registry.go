package api

import (
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	maxToken = 64 << 10 // bytes of a mandate or a signed statement (M2)
	maxNonce = 128      // bytes of a status nonce
)

// A RegisterOpen asks the RA to register an Open (M6). The token is the form with the
// disclosure of its limit, so that the RA knows what may be drawn (M5).
//
//	{"open_mandate":"eyJhbGci…~WyI…~"}
type RegisterOpen struct{ Token string }

// Bytes is the request as canonical JSON.
func (r RegisterOpen) Bytes() []byte { return object("open_mandate", r.Token) }

// ParseRegisterOpen reads a request. The error is an [*Error] with CodeMalformed.
func ParseRegisterOpen(body []byte) (RegisterOpen, error) {
	r, refusal := open(body)
	if refusal != nil {
		return RegisterOpen{}, refusal
	}
	req := RegisterOpen{Token: readText(r, "open_mandate", validToken)}
	return closed(r, req)
}

// A RegisterClosed asks the RA to register a Closed and to book its draw (M6). The
// counterparty's agent is not in the token, and the RA keeps the pair's chain id on
// the row (S3).
//
//	{"closed_mandate":"eyJhbGci…~","counterparty_agent":"urn:anax:agent:…"}
type RegisterClosed struct{ Token, CounterpartyAgent string }

// Bytes is the request as canonical JSON.
func (r RegisterClosed) Bytes() []byte {
	return object("closed_mandate", r.Token, "counterparty_agent", r.CounterpartyAgent)
}

// ParseRegisterClosed reads a request. The error is an [*Error] with CodeMalformed.
func ParseRegisterClosed(body []byte) (RegisterClosed, error) {
	r, refusal := open(body)
	if refusal != nil {
		return RegisterClosed{}, refusal
	}
	req := RegisterClosed{
		Token:             readText(r, "closed_mandate", validToken),
		CounterpartyAgent: readText(r, "counterparty_agent", mandate.ValidAgentID),
	}
	return closed(r, req)
}

// A Confirm asks the RA to spend what is held under the triple (design R4).
//
//	{"crossing_id":"7f3c…","initiator_token_sha256":"<64 hex>","responder_token_sha256":"<64 hex>"}
type Confirm struct{ mandate.Triple }

// Bytes is the request as canonical JSON.
func (c Confirm) Bytes() []byte {
	return object("crossing_id", c.CrossingID,
		"initiator_token_sha256", string(c.InitiatorToken), "responder_token_sha256", string(c.ResponderToken))
}

// ParseConfirm reads a request. The error is an [*Error] with CodeMalformed.
func ParseConfirm(body []byte) (Confirm, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Confirm{}, refusal
	}
	c := Confirm{mandate.Triple{
		CrossingID:     readText(r, "crossing_id", mandate.ValidCrossingID),
		InitiatorToken: readHex(r, "initiator_token_sha256"),
		ResponderToken: readHex(r, "responder_token_sha256"),
	}}
	if c.InitiatorToken == c.ResponderToken {
		r.Fail("responder_token_sha256", "value")
	}
	return closed(r, c)
}

// A Revoke names a mandate by its token_sha256 or, for an Open, its open_mandate_hash
// (M4). Revoking an Open revokes every Closed under it.
//
//	{"hash":"<64 hex>"}
type Revoke struct{ Hash jcs.Hex256 }

// Bytes is the request as canonical JSON.
func (r Revoke) Bytes() []byte { return object("hash", string(r.Hash)) }

// ParseRevoke reads a request. The error is an [*Error] with CodeMalformed.
func ParseRevoke(body []byte) (Revoke, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Revoke{}, refusal
	}
	return closed(r, Revoke{Hash: readHex(r, "hash")})
}

// States of a mandate when its revocation took effect (design C5).
const (
	BeforeActive   = "active"   // an Open; or a Closed that was not held, and now never will be
	BeforeHeld     = "held"     // consumed, and no seal can come of it any more
	BeforeSpent    = "spent"    // a seal may have come of it, and stands
	BeforeReleased = "released" // dead before
)

// TypeRevocation is the typ of the signed form of a [Revoked].
const TypeRevocation = "bindery-revocation+jwt"

// A Revoked is the answer to a [Revoke]. A repeat gets the same Before and At, since a
// revoked mandate changes no more; where the RA gives draws back, Before may have become
// released.
//
//	{"at":1786000000,"before":"held","hash":"<64 hex>","receipt":"eyJhbGci…"}
type Revoked struct {
	Hash   jcs.Hex256 // as asked
	Before string     // one of the Before constants
	At     time.Time  // of the revocation, whole seconds
	// Receipt is the same without itself, as a compact JWS by the RA's key with typ
	// [TypeRevocation]: it proves to a third party that no seal can come.
	Receipt string
}

// Bytes is the answer as canonical JSON; without its Receipt, what the receipt signs.
func (r Revoked) Bytes() []byte {
	m := []jcs.Member{
		{Name: "at", Value: jcs.Int(r.At.Unix())},
		{Name: "before", Value: jcs.String(r.Before)},
		{Name: "hash", Value: jcs.String(string(r.Hash))},
	}
	if r.Receipt != "" {
		m = append(m, jcs.Member{Name: "receipt", Value: jcs.String(r.Receipt)})
	}
	return jcs.Object(m...)
}

// ParseRevoked reads an answer or the payload of its receipt; it verifies nothing.
// The error is an [*Error] with CodeMalformed.
func ParseRevoked(body []byte) (Revoked, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Revoked{}, refusal
	}
	a := Revoked{Hash: readHex(r, "hash"), Before: readText(r, "before", validBefore), At: readSeconds(r, "at")}
	a.Receipt, _ = r.OptText("receipt")
	return closed(r, a)
}

// Sign returns the answer with its Receipt, signed by the RA.
func (r Revoked) Sign(s *jose.Signer) (Revoked, error) {
	r.Receipt = ""
	receipt, err := jose.SignCompact(s, TypeRevocation, r.Bytes())
	if err != nil {
		return Revoked{}, err
	}
	r.Receipt = receipt
	return r, nil
}

// Verify checks that the Receipt is signed by one of the RA's pinned keys, as a
// revocation, and says what the answer says.
func (r Revoked) Verify(keys jose.KeySet) error {
	receipt := r.Receipt
	r.Receipt = ""
	return verifyReceipt("revocation", receipt, TypeRevocation, keys, r.Bytes())
}

func validBefore(s string) bool {
	return s == BeforeActive || s == BeforeHeld || s == BeforeSpent || s == BeforeReleased
}

// A StatusRequest asks whether the mandate of a hash is active (design R5). The nonce
// comes back in the signed answer.
//
//	{"hash":"<64 hex>","nonce":"…","principal_id":"urn:anax:principal:acme"}
type StatusRequest struct {
	Hash  jcs.Hex256 // token_sha256 or open_mandate_hash
	Nonce string     // 1 to 128 printable ASCII characters without space
	// PrincipalID is whose mandate it must be: another's is not active. "" leaves it to the
	// answer; who knows the mandate should say it (GC-355).
	PrincipalID string
}

// Bytes is the request as canonical JSON.
func (s StatusRequest) Bytes() []byte {
	if s.PrincipalID == "" {
		return object("hash", string(s.Hash), "nonce", s.Nonce)
	}
	return object("hash", string(s.Hash), "nonce", s.Nonce, "principal_id", s.PrincipalID)
}

// ParseStatusRequest reads a request. The error is an [*Error] with CodeMalformed.
func ParseStatusRequest(body []byte) (StatusRequest, error) {
	r, refusal := open(body)
	if refusal != nil {
		return StatusRequest{}, refusal
	}
	s := StatusRequest{Hash: readHex(r, "hash"), Nonce: readText(r, "nonce", ValidNonce)}
	id, named := r.OptText("principal_id")
	if s.PrincipalID = id; named && !mandate.ValidPrincipalID(id) {
		r.Fail("principal_id", "value")
	}
	return closed(r, s)
}

// ValidNonce reports whether s may be the nonce of a [StatusRequest].
func ValidNonce(s string) bool { return graphic(s, maxNonce) }

// A Statement is the answer to every request that is answered with one of the RA's
// signed statements (package mandate): a registration, a spend receipt, a status or a
// principal record, as a compact JWS.
//
//	{"statement":"eyJhbGci…"}
type Statement struct{ Token string }

// Bytes is the answer as canonical JSON.
func (s Statement) Bytes() []byte { return object("statement", s.Token) }

// ParseStatement reads an answer; the statement is not verified. The error is an
// [*Error] with CodeMalformed.
func ParseStatement(body []byte) (Statement, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Statement{}, refusal
	}
	return closed(r, Statement{Token: readText(r, "statement", validToken)})
}
