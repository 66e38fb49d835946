package api

import (
	"bytes"
	"errors"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// MaxUnits is the largest number of units in one [Consume], and in all.
const MaxUnits = 1<<53 - 1

const maxWord = 64 // bytes of a class or currency

// A Consume takes units of an Open for one act of its agent, before the act (§3.7.2,
// §4.1.3 M-4, AG-21). The Open is presented in the exact bytes that were registered; no
// hash and no other name for it is accepted (GC-074). Units count in the unit of the
// Open's class, whatever class the act has (GC-181 … GC-185).
//
//	{"class":"irreversible","open_mandate":"eyJhbGci…~WyI…~","request_id":"7f3c…","units":1}
//
// The request_id, of the effector's own making, names the attempt: the same request again
// gets the same answer and takes nothing, and a new attempt takes a new name.
type Consume struct {
	RequestID string // lower-case UUID
	Token     string
	Class     string // of the act; at most the Open's (L-1). Whoever cannot tell says binding (L-3)
	Units     int64  // 1 to MaxUnits
	Currency  string // the Open's, in class financial; else ""
}

// Bytes is the request as canonical JSON.
func (c Consume) Bytes() []byte {
	m := []jcs.Member{
		{Name: "class", Value: text(c.Class)},
		{Name: "open_mandate", Value: text(c.Token)},
		{Name: "request_id", Value: text(c.RequestID)},
		{Name: "units", Value: jcs.Int(c.Units)},
	}
	return jcs.Object(withCurrency(m, c.Currency)...)
}

func withCurrency(m []jcs.Member, currency string) []jcs.Member {
	if currency != "" {
		m = append(m, jcs.Member{Name: "currency", Value: text(currency)})
	}
	return m
}

// ParseConsume reads a request. The vocabulary of classes and currencies is not judged
// here. The error is an [*Error] with CodeMalformed.
func ParseConsume(body []byte) (Consume, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Consume{}, refusal
	}
	c := Consume{
		RequestID: readText(r, "request_id", mandate.ValidCrossingID),
		Token:     readText(r, "open_mandate", validToken),
		Class:     readText(r, "class", validWord),
		Units:     readUnits(r),
		Currency:  readCurrency(r),
	}
	return closed(r, c)
}

// Validate checks the request's shapes, as [ParseConsume] does. The error is an [*Error]
// with CodeMalformed.
func (c Consume) Validate() error {
	pointer := ""
	switch {
	case !mandate.ValidCrossingID(c.RequestID):
		pointer = "/request_id"
	case !validToken(c.Token):
		pointer = "/open_mandate"
	case !validWord(c.Class):
		pointer = "/class"
	case !ValidUnits(c.Units):
		pointer = "/units"
	case c.Currency != "" && !validWord(c.Currency):
		pointer = "/currency"
	default:
		return nil
	}
	return &Error{Code: CodeMalformed, Pointer: pointer}
}

func validWord(s string) bool { return graphic(s, maxWord) }

func readUnits(r *jcs.Reader) int64 {
	n := r.Int("units")
	if r.Err() == nil && !ValidUnits(n) {
		r.Fail("units", "value")
	}
	return n
}

// ValidUnits reports whether n is 1 to [MaxUnits]. Nothing is no act (M-1).
func ValidUnits(n int64) bool { return n >= 1 && n <= MaxUnits }

func readCurrency(r *jcs.Reader) string {
	s, ok := r.OptText("currency")
	if ok && !validWord(s) {
		r.Fail("currency", "value")
	}
	return s
}

// TypeConsumption is the typ of the signed form of a [Consumed].
const TypeConsumption = "bindery-consumption+jwt"

