package api

import (
	"strconv"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// MaxSubjects bounds the subjects in one [RegisterIssuer].
const MaxSubjects = 64

// MaxAuditRows is the largest page of audit rows.
const MaxAuditRows = 500

// A RegisterIssuer makes a credential a service issuer's and names the subjects that it
// may issue Opens for (§3.7.2 rules 2 and 3, AG-24). From then on no effector can spend a
// mandate of any of these subjects. A repeat adds what is missing; nothing takes a subject
// off again, since a token that leaked would be spendable then.
//
//	{"credential_sha256":"<64 hex>","principal_id":"urn:anax:principal:acme",
//	 "subjects":["urn:anax:agent:monitor"]}
type RegisterIssuer struct {
	PrincipalID    string // whose Opens it registers
	CredentialHash jcs.Hex256
	Subjects       []string // agent identifiers, 1 to MaxSubjects, none twice
}

// Bytes is the request as canonical JSON.
func (r RegisterIssuer) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "credential_sha256", Value: text(string(r.CredentialHash))},
		jcs.Member{Name: "principal_id", Value: text(r.PrincipalID)},
		jcs.Member{Name: "subjects", Value: array(r.Subjects, text)},
	)
}

// ParseRegisterIssuer reads a request and checks it as [RegisterIssuer.Validate] does.
func ParseRegisterIssuer(body []byte) (RegisterIssuer, error) {
	r, refusal := open(body)
	if refusal != nil {
		return RegisterIssuer{}, refusal
	}
	req := RegisterIssuer{PrincipalID: r.Text("principal_id"), CredentialHash: readHex(r, "credential_sha256")}
	var items itemFault
	req.Subjects = readItems(r, "subjects", MaxSubjects, &items, func(v jcs.Value) (string, error) {
		s, ok := v.Text()
		if !ok {
			return "", &jcs.MemberError{Rule: "type"}
		}
		return s, nil
	})
	if err := r.Close(); err != nil {
		return RegisterIssuer{}, malformed(err)
	}
	if items.err != nil {
		return RegisterIssuer{}, malformed(items.err)
	}
	return req, req.Validate()
}

// Validate checks the request's rules. The error is an [*Error] with CodeMalformed.
func (r RegisterIssuer) Validate() error {
	switch {
	case !mandate.ValidPrincipalID(r.PrincipalID):
		return &Error{Code: CodeMalformed, Pointer: "/principal_id"}
	case !isHex(r.CredentialHash):
		return &Error{Code: CodeMalformed, Pointer: "/credential_sha256"}
	case len(r.Subjects) == 0 || len(r.Subjects) > MaxSubjects:
		return &Error{Code: CodeMalformed, Pointer: "/subjects"}
	}
	seen := make(map[string]bool)
	for i, s := range r.Subjects {
		if !mandate.ValidAgentID(s) || seen[s] {
			return &Error{Code: CodeMalformed, Pointer: "/subjects/" + strconv.Itoa(i)}
		}
		seen[s] = true
	}
	return nil
}

// An Addition adds to what an [Enrol] has registered: keys that sign Opens, agents,
// humans, credentials. A key is known by its thumbprint; a human may have several, and
// each of them signs Closeds for the principal (T2, GC-169). What stands there already is
// no fault, so that a lost answer can be asked for again. A human's key that a principal
// adds by itself waits for the operator; see [HumanDecision].
//
// A key may come with bounds on when it may sign; they are in a list that is not there
// when no key has one, as in a principal's record.
//
//	{"agents":[],"credentials":[],"humans":[{"id":"urn:anax:human:…","jwk":{…}}],"keys":[],
//	 "principal_id":"urn:anax:principal:acme"}
type Addition struct {
	PrincipalID string
	Keys        []jose.Key
	Agents      []mandate.Agent
	Humans      []mandate.Human
	Credentials []Credential // an agent's may be for one that is registered already
}

// Bytes is the request as canonical JSON.
func (a Addition) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "principal_id", Value: text(a.PrincipalID)},
		jcs.Member{Name: "keys", Value: array(a.Keys, jose.Key.JWK)},
		jcs.Member{Name: "agents", Value: array(a.Agents, func(g mandate.Agent) []byte { return subject(g.ID, g.Key) })},
		jcs.Member{Name: "humans", Value: array(a.Humans, func(h mandate.Human) []byte { return subject(h.ID, h.Key) })},
		jcs.Member{Name: "credentials", Value: array(a.Credentials, Credential.bytes)},
		jcs.Member{Name: "validity", Value: validity(a.allKeys())},
	)
}

// ParseAddition reads a request and checks it as [Addition.Validate] does.
func ParseAddition(body []byte) (Addition, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Addition{}, refusal
	}
	a := Addition{PrincipalID: r.Text("principal_id")}
	var items itemFault
	a.Keys = readItems(r, "keys", MaxPrincipalKeys, &items, parseKey)
	a.Agents = readItems(r, "agents", MaxAgents, &items, parseAgent)
	a.Humans = readItems(r, "humans", MaxHumans, &items, parseHuman)
	a.Credentials = readItems(r, "credentials", MaxCredentials, &items, parseCredential)
	var list []bounds
	if r.OptValue("validity").Type() != jcs.Absent {
		list = readItems(r, "validity", maxValidity, &items, parseBounds)
	}
	if err := r.Close(); err != nil {
		return Addition{}, malformed(err)
	}
	if items.err != nil {
		return Addition{}, malformed(items.err)
	}
	if err := a.bound(list); err != nil {
		return Addition{}, err
	}
	return a, a.Validate()
}

