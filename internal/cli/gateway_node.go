package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bindery/bindery/actionbinding"
	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/internal/execution"
	"github.com/bindery/bindery/internal/failpoint"
	"github.com/bindery/bindery/internal/gateway"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/internal/telemetry"
	"github.com/bindery/bindery/internal/toolaction"
)

// stdioHost is the name by which a client on standard input and output calls its gateway.
const stdioHost = "stdio"

// gatewayWatch is who counts what a gateway does.
type gatewayWatch interface {
	gateway.Observer
	execution.Observer
}

// gatewayOptions say how a gateway is opened.
type gatewayOptions struct {
	hosts  []string                                                              // by which it may be called
	who    func(*http.Request) (agentauth.Identity, error)                       // nil: as it is configured
	direct func(line []byte)                                                     // of a client on standard input and output, in front of a command
	watch  func(upstreams []string, status func() execution.Status) gatewayWatch // nil: nobody counts
	log    *slog.Logger
}

// gatewayNode is a gateway that is open.
type gatewayNode struct {
	*home
	cfg        *gatewayConfig
	log        *slog.Logger
	executions *execution.Registry
	handler    *gateway.Gateway
	processes  map[string]*gateway.Processes
	ways       []gateway.Upstream // to the upstreams
	live       *agentauth.Live
	tracer     *telemetry.Tracer
	fixed      bool // its one client is known from the start
}

// openGateway makes a gateway of what is configured, over a store that is open. It starts no
// program but the one of direct.
func (a *app) openGateway(h *home, cfg *gatewayConfig, db *sqlstore.DB, o gatewayOptions) (*gatewayNode, error) {
	n := &gatewayNode{home: h, cfg: cfg, log: o.log, processes: map[string]*gateway.Processes{}}
	signer, err := h.key(gatewayKey)
	if err != nil {
		return nil, err
	}
	sessionKey, err := h.sessionKey()
	if err != nil {
		return nil, err
	}
	if n.live, err = h.agents(cfg); err != nil {
		return nil, err
	}
	if n.tracer, err = cfg.newTracer(); err != nil {
		return nil, err
	}
	if err := a.reach(n, o); err != nil {
		return nil, err
	}
	require, _ := toolaction.ParseRequire(cmp.Or(cfg.Require, "none")) // parseGateway has looked
	algorithm, err := actionbinding.ParseAlgorithm(cmp.Or(cfg.Algorithm, "sha256"))
	if err != nil {
		return nil, err
	}
	exec := execution.Config{
		Store: db.Executions(), Signer: signer, Now: time.Now, Wait: cfg.Limits.Wait, Log: o.log, Hook: failpoint.Hit, Timing: timing(),
	}
	handler := gateway.Config{
		Upstreams: n.ways, Hosts: append(o.hosts, cfg.Hosts...), Origins: cfg.Origins, Authenticate: n.live.Request,
		Metadata:  func(r *http.Request) string { return n.live.Current().MetadataURL(r) },
		Algorithm: algorithm, Require: require, SessionKey: sessionKey, Log: o.log,
		Limits: gateway.Limits{
			Body: cfg.Limits.Body, Answer: cfg.Limits.Answer, Calls: cfg.Limits.Calls, PerAgent: cfg.Limits.PerAgent,
			Streams: cfg.Limits.Streams, Idle: cfg.Limits.Idle,
		},
	}
	if o.who != nil {
		handler.Authenticate, n.fixed = o.who, true
	}
	if n.tracer != nil {
		handler.Tracer = n.tracer
	}
	if o.watch != nil {
		var names []string
		for _, u := range cfg.Upstreams {
			names = append(names, u.Name)
		}
		w := o.watch(names, func() execution.Status { return n.executions.Status() })
		handler.Observer, exec.Observer = w, w
	}
	if n.executions, err = execution.New(exec); err != nil {
		return nil, err
	}
	handler.Registry = gateway.Executions(n.executions)
	if n.handler, err = gateway.New(handler); err != nil {
		return nil, usagef("see the member gateway of "+configFile, "%v", err)
	}
	return n, nil
}

