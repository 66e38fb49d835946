package envelope_test

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
	"github.com/bindery/bindery/jcs"
)

func arrival() envelope.Arrival {
	return envelope.Arrival{Agent: "agent:files", By: "~dana", At: noon().Add(time.Minute)}
}

func mustEmit(t testing.TB, l envelope.Ledger, e envelope.Envelope) envelope.Envelope {
	t.Helper()
	if err := l.Emit(t.Context(), emission(e)); err != nil {
		t.Fatal(err)
	}
	return e
}

func chooseJSON(t testing.TB, e envelope.Envelope, idx int) []byte {
	t.Helper()
	r, err := envelope.Choose(e, idx)
	if err != nil {
		t.Fatal(err)
	}
	return r.JSON()
}

// An envelope is good for one resolution; the second one, whatever it says, is discarded and
// recorded.
//
// covers ENV-003, ENV-078, ENV-079, ENV-102, ENV-113
func TestSettle(t *testing.T) {
	ctx, l := t.Context(), envelope.NewMemory()
	e := mustEmit(t, l, mustParse(t, text(nil)))
	r, err := envelope.Answer(e, "my secret wish")
	if err != nil {
		t.Fatal(err)
	}
	d, err := envelope.Settle(ctx, l, r.JSON(), arrival())
	if err != nil || !d.Resolution.Equal(r) || !d.Emission.Envelope.Equal(e) {
		t.Fatalf("%+v, %v", d, err)
	}
	taking, ok := l.Taking(e.Digest())
	want := envelope.Taking{
		Envelope: e.Digest(), Resolution: r.Digest(), Kind: envelope.KindAnswer, OptionIdx: -1, By: "~dana", Assurance: envelope.Client, At: arrival().At,
		Answer: "sha256:7cc6f63656c27ee517937f5dca25d613ebbdcd41087819d8ddc2ce6179417a5c", // printf 'my secret wish' | sha256sum
	}
	if diff := cmp.Diff(want, taking, cmp.Comparer(func(a, b envelope.Digest) bool { return a == b })); !ok || diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if strings.Contains(fmt.Sprintf("%+v", taking), "secret") {
		t.Error("the record holds the answer")
	}
	for i, again := range [][]byte{r.JSON(), chooseJSON(t, e, 0)} {
		d, err := envelope.Settle(ctx, l, again, arrival())
		wantRefusal(t, err, envelope.Taken, "ENV-079")
		if !errors.Is(err, envelope.ErrTaken) || !d.Resolution.IsZero() || !d.Emission.Envelope.IsZero() || len(l.Discards()) != i+1 {
			t.Errorf("%+v, %v, %d recorded", d, err, len(l.Discards()))
		}
	}
	if now, _ := l.Taking(e.Digest()); !cmp.Equal(now, taking, cmp.Comparer(func(a, b envelope.Digest) bool { return a == b })) {
		t.Error("the second resolution changed the record")
	}
	if got := l.Discards()[0]; got.Name != envelope.Taken || got.Envelope != e.Digest() || got.Text != envelope.EvidenceDigest(r.JSON()) || got.Agent != "agent:files" || got.By != "~dana" || got.At != arrival().At {
		t.Errorf("%+v", got)
	}
}

