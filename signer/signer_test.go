package signer_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/asn1"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
	"github.com/bindery/bindery/signer"
)

// service is a KMS of the test's making.
type service struct {
	key    jose.Key
	answer func(ctx context.Context, digest [32]byte) ([]byte, error)
}

func (s service) Key() jose.Key { return s.key }

func (s service) SignDigest(ctx context.Context, digest [32]byte) ([]byte, error) {
	return s.answer(ctx, digest)
}

func newKey(t *testing.T) (*ecdsa.PrivateKey, jose.Key) {
	t.Helper()
	private, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := jose.NewKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return private, key
}

func keyFile(t *testing.T) string {
	t.Helper()
	private, _ := newKey(t)
	b, err := jose.MarshalPrivateKeyPEM(private)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// command is this test binary as a plug-in.
func command(t *testing.T, mode string) []string {
	t.Helper()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{bin, "plugin", mode, keyFile(t)}
}

// backends are one of every kind.
func backends(t *testing.T) map[string]signer.Backend {
	t.Helper()
	private, key := newKey(t)
	highS := func(_ context.Context, digest [32]byte) ([]byte, error) {
		r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
		if n := elliptic.P256().Params().N; s.Cmp(new(big.Int).Rsh(n, 1)) <= 0 {
			s.Sub(n, s)
		}
		return asn1Signature(t, r, s), err
	}
	all := map[string]signer.Backend{
		"service": service{key, func(_ context.Context, digest [32]byte) ([]byte, error) {
			return private.Sign(rand.Reader, digest[:], crypto.SHA256)
		}},
		"service with high s": service{key, highS},
		"program":             plugged(t, command(t, "honest")),
		"program that talks":  plugged(t, command(t, "chatters")),
	}
	if _, err := exec.LookPath("openssl"); err == nil {
		script, err := filepath.Abs("testdata/openssl.sh")
		if err != nil {
			t.Fatal(err)
		}
		all["openssl"] = plugged(t, []string{script, keyFile(t)})
	} else {
		t.Log("not run: the plug-in in shell (no openssl)")
	}
	return all
}

func asn1Signature(t *testing.T, r, s *big.Int) []byte {
	t.Helper()
	der, err := asn1.Marshal(struct{ R, S *big.Int }{r, s})
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func plugged(t *testing.T, command []string) *signer.Exec {
	t.Helper()
	e, err := newExec(t, signer.ExecConfig{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// newExec asks for the key again while the machine is too busy to start the program in time.
func newExec(t *testing.T, cfg signer.ExecConfig) (e *signer.Exec, err error) {
	t.Helper()
	for range 6 {
		if e, err = signer.NewExec(t.Context(), cfg); !errors.Is(err, context.DeadlineExceeded) {
			break
		}
	}
	return e, err
}

// Every kind of backend signs what verifies, with a low s, and never twice alike; mandates
// take it as their signer.
//
// covers GC-142
func TestSignTwiceDiffers(t *testing.T) {
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			var s *mandate.Signer
			s, err := signer.New(t.Context(), signer.Config{Backend: b, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			seen := map[[64]byte]bool{}
			for range 4 {
				token, err := jose.SignCompact(s, "x+jwt", []byte(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				c, err := jose.ParseCompact(token, 1<<10)
				if err != nil {
					t.Fatal(err)
				}
				if seen[c.Signature] || c.HighS() || c.Verify(b.Key()) != nil {
					t.Errorf("again %t, high s %t, verify %v", seen[c.Signature], c.HighS(), c.Verify(b.Key()))
				}
				seen[c.Signature] = true
			}
		})
	}
}

// covers GC-142
func TestNewRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which 50 ms pass only when nobody computes
		private, key := newKey(t)
		_, other := newKey(t)
		locked := errors.New("locked")
		for _, tt := range []struct {
			name   string
			answer func(ctx context.Context, digest [32]byte) ([]byte, error)
			key    jose.Key
			want   error
		}{
			{"deterministic", func(_ context.Context, digest [32]byte) ([]byte, error) {
				var none = interface {
					Read([]byte) (int, error)
				}(nil)
				return private.Sign(none, digest[:], crypto.SHA256)
			}, key, signer.ErrDeterministic},
			{"another key", func(_ context.Context, digest [32]byte) ([]byte, error) {
				return private.Sign(rand.Reader, digest[:], crypto.SHA256)
			}, other, signer.ErrWrong},
			{"raw", func(_ context.Context, digest [32]byte) ([]byte, error) {
				r, s, err := ecdsa.Sign(rand.Reader, private, digest[:])
				return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), err
			}, key, signer.ErrWrong},
			{"nothing", func(context.Context, [32]byte) ([]byte, error) { return nil, nil }, key, signer.ErrWrong},
			{"locked", func(context.Context, [32]byte) ([]byte, error) { return nil, locked }, key, locked},
			{"too late", func(ctx context.Context, digest [32]byte) ([]byte, error) {
				<-ctx.Done()
				return private.Sign(rand.Reader, digest[:], crypto.SHA256)
			}, key, signer.ErrTimeout},
		} {
			s, err := signer.New(t.Context(), signer.Config{Backend: service{tt.key, tt.answer}, Timeout: 50 * time.Millisecond})
			if s != nil || !errors.Is(err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
		}
		for name, cfg := range map[string]signer.Config{
			"no backend":       {},
			"negative timeout": {Backend: service{key: key}, Timeout: -1},
			"no key":           {Backend: service{}},
		} {
			if s, err := signer.New(t.Context(), cfg); s != nil || err == nil {
				t.Errorf("%s: taken", name)
			}
		}
	})
}

// A backend that goes wrong after it has been taken is found out at each signature.
//
// covers GC-142
func TestGoesWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which 50 ms pass only when nobody computes
		private, key := newKey(t)
		wrong, late := false, false
		s, err := signer.New(t.Context(), signer.Config{Timeout: 50 * time.Millisecond, Backend: service{key, func(ctx context.Context, digest [32]byte) ([]byte, error) {
			if wrong {
				digest[31] ^= 1
			}
			if late {
				<-ctx.Done()
			}
			return private.Sign(rand.Reader, digest[:], crypto.SHA256)
		}}})
		if err != nil {
			t.Fatal(err)
		}
		wrong = true
		if sig, err := s.Sign([]byte("x")); err == nil || sig != [64]byte{} {
			t.Errorf("a signature of other bytes leaves: %v", err)
		}
		wrong, late = false, true
		if sig, err := s.Sign([]byte("x")); !errors.Is(err, signer.ErrTimeout) || sig != [64]byte{} {
			t.Errorf("a late signature leaves: %v", err)
		}
		late = false
		if _, err := s.Sign([]byte("x")); err != nil {
			t.Errorf("it does not recover: %v", err)
		}
	})
}

