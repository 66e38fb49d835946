package agentauth

import (
	"strings"
)

// MaxID is the longest ID of an agent, in bytes.
const MaxID = 512

// The kinds of credentials, as [Identity.How] has them.
const (
	ByKey   = "key"
	ByToken = "jwt"
	ByCert  = "mtls"
)

// An Identity is an agent that a credential was checked for. The zero Identity is anonymous.
type Identity struct {
	// ID identifies the agent among all that this gateway can come to know: 1 to [MaxID]
	// bytes of 0x21 to 0x7E. "" is anonymous.
	ID string
	// How is the kind of credential: [ByKey], [ByToken] or [ByCert]; "" for anonymous.
	How string
}

// Anonymous reports whether no credential has been checked.
func (i Identity) Anonymous() bool { return i.ID == "" }

// tokenID is the ID of an agent that a token names. It is injective: issuer and value have
// no "#", and claim is one of three words.
func tokenID(issuer, claim, value string) string {
	return "jwt:" + escaped(issuer) + "#" + claim + "=" + escaped(value)
}

// escaped writes what an ID may not hold, and what separates its parts, as % and two digits.
func escaped(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || c == '%' || c == '#' {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
