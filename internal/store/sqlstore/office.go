package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// Add implements [registry.Directory].
func (r *Registry) Add(ctx context.Context, a registry.Addition) error {
	return r.db.update(ctx, func(t *tx) error {
		if err := known(t, a.PrincipalID); err != nil {
			return err
		}
		keys, err := addKeys(t, a)
		if err != nil {
			return err
		}
		credentials, err := addCredentials(t, a)
		if err != nil {
			return err
		}
		requests, err := addRequests(t, a.PrincipalID, a.Requests, a.At)
		if err != nil || keys+credentials+requests == 0 {
			return err
		}
		if err := withinBounds(t, a.PrincipalID); err != nil {
			return err
		}
		outcome := "added"
		if keys+credentials == 0 {
			outcome = "requested"
		}
		return audit(t, a.At, a.By, "add", a.PrincipalID, outcome)
	})
}

// known refuses for a principal that is not registered.
func known(t *tx, principalID string) error {
	var n int
	return notFound(t.row("SELECT 1 FROM principals WHERE principal_id = ?", principalID).Scan(&n))
}

func addKeys(t *tx, a registry.Addition) (added int64, err error) {
	for _, k := range keyRows(a.PrincipalID, a.Keys, a.Agents, a.Humans) {
		n, err := insertKey(t, a.PrincipalID, k, a.At)
		if err != nil {
			return 0, err
		}
		if added += n; n == 1 {
			if err := admissible(t, a.PrincipalID, k); err != nil {
				return 0, err
			}
			if err := settleNew(t, a.PrincipalID, k, a.At); err != nil {
				return 0, err
			}
			continue
		}
		same, err := stands(t, a.PrincipalID, k)
		if err != nil {
			return 0, err
		}
		if !same {
			return 0, registry.ErrExists
		}
	}
	return added, nil
}

func addCredentials(t *tx, a registry.Addition) (added int64, err error) {
	for _, c := range a.Credentials {
		if c.Role == api.RoleAgent {
			var own int
			err := t.row("SELECT 1 FROM principal_keys WHERE use = 'agent' AND subject = ? AND principal_id = ?", c.AgentID, a.PrincipalID).
				Scan(&own)
			if err != nil {
				return 0, notFound(err)
			}
		}
		n, err := insertCredential(t, a.PrincipalID, c, a.At)
		if err != nil {
			return 0, err
		}
		if added += n; n == 1 {
			continue
		}
		if err := standsAs(t, a.PrincipalID, c); err != nil {
			return 0, err
		}
	}
	return added, nil
}

// standsAs refuses for a credential that is there in another role or for another owner,
// or was withdrawn: one credential has one role (GC-082).
func standsAs(t *tx, principalID string, c api.Credential) error {
	var same bool
	err := t.row(
		`SELECT EXISTS (SELECT 1 FROM credentials WHERE credential_sha256 = ? AND principal_id = ? AND role = ?
		   AND coalesce(agent_id, '') = ? AND revoked_at IS NULL)`, c.Hash, principalID, c.Role, c.AgentID).Scan(&same)
	if err == nil && !same {
		return registry.ErrExists
	}
	return err
}

// withinBounds counts what a principal has: its record must stay one that can be signed.
func withinBounds(t *tx, principalID string) error {
	var keys, agents, humans, credentials int
	err := t.row(
		`SELECT count(*) FILTER (WHERE use = 'principal'), count(*) FILTER (WHERE use = 'agent'), count(*) FILTER (WHERE use = 'human'),
		   (SELECT count(*) FROM credentials WHERE principal_id = ?1)
		 FROM principal_keys WHERE principal_id = ?1`, principalID).Scan(&keys, &agents, &humans, &credentials)
	if err != nil {
		return err
	}
	if keys > registry.MaxKeys || agents > registry.MaxAgents || humans > registry.MaxHumans || credentials > registry.MaxCredentials {
		return registry.ErrFull
	}
	return nil
}

