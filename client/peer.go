package client

import (
	"context"

	"github.com/bindery/bindery/api"
)

const pathPeers = "/v1/ra/peers"

// EnrolPeer brings another RA by the secret of an enrolment code, and returns who runs the one
// that answers, verified under its pinned keys. After an error with api.CodeUnavailable the
// very same request may be sent again: it gets the same answer.
func (r *Registry) EnrolPeer(ctx context.Context, req api.EnrolPeer) (api.PeerEnrolled, error) {
	if err := req.Validate(); err != nil {
		return api.PeerEnrolled{}, err
	}
	body, err := r.c.post(ctx, pathPeers, "", req.Bytes())
	if err != nil {
		return api.PeerEnrolled{}, err
	}
	answer, err := api.ParsePeerEnrolled(body)
	if err != nil {
		return api.PeerEnrolled{}, unavailable(pathPeers, err)
	}
	if err := answer.Verify(r.c.keys); err != nil {
		return api.PeerEnrolled{}, unverified(pathPeers, err)
	}
	if answer.Peer != req.Key.ID {
		return api.PeerEnrolled{}, unverified(pathPeers, errOther)
	}
	return answer, nil
}
