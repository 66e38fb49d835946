package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/store/sqlstore"
)

// defaultGatewayAddr is where serve has the gateway, if its configuration names no address.
const defaultGatewayAddr = "127.0.0.1:7412"

// gatewayFlags are those of bindery gateway.
type gatewayFlags struct {
	upstream, addr, name, agent, require, store string
	headers                                     []string
}

func (a *app) gateway() *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "gateway (--upstream URL | -- COMMAND…) [--addr HOST:PORT]",
		Short: "Stand in front of an MCP server: a call that names an execution reaches its tool at most once",
		Long: "Stand in front of an MCP server, a URL or a command, and pass on what clients and server say.\n" +
			"Without --addr the client is on standard input and output; with it clients come over HTTP, to\n" +
			"/mcp. Without an upstream on the command line those of config.json are served.\n\n" +
			"What is not bound passes byte for byte. A tools/call is bound that has an execution_id, and\n" +
			"the time of the operation, in its _meta:\n\n" +
			`  "_meta": {"bindery/execution_id": "order-7", "bindery/action_timestamp": "2026-11-30T12:00:00Z"}` + "\n\n" +
			"It is recorded before it is sent. The same call again is answered from the record, and never\n" +
			"sent again; another call under the same id is refused. What to do when the outcome is not\n" +
			"known says: bindery executions.\n\n" +
			"On standard input and output whoever may start the gateway in its directory is an agent of\n" +
			"that directory, by the name that --agent gives; once agents have been registered, the one\n" +
			"whose key " + agentKeyEnv + " holds. Over HTTP an execution_id is taken from an agent\n" +
			"that has authenticated itself: see bindery gateway agent.\n\n" +
			"A directory that is not there is made, for a gateway alone, if the upstream's command is\n" +
			"there or its URL can be reached. Several replicas are copies of one directory over one\n" +
			"PostgreSQL database (--store), each with an --addr of its own: they share the key that\n" +
			"signs the log and the key that keeps sessions apart.",
		Example: "  bindery gateway -- npx -y @modelcontextprotocol/server-filesystem .\n" +
			"  bindery gateway --upstream https://tools.example/mcp --header-env Authorization=TOOLS_TOKEN\n" +
			"  bindery gateway --addr 127.0.0.1:7412 -- my-mcp-server --flag",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			return a.runGateway(c, f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.upstream, "upstream", "", "URL of an MCP server over streamable HTTP")
	flags.StringVar(&f.addr, "addr", "", "serve clients over HTTP at HOST:PORT (default: one client, on standard input and output)")
	flags.StringVar(&f.name, "name", "", "the upstream's name, which is part of every action_scope (default: made of its URL or command)")
	flags.StringVar(&f.agent, "agent", "", "the client's name on standard input and output (default stdio)")
	flags.StringArrayVar(&f.headers, "header-env", nil, "NAME=VARIABLE: send this header to the URL, with the value of that variable; may be repeated")
	flags.StringVar(&f.require, "require-execution-id", "", "none, destructive or all: which tools are refused without an execution_id")
	flags.StringVar(&f.store, "store", "", storeUsage)
	cmd.AddCommand(a.gatewayAgent(), a.gatewayInstall(), a.gatewayExplain())
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 { // it is a flag of what was meant
			return noSuchGateway(c, words)
		}
		return c.Root().FlagErrorFunc()(c, err)
	})
	return cmd
}

