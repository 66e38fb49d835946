package jcs

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

const hexDigits = "0123456789abcdef"

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// appendChar appends the ASCII byte c as RFC 8785 §3.2.2.2 spells it inside a string.
func appendChar(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	if c < 0x20 {
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return append(dst, c)
}

// appendString appends the canonical JSON string of s, which must be valid UTF-8.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			dst = append(dst, s[done:i]...)
			dst = appendChar(dst, c)
			done = i + 1
		}
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// canonicalEscape returns the length of the escape at the start of b, or 0 if RFC 8785 would
// not print it: a letter for the five controls that have one, \u00 and two lower-case digits
// for the others, and a backslash before quote and backslash.
func canonicalEscape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', 'b', 't', 'n', 'f', 'r':
		return 2
	case 'u':
		if len(b) < 6 || b[2] != '0' || b[3] != '0' || (b[4] != '0' && b[4] != '1') {
			return 0
		}
		low := bytes.IndexByte([]byte(hexDigits), b[5])
		if low < 0 || b[4] == '0' && (low == 8 || low == 9 || low == 10 || low == 12 || low == 13) {
			return 0
		}
		return 6
	}
	return 0
}

// unescape returns the byte that stands at position i of the canonical string text b, and the
// position after it. Canonical escapes stand for one ASCII byte each.
func unescape(b []byte, i int) (c byte, next int) {
	if b[i] != '\\' {
		return b[i], i + 1
	}
	switch c := b[i+1]; c {
	case 'b':
		return '\b', i + 2
	case 't':
		return '\t', i + 2
	case 'n':
		return '\n', i + 2
	case 'f':
		return '\f', i + 2
	case 'r':
		return '\r', i + 2
	case 'u':
		return hexValue(b[i+4])<<4 | hexValue(b[i+5]), i + 6
	default:
		return c, i + 2
	}
}

// hexValue returns the value of a hexadecimal digit, or 0xFF for any other byte.
func hexValue(c byte) byte {
	switch {
	case isDigit(c):
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xFF
}

// decode returns the text of the canonical JSON string b, quotes included in b.
func decode(b []byte) string {
	b = b[1 : len(b)-1]
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b)
	}
	text := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		var c byte
		c, i = unescape(b, i)
		text = append(text, c)
	}
	return string(text)
}

// compareNames orders two names, given as canonical text without the quotes, by their UTF-16 code
// units (RFC 8785 §3.2.3).
func compareNames(a, b []byte) int {
	i := 0
	for i+8 <= len(a) && i+8 <= len(b) && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	if bytes.IndexByte(a, '\\') >= 0 || bytes.IndexByte(b, '\\') >= 0 {
		return compareEscaped(a, b)
	}
	for ; i < len(a) && i < len(b); i++ {
		if a[i] != b[i] {
			return compareUnits(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareEscaped(a, b []byte) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		var x, y byte
		x, i = unescape(a, i)
		y, j = unescape(b, j)
		if x != y {
			return compareUnits(x, y)
		}
	}
	return cmp.Compare(len(a)-i, len(b)-j)
}

// compareUnits orders two UTF-8 strings by UTF-16 code units, given the first bytes x, y in which
// they differ. UTF-8 bytes order as code points do, and that differs from UTF-16 in one place: a
// character beyond U+FFFF (lead byte F0 and up) is written with surrogates, D800 to DFFF, and so
// comes before U+E000 to U+FFFF (lead bytes EE and EF). Continuation bytes never reach EE.
func compareUnits(x, y byte) int {
	if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
		return cmp.Compare(y, x)
	}
	return cmp.Compare(x, y)
}
