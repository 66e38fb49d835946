package storetest

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/registry"
)

// ledger reads the whole log in pages and has it hold: from 1, without gaps, each row
// after the one before.
func ledger(t *testing.T, s registry.Store) []audit.Row {
	t.Helper()
	var all []audit.Row
	tip := audit.Genesis()
	for {
		page, err := s.AuditLog(t.Context(), tip.Seq+1, 7)
		want(t, "audit log", err, nil)
		if len(page) == 0 {
			break
		}
		for _, row := range page {
			if row != row.After(tip) {
				t.Fatalf("row %+v does not stand after row %d", row, tip.Seq)
			}
			tip = row.Tip()
			all = append(all, row)
		}
	}
	now, err := s.AuditTip(t.Context())
	want(t, "audit tip", err, nil)
	if now != tip {
		t.Fatalf("tip %+v, and the last row %+v", now, tip)
	}
	return all
}

// registryLedger: the audit rows are one chain, whatever is refused or done at once.
func registryLedger(t *testing.T, s registry.Store) {
	ctx := t.Context()
	if rows := ledger(t, s); len(rows) != 0 {
		t.Fatalf("an empty store has %d rows", len(rows))
	}
	operations := RegistryOperations(t)
	for _, op := range operations {
		want(t, op.Method+" "+op.Name, op.Do(s), nil)
		_ = op.Do(s) // a repeat, which is answered or refused
	}
	rows := ledger(t, s)
	shown, err := s.AuditRows(ctx, math.MaxInt64, 1000)
	want(t, "audit rows", err, nil)
	slices.Reverse(shown)
	for i, row := range rows {
		a := shown[i]
		if a.ID != row.Seq || !a.At.Equal(row.At) || a.Role != row.Role || a.PrincipalID != row.PrincipalID ||
			a.Operation != row.Operation || a.Subject != row.Subject || a.Outcome != row.Outcome {
			t.Errorf("row %d: %+v and %+v", i+1, a, row)
		}
	}
	const callers = 48
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			if i%3 == 0 { // refused
				_, _ = s.Enrol(ctx, registry.Enrolment{Code: hash("no code"), At: registryStart})
				return
			}
			if err := s.AddCode(ctx, codeOf(hash("ledger", i))); err != nil {
				t.Errorf("code %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := len(ledger(t, s)); n != len(rows)+callers*2/3 {
		t.Errorf("%d rows, want %d", n, len(rows)+callers*2/3)
	}
}

// registryHeads: signed heads are kept in the order of what they cover, each once.
func registryHeads(t *testing.T, s registry.Store) {
	ctx := t.Context()
	_, err := s.LastAuditHead(ctx)
	want(t, "no head", err, registry.ErrNotFound)
	head := func(seq int64) registry.AuditHead {
		return registry.AuditHead{Tip: audit.Tip{Seq: seq, Entry: hash("entry", seq)}, Signed: "head", At: registryStart.Add(time.Duration(seq) * time.Millisecond)}
	}
	for _, seq := range []int64{7, 3, 12} {
		want(t, "head", s.AddAuditHead(ctx, head(seq)), nil)
	}
	other := head(3)
	other.Signed = "another"
	want(t, "head again", s.AddAuditHead(ctx, other), nil)
	for from, seqs := range map[int64][]int64{0: {3, 7}, 3: {3, 7}, 4: {7, 12}, 12: {12}, 13: nil} {
		heads, err := s.AuditHeads(ctx, from, 2)
		want(t, "heads", err, nil)
		if !slices.EqualFunc(heads, seqs, func(h registry.AuditHead, seq int64) bool { return h == head(seq) }) {
			t.Errorf("heads from %d: %+v", from, heads)
		}
	}
	last, err := s.LastAuditHead(ctx)
	want(t, "last head", err, nil)
	if last != head(12) {
		t.Errorf("last head %+v", last)
	}
	if rows := ledger(t, s); len(rows) != 0 {
		t.Errorf("signing has %d audit rows", len(rows))
	}
}

// registryBurnedHold: a confirm that is refused for good has one audit row, at the first of
// its refusals, whatever it is refused for after that.
//
// covers GC-199
func registryBurnedHold(t *testing.T, s registry.Store) {
	ctx := t.Context()
	enrolled(t, s)
	for _, c := range []struct {
		name, outcome string
		at            func(pair) time.Time
		revoke        bool
		target        error
	}{
		{"revoked", "revoked", func(pair) time.Time { return registryStart }, true, registry.ErrRevoked},
		{"expired", "expired", func(p pair) time.Time { return p.a.ExpiresAt }, false, registry.ErrExpired},
	} {
		p := newPair(t, s, c.name)
		_, err := s.Hold(ctx, holdOf(triple(p.a, p.b), partyB, "held"))
		want(t, "hold", err, nil)
		revoke := func() {
			_, _, err := s.Revoke(ctx, registry.Revocation{Hash: p.openA.OpenHash, At: registryStart})
			want(t, "revoke", err, nil)
		}
		if c.revoke {
			revoke()
		}
		before := len(ledger(t, s))
		confirm := confirmOf(triple(p.a, p.b), partyB, "spent")
		confirm.At = c.at(p)
		for range 2 {
			_, err = s.Confirm(ctx, confirm)
			want(t, c.name, err, c.target)
		}
		rows := ledger(t, s)[before:]
		if len(rows) != 1 || rows[0].Operation != "confirm" || rows[0].Outcome != c.outcome || rows[0].Subject != crossingID || rows[0].PrincipalID != partyB {
			t.Errorf("%s: audit rows %+v", c.name, rows)
		}
		if !c.revoke {
			revoke() // what follows is refused for another reason, and has cost nothing more
			before = len(ledger(t, s))
			_, _ = s.Confirm(ctx, confirm)
			if rows := ledger(t, s)[before:]; len(rows) != 0 {
				t.Errorf("%s, then revoked: audit rows %+v", c.name, rows)
			}
		}
	}
	p := newPair(t, s, "spent")
	_, err := s.Hold(ctx, holdOf(triple(p.a, p.b), partyB, "held"))
	want(t, "hold", err, nil)
	_, err = s.Confirm(ctx, confirmOf(triple(p.a, p.b), partyB, "spent"))
	want(t, "confirm", err, nil)
	if rows := ledger(t, s); rows[len(rows)-1].Outcome != "spent" {
		t.Errorf("last row %+v", rows[len(rows)-1])
	}
}
