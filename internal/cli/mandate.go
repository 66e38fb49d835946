package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

func (a *app) mandate() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "mandate",
		Short:   "Grant and read mandates",
		Example: "  bindery mandate open --class irreversible --limit 3 --act engagement_code_issuance --counterparty '*'",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.mandateOpen(), a.mandateClose(), a.mandateList(), a.mandateShow(), a.mandateVerify(), a.mandateStatus(), a.mandateRevoke())
	return cmd
}

// openOptions are the flags of mandate open.
type openOptions struct {
	class, currency string
	limit           int64
	acts            []string
	counterparties  []string
	lifetime        time.Duration
	disclose        bool
}

func (a *app) mandateOpen() *cobra.Command {
	var o openOptions
	cmd := &cobra.Command{
		Use:   "open --class CLASS --limit N --act ACT --counterparty ID",
		Short: "Sign an Open Mandate for this party's agent and register it at the RA",
		Example: "  bindery mandate open --dir A --class irreversible --limit 3 --act engagement_code_issuance --counterparty '*'\n" +
			"  bindery mandate open --dir A --class financial --limit 250000 --currency EUR --act engagement_code_issuance --counterparty urn:anax:principal:globex",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := a.home()
			if err != nil {
				return err
			}
			g, err := grantOpen(c.Context(), h, o)
			if err != nil {
				return err
			}
			if a.json {
				a.print(jcs.Object(
					jcs.Member{Name: "open_mandate_hash", Value: jcs.String(string(g.OpenHash))},
					jcs.Member{Name: "open_mandate", Value: jcs.String(g.Presented)},
					jcs.Member{Name: "expires_at", Value: jcs.String(g.ExpiresAt.Format(time.RFC3339))},
				))
				return nil
			}
			a.say("registered; valid until %s. The hash names it:", g.ExpiresAt.Format(time.RFC3339))
			a.print([]byte(g.OpenHash))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.class, "class", "", "highest class: observe, reversible, irreversible, financial or binding")
	f.Int64Var(&o.limit, "limit", -1, "how much may be committed in its lifetime, in the class's unit")
	f.StringArrayVar(&o.acts, "act", nil, "an act it covers; may be repeated")
	f.StringArrayVar(&o.counterparties, "counterparty", nil, "a principal it may deal with, or '*' for any; may be repeated")
	f.StringVar(&o.currency, "currency", "", "ISO 4217 code, for class financial; the limit then counts minor units")
	f.DurationVar(&o.lifetime, "expires", 24*time.Hour, "lifetime; keep it as short as the business bears")
	f.BoolVar(&o.disclose, "disclose-limit", false, "put the limit in plain sight of every counterparty")
	return cmd
}

func (o openOptions) amount() (commitment.Amount, error) {
	return parseAmount(o.class, o.limit, o.currency, "--limit")
}

func parseAmount(class string, n int64, currency, flag string) (commitment.Amount, error) {
	c, err := commitment.ParseClass(class)
	if err != nil {
		return commitment.Amount{}, usagef("one of observe, reversible, irreversible, financial, binding", "--class %q is no commitment class", class)
	}
	m, err := commitment.ParseMagnitude(n)
	if err != nil {
		return commitment.Amount{}, usagef("try "+flag+" 1", "%s needs an integer from 0 to 2^53-1", flag)
	}
	if currency != "" {
		if _, err := commitment.ParseCurrency(currency); err != nil {
			return commitment.Amount{}, usagef("try EUR", "--currency %q is no ISO 4217 currency", currency)
		}
	}
	amount, err := commitment.NewAmount(c, m, commitment.Currency(currency))
	if err != nil {
		return commitment.Amount{}, usage("--currency belongs to class financial, and to it alone", "add it there, as EUR, or leave it out")
	}
	return amount, nil
}

