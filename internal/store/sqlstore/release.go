package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Find implements [registry.Releases].
func (r *Registry) Find(ctx context.Context, tr mandate.Triple) (registry.HoldRow, error) {
	t := r.db.view(ctx)
	row, err := holdRow(t, tr)
	if errors.Is(err, registry.ErrNotHeld) {
		return registry.HoldRow{}, notHeld(t, tr)
	}
	if err != nil {
		return registry.HoldRow{}, err
	}
	found := registry.HoldRow{Triple: tr, Spending: row.Spending, Half: row.half, Effector: row.effector, Receipt: row.receipt()}
	if row.half == mandate.Both {
		return found, nil
	}
	own, err := ownCloseds(t, tr, row.half)
	if err != nil {
		return registry.HoldRow{}, err
	}
	found.Peer, err = principalOfAgent(t, own[0].counterparty)
	return found, err
}

// Kept implements [registry.Releases].
func (r *Registry) Kept(ctx context.Context, tr mandate.Triple) (mandate.Half, error) {
	var initiator, responder bool
	err := r.db.view(ctx).row(
		`SELECT EXISTS (SELECT 1 FROM closeds WHERE token_sha256 = ?1), EXISTS (SELECT 1 FROM closeds WHERE token_sha256 = ?2)`,
		tr.InitiatorToken, tr.ResponderToken).Scan(&initiator, &responder)
	switch {
	case err != nil:
		return mandate.Both, err
	case initiator && responder:
		return mandate.Both, nil
	case initiator:
		return mandate.InitiatorHalf, nil
	case responder:
		return mandate.ResponderHalf, nil
	}
	return mandate.Both, registry.ErrNotFound
}

// Release implements [registry.Releases].
func (r *Registry) Release(ctx context.Context, v registry.Releasing) (receipt string, first bool, err error) {
	err = r.db.update(ctx, func(t *tx) error {
		receipt, first, err = release(t, v)
		return err
	})
	if err != nil {
		return "", false, err
	}
	return receipt, first, nil
}

func release(t *tx, v registry.Releasing) (receipt string, first bool, err error) {
	row, err := holdRow(t, v.Triple)
	if errors.Is(err, registry.ErrNotHeld) {
		return "", false, notHeld(t, v.Triple)
	}
	if err != nil {
		return "", false, err
	}
	if v.Effector != "" && v.Effector != row.effector {
		return "", false, registry.ErrForeign
	}
	if v.Half != row.half {
		return "", false, registry.ErrHalf
	}
	next, err := row.On(v.Event, registry.Facts{
		Due: v.At.UnixMilli() >= row.lapses, First: row.half == mandate.InitiatorHalf, Returns: v.Returns,
	})
	if err != nil || next == row.Spending {
		return row.receipt(), false, err
	}
	if err := decide(t, v.Triple, row.State, next.State, v.Receipt, v.At); err != nil {
		return "", false, err
	}
	if v.Refusal != "" {
		if err := t.exec("UPDATE holds SET refusal = ? WHERE crossing_id = ? AND initiator_token = ? AND responder_token = ?",
			v.Refusal, v.CrossingID, v.InitiatorToken, v.ResponderToken); err != nil {
			return "", false, err
		}
	}
	for _, token := range ownTokens(v.Triple, row.half) {
		if err := giveBack(t, token, registry.ClosedConsumed); err != nil {
			return "", false, err
		}
	}
	return v.Receipt, true, audit(t, v.At, v.By, "release", v.CrossingID, string(next.State))
}

// giveBack marks a Closed's row and returns its draw to its Open, in one transaction and by
// compare-and-swap on the row: a draw that was returned is not found again. What an Open
// without a limit has drawn stops at the largest magnitude, so it may give back more than it
// shows.
func giveBack(t *tx, token jcs.Hex256, from string) error {
	n, err := t.changed("UPDATE closeds SET state = 'released' WHERE token_sha256 = ? AND state = ?", token, from)
	switch {
	case err != nil:
		return err
	case n != 1:
		return registry.ErrConsumed
	}
	return t.exec(
		`UPDATE opens SET drawn = CASE WHEN drawn < (SELECT draw FROM closeds WHERE token_sha256 = ?1) THEN 0
		   ELSE drawn - (SELECT draw FROM closeds WHERE token_sha256 = ?1) END
		 WHERE open_mandate_hash = (SELECT open_mandate_hash FROM closeds WHERE token_sha256 = ?1)`, token)
}

// Due implements [registry.Releases].
func (r *Registry) Due(ctx context.Context, at time.Time, limit int) ([]registry.HoldRow, error) {
	rows, err := r.db.view(ctx).rows(
		`SELECT crossing_id, initiator_token, responder_token, half, effector, held_receipt FROM holds
		 WHERE state = 'held' AND lapses_at <= ? ORDER BY lapses_at LIMIT ?`, at.UnixMilli(), limit)
	return collect(rows, err, func(scan func(...any) error) (registry.HoldRow, error) {
		h := registry.HoldRow{Spending: registry.Spending{State: mandate.Held}}
		err := scan(&h.CrossingID, &h.InitiatorToken, &h.ResponderToken, &h.Half, &h.Effector, &h.Receipt)
		return h, err
	})
}

// Lapse implements [registry.Releases].
func (r *Registry) Lapse(ctx context.Context, at time.Time, limit int) (lapsed int, err error) {
	tokens, err := r.lapsing(ctx, at, limit)
	if err != nil || len(tokens) == 0 {
		return 0, err
	}
	err = r.db.update(ctx, func(t *tx) error {
		lapsed = 0
		for _, token := range tokens {
			c, err := closedRow(t, token)
			if err != nil {
				return err
			}
			if !c.Lapses(c.expired(at), true) {
				continue // held in the meantime, or lapsed by another
			}
			if err := giveBack(t, token, c.State); err != nil {
				return err
			}
			if err := audit(t, at, registry.Actor{Role: registry.RoleTimer, PrincipalID: c.principalID}, "lapse", string(token), registry.ClosedReleased); err != nil {
				return err
			}
			lapsed++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return lapsed, nil
}

func (r *Registry) lapsing(ctx context.Context, at time.Time, limit int) ([]jcs.Hex256, error) {
	rows, err := r.db.view(ctx).rows(
		"SELECT token_sha256 FROM closeds WHERE state = 'active' AND expires_at <= ? ORDER BY expires_at LIMIT ?", at.UnixMilli(), limit)
	return collect(rows, err, func(scan func(...any) error) (token jcs.Hex256, err error) {
		err = scan(&token)
		return token, err
	})
}
