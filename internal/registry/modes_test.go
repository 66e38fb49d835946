package registry_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/registry"
)

// modeVariable tells a run of this test binary which release mode its worlds have.
const modeVariable = "BINDERY_TEST_RELEASE"

// mode is the release mode of this run.
func mode(t *testing.T) registry.ReleaseMode {
	t.Helper()
	m, err := registry.ParseReleaseMode(os.Getenv(modeVariable))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestInReleaseModeOn runs every test of the RA once more, in the other mode: what neither
// sweeps nor releases must not tell one mode from the other (design R3). The model has both
// modes itself, and the tests that look away from the rows of a Closed have none.
func TestInReleaseModeOn(t *testing.T) {
	if mode(t) == registry.ReleaseOn {
		return // it is the other run
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.skip=^(TestInReleaseModeOn|TestModel|TestKeepAudit|TestReplicasWithoutCompareAndSwap)"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	cmd := exec.Command(exe, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOCOVERDIR=") { // the coverage of the first run stands
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, modeVariable+"="+string(registry.ReleaseOn))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("in release mode on: %v\n%s", err, out)
	}
}
