package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

func (a *app) officeHuman(o *officeOptions) *cobra.Command {
	return group("human", "Ask for humans' keys, approve and list them", "human list",
		a.humanRequest(o), a.humanDecide(o, true), a.humanDecide(o, false), a.humanList(o))
}

func (a *app) humanRequest(o *officeOptions) *cobra.Command {
	var s spanOptions
	cmd := &cobra.Command{
		Use:   "request HUMAN --jwk FILE",
		Short: "Ask for a key with which a human may sign for the principal",
		Long: "Ask for a key with which a human may sign Closeds for the principal. It signs nothing\n" +
			"until the RA's operator has approved it.",
		Example: "  bindery office human request urn:anax:human:ada --jwk ada.jwk",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !mandate.ValidHumanID(args[0]) {
				return usagef("give an identifier such as urn:anax:human:NAME", "%q names no human", args[0])
			}
			k, err := a.boundedKey(c.Context(), s)
			if err != nil {
				return err
			}
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				if n.registry != nil && o.of(n) != n.config.Principal || o.credential != "" {
					return usage("an operator's request would be an approval", "leave --principal and --operator-credential out")
				}
				if err := at.Add(c.Context(), api.Addition{PrincipalID: o.of(n), Humans: []mandate.Human{{ID: args[0], Key: k}}}); err != nil {
					return err
				}
				return a.done("asked for "+k.ID, append(spanMembers(k), said("human_id", args[0]), said("principal_id", o.of(n)))...)
			})
		},
	}
	s.flags(cmd)
	return cmd
}

func (a *app) humanDecide(o *officeOptions, approve bool) *cobra.Command {
	word := map[bool]string{true: "approve", false: "reject"}[approve]
	state := map[bool]string{true: "approved", false: "rejected"}[approve]
	short := map[bool]string{true: "Register a human's key that a principal has asked for", false: "Reject a human's key that a principal has asked for, for ever"}[approve]
	return &cobra.Command{
		Use:     word + " THUMBPRINT",
		Short:   short,
		Example: "  bindery office human " + word + " --principal urn:anax:principal:acme NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkThumbprint(args[0]); err != nil {
				return err
			}
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				if err := at.DecideHuman(c.Context(), api.HumanDecision{PrincipalID: o.of(n), Key: args[0], Approve: approve}); err != nil {
					return err
				}
				return a.done(state+" "+args[0], said("key", args[0]), said("principal_id", o.of(n)), said("state", state))
			})
		},
	}
}

func (a *app) humanList(o *officeOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List humans' keys: what is registered, and what waits for the operator",
		Long: "List humans' keys: those that are registered for the principal, and those that are not.\n" +
			"In the directory of an RA, without --principal, what waits of all principals.",
		Example: "  bindery office human list",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				asked, err := at.HumanRequests(c.Context(), o.principal)
				if err != nil {
					return err
				}
				p, err := at.Principal(c.Context(), o.of(n))
				if err != nil {
					return err
				}
				all := make([]api.HumanRequest, 0, len(p.Humans)+len(asked.Requests))
				for _, h := range p.Humans {
					all = append(all, api.HumanRequest{PrincipalID: p.ID, Human: h, State: "approved"})
				}
				all = append(all, asked.Requests...)
				return a.list(len(all), func(i int) (string, []jcs.Member) {
					h := all[i]
					line := h.PrincipalID + "  " + h.Human.ID + "  " + h.Human.Key.ID + "  " + h.State
					if h.State == "approved" {
						line += ", " + spanText(h.Human.Key, time.Now())
					}
					return line, append(spanMembers(h.Human.Key), said("human_id", h.Human.ID), said("principal_id", h.PrincipalID), said("state", h.State))
				})
			})
		},
	}
}

func (a *app) officePrincipal(o *officeOptions) *cobra.Command {
	show := &cobra.Command{
		Use:     "show [ID]",
		Short:   "Show the RA's record of a principal",
		Example: "  bindery office principal show urn:anax:principal:acme",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			about := *o
			if len(args) == 1 {
				about.principal = args[0]
			}
			return a.withOffice(c.Context(), about, func(n *node, at office) error {
				p, err := at.Principal(c.Context(), about.of(n))
				if err != nil {
					return err
				}
				return a.showPrincipal(p)
			})
		},
	}
	return group("principal", "Show principals", "principal show", show)
}

func (a *app) showPrincipal(p mandate.Principal) error {
	now := time.Now()
	state := map[bool]string{true: "active", false: "not active"}[p.Active] // suspended, or revoked
	var keys, agents, humans [][]byte
	lines := []string{p.ID + "  " + p.Name + "  " + state}
	if p.Domain != "" {
		lines = append(lines, "domain   "+p.Domain+"  proved "+p.DomainProvedAt.Format(time.RFC3339))
	}
	for _, k := range p.Keys {
		keys = append(keys, jcs.Object(spanMembers(k)...))
		lines = append(lines, "key      "+k.ID+"  "+spanText(k, now))
	}
	for _, g := range p.Agents {
		agents = append(agents, jcs.Object(append(spanMembers(g.Key), said("agent_id", g.ID))...))
		lines = append(lines, "agent    "+g.ID+"  "+g.Key.ID+"  "+spanText(g.Key, now))
	}
	for _, h := range p.Humans {
		humans = append(humans, jcs.Object(append(spanMembers(h.Key), said("human_id", h.ID))...))
		lines = append(lines, "human    "+h.ID+"  "+h.Key.ID+"  "+spanText(h.Key, now))
	}
	if !a.json {
		for _, line := range lines {
			a.line("%s", line)
		}
		return nil
	}
	m := []jcs.Member{
		said("principal_id", p.ID), said("name", p.Name), said("state", state), said("expires_at", p.Expires.Format(time.RFC3339)),
		{Name: "keys", Value: jcs.Array(keys...)}, {Name: "agents", Value: jcs.Array(agents...)}, {Name: "humans", Value: jcs.Array(humans...)},
	}
	if p.Domain != "" {
		m = append(m, said("domain", p.Domain), said("domain_proved_at", p.DomainProvedAt.Format(time.RFC3339)))
	}
	a.print(jcs.Object(m...))
	return nil
}

