package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/jcs"
)

var (
	envelopeStart = time.UnixMilli(1_786_000_000_000).UTC()
	sameDigest    = cmp.Comparer(func(a, b envelope.Digest) bool { return a == b })
)

// strange is a name that one engine or the other would not keep as text.
const strange = "100% of \x00 them\u202e"

// strangest is one of those that come with a resolution, and need not be UTF-8.
const strangest = strange + "\xff"

// numberedEnvelope is an envelope that differs from all others in its synopsis.
func numberedEnvelope(t testing.TB, n int, members string) envelope.Envelope {
	t.Helper()
	e, err := envelope.Parse(fmt.Appendf(nil, `{"synopsis":"Release file %d.","findings":["a","b"],"recommendations":[],"offer":"Ask.",%s
		"question":{"stem":"Which?","options":[{"label":"One","reasoning":"r"},{"label":"Two","reasoning":"s"}],"recommended_idx":0,
		"hatches":{"free_text":%t,"dialogue":true}}}`, n, members, !strings.Contains(members, "closing")))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func emissionOf(e envelope.Envelope) envelope.Emission {
	em := envelope.Emission{Envelope: e, Agent: "agent", Principal: "dana", At: envelopeStart}
	if !e.Hatches().FreeText {
		em.Closed = []envelope.Closure{{Hatch: envelope.FreeText, Reason: "50% is \x00 not an answer"}}
	}
	if e.Meta().HasCalibrationNote {
		em.Earlier = "framing 3"
	}
	return em
}

// wholeEmission has everything that stands beside an envelope.
func wholeEmission(t testing.TB) envelope.Emission {
	t.Helper()
	e := numberedEnvelope(t, 1, `"meta":{"decision_class":"closing","calibration_note":"It was less than it seemed."},`)
	em := emissionOf(e)
	em.Session, em.Matter, em.Needs = strange, "release-17", envelope.TTYPassphrase
	var err error
	if em.Actions, err = envelope.NewActions(e, jcs.Digest(digest("release")), ""); err != nil {
		t.Fatal(err)
	}
	if em.Evidence, err = envelope.NewEvidence(e, map[int][]jcs.Digest{1: {envelope.EvidenceDigest([]byte("scan"))}}); err != nil {
		t.Fatal(err)
	}
	return em
}

func sameEmission(t *testing.T, what string, got, want envelope.Emission) {
	t.Helper()
	if !got.Envelope.Equal(want.Envelope) {
		t.Fatalf("%s: another envelope: %s", what, got.Envelope.JSON())
	}
	if diff := cmp.Diff(string(want.Sidecar()), string(got.Sidecar())); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

func takingOf(t testing.TB, r envelope.Resolution, err error) envelope.Taking {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return envelope.NewTaking(r, strangest, envelope.PasskeyUV, envelopeStart.Add(time.Minute))
}

func chosen(t testing.TB, e envelope.Envelope, idx int) envelope.Taking {
	t.Helper()
	r, err := envelope.Choose(e, idx)
	return takingOf(t, r, err)
}

// Envelopes is the suite of a durable [envelope.Ledger].
func Envelopes(t *testing.T, newStore func(t *testing.T) *sqlstore.Envelopes) {
	for name, test := range map[string]func(*testing.T, *sqlstore.Envelopes){
		"kept": envelopesKept, "emitted once": envelopesEmittedOnce, "taken once": envelopesTakenOnce, "settled": envelopesSettled,
		"discards": envelopesDiscards, "purged": envelopesPurged, "closed": envelopesClosed, "rates": envelopesRates,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newStore(t))
		})
	}
}

