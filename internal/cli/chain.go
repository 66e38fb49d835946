package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
)

// chainType is the literal of an export's type member.
const chainType = "bindery-chain-v1"

func (a *app) chain() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "chain",
		Short:   "Export this party's pair chains, and verify an export without anybody's help",
		Example: "  bindery chain export --dir A > chains.json\n  bindery chain verify chains.json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.chainExport(), a.chainVerify())
	return cmd
}

func (a *app) chainExport() *cobra.Command {
	return &cobra.Command{
		Use:   "export [CHAIN_ID]",
		Short: "Print one chain of this party, whole, as JSON; without CHAIN_ID, list the chains",
		Long: "Print one chain of this party, whole, as JSON. A chain belongs to one pair of agents:\n" +
			"an export holds nothing of any other relationship (§4.4.2).",
		Example: "  bindery chain export --dir A f4cdbef3b3b7f1bacbcc3316f0adaf5c9835e30c4fcbdee5d5dc15923fca2143 > chain.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withNode(c.Context(), func(n *node) error {
				store := n.db.Centre()
				if len(args) == 0 {
					ids, err := store.ChainIDs(c.Context(), n.AgentID)
					if err != nil {
						return err
					}
					return a.listChains(ids)
				}
				id, err := jcs.ParseHex256(args[0])
				if err != nil {
					return usagef("list them with: bindery chain export", "%q is no chain id", args[0])
				}
				links, err := store.Links(c.Context(), n.AgentID, id)
				if err != nil {
					return err
				}
				if len(links) == 0 {
					return usagef("list them with: bindery chain export", "this party has no chain %s", id)
				}
				a.print(exportBytes(n.AgentID, id, links))
				return nil
			})
		},
	}
}

func (a *app) listChains(ids []jcs.Hex256) error {
	if a.json {
		items := make([][]byte, len(ids))
		for i, id := range ids {
			items[i] = jcs.String(string(id))
		}
		a.print(jcs.Array(items...))
		return nil
	}
	for _, id := range ids {
		a.print([]byte(id))
	}
	return nil
}

func exportBytes(party string, id jcs.Hex256, links []chain.Link) []byte {
	items := make([][]byte, len(links))
	for i, l := range links {
		prev := jcs.Null()
		if !l.IsGenesis() {
			prev = jcs.String(string(l.Prev))
		}
		items[i] = jcs.Object(
			jcs.Member{Name: "chain_seq", Value: jcs.Int(l.Seq)},
			jcs.Member{Name: "prev_hash", Value: prev},
			jcs.Member{Name: "joint_seal", Value: jcs.String(string(l.JointSeal))},
			jcs.Member{Name: "anchor", Value: jcs.String(string(l.Anchor))},
			jcs.Member{Name: "crossing_id", Value: jcs.String(l.CrossingID)},
		)
	}
	return jcs.Object(
		jcs.Member{Name: "type", Value: jcs.String(chainType)},
		jcs.Member{Name: "party", Value: jcs.String(party)},
		jcs.Member{Name: "chain_id", Value: jcs.String(string(id))},
		jcs.Member{Name: "links", Value: jcs.Array(items...)},
	)
}

func (a *app) chainVerify() *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use:   "verify FILE|-",
		Short: "Walk an exported chain: a changed, removed, moved or foreign link is named",
		Long: "Walk an exported chain from its genesis. A changed, removed, moved or foreign link is\n" +
			"named. What is missing at the end cannot be seen from the export alone: compare with an\n" +
			"anchor that you know, with --head. This is a check of integrity, not of currency.",
		Example: "  bindery chain verify chain.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := readLimited(args[0], 64<<20)
			if args[0] == "-" {
				b, err = a.readArg(args[0])
			}
			if err != nil {
				return usagef("give an export, or - for standard input", "%s cannot be read", args[0])
			}
			id, links, err := parseExport(b)
			if err != nil {
				return err
			}
			return a.walk(id, links, head)
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "the last anchor that you know of")
	return cmd
}

