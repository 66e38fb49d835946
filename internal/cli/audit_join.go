package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/internal/audit"
	"github.com/bindery/bindery/jcs"
)

// maxJoined is how many executions one join holds in memory.
const maxJoined = 200_000

// What a join says of an external outcome (EXA-025, EXA-027): gateways know what they sent
// and what they were answered.
const notEstablished = "not established"

// An export is one file of a join, after its first walk.
type export struct {
	file   string
	log    int // files of one key are one log
	head   audit.Head
	before audit.Tip
	key    string
}

func (a *app) auditJoin() *cobra.Command {
	var keys, thumbprints []string
	var only struct{ agent, id string }
	cmd := &cobra.Command{
		Use:   "join FILE...",
		Short: "Join exports of gateways' audit logs by agent and execution_id, without any gateway",
		Long: "Verify exports of one or more gateways' logs and put together what they say of each\n" +
			"agent's execution_id, whatever sessions and gateways it comes from: the attempts, what the\n" +
			"log records as their end, and what was refused before and after it.\n\n" +
			"Attempts with one and the same action binding are correlated. Where a binding is missing,\n" +
			"only the id is shared, as the caller has asserted. Neither says that anything happened\n" +
			"outside of a gateway: an external outcome is not established unless the log has a finding\n" +
			"for it, which is shown as its finder's, with the digest of its evidence.\n\n" +
			"Two exports that one key has signed must agree, row by row. The keys are that of the\n" +
			"gateway of --dir, and those given. Executions of gateways' self-tests are left out.",
		Example: "  bindery audit join monday.jsonl tuesday.jsonl --dir B\n" +
			"  bindery audit join east.jsonl west.jsonl --key east.jwk --key west.jwk --execution pay-0042 --json",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			pins, err := a.joinKeys(keys, thumbprints)
			if err != nil {
				return err
			}
			exports, err := a.readExports(c.Context(), args, pins)
			if err != nil {
				return err
			}
			return a.join(c.Context(), exports, pins, func(e audit.Entry) bool {
				if only.agent == "" && strings.HasPrefix(e.AgentID, ownAgents) {
					return false
				}
				return (only.agent == "" || e.AgentID == only.agent) && (only.id == "" || e.ExecutionID == only.id)
			})
		},
	}
	cmd.Flags().StringArrayVar(&keys, "key", nil, "a gateway's public key: a JWK, or a file that holds it; may be repeated")
	cmd.Flags().StringArrayVar(&thumbprints, "thumbprint", nil, "a gateway's public key, by its RFC 7638 thumbprint; may be repeated")
	cmd.Flags().StringVar(&only.agent, "agent", "", "only this agent's")
	cmd.Flags().StringVar(&only.id, "execution", "", "only this execution_id")
	return cmd
}

// joinKeys are the thumbprints of the keys that may have signed.
func (a *app) joinKeys(keys, thumbprints []string) (pins []string, err error) {
	for _, t := range thumbprints {
		if err := auditThumbprint(t); err != nil {
			return nil, err
		}
		pins = append(pins, t)
	}
	for _, key := range keys {
		t, err := keyThumbprint(key)
		if err != nil {
			return nil, err
		}
		pins = append(pins, t)
	}
	if a.dir != "" || len(pins) == 0 {
		own, err := a.auditKey(audit.LogGateway, "", "")
		if err != nil {
			return nil, err
		}
		pins = append(pins, own)
	}
	return pins, nil
}

// readExports walks each file once, and sorts them by log and first row.
func (a *app) readExports(ctx context.Context, files, pins []string) ([]*export, error) {
	var exports []*export
	for _, file := range files {
		if file == "-" {
			return nil, usage("a join reads each export twice, and standard input only once", "write it to a file")
		}
		v := audit.NewVerifier(audit.LogGateway, pins...)
		head, err := a.walkAudit(ctx, v, audit.LogGateway, file, file)
		if err != nil {
			return nil, err
		}
		exports = append(exports, &export{file: file, head: head, before: v.Before(), key: v.Key().ID})
	}
	slices.SortStableFunc(exports, func(x, y *export) int {
		return cmp.Or(cmp.Compare(slices.Index(pins, x.key), slices.Index(pins, y.key)), cmp.Compare(x.head.From, y.head.From))
	})
	for i, x := range exports {
		x.log = 1
		if i > 0 {
			x.log = exports[i-1].log
			if exports[i-1].key != x.key {
				x.log++
			}
		}
	}
	return exports, nil
}

