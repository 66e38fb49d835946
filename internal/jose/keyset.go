package jose

import (
	"slices"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// Limits of a published key set.
const (
	MaxKeys     = 64       // keys in one set
	MaxJWKSSize = 64 << 10 // bytes of one JWKS document
)

// A KeySet is a set of keys found by name. It is immutable; the zero KeySet is empty.
type KeySet struct {
	keys []Key // sorted by Name, no two alike
}

// NewKeySet returns the set of the given keys, each under its [Key.Name]. Keys
// without a public part are left out. A name that stands for two different keys
// finds neither of them, since a verifier that cannot tell which is meant has to
// refuse.
func NewKeySet(keys ...Key) KeySet {
	sorted := slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return k.Public == nil })
	slices.SortFunc(sorted, func(a, b Key) int { return strings.Compare(a.Name(), b.Name()) })
	var set KeySet
	for len(sorted) > 0 {
		first, clear, n := sorted[0], true, 1
		for ; n < len(sorted) && sorted[n].Name() == first.Name(); n++ {
			clear = clear && sorted[n].Same(first)
		}
		if clear {
			set.keys = append(set.keys, first)
		}
		sorted = sorted[n:]
	}
	return set
}

// Find returns the key named kid.
func (s KeySet) Find(kid string) (Key, bool) {
	i, ok := slices.BinarySearchFunc(s.keys, kid, func(k Key, kid string) int {
		return strings.Compare(k.Name(), kid)
	})
	if kid == "" || !ok {
		return Key{}, false
	}
	return s.keys[i], true
}

// Keys returns the keys of the set, sorted by name. The slice is the caller's.
func (s KeySet) Keys() []Key { return slices.Clone(s.keys) }

// JWKS returns the set as a canonical JWK Set (RFC 7517 §5). Every entry carries
// its kid, alg "ES256" and use "sig".
func (s KeySet) JWKS() []byte {
	items := make([][]byte, 0, len(s.keys))
	for _, k := range s.keys {
		items = append(items, k.NamedJWK())
	}
	return jcs.Object(jcs.Member{Name: "keys", Value: jcs.Array(items...)})
}

// ParseJWKS reads a JWK Set of at most [MaxKeys] keys and [MaxJWKSSize] bytes. One
// key that [ParseJWK] refuses spoils the set, and so do two of one name: a set that
// is read in part could lack the key that was revoked by its successor. A key
// without kid goes by its thumbprint. Members beside "keys" are refused.
func ParseJWKS(src []byte) (KeySet, error) {
	v, err := jcs.Profile{MaxDepth: 4, MaxSize: MaxJWKSSize}.Parse(src)
	if err != nil {
		return KeySet{}, fault("jwks", "not strict JSON within the limits")
	}
	r := jcs.NewReader(v)
	items := r.Items("keys")
	if r.Close() != nil {
		return KeySet{}, fault("jwks", "not an object of keys alone")
	}
	if len(items) > MaxKeys {
		return KeySet{}, fault("jwks", "more than 64 keys")
	}
	keys := make([]Key, 0, len(items))
	for _, item := range items {
		k, err := ParseJWK(item)
		if err != nil {
			return KeySet{}, err
		}
		keys = append(keys, k)
	}
	set := NewKeySet(keys...)
	if len(set.keys) != len(keys) {
		return KeySet{}, fault("jwks", "two keys of one name")
	}
	return set, nil
}
