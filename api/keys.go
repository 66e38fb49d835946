package api

import (
	"slices"
	"strconv"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	// MaxHumanRequests is the longest list of [HumanRequests].
	MaxHumanRequests = 500

	// maxValidity is how many keys one [Addition] can bound.
	maxValidity = MaxPrincipalKeys + MaxAgents + MaxHumans
	maxSeconds  = 253402300799 // the last second of the year 9999
)

// States of a human's key before it is registered.
const (
	HumanPending  = "pending"
	HumanRejected = "rejected" // for ever: who asks again brings another key
)

// validity lists when keys may sign, as a principal's record does; nil if no key has a
// bound.
//
//	"validity":[{"key":"<thumbprint>","not_after":1786000000,"not_before":1785000000}]
func validity(keys []jose.Key) []byte {
	var items [][]byte
	for _, k := range keys {
		if k.NotBefore.IsZero() && k.NotAfter.IsZero() {
			continue
		}
		m := []jcs.Member{{Name: "key", Value: text(k.ID)}}
		if !k.NotBefore.IsZero() {
			m = append(m, jcs.Member{Name: "not_before", Value: jcs.Int(clampSeconds(k.NotBefore))})
		}
		if !k.NotAfter.IsZero() {
			m = append(m, jcs.Member{Name: "not_after", Value: jcs.Int(clampSeconds(k.NotAfter))})
		}
		items = append(items, jcs.Object(m...))
	}
	if items == nil {
		return nil
	}
	return jcs.Array(items...)
}

// clampSeconds writes a time outside the years 1970 to 9999 as one that the other side
// refuses.
func clampSeconds(t time.Time) int64 {
	if n := t.Unix(); 0 <= n && n <= maxSeconds {
		return n
	}
	return -1
}

// allKeys are the addition's keys.
func (a Addition) allKeys() (keys []jose.Key) {
	keys = append(keys, a.Keys...)
	for _, g := range a.Agents {
		keys = append(keys, g.Key)
	}
	for _, h := range a.Humans {
		keys = append(keys, h.Key)
	}
	return keys
}

// bounds is one entry of a validity list.
type bounds struct {
	key                 string
	notBefore, notAfter time.Time
}

func parseBounds(v jcs.Value) (bounds, error) {
	r := jcs.NewReader(v)
	b := bounds{key: r.Text("key"), notBefore: optSeconds(r, "not_before"), notAfter: optSeconds(r, "not_after")}
	if r.Err() == nil && b.notBefore.IsZero() && b.notAfter.IsZero() {
		r.Fail("key", "value")
	}
	return b, r.Close()
}

// optSeconds reads an optional time in whole seconds; the zero time if it is not there.
func optSeconds(r *jcs.Reader, name string) time.Time {
	n, ok := r.OptInt(name)
	if !ok {
		return time.Time{}
	}
	if n < 0 || n > maxSeconds {
		r.Fail(name, "value")
	}
	return time.Unix(n, 0).UTC()
}

// bound sets the bounds on the addition's keys. A key that is not there, or that is
// bounded twice, is a fault at its entry.
func (a *Addition) bound(list []bounds) error {
	seen := map[string]bool{}
	for i, b := range list {
		set := func(k *jose.Key) bool {
			if k.ID != b.key {
				return false
			}
			k.NotBefore, k.NotAfter = b.notBefore, b.notAfter
			return true
		}
		found := false
		for j := range a.Keys {
			found = set(&a.Keys[j]) || found
		}
		for j := range a.Agents {
			found = set(&a.Agents[j].Key) || found
		}
		for j := range a.Humans {
			found = set(&a.Humans[j].Key) || found
		}
		if !found || seen[b.key] {
			return &Error{Code: CodeMalformed, Pointer: "/validity/" + strconv.Itoa(i)}
		}
		seen[b.key] = true
	}
	return nil
}

// boundFault finds a key that could never sign, or whose bounds have no whole seconds.
func (a Addition) boundFault() string {
	whole := func(t time.Time) bool { return t.IsZero() || clampSeconds(t) >= 0 && t.Equal(t.Truncate(time.Second)) }
	if slices.ContainsFunc(a.allKeys(), func(k jose.Key) bool {
		return !whole(k.NotBefore) || !whole(k.NotAfter) || !k.NotAfter.IsZero() && !k.NotBefore.Before(k.NotAfter)
	}) {
		return "/validity"
	}
	return ""
}

