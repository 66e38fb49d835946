package cli

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/failpoint"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Roles of a process.
const (
	roleRA     = "ra"
	roleVA     = "va"
	roleCentre = "centre"
)

// authorityName is verified_by (AG-56).
const authorityName = "VA-001"

// nodeOptions say how a directory is opened.
type nodeOptions struct {
	base string       // URL of the public listener; "" derives it from the configuration
	log  *slog.Logger // nil: nothing is logged
	// watch counts what is done; nil: nobody does.
	watch watcher
}

// node is an opened directory: its store and the roles it plays.
type node struct {
	*home
	db        *sqlstore.DB
	watch     watcher              // nil: nothing is counted
	registry  *registry.Registry   // nil: its RA is elsewhere
	authority *authority.Authority // nil: its VA is elsewhere
	centre    *centre.Centre       // nil: no party of crossings
	ra        ra
	va        va
	effector  centre.Effector // the same RA, as this party's effector sees it
	peers     *peers          // the RAs of other organisations
}

// ra is the party's Registration Authority, here or elsewhere.
type ra interface {
	centre.Registrar
	centre.Resolver
	RegisterOpen(ctx context.Context, token string) (receipt string, err error)
	// Status is the RA's signed answer about this moment (design R5).
	Status(ctx context.Context, hash jcs.Hex256) (mandate.Status, error)
	// Revoke revokes a mandate of this party, by either of its hashes.
	Revoke(ctx context.Context, hash jcs.Hex256) (api.Revoked, error)
	// RevokeSigner revokes a key, a human or a principal.
	RevokeSigner(ctx context.Context, req api.RevokeSigner) (api.SignerRevoked, error)
}

// va is the party's Verification Authority, here or elsewhere.
type va interface {
	centre.Publisher
	centre.Verifier
}

// openNode opens the store and wires the roles that the directory has.
func openNode(ctx context.Context, h *home, o nodeOptions) (*node, error) {
	db, err := h.openStore(ctx)
	if err != nil {
		return nil, err
	}
	if o.watch != nil {
		o.watch.WatchStore(db)
	}
	n := &node{home: h, db: db, watch: o.watch, peers: &peers{home: h, store: db.Registry(), known: map[string]*centre.Peer{}}}
	if err := n.wire(o); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return n, nil
}

// Close closes the store.
func (n *node) Close() error { return n.db.Close() }

func (n *node) wire(o nodeOptions) error {
	if o.base == "" {
		o.base = "http://" + n.Addr
	}
	if n.RA.Own {
		if err := n.wireRegistry(o); err != nil {
			return err
		}
	}
	if n.VA.Own {
		if err := n.wireAuthority(o); err != nil {
			return err
		}
	}
	if !n.has(roleCentre) {
		return nil
	}
	if err := n.reachRA(); err != nil {
		return err
	}
	if err := n.reachVA(); err != nil {
		return err
	}
	return n.wireCentre(o)
}

func (n *node) wireRegistry(o nodeOptions) error {
	s, err := n.later(roleRA)
	if err != nil {
		return err
	}
	vaURL := n.VA.URL
	if n.VA.Own {
		vaURL = o.base
	}
	release, err := registry.ParseReleaseMode(n.Release)
	if err != nil {
		return usagef("write none or on", "%q is no release mode, in %s", n.Release, configFile)
	}
	n.registry, err = registry.New(registry.Config{
		Release: release, HoldTimeout: failpoint.HoldTimeout(), Hook: failpoint.Hit,
		Store: n.db.Registry(), Signer: s, Now: time.Now, Profile: commitment.Builtin(), VAURL: vaURL, URL: o.base, Log: o.log,
		Host: n.host(), Peers: n.peers, Domains: client.NewIssuers(client.IssuerConfig{}), Observer: o.watch,
	})
	return err
}

func (n *node) wireAuthority(o nodeOptions) error {
	s, err := n.later(roleVA)
	if err != nil {
		return err
	}
	n.authority, err = authority.New(authority.Config{
		Store: n.db.Authority(), Signer: s, Name: authorityName, BaseURL: o.base + "/", Log: o.log,
		Registries: n.registrars, Observer: o.watch,
	})
	return err
}

func (n *node) reachRA() error {
	keys, err := n.RA.pinned()
	if err != nil {
		return err
	}
	if n.registry != nil {
		n.ra = &localRA{n.registry, keys, n.config.Principal, n.AgentID}
		n.effector = &localEffector{n.registry, registry.Actor{Role: api.RoleEffector, PrincipalID: n.config.Principal}}
		return nil
	}
	c, err := client.New(client.Config{BaseURL: n.RA.URL, Keys: keys, Credentials: client.Credentials{
		Principal: n.secrets.Principal, Agent: n.secrets.Agent, Effector: n.secrets.Effector,
	}})
	if err != nil {
		return usagef("see "+configFile, "the RA's URL is wrong: %v", err)
	}
	n.ra, n.effector = remoteRA{c.Registry()}, c.Registry()
	return nil
}

func (n *node) reachVA() error {
	if n.authority != nil {
		n.va = localVA{n.authority, n.secrets.Publisher}
		return nil
	}
	keys, err := n.VA.pinned()
	if err != nil {
		return err
	}
	c, err := client.New(client.Config{BaseURL: n.VA.URL, Keys: keys, Credentials: client.Credentials{Publisher: n.secrets.Publisher}})
	if err != nil {
		return usagef("see "+configFile, "the VA's URL is wrong: %v", err)
	}
	n.va = remoteVA{c.Authority()}
	return nil
}

func (n *node) wireCentre(o nodeOptions) error {
	principal, err := n.later("principal")
	if err != nil {
		return err
	}
	agent, err := n.later("agent")
	if err != nil {
		return err
	}
	publisher, err := n.later("publisher")
	if err != nil {
		return err
	}
	keys, err := n.RA.pinned()
	if err != nil {
		return err
	}
	cfg := centre.Config{
		Store: n.db.Centre(),
		Self: centre.Identity{
			Profile: n.profile(), Basis: mandate.GovernanceBasis{PackID: n.Clearance.PackID, PackVersion: n.Clearance.PackVersion},
			Issuers: jose.NewKeySet(principal.Key()), Agent: agent, Publisher: publisher,
		},
		Acts: commitment.Builtin(), RAKeys: keys, Registrar: n.ra, Resolver: n.ra, Publisher: n.va, Verifier: n.va,
		VerifyURL: n.verifyURL(o.base), Log: o.log, Hook: failpoint.Hit, Peers: n.peers,
	}
	if n.secrets.ClearanceID != "" { // without a clearance envelope: verify-only (GC-037)
		cfg.Effector = n.effector
		if n.registry != nil {
			cfg.Spender = &localSpender{n.registry, registry.Actor{Role: api.RoleEffector, PrincipalID: n.config.Principal}}
		}
	}
	if o.watch != nil {
		o.watch.WatchCentre(n.db.Centre())
	}
	n.centre, err = centre.New(cfg)
	return err
}

func (n *node) profile() crossing.Profile {
	return crossing.Profile{
		PrincipalID: n.config.Principal, AgentID: n.AgentID, ClearanceIDHash: jcs.HexOf([]byte(n.secrets.ClearanceID)),
		TrustBasis: n.Clearance.TrustBasis, AGCLevel: n.Clearance.AGCLevel,
	}
}

// verifyURL is where the pinned authority shows a seal (design V5).
func (n *node) verifyURL(base string) func(string) string {
	if n.VA.URL != "" {
		base = n.VA.URL
	}
	return func(sealID string) string { return base + "/?id=" + sealID }
}
