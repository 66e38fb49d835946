package mandate

import (
	"strings"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// A record says when keys may sign in a member of its own, which is not there when no key
// has a bound; the keys themselves are plain JWKs.
//
//	"validity":[{"key":"<thumbprint>","not_after":1786000000,"not_before":1785000000}]
const (
	memberValidity  = "validity"
	memberNotBefore = "not_before"
	memberNotAfter  = "not_after"
	memberDomain    = "domain"
	memberProvedAt  = "domain_proved_at"

	maxDomain = 253 // bytes (RFC 1035 §2.3.4, without the final dot)
	maxLabel  = 63
)

// ValidDomain reports whether s may be a Principal's domain: a host name of two labels or
// more, lower-case letters, digits and inner hyphens, the last label not all digits, so
// that no IP address is one. No port, no final dot.
func ValidDomain(s string) bool {
	labels := strings.Split(s, ".")
	if len(s) > maxDomain || len(labels) < 2 {
		return false
	}
	for _, l := range labels {
		if !validLabel(l) {
			return false
		}
	}
	return strings.Trim(labels[len(labels)-1], "0123456789") != ""
}

func validLabel(l string) bool {
	for i := range len(l) {
		c := l[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return l != "" && len(l) <= maxLabel && l[0] != '-' && l[len(l)-1] != '-'
}

// AgentSigns reports whether, by a record in force at the given time, key is the agent's
// and its owner lets it sign at the time signed, the iat of a Closed (R6).
func (p Principal) AgentSigns(agentID string, key jose.Key, signed, at time.Time) bool {
	for _, a := range p.Agents {
		if a.ID == agentID && a.Key.Same(key) && a.Key.SignsAt(signed) {
			return p.current(at)
		}
	}
	return false
}

// AgentBarred reports whether the record has key for the agent, and not for the time
// signed. The Open's cnf binds an agent's key by itself (GC-153); a record that does not
// know the key says nothing about it.
func (p Principal) AgentBarred(agentID string, key jose.Key, signed time.Time) bool {
	barred := false
	for _, a := range p.Agents {
		if a.ID == agentID && a.Key.Same(key) {
			if a.Key.SignsAt(signed) {
				return false
			}
			barred = true
		}
	}
	return barred
}

// eachKey calls f with every key of the record, in place.
func (p *Principal) eachKey(f func(*jose.Key)) {
	for i := range p.Keys {
		f(&p.Keys[i])
	}
	for i := range p.Agents {
		f(&p.Agents[i].Key)
	}
	for i := range p.Humans {
		f(&p.Humans[i].Key)
	}
}

// validityMember lists the bounds of keys, none twice.
func (p Principal) validityMember() jcs.Member {
	var items [][]byte
	listed := map[string]bool{}
	p.eachKey(func(k *jose.Key) {
		if k.NotBefore.IsZero() && k.NotAfter.IsZero() || listed[k.ID] {
			return
		}
		listed[k.ID] = true
		members := []jcs.Member{textMember("key", k.ID)}
		if !k.NotBefore.IsZero() {
			members = append(members, whenMember(memberNotBefore, k.NotBefore))
		}
		if !k.NotAfter.IsZero() {
			members = append(members, whenMember(memberNotAfter, k.NotAfter))
		}
		items = append(items, jcs.Object(members...))
	})
	if items == nil {
		return jcs.Member{Name: memberValidity}
	}
	return jcs.Member{Name: memberValidity, Value: jcs.Array(items...)}
}

// readValidity reads the bounds and sets them on the keys. An entry without a bound, for
// no key of the record, or for one key twice is a fault.
func (p *Principal) readValidity(r *jcs.Reader) {
	if r.OptValue(memberValidity).Type() == jcs.Absent {
		return
	}
	read := map[string]jose.Key{}
	items := readList(r, memberValidity, jose.MaxKeys+2*maxMembers)
	for _, v := range items {
		item := jcs.NewReader(v)
		id := item.Text("key")
		bounds := jose.Key{NotBefore: optWhen(item, memberNotBefore), NotAfter: optWhen(item, memberNotAfter)}
		_, twice := read[id]
		if item.Close() != nil || twice || bounds == (jose.Key{}) {
			r.Fail(memberValidity, ruleValue)
			return
		}
		read[id] = bounds
	}
	used := map[string]bool{}
	p.eachKey(func(k *jose.Key) {
		if bounds, ok := read[k.ID]; ok {
			k.NotBefore, k.NotAfter, used[k.ID] = bounds.NotBefore, bounds.NotAfter, true
		}
	})
	if len(items) == 0 || len(used) != len(read) {
		r.Fail(memberValidity, ruleValue)
	}
}

func optWhen(r *jcs.Reader, name string) time.Time {
	if r.OptValue(name).Type() == jcs.Absent {
		return time.Time{}
	}
	return readWhen(r, name)
}

func (p Principal) domainMembers() []jcs.Member {
	if p.Domain == "" && p.DomainProvedAt.IsZero() {
		return nil
	}
	return []jcs.Member{textMember(memberDomain, p.Domain), whenMember(memberProvedAt, p.DomainProvedAt)}
}

// readDomain reads the two members, which stand together or not at all.
func (p *Principal) readDomain(r *jcs.Reader) {
	if r.OptValue(memberDomain).Type() == jcs.Absent {
		return // then the other is an unknown member
	}
	p.Domain = readWord(r, memberDomain, ValidDomain)
	if p.DomainProvedAt = readWhen(r, memberProvedAt); p.DomainProvedAt.After(p.At) {
		r.Fail(memberProvedAt, ruleValue)
	}
}