// Everything that is discarded changes nothing, has a name, and is recorded: the good resolution
// that follows is taken.
//
// covers ENV-042, ENV-043, ENV-069, ENV-075, ENV-078, ENV-104, ENV-109
func TestSettleDiscards(t *testing.T) {
	ctx, l := t.Context(), envelope.NewMemory()
	e := mustEmit(t, l, mustParse(t, text(map[string]string{"hatches": `{"dialogue":true,"free_text":true}`})))
	closed := emission(mustParse(t, text(map[string]string{"hatches": `{"dialogue":false,"free_text":false}`})))
	closed.Closed = []envelope.Closure{{Hatch: envelope.FreeText, Reason: "r"}, {Hatch: envelope.Dialogue, Reason: "r"}}
	inSession := emission(mustParse(t, text(map[string]string{"synopsis": `"In a session."`})))
	inSession.Session = "s-1"
	sure := emission(mustParse(t, text(map[string]string{"synopsis": `"For sure."`})))
	sure.Needs = envelope.TTYPassphrase
	for _, em := range []envelope.Emission{closed, inSession, sure} {
		if err := l.Emit(ctx, em); err != nil {
			t.Fatal(err)
		}
	}
	never := mustParse(t, text(map[string]string{"synopsis": `"Never emitted."`}))
	by := func(e envelope.Envelope, rest string) []byte {
		return []byte(`{"envelope_digest":"` + e.Digest().String() + `",` + rest + `}`)
	}
	other, session := arrival(), arrival()
	other.Agent, session.Session = "agent:mail", "s-2"
	for i, c := range []struct {
		text []byte
		from envelope.Arrival
		name string
	}{
		{[]byte("{"), arrival(), envelope.Malformed},
		{by(e, `"resolution":"option"`), arrival(), envelope.Malformed},
		{by(e, `"resolution":"option","option_idx":0,"answer":"x"`), arrival(), envelope.Malformed},
		{by(e, `"resolution":"answer","answer":" "`), arrival(), envelope.Blank},
		{by(e, `"resolution":"option","option_idx":2`), arrival(), envelope.OutOfRange},
		{by(e, `"resolution":"option","option_idx":-1`), arrival(), envelope.OutOfRange},
		{by(never, `"resolution":"option","option_idx":0`), arrival(), envelope.Unknown},
		{by(e, `"resolution":"option","option_idx":0`), other, envelope.Unknown},
		{by(inSession.Envelope, `"resolution":"option","option_idx":0`), session, envelope.Unknown},
		{by(inSession.Envelope, `"resolution":"option","option_idx":0`), arrival(), envelope.Unknown},
		{by(closed.Envelope, `"resolution":"answer","answer":"x"`), arrival(), envelope.HatchClosed},
		{by(closed.Envelope, `"resolution":"question"`), arrival(), envelope.HatchClosed},
		{by(sure.Envelope, `"resolution":"option","option_idx":0`), arrival(), envelope.Unproven},
	} {
		d, err := envelope.Settle(ctx, l, c.text, c.from)
		wantRefusal(t, err, c.name, "")
		if !d.Resolution.IsZero() || len(l.Discards()) != i+1 || l.Discards()[i].Name != c.name {
			t.Errorf("%s: %v, %d recorded", c.text, d, len(l.Discards()))
		}
	}
	for _, em := range []envelope.Emission{emission(e), closed, inSession, sure} {
		from := arrival()
		from.Session, from.Assurance = "s-1", envelope.PasskeyUV
		if d, err := envelope.Settle(ctx, l, chooseJSON(t, em.Envelope, 1), from); err != nil || !d.Emission.Envelope.Equal(em.Envelope) {
			t.Errorf("after what was discarded: %v", err)
		}
	}
}

// One of 64 resolvers at once is taken.
//
// covers ENV-079
func TestSettleRace(t *testing.T) {
	l := envelope.NewMemory()
	e := mustEmit(t, l, mustParse(t, text(nil)))
	texts := [][]byte{chooseJSON(t, e, 0), chooseJSON(t, e, 1)}
	var mu sync.Mutex
	taken, refused := 0, 0
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			_, err := envelope.Settle(t.Context(), l, texts[i%2], arrival())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				taken++
			case errors.Is(err, envelope.ErrTaken):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if taken != 1 || refused != 63 || len(l.Discards()) != 63 {
		t.Errorf("%d taken, %d refused, %d recorded", taken, refused, len(l.Discards()))
	}
}

