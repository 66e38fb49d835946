package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/a2acrossing"
	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/failpoint"
	"github.com/bindery/bindery/internal/httpapi"
)

// sweepEvery is how often a serving centre looks for what a crash or an outage left, and a
// serving registry for what it may release.
const sweepEvery = time.Second

func (a *app) serve() *cobra.Command {
	var addr, admin, store string
	var roles []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the directory's roles: registry, authority and centre, and a gateway",
		Long: "Serve the directory's roles: registry, authority and centre on the public listener; on one of\n" +
			"its own the gateway, once an upstream is configured under gateway in config.json. Without it\n" +
			"the role gateway waits.",
		Example: "  bindery serve --dir B --addr 127.0.0.1:7410 --admin-addr localhost:7411\n" +
			"  bindery serve --dir DIR/authority\n" +
			"  bindery serve --dir B --roles gateway",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := a.home()
			if err != nil {
				return err
			}
			if err := h.moveStore(c.Context(), store); err != nil {
				return err
			}
			return a.serveHome(c.Context(), h, addr, admin, roles)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "", "public listener, HOST:PORT (default: as last time, at first "+defaultAddr+")")
	cmd.Flags().StringVar(&admin, "admin-addr", "", "private listener, HOST:PORT (default: as last time, at first "+defaultAdmin+")")
	cmd.Flags().StringVar(&store, "store", "", "a new URL of the directory's PostgreSQL database, which is then kept")
	cmd.Flags().StringSliceVar(&roles, "roles", nil, "serve only these of the directory's roles: ra, va, centre, gateway")
	return cmd
}

func (a *app) serveHome(ctx context.Context, h *home, addr, admin string, roles []string) error {
	if err := h.restrict(roles); err != nil {
		return err
	}
	if err := h.unlock(); err != nil {
		return err
	}
	var public net.Listener
	if h.onlyGateway() { // which has a listener of its own
		if addr != "" {
			return usage("--addr is the listener of ra, va and centre", "the gateway's is addr of gateway in "+configFile)
		}
	} else {
		var err error
		if public, err = listen("--addr", firstOf(addr, h.Addr)); err != nil {
			return err
		}
		defer public.Close()
		addr = hostPort(firstOf(addr, h.Addr), public)
	}
	private, err := listen("--admin-addr", firstOf(admin, h.AdminAddr))
	if err != nil {
		return err
	}
	defer private.Close()
	if err := h.remember(firstOf(addr, h.Addr), hostPort(firstOf(admin, h.AdminAddr), private)); err != nil {
		return err
	}
	debug.SetGCPercent(50) // an idle serve stays small
	log := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return a.serveOn(ctx, h, public, private, log)
}

// serveOn serves the directory on two listeners that are open already, until ctx ends. Without a
// public one it is a gateway alone.
func (a *app) serveOn(ctx context.Context, h *home, public, private net.Listener, log *slog.Logger) error {
	watch, err := newWatcher(h)
	if err != nil {
		return err
	}
	n, err := openNode(ctx, h, nodeOptions{base: "http://" + h.Addr, log: log, watch: watch})
	if err != nil {
		return err
	}
	defer n.Close()
	handler, err := n.publicHandler(log)
	if err != nil {
		return err
	}
	stand, err := a.standGateway(ctx, n, log)
	if err != nil {
		return err
	}
	if public != nil {
		a.say("bindery: serving %s for %s at http://%s", strings.Join(h.crossingRoles(), ", "), h.config.Principal, h.Addr)
	}
	a.say("bindery: private listener at http://%s", h.AdminAddr)
	return n.run(ctx, public, private, handler, n.privateHandler(log), log, stand)
}

// run serves both listeners and sweeps until ctx ends or one of them fails. stand is the gateway; nil
// if there is none.
func (n *node) run(ctx context.Context, public, private net.Listener, handler, admin http.Handler, log *slog.Logger, stand func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tasks := []func() error{func() error { return httpapi.Serve(ctx, private, admin, log) }}
	if public != nil {
		tasks = append(tasks, func() error { return httpapi.Serve(ctx, public, handler, log) })
	}
	if stand != nil {
		tasks = append(tasks, func() error { return stand(ctx) })
	}
	if n.centre != nil {
		tasks = append(tasks, func() error { return n.centre.Run(ctx, sweepEvery) })
	}
	if n.registry != nil {
		tasks = append(tasks, func() error { return n.registry.KeepDomains(ctx, time.Hour) })
		tasks = append(tasks, func() error { return n.registry.Run(ctx, cmp.Or(failpoint.HoldTimeout(), sweepEvery)) })
		tasks = append(tasks, func() error { return n.registry.KeepAudit(ctx, auditEvery) })
	}
	ended := make(chan error, len(tasks))
	for _, task := range tasks {
		go func() { ended <- task() }()
	}
	var all error
	for range tasks {
		all = errors.Join(all, <-ended)
		cancel()
	}
	return all
}

