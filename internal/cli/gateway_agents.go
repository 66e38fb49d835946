package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/jcs"
)

// agentKeyEnv is where an agent that speaks over standard input and output has its key.
const agentKeyEnv = "BINDERY_AGENT_KEY"

// gatewayAgent is the command that registers the keys of agents.
func (a *app) gatewayAgent() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "The agents that may use the gateway by a key: register, list, remove them",
		Long: "The agents that may use the gateway by a key: register, list, remove them. An agent\n" +
			"sends its key as Authorization: Bearer KEY, or has it in " + agentKeyEnv + " over stdio.\n" +
			"A gateway that runs notices within a second or two. As soon as one was registered\n" +
			"it answers nobody without a credential, also when the last one has been removed.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(a.gatewayAgentAdd(), a.gatewayAgentList(), a.gatewayAgentRemove())
	return cmd
}

func (a *app) gatewayAgentAdd() *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a key for an agent and print it, once",
		Long: "Make a key for an agent and print it, once: the directory keeps its SHA-256 alone. An\n" +
			"agent may have several, so that one can follow the other: add the new one, give it to\n" +
			"the agent, and remove the old one with --key. A directory that is not there is made, for\n" +
			"a gateway alone.",
		Example: "  bindery gateway agent add buyer\n" +
			"  bindery gateway agent add buyer --store postgres://bindery@db.example/bindery",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := args[0]
			if !agentauth.ValidName(name) {
				return usagef("take 1 to 64 letters, digits, dots, hyphens and underscores", "%q is no name of an agent", name)
			}
			if _, err := a.gatewayHome(c.Context(), store); err != nil {
				return err
			}
			secret, key := agentauth.NewKey(name)
			first := false
			h, err := a.changeGateway(func(g *gatewayConfig) error {
				if len(g.Agents.Keys) >= agentauth.MaxKeys {
					return usagef("remove some: bindery gateway agent list", "there are %d keys, and no more can be", agentauth.MaxKeys)
				}
				first = g.Agents.none()
				g.Agents.Keys = append(g.Agents.Keys, key)
				return nil
			})
			if err != nil {
				return err
			}
			a.say("%s is registered in %s as the agent key:%s", name, h.dir, name)
			a.say("its key is shown this once: Authorization: Bearer KEY, or %s=KEY over stdio", agentKeyEnv)
			if first {
				a.say("from now on its gateway answers nobody without a credential")
			}
			if a.json {
				a.print(jcs.Object(append(keyMembers(key), said("key", secret))...))
				return nil
			}
			a.print([]byte(secret))
			return nil
		},
	}
	cmd.Flags().StringVar(&store, "store", "", storeUsage)
	return cmd
}

func (a *app) gatewayAgentList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the registered keys: whose each is, and the SHA-256 of it",
		Example: "  bindery gateway agent list",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := a.homeOfGateway()
			if err != nil {
				return err
			}
			g, err := h.gateway()
			if err != nil {
				return err
			}
			keys := g.Agents.Keys
			return a.list(len(keys), func(i int) (string, []jcs.Member) {
				return keys[i].Agent + "  " + string(keys[i].Sum), keyMembers(keys[i])
			})
		},
	}
}

// keyMembers are what may be shown of a key.
func keyMembers(k agentauth.Key) []jcs.Member {
	return []jcs.Member{said("name", k.Agent), said("agent", "key:"+k.Agent), said("sha256", string(k.Sum))}
}

// leastDigits is how much of a SHA-256 names a key.
const leastDigits = 8

func (a *app) gatewayAgentRemove() *cobra.Command {
	var digits string
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an agent's keys; nobody comes in with them any more",
		Long: "Remove an agent's keys; nobody comes in with them any more. What the agent has done\n" +
			"stays: its executions are bound to its name, and a key registered under the same name\n" +
			"later is the same agent's.",
		Example: "  bindery gateway agent remove buyer\n  bindery gateway agent remove buyer --key 5f0c3d21",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if digits != "" && (len(digits) < leastDigits || strings.Trim(digits, "0123456789abcdef") != "") {
				return usagef("see: bindery gateway agent list", "--key takes %d or more of the first digits of the key's SHA-256", leastDigits)
			}
			var removed []agentauth.Key
			_, err := a.changeGateway(func(g *gatewayConfig) error {
				goes := func(k agentauth.Key) bool { return k.Agent == args[0] && strings.HasPrefix(string(k.Sum), digits) }
				for _, k := range g.Agents.Keys {
					if goes(k) {
						removed = append(removed, k)
					}
				}
				switch {
				case len(removed) == 0:
					return usagef("see: bindery gateway agent list", "no such key of an agent %q is registered", args[0])
				case digits != "" && len(removed) > 1:
					return usagef("give more of its digits", "%d keys begin with %s", len(removed), digits)
				}
				g.Agents.Keys = slices.DeleteFunc(g.Agents.Keys, goes) // what is left may be empty, and stays: nobody has a key then
				return nil
			})
			if err != nil {
				return err
			}
			return a.list(len(removed), func(i int) (string, []jcs.Member) {
				return "removed " + removed[i].Agent + "  " + string(removed[i].Sum), keyMembers(removed[i])
			})
		},
	}
	cmd.Flags().StringVar(&digits, "key", "", "only the key whose SHA-256 begins with these digits")
	return cmd
}

// changeGateway changes the gateway's configuration. Whoever else changes it so waits.
func (a *app) changeGateway(change func(*gatewayConfig) error) (*home, error) {
	h, err := a.home()
	if err != nil {
		return nil, err
	}
	return h, locked(h.dir, func() error {
		stored, err := openHome(h.dir) // what another command may have changed meanwhile
		if err != nil {
			return err
		}
		g, err := stored.gateway()
		if err != nil {
			return err
		}
		if err := change(g); err != nil {
			return err
		}
		stored.Gateway = g.encode()
		return writeJSON(filepath.Join(stored.dir, configFile), stored.config)
	})
}

// none reports whether every request is anonymous.
func (a gatewayAgents) none() bool { return a.Keys == nil && a.JWT == nil && a.MTLS == nil }
