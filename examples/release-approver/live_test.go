package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bindery/bindery/envelope"
)

// packages is where npm puts the clients.
const packages = "../../interop/envelope"

func notRun(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("BINDERY_TEST_ALL") == "1" {
		t.Fatal("not run: " + what)
	}
	t.Skip("not run: " + what)
}

// fetched reports whether the packages are there; it fetches them where everything has to run.
var fetched = sync.OnceValue(func() error {
	_, err := os.Stat(filepath.Join(packages, "node_modules", ".package-lock.json")) // written last
	if !errors.Is(err, fs.ErrNotExist) || os.Getenv("BINDERY_TEST_ALL") != "1" {
		return err
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = packages
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
})

// node returns the Node that came with the packages; the inspector wants 22.
func node(t *testing.T) string {
	t.Helper()
	switch err := fetched(); {
	case errors.Is(err, fs.ErrNotExist):
		notRun(t, "MCP clients (no Node packages: npm ci in interop/envelope)")
	case err != nil:
		t.Fatal(err)
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	bin, err := filepath.Abs(filepath.Join(packages, "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		notRun(t, "MCP clients (no Node 22 for this machine)")
	}
	return bin
}

const proposal = `{"dataset":"clinic-visits","recipient":"Riverside"}`

// firstDigest is that of the first proposal. Computed with Node's crypto and the npm package
// canonicalize.
const firstDigest = "sha256:e50f0ede3dca45c70ac05daeb22c2136c943ee8b61ce7f9bb95baa2f15f4e9bc"

// A site is one server with a folder of its own.
type site struct {
	data    string
	command []string
}

func newSite(t *testing.T) site {
	t.Helper()
	data := t.TempDir()
	catalogue, err := filepath.Abs("catalogue")
	if err != nil {
		t.Fatal(err)
	}
	return site{data, []string{program, "--catalogue", catalogue, "--data", data}}
}

// serve runs it over HTTP, and returns where.
func (s site) serve(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(s.command[0], append(s.command[1:], "--http", "127.0.0.1:0")...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "msg=MCP at="); ok {
			go func() {
				for lines.Scan() {
				}
			}()
			return at
		}
	}
	t.Fatal("the server does not say where it is")
	return ""
}

// released are the files of the outbox.
func (s site) released(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.data, "outbox", "*", "*", "*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	return files
}

// TestClients: the two generations of the TypeScript SDK, on both protocols, over stdio and HTTP. The
// envelope arrives intact and its digest, computed there, is ours; the resolution is taken, and the
// second discarded. A client that has forms or pages alone decides by them, and one that closes its
// form decides nothing.
//
// covers ENV-004, ENV-053, ENV-055, ENV-079, ENV-081, ENV-084, ENV-085, ENV-096, ENV-119
func TestClients(t *testing.T) {
	bin := node(t)
	limit := make(chan struct{}, max(2, runtime.NumCPU()))
	for _, kind := range []string{"v1", "v2", "modern"} {
		for _, over := range []string{"stdio", "http"} {
			for _, can := range []string{"renders", "form", "page", "nothing", "closes"} {
				if (can == "nothing" || can == "closes") && (kind == "v1" || over == "http") {
					continue // said elsewhere
				}
				t.Run(kind+"/"+over+"/"+can, func(t *testing.T) {
					t.Parallel()
					limit <- struct{}{}
					defer func() { <-limit }()
					s := newSite(t)
					where := s.command
					if over == "http" {
						where = []string{s.serve(t)}
					}
					said := talkNode(t, bin, append([]string{kind, can, over}, where...)...)
					judge(t, can, said, s.released(t))
				})
			}
		}
	}
}

type report struct {
	Asked                         []string
	Advertised, Argument          bool
	First, Digest, Mirror, Moment string
	Taken                         string
	Again                         struct {
		Error bool
		Name  string
	}
	Forged, Sent, Twice int
	Policy              string
}

func talkNode(t *testing.T, bin string, args ...string) (said report) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin, append([]string{"client.mjs"}, args...)...)
	cmd.Dir, cmd.WaitDelay = packages, time.Minute
	cmd.Env = append(os.Environ(), "PROPOSAL="+proposal)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	return said
}

