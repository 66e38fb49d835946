package api

import (
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// Roles of a credential at a Registration Authority (design R1, §3.7.2 rule 3). One
// credential has one role.
const (
	RolePrincipal = "principal" // registers and revokes the Opens of its principal
	RoleAgent     = "agent"     // registers the Closeds of its agent
	RoleIssuer    = "issuer"    // registers the Opens of the service subjects that it is listed for (AG-24)
	RoleEffector  = "effector"  // holds and confirms at the seal, consumes units
	RoleOperator  = "operator"  // runs the authority; given to the authority's own principal alone
)

// Limits of one enrolment.
const (
	MaxPrincipalKeys = 8
	MaxAgents        = 16
	MaxHumans        = 16
	MaxCredentials   = 32
	MaxName          = 256 // bytes of a principal's name
)

// An Enrol asks a Registration Authority to register a principal with all that belongs
// to it (design R2): keys, agents, humans, credentials, and a publisher for the
// Verification Authority.
//
//	{"agc_level":3,"agents":[{"id":"urn:anax:agent:…","jwk":{…}}],"clearance_id_hash":"…",
//	 "credentials":[{"agent_id":"urn:anax:agent:…","role":"agent","sha256":"…"}],
//	 "humans":[],"keys":[{…}],"name":"Acme","principal_id":"urn:anax:principal:acme",
//	 "proofs":["eyJhbGci…"],"publisher":{"credential_sha256":"…","jwk":{…}},"secret":"…",
//	 "trust_basis":"self_declared"}
type Enrol struct {
	Secret          string // of the enrolment code; "" for an authority's own principal, which never travels
	PrincipalID     string
	Name            string     // for people; printable text
	ClearanceIDHash jcs.Hex256 // AG-38
	TrustBasis      string     // one of five (GC-038)
	AGCLevel        int64      // never interpreted (AG-46)
	Keys            []jose.Key // that sign the principal's Opens; at least one
	Agents          []mandate.Agent
	Humans          []mandate.Human
	Credentials     []Credential
	Publisher       *Publisher // nil: this principal publishes nothing
	Proofs          []string   // see [Enrol.Prove]; none for an authority's own principal
}

// A Credential is the hash of a bearer token with the one role it has.
type Credential struct {
	Role    string
	AgentID string // for [RoleAgent] alone: the agent it speaks for
	Hash    jcs.Hex256
}

// A Publisher is what a Verification Authority will know the principal by.
type Publisher struct {
	Key            jose.Key // verifies its publications
	CredentialHash jcs.Hex256
}

// Bytes is the request as canonical JSON.
func (e Enrol) Bytes() []byte {
	m := []jcs.Member{
		{Name: "agc_level", Value: jcs.Int(e.AGCLevel)},
		{Name: "clearance_id_hash", Value: jcs.String(string(e.ClearanceIDHash))},
		{Name: "name", Value: jcs.String(e.Name)},
		{Name: "principal_id", Value: jcs.String(e.PrincipalID)},
		{Name: "secret", Value: jcs.String(e.Secret)},
		{Name: "trust_basis", Value: jcs.String(e.TrustBasis)},
		{Name: "keys", Value: array(e.Keys, jose.Key.JWK)},
		{Name: "agents", Value: array(e.Agents, func(a mandate.Agent) []byte { return subject(a.ID, a.Key) })},
		{Name: "humans", Value: array(e.Humans, func(h mandate.Human) []byte { return subject(h.ID, h.Key) })},
		{Name: "credentials", Value: array(e.Credentials, Credential.bytes)},
	}
	if e.Proofs != nil {
		m = append(m, jcs.Member{Name: "proofs", Value: array(e.Proofs, text)})
	}
	if p := e.Publisher; p != nil {
		m = append(m, jcs.Member{Name: "publisher", Value: jcs.Object(
			jcs.Member{Name: "credential_sha256", Value: jcs.String(string(p.CredentialHash))},
			jcs.Member{Name: "jwk", Value: p.Key.JWK()},
		)})
	}
	return jcs.Object(m...)
}

func array[T any](items []T, bytes func(T) []byte) []byte {
	out := make([][]byte, len(items))
	for i, item := range items {
		out[i] = bytes(item)
	}
	return jcs.Array(out...)
}

func subject(id string, key jose.Key) []byte {
	return jcs.Object(jcs.Member{Name: "id", Value: jcs.String(id)}, jcs.Member{Name: "jwk", Value: key.JWK()})
}

func (c Credential) bytes() []byte {
	m := []jcs.Member{
		{Name: "role", Value: jcs.String(c.Role)},
		{Name: "sha256", Value: jcs.String(string(c.Hash))},
	}
	if c.AgentID != "" {
		m = append(m, jcs.Member{Name: "agent_id", Value: jcs.String(c.AgentID)})
	}
	return jcs.Object(m...)
}

// ParseEnrol reads a request and checks it as [Enrol.Validate] does. The secret must
// be there. The error is an [*Error] with CodeMalformed.
func ParseEnrol(body []byte) (Enrol, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Enrol{}, refusal
	}
	e := Enrol{
		Secret:          readText(r, "secret", validSecret),
		PrincipalID:     r.Text("principal_id"),
		Name:            r.Text("name"),
		ClearanceIDHash: readHex(r, "clearance_id_hash"),
		TrustBasis:      r.Text("trust_basis"),
		AGCLevel:        r.Int("agc_level"),
	}
	var items itemFault
	e.Keys = readItems(r, "keys", MaxPrincipalKeys, &items, parseKey)
	e.Agents = readItems(r, "agents", MaxAgents, &items, parseAgent)
	e.Humans = readItems(r, "humans", MaxHumans, &items, parseHuman)
	e.Credentials = readItems(r, "credentials", MaxCredentials, &items, parseCredential)
	if r.OptValue("proofs").Type() != jcs.Absent {
		e.Proofs = readItems(r, "proofs", maxProofs, &items, parseProof)
	}
	if r.OptValue("publisher").Type() != jcs.Absent {
		p := r.Object("publisher")
		e.Publisher = &Publisher{Key: readKey(p, "jwk"), CredentialHash: readHex(p, "credential_sha256")}
	}
	if err := r.Close(); err != nil {
		return Enrol{}, malformed(err)
	}
	if items.err != nil {
		return Enrol{}, malformed(items.err)
	}
	return e, e.Validate()
}

