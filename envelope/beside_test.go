package envelope_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/jcs"
)

// An option stands for the action that was fixed for it when the envelope was made, whatever its
// label says, and an answer stands for none.
//
// covers ENV-120
func TestActions(t *testing.T) {
	e, other := mustParse(t, text(nil)), mustParse(t, text(map[string]string{"meta": "{}"}))
	act := jcs.Digest("sha384:" + strings.Repeat("ab", 48))
	a, err := envelope.NewActions(e, act, "")
	if err != nil || a.Envelope() != e.Digest() || a.IsZero() {
		t.Fatal(err)
	}
	choose := func(e envelope.Envelope, i int) envelope.Resolution {
		r, err := envelope.Choose(e, i)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	answer, err := envelope.Answer(e, string(act))
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := a.Of(choose(e, 0)); !ok || d != act || a.Check(choose(e, 0), act) != nil {
		t.Errorf("%s, %v", d, ok)
	}
	for name, c := range map[string]struct {
		r    envelope.Resolution
		what jcs.Digest
		in   envelope.Actions
	}{
		"another action": {choose(e, 0), envelope.EvidenceDigest([]byte("x")), a}, "no action": {choose(e, 0), "", a}, "the option that does nothing": {choose(e, 1), act, a},
		"nothing done for it": {choose(e, 1), "", a}, "an answer": {answer, act, a}, "another envelope": {choose(other, 0), act, a}, "no resolution": {envelope.Resolution{}, act, a},
		"no actions": {choose(e, 0), act, envelope.Actions{}}, "no actions, nothing done": {choose(e, 0), "", envelope.Actions{}},
	} {
		if err := c.in.Check(c.r, c.what); !errors.Is(err, envelope.ErrAction) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range [][]jcs.Digest{{}, {act}, {act, act, act}, {act, "x"}, {act, jcs.Digest(strings.ToUpper(string(act)))}} {
		if _, err := envelope.NewActions(e, bad...); err == nil {
			t.Errorf("%s are actions of two options", bad)
		}
	}
	if _, err := envelope.NewActions(envelope.Envelope{}); err == nil {
		t.Error("actions of no envelope")
	}
}

// The documents are hashed anew: what is missing, what nobody rests on, and what rests on nothing.
//
// covers ENV-118
func TestEvidence(t *testing.T) {
	e := mustParse(t, text(nil)) // three findings
	page, mail, changed := envelope.EvidenceDigest([]byte("page 1\n")), envelope.EvidenceDigest([]byte("mail\xff")), envelope.EvidenceDigest([]byte("page 2\n"))
	ev, err := envelope.NewEvidence(e, map[int][]jcs.Digest{0: {page}, 2: {mail, page}})
	if err != nil || ev.Envelope() != e.Digest() {
		t.Fatal(err)
	}
	report, err := ev.Check(e, page, mail)
	if want := (envelope.EvidenceReport{Missing: map[int][]jcs.Digest{}, Unlinked: []int{1}}); err != nil || !report.Holds() || !cmp.Equal(report, want) {
		t.Errorf("%+v, %v", report, err)
	}
	report, err = ev.Check(e, changed, mail)
	want := envelope.EvidenceReport{
		Missing:  map[int][]jcs.Digest{0: {page}, 2: {page}},
		Unlinked: []int{1}, Unused: []jcs.Digest{changed},
	}
	if diff := cmp.Diff(want, report); err != nil || report.Holds() || diff != "" {
		t.Errorf("%v, want -, got +:\n%s", err, diff)
	}
	if report, err := ev.Check(e); err != nil || report.Holds() {
		t.Error("evidence holds without a document")
	}
	if _, err := ev.Check(mustParse(t, text(map[string]string{"meta": "{}"})), page, mail); err == nil {
		t.Error("the evidence of another envelope is checked")
	}
	back, err := envelope.ParseEvidence(e, ev.JSON())
	if err != nil || string(back.JSON()) != string(ev.JSON()) || !cmp.Equal(back.Findings(), []int{0, 2}) || len(back.Of(2)) != 2 || len(back.Of(1)) != 0 {
		t.Errorf("%s, %v", back.JSON(), err)
	}
	if _, err := envelope.ParseEvidence(mustParse(t, text(map[string]string{"meta": "{}"})), ev.JSON()); err == nil {
		t.Error("the evidence of another envelope is read")
	}
	for name, bad := range map[string]map[int][]jcs.Digest{
		"none": {}, "no digests": {0: {}}, "a finding that is not there": {3: {page}}, "below": {-1: {page}},
		"another algorithm": {0: {jcs.Digest("sha384:" + strings.Repeat("0", 96))}}, "no digest": {0: {"x"}}, "too many": {0: digests(65)},
	} {
		if _, err := envelope.NewEvidence(e, bad); err == nil {
			t.Errorf("%s: is evidence", name)
		}
	}
	for _, bad := range []string{"", "{}", `{"envelope_digest":"x","findings":{}}`, strings.Replace(string(ev.JSON()), `"0":`, `"0x":`, 1), strings.Replace(string(ev.JSON()), `"findings"`, `"a":1,"findings"`, 1), strings.Replace(string(ev.JSON()), `"0":["`, `"0":[1,"`, 1)} {
		if _, err := envelope.ParseEvidence(e, []byte(bad)); err == nil {
			t.Errorf("%s is evidence", bad)
		}
	}
}

// As much evidence as an envelope can have is read again, from its record and from a store.
//
// covers ENV-118
func TestMuchEvidence(t *testing.T) {
	e := mustParse(t, text(map[string]string{"findings": "[" + strings.Repeat(`"x",`, 63) + `"x"]`}))
	all := map[int][]jcs.Digest{}
	for finding := range 64 {
		all[finding] = digests(64)
	}
	ev, err := envelope.NewEvidence(e, all)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := envelope.ParseEvidence(e, ev.JSON()); err != nil || string(back.JSON()) != string(ev.JSON()) {
		t.Errorf("of %d bytes: %v", len(ev.JSON()), err)
	}
	em := emission(e)
	em.Evidence = ev
	if back, err := envelope.ParseEmission(e.JSON(), em.Sidecar()); err != nil || string(back.Sidecar()) != string(em.Sidecar()) {
		t.Errorf("of %d bytes: %v", len(em.Sidecar()), err)
	}
}

func digests(n int) (list []jcs.Digest) {
	for i := range n {
		list = append(list, envelope.EvidenceDigest([]byte(fmt.Sprint(i))))
	}
	return list
}

// A rate is high from the threshold on, over enough occasions, and forgets.
//
// covers ENV-049, ENV-050, ENV-107, ENV-121
func TestRates(t *testing.T) {
	m, err := envelope.NewMonitor(envelope.RateConfig{}, envelope.DefaultNoteRate)
	if err != nil {
		t.Fatal(err)
	}
	at := noon()
	note := func(agent, class string, hit bool) (a, c envelope.Rate) {
		at = at.Add(time.Minute)
		return m.Note(agent, class, hit, at)
	}
	// A note with every envelope: a ritual, seen at the twentieth.
	for i := range 20 {
		a, c := note("ritual", "consent", true)
		if want := i == 19; a.High != want || c.High != want || a.Hits != i+1 || a.Of != i+1 {
			t.Errorf("occasion %d: %+v, %+v", i+1, a, c)
		}
	}
	// One in eleven is below a tenth, one in ten is not.
	for i := range 44 {
		if a, _ := note("eleventh", "lunch", i%11 == 10); a.High {
			t.Errorf("one in eleven is high after %d: %+v", i+1, a)
		}
	}
	for i := range 40 {
		a, _ := note("tenth", "dinner", i%10 == 9)
		if want := i == 19 || i >= 29 && i%10 == 9; a.High != want && i%10 == 9 {
			t.Errorf("one in ten after %d: %+v", i+1, a)
		}
	}
	// By class as by agent.
	for i := range 20 {
		note(fmt.Sprint("agent-", i), "skewed", true)
	}
	if c := m.Class("skewed", at); !c.High || m.Agent("agent-3", at).High || m.Class("nobody", at).Of != 0 {
		t.Errorf("%+v", c)
	}
	// The window is of 50 occasions, and of 30 days.
	for range 50 {
		note("ritual", "x", false)
	}
	if a := m.Agent("ritual", at); a.High || a.Hits != 0 || a.Of != 50 {
		t.Errorf("after 50 without: %+v", a)
	}
	if c := m.Class("skewed", at.Add(31*24*time.Hour)); c.High || c.Of != 0 {
		t.Errorf("after a month: %+v", c)
	}
	tight, err := envelope.NewMonitor(envelope.RateConfig{Window: 4, Fewest: 2, Threshold: 0.5, Age: time.Hour}, envelope.DefaultReopenRate)
	if err != nil {
		t.Fatal(err)
	}
	tight.Note("a", "", true, at)
	if a, _ := tight.Note("a", "", false, at); !a.High {
		t.Errorf("%+v", a)
	}
	for _, bad := range []envelope.RateConfig{{Window: -1}, {Window: 1001}, {Age: -1}, {Fewest: -1}, {Window: 5, Fewest: 6}, {Threshold: -1}, {Threshold: 1.1}} {
		if _, err := envelope.NewMonitor(bad, 0.1); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	// Names from outside do not fill the memory.
	many, err := envelope.NewMonitor(envelope.RateConfig{}, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range envelope.MaxRateKeys + 10 {
		many.Note("a", fmt.Sprint("class-", i), true, at)
	}
	if c := many.Class("", at); c.Of != 10 {
		t.Errorf("%+v under the empty name", c)
	}
}
