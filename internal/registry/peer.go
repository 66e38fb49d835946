package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A Host is the organisation that runs the authority, as it crosses with organisations that
// have an RA of their own.
type Host struct {
	PrincipalID string // enrolled here
	// Credential is the hash of the credential with which the host's effector will spend at
	// the RA that signs with the key of this thumbprint.
	Credential func(registryKey string) jcs.Hex256
	// Pin pins an RA's key at the host's own Verification Authority, and may be repeated;
	// nil: that authority is somebody else's, and pins nothing on this one's word.
	Pin func(ctx context.Context, key jose.Key) error
}

// A Peer is the RA of another organisation, pinned.
type Peer struct {
	PrincipalID string // whose mandates it registers: it speaks for this Principal and for no other
	Key         jose.Key
	URL         string
	At          time.Time
}

// PeerRegistries keeps which RA speaks for a Principal of another organisation (designs R1,
// R6). Enrolments with a Peer write them.
type PeerRegistries interface {
	// Peer finds the RA that speaks for a Principal. ErrNotFound: none was pinned, so that a
	// mandate of it can be registered here alone. ErrUnpinned: it is
	// pinned no more, and nobody speaks for the Principal.
	Peer(ctx context.Context, principalID string) (Peer, error)
	// AllPeers returns the RAs that are pinned, the oldest first.
	AllPeers(ctx context.Context) ([]Peer, error)
	// Owner finds the principal that an agent is registered for here, a counterpart's too.
	// ErrNotFound.
	Owner(ctx context.Context, agentID string) (principalID string, err error)
	// Pins lists every pin of an RA of another organisation, those that have ended and those of
	// the Verification Authority of this store among them, the oldest first.
	Pins(ctx context.Context) ([]Pin, error)
	// Unpin ends, for good, what is pinned of an RA here and at the Verification Authority of
	// this store. The effectors of the principals that it spoke for are unknown from then on.
	// A repeat changes nothing. ErrNotFound: the key is not pinned.
	Unpin(ctx context.Context, u Unpinning) error
}

// A Pin is one RA of another organisation with one Principal that it speaks for.
type Pin struct {
	Peer
	Unpinned time.Time // when the pin ended; zero while it stands
}

// An Unpinning ends the pin of a key.
type Unpinning struct {
	Key string // thumbprint
	By  Actor  // for the audit row
	At  time.Time
}

// Unpin ends the pin of another organisation's RA (design R1): what that RA says counts for
// nothing from then on, neither here nor at the Verification Authority that shares this store,
// and the effectors of its principals neither hold nor confirm here. What was sealed stands.
// It is for the operator's own terminal and is no route. A repeat changes nothing.
//
// Refusals: api.CodeNotFound for a key that is not pinned; api.CodeConflict for this RA's own.
func (r *Registry) Unpin(ctx context.Context, actor Actor, key string) (refused error) {
	defer r.observe(callOffice, &refused)
	if err := actor.require(api.RoleOperator); err != nil {
		return err
	}
	if key == r.cfg.Signer.Key().ID {
		return &api.Error{Code: api.CodeConflict}
	}
	if err := r.cfg.Store.Unpin(ctx, Unpinning{Key: key, By: actor, At: r.now()}); err != nil {
		return fromOffice(err)
	}
	r.log.InfoContext(ctx, "registry unpinned", "kid", key)
	return nil
}

// theirs refuses an agent that a Principal with an RA of its own says is its, and that is
// registered here as another's. That RA's record lists what it likes; a chain is the pair of
// agents'.
func (r *Registry) theirs(ctx context.Context, principalID, agentID string) error {
	_, err := r.cfg.Store.Peer(ctx, principalID)
	switch {
	case errors.Is(err, ErrUnpinned):
		return refusal(crossing.MandatePartyMismatch) // no receipt about its side would count
	case errors.Is(err, ErrNotFound):
		return nil // its agents are registered here, or nowhere
	}
	owner := ""
	if err == nil {
		owner, err = r.cfg.Store.Owner(ctx, agentID)
	}
	switch {
	case errors.Is(err, ErrNotFound): // one that the counterpart has taken on since
		return nil
	case err != nil:
		return fmt.Errorf("registry: %w", err)
	case owner != principalID:
		return refusal(crossing.MandatePartyMismatch)
	}
	return nil
}