// SetStatus implements [registry.Directory].
func (r *Registry) SetStatus(ctx context.Context, s registry.StatusChange) error {
	status := "suspended"
	if s.Active {
		status = "active"
	}
	return r.db.update(ctx, func(t *tx) error {
		if s.Active {
			if err := unrevoked(t, s.PrincipalID, "", ""); err != nil {
				return err
			}
		}
		n, err := t.changed("UPDATE principals SET status = ?1 WHERE principal_id = ?2 AND status <> ?1", status, s.PrincipalID)
		if err != nil {
			return err
		}
		if n == 0 {
			return known(t, s.PrincipalID)
		}
		return audit(t, s.At, s.By, "set_status", s.PrincipalID, status)
	})
}

// Withdraw implements [registry.Directory].
func (r *Registry) Withdraw(ctx context.Context, w registry.Withdrawal) error {
	return r.db.update(ctx, func(t *tx) error {
		var withdrawn bool
		err := t.row(
			`SELECT revoked_at IS NOT NULL FROM credentials
			 WHERE credential_sha256 = ?1 AND (?2 = '' OR (principal_id = ?2 AND role <> 'operator'))`, w.Credential, w.PrincipalID).
			Scan(&withdrawn)
		if err != nil || withdrawn {
			return notFound(err)
		}
		if err := t.exec("UPDATE credentials SET revoked_at = ? WHERE credential_sha256 = ?", w.At.UnixMilli(), w.Credential); err != nil {
			return err
		}
		return audit(t, w.At, w.By, "withdraw", string(w.Credential), "withdrawn")
	})
}

// AddIssuer implements [registry.Issuers].
func (r *Registry) AddIssuer(ctx context.Context, i registry.Issuer) error {
	return r.db.update(ctx, func(t *tx) error {
		if err := known(t, i.PrincipalID); err != nil {
			return err
		}
		c := api.Credential{Role: api.RoleIssuer, Hash: i.Credential}
		added, err := insertCredential(t, i.PrincipalID, c, i.At)
		if err != nil {
			return err
		}
		if added == 0 {
			if err := standsAs(t, i.PrincipalID, c); err != nil {
				return err
			}
		}
		listed, err := list(t, i)
		if err != nil || added+listed == 0 {
			return err
		}
		return audit(t, i.At, i.By, "register_issuer", string(i.Credential), "registered")
	})
}

func list(t *tx, i registry.Issuer) (listed int64, err error) {
	for _, subject := range i.Subjects {
		n, err := t.changed("INSERT INTO issuer_subjects (credential_sha256, subject, listed_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			i.Credential, subject, i.At.UnixMilli())
		if err != nil {
			return 0, err
		}
		listed += n
	}
	var all int
	if err := t.row("SELECT count(*) FROM issuer_subjects WHERE credential_sha256 = ?", i.Credential).Scan(&all); err != nil {
		return 0, err
	}
	if all > registry.MaxSubjects {
		return 0, registry.ErrFull
	}
	return listed, withinBounds(t, i.PrincipalID)
}

// MayIssue implements [registry.Issuers].
func (r *Registry) MayIssue(ctx context.Context, credential jcs.Hex256, subject string) (may bool, err error) {
	err = r.db.view(ctx).row(
		`SELECT EXISTS (SELECT 1 FROM issuer_subjects JOIN credentials USING (credential_sha256)
		   WHERE credential_sha256 = ? AND subject = ? AND role = 'issuer' AND revoked_at IS NULL)`, credential, subject).Scan(&may)
	return may, err
}

// AuditRows implements [registry.Journal].
func (r *Registry) AuditRows(ctx context.Context, before int64, limit int) ([]api.AuditRow, error) {
	rows, err := r.db.view(ctx).rows(
		`SELECT audit_id, at, role, principal_id, operation, subject, outcome FROM registry_audit
		 WHERE audit_id < ? ORDER BY audit_id DESC LIMIT ?`, before, limit)
	if err != nil {
		return nil, err
	}
	return scanAudit(rows)
}

func scanAudit(rows *sql.Rows) (all []api.AuditRow, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var a api.AuditRow
		var at int64
		if err := rows.Scan(&a.ID, &at, &a.Role, &a.PrincipalID, &a.Operation, &a.Subject, &a.Outcome); err != nil {
			return nil, err
		}
		a.At = fromMillis(at)
		all = append(all, a)
	}
	return all, rows.Err()
}
