package centre_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/store/storetest"
	"github.com/bindery/bindery/internal/wiretest"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// A fault is what becomes of one call to an RA.
type fault struct {
	mode int32               // works, lost, kept, silent; answers with err
	err  error               // for answers
	then func()              // after the call, before its answer is taken
	as   func(string) string // another receipt than the RA's
}

// A network lies between the responder and the RAs: the n-th call to one of them meets the
// n-th fault that a test has put there, and every other call works.
type network struct {
	mu     sync.Mutex
	faults map[string][]fault // by RA and call, "own hold"
	calls  map[string]int
}

func (n *network) put(call string, faults ...fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults[call] = append(n.faults[call], faults...)
}

func (n *network) count(call string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[call]
}

func (n *network) next(call string) fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls[call]++
	if len(n.faults[call]) == 0 {
		return fault{}
	}
	f := n.faults[call][0]
	n.faults[call] = n.faults[call][1:]
	return f
}

func (n *network) through(ctx context.Context, call string, f func() (string, error)) (string, error) {
	meet := n.next(call)
	switch meet.mode {
	case lost:
		return "", errLost
	case silent:
		<-ctx.Done()
		return "", ctx.Err()
	case answers:
		return "", meet.err
	}
	receipt, err := f()
	if meet.then != nil {
		meet.then()
	}
	if meet.mode == kept {
		return "", errors.Join(err, errLost)
	}
	if meet.as != nil {
		return meet.as(receipt), nil
	}
	return receipt, err
}

// wire is one RA behind the network.
type wire struct {
	centre.Effector
	name string
	net  *network
}

func (w *wire) Hold(ctx context.Context, h api.Hold) (string, error) {
	return w.net.through(ctx, w.name+" hold", func() (string, error) { return w.Effector.Hold(ctx, h) })
}

func (w *wire) Confirm(ctx context.Context, t mandate.Triple) (string, error) {
	return w.net.through(ctx, w.name+" confirm", func() (string, error) { return w.Effector.Confirm(ctx, t) })
}

func (w *wire) Release(ctx context.Context, r api.Release) (string, error) {
	return w.net.through(ctx, w.name+" release", func() (string, error) { return w.Effector.Release(ctx, r) })
}

// apart is a World whose RAs are where the setting says, behind a network.
func apart(t *testing.T, where wiretest.Registries, mode wiretest.ReleaseMode, ack time.Duration) (*wiretest.World, *network) {
	t.Helper()
	n := &network{faults: map[string][]fault{}, calls: map[string]int{}}
	return wiretest.New(t, wiretest.Config{
		Registries: where, Release: mode, AckTimeout: ack,
		Effector: func(ra string, e centre.Effector) centre.Effector { return &wire{e, ra, n} },
	}), n
}

// steps are the calls of a seal by where the RAs are.
var steps = map[wiretest.Registries][]string{
	wiretest.Elsewhere: {"own hold", "own confirm"},
	wiretest.Each:      {"peer hold", "own hold", "peer confirm", "own confirm"},
}

// TestApart seals where the RA is elsewhere, and where each party has its own: one seal and
// one anchor, what was spent is spent at the RA that keeps it, the authority takes the
// receipts, and every repeat gets the stored bytes without another call.
//
// covers GC-193, GC-194, GC-209, GC-300
func TestApart(t *testing.T) {
	t.Parallel()
	for where := range steps {
		t.Run(where.String(), func(t *testing.T) {
			w, net := apart(t, where, wiretest.ReleaseNone, 0)
			s := w.Script(w.Party("acme")).Through(wiretest.P3)
			a := s.Seal()
			wantSealed(t, a)
			wantCounts(t, w, once)
			for _, token := range []string{s.Closed, s.Peer.Closed} {
				if state := w.ClosedState(token); state != "consumed" {
					t.Errorf("a Closed is %q", state)
				}
			}
			if n := len(w.Rows().Where("holds", "state", "spent")); n != len(steps[where])/2 {
				t.Errorf("%d spent rows", n)
			}
			if again := s.Seal(); !bytes.Equal(again.Body, a.Body) {
				t.Errorf("the repeat answered %s", again.Body)
			}
			for _, call := range steps[where] {
				if n := net.count(call); n != 1 {
					t.Errorf("%s: called %d times", call, n)
				}
			}
		})
	}
}

