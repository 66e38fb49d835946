package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/bindery/bindery/internal/execution"
)

var _ execution.Store = (*Executions)(nil)

// Executions is a gateway's part of a DB.
type Executions struct{ db *DB }

// Executions returns the gateway's store.
func (db *DB) Executions() *Executions { return &Executions{db} }

var (
	// errSwap: the row has changed since it was read, although the write lock was held.
	errSwap = errors.New("sqlstore: an execution has changed meanwhile")
	// errUndone ends a request of which nothing is to be kept.
	errUndone = errors.New("sqlstore: undone")
)

// The columns of a row but its answer, in the order of scanExecution.
const executionColumns = `x.agent_id, x.execution_id, x.version, x.state, x.binding, x.preimage, x.action_timestamp, x.upstream, x.tool,
	x.session_id, x.workflow_id, x.timeout_ms, x.owner, x.epoch, x.call_id, x.first_call_id, x.created_at, x.touched_at,
	x.dispatched_at, x.completed_at, x.request_state, x.continued, x.inputs, x.task_id, x.digest, x.is_error, x.reason, x.ended, x.late`

// living is true of a row x whose owner is not declared dead.
const living = `EXISTS (SELECT 1 FROM execution_epochs e WHERE e.owner = x.owner AND e.epoch = x.epoch AND e.dead_at IS NULL)`

// Ask implements [execution.Rows].
func (s *Executions) Ask(ctx context.Context, turn execution.Turn) (d execution.Decision, err error) {
	err = s.db.update(ctx, func(t *tx) error {
		d, err = ask(t, turn)
		return err
	})
	if err != nil {
		return execution.Decision{}, err
	}
	return d, nil
}

// Rehearse implements [execution.Rows].
func (s *Executions) Rehearse(ctx context.Context, turns []execution.Turn) (all []execution.Decision, err error) {
	err = s.db.update(ctx, func(t *tx) error {
		all = nil // it may run again
		for _, turn := range turns {
			d, err := ask(t, turn)
			if err != nil {
				return err
			}
			all = append(all, d)
		}
		return errUndone
	})
	if !errors.Is(err, errUndone) {
		return nil, err
	}
	return all, nil
}

func ask(t *tx, turn execution.Turn) (execution.Decision, error) {
	row, version, facts, err := current(t, turn)
	if err != nil {
		return execution.Decision{}, err
	}
	d := row.On(turn.Event, facts)
	switch {
	case !d.Changed:
	case facts.Absent:
		err = insertExecution(t, d.Row)
	default:
		err = updateExecution(t, d, version)
	}
	if err != nil {
		return execution.Decision{}, err
	}
	entry, ok := turn.Entry(d)
	if !ok {
		return d, nil
	}
	if d.Changed {
		t.note(Change{Of: "gateway", Operation: d.Event, Outcome: string(d.Row.State)})
	}
	return d, appendEntry(t, entry)
}

// current is the row that is asked, without its answer, and what decides beside it.
func current(t *tx, turn execution.Turn) (row execution.Row, version int64, f execution.Facts, err error) {
	asker := turn.Event.Asker()
	row, version, err = scanExecution(t.row(
		`SELECT `+executionColumns+`, `+living+`,
		   EXISTS (SELECT 1 FROM execution_epochs e WHERE e.owner = ?3 AND e.epoch = ?4 AND e.dead_at IS NULL)
		 FROM executions x WHERE x.agent_id = ?1 AND x.execution_id = ?2`,
		turn.Key.Agent, turn.Key.ID.String(), asker.Name, asker.Epoch).Scan, &f.OwnerAlive, &f.AskerAlive)
	if errors.Is(err, sql.ErrNoRows) {
		f.Absent = true
		return execution.Row{}, 0, f, nil
	}
	return row, version, f, err
}

