package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Lookup implements [centre.Seals].
func (c *Centre) Lookup(ctx context.Context, crossingID string, jointSeal jcs.Hex256) (centre.Outcome, error) {
	t := c.db.view(ctx)
	seal, err := sealOf(t, crossingID)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return centre.Outcome{Seal: seal}, err
	}
	open, err := attemptsWhere(t, "crossing_id = ? AND state = 'open'", crossingID)
	if err != nil {
		return centre.Outcome{}, err
	}
	if len(open) > 0 {
		return centre.Outcome{Open: open[0]}, nil
	}
	var refusal []byte
	err = t.row("SELECT refusal FROM attempts WHERE crossing_id = ? AND joint_seal = ? AND state = 'refused'",
		crossingID, string(jointSeal)).Scan(&refusal)
	if errors.Is(err, sql.ErrNoRows) {
		return centre.Outcome{}, nil
	}
	if err != nil {
		return centre.Outcome{}, err
	}
	refused, err := decodeRefusal(refusal)
	return centre.Outcome{Refused: refused}, err
}

func sealOf(t *tx, crossingID string) (*centre.Seal, error) {
	s := &centre.Seal{}
	var at int64
	err := t.row(`SELECT crossing_id, joint_seal, seal_id, record, response, block, spend_receipt, initiator_receipt, sealed_at,
		NOT EXISTS (SELECT 1 FROM outbox o WHERE o.crossing_id = seals.crossing_id AND o.role = 'responder' AND o.acknowledged_at IS NULL)
		FROM seals WHERE crossing_id = ?`, crossingID).
		Scan(&s.CrossingID, &s.JointSeal, &s.SealID, &s.Record, &s.Response, &s.Block, &s.SpendReceipt, &s.InitiatorReceipt, &at, &s.Published)
	if err != nil {
		return nil, err
	}
	s.SealedAt = instant(at)
	return s, nil
}

func attemptsWhere(t *tx, where string, args ...any) ([]*centre.Attempt, error) {
	rows, err := t.rows("SELECT crossing_id, joint_seal, record, params FROM attempts WHERE "+where, args...)
	return collect(rows, err, func(scan func(...any) error) (*centre.Attempt, error) {
		a := &centre.Attempt{}
		return a, scan(&a.CrossingID, &a.JointSeal, &a.Record, &a.Params)
	})
}

