package api

import "github.com/bindery/bindery/mandate"

// A Release asks the RA to give back what is held under the triple (design R3). In release
// mode none it changes nothing, and the answer tells the state as it is.
//
//	{"crossing_id":"7f3c…","initiator_token_sha256":"<64 hex>","responder_token_sha256":"<64 hex>"}
//
// With refusal, what is spent is asked back, too, of the initiator's RA, which of two is the
// first to confirm (design R4).
type Release struct {
	mandate.Triple
	// Refusal is the word of the RA that keeps the other Closed that no seal can come of
	// this triple: its mandate.FinalRefusal, or its mandate.SpendReceipt with state
	// released. "" where there is none.
	Refusal string
}

// Bytes is the request as canonical JSON.
func (c Release) Bytes() []byte {
	pairs := []string{"crossing_id", c.CrossingID,
		"initiator_token_sha256", string(c.InitiatorToken), "responder_token_sha256", string(c.ResponderToken)}
	if c.Refusal != "" {
		pairs = append(pairs, "refusal", c.Refusal)
	}
	return object(pairs...)
}

// ParseRelease reads a request; the refusal is not verified. The error is an [*Error] with
// CodeMalformed.
func ParseRelease(body []byte) (Release, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Release{}, refusal
	}
	c := Release{Triple: mandate.Triple{
		CrossingID:     readText(r, "crossing_id", mandate.ValidCrossingID),
		InitiatorToken: readHex(r, "initiator_token_sha256"),
		ResponderToken: readHex(r, "responder_token_sha256"),
	}}
	if c.InitiatorToken == c.ResponderToken {
		r.Fail("responder_token_sha256", "value")
	}
	if _, given := r.OptText("refusal"); given {
		c.Refusal = readText(r, "refusal", validToken)
	}
	return closed(r, c)
}
