package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/failpoint"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// initOptions are the flags of init.
type initOptions struct {
	principal, name string
	trustBasis      string
	agcLevel        int64
	pack            string
	join, code      string
	ownRA           string
	release         string
	addr, adminAddr string
	store           string
	roles           []string
	protection
}

func (a *app) initialise() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init --principal ID [--join URL --code CODE]",
		Short: "Make a party's directory: keys and a clearance envelope; it grants nothing",
		Long: "Make a party's directory: keys and a clearance envelope; it grants nothing.\n\n" +
			"The private keys are encrypted with age. At a terminal a passphrase is asked, twice;\n" +
			"each command that signs asks for it once. With --key-file an age identity in that file\n" +
			"opens them. With neither, or with an empty passphrase, init makes the key file age.key\n" +
			"in the directory, readable by its owner alone, and says so. Later: bindery keys passwd.\n\n" +
			"With --signer a key stays in a program of yours, which asks a KMS or an HSM to sign:\n" +
			"--signer agent=/path/to/program, or --signer 'agent=[\"/path/to/program\",\"argument\"]'.\n" +
			"The package doc of signer in Bindery's source has its protocol.",
		Example: "  bindery init --dir B --principal urn:anax:principal:globex\n" +
			"  bindery init --dir B --principal urn:anax:principal:globex --key-file /media/stick/b.key\n" +
			"  bindery init --dir A --principal urn:anax:principal:acme --join http://127.0.0.1:7410 --code \"$CODE\"",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := a.directory()
			if err != nil {
				return err
			}
			o.ask = a.asker(c.Context())
			h, err := initHome(c.Context(), dir, o)
			if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.CodeMalformed {
				return usagef("see: bindery init --help", "the RA cannot take the %s", firstOf(strings.TrimPrefix(e.Pointer, "/"), "request"))
			}
			if err != nil {
				return err
			}
			a.sayOpener(h)
			a.say("%s is the directory of %s", dir, h.Principal)
			a.say("its agent is %s; it has no mandate yet", h.AgentID)
			if a.json {
				a.print(jcs.Object(
					jcs.Member{Name: "dir", Value: jcs.String(dir)},
					jcs.Member{Name: "principal_id", Value: jcs.String(h.Principal)},
					jcs.Member{Name: "agent_id", Value: jcs.String(h.AgentID)},
				))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.principal, "principal", "", "the organisation, as urn:anax:principal:NAME")
	f.StringVar(&o.name, "name", "", "the organisation's name for people (default: the last part of the principal)")
	f.StringVar(&o.trustBasis, "trust-basis", "self_declared", "evidence behind the clearance envelope (§3.4)")
	f.Int64Var(&o.agcLevel, "agc-level", 1, "governance level of the clearance envelope")
	f.StringVar(&o.pack, "pack", "bindery-default/1.0.0", "governance pack, as ID/VERSION")
	f.StringVar(&o.join, "join", "", "URL of the RA and VA to join, with --code")
	f.StringVar(&o.code, "code", "", "one-time code from: bindery enrol")
	f.StringVar(&o.ownRA, "own-ra", "", "URL at which this directory will serve an RA of its own, beside the one it joins")
	f.StringVar(&o.store, "store", "", storeUsage)
	f.StringVar(&o.release, "release", "", "on: this directory's RA returns what can no longer be sealed; none (default): nothing ever returns")
	f.StringVar(&o.keyFile, "key-file", "", "an age identity that opens the keys, mode 0600; made if it is not there")
	f.StringArrayVar(&o.plugins, "signer", nil, "NAME=PROGRAM: a program holds this key and signs; may be repeated")
	return cmd
}

var principalForm = regexp.MustCompile(`^urn:anax:principal:[A-Za-z0-9._-]{1,128}$`)

func (o *initOptions) check() error {
	switch {
	case o.principal == "":
		return usage("init needs a principal", "try --principal urn:anax:principal:NAME")
	case !principalForm.MatchString(o.principal):
		return usagef("try --principal urn:anax:principal:NAME", "%q is no principal id", o.principal)
	case !mandate.ValidTrustBasis(o.trustBasis):
		return usagef("try self_declared", "%q is no trust basis", o.trustBasis)
	case o.agcLevel < 0:
		return usage("the agc level is negative", "try --agc-level 1")
	case (o.join == "") != (o.code == ""):
		return usage("--join and --code belong together", "get a code with: bindery enrol --dir DIR")
	case o.ownRA != "" && o.join == "":
		return usage("--own-ra says which RA to bring along when joining", "add --join URL --code CODE")
	case o.release != "" && o.join != "" && o.ownRA == "":
		return usage("--release is about an RA of this directory's own", "leave it out, or add --own-ra URL")
	}
	if _, err := registry.ParseReleaseMode(o.release); err != nil {
		return usagef("try --release on or --release none", "%q is no release mode", o.release)
	}
	if err := checkStore(o.store); err != nil {
		return err
	}
	if err := o.checkPlugins(); err != nil {
		return err
	}
	id, version, ok := strings.Cut(o.pack, "/")
	if !ok || id == "" || version == "" || concealed(o.pack) {
		return usagef("try --pack NAME/1.0.0", "%q is no governance pack", o.pack)
	}
	return nil
}

