package centre_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
)

// committed requires a finished row and a Resume that gives its report again.
func committed(t *testing.T, i *wiretest.Initiator, id string, report []byte) {
	t.Helper()
	x, err := i.Store.CrossingByID(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if x.State != crossing.Committed || x.Refusal != nil || len(report) == 0 || !bytes.Equal(x.Report, report) {
		t.Errorf("the row is %s, refusal %v, and the reports are equal: %v", x.State, x.Refusal, bytes.Equal(x.Report, report))
	}
	if again := resume(t, i, id); !bytes.Equal(again, report) {
		t.Errorf("resumed to another report\n%s", again)
	}
}

// TestTwoProcesses: two processes walk one crossing, and their clocks differ. The second
// has seen no record sent when the first sends its own. One record leaves, one seal
// stands, and both tell the same.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	g := &gated{}
	w, _, _ := world(t, 0)
	var (
		i       *wiretest.Initiator
		id      string
		first   atomic.Bool
		read    = make(chan struct{})
		proceed = make(chan struct{})
		second  = make(chan error, 1)
		theirs  []byte
	)
	g.sent = func(string) error {
		if first.CompareAndSwap(false, true) {
			close(read)
			<-proceed
		}
		return nil
	}
	i = w.InitiatorOver("acme", func(point string) {
		if point != centre.PointAfterP3 || first.Load() {
			return
		}
		go func() {
			var err error
			theirs, err = i.Centre.Resume(context.Background(), id, i.Dial, func(centre.Event) {})
			second <- err
		}()
		<-read
	}, g.wrap)
	p := &peer{bend: func(calls int, answer []byte, err error) ([]byte, error) {
		if calls > 1 {
			return answer, err
		}
		i.Clock.Advance(2 * time.Second) // another sealed_at
		close(proceed)
		return answer, errors.Join(err, <-second)
	}}
	dial := func(ctx context.Context, url string) (c centre.Counterparty, err error) {
		p.Counterparty, err = i.Dial(ctx, url)
		return p, err
	}
	report, err := i.Centre.Cross(t.Context(), i.Deal(), dial, func(c string) { id = c }, func(centre.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(theirs, report) {
		t.Errorf("the processes report\n%s\n%s", theirs, report)
	}
	if sent, err := i.Store.Sent(t.Context(), id); err != nil || len(sent) != 1 {
		t.Errorf("%d records sent, %v", len(sent), err)
	}
	committed(t, i, id, report)
	want := once
	want.Projections = 2
	wantCounts(t, w, want)
}

// TestRenewedMeanwhile: another process has built and sealed a second record while this
// one's first was on its way. That is no mismatch: the second is this party's own.
func TestRenewedMeanwhile(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	i := w.Initiator("acme", nil)
	var id string
	var theirs []byte
	p := &peer{before: func() {
		w.Clock.Advance(301 * time.Second) // the first record is too old by now
		i.Clock.Advance(301 * time.Second)
		theirs = resume(t, i, id)
	}}
	dial := func(ctx context.Context, url string) (c centre.Counterparty, err error) {
		p.Counterparty, err = i.Dial(ctx, url)
		return p, err
	}
	report, err := i.Centre.Cross(t.Context(), i.Deal(), dial, func(c string) { id = c }, func(centre.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if sent, err := i.Store.Sent(t.Context(), id); err != nil || len(sent) != 2 || !bytes.Equal(theirs, report) {
		t.Errorf("%d records sent, %v; reports\n%s\n%s", len(sent), err, theirs, report)
	}
	committed(t, i, id, report)
}

// TestRowMoved: another process has written the row, and no report, while this one proved
// the commitment. What is proven is stored.
func TestRowMoved(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]crossing.State{"put behind": crossing.Sealing, "refused": crossing.Refused} {
		t.Run(name, func(t *testing.T) {
			w, _, _ := world(t, 0)
			var i *wiretest.Initiator
			var id string
			i = w.Initiator("acme", func(point string) {
				if point != centre.PointBeforePublication {
					return
				}
				x, err := i.Store.CrossingByID(context.Background(), id)
				if err == nil {
					x.State = state
					err = i.Store.Put(context.Background(), x)
				}
				if err != nil {
					t.Error(err)
				}
			})
			report, err := i.Centre.Cross(t.Context(), i.Deal(), i.Dial, func(c string) { id = c }, func(centre.Event) {})
			if err != nil {
				t.Fatal(err)
			}
			committed(t, i, id, report)
		})
	}
}

// TestLostThenRefused: the responder has sealed and its answer was lost. Whatever the
// repeat is told, the crossing is not refused, and the authority shows the seal.
func TestLostThenRefused(t *testing.T) {
	t.Parallel()
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		w, _, _ := world(t, 0)
		i := w.Initiator("acme", nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		id, _, err := crossing1(ctx, i, &peer{bend: func(calls int, _ []byte, _ error) ([]byte, error) {
			switch calls {
			case 1:
				return nil, errLost
			case 2:
				return nil, &crossing.Refusal{Name: crossing.RateLimited, Peer: true}
			}
			cancel()
			return nil, errLost
		}})
		if !errors.Is(err, centre.ErrUnknown) {
			t.Errorf("error %v", err)
		}
		x, err := i.Store.CrossingByID(t.Context(), id)
		if err != nil || x.State != crossing.Sealing || x.Refusal != nil {
			t.Fatalf("the row is %v, %v", x, err)
		}
		p := &peer{}
		report, err := i.Centre.Resume(t.Context(), id, func(ctx context.Context, url string) (c centre.Counterparty, err error) {
			p.Counterparty, err = i.Dial(ctx, url)
			return p, err
		}, func(centre.Event) {})
		if err != nil || p.calls != 0 {
			t.Fatalf("resumed with %d calls: %v", p.calls, err)
		}
		committed(t, i, id, report)
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		w, _, _ := world(t, 0)
		i := w.Initiator("acme", nil)
		id, report, err := crossing1(t.Context(), i, &peer{bend: func(calls int, _ []byte, _ error) ([]byte, error) {
			if calls == 1 {
				return nil, errLost
			}
			return nil, &crossing.Refusal{Name: crossing.MandateExpired, Peer: true}
		}})
		if err != nil {
			t.Fatal(err)
		}
		committed(t, i, id, report)
	})
}

// TestPoisonedRepair: crossings whose repair fails every time do not hold up another's.
func TestPoisonedRepair(t *testing.T) {
	t.Parallel()
	for name, byLie := range map[string]bool{"another record resolves": true, "records cannot be read": false} {
		t.Run(name, func(t *testing.T) {
			var poisoned []string
			g := &gated{}
			w, _, _ := world(t, 0)
			i := w.InitiatorOver("acme", nil, g.wrap)
			liar := w.Liar(wiretest.Lies{Request: func(call string, request wiretest.Doc) {
				if call == "seal" {
					delete(wiretest.Object(request, "params"), "initiator_joint_seal")
					wiretest.Object(request, "params", "record", "timestamps")["sealed_at"] = "2026-09-01T12:00:09Z"
				}
			}})
			cut := func(url string) (id string) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				d := i.Deal()
				d.URL = url
				_, err := i.Centre.Cross(ctx, d, func(ctx context.Context, url string) (centre.Counterparty, error) {
					c, err := i.Dial(ctx, url)
					return &peer{Counterparty: c, bend: func(int, []byte, error) ([]byte, error) { cancel(); return nil, errLost }}, err
				}, func(c string) { id = c }, func(centre.Event) {})
				if !errors.Is(err, centre.ErrUnknown) {
					t.Fatalf("error %v", err)
				}
				i.Clock.Advance(10 * time.Millisecond)
				return id
			}
			for range 8 {
				url := w.URL
				if byLie {
					url = liar
				}
				poisoned = append(poisoned, cut(url))
			}
			if !byLie {
				g.set(func() {
					g.sent = func(id string) error {
						if slices.Contains(poisoned, id) {
							return errFull
						}
						return nil
					}
				})
			}
			id := cut(w.URL)
			i.Clock.Advance(31 * time.Second)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- i.Centre.Run(ctx, 5*time.Millisecond) }()
			defer func() { stop(); <-ended }()
			eventually(t, "the honest crossing is repaired", func() bool {
				x, err := i.Store.CrossingByID(t.Context(), id)
				return err == nil && x.State == crossing.Committed
			})
			want := crossing.Sealing
			if byLie {
				want = crossing.Refused
			}
			for _, id := range poisoned {
				if x, err := i.Store.CrossingByID(t.Context(), id); err != nil || x.State != want {
					t.Errorf("a poisoned crossing is %v, %v", x, err)
				}
			}
		})
	}
}