// A digest is emitted once, by whoever and in whatever session, resolved or not.
//
// covers ENV-104, ENV-115
func TestEmitOnce(t *testing.T) {
	ctx, l := t.Context(), envelope.NewMemory()
	e := mustEmit(t, l, mustParse(t, text(nil)))
	again := emission(e)
	if err := l.Emit(ctx, again); !errors.Is(err, envelope.ErrEmitted) {
		t.Error(err)
	}
	if _, err := envelope.Settle(ctx, l, chooseJSON(t, e, 0), arrival()); err != nil {
		t.Fatal(err)
	}
	again.Agent, again.Session, again.Matter = "agent:mail", "s-9", "another"
	if err := l.Emit(ctx, again); !errors.Is(err, envelope.ErrEmitted) {
		t.Error(err)
	}
	if _, err := l.Envelope(ctx, mustParse(t, text(map[string]string{"meta": "{}"})).Digest()); !errors.Is(err, envelope.ErrUnknown) {
		t.Error(err)
	}
	if _, err := l.Take(ctx, envelope.Taking{}); !errors.Is(err, envelope.ErrUnknown) {
		t.Error(err)
	}
	// Two agents with two envelopes whose options stand in another order resolve each its own.
	one := mustEmit(t, l, mustParse(t, text(map[string]string{"synopsis": `"One."`})))
	swapped := emission(mustParse(t, text(map[string]string{"synopsis": `"One."`, "options": `[{"label":"Two","reasoning":"s"},{"label":"One","reasoning":"r"}]`})))
	swapped.Agent = "agent:mail"
	if err := l.Emit(ctx, swapped); err != nil {
		t.Fatal(err)
	}
	from := arrival()
	from.Agent = "agent:mail"
	_, err := envelope.Settle(ctx, l, chooseJSON(t, one, 0), from)
	wantRefusal(t, err, envelope.Unknown, "ENV-078")
	if _, err := envelope.Settle(ctx, l, chooseJSON(t, one, 0), arrival()); err != nil {
		t.Error(err)
	}
	if _, err := envelope.Settle(ctx, l, chooseJSON(t, swapped.Envelope, 0), from); err != nil {
		t.Error(err)
	}
}

// An emission names one agent and one principal, and says what goes with its envelope.
//
// covers ENV-089
func TestEmissionCheck(t *testing.T) {
	e := mustParse(t, text(nil))
	other := mustParse(t, text(map[string]string{"meta": "{}"}))
	actions, err1 := envelope.NewActions(other, "", "")
	evidence, err2 := envelope.NewEvidence(other, map[int][]jcs.Digest{0: {envelope.EvidenceDigest(nil)}})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := emission(e).Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(em *envelope.Emission){
		"no envelope": func(em *envelope.Emission) { em.Envelope = envelope.Envelope{} }, "no agent": func(em *envelope.Emission) { em.Agent = "" },
		"no principal": func(em *envelope.Emission) { em.Principal = " " }, "no time": func(em *envelope.Emission) { em.At = time.Time{} },
		"an unknown assurance": func(em *envelope.Emission) { em.Needs = "surely" }, "the actions of another": func(em *envelope.Emission) { em.Actions = actions },
		"the evidence of another": func(em *envelope.Emission) { em.Evidence = evidence }, "a long session": func(em *envelope.Emission) { em.Session = strings.Repeat("x", 1025) },
		"a matter of bytes":          func(em *envelope.Emission) { em.Matter = "\xff" },
		"a time that no store holds": func(em *envelope.Emission) { em.At = time.Unix(1<<54, 0) }, "one long ago": func(em *envelope.Emission) { em.At = time.Unix(-1<<54, 0) },
		"one that is later by UTC": func(em *envelope.Emission) {
			em.At = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*60*60))
		},
	} {
		em := emission(e)
		change(&em)
		if err := em.Check(); err == nil {
			t.Errorf("%s: let pass", name)
		}
		if err := envelope.NewMemory().Emit(t.Context(), em); err == nil {
			t.Errorf("%s: emitted", name)
		}
	}
}