// A Retirement gives a registered key its last moment (design R6): what it has signed with
// an iat before that stands, and nothing else it signs does. It ends a key that is not
// known to anybody else; for one that is, there is revocation. The moment is never past,
// and a key that has one gets no later one.
//
//	{"key":"<thumbprint>","not_after":1786000000,"principal_id":"urn:anax:principal:acme"}
type Retirement struct {
	PrincipalID string
	Key         string    // RFC 7638 thumbprint
	NotAfter    time.Time // whole seconds; zero, and then not sent: now
}

// Bytes is the request as canonical JSON.
func (q Retirement) Bytes() []byte {
	m := []jcs.Member{{Name: "key", Value: text(q.Key)}, {Name: "principal_id", Value: text(q.PrincipalID)}}
	if !q.NotAfter.IsZero() {
		m = append(m, jcs.Member{Name: "not_after", Value: jcs.Int(clampSeconds(q.NotAfter))})
	}
	return jcs.Object(m...)
}

// ParseRetirement reads a request. The error is an [*Error] with CodeMalformed.
func ParseRetirement(body []byte) (Retirement, error) {
	r, refusal := open(body)
	if refusal != nil {
		return Retirement{}, refusal
	}
	return closed(r, Retirement{
		PrincipalID: readText(r, "principal_id", mandate.ValidPrincipalID), Key: readText(r, "key", ValidThumbprint),
		NotAfter: optSeconds(r, "not_after"),
	})
}

// Validate checks the request's rules. The error is an [*Error] with CodeMalformed.
func (q Retirement) Validate() error {
	switch {
	case !mandate.ValidPrincipalID(q.PrincipalID):
		return &Error{Code: CodeMalformed, Pointer: "/principal_id"}
	case !ValidThumbprint(q.Key):
		return &Error{Code: CodeMalformed, Pointer: "/key"}
	case !q.NotAfter.IsZero() && (clampSeconds(q.NotAfter) < 0 || !q.NotAfter.Equal(q.NotAfter.Truncate(time.Second))):
		return &Error{Code: CodeMalformed, Pointer: "/not_after"}
	}
	return nil
}

// ValidThumbprint reports whether s has the form of an RFC 7638 SHA-256 thumbprint.
func ValidThumbprint(s string) bool { return encodes(s, thumbprintBytes) }

// A HumanDecision is the operator's on a human's key that a principal has asked to
// register (T2, GC-021). Until it is approved the key signs nothing. Either is for ever.
//
//	{"approve":true,"key":"<thumbprint>","principal_id":"urn:anax:principal:acme"}
type HumanDecision struct {
	PrincipalID string
	Key         string // RFC 7638 thumbprint
	Approve     bool   // false: rejected
}

// Bytes is the request as canonical JSON.
func (d HumanDecision) Bytes() []byte {
	return jcs.Object(
		jcs.Member{Name: "approve", Value: jcs.Bool(d.Approve)},
		jcs.Member{Name: "key", Value: text(d.Key)},
		jcs.Member{Name: "principal_id", Value: text(d.PrincipalID)},
	)
}

// ParseHumanDecision reads a request. The error is an [*Error] with CodeMalformed.
func ParseHumanDecision(body []byte) (HumanDecision, error) {
	r, refusal := open(body)
	if refusal != nil {
		return HumanDecision{}, refusal
	}
	return closed(r, HumanDecision{
		PrincipalID: readText(r, "principal_id", mandate.ValidPrincipalID), Key: readText(r, "key", ValidThumbprint), Approve: r.Bool("approve"),
	})
}

// Validate checks the request's rules. The error is an [*Error] with CodeMalformed.
func (d HumanDecision) Validate() error {
	switch {
	case !mandate.ValidPrincipalID(d.PrincipalID):
		return &Error{Code: CodeMalformed, Pointer: "/principal_id"}
	case !ValidThumbprint(d.Key):
		return &Error{Code: CodeMalformed, Pointer: "/key"}
	}
	return nil
}

// A HumanRequest is a human's key that is not registered.
type HumanRequest struct {
	PrincipalID string
	Human       mandate.Human
	State       string // HumanPending or HumanRejected
	RequestedAt time.Time
}

