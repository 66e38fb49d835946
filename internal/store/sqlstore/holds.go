package sqlstore

import (
	"cmp"
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
	var refused error
	err = r.db.update(ctx, func(t *tx) error {
		receipt, err = holdBoth(t, h)
		refused = nil
		if errors.Is(err, registry.ErrExpired) { // the rows keep that
			refused, err = err, nil
		}
		return err
	})
	if err = cmp.Or(err, refused); err != nil {
		return "", err
	}
	return receipt, nil
}

func holdBoth(t *tx, h registry.Hold) (receipt string, err error) {
	own, err := ownCloseds(t, h.Triple, h.Half)
	if err != nil {
		return "", err
	}
	row, err := holdRow(t, h.Triple)
	switch {
	case err == nil:
		if err := row.heldBy(h.Effector, h.Half); err != nil {
			return "", err
		}
		if row.State == mandate.Released {
			return row.finalReceipt, nil
		}
		return row.heldReceipt, nil
	case !errors.Is(err, registry.ErrNotHeld):
		return "", err
	}
	if err := own.holdable(t, h); err != nil {
		if errors.Is(err, registry.ErrExpired) {
			err = cmp.Or(own.keepRefusal(t, h), err)
		}
		return "", err
	}
	return h.Receipt, insertHold(t, h, own)
}

// keepRefusal makes a refusal final that a clock gave.
func (own closeds) keepRefusal(t *tx, h registry.Hold) error {
	for i, token := range ownTokens(h.Triple, h.Half) {
		if own[i].Refused || !own[i].expired(h.At) {
			continue
		}
		if err := t.exec("UPDATE closeds SET refused_at = ? WHERE token_sha256 = ?", h.At.UnixMilli(), token); err != nil {
			return err
		}
		if err := audit(t, h.At, effector(h.Effector), "hold", h.CrossingID, outcomeExpired); err != nil {
			return err
		}
	}
	return nil
}

const outcomeExpired = "expired"

// closeds are the rows of a triple's Closeds that this RA keeps: both, or one.
type closeds []closed

// ownCloseds reads the rows of a half. The initiator's stands first.
func ownCloseds(t *tx, tr mandate.Triple, half mandate.Half) (own closeds, err error) {
	for _, token := range ownTokens(tr, half) {
		c, err := closedRow(t, token)
		if err != nil {
			return nil, err
		}
		own = append(own, c)
	}
	return own, nil
}

func ownTokens(tr mandate.Triple, half mandate.Half) []jcs.Hex256 {
	switch half {
	case mandate.InitiatorHalf:
		return []jcs.Hex256{tr.InitiatorToken}
	case mandate.ResponderHalf:
		return []jcs.Hex256{tr.ResponderToken}
	}
	return []jcs.Hex256{tr.InitiatorToken, tr.ResponderToken}
}

// facts are what the rows say to a decision at that time.
func (own closeds) facts(half mandate.Half, at time.Time) registry.Facts {
	f := registry.Facts{First: half == mandate.InitiatorHalf}
	for _, c := range own {
		f = f.With(c.ClosedRow, c.expired(at))
	}
	return f
}

// holdable judges Closeds that no row holds under this triple.
func (own closeds) holdable(t *tx, h registry.Hold) error {
	_, refusal := registry.Spending{}.On(registry.ToHold, own.facts(h.Half, h.At))
	suspended := false
	for _, c := range own {
		if c.serviceHeld {
			return registry.ErrServiceHeld
		}
		suspended = suspended || c.suspended
	}
	if errors.Is(refusal, registry.ErrConsumed) {
		return refusal
	}
	if err := own.pair(t, h); err != nil {
		return err
	}
	if refusal == nil && suspended { // last, since it may pass: what is revoked or expired is so for good
		return registry.ErrSuspended
	}
	return refusal
}

// pair reports what of the triple does not belong together, as far as this RA can tell, and
// whether the effector is the responder's.
func (own closeds) pair(t *tx, h registry.Hold) error {
	for _, c := range own {
		if c.crossingID != h.CrossingID {
			return registry.ErrMismatch
		}
	}
	responder := own[len(own)-1].principalID
	other := ""
	switch h.Half {
	case mandate.Both:
		if !own[0].pairs(own[1]) {
			return registry.ErrMismatch
		}
	case mandate.InitiatorHalf:
		other = string(h.ResponderToken)
		var err error
		if responder, err = principalOfAgent(t, own[0].counterparty); err != nil {
			return err
		}
	case mandate.ResponderHalf:
		other = string(h.InitiatorToken)
	}
	if h.Half != mandate.Both && own[0].counterparty != h.CounterpartyAgent {
		return registry.ErrHalf // the agent is no part of the triple: never for good
	}
	if responder != h.Effector {
		return registry.ErrNotResponder
	}
	return foreign(t, other)
}

