package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
)

// centreDepth counts what is where.
func centreDepth(t *testing.T, p *party) {
	ctx := t.Context()
	depth := func(what string, wanted centre.Depth) {
		t.Helper()
		got, err := p.Depth(ctx)
		if diff := cmp.Diff(wanted, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", what, err, diff)
		}
	}
	depth("empty", centre.Depth{})
	for i, x := range []struct {
		role  crossing.Role
		state crossing.State
	}{
		{crossing.Initiator, crossing.MandatesPending}, {crossing.Initiator, crossing.Committed}, {crossing.Initiator, crossing.Committed},
		{crossing.Responder, crossing.Committed},
	} {
		row := session(fmt.Sprint("depth-", i), "")
		row.Role, row.State = x.role, x.state
		want(t, "row", p.Put(ctx, row), nil)
	}
	rows := func(sealing, committed int64) []centre.StateCount {
		all := []centre.StateCount{
			{Role: "initiator", State: "committed", N: 2}, {Role: "initiator", State: "mandates_pending", N: 1}, {Role: "responder", State: "committed", N: committed},
		}
		if sealing > 0 {
			all = append(all, centre.StateCount{Role: "responder", State: "sealing", N: sealing})
		}
		return all
	}
	depth("rows", centre.Depth{Crossings: rows(0, 1)})
	_, m := p.held(nil)
	depth("held", centre.Depth{Crossings: rows(1, 1), Attempts: 1})
	_, refusal, err := p.Commit(ctx, m)
	if err != nil || refusal != nil {
		t.Fatal(refusal, err)
	}
	depth("sealed", centre.Depth{Crossings: rows(1, 1), Waiting: 1})
	waiting, err := p.Waiting(ctx, "", 9)
	want(t, "waiting", err, nil)
	want(t, "acknowledge", p.Acknowledge(ctx, waiting[0].ID, registryStart.Add(time.Minute)), nil)
	depth("acknowledged", centre.Depth{Crossings: rows(0, 2)}) // the row stays at sealing; the published seal tells
}
