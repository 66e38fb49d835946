package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/mandate"
)

// span is when a stored key may sign.
type span struct{ from, until sql.NullInt64 }

func (s span) set(k *jose.Key) {
	if s.from.Valid {
		k.NotBefore = fromMillis(s.from.Int64)
	}
	if s.until.Valid {
		k.NotAfter = fromMillis(s.until.Int64)
	}
}

func nullableTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// claimAgent makes the agent this principal's unless it is another's.
func claimAgent(t *tx, principalID, agentID string) (own bool, err error) {
	if err := t.exec("INSERT INTO principal_agents (agent_id, principal_id) VALUES (?, ?) ON CONFLICT DO NOTHING", agentID, principalID); err != nil {
		return false, err
	}
	err = t.row("SELECT EXISTS (SELECT 1 FROM principal_agents WHERE agent_id = ? AND principal_id = ?)", agentID, principalID).Scan(&own)
	return own, err
}

// stands reports whether the key is registered with all that is asked for, and not revoked.
func stands(t *tx, principalID string, k keyRow) (same bool, err error) {
	var b span
	var jwk string
	err = t.row(
		`SELECT jwk, not_before, not_after FROM principal_keys WHERE kid = ?1 AND principal_id = ?2 AND use = ?3 AND subject = ?4
		   AND NOT EXISTS (SELECT 1 FROM revocations WHERE principal_id = ?2 AND subject = ?1)`,
		k.key.ID, principalID, k.use, k.subject).Scan(&jwk, &b.from, &b.until)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return jwk == string(k.key.JWK()) && b.sameAs(k.key), err
}

func (s span) sameAs(k jose.Key) bool {
	var stored jose.Key
	s.set(&stored)
	return stored.NotBefore.Equal(k.NotBefore) && stored.NotAfter.Equal(k.NotAfter)
}

// settleNew does what a new key brings with it: a principal's is not yet seen at its
// domain, a human's has been approved by being added.
func settleNew(t *tx, principalID string, k keyRow, at time.Time) error {
	switch k.use {
	case keyOfPrincipal:
		return t.exec("UPDATE principals SET domain_proved_at = NULL WHERE principal_id = ?", principalID)
	case keyOfHuman:
		return t.exec("UPDATE human_requests SET state = 'approved', decided_at = ? WHERE principal_id = ? AND kid = ?",
			at.UnixMilli(), principalID, k.key.ID)
	}
	return nil
}

// addRequests notes humans' keys that are neither registered nor asked for.
func addRequests(t *tx, principalID string, humans []mandate.Human, at time.Time) (added int64, err error) {
	for _, h := range humans {
		n, err := addRequest(t, principalID, h, at)
		if err != nil {
			return 0, err
		}
		added += n
	}
	if added == 0 {
		return 0, nil
	}
	var all int
	if err := t.row("SELECT count(*) FROM human_requests WHERE principal_id = ?", principalID).Scan(&all); err != nil {
		return 0, err
	}
	if all > registry.MaxRequests {
		return 0, registry.ErrFull
	}
	return added, nil
}

func addRequest(t *tx, principalID string, h mandate.Human, at time.Time) (added int64, err error) {
	var taken bool
	if err := t.row("SELECT EXISTS (SELECT 1 FROM principal_keys WHERE kid = ?)", h.Key.ID).Scan(&taken); err != nil {
		return 0, err
	}
	if taken {
		same, err := stands(t, principalID, keyRow{keyOfHuman, h.ID, h.Key})
		if err == nil && !same {
			err = registry.ErrExists
		}
		return 0, err
	}
	added, err = t.changed(
		`INSERT INTO human_requests (principal_id, kid, human_id, jwk, not_before, not_after, state, requested_at)
		 VALUES (?, ?, ?, ?, ?, ?, 'pending', ?) ON CONFLICT DO NOTHING`,
		principalID, h.Key.ID, h.ID, h.Key.JWK(), nullableTime(h.Key.NotBefore), nullableTime(h.Key.NotAfter), at.UnixMilli())
	if err != nil || added == 1 {
		return added, err
	}
	r, state, err := request(t, principalID, h.Key.ID)
	if err == nil && (state != api.HumanPending || r.subject != h.ID || !r.key.NotBefore.Equal(h.Key.NotBefore) || !r.key.NotAfter.Equal(h.Key.NotAfter)) {
		err = registry.ErrExists
	}
	return 0, err
}

// request reads one that was made.
func request(t *tx, principalID, kid string) (k keyRow, state string, err error) {
	var jwk []byte
	var b span
	err = t.row("SELECT human_id, jwk, not_before, not_after, state FROM human_requests WHERE principal_id = ? AND kid = ?", principalID, kid).
		Scan(&k.subject, &jwk, &b.from, &b.until, &state)
	if err != nil {
		return k, "", notFound(err)
	}
	k.use = keyOfHuman
	if k.key, err = storedKey(jwk); err != nil {
		return k, "", err
	}
	b.set(&k.key)
	return k, state, nil
}

