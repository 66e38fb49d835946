package api

import (
	"iter"
	"strconv"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// TypeKeyProof is the typ of the signed form of a [KeyProof].
const TypeKeyProof = "bindery-key-proof+jwt"

const (
	maxProof  = 2 << 10 // bytes of one proof
	maxProofs = MaxPrincipalKeys + MaxAgents + MaxHumans + 1
)

// A KeyProof says, under a key's own signature, that the key may be registered for a principal
// at a Registration Authority (design R1): who shows it has the private half, or was given the
// proof by who has. It names all three, so that it is good nowhere else, for nobody else. It has
// no time: shown once more it registers what stands there already.
//
//	{"key":"<thumbprint>","principal_id":"urn:anax:principal:acme","registry":"<thumbprint>"}
type KeyProof struct {
	Registry    string // RFC 7638 thumbprint of the authority's key
	PrincipalID string
	Key         string // RFC 7638 thumbprint
}

// Bytes is what the key signs, as canonical JSON.
func (p KeyProof) Bytes() []byte {
	return object("key", p.Key, "principal_id", p.PrincipalID, "registry", p.Registry)
}

// Sign returns the proof for the key of s, as a compact JWS with typ [TypeKeyProof].
func (p KeyProof) Sign(s *jose.Signer) (string, error) {
	p.Key = s.Key().ID
	return jose.SignCompact(s, TypeKeyProof, p.Bytes())
}

// Prove gives the enrolment the proofs of the keys that the signers sign with, for the
// authority whose key has this thumbprint.
func (e *Enrol) Prove(registry string, signers ...*jose.Signer) error {
	e.Proofs = nil
	for _, s := range signers {
		proof, err := KeyProof{Registry: registry, PrincipalID: e.PrincipalID}.Sign(s)
		if err != nil {
			return err
		}
		e.Proofs = append(e.Proofs, proof)
	}
	return nil
}

// Proved checks that the enrolment has a proof for each of its keys, and none besides, for the
// authority whose key has this thumbprint. The error is an [*Error] with CodeUnproved and the
// place of the key, or of the proof that is of none of them.
func (e Enrol) Proved(registry string) error {
	given := make(map[string]*jose.Compact, len(e.Proofs))
	for i, token := range e.Proofs {
		c, err := jose.ParseCompact(token, maxProof)
		if err != nil || given[c.Header.Kid] != nil {
			return &Error{Code: CodeUnproved, Pointer: "/proofs/" + strconv.Itoa(i)}
		}
		given[c.Header.Kid] = c
	}
	n := 0
	for at, key := range e.keysByPlace() {
		c := given[key.ID]
		want := KeyProof{Registry: registry, PrincipalID: e.PrincipalID, Key: key.ID}.Bytes()
		if c == nil || c.Header.Typ != TypeKeyProof || string(c.Payload) != string(want) || c.Verify(key) != nil {
			return &Error{Code: CodeUnproved, Pointer: at}
		}
		n++
	}
	if n != len(given) {
		return &Error{Code: CodeUnproved, Pointer: "/proofs"}
	}
	return nil
}

// keysByPlace yields all keys of the request with their JSON Pointers, in a fixed order.
func (e Enrol) keysByPlace() iter.Seq2[string, jose.Key] {
	return func(yield func(string, jose.Key) bool) {
		for i, k := range e.Keys {
			if !yield("/keys/"+strconv.Itoa(i), k) {
				return
			}
		}
		for i, a := range e.Agents {
			if !yield("/agents/"+strconv.Itoa(i), a.Key) {
				return
			}
		}
		for i, h := range e.Humans {
			if !yield("/humans/"+strconv.Itoa(i), h.Key) {
				return
			}
		}
		if e.Publisher != nil {
			yield("/publisher/jwk", e.Publisher.Key)
		}
	}
}

func parseProof(v jcs.Value) (string, error) {
	s, ok := v.Text()
	if !ok || s == "" || len(s) > maxProof {
		return "", &jcs.MemberError{Rule: "value"}
	}
	return s, nil
}