// A ledger that fails decides nothing, and records nothing as decided.
func TestSettleOnAFaultyLedger(t *testing.T) {
	e := mustParse(t, text(nil))
	fault := errors.New("the disk is full")
	for _, l := range []faulty{{Memory: envelope.NewMemory(), read: fault}, {Memory: envelope.NewMemory(), take: fault}} {
		mustEmit(t, l.Memory, e)
		d, err := envelope.Settle(t.Context(), l, chooseJSON(t, e, 0), arrival())
		var refusal *envelope.Refusal
		if !errors.Is(err, fault) || errors.As(err, &refusal) || !d.Resolution.IsZero() || len(l.Discards()) != 0 {
			t.Errorf("%v", err)
		}
	}
	l := faulty{Memory: envelope.NewMemory(), discard: fault}
	_, err := envelope.Settle(t.Context(), l, []byte("x"), arrival())
	wantRefusal(t, err, envelope.Malformed, "")
	if !errors.Is(err, fault) {
		t.Error("that nothing was recorded is not said")
	}
	// A ledger that has lost the envelope in between says so, and then it is a refusal.
	l = faulty{Memory: envelope.NewMemory(), take: envelope.ErrUnknown}
	mustEmit(t, l.Memory, e)
	_, err = envelope.Settle(t.Context(), l, chooseJSON(t, e, 0), arrival())
	wantRefusal(t, err, envelope.Unknown, "ENV-078")
}

type faulty struct {
	*envelope.Memory
	read, take, discard error
}

func (f faulty) Envelope(ctx context.Context, d envelope.Digest) (envelope.Emission, error) {
	if f.read != nil {
		return envelope.Emission{}, f.read
	}
	return f.Memory.Envelope(ctx, d)
}

func (f faulty) Take(ctx context.Context, t envelope.Taking) (envelope.Emission, error) {
	if f.take != nil {
		return envelope.Emission{}, f.take
	}
	return f.Memory.Take(ctx, t)
}

func (f faulty) Discard(ctx context.Context, d envelope.Discarded) error {
	if f.discard != nil {
		return f.discard
	}
	return f.Memory.Discard(ctx, d)
}

// covers ENV-109
func TestAssurances(t *testing.T) {
	order := []envelope.Assurance{envelope.Client, envelope.TTYPassphrase, envelope.PasskeyUV}
	for i, a := range order {
		for j, b := range order {
			if a.AtLeast(b) != (i >= j) {
				t.Errorf("%s at least %s", a, b)
			}
		}
		if back, err := envelope.ParseAssurance(string(a)); err != nil || back != a {
			t.Errorf("%s: %v", a, err)
		}
		if a.AtLeast("surely") || envelope.Assurance("surely").AtLeast(a) || !a.AtLeast("") {
			t.Errorf("%s and what is unknown", a)
		}
	}
	if _, err := envelope.ParseAssurance(""); err == nil || !envelope.Assurance("").AtLeast(envelope.Client) || envelope.Assurance("").AtLeast(envelope.TTYPassphrase) {
		t.Error("none is not client")
	}
	plain, classed := mustParse(t, text(nil)), mustParse(t, text(map[string]string{"meta": `{"decision_class":"lunch"}`}))
	shut := mustParse(t, text(map[string]string{"meta": `{"decision_class":"lunch"}`, "hatches": `{"dialogue":false,"free_text":true}`}))
	mute := mustParse(t, text(map[string]string{"meta": `{"decision_class":"lunch"}`, "hatches": `{"dialogue":true,"free_text":false}`}))
	lunch := envelope.Consequential{Ordinary: []string{"lunch", ""}}
	if all := (envelope.Consequential{}); !all.Holds(plain) || !all.Holds(classed) || lunch.Holds(classed) || !lunch.Holds(plain) || !lunch.Holds(shut) || !lunch.Holds(mute) {
		t.Error("what is consequential")
	}
}

