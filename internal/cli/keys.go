package cli

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/keyring"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/signer"
)

// The files of a directory's keys.
const (
	keyFile      = "age.key"      // opens the keys, where neither a passphrase nor another file does
	identityFile = "identity.age" // opens the keys, below keysDir; itself opened by the passphrase
	sealedKey    = ".age"
	clearKey     = ".pem"
)

// A keyEntry is what config.json says of one key: its public half, and who signs with it
// where that is not this process.
type keyEntry struct {
	Public json.RawMessage `json:"public"`
	Signer *plugin         `json:"signer,omitempty"`
}

// plugin is a program that signs; see package signer.
type plugin struct {
	Exec []string `json:"exec"`
}

var keyName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// public is the key that the entry names.
func (e keyEntry) public() (jose.Key, error) {
	v, err := jcs.Parse(e.Public)
	if err != nil {
		return jose.Key{}, err
	}
	return jose.ParseJWK(v)
}

// ring holds what a directory's keys have been opened to. All copies of a home share it, so
// that a passphrase is asked once.
type ring struct {
	mu        sync.Mutex // guards all below
	ask       asker      // nil: there is nobody to ask
	id        *keyring.Identity
	opened    map[string]*jose.Signer
	refused   error                    // the first answer was wrong; there is no second guess in one process
	interrupt func(point string) error // of tests: ends a migration between two steps
	made      string                   // a key file that init has made, and takes away if it fails
}

func newRing(ask asker) *ring { return &ring{ask: ask, opened: map[string]*jose.Signer{}} }

func (h *home) keyPath(name, suffix string) string {
	return filepath.Join(h.dir, keysDir, name+suffix)
}

// keyFilePath is where the directory's key file is; a relative path is below it.
func (h *home) keyFilePath() string {
	if filepath.IsAbs(h.KeyFile) {
		return h.KeyFile
	}
	return filepath.Join(h.dir, h.KeyFile)
}

// key opens a key, and whatever has to be opened for that.
func (h *home) key(name string) (*jose.Signer, error) {
	h.ring.mu.Lock()
	defer h.ring.mu.Unlock()
	if s := h.ring.opened[name]; s != nil {
		return s, nil
	}
	s, err := h.load(name)
	if err != nil {
		return nil, err
	}
	h.ring.opened[name] = s
	return s, nil
}

// later is a key that is opened when it first signs: a command that signs nothing asks
// nobody. Where its public half is not known, or it is open already, it is opened now.
func (h *home) later(name string) (*jose.Signer, error) {
	h.ring.mu.Lock()
	opened := h.ring.opened[name] != nil
	h.ring.mu.Unlock()
	public, err := h.Keys[name].public()
	if opened || err != nil {
		return h.key(name)
	}
	return jose.Later(public, func() (*jose.Signer, error) { return h.key(name) })
}

// unlock opens every key, for a command that will sign: before it has said or changed
// anything.
func (h *home) unlock() error {
	for _, name := range slices.Sorted(maps.Keys(h.Keys)) {
		if _, err := h.key(name); err != nil {
			return err
		}
	}
	return nil
}

// load opens keys/NAME.
func (h *home) load(name string) (*jose.Signer, error) {
	entry, named := h.Keys[name]
	if !keyName.MatchString(name) {
		return nil, usagef("restore it", "%s has a key of another name than a directory's", filepath.Join(h.dir, configFile))
	}
	if entry.Signer != nil {
		return h.plug(name, entry)
	}
	k, err := h.read(name)
	if err != nil {
		return nil, err
	}
	if !named {
		return jose.NewSigner(k)
	}
	public, err := entry.public()
	if err != nil {
		return nil, usagef("restore it", "%s has no public key %s", filepath.Join(h.dir, configFile), name)
	}
	s, err := jose.NewSigner(k)
	if err != nil || !s.Key().Same(public) {
		return nil, usagef("restore it, or choose another --dir", "keys/%s of %s is not the key that %s names", name, h.dir, configFile)
	}
	return s, nil
}

// plug asks a plug-in instead of reading a key.
func (h *home) plug(name string, entry keyEntry) (*jose.Signer, error) {
	var public jose.Key
	if entry.Public != nil {
		k, err := entry.public()
		if err != nil {
			return nil, usagef("restore it", "%s has no public key %s", filepath.Join(h.dir, configFile), name)
		}
		public = k
	}
	ctx := context.Background() // each request has a limit of its own
	backend, err := signer.NewExec(ctx, signer.ExecConfig{Command: entry.Signer.Exec, Key: public})
	if err != nil {
		return nil, pluginError(name, err)
	}
	s, err := signer.New(ctx, signer.Config{Backend: backend})
	if err != nil {
		return nil, pluginError(name, err)
	}
	return s, nil
}

func pluginError(name string, err error) error {
	return usagef("see its command in "+configFile, "the signer of the key %s cannot be used: %s", name, strings.TrimPrefix(oneLine(err), "signer: "))
}

