package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/centre"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// withNode runs f on the opened directory.
func (a *app) withNode(ctx context.Context, f func(*node) error) error {
	h, err := a.home()
	if err != nil {
		return err
	}
	n, err := openNode(ctx, h, nodeOptions{})
	if err != nil {
		return err
	}
	defer n.Close()
	if n.centre == nil {
		return usage("this directory is no party of crossings", "use the directory of a party, with --dir")
	}
	return f(n)
}

func (a *app) mandateList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List this party's Opens: what each permits, what has been drawn, until when",
		Long: "List this party's Opens, newest first: what each permits, what this directory has drawn\n" +
			"of it, until when. Whether one has been revoked, the RA knows: bindery mandate status.",
		Example: "  bindery mandate list --dir A",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withNode(c.Context(), func(n *node) error {
				grants, err := n.db.Centre().Grants(c.Context())
				if err != nil {
					return err
				}
				return a.listGrants(grants)
			})
		},
	}
}

func (a *app) listGrants(grants []centre.Grant) error {
	var items [][]byte
	for _, g := range grants {
		open, err := fullGrant(g)
		if err != nil {
			return err
		}
		c := open.Claims()
		expired := !time.Now().Before(c.ExpiresAt)
		if a.json {
			items = append(items, jcs.Object(
				jcs.Member{Name: "open_mandate_hash", Value: jcs.String(string(g.OpenHash))},
				jcs.Member{Name: "class", Value: jcs.String(c.Class)},
				jcs.Member{Name: "limit", Value: jcs.String(c.Limit)},
				jcs.Member{Name: "drawn", Value: jcs.Int(g.Drawn)},
				jcs.Member{Name: "acts", Value: jcs.String(actsText(c.Acts))},
				jcs.Member{Name: "counterparties", Value: jcs.String(c.Counterparties)},
				jcs.Member{Name: "expires_at", Value: jcs.String(c.ExpiresAt.Format(time.RFC3339))},
				jcs.Member{Name: "expired", Value: jcs.Bool(expired)},
			))
			continue
		}
		until := map[bool]string{false: "until", true: "expired"}[expired]
		a.line("%s  %s up to class %s, %d of %s drawn, with %s, %s %s", g.OpenHash, actsText(c.Acts), c.Class,
			g.Drawn, c.Limit, c.Counterparties, until, c.ExpiresAt.Format(time.RFC3339))
	}
	if a.json {
		a.print(jcs.Array(items...))
	} else if len(grants) == 0 {
		a.say("this party has no Open yet; grant one with: bindery mandate open")
	}
	return nil
}

// fullGrant is an own Open with its limit.
func fullGrant(g centre.Grant) (*mandate.PresentedOpen, error) {
	open, err := mandate.ParseOpen(g.Presented)
	if err != nil || g.Disclosure == "" {
		return open, err
	}
	return open.Disclose(g.Disclosure)
}

// closeOptions are the flags of mandate close.
type closeOptions struct {
	class, currency, act      string
	magnitude                 int64
	crossingID, agreementHash string
	counterparty, agent       string
}

