// Release-approver is an MCP server that asks before it releases data: an example of the
// briefing-and-binding envelope in a program that really does something.
//
// Its tool propose_release reads a small catalogue of datasets from disk, looks at every view of one
// of them, takes a position on which may go to a recipient, and returns an envelope beside its
// ordinary answer. What comes back decides: an option writes exactly the file that was proposed into
// the outbox, or nothing; an answer in the principal's own words goes to the agent, and the question
// stands; a declined question has to be followed by the principal's objection before another is put.
//
// What each option does is fixed when the envelope is made: the digest of
//
//	{"act":"publish","dataset":"bus-delays","file_sha256":"…","recipient":"Riverside","view":"line"}
//
// is kept with it, and the file is hashed anew before it is written. A file that has changed since is
// not released. All that must survive a restart is on disk before it is answered for: the number of
// the next proposal, what was emitted and what is resolved, and the vetoes.
//
// It speaks MCP over stdio, or over HTTP on a loopback address. It has no authentication of its own.
// See README.md.
//
// Room: the command line. It reads the catalogue, writes its own folder, and listens on loopback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/bindery/bindery/mcpenvelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

const usage = `release-approver: an MCP server that asks before it releases data.

  release-approver --catalogue DIR --data DIR [flags]

It speaks MCP over stdio; with --http, over HTTP at http://HOST:PORT/mcp instead.

`

// settings are what the flags say.
type settings struct {
	catalogue, data, http, pages, principal, agent string
	smallest                                       int64
	emit                                           bool
	wait                                           time.Duration
}

func parseFlags(args []string, out io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("release-approver", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() { fmt.Fprint(out, usage); f.PrintDefaults() }
	f.StringVar(&s.catalogue, "catalogue", "", "`DIR` with a folder for each dataset (required)")
	f.StringVar(&s.data, "data", "", "`DIR` for the outbox and for what is remembered (required; made if it is missing)")
	f.StringVar(&s.http, "http", "", "loopback `HOST:PORT` to speak MCP over HTTP at; empty is stdio")
	f.StringVar(&s.pages, "pages", "127.0.0.1:0", "loopback `HOST:PORT` of the decision pages for clients that do not render envelopes; off for none")
	f.StringVar(&s.principal, "principal", "owner", "`NAME` of the one person who is asked")
	f.StringVar(&s.agent, "agent", "release-approver", "`NAME` of this agent in its records")
	f.Int64Var(&s.smallest, "smallest", 10, "the least count that a released view may show")
	f.BoolVar(&s.emit, "emit", true, "emit envelopes; without, proposals are ordinary text and nothing can be decided")
	f.DurationVar(&s.wait, "wait", mcpenvelope.DefaultWait, "how long one call waits for a page")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case f.NArg() > 0:
		return s, fmt.Errorf("%q is one argument too many", f.Arg(0))
	case s.catalogue == "" || s.data == "":
		return s, errors.New("--catalogue and --data are required")
	case s.smallest < 1:
		return s, errors.New("--smallest is 1 at least")
	case strings.TrimSpace(s.principal) == "" || strings.TrimSpace(s.agent) == "":
		return s, errors.New("--principal and --agent are names")
	}
	return s, nil
}

// run is the program; it returns the exit code: 0 done, 1 failed, 2 usage.
func run(ctx context.Context, args []string, diag io.Writer) int {
	s, err := parseFlags(args, diag)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(diag, "release-approver: %v\nsee release-approver --help\n", err)
		return 2
	}
	if err := serve(ctx, s, slog.New(slog.NewTextHandler(diag, nil))); err != nil {
		fmt.Fprintf(diag, "release-approver: %v\n", err)
		return 1
	}
	return 0
}

// listen opens a loopback address. This server knows nobody: what reaches it can propose and resolve.
func listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%q is not HOST:PORT", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s is not a loopback address, and this server has no authentication", addr)
	}
	return net.Listen("tcp", addr)
}

func serve(ctx context.Context, s settings, log *slog.Logger) error {
	o, err := openOffice(s)
	if err != nil {
		return err
	}
	defer o.close()
	ended := make(chan error, 2)
	bridge := mcpenvelope.BridgeConfig{Wait: s.wait}
	var pages net.Listener
	if s.pages != "off" {
		if pages, err = listen(s.pages); err != nil {
			return err
		}
		_, port, _ := net.SplitHostPort(pages.Addr().String())
		bridge.Pages = "http://localhost:" + port
	}
	b, err := mcpenvelope.NewBridge(bridge)
	if err != nil {
		return err
	}
	if pages != nil {
		stop := background(pages, b, ended)
		defer stop()
		log.Info("decision pages", "at", bridge.Pages)
	}
	server, err := newServer(o, b, s, log)
	if err != nil {
		return err
	}
	if s.http == "" {
		if err := server.Run(ctx, &mcp.StdioTransport{}); ctx.Err() == nil {
			return err
		}
		return nil // it was told to end
	}
	l, err := listen(s.http)
	if err != nil {
		return err
	}
	stop := background(l, bothEras(server, log), ended)
	defer stop()
	log.Info("MCP", "at", "http://"+l.Addr().String()+"/mcp")
	select {
	case <-ctx.Done():
		return nil
	case err := <-ended:
		return err
	}
}

// background serves until stop is called; what ends it before is sent to ended.
func background(l net.Listener, h http.Handler, ended chan<- error) (stop func()) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			ended <- err
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
		<-done
	}
}

// bothEras serves MCP to clients of protocol 2026-07-28, which has no sessions, and to older ones,
// which need one so that they can be asked.
func bothEras(server *mcp.Server, log *slog.Logger) http.Handler {
	get := func(*http.Request) *mcp.Server { return server }
	old := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, SessionTimeout: time.Hour})
	modern := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Logger: log, Stateless: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28" {
			modern.ServeHTTP(w, r)
			return
		}
		old.ServeHTTP(w, r)
	})
	return http.NewCrossOriginProtection().Handler(mux)
}
