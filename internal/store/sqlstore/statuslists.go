package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
)

// currentList is the newest list that has room.
func currentList(t *tx) (id string, err error) {
	err = t.row("SELECT list_id FROM status_lists WHERE taken < ? ORDER BY created_at DESC, list_id LIMIT 1", registry.MaxListed).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// StatusList implements [registry.StatusLists].
func (r *Registry) StatusList(ctx context.Context, fresh registry.NewStatusList) (id string, err error) {
	if id, err = currentList(r.db.view(ctx)); id != "" || err != nil {
		return id, err
	}
	err = r.db.update(ctx, func(t *tx) error {
		if id, err = currentList(t); id != "" || err != nil {
			return err
		}
		id = fresh.ID
		err := insertOr(registry.ErrExists, t, "INSERT INTO status_lists (list_id, seed, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			fresh.ID, fresh.Seed, fresh.At.UnixMilli())
		if err != nil {
			return err
		}
		return audit(t, fresh.At, registry.Actor{Role: api.RoleOperator}, "status_list", fresh.ID, "begun")
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

// enlist counts an Open into its status list.
func enlist(t *tx, o registry.Open) error {
	if o.StatusList == "" {
		return nil
	}
	n, err := t.changed("UPDATE status_lists SET taken = taken + 1 WHERE list_id = ? AND taken < ?", o.StatusList, registry.MaxListed)
	if err == nil && n != 1 {
		return registry.ErrListed
	}
	return err
}

// listed refuses for an index that another Open has taken.
func listed(t *tx, o registry.Open) error {
	var taken bool
	err := t.row("SELECT EXISTS (SELECT 1 FROM opens WHERE status_list = ? AND status_index = ?)", o.StatusList, o.StatusIndex).Scan(&taken)
	if err == nil && taken {
		return registry.ErrListed
	}
	return err
}

// listColumns are where an Open without a list has NULL.
func listColumns(o registry.Open) (list, index any) {
	if o.StatusList == "" {
		return nil, nil
	}
	return o.StatusList, o.StatusIndex
}

// StatusEntries implements [registry.StatusLists].
func (r *Registry) StatusEntries(ctx context.Context, id string, at time.Time) (seed []byte, entries []registry.StatusEntry, err error) {
	t := r.db.view(ctx)
	if err := t.row("SELECT seed FROM status_lists WHERE list_id = ?", id).Scan(&seed); err != nil {
		return nil, nil, notFound(err)
	}
	rows, err := t.rows(
		`SELECT status_index, expires_at > ? AND status = 'active' AND NOT `+openRevoked+`
		 FROM opens JOIN principals USING (principal_id) WHERE status_list = ?`, at.UnixMilli(), id)
	entries, err = collect(rows, err, func(scan func(...any) error) (e registry.StatusEntry, err error) {
		err = scan(&e.Index, &e.Active)
		return e, err
	})
	return seed, entries, err
}
