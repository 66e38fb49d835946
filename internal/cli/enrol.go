package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/jcs"
)

func (a *app) enrol() *cobra.Command {
	return &cobra.Command{
		Use:   "enrol",
		Short: "Print a one-time code with which another party can join this RA and VA",
		Long: "Print a one-time code with which another party can join this directory's RA and VA.\n" +
			"The code pins both keys, works once and for 24 hours. Hand it over on a channel you trust.",
		Example: "  CODE=$(bindery enrol --dir B)",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := a.home()
			if err != nil {
				return err
			}
			n, err := openNode(c.Context(), h, nodeOptions{})
			if err != nil {
				return err
			}
			defer n.Close()
			code, err := n.newCode(c.Context())
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
}

// newCode makes a code of the RA, or, where there is none, of the VA alone.
func (n *node) newCode(ctx context.Context) (code api.Code, err error) {
	if keys, err := n.VA.pinned(); err == nil {
		code.VAKey = keys.Keys()[0].ID
	}
	switch {
	case n.registry != nil:
		keys, err := n.RA.pinned()
		if err != nil {
			return code, err
		}
		code.RAKey = keys.Keys()[0].ID
		code.Secret, err = n.registry.NewCode(ctx)
		return code, err
	case n.authority != nil:
		code.Secret, err = n.authority.NewCode(ctx)
	default:
		err = usage("this directory has neither an RA nor a VA of its own", "run enrol in the directory it has joined")
	}
	return code, err
}
