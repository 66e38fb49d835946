package envelope

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// errDigest refuses a spelling that is not that of section 6.2.
var errDigest = errors.New("envelope: a digest is sha256: and 64 lower-case hexadecimal digits (ENV-053)")

const digestPrefix = "sha256:"

// A Digest is the SHA-256 of the canonical form of an envelope or of a resolution (section 6.2).
// It is compared with ==. The zero Digest is none.
type Digest struct {
	sum  [sha256.Size]byte
	some bool
}

// ParseDigest accepts the one spelling of a digest, "sha256:" and 64 lower-case hexadecimal digits
// (ENV-053). Nothing is trimmed or folded (ENV-054).
func ParseDigest(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, digestPrefix)
	if !ok || len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
		return Digest{}, errDigest
	}
	d := Digest{some: true}
	if _, err := hex.Decode(d.sum[:], []byte(digits)); err != nil {
		return Digest{}, errDigest
	}
	return d, nil
}

// String returns the spelling in which a digest is sent, stored and quoted; "" for none.
func (d Digest) String() string {
	if !d.some {
		return ""
	}
	return digestPrefix + hex.EncodeToString(d.sum[:])
}

// IsZero reports whether d is none.
func (d Digest) IsZero() bool { return !d.some }

// MarshalText returns [Digest.String].
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// digestOf names a text in its canonical form.
func digestOf(v jcs.Value) Digest {
	return Digest{sum: sha256.Sum256(v.Bytes()), some: true}
}
