package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
)

// anchored is a link of a party's chain with its publication.
func anchored(party string, chainID jcs.Hex256, crossingID string) centre.Anchored {
	return centre.Anchored{
		Party: party, ChainID: chainID, CrossingID: crossingID, JointSeal: hash("seal", crossingID), At: registryStart,
		Publication: func(pos chain.Position) (centre.Publication, error) {
			return centre.Publication{
				Role: crossing.Initiator, CrossingID: crossingID, ChainID: chainID, Seq: pos.Seq, Body: fmt.Append(nil, pos.Seq),
			}, nil
		},
	}
}

// covers GC-255, GC-257
func centreChain(t *testing.T, p *party) {
	ctx := t.Context()
	ab, ac := chain.ID(agentA, agentB), chain.ID(agentA, "urn:anax:agent:c")
	_, err := p.Link(ctx, agentA, "1")
	want(t, "no link", err, centre.ErrNone)
	if got, err := p.Next(ctx, agentA, ab); err != nil || got != chain.Genesis() {
		t.Errorf("the first position is %+v, %v", got, err)
	}
	first, err := p.Anchor(ctx, anchored(agentA, ab, "1"))
	want(t, "first", err, nil)
	if _, err := p.Anchor(ctx, anchored(agentA, ac, "2")); err != nil {
		t.Fatal(err)
	}
	second, err := p.Anchor(ctx, anchored(agentA, ab, "3"))
	want(t, "second", err, nil)
	if second.Position != first.Next(first.JointSeal) || first.Position != chain.Genesis() || second.Anchor != second.Position.Anchor(hash("seal", "3")) {
		t.Errorf("links %+v, %+v", first, second)
	}
	again := anchored(agentA, ab, "1")
	again.JointSeal, again.ChainID = hash("another seal"), ac
	if got, err := p.Anchor(ctx, again); err != nil || got != first {
		t.Errorf("the repeat gave %+v, %v, want %+v", got, err, first)
	}
	if got, err := p.Next(ctx, agentB, ab); err != nil || got != chain.Genesis() {
		t.Errorf("the other party's first position is %+v, %v", got, err)
	}
	links, err := p.Links(ctx, agentA, ab)
	if diff := cmp.Diff([]chain.Link{first, second}, links); err != nil || diff != "" || chain.Verify(links) != nil {
		t.Errorf("links (-want +got) %v\n%s", err, diff)
	}
	if got, err := p.Link(ctx, agentA, "3"); err != nil || got != second {
		t.Errorf("link %+v, %v", got, err)
	}
	for anchor, wanted := range map[jcs.Hex256]jcs.Hex256{second.Anchor: ab, hash("none"): ""} {
		if got, err := p.ChainOf(ctx, agentA, anchor); err != nil || got != wanted {
			t.Errorf("the chain of %s is %q, want %q, %v", anchor, got, wanted, err)
		}
	}
	if got, err := p.ChainOf(ctx, "urn:anax:agent:nobody", second.Anchor); err != nil || got != "" {
		t.Errorf("an anchor of somebody else: %q, %v", got, err)
	}
	broken := errors.New("broken")
	fails := anchored(agentA, ab, "4")
	fails.Publication = func(chain.Position) (centre.Publication, error) { return centre.Publication{}, broken }
	_, err = p.Anchor(ctx, fails)
	want(t, "a failing publication", err, broken)
	if got, err := p.Next(ctx, agentA, ab); err != nil || got != second.Next(second.JointSeal) {
		t.Errorf("after it the next position is %+v, %v", got, err)
	}
	_, err = p.Link(ctx, agentA, "4")
	want(t, "its link", err, centre.ErrNone)
	if w, err := p.Waiting(ctx, "", 99); err != nil || len(w) != 3 {
		t.Errorf("%d publications wait, want 3, %v", len(w), err)
	}
}

func centreChainRace(t *testing.T, p *party) {
	ctx := t.Context()
	id := chain.ID(agentA, agentB)
	each(t, 50, nil, func(i int) error {
		_, err := p.Anchor(ctx, anchored(agentA, id, fmt.Sprint(i)))
		return err
	})
	links, err := p.Links(ctx, agentA, id)
	if err != nil || len(links) != 50 {
		t.Fatalf("%d links, %v", len(links), err)
	}
	if err := chain.Verify(links); err != nil {
		t.Error(err)
	}
	waiting, err := p.Waiting(ctx, "", 99)
	if err != nil || len(waiting) != 50 {
		t.Fatalf("%d publications, %v", len(waiting), err)
	}
	for i, w := range waiting {
		if w.Seq != int64(i) || links[i].CrossingID != w.CrossingID {
			t.Errorf("publication %d is of position %d", i, w.Seq)
		}
	}
}

func centreAnchorRace(t *testing.T, p *party) {
	ctx := t.Context()
	id := chain.ID(agentA, agentB)
	links := make([]chain.Link, 50)
	each(t, 50, nil, func(i int) (err error) {
		links[i], err = p.Anchor(ctx, anchored(agentA, id, "one"))
		return err
	})
	for i, l := range links {
		if l != links[0] {
			t.Errorf("call %d got %+v, want %+v", i, l, links[0])
		}
	}
	if all, err := p.Links(ctx, agentA, id); err != nil || len(all) != 1 {
		t.Errorf("%d links of one crossing, %v", len(all), err)
	}
}

func centreOutbox(t *testing.T, p *party) {
	ctx := t.Context()
	id := chain.ID(agentA, agentB)
	for i := range 5 {
		_, err := p.Anchor(ctx, anchored(agentA, id, fmt.Sprint(i)))
		want(t, "anchor", err, nil)
	}
	waiting := func(crossingID string, limit int) (ids []string) {
		t.Helper()
		list, err := p.Waiting(ctx, crossingID, limit)
		want(t, "waiting", err, nil)
		for _, w := range list {
			ids = append(ids, w.CrossingID)
		}
		return ids
	}
	check := func(what string, got []string, wanted ...string) {
		t.Helper()
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	check("all", waiting("", 99), "0", "1", "2", "3", "4")
	check("at most two", waiting("", 2), "0", "1")
	check("of one crossing", waiting("3", 99), "3")
	check("of none", waiting("none", 99))
	list, err := p.Waiting(ctx, "", 99)
	want(t, "waiting", err, nil)
	want(t, "undelivered", p.Undelivered(ctx, list[0].ID, "unreachable"), nil)
	want(t, "acknowledge", p.Acknowledge(ctx, list[1].ID, registryStart), nil)
	want(t, "acknowledge again", p.Acknowledge(ctx, list[1].ID, registryStart.Add(time.Hour)), nil)
	check("after one acknowledgement", waiting("", 99), "0", "2", "3", "4")
	check("of the acknowledged", waiting("1", 99))
	want(t, "undelivered after all", p.Undelivered(ctx, list[1].ID, "late"), nil)
	check("after a late failure", waiting("", 99), "0", "2", "3", "4")
}
