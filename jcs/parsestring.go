package jcs

import (
	"unicode/utf16"
	"unicode/utf8"
)

// str takes the string at i, and reports whether the input spells it with escapes.
func (p *parser) str(i int) (end int, escaped bool, err *Error) {
	for i++; ; {
		i = plainRun(p.src, i)
		switch at(p.src, i) {
		case '"':
			return i + 1, escaped, nil
		case '\\':
			if i, err = p.escape(i); err != nil {
				return i, false, err
			}
			escaped = true
		default:
			if i == len(p.src) {
				return i, false, p.unexpected(i)
			}
			return i, false, &Error{KindSyntax, i, "control character in string"}
		}
	}
}

// escape takes the escape whose backslash is at i. Faults are reported at the backslash.
func (p *parser) escape(i int) (int, *Error) {
	if n := canonicalEscape(p.src[i:]); n > 0 {
		return i + n, nil
	}
	r, n, err := p.decodeEscape(i)
	if err != nil {
		return i, err
	}
	p.flush(i)
	if r < utf8.RuneSelf {
		p.text = appendChar(p.text, byte(r))
	} else {
		p.text = utf8.AppendRune(p.text, r)
	}
	p.keepFrom(i + n)
	return i + n, nil
}

// decodeEscape decodes the escape at i, which is n bytes long; those that are canonical have been
// taken before.
func (p *parser) decodeEscape(i int) (r rune, n int, err *Error) {
	if at(p.src, i+1) == '/' {
		return '/', 2, nil
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
