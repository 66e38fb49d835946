package registry_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/registry"
)

var operator = registry.Actor{Role: api.RoleOperator}

// rows adds audit rows to a world.
func (w *world) rows(n int) {
	w.t.Helper()
	for range n {
		if _, err := w.ra.NewCode(w.t.Context(), registry.CodeTerms{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// tamper changes the database behind the RA's back.
func (w *world) tamper(query string, args ...any) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query, args...); err != nil {
		w.t.Fatal(err)
	}
}

// heads counts what was signed.
func (w *world) heads() (n int) {
	w.t.Helper()
	db, err := sql.Open("sqlite", w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM registry_audit_heads").Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) export(from int64) (lines [][]byte, err error) {
	err = w.ra.ExportAudit(w.t.Context(), operator, from, func(line []byte) error {
		lines = append(lines, bytes.Clone(line))
		return nil
	})
	return lines, err
}

func (w *world) verify(lines [][]byte) (audit.Head, error) {
	v := audit.NewVerifier(registry.AuditLog, w.keys.Keys()[0].ID)
	for _, line := range lines {
		if err := v.Line(line); err != nil {
			return audit.Head{}, err
		}
	}
	return v.End()
}

func TestExportAudit(t *testing.T) {
	w := newWorld(t)
	w.rows(4) // after two enrolments
	if _, err := w.export(3); err != nil || w.heads() != 0 {
		t.Errorf("%d heads are kept of a part, %v", w.heads(), err)
	}
	for from, n := range map[int64]int{1: 7, 2: 6, 6: 2} {
		lines, err := w.export(from)
		if err != nil || len(lines) != n {
			t.Fatalf("from %d: %d lines, %v", from, len(lines), err)
		}
		h, err := w.verify(lines)
		if err != nil || h.Seq != 6 || h.From != from || !h.At.Equal(start) {
			t.Errorf("from %d: head %+v, %v", from, h, err)
		}
	}
	if n := w.heads(); n != 1 {
		t.Errorf("%d heads are kept, of one state of the log", n)
	}
	for _, from := range []int64{-1, 0, 7} {
		_, err := w.export(from)
		refused(t, fmt.Sprint("from ", from), err, api.CodeMalformed)
	}
	for _, actor := range []registry.Actor{w.a.principal, w.a.as, w.a.effects, {Role: api.RoleIssuer}, {}} {
		err := w.ra.ExportAudit(t.Context(), actor, 1, func([]byte) error { t.Error("written"); return nil })
		refused(t, "as "+actor.Role, err, crossing.RoleMismatch)
	}
	stop := errors.New("stop")
	calls := 0
	err := w.ra.ExportAudit(t.Context(), operator, 1, func([]byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("a reader that has gone: %v after %d lines", err, calls)
	}
}

// TestSignAudit: one head for what was added, none for nothing, and none over a log that
// was changed.
func TestSignAudit(t *testing.T) {
	w := newWorld(t)
	sign := func(heads int) {
		t.Helper()
		if err := w.ra.SignAudit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := w.heads(); n != heads {
			t.Fatalf("%d heads, want %d", n, heads)
		}
	}
	sign(1)
	sign(1)
	w.rows(300) // more than are read at a time
	sign(2)
	w.rows(1)
	sign(3)
	if lines, err := w.export(1); err != nil || len(lines) != 304 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

func TestTamperedAudit(t *testing.T) {
	for name, c := range map[string]struct {
		query string
		seq   int64
		rule  string
		signs bool // the periodic head, which reads on from the last one, cannot see it
	}{
		"changed":         {"UPDATE registry_audit SET outcome = 'x' WHERE audit_id = 7", 7, audit.RuleEntry, false},
		"changed before":  {"UPDATE registry_audit SET outcome = 'x' WHERE audit_id = 3", 3, audit.RuleEntry, true},
		"removed":         {"DELETE FROM registry_audit WHERE audit_id = 6", 6, audit.RuleSequence, false},
		"removed before":  {"DELETE FROM registry_audit WHERE audit_id = 2", 2, audit.RuleSequence, true},
		"removed first":   {"DELETE FROM registry_audit WHERE audit_id = 1", 1, audit.RuleSequence, true},
		"removed signed":  {"DELETE FROM registry_audit WHERE audit_id >= 5", 5, audit.RuleMissing, false},
		"added":           {"INSERT INTO registry_audit (audit_id, at, role, principal_id, operation, subject, outcome) VALUES (9, 1, 'operator', '', 'code', 's', 'issued')", 9, audit.RulePrevious, false},
		"head changed":    {"UPDATE registry_audit_heads SET entry_sha256 = lower(hex(randomblob(32)))", 5, audit.RuleSignature, false},
		"head moved":      {"UPDATE registry_audit_heads SET seq = 4", 4, audit.RuleSignature, false},
		"head of another": {"UPDATE registry_audit_heads SET head = replace(head, '.', '.e')", 5, audit.RuleSignature, false},
	} {
		w := newWorld(t)
		w.rows(3)
		if err := w.ra.SignAudit(t.Context()); err != nil { // of row 5
			t.Fatal(err)
		}
		w.rows(3)
		w.tamper(c.query)
		var f *audit.Fault
		if err := w.ra.SignAudit(t.Context()); errors.As(err, &f) == c.signs || f != nil && (f.Seq != c.seq || f.Rule != c.rule) {
			t.Errorf("%s: signing: %v, want row %d: %s", name, err, c.seq, c.rule)
		}
		lines, err := w.export(1)
		if !errors.As(err, &f) || f.Seq != c.seq || f.Rule != c.rule {
			t.Errorf("%s: export: %v, want row %d: %s", name, err, c.seq, c.rule)
		}
		if _, err := w.verify(lines); err == nil {
			t.Errorf("%s: what was exported verifies", name)
		}
	}
}

// TestManyHeads: each head that was signed is judged, however many there are.
func TestManyHeads(t *testing.T) {
	w := newWorld(t)
	for range 70 {
		w.rows(1)
		if err := w.ra.SignAudit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.export(1); err != nil || w.heads() != 70 {
		t.Fatal(w.heads(), err)
	}
	for _, seq := range []int64{72, 66, 4} {
		w.tamper("UPDATE registry_audit_heads SET head = 'x' WHERE seq = ?", seq)
		var f *audit.Fault
		if _, err := w.export(1); !errors.As(err, &f) || f.Seq != seq || f.Rule != audit.RuleSignature {
			t.Errorf("head of row %d: %v", seq, err)
		}
	}
}

// TestRewrittenAudit: a log made anew, with all its hashes, is not what was signed.
func TestRewrittenAudit(t *testing.T) {
	w := newWorld(t)
	w.rows(3)
	if err := w.ra.SignAudit(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines, err := w.export(1)
	if err != nil {
		t.Fatal(err)
	}
	tip := audit.Genesis()
	for i := range lines[:5] {
		row := audit.Row{At: start, Role: "operator", Operation: "code", Subject: fmt.Sprint(i), Outcome: "issued"}.After(tip)
		tip = row.Tip()
		w.tamper("UPDATE registry_audit SET at = ?, role = ?, principal_id = '', operation = ?, subject = ?, outcome = ?, prev = ?, entry_sha256 = ? WHERE audit_id = ?",
			row.At.UnixMilli(), row.Role, row.Operation, row.Subject, row.Outcome, string(row.Prev), string(row.Entry), row.Seq)
	}
	w.rows(1)
	var f *audit.Fault
	if err := w.ra.SignAudit(t.Context()); !errors.As(err, &f) || f.Seq != 5 || f.Rule != audit.RuleUncovered {
		t.Errorf("signing: %v", err)
	}
	if _, err := w.export(1); !errors.As(err, &f) || f.Seq != 5 || f.Rule != audit.RuleUncovered {
		t.Errorf("export: %v", err)
	}
	if _, err := w.export(4); !errors.As(err, &f) || f.Seq != 5 {
		t.Errorf("export of a part: %v", err)
	}
}

// TestKeepAudit signs until it is ended, and says what it will not sign.
func TestKeepAudit(t *testing.T) {
	w := newWorld(t)
	w.tamper("UPDATE registry_audit SET outcome = 'x' WHERE audit_id = 2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	keep := func(ctx context.Context) {
		t.Helper()
		if err := w.ra.KeepAudit(ctx, time.Hour); err != nil {
			t.Error(err)
		}
	}
	keep(ctx)
	if w.heads() != 0 {
		t.Error("signed after its end, or what does not hold")
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for end := time.Now().Add(time.Minute); !strings.Contains(w.log.String(), "row 2") && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}()
	keep(ctx)
	if w.heads() != 0 || !strings.Contains(w.log.String(), "row 2") {
		t.Errorf("log %q", w.log.String())
	}
}