// initHome makes the directory. It leaves nothing half made: a directory that could not
// be joined is removed again.
func initHome(ctx context.Context, dir string, o initOptions) (h *home, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if fileExists(filepath.Join(dir, joiningFile)) {
		return resumeJoin(ctx, dir, o)
	}
	made := []string{joiningFile, configFile, secretsFile, keysDir, storeFile, storeFile + "-wal", storeFile + "-shm"}
	for _, name := range made { // also without its config: keys and seals are not to be lost
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			if name != configFile {
				return nil, usagef("restore it, or remove what an init that was cut short has left, or choose another --dir",
					"%s has no %s, and there is a %s in it", dir, configFile, name)
			}
			return nil, usagef("choose another --dir", "%s has been initialised before: there is a %s in it", dir, name)
		}
	}
	if o.keyFile == "" && fileExists(filepath.Join(dir, keyFile)) {
		return nil, usagef("choose another --dir, or add --key-file "+filepath.Join(dir, keyFile), "there is a key file in %s", dir)
	}
	there := fileExists(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, usagef("choose another --dir", "%s cannot be made: %v", dir, err)
	}
	opens := newRing(o.ask)
	var party *home
	defer func() {
		if err != nil && party != nil && party.begun {
			err = cutShort(o.join, err)
		} else if err != nil {
			if opens.made != "" {
				err = errors.Join(err, os.Remove(opens.made))
			}
			for _, name := range made {
				err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
			}
			if !there {
				_ = os.Remove(dir) // unless somebody has put something there
			}
		}
	}()
	packID, packVersion, _ := strings.Cut(o.pack, "/")
	short := o.principal[strings.LastIndexByte(o.principal, ':')+1:]
	if o.name == "" {
		o.name = short
	}
	h = &home{dir: dir, ring: opens, config: config{
		Principal: o.principal, Name: o.name, AgentID: "urn:anax:agent:" + short + "-" + randomHex(16),
		Clearance: clearance{TrustBasis: o.trustBasis, AGCLevel: o.agcLevel, PackID: packID, PackVersion: packVersion},
		Roles:     o.roles, Addr: o.addr, AdminAddr: o.adminAddr, Release: o.release,
	}, secrets: secrets{
		ClearanceID: randomHex(32), Principal: credential(), Agent: credential(), Effector: credential(),
		Publisher: credential(), Operator: credential(),
	}}
	party = h
	if h.Addr == "" {
		h.Addr = defaultAddr
	}
	if h.AdminAddr == "" {
		h.AdminAddr = defaultAdmin
		if o.join != "" { // beside the one that it joins, perhaps on the same machine
			h.AdminAddr = freeAdmin
		}
	}
	h.setStore(o.store)
	if err := h.claimStore(ctx); err != nil {
		return nil, err
	}
	if err := h.protect(o.protection); err != nil {
		return nil, err
	}
	for _, name := range []string{"principal", "agent", "publisher"} {
		if _, err := h.newKey(name); err != nil {
			return nil, err
		}
	}
	if o.join == "" {
		if err := h.found(); err != nil {
			return nil, err
		}
		return h, h.keep(ctx)
	}
	if o.ownRA != "" {
		if _, err := h.newKey(roleRA); err != nil {
			return nil, err
		}
	}
	if err := h.noteJoin(o); err != nil {
		return nil, err
	}
	return h, h.finishJoin(ctx, o)
}

// keep writes what names the directory as a party's when all that it needs is there: its own
// RA has to know it first, while for an RA elsewhere it is one from the use of the code on.
func (h *home) keep(ctx context.Context) error {
	if !h.RA.Own {
		if err := h.save(); err != nil {
			return err
		}
		return h.settle(ctx)
	}
	if err := h.settle(ctx); err != nil {
		return err
	}
	failpoint.Hit("init-entered")
	return h.save()
}