// OpenAttempt implements [centre.Seals].
func (c *Centre) OpenAttempt(ctx context.Context, cleared *crossing.Cleared, at time.Time) (*centre.Attempt, error) {
	if !cleared.Valid() {
		return nil, errors.New("sqlstore: an attempt without a cleared record")
	}
	p := cleared.Params()
	a := &centre.Attempt{CrossingID: p.Record.CrossingID, JointSeal: cleared.JointSeal(), Record: p.RecordBytes, Params: p.Bytes()}
	err := c.db.update(ctx, func(t *tx) error {
		if err := bind(t, p.Record); err != nil {
			return err
		}
		n, err := t.changed(`INSERT INTO attempts (crossing_id, joint_seal, record, params, state, opened_at)
			VALUES (?, ?, ?, ?, 'open', ?) ON CONFLICT DO NOTHING`,
			a.CrossingID, string(a.JointSeal), a.Record, a.Params, at.UnixMilli())
		if err == nil && n != 1 {
			err = centre.ErrConflict
		}
		if err != nil {
			return err
		}
		if err := unsealed(t, a.CrossingID); err != nil {
			return err
		}
		return putNonces(t, a.CrossingID, cleared.Nonces())
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// unsealed refuses for a crossing that is sealed.
func unsealed(t *tx, crossingID string) error {
	var sealed bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM attempts WHERE crossing_id = ? AND state = 'sealed')", crossingID).Scan(&sealed)
	if err == nil && sealed {
		return centre.ErrConflict
	}
	return err
}

// bind ties an attempt to the responder's row that holds the Closed of its record. The
// row's version moves, so that a restart that read it before loses (AG-33).
func bind(t *tx, record *crossing.Record) error {
	var session, closed string
	err := t.row("SELECT session_id, own_closed FROM crossings WHERE crossing_id = ? AND role = 'responder'", record.CrossingID).Scan(&session, &closed)
	if errors.Is(err, sql.ErrNoRows) || err == nil && jcs.HexOf([]byte(closed)) != record.Responder.ClosedMandateHash {
		return centre.ErrConflict
	}
	if err != nil {
		return err
	}
	return t.exec("UPDATE crossings SET version = version + 1 WHERE session_id = ?", session)
}

func putNonces(t *tx, crossingID string, nonces map[crossing.Nonce]jcs.Hex256) error {
	for n, token := range nonces {
		changed, err := t.changed(`INSERT INTO nonces (crossing_id, iss, nonce, token_sha256) VALUES (?1, ?2, ?3, ?4)
			ON CONFLICT (crossing_id, iss, nonce) DO UPDATE SET token_sha256 = ?4 WHERE nonces.token_sha256 = ?4`,
			crossingID, n.Issuer, n.Value, string(token))
		if err == nil && changed != 1 {
			err = centre.ErrConflict
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OpenAttempts implements [centre.Seals].
func (c *Centre) OpenAttempts(ctx context.Context, after string, limit int) ([]*centre.Attempt, error) {
	return attemptsWhere(c.db.view(ctx), "state = 'open' AND crossing_id > ? ORDER BY crossing_id LIMIT ?", after, limit)
}

// Nonces implements [centre.Seals].
func (c *Centre) Nonces(ctx context.Context, crossingID string) (map[crossing.Nonce]jcs.Hex256, error) {
	rows, err := c.db.view(ctx).rows("SELECT iss, nonce, token_sha256 FROM nonces WHERE crossing_id = ?", crossingID)
	used := map[crossing.Nonce]jcs.Hex256{}
	_, err = collect(rows, err, func(scan func(...any) error) (struct{}, error) {
		var n crossing.Nonce
		var token jcs.Hex256
		err := scan(&n.Issuer, &n.Value, &token)
		used[n] = token
		return struct{}{}, err
	})
	return used, err
}

// RefuseRecord implements [centre.Seals].
func (c *Centre) RefuseRecord(ctx context.Context, a *centre.Attempt, tr mandate.Triple, row centre.RefusalRow) error {
	return c.db.update(ctx, func(t *tx) error {
		return refuse(t, a, tr, row, "DO NOTHING")
	})
}

// RefuseAttempt implements [centre.Seals].
func (c *Centre) RefuseAttempt(ctx context.Context, a *centre.Attempt, tr mandate.Triple, row centre.RefusalRow) error {
	return c.db.update(ctx, func(t *tx) error { return refuseAttempt(t, a, tr, row) })
}

// refuseAttempt is open → refused.
func refuseAttempt(t *tx, a *centre.Attempt, tr mandate.Triple, row centre.RefusalRow) error {
	return refuse(t, a, tr, row, `DO UPDATE SET state = 'refused', refusal = ?5, initiator_spent = ?6, responder_spent = ?7, decided_at = ?8
		WHERE attempts.state = 'open'`)
}

// refuse writes the state refused, final for its joint seal; conflict says what becomes of
// a row that is there.
func refuse(t *tx, a *centre.Attempt, tr mandate.Triple, row centre.RefusalRow, conflict string) error {
	var err error
	if row.InitiatorSpent, row.ResponderSpent, err = consumed(t, tr); err != nil {
		return err
	}
	n, err := t.changed(`INSERT INTO attempts (crossing_id, joint_seal, record, params, state, refusal, initiator_spent, responder_spent, opened_at, decided_at)
		VALUES (?1, ?2, ?3, ?4, 'refused', ?5, ?6, ?7, ?8, ?8)
		ON CONFLICT (crossing_id, joint_seal) `+conflict,
		a.CrossingID, string(a.JointSeal), a.Record, a.Params, refusalBytes(&row.Refusal),
		row.InitiatorSpent, row.ResponderSpent, row.At.UnixMilli())
	if err == nil && n != 1 {
		err = centre.ErrConflict
	}
	if err != nil {
		return err
	}
	if err := t.exec(`UPDATE crossings SET state = 'refused', refusal = ?, version = version + 1, updated_at = ?
		WHERE crossing_id = ? AND role = 'responder' AND state = 'sealing'
		AND NOT EXISTS (SELECT 1 FROM attempts WHERE crossing_id = ? AND state <> 'refused')`,
		refusalBytes(&row.Refusal), row.At.UnixMilli(), a.CrossingID, a.CrossingID); err != nil {
		return err
	}
	return insertRefusal(t, row)
}

// Commit implements [centre.Seals]: the one transaction of design R4, same store.
func (c *Centre) Commit(ctx context.Context, m centre.Commit) (seal *centre.Seal, refusal *crossing.Refusal, err error) {
	err = c.db.update(ctx, func(t *tx) error {
		seal, refusal = nil, nil
		receipt, err := confirmHold(t, registry.Confirmation{Triple: m.Triple, Effector: m.Effector, Receipt: m.SpendReceipt, At: m.At})
		if err == nil {
			err = stillSpent(t, m.Triple)
		}
		if refusal = commitRefusal(err); refusal != nil {
			row := centre.RefusalRow{Refusal: *refusal, CrossingID: m.Attempt.CrossingID, At: m.At, Counterparty: m.Counterparty}
			return refuseAttempt(t, m.Attempt, m.Triple, row)
		}
		if err != nil {
			return err
		}
		seal, err = sealAttempt(t, m, receipt)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return seal, refusal, nil
}

// stillSpent refuses what was released before: no receipt of spending, no seal, for good.
func stillSpent(t *tx, tr mandate.Triple) error {
	row, err := holdRow(t, tr)
	if err == nil && row.State != mandate.Spent {
		return errReleased
	}
	return err
}

var errReleased = errors.New("sqlstore: the hold was released")

// commitRefusal is the refusal that the re-read of §5.4 gives, or a hold that was released.
func commitRefusal(err error) *crossing.Refusal {
	switch {
	case errors.Is(err, registry.ErrRevoked):
		return crossing.Refuse(crossing.MandateRevoked)
	case errors.Is(err, registry.ErrExpired):
		return crossing.Refuse(crossing.MandateExpired)
	case errors.Is(err, errReleased):
		return crossing.RefuseAt(crossing.MagnitudeExhausted, centre.ReleasedPath)
	}
	return nil
}

func sealAttempt(t *tx, m centre.Commit, receipt string) (*centre.Seal, error) {
	n, err := t.changed("UPDATE attempts SET state = 'sealed', initiator_spent = 1, responder_spent = 1, decided_at = ? WHERE crossing_id = ? AND joint_seal = ? AND state = 'open'",
		m.At.UnixMilli(), m.Attempt.CrossingID, string(m.Attempt.JointSeal))
	if err == nil && n != 1 {
		err = centre.ErrConflict
	}
	if err != nil {
		return nil, err
	}
	position, err := nextPosition(t, m.Party, m.ChainID)
	if err != nil {
		return nil, err
	}
	seal, publication, err := m.Build(position, receipt)
	if err != nil {
		return nil, err
	}
	if _, err := appendAnchor(t, m.Party, m.ChainID, position, seal.JointSeal, seal.CrossingID, m.At); err != nil {
		return nil, err
	}
	err = t.exec(`INSERT INTO seals (crossing_id, joint_seal, seal_id, record, response, block, spend_receipt, initiator_receipt, sealed_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		seal.CrossingID, string(seal.JointSeal), seal.SealID, seal.Record, seal.Response, seal.Block, seal.SpendReceipt, seal.InitiatorReceipt,
		seal.SealedAt.UnixMilli())
	if err != nil {
		return nil, err
	}
	t.note(Change{Of: "centre", Operation: "seal"})
	return &seal, insertPublication(t, publication, m.At)
}