// join walks each file again, now among the others, and prints what comes of it.
func (a *app) join(ctx context.Context, exports []*export, pins []string, wanted func(audit.Entry) bool) error {
	j := audit.NewJoin(maxJoined)
	for _, x := range exports {
		v := audit.NewVerifier(audit.LogGateway, pins...)
		for _, other := range exports {
			if other.log != x.log {
				continue
			}
			if other.head.Seq == x.before.Seq && other.head.Entry != x.before.Entry {
				return a.auditBroken(audit.LogGateway, x.file, &audit.Fault{Line: 1, Seq: x.head.From, Rule: audit.RulePrevious})
			}
			if other.head.Seq >= x.head.From && other.head.Seq <= x.head.Seq {
				v.Known(other.head.Entry)
			}
		}
		v.Entries(func(e audit.Entry) error {
			if !wanted(e) {
				return nil
			}
			return j.Add(x.log, e)
		})
		_, err := a.walkAudit(ctx, v, audit.LogGateway, x.file, x.file)
		if errors.Is(err, audit.ErrJoinLimit) {
			return usagef("narrow it with --agent or --execution, or give smaller exports", "there are more than %d executions", maxJoined)
		}
		if err != nil {
			return err
		}
	}
	a.showJoin(exports, j.All())
	return nil
}

func (a *app) showJoin(exports []*export, all []*audit.Joined) {
	if a.json {
		var logs, items [][]byte
		for _, x := range exports {
			logs = append(logs, x.json())
		}
		for _, x := range all {
			items = append(items, joinedJSON(x))
		}
		a.print(jcs.Object(
			jcs.Member{Name: "logs", Value: jcs.Array(logs...)},
			jcs.Member{Name: "executions", Value: jcs.Array(items...)},
			jcs.Member{Name: "integrity", Value: jcs.Bool(true)},
		))
		return
	}
	for _, x := range exports {
		a.line("log %d holds: %s, rows %d to %d, signed %s by the key %s", x.log, shownName(x.file), x.head.From, x.head.Seq, x.head.At.Format(time.RFC3339), x.key)
	}
	for _, x := range all {
		a.lineJoined(x)
	}
	if len(all) == 0 {
		a.say("no execution_id in these logs")
	}
}

func (x *export) json() []byte {
	return jcs.Object(
		jcs.Member{Name: "log", Value: jcs.Int(int64(x.log))},
		jcs.Member{Name: "file", Value: jcs.String(strings.ToValidUTF8(x.file, "\uFFFD"))},
		jcs.Member{Name: "key", Value: jcs.String(x.key)},
		jcs.Member{Name: "from", Value: jcs.Int(x.head.From)},
		jcs.Member{Name: "seq", Value: jcs.Int(x.head.Seq)},
		jcs.Member{Name: "entry_sha256", Value: jcs.String(string(x.head.Entry))},
	)
}

func (a *app) lineJoined(x *audit.Joined) {
	by := ""
	if len(x.Bindings) > 0 {
		by = " " + strings.Join(x.Bindings, ", ")
	}
	a.line("%s  %s  %s%s", orDash(x.AgentID), x.ExecutionID, x.Relation(), by)
	a.lineMentions("attempt", x.Attempts, x.Counts.Attempts, func(m audit.Mention) string {
		return fmt.Sprintf("%s/%s  call %s%s", m.Upstream, m.Tool, orDash(m.CallID), sessionText(m))
	})
	a.lineMentions("recorded", x.Terminal, len(x.Terminal), func(m audit.Mention) string {
		return m.Event + because(m) + digestText("answer", m)
	})
	a.lineMentions("late", x.Late, x.Counts.Late, func(m audit.Mention) string { return m.Event + because(m) + digestText("answer", m) })
	a.lineMentions("repeat", x.Repeats, x.Counts.Repeats, func(m audit.Mention) string {
		return "joined  call " + orDash(m.CallID) + sessionText(m)
	})
	a.lineMentions("refused", x.Refused, x.Counts.Refused, func(m audit.Mention) string {
		when := "before the end"
		if x.After(m) {
			when = "after the end"
		}
		return m.Event + because(m) + "  " + when + "  call " + orDash(m.CallID) + sessionText(m)
	})
	a.lineMentions("finding", x.Findings, x.Counts.Findings, func(m audit.Mention) string {
		return "not the gateway's own knowledge: " + orDash(m.Reason) + digestText("evidence", m)
	})
	a.line("  external outcome: %s", externalOutcome(x))
}