func (o openOptions) permitted() (mandate.Counterparties, error) {
	switch {
	case len(o.counterparties) == 0:
		return mandate.Counterparties{}, usage("an Open that names no counterparty permits none", "add --counterparty ID, or --counterparty '*' for any")
	case len(o.counterparties) == 1 && o.counterparties[0] == "*":
		return mandate.AnyCounterparty(), nil
	}
	for _, id := range o.counterparties {
		if !mandate.ValidPrincipalID(id) {
			return mandate.Counterparties{}, usagef("try urn:anax:principal:NAME, or '*' alone for any", "--counterparty %q is no principal id", id)
		}
	}
	return mandate.OnlyCounterparties(o.counterparties...), nil
}

// grantOpen signs an Open with the principal's key, registers it, and keeps it for the
// agent to present.
func grantOpen(ctx context.Context, h *home, o openOptions) (*centre.Grant, error) {
	amount, err := o.amount()
	if err != nil {
		return nil, err
	}
	permitted, err := o.permitted()
	if err != nil {
		return nil, err
	}
	if err := checkActs(o.acts); err != nil {
		return nil, err
	}
	if err := checkFloors(o.acts, amount.Class); err != nil {
		return nil, err
	}
	if o.lifetime < time.Second {
		return nil, usage("--expires is too short", "try --expires 24h")
	}
	n, err := openNode(ctx, h, nodeOptions{})
	if err != nil {
		return nil, err
	}
	defer n.Close()
	if n.centre == nil {
		return nil, usage("this directory is no party of crossings", "use the directory of a party, with --dir")
	}
	principal, agent, err := n.signers()
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Second)
	draft := mandate.OpenDraft{
		Issuer: h.config.Principal, Subject: h.AgentID, IssuedAt: now, ExpiresAt: now.Add(o.lifetime).Truncate(time.Second),
		ConfirmationKey: agent.Key(), Counterparties: permitted, Acts: o.acts, Amount: amount, DiscloseLimit: o.disclose,
	}
	issued, err := draft.Sign(principal)
	if err != nil {
		return nil, usagef("see: bindery mandate open --help", "such an Open cannot be: %v", err)
	}
	receipt, err := n.ra.RegisterOpen(ctx, issued.Full())
	if err != nil {
		return nil, err
	}
	presented, err := mandate.ParseOpen(issued.Token)
	if err != nil {
		return nil, err
	}
	g := &centre.Grant{
		OpenHash: presented.OpenHash(), Presented: issued.Token, Disclosure: issued.LimitDisclosure, Receipt: receipt,
		ExpiresAt: draft.ExpiresAt, CreatedAt: time.Now(),
	}
	return g, n.db.Centre().PutGrant(ctx, *g)
}

func checkActs(acts []string) error {
	profile := commitment.Builtin()
	if len(acts) == 0 {
		return usage("an Open names the acts it covers", "add --act "+profile.Acts()[0])
	}
	for _, act := range acts {
		if _, ok := profile.Floor(act); !ok {
			return usagef("one of "+strings.Join(profile.Acts(), ", "), "--act %q is not in the act vocabulary", act)
		}
	}
	return nil
}

// checkFloors refuses an Open that could never be used for an act it names: a Closed's
// class would be above the Open's or below the act's floor (design C8).
func checkFloors(acts []string, class commitment.Class) error {
	profile := commitment.Builtin()
	for _, act := range acts {
		if floor, _ := profile.Floor(act); !class.Permits(floor) {
			return usagef("try --class "+floor.String(), "class %s is below the floor of %s: the Open could never be used for it", class, act)
		}
	}
	return nil
}

func (n *node) signers() (principal, agent *jose.Signer, err error) {
	if principal, err = n.key("principal"); err != nil {
		return nil, nil, err
	}
	agent, err = n.key("agent")
	return principal, agent, err
}

