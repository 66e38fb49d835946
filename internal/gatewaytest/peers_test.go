package gatewaytest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/gatewaytest"
)

// packages is where npm puts the peers.
const packages = "../../interop/gateway"

func everything() bool { return os.Getenv("BINDERY_TEST_ALL") == "1" }

func notRun(t *testing.T, what string) {
	t.Helper()
	if everything() {
		t.Fatal("not run: " + what)
	}
	t.Skip("not run: " + what)
}

// fetched reports whether the packages are there; it fetches them where everything has to
// run.
var fetched = sync.OnceValue(func() error {
	_, err := os.Stat(filepath.Join(packages, "node_modules", ".package-lock.json")) // written last
	if !errors.Is(err, fs.ErrNotExist) || !everything() {
		return err
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = packages
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
})

// node returns the program that runs the peers: the one that came with them, or else the
// machine's. The conformance suite wants Node 22, which Debian's is not.
func node(t *testing.T, what string) string {
	t.Helper()
	switch err := fetched(); {
	case errors.Is(err, fs.ErrNotExist):
		notRun(t, what+" (no Node packages: npm ci in interop/gateway)")
	case err != nil:
		t.Fatal(err)
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	bin := inPackages(t, "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	bin, err := exec.LookPath("node")
	if err != nil {
		notRun(t, what+" (no Node)")
	}
	return bin
}

// inPackages is the absolute path of a file of a package.
func inPackages(t *testing.T, name ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{packages, "node_modules"}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// built are programs of this module and of others, each built once for all tests.
var built struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

// build returns the program at an import path, built without the race detector.
func build(t testing.TB, pkg string, flags ...string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	key := strings.Join(append(flags, pkg), " ")
	if path := built.paths[key]; path != "" {
		return path
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "bindery-gatewaytest-")
		if err != nil {
			t.Fatal(err)
		}
		built.dir, built.paths = dir, map[string]string{}
	}
	path := filepath.Join(built.dir, fmt.Sprint(len(built.paths), "-", filepath.Base(pkg)))
	args := append([]string{"build", "-buildvcs=false"}, flags...)
	if out, err := exec.Command("go", append(args, "-o", path, pkg)...).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	built.paths[key] = path
	return path
}

func TestMain(m *testing.M) {
	proxyInstead()
	// Most of these tests wait for processes, most of the time. A -parallel on the command line
	// is read later, and stands.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	code := m.Run()
	_ = os.RemoveAll(built.dir)
	os.Exit(code)
}

// start runs a program until the test ends. What it says is shown if the test fails.
func start(t testing.TB, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	var said strings.Builder
	cmd.Stderr = &said
	cmd.WaitDelay = 2 * time.Second
	if cmd.Cancel == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		done := make(chan struct{})
		go func() { _ = cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
		}
		if t.Failed() && said.Len() > 0 {
			t.Logf("%s says:\n%s", filepath.Base(cmd.Path), said.String())
		}
	})
	return cmd
}

var ports = gatewaytest.Ports{From: 16000, Many: 4000}

// freeAddr is a loopback address where nobody listens yet, and that no other test gets.
func freeAddr(t testing.TB) string {
	t.Helper()
	addr, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// listening waits until somebody listens.
func listening(t testing.TB, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = conn.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("nobody listens at %s: %v", addr, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