// TestPartition cuts, delays or pauses the network at every call of a seal, before or after
// its effect. That is never a refusal (design R4): the answer is SEAL_PENDING, and the
// responder finishes by itself, the initiator away, with one seal and nothing spent twice.
//
// covers GC-131, GC-359
func TestPartition(t *testing.T) {
	t.Parallel()
	for where, calls := range steps {
		for _, call := range calls {
			for what, mode := range map[string]int32{"lost": lost, "answer lost": kept, "silent": silent} {
				t.Run(fmt.Sprintf("%s, %s, %s", where, call, what), func(t *testing.T) {
					t.Parallel()
					ack := time.Duration(0)
					if mode == silent {
						ack = short
					}
					w, net := apart(t, where, wiretest.ReleaseNone, ack)
					s := w.Script(w.Party("acme")).Through(wiretest.P3)
					net.put(call, fault{mode: mode}, fault{mode: mode})
					wantName(t, s.Seal(), "SEAL_PENDING")
					if got := w.Count(); got.Refusals != 0 || got.Seals != 0 || got.Anchors != 0 || got.Attempts != 1 {
						t.Errorf("counts %+v", got)
					}
					w.Run(10 * time.Millisecond)
					eventually(t, "a seal that resolves, and is known to", func() bool {
						return w.Count().Projections == 1 && len(w.Rows().Where("outbox", "acknowledged_at", "NULL")) == 0
					})
					wantSealed(t, s.Seal())
					wantCounts(t, w, once)
				})
			}
		}
	}
}

// TestRefusedApart lets the RAs refuse for good at every call, by revoking a mandate in
// between: no seal, a refusal row with the flags of the RAs' latest words, final for the
// record, and nothing that was spent for good at one RA while the other had refused before.
// In release mode on what the other RA holds, or has spent already, returns.
//
// covers GC-101, GC-139, GC-196, GC-301, GC-302, GC-359
func TestRefusedApart(t *testing.T) {
	t.Parallel()
	initiators := func(w *wiretest.World, s *wiretest.Script) { s.From.Revoke(wiretest.Hash(s.Closed)) }
	responders := func(w *wiretest.World, s *wiretest.Script) { w.Responder.Revoke(wiretest.Hash(s.Peer.Closed)) }
	for _, c := range []struct {
		what   string
		where  wiretest.Registries
		at     string // the point of the revocation
		revoke func(*wiretest.World, *wiretest.Script)
		flags  map[wiretest.ReleaseMode]string // initiator, responder
		states map[wiretest.ReleaseMode]string // of the hold rows: the initiator's RA, the responder's
	}{
		{"one RA, before", wiretest.Elsewhere, centre.PointAfterAttempt, initiators,
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "00", wiretest.ReleaseOn: "00"},
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "", wiretest.ReleaseOn: ""}},
		{"one RA, held", wiretest.Elsewhere, centre.PointAfterHold, initiators,
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "11", wiretest.ReleaseOn: "11"},
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "held", wiretest.ReleaseOn: "held"}},
		{"two, before, the initiator's", wiretest.Each, centre.PointAfterAttempt, initiators,
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "01", wiretest.ReleaseOn: "00"},
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: ",held", wiretest.ReleaseOn: ",released"}},
		{"two, before, the responder's", wiretest.Each, centre.PointAfterAttempt, responders,
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "10", wiretest.ReleaseOn: "00"},
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "held,", wiretest.ReleaseOn: "released,"}},
		{"two, held, the initiator's", wiretest.Each, centre.PointAfterHold, initiators,
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "11", wiretest.ReleaseOn: "10"},
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "held,held", wiretest.ReleaseOn: "held,released"}},
		{"two, the first has confirmed, the responder's", wiretest.Each, centre.PointAfterFirstConfirm, responders,
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "11", wiretest.ReleaseOn: "01"},
			map[wiretest.ReleaseMode]string{wiretest.ReleaseNone: "spent,held", wiretest.ReleaseOn: "released,held"}},
	} {
		for _, mode := range []wiretest.ReleaseMode{wiretest.ReleaseNone, wiretest.ReleaseOn} {
			t.Run(fmt.Sprintf("%s, release %s", c.what, mode), func(t *testing.T) {
				t.Parallel()
				w, net := apart(t, c.where, mode, 0)
				s := w.Script(w.Party("acme")).Through(wiretest.P3)
				// The release does not arrive at first: that is no refusal either.
				net.put("peer release", fault{mode: lost})
				net.put("own release", fault{mode: lost})
				w.OnPoint(func(point string) {
					if point == c.at {
						c.revoke(w, s)
					}
				})
				a := untilDecided(t, s)
				wantName(t, a, "MANDATE_REVOKED")
				rows := w.Rows()
				row := rows["refusals"][0]
				if got := row["initiator_spent"] + row["responder_spent"]; len(rows["refusals"]) != 1 || got != c.flags[mode] {
					t.Errorf("%d refusal rows, flags %s, want %s", len(rows["refusals"]), got, c.flags[mode])
				}
				if got := states(rows["holds"], c.where); got != c.states[mode] {
					t.Errorf("the rows are %q, want %q", got, c.states[mode])
				}
				if got := w.Count(); got.Seals != 0 || got.Anchors != 0 || got.Outbox != 0 {
					t.Errorf("counts %+v", got)
				}
				if again := s.Seal(); !bytes.Equal(again.Body, a.Body) {
					t.Errorf("the repeat answered %s", again.Body)
				}
				// A later refusal of the crossing tells the same flags.
				s.Forget()
				s.Edit.Record = func(d wiretest.Doc) { d["magnitude_asserted"] = wiretest.Number("2") }
				s.Seal()
				for _, row := range w.Rows()["refusals"] {
					if got := row["initiator_spent"] + row["responder_spent"]; got != c.flags[mode] {
						t.Errorf("a refusal row of %s has the flags %s, want %s", row["name"], got, c.flags[mode])
					}
				}
			})
		}
	}
}

