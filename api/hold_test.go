package api_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/mandate"
)

const agentOne = "urn:anax:agent:one"

func TestHoldHalves(t *testing.T) {
	initiator := api.Hold{CrossingID: crossing1, InitiatorClosed: "i~", ResponderToken: hashB, CounterpartyAgent: agentOne}
	responder := api.Hold{CrossingID: crossing1, InitiatorToken: hashA, ResponderClosed: "r~", CounterpartyAgent: agentOne}
	// printf 'i~' | sha256sum; printf 'r~' | sha256sum
	const hashI, hashR = "38ab24e6f3364a72ff9bb471716d7dc428e75a90704ec5c17c7216a8e884ec7d", "aafec9512802f546c0bcd962373ee30f07fc532093cab04206d58be5841e5242"
	for what, c := range map[string]struct {
		hold  api.Hold
		half  mandate.Half
		bytes string
		want  mandate.Triple
	}{
		"initiator's": {initiator, mandate.InitiatorHalf,
			`{"counterparty_agent":"urn:anax:agent:one","crossing_id":"` + crossing1 + `","initiator_closed":"i~","responder_token_sha256":"` + string(hashB) + `"}`,
			mandate.Triple{CrossingID: crossing1, InitiatorToken: hashI, ResponderToken: hashB}},
		"responder's": {responder, mandate.ResponderHalf,
			`{"counterparty_agent":"urn:anax:agent:one","crossing_id":"` + crossing1 + `","initiator_token_sha256":"` + string(hashA) + `","responder_closed":"r~"}`,
			mandate.Triple{CrossingID: crossing1, InitiatorToken: hashA, ResponderToken: hashR}},
	} {
		if got := string(c.hold.Bytes()); got != c.bytes {
			t.Errorf("%s: %s", what, got)
		}
		if c.hold.Half() != c.half || c.hold.Triple() != c.want || c.hold.Validate() != nil {
			t.Errorf("%s: half %q, triple %+v, %v", what, c.hold.Half(), c.hold.Triple(), c.hold.Validate())
		}
		again(t, c.hold, c.hold.Bytes(), api.ParseHold)
	}
	body := string(initiator.Bytes())
	for _, c := range []struct{ body, pointer string }{
		{strings.Replace(body, `"counterparty_agent":"urn:anax:agent:one",`, "", 1), "/counterparty_agent"},
		{strings.Replace(body, agentOne, "one", 1), "/counterparty_agent"},
		{strings.Replace(body, string(hashB), "b", 1), "/responder_token_sha256"},
		{strings.Replace(body, `{`, `{"responder_closed":"r~",`, 1), "/responder_closed"},
		{strings.Replace(body, `"initiator_closed":"i~"`, `"initiator_token_sha256":"`+string(hashA)+`"`, 1), "/responder_closed"},
		{strings.Replace(string(responder.Bytes()), `{`, `{"initiator_closed":"i~",`, 1), "/initiator_closed"},
		{`{"counterparty_agent":"urn:anax:agent:one",` + string(api.Hold{CrossingID: crossing1, InitiatorClosed: "i~", ResponderClosed: "r~"}.Bytes())[1:], "/counterparty_agent"},
	} {
		_, err := api.ParseHold([]byte(c.body))
		if p := pointerOf(t, c.body, err); p != c.pointer {
			t.Errorf("%s: pointer %q, want %q", c.body, p, c.pointer)
		}
	}
	for pointer, h := range map[string]api.Hold{
		"/crossing_id":            {InitiatorClosed: "i~", ResponderClosed: "r~"},
		"/responder_token_sha256": {CrossingID: crossing1, InitiatorClosed: "i~", ResponderClosed: "r~", ResponderToken: hashB, CounterpartyAgent: agentOne},
		"/initiator_token_sha256": {CrossingID: crossing1, InitiatorToken: hashA, ResponderToken: hashB, CounterpartyAgent: agentOne},
		"/counterparty_agent":     {CrossingID: crossing1, InitiatorClosed: "i~", ResponderToken: hashB},
	} {
		if err := h.Validate(); !errors.Is(err, &api.Error{Code: api.CodeMalformed, Pointer: pointer}) {
			t.Errorf("%s: %v", pointer, err)
		}
	}
}

func TestRelease(t *testing.T) {
	triple := mandate.Triple{CrossingID: crossing1, InitiatorToken: hashA, ResponderToken: hashB}
	bare, against := api.Release{Triple: triple}, api.Release{Triple: triple, Refusal: "a.b.c"}
	want := `{"crossing_id":"` + crossing1 + `","initiator_token_sha256":"` + string(hashA) + `","responder_token_sha256":"` + string(hashB) + `"`
	if got := string(bare.Bytes()); got != want+`}` {
		t.Errorf("%s", got)
	}
	if got := string(against.Bytes()); got != strings.Replace(want, `,"responder`, `,"refusal":"a.b.c","responder`, 1)+`}` {
		t.Errorf("%s", got)
	}
	again(t, bare, bare.Bytes(), api.ParseRelease)
	again(t, against, against.Bytes(), api.ParseRelease)
	for _, c := range []struct{ body, pointer string }{
		{strings.Replace(want, string(hashB), string(hashA), 1) + `}`, "/responder_token_sha256"},
		{want + `,"refusal":""}`, "/refusal"},
		{want + `,"refusal":null}`, "/refusal"},
		{want + `,"at":1}`, "/at"},
		{strings.Replace(want, crossing1, "x", 1) + `}`, "/crossing_id"},
	} {
		_, err := api.ParseRelease([]byte(c.body))
		if p := pointerOf(t, c.body, err); p != c.pointer {
			t.Errorf("%s: pointer %q, want %q", c.body, p, c.pointer)
		}
	}
}
