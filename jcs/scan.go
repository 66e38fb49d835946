package jcs

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes at a time: each constant holds one byte eight times.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// at returns the byte at i, or NUL at the end: no state of a reader admits a NUL.
func at(src []byte, i int) byte {
	if i < len(src) {
		return src[i]
	}
	return 0
}

// plainRun returns the end of the run of bytes from i on that a string holds as they are: the
// offset of the next quote, backslash or control, or the length of src.
func plainRun(src []byte, i int) int {
	for i+16 <= len(src) {
		b := src[i : i+16 : i+16]
		m, n := special(binary.LittleEndian.Uint64(b)), special(binary.LittleEndian.Uint64(b[8:]))
		if m|n != 0 {
			k := i
			if m == 0 {
				k = i + 8
			}
			if m == 0 {
				m = n
			}
			return k + bits.TrailingZeros64(m)>>3
		}
		i += 16
	}
	for i < len(src) && src[i] >= 0x20 && src[i] != '"' && src[i] != '\\' {
		i++
	}
	return i
}

// special marks the quotes, backslashes and controls of eight bytes by their high bits. Of the
// marks the lowest is exact; above it a borrow may leave false ones. Flipping the second bit
// moves the quote, 22, below the space, which trades places with it: so one comparison finds
// controls and quotes.
func special(x uint64) uint64 {
	low := x ^ 0x02*ones
	backslash := x ^ '\\'*ones
	return ((low-0x21*ones)&^low | (backslash-ones)&^backslash) & highs
}

// integerEnd returns the end of the canonical integer at i, or i if there is none: no fraction,
// no exponent, no leading zero, no minus zero, nothing beyond ±(2^53−1).
func integerEnd(src []byte, i int) int {
	start := i
	if at(src, i) == '-' {
		i++
	}
	first := i
	var n uint64
	for i < len(src) && isDigit(src[i]) {
		n = n*10 + uint64(src[i]-'0')
		i++
	}
	digits := i - first
	switch {
	case digits == 0, digits > 16, n > maxInteger:
		return start
	case src[first] == '0' && (digits > 1 || first > start):
		return start
	}
	if c := at(src, i); c == '.' || c|0x20 == 'e' {
		return start
	}
	return i
}

// nameKey returns the first eight bytes of the name src[start:end], which holds no escape, such
// that keys order as UTF-16 code units do; equal keys decide nothing. A short name is filled up
// with zeros, which no such name holds.
func nameKey(src []byte, start, end int) uint64 {
	if start+8 > len(src) {
		return slowKey(src[start:end])
	}
	x := binary.BigEndian.Uint64(src[start:])
	if n := end - start; n < 8 {
		x &= ^uint64(0) << (64 - 8*n)
	}
	if x&highs != 0 {
		return slowKey(src[start:end])
	}
	return x
}

// slowKey is nameKey for any canonical name. Escapes are decoded; the lead bytes of U+E000 to
// U+FFFF go behind those of the characters written with surrogates (see compareUnits).
func slowKey(name []byte) uint64 {
	var key uint64
	n := 0
	for i := 0; i < len(name) && n < 8; n++ {
		var c byte
		c, i = unescape(name, i)
		if c == 0xEE || c == 0xEF {
			c += 7 // F5 and F6, which UTF-8 does not use
		}
		key = key<<8 | uint64(c)
	}
	return key << (64 - 8*n)
}