// foreign refuses a half of a triple that this RA keeps both Closeds of.
func foreign(t *tx, token string) error {
	if token == "" {
		return nil
	}
	var known bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM closeds WHERE token_sha256 = ?)", token).Scan(&known)
	if err == nil && known {
		return registry.ErrHalf
	}
	return err
}

// principalOfAgent is "" for an agent that is not registered.
func principalOfAgent(t *tx, agentID string) (principalID string, err error) {
	err = t.row("SELECT principal_id FROM principal_keys WHERE use = 'agent' AND subject = ?", agentID).Scan(&principalID)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return principalID, err
}

func insertHold(t *tx, h registry.Hold, own closeds) error {
	tokens := ownTokens(h.Triple, h.Half)
	n, err := t.changed("UPDATE closeds SET state = 'consumed' WHERE token_sha256 IN (?, ?) AND state = 'active'",
		tokens[0], tokens[len(tokens)-1])
	switch {
	case err != nil:
		return err
	case n != int64(len(tokens)):
		return registry.ErrConsumed
	}
	lapses := min(own[0].expires, own[len(own)-1].expires)
	if !h.Lapses.IsZero() {
		lapses = min(lapses, h.Lapses.UnixMilli())
	}
	err = t.exec(
		`INSERT INTO holds (crossing_id, initiator_token, responder_token, half, effector, state, held_receipt, held_at, lapses_at)
		 VALUES (?, ?, ?, ?, ?, 'held', ?, ?, ?)`,
		h.CrossingID, h.InitiatorToken, h.ResponderToken, string(h.Half), h.Effector, h.Receipt, h.At.UnixMilli(), lapses)
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
	registry.ClosedRow
	principalID, agent, counterparty, chainID, crossingID string
	expires                                               int64
	suspended                                             bool // its principal
	serviceHeld                                           bool // its agent is on an issuer's list
}

func (c closed) expired(at time.Time) bool { return at.UnixMilli() >= c.expires }

func closedRow(t *tx, token jcs.Hex256) (c closed, err error) {
	err = t.row(
		`SELECT c.principal_id, c.agent_id, c.counterparty_agent, c.chain_id, c.crossing_id, c.state, c.expires_at,
		   `+closedRevoked+`, c.refused_at IS NOT NULL, p.status <> 'active',
		   EXISTS (SELECT 1 FROM issuer_subjects WHERE subject = c.agent_id)
		 FROM closeds c JOIN opens o USING (open_mandate_hash) JOIN principals p ON p.principal_id = c.principal_id
		 WHERE c.token_sha256 = ?`, token).
		Scan(&c.principalID, &c.agent, &c.counterparty, &c.chainID, &c.crossingID, &c.State, &c.expires,
			&c.Revoked, &c.Refused, &c.suspended, &c.serviceHeld)
	return c, notFound(err)
}

// pairs reports whether the two were registered for each other (design S3).
func (c closed) pairs(other closed) bool {
	return c.agent == other.counterparty && c.counterparty == other.agent && c.chainID == other.chainID
}

// hold is one row of the state machine held → spent | released.
type hold struct {
	registry.Spending
	half                      mandate.Half
	effector                  string
	heldReceipt, finalReceipt string
	lapses                    int64
}

func (h hold) heldBy(effector string, half mandate.Half) error {
	switch {
	case h.effector != effector:
		return registry.ErrForeign
	case h.half != half:
		return registry.ErrHalf
	}
	return nil
}

// receipt is the row's latest.
func (h hold) receipt() string {
	if h.State == mandate.Held {
		return h.heldReceipt
	}
	return h.finalReceipt
}

func holdRow(t *tx, tr mandate.Triple) (h hold, err error) {
	err = t.row(
		`SELECT half, effector, state, held_receipt, coalesce(final_receipt, ''), lapses_at, refused_at IS NOT NULL FROM holds
		 WHERE crossing_id = ? AND initiator_token = ? AND responder_token = ?`,
		tr.CrossingID, tr.InitiatorToken, tr.ResponderToken).
		Scan(&h.half, &h.effector, &h.State, &h.heldReceipt, &h.finalReceipt, &h.lapses, &h.Refused)
	if errors.Is(err, sql.ErrNoRows) {
		return hold{}, registry.ErrNotHeld
	}
	return h, err
}

