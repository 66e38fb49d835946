package sdjwt

import (
	"crypto/sha256"
	"slices"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

type disclosure struct {
	name  string
	value jcs.Value
}

// digestOf returns the digest under which a disclosure is listed: over its base64url
// characters, not over the JSON in it (RFC 9901 §4.2.3).
func digestOf(encoded string) string {
	sum := sha256.Sum256([]byte(encoded))
	return jose.EncodeBase64(sum[:])
}

// readDigests returns the digests of the top-level "_sd" and checks "_sd_alg".
func readDigests(payload jcs.Value) ([]string, error) {
	if alg := payload.Get(algorithmName); alg.Type() != jcs.Absent {
		if name, ok := alg.Text(); !ok || name != algorithm {
			return nil, fault("payload", "_sd_alg is not sha-256")
		}
	}
	list := payload.Get(digestsName)
	if list.Type() == jcs.Absent {
		return nil, nil
	}
	if list.Type() != jcs.ArrayType || list.Len() > MaxDisclosures {
		return nil, fault("payload", "_sd is not an array of at most 64 digests")
	}
	digests := make([]string, 0, list.Len())
	for item := range list.Items() {
		digest, ok := item.Text()
		raw, err := jose.DecodeBase64(digest)
		if !ok || err != nil || len(raw) != sha256.Size {
			return nil, fault("payload", "_sd holds what is no SHA-256 digest")
		}
		if slices.Contains(digests, digest) {
			return nil, fault("payload", "_sd holds a digest twice")
		}
		digests = append(digests, digest)
	}
	return digests, nil
}

// checkBelow refuses selective disclosure below the top level of the payload.
func checkBelow(payload jcs.Value) error {
	if payload.Get(elementName).Type() != jcs.Absent {
		return fault("payload", "a claim has a reserved name")
	}
	for name, v := range payload.Members() {
		if name != digestsName && hasReserved(v) {
			return fault("payload", "selective disclosure below the top level")
		}
	}
	return nil
}

// hasReserved reports whether v holds a reserved member at any depth. The depth of v
// was bounded when it was parsed.
func hasReserved(v jcs.Value) bool {
	switch v.Type() {
	case jcs.ObjectType:
		for name, member := range v.Members() {
			if name == digestsName || name == elementName || name == algorithmName || hasReserved(member) {
				return true
			}
		}
	case jcs.ArrayType:
		for item := range v.Items() {
			if hasReserved(item) {
				return true
			}
		}
	}
	return false
}

// matchDisclosures reads the disclosures, each of which must be listed in digests. That
// none comes twice follows from the names, which may not.
func matchDisclosures(encoded, digests []string) ([]disclosure, error) {
	found := make([]disclosure, 0, len(encoded))
	for _, text := range encoded {
		if !slices.Contains(digests, digestOf(text)) {
			return nil, fault("disclosure", "no digest stands for it")
		}
		d, err := readDisclosure(text)
		if err != nil {
			return nil, err
		}
		found = append(found, d)
	}
	return found, nil
}

// readDisclosure reads [salt, name, value].
func readDisclosure(encoded string) (disclosure, error) {
	src, err := jose.DecodeBase64(encoded)
	if err != nil {
		return disclosure{}, fault("disclosure", "not strict base64url")
	}
	v, err := parseJSON("disclosure", src)
	if err != nil {
		return disclosure{}, err
	}
	if v.Type() != jcs.ArrayType || v.Len() != 3 {
		return disclosure{}, fault("disclosure", "not an array of salt, name and value")
	}
	items := slices.Collect(v.Items())
	salt, saltIsText := items[0].Text()
	name, nameIsText := items[1].Text()
	switch {
	case !saltIsText || salt == "" || !nameIsText:
		return disclosure{}, fault("disclosure", "salt or name is not a string")
	case name == digestsName || name == elementName || name == algorithmName:
		return disclosure{}, fault("disclosure", "reserved name")
	case hasReserved(items[2]):
		return disclosure{}, fault("disclosure", "selective disclosure below the top level")
	}
	return disclosure{name: name, value: items[2]}, nil
}
