package a2acrossing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/wiretest"
)

// chainID is the chain_id of two agents as §4.4.2-1 says it, without package chain.
func chainID(a, b string) string { return wiretest.Hash(min(a, b) + "|" + max(a, b)) }

// TestWC9: one responder, two counterparties, and then the first again.
//
// covers GC-138, GC-256, GC-257, GC-259
func TestWC9(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	a, b := w.Party("acme"), w.Party("initech")
	own := w.Responder.AgentID
	first, second := chainID(a.AgentID, own), chainID(b.AgentID, own)
	if first == second {
		t.Fatal("two counterparties have one chain")
	}
	type position struct{ chain, prev, seq string }
	var anchors []string
	seal := func(from *wiretest.Party, want position) (wiretest.Answer, *wiretest.Script) {
		t.Helper()
		s := w.Script(from).Through(wiretest.P3)
		before := w.Rows()
		answer := s.Seal()
		added := w.Rows().Since(before)["anchors"].Added
		if answer.Result() == nil || len(added) != 1 {
			t.Fatalf("the seal answered %s with anchors %v", answer.Body, added)
		}
		row, prev := added[0], want.prev
		if prev == "NULL" {
			prev = "genesis"
		}
		if got := (position{row["chain_id"], row["prev_hash"], row["chain_seq"]}); got != want || row["party"] != own {
			t.Errorf("anchored by %s at %v, want %v", row["party"], got, want)
		}
		anchor := wiretest.Hash(fmt.Sprintf("%s|%s|%s", wiretest.JointSeal(s.Record), prev, want.seq))
		if row["anchor"] != anchor {
			t.Errorf("anchor %s, recomputed %s", row["anchor"], anchor)
		}
		anchors = append(anchors, anchor)
		return answer, s
	}
	seal(a, position{first, "NULL", "0"})
	seal(b, position{second, "NULL", "0"})
	third, s := seal(a, position{first, anchors[0], "1"})

	// The block, the task and the authority show the position in the first chain, and nothing
	// of the other: no anchor, no chain, no counterparty.
	block := wiretest.Object(third.Doc, "result", "artifact_block")
	want := wiretest.Doc{"prev_hash": anchors[0], "chain_seq": json.Number("1"), "is_genesis": false}
	for name, value := range want {
		if diff := cmp.Diff(value, block[name]); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	verdict := w.Verify(wiretest.Doc{"crossing_id": s.CrossingID, "record": s.Record})
	v := verdictOf(t, verdict)
	if wiretest.Text(v, "chain_id") != first || wiretest.Text(v, "prev_hash") != anchors[0] {
		t.Errorf("the authority shows chain %s at %s", wiretest.Text(v, "chain_id"), wiretest.Text(v, "prev_hash"))
	}
	for check, holds := range wiretest.Object(v, "checks") {
		if holds != true {
			t.Errorf("check %s is %v", check, holds)
		}
	}
	for what, body := range map[string][]byte{"result": third.Body, "task": s.Task().Body, "verdict": verdict.Body} {
		for _, foreign := range []string{second, anchors[1], b.AgentID, b.PrincipalID} {
			if bytes.Contains(body, []byte(foreign)) {
				t.Errorf("the %s holds %q", what, foreign)
			}
		}
	}
}