// Confirm implements [registry.Holds].
func (r *Registry) Confirm(ctx context.Context, c registry.Confirmation) (receipt string, err error) {
	var refused error
	err = r.db.update(ctx, func(t *tx) error {
		receipt, err = confirmHold(t, c)
		refused = nil
		if errors.Is(err, registry.ErrExpired) || errors.Is(err, registry.ErrRevoked) { // the row keeps that
			refused, err = err, nil
		}
		return err
	})
	if err = cmp.Or(err, refused); err != nil {
		return "", err
	}
	return receipt, nil
}

// confirmHold is the re-read of §5.4 and the spending it guards (design R4), inside the
// caller's transaction: the Registration Authority's own, or that of a commit in the
// same store. It writes the hold row and its audit row, and no mandate's (GC-303). It
// returns what the hold row holds as its final receipt: the given one, or the one of
// whoever decided before. Errors are those of [registry.Holds].Confirm; a transaction that
// ends with ErrExpired or ErrRevoked is to be kept.
func confirmHold(t *tx, c registry.Confirmation) (stored string, err error) {
	row, err := holdRow(t, c.Triple)
	if errors.Is(err, registry.ErrNotHeld) {
		return "", notHeld(t, c.Triple)
	}
	if err != nil {
		return "", err
	}
	if err := row.heldBy(c.Effector, c.Half); err != nil {
		return "", err
	}
	if row.State != mandate.Held {
		return row.finalReceipt, nil
	}
	own, err := ownCloseds(t, c.Triple, c.Half)
	if err != nil {
		return "", err
	}
	next, refusal := row.On(registry.ToConfirm, own.facts(c.Half, c.At))
	switch {
	case next.Refused && !row.Refused:
		return "", cmp.Or(keepRefusal(t, c), burnHold(t, c, refusal), refusal)
	case refusal != nil:
		return "", cmp.Or(burnHold(t, c, refusal), refusal)
	}
	if err := decide(t, c.Triple, row.State, next.State, c.Receipt, c.At); err != nil {
		return "", err
	}
	return c.Receipt, audit(t, c.At, effector(c.Effector), "confirm", c.CrossingID, string(next.State))
}

// decide moves a row by compare-and-swap: of two that have read the same state one wins.
func decide(t *tx, tr mandate.Triple, from, to mandate.SpendState, receipt string, at time.Time) error {
	n, err := t.changed(
		`UPDATE holds SET state = ?, final_receipt = ?, decided_at = ?
		 WHERE crossing_id = ? AND initiator_token = ? AND responder_token = ? AND state = ?`,
		string(to), receipt, at.UnixMilli(), tr.CrossingID, tr.InitiatorToken, tr.ResponderToken, string(from))
	if err == nil && n != 1 {
		return registry.ErrNotHeld
	}
	return err
}

// keepRefusal makes a refusal final that a clock gave.
func keepRefusal(t *tx, c registry.Confirmation) error {
	err := t.exec(
		`UPDATE holds SET refused_at = ? WHERE crossing_id = ? AND initiator_token = ? AND responder_token = ? AND state = 'held'`,
		c.At.UnixMilli(), c.CrossingID, c.InitiatorToken, c.ResponderToken)
	if err != nil {
		return err
	}
	return audit(t, c.At, effector(c.Effector), "confirm", c.CrossingID, outcomeExpired)
}

// notHeld tells a triple that may be held yet from one that never can.
func notHeld(t *tx, tr mandate.Triple) error {
	var consumed bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM closeds WHERE token_sha256 IN (?, ?) AND state <> 'active')",
		tr.InitiatorToken, tr.ResponderToken).Scan(&consumed)
	if err != nil {
		return err
	}
	_, refusal := registry.Spending{}.On(registry.ToConfirm, registry.Facts{Consumed: consumed})
	return refusal
}

// Spent implements [registry.Holds].
func (r *Registry) Spent(ctx context.Context, tr mandate.Triple) (initiator, responder bool, err error) {
	return spentFlags(r.db.view(ctx), tr)
}

// spentFlags tells of each token of the triple that is kept here whether it is held or spent
// under the triple's crossing_id, with whatever counterpart. Of another's it says false.
func spentFlags(t *tx, tr mandate.Triple) (initiator, responder bool, err error) {
	err = t.row(
		`SELECT EXISTS (SELECT 1 FROM holds WHERE crossing_id = ?1 AND state <> 'released'
		     AND (initiator_token = ?2 AND half <> 'responder' OR responder_token = ?2 AND half <> 'initiator')),
		   EXISTS (SELECT 1 FROM holds WHERE crossing_id = ?1 AND state <> 'released'
		     AND (initiator_token = ?3 AND half <> 'responder' OR responder_token = ?3 AND half <> 'initiator'))`,
		tr.CrossingID, tr.InitiatorToken, tr.ResponderToken).Scan(&initiator, &responder)
	return initiator, responder, err
}
