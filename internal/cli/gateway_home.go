package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// roleGateway is the role of a directory that stands in front of tools. A party's directory may
// have it beside its others; one that bindery gateway has made has it alone.
const roleGateway = "gateway"

// gatewayHome opens the directory of a gateway. One that is not there is made, for a gateway alone.
func (a *app) gatewayHome(ctx context.Context, store string) (*home, error) {
	dir, err := a.directory()
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(dir, configFile)); errors.Is(err, fs.ErrNotExist) {
		if err := a.makeGatewayHome(ctx, dir, store); err != nil {
			return nil, err
		}
	} else if store != "" {
		h, err := a.home()
		if err != nil {
			return nil, err
		}
		if err := h.moveStore(ctx, store); err != nil {
			return nil, err
		}
	}
	h, err := a.home()
	if err != nil {
		return nil, err
	}
	return a.withGatewayKeys(ctx, h)
}

// makeGatewayHome makes a directory that is a gateway and no party. Several gateways may be started in
// it at once, as by a client with several servers: one makes it, the others wait.
func (a *app) makeGatewayHome(ctx context.Context, dir, store string) error {
	if err := checkStore(store); err != nil {
		return err
	}
	there := fileExists(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return usagef("choose another --dir", "%s cannot be made: %v", dir, err)
	}
	return locked(dir, func() error {
		for _, name := range gatewayFiles() {
			switch {
			case !fileExists(filepath.Join(dir, name)):
			case name == configFile:
				return nil // somebody else has made it
			default:
				return usagef("restore it, or choose another --dir", "%s has no %s, and there is a %s in it", dir, configFile, name)
			}
		}
		err := a.fillGatewayHome(ctx, dir, store)
		if err == nil {
			a.say("bindery: %s is now a gateway's directory, readable by its owner alone: its keys, its configuration and its record of executions", dir)
			return nil
		}
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			err = usagef("is it this user's? else choose another --dir", "nothing can be written in %s", dir)
		}
		if fileExists(filepath.Join(dir, configFile)) { // where nothing can be locked, another may have made it whole
			return err
		}
		for _, name := range gatewayFiles() { // none was there before
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
		if !there {
			_ = os.Remove(dir) // unless somebody has put something there
		}
		return err
	})
}

// gatewayFiles are what a gateway's directory is made of; the configuration is written last.
func gatewayFiles() []string {
	return []string{configFile, secretsFile, keysDir, storeFile, storeFile + "-wal", storeFile + "-shm", keyFile}
}

// fillGatewayHome makes what is in the directory of a gateway.
func (a *app) fillGatewayHome(ctx context.Context, dir, store string) error {
	h := &home{dir: dir, ring: newRing(nil), config: config{
		Name: "gateway", Roles: []string{roleGateway}, Addr: defaultAddr, AdminAddr: freeAdmin,
	}, secrets: secrets{Operator: credential()}}
	h.setStore(store)
	if err := h.claimStore(ctx); err != nil {
		return err
	}
	if err := h.protect(protection{}); err != nil {
		return err
	}
	if err := h.makeGatewayKeys(ctx); err != nil {
		return err
	}
	if store != "" { // so that it is no other directory's from now on, whichever begins first
		if err := h.makeStore(ctx); err != nil {
			return err
		}
	}
	return h.save()
}

// withGatewayKeys gives a directory what a gateway signs and seals with, if it is an older one.
func (a *app) withGatewayKeys(ctx context.Context, h *home) (*home, error) {
	if _, there := h.Keys[gatewayKey]; there && h.secrets.SessionKey != "" {
		return h, nil
	}
	err := locked(h.dir, func() error {
		stored, err := openHome(h.dir)
		if err != nil {
			return err
		}
		stored.ring = h.ring
		if err := stored.makeGatewayKeys(ctx); err != nil {
			return err
		}
		if err := stored.save(); err != nil {
			return err
		}
		h.config, h.secrets = stored.config, stored.secrets
		return nil
	})
	return h, err
}

// makeGatewayKeys makes those that are not there, and with the first one the record of executions:
// where there is a key, a record that is missing has been lost.
func (h *home) makeGatewayKeys(ctx context.Context) error {
	if h.secrets.SessionKey == "" {
		h.secrets.SessionKey = randomHex(32)
	}
	if _, there := h.Keys[gatewayKey]; there {
		return nil
	}
	if h.Keys == nil {
		h.Keys = map[string]keyEntry{}
	}
	if h.Throwaway == "" {
		if _, err := h.identity(); err != nil {
			return err
		}
	}
	if h.storeURL() == "" {
		if err := h.makeStore(ctx); err != nil {
			return err
		}
	}
	_, err := h.newKey(gatewayKey)
	return err
}

// makeStore makes the tables that are not there.
func (h *home) makeStore(ctx context.Context) error {
	db, err := h.openStore(ctx)
	if err != nil {
		return err
	}
	return db.Close()
}

// lostRecord reports that a gateway's database is gone. Another one would know of no execution, so
// that each repeat would be a first call.
func (h *home) lostRecord() bool {
	_, is := h.Keys[gatewayKey]
	return is && h.storeURL() == "" && !fileExists(h.store())
}

// homeOfGateway opens the directory of a gateway that is there.
func (a *app) homeOfGateway() (*home, error) {
	dir, err := a.directory()
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(dir, configFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("bindery gateway makes one: bindery gateway --help", "%s is no gateway's directory", dir)
	}
	return a.home()
}

// sessionKey is what keeps the sessions of agents apart. Copies of a directory share it.
func (h *home) sessionKey() ([]byte, error) {
	key, err := hex.DecodeString(h.secrets.SessionKey)
	if err != nil || len(key) < 32 {
		return nil, usagef("take it out, and a new one is made", "%s: its gateway_session_key is not 64 hex digits", filepath.Join(h.dir, secretsFile))
	}
	return key, nil
}

// locked runs f while no other command changes the directory.
func locked(dir string, f func() error) error {
	unlock, err := lockDir(dir)
	if err != nil {
		return usagef("is it this user's?", "%s cannot be opened", dir)
	}
	defer unlock()
	return f()
}