// envelopesKept: what was emitted comes back with all that stands beside it, and of how it was
// resolved everything but the text of an answer.
func envelopesKept(t *testing.T, s *sqlstore.Envelopes) {
	ctx, whole := t.Context(), wholeEmission(t)
	plain := emissionOf(numberedEnvelope(t, 2, ""))
	reopened := emissionOf(numberedEnvelope(t, 3, ""))
	for _, em := range []envelope.Emission{whole, plain, reopened} {
		want(t, "emit", s.Emit(ctx, em), nil)
		got, err := s.Envelope(ctx, em.Envelope.Digest())
		want(t, "envelope", err, nil)
		sameEmission(t, "outstanding", got, em)
		if _, ok, err := s.Taking(ctx, em.Envelope.Digest()); ok || err != nil {
			t.Errorf("resolved before it was: %v, %v", ok, err)
		}
	}
	answer, err := envelope.Answer(plain.Envelope, "my secret wish")
	takenAnswer := takingOf(t, answer, err)
	question, err := envelope.Reopen(reopened.Envelope)
	for em, taking := range map[*envelope.Emission]envelope.Taking{
		&whole: chosen(t, whole.Envelope, 1), &plain: takenAnswer, &reopened: takingOf(t, question, err),
	} {
		got, err := s.Take(ctx, taking)
		want(t, "take", err, nil)
		sameEmission(t, "taken", got, *em)
		kept, ok, err := s.Taking(ctx, em.Envelope.Digest())
		if err != nil || !ok {
			t.Fatalf("taking: %v, %v", ok, err)
		}
		if diff := cmp.Diff(taking, kept, sameDigest); diff != "" {
			t.Errorf("taking:\n%s", diff)
		}
		got, err = s.Envelope(ctx, em.Envelope.Digest())
		want(t, "envelope", err, nil)
		sameEmission(t, "resolved", got, *em)
	}
	// printf 'my secret wish' | sha256sum
	if takenAnswer.Answer != "sha256:7cc6f63656c27ee517937f5dca25d613ebbdcd41087819d8ddc2ce6179417a5c" {
		t.Errorf("answer %s", takenAnswer.Answer)
	}
	never := numberedEnvelope(t, 4, "").Digest()
	_, err = s.Envelope(ctx, never)
	want(t, "never emitted", err, envelope.ErrUnknown)
	_, _, err = s.Taking(ctx, never)
	want(t, "never emitted", err, envelope.ErrUnknown)
	_, err = s.Envelope(ctx, envelope.Digest{})
	want(t, "no digest", err, envelope.ErrUnknown)
}

// envelopesEmittedOnce: whoever emits it, in whatever session, resolved or not.
func envelopesEmittedOnce(t *testing.T, s *sqlstore.Envelopes) {
	ctx, em := t.Context(), wholeEmission(t)
	want(t, "emit", s.Emit(ctx, em), nil)
	again := em
	again.Agent, again.Session, again.At = "another", "", envelopeStart.Add(time.Hour)
	want(t, "another agent's", s.Emit(ctx, again), envelope.ErrEmitted)
	_, err := s.Take(ctx, chosen(t, em.Envelope, 0))
	want(t, "take", err, nil)
	want(t, "resolved", s.Emit(ctx, em), envelope.ErrEmitted)
	got, err := s.Envelope(ctx, em.Envelope.Digest())
	want(t, "envelope", err, nil)
	sameEmission(t, "after it was refused", got, em)
	if list, err := s.Closed(ctx, "another", 10); err != nil || len(list) != 0 {
		t.Errorf("what was refused has left %v, %v", list, err)
	}
	long := emissionOf(numberedEnvelope(t, 2, ""))
	long.Agent = strings.Repeat("%", 1000)
	if err := s.Emit(ctx, long); err == nil {
		t.Error("a name that no index has room for was kept")
	}
	em.Principal = ""
	if err := s.Emit(ctx, em); err == nil || errors.Is(err, envelope.ErrEmitted) {
		t.Errorf("to nobody: %v", err)
	}
}

func envelopesTakenOnce(t *testing.T, s *sqlstore.Envelopes) {
	ctx, em, other := t.Context(), emissionOf(numberedEnvelope(t, 1, "")), emissionOf(numberedEnvelope(t, 2, ""))
	first, second := chosen(t, em.Envelope, 0), chosen(t, em.Envelope, 1)
	_, err := s.Take(ctx, first)
	want(t, "before it was emitted", err, envelope.ErrUnknown)
	want(t, "emit", s.Emit(ctx, em), nil)
	want(t, "emit", s.Emit(ctx, other), nil)
	_, err = s.Take(ctx, first)
	want(t, "take", err, nil)
	for _, again := range []envelope.Taking{first, second} {
		e, err := s.Take(ctx, again)
		want(t, "take again", err, envelope.ErrTaken)
		if !e.Envelope.IsZero() {
			t.Error("an emission beside a refusal")
		}
	}
	kept, _, err := s.Taking(ctx, em.Envelope.Digest())
	want(t, "taking", err, nil)
	if diff := cmp.Diff(first, kept, sameDigest); diff != "" {
		t.Errorf("changed by what was refused:\n%s", diff)
	}
	if _, ok, err := s.Taking(ctx, other.Envelope.Digest()); ok || err != nil {
		t.Errorf("another envelope is resolved: %v, %v", ok, err)
	}
	third := chosen(t, other.Envelope, 0)
	third.By = strings.Repeat("x", 2000)
	if _, err := s.Take(ctx, third); err == nil {
		t.Error("a name without an end was kept")
	}
}

