package cli_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bindery/bindery/internal/cli"
	"github.com/bindery/bindery/internal/gatewaytest"
)

// TestMain puts the command itself on the PATH of the scripts: a link to this test
// binary, so that the children that demo starts with os.Executable are bindery too.
func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" { // or every process of a -race run ends with a second of sleep
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	testscript.Main(tidy{m}, map[string]func(){
		"bindery":  func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"patient":  func() { os.Exit(cli.PatientMain(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"counting": counting,
	})
}

// counting is an MCP server on standard input and output that counts its effects in a file, LEDGER.
// With a word it says that first, on standard error.
func counting() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, os.Args[1])
	}
	ledger, err := gatewaytest.OpenLedger(os.Getenv("LEDGER"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := gatewaytest.New(gatewaytest.Config{Ledger: ledger}).ServeStdio(os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// tidy runs the tests, and then finds out whether a process has outlived them, and
// removes what several of them share.
type tidy struct{ m *testing.M }

func (t tidy) Run() int {
	// Most of these tests wait for processes, most of the time. A -parallel on the command line
	// is read later, and stands.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Println(err)
	}
	code := t.m.Run()
	if bin, err := exec.LookPath("bindery"); err == nil && runtime.GOOS == "linux" {
		if left := naming(bin); left != "" {
			fmt.Println("these processes have outlived the tests: " + left)
			code = max(code, 1)
		}
	}
	leftovers.mu.Lock()
	defer leftovers.mu.Unlock()
	for _, end := range leftovers.list {
		if err := end(); err != nil {
			fmt.Println(err)
			code = max(code, 1)
		}
	}
	return code
}

var leftovers struct {
	mu   sync.Mutex
	list []func() error
}

func atExit(f func() error) {
	leftovers.mu.Lock()
	defer leftovers.mu.Unlock()
	leftovers.list = append(leftovers.list, f)
}