// read decrypts keys/NAME.age, or, in a directory of demo or of a test, reads keys/NAME.pem.
func (h *home) read(name string) (*ecdsa.PrivateKey, error) {
	clear := h.keyPath(name, clearKey)
	if h.Throwaway != "" {
		if here, err := realPath(h.dir); err != nil || here != h.Throwaway {
			return nil, usagef("encrypt them with: bindery keys encrypt --dir "+h.dir, "the keys of %s are a demo's, in clear, and have been moved", h.dir)
		}
		return readClear(clear)
	}
	if fileExists(clear) {
		return nil, usagef("encrypt it with: bindery keys encrypt --dir "+h.dir, "the private key %s is not encrypted", clear)
	}
	return h.readSealed(name)
}

func (h *home) readSealed(name string) (*ecdsa.PrivateKey, error) {
	sealed := h.keyPath(name, sealedKey)
	b, err := readOwn(sealed)
	if err != nil {
		return nil, usagef("restore it, or choose another --dir", "the key file %s cannot be read", sealed)
	}
	id, err := h.identity()
	if err != nil {
		return nil, err
	}
	k, err := id.Open(name, b)
	if errors.Is(err, keyring.ErrForeign) {
		return nil, usagef("restore it, or name its key file in "+configFile, "%s opens no more with what opens the directory", sealed)
	}
	if err != nil {
		return nil, usagef("restore it, or choose another --dir", "%s was cut or altered, or is another key", sealed)
	}
	return k, nil
}

func readClear(path string) (*ecdsa.PrivateKey, error) {
	b, err := readOwn(path)
	if err != nil {
		return nil, usagef("restore it, or choose another --dir", "the key file %s cannot be read", path)
	}
	k, err := jose.ParsePrivateKeyPEM(b)
	if err != nil {
		return nil, usagef("restore it, or choose another --dir", "%s holds no P-256 private key", path)
	}
	return k, nil
}

// identity is what opens the keys, read or asked for once.
func (h *home) identity() (*keyring.Identity, error) {
	if h.ring.id != nil || h.ring.refused != nil {
		return h.ring.id, h.ring.refused
	}
	h.ring.id, h.ring.refused = h.unlocked()
	return h.ring.id, h.ring.refused
}

func (h *home) unlocked() (*keyring.Identity, error) {
	if !h.Passphrase {
		return readKeyFile(h.keyFilePath())
	}
	path := filepath.Join(h.dir, keysDir, identityFile)
	b, err := readOwn(path)
	if err != nil {
		return nil, usagef("restore it, or choose another --dir", "the key file %s cannot be read", path)
	}
	if h.ring.ask == nil {
		return nil, usagef("run it at a terminal, or once: bindery keys passwd --dir "+h.dir+" --key-file FILE", "a passphrase opens the keys of %s, and there is no terminal to ask for it", h.dir)
	}
	passphrase, err := h.ring.ask("Passphrase of " + h.dir + ": ")
	if err != nil {
		return nil, err
	}
	id, err := keyring.Unlock(b, passphrase)
	debug.FreeOSMemory() // scrypt has had 256 MiB
	switch {
	case errors.Is(err, keyring.ErrPassphrase):
		return nil, usagef("run it again", "the passphrase of %s is another", h.dir)
	case err != nil:
		return nil, usagef("restore it, or choose another --dir", "%s was cut or altered", path)
	}
	return id, nil
}

func readKeyFile(path string) (*keyring.Identity, error) {
	id, err := keyring.ReadKeyFile(path)
	switch {
	case err == nil:
		return id, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("put it back, or name its place as key_file in "+configFile, "the key file %s is not there", path)
	case errors.Is(err, keyring.ErrReadable):
		return nil, usagef("try: chmod 600 "+path, "others may read or write the key file %s", path)
	case errors.Is(err, keyring.ErrDamaged), errors.Is(err, keyring.ErrNoFile):
		return nil, usagef("give one that bindery init or age-keygen has made", "%s is no key file with one X25519 identity of age", path)
	}
	return nil, usagef("is it this user's?", "the key file %s cannot be read", path)
}

// realPath is a directory by the one name that does not depend on where one stands.
func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// newKey makes a P-256 key: keys/NAME.age, or, in a directory of demo or of a test,
// keys/NAME.pem; or it asks the plug-in that is to sign in its place.
func (h *home) newKey(name string) (*jose.Signer, error) {
	entry := h.Keys[name]
	if entry.Signer == nil {
		if err := h.writeNewKey(name); err != nil {
			return nil, err
		}
	}
	s, err := h.key(name)
	if err != nil {
		return nil, err
	}
	entry.Public = s.Key().JWK()
	h.Keys[name] = entry
	return s, nil
}

func (h *home) writeNewKey(name string) error {
	k, err := jose.GenerateKey()
	if err != nil {
		return err
	}
	if h.Throwaway == "" {
		return h.sealKey(h.ring.id, name, k)
	}
	b, err := jose.MarshalPrivateKeyPEM(k)
	if err != nil {
		return err
	}
	return writeOwn(h.keyPath(name, clearKey), b)
}

// sealKey writes keys/NAME.age for id, and for others that may open it too.
func (h *home) sealKey(id *keyring.Identity, name string, k *ecdsa.PrivateKey, also ...*keyring.Identity) error {
	b, err := id.Seal(name, k, also...)
	if err != nil {
		return err
	}
	return writeOwn(h.keyPath(name, sealedKey), b)
}
