package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// chainType is the literal of an export's type member.
const chainType = "bindery-chain-v1"

func (a *app) chain() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "chain",
		Short:   "Export this party's pair chains, and verify an export without anybody's help",
		Example: "  bindery chain export --dir A\n  bindery chain verify chain.json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.chainExport(), a.chainVerify())
	return cmd
}

func (a *app) chainExport() *cobra.Command {
	return &cobra.Command{
		Use:   "export [CHAIN_ID|AGENT_ID]",
		Short: "Print one chain of this party, whole, as JSON; without an argument, list the chains",
		Long: "Print one chain of this party, whole, as JSON. A chain belongs to one pair of agents,\n" +
			"so the counterparty's agent names it as well. An export holds nothing of any other\n" +
			"relationship (§4.4.2).",
		Example: "  bindery chain export --dir A\n" +
			"  bindery chain export --dir A f4cdbef3b3b7f1bacbcc3316f0adaf5c9835e30c4fcbdee5d5dc15923fca2143 > chain.json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withNode(c.Context(), func(n *node) error {
				if len(args) == 0 {
					return a.listChains(c.Context(), n)
				}
				id, err := n.chainID(args[0])
				if err != nil {
					return err
				}
				links, err := n.db.Centre().Links(c.Context(), n.AgentID, id)
				if err != nil {
					return err
				}
				if len(links) == 0 {
					return usagef("list them with: bindery chain export", "this party has no chain %s", args[0])
				}
				a.print(exportBytes(n.AgentID, id, links))
				return nil
			})
		},
	}
}

// chainID reads the name of a chain of this party: its id, or the other agent's.
func (n *node) chainID(arg string) (jcs.Hex256, error) {
	if mandate.ValidAgentID(arg) {
		return chain.ID(n.AgentID, arg), nil
	}
	id, err := jcs.ParseHex256(arg)
	if err != nil {
		return "", usagef("list them with: bindery chain export", "%q is no chain id, nor an agent's", arg)
	}
	return id, nil
}

// listChains names each chain with the other party of its last crossing.
func (a *app) listChains(ctx context.Context, n *node) error {
	store := n.db.Centre()
	ids, err := store.ChainIDs(ctx, n.AgentID)
	if err != nil {
		return err
	}
	var items [][]byte
	for _, id := range ids {
		links, err := store.Links(ctx, n.AgentID, id)
		if err != nil {
			return err
		}
		if len(links) == 0 {
			continue
		}
		principal, agent, err := n.otherParty(ctx, links[len(links)-1].CrossingID)
		if err != nil {
			return err
		}
		if !a.json {
			a.line("%s  %d with %s, agent %s", id, len(links), principal, agent)
			continue
		}
		items = append(items, jcs.Object(
			jcs.Member{Name: "chain_id", Value: jcs.String(string(id))},
			jcs.Member{Name: "links", Value: jcs.Int(int64(len(links)))},
			jcs.Member{Name: "principal_id", Value: jcs.String(principal)},
			jcs.Member{Name: "agent_id", Value: jcs.String(agent)},
		))
	}
	if a.json {
		a.print(jcs.Array(items...))
	} else if len(ids) == 0 {
		a.say("this party has sealed nothing yet, so it has no chain")
	}
	return nil
}

// otherParty is who the record of a sealed crossing names beside this party.
func (n *node) otherParty(ctx context.Context, crossingID string) (principal, agent string, err error) {
	record, _, err := n.centre.Holds(ctx, crossingID)
	if err != nil {
		return "", "", err
	}
	v, err := jcs.Parse(record)
	if err != nil {
		return "", "", err
	}
	for party := range v.Get("parties").Items() {
		if agent, _ = party.Get("agent_id").Text(); agent != n.AgentID {
			principal, _ = party.Get("principal_id").Text()
			return principal, agent, nil
		}
	}
	return n.config.Principal, n.AgentID, nil // it has dealt with itself
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
			"named. What is missing at the end, or was computed anew from some link up to the end,\n" +
			"cannot be seen from the export alone: give the last anchor that you know of with\n" +
			"--head. This is a check of integrity, not of currency.",
		Example: "  bindery chain verify chain.json\n" +
			"  bindery chain export --dir A urn:anax:agent:globex-1 | bindery chain verify - --head 3d907220b49faf996328fe47102d8941929e38cf9232026349b54dcdfe53e2cd",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			known, err := jcs.ParseHex256(head)
			if head != "" && err != nil {
				return usagef("it is an anchor, 64 lower-case hex digits", "--head %q is no anchor", head)
			}
			b, err := a.read(c.Context(), args[0], maxExport, "give an export, or - for standard input")
			if err != nil {
				return err
			}
			id, links, err := parseExport(b)
			if err != nil {
				return usagef("make one with: bindery chain export CHAIN_ID", "%s is no export: %v", inputName(args[0]), err)
			}
			return a.walk(id, links, known)
		},
	}
	cmd.Flags().StringVar(&head, "head", "", "the last anchor that you know of; it must stand in the chain")
	return cmd
}

// maxExport is the largest export that is read, some 200,000 links.
const maxExport = 64 << 20

// parseExport reads an export. Its faults are a wrong file, not a broken chain.
func parseExport(b []byte) (jcs.Hex256, []chain.Link, error) {
	v, err := jcs.Profile{MaxSize: maxExport}.Parse(b)
	if err != nil {
		return "", nil, err
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
			return "", nil, fmt.Errorf("link %d: %w", len(links), err)
		}
		links = append(links, l)
	}
	return id, links, r.Close()
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

// walk verifies the links and says what it did not check. known is an anchor that must
// be among them, or "".
func (a *app) walk(id jcs.Hex256, links []chain.Link, known jcs.Hex256) error {
	var fault *chain.LinkError
	if err := chain.Verify(links); errors.As(err, &fault) {
		return a.broken(fmt.Sprintf("link %d does not hold: %s", fault.Index, brokenRule(fault.Rule)),
			fault.Rule, fmt.Sprintf("/links/%d", fault.Index))
	} else if err != nil {
		return err
	}
	last := jcs.Hex256("")
	if len(links) > 0 {
		last = links[len(links)-1].Anchor
	}
	if known != "" && !slices.ContainsFunc(links, func(l chain.Link) bool { return l.Anchor == known }) {
		return a.broken("the anchor that you know is not in this chain: its end is missing, or another was put in its place", "head", "/links")
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
	a.line("internally consistent: %s, head %s", plural(len(links), "link"), firstOf(string(last), "none"))
	a.line("Not checked against the authority: this is integrity, not currency.")
	return nil
}

// broken prints the verdict on a chain that does not hold.
func (a *app) broken(what, rule, member string) error {
	a.say("bindery: %s", what)
	a.jsonError(string(crossing.ChainPositionUnavailable), "§4.4.2 "+rule, member, what)
	return errVerdict
}

// brokenRule says a rule of [chain.Verify] in words.
func brokenRule(rule string) string {
	switch rule {
	case "sequence":
		return "sequence: a link before it is missing, or it stands in another's place"
	case "previous":
		return "previous: it does not follow the anchor before it"
	case "anchor":
		return "anchor: it is not the hash of this seal at this place"
	}
	return rule + ": it is malformed"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
