package wiretest

import (
	"maps"
	"slices"

	"github.com/bindery/bindery/internal/store/storetest"
)

// Rows reads all that the World's databases hold: of the responder, and of an RA elsewhere.
func (w *World) Rows() storetest.Rows {
	w.t.Helper()
	all := storetest.ReadRows(w.t, w.db)
	if w.Initiators.rows != nil {
		for table, rows := range storetest.ReadRows(w.t, w.Initiators.rows) {
			all[table] = append(all[table], rows...)
		}
	}
	return all
}

// tables is Rows of these tables alone.
func (w *World) tables(names ...string) storetest.Rows {
	w.t.Helper()
	all := storetest.ReadTables(w.t, w.db, names...)
	if w.Initiators.rows != nil {
		for table, rows := range storetest.ReadTables(w.t, w.Initiators.rows, names...) {
			all[table] = append(all[table], rows...)
		}
	}
	return all
}

// OnlyRefusal fails the test unless exactly one refusal row of this name has been
// written since before, and nothing else in any table. It returns the row.
func (w *World) OnlyRefusal(before storetest.Rows, name string) storetest.Row {
	w.t.Helper()
	return w.refusal(w.Rows().Since(before), name)
}

// Refused is OnlyRefusal for a refusal that is final for a record or ends a crossing:
// beside the refusal row, that record's attempt may have become refused, never having
// been open, and the state of that crossing.
func (w *World) Refused(before storetest.Rows, name string) storetest.Row {
	w.t.Helper()
	changes := w.Rows().Since(before)
	if c, ok := changes["attempts"]; ok {
		if len(c.Removed) != 0 || len(c.Added) != 1 || c.Added[0]["state"] != "refused" {
			w.t.Errorf("attempts: %d rows gone, %v new", len(c.Removed), c.Added)
		}
		delete(changes, "attempts")
	}
	if c, ok := changes["crossings"]; ok {
		if len(c.Removed) != 1 || len(c.Added) != 1 || c.Added[0]["state"] != "refused" || c.Added[0]["session_id"] != c.Removed[0]["session_id"] {
			w.t.Errorf("crossings: %v became %v", c.Removed, c.Added)
		}
		delete(changes, "crossings")
	}
	return w.refusal(changes, name)
}

func (w *World) refusal(changes map[string]storetest.Change, name string) storetest.Row {
	w.t.Helper()
	c := changes["refusals"]
	delete(changes, "refusals")
	if len(changes) != 0 {
		w.t.Errorf("tables changed beside the refusals: %v", slices.Sorted(maps.Keys(changes)))
	}
	if len(c.Added) != 1 || len(c.Removed) != 0 {
		w.t.Fatalf("%d refusal rows written, %d gone, want 1 and 0", len(c.Added), len(c.Removed))
	}
	if c.Added[0]["name"] != name {
		w.t.Errorf("the refusal row says %s, want %s", c.Added[0]["name"], name)
	}
	return c.Added[0]
}

// Unwritten fails the test if any table has changed since before.
func (w *World) Unwritten(before storetest.Rows) {
	w.t.Helper()
	if changes := w.Rows().Since(before); len(changes) != 0 {
		w.t.Errorf("tables changed: %v", slices.Sorted(maps.Keys(changes)))
	}
}

// Counts are the numbers that the vectors speak of; Holds counts triples.
type Counts struct{ Anchors, Seals, Holds, Attempts, Refusals, Outbox, Projections int }

// Count counts rows.
func (w *World) Count() Counts {
	w.t.Helper()
	r := w.tables("anchors", "seals", "holds", "attempts", "refusals", "outbox", "projections")
	held := map[string]bool{} // two RAs hold one triple
	for _, row := range r["holds"] {
		held[row["crossing_id"]+row["initiator_token"]+row["responder_token"]] = true
	}
	return Counts{
		Anchors: len(r["anchors"]), Seals: len(r["seals"]), Holds: len(held), Attempts: len(r["attempts"]),
		Refusals: len(r["refusals"]), Outbox: len(r["outbox"]), Projections: len(r["projections"]),
	}
}

// ClosedState is the RA's state of a Closed, by its exact bytes; "" if it is not
// registered.
func (w *World) ClosedState(token string) string {
	w.t.Helper()
	for _, row := range w.tables("closeds").Where("closeds", "token_sha256", Hash(token)) {
		return row["state"]
	}
	return ""
}