// restrict keeps only the named roles for this run. Every directory may have a gateway.
func (h *home) restrict(roles []string) error {
	if len(roles) == 0 {
		if !h.has(roleGateway) {
			h.Roles = append(slices.Clone(h.Roles), roleGateway)
		}
		return nil
	}
	for _, role := range roles {
		if role != roleGateway && !h.has(role) {
			return usagef("its roles are: "+strings.Join(h.Roles, ", "), "this directory does not have the role %q", role)
		}
	}
	h.Roles = slices.Clone(roles)
	h.RA.Own = h.RA.Own && h.has(roleRA)
	h.VA.Own = h.VA.Own && h.has(roleVA)
	return nil
}

func listen(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, usagef("try another port with "+flag, "cannot listen on %s: %s", addr, netReason(err))
	}
	return l, nil
}

func netReason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}

// hostPort is the address as named, with the port that was really taken.
func hostPort(named string, l net.Listener) string {
	host, _, err := net.SplitHostPort(named)
	_, port, err2 := net.SplitHostPort(l.Addr().String())
	if err != nil || err2 != nil || host == "" {
		return l.Addr().String()
	}
	return net.JoinHostPort(host, port)
}

// remember keeps the addresses for the commands that need the directory's URL.
func (h *home) remember(addr, admin string) error {
	if h.Addr == addr && h.AdminAddr == admin {
		return nil
	}
	h.Addr, h.AdminAddr = addr, admin
	return locked(h.dir, func() error {
		stored, err := openHome(h.dir)
		if err != nil {
			return err
		}
		stored.Addr, stored.AdminAddr = addr, admin
		return stored.save()
	})
}

func (n *node) publicHandler(log *slog.Logger) (http.Handler, error) {
	cfg := a2acrossing.Config{Log: log}
	if n.authority != nil {
		verify := httpapi.VerifyRPC(n.authority, log)
		cfg.Verify = func(ctx context.Context, params []byte) ([]byte, error) {
			result, refusal := verify(ctx, params)
			if refusal != nil {
				return nil, refusal
			}
			return result, nil
		}
	}
	if n.centre != nil {
		cfg.Desk = n.centre
		cfg.Card = a2acrossing.Card{
			Name: n.Name, URL: "http://" + n.Addr, Version: versionString(), Profile: n.profile(), Full: n.centre.Responds(),
			Authority: n.verifyBase(), Acts: commitment.Builtin(), Plain: true,
		}
	}
	rest, err := a2acrossing.NewHandler(cfg)
	if err != nil {
		return nil, err
	}
	return httpapi.NewPublic(httpapi.PublicConfig{
		Hosts: hosts(n.Addr), Registry: n.registry, Authority: n.authority, Else: rest, Log: log,
	})
}

func (n *node) verifyBase() string {
	if n.VA.URL != "" {
		return n.VA.URL + "/"
	}
	return "http://" + n.Addr + "/"
}

func (n *node) privateHandler(log *slog.Logger) http.Handler {
	cfg := httpapi.AdminConfig{Hosts: hosts(n.AdminAddr), Credential: api.CredentialHash(n.secrets.Operator), Log: log}
	if n.centre != nil {
		cfg.Crossing = n.centre.View
	}
	if n.watch != nil {
		cfg.Metrics = n.watch.Handler()
	}
	return httpapi.NewAdmin(cfg)
}

// hosts are the names by which a listener may be called, and no others: on this machine, if it is
// a loopback one or one of all interfaces, by each of loopback.
func hosts(addr string) []string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return []string{addr}
	}
	list := []string{addr}
	if ip := net.ParseIP(host); host == "localhost" || ip.IsLoopback() || everywhere(addr) {
		for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
			if h := net.JoinHostPort(name, port); h != addr {
				list = append(list, h)
			}
		}
	}
	return list
}

// everywhere reports whether an address is of all interfaces, and so no name of anything.
func everywhere(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	return err == nil && net.ParseIP(host).IsUnspecified()
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
