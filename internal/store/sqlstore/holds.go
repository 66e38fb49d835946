package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Hold implements [registry.Holds].
func (r *Registry) Hold(ctx context.Context, h registry.Hold) (receipt string, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		initiator, err := closedRow(t, h.InitiatorToken)
		if err != nil {
			return err
		}
		responder, err := closedRow(t, h.ResponderToken)
		if err != nil {
			return err
		}
		row, err := holdRow(t, h.Triple)
		switch {
		case err == nil:
			receipt = row.heldReceipt
			if row.state == string(mandate.Released) {
				receipt = row.finalReceipt
			}
			return row.heldBy(h.Effector)
		case !errors.Is(err, registry.ErrNotHeld):
			return err
		}
		if err := holdable(h, initiator, responder); err != nil {
			return err
		}
		receipt = h.Receipt
		return insertHold(t, h)
	})
	if err != nil {
		return "", err
	}
	return receipt, nil
}

// holdable judges two Closeds that no row holds under this triple.
func holdable(h registry.Hold, initiator, responder closed) error {
	switch {
	case initiator.serviceHeld || responder.serviceHeld:
		return registry.ErrServiceHeld
	case initiator.state != "active" || responder.state != "active":
		return registry.ErrConsumed
	case !initiator.pairs(responder) || initiator.crossingID != h.CrossingID || responder.crossingID != h.CrossingID:
		return registry.ErrMismatch
	case responder.principalID != h.Effector:
		return registry.ErrNotResponder
	}
	if err := standing(h.At, initiator, responder); err != nil {
		return err
	}
	// Last, since it may pass: what is revoked or expired is so for good.
	if initiator.suspended || responder.suspended {
		return registry.ErrSuspended
	}
	return nil
}

// standing is what §5.4 reads again at the commit: neither was revoked, neither expired.
func standing(at time.Time, initiator, responder closed) error {
	switch {
	case initiator.revoked || responder.revoked:
		return registry.ErrRevoked
	case at.UnixMilli() >= min(initiator.expires, responder.expires):
		return registry.ErrExpired
	}
	return nil
}

func insertHold(t *tx, h registry.Hold) error {
	n, err := t.changed("UPDATE closeds SET state = 'consumed' WHERE token_sha256 IN (?, ?) AND state = 'active'",
		h.InitiatorToken, h.ResponderToken)
	switch {
	case err != nil:
		return err
	case n != 2:
		return registry.ErrConsumed
	}
	err = t.exec(
		`INSERT INTO holds (crossing_id, initiator_token, responder_token, effector, state, held_receipt, held_at)
		 VALUES (?, ?, ?, ?, 'held', ?, ?)`,
		h.CrossingID, h.InitiatorToken, h.ResponderToken, h.Effector, h.Receipt, h.At.UnixMilli())
	if err != nil {
		return err
	}
	return audit(t, h.At, effector(h.Effector), "hold", h.CrossingID, string(mandate.Held))
}

func effector(principalID string) registry.Actor {
	return registry.Actor{Role: api.RoleEffector, PrincipalID: principalID}
}

// closed is what a hold and a confirm look at of a registered Closed.
type closed struct {
	principalID, agent, counterparty, chainID, crossingID, state string
	expires                                                      int64
	revoked                                                      bool // it or its Open
	suspended                                                    bool // its principal
	serviceHeld                                                  bool // its agent is on an issuer's list
}

func closedRow(t *tx, token jcs.Hex256) (c closed, err error) {
	err = t.row(
		`SELECT c.principal_id, c.agent_id, c.counterparty_agent, c.chain_id, c.crossing_id, c.state, c.expires_at,
		   coalesce(c.revoked_at, o.revoked_at) IS NOT NULL, p.status <> 'active',
		   EXISTS (SELECT 1 FROM issuer_subjects WHERE subject = c.agent_id)
		 FROM closeds c JOIN opens o USING (open_mandate_hash) JOIN principals p ON p.principal_id = c.principal_id
		 WHERE c.token_sha256 = ?`, token).
		Scan(&c.principalID, &c.agent, &c.counterparty, &c.chainID, &c.crossingID, &c.state, &c.expires,
			&c.revoked, &c.suspended, &c.serviceHeld)
	return c, notFound(err)
}

// pairs reports whether the two were registered for each other (design S3).
func (c closed) pairs(other closed) bool {
	return c.agent == other.counterparty && c.counterparty == other.agent && c.chainID == other.chainID
}