// scanExecution reads executionColumns and what stands after them.
func scanExecution(scan func(...any) error, after ...any) (r execution.Row, version int64, err error) {
	var id string
	var session, workflow, owner, first, state, continued, inputs, task, digest, reason, late sql.NullString
	var timeout, created, touched int64
	var dispatched, completed sql.NullInt64
	var isError, ended int
	dest := append([]any{
		&r.Agent, &id, &version, &r.State, &r.Binding, &r.Preimage, &r.ActionTimestamp, &r.Upstream, &r.Tool,
		&session, &workflow, &timeout, &owner, &r.Owner.Epoch, &r.CallID, &first, &created, &touched,
		&dispatched, &completed, &state, &continued, &inputs, &task, &digest, &isError, &reason, &ended, &late,
	}, after...)
	if err := scan(dest...); err != nil {
		return execution.Row{}, 0, err
	}
	if r.ID, err = execution.ParseID(id); err != nil {
		return execution.Row{}, 0, err
	}
	r.SessionID, r.WorkflowID, r.Owner.Name, r.FirstCallID = session.String, workflow.String, owner.String, first.String
	r.RequestState, r.Continued, r.Inputs, r.TaskID = state.String, continued.String, inputs.String, task.String
	r.Digest, r.Reason, r.Late = digest.String, reason.String, late.String
	r.Timeout = time.Duration(timeout) * time.Millisecond
	r.CreatedAt, r.TouchedAt = fromMillis(created), fromMillis(touched)
	r.DispatchedAt, r.CompletedAt = instant(dispatched.Int64), instant(completed.Int64)
	r.IsError, r.Ended = isError != 0, ended != 0
	return r, version, nil
}

func insertExecution(t *tx, r execution.Row) error {
	return t.exec(
		`INSERT INTO executions (agent_id, execution_id, version, state, binding, preimage, action_timestamp, upstream, tool,
		   session_id, workflow_id, timeout_ms, owner, epoch, call_id, created_at, touched_at, is_error, ended)
		 VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)`,
		r.Agent, r.ID.String(), r.State, r.Binding, r.Preimage, r.ActionTimestamp, r.Upstream, r.Tool,
		nullable(r.SessionID), nullable(r.WorkflowID), r.Timeout.Milliseconds(), nullable(r.Owner.Name), r.Owner.Epoch, r.CallID,
		r.CreatedAt.UnixMilli(), r.TouchedAt.UnixMilli())
}

// updateExecution writes all that an event may change, if the row is still as it was read.
func updateExecution(t *tx, d execution.Decision, version int64) error {
	r := d.Row
	answer := ""
	args := []any{
		r.State, nullable(r.Owner.Name), r.Owner.Epoch, r.CallID, nullable(r.FirstCallID), r.TouchedAt.UnixMilli(),
		millis(r.DispatchedAt), millis(r.CompletedAt), nullable(r.RequestState), nullable(r.Continued), nullable(r.Inputs),
		nullable(r.TaskID), nullable(r.Digest), r.IsError, nullable(r.Reason), r.Ended, nullable(r.Late),
	}
	if d.Answers {
		answer = ", answer = ?"
		args = append(args, r.Answer)
	}
	n, err := t.changed(
		`UPDATE executions SET version = version + 1, state = ?, owner = ?, epoch = ?, call_id = ?, first_call_id = ?, touched_at = ?,
		   dispatched_at = ?, completed_at = ?, request_state = ?, continued = ?, inputs = ?,
		   task_id = ?, digest = ?, is_error = ?, reason = ?, ended = ?, late = ?`+answer+`
		 WHERE agent_id = ? AND execution_id = ? AND version = ?`,
		append(args, r.Agent, r.ID.String(), version)...)
	if err == nil && n != 1 {
		return errSwap
	}
	return err
}

// Find implements [execution.Rows].
func (s *Executions) Find(ctx context.Context, key execution.Key) (r execution.Row, alive bool, err error) {
	var answer []byte
	r, _, err = scanExecution(s.db.view(ctx).row(
		`SELECT `+executionColumns+`, `+living+`, x.answer FROM executions x WHERE x.agent_id = ? AND x.execution_id = ?`,
		key.Agent, key.ID.String()).Scan, &alive, &answer)
	if errors.Is(err, sql.ErrNoRows) {
		return execution.Row{}, false, execution.ErrNotFound
	}
	r.Answer = answer
	return r, alive, err
}

