package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

func (a *app) officeRegistry() *cobra.Command {
	return group("registry", "List and unpin the RAs of other organisations", "registry list", a.registryList(), a.registryUnpin())
}

func (a *app) registryList() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the RAs of other organisations that are pinned here, and for whom each speaks",
		Example: "  bindery office registry list",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withAuthorities(c, func(n *node) error {
				pins, err := n.db.Registry().Pins(c.Context())
				if err != nil {
					return err
				}
				return a.list(len(pins), func(i int) (string, []jcs.Member) { return pinText(pins[i]) })
			})
		},
	}
}

// pinText is a pin as a line and as an object.
func pinText(p registry.Pin) (string, []jcs.Member) {
	line := p.Key.ID + "  " + p.PrincipalID + "  " + p.URL + "  pinned " + p.At.Format(time.RFC3339)
	members := []jcs.Member{
		said("key", p.Key.ID), said("principal_id", p.PrincipalID), said("url", p.URL), said("pinned_at", p.At.Format(time.RFC3339)),
	}
	if !p.Unpinned.IsZero() {
		line += ", unpinned " + p.Unpinned.Format(time.RFC3339)
		members = append(members, said("unpinned_at", p.Unpinned.Format(time.RFC3339)))
	}
	return line, members
}

func (a *app) registryUnpin() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "unpin THUMBPRINT --yes",
		Short: "End the pin of an RA for ever; without --yes it does nothing",
		Long: "End the pin of another organisation's RA for ever, at this directory's RA and VA. What it\n" +
			"signs counts for nothing from then on, and its organisation's effector is unknown here. What\n" +
			"has been sealed stands. A crossing that is under way may stay without an answer. Nobody else\n" +
			"can speak for that organisation here afterwards.",
		Example: "  bindery office registry unpin NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkThumbprint(args[0]); err != nil {
				return err
			}
			if !yes {
				return usagef("nothing was done; it cannot be undone, add --yes to do it", "this would unpin the RA %s", args[0])
			}
			return a.withAuthorities(c, func(n *node) (err error) {
				if n.registry != nil {
					err = n.registry.Unpin(c.Context(), localOffice{n}.operator(), args[0])
				} else {
					err = n.authority.Unpin(c.Context(), args[0])
				}
				if err != nil {
					return err
				}
				return a.done("unpinned "+args[0], said("key", args[0]))
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}

// withAuthorities runs f in a directory with an RA or a VA of its own: the terminal there is
// the operator's, and pins are nobody else's to see or end.
func (a *app) withAuthorities(c *cobra.Command, f func(*node) error) error {
	h, err := a.home()
	if err != nil {
		return err
	}
	n, err := openNode(c.Context(), h, nodeOptions{})
	if err != nil {
		return err
	}
	defer n.Close()
	if n.registry == nil && n.authority == nil {
		return usage("this directory has neither an RA nor a VA of its own", "run it in the directory that has pinned the RA")
	}
	return f(n)
}
