package cli_test

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/cli"
)

// TestInputInterrupted: Ctrl-C ends every command that waits for the rest of its input.
func TestInputInterrupted(t *testing.T) {
	t.Parallel()
	dir := made(t)
	for _, args := range [][]string{
		{"inspect", "-"}, {"chain", "verify", "-"}, {"mandate", "show", "-"}, {"mandate", "verify", "-", "--dir", dir},
		{"audit", "verify", "-", "--dir", dir}, {"office", "key", "add", "--jwk", "-", "--dir", dir}, {"inspect", "-", "--json"},
		{"cross", "--dir", dir, "--to", "http://127.0.0.1:1", "--act", "engagement_code_issuance", "--class", "irreversible", "--magnitude", "1", "--terms", "-"},
	} {
		r, w := pipe(t)
		var out, errOut bytes.Buffer
		cmd := exec.Command("bindery", args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = r, &out, &errOut
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		// A byte more than a pipe holds: when that is written, the command is reading.
		if _, err := w.Write(bytes.Repeat([]byte{' '}, 64<<10+1)); err != nil {
			t.Fatal(err)
		}
		interrupt(t, cmd)
		if code := cmd.ProcessState.ExitCode(); code != 3 || errOut.String() != "bindery: could not tell: interrupted\n" {
			t.Errorf("%q: exit code %d, %q", args, code, errOut.String())
		}
		if args[len(args)-1] == "--json" != strings.Contains(out.String(), `"UNKNOWN"`) {
			t.Errorf("%q: %q", args, out.String())
		}
	}
}

// TestInputTooLarge: what is longer than the limit is refused as that, and not cut and
// taken for something else.
func TestInputTooLarge(t *testing.T) {
	t.Parallel()
	dir := made(t)
	for _, c := range []struct {
		most int
		size string
		args []string
	}{
		{1 << 20, "1 MiB", []string{"inspect", "-"}},
		{128 << 10, "128 KiB", []string{"mandate", "show", "-"}},
		{128 << 10, "128 KiB", []string{"mandate", "verify", "-", "--dir", dir}},
		{128 << 10, "128 KiB", []string{"office", "key", "add", "--jwk", "-", "--dir", dir}},
		{64 << 20, "64 MiB", []string{"chain", "verify", "-"}},
	} {
		for more := range 2 {
			in := &spaces{}
			var out, errOut bytes.Buffer
			code := cli.Main(c.args, io.LimitReader(in, int64(c.most+more)), &out, &errOut)
			told := strings.HasPrefix(errOut.String(), "bindery: standard input is too large: more than "+c.size+"; ")
			if code == 0 || told != (more == 1) || told && code != 2 || out.Len() > 0 {
				t.Errorf("%q of %d bytes: exit code %d, %q", c.args, c.most+more, code, errOut.String())
			}
		}
	}
}
