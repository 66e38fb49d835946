package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// office is what a registry keeps of principals, here or elsewhere. [client.Registry] is
// one.
type office interface {
	Principal(ctx context.Context, principalID string) (mandate.Principal, error)
	Add(ctx context.Context, req api.Addition) error
	Retire(ctx context.Context, req api.Retirement) error
	HumanRequests(ctx context.Context, principalID string) (api.HumanRequests, error)
	DecideHuman(ctx context.Context, req api.HumanDecision) error
	ProveDomain(ctx context.Context, req api.DomainProof) error
	RegisterIssuer(ctx context.Context, req api.RegisterIssuer) error
	SetSuspended(ctx context.Context, req api.Suspension) error
	Withdraw(ctx context.Context, req api.Withdrawal) error
}

// localOffice is the registry of this directory: its terminal is the operator's.
type localOffice struct{ n *node }

// as is who acts on a principal: for this directory's own, that principal.
func (l localOffice) as(principalID string) registry.Actor {
	if principalID == l.n.config.Principal {
		return registry.Actor{Role: api.RolePrincipal, PrincipalID: principalID}
	}
	return l.operator()
}

func (l localOffice) operator() registry.Actor {
	return registry.Actor{Role: api.RoleOperator, PrincipalID: l.n.config.Principal}
}

func (l localOffice) Principal(ctx context.Context, id string) (mandate.Principal, error) {
	token, err := l.n.registry.Principal(ctx, id)
	if err != nil {
		return mandate.Principal{}, err
	}
	keys, err := l.n.RA.pinned()
	if err != nil {
		return mandate.Principal{}, err
	}
	return mandate.ParsePrincipal(token, keys)
}

func (l localOffice) Add(ctx context.Context, req api.Addition) error {
	return l.n.registry.Add(ctx, l.as(req.PrincipalID), req)
}

func (l localOffice) Retire(ctx context.Context, req api.Retirement) error {
	return l.n.registry.Retire(ctx, l.as(req.PrincipalID), req)
}

func (l localOffice) HumanRequests(ctx context.Context, principalID string) (api.HumanRequests, error) {
	return l.n.registry.HumanRequests(ctx, l.operator(), principalID)
}

func (l localOffice) DecideHuman(ctx context.Context, req api.HumanDecision) error {
	return l.n.registry.DecideHuman(ctx, l.operator(), req)
}

func (l localOffice) ProveDomain(ctx context.Context, req api.DomainProof) error {
	return l.n.registry.ProveDomain(ctx, l.as(req.PrincipalID), req)
}

func (l localOffice) RegisterIssuer(ctx context.Context, req api.RegisterIssuer) error {
	return l.n.registry.RegisterIssuer(ctx, l.operator(), req)
}

func (l localOffice) SetSuspended(ctx context.Context, req api.Suspension) error {
	return l.n.registry.SetSuspended(ctx, l.operator(), req)
}

func (l localOffice) Withdraw(ctx context.Context, req api.Withdrawal) error {
	return l.n.registry.Withdraw(ctx, l.operator(), req)
}

// officeOptions are flags of every office command.
type officeOptions struct {
	principal  string // "": this directory's
	credential string // a file with an operator's credential at an RA elsewhere
}

// of is the principal that a command is about.
func (o officeOptions) of(n *node) string { return firstOf(o.principal, n.config.Principal) }

// remote reaches the RA that the directory has joined: as its principal, or with an
// operator's credential as the operator.
func (o officeOptions) remote(n *node) (office, error) {
	keys, err := n.RA.pinned()
	if err != nil {
		return nil, err
	}
	c := client.Credentials{Principal: n.secrets.Principal, Agent: n.secrets.Agent}
	if o.credential != "" {
		if c.Operator, err = readCredential(o.credential); err != nil {
			return nil, err
		}
		c.Principal = "" // the client would prefer it
	}
	speaker, err := client.New(client.Config{BaseURL: n.RA.URL, Keys: keys, Credentials: c})
	if err != nil {
		return nil, usagef("see "+configFile, "the RA's URL is wrong: %v", err)
	}
	return speaker.Registry(), nil
}

// readCredential reads a bearer credential from a file that is its owner's alone.
func readCredential(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", usagef("give a file with the credential alone", "the credential file %s cannot be read", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", usagef("chmod 600 "+path, "the credential file %s can be read by others", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", usagef("give a file with the credential alone", "the credential file %s cannot be read", path)
	}
	token := strings.TrimSpace(string(b))
	if token == "" || len(token) > 256 || strings.ContainsAny(token, " \t\r\n") {
		return "", usagef("give a file with the credential alone", "the file %s holds no credential", path)
	}
	return token, nil
}

