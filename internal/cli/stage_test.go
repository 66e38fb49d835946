package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A stage is the three processes of a demo in this one, with everything they say kept.
type stage struct {
	t       *testing.T
	dir     string
	tap     *tap
	logs    lockedBuffer // stderr and log of the three servers, at every level
	console lockedBuffer // stdout and stderr of the commands
	owner   lockedBuffer // stdout of the commands with which a party reads its own limit
	payee   *tap         // of the address that the terms name for a payment
	terms   string       // the Terms Document's file
	homes   map[string]*home
	stops   map[string]func()
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), tap: &tap{}, payee: &tap{}, homes: map[string]*home{}, stops: map[string]func(){}}
	s.writeTerms()
	addrs := s.addrs(6)
	s.party("authority", initOptions{principal: "urn:anax:principal:authority", roles: []string{roleVA}, addr: addrs[0], adminAddr: addrs[1]})
	s.party("responder", initOptions{
		principal: "urn:anax:principal:globex", join: "http://" + addrs[0], code: s.run(exitDone, "enrol", "--shared", "--dir", s.at("authority")), ownRA: "http://" + addrs[2],
		addr: addrs[2], adminAddr: addrs[3],
	})
	s.party("initiator", initOptions{
		principal: "urn:anax:principal:acme", join: "http://" + addrs[2], code: s.code("responder"), addr: addrs[4], adminAddr: addrs[5],
	})
	return s
}

func (s *stage) party(name string, o initOptions) {
	s.t.Helper()
	o.trustBasis = "self_declared"
	s.initialise(name, o)
	s.serve(name)
}

func (s *stage) initialise(name string, o initOptions) {
	s.t.Helper()
	o.agcLevel, o.pack = 1, name+"-pack/1.0.0"
	o.throwaway = true
	h, err := initHome(s.t.Context(), filepath.Join(s.dir, name), o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.homes[name] = h
}

// addrs are loopback addresses that nobody else takes while nobody listens there.
func (s *stage) addrs(n int) []string {
	s.t.Helper()
	list := make([]string, n)
	for i := range list {
		var err error
		if list[i], err = FreePort(); err != nil {
			s.t.Fatal(err)
		}
	}
	return list
}

// serve serves a directory until its stop is called.
func (s *stage) serve(name string) {
	s.t.Helper()
	h := *s.homes[name]
	var listeners [2]net.Listener
	for i, addr := range []string{h.Addr, h.AdminAddr} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			s.t.Fatal(err)
		}
		listeners[i] = tapListener{l, s.tap}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	log := slog.New(slog.NewTextHandler(&s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	go func() { ended <- (&app{err: &s.logs}).serveOn(ctx, &h, listeners[0], listeners[1], log) }()
	s.stops[name] = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("%s: %v", name, err)
		}
	})
	s.t.Cleanup(s.stops[name])
}

// run runs a command to the given exit code and returns its stdout.
func (s *stage) run(want int, args ...string) string {
	s.t.Helper()
	var out, errOut bytes.Buffer
	if code := Main(args, strings.NewReader(""), &out, &errOut); code != want {
		s.t.Fatalf("%v ends with %d:\n%s%s", args, code, out.String(), errOut.String())
	}
	_, _ = s.console.Write(errOut.Bytes())
	if args[0] == "mandate" && args[1] == "list" || args[0] == "enrol" {
		_, _ = s.owner.Write(out.Bytes())
	} else {
		_, _ = s.console.Write(out.Bytes())
	}
	return strings.TrimSpace(out.String())
}

func (s *stage) at(name string) string { return s.homes[name].dir }

func (s *stage) code(name string) string { return s.run(exitDone, "enrol", "--dir", s.at(name)) }

func (s *stage) grant(name, limit string) {
	s.t.Helper()
	s.run(exitDone, "mandate", "open", "--dir", s.at(name), "--class", "irreversible", "--limit", limit, "--act", "engagement_code_issuance", "--counterparty", "*")
}

func (s *stage) cross(want int, magnitude string) string {
	s.t.Helper()
	return s.crossAs("initiator", want, magnitude)
}

func (s *stage) crossAs(name string, want int, magnitude string) string {
	s.t.Helper()
	return s.run(want, "cross", "--dir", s.at(name), "--to", "http://"+s.homes["responder"].Addr, "--terms", s.terms,
		"--act", "engagement_code_issuance", "--class", "irreversible", "--magnitude", magnitude, "--json")
}

