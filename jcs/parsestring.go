package jcs

import (
	"unicode/utf16"
	"unicode/utf8"
)

// str takes the string at the cursor and reports whether its canonical form holds an escape.
func (p *parser) str() (escaped bool, err *Error) {
	p.text = append(p.text, '"')
	for i := p.i + 1; ; {
		run := p.plainRun(i)
		p.text = append(p.text, p.src[i:run]...)
		i = run
		if i == len(p.src) {
			return false, p.unexpected(i)
		}
		switch c := p.src[i]; {
		case c == '"':
			p.text = append(p.text, '"')
			p.i = i + 1
			return escaped, nil
		case c == '\\':
			r, n, err := p.escape(i)
			if err != nil {
				return false, err
			}
			before := len(p.text)
			p.text = appendRune(p.text, r)
			escaped = escaped || p.text[before] == '\\'
			i += n
		case c < 0x20:
			return false, &Error{KindSyntax, i, "control character in string"}
		default:
			return false, &Error{KindUTF8, i, "invalid UTF-8"}
		}
	}
}

// plainRun returns the end of the run of characters from i on that a string holds as they are.
func (p *parser) plainRun(i int) int {
	for i < len(p.src) {
		c := p.src[i]
		switch {
		case c < 0x20 || c == '"' || c == '\\':
			return i
		case c < utf8.RuneSelf || p.valid:
			i++
		case invalidRune(p.src[i:]):
			return i
		default:
			_, n := utf8.DecodeRune(p.src[i:])
			i += n
		}
	}
	return i
}

// escape decodes the escape whose backslash is at i; n is its length in the input. Faults are
// reported at the backslash.
func (p *parser) escape(i int) (r rune, n int, err *Error) {
	if i+1 < len(p.src) {
		switch c := p.src[i+1]; c {
		case '"', '\\', '/':
			return rune(c), 2, nil
		case 'b':
			return '\b', 2, nil
		case 't':
			return '\t', 2, nil
		case 'n':
			return '\n', 2, nil
		case 'f':
			return '\f', 2, nil
		case 'r':
			return '\r', 2, nil
		}
	}
	r, ok := p.unit(i)
	if !ok {
		return 0, 0, &Error{KindSyntax, i, "invalid escape"}
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, nil
	}
	low, _ := p.unit(i + 6)
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, 0, &Error{KindSurrogate, i, "unpaired surrogate"}
	}
	return r, 12, nil
}

// unit reads one \uXXXX escape at i.
func (p *parser) unit(i int) (r rune, ok bool) {
	if i+6 > len(p.src) || p.src[i] != '\\' || p.src[i+1] != 'u' {
		return 0, false
	}
	for _, c := range p.src[i+2 : i+6] {
		v := hexValue(c)
		if v > 15 {
			return 0, false
		}
		r = r<<4 | rune(v)
	}
	return r, true
}

// appendRune appends r as it stands in a canonical string.
func appendRune(dst []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return appendChar(dst, byte(r))
	}
	return utf8.AppendRune(dst, r)
}