// hold is one row of the state machine held → spent | released.
type hold struct{ effector, state, heldReceipt, finalReceipt string }

func (h hold) heldBy(effector string) error {
	if h.effector != effector {
		return registry.ErrForeign
	}
	return nil
}

func holdRow(t *tx, tr mandate.Triple) (h hold, err error) {
	err = t.row(
		`SELECT effector, state, held_receipt, coalesce(final_receipt, '') FROM holds
		 WHERE crossing_id = ? AND initiator_token = ? AND responder_token = ?`,
		tr.CrossingID, tr.InitiatorToken, tr.ResponderToken).
		Scan(&h.effector, &h.state, &h.heldReceipt, &h.finalReceipt)
	if errors.Is(err, sql.ErrNoRows) {
		return hold{}, registry.ErrNotHeld
	}
	return h, err
}

// Confirm implements [registry.Holds].
func (r *Registry) Confirm(ctx context.Context, c registry.Confirmation) (receipt string, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		receipt, err = confirmHold(t, c.Triple, c.Effector, c.At, c.Receipt)
		return err
	})
	if err != nil {
		return "", err
	}
	return receipt, nil
}

// confirmHold is the re-read of §5.4 and the spending it guards (design R4), inside the
// caller's transaction: the Registration Authority's own, or that of a commit in the
// same store. It writes the hold row and its audit row, and no mandate's (GC-303). It
// returns what the hold row holds as its final receipt: receipt, or the one of whoever
// decided before. Errors are those of [registry.Holds].Confirm.
func confirmHold(t *tx, tr mandate.Triple, by string, at time.Time, receipt string) (stored string, err error) {
	row, err := holdRow(t, tr)
	if errors.Is(err, registry.ErrNotHeld) {
		return "", notHeld(t, tr)
	}
	if err != nil {
		return "", err
	}
	if err := row.heldBy(by); err != nil {
		return "", err
	}
	if row.state != string(mandate.Held) {
		return row.finalReceipt, nil
	}
	initiator, err := closedRow(t, tr.InitiatorToken)
	if err != nil {
		return "", err
	}
	responder, err := closedRow(t, tr.ResponderToken)
	if err != nil {
		return "", err
	}
	if err := standing(at, initiator, responder); err != nil {
		return "", err
	}
	n, err := t.changed(
		`UPDATE holds SET state = 'spent', final_receipt = ?, decided_at = ?
		 WHERE crossing_id = ? AND initiator_token = ? AND responder_token = ? AND effector = ? AND state = 'held'`,
		receipt, at.UnixMilli(), tr.CrossingID, tr.InitiatorToken, tr.ResponderToken, by)
	switch {
	case err != nil:
		return "", err
	case n != 1:
		return "", registry.ErrNotHeld
	}
	return receipt, audit(t, at, effector(by), "confirm", tr.CrossingID, string(mandate.Spent))
}

// notHeld tells a triple that may be held yet from one that never can.
func notHeld(t *tx, tr mandate.Triple) error {
	var consumed bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM closeds WHERE token_sha256 IN (?, ?) AND state <> 'active')",
		tr.InitiatorToken, tr.ResponderToken).Scan(&consumed)
	switch {
	case err != nil:
		return err
	case consumed:
		return registry.ErrConsumed
	}
	return registry.ErrNotHeld
}

// Spent implements [registry.Holds].
func (r *Registry) Spent(ctx context.Context, tr mandate.Triple) (initiator, responder bool, err error) {
	return spentFlags(r.db.view(ctx), tr)
}

// spentFlags tells of each token of the triple whether it is held or spent under the
// triple's crossing_id, with whatever counterpart.
func spentFlags(t *tx, tr mandate.Triple) (initiator, responder bool, err error) {
	err = t.row(
		`SELECT EXISTS (SELECT 1 FROM holds WHERE crossing_id = ?1 AND state <> 'released'
		     AND (initiator_token = ?2 OR responder_token = ?2)),
		   EXISTS (SELECT 1 FROM holds WHERE crossing_id = ?1 AND state <> 'released'
		     AND (initiator_token = ?3 OR responder_token = ?3))`,
		tr.CrossingID, tr.InitiatorToken, tr.ResponderToken).Scan(&initiator, &responder)
	return initiator, responder, err
}
