package audit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/audit"
)

// say is an entry in a few words: "reserved pay-1 c1", with a binding unless it ends in "-".
func say(at int64, words string) audit.Entry {
	f := strings.Fields(words)
	e := audit.Entry{At: time.UnixMilli(at), AgentID: "key:a", Event: f[0], ExecutionID: f[1], Binding: binding}
	if f[1] == "-" {
		e.ExecutionID = ""
	}
	for _, word := range f[2:] {
		switch {
		case word == "-":
			e.Binding = ""
		case word == "other":
			e.Binding = strings.Replace(binding, "305b", "305c", 1)
		case strings.HasPrefix(word, "key:"):
			e.AgentID = word
		case strings.HasPrefix(word, "c"):
			e.CallID = word
		default:
			e.Reason = word
		}
	}
	return e
}

func saying(at int64, lines ...string) []audit.Entry {
	var entries []audit.Entry
	for i, l := range lines {
		entries = append(entries, say(at+int64(i), l))
	}
	return chained(entries...)
}

func joined(t *testing.T, logs ...[]audit.Entry) []*audit.Joined {
	t.Helper()
	j := audit.NewJoin(100)
	for log, entries := range logs {
		for _, e := range entries {
			if err := j.Add(log, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return j.All()
}

// brief is a joined execution on one line.
func brief(x *audit.Joined) string {
	list := func(name string, mentions []audit.Mention) string {
		if len(mentions) == 0 {
			return ""
		}
		var places []string
		for _, m := range mentions {
			after := ""
			if x.After(m) {
				after = "+"
			}
			places = append(places, fmt.Sprintf("%d.%d%s", m.Log, m.Seq, after))
		}
		return "; " + name + " " + strings.Join(places, " ")
	}
	return x.AgentID + " " + x.ExecutionID + ": " + x.Relation() + list("attempts", x.Attempts) + list("over", x.Terminal) +
		list("repeats", x.Repeats) + list("refused", x.Refused) + list("late", x.Late) + list("findings", x.Findings)
}

// TestJoin: what two sessions or two gateways say of one id stands side by side, and no more
// is said than they do.
//
// covers EXA-026, EXA-051, EXA-054, EXA-061
func TestJoin(t *testing.T) {
	for name, c := range map[string]struct {
		logs [][]audit.Entry
		want []string
	}{
		"a terminal entry, then refusals": {[][]audit.Entry{saying(0,
			"call - c0 -", "reserved x c1", "dispatched x c1", "joined x c2", "succeeded x c1", "replay x c3", "collision x c4 other", "replay x c5")},
			[]string{"key:a x: correlated; attempts 0.3; over 0.5; repeats 0.4; refused 0.6+ 0.7+ 0.8+"}},
		"before the end": {[][]audit.Entry{saying(0, "reserved x c1", "collision x c4 other", "dispatched x c1", "failed x c1")},
			[]string{"key:a x: correlated; attempts 0.3; over 0.4; refused 0.2"}},
		"two agents": {[][]audit.Entry{saying(0, "reserved x c1 key:b", "reserved x c2", "dispatched x c2", "dispatched x c1 key:b")},
			[]string{"key:a x: correlated; attempts 0.3", "key:b x: correlated; attempts 0.4"}},
		"no binding": {[][]audit.Entry{saying(0, "reserved x c1 -", "dispatched x c1 -")}, []string{"key:a x: shared id (asserted); attempts 0.2"}},
		"one of two": {[][]audit.Entry{saying(0, "reserved x c1", "dispatched x c1"), saying(9, "dispatched x c1 -")},
			[]string{"key:a x: shared id (asserted); attempts 0.2 1.1"}},
		"refused alone": {[][]audit.Entry{saying(0, "refused x c1 - ACTION_INVALID")}, []string{"key:a x: shared id (asserted); refused 0.1"}},
		"two gateways": {[][]audit.Entry{saying(0, "reserved x c1", "dispatched x c1", "succeeded x c1"), saying(1, "reserved x c2 other", "dispatched x c2 other")},
			[]string{"key:a x: conflicting bindings; attempts 0.2 1.2; over 0.3"}},
		"in order of time": {[][]audit.Entry{saying(10, "reserved x c1", "dispatched x c1"), saying(5, "reserved x c2", "dispatched x c2", "succeeded x c2")},
			[]string{"key:a x: correlated; attempts 1.2 0.2+; over 1.3"}},
		"reservation refused": {[][]audit.Entry{saying(0, "reserved x c1", "refused x c2 EXECUTION_CONTINUATION_MISMATCH", "reserved x c3 taken_over", "refused x c3 never_repeated", "replay x c4")},
			[]string{"key:a x: correlated; over 0.4; refused 0.2 0.5+"}},
		"late answer and a finding": {[][]audit.Entry{saying(0, "reserved x c1", "dispatched x c1", "outcome_unknown x c1 gateway_ended", "outcome_unknown x c1 late_answer", "reconciled x succeeded")},
			[]string{"key:a x: correlated; attempts 0.2; over 0.3; late 0.4+; findings 0.5+"}},
		"further events": {[][]audit.Entry{saying(0, "reserved x c1", "dispatched x c1", "suspended x c1", "dispatched x c2 continued", "following x c2")},
			[]string{"key:a x: correlated; attempts 0.2 0.4"}},
		"nothing": {[][]audit.Entry{saying(0, "call - c1 -", "epoch - -")}, nil},
	} {
		var got []string
		for _, x := range joined(t, c.logs...) {
			got = append(got, brief(x))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestJoinOverlap: exports of one log that overlap count each entry once.
func TestJoinOverlap(t *testing.T) {
	log := saying(0, "reserved x c1", "dispatched x c1", "joined x c2", "succeeded x c1", "replay x c3")
	j := audit.NewJoin(1)
	for _, part := range [][]audit.Entry{log[:4], log[2:], log} {
		for _, e := range part {
			if err := j.Add(0, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := brief(j.All()[0]); got != "key:a x: correlated; attempts 0.2; over 0.4; repeats 0.3; refused 0.5+" {
		t.Error(got)
	}
}

// TestJoinLimits: one more execution than it may hold is an error; of a list without end the
// first are kept, and all are counted.
func TestJoinLimits(t *testing.T) {
	j := audit.NewJoin(2)
	var err error
	for i, id := range []string{"x", "y", "x", "z"} {
		if err != nil {
			t.Fatal(err)
		}
		err = j.Add(0, saying(0, "call - -", "call - -", "call - -", "reserved "+id)[3].After(audit.Tip{Seq: int64(i), Entry: audit.Genesis().Entry}))
	}
	if !errors.Is(err, audit.ErrJoinLimit) {
		t.Error(err)
	}
	j = audit.NewJoin(1)
	tip := audit.Genesis()
	for i := range 3 * audit.MaxListed {
		e := say(int64(i), fmt.Sprintf("replay x c%d", i)).After(tip)
		tip = e.Tip()
		if err := j.Add(0, e); err != nil {
			t.Fatal(err)
		}
	}
	if x := j.All()[0]; len(x.Refused) != audit.MaxListed || x.Counts.Refused != 3*audit.MaxListed {
		t.Errorf("%d listed, %d counted", len(x.Refused), x.Counts.Refused)
	}
}
