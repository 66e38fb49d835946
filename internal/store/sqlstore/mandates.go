package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// AddOpen implements [registry.Mandates].
func (r *Registry) AddOpen(ctx context.Context, o registry.Open) (receipt string, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		list, index := listColumns(o)
		n, err := t.changed(
			`INSERT INTO opens (open_mandate_hash, token_sha256, signed_sha256, principal_id, agent_id,
			   class, magnitude_limit, currency, expires_at, receipt, registered_at, single_party,
			   signer_kid, cnf_kid, status_list, status_index)
			 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			o.OpenHash, o.TokenHash, o.SignedHash, o.PrincipalID, o.AgentID,
			o.Limit.Class.String(), int64(o.Limit.Magnitude), nullable(string(o.Limit.Currency)),
			o.ExpiresAt.UnixMilli(), o.Receipt, o.At.UnixMilli(), o.SingleParty,
			o.SignerKey, nullable(o.ConfirmationKey), list, index)
		if err != nil {
			return err
		}
		if n == 0 {
			err := t.row("SELECT receipt FROM opens WHERE token_sha256 = ? AND principal_id = ?", o.TokenHash, o.PrincipalID).
				Scan(&receipt)
			if errors.Is(err, sql.ErrNoRows) {
				err = cmp.Or(listed(t, o), err)
			}
			return orExists(err)
		}
		if err := unrevoked(t, o.PrincipalID, o.SignerKey, o.ConfirmationKey); err != nil {
			return err
		}
		if err := unsuspended(t, o.PrincipalID); err != nil {
			return err
		}
		if err := enlist(t, o); err != nil {
			return err
		}
		if err := t.exec("INSERT INTO open_tokens (open_mandate_hash, token) VALUES (?, ?)", o.OpenHash, o.Token); err != nil {
			return err
		}
		receipt = o.Receipt
		return audit(t, o.At, o.By, "register_open", string(o.OpenHash), "registered")
	})
	if err != nil {
		return "", err
	}
	return receipt, nil
}

// orExists tells a row that is not the same from one that is.
func orExists(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return registry.ErrExists
	}
	return err
}

// FindOpen implements [registry.Mandates].
func (r *Registry) FindOpen(ctx context.Context, hash jcs.Hex256) (registry.Open, error) {
	o := registry.Open{OpenHash: hash}
	var class string
	var magnitude, expires, at int64
	err := r.db.view(ctx).row(
		`SELECT token_sha256, signed_sha256, principal_id, agent_id, class, magnitude_limit, coalesce(currency, ''),
		   expires_at, token, receipt, registered_at
		 FROM opens JOIN open_tokens USING (open_mandate_hash) WHERE open_mandate_hash = ?`, hash).
		Scan(&o.TokenHash, &o.SignedHash, &o.PrincipalID, &o.AgentID, &class, &magnitude, &o.Limit.Currency,
			&expires, &o.Token, &o.Receipt, &at)
	if err != nil {
		return registry.Open{}, notFound(err)
	}
	if o.Limit.Class, err = commitment.ParseClass(class); err != nil {
		return registry.Open{}, err
	}
	o.Limit.Magnitude = commitment.Magnitude(magnitude)
	o.ExpiresAt, o.At = fromMillis(expires), fromMillis(at)
	return o, nil
}

// AddClosed implements [registry.Mandates].
func (r *Registry) AddClosed(ctx context.Context, c registry.Closed) (receipt string, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		var known bool
		if receipt, known, err = knownClosed(t, c); known || err != nil {
			return err
		}
		if err := book(t, c.OpenHash, c.Draw, c.At); err != nil {
			return err
		}
		if err := unrevoked(t, c.PrincipalID, c.SignerKey, ""); err != nil {
			return err
		}
		if err := unsuspended(t, c.PrincipalID); err != nil {
			return err
		}
		receipt = c.Receipt
		err := t.exec(
			`INSERT INTO closeds (token_sha256, signed_sha256, open_mandate_hash, principal_id, agent_id, counterparty_agent,
			   chain_id, crossing_id, magnitude_limit, draw, expires_at, receipt, registered_at, signer_kid)
			 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.TokenHash, c.SignedHash, c.OpenHash, c.PrincipalID, c.AgentID, c.CounterpartyAgent,
			c.ChainID, c.CrossingID, int64(c.Limit), int64(c.Draw), c.ExpiresAt.UnixMilli(), c.Receipt, c.At.UnixMilli(), c.SignerKey)
		if err != nil {
			return err
		}
		by := registry.Actor{Role: api.RoleAgent, PrincipalID: c.PrincipalID}
		return audit(t, c.At, by, "register_closed", string(c.TokenHash), "registered")
	})
	if err != nil {
		return "", err
	}
	return receipt, nil
}

// knownClosed looks for a row with one of c's two hashes.
func knownClosed(t *tx, c registry.Closed) (receipt string, known bool, err error) {
	var token jcs.Hex256
	var agent, counterparty string
	err = t.row(
		`SELECT token_sha256, agent_id, counterparty_agent, receipt FROM closeds
		 WHERE token_sha256 = ? OR signed_sha256 = ?`, c.TokenHash, c.SignedHash).
		Scan(&token, &agent, &counterparty, &receipt)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", false, nil
	case err != nil:
		return "", false, err
	case token != c.TokenHash || agent != c.AgentID || counterparty != c.CounterpartyAgent:
		return "", false, registry.ErrExists
	}
	return receipt, true, nil
}

