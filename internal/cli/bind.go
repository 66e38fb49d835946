package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/jcs"
)

// bindFlags are the members of an action, which the command line has in flags.
type bindFlags struct {
	agent, verb, scope, timestamp, alg string
	preimage                           bool
}

func (a *app) bind() *cobra.Command {
	var f bindFlags
	cmd := &cobra.Command{
		Use:   "bind --agent-id ID --type VERB --scope SCOPE --timestamp TIME",
		Short: "Print the execution action binding of an action",
		Long: "Print the execution action binding, version 1, of an action: sha256: or sha384: and\n" +
			"lower-case hex digits. It is the digest of the canonical bytes of one object, which\n" +
			"--preimage prints instead, with no line feed after them. Equal bindings are of one\n" +
			"action; they are no evidence that it happened. A member that breaks a rule has exit\n" +
			"code 1 and nothing on stdout. Texts are taken as they are, and nothing is normalised.",
		Example: "  bindery bind --agent-id spiffe://agent.example/payments/prod --type transfer \\\n" +
			"    --scope account:merchant-7 --timestamp 2026-09-10T16:30:00Z",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range []string{"agent-id", "type", "scope", "timestamp"} {
				if !c.Flags().Changed(name) {
					return usagef("see: bindery bind --help", "--%s is missing", name)
				}
			}
			alg, err := actionbinding.ParseAlgorithm(f.alg)
			if err != nil {
				return usagef("give sha256 or sha384", "--alg %q is no algorithm of a binding", f.alg)
			}
			action, err := actionbinding.New(f.agent, f.verb, f.scope, f.timestamp)
			if err != nil {
				return a.unbound(err)
			}
			a.bound(action, alg, f.preimage)
			return nil
		},
	}
	cmd.Flags().StringVar(&f.agent, "agent-id", "", "the authenticated agent that acts")
	cmd.Flags().StringVar(&f.verb, "type", "", "the verb: action_type")
	cmd.Flags().StringVar(&f.scope, "scope", "", "what it is done to: action_scope")
	cmd.Flags().StringVar(&f.timestamp, "timestamp", "", "the caller's time, the same in every retry, such as 2026-09-10T16:30:00Z")
	cmd.Flags().StringVar(&f.alg, "alg", "sha256", "sha256 or sha384")
	cmd.Flags().BoolVar(&f.preimage, "preimage", false, "print the canonical bytes that are digested")
	// It fails for a flag that is not there, or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc("alg", cobra.FixedCompletions([]string{"sha256", "sha384"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) bound(action actionbinding.Action, alg actionbinding.Algorithm, preimage bool) {
	switch {
	case preimage:
		_, _ = a.out.Write(action.Preimage()) // a.out keeps the error
	case a.json:
		a.print(jcs.Object(
			jcs.Member{Name: "binding", Value: jcs.String(action.Bind(alg).String())},
			jcs.Member{Name: "preimage", Value: jcs.String(string(action.Preimage()))},
		))
	default:
		a.print([]byte(action.Bind(alg).String()))
	}
}

// unbound says which member of an action broke which rule.
func (a *app) unbound(err error) error {
	var fault *actionbinding.Error
	if !errors.As(err, &fault) {
		return err
	}
	a.say("bindery: refused: %s: %s", fault.Member, fault.Rule)
	a.jsonError("ACTION_INVALID", "", fault.Member, fault.Rule)
	return errVerdict
}
