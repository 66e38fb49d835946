package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	server "github.com/bindery/bindery/examples/release-approver"
)

func openDesk(t *testing.T, data string) server.Desk {
	t.Helper()
	d, err := server.OpenDesk("catalogue", data, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// TestProposedAtOnce: of two calls of one matter one emits, and the other is shown what it has emitted,
// also if it comes before the ledger has it, and in whatever spelling. The text says how to resolve it.
//
// covers ENV-079
func TestProposedAtOnce(t *testing.T) {
	d := openDesk(t, t.TempDir())
	_, first := d.Propose(t.Context(), "bus-delays", "River Side")
	if first == nil {
		t.Fatal("nothing is emitted")
	}
	digest := first.Envelope.Digest()
	type answer struct {
		text string
		em   *envelope.Emission
	}
	second := make(chan answer, 1)
	go func() {
		text, em := d.Propose(t.Context(), "bus-delays", " river\u00a0 SIDE\u200b")
		second <- answer{text, em}
	}()
	select {
	case a := <-second:
		t.Fatalf("the second does not wait: %s", a.text)
	case <-time.After(20 * time.Millisecond):
	}
	em := *first
	em.Agent, em.At = "desk", time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	if err := d.Ledger().Emit(t.Context(), em); err != nil {
		t.Fatal(err)
	}
	a := <-second
	if a.em != nil || !strings.Contains(a.text, "waits for a decision already. Its envelope is "+digest.String()) {
		t.Errorf("the second is answered with %s", a.text)
	}
	json := fmt.Sprintf(`{"envelope_digest": "%s", "resolution": "option", "option_idx": N}`, digest)
	if !strings.Contains(a.text, json) || !strings.Contains(a.text, "binding_resolution") || strings.Contains(a.text, "Reply: ") {
		t.Errorf("it does not say how to resolve it: %s", a.text)
	}
	d.ShowPages(func(of envelope.Digest) string { return "http://localhost:1/decide/" + of.String()[7:11] })
	text, _ := d.Propose(t.Context(), "bus-delays", "RIVER SIDE")
	if !strings.Contains(text, "http://localhost:1/decide/"+digest.String()[7:11]+"\n") || !strings.Contains(text, fmt.Sprintf(`{"binding_await": "%s"}`, digest)) || strings.Contains(text, "binding_resolution") {
		t.Errorf("it does not say where it is decided: %s", text)
	}
	if err := d.Ledger().Emit(t.Context(), em); err == nil {
		t.Error("what is not under way is emitted")
	}
	if _, other := d.Propose(t.Context(), "bus-delays", "Riverside"); other == nil {
		t.Error("another recipient is taken for the same")
	}
}

// TestDiscardsBounded: whoever sends nothing but wrong resolutions makes neither the ledger nor the
// files of what was refused grow, and the latest of those stay.
func TestDiscardsBounded(t *testing.T) {
	data := t.TempDir()
	for run := range 2 { // it opens again, and goes on
		d, err := server.OpenDesk("catalogue", data, 4)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 11 {
			err := d.Ledger().Discard(t.Context(), envelope.Discarded{Name: envelope.Unknown, Agent: "desk", By: fmt.Sprintf("client %d.%d", run, i), At: time.UnixMilli(1)})
			if err != nil {
				t.Fatal(err)
			}
		}
		d.Close()
		if info, err := os.Stat(filepath.Join(data, "ledger.jsonl")); err != nil || info.Size() != 0 {
			t.Errorf("the ledger has %v, %v", info.Size(), err)
		}
		kept := []byte{}
		for _, name := range []string{"discarded.1.jsonl", "discarded.jsonl"} {
			text, err := os.ReadFile(filepath.Join(data, name))
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, text...)
		}
		if n := bytes.Count(kept, []byte("\n")); n < 4 || n > 8 {
			t.Errorf("%d are kept", n)
		}
		for i := 7; i < 11; i++ {
			if !bytes.Contains(kept, fmt.Appendf(nil, `"client %d.%d"`, run, i)) {
				t.Errorf("run %d has lost %d: %s", run, i, kept)
			}
		}
	}
}

// TestCrashAfterTaken: where the process ends between the taking of a resolution and the release, nothing
// is released by it, then or later. The matter has moved on: an option or an answer is followed by another
// question, and a declined question by the objection alone.
//
// covers ENV-003, ENV-068, ENV-079
func TestCrashAfterTaken(t *testing.T) {
	for kind, resolve := range map[string]func(envelope.Envelope) (envelope.Resolution, error){
		"option":   func(e envelope.Envelope) (envelope.Resolution, error) { return envelope.Choose(e, 0) },
		"answer":   func(e envelope.Envelope) (envelope.Resolution, error) { return envelope.Answer(e, "the lines") },
		"question": envelope.Reopen,
	} {
		data := t.TempDir()
		d, err := server.OpenDesk("catalogue", data, 4)
		if err != nil {
			t.Fatal(err)
		}
		_, em := d.Propose(t.Context(), "bus-delays", "Riverside")
		em.Agent, em.At = "desk", time.UnixMilli(1)
		if err := d.Ledger().Emit(t.Context(), *em); err != nil {
			t.Fatal(err)
		}
		r, err := resolve(em.Envelope)
		if err != nil {
			t.Fatal(err)
		}
		arrival := envelope.Arrival{Agent: "desk", By: "ana", At: time.UnixMilli(2)}
		if _, err := envelope.Settle(t.Context(), d.Ledger(), r.JSON(), arrival); err != nil {
			t.Fatal(err)
		}
		d.Close()
		d = openDesk(t, data)
		if _, err := envelope.Settle(t.Context(), d.Ledger(), r.JSON(), arrival); !errors.Is(err, envelope.ErrTaken) {
			t.Errorf("%s: the same once more: %v", kind, err)
		}
		text, next := d.Propose(t.Context(), "bus-delays", "Riverside")
		if (next == nil) != (kind == "question") || next == nil && !strings.Contains(text, "hear_objection") {
			t.Errorf("%s: the next proposal is answered with %s", kind, text)
		}
		if _, err := os.Stat(filepath.Join(data, "outbox")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something is released: %v", kind, err)
		}
	}
}

// TestProposedWhileTaken: a resolution that is taken is done, also if another call proposes the same
// before the tool is called with it. One that no tool is called with does not hold the matter for ever.
//
// covers ENV-079
func TestProposedWhileTaken(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, then := range []string{"called", "not called", "by page"} {
		d := openDesk(t, t.TempDir())
		d.Set(now)
		_, em := d.Propose(t.Context(), "bus-delays", "Riverside")
		em.Agent, em.At = "desk", now
		if err := d.Ledger().Emit(t.Context(), *em); err != nil {
			t.Fatal(err)
		}
		r, err := envelope.Choose(em.Envelope, 0)
		if err != nil {
			t.Fatal(err)
		}
		decision, err := envelope.Settle(t.Context(), d.Ledger(), r.JSON(), envelope.Arrival{Agent: "desk", By: "ana", At: now})
		if err != nil {
			t.Fatal(err)
		}
		if text, next := d.Propose(t.Context(), "bus-delays", "Riverside"); next != nil || !strings.Contains(text, "ana has decided this matter") {
			t.Fatalf("the same is answered with %s", text)
		}
		if then != "called" {
			d.Set(now.Add(time.Minute))
		}
		if then == "by page" { // which waits longer
			d.DecideOnPages()
			if text, next := d.Propose(t.Context(), "bus-delays", "Riverside"); next != nil || !strings.Contains(text, "on its page") {
				t.Fatalf("the same is answered with %s", text)
			}
		}
		if then != "not called" {
			if text := d.Decide(decision); !strings.HasPrefix(text, "Released by proposal 1: ") {
				t.Errorf("what was decided is answered with %s", text)
			}
		}
		if text, next := d.Propose(t.Context(), "bus-delays", "Riverside"); next == nil {
			t.Errorf("%s: after it, the same is answered with %s", then, text)
		}
	}
}
