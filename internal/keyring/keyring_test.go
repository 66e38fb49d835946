package keyring_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/keyring"
)

// A key file, a key sealed for it under the name "agent", and the identity locked with
// work factor 4 under "correct horse". Made in python3 from the age specification, with
// X25519, HKDF and ChaCha20-Poly1305 of the package cryptography and scrypt of hashlib: the
// identity is 32 bytes 0x42, the key is the scalar 0x1234567890abcdef.
const (
	vectorIdentity = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
	vectorKey      = "YAcUDLCQ7NaGhBfNsITRnqRslixzXSn4uHKpxkktNdg" // RFC 7638
	vectorSealed   = `YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBFNzVQNnVyeUJNZjlNMWo4bkFCeUdJSFJkQ2VCS0NKK3huVHpmMy9wZTIw
CnhWSG9FbVhCb0wrSGhmekVMUERIcUpwVWpYZVN2TWhSQVk2TktLdGw3VlUKLS0tIDFPZGJZYXpLMm5HRjRHY3FzTDIyaWNWOGpB
TmpORXJlME1XaW84ZU0zeGsKAAECAwQFBgcICQoLDA0OD4R50bRc3vFxZboXFwVLqsWT/qyPQ84QEB7uAG3duY61U5bx0lAhifU6
IL08XHRa5Nu+WmgHnNoztvSneZ1SATv69Bf1JSEx2GuIvXK1xIHwdywrM8gh+LmD6zbcByqt4ffeBry/6vULM5D9kYuauP06rx8U
fW0HdEjnw2MeKciY19z0psDmL6vTb5dCp1TUGs4gJ5fM3hQ23JK/ZxtQtHThPGpl8GKHBFVwAqLv5aKsXF4S9oOGHQtWdxcVNuTQ
RhkQOflH1xXwsUhaqJ41aDxz+k/uhGQ2/UA1cJj4t/X4D2cBi/IC4gs0xFt/eRuB2662R4Zfyj9q7FLEuNlgs1hod/jJBsJWJFtC
WZNP4GFBXByo`
	vectorLocked = `YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCBDUWtKQ1FrSkNRa0pDUWtKQ1FrSkNRIDQKaVRiVWc3eXBGeFkvaHNIb2gx
djNWNlVLK1dhT09QMzMwbmx3UitwMi96QQotLS0gWjlKMEtaN29oUXd5Y1RtUVBIWXZ3L0xaaW8wMHA5REhjcjU1dVZNSDNPQQoA
AQIDBAUGBwgJCgsMDQ4Ph1f6/WrpywNLi0N8IXXimqCy0fs3sHcIHO8ZeqS6lqZCkfXOKTmG9lBLwEgoLV3327BLVhuO3Su89bVZ
tUYYLImLBsNUIzXaX5fkpMUdEu33u2g0NJsQPD5lmg==`
)

const few = 4 // work factor where the cost does not matter

