package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

var _ authority.Store = (*Authority)(nil)

// An Authority is the Verification Authority's part of a DB.
type Authority struct{ db *DB }

// Authority returns the Verification Authority's store.
func (db *DB) Authority() *Authority { return &Authority{db} }

// codeShared is the kind of a code of the Verification Authority for an RA of several
// organisations.
const codeShared registry.CodeKind = "shared"

// AddCode implements [authority.Members].
func (a *Authority) AddCode(ctx context.Context, c authority.Code) error {
	return a.db.update(ctx, func(t *tx) error {
		kind := registry.CodeRegistry
		if c.Shared {
			kind = codeShared
		}
		return insertOr(authority.ErrTaken, t,
			`INSERT INTO enrolment_codes (secret_sha256, kind, principal_id, created_at, expires_at)
			 VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			c.SecretHash, kind, nullable(c.PrincipalID), c.Created.UnixMilli(), c.Expires.UnixMilli())
	})
}

// insertOr runs an INSERT … ON CONFLICT DO NOTHING and returns taken if it did nothing.
func insertOr(taken error, t *tx, query string, args ...any) error {
	n, err := t.changed(query, args...)
	if err == nil && n == 0 {
		return taken
	}
	return err
}

// Redeem implements [authority.Members].
func (a *Authority) Redeem(ctx context.Context, r authority.Redemption) (answer []byte, err error) {
	err = a.db.update(ctx, func(t *tx) error {
		var expires int64
		var request, principal sql.NullString
		var shared bool
		err := t.row("SELECT expires_at, request_sha256, principal_id, kind = 'shared', answer FROM enrolment_codes WHERE secret_sha256 = ?", r.SecretHash).
			Scan(&expires, &request, &principal, &shared, &answer)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return authority.ErrCode
		case err != nil:
			return err
		case request.Valid && request.String == string(r.RequestHash):
			return nil
		case request.Valid || r.At.UnixMilli() >= expires:
			return authority.ErrCode
		case principal.Valid && principal.String != r.PrincipalID:
			return authority.ErrCodeTerms
		}
		answer = r.Answer
		if err := bindRegistry(t, r, shared); err != nil {
			return err
		}
		return t.exec("UPDATE enrolment_codes SET used_at = ?, request_sha256 = ?, answer = ? WHERE secret_sha256 = ?",
			r.At.UnixMilli(), r.RequestHash, r.Answer, r.SecretHash)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// PinRegistry implements [authority.Members].
func (a *Authority) PinRegistry(ctx context.Context, key jose.Key, at time.Time) error {
	return a.db.update(ctx, func(t *tx) error { return pinRegistry(t, key, at) })
}

// bindRegistry pins the key of a redemption for its principal, unless either stands for
// something else.
func bindRegistry(t *tx, r authority.Redemption, shared bool) error {
	var taken bool
	err := t.row(
		`SELECT EXISTS (SELECT 1 FROM trusted_registries WHERE kid = ?1)
		   OR EXISTS (SELECT 1 FROM publishers WHERE principal_id = ?2)
		   OR EXISTS (SELECT 1 FROM principals WHERE principal_id = ?2)`, r.Key.ID, r.PrincipalID).Scan(&taken)
	switch {
	case err != nil:
		return err
	case taken:
		return authority.ErrTaken
	}
	if err := pinRegistry(t, r.Key, r.At); err != nil {
		return err
	}
	return insertOr(authority.ErrTaken, t,
		"INSERT INTO registry_bindings (principal_id, kid, url, shared, bound_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		r.PrincipalID, r.Key.ID, r.URL, shared, r.At.UnixMilli())
}

func pinRegistry(t *tx, key jose.Key, at time.Time) error {
	return t.exec("INSERT INTO trusted_registries (kid, jwk, pinned_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
		key.ID, key.JWK(), at.UnixMilli())
}

// Registries implements [authority.Members].
func (a *Authority) Registries(ctx context.Context) (keys []jose.Key, err error) {
	rows, err := a.db.view(ctx).rows("SELECT jwk FROM trusted_registries WHERE unpinned_at IS NULL ORDER BY kid")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var jwk []byte
		if err := rows.Scan(&jwk); err != nil {
			return nil, err
		}
		key, err := storedKey(jwk)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, rows.Err()
}

func storedKey(jwk []byte) (jose.Key, error) {
	v, err := jcs.Parse(jwk)
	if err != nil {
		return jose.Key{}, fmt.Errorf("sqlstore: stored key: %w", err)
	}
	return jose.ParseJWK(v)
}

// SpeaksFor implements [authority.Members]: what enrolments of a counterpart and codes of the
// authority have written.
func (a *Authority) SpeaksFor(ctx context.Context, registryKey string) ([]string, error) {
	rows, err := a.db.view(ctx).rows(
		"SELECT principal_id FROM peer_registries WHERE kid = ?1 UNION SELECT principal_id FROM registry_bindings WHERE kid = ?1 AND shared = 0 ORDER BY 1", registryKey)
	return collect(rows, err, func(scan func(...any) error) (principalID string, err error) {
		err = scan(&principalID)
		return principalID, err
	})
}

// SpokenFor implements [authority.Members].
func (a *Authority) SpokenFor(ctx context.Context, principalID string) (registryKey string, err error) {
	err = a.db.view(ctx).row(
		"SELECT kid FROM peer_registries WHERE principal_id = ?1 UNION SELECT kid FROM registry_bindings WHERE principal_id = ?1", principalID).
		Scan(&registryKey)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return registryKey, err
}

// Unpin implements [authority.Members].
func (a *Authority) Unpin(ctx context.Context, registryKey string, at time.Time) error {
	err := a.db.update(ctx, func(t *tx) error {
		return unpin(t, registry.Unpinning{Key: registryKey, By: registry.Actor{Role: api.RoleOperator}, At: at})
	})
	if errors.Is(err, registry.ErrNotFound) {
		return authority.ErrNotFound
	}
	return err
}

// AddPublisher implements [authority.Members].
func (a *Authority) AddPublisher(ctx context.Context, p authority.Publisher) error {
	return a.db.update(ctx, func(t *tx) error {
		standing, err := publisher(t, p.CredentialHash)
		if err == nil {
			if standing.PrincipalID == p.PrincipalID && standing.Key.Same(p.Key) {
				return nil
			}
			return authority.ErrTaken
		}
		if !errors.Is(err, authority.ErrNotFound) {
			return err
		}
		var foreign bool
		err = t.row("SELECT EXISTS (SELECT 1 FROM publishers WHERE principal_id = ? AND registry_kid <> ?)",
			p.PrincipalID, p.RegistryKey).Scan(&foreign)
		if err != nil {
			return err
		}
		if foreign {
			return authority.ErrTaken
		}
		return t.exec("INSERT INTO publishers (credential_sha256, principal_id, jwk, registry_kid, registered_at) VALUES (?, ?, ?, ?, ?)",
			p.CredentialHash, p.PrincipalID, p.Key.JWK(), p.RegistryKey, p.At.UnixMilli())
	})
}

// Publisher implements [authority.Members].
func (a *Authority) Publisher(ctx context.Context, credential jcs.Hex256) (authority.Publisher, error) {
	t := a.db.view(ctx)
	p, err := publisher(t, credential)
	if err != nil {
		return p, err
	}
	var pinned bool
	err = t.row("SELECT EXISTS (SELECT 1 FROM trusted_registries WHERE kid = ? AND unpinned_at IS NULL)", p.RegistryKey).Scan(&pinned)
	if err == nil && !pinned {
		err = authority.ErrNotFound
	}
	if err != nil {
		return authority.Publisher{}, err
	}
	return p, nil
}

func publisher(t *tx, credential jcs.Hex256) (authority.Publisher, error) {
	p := authority.Publisher{CredentialHash: credential}
	var jwk []byte
	var at int64
	err := t.row("SELECT principal_id, jwk, registry_kid, registered_at FROM publishers WHERE credential_sha256 = ?", credential).
		Scan(&p.PrincipalID, &jwk, &p.RegistryKey, &at)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return authority.Publisher{}, authority.ErrNotFound
	case err != nil:
		return authority.Publisher{}, err
	}
	p.At = time.UnixMilli(at).UTC()
	p.Key, err = storedKey(jwk)
	return p, err
}

// Put implements [authority.Projections].
func (a *Authority) Put(ctx context.Context, row authority.Row) (standing authority.Row, err error) {
	err = a.db.update(ctx, func(t *tx) error {
		p := row.Publication
		standing, err = projection(t, "crossing_id = ? AND role = ?", p.Projection.CrossingID, p.Role)
		if !errors.Is(err, authority.ErrNotFound) {
			return err
		}
		standing = row
		return insertProjection(t, row)
	})
	if err != nil {
		return authority.Row{}, err
	}
	return standing, nil
}

// insertProjection leaves it to the table's keys whether the seal and the position are free.
func insertProjection(t *tx, row authority.Row) error {
	p := row.Publication
	receipts := make([][]byte, len(p.Receipts))
	for i, r := range p.Receipts {
		receipts[i] = jcs.String(r)
	}
	return insertOr(authority.ErrTaken, t, `
		INSERT INTO projections (crossing_id, role, seal_id, joint_seal, principal_id, initiator_agent, responder_agent,
			chain_id, chain_seq, prev_hash, anchor, projection, projection_jws, publisher_jws, receipts, answer, stored_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		p.Projection.CrossingID, p.Role, p.Projection.Block.SealID, row.Seal, row.PrincipalID, p.InitiatorAgent, p.ResponderAgent,
		p.Projection.ChainID, row.Position.Seq, nullable(string(row.Position.Prev)), row.Position.Anchor(row.Seal),
		p.Projection.Bytes(), row.ProjectionJWS, p.Signature, jcs.Array(receipts...), row.Answer, row.At.UnixMilli())
}

// Find implements [authority.Projections].
func (a *Authority) Find(ctx context.Context, crossingID string, role crossing.Role) (authority.Row, error) {
	return projection(a.db.view(ctx), "crossing_id = ? AND role = ?", crossingID, role)
}

// BySeal implements [authority.Projections].
func (a *Authority) BySeal(ctx context.Context, sealID string) (authority.Row, error) {
	return projection(a.db.view(ctx), "seal_id = ? AND role = 'responder'", sealID)
}

// At implements [authority.Projections].
func (a *Authority) At(ctx context.Context, principalID string, chainID jcs.Hex256, seq int64) (authority.Row, error) {
	return projection(a.db.view(ctx), "principal_id = ? AND chain_id = ? AND chain_seq = ?", principalID, chainID, seq)
}

// projection reads the one row that a unique condition, a constant of this file, finds.
func projection(t *tx, where string, args ...any) (authority.Row, error) {
	var row authority.Row
	var body, receipts []byte
	var prev sql.NullString
	var at int64
	p := &row.Publication
	err := t.row(`
		SELECT role, joint_seal, principal_id, initiator_agent, responder_agent, chain_seq, prev_hash,
			projection, projection_jws, publisher_jws, receipts, answer, stored_at
		FROM projections WHERE `+where, args...).
		Scan(&p.Role, &row.Seal, &row.PrincipalID, &p.InitiatorAgent, &p.ResponderAgent, &row.Position.Seq, &prev,
			&body, &row.ProjectionJWS, &p.Signature, &receipts, &row.Answer, &at)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return authority.Row{}, authority.ErrNotFound
	case err != nil:
		return authority.Row{}, err
	}
	row.Position = chain.Position{Prev: jcs.Hex256(prev.String), Seq: row.Position.Seq}
	row.At = time.UnixMilli(at).UTC()
	if p.Projection, err = api.ParseProjection(body); err != nil {
		return authority.Row{}, fmt.Errorf("sqlstore: stored projection: %w", opaque(err))
	}
	if p.Receipts, err = storedTexts(receipts); err != nil {
		return authority.Row{}, err
	}
	return row, nil
}

// opaque keeps a refusal of stored bytes from being taken for a refusal of the caller's.
func opaque(err error) error { return errors.New(err.Error()) }

func storedTexts(src []byte) (texts []string, err error) {
	v, err := jcs.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: stored list: %w", err)
	}
	for item := range v.Items() {
		s, ok := item.Text()
		if !ok {
			return nil, errors.New("sqlstore: stored list holds more than texts")
		}
		texts = append(texts, s)
	}
	return texts, nil
}

// Refuse implements [authority.Projections].
func (a *Authority) Refuse(ctx context.Context, r authority.Refusal) error {
	return a.db.update(ctx, func(t *tx) error {
		return t.exec(`
			INSERT INTO publication_refusals (at, principal_id, crossing_id, role, code, body_sha256)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			r.At.UnixMilli(), r.PrincipalID, r.CrossingID, r.Role, r.Code, r.BodyHash)
	})
}
