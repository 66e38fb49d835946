package registry_test

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/pgtest"
	"github.com/bindery/bindery/internal/store/postgres"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/mandate"
)

// eachStore runs a test on each engine. more opens the same database again, as another
// process would.
func eachStore(t *testing.T, test func(t *testing.T, db *sqlstore.DB, more func() *sqlstore.DB)) {
	opened := func(t *testing.T, db *sqlstore.DB, err error) *sqlstore.DB {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	t.Run("sqlite", func(t *testing.T) {
		path := sqlitetest.Path(t)
		more := func() *sqlstore.DB {
			db, err := sqlite.Open(t.Context(), path)
			return opened(t, db, err)
		}
		test(t, more(), more)
	})
	t.Run("postgres", func(t *testing.T) {
		url := pgtest.Store(t)
		more := func() *sqlstore.DB {
			db, err := postgres.Open(t.Context(), url)
			return opened(t, db, err)
		}
		test(t, more(), more)
	})
}

// TestFaultyStore: where the answer to a commit is lost, the call fails with no name of a
// refusal, and the same call again finds out. Nothing is drawn or spent twice.
//
// covers GC-192, GC-194, GC-195
func TestFaultyStore(t *testing.T) {
	for _, fault := range storetest.EachFault() {
		t.Run(fault.String(), func(t *testing.T) {
			eachStore(t, func(t *testing.T, db *sqlstore.DB, _ func() *sqlstore.DB) {
				faulty(t, newWorldOver(t, db.Registry()), storetest.NewFaults(db), fault)
			})
		})
	}
}

// newWorldOver is a world over a given store, which keeps no table that a test could read.
func newWorldOver(t *testing.T, store registry.Store) *world {
	t.Helper()
	w := &world{t: t, now: start}
	w.key = signer(t)
	w.keys = jose.NewKeySet(w.key.Key())
	w.ra = w.replica(store)
	w.a, w.b = w.party("a"), w.party("b")
	return w
}

// replica is one more RA of the same operator, with the same key.
func (w *world) replica(store registry.Store) *registry.Registry {
	w.t.Helper()
	ra, err := registry.New(registry.Config{
		Store: store, Signer: w.key, Now: w.clock, VAURL: "https://va.example/", Domains: &w.web, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return ra
}

func faulty(t *testing.T, w *world, faults *storetest.Faults, fault storetest.Fault) {
	ctx := t.Context()
	// undecided makes one call fail at its commit, and fails the test if that is a refusal.
	undecided := func(what string, call func() (string, error)) string {
		t.Helper()
		faults.Next(fault)
		_, err := call()
		if _, refused := errors.AsType[*api.Error](err); refused || !errors.Is(err, storetest.ErrFault) {
			t.Fatalf("%s with a failed commit: %v", what, err)
		}
		receipt, err := call()
		if err != nil {
			t.Fatalf("%s again: %v", what, err)
		}
		if third, err := call(); err != nil || third != receipt {
			t.Errorf("%s a third time has another receipt (%v)", what, err)
		}
		return receipt
	}
	openA, openB := w.opened(w.a, w.a.openDraft(irreversible(5))), w.opened(w.b, w.b.openDraft(irreversible(5)))
	hold := api.Hold{
		CrossingID:      crossing1,
		InitiatorClosed: w.closed(w.a.agent, w.a.closedDraft(openA, w.b, irreversible(3))),
		ResponderClosed: w.closed(w.b.agent, w.b.closedDraft(openB, w.a, irreversible(3))),
	}
	undecided("registration of A's", func() (string, error) { return w.register(w.a, hold.InitiatorClosed, w.b) })
	undecided("registration of B's", func() (string, error) { return w.register(w.b, hold.ResponderClosed, w.a) })
	// Three of five were booked once: two more fit, and three do not.
	again := w.a.closedDraft(openA, w.b, irreversible(3))
	again.CrossingID = crossing2
	_, err := w.register(w.a, w.closed(w.a.agent, again), w.b)
	refused(t, "a draw above what is left", err, crossing.MagnitudeExhausted)
	again = w.a.closedDraft(openA, w.b, irreversible(2))
	again.CrossingID = crossing2
	if _, err := w.register(w.a, w.closed(w.a.agent, again), w.b); err != nil {
		t.Errorf("a draw of what is left: %v", err)
	}
	held := undecided("hold", func() (string, error) { return w.ra.Hold(ctx, w.b.effects, hold) })
	w.spent("hold", held, nil, hold.Triple(), mandate.Held)
	spent := undecided("confirm", func() (string, error) { return w.ra.Confirm(ctx, w.b.effects, hold.Triple()) })
	w.spent("confirm", spent, nil, hold.Triple(), mandate.Spent)
	other := hold
	other.CrossingID = crossing2
	if _, err := w.ra.Hold(ctx, w.b.effects, other); err == nil {
		t.Error("spent twice")
	}
}