// TestLostRelease: the RA that gave back what it held, and whose answer was lost, says so when
// it is asked again. The crossing is refused for that then, and the flags are still true.
func TestLostRelease(t *testing.T) {
	t.Parallel()
	w, net := apart(t, wiretest.Each, wiretest.ReleaseOn, 0)
	s := w.Script(w.Party("acme")).Through(wiretest.P3)
	net.put("own release", fault{mode: kept})
	w.OnPoint(func(point string) {
		if point == centre.PointAfterHold {
			s.From.Revoke(wiretest.Hash(s.Closed))
		}
	})
	wantName(t, untilDecided(t, s), "MAGNITUDE_EXHAUSTED")
	rows := w.Rows()
	if got := states(rows["holds"], wiretest.Each); got != "released,released" {
		t.Errorf("the rows are %q", got)
	}
	if row := rows["refusals"][0]; row["initiator_spent"]+row["responder_spent"] != "00" || row["failure_path"] != "§4.1.3 M-4b released" {
		t.Errorf("refusal row %v", row)
	}
}

// TestReleasedIsNoProbe: a hold that was given back says nothing about a ceiling. However often
// an outage lets one lapse, the same counterparty may cross again.
//
// covers GC-323
func TestReleasedIsNoProbe(t *testing.T) {
	t.Parallel()
	for _, where := range wiretest.AllRegistries() {
		t.Run(where.String(), func(t *testing.T) {
			w, _ := apart(t, where, wiretest.ReleaseOn, 0)
			p := w.Party("acme")
			w.OnPoint(func(point string) {
				if point != centre.PointAfterHold {
					return
				}
				w.Clock.Advance(wiretest.HoldTimeout + time.Second)
				for _, ra := range []*wiretest.RA{w.RA, w.Initiators} {
					if err := ra.Sweep(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
			for range 4 {
				wantName(t, untilDecided(t, w.Script(p).Through(wiretest.P3)), "MAGNITUDE_EXHAUSTED")
			}
			w.OnPoint(func(string) {})
			wantSealed(t, w.Script(p).Through(wiretest.P3).Seal())
		})
	}
}

// TestReleasedMeanwhile: in release mode on, a hold that nobody confirmed in time is given
// back by the RA. Whoever wakes late finds it released: the crossing is refused, nothing is
// spent at either RA, and nothing is sealed.
//
// covers GC-194
func TestReleasedMeanwhile(t *testing.T) {
	t.Parallel()
	for where := range steps {
		t.Run(where.String(), func(t *testing.T) {
			w, net := apart(t, where, wiretest.ReleaseOn, 0)
			s := w.Script(w.Party("acme")).Through(wiretest.P3)
			first := steps[where][len(steps[where])/2]
			net.put(first, fault{mode: lost})
			wantName(t, s.Seal(), "SEAL_PENDING")
			w.Clock.Advance(wiretest.HoldTimeout + time.Second)
			for _, ra := range []*wiretest.RA{w.RA, w.Initiators} {
				if err := ra.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			wantName(t, untilDecided(t, s), "MAGNITUDE_EXHAUSTED")
			rows := w.Rows()
			if n := len(rows.Where("holds", "state", "released")); n != len(steps[where])/2 {
				t.Errorf("%d released rows", n)
			}
			if row := rows["refusals"][0]; row["initiator_spent"]+row["responder_spent"] != "00" {
				t.Errorf("refusal row %v", row)
			}
			if got := w.Count(); got.Seals != 0 || got.Anchors != 0 {
				t.Errorf("counts %+v", got)
			}
		})
	}
}

// TestForeignWord: what is not the word of the RA that keeps the Closed, about this triple and
// this half, decides nothing, whoever has signed it.
//
// covers GC-194, GC-359
func TestForeignWord(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]struct {
		where wiretest.Registries
		call  string
		with  func(taken map[string]string, receipt string) string
	}{
		"unsigned":           {wiretest.Elsewhere, "own confirm", func(map[string]string, string) string { return "x.y.z" }},
		"a hold's":           {wiretest.Elsewhere, "own confirm", func(taken map[string]string, _ string) string { return taken["own hold"] }},
		"the other RA's":     {wiretest.Each, "peer confirm", func(taken map[string]string, _ string) string { return taken["own hold"] }},
		"for another triple": {wiretest.Each, "own confirm", func(taken map[string]string, _ string) string { return taken["before"] }},
	} {
		t.Run(what, func(t *testing.T) {
			w, net := apart(t, spoil.where, wiretest.ReleaseNone, 0)
			p, taken := w.Party("acme"), map[string]string{}
			take := func(name string) fault {
				return fault{as: func(receipt string) string { taken[name] = receipt; return receipt }}
			}
			net.put("own confirm", take("before"))
			wantSealed(t, w.Script(p).Through(wiretest.P3).Seal())
			s := w.Script(p).Through(wiretest.P3)
			net.put("own hold", take("own hold"))
			net.put(spoil.call, fault{as: func(receipt string) string { return spoil.with(taken, receipt) }})
			wantName(t, s.Seal(), "SEAL_PENDING")
			if got := w.Count(); got.Refusals != 0 || got.Seals != 1 {
				t.Errorf("counts %+v", got)
			}
			wantSealed(t, untilDecided(t, s))
		})
	}
}

// TestUnsignedRefusal: a no without the RA's signed word about this triple is asked again.
//
// covers GC-359
func TestUnsignedRefusal(t *testing.T) {
	t.Parallel()
	for where, calls := range steps {
		for _, call := range calls {
			w, net := apart(t, where, wiretest.ReleaseNone, 0)
			p := w.Party("acme")
			another := w.Script(p).Through(wiretest.P3)
			s := w.Script(p).Through(wiretest.P3)
			for _, receipt := range []string{"", "x.y.z", finalRefusal(t, w, another)} {
				net.put(call, fault{mode: answers, err: &api.Error{Code: "MANDATE_REVOKED", Receipt: receipt}})
				wantName(t, s.Seal(), "SEAL_PENDING")
			}
			wantSealed(t, untilDecided(t, s))
			if got := w.Count(); got.Refusals != 0 {
				t.Errorf("%s: counts %+v", call, got)
			}
		}
	}
}

// finalRefusal is the responder's RA's signed word about another crossing.
func finalRefusal(t *testing.T, w *wiretest.World, s *wiretest.Script) string {
	t.Helper()
	w.Responder.Revoke(wiretest.Hash(s.Peer.Closed))
	h := api.Hold{CrossingID: s.CrossingID, ResponderClosed: s.Peer.Closed}
	if w.Initiators == w.RA {
		h.InitiatorClosed = s.Closed
	} else {
		h.InitiatorToken, h.CounterpartyAgent = jcs.Hex256(wiretest.Hash(s.Closed)), s.From.AgentID
	}
	_, err := w.Responder.RA.Hold(t.Context(), h)
	var refused *api.Error
	if !errors.As(err, &refused) || refused.Receipt == "" {
		t.Fatalf("a revoked mandate: %v", err)
	}
	return refused.Receipt
}

// TestPausedResponder: a responder that sleeps between two steps, while another worker of the
// same directory has finished, finds the seal and makes no second one.
func TestPausedResponder(t *testing.T) {
	t.Parallel()
	for _, point := range []string{centre.PointAfterHold, centre.PointAfterFirstConfirm, centre.PointAfterConfirm, centre.PointBeforeCommit} {
		w, _ := apart(t, wiretest.Each, wiretest.ReleaseNone, 0)
		s := w.Script(w.Party("acme")).Through(wiretest.P3)
		var once sync.Once
		w.OnPoint(func(at string) {
			if at == point {
				once.Do(func() {
					w.RunTwin(5 * time.Millisecond)
					eventually(t, "the other's seal", func() bool { return w.Count().Seals == 1 })
				})
			}
		})
		wantSealed(t, untilDecided(t, s))
		if got := w.Count(); got.Seals != 1 || got.Anchors != 1 || got.Refusals != 0 {
			t.Errorf("%s: counts %+v", point, got)
		}
	}
}

// states are those of the hold rows; of two RAs the initiator's first.
func states(rows []storetest.Row, where wiretest.Registries) string {
	of := map[string]string{}
	for _, row := range rows {
		of[row["half"]] = row["state"]
	}
	if where != wiretest.Each {
		return of[""]
	}
	return of["initiator"] + "," + of["responder"]
}

func untilDecided(t *testing.T, s *wiretest.Script) wiretest.Answer {
	t.Helper()
	var a wiretest.Answer
	eventually(t, "a decision", func() bool {
		a = s.Seal()
		return a.Name() != "SEAL_PENDING"
	})
	return a
}
