package authority_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/store/storetest"
)

// TestFaultyStore: where the answer to a commit is lost, a publication is not acknowledged;
// the same bytes again are, and what the authority serves is what it acknowledges.
//
// covers GC-255
func TestFaultyStore(t *testing.T) {
	for _, fault := range storetest.EachFault() {
		t.Run(fault.String(), func(t *testing.T) {
			w := newWorld(t)
			faults := storetest.NewFaults(w.db)
			body := w.sign(w.publication(crossing.Responder), w.responder).Bytes()
			faults.Next(fault)
			_, err := w.va.Publish(t.Context(), w.responder.credential, body)
			if _, refused := errors.AsType[*api.Error](err); refused || !errors.Is(err, storetest.ErrFault) {
				t.Fatalf("with a failed commit: %v", err)
			}
			_, err = w.store.Find(t.Context(), crossingOne, crossing.Responder)
			if kept := err == nil; kept != (fault == storetest.FailedButKept) || !kept && !errors.Is(err, authority.ErrNotFound) {
				t.Errorf("after %s: %v", fault, err)
			}
			answer, err := w.va.Publish(t.Context(), w.responder.credential, body)
			if err != nil {
				t.Fatalf("again: %v", err)
			}
			if again, err := w.va.Publish(t.Context(), w.responder.credential, body); err != nil || !bytes.Equal(answer, again) {
				t.Errorf("acknowledged as\n%s\nand then as\n%s (%v)", answer, again, err)
			}
			if n := w.count("SELECT count(*) FROM projections"); n != 1 {
				t.Errorf("%d projections", n)
			}
			if w.checks(crossingOne).Resolves != api.True {
				t.Error("what was acknowledged does not resolve")
			}
		})
	}
}
