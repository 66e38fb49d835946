package registry_test

import (
	"math/bits"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const raURL = "https://ra.example"

// newListWorld is a world whose RA serves status lists.
func newListWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	db, err := sqlite.Open(t.Context(), w.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	key := signer(t)
	w.keys = jose.NewKeySet(key.Key())
	if w.ra, err = registry.New(registry.Config{Store: db.Registry(), Signer: key, Now: w.clock, URL: raURL}); err != nil {
		t.Fatal(err)
	}
	return w
}

// listed is a registered Open with its place in a list.
func (w *world) listed(p *party, d mandate.OpenDraft) (mandate.IssuedOpen, mandate.StatusReference) {
	w.t.Helper()
	o := w.open(p, d)
	receipt, err := w.ra.RegisterOpen(w.t.Context(), p.principal, api.RegisterOpen{Token: o.Full()})
	if err != nil {
		w.t.Fatal(err)
	}
	g, err := mandate.ParseRegistration(receipt, w.keys)
	if err != nil || g.StatusList.URI == "" {
		w.t.Fatalf("registration %+v, %v", g, err)
	}
	return o, g.StatusList
}

func (w *world) list(uri string) mandate.StatusList {
	w.t.Helper()
	const path = raURL + "/v1/ra/status-lists/"
	token, err := w.ra.StatusList(w.t.Context(), uri[len(path):])
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := mandate.ParseStatusList(token, w.keys)
	if err != nil || l.URI != uri || uri[:len(path)] != path || l.TTL != time.Minute || l.Expires.Sub(l.At) != time.Minute {
		w.t.Fatalf("list %s from %v to %v, ttl %v, %v", l.URI, l.At, l.Expires, l.TTL, err)
	}
	return l
}

// agree fails the test unless status and list say the same of an Open, and as wanted.
func (w *world) agree(what string, o mandate.IssuedOpen, f mandate.StatusReference, wanted bool) {
	w.t.Helper()
	listed, status := w.list(f.URI).Confirms(f, w.clock()), w.status(jcs.HexOf([]byte(o.Token)))
	if listed != wanted || status != wanted {
		w.t.Errorf("%s: the list says %v, the status %v, want %v", what, listed, status, wanted)
	}
}

// TestStatusListAgrees compares the two views after each change that there is.
//
// covers GC-355
func TestStatusListAgrees(t *testing.T) {
	w := newListWorld(t)
	ctx, c := t.Context(), w.guest("c")
	operator := w.operator()
	step := func(what string, change func() error) {
		t.Helper()
		w.sleep(time.Second)
		if err := change(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	var opens []mandate.IssuedOpen
	var places []mandate.StatusReference
	all := func(what string, wanted ...bool) {
		t.Helper()
		w.sleep(time.Second)
		for i, o := range opens {
			w.agree(what, o, places[i], wanted[i])
		}
	}
	short := c.openDraft(irreversible(5))
	short.ExpiresAt = start.Add(30 * time.Second)
	for _, d := range []mandate.OpenDraft{c.openDraft(irreversible(5)), c.openDraft(irreversible(6)), short} {
		step("register", func() error {
			o, f := w.listed(c, d)
			opens, places = append(opens, o), append(places, f)
			return nil
		})
		all("registered", true, true, true)
	}
	step("revoke", func() error {
		_, err := w.ra.Revoke(ctx, c.principal, api.Revoke{Hash: jcs.HexOf([]byte(opens[0].Token))})
		return err
	})
	all("one revoked", false, true, true)
	w.sleep(30 * time.Second)
	all("one expired", false, true, false)
	suspend := func(suspended bool) func() error {
		return func() error {
			return w.ra.SetSuspended(ctx, operator, api.Suspension{PrincipalID: c.id, Suspended: suspended})
		}
	}
	step("suspend", suspend(true))
	all("suspended", false, false, false)
	step("reinstate", suspend(false))
	all("reinstated", false, true, false)
	step("revoke the key", func() error {
		_, err := w.ra.RevokeSigner(ctx, operator, signersOf(c)["cnf key"])
		return err
	})
	all("the key revoked", false, false, false)
}

// TestStatusListTellsNoCounts: half of the entries are active, whatever there is; and a
// change is one up and one down, whether something was registered or ended.
//
// covers GC-355
func TestStatusListTellsNoCounts(t *testing.T) {
	w := newListWorld(t)
	o, f := w.listed(w.a, w.a.openDraft(irreversible(5)))
	before := w.list(f.URI)
	look := func(what string, changed int) {
		t.Helper()
		w.sleep(time.Second)
		l := w.list(f.URI)
		ones, differ := 0, 0
		for i, b := range l.Bits {
			ones += bits.OnesCount8(b)
			differ += bits.OnesCount8(b ^ before.Bits[i])
		}
		if len(l.Bits)*8 != registry.ListEntries || ones != registry.ListEntries/2 {
			t.Errorf("%s: %d of %d entries are not active", what, ones, len(l.Bits)*8)
		}
		if differ > changed || differ%2 != 0 {
			t.Errorf("%s: %d entries differ", what, differ)
		}
		before = l
	}
	look("the same again", 0)
	for range 10 {
		if _, other := w.listed(w.b, w.b.openDraft(irreversible(5))); other.URI != f.URI || other.Index == f.Index {
			t.Errorf("another Open is at %+v, the first at %+v", other, f)
		}
		look("one registered", 2)
	}
	if _, err := w.ra.Revoke(t.Context(), w.a.principal, api.Revoke{Hash: jcs.HexOf([]byte(o.Token))}); err != nil {
		t.Fatal(err)
	}
	look("one revoked", 2)
}

// TestStatusListIsBounded: a list is made at most once a second, and once in 15 s where
// nothing has changed.
//
// covers GC-355
func TestStatusListIsBounded(t *testing.T) {
	w := newListWorld(t)
	o, f := w.listed(w.a, w.a.openDraft(irreversible(5)))
	first := w.list(f.URI)
	w.sleep(500 * time.Millisecond)
	if _, err := w.ra.Revoke(t.Context(), w.a.principal, api.Revoke{Hash: jcs.HexOf([]byte(o.Token))}); err != nil {
		t.Fatal(err)
	}
	if l := w.list(f.URI); !l.At.Equal(first.At) || !l.Active(f.Index) {
		t.Error("a list was made within the second")
	}
	w.sleep(500 * time.Millisecond)
	second := w.list(f.URI)
	if second.Active(f.Index) {
		t.Error("a second after a revocation the list does not know it")
	}
	w.sleep(14 * time.Second)
	if l := w.list(f.URI); !l.At.Equal(second.At) {
		t.Error("a list was made though nothing has changed")
	}
	w.sleep(time.Second)
	if l := w.list(f.URI); l.At.Equal(second.At) {
		t.Error("another process's change would never show")
	}
	w.sleep(-time.Hour)
	if l := w.list(f.URI); !l.At.Equal(w.clock().Truncate(time.Second)) {
		t.Error("a clock that was set back keeps a list for long")
	}
}

func TestStatusListUnknown(t *testing.T) {
	w := newListWorld(t)
	for _, id := range []string{"", "x", "00000000000000000000000000000000", "0000000000000000000000000000000G", "ABCDEF00000000000000000000000000"} {
		_, err := w.ra.StatusList(t.Context(), id)
		refused(t, id, err, api.CodeNotFound)
	}
	_, f := w.listed(w.a, w.a.openDraft(irreversible(5)))
	bare := newWorld(t) // its RA has no URL
	_, err := bare.ra.StatusList(t.Context(), f.URI[len(f.URI)-32:])
	refused(t, "an RA without lists", err, api.CodeNotFound)
	if _, err := w.ra.StatusList(t.Context(), f.URI[len(f.URI)-32:]); err != nil {
		t.Error(err)
	}
}