// envelopesSettled: the way in of package envelope, with this ledger.
func envelopesSettled(t *testing.T, s *sqlstore.Envelopes) {
	ctx, em := t.Context(), emissionOf(numberedEnvelope(t, 1, ""))
	want(t, "emit", s.Emit(ctx, em), nil)
	r, err := envelope.Answer(em.Envelope, "neither")
	want(t, "answer", err, nil)
	from := envelope.Arrival{Agent: "agent", By: "dana", At: envelopeStart}
	stranger := from
	stranger.Agent = "another"
	refused := func(text []byte, from envelope.Arrival, name string) {
		t.Helper()
		_, err := envelope.Settle(ctx, s, text, from)
		var refusal *envelope.Refusal
		if !errors.As(err, &refusal) || refusal.Name != name {
			t.Errorf("%v, want %s", err, name)
		}
		list, err := s.Discards(ctx, from.Agent, 1)
		if err != nil || len(list) != 1 || list[0].Name != name || list[0].Text != envelope.EvidenceDigest(text) {
			t.Errorf("recorded: %+v, %v", list, err)
		}
	}
	refused([]byte("{"), from, envelope.Malformed)
	refused(r.JSON(), stranger, envelope.Unknown)
	d, err := envelope.Settle(ctx, s, r.JSON(), from)
	want(t, "settle", err, nil)
	if !d.Resolution.Equal(r) {
		t.Errorf("%s", d.Resolution)
	}
	refused(r.JSON(), from, envelope.Taken)
	n, err := s.Purge(ctx, envelopeStart.Add(time.Hour), 10)
	if n != 1 || err != nil {
		t.Fatalf("purged %d, %v", n, err)
	}
	refused(r.JSON(), from, envelope.Taken)
	refused(r.JSON(), stranger, envelope.Unknown)
}

// envelopesDiscards: the latest are kept, and whoever sends refused resolutions does not fill the
// store.
func envelopesDiscards(t *testing.T, s *sqlstore.Envelopes) {
	ctx := t.Context()
	of := numberedEnvelope(t, 1, "").Digest()
	record := func(n int) envelope.Discarded {
		return envelope.Discarded{
			Name: envelope.Taken, Envelope: of, Text: envelope.EvidenceDigest(fmt.Append(nil, n)), Agent: strangest, By: strangest, At: envelopeStart,
		}
	}
	unread := envelope.Discarded{Name: envelope.Malformed, Text: envelope.EvidenceDigest(nil), Agent: "another", At: envelopeStart}
	want(t, "discard", s.Discard(ctx, unread), nil)
	first := record(0)
	want(t, "discard", s.Discard(ctx, first), nil)
	each(t, sqlstore.MaxDiscards, nil, func(i int) error { return s.Discard(ctx, record(1+i)) })
	all, err := s.Discards(ctx, strangest, 2*sqlstore.MaxDiscards)
	want(t, "discards", err, nil)
	if len(all) != sqlstore.MaxDiscards {
		t.Fatalf("%d are kept", len(all))
	}
	for _, d := range all {
		if d.Text == first.Text {
			t.Error("the oldest is still there")
		}
		d.Text = first.Text
		if diff := cmp.Diff(first, d, sameDigest); diff != "" {
			t.Fatal(diff)
		}
	}
	last := record(-1)
	want(t, "discard", s.Discard(ctx, last), nil)
	if list, err := s.Discards(ctx, strangest, 1); err != nil || len(list) != 1 || list[0].Text != last.Text {
		t.Errorf("the latest: %+v, %v", list, err)
	}
	if list, err := s.Discards(ctx, "another", 10); err != nil || len(list) != 1 || !cmp.Equal(list[0], unread, sameDigest) {
		t.Errorf("another agent's: %+v, %v", list, err)
	}
	last.By = strings.Repeat("x", 2000)
	if err := s.Discard(ctx, last); err == nil {
		t.Error("a name without an end was kept")
	}
}

