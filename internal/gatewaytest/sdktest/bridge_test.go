package sdktest_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A combination is a way from a client to a server.
type combination struct {
	name string
	// connect returns the client's transport; stateful says that the server keeps sessions.
	connect func(t *testing.T, stateful bool) mcp.Transport
}

func stdioToStdio(t *testing.T, _ bool) mcp.Transport {
	return &mcp.CommandTransport{Command: bindery(t, append([]string{"--"}, program("sdk")...)...)}
}

func stdioToHTTP(t *testing.T, stateful bool) mcp.Transport {
	return &mcp.CommandTransport{Command: bindery(t, "--upstream", sdkHTTP(t, stateful))}
}

func httpToStdio(t *testing.T, _ bool) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: listening(t, bindery(t, append([]string{"--addr", "127.0.0.1:0", "--"}, program("sdk")...)...))}
}

func httpToHTTP(t *testing.T, stateful bool) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: listening(t, bindery(t, "--addr", "127.0.0.1:0", "--upstream", sdkHTTP(t, stateful)))}
}

// bindery is a gateway in a directory of its own.
func bindery(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(built(t), append([]string{"gateway", "--dir", filepath.Join(t.TempDir(), "dir")}, args...)...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

var binary struct {
	once sync.Once
	dir  string
	out  []byte
	err  error
}

// built is the command.
func built(t *testing.T) string {
	t.Helper()
	binary.once.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "bindery-sdktest-"); binary.err != nil {
			return
		}
		binary.out, binary.err = exec.Command("go", "build", "-buildvcs=false", "-o", binary.dir, "github.com/bindery/bindery/cmd/bindery").CombinedOutput()
	})
	if binary.err != nil {
		t.Fatalf("%v: %s", binary.err, binary.out)
	}
	return filepath.Join(binary.dir, "bindery")
}

// TestMain removes what was built.
func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(binary.dir)
	os.Exit(code)
}

var endpoint = regexp.MustCompile(`is at (http://\S+)`)

// listening starts a gateway and returns its endpoint, once it has said it.
func listening(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	at := make(chan string, 1)
	go func() {
		for scan := bufio.NewScanner(said); scan.Scan(); {
			if m := endpoint.FindStringSubmatch(scan.Text()); m != nil {
				at <- m[1]
			}
		}
	}()
	select {
	case url := <-at:
		return url
	case <-time.After(time.Minute):
		t.Fatal("the gateway does not say where it is")
		return ""
	}
}

func sdkHTTP(t *testing.T, stateful bool) string {
	server := sdkServer()
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: !stateful, PropagateRequestCancellation: true}))
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s.URL
}

var combinations = []combination{
	{"stdio to stdio", stdioToStdio},
	{"stdio to HTTP", stdioToHTTP},
	{"HTTP to stdio", httpToStdio},
	{"HTTP to HTTP", httpToHTTP},
}

// eras are the two ways of MCP: with sessions and without.
var eras = []string{"2025-11-25", "2026-07-28"}

// The official client works through every combination, in both eras: it lists, calls, gets the
// progress of a call before its answer, answers a question, hears that a list has changed, and
// cancels.
func TestOfficialClient(t *testing.T) {
	for _, c := range combinations {
		for _, era := range eras {
			t.Run(c.name+" "+era, func(t *testing.T) {
				t.Parallel()
				officialClient(t, c.connect(t, era == eras[0]), era)
			})
		}
	}
}

func officialClient(t *testing.T, transport mcp.Transport, era string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var steps []string
	changed := make(chan bool, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, fmt.Sprint(r.Params.Progress, r.Params.Message))
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"which": "that"}}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case changed <- true:
			default:
			}
		},
	})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if got := session.InitializeResult().ProtocolVersion; got != era {
		t.Errorf("negotiated %s, want %s", got, era)
	}
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 7 {
		t.Fatalf("tools: %v, %v", list, err)
	}
	call := func(name string, args any, meta mcp.Meta) string {
		t.Helper()
		r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args, Meta: meta})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r.Content[0].(*mcp.TextContent).Text
	}
	if got := call("echo", echoArgs{"grüße   \u2028 <>"}, nil); got != "grüße   \u2028 <>" {
		t.Errorf("echo: %q", got)
	}
	if got := call("steps", echoArgs{"a"}, mcp.Meta{"progressToken": "tok"}); got != "done" {
		t.Errorf("steps: %q", got)
	}
	await(t, "the progress", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(steps) == 3
	})
	if era == eras[0] { // later a question is an answer, of a kind of its own
		if got := call("ask", struct{}{}, nil); got != "accept that" {
			t.Errorf("ask: %q", got)
		}
	}
	if got := call("grow", struct{}{}, nil); got != "grown" {
		t.Errorf("grow: %q", got)
	}
	if era == eras[0] {
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Error("nobody says that the list has changed")
		}
	}
	var many sync.WaitGroup
	for i := range 32 {
		many.Go(func() {
			text := fmt.Sprint("n", i)
			r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: echoArgs{text}})
			if err != nil || r.Content[0].(*mcp.TextContent).Text != text {
				t.Errorf("%s: %v, %v", text, r, err)
			}
		})
	}
	many.Wait()
	file := filepath.Join(t.TempDir(), "cancelled")
	short, stop := context.WithCancel(ctx)
	var waits sync.WaitGroup
	waits.Go(func() {
		await(t, "the call", func() bool { _, err := os.Stat(file + "-begun"); return err == nil })
		stop()
	})
	if _, err := session.CallTool(short, &mcp.CallToolParams{Name: "wait", Arguments: echoArgs{file}}); err == nil {
		t.Error("wait: an answer")
	}
	waits.Wait()
	await(t, "the cancelling", func() bool { _, err := os.Stat(file); return err == nil })
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%s: it does not come", what)
			return
		}
	}
}