func (a *app) mandateShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show [TOKEN|HASH|FILE|-]",
		Short: "Say in words what a mandate permits or asserts; without an argument, list this party's Opens",
		Long: "Say in words what a mandate permits or asserts. The signature is not judged here:\n" +
			"what is shown is what the token says, not that it holds.",
		Example: "  bindery mandate show --dir A\n  bindery mandate show token.txt",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.withNode(c.Context(), func(n *node) error { return a.showGrants(c.Context(), n) })
			}
			token, err := a.token(c.Context(), args[0])
			if err != nil {
				return err
			}
			if token == "" {
				err = a.withNode(c.Context(), func(n *node) error {
					token, err = n.ownOpen(c.Context(), args[0])
					return err
				})
				if err != nil {
					return err
				}
			}
			facts, err := describe(token)
			if err != nil {
				return err
			}
			a.facts(facts)
			return nil
		},
	}
}

// maxTokenFile is above what any mandate takes.
const maxTokenFile = 128 << 10

// token reads an argument that is a token, a file or standard input; "" if it is a hash.
func (a *app) token(ctx context.Context, arg string) (string, error) {
	if _, err := jcs.ParseHex256(arg); err == nil {
		return "", nil
	}
	if strings.HasPrefix(arg, "eyJ") {
		return arg, nil
	}
	b, err := a.read(ctx, arg, maxTokenFile, "give a token, its hash, a file or -")
	return strings.TrimSpace(string(b)), err
}

// showGrants describes every Open of this party, newest first.
func (a *app) showGrants(ctx context.Context, n *node) error {
	grants, err := n.db.Centre().Grants(ctx)
	if err != nil {
		return err
	}
	var items [][]byte
	for _, g := range grants {
		facts, err := describe(g.Presented)
		if err != nil {
			return err
		}
		if !a.json {
			a.facts(facts)
		}
		items = append(items, factsObject(facts))
	}
	if a.json {
		a.print(jcs.Array(items...))
	} else if len(items) == 0 {
		a.say("this party has no Open yet; grant one with: bindery mandate open")
	}
	return nil
}

// describe is what a token says, in labelled words.
func describe(token string) ([][2]string, error) {
	if open, err := mandate.ParseOpen(token); err == nil {
		return describeOpen(open), nil
	}
	closed, err := mandate.ParseClosed(token)
	if err != nil {
		return nil, usagef("give the token whole, as it was received", "this is no mandate: %v", err)
	}
	return describeClosed(closed), nil
}

func describeOpen(o *mandate.PresentedOpen) [][2]string {
	c := o.Claims()
	return [][2]string{
		{"kind", "Open Mandate, " + string(o.OpenHash())},
		{"who", o.Subject() + " may commit for " + o.Issuer()},
		{"what", actsText(c.Acts) + " up to class " + c.Class},
		{"how much", c.Limit},
		{"with whom", c.Counterparties},
		{"until", c.ExpiresAt.Format(time.RFC3339)},
	}
}

func describeClosed(p *mandate.PresentedClosed) [][2]string {
	c := p.Claims()
	signer := p.Issuer()
	if signer == p.Subject() {
		signer = "itself"
	}
	return [][2]string{
		{"kind", "Closed Mandate, " + string(p.TokenHash())},
		{"who", p.Subject() + " commits, signed by " + signer + " as " + string(p.SignerRole())},
		{"what", c.Act + ", class " + c.Class},
		{"how much", c.Limit},
		{"with whom", c.Audience},
		{"in crossing", p.CrossingID()},
		{"until", c.ExpiresAt.Format(time.RFC3339)},
	}
}

func actsText(acts []string) string {
	if len(acts) == 0 {
		return "any act"
	}
	return strings.Join(acts, ", ")
}

// facts prints labelled lines, or one JSON object.
func (a *app) facts(facts [][2]string) {
	if a.json {
		a.print(factsObject(facts))
		return
	}
	for _, f := range facts {
		a.line("%-12s %s", f[0], f[1])
	}
	a.line("The signature was not judged here.")
}

func factsObject(facts [][2]string) []byte {
	var m []jcs.Member
	for _, f := range facts {
		m = append(m, jcs.Member{Name: strings.ReplaceAll(f[0], " ", "_"), Value: jcs.String(f[1])})
	}
	return jcs.Object(m...)
}
