package sqlstore

import (
	"errors"

	"github.com/bindery/bindery/internal/registry"
)

// burnHold marks a hold whose confirm is refused for good, once, and notes what its Closeds
// have drawn: the attempt has failed downstream of what was consumed (§4.1.3, GC-199).
func burnHold(t *tx, c registry.Confirmation, refusal error) error {
	revoked := errors.Is(refusal, registry.ErrRevoked)
	if !revoked && !errors.Is(refusal, registry.ErrExpired) {
		return nil
	}
	n, err := t.changed(
		`UPDATE holds SET burned_at = ? WHERE crossing_id = ? AND initiator_token = ? AND responder_token = ?
		   AND state = 'held' AND burned_at IS NULL`,
		c.At.UnixMilli(), c.CrossingID, c.InitiatorToken, c.ResponderToken)
	if err != nil || n == 0 {
		return err
	}
	if revoked { // an expiry has its row already
		if err := audit(t, c.At, effector(c.Effector), "confirm", c.CrossingID, "revoked"); err != nil {
			return err
		}
	}
	var units int64
	err = t.row("SELECT coalesce(sum(draw), 0) FROM closeds WHERE token_sha256 IN (?, ?)", c.InitiatorToken, c.ResponderToken).Scan(&units)
	if err != nil {
		return err
	}
	t.note(Change{Of: "ra", Operation: Burned, Outcome: BurnedHold, Units: units})
	return nil
}
