package jcs

// Verify is the scan alone, without the parser behind it.
func Verify(src []byte) bool { return verify(src, defaultDepth) }
