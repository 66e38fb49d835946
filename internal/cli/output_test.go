package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/cli"
)

// readers are commands that need nothing but a directory, one for each way of printing.
func readers(dir string) [][]string {
	return [][]string{
		{"version"}, {"version", "--json"}, {"explain"}, {"explain", "GC-134"}, {"--help"}, {"keys", "--help"}, {"completion", "bash"},
		{"keys", "list", "--dir", dir}, {"keys", "list", "--dir", dir, "--json"}, {"office", "principal", "show", "--dir", dir},
		{"office", "agent", "list", "--dir", dir}, {"audit", "export", "--dir", dir}, {"enrol", "--dir", dir}, {"refusals", "--dir", dir, "--json"},
	}
}

func made(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "B")
	if code, _, errOut := bindery("init", "--dir", dir, "--principal", "urn:anax:principal:globex"); code != 0 {
		t.Fatal(errOut)
	}
	return dir
}

// TestResultCannotBeWritten: on a full disk no command looks like one that has done its work.
func TestResultCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range readers(made(t)) {
		var errOut bytes.Buffer
		code := cli.Main(args, strings.NewReader(""), full{}, &errOut)
		if code != 3 || errOut.String() != "bindery: could not tell: the result cannot be written: no space left; do not use what was written of it\n" {
			t.Errorf("%q: exit code %d, %q", args, code, errOut.String())
		}
	}
	// What else has gone wrong is told as that.
	var errOut bytes.Buffer
	if code := cli.Main([]string{"explain", "nonsense", "--json"}, strings.NewReader(""), full{}, &errOut); code != 2 || !strings.Contains(errOut.String(), "no error name") {
		t.Errorf("exit code %d, %q", code, errOut.String())
	}
}

// TestResultWithoutReader: nor does one whose reader has gone.
func TestResultWithoutReader(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"explain"}, {"keys", "list", "--dir", made(t)}, {"completion", "zsh"}} {
		r, w := pipe(t)
		var errOut bytes.Buffer
		cmd := exec.Command("bindery", args...)
		cmd.Stdout, cmd.Stderr = w, &errOut
		_ = r.Close()
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.HasPrefix(errOut.String(), "bindery: could not tell: the result cannot be written: ") {
			t.Errorf("%q: %v, %q", args, err, errOut.String())
		}
	}
}

// TestNothingReachesTheTerminal: names of files, arguments, values of config.json and what
// others have written are shown, and not obeyed, whatever command repeats them.
func TestNothingReachesTheTerminal(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[31mred\u009b\u202e\x07\nnext"
	dir := made(t)
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	edited := made(t)
	if err := os.WriteFile(filepath.Join(edited, "config.json"), bytes.Replace(config, []byte(`"agent": {`), []byte(`"\u001b[31m\u009b": {`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, evil)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		notRun(t, "no file may have such a name here: "+err.Error())
	}
	block, err := json.Marshal(map[string]any{
		"chain_seq": 0, "crossing_state": "committed", "is_genesis": true, "outcome": "CLEARED", "pack_id": evil, "pack_version": evil,
		"prev_hash": nil, "seal": strings.Repeat("8d7e1045", 8), "seal_id": "canal-mx3h2ufy-743a49c452ce", "seal_version": 3,
		"sealed_at": "2026-11-30T16:18:31Z", "verify_url": "http://127.0.0.1:37410/?id=canal-mx3h2ufy-743a49c452ce",
	})
	if err != nil {
		t.Fatal(err)
	}
	hidden := func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }
	for _, args := range [][]string{
		{"--" + evil}, {"-" + evil}, {evil}, {"keys", evil}, {"keys", "list", evil}, {"refusals", "--limit", evil},
		{"inspect", path}, {"inspect", path + "/x"}, {"chain", "verify", path}, {"chain", "verify", path + "/x"}, {"mandate", "show", path + "/x"},
		{"mandate", "verify", path + "/x", "--dir", dir}, {"audit", "verify", path + "/x", "--dir", dir}, {"audit", "verify", path, "--key", path + "/x"},
		{"verify", "canal-mx3h2ufy-743a49c452ce", "--dir", dir, "--record", path + "/x"}, {"office", "key", "add", "--dir", dir, "--jwk", path},
		{"cross", "--dir", dir, "--to", "http://127.0.0.1:1", "--act", "engagement_code_issuance", "--class", "irreversible", "--magnitude", "1", "--terms", path + "/x"},
		{"keys", "list", "--dir", path}, {"keys", "passwd", "--dir", dir, "--key-file", path + "/x"}, {"serve", "--dir", dir, "--addr", evil},
		{"init", "--principal", "urn:anax:principal:a", "--dir", path}, {"init", "--principal", "urn:anax:principal:a", "--dir", folder, "--signer", evil},
		{"keys", "list", "--dir", edited}, {"inspect", "-"}, {"init", "--principal", "urn:anax:principal:a", "--dir", filepath.Join(folder, "A"), "--name", evil},
	} {
		code, out, errOut := binderyOn(block, args...)
		if all := out + errOut; all == "" || strings.ContainsFunc(all, hidden) || strings.Contains(all, "\nnext") {
			t.Errorf("%q: %q, %q", args, out, errOut)
		}
		if code == 2 && strings.Count(errOut, "\n") != 1 {
			t.Errorf("%q: not one line: %q", args, errOut)
		}
	}
}