func (a *app) lineMentions(what string, list []audit.Mention, count int, text func(audit.Mention) string) {
	for _, m := range list {
		a.line("  %-8s  %s  log %d row %d  %s", what, m.At.Format(time.RFC3339), m.Log, m.Seq, text(m))
	}
	if count > len(list) {
		a.line("  %-8s  and %d more", what, count-len(list))
	}
}

// externalOutcome never says more than somebody's finding does.
func externalOutcome(x *audit.Joined) string {
	if x.Counts.Findings == 0 {
		return notEstablished
	}
	return "as found, by evidence that is not in the log"
}

func orDash(s string) string { return cmp.Or(s, "-") }

func because(m audit.Mention) string {
	if m.Reason == "" {
		return ""
	}
	return " (" + m.Reason + ")"
}

func digestText(of string, m audit.Mention) string {
	if m.Digest == "" {
		return ""
	}
	return "  " + of + " " + m.Digest
}

func sessionText(m audit.Mention) (text string) {
	if m.SessionID != "" {
		text += "  session " + m.SessionID
	}
	if m.WorkflowID != "" {
		text += "  workflow " + strconv.Quote(m.WorkflowID)
	}
	return text
}

func joinedJSON(x *audit.Joined) []byte {
	var bindings [][]byte
	for _, b := range x.Bindings {
		bindings = append(bindings, jcs.String(b))
	}
	return jcs.Object(
		jcs.Member{Name: "agent_id", Value: orNull(x.AgentID)},
		jcs.Member{Name: "execution_id", Value: jcs.String(x.ExecutionID)},
		jcs.Member{Name: "relation", Value: jcs.String(x.Relation())},
		jcs.Member{Name: "bindings", Value: jcs.Array(bindings...)},
		jcs.Member{Name: "attempts", Value: mentionsJSON(x, x.Attempts)},
		jcs.Member{Name: "attempt_count", Value: jcs.Int(int64(x.Counts.Attempts))},
		jcs.Member{Name: "recorded", Value: mentionsJSON(x, x.Terminal)},
		jcs.Member{Name: "late_answers", Value: mentionsJSON(x, x.Late)},
		jcs.Member{Name: "repeats", Value: mentionsJSON(x, x.Repeats)},
		jcs.Member{Name: "repeat_count", Value: jcs.Int(int64(x.Counts.Repeats))},
		jcs.Member{Name: "refused", Value: mentionsJSON(x, x.Refused)},
		jcs.Member{Name: "refused_count", Value: jcs.Int(int64(x.Counts.Refused))},
		jcs.Member{Name: "findings", Value: mentionsJSON(x, x.Findings)},
		jcs.Member{Name: "external_outcome", Value: jcs.String(externalOutcome(x))},
	)
}

func mentionsJSON(x *audit.Joined, list []audit.Mention) []byte {
	var items [][]byte
	for _, m := range list {
		items = append(items, jcs.Object(
			jcs.Member{Name: "log", Value: jcs.Int(int64(m.Log))},
			jcs.Member{Name: "seq", Value: jcs.Int(m.Seq)},
			jcs.Member{Name: "entry_sha256", Value: jcs.String(string(m.Entry.Entry))},
			jcs.Member{Name: "at", Value: jcs.String(m.At.Format(time.RFC3339Nano))},
			jcs.Member{Name: "event", Value: jcs.String(m.Event)},
			jcs.Member{Name: "call_id", Value: orNull(m.CallID)},
			jcs.Member{Name: "session_id", Value: orNull(m.SessionID)},
			jcs.Member{Name: "workflow_id", Value: orNull(m.WorkflowID)},
			jcs.Member{Name: "upstream", Value: orNull(m.Upstream)},
			jcs.Member{Name: "tool", Value: orNull(m.Tool)},
			jcs.Member{Name: "binding", Value: orNull(m.Binding)},
			jcs.Member{Name: "reason", Value: orNull(m.Reason)},
			jcs.Member{Name: "digest", Value: orNull(m.Digest)},
			jcs.Member{Name: "after_end", Value: jcs.Bool(x.After(m))},
		))
	}
	return jcs.Array(items...)
}
