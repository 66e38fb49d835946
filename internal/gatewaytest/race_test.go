package gatewaytest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/bindery/bindery/internal/gatewaytest"
)

// callers call at once with one execution_id.
const callers = 64

// A said is what a caller was told: the receipt of the effect, or the name of a refusal and
// the receipt in it.
type said struct {
	receipt string // the text of the result, from the answer or from a record of it
	refusal string
}

// history is the calls of a race with the times of call and return. The input is what the
// call is bound to.
type history struct {
	mu    sync.Mutex // guards calls
	calls []porcupine.Operation
}

// one is what an execution is to its callers: nothing, and from the first call on what that
// was bound to and what it brought. A call bound to something else is refused, and whoever
// is told of an effect is told of the same one.
type one struct{ bound, receipt string }

var oneExecution = porcupine.Model{
	Init: func() any { return one{} },
	Step: func(state, input, output any) (bool, any) {
		s, bound, told := state.(one), input.(string), output.(said)
		if told.refusal == "EXECUTION_COLLISION" {
			return s.bound != "" && s.bound != bound, s
		}
		next := one{bound, told.receipt}
		if s.bound == "" {
			return told.refusal == "" && told.receipt != "", next
		}
		return s == next && (told.refusal == "" || told.refusal == "EXECUTION_REPLAY"), s
	},
	Equal: func(a, b any) bool { return a == b },
	DescribeOperation: func(input, output any) string {
		return fmt.Sprintf("%s: %+v", input, output.(said))
	},
}

// race has all callers call at once, each by a connection of its own and the replicas in
// turn. calls says what the i-th of them sends.
func (s *stand) race(t *testing.T, calls func(i int) gatewaytest.Call) *history {
	t.Helper()
	h, start, all := &history{}, make(chan struct{}), sync.WaitGroup{}
	for i := range callers {
		client, call := s.as(t, "racer", i), calls(i)
		call.ID = fmt.Sprint(1000 + i)
		all.Go(func() {
			<-start
			began := time.Now().UnixNano()
			told, err := ask(t.Context(), client, call)
			ended := time.Now().UnixNano()
			if err != nil {
				t.Errorf("call %d: %v", i, err)
				return
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			h.calls = append(h.calls, porcupine.Operation{ClientId: i, Input: call.Arguments, Output: told, Call: began, Return: ended})
		})
	}
	close(start)
	all.Wait()
	return h
}

func ask(ctx context.Context, client *gatewaytest.Client, call gatewaytest.Call) (said, error) {
	a, err := client.Post(ctx, call.Body())
	if err != nil {
		return said{}, err
	}
	if last := string(a.Messages[len(a.Messages)-1]); !strings.Contains(last, `"id":`+call.ID) {
		return said{}, fmt.Errorf("the answer is to another: %s", last)
	}
	told, err := a.Tell()
	return said{told.Text, told.Error}, err
}

func (h *history) count(of func(said) bool) (n int) {
	for _, c := range h.calls {
		if of(c.Output.(said)) {
			n++
		}
	}
	return n
}

func refusedAs(name string) func(said) bool { return func(s said) bool { return s.refusal == name } }

// judge is bounded, since a history that is wrong can take for ever.
func (h *history) judge(t *testing.T) {
	t.Helper()
	if got := porcupine.CheckOperationsTimeout(oneExecution, h.calls, time.Minute); got != porcupine.Ok {
		t.Errorf("the history is not that of one execution (%v): %+v", got, h.calls)
	}
}

// pay is a call with an execution_id for an effect of key; plan is the server's.
func pay(id, key, plan, at string) gatewaytest.Call {
	return gatewaytest.Call{Tool: "pay", Arguments: fmt.Sprintf(`{"key":%q,"plan":%q}`, key, plan), ExecutionID: id, Timestamp: at}
}

// TestGatewayRace: 64 requests at once with one agent and execution_id, over two replicas
// on one store. The same call has one effect and 64 answers, which all tell of it; with
// other arguments there is one effect, and all others are refused before the upstream.
//
// covers EXA-023, EXA-050, EXA-056, EXA-058, EXA-063, EXA-065, EXA-068
func TestGatewayRace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kinds      int // of arguments
		collisions func(n int) bool
	}{
		"same":  {1, func(n int) bool { return n == 0 }},
		"two":   {2, func(n int) bool { return n == callers/2 }},
		"other": {callers, func(n int) bool { return n == callers-1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, gatewaytest.Config{}, func(t *testing.T, s *stand) {
				at := now()
				h := s.race(t, func(i int) gatewaytest.Call { return pay("race", fmt.Sprint("k", i%c.kinds), "delay:100", at) })
				if n := effects(s); n != 1 || s.received.Load() != 1 {
					t.Errorf("%d effects of %d calls that the upstream got", n, s.received.Load())
				}
				collided, replayed := h.count(refusedAs("EXECUTION_COLLISION")), h.count(refusedAs("EXECUTION_REPLAY"))
				if !c.collisions(collided) {
					t.Errorf("%d of %d collided", collided, callers)
				}
				h.judge(t)
				events := s.audited(t, "race")
				t.Logf("%d answers, %d replays, %d collisions; log: %v", callers-collided-replayed, replayed, collided, events)
				if events["dispatched"] != 1 || events["succeeded"] != 1 || events["collision"] != collided || events["replay"] != replayed {
					t.Errorf("the log has %v", events)
				}
			})
		})
	}
}