// envelopesPurged: the words go, the digest and the record stay, and what is outstanding stays as
// it is.
func envelopesPurged(t *testing.T, s *sqlstore.Envelopes) {
	ctx := t.Context()
	old, late, open := wholeEmission(t), emissionOf(numberedEnvelope(t, 2, "")), emissionOf(numberedEnvelope(t, 3, ""))
	for _, em := range []envelope.Emission{old, late, open} {
		want(t, "emit", s.Emit(ctx, em), nil)
	}
	taking := chosen(t, old.Envelope, 0)
	_, err := s.Take(ctx, taking)
	want(t, "take", err, nil)
	second := chosen(t, late.Envelope, 0)
	second.At = envelopeStart.Add(time.Hour)
	_, err = s.Take(ctx, second)
	want(t, "take", err, nil)
	for _, n := range []int{1, 0} {
		if got, err := s.Purge(ctx, envelopeStart.Add(time.Hour), 10); got != n || err != nil {
			t.Errorf("purged %d, want %d: %v", got, n, err)
		}
	}
	got, err := s.Envelope(ctx, old.Envelope.Digest())
	want(t, "purged", err, envelope.ErrTaken)
	if diff := cmp.Diff(envelope.Emission{Agent: "agent", Session: strange}, got, sameDigest, cmp.AllowUnexported(envelope.Envelope{}, envelope.Actions{}, envelope.Evidence{})); diff != "" {
		t.Errorf("purged:\n%s", diff)
	}
	want(t, "emit again", s.Emit(ctx, old), envelope.ErrEmitted)
	_, err = s.Take(ctx, taking)
	want(t, "take again", err, envelope.ErrTaken)
	kept, ok, err := s.Taking(ctx, old.Envelope.Digest())
	if err != nil || !ok || !cmp.Equal(kept, taking, sameDigest) {
		t.Errorf("record of what was purged: %+v, %v, %v", kept, ok, err)
	}
	for _, em := range []envelope.Emission{late, open} {
		got, err := s.Envelope(ctx, em.Envelope.Digest())
		want(t, "not purged", err, nil)
		sameEmission(t, "not purged", got, em)
	}
	if got, err := s.Purge(ctx, envelopeStart.Add(2*time.Hour), 10); got != 1 || err != nil {
		t.Errorf("purged later: %d, %v", got, err)
	}
}

