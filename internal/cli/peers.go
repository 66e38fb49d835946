package cli

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// effectorAt is the credential with which this party's effector spends at another
// organisation's RA, by the thumbprint of that RA's key. It is made of the party's own effector
// credential, which no RA knows but by its hash: so there is nothing more to keep, each RA has
// another one, and none can use it anywhere else.
func (h *home) effectorAt(registryKey string) string {
	return string(jcs.HexOf([]byte("bindery-effector-v1\n" + registryKey + "\n" + h.secrets.Effector)))
}

// host is this party as its RA presents it to an organisation that brings an RA along.
func (n *node) host() *registry.Host {
	h := &registry.Host{
		PrincipalID: n.config.Principal,
		Credential:  func(registryKey string) jcs.Hex256 { return api.CredentialHash(n.effectorAt(registryKey)) },
	}
	if n.VA.Own {
		h.Pin = func(ctx context.Context, key jose.Key) error { return n.authority.PinRegistry(ctx, key) }
	}
	return h
}

// peers are the RAs of other organisations that this directory has pinned.
type peers struct {
	home  *home
	store registry.PeerRegistries

	mu    sync.Mutex              // guards known
	known map[string]*centre.Peer // by the thumbprint of the RA's key
}

// Peer implements [centre.Peers].
func (p *peers) Peer(ctx context.Context, principalID string) (*centre.Peer, error) {
	// The row is read each time: a pin may have been ended by another process. The own RA
	// has no record of a principal whose RA is pinned no more, so that nothing resolves.
	row, err := p.store.Peer(ctx, principalID)
	switch {
	case errors.Is(err, registry.ErrNotFound), errors.Is(err, registry.ErrUnpinned):
		return nil, nil
	case err != nil:
		return nil, err
	}
	p.mu.Lock()
	known := p.known[row.Key.ID]
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	keys := jose.NewKeySet(row.Key)
	c, err := client.New(client.Config{BaseURL: row.URL, Keys: keys, Credentials: client.Credentials{Effector: p.home.effectorAt(row.Key.ID)}})
	if err != nil {
		return nil, err
	}
	known = &centre.Peer{Keys: keys, Resolver: remoteRA{c.Registry()}, Effector: c.Registry()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[row.Key.ID] = known
	return known, nil
}

// PeerKeys implements [registry.Peers].
func (p *peers) PeerKeys(ctx context.Context, principalID string) (jose.KeySet, error) {
	row, err := p.store.Peer(ctx, principalID)
	if errors.Is(err, registry.ErrNotFound) || errors.Is(err, registry.ErrUnpinned) {
		return jose.KeySet{}, nil // of one that is pinned no more, no word counts
	}
	return jose.NewKeySet(row.Key), err
}

// localEffector is the registry of this process, spoken to as this party's effector.
type localEffector struct {
	registry *registry.Registry
	actor    registry.Actor
}

func (l *localEffector) Hold(ctx context.Context, h api.Hold) (string, error) {
	return l.registry.Hold(ctx, l.actor, h)
}

func (l *localEffector) Confirm(ctx context.Context, t mandate.Triple) (string, error) {
	return l.registry.Confirm(ctx, l.actor, t)
}

func (l *localEffector) Release(ctx context.Context, r api.Release) (string, error) {
	return l.registry.Release(ctx, l.actor, r)
}

// counterpart is the other organisation of a peering, until it is entered at the own RA.
type counterpart struct {
	api.Counterpart
	registry registry.Peer
}

// joinPeer brings an RA along to an organisation that has one itself: each RA enters the
// other's organisation as a counterpart, and the VA pins this one. The code pins their keys,
// and by it they take ours.
func (h *home) joinPeer(ctx context.Context, o initOptions, code api.Code) error {
	theirs, err := joined(ctx, o.join, code.RAKey, "RA")
	if err != nil {
		return err
	}
	va, err := client.PinnedKeys(ctx, o.join, code.VAKey) // before the code is used
	if code.VAKey == "" || err != nil {
		return usagef("join the VA of its operator first, with a code of that VA", "%s does not serve the VA that the code pins, so it cannot make a new RA known there", o.join)
	}
	s, err := h.key(roleRA)
	if err != nil {
		return err
	}
	agent, err := h.key("agent")
	if err != nil {
		return err
	}
	h.Roles = []string{roleRA, roleCentre}
	h.RA = trusted{Own: true, URL: strings.TrimSuffix(o.ownRA, "/"), Key: s.Key().JWK()}
	c, err := client.New(client.Config{BaseURL: o.join, Keys: theirs})
	if err != nil {
		return usagef("give a URL such as http://127.0.0.1:7410", "--join: %v", err)
	}
	req := api.EnrolPeer{
		Secret: code.Secret, Key: s.Key(), URL: h.RA.URL,
		Counterpart: api.Counterpart{
			PrincipalID: h.config.Principal, Agents: []mandate.Agent{{ID: h.AgentID, Key: agent.Key()}},
			Effector: api.CredentialHash(h.effectorAt(theirs.Keys()[0].ID)),
		},
	}
	var answer api.PeerEnrolled
	err = h.useCode(func() (err error) { answer, err = c.Registry().EnrolPeer(ctx, req); return err })
	if err != nil {
		return peerError(o, err)
	}
	h.VA = trusted{URL: strings.TrimSuffix(answer.VAURL, "/"), Key: va.Keys()[0].JWK()}
	h.counterpart = &counterpart{answer.Counterpart, registry.Peer{
		PrincipalID: answer.PrincipalID, Key: theirs.Keys()[0], URL: strings.TrimSuffix(o.join, "/"),
	}}
	return nil
}

func peerError(o initOptions, err error) error {
	if e := (*api.Error)(nil); errors.As(err, &e) && e.Code == api.CodeMalformed && e.Pointer == "/ra/url" {
		return usagef("give a URL such as http://127.0.0.1:7420, or https beyond this machine", "--own-ra: %q is no URL of an RA", o.ownRA)
	}
	return joinError(o.join, err)
}
