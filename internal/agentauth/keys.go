package agentauth

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"regexp"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

const (
	keyPrefix = "bnk_"
	keyBytes  = 32
	keyChars  = 43 // of 32 bytes in base64url
)

// MaxKeys is the number of keys that may be registered.
const MaxKeys = 4096

// A Key is a registered key: whose it is, and the SHA-256 of the whole of it.
type Key struct {
	Agent string // see [ValidName]; several keys may be one agent's, as while one is replaced
	Sum   jcs.Hex256
}

// NewKey makes a key of 256 random bits for the agent. secret is to be shown once: only
// its digest is kept.
func NewKey(agent string) (secret string, k Key) {
	b := make([]byte, keyBytes)
	rand.Read(b)
	secret = keyPrefix + jose.EncodeBase64(b)
	return secret, Key{Agent: agent, Sum: jcs.HexOf([]byte(secret))}
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// ValidName reports whether an agent can be registered by this name: 1 to 64 characters,
// letters, digits, ".", "_" and "-", of which the first is a letter or a digit.
func ValidName(agent string) bool { return nameForm.MatchString(agent) }

// registered are the keys by the first digits of their digests. What the time of looking
// one up tells is of a digest that nobody can aim at; the rest is compared in constant time.
type registered map[string][]Key

const prefixDigits = 16

func newRegistered(keys []Key) (registered, error) {
	if len(keys) > MaxKeys {
		return nil, fmt.Errorf("agentauth: more than %d keys", MaxKeys)
	}
	all, seen := registered{}, map[jcs.Hex256]bool{}
	for _, k := range keys {
		if !ValidName(k.Agent) {
			return nil, fmt.Errorf("agentauth: %q is no name of an agent", k.Agent)
		}
		if _, err := jcs.ParseHex256(string(k.Sum)); err != nil {
			return nil, fmt.Errorf("agentauth: the key of %s is no SHA-256", k.Agent)
		}
		if seen[k.Sum] {
			return nil, fmt.Errorf("agentauth: the key of %s is registered twice", k.Agent)
		}
		seen[k.Sum] = true
		p := string(k.Sum[:prefixDigits])
		all[p] = append(all[p], k)
	}
	return all, nil
}

// find returns whose key the secret is.
func (r registered) find(secret string) (Identity, error) {
	if len(secret) != len(keyPrefix)+keyChars {
		return Identity{}, invalid("the key is not one that was registered")
	}
	sum := jcs.HexOf([]byte(secret))
	for _, k := range r[string(sum[:prefixDigits])] {
		if subtle.ConstantTimeCompare([]byte(k.Sum), []byte(sum)) == 1 {
			return Identity{ID: "key:" + k.Agent, How: ByKey}, nil
		}
	}
	return Identity{}, invalid("the key is not one that was registered")
}