func effects(s *stand) (n int) {
	for _, count := range s.ledger.Counts() {
		n += count
	}
	return n
}

// TestGatewayRaceControl: without a gateway that admits, each call has its effect, and the
// history is seen to be none of one execution.
func TestGatewayRaceControl(t *testing.T) {
	t.Parallel()
	l := ledger(t)
	_, upstream := counting(t, gatewaytest.Config{Ledger: l})
	s := &stand{urls: []string{bareProxy(t, upstream.URL+"/mcp")}, ledger: l}
	h := s.race(t, func(int) gatewaytest.Call { return pay("race", "k", "delay:1", "2026-11-30T12:00:00Z") })
	if n := l.Count("k"); n != callers {
		t.Errorf("%d effects", n)
	}
	if got := porcupine.CheckOperationsTimeout(oneExecution, h.calls, time.Minute); got != porcupine.Illegal {
		t.Errorf("the history of %d effects is %v", callers, got)
	}
}

// TestAgentsApart: one execution_id of two agents is two executions.
//
// covers EXA-020, EXA-045, EXA-057
func TestAgentsApart(t *testing.T) {
	t.Parallel()
	onEachStore(t, gatewaytest.Config{}, func(t *testing.T, s *stand) {
		at := now()
		for i, agent := range []string{"one", "two"} {
			call := pay("shared", fmt.Sprint("k", i), "", at)
			call.ID = "1"
			told, err := ask(t.Context(), s.as(t, agent, i), call)
			if err != nil || told.refusal != "" {
				t.Errorf("%s is told %+v, %v", agent, told, err)
			}
		}
		if n := effects(s); n != 2 {
			t.Errorf("%d effects", n)
		}
	})
}

// TestLostReply: the client goes away after it has sent its call, as one whose connection
// breaks. The same call, again and at another replica, brings the answer of the effect that
// there was, and no second one: while the upstream is still at it, and afterwards.
//
// covers EXA-024, EXA-050, EXA-059, EXA-071
func TestLostReply(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]bool{"under way": false, "over": true} {
		for store, open := range engines {
			t.Run(name+"/"+store, func(t *testing.T) {
				t.Parallel()
				left := make(chan struct{}) // until then the upstream does nothing
				leaves := sync.OnceFunc(func() { close(left) })
				defer leaves()
				s := newStand(t, open(t), 2, gatewaytest.Config{Record: func(string, string) { <-left }})
				const id = "lost"
				call := pay(id, id, "delay:150", now())
				call.ID = "7"
				ctx, leave := context.WithCancel(t.Context())
				gone := make(chan error, 1)
				go func() {
					_, err := s.as(t, "payer", 0).Post(ctx, call.Body())
					gone <- err
				}()
				for deadline := time.Now().Add(time.Minute); s.received.Load() == 0 && time.Now().Before(deadline); {
					time.Sleep(time.Millisecond)
				}
				leave()
				if err := <-gone; err == nil {
					t.Error("the reply was not lost")
				}
				leaves()
				if wait {
					s.over(t, call)
				}
				told, err := ask(t.Context(), s.as(t, "payer", 1), call)
				if err != nil || told.receipt == "" || !slices.Contains([]string{"", "EXECUTION_REPLAY"}, told.refusal) {
					t.Errorf("again it is told %+v, %v", told, err)
				}
				if n := s.ledger.Count(id); n != 1 {
					t.Errorf("%d effects", n)
				}
				if wait && told.refusal != "EXECUTION_REPLAY" {
					t.Errorf("what was over is answered by %+v", told)
				}
			})
		}
	}
}

// over waits until the log has the end of an execution.
func (s *stand) over(t *testing.T, call gatewaytest.Call) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); s.audited(t, call.ExecutionID)["succeeded"] == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the execution does not end")
		}
	}
}
