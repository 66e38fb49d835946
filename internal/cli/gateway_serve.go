package cli

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/bindery/bindery/internal/execution"
)

// idleEvery is how often a gateway without an upstream looks whether one has been configured.
const idleEvery = time.Second

// onlyGateway reports whether the directory is a gateway in this run and nothing else.
func (h *home) onlyGateway() bool { return len(h.Roles) == 1 && h.Roles[0] == roleGateway }

// crossingRoles are the others.
func (h *home) crossingRoles() []string {
	return slices.DeleteFunc(slices.Clone(h.Roles), func(r string) bool { return r == roleGateway })
}

// standGateway opens the gateway of a directory that serves, and returns what serves it. What is
// wrong with its configuration is said at once. Where none is configured it waits until one is.
func (a *app) standGateway(ctx context.Context, n *node, log *slog.Logger) (func(context.Context) error, error) {
	if !n.has(roleGateway) {
		return nil, nil
	}
	cfg, err := n.home.gateway()
	if err != nil {
		return nil, err
	}
	if len(cfg.Upstreams) > 0 {
		return a.listenGateway(ctx, n, cfg, log)
	}
	if n.onlyGateway() {
		a.say("bindery: the gateway waits until an upstream is configured, under gateway in %s", filepath.Join(n.dir, configFile))
	}
	return func(ctx context.Context) error { return a.idleGateway(ctx, n, log) }, nil
}

// idleGateway waits for an upstream, and serves it then.
func (a *app) idleGateway(ctx context.Context, n *node, log *slog.Logger) error {
	config := []string{filepath.Join(n.dir, configFile)}
	seen := "" // it may have been written since it was read
	tick := time.NewTicker(idleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := fingerprint(config)
		if now == seen {
			continue
		}
		seen = now
		serve, err := a.laterGateway(ctx, n, log)
		if err != nil {
			a.say("bindery: the gateway still waits: %v", err)
			continue
		}
		if serve != nil {
			return serve(ctx)
		}
	}
}

// laterGateway opens what has been configured since; nil is nothing.
func (a *app) laterGateway(ctx context.Context, n *node, log *slog.Logger) (func(context.Context) error, error) {
	stored, err := openHome(n.dir)
	if err != nil {
		return nil, err
	}
	cfg, err := stored.gateway()
	if err != nil || len(cfg.Upstreams) == 0 {
		return nil, err
	}
	return a.listenGateway(ctx, n, cfg, log)
}

// listenGateway opens the gateway and its listener.
func (a *app) listenGateway(ctx context.Context, n *node, cfg *gatewayConfig, log *slog.Logger) (func(context.Context) error, error) {
	if _, err := a.withGatewayKeys(ctx, n.home); err != nil {
		return nil, err
	}
	addr := firstOf(cfg.Addr, defaultGatewayAddr)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, usagef("name another addr under gateway in "+filepath.Join(n.dir, configFile), "the gateway cannot listen on %s: %s", addr, netReason(err))
	}
	at := hostPort(addr, l)
	o := gatewayOptions{hosts: hosts(at), log: log}
	if n.watch != nil {
		o.watch = func(upstreams []string, status func() execution.Status) gatewayWatch {
			return n.watch.WatchGateway(upstreams, status)
		}
	}
	g, err := a.openGateway(n.home, cfg, n.db, o)
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	if n.watch != nil && g.tracer != nil {
		n.watch.WatchTraces(g.tracer.Dropped)
	}
	a.sayGateway(g, at)
	return func(ctx context.Context) error {
		defer l.Close()
		return g.serveUntil(ctx, func(ctx context.Context) error { return g.serve(ctx, l) })
	}, nil
}

// sayGateway says where the upstreams are reached, and what clients will miss.
func (a *app) sayGateway(n *gatewayNode, at string) {
	for _, u := range n.cfg.Upstreams {
		a.say("bindery: the gateway to %s is at %s", u.shown(), n.endpoint(at, u.Name))
		if err := u.startable(); err != nil { // the others are served
			a.say("bindery: %v", err)
		}
	}
	if everywhere(at) && len(n.cfg.Hosts) == 0 {
		a.say("bindery: clients elsewhere call it by a name that is refused, until it stands under gateway, hosts, in %s, as NAME:PORT", filepath.Join(n.dir, configFile))
	}
	if !n.live.Current().Required() {
		a.say("bindery: clients are not authenticated, so that no execution_id is taken; to change that: bindery gateway agent add NAME --dir %s", n.dir)
	}
}