// Validate checks the request's rules: those of [Enrol.Validate] for its parts, and that
// it adds something. The error is an [*Error] with CodeMalformed.
func (a Addition) Validate() error {
	if pointer := a.fault(); pointer != "" {
		return &Error{Code: CodeMalformed, Pointer: pointer}
	}
	return nil
}

func (a Addition) fault() string {
	switch {
	case !mandate.ValidPrincipalID(a.PrincipalID):
		return "/principal_id"
	case len(a.Keys) > MaxPrincipalKeys, len(a.Keys)+len(a.Agents)+len(a.Humans)+len(a.Credentials) == 0:
		return "/keys"
	case len(a.Agents) > MaxAgents:
		return "/agents"
	case len(a.Humans) > MaxHumans:
		return "/humans"
	case len(a.Credentials) > MaxCredentials:
		return "/credentials"
	}
	if at := (Enrol{Keys: a.Keys, Agents: a.Agents, Humans: a.Humans}).keyFault(); at != "" {
		return at
	}
	if at := a.boundFault(); at != "" {
		return at
	}
	seen := make(map[jcs.Hex256]bool)
	for i, c := range a.Credentials {
		agent := c.Role == RoleAgent
		if !isHex(c.Hash) || seen[c.Hash] || agent != mandate.ValidAgentID(c.AgentID) || !agent && !roleOfPrincipal(c) {
			return "/credentials/" + strconv.Itoa(i)
		}
		seen[c.Hash] = true
	}
	return ""
}

// A Suspension says whether a principal is suspended. A suspended one resolves to no key,
// registers nothing, and nothing of its is held or consumed; its mandates are not active.
//
//	{"principal_id":"urn:anax:principal:acme","suspended":true}
type Suspension struct {
	PrincipalID string
	Suspended   bool // false: reinstated
}

// Bytes is the request as canonical JSON.
func (s Suspension) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "principal_id", Value: text(s.PrincipalID)},
		jcs.Member{Name: "suspended", Value: jcs.Bool(s.Suspended)},
	)
}

// ParseSuspension reads a request. The error is an [*Error] with CodeMalformed.
func ParseSuspension(body []byte) (Suspension, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Suspension{}, refusal
	}
	return closed(r, Suspension{
		PrincipalID: readText(r, "principal_id", mandate.ValidPrincipalID), Suspended: r.Bool("suspended"),
	})
}

// A Withdrawal ends a credential, by its hash.
//
//	{"credential_sha256":"<64 hex>"}
type Withdrawal struct{ CredentialHash jcs.Hex256 }

// Bytes is the request as canonical JSON.
func (w Withdrawal) Bytes() []byte { return object("credential_sha256", string(w.CredentialHash)) }

// ParseWithdrawal reads a request. The error is an [*Error] with CodeMalformed.
func ParseWithdrawal(body []byte) (Withdrawal, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Withdrawal{}, refusal
	}
	return closed(r, Withdrawal{CredentialHash: readHex(r, "credential_sha256")})
}

// An AuditRow is one change of the RA's state: who changed what (design R2). It never
// holds a token, a limit or a clearance_id.
type AuditRow struct {
	ID          int64     // its seq in the log: from 1, without gaps
	At          time.Time // milliseconds, on the RA's clock
	Role        string    // of who did it
	PrincipalID string    // of who did it; "" for the operator's own terminal
	Operation   string
	Subject     string // a hash or an identifier
	Outcome     string
}

// An Audit is a page of audit rows, the newest first.
//
//	{"rows":[{"at_ms":1786000000123,"id":7,"operation":"hold","outcome":"held",
//	 "principal_id":"urn:anax:principal:b","role":"effector","subject":"7f3c…"}]}
type Audit struct{ Rows []AuditRow }

// Bytes is the page as canonical JSON.
func (a Audit) Bytes() []byte {
	return jcs.Object(jcs.Member{Name: "rows", Value: array(a.Rows, AuditRow.bytes)})
}

func (a AuditRow) bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "id", Value: jcs.Int(a.ID)},
		jcs.Member{Name: "at_ms", Value: jcs.Int(a.At.UnixMilli())},
		jcs.Member{Name: "role", Value: text(a.Role)},
		jcs.Member{Name: "principal_id", Value: text(a.PrincipalID)},
		jcs.Member{Name: "operation", Value: text(a.Operation)},
		jcs.Member{Name: "subject", Value: text(a.Subject)},
		jcs.Member{Name: "outcome", Value: text(a.Outcome)},
	)
}

// ParseAudit reads a page. The error is an [*Error] with CodeMalformed.
func ParseAudit(body []byte) (Audit, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Audit{}, refusal
	}
	var items itemFault
	a := Audit{Rows: readItems(r, "rows", MaxAuditRows, &items, parseAuditRow)}
	if err := r.Close(); err != nil {
		return Audit{}, malformed(err)
	}
	if items.err != nil {
		return Audit{}, malformed(items.err)
	}
	return a, nil
}

func parseAuditRow(v jcs.Value) (AuditRow, error) {
	r := jcs.NewReader(v)
	a := AuditRow{
		ID: r.Int("id"), At: time.UnixMilli(r.Int("at_ms")).UTC(), Role: r.Text("role"), PrincipalID: r.Text("principal_id"),
		Operation: r.Text("operation"), Subject: r.Text("subject"), Outcome: r.Text("outcome"),
	}
	return a, r.Close()
}
