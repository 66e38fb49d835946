package cli_test

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bindery/bindery/internal/cli"
)

// TestMain puts the command itself on the PATH of the scripts: a link to this test
// binary, so that the children that demo starts with os.Executable are bindery too.
func TestMain(m *testing.M) {
	if os.Getenv("GORACE") == "" { // or every process of a -race run ends with a second of sleep
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	testscript.Main(m, map[string]func(){
		"bindery": func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}
