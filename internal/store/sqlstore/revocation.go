package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
)

// What holds of a row in a query over opens, and over closeds c with its opens o: that the
// mandate is revoked, by itself, with its Open, or with any name that it bears. Each is one
// look-up by key.
const (
	openRevoked = `(opens.revoked_at IS NOT NULL OR EXISTS (SELECT 1 FROM revocations r WHERE r.principal_id = opens.principal_id
		AND r.subject IN (opens.principal_id, opens.signer_kid, opens.cnf_kid)))`
	closedRevoked = `(coalesce(c.revoked_at, o.revoked_at) IS NOT NULL OR EXISTS (SELECT 1 FROM revocations r WHERE r.principal_id = o.principal_id
		AND r.subject IN (o.principal_id, o.signer_kid, o.cnf_kid, c.signer_kid)))`
)

// someKey is the kind of the row without a subject: see the migration.
const someKey = "some key"

// RevokeSigner implements [registry.Revocations].
func (r *Registry) RevokeSigner(ctx context.Context, v registry.SignerRevocation) (at time.Time, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		subject := revokedName(v)
		var first int64
		err := t.row("SELECT revoked_at FROM revocations WHERE principal_id = ? AND subject = ? AND kind = ?", v.PrincipalID, subject, v.Kind).
			Scan(&first)
		if !errors.Is(err, sql.ErrNoRows) {
			at = fromMillis(first)
			return err
		}
		if err := revokeKind(t, v); err != nil {
			return err
		}
		if _, err := revokeName(t, v, v.Kind, subject); err != nil {
			return err
		}
		at = fromMillis(v.At.UnixMilli())
		return audit(t, v.At, v.By, "revoke_"+v.Kind, subject, "revoked")
	})
	if err != nil {
		return time.Time{}, err
	}
	return at, nil
}

// revokedName is what stands in the row's subject. A human's identifier may be a URI that is
// a principal's as well, so it is told apart.
func revokedName(v registry.SignerRevocation) string {
	switch v.Kind {
	case api.KindPrincipal:
		return v.PrincipalID
	case api.KindHuman:
		return humanName(v.Subject)
	}
	return v.Subject
}

func humanName(id string) string { return "human " + id }

// revokeKind does what the kind needs beside its own row, or refuses.
func revokeKind(t *tx, v registry.SignerRevocation) error {
	switch v.Kind {
	case api.KindPrincipal:
		return revokePrincipal(t, v)
	case api.KindHuman:
		return revokeKeysOf(t, v)
	}
	var own int
	err := t.row("SELECT 1 FROM principal_keys WHERE kid = ? AND principal_id = ?", v.Subject, v.PrincipalID).Scan(&own)
	if err != nil {
		return notFound(err)
	}
	_, err = revokeName(t, v, someKey, "")
	return err
}

// revokePrincipal leaves the principal suspended as well, which every other statement
// looks at, and which nothing takes back any more.
func revokePrincipal(t *tx, v registry.SignerRevocation) error {
	if err := known(t, v.PrincipalID); err != nil {
		return err
	}
	var operates bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM credentials WHERE principal_id = ? AND role = 'operator' AND revoked_at IS NULL)", v.PrincipalID).
		Scan(&operates)
	switch {
	case err != nil:
		return err
	case operates:
		return registry.ErrOperator
	}
	return t.exec("UPDATE principals SET status = 'suspended' WHERE principal_id = ?", v.PrincipalID)
}

// revokeKeysOf revokes all keys of a human; at most registry.MaxHumans rows.
func revokeKeysOf(t *tx, v registry.SignerRevocation) error {
	rows, err := t.rows("SELECT kid FROM principal_keys WHERE principal_id = ? AND use = 'human' AND subject = ?", v.PrincipalID, v.Subject)
	kids, err := collect(rows, err, func(scan func(...any) error) (kid string, err error) {
		err = scan(&kid)
		return kid, err
	})
	if err != nil {
		return err
	}
	if len(kids) == 0 {
		return registry.ErrNotFound
	}
	for _, kid := range kids {
		if _, err := revokeName(t, v, api.KindKey, kid); err != nil {
			return err
		}
	}
	_, err = revokeName(t, v, someKey, "")
	return err
}

// revokeName writes a name's row unless it is there: the first time stays.
func revokeName(t *tx, v registry.SignerRevocation, kind, subject string) (written int64, err error) {
	return t.changed(
		`INSERT INTO revocations (principal_id, subject, kind, revoked_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		v.PrincipalID, subject, kind, v.At.UnixMilli())
}

// unrevoked refuses for a principal, or two names of its, that are revoked. "" is no name.
func unrevoked(t *tx, principalID, first, second string) error {
	var revoked bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM revocations WHERE principal_id = ?1 AND subject IN (?1, ?2, ?3) AND subject <> '')",
		principalID, first, second).Scan(&revoked)
	if err == nil && revoked {
		return registry.ErrRevoked
	}
	return err
}

// admissible refuses a new key of a human, or of a principal, that is revoked.
func admissible(t *tx, principalID string, k keyRow) error {
	human := ""
	if k.use == keyOfHuman {
		human = humanName(k.subject)
	}
	err := unrevoked(t, principalID, human, "")
	if errors.Is(err, registry.ErrRevoked) {
		return registry.ErrExists
	}
	return err
}
