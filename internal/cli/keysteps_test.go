package cli

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var errInterrupted = errors.New("interrupted")

// interruptedAt ends a migration at its nth step.
func interruptedAt(n int) func(string) error {
	return func(string) error {
		if n--; n == 0 {
			return errInterrupted
		}
		return nil
	}
}

func thumbprints(t *testing.T, dir string) map[string]string {
	t.Helper()
	h, err := openHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name := range h.Keys {
		s, err := h.key(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = s.Key().ID
	}
	return all
}

// TestEveryStep ends keys encrypt and keys passwd at each of their steps, and runs them
// again: every key is there, the same as before, and nothing but the last opener opens it.
func TestEveryStep(t *testing.T) {
	origin := filepath.Join(t.TempDir(), "B")
	if _, err := initHome(t.Context(), origin, initOptions{
		principal: "urn:anax:principal:globex", trustBasis: "self_declared", pack: "p/1.0.0", protection: protection{throwaway: true},
	}); err != nil {
		t.Fatal(err)
	}
	want := thumbprints(t, origin)
	if len(want) != 5 {
		t.Fatalf("%d keys", len(want))
	}
	work := map[string]func(h *home) error{
		"encrypt": func(h *home) error { _, err := h.encrypt(protection{}); return err },
		"passwd": func(h *home) error {
			_, err := h.reopen(protection{keyFile: filepath.Join(h.dir, "other.key")})
			return err
		},
	}
	for name, steps := range map[string]int{"encrypt": 11, "passwd": 12} {
		for n := 1; ; n++ {
			dir := filepath.Join(t.TempDir(), "B")
			if err := os.CopyFS(dir, os.DirFS(origin)); err != nil {
				t.Fatal(err)
			}
			again := func(interrupt func(string) error, work func(*home) error) error {
				h, err := openHome(dir)
				if err != nil {
					t.Fatal(err)
				}
				h.ring.interrupt = interrupt
				return work(h)
			}
			if name == "passwd" {
				if err := again(nil, work["encrypt"]); err != nil {
					t.Fatal(err)
				}
			}
			err := again(interruptedAt(n), work[name])
			if err == nil {
				if n != steps+1 {
					t.Errorf("%s has %d steps, want %d", name, n-1, steps)
				}
				break
			}
			if !errors.Is(err, errInterrupted) {
				t.Fatalf("%s at step %d: %v", name, n, err)
			}
			if name == "passwd" && !maps.Equal(thumbprints(t, dir), want) {
				t.Errorf("passwd at step %d: what is named does not open the keys", n)
			}
			if err := again(nil, work[name]); err != nil {
				t.Errorf("%s after step %d: %v", name, n, err)
			}
			if got := thumbprints(t, dir); !maps.Equal(got, want) {
				t.Errorf("%s after step %d: the keys are %v, want %v", name, n, got, want)
			}
			onlyOne(t, dir, slices.Collect(maps.Keys(want)))
		}
	}
}

func onlyOne(t *testing.T, dir string, names []string) {
	t.Helper()
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, keysDir, name+sealedKey))
		if err != nil || strings.Count(string(b), "-> X25519 ") != 1 {
			t.Errorf("%s: %v, opened by %d", name, err, strings.Count(string(b), "-> X25519 "))
		}
		if fileExists(filepath.Join(dir, keysDir, name+clearKey)) {
			t.Errorf("%s stays in clear", name)
		}
	}
}
