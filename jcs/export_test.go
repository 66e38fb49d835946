package jcs

import "unicode/utf8"

// Verify is the scan alone, without the parser behind it.
func Verify(src []byte) bool { return utf8.Valid(src) && verify(src, defaultDepth) }

// Work counts what the parser does to src, whether or not the scan would have sufficed.
func Work(src []byte) int {
	p := newParser(Profile{}, src)
	defer p.release()
	if err := p.run(); err != nil {
		_ = p.first(err)
	} else {
		p.canonical()
	}
	return p.work
}
