package a2acrossing_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/wiretest"
)

// wantNoTask requires the answer that a task gets which is not there.
func wantNoTask(t *testing.T, a wiretest.Answer) {
	t.Helper()
	if a.Code() != "-32001" || a.Status != http.StatusOK {
		t.Errorf("answered %d %s, want -32001", a.Status, a.Body)
	}
}

// covers GC-261, GC-262, GC-263, GC-264, GC-265
func TestTaskStates(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme"))
	check := func(what string, a wiretest.Answer, state, core string) {
		t.Helper()
		for _, task := range []wiretest.Doc{a.Task(), s.Task().Task()} {
			if got := wiretest.Text(task, "metadata", crossing.URI, "crossing_state"); got != state {
				t.Errorf("after %s the crossing_state is %q, want %q", what, got, state)
			}
			if got := wiretest.Text(task, "status", "state"); got != core {
				t.Errorf("after %s the core state is %q, want %q", what, got, core)
			}
		}
	}
	check("P1", s.P1(), "mandates_pending", "TASK_STATE_AUTH_REQUIRED")
	check("P2", s.P2(), "terms_proposed", "TASK_STATE_INPUT_REQUIRED")
	s.Close()
	check("P3", s.P3(), "sealing", "TASK_STATE_WORKING")
	a := s.Seal()
	check("the seal", s.Task(), "committed", "TASK_STATE_COMPLETED")
	task := s.Task().Task()
	block := wiretest.Object(a.Doc, "result", "artifact_block")
	if got := wiretest.Object(task, "artifacts", 0, "metadata", crossing.URI); !bytes.Equal(wiretest.JSON(got), wiretest.JSON(block)) || block == nil {
		t.Errorf("the artifact carries %v, want %v", got, block)
	}
	if got := wiretest.Text(task, "artifacts", 0, "artifactId"); got != s.CrossingID {
		t.Errorf("artifact id %q", got)
	}
	if got := wiretest.Text(task, "artifacts", 0, "extensions", 0); got != crossing.URI {
		t.Errorf("the artifact names extension %q", got)
	}
	if s.TaskID == "" || len(s.TaskID) != 32 || len(s.ContextID) != 32 || s.TaskID == s.ContextID {
		t.Errorf("task %q in context %q, want 128 bits each", s.TaskID, s.ContextID)
	}
}

// TestMandatesTravelOnce: a mandate stands only in the answer that carries it, and terms
// in none (design C6).
func TestMandatesTravelOnce(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme"))
	s.Terms = `{"terms_version":"1","secret":"lemonade"}`
	carries := func(what string, a wiretest.Answer, tokens ...string) {
		t.Helper()
		if got := bytes.Count(a.Body, []byte(`"eyJ`)); got != len(tokens) {
			t.Errorf("%s carries %d tokens, want %d: %s", what, got, len(tokens), a.Body)
		}
		for _, token := range tokens {
			if !bytes.Contains(a.Body, []byte(token)) || token == "" {
				t.Errorf("%s does not carry its token", what)
			}
		}
		if bytes.Contains(a.Body, []byte("lemonade")) {
			t.Errorf("%s carries the terms", what)
		}
	}
	a := s.P1()
	carries("P1's answer", a, s.Peer.Open)
	carries("the task", s.Task())
	carries("P2's answer", s.P2())
	carries("the task", s.Task())
	s.Close()
	a = s.P3()
	carries("P3's answer", a, s.Peer.Closed, s.Peer.Receipt)
	carries("the task", s.Task())
	carries("the seal", s.Seal())
	carries("the task", s.Task())
}

// covers GC-269
func TestRepeatedMessages(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme")).Through(wiretest.P1)
	again := func(what string, step func() wiretest.Answer) {
		t.Helper()
		first, before := step(), w.Rows()
		w.Clock.Advance(time.Second)
		if second := step(); !bytes.Equal(first.Body, second.Body) {
			t.Errorf("%s again answers\n%s\nafter\n%s", what, second.Body, first.Body)
		}
		w.Unwritten(before)
	}
	again("P2", s.P2)
	s.Close()
	again("P3", s.P3)
	if a := s.Seal(); a.Result() == nil {
		t.Errorf("the seal is refused: %s", a.Body)
	}
}