func decoded(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(s, "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, content string, mode fs.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "id")
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func newIdentity(t *testing.T) *keyring.Identity {
	t.Helper()
	id, err := keyring.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestFilesOfAnotherImplementation(t *testing.T) {
	id, err := keyring.ReadKeyFile(write(t, "# created: by hand\n\n"+vectorIdentity+"\n", 0o600))
	if err != nil {
		t.Fatal(err)
	}
	k, err := id.Open("agent", decoded(t, vectorSealed))
	if err != nil {
		t.Fatal(err)
	}
	if key, err := jose.NewKey(&k.PublicKey); err != nil || key.ID != vectorKey {
		t.Errorf("the key is %s, %v", key.ID, err)
	}
	unlocked, err := keyring.Unlock(decoded(t, vectorLocked), "correct horse")
	if err != nil || !unlocked.Same(id) {
		t.Errorf("unlocked: %v", err)
	}
	if newIdentity(t).Same(id) {
		t.Error("two identities are the same")
	}
}

// Every byte counts: cut anywhere, or with any bit of it flipped, a file opens no more, and
// the error holds nothing of the key.
func TestTampered(t *testing.T) {
	id, err := keyring.ReadKeyFile(write(t, vectorIdentity, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, at int, err error) {
		t.Helper()
		if !errors.Is(err, keyring.ErrDamaged) && !errors.Is(err, keyring.ErrForeign) && !errors.Is(err, keyring.ErrPassphrase) {
			t.Errorf("%s at %d: %v", what, at, err)
		}
	}
	for name, open := range map[string]func([]byte) error{
		vectorSealed: func(b []byte) error { _, err := id.Open("agent", b); return err },
		vectorLocked: func(b []byte) error { _, err := keyring.Unlock(b, "correct horse"); return err },
	} {
		whole := decoded(t, name)
		for i := range whole {
			refused("cut", i, open(whole[:i]))
			altered := bytes.Clone(whole)
			altered[i] ^= 1 << (i % 8)
			refused("bit flipped", i, open(altered))
		}
		refused("a byte more", len(whole), open(append(bytes.Clone(whole), 0)))
		refused("too large", 0, open(make([]byte, 1<<20)))
	}
}

func TestOpenRefuses(t *testing.T) {
	id, other := newIdentity(t), newIdentity(t)
	k, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := id.Seal("agent", k)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := id.Open("agent", sealed); err != nil || !got.Equal(k) {
		t.Errorf("%v", err)
	}
	if _, err := other.Open("agent", sealed); !errors.Is(err, keyring.ErrForeign) {
		t.Errorf("another identity: %v", err)
	}
	for _, name := range []string{"ra", "agen", "agent2", ""} {
		if _, err := id.Open(name, sealed); !errors.Is(err, keyring.ErrDamaged) {
			t.Errorf("as %q: %v", name, err)
		}
	}
	both, err := id.Seal("agent", k, other)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []*keyring.Identity{id, other} {
		if got, err := by.Open("agent", both); err != nil || !got.Equal(k) {
			t.Errorf("sealed for both: %v", err)
		}
	}
	if bytes.Contains(sealed, []byte("PRIVATE KEY")) {
		t.Error("the key stands there in clear")
	}
	locked, err := id.Lock("one", few)
	if err != nil {
		t.Fatal(err)
	}
	for _, passphrase := range []string{"", "two", "One", "one "} {
		if _, err := keyring.Unlock(locked, passphrase); !errors.Is(err, keyring.ErrPassphrase) {
			t.Errorf("passphrase %q: %v", passphrase, err)
		}
	}
	if _, err := id.Lock("", few); err == nil {
		t.Error("locked by nothing")
	}
	if _, err := keyring.Unlock(sealed, "one"); err == nil {
		t.Error("a key is an identity")
	}
	if _, err := id.Open("agent", locked); err == nil {
		t.Error("an identity is a key")
	}
}

// A file that asks for more work than ours is refused before any is done.
func TestWorkFactor(t *testing.T) {
	whole := decoded(t, vectorLocked)
	heavy := bytes.Replace(whole, []byte(" 4\n"), []byte(" 19\n"), 1)
	if _, err := keyring.Unlock(heavy, "correct horse"); !errors.Is(err, keyring.ErrDamaged) {
		t.Errorf("%v", err)
	}
	locked, err := newIdentity(t).Lock("one", few)
	if err != nil {
		t.Fatal(err)
	}
	if header, _, _ := strings.Cut(string(locked), "---"); !strings.Contains(header, " 4\n") || keyring.WorkFactor != 18 {
		t.Errorf("the work factor is another: %s", header)
	}
}

func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "age.key")
	id := newIdentity(t)
	if err := id.MakeKeyFile(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, err := keyring.ReadKeyFile(path); err != nil || !got.Same(id) {
		t.Errorf("read: %v", err)
	}
	if err := newIdentity(t).MakeKeyFile(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	if got, err := keyring.ReadKeyFile(path); err != nil || !got.Same(id) {
		t.Errorf("and then: %v", err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := keyring.ReadKeyFile(path); !errors.Is(err, keyring.ErrReadable) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.ReadKeyFile(path); err != nil {
		t.Errorf("mode 400: %v", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, tt := range map[string]struct {
		path string
		want error
	}{
		"not there":        {path + "2", fs.ErrNotExist},
		"a folder":         {t.TempDir(), keyring.ErrNoFile},
		"a pipe":           {pipe, keyring.ErrNoFile},
		"empty":            {write(t, "", 0o600), keyring.ErrDamaged},
		"comments alone":   {write(t, "# nothing\n", 0o600), keyring.ErrDamaged},
		"two":              {write(t, vectorIdentity+"\n"+vectorIdentity+"\n", 0o600), keyring.ErrDamaged},
		"cut":              {write(t, vectorIdentity[:70], 0o600), keyring.ErrDamaged},
		"altered":          {write(t, strings.Replace(vectorIdentity, "GFPYY", "GFPYZ", 1), 0o600), keyring.ErrDamaged},
		"another kind":     {write(t, "-----BEGIN PRIVATE KEY-----\n", 0o600), keyring.ErrDamaged},
		"more than 16 KiB": {write(t, strings.Repeat("#\n", 9000)+vectorIdentity, 0o600), keyring.ErrDamaged},
	} {
		_, err := keyring.ReadKeyFile(tt.path)
		if !errors.Is(err, tt.want) || err != nil && strings.Contains(err.Error(), "GFPYY") {
			t.Errorf("%s: %v, want %v", what, err, tt.want)
		}
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, content := range []string{"one", "two"} {
		if err := keyring.WriteFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil || string(b) != content {
			t.Errorf("%q, %v", b, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%d files, %v", len(list), err)
	}
	if err := keyring.WriteFile(filepath.Join(dir, "no", "f"), nil); err == nil {
		t.Error("written into a folder that is not there")
	}
}
