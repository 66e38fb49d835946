package keyring

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"filippo.io/age"
)

const maxKeyFile = 16 << 10

// ReadKeyFile reads the identity in a key file: a regular file of mode 0600 or less, with
// one X25519 identity and at most comments beside it. Errors: those of the file system,
// [ErrNoFile], [ErrReadable], [ErrDamaged].
func ReadKeyFile(path string) (*Identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe would wait for a writer
		return nil, ErrNoFile
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err = f.Stat() // of what was opened, whatever stands at the path by now
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, ErrNoFile
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows": // which has no such bits
		return nil, ErrReadable
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxKeyFile {
		return nil, ErrDamaged
	}
	list, err := age.ParseIdentities(bytes.NewReader(b))
	if err != nil || len(list) != 1 {
		return nil, ErrDamaged
	}
	x, ok := list[0].(*age.X25519Identity)
	if !ok {
		return nil, ErrDamaged
	}
	return &Identity{x}, nil
}

// MakeKeyFile writes the identity to a new key file, mode 0600. What stands at the path
// stays, and is an error that is [fs.ErrExist].
func (id *Identity) MakeKeyFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("# It opens the private keys of a bindery directory. Whoever has it has them.\n" + id.x.String() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return SyncDir(filepath.Dir(path))
}

// WriteFile replaces a file in one step, with mode 0600. When it returns nil, the new
// content is durable; when it does not, the old one may still be there.
func WriteFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a folder durable: without it a crash may keep a removal and
// lose the rename before it.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" { // a folder cannot be synced there, and need not be
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