// EnrolPeer pins the RA of another organisation by the secret of a code, enters the
// organisation's agents and its effector as a counterpart's, and answers with what the other
// RA needs to do the same. The same request again gets the same answer.
//
// The counterpart has an effector here and nothing else: no mandate of it can be registered,
// and its record is not served, since its own RA speaks for it.
//
// Refusals: api.CodeNotFound when nobody crosses in the name of this authority;
// api.CodeEnrolment, api.CodeEnrolmentMismatch and api.CodeConflict as in Enrol, the latter also for this authority's own
// principal or key.
func (r *Registry) EnrolPeer(ctx context.Context, req api.EnrolPeer) (_ api.PeerEnrolled, refused error) {
	defer r.observe(callEnrol, &refused)
	none := api.PeerEnrolled{}
	host := r.cfg.Host
	if host == nil {
		return none, &api.Error{Code: api.CodeNotFound}
	}
	if err := req.Validate(); err != nil {
		return none, err
	}
	if err := r.strange(req.PrincipalID, req.Key); err != nil {
		return none, err
	}
	self, err := r.cfg.Store.Principal(ctx, host.PrincipalID)
	if err != nil {
		return none, fmt.Errorf("registry: %w", err)
	}
	now := r.now()
	answer, err := api.PeerEnrolled{
		Counterpart: api.Counterpart{
			PrincipalID: self.ID, Effector: host.Credential(req.Key.ID),
			Agents: self.Agents[:min(len(self.Agents), api.MaxAgents)],
		},
		Peer: req.Key.ID, VAURL: r.cfg.VAURL, VAPinned: host.Pin != nil, At: now,
	}.Sign(r.cfg.Signer)
	if err != nil {
		return none, fmt.Errorf("registry: %w", err)
	}
	stored, err := r.addPeer(ctx, req.Counterpart, Peer{PrincipalID: req.PrincipalID, Key: req.Key, URL: req.URL, At: now}, Enrolment{
		Code: jcs.HexOf([]byte(req.Secret)), Request: jcs.HexOf(req.Bytes()), Answer: answer.Bytes(),
	})
	if err != nil {
		return none, err
	}
	if host.Pin != nil { // after the code was used, and again if the answer was lost
		if err := host.Pin(ctx, req.Key); err != nil {
			return none, fmt.Errorf("registry: %w", err)
		}
	}
	return api.ParsePeerEnrolled(stored)
}

// AddPeer enters the counterpart that an answer to this organisation's own EnrolPeer names,
// verified under p.Key before. It is called by the program that serves the RA and is no route.
// api.CodeConflict as in EnrolPeer.
func (r *Registry) AddPeer(ctx context.Context, c api.Counterpart, p Peer) error {
	p.At = r.now()
	if err := r.strange(p.PrincipalID, p.Key); err != nil {
		return err
	}
	_, err := r.addPeer(ctx, c, p, Enrolment{Answer: []byte("{}")})
	return err
}

// strange refuses this authority's own principal and key: it is nobody else's word.
func (r *Registry) strange(principalID string, key jose.Key) error {
	if key.Same(r.cfg.Signer.Key()) || r.cfg.Host != nil && principalID == r.cfg.Host.PrincipalID {
		return &api.Error{Code: api.CodeConflict}
	}
	return nil
}

func (r *Registry) addPeer(ctx context.Context, c api.Counterpart, p Peer, e Enrolment) (answer []byte, err error) {
	p.Key.Kid = ""
	e.At, e.Peer = p.At, &p
	e.Principal = mandate.Principal{ID: c.PrincipalID, Name: c.PrincipalID, Active: true, Agents: c.Agents}
	e.Credentials = []api.Credential{{Role: api.RoleEffector, Hash: c.Effector}}
	answer, err = r.cfg.Store.Enrol(ctx, e)
	switch {
	case errors.Is(err, ErrCode):
		return nil, &api.Error{Code: api.CodeEnrolment}
	case errors.Is(err, ErrCodeTerms):
		return nil, &api.Error{Code: api.CodeEnrolmentMismatch}
	case errors.Is(err, ErrExists):
		return nil, &api.Error{Code: api.CodeConflict}
	case err != nil:
		return nil, fmt.Errorf("registry: %w", err)
	}
	r.log.InfoContext(ctx, "registry of a counterpart pinned", "principal", c.PrincipalID, "kid", p.Key.ID)
	return answer, nil
}
