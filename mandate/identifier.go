package mandate

import "strings"

const (
	maxIdentifier = 256 // bytes of a URI
	maxText       = 128 // bytes of an act, nonce, pack id, pack version
)

const (
	namespace       = "urn:anax:"
	principalPrefix = "urn:anax:principal:"
	agentPrefix     = "urn:anax:agent:"
	humanPrefix     = "urn:anax:human:"
)

// ValidPrincipalID reports whether s may name a Principal: urn:anax:principal:<id>, or
// any URI outside urn:anax: (AG-03). At most 256 bytes of printable ASCII.
func ValidPrincipalID(s string) bool { return validID(s, principalPrefix) }

// ValidAgentID reports whether s may name an agent: urn:anax:agent:<id>, or any URI
// outside urn:anax: (AG-03). At most 256 bytes of printable ASCII, and no "|": it separates
// the two agents of a chain_id (§4.4.2-1), so two pairs could share one.
func ValidAgentID(s string) bool { return validID(s, agentPrefix) && !strings.Contains(s, "|") }

// ValidHumanID reports whether s may name a human: urn:anax:human:<id>, or any URI
// outside urn:anax: (AG-03). At most 256 bytes of printable ASCII.
func ValidHumanID(s string) bool { return validID(s, humanPrefix) }

func validID(s, prefix string) bool {
	if len(s) > maxIdentifier || !graphic(s) {
		return false
	}
	// Another spelling of our own namespace is not a foreign URI: identifiers are
	// compared byte for byte, so it would be a second name for one party.
	if len(s) >= len(namespace) && strings.EqualFold(s[:len(namespace)], namespace) {
		return strings.HasPrefix(s, prefix) && len(s) > len(prefix)
	}
	return isURI(s)
}

// isURI reports whether s has a scheme and something after it (RFC 3986 §3.1).
func isURI(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || rest == "" || scheme == "" || !letter(scheme[0]) {
		return false
	}
	for i := range len(scheme) {
		c := scheme[i]
		if !letter(c) && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// graphic reports whether s is not empty and all its bytes are in 0x21 … 0x7E.
func graphic(s string) bool {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return s != ""
}

// shortText reports whether s is 1 to 128 bytes of printable ASCII, space included.
func shortText(s string) bool {
	return len(s) <= maxText && graphic(strings.ReplaceAll(s, " ", "_"))
}

// shortWord reports whether s is 1 to 128 bytes of printable ASCII without a space.
func shortWord(s string) bool { return len(s) <= maxText && graphic(s) }

// ValidCrossingID reports whether s is a UUID of RFC 9562 in its lower-case text form,
// versions 1 to 8 (AG-28; we mint version 4).
func ValidCrossingID(s string) bool {
	const form = "xxxxxxxx-xxxx-Vxxx-Nxxx-xxxxxxxxxxxx"
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		c, ok := s[i], false
		switch form[i] {
		case 'x':
			ok = '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
		case 'V':
			ok = '1' <= c && c <= '8'
		case 'N':
			ok = c == '8' || c == '9' || c == 'a' || c == 'b'
		case '-':
			ok = c == '-'
		}
		if !ok {
			return false
		}
	}
	return true
}