// parseExport reads an export. Its faults are a wrong file, not a broken chain.
func parseExport(b []byte) (jcs.Hex256, []chain.Link, error) {
	v, err := jcs.Profile{MaxSize: 64 << 20}.Parse(b)
	if err != nil {
		return "", nil, usagef("", "this is no export: %v", err)
	}
	r := jcs.NewReader(v)
	if r.Text("type") != chainType {
		r.Fail("type", "value")
	}
	r.Text("party")
	id, idErr := jcs.ParseHex256(r.Text("chain_id"))
	if idErr != nil {
		r.Fail("chain_id", "value")
	}
	var links []chain.Link
	for _, item := range r.Items("links") {
		l, err := parseLink(item)
		if err != nil {
			return "", nil, usagef("", "this is no export: link %d: %v", len(links), err)
		}
		links = append(links, l)
	}
	if err := r.Close(); err != nil {
		return "", nil, usagef("", "this is no export: %v", err)
	}
	return id, links, nil
}

func parseLink(v jcs.Value) (chain.Link, error) {
	r := jcs.NewReader(v)
	l := chain.Link{JointSeal: jcs.Hex256(r.Text("joint_seal")), Anchor: jcs.Hex256(r.Text("anchor")), CrossingID: r.Text("crossing_id")}
	l.Seq = r.Int("chain_seq")
	if prev := r.Value("prev_hash"); prev.Type() != jcs.NullType {
		l.Prev = jcs.Hex256(r.Text("prev_hash"))
	}
	return l, r.Close()
}

// walk verifies the links and says what it did not check.
func (a *app) walk(id jcs.Hex256, links []chain.Link, head string) error {
	var fault *chain.LinkError
	if err := chain.Verify(links); errors.As(err, &fault) {
		fmt.Fprintf(a.err, "bindery: link %d does not hold: %s\n", fault.Index, fault.Rule)
		a.jsonError(string(crossing.ChainPositionUnavailable), "§4.4.2 "+fault.Rule, fmt.Sprintf("/links/%d", fault.Index))
		return errVerdict
	} else if err != nil {
		return err
	}
	last := jcs.Hex256("")
	if len(links) > 0 {
		last = links[len(links)-1].Anchor
	}
	if head != "" && head != string(last) {
		fmt.Fprintln(a.err, "bindery: the chain does not end at the anchor that you know")
		a.jsonError(string(crossing.ChainPositionUnavailable), "§4.4.2 head", "/links")
		return errVerdict
	}
	if a.json {
		a.print(jcs.Object(
			jcs.Member{Name: "chain_id", Value: jcs.String(string(id))},
			jcs.Member{Name: "links", Value: jcs.Int(int64(len(links)))},
			jcs.Member{Name: "head", Value: jcs.String(string(last))},
			jcs.Member{Name: "integrity", Value: jcs.Bool(true)},
		))
		return nil
	}
	fmt.Fprintf(a.out, "internally consistent: %d links, head %s\n", len(links), last)
	fmt.Fprintln(a.out, "Not checked against the authority: this is integrity, not currency.")
	return nil
}

func (a *app) refusals() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "refusals",
		Short:   "List what this party has refused or was refused, newest first",
		Example: "  bindery refusals --dir B",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 || limit > 10000 {
				return usage("--limit goes from 1 to 10000", "")
			}
			return a.withNode(c.Context(), func(n *node) error {
				rows, err := n.db.Centre().Refusals(c.Context(), limit)
				if err != nil {
					return err
				}
				var items [][]byte
				for _, r := range rows {
					if !a.json {
						fmt.Fprintf(a.out, "%s  %-26s %-36s %s  spent %t/%t  %s\n", r.At.Format(time.RFC3339), r.Refusal.Name,
							firstOf(r.CrossingID, "-"), firstOf(r.Counterparty, "a stranger"), r.InitiatorSpent, r.ResponderSpent, r.Refusal.Path)
						continue
					}
					items = append(items, jcs.Object(
						jcs.Member{Name: "name", Value: jcs.String(string(r.Refusal.Name))},
						jcs.Member{Name: "failure_path", Value: jcs.String(r.Refusal.Path)},
						jcs.Member{Name: "crossing_id", Value: orNull(r.CrossingID)},
						jcs.Member{Name: "counterparty", Value: orNull(r.Counterparty)},
						jcs.Member{Name: "at", Value: jcs.String(r.At.Format(time.RFC3339Nano))},
						jcs.Member{Name: "initiator_spent", Value: jcs.Bool(r.InitiatorSpent)},
						jcs.Member{Name: "responder_spent", Value: jcs.Bool(r.ResponderSpent)},
					))
				}
				if a.json {
					a.print(jcs.Array(items...))
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "how many at most")
	return cmd
}

func orNull(s string) []byte {
	if s == "" {
		return jcs.Null()
	}
	return jcs.String(s)
}
