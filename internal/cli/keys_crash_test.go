package cli_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKeysInterrupted ends keys encrypt and keys passwd by kill -9 at each of their steps.
// Every key is there afterwards and is the same, and the command run again ends the work.
func TestKeysInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "demo", "--once", "--dir", filepath.Join(dir, "T"))
	origin := filepath.Join(dir, "T", "responder")
	open := func(d string) []string {
		return []string{"mandate", "open", "--dir", d, "--class", "irreversible", "--limit", "3", "--act", "engagement_code_issuance", "--counterparty", "*"}
	}
	inClear := readKeys(t, origin, "*.pem")
	for _, point := range []string{"keys-sealed", "keys-named", "keys-removed"} {
		d := filepath.Join(dir, point)
		if err := os.CopyFS(d, os.DirFS(origin)); err != nil {
			t.Fatal(err)
		}
		p := run(t, "BINDERY_KILL_AT="+point, "keys", "encrypt", "--dir", d)
		if !p.died(patience) {
			t.Fatalf("%s is not reached:\n%s", point, p.stderr)
		}
		for name := range inClear { // in clear or encrypted, none is lost
			sealed, _ := filepath.Glob(filepath.Join(d, "keys", name+".age"))
			clear, _ := filepath.Glob(filepath.Join(d, "keys", name+".pem"))
			if len(sealed)+len(clear) == 0 {
				t.Errorf("%s: %s is lost", point, name)
			}
		}
		must(t, "keys", "encrypt", "--dir", d)
		if left := readKeys(t, d, "*.pem"); len(left) != 0 {
			t.Errorf("%s: these stay in clear: %v", point, left)
		}
		must(t, open(d)...)
	}
	d := filepath.Join(dir, "keys-named")
	thumbprints := must(t, "keys", "list", "--dir", d)
	if want := must(t, "keys", "list", "--dir", filepath.Join(dir, "keys-sealed")); len(thumbprints) == 0 || thumbprints[:60] != want[:60] {
		t.Errorf("the keys are others:\n%s\n%s", thumbprints, want)
	}
	for _, point := range []string{"keys-both", "keys-locked", "keys-named", "keys-sealed"} {
		file := filepath.Join(dir, "k"+point)
		p := run(t, "BINDERY_KILL_AT="+point, "keys", "passwd", "--dir", d, "--key-file", file)
		if !p.died(patience) {
			t.Fatalf("%s is not reached:\n%s", point, p.stderr)
		}
		must(t, open(d)...) // by what config.json names, before or after
		must(t, "keys", "passwd", "--dir", d, "--key-file", file)
		must(t, open(d)...)
		for name, text := range readKeys(t, d, "*.age") {
			if n := strings.Count(text, "-> X25519 "); n != 1 {
				t.Errorf("%s: %s opens with %d key files", point, name, n)
			}
		}
	}
}

// readKeys are the files of a directory's keys by name.
func readKeys(t *testing.T, dir, pattern string) map[string]string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "keys", pattern))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, path := range list {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path[len(filepath.Dir(path))+1:len(path)-4]] = string(b)
	}
	return all
}

// TestInitInterrupted ends init by kill -9 when all is entered but config.json: the directory
// is not taken for a whole one, and nothing of it is overwritten.
func TestInitInterrupted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "B")
	p := run(t, "BINDERY_KILL_AT=init-entered", "init", "--dir", dir, "--principal", "urn:anax:principal:globex")
	if !p.died(patience) {
		t.Fatalf("the point is not reached:\n%s", p.stderr)
	}
	before := readKeys(t, dir, "*.age")
	for want, args := range map[string][]string{
		"is no party's directory; try: bindery init ": {"mandate", "list", "--dir", dir},
		"has no config.json, and there is a ":         {"init", "--dir", dir, "--principal", "urn:anax:principal:globex"},
	} {
		p := run(t, "", args...)
		if code := p.code(t); code != 2 || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("%v ends with %d:\n%s", args, code, p.stderr)
		}
	}
	if after := readKeys(t, dir, "*.age"); len(before) != 5 || !maps.Equal(before, after) {
		t.Errorf("it had %d keys and has %d, or others", len(before), len(after))
	}
}

// TestJoinInterrupted ends init by kill -9 after its code was used: the same command goes on
// with the same keys, another one does not begin anew, and the party that comes of it works.
func TestJoinInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, addr := filepath.Join(dir, "B"), freePort(t)
	must(t, "init", "--dir", b, "--principal", "urn:anax:principal:globex")
	ra := serve(t, "", b, addr, freePort(t))
	defer ra.kill()
	for name, more := range map[string][]string{
		"joining":  nil,
		"bringing": {"--own-ra", "http://" + freePort(t)},
	} {
		at := filepath.Join(dir, name)
		code := must(t, "enrol", "--dir", b)
		args := append([]string{"init", "--dir", at, "--principal", "urn:anax:principal:" + name, "--join", "http://" + addr, "--code", code}, more...)
		if p := run(t, "BINDERY_KILL_AT=init-joined", args...); !p.died(patience) {
			t.Fatalf("%s: the point is not reached:\n%s", name, p.stderr)
		}
		before := readKeys(t, at, "*.age")
		other := slices.Clone(args)
		other[4] += "-2"
		if p := run(t, "", other...); p.code(t) != 2 || !strings.Contains(p.stderr.String(), "was cut short while urn:anax:principal:"+name+" joined") {
			t.Errorf("%s: another init: %s", name, p.stderr)
		}
		must(t, args...)
		if after := readKeys(t, at, "*.age"); len(before) < 3 || !maps.Equal(before, after) {
			t.Errorf("%s: it had %d keys and has %d, or others", name, len(before), len(after))
		}
		must(t, "mandate", "open", "--dir", at, "--class", "irreversible", "--limit", "1", "--act", "engagement_code_issuance", "--counterparty", "*")
		if p := run(t, "", args...); p.code(t) != 2 || !strings.Contains(p.stderr.String(), "has been initialised before") {
			t.Errorf("%s: once more: %s", name, p.stderr)
		}
	}
}