func parseAgent(v jcs.Value) (mandate.Agent, error) {
	id, key, err := parseSubject(v)
	return mandate.Agent{ID: id, Key: key}, err
}

func parseHuman(v jcs.Value) (mandate.Human, error) {
	id, key, err := parseSubject(v)
	return mandate.Human{ID: id, Key: key}, err
}

func parseSubject(v jcs.Value) (string, jose.Key, error) {
	r := jcs.NewReader(v)
	id, key := r.Text("id"), readKey(r, "jwk")
	return id, key, r.Close()
}

func parseCredential(v jcs.Value) (Credential, error) {
	r := jcs.NewReader(v)
	c := Credential{Role: r.Text("role"), Hash: readHex(r, "sha256")}
	c.AgentID, _ = r.OptText("agent_id")
	return c, r.Close()
}

func validSecret(s string) bool { return encodes(s, secretBytes) }

// Validate checks the request's rules: identifiers of their forms (AG-03), a known
// trust_basis, at least one principal key, every key for one use, every credential with
// one role (GC-082), an agent's credential for an agent of this request. It does not
// look at the secret. The error is an [*Error] with CodeMalformed.
func (e Enrol) Validate() error {
	pointer := e.fault()
	if pointer == "" {
		return nil
	}
	return &Error{Code: CodeMalformed, Pointer: pointer}
}

func (e Enrol) fault() string {
	switch {
	case !mandate.ValidPrincipalID(e.PrincipalID):
		return "/principal_id"
	case !validName(e.Name):
		return "/name"
	case !isHex(e.ClearanceIDHash):
		return "/clearance_id_hash"
	case !mandate.ValidTrustBasis(e.TrustBasis):
		return "/trust_basis"
	case e.AGCLevel < 0 || e.AGCLevel >= 1<<53:
		return "/agc_level"
	case len(e.Keys) == 0 || len(e.Keys) > MaxPrincipalKeys:
		return "/keys"
	case len(e.Agents) > MaxAgents:
		return "/agents"
	case len(e.Humans) > MaxHumans:
		return "/humans"
	case len(e.Credentials) > MaxCredentials:
		return "/credentials"
	}
	if at := e.keyFault(); at != "" {
		return at
	}
	if validity((Addition{Keys: e.Keys, Agents: e.Agents, Humans: e.Humans}).allKeys()) != nil {
		return "/keys" // who enrols does so with keys that are in force; an Addition can bound others
	}
	return e.credentialFault()
}

