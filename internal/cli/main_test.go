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
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bindery/bindery/internal/cli"
)

// TestMain puts the command itself on the PATH of the scripts: a link to this test
// binary, so that the children that demo starts with os.Executable are bindery too.
func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" { // or every process of a -race run ends with a second of sleep
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	testscript.Main(tidy{m}, map[string]func(){
		"bindery": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
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
		if left := naming(bin, 2*time.Second); left != "" {
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
