package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// demoTerms are agreed when --terms names no document.
const demoTerms = `{
  "terms_version": "1",
  "subject": "one engagement code",
  "cohort": "pilot",
  "count": 1,
  "valid_months": 6,
  "fee_minor_units": 0
}
`

// demoDeadline bounds the whole demo, from the first process to the verified seal.
const demoDeadline = 60 * time.Second

type demoOptions struct {
	once  bool
	terms string
}

func (a *app) demo() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run one real crossing between two organisations on this machine",
		Long: "Start three processes on loopback ports, an initiator, a responder and a Verification\n" +
			"Authority, let the two organisations cross, and stay up until Ctrl-C. Without a\n" +
			"terminal on stdout it ends by itself, as with --once. With --dir the three\n" +
			"directories DIR/initiator, DIR/responder and DIR/authority stay.",
		Example: "  bindery demo\n  bindery demo --once --json\n  bindery demo --terms mydeal.json --dir trial",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.runDemo(c.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.once, "once", false, "end after the crossing")
	cmd.Flags().StringVar(&o.terms, "terms", "", "the Terms Document to agree on, a JSON file")
	return cmd
}

// demo is one run: three directories and their processes.
type demo struct {
	app       *app
	out       io.Writer // the story
	dir       string
	bin       string
	procs     []*process
	authority *home
	responder *home
	initiator *home
}

func (a *app) runDemo(ctx context.Context, o demoOptions) error {
	d := &demo{app: a, out: a.out}
	if a.json {
		d.out = a.err
	}
	terms, err := a.demoTerms(ctx, o.terms)
	if err != nil {
		return err
	}
	if d.bin, err = os.Executable(); err != nil {
		return err
	}
	d.dir = a.dir
	if d.dir == "" {
		if d.dir, err = os.MkdirTemp("", "bindery-demo-"); err != nil {
			return err
		}
		defer os.RemoveAll(d.dir)
	}
	defer d.stop()
	begin := time.Now()
	bounded, cancel := context.WithTimeout(ctx, demoDeadline)
	defer cancel()
	if err := d.start(bounded); err != nil {
		return err
	}
	result, err := d.run(bounded, terms)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nDone in %d ms, three processes included.\n", time.Since(begin).Milliseconds())
	if a.json {
		a.print(result)
	}
	if o.once || !isTerminal(a.out.to) {
		return nil
	}
	fmt.Fprintln(d.out, "The three processes stay up. Look around; Ctrl-C ends them.")
	<-ctx.Done()
	return nil
}

func (a *app) demoTerms(ctx context.Context, path string) (string, error) {
	if path == "" {
		return demoTerms, nil
	}
	t, err := a.readTerms(ctx, path)
	if err != nil {
		return "", err
	}
	return t.Text(), nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0 && f.Name() != os.DevNull
}

// start makes the directories and starts the processes, in the order in which they
// come to know each other: authority, responder, initiator.
func (d *demo) start(ctx context.Context) (err error) {
	addr, admin, err := demoAddrs()
	if err != nil {
		return err
	}
	d.authority, err = d.party(ctx, "authority", initOptions{principal: "urn:anax:principal:authority", roles: []string{roleVA}, addr: addr, adminAddr: admin})
	if err != nil {
		return err
	}
	code, err := d.code(ctx, d.authority)
	if err != nil {
		return err
	}
	vaURL := "http://" + addr
	if addr, admin, err = demoAddrs(); err != nil {
		return err
	}
	d.responder, err = d.party(ctx, "responder", initOptions{
		principal: "urn:anax:principal:globex", join: vaURL, code: code, ownRA: "http://" + addr, addr: addr, adminAddr: admin,
	})
	if err != nil {
		return err
	}
	if code, err = d.code(ctx, d.responder); err != nil {
		return err
	}
	raURL := "http://" + addr
	if addr, admin, err = demoAddrs(); err != nil {
		return err
	}
	d.initiator, err = d.party(ctx, "initiator", initOptions{principal: "urn:anax:principal:acme", join: raURL, code: code, addr: addr, adminAddr: admin})
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "Three processes are up:\n")
	for _, p := range []struct {
		what string
		h    *home
	}{{"authority", d.authority}, {"responder", d.responder}, {"initiator", d.initiator}} {
		fmt.Fprintf(d.out, "  %-10s http://%s  %s\n", p.what, p.h.Addr, p.h.config.Principal)
	}
	for _, pair := range [][2]*home{{d.initiator, d.responder}, {d.responder, d.initiator}} {
		if _, err := grantOpen(ctx, pair[0], openOptions{
			class: "irreversible", limit: 1, acts: []string{"engagement_code_issuance"},
			counterparties: []string{pair[1].config.Principal}, lifetime: 24 * time.Hour,
		}); err != nil {
			return err
		}
	}
	fmt.Fprintf(d.out, "Each agent now holds an Open Mandate: engagement_code_issuance, once, with the other party alone.\n\n")
	return nil
}