func (a *app) mandateClose() *cobra.Command {
	var o closeOptions
	cmd := &cobra.Command{
		Use:   "close --crossing-id ID --agreement-hash HASH --counterparty ID --counterparty-agent ID --act ACT --class CLASS --magnitude N",
		Short: "Sign a Closed Mandate for one agreement and register it at the RA: its draw is booked at once",
		Long: "Sign a Closed Mandate for one agreement under an Open of this party, and register it at\n" +
			"the RA. The draw is booked at once, and does not come back unless the RA is in release\n" +
			"mode on. bindery cross does this by itself; this command is for a crossing that is\n" +
			"driven by hand.",
		Example: "  bindery mandate close --dir A --crossing-id $(uuidgen) --agreement-hash 329b8b3d06c2baefb1a0e0f0b638ad013a25504e0ac1354f2cee0ddfbbe3b4b3 \\\n" +
			"    --counterparty urn:anax:principal:globex --counterparty-agent urn:anax:agent:globex-1 --act engagement_code_issuance --class irreversible --magnitude 1",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := o.draw()
			if err != nil {
				return err
			}
			return a.withNode(c.Context(), func(n *node) error {
				token, receipt, err := n.centre.Close(c.Context(), *d)
				if err != nil {
					return err
				}
				if a.json {
					a.print(jcs.Object(
						jcs.Member{Name: "closed_mandate", Value: jcs.String(token)},
						jcs.Member{Name: "closed_mandate_hash", Value: jcs.String(string(jcs.HexOf([]byte(token))))},
						jcs.Member{Name: "receipt", Value: jcs.String(receipt)},
					))
					return nil
				}
				a.say("registered; its draw is booked")
				a.print([]byte(token))
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.crossingID, "crossing-id", "", "the crossing, a lower-case UUID")
	f.StringVar(&o.agreementHash, "agreement-hash", "", "hash of the agreed terms, 64 hex digits")
	f.StringVar(&o.counterparty, "counterparty", "", "the counterparty's principal")
	f.StringVar(&o.agent, "counterparty-agent", "", "the counterparty's agent")
	f.StringVar(&o.act, "act", "", "the act that is committed to")
	f.StringVar(&o.class, "class", "", "its commitment class")
	f.Int64Var(&o.magnitude, "magnitude", -1, "how much, in the class's unit")
	f.StringVar(&o.currency, "currency", "", "ISO 4217 code, for class financial")
	return cmd
}

func (o closeOptions) draw() (*centre.Draw, error) {
	amount, err := parseAmount(o.class, o.magnitude, o.currency, "--magnitude")
	if err != nil {
		return nil, err
	}
	hash, err := jcs.ParseHex256(o.agreementHash)
	switch {
	case err != nil:
		return nil, usagef("it is 64 lower-case hex digits, the hash of the agreed terms", "--agreement-hash %q is no hash", o.agreementHash)
	case !crossing.ValidCrossingID(o.crossingID):
		return nil, usagef("it is a lower-case UUID", "--crossing-id %q is no crossing id", o.crossingID)
	case !mandate.ValidPrincipalID(o.counterparty):
		return nil, usagef("it is the other principal, as urn:anax:principal:NAME", "--counterparty %q is no principal id", o.counterparty)
	case !mandate.ValidAgentID(o.agent):
		return nil, usagef("it is the other agent, as urn:anax:agent:NAME", "--counterparty-agent %q is no agent id", o.agent)
	}
	if err := checkActs([]string{o.act}); err != nil {
		return nil, err
	}
	return &centre.Draw{
		CrossingID: o.crossingID, AgreementHash: hash, Counterparty: o.counterparty, CounterpartyAgent: o.agent, Act: o.act, Amount: amount,
	}, nil
}

func (a *app) mandateVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify TOKEN|HASH|FILE|-",
		Short: "Verify an Open's signature under its principal's keys at the RA, and its expiry",
		Long: "Verify an Open's signature under the keys that the RA's signed record gives for its\n" +
			"principal, and its expiry. A hash names one of this party's own Opens. Whether it has\n" +
			"been revoked is another question: see bindery mandate status.",
		Example: "  bindery mandate verify --dir B open.txt",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			token, err := a.token(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.withNode(c.Context(), func(n *node) error {
				if token == "" {
					if token, err = n.ownOpen(c.Context(), args[0]); err != nil {
						return err
					}
				}
				if _, err := mandate.ParseClosed(token); err == nil {
					return usage("this is a Closed Mandate, and it is judged within its crossing alone", "give an Open")
				}
				open, err := mandate.ParseOpen(token)
				if err != nil {
					return crossing.RefuseAt(crossing.MandateInvalid, "§5.2-1 structure")
				}
				return a.verifyOpen(c.Context(), n, open)
			})
		},
	}
}

// ownOpen is the token of this party's Open with a hash, as it is presented.
func (n *node) ownOpen(ctx context.Context, hash string) (string, error) {
	grants, err := n.db.Centre().Grants(ctx)
	if err != nil {
		return "", err
	}
	for _, g := range grants {
		if string(g.OpenHash) == hash {
			return g.Presented, nil
		}
	}
	return "", usagef("list them with: bindery mandate list", "no Open of this party has the hash %s", hash)
}