// List implements [execution.Rows].
func (s *Executions) List(ctx context.Context, f execution.Filter, limit int) ([]execution.Row, error) {
	where, args := "x.agent_id > ?", []any{f.After.Agent}
	if f.After.ID != (execution.ID{}) {
		where, args = "(x.agent_id, x.execution_id) > (?, ?)", append(args, f.After.ID.String())
	}
	if f.Agent != "" {
		where, args = where+" AND x.agent_id = ?", append(args, f.Agent)
	}
	if f.Agent != "" && f.Agent == f.After.Agent { // else SQLite reads all of the agent's up to there
		where, args = where+" AND x.execution_id > ?", append(args, f.After.ID.String())
	}
	if f.State != "" {
		where, args = where+" AND x.state = ?", append(args, f.State)
	}
	switch f.State { // in the words of an index
	case "", execution.Succeeded:
	case execution.Reserved, execution.Dispatched:
		where += " AND x.state IN ('reserved', 'dispatched')"
	default:
		where += " AND x.state NOT IN ('reserved', 'dispatched', 'succeeded')"
	}
	if f.Silent {
		where += " AND NOT EXISTS (SELECT 1 FROM execution_findings f WHERE f.agent_id = x.agent_id AND f.execution_id = x.execution_id)"
	}
	rows, err := s.db.view(ctx).rows(
		`SELECT `+executionColumns+` FROM executions x WHERE `+where+` ORDER BY x.agent_id, x.execution_id LIMIT ?`, append(args, limit)...)
	return collect(rows, err, func(scan func(...any) error) (execution.Row, error) {
		r, _, err := scanExecution(scan)
		return r, err
	})
}

// Strays implements [execution.Rows].
func (s *Executions) Strays(ctx context.Context, reservedBefore time.Time, limit int) ([]execution.Key, error) {
	rows, err := s.db.view(ctx).rows(
		`SELECT x.agent_id, x.execution_id FROM executions x
		 WHERE x.state IN ('reserved', 'dispatched') AND (x.state = 'dispatched' OR x.touched_at <= ?) AND NOT `+living+` LIMIT ?`,
		reservedBefore.UnixMilli(), limit)
	return collect(rows, err, scanKey)
}

func scanKey(scan func(...any) error) (key execution.Key, err error) {
	var id string
	if err := scan(&key.Agent, &id); err != nil {
		return key, err
	}
	key.ID, err = execution.ParseID(id)
	return key, err
}

// Forget implements [execution.Rows].
func (s *Executions) Forget(ctx context.Context, completedBefore time.Time, limit int) (n int, err error) {
	const due = `SELECT agent_id, execution_id FROM executions WHERE answer IS NOT NULL AND completed_at < ? ORDER BY completed_at LIMIT ?`
	rows, err := s.db.view(ctx).rows(due, completedBefore.UnixMilli(), limit)
	keys, err := collect(rows, err, scanKey)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	err = s.db.update(ctx, func(t *tx) error {
		n = 0
		for _, key := range keys {
			changed, err := t.changed(
				`UPDATE executions SET answer = NULL WHERE agent_id = ? AND execution_id = ? AND answer IS NOT NULL AND completed_at < ?`,
				key.Agent, key.ID.String(), completedBefore.UnixMilli())
			if err != nil {
				return err
			}
			n += int(changed)
		}
		return nil
	})
	return n, err
}

// AddFinding implements [execution.Findings].
func (s *Executions) AddFinding(ctx context.Context, key execution.Key, f execution.Finding) (kept execution.Finding, first bool, err error) {
	err = s.db.update(ctx, func(t *tx) error {
		kept, first, err = addFinding(t, key, f)
		return err
	})
	if err != nil {
		return execution.Finding{}, false, err
	}
	return kept, first, nil
}

