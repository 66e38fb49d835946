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
	"github.com/bindery/bindery/internal/store/sqlite"
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
}

// node is an opened directory: its store and the roles it plays.
type node struct {
	*home
	db        *sqlstore.DB
	registry  *registry.Registry   // nil: its RA is elsewhere
	authority *authority.Authority // nil: its VA is elsewhere
	centre    *centre.Centre       // nil: no party of crossings
	ra        ra
	va        va
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
}

// va is the party's Verification Authority, here or elsewhere.
type va interface {
	centre.Publisher
	centre.Verifier
}

// openNode opens the store and wires the roles that the directory has.
func openNode(ctx context.Context, h *home, o nodeOptions) (*node, error) {
	db, err := sqlite.Open(ctx, h.store())
	if err != nil {
		return nil, usagef("is it this user's, and of this version of bindery?", "the database of %s cannot be opened: %v", h.dir, err)
	}
	n := &node{home: h, db: db}
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
	s, err := n.key(roleRA)
	if err != nil {
		return err
	}
	vaURL := n.VA.URL
	if n.VA.Own {
		vaURL = o.base
	}
	n.registry, err = registry.New(registry.Config{
		Store: n.db.Registry(), Signer: s, Now: time.Now, Profile: commitment.Builtin(), VAURL: vaURL, Log: o.log,
	})
	return err
}

func (n *node) wireAuthority(o nodeOptions) error {
	s, err := n.key(roleVA)
	if err != nil {
		return err
	}
	n.authority, err = authority.New(authority.Config{
		Store: n.db.Authority(), Signer: s, Name: authorityName, BaseURL: o.base + "/", Log: o.log,
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
		return nil
	}
	c, err := client.New(client.Config{BaseURL: n.RA.URL, Keys: keys, Credentials: client.Credentials{
		Principal: n.secrets.Principal, Agent: n.secrets.Agent, Effector: n.secrets.Effector,
	}})
	if err != nil {
		return usagef("see "+configFile, "the RA's URL is wrong: %v", err)
	}
	n.ra = remoteRA{c.Registry()}
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
	principal, err := n.key("principal")
	if err != nil {
		return err
	}
	agent, err := n.key("agent")
	if err != nil {
		return err
	}
	publisher, err := n.key("publisher")
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
		VerifyURL: n.verifyURL(o.base), Log: o.log, Hook: failpoint.Hit,
	}
	if n.registry != nil && n.secrets.ClearanceID != "" { // without a clearance envelope: verify-only (GC-037)
		cfg.Spender = &localSpender{n.registry, registry.Actor{Role: api.RoleEffector, PrincipalID: n.config.Principal}}
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
