package keyring

import (
	"bytes"
	"crypto/ecdsa"
	"errors"
	"io"
	"strings"

	"filippo.io/age"

	"github.com/bindery/bindery/internal/jose"
)

// WorkFactor is log2 of the scrypt cost under which a passphrase opens an identity: 256 MiB
// and about a second.
const WorkFactor = 18

const (
	maxSealed = 64 << 10
	title     = "Bindery key "
)

// What a sealed file or a key file is refused for.
var (
	ErrPassphrase = errors.New("keyring: the passphrase is wrong")
	ErrForeign    = errors.New("keyring: another identity opens it")
	ErrDamaged    = errors.New("keyring: cut, altered, or not of this kind")
	ErrReadable   = errors.New("keyring: others than its owner may read or write it")
	ErrNoFile     = errors.New("keyring: not a regular file")
)

// An Identity opens the keys that were sealed for it. Identities are made by [NewIdentity],
// [ReadKeyFile] and [Unlock].
type Identity struct{ x *age.X25519Identity }

// NewIdentity makes one from crypto/rand.
func NewIdentity() (*Identity, error) {
	x, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	return &Identity{x}, nil
}

// Same reports whether both open the same files.
func (id *Identity) Same(other *Identity) bool { return id.x.String() == other.x.String() }

// Seal encrypts a private key under its name, for id and for each of also.
func (id *Identity) Seal(name string, k *ecdsa.PrivateKey, also ...*Identity) ([]byte, error) {
	block, err := jose.MarshalPrivateKeyPEM(k)
	if err != nil {
		return nil, err
	}
	to := []age.Recipient{id.x.Recipient()}
	for _, other := range also {
		to = append(to, other.x.Recipient())
	}
	return seal([]byte(title+name+"\n"+string(block)), to...)
}

// Open decrypts what Seal has made under this name. Errors: [ErrForeign], [ErrDamaged].
func (id *Identity) Open(name string, sealed []byte) (*ecdsa.PrivateKey, error) {
	plain, err := open(sealed, id.x)
	if err != nil {
		return nil, err
	}
	block, ok := bytes.CutPrefix(plain, []byte(title+name+"\n"))
	if !ok {
		return nil, ErrDamaged
	}
	k, err := jose.ParsePrivateKeyPEM(block)
	if err != nil {
		return nil, ErrDamaged
	}
	return k, nil
}

// Lock encrypts the identity under a passphrase, which must not be empty, with the given
// work factor: [WorkFactor], or less in tests.
func (id *Identity) Lock(passphrase string, workFactor int) ([]byte, error) {
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	to.SetWorkFactor(workFactor)
	return seal([]byte(id.x.String()+"\n"), to)
}

// Unlock decrypts what Lock has made. Errors: [ErrPassphrase], [ErrDamaged].
func Unlock(locked []byte, passphrase string) (*Identity, error) {
	by, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, ErrPassphrase
	}
	by.SetMaxWorkFactor(WorkFactor)
	plain, err := open(locked, by)
	if errors.Is(err, ErrForeign) {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, err
	}
	x, err := age.ParseX25519Identity(strings.TrimSuffix(string(plain), "\n"))
	if err != nil {
		return nil, ErrDamaged
	}
	return &Identity{x}, nil
}

func seal(plain []byte, to ...age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// open decrypts a whole file. age authenticates it chunk by chunk, and its end.
func open(sealed []byte, by age.Identity) ([]byte, error) {
	if len(sealed) > maxSealed {
		return nil, ErrDamaged
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), by)
	if errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, ErrForeign
	}
	if err != nil {
		return nil, ErrDamaged
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}