// Retire implements [registry.Keyring].
func (r *Registry) Retire(ctx context.Context, q registry.Retirement) error {
	return r.db.update(ctx, func(t *tx) error {
		n, err := t.changed(
			"UPDATE principal_keys SET not_after = ?3 WHERE kid = ?1 AND principal_id = ?2 AND (not_after IS NULL OR not_after > ?3)",
			q.Key, q.PrincipalID, q.NotAfter.UnixMilli())
		if err != nil {
			return err
		}
		if n == 0 {
			var has int64
			err := t.row("SELECT not_after FROM principal_keys WHERE kid = ? AND principal_id = ?", q.Key, q.PrincipalID).Scan(&has)
			if err == nil && has != q.NotAfter.UnixMilli() {
				err = registry.ErrExists
			}
			return notFound(err)
		}
		return audit(t, q.At, q.By, "retire", q.Key, "retired")
	})
}

// HumanRequests implements [registry.Keyring].
func (r *Registry) HumanRequests(ctx context.Context, principalID string, limit int) (all []api.HumanRequest, err error) {
	query, args := `SELECT principal_id, human_id, jwk, not_before, not_after, state, requested_at FROM human_requests
		 WHERE state = 'pending' ORDER BY requested_at, principal_id, kid LIMIT ?`, []any{limit}
	if principalID != "" {
		query, args = `SELECT principal_id, human_id, jwk, not_before, not_after, state, requested_at FROM human_requests
		 WHERE principal_id = ? AND state <> 'approved' ORDER BY requested_at, kid LIMIT ?`, []any{principalID, limit}
	}
	rows, err := r.db.view(ctx).rows(query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h api.HumanRequest
		var jwk []byte
		var b span
		var at int64
		if err := rows.Scan(&h.PrincipalID, &h.Human.ID, &jwk, &b.from, &b.until, &h.State, &at); err != nil {
			return nil, err
		}
		if h.Human.Key, err = storedKey(jwk); err != nil {
			return nil, err
		}
		b.set(&h.Human.Key)
		h.RequestedAt = fromMillis(at)
		all = append(all, h)
	}
	return all, rows.Err()
}

// DecideHuman implements [registry.Keyring].
func (r *Registry) DecideHuman(ctx context.Context, d registry.HumanDecision) error {
	decided := map[bool]string{true: "approved", false: api.HumanRejected}[d.Approve]
	return r.db.update(ctx, func(t *tx) error {
		k, state, err := request(t, d.PrincipalID, d.Key)
		if err != nil || state == decided {
			return err
		}
		n, err := t.changed("UPDATE human_requests SET state = ?, decided_at = ? WHERE principal_id = ? AND kid = ? AND state = 'pending'",
			decided, d.At.UnixMilli(), d.PrincipalID, d.Key)
		if err != nil {
			return err
		}
		if n == 0 {
			return registry.ErrExists
		}
		if d.Approve {
			n, err := insertKey(t, d.PrincipalID, k, d.At)
			if err != nil {
				return err
			}
			if n == 0 {
				return registry.ErrExists
			}
			if err := admissible(t, d.PrincipalID, k); err != nil {
				return err
			}
			if err := withinBounds(t, d.PrincipalID); err != nil {
				return err
			}
		}
		return audit(t, d.At, d.By, "decide_human", d.Key, decided)
	})
}

// ProveDomain implements [registry.Keyring].
func (r *Registry) ProveDomain(ctx context.Context, d registry.DomainProof) error {
	return r.db.update(ctx, func(t *tx) error {
		if err := known(t, d.PrincipalID); err != nil {
			return err
		}
		if err := publishes(t, d); err != nil {
			return err
		}
		n, err := t.changed(
			`UPDATE principals SET domain = ?2, domain_proved_at = ?3
			 WHERE principal_id = ?1 AND (domain IS NULL OR domain <> ?2 OR domain_proved_at IS NULL OR domain_proved_at < ?3)`,
			d.PrincipalID, d.Domain, d.At.UnixMilli())
		if err != nil || n == 0 {
			return err
		}
		return audit(t, d.At, d.By, "prove_domain", d.PrincipalID, "proved")
	})
}

// publishes refuses a proof that leaves out an issuer key.
func publishes(t *tx, d registry.DomainProof) (err error) {
	rows, err := t.rows(
		`SELECT kid, not_after FROM principal_keys WHERE principal_id = ?1 AND use = 'principal'
		   AND NOT EXISTS (SELECT 1 FROM revocations r WHERE r.principal_id = ?1 AND r.subject = kid)`, d.PrincipalID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var kid string
		var until sql.NullInt64
		if err := rows.Scan(&kid, &until); err != nil {
			return err
		}
		retired := until.Valid && until.Int64 <= d.At.UnixMilli()
		if !retired && !slices.Contains(d.Keys, kid) {
			return registry.ErrExists
		}
	}
	return rows.Err()
}

// Domains implements [registry.Keyring].
func (r *Registry) Domains(ctx context.Context, before time.Time, after string, limit int) (all []api.DomainProof, err error) {
	rows, err := r.db.view(ctx).rows(
		`SELECT principal_id, domain FROM principals
		 WHERE domain IS NOT NULL AND status = 'active' AND principal_id > ? AND (domain_proved_at IS NULL OR domain_proved_at < ?)
		 ORDER BY principal_id LIMIT ?`, after, before.UnixMilli(), limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var d api.DomainProof
		if err := rows.Scan(&d.PrincipalID, &d.Domain); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, rows.Err()
}