// timing is shorter in crash tests.
func timing() (t execution.Timing) {
	if stale := failpoint.StaleAfter(); stale > 0 {
		t = execution.Timing{Heartbeat: stale / 8, Trust: stale / 2, Stale: stale, Sweep: stale / 8}
	}
	return t
}

// reach finds the ways to the upstreams.
func (a *app) reach(n *gatewayNode, o gatewayOptions) error {
	hidden := n.hidden()
	for _, u := range n.cfg.Upstreams {
		way := gateway.Upstream{Name: u.Name, URL: u.URL, Timeout: u.Timeout, Tools: u.declared}
		var err error
		if way.Header, err = n.header(u); err != nil {
			return err
		}
		if u.URL == "" {
			way.URL = "http://stdio.invalid/mcp"
			p, err := gateway.NewProcesses(gateway.ProcessesConfig{
				Process: gateway.ProcessConfig{Command: u.Command, Hide: hidden, Complaints: &spoken{a: a}},
				Direct:  o.direct, Most: n.cfg.Limits.Processes, Idle: n.cfg.Limits.ProcessIdle,
				Said: func(why string) {
					o.log.Warn("the upstream said what is not passed on", "upstream", u.Name, "why", why)
				},
			})
			if err != nil {
				return usagef("is it installed, and on the PATH?", "the upstream %s: %s", u.Name, visible(strings.TrimPrefix(err.Error(), gateway.ErrEnded.Error()+": ")))
			}
			n.processes[u.Name], way.Transport = p, p
		}
		n.ways = append(n.ways, way)
	}
	return nil
}

// hidden are the variables that have the credential of some upstream, one that is not served now too:
// no program gets to see them.
func (n *gatewayNode) hidden() (names []string) {
	all := n.cfg.Upstreams
	if stored, err := n.gateway(); err == nil {
		all = slices.Concat(all, stored.Upstreams)
	}
	for _, u := range all {
		names = slices.AppendSeq(names, maps.Values(u.HeadersEnv))
	}
	return names
}

// agents is who is taken for whom.
func (h *home) agents(cfg *gatewayConfig) (*agentauth.Live, error) {
	auth, secure, err := h.authenticator(cfg)
	if err != nil {
		return nil, err
	}
	return agentauth.NewLive(auth, secure), nil
}

func (h *home) authenticator(cfg *gatewayConfig) (*agentauth.Authenticator, *tls.Config, error) {
	c := agentauth.Config{Now: time.Now}
	if cfg.Agents.Keys != nil {
		c.Keys = &agentauth.Keys{List: cfg.Agents.Keys}
	}
	if j := cfg.Agents.JWT; j != nil {
		c.Token = &agentauth.Token{Issuer: j.Issuer, Audience: j.Audience, AgentClaim: j.AgentClaim, URL: j.JWKSURL}
		if j.JWKSFile != "" {
			b, err := h.file("jwks_file", j.JWKSFile)
			if err != nil {
				return nil, nil, err
			}
			c.Token.KeySet = b
		}
	}
	var secure *tls.Config
	if cfg.TLS != (gatewayTLS{}) {
		t := agentauth.TLSConfig{}
		var err error
		if t.Cert, err = h.file("cert_file", cfg.TLS.CertFile); err != nil {
			return nil, nil, err
		}
		if t.Key, err = h.file("key_file", cfg.TLS.KeyFile); err != nil {
			return nil, nil, err
		}
		if m := cfg.Agents.MTLS; m != nil {
			c.Cert = &agentauth.Cert{TrustDomain: m.TrustDomain}
			if t.ClientCA, err = h.file("ca_file", m.CAFile); err != nil {
				return nil, nil, err
			}
		}
		if secure, err = agentauth.ServerTLS(t); err != nil {
			return nil, nil, usagef("see the members tls and agents of gateway in "+configFile, "%v", err)
		}
	}
	auth, err := agentauth.New(c)
	if err != nil {
		return nil, nil, usagef("see the member agents of gateway in "+configFile, "%v", err)
	}
	return auth, secure, nil
}

// file reads a file that the configuration names; a relative name is below the directory.
func (h *home) file(member, path string) ([]byte, error) {
	path = h.below(path)
	b, err := readOwn(path)
	if err != nil {
		return nil, usagef("see "+member+" in "+configFile, "%s cannot be read", path)
	}
	return b, nil
}

