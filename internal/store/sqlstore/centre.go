package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
)

// Centre is the [centre.Store] of one party.
type Centre struct{ db *DB }

var _ centre.Store = (*Centre)(nil)

// Centre returns the party's view of the database.
func (db *DB) Centre() *Centre { return &Centre{db} }

const crossingColumns = `session_id, role, version, task_id, context_id, coalesce(crossing_id, ''), state, peer_url,
	intended_class, intended_act, own_party, peer_party, own_open, own_disclosure, peer_open, terms, agreement_hash, amount,
	own_closed, own_receipt, peer_closed, peer_receipt, peer_disclosures,
	coalesce(mandates_verified_at, 0), coalesce(terms_agreed_at, 0), artifact_id, refusal, report, created_at, updated_at`

// Crossing implements [centre.Crossings].
func (c *Centre) Crossing(ctx context.Context, sessionID string) (*centre.Crossing, error) {
	return scanCrossing(c.db.view(ctx).row("SELECT "+crossingColumns+" FROM crossings WHERE session_id = ?", sessionID))
}

// CrossingByID implements [centre.Crossings].
func (c *Centre) CrossingByID(ctx context.Context, crossingID string) (*centre.Crossing, error) {
	return scanCrossing(c.db.view(ctx).row("SELECT "+crossingColumns+" FROM crossings WHERE crossing_id = ?", crossingID))
}

// Unfinished implements [centre.Crossings].
func (c *Centre) Unfinished(ctx context.Context, before time.Time, limit int) ([]*centre.Crossing, error) {
	rows, err := c.db.view(ctx).rows("SELECT "+crossingColumns+` FROM crossings
		WHERE role = 'initiator' AND state = 'sealing' AND report IS NULL AND updated_at < ? ORDER BY updated_at LIMIT ?`,
		before.UnixMilli(), limit)
	return collect(rows, err, readCrossing)
}

func scanCrossing(row row) (*centre.Crossing, error) {
	x, err := readCrossing(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, centre.ErrNone
	}
	return x, err
}

func readCrossing(scan func(...any) error) (*centre.Crossing, error) {
	x := &centre.Crossing{}
	var own, peer, amount, disclosures, refusal []byte
	var verified, agreed, created, updated int64
	err := scan(&x.SessionID, &x.Role, &x.Version, &x.TaskID, &x.ContextID, &x.CrossingID, &x.State, &x.PeerURL,
		&x.Class, &x.Act, &own, &peer, &x.OwnOpen, &x.OwnDisclosure, &x.PeerOpen, &x.Terms, &x.Agreement, &amount,
		&x.OwnClosed, &x.OwnReceipt, &x.PeerClosed, &x.PeerReceipt, &disclosures,
		&verified, &agreed, &x.ArtifactID, &refusal, &x.Report, &created, &updated)
	if err != nil {
		return nil, err
	}
	x.VerifiedAt, x.AgreedAt, x.CreatedAt, x.UpdatedAt = instant(verified), instant(agreed), instant(created), instant(updated)
	return x, decodeCrossing(x, own, peer, amount, disclosures, refusal)
}

// Put implements [centre.Crossings].
func (c *Centre) Put(ctx context.Context, x *centre.Crossing) error {
	err := c.db.update(ctx, func(t *tx) error { return putCrossing(t, x) })
	if err == nil {
		x.Version++
	}
	return err
}

