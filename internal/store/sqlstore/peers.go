package sqlstore

import (
	"context"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
)

// insertPeer pins the authority that speaks for the principal of e, with the audit row of the
// enrolment. A key that the Verification Authority of this store has pinned before is not the
// peer's to bring: whoever did would say for whom it speaks.
func insertPeer(t *tx, e registry.Enrolment) error {
	p := e.Peer
	var pinned bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM trusted_registries WHERE kid = ?)", p.Key.ID).Scan(&pinned)
	switch {
	case err != nil:
		return err
	case pinned:
		return registry.ErrExists
	}
	err = insertOr(registry.ErrExists, t,
		"INSERT INTO peer_registries (principal_id, kid, jwk, url, pinned_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		p.PrincipalID, p.Key.ID, p.Key.JWK(), p.URL, p.At.UnixMilli())
	if err != nil {
		return err
	}
	by := registry.Actor{Role: api.RoleOperator}
	return audit(t, e.At, by, "pin", p.PrincipalID, p.Key.ID)
}

// Peer implements [registry.PeerRegistries].
func (r *Registry) Peer(ctx context.Context, principalID string) (registry.Peer, error) {
	p := registry.Peer{PrincipalID: principalID}
	var jwk []byte
	var at int64
	err := r.db.view(ctx).row("SELECT jwk, url, pinned_at FROM peer_registries WHERE principal_id = ?", principalID).
		Scan(&jwk, &p.URL, &at)
	if err != nil {
		return registry.Peer{}, notFound(err)
	}
	p.At = fromMillis(at)
	p.Key, err = storedKey(jwk)
	return p, err
}

// Owner implements [registry.PeerRegistries].
func (r *Registry) Owner(ctx context.Context, agentID string) (principalID string, err error) {
	err = r.db.view(ctx).row("SELECT principal_id FROM principal_agents WHERE agent_id = ?", agentID).Scan(&principalID)
	return principalID, notFound(err)
}

// AllPeers implements [registry.PeerRegistries].
func (r *Registry) AllPeers(ctx context.Context) ([]registry.Peer, error) {
	rows, err := r.db.view(ctx).rows("SELECT principal_id, jwk, url, pinned_at FROM peer_registries ORDER BY pinned_at, principal_id")
	return collect(rows, err, func(scan func(...any) error) (p registry.Peer, err error) {
		var jwk []byte
		var at int64
		if err = scan(&p.PrincipalID, &jwk, &p.URL, &at); err != nil {
			return p, err
		}
		p.At = fromMillis(at)
		p.Key, err = storedKey(jwk)
		return p, err
	})
}