// runGateway says what is wrong with a command line before it makes or opens anything.
func (a *app) runGateway(c *cobra.Command, f gatewayFlags, args []string) error {
	dash := c.ArgsLenAtDash()
	switch {
	case dash < 0 && len(args) > 0 || dash > 0:
		return noSuchGateway(c, args)
	case len(args) > 0 && f.upstream != "":
		return usage("--upstream and a command are two upstreams", "give one of them; several stand in config.json")
	case dash == 0 && len(args) == 0:
		return usage("there is no command after --", "try: bindery gateway -- my-mcp-server")
	case len(args) > 0 && len(f.headers) > 0:
		return usage("--header-env is for a URL", "set the command's environment")
	case f.addr != "" && f.agent != "":
		return usage("--agent names the client on standard input and output", "over HTTP an agent has a key: bindery gateway agent add NAME")
	case f.agent != "" && !agentauth.ValidName(f.agent):
		return badAgentName()
	case f.agent != "" && os.Getenv(agentKeyEnv) != "":
		return usage("--agent and "+agentKeyEnv+" both say who the client is", "give one of them")
	}
	if _, err := requireWord(f.require); err != nil {
		return err
	}
	headers, err := headerFlags(f.headers)
	if err != nil {
		return err
	}
	var given *gatewayUpstream
	if f.upstream != "" || len(args) > 0 {
		u, err := adHoc(f.name, f.upstream, args)
		if err != nil {
			return err
		}
		u.HeadersEnv = headers
		given = &u
	}
	if err := a.canServe(c.Context(), given); err != nil {
		return err
	}
	var l net.Listener
	if f.addr != "" {
		if l, err = listen("--addr", f.addr); err != nil {
			return err
		}
		defer l.Close()
	}
	h, err := a.gatewayHome(c.Context(), f.store)
	if err != nil {
		return err
	}
	cfg, err := h.gateway()
	if err != nil {
		return err
	}
	if err := cfg.choose(given, f); err != nil {
		return err
	}
	db, err := h.openStore(c.Context())
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if f.addr != "" {
		err = a.gatewayOverHTTP(c.Context(), h, cfg, db, l, hostPort(f.addr, l), log)
	} else {
		err = a.gatewayOverStdio(c.Context(), h, cfg, db, f.agent, log)
	}
	return errors.Join(err, db.Close())
}

// canServe refuses an upstream that cannot be started, and, before a directory is made for it, one
// that cannot be reached.
func (a *app) canServe(ctx context.Context, given *gatewayUpstream) error {
	switch {
	case given == nil && !a.initialised(): // a directory that is made now has no upstream
		return noUpstream()
	case given == nil:
		return nil
	}
	if err := given.startable(); err != nil || a.initialised() {
		return err
	}
	if _, err := (&home{}).header(*given); err != nil { // it has those of the environment alone
		return err
	}
	return given.reachable(ctx)
}

func badAgentName() error {
	return usage("the name of an agent is 1 to 64 letters, digits, dots, hyphens and underscores", "try --agent NAME")
}

func noUpstream() error {
	return usage("there is no upstream", "try: bindery gateway -- COMMAND…, or: bindery gateway --upstream URL")
}

// initialised reports whether the directory is somebody's already.
func (a *app) initialised() bool {
	dir, err := a.directory()
	return err == nil && fileExists(filepath.Join(dir, configFile))
}

// noSuchGateway is an argument that is neither a command of ours nor behind --.
func noSuchGateway(c *cobra.Command, args []string) error {
	try := "see: " + c.CommandPath() + " --help"
	if c.Name() == "gateway" {
		try = "put the server's command behind --, as in: bindery gateway -- " + args[0]
	}
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		try = "did you mean: " + c.CommandPath() + " " + near[0]
	}
	return usagef(try, "%q is no command of %s", args[0], c.CommandPath())
}

func requireWord(word string) (string, error) {
	switch word {
	case "", "none", "destructive", "all":
		return word, nil
	}
	return "", usagef("try --require-execution-id destructive", "%q is none of none, destructive, all", word)
}

// choose takes the upstreams that are to be served.
func (g *gatewayConfig) choose(given *gatewayUpstream, f gatewayFlags) error {
	if f.require != "" {
		g.Require = f.require
	}
	if given != nil {
		for _, u := range g.Upstreams { // what is configured of the same one counts
			if u.same(*given) && (f.name == "" || f.name == u.Name) {
				if len(given.HeadersEnv) > 0 {
					u.HeadersEnv = given.HeadersEnv
				}
				given = &u
				break
			}
		}
		g.Upstreams = []gatewayUpstream{*given}
		return nil
	}
	if f.name != "" {
		u := g.upstream(f.name)
		if u == nil {
			return usagef("give --upstream URL or -- COMMAND, or see upstreams of gateway in "+configFile, "no upstream is configured by the name %q", f.name)
		}
		g.Upstreams = []gatewayUpstream{*u}
	}
	switch {
	case len(g.Upstreams) == 0:
		return noUpstream()
	case len(g.Upstreams) > 1 && f.addr == "":
		return usage("several upstreams are configured, and a client on standard input and output has one", "choose one with --name NAME, or serve all with --addr HOST:PORT")
	}
	return nil
}

// gatewayOverHTTP serves clients over HTTP, who come to l, called at, until ctx ends.
func (a *app) gatewayOverHTTP(ctx context.Context, h *home, cfg *gatewayConfig, db *sqlstore.DB, l net.Listener, at string, log *slog.Logger) error {
	n, err := a.openGateway(h, cfg, db, gatewayOptions{hosts: hosts(at), log: log})
	if err != nil {
		return err
	}
	a.sayGateway(n, at)
	return n.serveUntil(ctx, func(ctx context.Context) error { return n.serve(ctx, l) })
}

