package gatewaytest_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hello are the first two messages of a session of 2025-11-25, in a spelling that no
// serialiser would choose.
var hello = []string{
	`{"jsonrpc":"2.0", "id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"gr\u00fc\u00df","version":"1"}}}`,
	`{"jsonrpc":"2.0","method":"notifications\/initialized"}`,
}

// A realServer is one from npm, and what is asked of it.
type realServer struct {
	name    string
	command func(t *testing.T, dir string) (env, command []string)
	asked   []string
}

func ofNode(t *testing.T, name string, args ...string) []string {
	t.Helper()
	return append([]string{node(t, "real servers"), inPackages(t, "@modelcontextprotocol", name, "dist", "index.js")}, args...)
}

var realServers = []realServer{
	{
		name:    "everything",
		command: func(t *testing.T, _ string) (_, _ []string) { return nil, ofNode(t, "server-everything", "stdio") },
		asked:   askedOfEverything,
	},
	{
		name: "filesystem",
		command: func(t *testing.T, dir string) (_, _ []string) {
			return nil, ofNode(t, "server-filesystem", dir)
		},
		asked: []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			`{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"list_directory","arguments":{"path":"DIR"}}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"DIR/new.txt","content":"caf\u00e9 \u2028 \"q\" \/"}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"arguments":{"path":"DIR/new.txt","tail":1.0},"name":"read_text_file"}}`,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"/etc/passwd"}}}`,
		},
	},
	{
		name: "memory",
		command: func(t *testing.T, dir string) (env, _ []string) {
			return []string{"MEMORY_FILE_PATH=" + filepath.Join(t.TempDir(), "memory.json")}, ofNode(t, "server-memory")
		},
		asked: []string{
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"create_entities","arguments":{"entities":[{"name":"Zo\u00eb","entityType":"person","observations":["likes \ud83d\ude00"]}]}}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_graph","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"search_nodes","arguments":{"query":"Zo"}}}`,
		},
	},
}

var askedOfEverything = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
	`{"jsonrpc":"2.0","id":2,"method":"resources/templates/list","params":{}}`,
	`{"jsonrpc":"2.0","id":3,"method":"prompts/list","params":{}}`,
	`{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"simple-prompt"}}`,
	`{ "jsonrpc" : "2.0", "id" : 5, "method" : "tools/call", "params" : { "name" : "echo", "arguments" : { "message" : "e\u0301 \u00e9 \ud83d\ude00 \/ <&>" } } }`,
	`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"get-sum","arguments":{"a":1.0,"b":2e0}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get-structured-content","arguments":{"location":"Chicago"}}}`,
	`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"no-such-tool","arguments":{}}}`,
	`{"jsonrpc":"2.0","id":9,"method":"no/such/method","params":{}}`,
	`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"trigger-long-running-operation","arguments":{"duration":0.05,"steps":2},"_meta":{"progressToken":"p"}}}`,
}

// script is what is sent to a server whose directory is dir.
func (r realServer) script(dir string) []string {
	var list []string
	for _, m := range slices.Concat(hello, r.asked) {
		list = append(list, strings.ReplaceAll(m, "DIR", dir))
	}
	return list
}

// say sends a script and returns all that came back, one message a line.
func say(t *testing.T, to talker, script []string) []string {
	t.Helper()
	var said []string
	for _, m := range script {
		for _, answer := range to.talk(t, m) {
			said = append(said, string(answer))
		}
	}
	return said
}