func judge(t *testing.T, can string, said report, released []string) {
	t.Helper()
	if !said.Advertised || !said.Argument {
		t.Errorf("advertised %v, the argument %v", said.Advertised, said.Argument)
	}
	if can == "renders" || can == "nothing" || can == "closes" {
		if said.Digest != firstDigest || said.Mirror != firstDigest {
			t.Errorf("the digests are %q and %q", said.Digest, said.Mirror)
		}
		if e, err := envelope.Parse([]byte(said.Moment)); err != nil || e.Digest().String() != firstDigest || string(e.JSON()) != said.Moment {
			t.Errorf("canonicalize makes %s of it", said.Moment)
		}
		if !strings.HasPrefix(said.First, "Proposal 1 on Visits") || can == "renders" == strings.Contains(said.First, "SYNOPSIS") {
			t.Errorf("the ordinary content is %q", said.First)
		}
	}
	want := "Released by proposal 1: the district view of clinic-visits to Riverside"
	switch can {
	case "renders", "nothing":
		if !strings.HasPrefix(said.Taken, want) || !said.Again.Error || said.Again.Name != envelope.Taken {
			t.Errorf("resolved: %q, and once more: %+v", said.Taken, said.Again)
		}
	case "form":
		if !strings.HasPrefix(said.First, want) || strings.Join(said.Asked, " ") != "form form" {
			t.Errorf("asked by %v, answered with %q", said.Asked, said.First)
		}
	case "page":
		if !strings.HasPrefix(said.First, want) || strings.Join(said.Asked, " ") != "url" || said.Forged != 403 || said.Sent != 200 || said.Twice != 410 {
			t.Errorf("%+v", said)
		}
	case "closes":
		if len(said.Asked) != 1 || !strings.Contains(said.First, "That decides nothing") || len(released) > 0 {
			t.Errorf("asked by %v, answered with %q, released %q", said.Asked, said.First, released)
		}
		return
	}
	if strings.Join(released, " ") != "000001-district.csv" {
		t.Errorf("released are %q", released)
	}
}

// TestInspector: the MCP inspector's command line, each call a process of its own, on both protocols,
// over stdio and HTTP.
//
// covers ENV-079, ENV-081, ENV-084
func TestInspector(t *testing.T) {
	bin := node(t)
	limit := make(chan struct{}, max(2, runtime.NumCPU()))
	for _, era := range []string{"legacy", "modern"} {
		for _, over := range []string{"stdio", "http"} {
			t.Run(era+"/"+over, func(t *testing.T) {
				t.Parallel()
				limit <- struct{}{}
				defer func() { <-limit }()
				s := newSite(t)
				where := append(s.command[:len(s.command):len(s.command)], "-q")
				if over == "http" {
					where = []string{s.serve(t), "--transport", "http", "-q"}
				}
				ask := func(args string) (result inspected) {
					t.Helper()
					home := t.TempDir()
					cmd := exec.CommandContext(t.Context(), bin, append(append([]string{"node_modules/.bin/mcp-inspector", "--cli"}, where...),
						"--protocol-era", era, "--format", "json", "--method", "tools/call", "--tool-name", "propose_release", "--tool-args-json", args)...)
					cmd.Dir, cmd.WaitDelay = packages, time.Minute
					cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Dir(bin)+string(os.PathListSeparator)+os.Getenv("PATH"))
					var stderr strings.Builder
					cmd.Stderr = &stderr
					out, err := cmd.Output() // it ends with 1 where the result is an error
					if jsonErr := json.NewDecoder(strings.NewReader(string(out))).Decode(&result); jsonErr != nil {
						t.Fatalf("%v, %v: %s", err, jsonErr, stderr.String())
					}
					return result
				}
				moment := ask(proposal).Result.Moment
				if got := digestInNode(t, bin, moment); got != firstDigest {
					t.Fatalf("the digest of %s is %s", moment, got)
				}
				resolution := `{"binding_resolution":{"envelope_digest":"` + firstDigest + `","resolution":"option","option_idx":1}}`
				if r := ask(resolution).Result; r.IsError || len(r.Content) != 1 || !strings.HasPrefix(r.Content[0].Text, "Released by proposal 1: the district view") {
					t.Errorf("the resolution is answered with %+v", r)
				}
				if r := ask(resolution).Result; !r.IsError || r.Meta["bindery/resolution_refused"] != envelope.Taken {
					t.Errorf("the second is answered with %+v", r)
				}
				if got := s.released(t); len(got) != 1 {
					t.Errorf("released are %q", got)
				}
			})
		}
	}
}

// digestInNode computes a digest with Node's crypto and the npm package canonicalize.
func digestInNode(t *testing.T, bin string, moment []byte) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), bin, "--input-type=module", "-e", `
		import { createHash } from 'node:crypto';
		import { readFileSync } from 'node:fs';
		import canonicalize from 'canonicalize';
		console.log('sha256:' + createHash('sha256').update(canonicalize(JSON.parse(readFileSync(0)))).digest('hex'));`)
	cmd.Dir, cmd.Stdin = packages, bytes.NewReader(moment)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

type inspected struct {
	Result struct {
		Content []struct{ Text string }
		IsError bool
		Meta    map[string]any  `json:"_meta"`
		Moment  json.RawMessage `json:"binding_moment"`
	}
}