// putCrossing writes x as version x.Version+1 over version x.Version.
func putCrossing(t *tx, x *centre.Crossing) error {
	if x.CrossingID != "" {
		var holder string
		err := t.row("SELECT session_id FROM crossings WHERE crossing_id = ?", x.CrossingID).Scan(&holder)
		if err == nil && holder != x.SessionID {
			return centre.ErrConflict
		}
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	values := []any{
		x.Version + 1, x.TaskID, x.ContextID, nullable(x.CrossingID), string(x.State), x.PeerURL,
		x.Class, x.Act, profileBytes(x.Own), profileBytes(x.Peer), x.OwnOpen, x.OwnDisclosure, x.PeerOpen, x.Terms,
		string(x.Agreement), amountBytes(x.Amount), x.OwnClosed, x.OwnReceipt, x.PeerClosed, x.PeerReceipt, textBytes(x.PeerDisclosures),
		millis(x.VerifiedAt), millis(x.AgreedAt), x.ArtifactID, refusalBytes(x.Refusal), x.Report,
		x.CreatedAt.UnixMilli(), x.UpdatedAt.UnixMilli(),
	}
	query := `UPDATE crossings SET version = ?, task_id = ?, context_id = ?, crossing_id = ?, state = ?, peer_url = ?,
		intended_class = ?, intended_act = ?, own_party = ?, peer_party = ?, own_open = ?, own_disclosure = ?, peer_open = ?, terms = ?,
		agreement_hash = ?, amount = ?, own_closed = ?, own_receipt = ?, peer_closed = ?, peer_receipt = ?, peer_disclosures = ?,
		mandates_verified_at = ?, terms_agreed_at = ?, artifact_id = ?, refusal = ?, report = ?, created_at = ?, updated_at = ?
		WHERE session_id = ? AND version = ?`
	values = append(values, x.SessionID, x.Version)
	if x.Version == 0 {
		query = `INSERT INTO crossings (version, task_id, context_id, crossing_id, state, peer_url,
			intended_class, intended_act, own_party, peer_party, own_open, own_disclosure, peer_open, terms,
			agreement_hash, amount, own_closed, own_receipt, peer_closed, peer_receipt, peer_disclosures,
			mandates_verified_at, terms_agreed_at, artifact_id, refusal, report, created_at, updated_at, session_id, role)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (session_id) DO NOTHING`
		values[len(values)-1] = string(x.Role)
	}
	n, err := t.changed(query, values...)
	if err == nil && n != 1 {
		err = centre.ErrConflict
	}
	if err != nil {
		return err
	}
	return putNonces(t, x.CrossingID, x.Nonces)
}

// Refuse implements [centre.Crossings].
func (c *Centre) Refuse(ctx context.Context, row centre.RefusalRow, x *centre.Crossing) error {
	err := c.db.update(ctx, func(t *tx) error {
		if x != nil {
			if err := putCrossing(t, x); err != nil {
				return err
			}
		}
		return insertRefusal(t, row)
	})
	if err == nil && x != nil {
		x.Version++
	}
	return err
}

func insertRefusal(t *tx, r centre.RefusalRow) error {
	t.note(Change{Of: "centre", Operation: "refuse", Outcome: string(r.Refusal.Name)})
	return t.exec(`INSERT INTO refusals (name, crossing_id, at, failure_path, counterparty, initiator_spent, responder_spent, detail)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		string(r.Refusal.Name), nullable(r.CrossingID), r.At.UnixMilli(), r.Refusal.Path, r.Counterparty,
		r.InitiatorSpent, r.ResponderSpent, r.Refusal.Member)
}

// Refusals implements [centre.Crossings].
func (c *Centre) Refusals(ctx context.Context, limit int) ([]centre.RefusalRow, error) {
	rows, err := c.db.view(ctx).rows(`SELECT name, coalesce(crossing_id, ''), at, failure_path, counterparty, initiator_spent, responder_spent, detail
		FROM refusals ORDER BY refusal_id DESC LIMIT ?`, limit)
	return collect(rows, err, func(scan func(...any) error) (r centre.RefusalRow, err error) {
		var at int64
		err = scan(&r.Refusal.Name, &r.CrossingID, &at, &r.Refusal.Path, &r.Counterparty, &r.InitiatorSpent, &r.ResponderSpent, &r.Refusal.Member)
		r.At = instant(at)
		return r, err
	})
}

// CountRefusals implements [centre.Crossings].
func (c *Centre) CountRefusals(ctx context.Context, counterparty string, name crossing.Name, since time.Time, except ...string) (n int, err error) {
	args := []any{counterparty, string(name), since.UnixMilli()}
	for _, path := range except {
		args = append(args, path)
	}
	err = c.db.view(ctx).row(`SELECT count(*) FROM refusals
		WHERE counterparty = ? AND name = ? AND at >= ?`+strings.Repeat(" AND failure_path <> ?", len(except))+`
		AND NOT EXISTS (SELECT 1 FROM crossings c WHERE c.crossing_id = refusals.crossing_id AND c.role = 'initiator')`, args...).Scan(&n)
	return n, err
}

// PutGrant implements [centre.Grants].
func (c *Centre) PutGrant(ctx context.Context, g centre.Grant) error {
	return c.db.update(ctx, func(t *tx) error {
		return t.exec(`INSERT INTO grants (open_mandate_hash, presented, disclosure, receipt, expires_at, created_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (open_mandate_hash) DO NOTHING`,
			string(g.OpenHash), g.Presented, g.Disclosure, g.Receipt, g.ExpiresAt.UnixMilli(), g.CreatedAt.UnixMilli())
	})
}

// Grants implements [centre.Grants].
func (c *Centre) Grants(ctx context.Context) ([]centre.Grant, error) {
	rows, err := c.db.view(ctx).rows(`SELECT open_mandate_hash, presented, disclosure, receipt, drawn, expires_at, created_at, revoked_at IS NOT NULL
		FROM grants ORDER BY created_at DESC, rowid DESC LIMIT 1000`)
	return collect(rows, err, func(scan func(...any) error) (g centre.Grant, err error) {
		var expires, created int64
		err = scan(&g.OpenHash, &g.Presented, &g.Disclosure, &g.Receipt, &g.Drawn, &expires, &created, &g.Revoked)
		g.ExpiresAt, g.CreatedAt = instant(expires), instant(created)
		return g, err
	})
}

// Drawn implements [centre.Grants].
func (c *Centre) Drawn(ctx context.Context, openHash jcs.Hex256, n int64) error {
	return c.db.update(ctx, func(t *tx) error {
		return t.exec("UPDATE grants SET drawn = drawn + ? WHERE open_mandate_hash = ?", n, string(openHash))
	})
}

// RevokeGrant implements [centre.Grants].
func (c *Centre) RevokeGrant(ctx context.Context, openHash jcs.Hex256, at time.Time) error {
	return c.db.update(ctx, func(t *tx) error {
		return t.exec("UPDATE grants SET revoked_at = ? WHERE open_mandate_hash = ? AND revoked_at IS NULL", at.UnixMilli(), string(openHash))
	})
}

// Next implements [centre.Chains].
func (c *Centre) Next(ctx context.Context, party string, chainID jcs.Hex256) (chain.Position, error) {
	return nextPosition(c.db.view(ctx), party, chainID)
}

func nextPosition(t *tx, party string, chainID jcs.Hex256) (p chain.Position, err error) {
	err = t.row("SELECT next_seq, anchor FROM chain_heads WHERE party = ? AND chain_id = ?", party, string(chainID)).Scan(&p.Seq, &p.Prev)
	if errors.Is(err, sql.ErrNoRows) {
		return chain.Genesis(), nil
	}
	return p, err
}

// Links implements [centre.Chains].
func (c *Centre) Links(ctx context.Context, party string, chainID jcs.Hex256) ([]chain.Link, error) {
	rows, err := c.db.view(ctx).rows(`SELECT coalesce(prev_hash, ''), chain_seq, joint_seal, anchor, crossing_id
		FROM anchors WHERE party = ? AND chain_id = ? ORDER BY chain_seq`, party, string(chainID))
	return collect(rows, err, scanLink)
}

// ChainIDs lists the chains of a party, for its owner.
func (c *Centre) ChainIDs(ctx context.Context, party string) ([]jcs.Hex256, error) {
	rows, err := c.db.view(ctx).rows("SELECT chain_id FROM chain_heads WHERE party = ? ORDER BY chain_id", party)
	return collect(rows, err, func(scan func(...any) error) (id jcs.Hex256, err error) {
		return id, scan(&id)
	})
}

func scanLink(scan func(...any) error) (l chain.Link, err error) {
	return l, scan(&l.Prev, &l.Seq, &l.JointSeal, &l.Anchor, &l.CrossingID)
}

// ChainOf implements [centre.Chains].
func (c *Centre) ChainOf(ctx context.Context, party string, anchor jcs.Hex256) (id jcs.Hex256, err error) {
	err = c.db.view(ctx).row("SELECT chain_id FROM anchors WHERE party = ? AND anchor = ?", party, string(anchor)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// Link implements [centre.Chains].
func (c *Centre) Link(ctx context.Context, party, crossingID string) (chain.Link, error) {
	return linkOf(c.db.view(ctx), party, crossingID)
}

func linkOf(t *tx, party, crossingID string) (chain.Link, error) {
	l, err := scanLink(t.row(`SELECT coalesce(prev_hash, ''), chain_seq, joint_seal, anchor, crossing_id
		FROM anchors WHERE party = ? AND crossing_id = ?`, party, crossingID).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = centre.ErrNone
	}
	return l, err
}

// Anchor implements [centre.Chains].
func (c *Centre) Anchor(ctx context.Context, a centre.Anchored) (link chain.Link, err error) {
	err = c.db.update(ctx, func(t *tx) error {
		link, err = linkOf(t, a.Party, a.CrossingID)
		if !errors.Is(err, centre.ErrNone) {
			return err
		}
		position, err := nextPosition(t, a.Party, a.ChainID)
		if err != nil {
			return err
		}
		if link, err = appendAnchor(t, a.Party, a.ChainID, position, a.JointSeal, a.CrossingID, a.At); err != nil {
			return err
		}
		p, err := a.Publication(position)
		if err != nil {
			return err
		}
		t.note(Change{Of: "centre", Operation: "anchor"})
		return insertPublication(t, p, a.At)
	})
	return link, err
}

// appendAnchor writes a link at the position and moves the head to it, if the head is
// still where the position was read (§4.4.2, design C9).
func appendAnchor(t *tx, party string, chainID jcs.Hex256, p chain.Position, seal jcs.Hex256, crossingID string, at time.Time) (chain.Link, error) {
	link := chain.Link{Position: p, JointSeal: seal, Anchor: p.Anchor(seal), CrossingID: crossingID}
	next := p.Next(seal)
	n, err := t.changed(`INSERT INTO chain_heads (party, chain_id, next_seq, anchor) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (party, chain_id) DO UPDATE SET next_seq = ?3, anchor = ?4 WHERE chain_heads.next_seq = ?5`,
		party, string(chainID), next.Seq, string(next.Prev), p.Seq)
	if err == nil && n != 1 {
		err = centre.ErrConflict
	}
	if err != nil {
		return link, err
	}
	return link, t.exec(`INSERT INTO anchors (party, chain_id, chain_seq, prev_hash, joint_seal, anchor, crossing_id, written_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		party, string(chainID), p.Seq, nullable(string(p.Prev)), string(seal), string(link.Anchor), crossingID, at.UnixMilli())
}

// Waiting implements [centre.Outbox].
func (c *Centre) Waiting(ctx context.Context, crossingID string, limit int) ([]centre.Publication, error) {
	rows, err := c.db.view(ctx).rows(`SELECT outbox_id, role, crossing_id, chain_id, chain_seq, payload FROM outbox
		WHERE acknowledged_at IS NULL AND (?1 = '' OR crossing_id = ?1) ORDER BY outbox_id LIMIT ?2`, crossingID, limit)
	return collect(rows, err, func(scan func(...any) error) (p centre.Publication, err error) {
		return p, scan(&p.ID, &p.Role, &p.CrossingID, &p.ChainID, &p.Seq, &p.Body)
	})
}

// Acknowledge implements [centre.Outbox].
func (c *Centre) Acknowledge(ctx context.Context, id int64, at time.Time) error {
	return c.db.update(ctx, func(t *tx) error {
		return t.exec("UPDATE outbox SET acknowledged_at = ?, last_error = '' WHERE outbox_id = ? AND acknowledged_at IS NULL", at.UnixMilli(), id)
	})
}

// Undelivered implements [centre.Outbox].
func (c *Centre) Undelivered(ctx context.Context, id int64, reason string) error {
	return c.db.update(ctx, func(t *tx) error {
		return t.exec("UPDATE outbox SET tries = tries + 1, last_error = ? WHERE outbox_id = ?", reason, id)
	})
}

func insertPublication(t *tx, p centre.Publication, at time.Time) error {
	return t.exec(`INSERT INTO outbox (role, crossing_id, chain_id, chain_seq, payload, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		string(p.Role), p.CrossingID, string(p.ChainID), p.Seq, p.Body, at.UnixMilli())
}

// Sent implements [centre.Outbox].
func (c *Centre) Sent(ctx context.Context, crossingID string) ([][]byte, error) {
	rows, err := c.db.view(ctx).rows("SELECT params FROM sent_records WHERE crossing_id = ? ORDER BY rowid", crossingID)
	return collect(rows, err, func(scan func(...any) error) (params []byte, err error) {
		return params, scan(&params)
	})
}

// PutSent implements [centre.Outbox].
func (c *Centre) PutSent(ctx context.Context, crossingID string, jointSeal jcs.Hex256, record, params []byte, at time.Time, after int) error {
	return c.db.update(ctx, func(t *tx) error {
		var n int
		err := t.row("SELECT count(*) FROM sent_records WHERE crossing_id = ? AND joint_seal <> ?", crossingID, string(jointSeal)).Scan(&n)
		if err == nil && n > after {
			err = centre.ErrConflict
		}
		if err != nil {
			return err
		}
		return t.exec(`INSERT INTO sent_records (crossing_id, joint_seal, record, params, sent_at) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (crossing_id, joint_seal) DO NOTHING`,
			crossingID, string(jointSeal), record, params, at.UnixMilli())
	})
}

// collect reads all rows of a query.
func collect[T any](rows *sql.Rows, err error, scan func(func(...any) error) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