// covers GC-142
func TestExecRefuses(t *testing.T) {
	for mode, want := range map[string]string{
		"deterministic":   signer.ErrDeterministic.Error(),
		"another key":     signer.ErrWrong.Error(),
		"another digest":  signer.ErrWrong.Error(),
		"trailing byte":   signer.ErrWrong.Error(),
		"silent":          "not of the protocol",
		"cut":             "not of the protocol",
		"two lines":       "not of the protocol",
		"spaced":          "not of the protocol",
		"more members":    "not of the protocol",
		"another version": "not of the protocol",
		"not JSON":        "not of the protocol",
		"escape codes":    "not of the protocol",
		"fails":           "failed, or said too much",
		"endless":         "failed, or said too much",
		"says why":        "the plug-in says: the token is locked",
		"late":            signer.ErrTimeout.Error(),
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, mode)
			public, err := jose.NewKey(&readPrivate(t, cmd[3]).PublicKey)
			if err != nil {
				t.Fatal(err)
			}
			e, err := signer.NewExec(t.Context(), signer.ExecConfig{Command: cmd, Key: public})
			if err != nil {
				t.Fatal(err)
			}
			timeout := time.Minute
			if mode == "late" {
				timeout = 300 * time.Millisecond
			}
			s, err := signer.New(t.Context(), signer.Config{Backend: e, Timeout: timeout})
			if s != nil || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

func readPrivate(t *testing.T, path string) *ecdsa.PrivateKey {
	t.Helper()
	return readKey(path)
}

func TestExecCommand(t *testing.T) {
	for name, command := range map[string][]string{
		"none":          nil,
		"empty":         {""},
		"relative":      {"testdata/openssl.sh"},
		"relative, dot": {"./openssl.sh"},
		"not there":     {"/no/such/program"},
		"not on PATH":   {"no-such-program-anywhere"},
		"a folder":      {t.TempDir()},
		"long":          append([]string{"/bin/true"}, make([]string, 64)...),
	} {
		if _, err := signer.NewExec(t.Context(), signer.ExecConfig{Command: command}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// The program gets PATH and HOME, and nothing else of the environment.
func TestExecEnvironment(t *testing.T) {
	t.Setenv("BINDERY_SECRET", "hunter2")
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv("HOME", "/nowhere")
	e, err := newExec(t, signer.ExecConfig{Command: command(t, "environment")})
	if err == nil || e.Key().Public != nil {
		t.Fatal("it has a key")
	}
	if got, want := err.Error(), "the plug-in says: PATH=/usr/bin:/bin HOME=/nowhere"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What a late program has started ends with it, and does not hold up the caller.
func TestExecEndsWithChildren(t *testing.T) {
	cmd := command(t, "leaves a child")
	key, err := jose.NewKey(&readPrivate(t, cmd[3]).PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	e, err := signer.NewExec(t.Context(), signer.ExecConfig{Command: cmd, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // the time is up when the child is at work
		defer cancel()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, err := os.Stat(cmd[3] + ".alive"); err == nil {
				return
			}
		}
	}()
	if _, err := e.SignDigest(ctx, [32]byte{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := os.Remove(cmd[3] + ".alive"); err != nil {
		t.Fatalf("it has had no child: %v", err)
	}
	time.Sleep(200 * time.Millisecond)
	if _, err := os.Stat(cmd[3] + ".alive"); err == nil {
		t.Error("its child lives on")
	}
}

func TestExecConcurrent(t *testing.T) {
	s, err := signer.New(t.Context(), signer.Config{Backend: plugged(t, command(t, "honest")), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := s.Sign([]byte("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// The example of the package doc: the key is that of RFC 7515 §A.3; thumbprint, digest of
// "abc" and signature are node's (crypto.sign with SHA-256).
func TestWorkedExample(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var key jose.Key
	signed := false
	for line := range strings.Lines(string(doc)) {
		line, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			continue
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "answer"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		cat := []string{"sh", "-c", "cat >" + dir + "/request; cat " + dir + "/answer"}
		switch {
		case strings.HasPrefix(line, `{"key"`):
			key = plugged(t, cat).Key()
		case strings.HasPrefix(line, `{"digest"`):
			if !strings.Contains(line, `"kid":"`+key.ID+`"`) {
				t.Errorf("the thumbprint is %s", key.ID)
			}
		case strings.HasPrefix(line, `{"signature"`):
			e, err := signer.NewExec(t.Context(), signer.ExecConfig{Command: cat, Key: key})
			if err != nil {
				t.Fatal(err)
			}
			// SHA-256 of "abc", FIPS 180-2 §B.1.
			digest := [32]byte{
				0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
				0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
			}
			der, err := e.SignDigest(t.Context(), digest)
			if err != nil || !ecdsa.VerifyASN1(key.Public, digest[:], der) {
				t.Errorf("the signature does not verify: %v", err)
			}
			request, err := os.ReadFile(filepath.Join(dir, "request"))
			if err != nil || !strings.Contains(string(doc), "//\t"+string(request)) {
				t.Errorf("the request is %s%v", request, err)
			}
			signed = true
		}
	}
	if !signed {
		t.Error("the doc shows no signature")
	}
}
