package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

func (a *app) enrol() *cobra.Command {
	var kind, principal string
	var shared bool
	cmd := &cobra.Command{
		Use:   "enrol",
		Short: "Print a one-time code with which another party can join this RA and VA",
		Long: "Print a one-time code with which another party can join this directory's RA and VA.\n" +
			"The code pins both keys, works once and for 24 hours. Hand it over on a channel you trust.\n\n" +
			"Whoever uses it chooses how to join. With --for party its mandates are kept here, by this\n" +
			"RA. With --for ra it brings an RA along (init --own-ra), which then speaks for it: that RA,\n" +
			"and not yours, counts what its mandates have left. With --principal the code is for that\n" +
			"organisation alone. bindery office registry list shows which RAs have been pinned.",
		Example: "  CODE=$(bindery enrol --dir B)\n" +
			"  CODE=$(bindery enrol --dir B --for party --principal urn:anax:principal:acme)",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			terms, err := codeTerms(kind, principal)
			if err != nil {
				return err
			}
			h, err := a.home()
			if err != nil {
				return err
			}
			n, err := openNode(c.Context(), h, nodeOptions{})
			if err != nil {
				return err
			}
			defer n.Close()
			code, err := n.newCode(c.Context(), terms, shared)
			if err != nil {
				return err
			}
			if a.json {
				a.print(jcs.Object(jcs.Member{Name: "code", Value: jcs.String(code.String())}))
				return nil
			}
			a.print([]byte(code.String()))
			return nil
		},
	}
	cmd.Flags().StringVar(&kind, "for", "", "party: it joins this RA; ra: it brings an RA of its own (default: either)")
	cmd.Flags().StringVar(&principal, "principal", "", "for this organisation alone (default: for whoever has the code)")
	cmd.Flags().BoolVar(&shared, "shared", false, "at a VA without an RA: the RA that joins may speak for several organisations")
	return cmd
}

// codeTerms reads the flags that say what a code is for.
func codeTerms(kind, principal string) (registry.CodeTerms, error) {
	terms := registry.CodeTerms{PrincipalID: principal}
	if principal != "" && !mandate.ValidPrincipalID(principal) {
		return terms, usagef("give an identifier such as urn:anax:principal:NAME", "--principal %q names no principal", principal)
	}
	switch kind {
	case "":
		terms.Kind = registry.CodeAny
	case "party":
		terms.Kind = registry.CodeParty
	case "ra":
		terms.Kind = registry.CodeRegistry
	default:
		return terms, usagef("try --for party or --for ra", "%q is nothing that a code is for", kind)
	}
	return terms, nil
}

// newCode makes a code of the RA, or, where there is none, of the VA alone.
func (n *node) newCode(ctx context.Context, terms registry.CodeTerms, shared bool) (code api.Code, err error) {
	if keys, err := n.VA.pinned(); err == nil {
		code.VAKey = keys.Keys()[0].ID
	}
	switch {
	case n.registry != nil && shared:
		err = usage("an RA that is brought along to an RA speaks for one organisation", "leave --shared out")
	case n.registry != nil:
		keys, err := n.RA.pinned()
		if err != nil {
			return code, err
		}
		code.RAKey = keys.Keys()[0].ID
		code.Secret, err = n.registry.NewCode(ctx, terms)
		return code, err
	case n.authority != nil && terms.Kind == registry.CodeParty:
		err = usage("this directory has a VA and no RA that a party could join", "run enrol in the directory of the RA, or leave --for out")
	case n.authority != nil:
		code.Secret, err = n.authority.NewCode(ctx, authority.CodeTerms{PrincipalID: terms.PrincipalID, Shared: shared})
	default:
		err = usage("this directory has neither an RA nor a VA of its own", "run enrol in the directory it has joined")
	}
	return code, err
}
