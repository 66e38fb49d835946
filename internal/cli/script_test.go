package cli_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bindery/bindery/internal/cli"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/keyring"
)

// TestScripts runs the command line as its users do. Beside testscript's own commands a
// script has these; FILE may be stdout or stderr:
//
//	code N COMMAND…            run a command that must end with exit code N
//	serving DIR VAR [ROLES]    wait until DIR is served, or ROLES of it; VAR is its public URL
//	port VAR                   VAR is a loopback address whose port is free
//	member FILE POINTER [WANT] the JSON member is there, as WANT says; ! it is not there
//	keep VAR FILE POINTER      VAR is the text of a JSON member
//	capture VAR FILE REGEXP    VAR is what the first group matches
//	oneline FILE               exactly one line, and it says what to try; else no output
//	secretless FILE DIR        nothing of DIR's secrets is in FILE
//	gone DIR                   no process works in DIR or names it
//	post URL FILE ANSWER       POST a JSON-RPC request, keep the answer in a file
//
// covers GC-098, GC-105, GC-133, GC-134, GC-216, GC-217, GC-218, GC-220, GC-233, AG-49, AG-73
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			return nil
		},
		Cmds: commands(),
	})
}

func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return gatewayCommands(map[string]func(*testscript.TestScript, bool, []string){
		"code":       cmdCode,
		"serving":    cmdServing,
		"port":       cmdPort,
		"member":     cmdMember,
		"keep":       cmdKeep,
		"capture":    cmdCapture,
		"oneline":    cmdOneLine,
		"secretless": cmdSecretless,
		"gone":       cmdGone,
		"post":       cmdPost,
	})
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdServing polls the directory's own configuration, since the port is the system's
// choice, and then what the directory publishes there.
func cmdServing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: serving DIR VAR [ROLES]")
	}
	url, err := served(ts.MkAbs(args[0]), nil, args[2:]...)
	ts.Check(err)
	ts.Setenv(args[1], url)
}

func cmdPort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: port VAR")
	}
	addr, err := cli.FreePort()
	ts.Check(err)
	ts.Setenv(args[0], addr)
}

func cmdMember(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: member FILE POINTER [WANT]")
	}
	got, ok := member(ts, args[0], args[1])
	switch {
	case neg && len(args) == 2:
		if ok {
			ts.Fatalf("%s is there", args[1])
		}
	case !ok:
		ts.Fatalf("%s is not there", args[1])
	case len(args) == 3 && (got == args[2]) == neg:
		ts.Fatalf("%s is %s", args[1], got)
	}
}

func cmdKeep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: keep VAR FILE POINTER")
	}
	got, ok := member(ts, args[1], args[2])
	if !ok {
		ts.Fatalf("%s is not there", args[2])
	}
	ts.Setenv(args[0], got)
}

// member resolves a JSON Pointer: a string as its text, anything else as JSON.
func member(ts *testscript.TestScript, file, pointer string) (string, bool) {
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	ts.Check(d.Decode(&v))
	got, ok := at(v, pointer)
	if !ok {
		return "", false
	}
	if s, is := got.(string); is {
		return s, true
	}
	b, err := json.Marshal(got)
	ts.Check(err)
	return string(b), true
}

// at walks a JSON Pointer without escapes.
func at(v any, pointer string) (any, bool) {
	for _, name := range strings.Split(pointer, "/")[1:] {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func cmdCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: capture VAR FILE REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[2])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) < 2 {
		ts.Fatalf("%s does not match %q", args[1], args[2])
	}
	ts.Setenv(args[0], m[1])
}

func cmdOneLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oneline FILE")
	}
	text := ts.ReadFile(args[0])
	what, try, ok := strings.Cut(strings.TrimSuffix(text, "\n"), "; ")
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(what, "bindery: ") || !ok || strings.TrimSpace(try) == "" {
		ts.Fatalf("not one line that says what is wrong and what to try: %q", text)
	}
	if args[0] == "stderr" && ts.ReadFile("stdout") != "" {
		ts.Fatalf("and it prints a result: %q", ts.ReadFile("stdout"))
	}
}

func cmdSecretless(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: secretless FILE DIR")
	}
	text := ts.ReadFile(args[0])
	secrets := map[string]string{}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(args[1], "secrets.json"))), &secrets))
	keys := privateKeys(ts, args[1])
	if len(secrets) < 6 || len(keys) < 3 {
		ts.Fatalf("%s has %d secrets and %d keys: nothing to look for", args[1], len(secrets), len(keys))
	}
	for name, text := range keys {
		secrets[name] = strings.Split(strings.TrimSpace(text), "\n")[1] // within the armour, or the identity
	}
	for name, secret := range secrets {
		if secret == "" || strings.Contains(text, secret) {
			ts.Fatalf("%s shows the secret %s", args[0], name)
		}
	}
}

// privateKeys are the texts of a directory's private keys, by file, and of its key file.
func privateKeys(ts *testscript.TestScript, dir string) map[string]string {
	texts := map[string]string{}
	clear, err := filepath.Glob(filepath.Join(ts.MkAbs(dir), "keys", "*.pem"))
	ts.Check(err)
	for _, path := range clear {
		texts[filepath.Base(path)] = ts.ReadFile(path)
	}
	sealed, err := filepath.Glob(filepath.Join(ts.MkAbs(dir), "keys", "*.age"))
	ts.Check(err)
	if len(sealed) == 0 {
		return texts
	}
	texts["age.key"] = ts.ReadFile(filepath.Join(dir, "age.key"))
	id, err := keyring.ReadKeyFile(filepath.Join(ts.MkAbs(dir), "age.key"))
	ts.Check(err)
	for _, path := range sealed {
		name := strings.TrimSuffix(filepath.Base(path), ".age")
		k, err := id.Open(name, []byte(ts.ReadFile(path)))
		ts.Check(err)
		text, err := jose.MarshalPrivateKeyPEM(k)
		ts.Check(err)
		texts[name] = string(text)
	}
	return texts
}

func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone DIR")
	}
	if runtime.GOOS != "linux" {
		ts.Logf("not run: the list of processes is read from /proc")
		return
	}
	if left := naming(args[0]); left != "" {
		ts.Fatalf("still running: %s", left)
	}
}

func cmdPost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: post URL FILE ANSWER")
	}
	resp, err := http.Post(args[0], "application/json", strings.NewReader(ts.ReadFile(args[1])))
	ts.Check(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), b, 0o600))
}
