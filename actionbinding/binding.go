package actionbinding

import (
	"errors"
	"strings"
)

// ErrAlgorithm refuses an algorithm that is neither sha256 nor sha384, in exactly this spelling
// (EXA-008).
var ErrAlgorithm = errors.New("actionbinding: the algorithm is not sha256 or sha384")

// An Algorithm digests a preimage. The zero value is SHA-256.
type Algorithm uint8

// The algorithms of version 1 (EXA-007).
const (
	SHA256 Algorithm = iota // 64 hexadecimal digits
	SHA384                  // 96
)

// ParseAlgorithm accepts sha256 and sha384. Its error is [ErrAlgorithm].
func ParseAlgorithm(name string) (Algorithm, error) {
	switch name {
	case "sha256":
		return SHA256, nil
	case "sha384":
		return SHA384, nil
	}
	return SHA256, ErrAlgorithm
}

// String returns "sha256" or "sha384".
func (a Algorithm) String() string {
	if a == SHA384 {
		return "sha384"
	}
	return "sha256"
}

// digits is the length of the algorithm's digests in hexadecimal.
func (a Algorithm) digits() int {
	if a == SHA384 {
		return 96
	}
	return 64
}

// A Binding is a rendered binding, such as "sha256:305b05b2…". It is compared with ==, algorithm
// and all (EXA-009, EXA-010). The zero Binding is none; it is not the binding of any action.
type Binding struct{ s string }

// ParseBinding accepts the one spelling of a binding: algorithm, colon, lower-case hexadecimal
// digits (EXA-006). The error is [ErrAlgorithm] or an *[Error].
func ParseBinding(s string) (Binding, error) {
	name, hex, ok := strings.Cut(s, ":")
	if !ok {
		return Binding{}, &Error{"binding", "not an algorithm, a colon and hexadecimal digits"}
	}
	alg, err := ParseAlgorithm(name)
	switch {
	case err != nil:
		return Binding{}, err
	case len(hex) != alg.digits():
		return Binding{}, &Error{"binding", "not 64 hexadecimal digits for sha256, or 96 for sha384"}
	case strings.Trim(hex, "0123456789abcdef") != "":
		return Binding{}, &Error{"binding", "not in lower-case hexadecimal digits"}
	}
	return Binding{s}, nil
}

// String returns the whole binding, the form in which it is stored, sent and compared; "" for none.
func (b Binding) String() string { return b.s }

// Algorithm returns the algorithm that the binding names, SHA-256 for none.
func (b Binding) Algorithm() Algorithm {
	if strings.HasPrefix(b.s, "sha384:") {
		return SHA384
	}
	return SHA256
}
