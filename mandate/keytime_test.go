package mandate_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
	"github.com/google/go-cmp/cmp"
)

// bounded is a record in which every key has its own time, with a domain.
func bounded(w world) mandate.Principal {
	p := samplePrincipal(w)
	p.Humans = p.Humans[:1]
	p.Keys[0].NotAfter = at(issuedAt + 10)
	p.Agents[0].Key.NotBefore = at(issuedAt - 10)
	p.Humans[0].Key.NotBefore, p.Humans[0].Key.NotAfter = at(issuedAt), at(issuedAt+5)
	p.Domain, p.DomainProvedAt = "acme.example", at(issuedAt-100)
	return p
}

// TestRecordWithBounds signs and reads a record whose members say when keys sign. One
// without those members reads as before: TestStatements.
//
// covers GC-209
func TestRecordWithBounds(t *testing.T) {
	w, ra := newWorld(t), newParty(t)
	p := bounded(w)
	token, err := p.Sign(ra.signer())
	if err != nil {
		t.Fatal(err)
	}
	payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	for _, member := range []string{
		`,"domain":"acme.example","domain_proved_at":1785999900,"exp":`,
		`,"validity":[{"key":"` + w.principal.key.ID + `","not_after":1786000010},{"key":"` + w.agent.key.ID +
			`","not_before":1785999990},{"key":"` + w.human.key.ID + `","not_after":1786000005,"not_before":1786000000}]}`,
	} {
		if !strings.Contains(string(payload), member) {
			t.Errorf("no %s in\n%s", member, payload)
		}
	}
	got, err := mandate.ParsePrincipal(token, ra.keys())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, got); diff != "" {
		t.Error(diff)
	}
}

// TestRecordsBoundsRefused: no half entry, no entry for nobody's key, no domain unproved.
//
// covers GC-210
func TestRecordsBoundsRefused(t *testing.T) {
	w, ra := newWorld(t), newParty(t)
	base := `{"active":true,"agents":[],"at":1786000000,"exp":1786000300,"humans":[],"keys":[` + string(w.principal.key.NamedJWK()) +
		`],"name":"Acme","principal_id":"` + acme + `"`
	key := `"key":"` + w.principal.key.ID + `"`
	for member, good := range map[string]bool{
		`"validity":[{` + key + `,"not_after":1}]`:                true,
		`"validity":[{` + key + `,"not_after":1,"not_before":1}]`: true, // it never signs
		`"validity":[]`:                                                         false,
		`"validity":{}`:                                                         false,
		`"validity":null`:                                                       false,
		`"validity":[{` + key + `}]`:                                            false,
		`"validity":[{"not_after":1}]`:                                          false,
		`"validity":[{` + key + `,"not_after":-1}]`:                             false,
		`"validity":[{` + key + `,"not_after":"1"}]`:                            false,
		`"validity":[{` + key + `,"not_after":null}]`:                           false,
		`"validity":[{` + key + `,"not_after":253402300800}]`:                   false,
		`"validity":[{` + key + `,"not_after":1,"x":1}]`:                        false,
		`"validity":[{` + key + `,"not_after":1},{` + key + `,"not_before":1}]`: false,
		`"validity":[{"key":"` + w.agent.key.ID + `","not_after":1}]`:           false,
		`"validity":[7]`:                                                        false,
		`"domain":"acme.example","domain_proved_at":1786000000`:                 true,
		`"domain":"acme.example","domain_proved_at":1786000001`:                 false,
		`"domain":"acme.example"`:                                               false,
		`"domain_proved_at":1786000000`:                                         false,
		`"domain":"localhost","domain_proved_at":1786000000`:                    false,
		`"domain":null,"domain_proved_at":1786000000`:                           false,
	} {
		_, err := mandate.ParsePrincipal(ra.jws(ra.header("bindery-principal+jwt"), base+","+member+"}"), ra.keys())
		if (err == nil) != good {
			t.Errorf("%s: %v", member, err)
		}
	}
}