// found makes a directory that joins nobody: RA and VA of its own.
func (h *home) found() error {
	if len(h.Roles) == 0 {
		h.Roles = []string{roleRA, roleVA, roleCentre}
	}
	for _, own := range []struct {
		role string
		at   *trusted
	}{{roleRA, &h.RA}, {roleVA, &h.VA}} {
		if !h.has(own.role) {
			continue
		}
		s, err := h.newKey(own.role)
		if err != nil {
			return err
		}
		*own.at = trusted{Own: true, Key: s.Key().JWK()}
	}
	return nil
}

// join pins the keys that the code carries and enrols this party.
func (h *home) join(ctx context.Context, o initOptions) error {
	code, err := api.ParseCode(strings.TrimSpace(o.code))
	if err != nil {
		return usage("the code is no enrolment code", "get one with: bindery enrol --dir DIR")
	}
	switch {
	case o.ownRA != "" && code.RAKey != "":
		return h.joinPeer(ctx, o, code)
	case o.ownRA != "":
		return h.joinVA(ctx, o, code)
	}
	h.Roles = []string{roleCentre}
	return h.joinRA(ctx, o, code)
}

// joinVA brings an RA along and has its key pinned at somebody's VA.
func (h *home) joinVA(ctx context.Context, o initOptions, code api.Code) error {
	if code.VAKey == "" {
		return usage("the code joins no VA", "get one from the VA's operator")
	}
	h.Roles = []string{roleRA, roleCentre}
	s, err := h.key(roleRA)
	if err != nil {
		return err
	}
	h.RA = trusted{Own: true, URL: strings.TrimSuffix(o.ownRA, "/"), Key: s.Key().JWK()}
	va, err := joined(ctx, o.join, code.VAKey, "VA")
	if err != nil {
		return err
	}
	c, err := client.New(client.Config{BaseURL: o.join, Keys: va})
	if err != nil {
		return usagef("give a URL such as http://127.0.0.1:7410", "--join: %v", err)
	}
	var enrolled api.RegistryEnrolled
	err = h.useCode(func() (err error) {
		enrolled, err = c.Authority().EnrolRegistry(ctx, api.EnrolRegistry{
			Secret: code.Secret, Key: s.Key(), PrincipalID: h.config.Principal, URL: h.RA.URL,
		})
		return err
	})
	if err != nil {
		return joinError(o.join, err)
	}
	h.VA = trusted{URL: strings.TrimSuffix(enrolled.BaseURL, "/"), Key: va.Keys()[0].JWK()}
	return nil
}

// joinRA enrols this party at somebody's RA, and pins that RA's VA.
func (h *home) joinRA(ctx context.Context, o initOptions, code api.Code) error {
	if code.RAKey == "" || code.VAKey == "" {
		return usage("the code joins no RA", "add --own-ra URL, or get a code from an RA's operator")
	}
	ra, err := joined(ctx, o.join, code.RAKey, "RA")
	if err != nil {
		return err
	}
	h.RA = trusted{URL: strings.TrimSuffix(o.join, "/"), Key: ra.Keys()[0].JWK()}
	c, err := client.New(client.Config{BaseURL: o.join, Keys: ra})
	if err != nil {
		return usagef("give a URL such as http://127.0.0.1:7410", "--join: %v", err)
	}
	req, err := h.enrolment(code.Secret)
	if err != nil {
		return err
	}
	if err := h.prove(&req, ra.Keys()[0].ID); err != nil {
		return err
	}
	var enrolled api.Enrolled
	err = h.useCode(func() (err error) { enrolled, err = c.Registry().Enrol(ctx, req); return err })
	if err != nil {
		return joinError(o.join, err)
	}
	va, err := joined(ctx, enrolled.VAURL, code.VAKey, "VA")
	if err != nil {
		return err
	}
	h.VA = trusted{URL: strings.TrimSuffix(enrolled.VAURL, "/"), Key: va.Keys()[0].JWK()}
	return h.announce(ctx, enrolled.PublisherGrant)
}

// announce shows the RA's grant to the VA, so that it takes this party's publications.
func (h *home) announce(ctx context.Context, grant string) error {
	keys, err := h.VA.pinned()
	if err != nil {
		return err
	}
	c, err := client.New(client.Config{BaseURL: h.VA.URL, Keys: keys, Credentials: client.Credentials{Publisher: h.secrets.Publisher}})
	if err != nil {
		return usagef("ask the operator of the RA", "the URL of the VA is wrong: %v", err)
	}
	if err := c.Authority().AddPublisher(ctx, grant); err != nil {
		return joinError(h.VA.URL, err)
	}
	return nil
}

