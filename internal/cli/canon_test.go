package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bindery/bindery/internal/cli"
)

// spaces is white space without an end, and counts what is taken of it.
type spaces struct{ taken int }

func (s *spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	s.taken += len(p)
	return len(p), nil
}

func TestCanonReadsNoMore(t *testing.T) {
	for _, command := range []string{"canon", "digest"} {
		var out, errOut bytes.Buffer
		in := &spaces{}
		code := cli.Main([]string{command}, in, &out, &errOut)
		if code != 1 || out.Len() > 0 || errOut.String() != "stdin:16777216 (1:16777217): size: input longer than the limit\n" {
			t.Errorf("%s: exit code %d, %q, %q", command, code, out.String(), errOut.String())
		}
		if in.taken != 16<<20+1 {
			t.Errorf("%s took %d bytes", command, in.taken)
		}
	}
}

// A file name is the text of whoever named the file.
func TestCanonNames(t *testing.T) {
	t.Chdir(t.TempDir())
	hidden := func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) || r == utf8.RuneError }
	for name, shown := range map[string]string{
		"a b.json":            `a b.json`,
		"é.json":              `é.json`,
		"\x1b[31mred.json":    `"\x1b[31mred.json"`,
		"two\nlines.json":     `"two\nlines.json"`,
		"\u202enosj.json":     `"\u202enosj.json"`,
		"\xff.json":           `"\xff.json"`,
		"say \"\x07\" of.txt": `"say \"\a\" of.txt"`,
	} {
		if err := os.WriteFile(name, []byte("\x1b]"), 0o600); err != nil {
			notRun(t, "no file may have such a name here: "+err.Error())
		}
		for _, command := range []string{"canon", "digest"} {
			code, out, errOut := bindery(command, name)
			if code != 1 || out != "" || errOut != shown+":0 (1:1): syntax: unexpected byte\n" {
				t.Errorf("%s %q: exit code %d, %q, %q", command, name, code, out, errOut)
			}
			code, out, errOut = bindery(command, filepath.Join(name, "below"))
			if code != 2 || out != "" || strings.Count(errOut, "\n") != 1 || strings.ContainsFunc(errOut, hidden) {
				t.Errorf("%s below %q: exit code %d, %q, %q", command, name, code, out, errOut)
			}
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestCanonCannotWrite(t *testing.T) {
	for _, command := range []string{"canon", "digest"} {
		var errOut bytes.Buffer
		code := cli.Main([]string{command}, strings.NewReader("{}"), full{}, &errOut)
		if code != 3 || errOut.String() != "bindery: could not tell: the result cannot be written: no space left; do not use what was written of it\n" {
			t.Errorf("%s: exit code %d, %q", command, code, errOut.String())
		}
	}
}

// A pipe whose reader has gone is told like a full disk, also with a second thing to
// write, which is the object of --json.
func TestCanonClosedPipe(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"canon"}, {"digest"}, {"digest", "--json"}} {
		r, w := pipe(t)
		var errOut bytes.Buffer
		cmd := exec.Command("bindery", args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("[1]"), w, &errOut
		_ = r.Close()
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.HasPrefix(errOut.String(), "bindery: could not tell: the result cannot be written: ") || strings.Count(errOut.String(), "\n") != 1 {
			t.Errorf("%q: %v, %q", args, err, errOut.String())
		}
	}
}

// Ctrl-C ends a command that waits for the rest of its input.
func TestCanonInterrupted(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	var out, errOut bytes.Buffer
	cmd := exec.Command("bindery", "canon")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r, &out, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	// More than a pipe holds: when it is written, the command is reading.
	if _, err := io.Copy(w, io.LimitReader(&spaces{}, 1<<20)); err != nil {
		t.Fatal(err)
	}
	interrupt(t, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 3 || out.Len() > 0 || !strings.HasPrefix(errOut.String(), "bindery: could not tell: ") {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errOut.String())
	}
}

// So it does one whose reader has stalled.
func TestCanonStalled(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	var errOut bytes.Buffer
	cmd := exec.Command("bindery", "canon")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(`"`+strings.Repeat("x", 1<<20)+`"`), w, &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	interrupt(t, cmd)
	if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.HasPrefix(errOut.String(), "bindery: could not tell: ") {
		t.Errorf("exit code %d, %q", code, errOut.String())
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
	})
	return r, w
}

// interrupt sends what Ctrl-C sends, and waits for the end, but not for ever.
func interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the exit code says it
}
