package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

var _ registry.Store = (*Registry)(nil)

// A Registry is the Registration Authority's part of a DB.
type Registry struct{ db *DB }

// Registry returns the Registration Authority's store.
func (db *DB) Registry() *Registry { return &Registry{db} }

// Uses of a registered key.
const (
	keyOfPrincipal = "principal"
	keyOfAgent     = "agent"
	keyOfHuman     = "human"
)

// AddCode implements [registry.Directory].
func (r *Registry) AddCode(ctx context.Context, c registry.Code) error {
	return r.db.update(ctx, func(t *tx) error {
		err := insertOr(registry.ErrExists, t,
			`INSERT INTO enrolment_codes (secret_sha256, kind, principal_id, created_at, expires_at)
			 VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			c.Secret, c.Kind, nullable(c.PrincipalID), c.At.UnixMilli(), c.Expires.UnixMilli())
		if err != nil {
			return err
		}
		return audit(t, c.At, registry.Actor{Role: api.RoleOperator}, "code", string(c.Secret), "issued")
	})
}

// Enrol implements [registry.Directory].
func (r *Registry) Enrol(ctx context.Context, e registry.Enrolment) (answer []byte, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		if answer, err = useCode(t, e); answer != nil || err != nil {
			return err
		}
		answer = e.Answer
		if err := insertPrincipal(t, e); err != nil {
			return err
		}
		for _, c := range e.Credentials {
			n, err := insertCredential(t, e.Principal.ID, c, e.At)
			if err != nil {
				return err
			}
			if n == 0 {
				return registry.ErrExists
			}
		}
		if e.Peer != nil {
			return insertPeer(t, e)
		}
		by := registry.Actor{Role: api.RolePrincipal, PrincipalID: e.Principal.ID}
		return audit(t, e.At, by, "enrol", e.Principal.ID, "enrolled")
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// useCode marks the code of e as used. If it was used by the same request before, the
// stored answer is returned, and nothing else is to be done.
func useCode(t *tx, e registry.Enrolment) (answer []byte, err error) {
	if e.Code == "" {
		return nil, nil
	}
	kind := registry.CodeParty
	if e.Peer != nil {
		kind = registry.CodeRegistry
	}
	n, err := t.changed(
		`UPDATE enrolment_codes SET used_at = ?, request_sha256 = ?, answer = ?
		 WHERE secret_sha256 = ? AND used_at IS NULL AND expires_at > ?
		   AND kind IN ('any', ?) AND (principal_id IS NULL OR principal_id = ?)`,
		e.At.UnixMilli(), e.Request, e.Answer, e.Code, e.At.UnixMilli(), kind, e.Principal.ID)
	if err != nil || n == 1 {
		return nil, err
	}
	var good bool
	err = t.row("SELECT EXISTS (SELECT 1 FROM enrolment_codes WHERE secret_sha256 = ? AND used_at IS NULL AND expires_at > ?)",
		e.Code, e.At.UnixMilli()).Scan(&good)
	switch {
	case err != nil:
		return nil, err
	case good:
		return nil, registry.ErrCodeTerms
	}
	err = t.row("SELECT answer FROM enrolment_codes WHERE secret_sha256 = ? AND request_sha256 = ?", e.Code, e.Request).
		Scan(&answer)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, registry.ErrCode
	}
	return answer, err
}

func insertPrincipal(t *tx, e registry.Enrolment) error {
	p := e.Principal
	status := "suspended"
	if p.Active {
		status = "active"
	}
	bound := "" // a key that comes with e would be another authority's
	err := t.row("SELECT kid FROM registry_bindings WHERE principal_id = ?", p.ID).Scan(&bound)
	switch {
	case err == nil:
		return registry.ErrExists
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	err = insertOr(registry.ErrExists, t,
		`INSERT INTO principals (principal_id, name, status, clearance_id_hash, trust_basis, agc_level, created_at)
		 VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		p.ID, p.Name, status, p.ClearanceIDHash, p.TrustBasis, p.AGCLevel, e.At.UnixMilli())
	if err != nil {
		return err
	}
	for _, k := range keyRows(p.ID, p.Keys, p.Agents, p.Humans) {
		n, err := insertKey(t, p.ID, k, e.At)
		if err != nil {
			return err
		}
		if n == 0 {
			return registry.ErrExists
		}
	}
	_, err = addRequests(t, p.ID, e.Requests, e.At)
	return err
}

// A keyRow is one key with what it is for.
type keyRow struct {
	use, subject string
	key          jose.Key
}

func keyRows(principalID string, keys []jose.Key, agents []mandate.Agent, humans []mandate.Human) (rows []keyRow) {
	for _, key := range keys {
		rows = append(rows, keyRow{keyOfPrincipal, principalID, key})
	}
	for _, agent := range agents {
		rows = append(rows, keyRow{keyOfAgent, agent.ID, agent.Key})
	}
	for _, human := range humans {
		rows = append(rows, keyRow{keyOfHuman, human.ID, human.Key})
	}
	return rows
}

// insertKey writes a key unless its name is there already, or its agent is another
// principal's.
func insertKey(t *tx, principalID string, k keyRow, at time.Time) (written int64, err error) {
	if k.use == keyOfAgent {
		if own, err := claimAgent(t, principalID, k.subject); err != nil || !own {
			return 0, err
		}
	}
	return t.changed(
		`INSERT INTO principal_keys (kid, principal_id, use, subject, jwk, created_at, not_before, not_after)
		 VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		k.key.ID, principalID, k.use, k.subject, k.key.JWK(), at.UnixMilli(), nullableTime(k.key.NotBefore), nullableTime(k.key.NotAfter))
}

// insertCredential writes a credential unless it is there already.
func insertCredential(t *tx, principalID string, c api.Credential, at time.Time) (written int64, err error) {
	return t.changed(
		`INSERT INTO credentials (credential_sha256, role, principal_id, agent_id, created_at)
		 VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		c.Hash, c.Role, principalID, nullable(c.AgentID), at.UnixMilli())
}

// Actor implements [registry.Directory].
func (r *Registry) Actor(ctx context.Context, credential jcs.Hex256) (registry.Actor, error) {
	var a registry.Actor
	err := r.db.view(ctx).row(
		`SELECT c.role, c.principal_id, coalesce(c.agent_id, '')
		 FROM credentials c JOIN principals p USING (principal_id)
		 WHERE c.credential_sha256 = ? AND c.revoked_at IS NULL AND p.status = 'active'
		   AND NOT EXISTS (SELECT 1 FROM peer_registries r WHERE r.principal_id = c.principal_id AND r.unpinned_at IS NOT NULL)`, credential).
		Scan(&a.Role, &a.PrincipalID, &a.AgentID)
	if a.Role == api.RoleIssuer {
		a.Issuer = credential
	}
	return a, notFound(err)
}

// Principal implements [registry.Directory].
func (r *Registry) Principal(ctx context.Context, principalID string) (mandate.Principal, error) {
	t := r.db.view(ctx)
	p := mandate.Principal{ID: principalID}
	var proved sql.NullInt64
	err := t.row(
		`SELECT name, status = 'active', clearance_id_hash, trust_basis, agc_level, coalesce(domain, ''), domain_proved_at
		 FROM principals WHERE principal_id = ? AND NOT EXISTS (SELECT 1 FROM peer_registries r WHERE r.principal_id = principals.principal_id)`, principalID).
		Scan(&p.Name, &p.Active, &p.ClearanceIDHash, &p.TrustBasis, &p.AGCLevel, &p.Domain, &proved)
	if err != nil {
		return mandate.Principal{}, notFound(err)
	}
	if proved.Valid {
		p.DomainProvedAt = fromMillis(proved.Int64)
	}
	// Keys are added and retired, never taken away: what a change between the two reads does
	// may be seen.
	rows, err := t.rows(
		`SELECT use, subject, jwk, not_before, not_after FROM principal_keys WHERE principal_id = ?1
		   AND NOT EXISTS (SELECT 1 FROM revocations r WHERE r.principal_id = ?1 AND r.subject = kid) ORDER BY rowid`, principalID)
	if err != nil {
		return mandate.Principal{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var use, subject string
		var jwk []byte
		var b span
		if err := rows.Scan(&use, &subject, &jwk, &b.from, &b.until); err != nil {
			return mandate.Principal{}, err
		}
		if err := addKey(&p, use, subject, jwk, b); err != nil {
			return mandate.Principal{}, err
		}
	}
	return p, rows.Err()
}

func addKey(p *mandate.Principal, use, subject string, jwk []byte, b span) error {
	key, err := storedKey(jwk)
	if err != nil {
		return err
	}
	b.set(&key)
	switch use {
	case keyOfPrincipal:
		p.Keys = append(p.Keys, key)
	case keyOfAgent:
		p.Agents = append(p.Agents, mandate.Agent{ID: subject, Key: key})
	case keyOfHuman:
		p.Humans = append(p.Humans, mandate.Human{ID: subject, Key: key})
	default:
		return fmt.Errorf("sqlstore: stored key: unknown use")
	}
	return nil
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return registry.ErrNotFound
	}
	return err
}

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