func (a *app) officeDomain(o *officeOptions) *cobra.Command {
	prove := &cobra.Command{
		Use:   "prove DOMAIN",
		Short: "Have the RA read the domain's issuer document, and show the domain in the record",
		Long: "Have the RA read https://DOMAIN/.well-known/jwt-vc-issuer. Its issuer must be\n" +
			"https://DOMAIN, and its keys must hold every issuer key of the principal that is not\n" +
			"retired. The RA reads it again every day; the record shows the domain for two days.",
		Example: "  bindery office domain prove acme.example",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !mandate.ValidDomain(args[0]) {
				return usagef("give a host name in lower case, as acme.example", "%q is no domain", args[0])
			}
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				if err := at.ProveDomain(c.Context(), api.DomainProof{PrincipalID: o.of(n), Domain: args[0]}); err != nil {
					return err
				}
				return a.done("proved "+args[0], said("domain", args[0]), said("principal_id", o.of(n)))
			})
		},
	}
	return group("domain", "Prove that a domain is a principal's", "domain prove acme.example", prove)
}

func (a *app) officeIssuer(o *officeOptions) *cobra.Command {
	var credential string
	var subjects []string
	add := &cobra.Command{
		Use:   "add --credential-sha256 HASH --subject AGENT",
		Short: "Make a credential a service issuer's, for the subjects that it may issue for",
		Long: "Make a credential a service issuer's, for the subjects that it may issue Opens for. From\n" +
			"then on nobody spends a mandate of these subjects. Nothing takes a subject off again.",
		Example: "  bindery office issuer add --credential-sha256 HASH --subject urn:anax:agent:monitor",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			hash, err := parseCredentialHash(credential)
			if err != nil {
				return err
			}
			if len(subjects) == 0 {
				return usage("an issuer without a subject issues nothing", "add --subject urn:anax:agent:NAME")
			}
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				if err := at.RegisterIssuer(c.Context(), api.RegisterIssuer{PrincipalID: o.of(n), CredentialHash: hash, Subjects: subjects}); err != nil {
					return err
				}
				return a.done("added "+credential, said("credential_sha256", credential), said("principal_id", o.of(n)))
			})
		},
	}
	add.Flags().StringVar(&credential, "credential-sha256", "", "the hash of the issuer's credential, 64 hex digits")
	add.Flags().StringArrayVar(&subjects, "subject", nil, "an agent it may issue for; may be repeated")
	return group("issuer", "Add service issuers", "issuer add --credential-sha256 HASH --subject urn:anax:agent:monitor", add)
}

func (a *app) officeSuspend(o *officeOptions, suspended bool) *cobra.Command {
	word := map[bool]string{true: "suspend", false: "reinstate"}[suspended]
	state := map[bool]string{true: "suspended", false: "active"}[suspended]
	short := map[bool]string{true: "Suspend a principal: it resolves to no key, and nothing of its is spent", false: "Reinstate a principal that is suspended"}[suspended]
	return &cobra.Command{
		Use:     word + " PRINCIPAL",
		Short:   short,
		Example: "  bindery office " + word + " urn:anax:principal:acme",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			about := *o
			about.principal = args[0]
			return a.withOffice(c.Context(), about, func(_ *node, at office) error {
				if err := at.SetSuspended(c.Context(), api.Suspension{PrincipalID: args[0], Suspended: suspended}); err != nil {
					return err
				}
				return a.done(state+" "+args[0], said("principal_id", args[0]), said("state", state))
			})
		},
	}
}

func (a *app) officeCredential(o *officeOptions) *cobra.Command {
	var yes bool
	withdraw := &cobra.Command{
		Use:     "withdraw HASH --yes",
		Short:   "End a credential for ever, by its hash",
		Long:    "End a credential for ever, by its hash. Without --yes nothing is done, and the command\nends with exit code 2.",
		Example: "  bindery office credential withdraw HASH --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			hash, err := parseCredentialHash(args[0])
			if err != nil {
				return err
			}
			if !yes {
				return usagef("nothing was done; it cannot be undone, add --yes to do it", "this would withdraw %s", hash)
			}
			return a.withOffice(c.Context(), *o, func(_ *node, at office) error {
				if err := at.Withdraw(c.Context(), api.Withdrawal{CredentialHash: hash}); err != nil {
					return err
				}
				return a.done("withdrawn "+args[0], said("credential_sha256", args[0]), said("state", "withdrawn"))
			})
		},
	}
	withdraw.Flags().BoolVar(&yes, "yes", false, "do it")
	return group("credential", "Withdraw credentials", "credential withdraw HASH --yes", withdraw)
}