// results are the results and errors in messages, as they stand there.
func results(t *testing.T, messages []string) []string {
	t.Helper()
	var list []string
	for _, m := range messages {
		if s := part(t, []byte(m), "result") + part(t, []byte(m), "error"); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func directory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old.txt"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestServersOverStdio: real servers over stdio behind the gateway, for a client over stdio
// and one over HTTP. What the client gets of calls without an execution_id are the server's
// bytes, and over stdio the server gets the client's.
//
// covers EXA-052, EXA-055
func TestServersOverStdio(t *testing.T) {
	t.Parallel()
	bindery(t)
	for _, server := range realServers {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			dir := directory(t)
			script := server.script(dir)
			direct := server.talk(t, dir, script)
			if len(results(t, direct)) != len(script)-1 {
				t.Fatalf("directly it says\n%s", strings.Join(direct, "\n"))
			}
			_ = os.Remove(filepath.Join(dir, "new.txt"))

			env, command := server.command(t, dir)
			tee, in, out := teed(t, command...)
			s := talkTo(t, env, gatewayCommand(t, append([]string{"--"}, tee...)...)...)
			through := say(t, s, script)
			if diff := cmp.Diff(results(t, direct), results(t, through)); diff != "" {
				t.Errorf("through the gateway (+), over stdio, it says otherwise than directly (-):\n%s", diff)
			}
			if got, want := bytes.Join(kept(t, in, len(script)), nil), strings.Join(script, "\n")+"\n"; string(got) != want {
				t.Errorf("the server was sent\n%sand not\n%s", got, want)
			}
			if diff := cmp.Diff(string(bytes.Join(kept(t, out, len(s.got)), nil)), string(bytes.Join(s.got, nil))); diff != "" {
				t.Errorf("the client got (+) other bytes than the server sent (-):\n%s", diff)
			}
			_ = os.Remove(filepath.Join(dir, "new.txt"))

			env, command = server.command(t, dir)
			h := &overHTTP{}
			h.client.URL = gatewayAt(t, env, append([]string{"--"}, command...)...)
			through = say(t, h, script)
			if diff := cmp.Diff(results(t, direct), results(t, through)); diff != "" {
				t.Errorf("through the gateway (+), over HTTP, it says otherwise than directly (-):\n%s", diff)
			}
		})
	}
}

// talk asks a server of its own directly.
func (r realServer) talk(t *testing.T, dir string, script []string) []string {
	t.Helper()
	env, command := r.command(t, dir)
	return say(t, talkTo(t, env, command...), script)
}

// TestServersOverHTTP: the server with everything over HTTP, behind the gateway, for a
// client over HTTP and one over stdio.
//
// covers EXA-052, EXA-055
func TestServersOverHTTP(t *testing.T) {
	t.Parallel()
	bindery(t)
	script := realServer{asked: askedOfEverything}.script("")
	addr := freeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	cmd := exec.Command(ofNode(t, "server-everything")[0], ofNode(t, "server-everything", "streamableHttp")[1:]...)
	cmd.Env = append(os.Environ(), "PORT="+port)
	start(t, cmd)
	listening(t, addr)
	d := &overHTTP{}
	d.client.URL = "http://" + addr + "/mcp"
	direct := say(t, d, script)

	upstream, p := tapped(t, d.client.URL)
	h := &overHTTP{}
	h.client.URL = gatewayAt(t, nil, "--upstream", upstream)
	through := say(t, h, script)
	if diff := cmp.Diff(results(t, direct), results(t, through)); diff != "" {
		t.Errorf("through the gateway (+), over HTTP, it says otherwise than directly (-):\n%s", diff)
	}
	if diff := cmp.Diff(p.answersTo(t, script), h.bodies); diff != "" {
		t.Errorf("the client got (+) other bytes than the server sent (-):\n%s", diff)
	}

	through = say(t, talkTo(t, nil, gatewayCommand(t, "--upstream", d.client.URL)...), script)
	if diff := cmp.Diff(results(t, direct), results(t, through)); diff != "" {
		t.Errorf("through the gateway (+), over stdio, it says otherwise than directly (-):\n%s", diff)
	}
}

// bindery builds the command.
func bindery(t testing.TB) string {
	t.Helper()
	return build(t, "github.com/bindery/bindery/cmd/bindery")
}

// gatewayCommand is a gateway over stdio in a directory of its own.
func gatewayCommand(t *testing.T, more ...string) []string {
	t.Helper()
	return append([]string{bindery(t), "gateway", "--dir", filepath.Join(t.TempDir(), "G")}, more...)
}

// gatewayAt serves a gateway over HTTP and returns its endpoint.
func gatewayAt(t *testing.T, env []string, more ...string) string {
	t.Helper()
	addr := freeAddr(t)
	command := gatewayCommand(t, append([]string{"--addr", addr}, more...)...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	start(t, cmd)
	listening(t, addr)
	return "http://" + addr + "/mcp"
}
