package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

// Consume implements [registry.Units].
func (r *Registry) Consume(ctx context.Context, c registry.Consumption) (answer []byte, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		var known bool
		if answer, known, err = knownConsumption(t, c); known || err != nil {
			return err
		}
		open, err := consumable(t, c)
		if err != nil {
			return err
		}
		if err := book(t, open, c.Units, c.At); err != nil {
			return err
		}
		answer = c.Answer
		err = t.exec(
			`INSERT INTO unit_consumptions (effector, request_id, request_sha256, open_mandate_hash, units, answer, consumed_at)
			 VALUES (?, ?, ?, ?, ?, ?, ?)`,
			c.Effector, c.RequestID, c.Request, open, int64(c.Units), c.Answer, c.At.UnixMilli())
		if err != nil {
			return err
		}
		return audit(t, c.At, effector(c.Effector), "consume", string(open), "consumed")
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// knownConsumption looks for what the effector's request was answered with.
func knownConsumption(t *tx, c registry.Consumption) (answer []byte, known bool, err error) {
	var request jcs.Hex256
	err = t.row("SELECT request_sha256, answer FROM unit_consumptions WHERE effector = ? AND request_id = ?", c.Effector, c.RequestID).
		Scan(&request, &answer)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case request != c.Request:
		return nil, false, registry.ErrExists
	}
	return answer, true, nil
}

// consumable finds the Open by the hash of its exact bytes and by nothing else (GC-073),
// and judges all of it but its counter.
func consumable(t *tx, c registry.Consumption) (open jcs.Hex256, err error) {
	var class, currency, principal string
	var expires int64
	var revoked, singleParty, serviceHeld bool
	err = t.row(
		`SELECT open_mandate_hash, class, coalesce(currency, ''), principal_id, expires_at, `+openRevoked+`, single_party,
		   EXISTS (SELECT 1 FROM issuer_subjects WHERE subject = agent_id)
		 FROM opens WHERE token_sha256 = ?`, c.Token).
		Scan(&open, &class, &currency, &principal, &expires, &revoked, &singleParty, &serviceHeld)
	if err != nil {
		return "", notFound(err)
	}
	ladder, err := commitment.ParseClass(class)
	switch {
	case err != nil:
		return "", err
	case serviceHeld:
		return "", registry.ErrServiceHeld
	case !singleParty && principal != c.Effector:
		return "", registry.ErrNotOwn
	case expires <= c.At.UnixMilli():
		return "", registry.ErrExpired
	case !ladder.Permits(c.Class):
		return "", registry.ErrClass
	case currency != string(c.Currency):
		return "", registry.ErrCurrency
	case revoked:
		return "", registry.ErrRevoked
	}
	if err := unsuspended(t, c.Effector); err != nil {
		return "", err
	}
	return open, unsuspended(t, principal)
}

// Burn implements [registry.Units].
func (r *Registry) Burn(ctx context.Context, b registry.Burn) (units commitment.Magnitude, first bool, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		var burned sql.NullInt64
		err := t.row("SELECT units, burned_at FROM unit_consumptions WHERE effector = ? AND request_id = ?", b.Effector, b.RequestID).
			Scan(&units, &burned)
		if first = err == nil && !burned.Valid; !first {
			return notFound(err)
		}
		err = t.exec("UPDATE unit_consumptions SET burned_at = ? WHERE effector = ? AND request_id = ?",
			b.At.UnixMilli(), b.Effector, b.RequestID)
		if err != nil {
			return err
		}
		t.note(Change{Of: "ra", Operation: Burned, Outcome: BurnedReport, Units: int64(units)})
		return audit(t, b.At, effector(b.Effector), "burn", b.RequestID, "burned")
	})
	return units, first && err == nil, err
}
