package api

import (
	"encoding/base64"
	"strings"

	"github.com/bindery/bindery/jcs"
)

// codePrefix names the format of an enrolment code; another format is another prefix.
const codePrefix = "bindery1"

const (
	secretBytes     = 16
	thumbprintBytes = 32
	// noKey stands for the thumbprint of a role that the code does not cover.
	noKey = "-"
)

// CredentialHash is what a server keeps of a bearer credential, and what it looks a
// presented one up by: hex SHA-256 of the token's bytes. A credential is 32 random
// bytes made by its bearer, so its hash tells nobody what it is.
func CredentialHash(token string) jcs.Hex256 { return jcs.HexOf([]byte(token)) }

// A Code is a one-time enrolment code (design R1). It travels out of band and carries
// the pins, so there is no trust on first use:
//
//	bindery1.<secret>.<RA thumbprint or ->.<VA thumbprint or ->
//
// The secret is 16 random bytes, a thumbprint the RFC 7638 SHA-256 thumbprint of the
// key that the role signs with; all three are base64url without padding.
type Code struct {
	Secret string // proves to the server that its operator asked for this enrolment
	RAKey  string // thumbprint, or "" when the code joins no RA
	VAKey  string // thumbprint, or "" when the code joins no VA
}

// String is the code as it is handed over. It is a secret until it has been used.
func (c Code) String() string {
	return strings.Join([]string{codePrefix, c.Secret, orNone(c.RAKey), orNone(c.VAKey)}, ".")
}

func orNone(key string) string {
	if key == "" {
		return noKey
	}
	return key
}

// ParseCode reads a code. A code that pins no key at all is refused: it could only be
// trusted on first use. Any fault is an [Error] with CodeEnrolment, which says no more
// than a wrong code's would.
func ParseCode(s string) (Code, error) {
	refused := &Error{Code: CodeEnrolment}
	part := strings.Split(s, ".")
	if len(part) != 4 || part[0] != codePrefix || !encodes(part[1], secretBytes) {
		return Code{}, refused
	}
	c := Code{Secret: part[1]}
	for i, key := range []*string{&c.RAKey, &c.VAKey} {
		switch s := part[2+i]; {
		case s == noKey:
		case encodes(s, thumbprintBytes):
			*key = s
		default:
			return Code{}, refused
		}
	}
	if c.RAKey == "" && c.VAKey == "" {
		return Code{}, refused
	}
	return c, nil
}

// encodes reports whether s is the one base64url spelling of n bytes.
func encodes(s string, n int) bool {
	if len(s) != base64.RawURLEncoding.EncodedLen(n) || strings.ContainsAny(s, "\r\n") {
		return false // the strict decoder skips line ends
	}
	_, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil
}

// SecretHash is what a Registration Authority keeps of a code's secret: hex SHA-256 of
// its text.
func SecretHash(secret string) jcs.Hex256 { return jcs.HexOf([]byte(secret)) }
