package cli

import (
	"crypto/ecdsa"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bindery/bindery/internal/failpoint"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/keyring"
	"github.com/bindery/bindery/jcs"
)

// protection says what is to open a directory's keys.
type protection struct {
	keyFile string   // this file, which is made if it is not there
	ask     asker    // else a passphrase; nil, or an empty answer: a key file in the directory
	plugins []string // of init alone: NAME=COMMAND, keys that are elsewhere
	// throwaway leaves the keys in clear. No flag sets it: it is for the directories of demo
	// and of tests, and holds only where they were made.
	throwaway bool
}

// opener is what opens a directory's keys from now on.
type opener struct {
	id      *keyring.Identity
	keyFile string // as config.json has it; "": the passphrase
	locked  []byte // the identity, locked by it
	made    string // a key file that was not there before
}

// choose makes or finds what is to open the keys of h. Nothing uses it yet.
func (h *home) choose(p protection, emptyIsKeyFile bool) (*opener, error) {
	if p.keyFile != "" {
		return h.chooseFile(p.keyFile)
	}
	if p.ask != nil {
		passphrase, err := h.newPassphrase(p.ask, emptyIsKeyFile)
		if err != nil {
			return nil, err
		}
		if passphrase != "" {
			return lockedBy(passphrase)
		}
	} else if !emptyIsKeyFile {
		return nil, usage("there is no terminal to ask for a passphrase", "try --key-file FILE")
	}
	return h.chooseFile(filepath.Join(h.dir, keyFile))
}

func (h *home) newPassphrase(ask asker, emptyIsKeyFile bool) (string, error) {
	empty := ""
	if emptyIsKeyFile {
		empty = " (none: a key file)"
	}
	passphrase, err := ask("New passphrase for the keys of " + h.dir + empty + ": ")
	if err != nil {
		return "", err
	}
	if passphrase == "" {
		if !emptyIsKeyFile {
			return "", usage("the passphrase is empty", "give one, or try --key-file FILE")
		}
		return "", nil
	}
	again, err := ask("Again: ")
	if err == nil && again != passphrase {
		err = usage("the two passphrases are not the same", "run it again")
	}
	return passphrase, err
}

func lockedBy(passphrase string) (*opener, error) {
	id, err := keyring.NewIdentity()
	if err != nil {
		return nil, err
	}
	locked, err := id.Lock(passphrase, keyring.WorkFactor)
	return &opener{id: id, locked: locked}, err
}

// chooseFile takes a key file as it is, or makes it.
func (h *home) chooseFile(path string) (*opener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, usagef("give an absolute path", "the key file %s cannot be found: %v", path, err)
	}
	o := &opener{keyFile: path}
	if dir, err := filepath.Abs(h.dir); err == nil && filepath.Dir(path) == dir {
		o.keyFile = filepath.Base(path) // and moves with the directory
	}
	if fileExists(path) {
		o.id, err = readKeyFile(path)
		return o, err
	}
	if o.id, err = keyring.NewIdentity(); err != nil {
		return nil, err
	}
	if err := o.id.MakeKeyFile(path); err != nil {
		return nil, usagef("is its folder there, and this user's?", "the key file %s cannot be made", path)
	}
	o.made = path
	return o, nil
}

// use has o open the directory: from the next save of h on.
func (h *home) use(o *opener) error {
	if o.locked != nil {
		if err := writeOwn(filepath.Join(h.dir, keysDir, identityFile), o.locked); err != nil {
			return err
		}
	}
	h.KeyFile, h.Passphrase, h.Throwaway = o.keyFile, o.locked != nil, ""
	h.ring.id = o.id
	return nil
}

// protect begins the keys of a new directory.
func (h *home) protect(p protection) error {
	h.Keys = map[string]keyEntry{}
	for _, given := range p.plugins {
		name, command, err := parsePlugin(given)
		if err != nil {
			return err
		}
		h.Keys[name] = keyEntry{Signer: &plugin{Exec: command}}
	}
	if err := os.MkdirAll(filepath.Join(h.dir, keysDir), 0o700); err != nil {
		return err
	}
	if p.throwaway {
		here, err := realPath(h.dir)
		h.Throwaway = here
		return err
	}
	o, err := h.choose(p, true)
	if err != nil {
		return err
	}
	h.ring.made = o.made
	return h.use(o)
}

// parsePlugin reads NAME=PROGRAM or NAME=["PROGRAM","ARGUMENT",…].
func parsePlugin(given string) (name string, command []string, err error) {
	name, text, _ := strings.Cut(given, "=")
	wrong := usagef(`try --signer agent=/path/to/program, or --signer 'agent=["/path/to/program","argument"]'`, "--signer %s names no key and program", given)
	if !keyName.MatchString(name) || text == "" {
		return "", nil, wrong
	}
	if !strings.HasPrefix(text, "[") {
		return name, []string{text}, nil
	}
	v, err := jcs.Parse([]byte(text))
	if err != nil {
		return "", nil, wrong
	}
	for item := range v.Items() {
		word, ok := item.Text()
		if !ok {
			return "", nil, wrong
		}
		command = append(command, word)
	}
	if len(command) == 0 {
		return "", nil, wrong
	}
	return name, command, nil
}

// keyNames are the keys that init makes.
func (o *initOptions) keyNames() []string {
	names := []string{"agent", "principal", "publisher"}
	for _, role := range []string{roleRA, roleVA} {
		founded := o.join == "" && (len(o.roles) == 0 || slices.Contains(o.roles, role))
		if founded || role == roleRA && o.ownRA != "" {
			names = append(names, role)
		}
	}
	return names
}