// HumanRequests is a list of them, the oldest first.
//
//	{"requests":[{"human_id":"urn:anax:human:…","jwk":{…},"principal_id":"urn:anax:principal:acme",
//	 "requested_at_ms":1786000000123,"state":"pending"}]}
type HumanRequests struct{ Requests []HumanRequest }

// Bytes is the list as canonical JSON.
func (h HumanRequests) Bytes() []byte {
	return jcs.Object(jcs.Member{Name: "requests", Value: array(h.Requests, HumanRequest.bytes)})
}

func (h HumanRequest) bytes() []byte {
	m := []jcs.Member{
		{Name: "human_id", Value: text(h.Human.ID)},
		{Name: "jwk", Value: h.Human.Key.JWK()},
		{Name: "principal_id", Value: text(h.PrincipalID)},
		{Name: "requested_at_ms", Value: jcs.Int(h.RequestedAt.UnixMilli())},
		{Name: "state", Value: text(h.State)},
	}
	if v := h.Human.Key.NotBefore; !v.IsZero() {
		m = append(m, jcs.Member{Name: "not_before", Value: jcs.Int(clampSeconds(v))})
	}
	if v := h.Human.Key.NotAfter; !v.IsZero() {
		m = append(m, jcs.Member{Name: "not_after", Value: jcs.Int(clampSeconds(v))})
	}
	return jcs.Object(m...)
}

// ParseHumanRequests reads a list. The error is an [*Error] with CodeMalformed.
func ParseHumanRequests(body []byte) (HumanRequests, error) {
	r, refusal := open(body)
	if refusal != nil {
		return HumanRequests{}, refusal
	}
	var items itemFault
	h := HumanRequests{Requests: readItems(r, "requests", MaxHumanRequests, &items, parseHumanRequest)}
	if err := r.Close(); err != nil {
		return HumanRequests{}, malformed(err)
	}
	if items.err != nil {
		return HumanRequests{}, malformed(items.err)
	}
	return h, nil
}

func parseHumanRequest(v jcs.Value) (HumanRequest, error) {
	r := jcs.NewReader(v)
	h := HumanRequest{
		PrincipalID: readText(r, "principal_id", mandate.ValidPrincipalID),
		Human:       mandate.Human{ID: readText(r, "human_id", mandate.ValidHumanID), Key: readKey(r, "jwk")},
		State:       readText(r, "state", func(s string) bool { return s == HumanPending || s == HumanRejected }),
		RequestedAt: time.UnixMilli(r.Int("requested_at_ms")).UTC(),
	}
	h.Human.Key.NotBefore, h.Human.Key.NotAfter = optSeconds(r, "not_before"), optSeconds(r, "not_after")
	return h, r.Close()
}

// A DomainProof asks the RA to read what a domain publishes about its keys, and, if they
// are the principal's, to say so in the principal's record (design R6). The RA reads
// https://DOMAIN/.well-known/jwt-vc-issuer. From then on it reads it again every day.
//
//	{"domain":"acme.example","principal_id":"urn:anax:principal:acme"}
type DomainProof struct {
	PrincipalID string
	Domain      string // see mandate.ValidDomain
}

// Bytes is the request as canonical JSON.
func (d DomainProof) Bytes() []byte { return object("domain", d.Domain, "principal_id", d.PrincipalID) }

// ParseDomainProof reads a request. The error is an [*Error] with CodeMalformed.
func ParseDomainProof(body []byte) (DomainProof, error) {
	r, refusal := open(body)
	if refusal != nil {
		return DomainProof{}, refusal
	}
	return closed(r, DomainProof{
		PrincipalID: readText(r, "principal_id", mandate.ValidPrincipalID), Domain: readText(r, "domain", mandate.ValidDomain),
	})
}

// Validate checks the request's rules. The error is an [*Error] with CodeMalformed.
func (d DomainProof) Validate() error {
	switch {
	case !mandate.ValidPrincipalID(d.PrincipalID):
		return &Error{Code: CodeMalformed, Pointer: "/principal_id"}
	case !mandate.ValidDomain(d.Domain):
		return &Error{Code: CodeMalformed, Pointer: "/domain"}
	}
	return nil
}
