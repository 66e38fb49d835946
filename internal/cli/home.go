package cli

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// The files of a party's directory.
const (
	configFile  = "config.json"
	secretsFile = "secrets.json"
	storeFile   = "bindery.db"
	keysDir     = "keys"
)

// Default listeners.
const (
	defaultAddr  = "127.0.0.1:7410"
	defaultAdmin = "localhost:7411"
)

// config is what a directory says of its party, in config.json. None of it is secret.
type config struct {
	Principal string    `json:"principal"`
	Name      string    `json:"name"`
	AgentID   string    `json:"agent_id"`
	Clearance clearance `json:"clearance"`
	RA        trusted   `json:"ra"`
	VA        trusted   `json:"va"`
	Roles     []string  `json:"roles"`
	Addr      string    `json:"addr"`
	AdminAddr string    `json:"admin_addr"`
}

// clearance is the public part of the clearance envelope (§3.4).
type clearance struct {
	TrustBasis  string `json:"trust_basis"`
	AGCLevel    int64  `json:"agc_level"`
	PackID      string `json:"pack_id"`
	PackVersion string `json:"pack_version"`
}

// trusted is an RA or VA: this directory's own, or one it has joined, with its pinned
// key.
type trusted struct {
	Own bool            `json:"own"`
	URL string          `json:"url,omitempty"`
	Key json.RawMessage `json:"key,omitempty"`
}

// secrets is secrets.json, mode 0600. Nothing of it is ever printed or logged.
type secrets struct {
	ClearanceID string `json:"clearance_id"`
	Principal   string `json:"principal_credential"`
	Agent       string `json:"agent_credential"`
	Effector    string `json:"effector_credential"`
	Publisher   string `json:"publisher_credential"`
	Operator    string `json:"operator_credential"`
}

// home is a party's directory.
type home struct {
	dir string
	config
	secrets secrets
}

// directory is the one a command works on.
func (a *app) directory() (string, error) {
	if a.dir != "" {
		return a.dir, nil
	}
	if dir := os.Getenv("BINDERY_DIR"); dir != "" {
		return dir, nil
	}
	if base := os.Getenv("XDG_DATA_HOME"); base != "" {
		return filepath.Join(base, "bindery"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", usage("no directory is given and the user has none", "try --dir DIR")
	}
	return filepath.Join(user, ".local", "share", "bindery"), nil
}

func (a *app) shownDir() string {
	dir, err := a.directory()
	if err != nil {
		return "DIR"
	}
	return dir
}

// home opens the directory; it must have been initialised.
func (a *app) home() (*home, error) {
	dir, err := a.directory()
	if err != nil {
		return nil, err
	}
	return openHome(dir)
}

func openHome(dir string) (*home, error) {
	h := &home{dir: dir}
	err := readJSON(filepath.Join(dir, configFile), &h.config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("try: bindery init --dir "+dir+" --principal urn:anax:principal:NAME", "%s is no party's directory", dir)
	}
	if err != nil {
		return nil, usagef("restore it, or choose another --dir", "%s cannot be read: %v", filepath.Join(dir, configFile), err)
	}
	if err := readJSON(filepath.Join(dir, secretsFile), &h.secrets); err != nil {
		return nil, usagef("restore it, or choose another --dir", "%s cannot be read: %v", filepath.Join(dir, secretsFile), err)
	}
	return h, nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := jcs.Parse(b); err != nil { // a repeated member would be taken silently
		return err
	}
	return json.Unmarshal(b, v)
}

// save writes both files, each whole or not at all.
func (h *home) save() error {
	if err := writeJSON(filepath.Join(h.dir, secretsFile), h.secrets); err != nil {
		return err
	}
	return writeJSON(filepath.Join(h.dir, configFile), h.config)
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(b, '\n'))
}

// writeFile replaces a file in one step, with mode 0600.
func writeFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func (h *home) store() string { return filepath.Join(h.dir, storeFile) }

func (h *home) has(role string) bool { return slices.Contains(h.Roles, role) }

// newKey makes a P-256 key, as keys/NAME.pem.
func (h *home) newKey(name string) (*jose.Signer, error) {
	k, err := jose.GenerateKey()
	if err != nil {
		return nil, err
	}
	b, err := jose.MarshalPrivateKeyPEM(k)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(h.dir, keysDir), 0o700); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(h.dir, keysDir, name+".pem"), b); err != nil {
		return nil, err
	}
	return jose.NewSigner(k)
}

// key loads keys/NAME.pem.
func (h *home) key(name string) (*jose.Signer, error) {
	path := filepath.Join(h.dir, keysDir, name+".pem")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("restore it, or choose another --dir", "the key file %s cannot be read", path)
	}
	k, err := jose.ParsePrivateKeyPEM(b)
	if err != nil {
		return nil, usagef("restore it, or choose another --dir", "%s holds no P-256 private key", path)
	}
	return jose.NewSigner(k)
}

// pinned is an authority's key as a set of one.
func (a trusted) pinned() (jose.KeySet, error) {
	v, err := jcs.Parse(a.Key)
	if err != nil {
		return jose.KeySet{}, errors.New("no key is pinned")
	}
	k, err := jose.ParseJWK(v)
	if err != nil {
		return jose.KeySet{}, err
	}
	return jose.NewKeySet(k), nil
}

// credential makes a bearer credential: 32 random bytes.
func credential() string {
	b := make([]byte, 32)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// randomHex is n random bytes in hex.
func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}
