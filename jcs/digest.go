package jcs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// Hex256 is a SHA-256 as 64 lower-case hexadecimal digits without a prefix: the spelling of the
// crossing (agreement_hash, joint_seal, anchors, mandate hashes; decision J5, GC-212).
type Hex256 string

// Digest is a digest with the name of its algorithm, "sha256:" and 64 or "sha384:" and 96
// lower-case hexadecimal digits: the spelling of the envelope and the action binding (J5).
type Digest string

const (
	prefix256 = "sha256:"
	prefix384 = "sha384:"
)

var (
	errHex    = errors.New("jcs: not 64 lower-case hexadecimal digits")
	errDigest = errors.New("jcs: not sha256: or sha384: and lower-case hexadecimal digits")
)

// ParseHex256 accepts exactly 64 lower-case hexadecimal digits.
func ParseHex256(s string) (Hex256, error) {
	if !isHex(s, 64) {
		return "", errHex
	}
	return Hex256(s), nil
}

// HexOf returns the SHA-256 of exactly the bytes of data. For JSON use [Sum256] or [Digest256],
// which hash the canonical form; HexOf is for tokens and for text that is canonical by
// construction.
func HexOf(data []byte) Hex256 {
	sum := sha256.Sum256(data)
	return Hex256(hex.EncodeToString(sum[:]))
}

// ParseDigest accepts exactly the two spellings of [Digest].
func ParseDigest(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, prefix256)
	if ok && isHex(digits, 64) {
		return Digest(s), nil
	}
	digits, ok = strings.CutPrefix(s, prefix384)
	if ok && isHex(digits, 96) {
		return Digest(s), nil
	}
	return "", errDigest
}

// Digest256 returns the SHA-256 of the canonical form of the JSON text src under the integer
// profile. The error is an *[Error].
func Digest256(src []byte) (Digest, error) {
	sum, err := Sum256(src)
	if err != nil {
		return "", err
	}
	return Digest(prefix256 + hex.EncodeToString(sum[:])), nil
}

// Digest384 is [Digest256] with SHA-384.
func Digest384(src []byte) (Digest, error) {
	sum, err := Sum384(src)
	if err != nil {
		return "", err
	}
	return Digest(prefix384 + hex.EncodeToString(sum[:])), nil
}

func isHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range n {
		if c := s[i]; !isDigit(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
