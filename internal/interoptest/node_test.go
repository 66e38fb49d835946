package interoptest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const programs = "../../interop"

// fetched reports whether Node's packages are there; it fetches them where everything has
// to run.
var fetched = sync.OnceValue(func() error {
	_, err := os.Stat(filepath.Join(programs, "node_modules", "ajv", "package.json"))
	if !errors.Is(err, fs.ErrNotExist) || !everything() {
		return err
	}
	cmd := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = programs
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
})

func everything() bool { return os.Getenv("BINDERY_TEST_ALL") == "1" }

// needNode leaves the test out where Node or its packages are missing.
func needNode(t *testing.T, what string) {
	t.Helper()
	needNodeAlone(t, what)
	switch err := fetched(); {
	case errors.Is(err, fs.ErrNotExist):
		notRun(t, what+" (no Node packages: npm ci in interop)")
	case err != nil:
		t.Fatal(err)
	}
}

// needNodeAlone leaves the test out where Node is missing; it takes no packages.
func needNodeAlone(t *testing.T, what string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		notRun(t, what+" (no Node)")
	}
}

func notRun(t *testing.T, what string) {
	t.Helper()
	if everything() {
		t.Fatal("not run: " + what)
	}
	t.Skip("not run: " + what)
}

// node runs one of the programs and returns its stdout and exit code.
func node(t *testing.T, program string, args ...string) (stdout []byte, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", append([]string{program}, args...)...)
	cmd.Dir = programs
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if code = cmd.ProcessState.ExitCode(); code != 0 && code != 1 {
		t.Fatalf("%s ends with %d:\n%s", program, code, &stderr)
	}
	return stdout, code
}
