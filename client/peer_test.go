package client_test

import (
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// TestEnrolPeerAnswer: the answer names who will hold mandates against ours, so it counts only
// as the pinned RA's word about the key that was sent.
//
// covers GC-209
func TestEnrolPeerAnswer(t *testing.T) {
	ra, other, own, agent := vaSigner(t), vaSigner(t), vaSigner(t), vaSigner(t)
	req := api.EnrolPeer{
		Secret: "AAAAAAAAAAAAAAAAAAAAAA", Key: own.Key(), URL: "https://ra.acme.example",
		Counterpart: api.Counterpart{
			PrincipalID: "urn:anax:principal:acme", Effector: jcs.HexOf([]byte("credential")),
			Agents: []mandate.Agent{{ID: "urn:anax:agent:acme-1", Key: agent.Key()}},
		},
	}
	answer := api.PeerEnrolled{Counterpart: req.Counterpart, Peer: own.Key().ID, VAURL: "https://va.example/", At: raNow}
	answer.PrincipalID = "urn:anax:principal:globex"
	for what, c := range map[string]struct {
		by     *jose.Signer
		change func(*api.PeerEnrolled)
		good   bool
	}{
		"as it should be":             {ra, func(*api.PeerEnrolled) {}, true},
		"by another key":              {other, func(*api.PeerEnrolled) {}, false},
		"about another key":           {ra, func(p *api.PeerEnrolled) { p.Peer = other.Key().ID }, false},
		"changed after it was signed": {nil, func(p *api.PeerEnrolled) { p.Effector = jcs.HexOf([]byte("mine")) }, false},
	} {
		registry := saying(t, jose.NewKeySet(ra.Key()), func([]byte) (int, []byte) {
			p := answer
			if c.by != nil {
				c.change(&p)
			}
			by := c.by
			if by == nil {
				by = ra
			}
			p, err := p.Sign(by)
			if err != nil {
				t.Error(err)
			}
			if c.by == nil {
				c.change(&p)
			}
			return 200, p.Bytes()
		})
		got, err := registry.EnrolPeer(t.Context(), req)
		if c.good {
			if err != nil || got.PrincipalID != answer.PrincipalID {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
			continue
		}
		undecided(t, what, err)
	}
	bad := req
	bad.URL = "http://ra.acme.example"
	asked := false
	registry := saying(t, jose.NewKeySet(ra.Key()), func([]byte) (int, []byte) { asked = true; return 500, nil })
	if _, err := registry.EnrolPeer(t.Context(), bad); err == nil || asked {
		t.Errorf("a bad request was sent: %v", err)
	}
}
