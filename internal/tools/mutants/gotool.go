package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bindery/bindery/internal/mutants"
)

// tools builds test programs and runs single tests of them. Its methods may be called
// concurrently.
type tools struct {
	config
	tmp string
}

// key names a test in the whole module.
func key(m mutants.Mutant) string { return m.Package + " " + m.Test }

// unmutated runs every test that the list names, each once, and says what is wrong with it.
func (t *tools) unmutated(ctx context.Context, list []mutants.Mutant) map[string]error {
	sound := map[string]error{}
	built := map[string]error{}
	for i, m := range list {
		if _, done := sound[key(m)]; done {
			continue
		}
		program := filepath.Join(t.tmp, "sound-"+strings.ReplaceAll(m.Dir(), "/", "-")+".test")
		err, done := built[m.Package]
		if !done {
			err = t.build(ctx, m.Package, program, "")
			built[m.Package] = err
		}
		if err == nil {
			err = t.mustPass(ctx, m, program)
		}
		sound[key(m)] = err
		last := true
		for _, later := range list[i+1:] {
			last = last && later.Package != m.Package
		}
		if last {
			_ = os.Remove(program) // large; whatever is left goes with the folder
		}
	}
	return sound
}

func (t *tools) mustPass(ctx context.Context, m mutants.Mutant, program string) error {
	out, err := t.test(ctx, m, program)
	switch {
	case err != nil:
		return fmt.Errorf("without a mutant: %w\n%s", err, tail(out))
	case !strings.Contains(out, "--- PASS: "+m.Test+" ("):
		return fmt.Errorf("without a mutant %s does not run, or is skipped\n%s", m.Test, tail(out))
	}
	return nil
}

// mutated builds the test program with the guard taken out and runs the one test.
func (t *tools) mutated(ctx context.Context, m mutants.Mutant) (verdict, string) {
	file, err := filepath.Abs(filepath.Join(t.root, filepath.FromSlash(m.File)))
	if err != nil {
		return wrong, err.Error()
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return wrong, err.Error()
	}
	mutant, err := m.Apply(string(src))
	if err != nil {
		return wrong, err.Error()
	}
	dir := filepath.Join(t.tmp, m.ID)
	overlay := filepath.Join(dir, "overlay.json")
	program := filepath.Join(dir, "mutant.test")
	defer func() { _ = os.RemoveAll(dir) }() // the folder above is removed at the end
	if err := writeOverlay(dir, overlay, file, mutant); err != nil {
		return wrong, err.Error()
	}
	if err := t.build(ctx, m.Package, program, overlay); err != nil {
		return wrong, "does not compile: " + err.Error()
	}
	out, err := t.test(ctx, m, program)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return survived, m.Why
	case strings.Contains(out, "panic: test timed out after"):
		// It may be the mutant, and it may be a busy machine: no kill.
		return wrong, fmt.Sprintf("%s did not end within %v", m.Test, t.limit)
	case !errors.As(err, &exit):
		return wrong, fmt.Sprintf("%v\n%s", err, tail(out))
	case strings.Contains(out, "--- FAIL: "+m.Test+" (") || strings.Contains(out, "\npanic: ") || strings.Contains(out, "\nfatal error: "):
		return killed, ""
	default:
		return wrong, fmt.Sprintf("%v, but %s did not fail\n%s", err, m.Test, tail(out))
	}
}

func writeOverlay(dir, overlay, file, mutant string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	replacement := filepath.Join(dir, "mutant.go")
	if err := os.WriteFile(replacement, []byte(mutant), 0o600); err != nil {
		return err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {file: replacement}})
	if err != nil {
		return err
	}
	return os.WriteFile(overlay, b, 0o600)
}

// build makes the test program of a package. Symbol tables are left out, since linking is
// most of the time that a mutant takes, and go vet, which has no say over mutants.
func (t *tools) build(ctx context.Context, pkg, program, overlay string) error {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = t.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(string(out)))
	}
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("%s has no tests", pkg)
	}
	return nil
}

// test runs one test of a program, in the folder of its package as go test does.
func (t *tools) test(ctx context.Context, m mutants.Mutant, program string) (string, error) {
	cmd := exec.CommandContext(ctx, program, "-test.v", "-test.count=1", "-test.run="+m.Pattern(), "-test.timeout="+t.limit.String())
	cmd.Dir = filepath.Join(t.root, filepath.FromSlash(m.Dir()))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// tail is the end of an output, which is where the reason stands.
func tail(out string) string {
	const most = 1500
	out = strings.TrimSpace(out)
	if len(out) > most {
		out = "…" + out[len(out)-most:]
	}
	return out
}
