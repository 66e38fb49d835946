package httpapi_test

import (
	"errors"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// covers GC-196, GC-198
func TestReleaseOverHTTP(t *testing.T) {
	for _, c := range []struct {
		mode registry.ReleaseMode
		want mandate.SpendState
	}{{registry.ReleaseNone, mandate.Held}, {registry.ReleaseOn, mandate.Released}} {
		t.Run(string(c.mode), func(t *testing.T) {
			o := newOfficeIn(t, c.mode)
			ctx, a, b := t.Context(), o.join(t, "a"), o.join(t, "b")
			_, closedA := a.closed(t, b)
			_, closedB := b.closed(t, a)
			hold := api.Hold{CrossingID: crossingOne, InitiatorClosed: closedA, ResponderClosed: closedB}
			release := api.Release{Triple: hold.Triple()}
			_, err := b.ra.Release(ctx, release)
			if !errors.Is(err, &api.Error{Code: "MAGNITUDE_EXHAUSTED"}) {
				t.Errorf("release before hold: %v", err)
			}
			if _, err := b.ra.Hold(ctx, hold); err != nil {
				t.Fatal(err)
			}
			_, err = a.ra.Release(ctx, release)
			if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != "MAGNITUDE_EXHAUSTED" || e.Receipt != "" {
				t.Errorf("release by another effector: %v", err)
			}
			for range 2 {
				receipt, err := b.ra.Release(ctx, release)
				s, fault := mandate.ParseSpendReceipt(receipt, jose.NewKeySet(o.key))
				if err != nil || fault != nil || s.State != c.want || s.Triple != hold.Triple() || s.Effector != b.id {
					t.Errorf("release: %+v, %v, %v", s, err, fault)
				}
			}
			release.Refusal = "x"
			if _, err := b.ra.Release(ctx, release); !errors.Is(err, &api.Error{Code: api.CodeMalformed, Pointer: "/refusal"}) {
				t.Errorf("release against nonsense: %v", err)
			}
		})
	}
}

// TestHalfOverHTTP: one authority, the other Closed elsewhere.
//
// covers GC-194
func TestHalfOverHTTP(t *testing.T) {
	o := newOffice(t)
	ctx, a, b := t.Context(), o.join(t, "a"), o.join(t, "b")
	_, closedA := a.closed(t, b)
	hold := api.Hold{
		CrossingID: crossingOne, InitiatorClosed: closedA, ResponderToken: jcs.HexOf([]byte("elsewhere")), CounterpartyAgent: b.agentID,
	}
	for _, call := range []func() (string, error){
		func() (string, error) { return b.ra.Hold(ctx, hold) },
		func() (string, error) { return b.ra.Confirm(ctx, hold.Triple()) },
	} {
		receipt, err := call()
		s, fault := mandate.ParseSpendReceipt(receipt, jose.NewKeySet(o.key))
		if err != nil || fault != nil || s.Half != mandate.InitiatorHalf || s.Triple != hold.Triple() {
			t.Errorf("%+v, %v, %v", s, err, fault)
		}
	}
}
