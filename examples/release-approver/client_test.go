package main_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
	"github.com/bindery/bindery/mcpenvelope"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// link is a session with the server of a site, over stdio or, with where, over HTTP.
func link(t *testing.T, s site, where, version string, c *mcpenvelope.Client, caps *mcp.ClientCapabilities) *mcp.ClientSession {
	t.Helper()
	transport := c.Transport(&mcp.CommandTransport{Command: exec.Command(s.command[0], s.command[1:]...)})
	if where != "" {
		transport = &mcp.StreamableClientTransport{Endpoint: where, HTTPClient: c.HTTP(nil)}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, &mcp.ClientOptions{
		Capabilities: caps, Logger: quiet, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	cs, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	if got := cs.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("negotiated %s and not %s", got, version)
	}
	return cs
}

func newClient(t *testing.T, cfg mcpenvelope.ClientConfig) *mcpenvelope.Client {
	t.Helper()
	cfg.Log = quiet
	c, err := mcpenvelope.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t *testing.T, c *mcpenvelope.Client, cs *mcp.ClientSession, args any) *mcpenvelope.Reply {
	t.Helper()
	r, err := c.Call(t.Context(), cs, &mcp.CallToolParams{Name: "propose_release", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func words(r *mcpenvelope.Reply) string {
	if len(r.Result.Content) == 0 {
		return ""
	}
	return r.Result.Content[0].(*mcp.TextContent).Text
}

// TestGoClient: our own client gets the envelope from a process that it started, and from an address
// without HTTPS only where it is told to trust it.
//
// covers ENV-004, ENV-079, ENV-098, ENV-106
func TestGoClient(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, over := range []string{"stdio", "http"} {
			t.Run(version+"/"+over, func(t *testing.T) {
				caps := &mcp.ClientCapabilities{}
				if err := (mcpenvelope.Names{}).AddToClient(caps); err != nil {
					t.Fatal(err)
				}
				s, where := newSite(t), ""
				c := newClient(t, mcpenvelope.ClientConfig{Unauthenticated: mcpenvelope.Refuse})
				if over == "http" {
					where = s.serve(t)
					r := ask(t, c, link(t, s, where, version, c, caps), map[string]any{"dataset": "bus-delays", "recipient": "Lakeside"})
					if !r.Envelope.IsZero() || !strings.Contains(r.Diagnostic, "ENV-106") || !strings.HasPrefix(words(r), "Proposal 1") {
						t.Errorf("without HTTPS: %q, %s", r.Diagnostic, r.Raw)
					}
					c = newClient(t, mcpenvelope.ClientConfig{Unauthenticated: mcpenvelope.Refuse, Trusted: true})
				}
				cs := link(t, s, where, version, c, caps)
				r := ask(t, c, cs, map[string]any{"dataset": "clinic-visits", "recipient": "Riverside"})
				if over == "stdio" && r.Envelope.Digest().String() != firstDigest {
					t.Fatalf("the envelope is %s, %q", r.Raw, r.Diagnostic)
				}
				chosen, err := envelope.Choose(r.Envelope, 1)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{"Released by proposal", "The resolution was discarded"} {
					if r, err := c.Resolve(t.Context(), cs, "propose_release", nil, chosen); err != nil || !strings.HasPrefix(words(r), want) {
						t.Errorf("%v, %v", r, err)
					}
				}
				if got := s.released(t); len(got) != 1 {
					t.Errorf("released are %q", got)
				}
			})
		}
	}
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// TestDecidedBetweenCalls: what is decided on the page while no call waits for it is done by the next
// call that asks. Who proposes the same instead is told so, and no other question is put.
//
// covers ENV-079
func TestDecidedBetweenCalls(t *testing.T) {
	s := newSite(t)
	c := newClient(t, mcpenvelope.ClientConfig{})
	cs := link(t, s, "", "2026-07-28", c, &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}})
	asked, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "propose_release", Arguments: map[string]any{"dataset": "bus-delays", "recipient": "Riverside"}})
	if err != nil || !asked.NeedsInput() {
		t.Fatalf("%+v, %v", asked, err)
	}
	page, err := url.Parse(asked.InputRequests["binding"].(*mcp.ElicitParams).URL)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Get(page.String())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	form, _, _ := strings.Cut(string(text), "</form>")
	v := url.Values{"option_idx": {"0"}}
	for _, m := range hidden.FindAllStringSubmatch(form, -1) {
		v.Set(m[1], m[2])
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page.String(), strings.NewReader(v.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", page.Scheme+"://"+page.Host)
	if res, err := http.DefaultClient.Do(req); err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the page answers %+v, %v", res, err)
	}
	r := ask(t, c, cs, map[string]any{"dataset": "bus-delays", "recipient": "Riverside"})
	if !strings.Contains(words(r), "owner has decided") || !strings.Contains(words(r), "binding_await") || r.Result.NeedsInput() {
		t.Fatalf("the same once more is answered with %s", r.Raw)
	}
	if got := s.released(t); len(got) > 0 {
		t.Errorf("released are %q, and nobody has asked", got)
	}
	r = ask(t, c, cs, map[string]any{"binding_await": v.Get("envelope_digest")})
	if got := s.released(t); !strings.HasPrefix(words(r), "Released by proposal 1: ") || len(got) != 1 {
		t.Errorf("released are %q, answered with %s", got, r.Raw)
	}
}

// TestEnds: told to end, it ends, and says that nothing is wrong.
func TestEnds(t *testing.T) {
	for _, flags := range [][]string{nil, {"--http", "127.0.0.1:0"}} {
		s := newSite(t)
		cmd := exec.Command(s.command[0], append(s.command[1:], flags...)...)
		in, err := cmd.StdinPipe() // it stays open
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(s.data + "/ledger.jsonl"); err == nil { // it runs
				break
			}
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v: %s", flags, err, said.String())
		}
	}
}