// TestClockSetBack: a clock that is set back between two phases does not spoil the record.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	for _, phase := range []string{"P0", "P1", "P2", "P3"} {
		t.Run("after "+phase, func(t *testing.T) {
			w, _, _ := world(t, 0)
			i := w.Initiator("acme", nil)
			w.Clock.Advance(time.Minute)
			i.Clock.Advance(time.Minute)
			var id string
			report, err := i.Centre.Cross(t.Context(), i.Deal(), i.Dial, func(c string) { id = c }, func(e centre.Event) {
				if e.Phase == phase {
					i.Clock.Advance(-2 * time.Second)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			committed(t, i, id, report)
		})
	}
}

// TestClockSetForward: by a clock that has run ahead the RA's fresh record looks lapsed.
// That decides nothing: the crossing is taken up again when the clock is right.
func TestClockSetForward(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	var id string
	var i *wiretest.Initiator
	ahead := true
	i = w.Initiator("acme", func(point string) {
		if point == centre.PointAfterP3 && ahead {
			i.Clock.Advance(301 * time.Second)
		}
	})
	_, err := i.Centre.Cross(t.Context(), i.Deal(), i.Dial, func(c string) { id = c }, func(centre.Event) {})
	if !errors.Is(err, centre.ErrUnknown) {
		t.Fatalf("error %v, want one that decides nothing", err)
	}
	ahead = false
	i.Clock.Advance(-301 * time.Second)
	committed(t, i, id, resume(t, i, id))
}