// TestKeysOwnTime verifies Opens and Closeds under keys with bounds: by iat, whatever the
// time is now.
//
// covers GC-146, GC-149, GC-209, GC-210
func TestKeysOwnTime(t *testing.T) {
	w := newWorld(t)
	bound := func(k jose.Key, from, until int64) jose.Key {
		if from != 0 {
			k.NotBefore = at(from)
		}
		if until != 0 {
			k.NotAfter = at(until)
		}
		return k
	}
	openToken := w.principal.token(w.open)
	closedToken := w.human.token(w.closedBy(human, openToken).with(claims{"iat": "1786000000"}))
	open := mustOpen(t, openToken, w.principal.keys())
	for name, c := range map[string]struct {
		from, until int64
		good        bool
	}{
		"no bounds":               {0, 0, true},
		"from iat on":             {issuedAt, 0, true},
		"from a second after iat": {issuedAt + 1, 0, false},
		"until iat":               {0, issuedAt, false},
		"until a second after":    {0, issuedAt + 1, true},
		"around iat":              {issuedAt - 1, issuedAt + 1, true},
		"never":                   {issuedAt, issuedAt, false},
		"long ago":                {1, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := mandate.ParseOpen(openToken)
			if err != nil {
				t.Fatal(err)
			}
			opened, err := p.Verify(jose.NewKeySet(bound(w.principal.key, c.from, c.until)))
			c2, err2 := mandate.ParseClosed(closedToken)
			if err2 != nil {
				t.Fatal(err2)
			}
			closed, err2 := c2.Verify(jose.NewKeySet(bound(w.human.key, c.from, c.until)), open)
			if c.good {
				if err != nil || err2 != nil {
					t.Errorf("open: %v; closed: %v", err, err2)
				}
				return
			}
			if opened != nil || closed != nil {
				t.Error("verified")
			}
			wantFault(t, err, mandate.Invalid, "iat")
			wantFault(t, err2, mandate.Invalid, "iat")
		})
	}
}

// covers GC-153
func TestAgentsOwnTime(t *testing.T) {
	w := newWorld(t)
	p := samplePrincipal(w)
	now, later := at(issuedAt+1), at(issuedAt+299)
	p.Agents[0].Key.NotBefore, p.Agents[0].Key.NotAfter = at(issuedAt), at(issuedAt+10)
	k := w.agent.key
	for what, c := range map[string]struct{ got, want bool }{
		"signs in its time":             {p.AgentSigns(agent, k, now, later), true},
		"signs before":                  {p.AgentSigns(agent, k, at(issuedAt-1), later), false},
		"signs at its end":              {p.AgentSigns(agent, k, at(issuedAt+10), later), false},
		"signs by a lapsed record":      {p.AgentSigns(agent, k, now, at(issuedAt+300)), false},
		"signs for another":             {p.AgentSigns("urn:anax:agent:x", k, now, later), false},
		"another's key signs":           {p.AgentSigns(agent, w.human.key, now, later), false},
		"is the agent's":                {p.HasAgent(agent, k, now), true},
		"is the agent's already":        {p.HasAgent(agent, k, at(issuedAt-1)), true},
		"is the agent's no more":        {p.HasAgent(agent, k, at(issuedAt+10)), false},
		"barred in its time":            {p.AgentBarred(agent, k, now), false},
		"barred before":                 {p.AgentBarred(agent, k, at(issuedAt-1)), true},
		"barred after":                  {p.AgentBarred(agent, k, at(issuedAt+10)), true},
		"barred though it is not known": {p.AgentBarred(agent, w.human.key, at(issuedAt+10)), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v", what, c.got)
		}
	}
	p.Agents = append(p.Agents, mandate.Agent{ID: agent, Key: w.agent.key}) // and once without bounds
	if p.AgentBarred(agent, k, at(issuedAt+10)) || !p.AgentSigns(agent, k, at(issuedAt+10), later) {
		t.Error("of two entries the wider does not hold")
	}
}

func TestValidDomain(t *testing.T) {
	label := strings.Repeat("a", 63)
	for domain, want := range map[string]bool{
		"acme.example": true, "a.b": true, "xn--bcher-kva.example": true, "1.acme.example": true, "a-b.c1": true, label + ".example": true,
		label + "." + label + "." + label + "." + label[:61]: true, label + "." + label + "." + label + "." + label[:62]: false,
		"": false, "example": false, "localhost": false, "127.0.0.1": false, "acme.1": false, ".example": false, "acme.": false, "acme..example": false,
		"Acme.example": false, "acme.example:443": false, "acme.example/": false, "a_b.example": false, "-a.example": false, "a-.example": false,
		"bücher.example": false, "acme.example\x00": false, "[::1]": false, "a b.example": false, label + "a.example": false,
	} {
		if mandate.ValidDomain(domain) != want {
			t.Errorf("%q: %v", domain, !want)
		}
	}
}
