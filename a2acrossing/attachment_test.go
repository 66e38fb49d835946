package a2acrossing_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/wiretest"
)

// coreMembers are the members that A2A 1.0 gives its objects, and its states.
func coreMembers() map[string][]string {
	return map[string][]string{
		"task":     {"id", "contextId", "status", "artifacts", "history", "metadata"},
		"status":   {"state", "message", "timestamp"},
		"message":  {"messageId", "contextId", "taskId", "role", "parts", "metadata", "extensions", "referenceTaskIds"},
		"artifact": {"artifactId", "name", "description", "parts", "metadata", "extensions"},
		"states": {
			"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED",
			"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_REJECTED", "TASK_STATE_AUTH_REQUIRED",
		},
	}
}

// TestCoreObjects: what the extension says stands in metadata under its URI, whose objects
// name it in extensions; A2A's own objects get no member and no state from it.
//
// covers GC-228, GC-229, GC-230, GC-261
func TestCoreObjects(t *testing.T) {
	t.Parallel()
	w := wiretest.New(t, wiretest.Config{})
	s := w.Script(w.Party("acme"))
	core := coreMembers()
	only := func(what, kind string, d wiretest.Doc) {
		t.Helper()
		for member := range d {
			if !slices.Contains(core[kind], member) {
				t.Errorf("after %s the %s has a member %q", what, kind, member)
			}
		}
	}
	check := func(what string, a wiretest.Answer) {
		t.Helper()
		task := a.Task()
		status := wiretest.Object(task, "status")
		only(what, "task", task)
		only(what, "status", status)
		if state := wiretest.Text(status, "state"); !slices.Contains(core["states"], state) {
			t.Errorf("after %s the state is %q", what, state)
		}
		for kind, d := range map[string]wiretest.Doc{
			"message": wiretest.Object(status, "message"), "artifact": wiretest.Object(task, "artifacts", 0),
		} {
			only(what, kind, d)
			if d != nil && (wiretest.Text(d, "extensions", 0) != crossing.URI || wiretest.Object(d, "metadata", crossing.URI) == nil) {
				t.Errorf("after %s the %s is %v, want the URI in extensions and in metadata", what, kind, d)
			}
		}
		if wiretest.Object(task, "metadata", crossing.URI) == nil {
			t.Errorf("after %s the task's metadata is %v", what, task["metadata"])
		}
	}
	check("P1", s.P1())
	check("P2", s.P2())
	s.Close()
	check("P3", s.P3())
	a := s.Seal()
	check("the seal", s.Task())
	block := wiretest.JSON(wiretest.Object(a.Doc, "result", "artifact_block"))
	for what, at := range map[string]wiretest.Doc{
		"artifact": wiretest.Object(s.Task().Task(), "artifacts", 0, "metadata", crossing.URI),
		"task":     wiretest.Object(s.Task().Task(), "metadata", crossing.URI),
	} {
		if !bytes.Equal(wiretest.JSON(at), block) {
			t.Errorf("the %s carries %s, want %s", what, wiretest.JSON(at), block)
		}
	}
	refused := w.Script(s.From)
	refused.Open, refused.Edit.P1 = s.Open, set("intended_class", "finance")
	check("a refusal", refused.P1())
}

// TestAnchorIsNoName: a commitment is found by its seal_id or crossing_id, and shows its
// joint seal; an anchor or a joint seal finds nothing.
//
// covers GC-246
func TestAnchorIsNoName(t *testing.T) {
	t.Parallel()
	w, s, a := sealed(t)
	seal := wiretest.JointSeal(s.Record)
	for _, params := range []wiretest.Doc{{"crossing_id": s.CrossingID}, {"seal_id": wiretest.Text(a.Doc, "result", "seal_id")}} {
		if v := verdictOf(t, w.Verify(params)); wiretest.Text(v, "seal") != seal {
			t.Errorf("%v shows seal %q, want %s", params, wiretest.Text(v, "seal"), seal)
		}
	}
	for _, name := range []string{w.Rows()["anchors"][0]["anchor"], seal} {
		for _, member := range []string{"seal_id", "crossing_id"} {
			if v := verdictOf(t, w.Verify(wiretest.Doc{member: name})); wiretest.At(v, "checks", "resolves") != false {
				t.Errorf("%s finds %v", name, v)
			}
		}
	}
}
