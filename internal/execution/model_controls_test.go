package execution_test

import (
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
)

// TestModelControls: each guard is needed. Without it the model finds the way to a broken
// promise.
//
// covers EXA-024, EXA-060, EXA-064, EXA-072
func TestModelControls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		setting string
		guards
		want string
	}{
		"a dead epoch dispatches": {"calls", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if _, ok := e.(execution.Dispatching); ok {
				f.AskerAlive = true
			}
			return r.On(e, f)
		}}, "dispatched by a dead epoch"},
		"whoever asks may dispatch": {"calls", guards{noSwap: true}, "said not to have been sent, and it was"},
		"a dispatched row is taken over, too": {"calls", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if _, ok := e.(execution.Admitting); ok && r.State == execution.Dispatched && !f.OwnerAlive {
				r.State = execution.Reserved
			}
			return r.On(e, f)
		}}, "sent twice"},
		"what is alive is taken over": {"calls", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if _, ok := e.(execution.Admitting); ok && r.State == execution.Dispatched {
				r.State, f.OwnerAlive = execution.Reserved, false
			}
			return r.On(e, f)
		}}, "sent twice"},
		"what is over begins anew": {"calls", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if a, ok := e.(execution.Admitting); ok && r.State == execution.Failed {
				return execution.Row{}.On(a, execution.Facts{Absent: true})
			}
			return r.On(e, f)
		}}, "a terminal state was left"},
		"a late answer is the outcome": {"calls", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if s, ok := e.(execution.Settling); ok && r.State == execution.OutcomeUnknown && r.CallID == s.CallID {
				r.State, r.Owner = execution.Dispatched, s.Owner
			}
			return r.On(e, f)
		}}, "a terminal state was left"},
		"the sweep takes from the living": {"calls", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			alive := f.OwnerAlive
			if _, ok := e.(execution.Sweeping); ok {
				f.OwnerAlive = false
			}
			d := r.On(e, f)
			f.OwnerAlive = alive
			return d
		}}, "swept from the living"},
		"nobody sweeps what is dispatched": {"calls", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if _, ok := e.(execution.Sweeping); ok && r.State == execution.Dispatched {
				return execution.Decision{Row: r}
			}
			return r.On(e, f)
		}}, "left by a dead epoch, and not swept"},
		"a dead reservation is joined": {"calls", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			d := r.On(e, f)
			if d.Reason == execution.ReasonTakenOver {
				return execution.Decision{Row: r, Verdict: execution.Joins}
			}
			return d
		}}, "reserved by a dead epoch, and not taken over by a repeat"},
		"the heartbeat is not looked at":   {"calls", guards{noStart: true}, "found not to have happened, and about to be sent"},
		"an unanswered call is sent again": {"calls", guards{resends: true}, "sent twice"},
		"an attempt leaves without a word": {"calls", guards{forgets: true}, "held for ever by a living epoch"},
		"what was sent is given back": {"calls", guards{unsends: true, on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if u, ok := e.(execution.Unsending); ok && r.State == execution.Dispatched && r.CallID == u.CallID {
				r.State = execution.Reserved
				d := r.On(e, f)
				d.Event = "given back"
				return d
			}
			return r.On(e, f)
		}}, "sent twice"},
		"a question is put to whoever comes": {"rounds", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if a, ok := e.(execution.Admitting); ok && a.Continues != "" && r.State == execution.Dispatched {
				r.State, r.RequestState, r.Continued = execution.Suspended, a.Continues, ""
			}
			return r.On(e, f)
		}}, "continued what was never sent"},
		"a dead epoch continues": {"rounds", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if _, ok := e.(execution.Admitting); ok {
				f.AskerAlive = true
			}
			return r.On(e, f)
		}}, "dispatched by a dead epoch"},
		"what is held is dispatched": {"held", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			d := r.On(e, f)
			if d.Verdict == execution.Decided && d.Row.State == execution.Reserved {
				d.Row.State, d.Row.CallID = execution.Dispatched, r.CallID
			}
			return d
		}}, "dispatched by a dead epoch"},
		"a decision is taken back": {"held", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			if d, ok := e.(execution.Deciding); ok && d.Release && r.State == execution.Refused {
				r.State = execution.Held
				next := r.On(e, f)
				return next
			}
			return r.On(e, f)
		}}, "a terminal state was left"},
		"a state changes without an entry": {"calls", guards{on: func(r execution.Row, e execution.Event, f execution.Facts) execution.Decision {
			d := r.On(e, f)
			if d.Event == audit.EventFailed {
				d.Event = ""
			}
			return d
		}}, "a state without an audit entry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := settings[test.setting]
			m.guards = test.guards
			_, path := explore(&m, 2_000_000)
			if path == "" {
				t.Fatal("the model finds nothing wrong")
			}
			if !strings.HasSuffix(strings.SplitN(path, "\n", -1)[strings.Count(path, "\n")], test.want) {
				t.Errorf("it finds\n%s\nand not: %s", path, test.want)
			}
		})
	}
}