func addFinding(t *tx, key execution.Key, f execution.Finding) (execution.Finding, bool, error) {
	var alive bool
	row, _, err := scanExecution(t.row(
		`SELECT `+executionColumns+`, `+living+` FROM executions x WHERE x.agent_id = ? AND x.execution_id = ?`,
		key.Agent, key.ID.String()).Scan, &alive)
	if errors.Is(err, sql.ErrNoRows) {
		return f, false, execution.ErrNotFound
	}
	if err != nil {
		return f, false, err
	}
	all, err := findings(t, key)
	if err != nil {
		return f, false, err
	}
	for _, one := range all {
		if one.Outcome == f.Outcome && one.Source == f.Source && one.Evidence == f.Evidence {
			return one, false, nil
		}
	}
	if err := row.Allows(f.Outcome, alive, f.At); err != nil {
		return f, false, err
	}
	if len(all) >= execution.MaxFindings {
		return f, false, execution.ErrFull
	}
	err = t.exec(
		`INSERT INTO execution_findings (agent_id, execution_id, number, outcome, source, evidence_sha256, found_at, signed)
		 VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		key.Agent, key.ID.String(), len(all)+1, f.Outcome, f.Source, f.Evidence, f.At.UnixMilli(), f.Signed)
	if err != nil {
		return f, false, err
	}
	return f, true, appendEntry(t, f.Entry(row))
}

// FindingsOf implements [execution.Findings].
func (s *Executions) FindingsOf(ctx context.Context, key execution.Key) ([]execution.Finding, error) {
	return findings(s.db.view(ctx), key)
}

func findings(t *tx, key execution.Key) ([]execution.Finding, error) {
	rows, err := t.rows(
		`SELECT outcome, source, evidence_sha256, found_at, signed FROM execution_findings WHERE agent_id = ? AND execution_id = ? ORDER BY number`,
		key.Agent, key.ID.String())
	return collect(rows, err, func(scan func(...any) error) (f execution.Finding, err error) {
		var at int64
		err = scan(&f.Outcome, &f.Source, &f.Evidence, &at, &f.Signed)
		f.At = fromMillis(at)
		return f, err
	})
}

// Begin implements [execution.Epochs].
func (s *Executions) Begin(ctx context.Context, o execution.Owner, at time.Time) error {
	return s.db.update(ctx, func(t *tx) error {
		n, err := t.changed(
			`INSERT INTO execution_epochs (owner, epoch, started_at, beat_at) VALUES (?, ?, `+s.db.backend.Clock+`, `+s.db.backend.Clock+`)
			 ON CONFLICT DO NOTHING`, o.Name, o.Epoch)
		if err != nil || n == 0 {
			return err
		}
		return appendEntry(t, o.Entry("began", at))
	})
}

// Beat implements [execution.Epochs].
func (s *Executions) Beat(ctx context.Context, o execution.Owner) (alive bool, err error) {
	err = s.db.update(ctx, func(t *tx) error {
		n, err := t.changed(
			`UPDATE execution_epochs SET beat_at = `+s.db.backend.Clock+` WHERE owner = ? AND epoch = ? AND dead_at IS NULL`, o.Name, o.Epoch)
		alive = n == 1
		return err
	})
	return alive && err == nil, err
}

// Bury implements [execution.Epochs].
func (s *Executions) Bury(ctx context.Context, self execution.Owner, stale time.Duration, at time.Time) (dead []execution.Owner, err error) {
	type seen struct {
		execution.Owner
		beat int64
	}
	rows, err := s.db.view(ctx).rows(
		`SELECT owner, epoch, beat_at FROM execution_epochs WHERE dead_at IS NULL AND beat_at < `+s.db.backend.Clock+` - ? AND NOT (owner = ? AND epoch = ?) ORDER BY beat_at`,
		stale.Milliseconds(), self.Name, self.Epoch)
	silent, err := collect(rows, err, func(scan func(...any) error) (o seen, err error) {
		err = scan(&o.Name, &o.Epoch, &o.beat)
		return o, err
	})
	if err != nil || len(silent) == 0 {
		return nil, err
	}
	err = s.db.update(ctx, func(t *tx) error {
		dead = nil
		for _, o := range silent {
			buried, err := bury(t, s.db.backend.Clock, o.Owner, "AND beat_at = ?", o.beat)
			if err != nil {
				return err
			}
			if !buried { // it has sent a heartbeat meanwhile, or another has done so
				continue
			}
			dead = append(dead, o.Owner)
			if err := appendEntry(t, o.Entry("declared dead", at)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return dead, nil
}

// bury marks an epoch that is not marked yet.
func bury(t *tx, clock string, o execution.Owner, where string, args ...any) (bool, error) {
	n, err := t.changed(
		fmt.Sprintf(`UPDATE execution_epochs SET dead_at = %s WHERE owner = ? AND epoch = ? AND dead_at IS NULL %s`, clock, where),
		append([]any{o.Name, o.Epoch}, args...)...)
	return n == 1, err
}

// End implements [execution.Epochs].
func (s *Executions) End(ctx context.Context, o execution.Owner, at time.Time) error {
	return s.db.update(ctx, func(t *tx) error {
		buried, err := bury(t, s.db.backend.Clock, o, "")
		if err != nil || !buried {
			return err
		}
		return appendEntry(t, o.Entry("ended", at))
	})
}
