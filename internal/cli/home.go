package cli

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/keyring"
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
	freeAdmin    = "localhost:0" // any free port, which is then kept
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
	// Store is the URL of a PostgreSQL database, unless it has a password; "" is the file.
	Store string `json:"store,omitempty"`
	// What opens the private keys: the one file, or the one passphrase. With neither they are
	// not encrypted, which only Throwaway permits: the directory in which demo or a test made
	// them, by its real path.
	KeyFile    string              `json:"key_file,omitempty"` // absolute, or below the directory
	Passphrase bool                `json:"passphrase,omitempty"`
	Throwaway  string              `json:"throwaway,omitempty"`
	Keys       map[string]keyEntry `json:"keys,omitempty"`
	// Release is the release mode of this directory's own RA; "" is none.
	Release string `json:"release,omitempty"`
	// Gateway is what a [gatewayConfig] is read from and written to.
	Gateway json.RawMessage `json:"gateway,omitempty"`
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
	Store       string `json:"store,omitempty"` // a database's URL with its password
	// SessionKey keeps the agents of a gateway apart, in hex; it is made at first use.
	SessionKey string `json:"gateway_session_key,omitempty"`
	// GatewayHeaders are the values of an upstream's headers, by UPSTREAM/HEADER.
	GatewayHeaders map[string]string `json:"gateway_headers,omitempty"`
}

// home is a party's directory.
type home struct {
	dir string
	config
	secrets     secrets
	ring        *ring        // opens the private keys
	counterpart *counterpart // only while init brings an RA along
	begun       bool         // only while init joins: the code may have been used
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
	h, err := openHome(dir)
	if err == nil {
		h.ring.ask = a.ask
	}
	return h, err
}

func openHome(dir string) (*home, error) {
	h := &home{dir: dir, ring: newRing(nil)}
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
	return writeOwn(path, append(b, '\n'))
}

// writeOwn replaces a file of the directory. A folder that is read-only is a wrong one; after
// any other failure it is not known which of the two stands there.
func writeOwn(path string, b []byte) error {
	err := keyring.WriteFile(path, b)
	reason := error(nil)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		reason = e.Err
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return usagef("is its folder this user's?", "%s cannot be written: %v", path, reason)
	case reason != nil:
		return &unknownError{fmt.Sprintf("%s cannot be written: %v", path, reason), "make room, and run it again"}
	}
	return err
}

func (h *home) store() string { return filepath.Join(h.dir, storeFile) }

func (h *home) has(role string) bool { return slices.Contains(h.Roles, role) }

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
