package registry_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
)

// told keeps what a Registry tells its observer.
type told struct {
	mu    sync.Mutex
	words []string
}

func (o *told) Refused(operation, code string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.words = append(o.words, operation+" "+code)
}

// away is a store that does not answer.
type away struct{ registry.Store }

var errAway = errors.New("away")

func (away) Hold(context.Context, registry.Hold) (string, error) { return "", errAway }

// TestObserver: each refusal is told once, by the name that the caller gets; what is done,
// and what is not decided, is not.
func TestObserver(t *testing.T) {
	w := newWorld(t)
	db, err := sqlite.Open(t.Context(), sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	seen := &told{}
	watched := func(s registry.Store) *registry.Registry {
		t.Helper()
		ra, err := registry.New(registry.Config{
			Store: s, Signer: w.key, Now: w.clock, Observer: seen, RateLimit: registry.Rate{PerSecond: 1, Burst: 1}, Release: mode(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		return ra
	}
	ctx, d := t.Context(), w.deal(irreversible(5))
	ra := watched(db.Registry())
	triple := d.hold.Triple()
	for _, call := range []func() error{
		func() error { _, err := ra.Enrol(ctx, api.Enrol{}); return err },
		func() error {
			_, err := ra.RegisterOpen(ctx, w.a.as, api.RegisterOpen{Token: d.openA.Token})
			return err
		},
		func() error { _, err := ra.RegisterClosed(ctx, w.a.as, api.RegisterClosed{}); return err },
		func() error { _, err := ra.Consume(ctx, w.a.as, api.Consume{}); return err },
		func() error { return ra.Burned(ctx, w.a.effects, api.Burn{RequestID: crossing1}) },
		func() error { _, err := ra.Hold(ctx, w.b.effects, d.hold); return err },
		func() error { _, err := ra.Confirm(ctx, w.b.effects, triple); return err },
		func() error { _, err := ra.Release(ctx, w.b.as, api.Release{}); return err },
		func() error {
			_, err := ra.Revoke(ctx, w.a.principal, api.Revoke{Hash: triple.InitiatorToken})
			return err
		},
		func() error { _, err := ra.Status(ctx, api.StatusRequest{}); return err },
		func() error { return ra.Withdraw(ctx, w.a.as, api.Withdrawal{}) },
		func() error { _ = ra.Admit("192.0.2.1"); return ra.Admit("192.0.2.1") },
	} {
		err := call()
		refused, ok := errors.AsType[*api.Error](err)
		if n := len(seen.words); !ok || n == 0 || !strings.HasSuffix(seen.words[n-1], " "+refused.Code) {
			t.Fatalf("%v, told %q", err, seen.words)
		}
	}
	if _, err := ra.NewCode(ctx, registry.CodeTerms{}); err != nil {
		t.Fatal(err)
	}
	if _, err := watched(away{db.Registry()}).Hold(ctx, w.b.effects, d.hold); !errors.Is(err, errAway) {
		t.Fatal(err)
	}
	want := []string{
		"enrol malformed_request", "register_open ROLE_MISMATCH", "register_closed malformed_request", "consume ROLE_MISMATCH", "burn not_found",
		"hold MANDATE_INVALID", "confirm MAGNITUDE_EXHAUSTED", "release ROLE_MISMATCH", "revoke not_found", "status malformed_request",
		"office ROLE_MISMATCH", "admit RATE_LIMITED",
	}
	if !slices.Equal(seen.words, want) {
		t.Errorf("told %q", seen.words)
	}
}
