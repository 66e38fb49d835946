package execution_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

func unbound(i int) audit.Entry {
	return audit.Entry{AgentID: agent, CallID: fmt.Sprint("call-", i), Event: audit.EventCall, Upstream: "bank", Tool: "balance"}
}

func logged(t *testing.T, s execution.Store, event string) (list []audit.Entry) {
	t.Helper()
	all, err := s.AuditLog(t.Context(), 1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	tip := audit.Genesis()
	for _, e := range all {
		if e != e.After(tip) {
			t.Fatalf("entry %+v does not stand after %+v", e, tip)
		}
		if tip = e.Tip(); e.Event == event {
			list = append(list, e)
		}
	}
	return list
}

// TestNote: what is noted is written soon, in its order, all of it, and null where there is
// nothing.
//
// covers EXA-043, EXA-052
func TestNote(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, db *sqlstore.DB, _ func() *sqlstore.DB) {
		s := db.Executions()
		r := replica(t, s, newClock(), execution.EndTime(time.Minute))
		ctx, stop := context.WithCancel(context.Background())
		ran := make(chan error)
		go func() { ran <- r.Run(ctx) }()
		const first, all = 3, 1000
		for i := range first {
			r.Note(unbound(i))
		}
		until(t, "written", func() bool { return len(logged(t, s, audit.EventCall)) == first })
		for i := range all - first {
			r.Note(unbound(first + i))
		}
		stop() // what is noted is written before Run returns
		if err := <-ran; err != nil {
			t.Fatal(err)
		}
		list := logged(t, s, audit.EventCall)
		if len(list) != all {
			t.Fatalf("%d entries", len(list))
		}
		for i, e := range list {
			if e.CallID != fmt.Sprint("call-", i) || e.ExecutionID != "" || e.Binding != "" || !e.At.Equal(start) {
				t.Fatalf("entry %d: %+v", i, e)
			}
		}
	})
}

// TestRefuse: a refusal is durable when it returns, and told where it is not.
//
// covers EXA-043, EXA-056
func TestRefuse(t *testing.T) {
	t.Parallel()
	s := &away{Store: sqliteDB(t).Executions()}
	r := replica(t, s, newClock())
	e := audit.Entry{Event: audit.EventRefused, Reason: "EXECUTION_ID_INVALID", Digest: answerDigest}
	if err := r.Refuse(t.Context(), e); err != nil || len(logged(t, s, audit.EventRefused)) != 1 {
		t.Error(err)
	}
	s.fails.Store(1)
	if err := r.Refuse(t.Context(), e); err == nil {
		t.Error("refused without an entry")
	}
}

// TestNotesWait: entries wait for a store that is away, whoever notes waits for room, and
// what is given up then is counted in the log.
//
// covers EXA-043
func TestNotesWait(t *testing.T) {
	t.Parallel()
	s := &away{Store: sqliteDB(t).Executions()}
	r := running(t, s, execution.NoteWait(50*time.Millisecond))
	s.fails.Store(1 << 40)
	const most, more = 8192, 8
	var all sync.WaitGroup
	var waited atomic.Int64
	for i := range most + more {
		if i < most {
			r.Note(unbound(i))
			continue
		}
		all.Go(func() {
			began := time.Now()
			r.Note(unbound(i))
			waited.Add(int64(time.Since(began)))
		})
	}
	all.Wait()
	if time.Duration(waited.Load()) < 50*time.Millisecond {
		t.Errorf("nobody has waited: %v", time.Duration(waited.Load()))
	}
	s.fails.Store(0)
	missing := 0
	until(t, "all said to be missing", func() bool { // perhaps at two times, the last of them when all is written
		missing = 0
		for _, e := range logged(t, s, "lost") {
			var n int
			if _, err := fmt.Sscanf(e.Reason, "%d entries are missing", &n); err != nil {
				t.Errorf("%q", e.Reason)
			}
			missing += n
		}
		return missing >= more
	})
	if n := len(logged(t, s, audit.EventCall)); n+missing != most+more {
		t.Errorf("%d written and %d missing", n, missing)
	}
}

// untold is a store that does not take what is said of missing entries, so many times.
type untold struct {
	execution.Store
	left atomic.Int64
}

func (u *untold) Append(ctx context.Context, list []audit.Entry) error {
	if list[0].Event == audit.EventLost && u.left.Add(-1) >= 0 {
		return errAway
	}
	return u.Store.Append(ctx, list)
}

// TestStoreStaysAway: however long the store is away, what waits for it has its bound, and whoever
// reads what the gateway prints is told once, of what is missing too.
//
// covers EXA-043
func TestStoreStaysAway(t *testing.T) {
	t.Parallel()
	untold, said := &untold{Store: sqliteDB(t).Executions()}, &lines{}
	s := &away{Store: untold}
	untold.left.Store(3)
	r := running(t, s, execution.NoteWait(time.Millisecond), func(c *execution.Config) {
		c.Timing.Flush = time.Millisecond
		c.Log = slog.New(slog.NewTextHandler(said, nil))
	})
	s.fails.Store(1 << 40)
	const most, more = 8192, 200
	for i := range most + more { // each of the last ones waits for room, and finds none
		r.Note(unbound(i))
	}
	for began := time.Now(); time.Since(began) < 100*time.Millisecond; time.Sleep(time.Millisecond) {
		if n := r.Status().Waiting; n > most {
			t.Fatalf("%d entries wait", n)
		}
	}
	if n := said.with("audit entries"); n != 1 {
		t.Errorf("%d lines say that entries wait", n)
	}
	s.fails.Store(0)
	var lost []audit.Entry
	until(t, "written", func() bool { lost = logged(t, s, "lost"); return len(lost) > 0 })
	if n := len(logged(t, s, audit.EventCall)); len(lost) != 1 || lost[0].Reason != fmt.Sprintf("%d entries are missing", most+more-n) {
		t.Errorf("%d are written, and %+v", n, lost)
	}
	until(t, "said", func() bool { return said.with("entries are missing") > 0 })
	if n := said.with("entries are missing"); n != 1 {
		t.Errorf("%d lines say that entries are missing", n)
	}
}

// lines are what was logged.
type lines struct {
	mu   sync.Mutex // guards text
	text string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text += string(b)
	return len(b), nil
}

func (l *lines) with(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text, word)
}

// TestExport: the log of a gateway holds, and is signed.
//
// covers EXA-043, EXA-061
func TestExport(t *testing.T) {
	t.Parallel()
	s := sqliteDB(t).Executions()
	r := replica(t, s, newClock())
	finish(t, permit(t, r, call(t, "one", "10")), done)
	if err := r.SignAudit(t.Context()); err != nil {
		t.Fatal(err)
	}
	head, err := s.LastAuditHead(t.Context())
	if tip, _ := s.AuditTip(t.Context()); err != nil || head.Tip != tip {
		t.Errorf("head %+v, %v", head, err)
	}
	v := audit.NewVerifier(audit.LogGateway, key().Key().ID)
	if err := r.ExportAudit(t.Context(), 1, v.Line); err != nil {
		t.Fatal(err)
	}
	if _, err := v.End(); err != nil {
		t.Error(err)
	}
}