// covers GC-031, GC-269
func TestOutOfOrder(t *testing.T) {
	t.Parallel()
	phase := map[string]func(*wiretest.Script) wiretest.Answer{
		"P1": (*wiretest.Script).P1, "P2": (*wiretest.Script).P2, "P3": (*wiretest.Script).P3,
	}
	otherTerms := func(s *wiretest.Script) wiretest.Answer {
		x := *s
		x.Terms = `{"terms_version":"2"}`
		return x.P2()
	}
	otherClosed := func(s *wiretest.Script) wiretest.Answer {
		x := *s
		x.Closed = x.SignClosed(nil)
		return x.P3()
	}
	otherID := func(step func(*wiretest.Script) wiretest.Answer) func(*wiretest.Script) wiretest.Answer {
		return func(s *wiretest.Script) wiretest.Answer {
			x := *s
			x.CrossingID = "7f3c1a52-5d0e-4b7a-8c41-0a6f2d9be001"
			return step(&x)
		}
	}
	state := func(name string) func(*wiretest.Script) wiretest.Answer {
		return func(s *wiretest.Script) wiretest.Answer {
			x := *s
			x.Edit.P2 = func(meta wiretest.Doc) { meta["crossing_state"] = name }
			return x.P2()
		}
	}
	w := wiretest.New(t, wiretest.Config{})
	from := w.Party("acme")
	for name, c := range map[string]struct {
		after wiretest.Phase
		send  func(*wiretest.Script) wiretest.Answer
	}{
		"P2 first":                 {wiretest.P0, phase["P2"]},
		"P3 first":                 {wiretest.P0, phase["P3"]},
		"P1 on its task":           {wiretest.P1, phase["P1"]},
		"P3 after P1":              {wiretest.P1, phase["P3"]},
		"P1 after P2":              {wiretest.P2, phase["P1"]},
		"other terms after P2":     {wiretest.P2, otherTerms},
		"P3 for another crossing":  {wiretest.P2, otherID(phase["P3"])},
		"P2 for another crossing":  {wiretest.P2, otherID(phase["P2"])},
		"P1 after P3":              {wiretest.P3, phase["P1"]},
		"P2 after P3":              {wiretest.P3, phase["P2"]},
		"another Closed after P3":  {wiretest.P3, otherClosed},
		"committed as a message":   {wiretest.P1, state("committed")},
		"refused as a message":     {wiretest.P1, state("refused")},
		"failed as a message":      {wiretest.P1, state("failed_unsealed")},
		"no such state":            {wiretest.P1, state("agreed")},
		"another state's message":  {wiretest.P1, state("sealing")},
		"a task state for a state": {wiretest.P1, state("TASK_STATE_WORKING")},
	} {
		t.Run(name, func(t *testing.T) {
			s := w.Script(from).Through(c.after)
			var shown wiretest.Answer
			if c.after != wiretest.P0 {
				shown = s.Task()
			}
			before := w.Rows()
			x := *s
			x.Closed, x.Receipt = orElse(x.Closed, "eyJhbGciOiJFUzI1NiJ9.e30.AA~"), orElse(x.Receipt, "none")
			a := c.send(&x)
			if a.Name() != "RECORD_MALFORMED" || a.State() != "refused" {
				t.Errorf("answered %s", a.Body)
			}
			w.OnlyRefusal(before, "RECORD_MALFORMED")
			if c.after == wiretest.P0 {
				return
			}
			if after := s.Task(); !bytes.Equal(after.Body, shown.Body) {
				t.Errorf("the task shows %s, before %s", after.Body, shown.Body)
			}
			finish(t, s, c.after)
		})
	}
}

