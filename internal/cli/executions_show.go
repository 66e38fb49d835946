package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/jcs"
)

// shownEvents is how many entries of the log show prints.
const shownEvents = 64

func (a *app) executionsShow() *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one execution: its state, action and binding, its calls, its findings, and what is safe to do next",
		Long: "Show what is stored of one execution, and its entries in the audit log. What the gateway\n" +
			"records is what it was answered, not what happened at the upstream. Neither arguments nor\n" +
			"answers are shown.",
		Example: "  bindery executions show pay-0042 --dir B\n" +
			"  bindery executions show pay-0042 --agent key:ops --json --dir B",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withExecutions(c.Context(), func(r *execution.Registry, s execution.Store) error {
				key, err := keyOf(c.Context(), s, agent, args[0])
				if err != nil {
					return err
				}
				return a.showExecution(c.Context(), r, s, key)
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "whose execution it is, where several agents have the id")
	return cmd
}

func (a *app) showExecution(ctx context.Context, r *execution.Registry, s execution.Store, key execution.Key) error {
	h, err := r.Show(ctx, key)
	if errors.Is(err, execution.ErrNotFound) {
		return usagef("see: bindery executions list", "%s has no execution %q", key.Agent, key.ID)
	}
	if err != nil {
		return err
	}
	events, err := s.About(ctx, key, shownEvents)
	if err != nil {
		return err
	}
	if a.json {
		a.print(executionJSON(h, events))
		return nil
	}
	a.lineExecution(h, events)
	return nil
}

// actionOf is the action that the row's binding is of, by its preimage.
func actionOf(r execution.Row) (action actionbinding.Action, ok bool) {
	action, err := actionbinding.ParsePreimage(r.Preimage)
	return action, err == nil
}

func (a *app) lineExecution(h execution.History, events []audit.Entry) {
	r := h.Row
	field := func(name, value string) {
		if value != "" {
			a.line("%-12s %s", name, value)
		}
	}
	field("execution", r.ID.String())
	field("agent", r.Agent)
	state := string(r.State)
	if r.Reason != "" {
		state += " (" + r.Reason + ")"
	}
	field("state", state)
	field("tool", r.Upstream+"/"+r.Tool)
	if action, ok := actionOf(r); ok {
		field("action", action.Type())
		field("scope", action.Scope())
	}
	field("at", r.ActionTimestamp)
	field("binding", r.Binding)
	field("workflow", r.WorkflowID)
	field("session", r.SessionID)
	field("reserved", shownTime(r.CreatedAt))
	field("dispatched", shownTime(r.DispatchedAt))
	field("completed", shownTime(r.CompletedAt))
	field("first call", r.FirstCallID)
	field("last call", r.CallID)
	field("task", r.TaskID)
	field("answer", answerText(r))
	field("late answer", r.Late)
	for _, e := range events {
		why := ""
		if e.Reason != "" {
			why = " (" + e.Reason + ")"
		}
		field("log "+strconv.FormatInt(e.Seq, 10), shownTime(e.At)+"  "+e.Event+why+"  "+orDash(e.CallID))
	}
	if len(events) == shownEvents {
		a.line("%-12s %s", "", "there may be more: bindery audit export --of gateway")
	}
	for _, f := range h.Findings {
		field("finding", findingText(f))
	}
	if h.Doubtful > 0 {
		field("doubtful", fmt.Sprintf("%d more in the store that this gateway's key has not signed as they stand: left out", h.Doubtful))
	}
	if r.State == execution.OutcomeUnknown && len(h.Findings) == 0 {
		field("outcome", "not established: nobody has recorded evidence from the upstream")
	}
	field("safe next", nextOf(h))
}

// nextOf is what is safe to do next, for an operator: what has been found out already need not be
// found out again.
func nextOf(h execution.History) string {
	differs := func(f execution.Finding) bool { return f.Outcome != h.Findings[0].Outcome }
	switch {
	case slices.ContainsFunc(h.Findings, differs):
		return "do not call again: the findings contradict each other; see at the upstream which of them is right"
	case len(h.Findings) > 0:
		return "do not call again; tell the agent's side what was found. If it is still wanted, it is another operation, with a new execution_id"
	}
	return h.Record().SafeNext
}

func shownTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

func answerText(r execution.Row) string {
	switch {
	case r.Digest == "":
		return ""
	case r.Answer == nil:
		return r.Digest + ", no longer kept or too large to keep"
	}
	return r.Digest + ", kept for its agent"
}

func executionJSON(h execution.History, events []audit.Entry) []byte {
	r := h.Row
	m := append(executionMembers(r),
		jcs.Member{Name: "session_id", Value: orNull(r.SessionID)},
		jcs.Member{Name: "workflow_id", Value: orNull(r.WorkflowID)},
		jcs.Member{Name: "task_id", Value: orNull(r.TaskID)},
		jcs.Member{Name: "answer_kept", Value: jcs.Bool(r.Answer != nil)},
		jcs.Member{Name: "safe_next", Value: jcs.String(nextOf(h))},
	)
	actionType, scope := jcs.Null(), jcs.Null()
	if action, ok := actionOf(r); ok {
		actionType, scope = jcs.String(action.Type()), jcs.String(action.Scope())
	}
	var findings, entries [][]byte
	for _, f := range h.Findings {
		findings = append(findings, jcs.Object(findingMembers(f)...))
	}
	for _, e := range events {
		entries = append(entries, jcs.Object(
			jcs.Member{Name: "seq", Value: jcs.Int(e.Seq)},
			jcs.Member{Name: "at", Value: timeOrNull(e.At)},
			jcs.Member{Name: "event", Value: jcs.String(e.Event)},
			jcs.Member{Name: "call_id", Value: orNull(e.CallID)},
			jcs.Member{Name: "session_id", Value: orNull(e.SessionID)},
			jcs.Member{Name: "reason", Value: orNull(e.Reason)},
			jcs.Member{Name: "digest", Value: orNull(e.Digest)},
			jcs.Member{Name: "entry_sha256", Value: jcs.String(string(e.Entry))},
		))
	}
	return jcs.Object(append(m,
		jcs.Member{Name: "action_type", Value: actionType},
		jcs.Member{Name: "action_scope", Value: scope},
		jcs.Member{Name: "events", Value: jcs.Array(entries...)},
		jcs.Member{Name: "findings", Value: jcs.Array(findings...)},
		jcs.Member{Name: "doubtful_findings", Value: jcs.Int(int64(h.Doubtful))},
	)...)
}