func (o *initOptions) checkPlugins() error {
	seen := map[string]bool{}
	for _, given := range o.plugins {
		name, _, err := parsePlugin(given)
		switch {
		case err != nil:
			return err
		case !slices.Contains(o.keyNames(), name):
			return usagef("its keys are: "+strings.Join(o.keyNames(), ", "), "--signer: this directory has no key %q", name)
		case seen[name]:
			return usagef("name one program for it", "--signer: the key %q is named twice", name)
		}
		seen[name] = true
	}
	return nil
}

// encrypt encrypts the keys that are in clear, and says which. Whatever ends it, each key
// is there: a file in clear is removed when config.json names what opens the others.
func (h *home) encrypt(p protection) ([]string, error) {
	names, err := h.inClear()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	keys := map[string]*ecdsa.PrivateKey{}
	for _, name := range names {
		if keys[name], err = readClear(h.keyPath(name, clearKey)); err != nil {
			return nil, err
		}
	}
	if err := h.same(keys); err != nil {
		return nil, err
	}
	if h.KeyFile == "" && !h.Passphrase {
		o, err := h.choose(p, true)
		if err != nil {
			return nil, err
		}
		if err := h.use(o); err != nil {
			return nil, err
		}
	}
	if err := h.sealAll(names, keys); err != nil {
		return nil, err
	}
	if err := h.save(); err != nil {
		return nil, err
	}
	if err := h.step("keys-named"); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := os.Remove(h.keyPath(name, clearKey)); err != nil {
			return nil, err
		}
		if err := h.step("keys-removed"); err != nil {
			return nil, err
		}
	}
	return names, keyring.SyncDir(filepath.Join(h.dir, keysDir))
}

// step is a moment at which a test ends the work, by kill -9 or by an error.
func (h *home) step(point string) error {
	failpoint.Hit(point)
	if h.ring.interrupt != nil {
		return h.ring.interrupt(point)
	}
	return nil
}

// inClear are the names of keys/NAME.pem.
func (h *home) inClear() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(h.dir, keysDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("is it this user's?", "%s cannot be read", filepath.Join(h.dir, keysDir))
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), clearKey); ok && keyName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// same refuses a key in clear that is not the one that the directory has under its name.
func (h *home) same(keys map[string]*ecdsa.PrivateKey) error {
	if h.Keys == nil {
		h.Keys = map[string]keyEntry{}
	}
	for name, k := range keys {
		mine, err := jose.NewKey(&k.PublicKey)
		if err != nil {
			return err
		}
		entry := h.Keys[name]
		if public, err := entry.public(); entry.Signer != nil || entry.Public != nil && (err != nil || !public.Same(mine)) {
			return usagef("move it away, or restore the right one", "%s is not the key that %s names", h.keyPath(name, clearKey), configFile)
		}
		entry.Public = mine.JWK()
		h.Keys[name] = entry
	}
	return nil
}

// sealAll writes keys/NAME.age for each, and reads it back before anything relies on it.
func (h *home) sealAll(names []string, keys map[string]*ecdsa.PrivateKey) error {
	id, err := h.identity()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := h.sealKey(id, name, keys[name]); err != nil {
			return err
		}
		if k, err := h.readSealed(name); err != nil || !k.Equal(keys[name]) {
			return errors.Join(errors.New("a key that was encrypted does not open"), err)
		}
		if err := h.step("keys-sealed"); err != nil {
			return err
		}
	}
	return nil
}

// reopen has something else open the keys. First both open each of them, then the new one
// is named, then it alone opens them: whatever ends it, what config.json names opens all.
func (h *home) reopen(p protection) (names []string, err error) {
	if h.KeyFile == "" && !h.Passphrase {
		return nil, usagef("try: bindery keys encrypt --dir "+h.dir, "the keys of %s are not encrypted", h.dir)
	}
	old, err := h.identity()
	if err != nil {
		return nil, err
	}
	keys := map[string]*ecdsa.PrivateKey{}
	for name, entry := range h.Keys {
		if entry.Signer != nil {
			continue
		}
		if keys[name], err = h.read(name); err != nil {
			return nil, err
		}
	}
	names = slices.Sorted(maps.Keys(keys))
	o, err := h.choose(p, false)
	if err != nil {
		return nil, err
	}
	before := *h
	if o.id.Same(old) { // named already, perhaps by a run that was interrupted
		return names, errors.Join(h.sealAll(names, keys), before.forget(h))
	}
	for _, name := range names {
		if err := h.sealKey(o.id, name, keys[name], old); err != nil {
			return nil, errors.Join(err, o.unmake())
		}
		if err := h.step("keys-both"); err != nil {
			return nil, err
		}
	}
	if err := h.use(o); err != nil {
		return nil, err
	}
	if err := h.step("keys-locked"); err != nil {
		return nil, err
	}
	if err := h.save(); err != nil {
		return nil, err
	}
	if err := h.step("keys-named"); err != nil {
		return nil, err
	}
	if err := h.sealAll(names, keys); err != nil {
		return nil, err
	}
	return names, before.forget(h)
}

func (o *opener) unmake() error {
	if o.made == "" {
		return nil
	}
	return os.Remove(o.made)
}

// forget removes what opened the directory before, where it is the directory's own file,
// and what an interrupted run has left of it.
func (before *home) forget(now *home) error {
	var stale []string
	if !now.Passphrase {
		stale = append(stale, filepath.Join(before.dir, keysDir, identityFile))
	}
	if before.KeyFile == keyFile && now.KeyFile != keyFile {
		stale = append(stale, filepath.Join(before.dir, keyFile))
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := keyring.SyncDir(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}