// finish takes an honest crossing from a phase to its seal.
func finish(t *testing.T, s *wiretest.Script, after wiretest.Phase) {
	t.Helper()
	if after < wiretest.P2 {
		s.P2()
	}
	if after < wiretest.P3 {
		s.Close()
		s.P3()
	}
	if a := s.Seal(); a.Result() == nil {
		t.Errorf("the crossing does not go on: %s", a.Body)
	}
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// TestTerminalTask: A2A takes no message to a task that has ended, and neither do we.
//
// covers GC-285, GC-318
func TestTerminalTask(t *testing.T) {
	t.Parallel()
	messages := map[string]func(*wiretest.Script) wiretest.Answer{
		"P1": (*wiretest.Script).P1, "P2": (*wiretest.Script).P2, "P3": (*wiretest.Script).P3,
	}
	t.Run("committed", func(t *testing.T) {
		w, s, _ := sealed(t)
		before, shown := w.Rows(), s.Task()
		for name, send := range messages {
			t.Run(name, func(t *testing.T) { wantNoTask(t, send(s)) })
		}
		w.Unwritten(before)
		if after := s.Task(); !bytes.Equal(after.Body, shown.Body) {
			t.Errorf("the task shows %s", after.Body)
		}
	})
	t.Run("refused", func(t *testing.T) {
		w := wiretest.New(t, wiretest.Config{})
		s := w.Script(w.Party("acme")).Through(wiretest.P1)
		x := *s
		x.Edit.P2 = func(meta wiretest.Doc) { meta["agreement_hash"] = wiretest.Hash("other") }
		before := w.Rows()
		if a := x.P2(); a.Name() != "AGREEMENT_HASH_MISMATCH" || a.State() != "refused" {
			t.Fatalf("answered %s", a.Body)
		}
		w.Refused(before, "AGREEMENT_HASH_MISMATCH")
		if a := s.Task(); a.State() != "refused" || a.Name() != "AGREEMENT_HASH_MISMATCH" {
			t.Errorf("the task shows %s", a.Body)
		}
		s.Closed, s.Receipt = "eyJhbGciOiJFUzI1NiJ9.e30.AA~", "none"
		before = w.Rows()
		for name, send := range messages {
			t.Run(name, func(t *testing.T) { wantNoTask(t, send(s)) })
		}
		w.Unwritten(before)
	})
}

// TestForeignTask: a task that is somebody else's cannot be told from none (design C2).
func TestForeignTask(t *testing.T) {
	t.Parallel()
	w, s := ready(t)
	get := func(id string) wiretest.Answer {
		return w.Post(wiretest.Plain(), wiretest.Envelope("GetTask", wiretest.Doc{"id": id}))
	}
	// A crossing that this directory itself has initiated is no task of this server.
	own := &centre.Crossing{
		SessionID: "7f3c1a52-5d0e-4b7a-8c41-0a6f2d9be001", CrossingID: "7f3c1a52-5d0e-4b7a-8c41-0a6f2d9be001", Role: crossing.Initiator,
		TaskID: "77777777777777777777777777777777", State: crossing.Sealing, CreatedAt: w.Clock.Now(), UpdatedAt: w.Clock.Now(),
	}
	if err := w.Store.Put(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	before := w.Rows()
	for name, id := range map[string]string{
		"own crossing": own.SessionID, "its task at another": own.TaskID, "crossing_id": s.CrossingID, "context": s.ContextID,
		"upper case": strings.ToUpper(s.TaskID), "cut": s.TaskID[1:],
	} {
		t.Run(name, func(t *testing.T) {
			a := get(id)
			wantNoTask(t, a)
			unknown := get(strings.Repeat("0", len(id)))
			if got, want := withoutTime(a.Body), withoutTime(unknown.Body); got != want {
				t.Errorf("answered\n%s\nwant, as for an unknown one,\n%s", got, want)
			}
		})
	}
	t.Run("another context", func(t *testing.T) {
		x := *s
		x.ContextID = strings.Repeat("0", 32)
		wantNoTask(t, x.P3())
	})
	t.Run("message", func(t *testing.T) {
		x := *s
		x.TaskID = strings.Repeat("0", 32)
		wantNoTask(t, x.P3())
	})
	w.Unwritten(before)
	if a := get(s.TaskID); a.State() != "sealing" {
		t.Errorf("the own task shows %s", a.Body)
	}
}

// withoutTime drops the timestamp that the A2A library puts into its errors.
func withoutTime(body []byte) string {
	before, rest, ok := strings.Cut(string(body), `"timestamp":"`)
	if !ok {
		return string(body)
	}
	_, after, _ := strings.Cut(rest, `"`)
	return before + after
}

// TestOtherMethods: what is not offered says so, and shows no task.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	w, s := ready(t)
	before := w.Rows()
	for name, c := range map[string]struct {
		params wiretest.Doc
		code   string
	}{
		"ListTasks":                        {wiretest.Doc{}, "-31401"},
		"CancelTask":                       {wiretest.Doc{"id": s.TaskID}, "-32002"},
		"GetExtendedAgentCard":             {wiretest.Doc{}, "-32007"},
		"CreateTaskPushNotificationConfig": {wiretest.Doc{"taskId": s.TaskID, "url": "http://127.0.0.1:1/"}, "-32003"},
		"GetTaskPushNotificationConfig":    {wiretest.Doc{"taskId": s.TaskID, "id": "x"}, "-32003"},
		"ListTaskPushNotificationConfigs":  {wiretest.Doc{"taskId": s.TaskID}, "-32003"},
		"DeleteTaskPushNotificationConfig": {wiretest.Doc{"taskId": s.TaskID, "id": "x"}, "-32003"},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.Post(wiretest.Plain(), wiretest.Envelope(name, c.params))
			if a.Code() != c.code || bytes.Contains(a.Body, []byte(s.ContextID)) {
				t.Errorf("answered %s, want %s", a.Body, c.code)
			}
		})
	}
	t.Run("CancelTask of none", func(t *testing.T) {
		wantNoTask(t, w.Post(wiretest.Plain(), wiretest.Envelope("CancelTask", wiretest.Doc{"id": "x"})))
	})
	for _, method := range []string{"SendStreamingMessage", "SubscribeToTask"} {
		t.Run(method, func(t *testing.T) {
			a := w.Post(wiretest.Plain(), wiretest.Envelope(method, wiretest.Doc{
				"id": s.TaskID, "message": wiretest.Doc{"messageId": "m", "role": "ROLE_USER", "parts": []any{wiretest.Doc{"text": "x"}}},
			}))
			if !bytes.Contains(a.Body, []byte("-32004")) || bytes.Contains(a.Body, []byte(s.ContextID)) {
				t.Errorf("answered %s", a.Body)
			}
		})
	}
	w.Unwritten(before)
}
