package a2acrossing_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
)

// TestInboundCommitment: no message makes a commitment, whatever seal it shows. Each is
// refused and recorded, and the crossing that it speaks of goes on as it was.
//
// covers GC-044, GC-047, GC-048, GC-319
func TestInboundCommitment(t *testing.T) {
	t.Parallel()
	w, done, a := sealed(t)
	block := wiretest.Object(a.Doc, "result", "artifact_block")
	altered := func(member string, value any) wiretest.Doc {
		b := block.Clone()
		b[member] = value
		return b
	}
	for name, claim := range map[string]wiretest.Doc{
		"no seal":            {"crossing_state": "committed"},
		"an unknown seal":    altered("seal_id", "canal-mxyz1234-0123456789ab"),
		"another joint seal": altered("seal", wiretest.Hash("another")),
		"another position":   altered("chain_seq", 7),
		"another authority":  altered("verify_url", "https://example.com/?id=x"),
		"another's seal":     block.Clone(), // a true one, of a crossing that is not this one
		"failed, not sealed": {"crossing_state": "failed_unsealed"},
	} {
		for phase, last := range map[string]wiretest.Phase{"as a first message": wiretest.P0, "after P1": wiretest.P1, "after P3": wiretest.P3} {
			t.Run(name+" "+phase, func(t *testing.T) {
				s := w.Script(done.From).Through(last)
				shown := ""
				if s.TaskID != "" {
					shown = string(s.Task().Body)
				}
				claim["crossing_id"] = s.CrossingID
				x := *s
				x.Edit.P2 = func(meta wiretest.Doc) {
					clear(meta)
					for member, value := range claim {
						meta[member] = value
					}
				}
				before := w.Rows()
				wantTaskRefused(t, x.P2(), "RECORD_MALFORMED")
				w.OnlyRefusal(before, "RECORD_MALFORMED")

				x.Edit.Header = lines("https://example.com/ext/other/v1")
				before = w.Rows()
				if a := x.P2(); a.Code() != "-32008" || wiretest.Text(a.Doc, "error", "data", 0, "error") != "EXT_NOT_ACTIVATED" {
					t.Errorf("without activation it is answered %s", a.Body)
				}
				w.OnlyRefusal(before, "EXT_NOT_ACTIVATED")
				if s.TaskID != "" && string(s.Task().Body) != shown {
					t.Errorf("the task shows %s", s.Task().Body)
				}
			})
		}
	}
	if n := w.Count(); n.Seals != 1 || n.Anchors != 1 {
		t.Errorf("counts %+v", n)
	}
}

// TestStrippingGateway: a gateway that takes the header off a request, or the echo off an
// answer, is an intermediary that is not trusted. Nothing is committed through it, and
// nothing that was is lost.
//
// covers GC-045, GC-046, GC-319, GC-345
func TestStrippingGateway(t *testing.T) {
	strip := func(at string) func(string, http.Header) {
		return func(call string, h http.Header) {
			if call == at {
				h.Del(crossing.Header)
			}
		}
	}
	s := newStage(t, wiretest.Config{})
	for _, phase := range []string{"P1", "P2", "P3"} {
		t.Run("a request of "+phase, func(t *testing.T) {
			before := s.w.Rows()
			id, report, err := crossed(t.Context(), s.i, s.w.Liar(wiretest.Lies{Forward: strip(phase)}))
			if report != nil {
				t.Errorf("reported %s", report)
			}
			wantStopped(t, s.i, id, err, crossing.ExtNotActivated)
			rows := s.w.Rows().Since(before)["refusals"].Added
			if len(rows) != 1 || rows[0]["name"] != "EXT_NOT_ACTIVATED" {
				t.Errorf("the responder's rows %v", rows)
			}
		})
	}
	t.Run("the request of the seal", func(t *testing.T) {
		honest := false
		url := s.w.Liar(wiretest.Lies{Forward: func(call string, h http.Header) {
			if !honest {
				strip("seal")(call, h)
			}
		}})
		id, report, err := crossed(t.Context(), s.i, url)
		if report != nil || !errors.Is(err, centre.ErrUnknown) {
			t.Errorf("reported %s, %v", report, err)
		}
		if _, err := s.i.Store.Link(t.Context(), s.i.AgentID, id); !errors.Is(err, centre.ErrNone) {
			t.Errorf("the initiator has an anchor: %v", err)
		}
		if n := s.w.Count(); n.Seals+n.Attempts+n.Holds != 0 {
			t.Errorf("the responder has %+v", n)
		}
		honest = true
		if report, err = s.i.Centre.Resume(t.Context(), id, s.i.Dial, func(centre.Event) {}); err != nil || report == nil {
			t.Errorf("through an honest gateway: %s, %v", report, err)
		}
	})
}
