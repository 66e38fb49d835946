package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/jcs"
)

const (
	executionPage = 256
	maxListed     = 10000
	maxAgents     = 1000     // that are asked for an execution_id without --agent
	maxEvidence   = 16 << 20 // bytes of a file
)

// ownAgents begin the names of agents that are the gateway's own, as that of its self-test.
const ownAgents = "bindery:"

func (a *app) executions() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "executions",
		Short: "List a gateway's executions, show one, and record what became of one whose outcome is not known",
		Long: "An execution is what agents have called with one execution_id. These commands work beside\n" +
			"a gateway that runs, and without one.",
		Example: "  bindery executions list --state outcome_unknown --dir B\n" +
			"  bindery executions show pay-0042 --dir B",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.executionsList(), a.executionsShow(), a.executionsReconcile())
	return cmd
}

// withExecutions opens the registry of the directory's gateway. It admits nothing here.
func (a *app) withExecutions(ctx context.Context, do func(*execution.Registry, execution.Store) error) (err error) {
	h, err := a.homeOfGateway()
	if err != nil {
		return err
	}
	if _, err := h.Keys[gatewayKey].public(); err != nil {
		return noGateway(h)
	}
	s, err := h.later(gatewayKey)
	if err != nil {
		return err
	}
	db, err := h.openStore(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	r, err := execution.New(execution.Config{Store: db.Executions(), Signer: s, Now: time.Now})
	if err != nil {
		return err
	}
	return do(r, db.Executions())
}

func noGateway(h *home) error {
	return usagef("run it in the directory of a gateway: bindery gateway --help", "%s has no gateway", h.dir)
}

func (a *app) executionsList() *cobra.Command {
	var agent, state, after string
	var open bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List executions: agent, id, state, tool, and when",
		Long: "List executions in the order of agent and execution_id. States are held, reserved,\n" +
			"dispatched, suspended, succeeded, failed, refused and outcome_unknown; the last is what an\n" +
			"operator looks after: --open has those on which there is no finding yet. Where there are\n" +
			"more than --limit, what to give as --after for the next ones is said. Those of the\n" +
			"gateway's own self-test are left out.",
		Example: "  bindery executions list --dir B\n" +
			"  bindery executions list --state outcome_unknown --agent key:ops --json --dir B",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f := execution.Filter{Agent: agent, State: execution.State(state), Silent: open}
			if !slices.Contains(executionStates[:], f.State) {
				return usagef("there are: "+joinStates(), "there is no state %q", state)
			}
			if f.Silent {
				if state != "" && f.State != execution.OutcomeUnknown {
					return usage("--open is about what is outcome_unknown", "give it without --state")
				}
				f.State = execution.OutcomeUnknown
			}
			if limit < 1 || limit > maxListed {
				return usagef(fmt.Sprintf("it goes from 1 to %d", maxListed), "--limit %d is too small or too large", limit)
			}
			var err error
			if f.After, err = parseAfter(after); err != nil {
				return err
			}
			return a.withExecutions(c.Context(), func(r *execution.Registry, _ execution.Store) error {
				rows, more, err := listExecutions(c.Context(), r, f, limit)
				if err != nil {
					return err
				}
				a.printExecutions(rows, more)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "only this agent's")
	cmd.Flags().StringVar(&state, "state", "", "only those in this state")
	cmd.Flags().BoolVar(&open, "open", false, "only those that are outcome_unknown, and on which there is no finding yet")
	cmd.Flags().StringVar(&after, "after", "", "only those after this 'AGENT EXECUTION_ID'")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most")
	return cmd
}

// executionStates are those that a filter may name; "" is all.
var executionStates = [...]execution.State{
	"", execution.Held, execution.Reserved, execution.Dispatched, execution.Suspended,
	execution.Succeeded, execution.Failed, execution.Refused, execution.OutcomeUnknown,
}

func joinStates() string {
	var names []string
	for _, s := range executionStates[1:] {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// parseAfter reads an agent and an id, which has no space in it.
func parseAfter(s string) (execution.Key, error) {
	if s == "" {
		return execution.Key{}, nil
	}
	if i := strings.LastIndexByte(s, ' '); i > 0 {
		if id, err := execution.ParseID(s[i+1:]); err == nil {
			return execution.Key{Agent: s[:i], ID: id}, nil
		}
	}
	return execution.Key{}, usagef("give --after 'AGENT EXECUTION_ID', as list has said", "--after %q is none", s)
}

// listExecutions reads at most limit rows, a page at a time; more is what there is after them.
func listExecutions(ctx context.Context, r *execution.Registry, f execution.Filter, limit int) (rows []execution.Row, more bool, err error) {
	for {
		page, err := r.List(ctx, f, executionPage)
		if err != nil {
			return nil, false, err
		}
		for _, row := range page {
			f.After = row.Key
			switch {
			case strings.HasPrefix(row.Agent, ownAgents) && f.Agent == "":
			case len(rows) == limit:
				return rows, true, nil
			default:
				rows = append(rows, row)
			}
		}
		if len(page) < executionPage {
			return rows, false, nil
		}
	}
}

func (a *app) printExecutions(rows []execution.Row, more bool) {
	var items [][]byte
	for _, r := range rows {
		if a.json {
			items = append(items, jcs.Object(executionMembers(r)...))
			continue
		}
		a.line("%s  %-15s  %s  %s  %s/%s", r.CreatedAt.Format(time.RFC3339), r.State, r.Agent, r.ID, r.Upstream, r.Tool)
	}
	if a.json {
		a.print(jcs.Array(items...))
	} else if len(rows) == 0 {
		a.say("there are none")
	}
	if more {
		last := rows[len(rows)-1]
		a.say("there are more: --after '%s %s'", last.Agent, last.ID)
	}
}

func executionMembers(r execution.Row) []jcs.Member {
	return []jcs.Member{
		{Name: "agent_id", Value: jcs.String(r.Agent)},
		{Name: "execution_id", Value: jcs.String(r.ID.String())},
		{Name: "state", Value: jcs.String(string(r.State))},
		{Name: "reason", Value: orNull(r.Reason)},
		{Name: "binding", Value: jcs.String(r.Binding)},
		{Name: "action_timestamp", Value: orNull(r.ActionTimestamp)},
		{Name: "upstream", Value: orNull(r.Upstream)},
		{Name: "tool", Value: orNull(r.Tool)},
		{Name: "call_id", Value: orNull(cmp.Or(r.FirstCallID, r.CallID))},
		{Name: "last_call_id", Value: orNull(r.CallID)},
		{Name: "reserved_at", Value: timeOrNull(r.CreatedAt)},
		{Name: "dispatched_at", Value: timeOrNull(r.DispatchedAt)},
		{Name: "completed_at", Value: timeOrNull(r.CompletedAt)},
		{Name: "answer_sha256", Value: orNull(r.Digest)},
		{Name: "late_answer_sha256", Value: orNull(r.Late)},
	}
}

func timeOrNull(t time.Time) []byte {
	if t.IsZero() {
		return jcs.Null()
	}
	return jcs.String(t.UTC().Format(time.RFC3339Nano))
}

// keyOf finds whose an execution_id is. Without an agent there must be one alone that has it.
func keyOf(ctx context.Context, s execution.Store, agent, arg string) (execution.Key, error) {
	id, err := execution.ParseID(arg)
	if err != nil {
		return execution.Key{}, usagef("it is 1 to 200 bytes, each from 0x21 to 0x7E", "%q is no execution_id", arg)
	}
	if agent != "" {
		return execution.Key{Agent: agent, ID: id}, nil
	}
	var found []execution.Key
	f := execution.Filter{}
	for range maxAgents {
		rows, err := s.List(ctx, f, 1)
		if err != nil {
			return execution.Key{}, err
		}
		if len(rows) == 0 {
			return onlyKey(found, arg)
		}
		key := execution.Key{Agent: rows[0].Agent, ID: id}
		switch _, _, err := s.Find(ctx, key); {
		case err == nil:
			found = append(found, key)
		case !errors.Is(err, execution.ErrNotFound):
			return execution.Key{}, err
		}
		f.After = execution.Key{Agent: rows[0].Agent} // from the next agent on
	}
	return execution.Key{}, usagef("give --agent", "there are more than %d agents", maxAgents)
}

func onlyKey(found []execution.Key, id string) (execution.Key, error) {
	switch len(found) {
	case 0:
		return execution.Key{}, usagef("see: bindery executions list", "there is no execution %q", id)
	case 1:
		return found[0], nil
	}
	var agents []string
	for _, key := range found {
		agents = append(agents, key.Agent)
	}
	return execution.Key{}, usagef("give --agent, one of "+strings.Join(agents, ", "), "%d agents have an execution %q", len(found), id)
}

func (a *app) executionsReconcile() *cobra.Command {
	var agent, outcome, evidence, by string
	cmd := &cobra.Command{
		Use:   "reconcile ID --outcome succeeded|failed --evidence FILE",
		Short: "Record what the upstream says became of an execution whose outcome is not known",
		Long: "Record a finding on an execution that is outcome_unknown, from evidence of the upstream:\n" +
			"its statement, its log, its answer to a status query. The finding is yours, not the\n" +
			"gateway's: it is signed by the gateway's key, stands in the audit log with the digest of the\n" +
			"evidence, and changes nothing of the execution, which stays over and is never run again. The\n" +
			"evidence itself is not kept: keep the file.\n\n" +
			"--outcome succeeded says that it happened, --outcome failed that it did not and will not.\n" +
			"The latter is taken when the upstream's timeout and a minute have passed since the call was\n" +
			"sent, and when the process that sent it has ended or has said that it is done.",
		Example: "  bindery executions reconcile pay-0042 --outcome succeeded --evidence statement.json --dir B\n" +
			"  bindery executions reconcile pay-0042 --agent key:ops --outcome failed --evidence answer.txt --by alice --dir B",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if outcome != string(execution.Succeeded) && outcome != string(execution.Failed) {
				return usagef("it is succeeded, or failed: it did not happen", "--outcome %q is none", outcome)
			}
			if evidence == "" {
				return usage("a finding needs evidence from the upstream", "give --evidence FILE")
			}
			proof, err := a.read(c.Context(), evidence, maxEvidence, "give a file with what the upstream has said, or -")
			if err != nil {
				return err
			}
			if len(proof) == 0 {
				return usagef("give what the upstream has said", "%s is empty", inputName(evidence))
			}
			source, err := operatorName(by)
			if err != nil {
				return err
			}
			return a.withExecutions(c.Context(), func(r *execution.Registry, s execution.Store) error {
				key, err := keyOf(c.Context(), s, agent, args[0])
				if err != nil {
					return err
				}
				f, err := r.Reconcile(c.Context(), execution.Reconciliation{
					Key: key, Outcome: execution.State(outcome), Evidence: proof, Source: source,
				})
				if err != nil {
					return a.notReconciled(c.Context(), r, key, err)
				}
				a.printFound(key, f)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "whose execution it is, where several agents have the id")
	cmd.Flags().StringVar(&outcome, "outcome", "", "succeeded, or failed: it did not happen")
	cmd.Flags().StringVar(&evidence, "evidence", "", "a file with what the upstream has said, or - for standard input")
	cmd.Flags().StringVar(&by, "by", "", "whose finding it is (else this user's)")
	return cmd
}

// operatorName is the source of a finding of a person.
func operatorName(by string) (string, error) {
	if by == "" {
		if u, err := user.Current(); err == nil {
			by = u.Username
		}
	}
	if by == "" || len(by) > 128 || concealed(by) {
		return "", usagef("give --by NAME, up to 128 bytes of plain text", "%q is no name of an operator", by)
	}
	return "operator " + by, nil
}

func (a *app) printFound(key execution.Key, f execution.Finding) {
	if a.json {
		a.print(jcs.Object(append([]jcs.Member{
			{Name: "agent_id", Value: jcs.String(key.Agent)},
			{Name: "execution_id", Value: jcs.String(key.ID.String())},
		}, findingMembers(f)...)...))
		return
	}
	a.line("recorded for %s %s: %s", key.Agent, key.ID, findingText(f))
	a.line("the execution stays outcome_unknown, and is never run again; keep the evidence, of which only the digest is kept")
}

func findingText(f execution.Finding) string {
	what := "it happened"
	if f.Outcome == execution.Failed {
		what = "it did not happen"
	}
	return fmt.Sprintf("%s (%s), found by %s at %s, evidence sha256:%s", f.Outcome, what, f.Source, f.At.Format(time.RFC3339), f.Evidence)
}

func findingMembers(f execution.Finding) []jcs.Member {
	return []jcs.Member{
		{Name: "finding", Value: jcs.String(string(f.Outcome))},
		{Name: "source", Value: jcs.String(f.Source)},
		{Name: "evidence_sha256", Value: jcs.String(string(f.Evidence))},
		{Name: "at", Value: jcs.String(f.At.Format(time.RFC3339Nano))},
		{Name: "signed", Value: jcs.String(f.Signed)},
	}
}

// notReconciled says why a finding was not recorded.
func (a *app) notReconciled(ctx context.Context, r *execution.Registry, key execution.Key, err error) error {
	name := ""
	what := ""
	switch {
	case errors.Is(err, execution.ErrNotFound):
		return usagef("see: bindery executions list", "%s has no execution %q", key.Agent, key.ID)
	case errors.Is(err, execution.ErrNotUnknown):
		name, what = findingNotUnknown, "a finding is about an outcome_unknown"
		if h, err := r.Show(ctx, key); err == nil {
			what = fmt.Sprintf("the execution is %s; %s", h.Row.State, what)
		}
	case errors.Is(err, execution.ErrUnderWay):
		name, what = findingUnderWay, "the process that sent the call may still be at it: it did not happen cannot be said before it has ended or is declared dead"
	case errors.Is(err, execution.ErrTooSoon):
		name, what = findingTooSoon, "the upstream may still act on the call: it did not happen cannot be said yet"
		if h, err := r.Show(ctx, key); err == nil {
			from := h.Row.DispatchedAt.Add(h.Row.Timeout + execution.SettleTime)
			what = "the upstream may still act on the call: it did not happen cannot be said before " + from.UTC().Format(time.RFC3339)
		}
	case errors.Is(err, execution.ErrFull):
		name, what = findingsFull, fmt.Sprintf("there are %d findings already", execution.MaxFindings)
	default:
		return err
	}
	a.say("bindery: refused: %s: %s", name, what)
	a.jsonError(name, "", "", visible(what))
	return errVerdict
}