// writeTerms writes terms that point at a payment, at an address where somebody listens.
func (s *stage) writeTerms() {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	go func() { _ = http.Serve(tapListener{l, s.payee}, http.NotFoundHandler()) }()
	s.terms = filepath.Join(s.dir, "terms.json")
	text := `{"terms_version": "1", "payment": {"url": "http://` + l.Addr().String() + `/pay", "amount_minor_units": 125000, "currency": "EUR"}}`
	if err := os.WriteFile(s.terms, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// post is a caller of its own making.
func (s *stage) post(url, credential, body string) string {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if credential != "" {
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	one := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := one.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// Limits that no other number contains, and magnitudes that are no part of them.
const (
	initiatorLimit = "99887766"
	responderLimit = "8765432"
)

// play is a crossing from enrolment to verification, with refusals, an outage of the
// authority, a revocation, and callers that send what they should not.
func (s *stage) play() {
	a, b := s.at("initiator"), s.at("responder")
	s.grant("initiator", initiatorLimit)
	s.grant("responder", responderLimit)
	var report struct {
		SealID     string          `json:"seal_id"`
		CrossingID string          `json:"crossing_id"`
		Block      json.RawMessage `json:"artifact_block"`
		Record     struct {
			Context struct {
				Task string `json:"task_id"`
			} `json:"a2a_context"`
		} `json:"record"`
	}
	if err := json.Unmarshal([]byte(s.cross(exitDone, "4000000")), &report); err != nil {
		s.t.Fatal(err)
	}
	s.cross(exitRefused, "4765433") // one more than is left
	s.cross(exitRefused, "8000000")
	s.outage()

	va, ra := "http://"+s.homes["authority"].Addr, "http://"+s.homes["responder"].Addr
	for _, dir := range []string{a, b} {
		s.run(exitDone, "verify", report.SealID, "--dir", dir, "--json")
		s.run(exitDone, "verify", report.CrossingID, "--dir", dir)
		s.run(exitDone, "refusals", "--dir", dir)
		s.run(exitDone, "refusals", "--dir", dir, "--json")
		s.run(exitDone, "mandate", "show", "--dir", dir)
		s.run(exitDone, "mandate", "list", "--dir", dir)
	}
	s.run(exitDone, "chain", "export", "--dir", a)
	s.run(exitDone, "verify", report.SealID, "--va", va, "--json")
	s.run(exitRefused, "verify", "canal-zzzzzzzz-000000000000", "--va", va, "--json")
	block := filepath.Join(s.dir, "block.json")
	if err := os.WriteFile(block, report.Block, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.run(exitDone, "inspect", block, "--va", va)
	for _, h := range []*home{s.homes["initiator"], s.homes["responder"]} {
		if err := get(s.t.Context(), "http://"+h.AdminAddr+"/v1/crossings/"+report.CrossingID, h.secrets.Operator); err != nil {
			s.t.Error(err)
		}
	}
	s.post(ra+"/rpc", "", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"`+report.Record.Context.Task+`"}}`)
	s.post(ra+"/rpc", "", `{"jsonrpc":"2.0","id":1,"method":"anaxstandard.crossing/seal","params":{}}`)
	s.post(ra+"/rpc", "", `{"jsonrpc":"2.0","id":1,"method":"anaxstandard.crossing/verify","params":{"seal_id":"`+report.SealID+`"}}`)

	// Every secret, as a credential where it has no business. The RA's and the VA's own
	// routes see each, with a body that is none.
	for _, name := range []string{"initiator", "responder"} {
		sec := s.homes[name].secrets
		for _, credential := range []string{sec.ClearanceID[:8] + "-wrong", sec.Principal, sec.Agent, sec.Effector, sec.Publisher, sec.Operator} {
			for _, route := range []string{"opens", "closeds", "holds", "confirms", "revocations"} {
				s.post(ra+"/v1/ra/"+route, credential, `{"token":"nonsense"`)
			}
			s.post(va+"/v1/projections", credential, `{}`)
		}
	}
	s.run(exitDone, "mandate", "revoke", "--dir", a, s.opens(a)[0], "--yes")
	s.cross(exitRefused, "1")
	s.run(exitRefused, "mandate", "status", "--dir", a, s.opens(a)[0], "--json")
}

// outage takes the authority away in the middle of a crossing, which is resumed later.
// It returns what the interrupted command prints as its result, and the later report.
func (s *stage) outage() (interrupted, report string) {
	s.t.Helper()
	s.stops["authority"]()
	begun := make(chan string, 1)
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	var out lockedBuffer
	a := &app{in: strings.NewReader(""), out: newResults(ctx, &out), err: &watched{to: &s.console, begun: begun}, dir: s.at("initiator")}
	go func() {
		cmd := a.cross()
		cmd.SetArgs([]string{"--to", "http://" + s.homes["responder"].Addr, "--terms", s.terms,
			"--act", "engagement_code_issuance", "--class", "irreversible", "--magnitude", "2"})
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		ended <- cmd.ExecuteContext(ctx)
	}()
	id := <-begun
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.logs.String(), "a publication waits"); {
		if time.Now().After(deadline) {
			s.t.Fatalf("the responder does not say that its publication waits:\n%s", s.logs.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err == nil {
		s.t.Error("a crossing has ended well without its authority")
	}
	s.serve("authority")
	return out.String(), s.run(exitDone, "cross", "--dir", s.at("initiator"), "--crossing-id", id, "--json")
}

// watched passes on what a command says, and tells when it has named its crossing.
type watched struct {
	to    io.Writer
	begun chan<- string
}

func (w *watched) Write(p []byte) (int, error) {
	if id, ok := strings.CutPrefix(string(p), "crossing "); ok {
		w.begun <- strings.TrimSpace(id)
	}
	return w.to.Write(p)
}

func (s *stage) opens(dir string) []string {
	var hashes []string
	for line := range strings.Lines(s.run(exitDone, "mandate", "list", "--dir", dir)) {
		hash, _, _ := strings.Cut(line, " ")
		hashes = append(hashes, hash)
	}
	return hashes
}

// end stops the servers, so that all is kept that was said.
func (s *stage) end() {
	for _, stop := range s.stops {
		stop()
	}
}
