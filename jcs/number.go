package jcs

import (
	"bytes"
	"math"
	"slices"
	"strconv"
)

// maxInteger is 2^53−1, the largest n such that n and n+1 are both exact in binary64.
const maxInteger = 1<<53 - 1

const (
	ruleUnexpected  = "unexpected byte"
	ruleEnd         = "unexpected end"
	ruleLeadingZero = "leading zero"
	ruleNotInteger  = "not an integer"
	ruleTooLarge    = "integer beyond 2^53-1"
	ruleOverflow    = "beyond binary64"
	ruleSpelling    = "not in canonical spelling"
)

// scanNumber scans the RFC 8259 number at src[i], which is a minus or a digit. On success rule is
// "", end is the offset after the token, and plain says that it has no fraction and no exponent.
// Otherwise end is the offset of the first byte that cannot belong to a number.
func scanNumber(src []byte, i int) (end int, plain bool, rule string) {
	if src[i] == '-' {
		i++
	}
	start := i
	i = skipDigits(src, i)
	if i == start {
		return i, false, ruleUnexpected
	}
	if src[start] == '0' && i > start+1 {
		return start + 1, false, ruleLeadingZero
	}
	plain = true
	if i < len(src) && src[i] == '.' {
		plain = false
		start = i + 1
		if i = skipDigits(src, start); i == start {
			return i, false, ruleUnexpected
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		plain = false
		start = i + 1
		if start < len(src) && (src[start] == '+' || src[start] == '-') {
			start++
		}
		if i = skipDigits(src, start); i == start {
			return i, false, ruleUnexpected
		}
	}
	return i, plain, ""
}

func skipDigits(src []byte, i int) int {
	for i < len(src) && isDigit(src[i]) {
		i++
	}
	return i
}

// appendNumber appends the canonical form of a scanned number token, or names the rule that
// refuses it.
func (p Profile) appendNumber(dst, token []byte, plain bool) (out []byte, rule string) {
	base := len(dst)
	if p.Numbers == DoubleNumbers {
		dst, rule = appendDouble(dst, token)
	} else {
		dst, rule = appendInteger(dst, token, plain)
	}
	if rule == "" && p.TokenStrict && !bytes.Equal(dst[base:], token) {
		rule = ruleSpelling
	}
	return dst, rule
}

func appendInteger(dst, token []byte, plain bool) (out []byte, rule string) {
	if plain {
		n, ok := plainInteger(token)
		if !ok {
			return dst, ruleTooLarge
		}
		return strconv.AppendInt(dst, n, 10), ""
	}
	n, rule := exactInteger(token)
	if rule != "" {
		return dst, rule
	}
	return strconv.AppendInt(dst, n, 10), ""
}

// plainInteger returns the value of a token without fraction and exponent; ok is false when it
// lies beyond ±(2^53−1).
func plainInteger(token []byte) (n int64, ok bool) {
	negative := token[0] == '-'
	if negative {
		token = token[1:]
	}
	if len(token) > 16 {
		return 0, false
	}
	for _, c := range token {
		n = n*10 + int64(c-'0')
	}
	if n > maxInteger {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

// exactInteger decides a token by its exact decimal value, whatever binary64 would make of it.
func exactInteger(token []byte) (n int64, rule string) {
	negative := token[0] == '-'
	mantissa := bytes.TrimPrefix(token, []byte("-"))
	var exponent int64
	if i := bytes.IndexAny(mantissa, "eE"); i >= 0 {
		exponent = saturatedExponent(mantissa[i+1:])
		mantissa = mantissa[:i]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	fraction = bytes.TrimRight(fraction, "0")
	exponent -= int64(len(fraction))
	if len(fraction) == 0 {
		trimmed := bytes.TrimRight(whole, "0")
		exponent += int64(len(whole) - len(trimmed))
		whole = trimmed
	}
	if whole = bytes.TrimLeft(whole, "0"); len(whole) == 0 {
		fraction = bytes.TrimLeft(fraction, "0")
	}
	// Now the value is the digits of whole and fraction, which begin and end with a non-zero
	// digit, times ten to the exponent.
	digits := int64(len(whole) + len(fraction))
	switch {
	case digits == 0:
		return 0, ""
	case exponent < 0:
		return 0, ruleNotInteger
	case digits+exponent > 16:
		return 0, ruleTooLarge
	}
	for _, part := range [][]byte{whole, fraction} {
		for _, c := range part {
			n = n*10 + int64(c-'0')
		}
	}
	for range exponent {
		n *= 10
	}
	if n > maxInteger {
		return 0, ruleTooLarge
	}
	if negative {
		n = -n
	}
	return n, ""
}

// saturatedExponent reads an optional sign and digits. Its bound lies beyond any count of digits
// that fits into maxSize, so a longer exponent decides nothing else.
func saturatedExponent(b []byte) int64 {
	const bound = 1 << 40
	negative := b[0] == '-'
	var e int64
	for _, c := range b {
		if isDigit(c) {
			e = min(e*10+int64(c-'0'), bound)
		}
	}
	if negative {
		e = -e
	}
	return e
}

// plainForm returns the token, or one of the same value in which all digits stand behind the
// point and the exponent has at most four: strconv reads no more of an exponent, and counts no
// more than 800 digits before the point.
func plainForm(token []byte) string {
	i := bytes.IndexAny(token, "eE")
	if i < 0 || i < 800 && len(bytes.TrimLeft(token[i+1:], "+-0")) <= 4 {
		return string(token)
	}
	whole, fraction, _ := bytes.Cut(bytes.TrimPrefix(token[:i], []byte("-")), []byte("."))
	digits := bytes.TrimLeft(slices.Concat(whole, fraction), "0")
	// The value is 0.digits times ten to the point. Beyond ±9999 it is nothing, or too much.
	point := saturatedExponent(token[i+1:]) + int64(len(digits)-len(fraction))
	point = max(-9999, min(point, 9999))
	sign := ""
	if token[0] == '-' {
		sign = "-"
	}
	return sign + "0." + string(digits) + "e" + strconv.FormatInt(point, 10)
}

// appendDouble prints a token as ECMAScript prints the nearest binary64 value (RFC 8785 §3.2.2.3).
func appendDouble(dst, token []byte) (out []byte, rule string) {
	f, err := strconv.ParseFloat(plainForm(token), 64)
	if err != nil || math.IsInf(f, 0) {
		return dst, ruleOverflow
	}
	if f == 0 {
		return append(dst, '0'), ""
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64), ""
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// strconv writes at least two digits of exponent, ECMAScript as many as needed.
	if n := len(dst); dst[n-2] == '0' && !isDigit(dst[n-3]) {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst, ""
}
