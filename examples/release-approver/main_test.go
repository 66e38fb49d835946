package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bindery/bindery/envelope"
	server "github.com/bindery/bindery/examples/release-approver"
	"github.com/rogpeppe/go-internal/testscript"
)

// program is the path of the server: the test's own program, under another name.
var program string

const programName = "release-approver"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == programName {
		server.Main()
	}
	os.Exit(serveTests(m))
}

func serveTests(m *testing.M) int {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "release-approver-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, programName)
	if err := os.Symlink(self, program); err != nil {
		panic(err)
	}
	return m.Run()
}

// TestScript runs the scripts of testdata/script. A script has the program in its PATH, a copy of the
// catalogue in its folder, and the command mcp, a client over stdio that renders envelopes:
//
//	mcp start [FLAG…]          starts the program with --catalogue and --data, and greets it
//	mcp call TOOL ARGUMENTS    prints the text of the result; an error result fails the command
//	mcp resolve KIND [VALUE]   resolves the last envelope, which $DIGEST names
//	mcp stop | mcp kill        closes its stdin and waits, or ends it where it stands
//
// covers ENV-003, ENV-018, ENV-063, ENV-064, ENV-066, ENV-067, ENV-068, ENV-079, ENV-120
func TestScript(t *testing.T) {
	catalogue, err := filepath.Abs("catalogue")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Values[talkKey{}] = &talk{}
			return os.CopyFS(filepath.Join(env.WorkDir, "catalogue"), os.DirFS(catalogue))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"mcp": mcpCommand},
	})
}

// A talk is one run of the program.
type talk struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	id   int
	tool string
}

type talkKey struct{}

func mcpCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("mcp: what?")
	}
	k, _ := ts.Value(talkKey{}).(*talk)
	switch verb := args[0]; verb {
	case "start":
		k.begin(ts, args[1:])
	case "stop":
		_ = k.in.Close()
		ts.Check(k.cmd.Wait())
	case "kill":
		_ = k.cmd.Process.Kill()
		_ = k.cmd.Wait()
	case "call":
		k.tool = args[1]
		k.call(ts, neg, json.RawMessage(args[2]))
	case "resolve":
		r := map[string]any{"envelope_digest": ts.Getenv("DIGEST"), "resolution": args[1]}
		if args[1] == "option" {
			r["option_idx"] = json.Number(args[2])
		} else if args[1] == "answer" {
			r["answer"] = args[2]
		}
		text, err := json.Marshal(map[string]any{"binding_resolution": r})
		ts.Check(err)
		k.tool = "propose_release"
		k.call(ts, neg, text)
	default:
		ts.Fatalf("mcp: %s?", verb)
	}
}

func (k *talk) begin(ts *testscript.TestScript, flags []string) {
	cmd := exec.Command(program, append([]string{"--catalogue", ts.MkAbs("catalogue"), "--data", ts.MkAbs("data")}, flags...)...)
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	*k = talk{cmd: cmd, in: in, out: bufio.NewScanner(out)}
	k.out.Buffer(nil, 1<<20)
	ts.Defer(func() { _ = in.Close(); _ = cmd.Wait() })
	k.ask(ts, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"extensions":{"bindery/binding-moment":{}}},"clientInfo":{"name":"script","version":"1"}}`)
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	ts.Check(err)
}

// ask sends a request and returns its result.
func (k *talk) ask(ts *testscript.TestScript, method, params string) json.RawMessage {
	k.id++
	_, err := fmt.Fprintf(k.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", k.id, method, params)
	ts.Check(err)
	for k.out.Scan() {
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		ts.Check(json.Unmarshal(k.out.Bytes(), &answer))
		if answer.ID == k.id {
			if answer.Result == nil {
				ts.Fatalf("%s is answered with %s", method, answer.Error)
			}
			return answer.Result
		}
	}
	ts.Fatalf("the program ended: %v", k.out.Err())
	return nil
}

func (k *talk) call(ts *testscript.TestScript, neg bool, args json.RawMessage) {
	text := k.ask(ts, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, k.tool, args))
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool            `json:"isError"`
		Moment  json.RawMessage `json:"binding_moment"`
	}
	ts.Check(json.Unmarshal(text, &result))
	var words []string
	for _, c := range result.Content {
		words = append(words, c.Text)
	}
	_, _ = io.WriteString(ts.Stdout(), strings.Join(words, "\n")+"\n")
	if result.Moment != nil {
		e, err := envelope.Parse(result.Moment)
		ts.Check(err)
		ts.Setenv("DIGEST", e.Digest().String())
		_, _ = io.WriteString(ts.Stdout(), "envelope "+ts.Getenv("DIGEST")+"\n")
	}
	if result.IsError != neg {
		ts.Fatalf("isError is %v: %s", result.IsError, strings.Join(words, "\n"))
	}
}
