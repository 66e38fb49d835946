package a2acrossing

import (
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
)

// A Card is what this agent declares (§3.3).
type Card struct {
	Name    string
	URL     string // base URL of the public listener, without a final slash
	Version string
	Profile crossing.Profile // its clearance id stands here only as a hash (AG-39)
	Full    bool             // false: verify-only, no seal method (GC-037)
	// Authority is the base URL of the Verification Authority.
	Authority string
	Acts      commitment.Profile
	// Plain says that the agent has a skill that commits to nothing. The extension is
	// then declared as not required, since A2A knows it per agent only (AG-67).
	Plain bool
}

// JSON is the Agent Card.
func (c Card) JSON() ([]byte, error) {
	card := &a2a.AgentCard{
		Name:               c.Name,
		Description:        "Agrees to commitments under verified mandates, and seals them jointly.",
		Version:            c.Version,
		DefaultInputModes:  []string{"application/json", "text/plain"},
		DefaultOutputModes: []string{"application/json", "text/plain"},
		SupportedInterfaces: []*a2a.AgentInterface{{
			URL: c.URL + "/rpc", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: a2a.Version,
		}},
		Capabilities: a2a.AgentCapabilities{Extensions: []a2a.AgentExtension{c.extension()}},
		Skills:       c.skills(),
	}
	return json.Marshal(card)
}

func (c Card) extension() a2a.AgentExtension {
	conformance := "verify-only"
	if c.Full {
		conformance = "full"
	}
	principal := map[string]any{"id": c.Profile.PrincipalID}
	if c.Full {
		principal["clearance_id"] = string(c.Profile.ClearanceIDHash)
		principal["trust_basis"] = c.Profile.TrustBasis
		principal["agc_level"] = c.Profile.AGCLevel
	}
	return a2a.AgentExtension{
		URI:         crossing.URI,
		Description: "Bilateral commitments under verified mandates, sealed and publicly verifiable.",
		Required:    c.Full && !c.Plain,
		Params: map[string]any{
			"conformance":            conformance,
			"verification_authority": c.Authority,
			"principal":              principal,
			"mandate_formats":        []string{"sd-jwt"},
			"commitment_classes":     classes(c.Acts),
			"commitment_acts":        c.Acts.Acts(),
			"act_profile":            c.Acts.Digest(),
		},
	}
}

// classes are those that a sealing act can have at all: from the lowest floor upwards.
func classes(acts commitment.Profile) []string {
	least := commitment.Binding
	for _, act := range acts.Acts() {
		if f, ok := acts.Floor(act); ok && f < least {
			least = f
		}
	}
	var list []string
	for c := least; c <= commitment.Binding; c++ {
		list = append(list, c.String())
	}
	return list
}

func (c Card) skills() []a2a.AgentSkill {
	var list []a2a.AgentSkill
	if c.Full {
		list = append(list, a2a.AgentSkill{
			ID: "governed-crossing", Name: "Governed Crossing", Tags: []string{"commitment", "mandate", "seal"},
			Description: "Agrees to terms that an open mandate covers, and seals one bilateral record.",
		})
	}
	if c.Plain || !c.Full {
		list = append(list, a2a.AgentSkill{
			ID: "about", Name: "About this agent", Tags: []string{"information"},
			Description: "Says what this agent can agree to. Commits to nothing.",
		})
	}
	return list
}
