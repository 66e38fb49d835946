package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
)

func (a *app) revoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke",
		Short: "Revoke a key, a human or a principal at the RA, for good",
		Long: "Revoke at the RA, for good, what signs. What a revoked key has signed, and every Open that\n" +
			"is bound to it, is revoked with it: nothing of it is registered, held or confirmed any more.\n" +
			"What was sealed before stands. A principal may revoke its own; who runs the RA, anybody's.\n" +
			"One mandate is revoked with: bindery mandate revoke.",
		Example: "  bindery revoke key --dir A 4jWbXmKc0ZgY3vJrQxkYd5bq0Hn9m2uX1cT7sEoLfWg --yes\n" +
			"  bindery revoke principal --dir B urn:anax:principal:acme --yes",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(
		a.revokeKind(api.KindKey, "THUMBPRINT", "one key: the principal's, an agent's or a human's",
			"key --dir A 4jWbXmKc0ZgY3vJrQxkYd5bq0Hn9m2uX1cT7sEoLfWg --yes"),
		a.revokeKind(api.KindHuman, "ID", "a human, with every key of theirs",
			"human --dir A urn:anax:human:jo --yes"),
		a.revokeKind(api.KindPrincipal, "ID", "a principal, with all keys and mandates",
			"principal --dir B urn:anax:principal:acme --yes"),
	)
	return cmd
}

func (a *app) revokeKind(kind, argument, what, example string) *cobra.Command {
	var yes bool
	var principal string
	cmd := &cobra.Command{
		Use:   kind + " " + argument + " --yes",
		Short: "Revoke " + what,
		Long: "Revoke " + what + ", for good.\nWithout --yes nothing is done, and the command ends with exit code 2. Revoking again gives\n" +
			"the time of the first.",
		Example: "  bindery revoke " + example,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withRA(c.Context(), func(n *node) error {
				req := api.RevokeSigner{Kind: kind, PrincipalID: firstOf(principal, n.config.Principal), Subject: args[0]}
				if kind == api.KindPrincipal {
					req.PrincipalID, req.Subject = args[0], ""
				}
				if err := checkSigner(req, args[0]); err != nil {
					return err
				}
				if !yes {
					return usagef("nothing was done; it cannot be undone, add --yes to do it", "this would revoke the %s %s", kind, args[0])
				}
				return a.revokeSigner(c.Context(), n, req)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	if kind != api.KindPrincipal {
		cmd.Flags().StringVar(&principal, "principal", "", "whose it is (default: this directory's principal)")
	}
	return cmd
}

func checkSigner(req api.RevokeSigner, argument string) error {
	if req.Validate() == nil {
		return nil
	}
	form := map[string]string{
		api.KindKey:       "its thumbprint (RFC 7638), 43 characters",
		api.KindHuman:     "an identifier such as urn:anax:human:NAME",
		api.KindPrincipal: "an identifier such as urn:anax:principal:NAME",
	}[req.Kind]
	if req.Subject != "" && (api.RevokeSigner{Kind: api.KindPrincipal, PrincipalID: req.PrincipalID}).Validate() != nil {
		return usagef("give an identifier such as urn:anax:principal:NAME", "--principal %q names no principal", req.PrincipalID)
	}
	return usagef("give "+form, "%q names no %s", argument, req.Kind)
}

func (a *app) revokeSigner(ctx context.Context, n *node, req api.RevokeSigner) error {
	answer, err := n.distrust(ctx, req)
	if err != nil {
		return err
	}
	if err := n.forgetInactive(ctx); err != nil {
		return err
	}
	at := answer.At.UTC().Format(time.RFC3339)
	if !a.json {
		a.line("revoked since %s", at)
		return nil
	}
	m := []jcs.Member{
		{Name: "kind", Value: jcs.String(req.Kind)},
		{Name: "principal_id", Value: jcs.String(req.PrincipalID)},
		{Name: "revoked_at", Value: jcs.String(at)},
	}
	if req.Subject != "" {
		m = append(m, jcs.Member{Name: "subject", Value: jcs.String(req.Subject)})
	}
	a.print(jcs.Object(m...))
	return nil
}

// withRA runs f on a directory that has an RA or has joined one.
func (a *app) withRA(ctx context.Context, f func(*node) error) error {
	h, err := a.home()
	if err != nil {
		return err
	}
	n, err := openNode(ctx, h, nodeOptions{})
	if err != nil {
		return err
	}
	defer n.Close()
	if n.registry == nil && n.ra == nil {
		return usage("this directory has no RA and has joined none", "use the directory of a party or of an RA, with --dir")
	}
	return f(n)
}

// distrust revokes as this directory's principal what is its own, and as the operator of
// its RA what is another's.
func (n *node) distrust(ctx context.Context, req api.RevokeSigner) (api.SignerRevoked, error) {
	if n.registry == nil {
		return n.ra.RevokeSigner(ctx, req)
	}
	return localRA{registry: n.registry, principal: n.config.Principal}.RevokeSigner(ctx, req)
}

func (l localRA) RevokeSigner(ctx context.Context, req api.RevokeSigner) (api.SignerRevoked, error) {
	actor := registry.Actor{Role: api.RolePrincipal, PrincipalID: l.principal}
	if req.PrincipalID != l.principal {
		actor.Role = api.RoleOperator
	}
	return l.registry.RevokeSigner(ctx, actor, req)
}

// forgetInactive marks the own Opens that the RA no longer calls active, so that they are
// presented no more.
func (n *node) forgetInactive(ctx context.Context) error {
	if n.centre == nil {
		return nil
	}
	store := n.db.Centre()
	grants, err := store.Grants(ctx)
	if err != nil {
		return err
	}
	for _, g := range grants {
		s, err := n.ra.Status(ctx, g.OpenHash)
		if err != nil {
			return err
		}
		if s.Active {
			continue
		}
		if err := store.RevokeGrant(ctx, g.OpenHash, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// registrars are the RAs that this directory's authority can ask.
func (n *node) registrars(ctx context.Context) (list []authority.Registrar, err error) {
	add := func(url string, keys jose.KeySet) error {
		c, err := client.New(client.Config{BaseURL: url, Keys: keys})
		if err == nil {
			list = append(list, remoteStatus{c.Registry()})
		}
		return err
	}
	switch {
	case n.registry != nil:
		list = append(list, localStatus{n.registry})
	case n.RA.URL != "":
		keys, err := n.RA.pinned()
		if err != nil {
			return nil, err
		}
		if err := add(n.RA.URL, keys); err != nil {
			return nil, err
		}
	}
	pins, err := n.db.Registry().Pins(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pins {
		if !p.Unpinned.IsZero() {
			continue
		}
		if err := add(p.URL, jose.NewKeySet(p.Key)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// localStatus is the registry of this process, asked by its authority.
type localStatus struct{ registry *registry.Registry }

func (l localStatus) Status(ctx context.Context, req api.StatusRequest) (string, error) {
	return l.registry.Status(ctx, req)
}

// remoteStatus is a registry elsewhere, asked by the authority of this process.
type remoteStatus struct{ registry *client.Registry }

func (r remoteStatus) Status(ctx context.Context, req api.StatusRequest) (string, error) {
	return r.registry.SignedStatus(ctx, req)
}
