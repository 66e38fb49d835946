package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// CommitConfirmed implements [centre.Seals]: the one transaction of design R4 where the RA, or
// one of two, is elsewhere.
func (c *Centre) CommitConfirmed(ctx context.Context, m centre.Commit) (seal *centre.Seal, err error) {
	if m.SpendReceipt == "" {
		return nil, errors.New("sqlstore: a seal without a receipt of spending")
	}
	err = c.db.update(ctx, func(t *tx) error {
		seal, err = sealAttempt(t, m, m.SpendReceipt)
		return err
	})
	if err != nil {
		return nil, err
	}
	return seal, nil
}

// RefuseApart implements [centre.Seals].
func (c *Centre) RefuseApart(ctx context.Context, a *centre.Attempt, tr mandate.Triple, words []centre.Word, row centre.RefusalRow) error {
	return c.db.update(ctx, func(t *tx) error {
		for _, w := range words {
			if err := keepWord(t, tr.CrossingID, w, row.At); err != nil {
				return err
			}
		}
		return refuseAttempt(t, a, tr, row)
	})
}

// keepWord replaces what an RA elsewhere has said of a Closed before.
func keepWord(t *tx, crossingID string, w centre.Word, at time.Time) error {
	return t.exec(`INSERT INTO spend_answers (crossing_id, token_sha256, statement, spent, answered_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (crossing_id, token_sha256) DO UPDATE SET statement = excluded.statement, spent = excluded.spent, answered_at = excluded.answered_at`,
		crossingID, string(w.Token), w.Statement, w.Spent, at.UnixMilli())
}

// consumed are the flags of a refusal: what the rows of an RA in this store show of the
// triple's tokens, and of a token that is registered elsewhere what its RA has said last.
func consumed(t *tx, tr mandate.Triple) (initiator, responder bool, err error) {
	if initiator, responder, err = spentFlags(t, tr); err != nil {
		return false, false, err
	}
	rows, err := t.rows("SELECT token_sha256, spent FROM spend_answers WHERE crossing_id = ? AND token_sha256 IN (?, ?)",
		tr.CrossingID, string(tr.InitiatorToken), string(tr.ResponderToken))
	_, err = collect(rows, err, func(scan func(...any) error) (struct{}, error) {
		var token jcs.Hex256
		var spent bool
		err := scan(&token, &spent)
		if token == tr.InitiatorToken {
			initiator = spent
		} else {
			responder = spent
		}
		return struct{}{}, err
	})
	return initiator, responder, err
}