// run is what a gateway does besides answering. First background ends, and what it has begun; then
// the registry, which takes what became of that.
func (n *gatewayNode) run(background, registry context.Context, endRegistry func()) error {
	ended := make(chan error, 1)
	go func() { ended <- n.executions.Run(registry) }()
	tasks := []func() error{func() error { return n.handler.Run(background) }}
	for _, p := range n.processes {
		tasks = append(tasks, func() error { return p.Run(background) })
	}
	if !n.fixed {
		tasks = append(tasks, func() error { return n.keepAgents(background, n.live, n.log) })
	}
	for _, u := range n.ways {
		tasks = append(tasks, func() error { n.learn(background, u); return nil })
	}
	if !n.direct() { // else the program talks with its one client alone
		tasks = append(tasks, func() error { return gateway.NewFinder(n.handler, n.executions).Run(background) })
	}
	err := together(tasks)
	endRegistry()
	err = errors.Join(err, <-ended)
	if n.tracer != nil {
		flush, cancel := context.WithTimeout(context.WithoutCancel(registry), 2*time.Second)
		defer cancel()
		_ = n.tracer.Shutdown(flush) // a collector that is away costs its traces alone
	}
	return err
}

func together(tasks []func() error) (all error) {
	ended := make(chan error, len(tasks))
	for _, task := range tasks {
		go func() { ended <- task() }()
	}
	for range tasks {
		all = errors.Join(all, <-ended)
	}
	return all
}

// direct reports whether an upstream is a program with one client.
func (n *gatewayNode) direct() bool {
	for _, p := range n.processes {
		if p.Ended() != nil {
			return true
		}
	}
	return false
}

// learn asks an upstream for its tools, until it has said them: their schemas settle how numbers are
// spelled. A program with one client is not asked: its client will, in its own session.
func (n *gatewayNode) learn(ctx context.Context, u gateway.Upstream) {
	if p := n.processes[u.Name]; p != nil && p.Ended() != nil {
		return
	}
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, time.Minute) {
		ask, cancel := context.WithTimeout(ctx, 30*time.Second)
		err := gateway.ListTools(ask, u, func(result []byte) { n.handler.Learn(u.Name, result) })
		cancel()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// Limits of a connection to a gateway. Streams may last, so that neither reading nor writing has
// an end in time.
const (
	gatewayHeaderTimeout = 10 * time.Second
	gatewayIdleTimeout   = 2 * time.Minute
	gatewayHeaderBytes   = 64 << 10
	gatewayDrain         = 5 * time.Second
)

// serve answers on l until ctx ends: then no stream goes on, and calls have five seconds.
func (n *gatewayNode) serve(ctx context.Context, l net.Listener) error {
	if secure := n.live.TLS(); secure != nil {
		l = tls.NewListener(l, secure)
	}
	server := &http.Server{
		Handler: n.handler.Routes(ctx, func(r *http.Request) []byte { return n.live.Current().Metadata(r) }), ReadHeaderTimeout: gatewayHeaderTimeout, IdleTimeout: gatewayIdleTimeout, MaxHeaderBytes: gatewayHeaderBytes,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), gatewayDrain)
	defer cancel()
	if server.Shutdown(drain) != nil { // what is open now has had its time, and is told so
		n.handler.Stop()
		told, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(told) != nil {
			_ = server.Close()
		}
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// spoken passes on what a program complains of, line by line, without letting it get at the
// terminal.
type spoken struct {
	a    *app
	rest []byte
}

const mostSpoken = 8 << 10 // bytes of a line; a longer one is cut into several

// Write implements [io.Writer], for one goroutine.
func (s *spoken) Write(p []byte) (int, error) {
	for _, line := range bytes.SplitAfter(p, []byte("\n")) {
		s.rest = append(s.rest, line...)
		whole := bytes.HasSuffix(s.rest, []byte("\n"))
		if whole || len(s.rest) > mostSpoken {
			s.a.say("%s", bytes.TrimRight(s.rest, "\r\n"))
			s.rest = nil
		}
	}
	return len(p), nil
}
