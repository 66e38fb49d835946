package sdjwt

import (
	"crypto/rand"
	"slices"
	"strings"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

const saltSize = 16 // bytes; RFC 9901 §9.3 asks for 128 bits

// Issued is a token as its issuer holds it, with every disclosure at hand.
type Issued struct {
	JWT         string   // issuer-signed JWT, without a tilde
	Disclosures []string // in the order of the claims given to [Issue]
}

// Bare returns the token with nothing disclosed.
func (i Issued) Bare() string { return i.JWT + "~" }

// Full returns the token with everything disclosed.
func (i Issued) Full() string {
	return strings.Join(append([]string{i.JWT}, i.Disclosures...), "~") + "~"
}

// Issue signs payload, a JSON object, with the claims of disclosable put into
// disclosures of their own instead of into it. Values of disclosable are canonical
// JSON. Names and limits are checked by reading the result back: Issue does not return
// what [Parse] would refuse.
func Issue(s *jose.Signer, payload []byte, disclosable ...jcs.Member) (Issued, error) {
	v, err := parseJSON("payload", payload)
	if err != nil {
		return Issued{}, err
	}
	if v.Type() != jcs.ObjectType {
		return Issued{}, fault("payload", "not an object")
	}
	var members []jcs.Member
	for name, member := range v.Members() {
		if name == digestsName || name == algorithmName {
			return Issued{}, fault("payload", "a claim has a reserved name")
		}
		members = append(members, jcs.Member{Name: name, Value: member.Bytes()})
	}
	var issued Issued
	if len(disclosable) > 0 {
		var digests [][]byte
		issued.Disclosures, digests = disclose(disclosable)
		members = append(members,
			jcs.Member{Name: digestsName, Value: jcs.Array(digests...)},
			jcs.Member{Name: algorithmName, Value: jcs.String(algorithm)})
	}
	issued.JWT, err = jose.SignCompact(s, Typ, jcs.Object(members...))
	if err != nil {
		return Issued{}, err
	}
	if _, err := Parse(issued.Full(), names(disclosable)...); err != nil {
		return Issued{}, err
	}
	return issued, nil
}

// disclose returns the disclosures of the claims in their order, and their digests
// sorted, so that the order of digests says nothing about the claims.
func disclose(claims []jcs.Member) (encoded []string, digests [][]byte) {
	var sorted []string
	for _, claim := range claims {
		var salt [saltSize]byte
		rand.Read(salt[:]) // never fails: crypto/rand stops the process instead
		text := jose.EncodeBase64(jcs.Array(jcs.String(jose.EncodeBase64(salt[:])), jcs.String(claim.Name), claim.Value))
		encoded = append(encoded, text)
		sorted = append(sorted, digestOf(text))
	}
	slices.Sort(sorted)
	for _, digest := range sorted {
		digests = append(digests, jcs.String(digest))
	}
	return encoded, digests
}

func names(claims []jcs.Member) []string {
	var list []string
	for _, claim := range claims {
		list = append(list, claim.Name)
	}
	return list
}
