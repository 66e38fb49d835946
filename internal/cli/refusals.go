package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
)

func (a *app) refusals() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "refusals",
		Short: "List what this party has refused or was refused, newest first",
		Long: "List what this party has refused or was refused, newest first: when, the name, the\n" +
			"clause, the crossing, the other party, and which of the two Closeds is spent by it.\n" +
			"What is spent stays spent. bindery explain says what a name means.",
		Example: "  bindery refusals --dir B\n  bindery refusals --dir B --limit 1 --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 || limit > 10000 {
				return usagef("it goes from 1 to 10000", "--limit %d is too small or too large", limit)
			}
			return a.withNode(c.Context(), func(n *node) error {
				rows, err := n.db.Centre().Refusals(c.Context(), limit)
				if err != nil {
					return err
				}
				a.listRefusals(rows)
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most")
	return cmd
}

func (a *app) listRefusals(rows []centre.RefusalRow) {
	var items [][]byte
	for _, r := range rows {
		if !a.json {
			place := ""
			if r.Refusal.Member != "" {
				place = ", at " + r.Refusal.Member
			}
			a.line("%s  %s (%s%s)  crossing %s  with %s  %s", r.At.Format(time.RFC3339), r.Refusal.Name, r.Refusal.Path, place,
				firstOf(r.CrossingID, "unknown"), firstOf(r.Counterparty, "a stranger"), spentText(r.InitiatorSpent, r.ResponderSpent))
			continue
		}
		items = append(items, jcs.Object(
			jcs.Member{Name: "name", Value: jcs.String(string(r.Refusal.Name))},
			jcs.Member{Name: "failure_path", Value: jcs.String(r.Refusal.Path)},
			jcs.Member{Name: "member", Value: orNull(r.Refusal.Member)},
			jcs.Member{Name: "crossing_id", Value: orNull(r.CrossingID)},
			jcs.Member{Name: "counterparty", Value: orNull(r.Counterparty)},
			jcs.Member{Name: "at", Value: jcs.String(r.At.Format(time.RFC3339Nano))},
			jcs.Member{Name: "initiator_spent", Value: jcs.Bool(r.InitiatorSpent)},
			jcs.Member{Name: "responder_spent", Value: jcs.Bool(r.ResponderSpent)},
		))
	}
	if a.json {
		a.print(jcs.Array(items...))
	} else if len(rows) == 0 {
		a.say("this party has refused nothing, and was refused nothing")
	}
}

func spentText(initiator, responder bool) string {
	switch {
	case initiator && responder:
		return "both Closeds spent"
	case initiator:
		return "the initiator's Closed spent"
	case responder:
		return "the responder's Closed spent"
	}
	return "nothing spent"
}

func orNull(s string) []byte {
	if s == "" {
		return jcs.Null()
	}
	return jcs.String(s)
}
