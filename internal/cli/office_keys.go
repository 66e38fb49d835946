package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

func (a *app) officeKey(o *officeOptions) *cobra.Command {
	return group("key", "Add, retire and list a principal's issuer keys", "key list", a.keyAdd(o), a.keyRetire(o), a.keyList(o))
}

func (a *app) keyAdd(o *officeOptions) *cobra.Command {
	var s spanOptions
	cmd := &cobra.Command{
		Use:   "add --jwk FILE",
		Short: "Add a key that may sign Opens for the principal",
		Long: "Add a key that may sign Opens for the principal. To change from one key to the next, add\n" +
			"the new one with --not-before, and retire the old one at that moment. A proof of the\n" +
			"principal's domain ends until the domain publishes the new key, too.",
		Example: "  bindery office key add --jwk next.jwk --not-before 2027-01-01T00:00:00Z",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			k, err := a.boundedKey(c.Context(), s)
			if err != nil {
				return err
			}
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				if err := at.Add(c.Context(), api.Addition{PrincipalID: o.of(n), Keys: []mandate.Key{k}}); err != nil {
					return err
				}
				return a.done("added "+k.ID, append(spanMembers(k), said("principal_id", o.of(n)))...)
			})
		},
	}
	s.flags(cmd)
	return cmd
}

func (a *app) keyRetire(o *officeOptions) *cobra.Command {
	var moment string
	cmd := &cobra.Command{
		Use:   "retire THUMBPRINT",
		Short: "Let a key sign nothing from a moment on: an issuer's, an agent's or a human's",
		Long: "Let a key sign nothing from a moment on, now or later. What it has signed before that\n" +
			"stands; to end that as well, revoke the key: bindery revoke key. It cannot be undone, and\n" +
			"the moment can only be brought forward.",
		Example: "  bindery office key retire --at 2027-01-01T00:00:00Z NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkThumbprint(args[0]); err != nil {
				return err
			}
			until, err := parseMoment("--at", moment)
			if err != nil {
				return err
			}
			if !until.IsZero() && until.Before(time.Now()) {
				return usagef("leave --at out to retire it now", "--at %s is past", moment)
			}
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				if err := at.Retire(c.Context(), api.Retirement{PrincipalID: o.of(n), Key: args[0], NotAfter: until}); err != nil {
					return err
				}
				return a.done("retired "+args[0], said("key", args[0]), said("principal_id", o.of(n)))
			})
		},
	}
	cmd.Flags().StringVar(&moment, "at", "", "from when on, as 2026-09-01T12:00:00Z (default: now)")
	return cmd
}

func (a *app) keyList(o *officeOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List a principal's issuer keys and when they may sign",
		Example: "  bindery office key list",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				p, err := at.Principal(c.Context(), o.of(n))
				if err != nil {
					return err
				}
				return a.list(len(p.Keys), func(i int) (string, []jcs.Member) {
					return p.Keys[i].ID + "  " + spanText(p.Keys[i], time.Now()), spanMembers(p.Keys[i])
				})
			})
		},
	}
}

// list prints a line or an object for each item.
func (a *app) list(n int, item func(int) (line string, members []jcs.Member)) error {
	items := make([][]byte, n)
	for i := range n {
		line, members := item(i)
		items[i] = jcs.Object(members...)
		if !a.json {
			a.line("%s", line)
		}
	}
	if a.json {
		a.print(jcs.Array(items...))
	} else if n == 0 {
		a.say("none")
	}
	return nil
}

// spanText says when a key may sign.
func spanText(k mandate.Key, now time.Time) string {
	switch {
	case !k.NotAfter.IsZero() && (!now.Before(k.NotAfter) || !k.NotBefore.Before(k.NotAfter)): // also before it was in force
		return "retired " + k.NotAfter.Format(time.RFC3339)
	case now.Before(k.NotBefore) && !k.NotAfter.IsZero():
		return "from " + k.NotBefore.Format(time.RFC3339) + " until " + k.NotAfter.Format(time.RFC3339)
	case now.Before(k.NotBefore):
		return "from " + k.NotBefore.Format(time.RFC3339)
	case !k.NotAfter.IsZero():
		return "in force until " + k.NotAfter.Format(time.RFC3339)
	}
	return "in force"
}

func spanMembers(k mandate.Key) []jcs.Member {
	m := []jcs.Member{said("key", k.ID)}
	if !k.NotBefore.IsZero() {
		m = append(m, said("not_before", k.NotBefore.Format(time.RFC3339)))
	}
	if !k.NotAfter.IsZero() {
		m = append(m, said("not_after", k.NotAfter.Format(time.RFC3339)))
	}
	return m
}

func (a *app) officeAgent(o *officeOptions) *cobra.Command {
	return group("agent", "Add and list a principal's agents", "agent list", a.agentAdd(o), a.agentList(o))
}

func (a *app) agentAdd(o *officeOptions) *cobra.Command {
	var s spanOptions
	var credential string
	cmd := &cobra.Command{
		Use:   "add AGENT --jwk FILE",
		Short: "Add an agent, or a further key of one",
		Long: "Add an agent, or a further key of one. With --credential-sha256 it also gets a credential:\n" +
			"the hash of a token that the agent has made and keeps.",
		Example: "  bindery office agent add urn:anax:agent:desk-2 --jwk desk.jwk",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !mandate.ValidAgentID(args[0]) {
				return usagef("give an identifier such as urn:anax:agent:NAME", "%q names no agent", args[0])
			}
			k, err := a.boundedKey(c.Context(), s)
			if err != nil {
				return err
			}
			req := api.Addition{Agents: []mandate.Agent{{ID: args[0], Key: k}}}
			if credential != "" {
				hash, err := parseCredentialHash(credential)
				if err != nil {
					return err
				}
				req.Credentials = []api.Credential{{Role: api.RoleAgent, AgentID: args[0], Hash: hash}}
			}
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				req.PrincipalID = o.of(n)
				if err := at.Add(c.Context(), req); err != nil {
					return err
				}
				return a.done("added "+args[0]+" with "+k.ID, append(spanMembers(k), said("agent_id", args[0]), said("principal_id", o.of(n)))...)
			})
		},
	}
	s.flags(cmd)
	cmd.Flags().StringVar(&credential, "credential-sha256", "", "the hash of the agent's credential, 64 hex digits")
	return cmd
}

func (a *app) agentList(o *officeOptions) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List a principal's agents, their keys and when they may sign",
		Example: "  bindery office agent list",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOffice(c.Context(), *o, func(n *node, at office) error {
				p, err := at.Principal(c.Context(), o.of(n))
				if err != nil {
					return err
				}
				return a.list(len(p.Agents), func(i int) (string, []jcs.Member) {
					g := p.Agents[i]
					return g.ID + "  " + g.Key.ID + "  " + spanText(g.Key, time.Now()), append(spanMembers(g.Key), said("agent_id", g.ID))
				})
			})
		},
	}
}

func parseCredentialHash(s string) (jcs.Hex256, error) {
	hash, err := jcs.ParseHex256(s)
	if err != nil {
		// It is not repeated: it may be the credential itself.
		return "", usage("this is no hash of a credential: 64 lower-case hex digits", "try: printf %s \"$TOKEN\" | sha256sum")
	}
	return hash, nil
}