// keyFault finds a subject without a name of its own or a key that is there twice: a
// key with two uses would let one signature pass for another's.
func (e Enrol) keyFault() string {
	seen := make(map[string]bool)
	fresh := func(s string) bool {
		ok := s != "" && !seen[s]
		seen[s] = true
		return ok
	}
	// Our own names for keys are thumbprints; another name would not survive the store.
	usable := func(k jose.Key) bool { return k.Public != nil && k.Kid == "" && fresh(k.ID) }
	for i, k := range e.Keys {
		if !usable(k) {
			return "/keys/" + strconv.Itoa(i)
		}
	}
	for i, a := range e.Agents {
		if !mandate.ValidAgentID(a.ID) || !fresh(a.ID) || !usable(a.Key) {
			return "/agents/" + strconv.Itoa(i)
		}
	}
	isAgent := func(h mandate.Human) bool {
		return slices.ContainsFunc(e.Agents, func(a mandate.Agent) bool { return a.ID == h.ID })
	}
	for i, h := range e.Humans { // who may have several keys, each with its own kid
		if !mandate.ValidHumanID(h.ID) || isAgent(h) || !usable(h.Key) {
			return "/humans/" + strconv.Itoa(i)
		}
	}
	if e.Publisher != nil && !usable(e.Publisher.Key) {
		return "/publisher/jwk"
	}
	return ""
}

func (e Enrol) credentialFault() string {
	seen := make(map[jcs.Hex256]bool)
	for i, c := range e.Credentials {
		if !isHex(c.Hash) || seen[c.Hash] || !e.roleFits(c) {
			return "/credentials/" + strconv.Itoa(i)
		}
		seen[c.Hash] = true
	}
	if p := e.Publisher; p != nil && (!isHex(p.CredentialHash) || seen[p.CredentialHash]) {
		return "/publisher/credential_sha256"
	}
	return ""
}

func (e Enrol) roleFits(c Credential) bool {
	if c.Role != RoleAgent {
		return roleOfPrincipal(c)
	}
	for _, a := range e.Agents {
		if a.ID == c.AgentID {
			return true
		}
	}
	return false
}

// roleOfPrincipal reports whether the credential has a role that speaks for the principal
// and not for one agent.
func roleOfPrincipal(c Credential) bool {
	switch c.Role {
	case RolePrincipal, RoleIssuer, RoleEffector, RoleOperator:
		return c.AgentID == ""
	}
	return false
}

func validName(s string) bool {
	if s == "" || len(s) > MaxName || !utf8.ValidString(s) {
		return false
	}
	for _, c := range s {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}

func isHex(h jcs.Hex256) bool {
	_, err := jcs.ParseHex256(string(h))
	return err == nil
}

// An Enrolled is the answer to an [Enrol].
type Enrolled struct {
	PrincipalID    string
	VAURL          string // where the authority's operator publishes; "" if it names none
	PublisherGrant string // mandate.PublisherGrant, "" if no publisher was enrolled
}

// Bytes is the answer as canonical JSON.
func (e Enrolled) Bytes() []byte {
	m := []jcs.Member{
		{Name: "principal_id", Value: jcs.String(e.PrincipalID)},
		{Name: "va_url", Value: jcs.String(e.VAURL)},
	}
	if e.PublisherGrant != "" {
		m = append(m, jcs.Member{Name: "publisher_grant", Value: jcs.String(e.PublisherGrant)})
	}
	return jcs.Object(m...)
}

// ParseEnrolled reads the answer. The error is an [*Error] with CodeMalformed.
func ParseEnrolled(body []byte) (Enrolled, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Enrolled{}, refusal
	}
	e := Enrolled{PrincipalID: r.Text("principal_id"), VAURL: r.Text("va_url")}
	e.PublisherGrant, _ = r.OptText("publisher_grant")
	if err := r.Close(); err != nil {
		return Enrolled{}, malformed(err)
	}
	return e, nil
}
