package api

import (
	"cmp"

	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A Hold presents the exact bytes of both Closeds (§3.7.2 rule 1). No hash and no other
// name for a token is accepted in their place (GC-074).
//
//	{"crossing_id":"7f3c…","initiator_closed":"eyJhbGci…~","responder_closed":"eyJhbGci…~"}
//
// Where the parties have an RA each, each RA holds the Closed that is registered with it
// (design R4): it is given that one's bytes, and of the other its token_sha256 and agent,
// so that the triple is the same at both. At the initiator's RA:
//
//	{"counterparty_agent":"urn:anax:agent:…","crossing_id":"7f3c…",
//	 "initiator_closed":"eyJhbGci…~","responder_token_sha256":"<64 hex>"}
type Hold struct {
	CrossingID                       string
	InitiatorClosed, ResponderClosed string     // one of them "" for a half
	InitiatorToken, ResponderToken   jcs.Hex256 // of the Closed that is ""
	CounterpartyAgent                string     // agent of the Closed that is ""
}

// Half is which of the Closeds the RA is asked to hold.
func (h Hold) Half() mandate.Half {
	switch {
	case h.ResponderToken != "":
		return mandate.InitiatorHalf
	case h.InitiatorToken != "":
		return mandate.ResponderHalf
	}
	return mandate.Both
}

// Triple is what the hold is named by from then on (design R3).
func (h Hold) Triple() mandate.Triple {
	return mandate.Triple{
		CrossingID:     h.CrossingID,
		InitiatorToken: cmp.Or(h.InitiatorToken, jcs.HexOf([]byte(h.InitiatorClosed))),
		ResponderToken: cmp.Or(h.ResponderToken, jcs.HexOf([]byte(h.ResponderClosed))),
	}
}

// Validate checks that h is of one of the three forms and names a crossing. The tokens it
// leaves to the RA, which knows them by their digest alone. The error is an [*Error] with
// CodeMalformed.
func (h Hold) Validate() error {
	half := h.Half()
	_, initiator := jcs.ParseHex256(string(h.InitiatorToken))
	_, responder := jcs.ParseHex256(string(h.ResponderToken))
	pointer := ""
	switch {
	case !mandate.ValidCrossingID(h.CrossingID):
		pointer = "/crossing_id"
	case half == mandate.InitiatorHalf && (responder != nil || h.ResponderClosed != ""):
		pointer = "/responder_token_sha256"
	case half == mandate.InitiatorHalf && h.InitiatorToken != "",
		half == mandate.ResponderHalf && (initiator != nil || h.InitiatorClosed != ""):
		pointer = "/initiator_token_sha256"
	case (half != mandate.Both) != mandate.ValidAgentID(h.CounterpartyAgent):
		pointer = "/counterparty_agent"
	default:
		return nil
	}
	return &Error{Code: CodeMalformed, Pointer: pointer}
}

// Bytes is the request as canonical JSON.
func (h Hold) Bytes() []byte {
	pairs := []string{"crossing_id", h.CrossingID}
	switch h.Half() {
	case mandate.InitiatorHalf:
		pairs = append(pairs, "counterparty_agent", h.CounterpartyAgent,
			"initiator_closed", h.InitiatorClosed, "responder_token_sha256", string(h.ResponderToken))
	case mandate.ResponderHalf:
		pairs = append(pairs, "counterparty_agent", h.CounterpartyAgent,
			"initiator_token_sha256", string(h.InitiatorToken), "responder_closed", h.ResponderClosed)
	default:
		pairs = append(pairs, "initiator_closed", h.InitiatorClosed, "responder_closed", h.ResponderClosed)
	}
	return object(pairs...)
}

// ParseHold reads a request. The error is an [*Error] with CodeMalformed.
func ParseHold(body []byte) (Hold, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Hold{}, refusal
	}
	h := Hold{CrossingID: readText(r, "crossing_id", mandate.ValidCrossingID)}
	_, initiatorElsewhere := r.OptText("initiator_token_sha256")
	_, responderElsewhere := r.OptText("responder_token_sha256")
	if initiatorElsewhere {
		h.InitiatorToken = readHex(r, "initiator_token_sha256")
	} else {
		h.InitiatorClosed = readText(r, "initiator_closed", validToken)
	}
	if responderElsewhere && !initiatorElsewhere {
		h.ResponderToken = readHex(r, "responder_token_sha256")
	} else { // one of the two is presented: there is no third RA
		h.ResponderClosed = readText(r, "responder_closed", validToken)
	}
	if initiatorElsewhere || responderElsewhere {
		h.CounterpartyAgent = readText(r, "counterparty_agent", mandate.ValidAgentID)
	}
	return closed(r, h)
}
