package storetest

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A Row is one row of a table: column names to values as text. NULL is "NULL".
type Row map[string]string

// Rows is all that a database holds, table by table, each in no order of its own.
type Rows map[string][]Row

// ReadRows reads every table of db. Tests compare what it returns before and after a
// call: that is how "nothing written" is shown for tables that nobody thought of.
func ReadRows(t testing.TB, db *sql.DB) Rows {
	t.Helper()
	tables, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	if err != nil { // PostgreSQL
		tables, err = db.QueryContext(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'")
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := tables.Err(); err != nil {
		t.Fatal(err)
	}
	return ReadTables(t, db, names...)
}

// ReadTables reads the tables of these names. To read all takes long under the race detector.
func ReadTables(t testing.TB, db *sql.DB, names ...string) Rows {
	t.Helper()
	all := Rows{}
	for _, name := range names {
		all[name] = readTable(t, db, name)
	}
	return all
}

func readTable(t testing.TB, db *sql.DB, name string) []Row {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+name)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []Row
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		row := Row{}
		for i, column := range columns {
			row[column] = valueText(*values[i].(*any))
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

// text is a row in one spelling, for comparison.
func (r Row) text() string {
	var b strings.Builder
	for _, column := range slices.Sorted(maps.Keys(r)) {
		b.WriteString(column + "\x00" + r[column] + "\x00")
	}
	return b.String()
}

// A Change is what two readings of one table differ in. A row that was updated is in
// both, as it was and as it is.
type Change struct{ Removed, Added []Row }

// Since returns the tables that differ from an earlier reading, and how.
func (r Rows) Since(before Rows) map[string]Change {
	changes := map[string]Change{}
	for name, now := range r {
		if slices.EqualFunc(now, before[name], maps.Equal) {
			continue
		}
		c := Change{Removed: missing(before[name], now), Added: missing(now, before[name])}
		if len(c.Removed)+len(c.Added) > 0 {
			changes[name] = c
		}
	}
	return changes
}

// missing are the rows of a that b lacks, counting repeats.
func missing(a, b []Row) []Row {
	have := map[string]int{}
	for _, row := range b {
		have[row.text()]++
	}
	var out []Row
	for _, row := range a {
		if have[row.text()]--; have[row.text()] < 0 {
			out = append(out, row)
		}
	}
	return out
}

// Where returns the rows of a table that have this value in this column.
func (r Rows) Where(table, column, value string) []Row {
	var out []Row
	for _, row := range r[table] {
		if row[column] == value {
			out = append(out, row)
		}
	}
	return out
}
