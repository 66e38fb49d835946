package a2acrossing_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/wiretest"
)

// TestReplay presents a Closed that somebody has kept: in another crossing, for other
// terms, to another party, by another party, with its nonce in another Closed, and too
// late. Each of its bindings refuses by itself.
//
// covers GC-314, GC-335, GC-336
func TestReplay(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	from := w.Party("acme")
	kept := w.Script(from).Through(wiretest.Closing)
	present := func(s *wiretest.Script) *wiretest.Script {
		s.Closed, s.Receipt = kept.Closed, kept.Receipt
		return s
	}
	t.Run("in another crossing", func(t *testing.T) {
		s := w.Script(from)
		s.Open = kept.Open
		fails(t, present(s.Through(wiretest.P2)), s.P3, "MANDATE_PARTY_MISMATCH")
	})
	t.Run("for other terms", func(t *testing.T) {
		s := w.Script(from).Through(wiretest.P1)
		s.Close() // signed for the first terms
		s.Terms = `{"terms_version":"2"}`
		s.P2()
		fails(t, s, s.P3, "AGREEMENT_HASH_MISMATCH")
	})
	t.Run("to another party", func(t *testing.T) {
		s := w.Script(from).Through(wiretest.P2)
		s.Present(set("aud", w.Party("third").PrincipalID))
		fails(t, s, s.P3, "MANDATE_AUDIENCE")
	})
	t.Run("by another party", func(t *testing.T) {
		s := w.Script(w.Party("thief")).Through(wiretest.P2)
		fails(t, present(s), s.P3, "MANDATE_PARTY_MISMATCH")
	})
	t.Run("under a stolen Open", func(t *testing.T) {
		s := w.Script(from)
		s.Open = kept.Open
		s.Through(wiretest.P2)
		s.Closer = w.Party("second-thief").Agent
		s.Present(nil)
		fails(t, s, s.P3, "MANDATE_INVALID")
	})
	t.Run("too late", func(t *testing.T) {
		w.Clock.Advance(10 * time.Minute)
		fails(t, kept, kept.P3, "MANDATE_EXPIRED")
	})
	t.Run("a seal call", func(t *testing.T) {
		w, s, first := sealed(t)
		w.Clock.Advance(48 * time.Hour)
		before := w.Rows()
		if a := w.Post(wiretest.Activated(), s.SealBody()); !bytes.Equal(a.Result(), first.Result()) {
			t.Errorf("answered %s", a.Body)
		}
		w.Unwritten(before)
	})
}