// joined fetches the published keys and keeps the one that the code pins.
func joined(ctx context.Context, url, thumbprint, what string) (jose.KeySet, error) {
	keys, err := client.PinnedKeys(ctx, url, thumbprint)
	if err != nil {
		return jose.KeySet{}, joinError(url, err)
	}
	if len(keys.Keys()) != 1 {
		return jose.KeySet{}, usagef("is it the right URL?", "%s does not have the %s key that the code pins", url, what)
	}
	return keys, nil
}

func joinError(url string, err error) error {
	var e *api.Error
	switch {
	case errors.As(err, &e) && e.Code == api.CodeEnrolment:
		return usage("the code is unknown, used or expired", "get a new one with: bindery enrol --dir DIR")
	case errors.As(err, &e) && e.Code == api.CodeEnrolmentMismatch:
		return usage("the code is for something else: a party, an RA that is brought along, or another principal",
			"get one with: bindery enrol --for party, or --for ra to join with --own-ra")
	case errors.As(err, &e) && e.Code == api.CodeConflict:
		return usagef("restore the directory that joined it, or choose another --principal", "%s knows this principal already, with other keys", url)
	case errors.As(err, &e) && e.Code != api.CodeUnavailable:
		return err
	case errors.Is(err, client.ErrUnverified):
		return usagef("is it the right URL?", "%s does not have the key that the code pins", url)
	}
	return usagef("is bindery serve running there?", "%s gives no answer", url)
}

// enrolment is what this party tells an RA about itself: ids, public keys, and the
// hashes of clearance id and credentials.
func (h *home) enrolment(secret string) (api.Enrol, error) {
	principal, err := h.key("principal")
	if err != nil {
		return api.Enrol{}, err
	}
	agent, err := h.key("agent")
	if err != nil {
		return api.Enrol{}, err
	}
	publisher, err := h.key("publisher")
	if err != nil {
		return api.Enrol{}, err
	}
	return api.Enrol{
		Secret: secret, PrincipalID: h.config.Principal, Name: h.Name, ClearanceIDHash: jcs.HexOf([]byte(h.secrets.ClearanceID)),
		TrustBasis: h.Clearance.TrustBasis, AGCLevel: h.Clearance.AGCLevel,
		Keys: []jose.Key{principal.Key()}, Agents: []mandate.Agent{{ID: h.AgentID, Key: agent.Key()}},
		Credentials: []api.Credential{
			{Role: api.RolePrincipal, Hash: api.CredentialHash(h.secrets.Principal)},
			{Role: api.RoleAgent, AgentID: h.AgentID, Hash: api.CredentialHash(h.secrets.Agent)},
			{Role: api.RoleEffector, Hash: api.CredentialHash(h.secrets.Effector)},
		},
		Publisher: &api.Publisher{Key: publisher.Key(), CredentialHash: api.CredentialHash(h.secrets.Publisher)},
	}, nil
}

// prove has each key of the request sign that it is to be registered at the RA.
func (h *home) prove(req *api.Enrol, registry string) error {
	var signers []*jose.Signer
	for _, name := range []string{"principal", "agent", "publisher"} {
		s, err := h.key(name)
		if err != nil {
			return err
		}
		signers = append(signers, s)
	}
	return req.Prove(registry, signers...)
}

// settle makes the database and enters this party at its own RA and VA.
func (h *home) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	n, err := openNode(ctx, h, nodeOptions{})
	if err != nil {
		return err
	}
	defer n.Close()
	if n.registry == nil {
		return nil
	}
	req, err := h.enrolment("")
	if err != nil {
		return err
	}
	req.Credentials = append(req.Credentials, api.Credential{Role: api.RoleOperator, Hash: api.CredentialHash(h.secrets.Operator)})
	enrolled, err := n.registry.EnrolSelf(ctx, req)
	if err != nil {
		return err
	}
	if c := h.counterpart; c != nil {
		if err := n.registry.AddPeer(ctx, c.Counterpart, c.registry); err != nil {
			return err
		}
	}
	if n.authority == nil {
		return h.announce(ctx, enrolled.PublisherGrant)
	}
	ra, err := h.RA.pinned()
	if err != nil {
		return err
	}
	if err := n.authority.PinRegistry(ctx, ra.Keys()[0]); err != nil {
		return err
	}
	return n.authority.AddPublisher(ctx, h.secrets.Publisher, enrolled.PublisherGrant)
}