// A Consumed is the answer to a [Consume]: the units are taken, and stay taken if the act
// then fails (§4.1.3, GC-198). It names the mandate by the hash of the presented bytes.
//
//	{"at":1786000000,"class":"irreversible","effector":"urn:anax:principal:b","receipt":"eyJhbGci…",
//	 "request_id":"7f3c…","token_sha256":"<64 hex>","units":1}
type Consumed struct {
	RequestID string
	TokenHash jcs.Hex256
	Effector  string // the Principal whose effector took them
	Class     string
	Units     int64
	Currency  string
	At        time.Time // whole seconds, on the RA's clock
	// Receipt is the same without itself, as a compact JWS by the RA's key with typ
	// [TypeConsumption].
	Receipt string
}

// Bytes is the answer as canonical JSON; without its Receipt, what the receipt signs.
func (c Consumed) Bytes() []byte {
	m := []jcs.Member{
		{Name: "at", Value: jcs.Int(c.At.Unix())},
		{Name: "class", Value: text(c.Class)},
		{Name: "effector", Value: text(c.Effector)},
		{Name: "request_id", Value: text(c.RequestID)},
		{Name: "token_sha256", Value: text(string(c.TokenHash))},
		{Name: "units", Value: jcs.Int(c.Units)},
	}
	if c.Receipt != "" {
		m = append(m, jcs.Member{Name: "receipt", Value: text(c.Receipt)})
	}
	return jcs.Object(withCurrency(m, c.Currency)...)
}

// ParseConsumed reads an answer or the payload of its receipt; it verifies nothing. The
// error is an [*Error] with CodeMalformed.
func ParseConsumed(body []byte) (Consumed, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Consumed{}, refusal
	}
	c := Consumed{
		RequestID: readText(r, "request_id", mandate.ValidCrossingID),
		TokenHash: readHex(r, "token_sha256"),
		Effector:  readText(r, "effector", mandate.ValidPrincipalID),
		Class:     readText(r, "class", validWord),
		Units:     readUnits(r),
		Currency:  readCurrency(r),
		At:        readSeconds(r, "at"),
	}
	c.Receipt, _ = r.OptText("receipt")
	return closed(r, c)
}

// Sign returns the answer with its Receipt, signed by the RA.
func (c Consumed) Sign(s *jose.Signer) (Consumed, error) {
	c.Receipt = ""
	receipt, err := jose.SignCompact(s, TypeConsumption, c.Bytes())
	if err != nil {
		return Consumed{}, err
	}
	c.Receipt = receipt
	return c, nil
}

// Verify checks that the Receipt is signed by one of the RA's pinned keys, as a
// consumption, and says what the answer says.
func (c Consumed) Verify(keys jose.KeySet) error {
	receipt := c.Receipt
	c.Receipt = ""
	return verifyReceipt("consumption", receipt, TypeConsumption, keys, c.Bytes())
}

// verifyReceipt checks a signed answer: by a pinned key, of its type, and with this
// payload.
func verifyReceipt(what, receipt, typ string, keys jose.KeySet, payload []byte) error {
	c, err := jose.ParseCompact(receipt, maxToken)
	if err != nil {
		return err
	}
	key, ok := keys.Find(c.Header.Kid)
	if !ok || c.Header.Typ != typ {
		return errors.New("api: " + what + ": not signed by a pinned key as one")
	}
	if err := c.Verify(key); err != nil {
		return err
	}
	if !bytes.Equal(c.Payload, payload) {
		return errors.New("api: " + what + ": the receipt says something else")
	}
	return nil
}

// A Burn reports that the act failed for which units were consumed. Nothing returns; the
// RA counts the loss instead of absorbing it silently (§4.1.3, GC-199).
//
//	{"request_id":"7f3c…"}
type Burn struct{ RequestID string } // that of the Consume

// Bytes is the request as canonical JSON.
func (b Burn) Bytes() []byte { return object("request_id", b.RequestID) }

// ParseBurn reads a request. The error is an [*Error] with CodeMalformed.
func ParseBurn(body []byte) (Burn, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Burn{}, refusal
	}
	return closed(r, Burn{RequestID: readText(r, "request_id", mandate.ValidCrossingID)})
}
