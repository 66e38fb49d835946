package centre_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/internal/wiretest"
)

// TestFaultyStore: the answer to any one commit of a seal is lost, whether that was kept or
// not. The initiator is told that nothing is decided yet, or the result; when it asks again
// there is one seal, spent once, and its bytes do not change.
//
// covers GC-313, GC-194
func TestFaultyStore(t *testing.T) {
	t.Parallel()
	for _, fault := range storetest.EachFault() {
		for n := 0; ; n++ {
			hit := false
			t.Run(fmt.Sprintf("%s/%d", fault, n), func(t *testing.T) {
				w, _, _ := world(t, 0)
				s := w.Script(w.Party("acme")).Through(wiretest.P3)
				faults := w.Faults()
				faults.After(n, fault)
				first := s.Seal()
				// Before an attempt stands there is no position yet; that is no refusal either.
				before := n == 0 && fault == storetest.FailedAndLost && first.Name() == "CHAIN_POSITION_UNAVAILABLE"
				if first.Result() == nil && first.Name() != "SEAL_PENDING" && !before {
					t.Errorf("answered %d %s", first.Status, first.Body)
				}
				a := seals(t, s)
				hit = faults.Count() > 0
				if again := s.Seal(); !bytes.Equal(again.Result(), a.Result()) {
					t.Errorf("the repeat answered %s", again.Body)
				}
				wantCounts(t, w, once)
			})
			if !hit {
				if n < 3 {
					t.Errorf("a seal has %d commits only", n)
				}
				break
			}
		}
	}
}
