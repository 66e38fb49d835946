package mandate

import (
	"slices"
	"time"
	"unicode"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

const (
	maxName    = 256 // bytes of a Principal's name
	maxMembers = 512 // agents, and humans, in one record
)

// An Agent is one of a Principal's agents and a key of its.
type Agent struct {
	ID  string
	Key jose.Key
}

// A Human is somebody who may sign Closeds for a Principal (T2) and a key of theirs.
type Human struct {
	ID  string
	Key jose.Key
}

// A Principal is the RA's record of an organisation: what resolves the iss of an Open to a
// Principal and its keys (§4.1.5, R6). It is believed because the RA's key is pinned, and
// for no other reason.
type Principal struct {
	ID     string
	Name   string // legal name, 1 to 256 bytes of text
	Active bool

	Keys   []jose.Key // issuer keys of Opens, at most 64, no two of one name
	Agents []Agent    // at most 512; an agent with two keys is listed twice
	Humans []Human    // at most 512; a human with two keys is listed twice
	// Each of these keys signs only in its own time; see [jose.Key.SignsAt].

	// A domain that has published all issuer keys that are in force, and when the RA last
	// saw that (R6). Both are zero without a proof.
	Domain         string // see [ValidDomain]
	DomainProvedAt time.Time

	// The three values that records and cards have to agree with (C3). All are zero for a
	// Principal without a clearance envelope, which cannot commit.
	ClearanceIDHash jcs.Hex256
	TrustBasis      string // see ValidTrustBasis
	AGCLevel        int64  // 0 or more; never interpreted (AG-46)

	At      time.Time
	Expires time.Time // after At
}

// ValidTrustBasis reports whether s is one of the five levels of evidence (GC-038).
func ValidTrustBasis(s string) bool {
	switch s {
	case "self_declared", "organisational_controls", "third_party_audited",
		"vicca_authority_sealed", "nca_verified":
		return true
	}
	return false
}

// IssuerKeys returns the keys under which the Principal's Opens verify at the given time:
// none, if the record has lapsed or the Principal is not active. A key that is retired or
// not yet in force is among them: [PresentedOpen.Verify] asks it about the Open's iat.
func (p Principal) IssuerKeys(at time.Time) jose.KeySet {
	if !p.current(at) {
		return jose.KeySet{}
	}
	return jose.NewKeySet(p.Keys...)
}

// HumanKeys returns the keys of one human at the given time, for [PresentedClosed.Verify].
// A key that the record gives to an agent as well stands for no human: under an Open
// without cnf nothing else would tell an agent's signature from a human's (GC-021).
func (p Principal) HumanKeys(humanID string, at time.Time) jose.KeySet {
	var keys []jose.Key
	for _, h := range p.Humans {
		if h.ID == humanID && p.current(at) && !p.isAgents(h.Key) {
			keys = append(keys, h.Key)
		}
	}
	return jose.NewKeySet(keys...)
}

// HasAgent reports whether agentID is, at the given time, an agent of the Principal with
// this key, and the key not retired. One that may sign only later is the agent's already:
// an Open can be made out to it in advance.
func (p Principal) HasAgent(agentID string, key jose.Key, at time.Time) bool {
	return p.current(at) && slices.ContainsFunc(p.Agents, func(a Agent) bool {
		return a.ID == agentID && a.Key.Same(key) && (a.Key.NotAfter.IsZero() || at.Before(a.Key.NotAfter))
	})
}

func (p Principal) isAgents(key jose.Key) bool {
	return slices.ContainsFunc(p.Agents, func(a Agent) bool { return a.Key.Same(key) })
}

func (p Principal) current(at time.Time) bool { return p.Active && at.Before(p.Expires) }

// Sign returns the record as a compact statement of the RA. The error is a [*Fault] where a
// field is not what [ParsePrincipal] would accept.
func (p Principal) Sign(s *jose.Signer) (string, error) {
	keys := make([][]byte, 0, len(p.Keys))
	for _, k := range p.Keys {
		keys = append(keys, jwkOf(k))
	}
	agents := make([][]byte, 0, len(p.Agents))
	for _, a := range p.Agents {
		agents = append(agents, holder(a.ID, a.Key))
	}
	humans := make([][]byte, 0, len(p.Humans))
	for _, h := range p.Humans {
		humans = append(humans, holder(h.ID, h.Key))
	}
	members := []jcs.Member{
		textMember("principal_id", p.ID),
		textMember("name", p.Name),
		{Name: "active", Value: jcs.Bool(p.Active)},
		{Name: "keys", Value: jcs.Array(keys...)},
		{Name: "agents", Value: jcs.Array(agents...)},
		{Name: "humans", Value: jcs.Array(humans...)},
		whenMember(memberAt, p.At),
		whenMember(memberExpires, p.Expires),
		p.validityMember(),
	}
	members = append(members, p.domainMembers()...)
	if p.ClearanceIDHash != "" || p.TrustBasis != "" || p.AGCLevel != 0 {
		members = append(members,
			textMember("clearance_id_hash", string(p.ClearanceIDHash)),
			textMember("trust_basis", p.TrustBasis),
			intMember("agc_level", p.AGCLevel))
	}
	return signStatement(s, typPrincipal, jcs.Object(members...), readPrincipal)
}

func holder(id string, k jose.Key) []byte {
	return jcs.Object(textMember("id", id), jcs.Member{Name: "jwk", Value: jwkOf(k)})
}

// jwkOf is null for the zero Key, which no reader takes for a key.
func jwkOf(k jose.Key) []byte {
	if jwk := k.NamedJWK(); jwk != nil {
		return jwk
	}
	return jcs.Null()
}

// ParsePrincipal verifies a record under the RA's pinned keys and reads it. The error is a
// [*Fault] of kind Invalid.
func ParsePrincipal(token string, keys jose.KeySet) (Principal, error) {
	return parseStatement(token, typPrincipal, keys, readPrincipal)
}

func readPrincipal(r *jcs.Reader) Principal {
	p := Principal{
		ID:      readWord(r, "principal_id", ValidPrincipalID),
		Name:    readWord(r, "name", validName),
		Active:  r.Bool("active"),
		At:      readWhen(r, memberAt),
		Expires: readWhen(r, memberExpires),
	}
	if !p.Expires.After(p.At) {
		r.Fail(memberExpires, ruleValue)
	}
	for _, v := range readList(r, "keys", jose.MaxKeys) {
		k, err := jose.ParseJWK(v)
		if err != nil {
			r.Fail("keys", ruleValue)
			return Principal{}
		}
		p.Keys = append(p.Keys, k)
	}
	if len(jose.NewKeySet(p.Keys...).Keys()) != len(p.Keys) {
		r.Fail("keys", ruleValue)
	}
	for _, v := range readList(r, "agents", maxMembers) {
		id, k := readHolder(r, "agents", v, ValidAgentID)
		p.Agents = append(p.Agents, Agent{ID: id, Key: k})
	}
	for _, v := range readList(r, "humans", maxMembers) {
		id, k := readHolder(r, "humans", v, ValidHumanID)
		p.Humans = append(p.Humans, Human{ID: id, Key: k})
	}
	p.readValidity(r)
	p.readDomain(r)
	if r.OptValue("clearance_id_hash").Type() == jcs.Absent {
		return p // then the other two are unknown members
	}
	p.ClearanceIDHash = readHex(r, "clearance_id_hash")
	p.TrustBasis = readWord(r, "trust_basis", ValidTrustBasis)
	if p.AGCLevel = r.Int("agc_level"); p.AGCLevel < 0 {
		r.Fail("agc_level", ruleValue)
	}
	return p
}

func readList(r *jcs.Reader, name string, limit int) []jcs.Value {
	items := r.Items(name)
	if len(items) > limit {
		r.Fail(name, ruleValue)
		return nil
	}
	return items
}

func readHolder(r *jcs.Reader, list string, v jcs.Value, valid func(string) bool) (string, jose.Key) {
	item := jcs.NewReader(v)
	id, k := readWord(item, "id", valid), readKey(item, "jwk")
	if item.Close() != nil {
		r.Fail(list, ruleValue)
	}
	return id, k
}

// validName reports whether s is 1 to 256 bytes of text that prints on one line.
func validName(s string) bool {
	for _, c := range s {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}