// withOffice runs f on the directory's RA, its own or the one that it has joined.
func (a *app) withOffice(ctx context.Context, o officeOptions, f func(*node, office) error) error {
	if o.principal != "" && !mandate.ValidPrincipalID(o.principal) {
		return usagef("give an identifier such as urn:anax:principal:NAME", "--principal %q names no principal", o.principal)
	}
	return a.withRA(ctx, func(n *node) error {
		var at office = localOffice{n}
		if n.registry != nil && o.credential != "" {
			return usage("this directory has an RA of its own, whose operator the terminal is", "leave --operator-credential out, or run it in a directory that has joined the RA")
		}
		if n.registry == nil {
			var err error
			if at, err = o.remote(n); err != nil {
				return err
			}
		}
		return officeError(f(n, at))
	})
}

// officeError has what an RA says of a malformed request told as the wrong argument that it
// comes from, and a credential that is missing as what to do about it.
func officeError(err error) error {
	e, ok := errors.AsType[*api.Error](err)
	switch {
	case ok && e.Code == api.CodeMalformed:
		return usagef("see its --help", "the RA cannot take %s", firstOf(strings.TrimPrefix(e.Pointer, "/"), "the request"))
	case ok && e.Code == api.CodeUnauthenticated:
		return usage("the RA is elsewhere and knows no credential of this directory for that", "run it in the directory of the RA, or add --operator-credential FILE")
	}
	return err
}

func (a *app) office() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "office",
		Short: "Keep the RA's directory: principals, keys, agents, humans, issuers, credentials",
		Long: "Keep the directory of the Registration Authority: this directory's own, or the one that it\n" +
			"has joined. In the directory of an RA the terminal is the operator's. A party that has\n" +
			"joined an RA keeps what is its own there; for the rest it needs --operator-credential.",
		Example: "  bindery office principal show",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	o := new(officeOptions)
	cmd.PersistentFlags().StringVar(&o.principal, "principal", "", "whom it is about (default: this directory's principal)")
	cmd.PersistentFlags().StringVar(&o.credential, "operator-credential", "", "a file with the operator's credential at an RA elsewhere")
	cmd.AddCommand(a.officePrincipal(o), a.officeKey(o), a.officeAgent(o), a.officeHuman(o), a.officeIssuer(o), a.officeDomain(o),
		a.officeRegistry(),
		a.officeSuspend(o, true), a.officeSuspend(o, false), a.officeCredential(o))
	return cmd
}

// group is a command that has commands and does nothing itself.
func group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: "  bindery office " + example, Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// done says what was done, in a line or as an object.
func (a *app) done(line string, members ...jcs.Member) error {
	if a.json {
		a.print(jcs.Object(members...))
	} else {
		a.line("%s", line)
	}
	return nil
}

func said(name, value string) jcs.Member { return jcs.Member{Name: name, Value: jcs.String(value)} }

// maxJWK is above what any public key takes.
const maxJWK = 128 << 10

// readJWK reads one public key from a file, or from stdin for "-". It goes by its
// thumbprint, whatever it calls itself.
func (a *app) readJWK(ctx context.Context, path string) (mandate.Key, error) {
	if path == "" {
		return mandate.Key{}, usage("no key is given", "add --jwk FILE, a public P-256 key as a JWK")
	}
	b, err := a.read(ctx, path, maxJWK, "give a file with one public P-256 key as a JWK")
	if err != nil {
		return mandate.Key{}, err
	}
	k, err := mandate.ParseJWK(b)
	if err != nil {
		return mandate.Key{}, usagef("give a file with one public P-256 key as a JWK, without d", "%s holds no such key", inputName(path))
	}
	k.Kid = ""
	return k, nil
}

// spanOptions are flags that say when a key may sign.
type spanOptions struct{ jwk, from, until string }

func (s *spanOptions) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.jwk, "jwk", "", "a file with the public key as a JWK; - is stdin")
	cmd.Flags().StringVar(&s.from, "not-before", "", "when it may first sign, as 2026-09-01T12:00:00Z")
	cmd.Flags().StringVar(&s.until, "not-after", "", "until when it may sign, as 2026-09-01T12:00:00Z")
}

func (a *app) boundedKey(ctx context.Context, s spanOptions) (k mandate.Key, err error) {
	if k, err = a.readJWK(ctx, s.jwk); err != nil {
		return k, err
	}
	if k.NotBefore, err = parseMoment("--not-before", s.from); err != nil {
		return k, err
	}
	if k.NotAfter, err = parseMoment("--not-after", s.until); err != nil {
		return k, err
	}
	if !k.NotAfter.IsZero() && !k.NotBefore.Before(k.NotAfter) {
		return k, usage("a key with these times never signs", "give a --not-after that is later than --not-before")
	}
	return k, nil
}

// parseMoment reads a time in whole seconds, "" as the zero time.
func parseMoment(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !t.Equal(t.Truncate(time.Second)) || t.Unix() < 0 {
		return time.Time{}, usagef("try "+flag+" 2026-09-01T12:00:00Z", "%s %q is no time in whole seconds", flag, s)
	}
	return t.UTC(), nil
}

func checkThumbprint(s string) error {
	if !api.ValidThumbprint(s) {
		return usagef("list them with: bindery office key list", "%q is no thumbprint of a key (RFC 7638): 43 characters", s)
	}
	return nil
}
