package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/cli"
)

// binderyOn runs the command in this process.
func binderyOn(in []byte, args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	code = cli.Main(args, bytes.NewReader(in), &out, &errOut)
	return code, out.String(), errOut.String()
}

// audited is a directory with an RA of its own whose audit log has some rows.
func audited(t *testing.T, rows int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "B")
	if code, _, errOut := binderyOn(nil, "init", "--dir", dir, "--principal", "urn:anax:principal:globex"); code != 0 {
		t.Fatal(errOut)
	}
	for range rows {
		if code, _, errOut := binderyOn(nil, "enrol", "--dir", dir); code != 0 {
			t.Fatal(errOut)
		}
	}
	return dir
}

// raKey is the RA's public key as a directory has pinned it.
func raKey(t *testing.T, dir string) (jwk []byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		RA struct{ Key json.RawMessage }
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c.RA.Key
}

func TestAudit(t *testing.T) {
	dir := audited(t, 4)
	code, export, errOut := binderyOn(nil, "audit", "export", "--of", "ra", "--dir", dir)
	if code != 0 || errOut != "" {
		t.Fatal(code, errOut)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(export, "\n"), "\n")
	if len(lines) < 6 || !strings.Contains(lines[0], `"seq":1`) || !strings.HasPrefix(lines[len(lines)-1], `{"head":"`) {
		t.Fatalf("%d lines: %s", len(lines), export)
	}
	rows := len(lines) - 1
	key := raKey(t, dir)
	keyFile := filepath.Join(t.TempDir(), "ra.jwk")
	if err := os.WriteFile(keyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(file, []byte(export), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := binderyOn(nil, "audit", "verify", file, "--dir", dir, "--json")
	var verdict struct {
		Of, Key   string
		From, Seq int
		Entry     string `json:"entry_sha256"`
		Integrity bool
	}
	if err := json.Unmarshal([]byte(out), &verdict); err != nil || code != 0 {
		t.Fatal(code, out, errOut)
	}
	if verdict.Of != "ra" || verdict.From != 1 || verdict.Seq != rows || !verdict.Integrity {
		t.Errorf("verdict %+v", verdict)
	}
	for name, pin := range map[string][]string{
		"the directory": {"--dir", dir}, "its thumbprint": {"--thumbprint", verdict.Key}, "its key": {"--key", string(key)},
		"its key's file": {"--key", keyFile}, "a known row": {"--dir", dir, "--head", verdict.Entry},
	} {
		code, out, errOut := binderyOn([]byte(export), append([]string{"audit", "verify", "-", "--of", "ra"}, pin...)...)
		if code != 0 || !strings.HasPrefix(out, "the audit log of the RA holds: rows 1 to ") || errOut != "" {
			t.Errorf("%s: %d, %q, %q", name, code, out, errOut)
		}
	}

	other := audited(t, 0)
	last := len(export) - 1
	edit := func(f func([]string) []string) string { return strings.Join(f(slices.Clone(lines)), "") + "\n" }
	for name, c := range map[string]struct {
		export, says, dir string
		args              []string
	}{
		"flipped bit":    {export: edit(func(l []string) []string { l[2] = strings.Replace(l[2], "issued", "issuee", 1); return l }), says: "row 3 does not hold (line 3): entry"},
		"removed row":    {export: edit(func(l []string) []string { return slices.Delete(l, 2, 3) }), says: "row 3 does not hold (line 3): sequence"},
		"reordered":      {export: edit(func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }), says: "row 2 does not hold (line 2): sequence"},
		"duplicated":     {export: edit(func(l []string) []string { return slices.Insert(l, 2, l[1]) }), says: "row 3 does not hold (line 3): sequence"},
		"cut tail":       {export: edit(func(l []string) []string { return slices.Delete(l, rows-1, rows) }), says: "missing: the head covers it"},
		"cut head":       {export: strings.Join(lines[:rows], ""), says: "end: there is no head"},
		"cut line":       {export: export[:len(lines[0])+20], says: "row 2 does not hold (line 2): form"},
		"last byte":      {export: export[:last], says: "form: it is no line"},
		"a row appended": {export: export + lines[0], says: "after: it stands after the head"},
		"no line feed":   {export: strings.Repeat("x", 200<<10), says: "line 1 does not hold: form"},
		"nothing":        {says: "end: there is no head"},
		"another RA":     {export: export, dir: other, says: "key: the head bears another key"},
		"unknown entry":  {export: export, args: []string{"--head", strings.Repeat("a", 64)}, says: "known: the entry that you know"},
	} {
		args := append([]string{"audit", "verify", "-", "--json", "--dir", dir}, c.args...)
		if c.dir != "" {
			args[len(args)-1-len(c.args)] = c.dir
		}
		code, out, errOut := binderyOn([]byte(c.export), args...)
		if code != 1 || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, c.says) || !strings.Contains(out, `"error":"AUDIT_BROKEN"`) {
			t.Errorf("%s: %d, %q, %q, want %q", name, code, out, errOut, c.says)
		}
	}

	// An export of a part holds by itself.
	code, out, errOut = binderyOn(nil, "audit", "export", "--dir", dir, "--from", "3")
	if code != 0 || strings.Count(out, "\n") != rows-1 {
		t.Fatal(code, out, errOut)
	}
	if code, out, errOut := binderyOn([]byte(out), "audit", "verify", "-", "--dir", dir); code != 0 || !strings.Contains(out, "rows 3 to ") {
		t.Errorf("a part: %d, %q, %q", code, out, errOut)
	}
	if code, out, _ := binderyOn([]byte(out[strings.Index(out, "\n")+1:]), "audit", "verify", "-", "--dir", dir); code != 1 {
		t.Errorf("a part without its first row: %d, %q", code, out)
	}
}

// TestAuditUsage: what is wrong with the command line or the directory, in one line.
func TestAuditUsage(t *testing.T) {
	dir := audited(t, 0)
	empty := t.TempDir()
	for _, args := range [][]string{
		{"export", "--of", "gateway", "--dir", dir}, {"export", "--of", "va", "--dir", dir}, {"verify", "-", "--of", "", "--dir", dir},
		{"verify", "-", "--of", "gateway", "--dir", dir},
		{"export", "--dir", dir, "--from", "0"},
		{"export", "--dir", dir, "--from", "99"},
		{"export", "--dir", empty},
		{"export", "x", "--dir", dir},
		{"verify", "--dir", dir},
		{"verify", filepath.Join(empty, "none"), "--dir", dir},
		{"verify", empty, "--dir", dir},
		{"verify", "-", "--dir", empty},
		{"verify", "-", "--thumbprint", "abc"},
		{"verify", "-", "--key", filepath.Join(empty, "none")},
		{"verify", "-", "--key", "{}"},
		{"verify", "-", "--key", "{"},
		{"verify", "-", "--key", "{}", "--thumbprint", "abc"},
		{"verify", "-", "--dir", dir, "--head", "A"},
	} {
		code, out, errOut := binderyOn(nil, append([]string{"audit"}, args...)...)
		if code != 2 || out != "" || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, "; ") {
			t.Errorf("%q: %d, %q, %q", args, code, out, errOut)
		}
	}
}
