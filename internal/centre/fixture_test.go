package centre_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/mandate"
)

// errLost is what a call returns when its answer did not arrive.
var errLost = errors.New("the connection broke")

// How a remote authority fails.
const (
	works   int32 = iota
	lost          // the call did not arrive
	kept          // the call was carried out, and its answer was lost
	silent        // no answer until the caller gives up
	answers       // answers with the error that the test has set
)

// publisher is a Verification Authority that fails as a test says.
type publisher struct {
	centre.Publisher
	mode, calls atomic.Int32
}

func (p *publisher) Publish(ctx context.Context, body []byte) error {
	p.calls.Add(1)
	switch p.mode.Load() {
	case lost:
		return errLost
	case silent:
		<-ctx.Done()
		return ctx.Err()
	case kept:
		return errors.Join(p.Publisher.Publish(ctx, body), errLost)
	}
	return p.Publisher.Publish(ctx, body)
}

// spender is a Registration Authority that fails as a test says, at the hold and at the
// confirmation.
type spender struct {
	centre.Spender
	hold, confirmation, holds atomic.Int32
	err                       error // for answers
}

func (s *spender) Hold(ctx context.Context, crossingID, initiatorClosed, responderClosed string) (string, error) {
	s.holds.Add(1)
	switch s.hold.Load() {
	case lost:
		return "", errLost
	case silent:
		<-ctx.Done()
		return "", ctx.Err()
	case answers:
		return "", s.err
	case kept:
		_, err := s.Spender.Hold(ctx, crossingID, initiatorClosed, responderClosed)
		return "", errors.Join(err, errLost)
	}
	return s.Spender.Hold(ctx, crossingID, initiatorClosed, responderClosed)
}

func (s *spender) Confirmation(ctx context.Context, t mandate.Triple) (string, error) {
	if s.confirmation.Load() == lost {
		return "", errLost
	}
	return s.Spender.Confirmation(ctx, t)
}

// world is a World whose authorities can be told to fail.
func world(t *testing.T, ack time.Duration) (*wiretest.World, *publisher, *spender) {
	t.Helper()
	p, s := &publisher{}, &spender{}
	w := wiretest.New(t, wiretest.Config{
		AckTimeout: ack,
		Publisher:  func(real centre.Publisher) centre.Publisher { p.Publisher = real; return p },
		Spender:    func(real centre.Spender) centre.Spender { s.Spender = real; return s },
	})
	return w, p, s
}

// wantSealed requires the result of a seal.
func wantSealed(t *testing.T, a wiretest.Answer) {
	t.Helper()
	if a.Result() == nil || a.Status != http.StatusOK {
		t.Fatalf("the seal answered %d %s", a.Status, a.Body)
	}
}

// seals asks again while the answer is SEAL_PENDING, as an initiator does.
func seals(t *testing.T, s *wiretest.Script) wiretest.Answer {
	t.Helper()
	var a wiretest.Answer
	eventually(t, "a seal", func() bool {
		a = s.Seal()
		return a.Name() != "SEAL_PENDING"
	})
	wantSealed(t, a)
	return a
}

// wantName requires a refusal by name.
func wantName(t *testing.T, a wiretest.Answer, name string) {
	t.Helper()
	if a.Name() != name {
		t.Fatalf("answered %d %s, want %s", a.Status, a.Body, name)
	}
}

// eventually waits for what a background sweep brings about.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("never happened: %s", what)
}

// once is what one crossing leaves behind at its responder.
var once = wiretest.Counts{Anchors: 1, Seals: 1, Holds: 1, Attempts: 1, Outbox: 1, Projections: 1}

func wantCounts(t *testing.T, w *wiretest.World, want wiretest.Counts) {
	t.Helper()
	if got := w.Count(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}
