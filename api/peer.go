package api

import (
	"strings"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// TypePeer is the typ of the signed form of a [PeerEnrolled].
const TypePeer = "bindery-peer+jwt"

// A Counterpart is an organisation as it enters the Registration Authority of another one:
// its agents, whose crossings it will be named in, and the hash of the credential with which
// its effector spends there. It registers nothing there: its own mandates are at an RA of its
// own (design R1).
type Counterpart struct {
	PrincipalID string
	Agents      []mandate.Agent // at least one
	Effector    jcs.Hex256      // [CredentialHash] of the effector's credential
}

func (c Counterpart) members() []jcs.Member {
	return []jcs.Member{
		{Name: "agents", Value: array(c.Agents, func(a mandate.Agent) []byte { return subject(a.ID, a.Key) })},
		{Name: "effector_sha256", Value: text(string(c.Effector))},
		{Name: "principal_id", Value: text(c.PrincipalID)},
	}
}

func readCounterpart(r *jcs.Reader, items *itemFault) Counterpart {
	return Counterpart{
		PrincipalID: readText(r, "principal_id", mandate.ValidPrincipalID),
		Agents:      readItems(r, "agents", MaxAgents, items, parseAgent),
		Effector:    readHex(r, "effector_sha256"),
	}
}

// fault is the pointer of the first member that breaks a rule, "" when there is none.
func (c Counterpart) fault() string {
	e := Enrol{Agents: c.Agents}
	switch {
	case !mandate.ValidPrincipalID(c.PrincipalID):
		return "/principal_id"
	case len(c.Agents) == 0 || len(c.Agents) > MaxAgents:
		return "/agents"
	case !isHex(c.Effector):
		return "/effector_sha256"
	}
	return e.keyFault()
}

// An EnrolPeer brings the Registration Authority of another organisation, by the secret of an
// enrolment code, so that the two organisations can cross, each with an RA of its own
// (designs R1, R4). The code has told the sender the receiver's key; the request tells the
// receiver the sender's.
//
//	{"agents":[{"id":"urn:anax:agent:…","jwk":{…}}],"effector_sha256":"…",
//	 "principal_id":"urn:anax:principal:acme","ra":{"jwk":{…},"url":"https://ra.acme.example"},"secret":"…"}
type EnrolPeer struct {
	Secret string // of the enrolment code
	Counterpart
	Key jose.Key // the sender's RA signs with it
	URL string   // where that RA answers: https, or http on loopback
}

// Bytes is the request as canonical JSON.
func (e EnrolPeer) Bytes() []byte {
	return jcs.Object(append(e.members(),
		jcs.Member{Name: "ra", Value: jcs.Object(
			jcs.Member{Name: "jwk", Value: e.Key.JWK()},
			jcs.Member{Name: "url", Value: text(e.URL)},
		)},
		jcs.Member{Name: "secret", Value: text(e.Secret)})...)
}

// ParseEnrolPeer reads a request and checks it as [EnrolPeer.Validate] does. The error is an
// [*Error] with CodeMalformed.
func ParseEnrolPeer(body []byte) (EnrolPeer, error) {
	r, refusal := open(body)
	if refusal != nil {
		return EnrolPeer{}, refusal
	}
	var items itemFault
	e := EnrolPeer{Secret: readText(r, "secret", validSecret), Counterpart: readCounterpart(r, &items)}
	ra := r.Object("ra")
	e.Key, e.URL = readKey(ra, "jwk"), ra.Text("url")
	if err := r.Close(); err != nil {
		return EnrolPeer{}, malformed(err)
	}
	if items.err != nil {
		return EnrolPeer{}, malformed(items.err)
	}
	return e, e.Validate()
}

// Validate checks the request's rules: identifiers of their forms, every key for one use, an
// RA's URL that a client would call. It does not look at the secret. The error is an [*Error]
// with CodeMalformed.
func (e EnrolPeer) Validate() error {
	pointer := e.fault()
	switch {
	case pointer != "":
	case e.Key.Public == nil || e.Key.Kid != "" || e.usedByAgent(e.Key):
		pointer = "/ra/jwk"
	case !validBaseURL(e.URL):
		pointer = "/ra/url"
	default:
		return nil
	}
	return &Error{Code: CodeMalformed, Pointer: pointer}
}

func (c Counterpart) usedByAgent(key jose.Key) bool {
	for _, a := range c.Agents {
		if a.Key.ID == key.ID {
			return true
		}
	}
	return false
}

// validBaseURL reports whether an RA may be called there: https, or http where nobody else
// listens, and nothing beyond scheme, host and path. Whoever calls looks again, with a real
// reader of URLs.
func validBaseURL(s string) bool {
	scheme, rest, ok := strings.Cut(s, "://")
	host, _, _ := strings.Cut(rest, "/")
	if !ok || !graphic(s, maxURL) || host == "" || strings.ContainsAny(rest, `@?#\"`) {
		return false
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	switch host {
	case "":
		return false
	case "localhost", "127.0.0.1", "[::1]":
		return scheme == "http" || scheme == "https"
	}
	return scheme == "https"
}

// A PeerEnrolled is the answer to an [EnrolPeer]: who runs the RA, as the sender's RA is to
// enter it in turn. It is signed, and names the key that was sent, so that an answer to
// somebody else's request is none to this one.
//
//	{"agents":[{"id":"urn:anax:agent:…","jwk":{…}}],"at":1786000000,"effector_sha256":"…",
//	 "peer":"<thumbprint>","principal_id":"urn:anax:principal:globex","receipt":"eyJhbGci…",
//	 "va_pinned":true,"va_url":"https://va.globex.example"}
type PeerEnrolled struct {
	Counterpart           // who runs the RA that answers
	Peer        string    // thumbprint of the RA key that was sent
	VAURL       string    // where the operator publishes
	VAPinned    bool      // the Verification Authority there has pinned the key that was sent
	At          time.Time // whole seconds, on the RA's clock
	// Receipt is the same without itself, as a compact JWS by the RA's key with typ
	// [TypePeer].
	Receipt string
}

// Bytes is the answer as canonical JSON; without its Receipt, what the receipt signs.
func (p PeerEnrolled) Bytes() []byte {
	m := append(p.members(),
		jcs.Member{Name: "at", Value: jcs.Int(p.At.Unix())},
		jcs.Member{Name: "peer", Value: text(p.Peer)},
		jcs.Member{Name: "va_pinned", Value: jcs.Bool(p.VAPinned)},
		jcs.Member{Name: "va_url", Value: text(p.VAURL)})
	if p.Receipt != "" {
		m = append(m, jcs.Member{Name: "receipt", Value: text(p.Receipt)})
	}
	return jcs.Object(m...)
}

// ParsePeerEnrolled reads an answer; it verifies nothing. The error is an [*Error] with
// CodeMalformed.
func ParsePeerEnrolled(body []byte) (PeerEnrolled, error) {
	r, refusal := open(body)
	if refusal != nil {
		return PeerEnrolled{}, refusal
	}
	var items itemFault
	p := PeerEnrolled{
		Counterpart: readCounterpart(r, &items),
		Peer:        r.Text("peer"), VAURL: r.Text("va_url"), VAPinned: r.Bool("va_pinned"), At: readSeconds(r, "at"),
	}
	p.Receipt, _ = r.OptText("receipt")
	if err := r.Close(); err != nil {
		return PeerEnrolled{}, malformed(err)
	}
	if items.err != nil {
		return PeerEnrolled{}, malformed(items.err)
	}
	if pointer := p.fault(); pointer != "" {
		return PeerEnrolled{}, &Error{Code: CodeMalformed, Pointer: pointer}
	}
	return p, nil
}

// Sign returns the answer with its Receipt, signed by the RA.
func (p PeerEnrolled) Sign(s *jose.Signer) (PeerEnrolled, error) {
	p.Receipt = ""
	receipt, err := jose.SignCompact(s, TypePeer, p.Bytes())
	if err != nil {
		return PeerEnrolled{}, err
	}
	p.Receipt = receipt
	return p, nil
}

// Verify checks that the Receipt is signed by one of the RA's pinned keys, as an answer to an
// [EnrolPeer], and says what the answer says.
func (p PeerEnrolled) Verify(keys jose.KeySet) error {
	receipt := p.Receipt
	p.Receipt = ""
	return verifyReceipt("peer", receipt, TypePeer, keys, p.Bytes())
}
