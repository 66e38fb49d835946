package limit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/limit"
)

var start = time.Unix(1_786_000_000, 0).UTC()

func admitted(b *limit.Buckets, remote string, at time.Time, n int) (got int) {
	for range n {
		if b.Admit(remote, at) {
			got++
		}
	}
	return got
}

// covers GC-094, GC-117
func TestBuckets(t *testing.T) {
	b, at := limit.New(limit.Rate{PerSecond: 2, Burst: 3}), start
	for i, c := range []struct {
		remote string
		wait   time.Duration
		want   int
	}{
		{"a", 0, 3},
		{"b", 0, 3}, // an address of its own
		{"a", 0, 0},
		{"a", 499 * time.Millisecond, 0},
		{"a", time.Millisecond, 1},
		{"a", time.Second, 2},
		{"a", time.Hour, 3},
		{"a", -2 * time.Hour, 0}, // a clock that steps back gives nothing
		{"a", time.Second, 2},
	} {
		at = at.Add(c.wait)
		if got := admitted(b, c.remote, at, 10); got != c.want {
			t.Errorf("step %d: %d admitted, want %d", i, got, c.want)
		}
	}
}

func TestDefaults(t *testing.T) {
	b := limit.New(limit.Rate{})
	if got := admitted(b, "a", start, 1000); got != 100 {
		t.Errorf("a burst of %d by default, want 100", got)
	}
	if got := admitted(b, "a", start.Add(time.Second), 1000); got != 50 {
		t.Errorf("%d a second by default, want 50", got)
	}
	for _, r := range []limit.Rate{{PerSecond: -1}, {Burst: -1}} {
		if r.Check() == nil {
			t.Errorf("%+v is taken for a rate", r)
		}
	}
	if err := (limit.Rate{}).Check(); err != nil {
		t.Error(err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	b, at := limit.New(limit.Rate{PerSecond: 1, Burst: 2}), start
	for i := range limit.MaxRemotes + 10 {
		b.Admit(fmt.Sprint(i), at)
	}
	if n := b.Remotes(); n != limit.MaxRemotes {
		t.Fatalf("%d addresses are kept, want %d", n, limit.MaxRemotes)
	}
	// All further addresses share one budget while the table is full.
	if b.Admit("new", at) {
		t.Error("the shared budget is not spent")
	}
	at = at.Add(3 * time.Second)
	if !b.Admit("new", at) || b.Remotes() != 1 {
		t.Errorf("idle addresses are not forgotten: %d", b.Remotes())
	}
}