// demoAddrs finds a party's two addresses, when it is about to use them.
func demoAddrs() (addr, admin string, err error) {
	addrs, err := freeAddrs(2)
	if err != nil {
		return "", "", err
	}
	return addrs[0], strings.Replace(addrs[1], "127.0.0.1", "localhost", 1), nil
}

// party initialises one directory and serves it.
func (d *demo) party(ctx context.Context, name string, o initOptions) (*home, error) {
	dir := filepath.Join(d.dir, name)
	o.trustBasis, o.agcLevel, o.pack = "self_declared", 1, name+"-pack/1.0.0"
	o.throwaway = true
	h, err := initHome(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	return h, d.serve(ctx, h)
}

func (d *demo) code(ctx context.Context, h *home) (string, error) {
	n, err := openNode(ctx, h, nodeOptions{})
	if err != nil {
		return "", err
	}
	defer n.Close()
	code, err := n.newCode(ctx, registry.CodeTerms{}, n.registry == nil) // one RA serves both parties
	return code.String(), err
}

// process is one child of the demo.
type process struct {
	cmd    *exec.Cmd
	stderr *lockedBuffer
	ended  chan struct{}
}

// serve starts bindery serve for a directory and waits until it answers.
func (d *demo) serve(ctx context.Context, h *home) error {
	p := &process{cmd: exec.Command(d.bin, "serve", "--dir", h.dir), stderr: &lockedBuffer{}, ended: make(chan struct{})}
	p.cmd.Stderr = p.stderr
	if err := p.cmd.Start(); err != nil {
		return err
	}
	d.procs = append(d.procs, p)
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	for {
		if get(ctx, "http://"+h.AdminAddr+"/healthz", "") == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the process of %s has ended: %s", h.dir, strings.TrimSpace(p.stderr.String()))
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stop ends the children that this demo started, and no others. One that takes its time
// is killed: every role bears that.
func (d *demo) stop() {
	for _, p := range d.procs {
		_ = p.cmd.Process.Signal(os.Interrupt)
	}
	for _, p := range d.procs {
		select {
		case <-p.ended:
		case <-time.After(time.Second):
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	}
}

// run has the initiator's agent cross, in a process of its own, and gathers what both
// parties and the authority hold afterwards.
func (d *demo) run(ctx context.Context, terms string) ([]byte, error) {
	path := filepath.Join(d.dir, "terms.json")
	if err := os.WriteFile(path, []byte(terms), 0o600); err != nil {
		return nil, err
	}
	var report bytes.Buffer
	cmd := exec.CommandContext(ctx, d.bin, "cross", "--dir", d.initiator.dir, "--to", "http://"+d.responder.Addr, "--terms", path,
		"--act", "engagement_code_issuance", "--class", "irreversible", "--magnitude", "1", "--json")
	cmd.Stdout, cmd.Stderr = &report, d.out
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == exitRefused {
			if d.app.json {
				_, _ = report.WriteTo(d.app.out) // the refusal is the result
			}
			return nil, errVerdict // the child has said why
		}
		return nil, err
	}
	v, err := jcs.Parse(bytes.TrimSpace(report.Bytes()))
	if err != nil {
		return nil, err
	}
	return d.gather(ctx, v)
}

// gather asks both owners' private listeners and the authority.
func (d *demo) gather(ctx context.Context, report jcs.Value) ([]byte, error) {
	id, _ := report.Get("crossing_id").Text()
	own, err := view(ctx, d.initiator, id)
	if err != nil {
		return nil, err
	}
	peer, err := view(ctx, d.responder, id)
	if err != nil {
		return nil, err
	}
	d.story(report, own, peer)
	keys, err := d.keys(ctx)
	if err != nil {
		return nil, err
	}
	var m []jcs.Member
	for name, value := range report.Members() {
		if name == "responder" {
			value, err = responderReport(report.Get("responder"), peer)
			if err != nil {
				return nil, err
			}
		}
		m = append(m, jcs.Member{Name: name, Value: value.Bytes()})
	}
	return jcs.Object(append(m, jcs.Member{Name: "jwks", Value: keys})...), nil
}

// responderReport replaces what the initiator derived of the responder's chain by what
// the responder itself holds.
func responderReport(derived, held jcs.Value) (jcs.Value, error) {
	var m []jcs.Member
	for name, value := range derived.Members() {
		if own := held.Get("link").Get(name); own.Type() != jcs.Absent {
			value = own
		}
		m = append(m, jcs.Member{Name: name, Value: value.Bytes()})
	}
	return jcs.Parse(jcs.Object(m...))
}

func view(ctx context.Context, h *home, id string) (jcs.Value, error) {
	var body bytes.Buffer
	if err := fetch(ctx, "http://"+h.AdminAddr+"/v1/crossings/"+id, h.secrets.Operator, &body); err != nil {
		return jcs.Value{}, err
	}
	return jcs.Parse(body.Bytes())
}

func (d *demo) story(report, own, peer jcs.Value) {
	text := func(v jcs.Value, name string) string { s, _ := v.Get(name).Text(); return s }
	fmt.Fprintf(d.out, "\nBoth parties hold the same seal, each computed by itself:\n")
	fmt.Fprintf(d.out, "  initiator  %s\n  responder  %s\n", text(own, "joint_seal"), text(peer, "joint_seal"))
	fmt.Fprintf(d.out, "Each has written an anchor of its own:\n")
	fmt.Fprintf(d.out, "  initiator  %s\n  responder  %s\n", text(own.Get("link"), "anchor"), text(peer.Get("link"), "anchor"))
	fmt.Fprintf(d.out, "Anyone can check it:\n  bindery verify %s --va http://%s\n  curl '%s'\n",
		text(report, "seal_id"), d.authority.Addr, text(report, "verify_url"))
	if d.app.dir != "" {
		fmt.Fprintf(d.out, "The parties' directories are in %s.\n", d.dir)
	}
}

// keys is a JWK Set of every key that signed something in the crossing: RA, VA, both
// principals and both agents, as their owners publish them.
func (d *demo) keys(ctx context.Context) ([]byte, error) {
	var all []jose.Key
	for _, h := range []*home{d.responder, d.authority} {
		var body bytes.Buffer
		if err := fetch(ctx, "http://"+h.Addr+"/.well-known/jwks.json", "", &body); err != nil {
			return nil, err
		}
		set, err := jose.ParseJWKS(body.Bytes())
		if err != nil {
			return nil, err
		}
		all = append(all, set.Keys()...)
	}
	n, err := openNode(ctx, d.responder, nodeOptions{})
	if err != nil {
		return nil, err
	}
	defer n.Close()
	for _, h := range []*home{d.initiator, d.responder} {
		p, err := n.ra.Principal(ctx, h.config.Principal)
		if err != nil {
			return nil, err
		}
		all = append(all, signing(p)...)
	}
	return jose.NewKeySet(all...).JWKS(), nil
}

func signing(p *mandate.Principal) []jose.Key {
	keys := p.Keys
	for _, agent := range p.Agents {
		keys = append(keys, agent.Key)
	}
	return keys
}

func get(ctx context.Context, url, credential string) error {
	return fetch(ctx, url, credential, io.Discard)
}

// fetch reads one of the demo's own endpoints. It keeps no connection: a server that is
// told to end waits for one that is open and silent.
func fetch(ctx context.Context, url, credential string, w io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if credential != "" {
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	one := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := one.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &api.Error{Code: api.CodeUnavailable}
	}
	_, err = io.Copy(w, io.LimitReader(resp.Body, crossing.MaxRecord*8))
	return err
}

// freeAddrs finds loopback ports that are free now. Another program may take one before
// it is used; serve then says so.
func freeAddrs(n int) ([]string, error) {
	var addrs []string
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		held = append(held, l)
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// lockedBuffer keeps the last of what a child says.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b.Len() > 64<<10 {
		l.b.Reset()
	}
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