// What goes into a ledger is not the caller's any more, and of what is refused the latest stay.
//
// covers ENV-045, ENV-108
func TestMemoryIsItsOwn(t *testing.T) {
	l := envelope.NewMemory()
	e := mustParse(t, text(map[string]string{"hatches": `{"dialogue":true,"free_text":false}`}))
	digest := envelope.EvidenceDigest([]byte("x"))
	kept := map[int][]jcs.Digest{0: {digest}}
	evidence, err := envelope.NewEvidence(e, kept)
	if err != nil {
		t.Fatal(err)
	}
	d := goodDraft()
	d.Closed = []envelope.Closure{{Hatch: envelope.FreeText, Reason: "r"}}
	em := d.Emission(e)
	d.Closed[0].Reason, kept[0][0] = "changed", "changed"
	em.Agent, em.Principal, em.At, em.Evidence = "agent:files", "~dana", noon(), evidence
	if err := l.Emit(t.Context(), em); err != nil {
		t.Fatal(err)
	}
	em.Closed[0].Reason = "changed"
	evidence.Of(0)[0] = "changed"
	for range 2 {
		got, err := l.Envelope(t.Context(), e.Digest())
		if err != nil || got.Closed[0].Reason != "r" || got.Evidence.Of(0)[0] != digest {
			t.Errorf("%+v, %v, %v", got.Closed, got.Evidence.Of(0), err)
		}
		got.Closed[0].Reason = "changed"
	}
	for range 1030 {
		if _, err := envelope.Settle(t.Context(), l, []byte("{"), arrival()); err == nil {
			t.Fatal("half an object was taken")
		}
	}
	if _, err := envelope.Settle(t.Context(), l, []byte("[]"), arrival()); err == nil {
		t.Fatal("a list was taken")
	}
	if list := l.Discards(); len(list) != 1024 || list[1023].Text != envelope.EvidenceDigest([]byte("[]")) {
		t.Errorf("%d refused resolutions are kept, or not the latest", len(list))
	}
}

// What a store keeps beside the envelope gives the emission back.
//
// covers ENV-118, ENV-120
func TestSidecar(t *testing.T) {
	e := mustParse(t, text(map[string]string{"hatches": `{"dialogue":true,"free_text":false}`, "meta": `{"calibration_note":"n"}`}))
	em := emission(e)
	em.Session, em.Earlier, em.Needs = "s", "sha256:…", envelope.PasskeyUV
	em.Closed = []envelope.Closure{{Hatch: envelope.FreeText, Reason: "Zwei \"Namen\"."}}
	var err1, err2 error
	em.Actions, err1 = envelope.NewActions(e, envelope.EvidenceDigest([]byte("act")), "")
	em.Evidence, err2 = envelope.NewEvidence(e, map[int][]jcs.Digest{2: {envelope.EvidenceDigest([]byte("x"))}, 0: {envelope.EvidenceDigest([]byte("y")), envelope.EvidenceDigest([]byte("z"))}})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	exported := cmp.AllowUnexported(envelope.Actions{}, envelope.Evidence{}, envelope.Digest{})
	for _, want := range []envelope.Emission{em, {Envelope: mustParse(t, text(nil)), Agent: "a", Principal: "p", At: noon(), Needs: envelope.Client}} {
		got, err := envelope.ParseEmission(want.Envelope.JSON(), want.Sidecar())
		if diff := cmp.Diff(want, got, exported); err != nil || diff != "" {
			t.Errorf("%v, want -, got +:\n%s", err, diff)
		}
	}
	side := string(em.Sidecar())
	for _, bad := range []string{"", "{}", "[]", strings.Replace(side, `"agent":"agent:files"`, `"agent":""`, 1), strings.Replace(side, `"hatch":"free_text"`, `"hatch":"dialogue"`, 1),
		strings.Replace(side, `"0":[`, `"3":[`, 1), strings.Replace(side, `"0":[`, `"00":[`, 1), strings.Replace(side, `"needs"`, `"extra":1,"needs"`, 1), strings.Replace(side, `"",`, "", 1),
		strings.Replace(side, `"reason"`, `"raison"`, 1), strings.Replace(side, `"actions":["`, `"actions":["x`, 1),
	} {
		if _, err := envelope.ParseEmission(e.JSON(), []byte(bad)); err == nil && bad != side {
			t.Errorf("%s is accepted", bad)
		}
	}
	if _, err := envelope.ParseEmission([]byte(text(nil)), em.Sidecar()); err == nil {
		t.Error("a sidecar goes with another envelope")
	}
}
