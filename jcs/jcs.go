package jcs

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"slices"
	"unicode/utf8"
)

// Numbers selects which numbers a [Profile] admits.
type Numbers uint8

const (
	// IntegerNumbers admits a number iff its exact decimal value is an integer n with
	// |n| ≤ 2^53−1 (decision J2). So 1.0, 1e0 and -0 are admitted and print as 1, 1 and 0, while
	// 9007199254740991.4 is refused although binary64 would round it into the range.
	IntegerNumbers Numbers = iota
	// DoubleNumbers admits every number that rounds to a finite binary64 value and prints it as
	// RFC 8785 §3.2.2.3 does (decision J3). It is for data that is not ours: gateway arguments
	// and foreign payloads.
	DoubleNumbers
)

const (
	defaultDepth = 64
	defaultSize  = 16 << 20
	// maxSize keeps every offset, also after numbers have grown in print, within 31 bits.
	maxSize = 256 << 20
)

// A Profile fixes which texts are accepted. The zero value is the integer profile that
// [Append], [Canonical], [Parse] and the digest functions use.
type Profile struct {
	Numbers Numbers

	// TokenStrict refuses a number that is not spelled as it will be printed: 1.0, 1e0 and -0 in
	// both modes, and 1.50 or 1E30 among doubles. It is for peers that hash the token (X5).
	TokenStrict bool

	// MaxDepth is the deepest nesting accepted; the outermost container counts 1.
	// Zero or less means 64.
	MaxDepth int

	// MaxSize is the longest input accepted, in bytes. Zero or less means 16 MiB; more than
	// 256 MiB means 256 MiB.
	MaxSize int
}

func (p Profile) depth() int {
	if p.MaxDepth <= 0 {
		return defaultDepth
	}
	return p.MaxDepth
}

func (p Profile) size() int {
	if p.MaxSize <= 0 {
		return defaultSize
	}
	return min(p.MaxSize, maxSize)
}

// Append appends the canonical form of the JSON text src to dst, under the integer profile, and
// returns the extended slice. On error it returns dst as it was, and the error is an *[Error].
// src may share memory with dst, as in Append(src[:0], src).
func Append(dst, src []byte) ([]byte, error) {
	return Profile{}.Append(dst, src)
}

// Append appends the canonical form of the JSON text src to dst under profile p. See the
// function [Append].
func (p Profile) Append(dst, src []byte) ([]byte, error) {
	q, err := p.read(src)
	switch {
	case err != nil:
		return dst, err
	case q == nil:
		return append(dst, src...), nil
	}
	defer q.release()
	q.flush(len(src)) // dst may lie in the memory of src
	return q.emit(slices.Grow(dst, len(q.text)), q.text), nil
}

// Canonical reports whether src is accepted by the integer profile and already its own
// canonical form.
func Canonical(src []byte) bool {
	q, err := Profile{}.read(src)
	if err != nil || q == nil {
		return err == nil
	}
	defer q.release()
	return bytes.Equal(q.canonical(), src)
}

// Sum256 returns the SHA-256 of the canonical form of src under the integer profile. It never
// hashes text as received (decision J6). The error is an *[Error].
func Sum256(src []byte) ([32]byte, error) {
	q, err := Profile{}.read(src)
	switch {
	case err != nil:
		return [32]byte{}, err
	case q == nil:
		return sha256.Sum256(src), nil
	}
	defer q.release()
	return sha256.Sum256(q.canonical()), nil
}

// Sum384 is [Sum256] with SHA-384.
func Sum384(src []byte) ([48]byte, error) {
	q, err := Profile{}.read(src)
	switch {
	case err != nil:
		return [48]byte{}, err
	case q == nil:
		return sha512.Sum384(src), nil
	}
	defer q.release()
	return sha512.Sum384(q.canonical()), nil
}

// read returns a parser that has read src, to be released after use, or nil if src is its own
// canonical form.
func (p Profile) read(src []byte) (*parser, error) {
	if limit := p.size(); len(src) > limit {
		return nil, &Error{KindSize, limit, "input longer than the limit"}
	}
	valid := utf8.Valid(src)
	if valid && verify(src, p.depth()) {
		return nil, nil
	}
	q := newParser(p, src)
	var err *Error
	if valid {
		err = q.run()
	} else {
		err = q.runInvalid()
	}
	if err != nil {
		err = q.first(err)
		q.release()
		return nil, err
	}
	return q, nil
}