func (a *app) verifyOpen(ctx context.Context, n *node, open *mandate.PresentedOpen) error {
	p, err := n.ra.Principal(ctx, open.Issuer())
	if errors.Is(err, &api.Error{Code: api.CodeNotFound}) {
		return crossing.RefuseAt(crossing.MandateInvalid, "§4.1.5 iss")
	}
	if err != nil {
		return err // the RA has not said anything about it
	}
	verified, err := open.Verify(p.IssuerKeys(time.Now()))
	if err != nil {
		return crossing.RefuseAt(crossing.MandateInvalid, "§5.2-1 open")
	}
	if verified.Expired(time.Now()) {
		return &crossing.Refusal{Name: crossing.MandateExpired, Path: "§5.7 F1", Peer: open.Issuer() != n.config.Principal}
	}
	if a.json {
		a.print(jcs.Object(
			jcs.Member{Name: "open_mandate_hash", Value: jcs.String(string(verified.OpenHash()))},
			jcs.Member{Name: "issuer", Value: jcs.String(verified.Issuer())},
			jcs.Member{Name: "subject", Value: jcs.String(verified.Subject())},
			jcs.Member{Name: "expires_at", Value: jcs.String(verified.ExpiresAt().Format(time.RFC3339))},
			jcs.Member{Name: "revocation", Value: jcs.String("not checked")},
		))
		return nil
	}
	a.line("signed by %s for %s, valid until %s", verified.Issuer(), verified.Subject(), verified.ExpiresAt().Format(time.RFC3339))
	a.line("Revocation was not checked: bindery mandate status %s", verified.OpenHash())
	return nil
}

func (a *app) mandateStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status HASH",
		Short: "Ask the RA whether a mandate is active; the answer is signed and about this moment",
		Long: "Ask the RA whether a mandate is active. An unknown, revoked, expired or spent mandate\n" +
			"all look alike: not active.",
		Example: "  bindery mandate status --dir A 7d2cb17866407d948da12bcbbf5788e3cae9f98a7d525772728119c1b4d332e9",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			hash, err := parseHash(args[0])
			if err != nil {
				return err
			}
			return a.withNode(c.Context(), func(n *node) error {
				s, err := n.ra.Status(c.Context(), hash)
				if err != nil {
					return err
				}
				word := map[bool]string{true: "active", false: "not active"}[s.Active]
				if a.json {
					a.print(jcs.Object(
						jcs.Member{Name: "hash", Value: jcs.String(string(s.Hash))},
						jcs.Member{Name: "status", Value: jcs.String(word)},
						jcs.Member{Name: "checked_at", Value: jcs.String(s.At.Format(time.RFC3339))},
					))
				} else {
					a.line("%s, checked at %s", word, s.At.Format(time.RFC3339))
				}
				if !s.Active {
					return errVerdict
				}
				return nil
			})
		},
	}
}

func (a *app) mandateRevoke() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "revoke HASH --yes",
		Short: "Revoke a mandate of this party at the RA; an Open takes its Closeds with it",
		Long: "Revoke a mandate of this party at the RA, by either of its hashes. It cannot be undone.\n" +
			"Without --yes nothing is done, and the command ends with exit code 2. The RA's answer\n" +
			"names the state before: active or held proves that no seal can come of it; spent means\n" +
			"that one may have, and it stands. Revoking again gives the first answer.",
		Example: "  bindery mandate revoke --dir A 7d2cb17866407d948da12bcbbf5788e3cae9f98a7d525772728119c1b4d332e9 --yes",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			hash, err := parseHash(args[0])
			if err != nil {
				return err
			}
			if !yes {
				return usagef("nothing was done; it cannot be undone, add --yes to do it", "this would revoke %s", hash)
			}
			return a.withNode(c.Context(), func(n *node) error {
				answer, err := n.ra.Revoke(c.Context(), hash)
				if err != nil {
					return err
				}
				if err := n.forget(c.Context(), hash); err != nil {
					return err
				}
				if a.json {
					a.print(jcs.Object(
						jcs.Member{Name: "hash", Value: jcs.String(string(hash))},
						jcs.Member{Name: "before", Value: jcs.String(answer.Before)},
						jcs.Member{Name: "receipt", Value: jcs.String(answer.Receipt)},
					))
					return nil
				}
				a.line("revoked; before it was %s", answer.Before)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}

// forget marks an own Open that was revoked by either of its hashes, so that it is
// presented no more.
func (n *node) forget(ctx context.Context, hash jcs.Hex256) error {
	store := n.db.Centre()
	grants, err := store.Grants(ctx)
	if err != nil {
		return err
	}
	for _, g := range grants {
		full, err := fullGrant(g)
		if err != nil {
			return err
		}
		if g.OpenHash == hash || full.TokenHash() == hash {
			return store.RevokeGrant(ctx, g.OpenHash, time.Now())
		}
	}
	return nil
}

func parseHash(s string) (jcs.Hex256, error) {
	hash, err := jcs.ParseHex256(s)
	if err != nil {
		return "", usagef("list them with: bindery mandate list", "%q is no hash of a mandate: 64 lower-case hex digits", s)
	}
	return hash, nil
}
