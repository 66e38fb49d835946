package api

import (
	"time"

	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Kinds of what a [RevokeSigner] ends.
const (
	KindKey       = "key"       // one registered key: the principal's, an agent's or a human's
	KindHuman     = "human"     // a human, with every key that is registered for them
	KindPrincipal = "principal" // a principal, with every key and every mandate
)

// A RevokeSigner ends for good what signs: a key, a human, or a principal. What it has
// signed, and an Open that is bound to the key, is revoked with it; unlike a [Suspension]
// it is never taken back (design R2, R5).
//
//	{"kind":"key","principal_id":"urn:anax:principal:acme","subject":"<thumbprint>"}
//	{"kind":"principal","principal_id":"urn:anax:principal:acme"}
type RevokeSigner struct {
	Kind        string // one of the Kind constants
	PrincipalID string // whose it is
	// Subject is the key's RFC 7638 thumbprint, or the human's identifier; "" for a principal.
	Subject string
}

// Bytes is the request as canonical JSON.
func (r RevokeSigner) Bytes() []byte { return jcs.Object(r.members()...) }

func (r RevokeSigner) members() []jcs.Member {
	m := []jcs.Member{
		{Name: "kind", Value: text(r.Kind)},
		{Name: "principal_id", Value: text(r.PrincipalID)},
	}
	if r.Subject != "" {
		m = append(m, jcs.Member{Name: "subject", Value: text(r.Subject)})
	}
	return m
}

// ParseRevokeSigner reads a request and checks it as [RevokeSigner.Validate] does.
func ParseRevokeSigner(body []byte) (RevokeSigner, error) {
	r, refusal := open(body)
	if refusal != nil {
		return RevokeSigner{}, refusal
	}
	req, err := closed(r, readSigner(r))
	if err != nil {
		return RevokeSigner{}, err
	}
	return req, req.Validate()
}

func readSigner(r *jcs.Reader) RevokeSigner {
	req := RevokeSigner{Kind: r.Text("kind"), PrincipalID: r.Text("principal_id")}
	req.Subject, _ = r.OptText("subject")
	return req
}

// Validate checks the request's rules. The error is an [*Error] with CodeMalformed.
func (r RevokeSigner) Validate() error {
	if !mandate.ValidPrincipalID(r.PrincipalID) {
		return &Error{Code: CodeMalformed, Pointer: "/principal_id"}
	}
	var ok bool
	switch r.Kind {
	case KindKey:
		ok = validThumbprint(r.Subject)
	case KindHuman:
		ok = mandate.ValidHumanID(r.Subject)
	case KindPrincipal:
		ok = r.Subject == ""
	default:
		return &Error{Code: CodeMalformed, Pointer: "/kind"}
	}
	if !ok {
		return &Error{Code: CodeMalformed, Pointer: "/subject"}
	}
	return nil
}

// validThumbprint reports whether s has the form of a SHA-256 in base64url.
func validThumbprint(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(s) == 43
}

// A SignerRevoked is the answer to a [RevokeSigner]. A repeat gets the same At. It is the
// RA's word over this connection; what proves it to others is the RA's signed status of a
// mandate and its signed record of the principal.
//
//	{"at":1786000000,"kind":"key","principal_id":"urn:anax:principal:acme","subject":"<thumbprint>"}
type SignerRevoked struct {
	RevokeSigner
	At time.Time // whole seconds
}

// Bytes is the answer as canonical JSON.
func (s SignerRevoked) Bytes() []byte {
	return jcs.Object(append(s.members(), jcs.Member{Name: "at", Value: jcs.Int(s.At.Unix())})...)
}

// ParseSignerRevoked reads an answer. The error is an [*Error] with CodeMalformed.
func ParseSignerRevoked(body []byte) (SignerRevoked, error) {
	r, refusal := open(body)
	if refusal != nil {
		return SignerRevoked{}, refusal
	}
	answer, err := closed(r, SignerRevoked{RevokeSigner: readSigner(r), At: readSeconds(r, "at")})
	if err != nil {
		return SignerRevoked{}, err
	}
	return answer, answer.Validate()
}