// endpoint is where an upstream is reached.
func (n *gatewayNode) endpoint(at, name string) string {
	scheme := "http://"
	if n.live.TLS() != nil {
		scheme = "https://"
	}
	if len(n.cfg.Upstreams) == 1 {
		return scheme + at + "/mcp"
	}
	return scheme + at + "/mcp/" + name
}

// serveUntil runs front and the gateway behind it. When front has ended, what it has begun is seen
// to its end, and then the record of it.
func (n *gatewayNode) serveUntil(ctx context.Context, front func(context.Context) error) error {
	apart := context.WithoutCancel(ctx)
	if err := n.executions.Start(ctx); err != nil { // it is tried again, while what is unbound passes
		n.log.Error("no execution_id is taken until the store answers", "reason", err.Error())
	}
	background, endBackground := context.WithCancel(apart)
	registry, endRegistry := context.WithCancel(apart)
	defer endRegistry()
	ran := make(chan error, 1)
	go func() { ran <- n.run(background, registry, endRegistry) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := front(ctx)
	endBackground()
	return errors.Join(err, <-ran)
}

// gatewayOverStdio serves the client on standard input and output until it leaves, ctx ends, or the
// upstream's program does.
func (a *app) gatewayOverStdio(ctx context.Context, h *home, cfg *gatewayConfig, db *sqlstore.DB, agent string, log *slog.Logger) error {
	u := cfg.Upstreams[0]
	who, err := h.client(cfg, agent)
	if err != nil {
		return err
	}
	var front *gateway.Front
	o := gatewayOptions{
		hosts: []string{stdioHost}, log: log,
		who: func(*http.Request) (agentauth.Identity, error) { return who, nil },
	}
	ready := make(chan struct{})
	if u.URL == "" {
		o.direct = func(line []byte) {
			<-ready
			front.Send(line)
		}
	}
	n, err := a.openGateway(h, cfg, db, o)
	if err != nil {
		return err
	}
	timeout := u.Timeout
	if timeout <= 0 {
		timeout = gateway.DefaultTimeout
	}
	front = gateway.NewFront(gateway.FrontConfig{
		Handler: n.handler, Path: "/mcp", Host: stdioHost, In: a.in, Out: a.out, Listen: u.URL != "", Leave: timeout + time.Second,
		Said: func(what string) { a.say("bindery: %s", what) },
	})
	close(ready)
	if terminalOf(a.in) != nil {
		a.say("bindery: an MCP client is expected on standard input, and not a person; for what starts it there: bindery gateway install --client NAME")
	}
	return n.serveUntil(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		p := n.processes[u.Name]
		if p == nil {
			err := front.Run(ctx)
			front.Settle(a.drain - time.Second) // a second has passed
			n.handler.Stop()
			front.Settle(time.Second) // what was open is told so
			return err
		}
		alone := make(chan error, 1)
		go func() {
			<-p.Ended()
			if ctx.Err() == nil {
				alone <- p.Why()
				front.Settle(time.Second) // what was open has its answer
				cancel()
			}
		}()
		err := front.Run(ctx)
		front.Settle(a.drain - time.Second) // a second has passed
		cancel()
		p.Close()
		front.Settle(5 * time.Second)
		select {
		case why := <-alone:
			return &unknownError{"the upstream has ended by itself" + visible(strings.TrimPrefix(why.Error(), gateway.ErrEnded.Error())), "see what it has said; start the gateway again"}
		default:
			return err
		}
	})
}

// client is who the client on standard input and output is: the agent of a registered key, or,
// where no agents are configured, whoever may read the directory, by a name of its choice.
func (h *home) client(cfg *gatewayConfig, name string) (agentauth.Identity, error) {
	auth, _, err := h.authenticator(cfg)
	if err != nil {
		return agentauth.Identity{}, err
	}
	switch {
	case auth.Required() && name != "":
		return agentauth.Identity{}, usagef("set it to a key that bindery gateway agent add has printed, and leave --agent out", "this gateway has agents, and knows them by %s", agentKeyEnv)
	case auth.Required():
		return stdioAgent(auth)
	case os.Getenv(agentKeyEnv) != "":
		return agentauth.Identity{}, usagef("get one with: bindery gateway agent add NAME --dir "+h.dir, "%s holds no key that is registered here", agentKeyEnv)
	}
	return agentauth.Identity{ID: "local:" + firstOf(name, "stdio"), How: "local"}, nil
}
