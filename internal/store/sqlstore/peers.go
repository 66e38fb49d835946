package sqlstore

import (
	"context"
	"database/sql"

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
	var unpinned bool
	err := r.db.view(ctx).row("SELECT jwk, url, pinned_at, unpinned_at IS NOT NULL FROM peer_registries WHERE principal_id = ?", principalID).
		Scan(&jwk, &p.URL, &at, &unpinned)
	switch {
	case err != nil:
		return registry.Peer{}, notFound(err)
	case unpinned:
		return registry.Peer{}, registry.ErrUnpinned
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
	rows, err := r.db.view(ctx).rows("SELECT principal_id, jwk, url, pinned_at FROM peer_registries WHERE unpinned_at IS NULL ORDER BY pinned_at, principal_id")
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

// Pins implements [registry.PeerRegistries].
func (r *Registry) Pins(ctx context.Context) ([]registry.Pin, error) {
	rows, err := r.db.view(ctx).rows(
		`SELECT principal_id, jwk, url, pinned_at, unpinned_at FROM peer_registries
		 UNION ALL
		 SELECT b.principal_id, t.jwk, b.url, b.bound_at, t.unpinned_at FROM registry_bindings b JOIN trusted_registries t USING (kid)
		 ORDER BY 4, 1`)
	return collect(rows, err, func(scan func(...any) error) (p registry.Pin, err error) {
		var jwk []byte
		var at int64
		var unpinned sql.NullInt64
		if err = scan(&p.PrincipalID, &jwk, &p.URL, &at, &unpinned); err != nil {
			return p, err
		}
		p.At = fromMillis(at)
		if unpinned.Valid {
			p.Unpinned = fromMillis(unpinned.Int64)
		}
		p.Key, err = storedKey(jwk)
		return p, err
	})
}

// Unpin implements [registry.PeerRegistries].
func (r *Registry) Unpin(ctx context.Context, u registry.Unpinning) error {
	return r.db.update(ctx, func(t *tx) error { return unpin(t, u) })
}

// unpin ends what is pinned under the key, at both authorities of this store.
func unpin(t *tx, u registry.Unpinning) error {
	var known bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM peer_registries WHERE kid = ?1) OR EXISTS (SELECT 1 FROM trusted_registries WHERE kid = ?1)", u.Key).
		Scan(&known)
	switch {
	case err != nil:
		return err
	case !known:
		return registry.ErrNotFound
	}
	var ended int64
	for _, statement := range []string{
		"UPDATE peer_registries SET unpinned_at = ? WHERE kid = ? AND unpinned_at IS NULL",
		"UPDATE trusted_registries SET unpinned_at = ? WHERE kid = ? AND unpinned_at IS NULL",
	} {
		n, err := t.changed(statement, u.At.UnixMilli(), u.Key)
		if err != nil {
			return err
		}
		ended += n
	}
	if ended == 0 {
		return nil
	}
	return audit(t, u.At, u.By, "unpin", u.Key, "unpinned")
}