func envelopesClosed(t *testing.T, s *sqlstore.Envelopes) {
	ctx, whole := t.Context(), wholeEmission(t)
	want(t, "emit", s.Emit(ctx, whole), nil)
	want(t, "emit", s.Emit(ctx, emissionOf(numberedEnvelope(t, 2, ""))), nil)
	late := emissionOf(numberedEnvelope(t, 3, `"meta":{"decision_class":"closing"},`))
	late.At = envelopeStart.Add(time.Hour)
	want(t, "emit", s.Emit(ctx, late), nil)
	list, err := s.Closed(ctx, "agent", 10)
	want(t, "closed", err, nil)
	if diff := cmp.Diff([]sqlstore.ClosedHatch{
		{Envelope: late.Envelope.Digest(), Closure: late.Closed[0], At: late.At},
		{Envelope: whole.Envelope.Digest(), Closure: whole.Closed[0], At: whole.At},
	}, list, sameDigest); diff != "" {
		t.Error(diff)
	}
	if list, err := s.Closed(ctx, "agent", 1); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// envelopesRates: two agents and two classes, of which one is at the threshold.
func envelopesRates(t *testing.T, s *sqlstore.Envelopes) {
	ctx := t.Context()
	cfg := envelope.RateConfig{Window: 8, Fewest: 4, Age: time.Hour}
	at := func(n int) time.Time { return envelopeStart.Add(time.Duration(n) * time.Minute) }
	for n := range 24 {
		class, members := "ordinary", `"meta":{"decision_class":"ordinary"},`
		if n%2 == 1 {
			class, members = "closing", `"meta":{"decision_class":"closing"},`
		}
		if n%12 == 11 {
			members = `"meta":{"decision_class":"closing","calibration_note":"It was less than it seemed."},`
		}
		e := numberedEnvelope(t, n, members)
		em := emissionOf(e)
		em.Agent, em.At = fmt.Sprint("agent ", class), at(n)
		want(t, "emit", s.Emit(ctx, em), nil)
		r, err := envelope.Choose(e, 0)
		if n%4 == 0 {
			r, err = envelope.Reopen(e)
		}
		taking := takingOf(t, r, err)
		taking.At = at(n)
		_, err = s.Take(ctx, taking)
		want(t, "take", err, nil)
	}
	ordinary := sqlstore.EnvelopeRates{Notes: envelope.Rate{Of: 8}, Reopened: envelope.Rate{Hits: 4, Of: 8, High: true}, Closed: envelope.Rate{Of: 8}}
	closing := sqlstore.EnvelopeRates{
		Notes: envelope.Rate{Hits: 2, Of: 8, High: true}, Reopened: envelope.Rate{Of: 8}, Closed: envelope.Rate{Hits: 8, Of: 8, High: true},
	}
	early := sqlstore.EnvelopeRates{Notes: envelope.Rate{Of: 2}, Reopened: envelope.Rate{Hits: 1, Of: 2}, Closed: envelope.Rate{Of: 2}}
	for _, c := range []struct {
		rates func(context.Context, string, time.Time, envelope.RateConfig) (sqlstore.EnvelopeRates, error)
		key   string
		at    time.Time
		want  sqlstore.EnvelopeRates
	}{
		{s.RatesOfAgent, "agent ordinary", at(24), ordinary},
		{s.RatesOfClass, "ordinary", at(24), ordinary},
		{s.RatesOfAgent, "agent closing", at(24), closing},
		{s.RatesOfClass, "closing", at(24), closing},
		{s.RatesOfClass, "ordinary", at(3), early},
		{s.RatesOfAgent, "agent ordinary", at(1000), sqlstore.EnvelopeRates{}},
		{s.RatesOfClass, "", at(24), sqlstore.EnvelopeRates{}},
	} {
		got, err := c.rates(ctx, c.key, c.at, cfg)
		if err != nil || got != c.want {
			t.Errorf("%s at %s: %+v, %v, want %+v", c.key, c.at.Sub(envelopeStart), got, err, c.want)
		}
	}
	if _, err := s.RatesOfAgent(ctx, "agent", at(0), envelope.RateConfig{Window: -1}); err == nil {
		t.Error("a window of less than nothing")
	}
}

// EnvelopeRace has 64 resolvers go for one envelope through two processes' stores, and 64 emitters
// for another one.
func EnvelopeRace(t *testing.T, stores ...*sqlstore.Envelopes) {
	ctx := t.Context()
	race := func(what string, refusal error, f func(i int, s *sqlstore.Envelopes) error) (won int) {
		t.Helper()
		var mu sync.Mutex
		var wg sync.WaitGroup
		winners := 0
		for i := range 64 {
			wg.Go(func() {
				err := f(i, stores[i%len(stores)])
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won = i
					winners++
				case !errors.Is(err, refusal):
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		wg.Wait()
		if winners != 1 {
			t.Errorf("%s: %d have won", what, winners)
		}
		return won
	}
	em := emissionOf(numberedEnvelope(t, 1, ""))
	race("emit", envelope.ErrEmitted, func(_ int, s *sqlstore.Envelopes) error { return s.Emit(ctx, em) })
	takings := make([]envelope.Taking, 64)
	for i := range takings {
		takings[i] = chosen(t, em.Envelope, i%2)
		takings[i].By = fmt.Sprint("resolver ", i)
	}
	won := race("take", envelope.ErrTaken, func(i int, s *sqlstore.Envelopes) error {
		_, err := s.Take(ctx, takings[i])
		return err
	})
	for _, s := range stores {
		kept, ok, err := s.Taking(ctx, em.Envelope.Digest())
		if err != nil || !ok || !cmp.Equal(kept, takings[won], sameDigest) {
			t.Errorf("kept %+v (%v, %v), and %d has won", kept, ok, err, won)
		}
	}
}

// EnvelopeFaults: a call whose commit failed has said so, and what follows is refused if it was
// kept: nothing is emitted or taken a second time because nobody knows.
func EnvelopeFaults(t *testing.T, newStore func(t *testing.T) (*sqlstore.Envelopes, *Faults)) {
	for _, fault := range EachFault() {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s, faults := newStore(t)
			em := wholeEmission(t)
			taking := chosen(t, em.Envelope, 1)
			discard := envelope.Discarded{Name: envelope.Taken, Text: envelope.EvidenceDigest(nil), Agent: "agent", At: envelopeStart}
			take := func() error {
				e, err := s.Take(ctx, taking)
				if err != nil && !e.Envelope.IsZero() {
					t.Error("an emission beside an error")
				}
				return err
			}
			purge := func() error {
				n, err := s.Purge(ctx, envelopeStart.Add(time.Hour), 10)
				if err != nil && n != 0 {
					t.Error("a count beside an error")
				}
				return err
			}
			for _, op := range []struct {
				name  string
				do    func() error
				twice error // where it was kept
			}{
				{"emit", func() error { return s.Emit(ctx, em) }, envelope.ErrEmitted},
				{"take", take, envelope.ErrTaken},
				{"discard", func() error { return s.Discard(ctx, discard) }, nil},
				{"purge", purge, nil},
			} {
				faults.Next(fault)
				want(t, op.name, op.do(), ErrFault)
				again := op.twice
				if fault == FailedAndLost {
					again = nil
				}
				want(t, op.name+" again", op.do(), again)
			}
			kept, ok, err := s.Taking(ctx, em.Envelope.Digest())
			if err != nil || !ok || !cmp.Equal(kept, taking, sameDigest) {
				t.Errorf("kept %+v, %v, %v", kept, ok, err)
			}
		})
	}
}
