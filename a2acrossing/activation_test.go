package a2acrossing_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/wiretest"
)

// lines replaces the activation header.
func lines(values ...string) func(http.Header) {
	return func(h http.Header) {
		h.Del(crossing.Header)
		for _, v := range values {
			h.Add(crossing.Header, v)
		}
	}
}

// covers GC-040, GC-041, GC-054
func TestActivation(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	from := w.Party("acme")
	const other = "https://example.com/ext/other/v1"
	for name, edit := range map[string]func(http.Header){
		"alone":          lines(crossing.URI),
		"first of two":   lines(crossing.URI + "," + other),
		"last of two":    lines(other + ", " + crossing.URI),
		"blanks":         lines(" \t" + crossing.URI + " \t , "),
		"empty items":    lines(",," + crossing.URI + ",,"),
		"second line":    lines(other, crossing.URI),
		"named twice":    lines(crossing.URI, crossing.URI),
		"list and lines": lines(other+","+other, other+" ,"+crossing.URI),
	} {
		t.Run(name, func(t *testing.T) {
			s := w.Script(from)
			s.Edit.Header = edit
			check := func(what string, a wiretest.Answer) {
				t.Helper()
				if a.Name() != "" || a.Code() != "" {
					t.Errorf("%s is refused: %s", what, a.Body)
				}
				if echo := a.Header.Values(crossing.Header); len(echo) != 1 || echo[0] != crossing.URI {
					t.Errorf("%s echoes %q, want the URI alone", what, echo)
				}
			}
			check("P1", s.P1())
			check("P2", s.P2())
			s.Close()
			check("P3", s.P3())
			check("the seal", s.Seal())
		})
	}
}

// TestEchoOnErrors: the extension was active although the answer is an error.
//
// covers GC-041
func TestEchoOnErrors(t *testing.T) {
	t.Parallel()
	w, _ := ready(t)
	for name, body := range map[string][]byte{
		"seal":         wiretest.Envelope(crossing.RPCSeal, wiretest.Doc{}),
		"unknown task": wiretest.Envelope("GetTask", wiretest.Doc{"id": "x"}),
		"no JSON":      []byte(crossing.URI),
	} {
		a := w.Post(wiretest.Activated(), body)
		if a.Code() == "" || a.Header.Get(crossing.Header) != crossing.URI {
			t.Errorf("%s: %s with echo %q", name, a.Body, a.Header.Get(crossing.Header))
		}
	}
}

// covers GC-042, GC-045, GC-048, GC-319
func TestMessageWithoutActivation(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	from := w.Party("acme")
	for name, message := range map[string]func(wiretest.Doc){
		"metadata and list": nil,
		"metadata alone":    func(m wiretest.Doc) { delete(m, "extensions") },
		"list alone":        func(m wiretest.Doc) { delete(m, "metadata") },
		"on a plain text":   func(m wiretest.Doc) { m["metadata"] = wiretest.Doc{crossing.URI: "commit, please"} },
	} {
		t.Run(name, func(t *testing.T) {
			s := w.Script(from)
			s.Open = from.Issue(s.Amount, nil)
			s.Edit.Header, s.Edit.Message = lines(), message
			before := w.Rows()
			a := s.P1()
			if a.Status != http.StatusOK || a.Code() != "-32008" {
				t.Errorf("answered %d %s, want -32008", a.Status, a.Body)
			}
			if got := wiretest.Text(a.Doc, "error", "data", 0, "error"); got != "EXT_NOT_ACTIVATED" {
				t.Errorf("data names %q in %s", got, a.Body)
			}
			if echo := a.Header.Values(crossing.Header); len(echo) != 0 {
				t.Errorf("echoes %q", echo)
			}
			w.OnlyRefusal(before, "EXT_NOT_ACTIVATED")
		})
	}
}

// covers GC-042, GC-351
func TestPlainMessage(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]wiretest.Config{"full": {}, "verify-only": {VerifyOnly: true}} {
		for header, h := range map[string]http.Header{"plain": wiretest.Plain(), "activated": wiretest.Activated()} {
			t.Run(name+" "+header, func(t *testing.T) {
				w := wiretest.New(t, cfg)
				before := w.Rows()
				a := w.Post(h, wiretest.Envelope("SendMessage", wiretest.Doc{"message": wiretest.Doc{
					"messageId": "m1", "role": "ROLE_USER", "parts": []any{wiretest.Doc{"text": "I hereby buy everything."}},
					"metadata": wiretest.Doc{crossing.URI + "/": wiretest.Doc{"crossing_state": "mandates_pending"}},
				}}))
				m := wiretest.Object(a.Doc, "result", "message")
				if m == nil || !strings.Contains(wiretest.Text(m, "parts", 0, "text"), "commits to nothing") || wiretest.Text(m, "role") != "ROLE_AGENT" {
					t.Errorf("answered %s", a.Body)
				}
				w.Unwritten(before)
			})
		}
	}
	t.Run("about a task", func(t *testing.T) {
		w, s := ready(t)
		before := w.Rows()
		a := w.Post(wiretest.Plain(), wiretest.Envelope("SendMessage", wiretest.Doc{"message": wiretest.Doc{
			"messageId": "m1", "role": "ROLE_USER", "taskId": s.TaskID, "contextId": s.ContextID, "parts": []any{wiretest.Doc{"text": "Go on."}},
		}}))
		if a.Code() != "-32001" {
			t.Errorf("answered %s, want -32001", a.Body)
		}
		w.Unwritten(before)
	})
}

// covers GC-093
func TestVerifyNeedsNoActivation(t *testing.T) {
	t.Parallel()
	w, s, a := sealed(t)
	for name, h := range map[string]http.Header{"plain": wiretest.Plain(), "activated": wiretest.Activated()} {
		v := w.Post(h, wiretest.Envelope(crossing.RPCVerify, wiretest.Doc{"crossing_id": s.CrossingID}))
		if !bytes.Contains(v.Result(), []byte(wiretest.Text(a.Doc, "result", "seal_id"))) {
			t.Errorf("%s: answered %s", name, v.Body)
		}
	}
}
