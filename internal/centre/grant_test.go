package centre_test

import (
	"errors"
	"testing"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// TestRevokedGrant: a revoked Open is presented once at most. The RA's refusal is heard,
// and the next crossing goes under an older Open that holds.
//
// covers GC-101
func TestRevokedGrant(t *testing.T) {
	t.Parallel()
	w, _, _ := world(t, 0)
	i := w.Initiator("acme", nil)
	i.Grant(i.Store, commitment.Amount{Class: commitment.Irreversible, Magnitude: 20})
	grants, err := i.Store.Grants(t.Context())
	if err != nil || len(grants) != 2 {
		t.Fatalf("%d grants, %v", len(grants), err)
	}
	i.Revoke(string(grants[0].OpenHash))
	_, _, err = crossing1(t.Context(), i, &peer{})
	var refusal *crossing.Refusal
	if !errors.As(err, &refusal) || refusal.Name != crossing.MandateRevoked {
		t.Fatalf("error %v, want MANDATE_REVOKED", err)
	}
	id, _, err := crossing1(t.Context(), i, &peer{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := i.Store.CrossingByID(t.Context(), id)
	if err != nil || jcs.HexOf([]byte(x.OwnOpen)) != jcs.HexOf([]byte(grants[1].Presented)) {
		t.Errorf("not under the older Open: %v", err)
	}
}