// book adds a draw or units to what is drawn from the Open, unless the Open's limit,
// revocation or expiry is against it: one statement decides (GC-192, GC-208). Where there
// is no limit the sum stops at the largest magnitude.
func book(t *tx, open jcs.Hex256, draw commitment.Magnitude, at time.Time) error {
	n, err := t.changed(
		`UPDATE opens SET drawn = CASE WHEN drawn + ?1 < 9007199254740991 THEN drawn + ?1 ELSE 9007199254740991 END
		 WHERE open_mandate_hash = ?2 AND NOT `+openRevoked+` AND expires_at > ?3
		   AND (drawn + ?1 <= magnitude_limit OR (class = 'observe' AND magnitude_limit = 0))`,
		int64(draw), open, at.UnixMilli())
	if err != nil || n == 1 {
		return err
	}
	var revoked, expired bool
	err = t.row("SELECT "+openRevoked+", expires_at <= ? FROM opens WHERE open_mandate_hash = ?", at.UnixMilli(), open).
		Scan(&revoked, &expired)
	switch {
	case err != nil:
		return notFound(err)
	case expired:
		return registry.ErrExpired
	case revoked:
		return registry.ErrRevoked
	}
	return registry.ErrExhausted
}

// unsuspended refuses for a principal that is suspended or unknown.
func unsuspended(t *tx, principalID string) error {
	var active bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM principals WHERE principal_id = ? AND status = 'active')", principalID).Scan(&active)
	if err == nil && !active {
		return registry.ErrSuspended
	}
	return err
}

// FindClosed implements [registry.Mandates].
func (r *Registry) FindClosed(ctx context.Context, hash jcs.Hex256) (registry.Closed, error) {
	c := registry.Closed{TokenHash: hash}
	var limit, expires, at int64
	err := r.db.view(ctx).row(
		`SELECT signed_sha256, open_mandate_hash, principal_id, agent_id, counterparty_agent,
		   chain_id, crossing_id, magnitude_limit, expires_at, receipt, registered_at
		 FROM closeds WHERE token_sha256 = ?`, hash).
		Scan(&c.SignedHash, &c.OpenHash, &c.PrincipalID, &c.AgentID, &c.CounterpartyAgent,
			&c.ChainID, &c.CrossingID, &limit, &expires, &c.Receipt, &at)
	if err != nil {
		return registry.Closed{}, notFound(err)
	}
	c.Limit, c.ExpiresAt, c.At = commitment.Magnitude(limit), fromMillis(expires), fromMillis(at)
	return c, nil
}

// Active implements [registry.Mandates].
func (r *Registry) Active(ctx context.Context, hash jcs.Hex256, at time.Time) (principalID string, err error) {
	err = r.db.view(ctx).row(
		`SELECT principal_id FROM opens JOIN principals USING (principal_id)
		     WHERE (open_mandate_hash = ?1 OR token_sha256 = ?1) AND NOT `+openRevoked+` AND expires_at > ?2
		       AND status = 'active'
		 UNION ALL SELECT c.principal_id FROM closeds c JOIN opens o USING (open_mandate_hash)
		       JOIN principals p ON p.principal_id = c.principal_id
		     WHERE c.token_sha256 = ?1 AND c.state = 'active'
		       AND NOT `+closedRevoked+` AND c.expires_at > ?2
		       AND p.status = 'active' LIMIT 1`, hash, at.UnixMilli()).
		Scan(&principalID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return principalID, err
}

// Revoke implements [registry.Mandates].
func (r *Registry) Revoke(ctx context.Context, v registry.Revocation) (before string, at time.Time, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		before, at, err = revokeOpen(t, v)
		if errors.Is(err, registry.ErrNotFound) {
			before, at, err = revokeClosed(t, v)
		}
		return err
	})
	if err != nil {
		return "", time.Time{}, err
	}
	return before, at, nil
}

func revokeOpen(t *tx, v registry.Revocation) (before string, at time.Time, err error) {
	var open string
	var revoked sql.NullInt64
	err = t.row(
		`SELECT open_mandate_hash, revoked_at FROM opens
		 WHERE (open_mandate_hash = ?1 OR token_sha256 = ?1) AND ?2 IN (principal_id, '')`, v.Hash, v.PrincipalID).
		Scan(&open, &revoked)
	if err != nil || revoked.Valid {
		return api.BeforeActive, fromMillis(revoked.Int64), notFound(err)
	}
	if err := t.exec("UPDATE opens SET revoked_at = ? WHERE open_mandate_hash = ?", v.At.UnixMilli(), open); err != nil {
		return "", time.Time{}, err
	}
	return api.BeforeActive, v.At, audit(t, v.At, v.By, "revoke_open", open, "revoked")
}

// revokeClosed marks the row of a Closed. The state before is what its hold says, which
// a revoked Closed cannot change any more, so a repeat reads the same.
func revokeClosed(t *tx, v registry.Revocation) (before string, at time.Time, err error) {
	var revoked sql.NullInt64
	err = t.row(
		`SELECT coalesce((SELECT state FROM holds WHERE initiator_token = c.token_sha256 AND half <> 'responder'),
		   (SELECT state FROM holds WHERE responder_token = c.token_sha256 AND half <> 'initiator'), c.state), c.revoked_at
		 FROM closeds c
		 WHERE c.token_sha256 = ?1 AND ?2 IN (c.principal_id, '')`, v.Hash, v.PrincipalID).
		Scan(&before, &revoked)
	if err != nil || revoked.Valid {
		return before, fromMillis(revoked.Int64), notFound(err)
	}
	if err := t.exec("UPDATE closeds SET revoked_at = ? WHERE token_sha256 = ?", v.At.UnixMilli(), v.Hash); err != nil {
		return "", time.Time{}, err
	}
	return before, v.At, audit(t, v.At, v.By, "revoke_closed", string(v.Hash), before)
}
