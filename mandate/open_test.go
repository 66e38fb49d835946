package mandate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
	"github.com/google/go-cmp/cmp"
)

// covers GC-145, GC-148, GC-149, GC-150, GC-154, GC-155, GC-159, GC-211
func TestOpen(t *testing.T) {
	w := newWorld(t)
	token := w.principal.token(w.open)
	p, err := mandate.ParseOpen(token)
	if err != nil {
		t.Fatal(err)
	}
	if p.Issuer() != acme || p.Subject() != agent || p.KeyID() != w.principal.key.ID || string(p.OpenHash()) != hexHash(token) {
		t.Errorf("presented %s %s %s %s", p.Issuer(), p.Subject(), p.KeyID(), p.OpenHash())
	}
	open, err := p.Verify(w.principal.keys())
	if err != nil {
		t.Fatal(err)
	}
	if open.Token() != token || open.Presented() != token || open.Issuer() != acme || open.Subject() != agent {
		t.Error("token or parties changed")
	}
	signed := token[:strings.LastIndex(token, ".")]
	if string(open.TokenHash()) != hexHash(token) || string(open.OpenHash()) != hexHash(token) || string(open.SignedHash()) != hexHash(signed) {
		t.Error("hashes are not over the exact bytes")
	}
	if !open.IssuedAt().Equal(at(issuedAt)) || !open.ExpiresAt().Equal(at(expiresAt)) {
		t.Errorf("span %v to %v", open.IssuedAt(), open.ExpiresAt())
	}
	if cnf, ok := open.ConfirmationKey(); !ok || !cnf.Same(w.agent.key) {
		t.Error("cnf is not the agent's key")
	}
	if diff := cmp.Diff([]string{"engagement_code_issuance", "proposal_within_tariff"}, open.Acts()); diff != "" {
		t.Error(diff)
	}
	amount, disclosed, err := open.Amount()
	if want := mustAmount(t, "irreversible", 5, ""); err != nil || !disclosed || amount != want {
		t.Errorf("amount %v, %v, %v", amount, disclosed, err)
	}
}

// covers GC-148, GC-149, GC-150, GC-153, GC-154, GC-155, GC-168, GC-171, GC-173
func TestOpenForm(t *testing.T) {
	w := newWorld(t)
	jwk := string(w.agent.key.JWK())
	for name, c := range map[string]struct {
		claim string
		with  claims
	}{
		"vct missing":        {"vct", claims{"vct": ""}},
		"vct of a Closed":    {"vct", claims{"vct": `"mandate.agreement.closed.1"`}},
		"vct next version":   {"vct", claims{"vct": `"mandate.agreement.open.2"`}},
		"vct longer":         {"vct", claims{"vct": `"mandate.agreement.open.1 "`}},
		"vct a list":         {"vct", claims{"vct": `["mandate.agreement.open.1"]`}},
		"VCT for vct":        {"vct", claims{"vct": "", "VCT": `"mandate.agreement.open.1"`}},
		"iss missing":        {"iss", claims{"iss": ""}},
		"iss empty":          {"iss", claims{"iss": `""`}},
		"iss an agent":       {"iss", claims{"iss": `"` + agent + `"`}},
		"iss without id":     {"iss", claims{"iss": `"urn:anax:principal:"`}},
		"iss no URI":         {"iss", claims{"iss": `"acme"`}},
		"iss other case":     {"iss", claims{"iss": `"URN:ANAX:principal:acme"`}},
		"iss with a space":   {"iss", claims{"iss": `"urn:x:a b"`}},
		"iss not ASCII":      {"iss", claims{"iss": `"urn:anax:principal:acmé"`}},
		"iss too long":       {"iss", claims{"iss": `"urn:x:` + strings.Repeat("a", 251) + `"`}},
		"iss a number":       {"iss", claims{"iss": `1`}},
		"sub missing":        {"sub", claims{"sub": ""}},
		"sub a Principal":    {"sub", claims{"sub": `"` + acme + `"`}},
		"sub null":           {"sub", claims{"sub": `null`}},
		"exp missing":        {"exp", claims{"exp": ""}},
		"exp a string":       {"exp", claims{"exp": `"1786086400"`}},
		"exp null":           {"exp", claims{"exp": `null`}},
		"exp negative":       {"exp", claims{"exp": `-1`}},
		"exp after 9999":     {"exp", claims{"exp": `253402300800`}},
		"iat missing":        {"iat", claims{"iat": ""}},
		"iat true":           {"iat", claims{"iat": `true`}},
		"nbf after iat":      {"nbf", claims{"nbf": `1786000001`}},
		"nbf a string":       {"nbf", claims{"nbf": `"1"`}},
		"cnf null":           {"cnf", claims{"cnf": `null`}},
		"cnf empty":          {"cnf", claims{"cnf": `{}`}},
		"cnf with more":      {"cnf", claims{"cnf": `{"jwk":` + jwk + `,"kid":"x"}`}},
		"cnf by kid":         {"cnf", claims{"cnf": `{"kid":"x"}`}},
		"cnf bare key":       {"cnf", claims{"cnf": jwk}},
		"cnf private":        {"cnf", claims{"cnf": `{"jwk":` + strings.Replace(jwk, `{`, `{"d":"AAAA",`, 1) + `}`}},
		"cnf without crv":    {"cnf", claims{"cnf": `{"jwk":` + strings.Replace(jwk, `"crv":"P-256",`, ``, 1) + `}`}},
		"cnf P-384":          {"cnf", claims{"cnf": `{"jwk":` + strings.Replace(jwk, `P-256`, `P-384`, 1) + `}`}},
		"act empty":          {"commitment_act", claims{"commitment_act": `""`}},
		"acts empty":         {"commitment_act", claims{"commitment_act": `[]`}},
		"acts with a number": {"commitment_act", claims{"commitment_act": `["a",1]`}},
		"acts null":          {"commitment_act", claims{"commitment_act": `null`}},
		"act too long":       {"commitment_act", claims{"commitment_act": `"` + strings.Repeat("a", 129) + `"`}},
		"long act in a list": {"commitment_act", claims{"commitment_act": `["a","` + strings.Repeat("a", 129) + `"]`}},
		"parties long name":  {"permitted_counterparties", claims{"permitted_counterparties": `["urn:x:` + strings.Repeat("a", 251) + `"]`}},
		"parties null":       {"permitted_counterparties", claims{"permitted_counterparties": `null`}},
		"parties one string": {"permitted_counterparties", claims{"permitted_counterparties": `"` + bolt + `"`}},
		"parties an object":  {"permitted_counterparties", claims{"permitted_counterparties": `{}`}},
		"parties numbers":    {"permitted_counterparties", claims{"permitted_counterparties": `[1]`}},
		"parties wildcards":  {"permitted_counterparties", claims{"permitted_counterparties": `"**"`}},
		"parties empty name": {"permitted_counterparties", claims{"permitted_counterparties": `[""]`}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := mandate.ParseOpen(w.principal.token(w.open.with(c.with)))
			if p != nil {
				t.Error("accepted")
			}
			wantFault(t, err, mandate.Invalid, c.claim)
		})
	}
}

// covers GC-144, GC-151
func TestOpenAccepts(t *testing.T) {
	w := newWorld(t)
	for name, with := range map[string]claims{
		"aud wildcard":     {"aud": `"*"`},
		"aud missing":      {"aud": ""},
		"aud a list":       {"aud": `["a","b"]`},
		"aud a number":     {"aud": `1`},
		"foreign iss":      {"iss": `"https://acme.example/principal"`},
		"foreign sub":      {"sub": `"did:web:acme.example"`},
		"no cnf":           {"cnf": ""},
		"no act":           {"commitment_act": ""},
		"act a string":     {"commitment_act": `"unlisted_act"`},
		"nbf at iat":       {"nbf": `1786000000`},
		"exp before iat":   {"exp": `1785999999`}, // for the caller, whose name is MANDATE_EXPIRED
		"exp spelled 1e9":  {"exp": `1e9`},
		"unknown claims":   {"jti": `"x"`, "status": `{"status_list":{"idx":1,"uri":"https://x.example"}}`},
		"sd_hash ignored":  {"sd_hash": `"x"`}, // AG-07
		"parties silent":   {"permitted_counterparties": ""},
		"parties nobody":   {"permitted_counterparties": `[]`},
		"cnf jwk with kid": {"cnf": `{"jwk":` + string(w.agent.key.NamedJWK()) + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			mustOpen(t, w.principal.token(w.open.with(with)), w.principal.keys())
		})
	}
}

// covers GC-209, GC-210, GC-142, GC-143
func TestOpenSignature(t *testing.T) {
	w := newWorld(t)
	stranger := newParty(t)
	impostor := stranger // signs, and names the Principal's key
	impostor.key = w.principal.key
	for name, c := range map[string]struct {
		token string
		keys  jose.KeySet
		claim string
	}{
		"no keys":          {w.principal.token(w.open), jose.KeySet{}, "kid"},
		"stranger":         {stranger.token(w.open), w.principal.keys(), "kid"},
		"impostor":         {impostor.token(w.open), w.principal.keys(), "signature"},
		"agent for itself": {w.agent.token(w.open), w.principal.keys(), "kid"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := mandate.ParseOpen(c.token)
			if err != nil {
				t.Fatal(err)
			}
			open, err := p.Verify(c.keys)
			if open != nil {
				t.Error("verified")
			}
			wantFault(t, err, mandate.Invalid, c.claim)
		})
	}
	for name, alg := range map[string]string{"none": "none", "EdDSA": "EdDSA", "HS256": "HS256", "RS256": "RS256", "ES384": "ES384"} {
		_, err := mandate.ParseOpen(w.principal.jws(`{"alg":"`+alg+`","kid":"x"}`, w.open.json()) + "~")
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		wantFault(t, err, mandate.Invalid, "header")
	}
	_, err := (&mandate.PresentedOpen{}).Verify(w.principal.keys())
	wantFault(t, err, mandate.Invalid, "token")
}

func TestHighSVerifiesAndSaysSo(t *testing.T) {
	w := newWorld(t)
	for _, high := range []bool{false, true} {
		token := w.principal.jwsHighLow(w.principal.header("dc+sd-jwt"), w.open.json(), high) + "~"
		if open := mustOpen(t, token, w.principal.keys()); open.HighS() != high {
			t.Errorf("HighS = %v, want %v", open.HighS(), high)
		}
	}
}

// covers GC-158, GC-160, GC-173, GC-186, GC-187
func TestOpenAmount(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		claim string
		with  claims
	}{
		"class missing":           {"commitment_class", claims{"commitment_class": ""}},
		"class unknown":           {"commitment_class", claims{"commitment_class": `"finance"`}},
		"class upper case":        {"commitment_class", claims{"commitment_class": `"Irreversible"`}},
		"class a number":          {"commitment_class", claims{"commitment_class": `3`}},
		"class null":              {"commitment_class", claims{"commitment_class": `null`}},
		"limit missing":           {"magnitude_limit", claims{"magnitude_limit": ""}},
		"limit a string":          {"magnitude_limit", claims{"magnitude_limit": `"5"`}},
		"limit negative":          {"magnitude_limit", claims{"magnitude_limit": `-1`}},
		"limit true":              {"magnitude_limit", claims{"magnitude_limit": `true`}},
		"limit null":              {"magnitude_limit", claims{"magnitude_limit": `null`}},
		"limit by dimension":      {"magnitude_limit", claims{"magnitude_limit": `{"eur":5}`}},
		"financial, no currency":  {"currency", claims{"commitment_class": `"financial"`}},
		"financial, null":         {"currency", claims{"commitment_class": `"financial"`, "currency": `null`}},
		"financial, eur":          {"currency", claims{"commitment_class": `"financial"`, "currency": `"eur"`}},
		"financial, unknown":      {"currency", claims{"commitment_class": `"financial"`, "currency": `"ZZZ"`}},
		"financial, empty":        {"currency", claims{"commitment_class": `"financial"`, "currency": `""`}},
		"financial, two":          {"currency", claims{"commitment_class": `"financial"`, "currency": `["EUR","GBP"]`}},
		"currency out of place":   {"currency", claims{"currency": `"EUR"`}},
		"currency null elsewhere": {"currency", claims{"currency": `null`}},
	} {
		t.Run(name, func(t *testing.T) {
			open := mustOpen(t, w.principal.token(w.open.with(c.with)), w.principal.keys())
			_, disclosed, err := open.Amount()
			if disclosed {
				t.Error("disclosed")
			}
			wantFault(t, err, mandate.Malformed, c.claim)
		})
	}
	// A number that is no integer is none in the JSON profile either, and fails at once.
	for _, n := range []string{"1.5", "9007199254740992", "1.00000000000000000001", "1e400"} {
		_, err := mandate.ParseOpen(w.principal.token(w.open.with(claims{"magnitude_limit": n})))
		wantFault(t, err, mandate.Malformed, "magnitude_limit")
	}
	for class, c := range map[string]struct {
		limit    int64
		currency string
	}{
		"observe": {0, ""}, "reversible": {50, ""}, "irreversible": {5, ""},
		"financial": {250000, "EUR"}, "binding": {1<<53 - 1, ""},
	} {
		draft := draftOf(w)
		draft.Amount, draft.DiscloseLimit = mustAmount(t, class, c.limit, c.currency), true
		issued, err := draft.Sign(w.principal.signer())
		if err != nil {
			t.Fatal(err)
		}
		got, disclosed, err := mustOpen(t, issued.Token, w.principal.keys()).Amount()
		if err != nil || !disclosed || got != draft.Amount {
			t.Errorf("%s: %v, %v, %v", class, got, disclosed, err)
		}
	}
}

// covers GC-154, GC-314
func TestExpiry(t *testing.T) {
	w := newWorld(t)
	open := mustOpen(t, w.principal.token(w.open), w.principal.keys())
	for _, c := range []struct {
		at      time.Time
		expired bool
	}{
		{at(expiresAt - 1), false},
		{at(expiresAt).Add(-time.Nanosecond), false},
		{at(expiresAt), true},
		{at(expiresAt + 1), true},
	} {
		if open.Expired(c.at) != c.expired || (open.CheckExpiry(c.at) != nil) != c.expired {
			t.Errorf("at %v: Expired %v, CheckExpiry %v", c.at, open.Expired(c.at), open.CheckExpiry(c.at))
		}
	}
	wantFault(t, open.CheckExpiry(at(expiresAt)), mandate.Expired, "exp")
}

// covers GC-162, GC-170, GC-171
func TestCounterparties(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		claim       string
		any, silent bool
		permits     []string
		refuses     []string
	}{
		"absent":        {"", false, true, nil, []string{bolt, acme, "*", ""}},
		"wildcard":      {`"*"`, true, false, []string{bolt, "urn:anax:principal:x", "https://x.example"}, []string{"", "*", agent}},
		"list":          {`["` + bolt + `"]`, false, false, []string{bolt}, []string{acme, bolt + "2", "urn:anax:principal:BOLT", "*"}},
		"nobody":        {`[]`, false, false, nil, []string{bolt, "*", ""}},
		"star in list":  {`["*"]`, false, false, nil, []string{bolt, "*"}},
		"star and name": {`["*","` + bolt + `"]`, false, false, []string{bolt}, []string{acme}},
	} {
		t.Run(name, func(t *testing.T) {
			parties := mustOpen(t, w.principal.token(w.open.with(claims{"permitted_counterparties": c.claim})), w.principal.keys()).Counterparties()
			if parties.Any() != c.any || parties.IsSilent() != c.silent {
				t.Errorf("Any %v, IsSilent %v", parties.Any(), parties.IsSilent())
			}
			for _, id := range c.permits {
				if !parties.Permits(id) {
					t.Errorf("refuses %q", id)
				}
			}
			for _, id := range c.refuses {
				if parties.Permits(id) {
					t.Errorf("permits %q", id)
				}
			}
		})
	}
}

// covers GC-159, GC-180
func TestPermitsAct(t *testing.T) {
	w := newWorld(t)
	for claim, c := range map[string]struct{ permits, refuses []string }{
		``:              {[]string{"a", "b"}, []string{""}},
		`"a"`:           {[]string{"a"}, []string{"b", "A", ""}},
		`["a","b"]`:     {[]string{"a", "b"}, []string{"c", "a,b", ""}},
		`["unlisted*"]`: {[]string{"unlisted*"}, []string{"unlisted", "unlisted1"}},
	} {
		open := mustOpen(t, w.principal.token(w.open.with(claims{"commitment_act": claim})), w.principal.keys())
		for _, act := range c.permits {
			if !open.PermitsAct(act) {
				t.Errorf("%s refuses %q", claim, act)
			}
		}
		for _, act := range c.refuses {
			if open.PermitsAct(act) {
				t.Errorf("%s permits %q", claim, act)
			}
		}
	}
}

func TestZeroValuesPermitNothing(t *testing.T) {
	open, closed := &mandate.Open{}, &mandate.Closed{}
	if open.Counterparties().Permits(bolt) || open.PermitsAct("a") || !open.Expired(at(0)) || open.OpenHash() != "" || open.Token() != "" || open.TokenHash() != "" {
		t.Error("the zero Open permits something")
	}
	if _, ok := open.ConfirmationKey(); ok {
		t.Error("the zero Open has a key")
	}
	_, _, err := open.Amount()
	wantFault(t, err, mandate.Malformed, "commitment_class")
	if !closed.Expired(at(0)) || closed.Act() != "" || closed.SignedHash() != "" || closed.HighS() {
		t.Error("the zero Closed permits something")
	}
	_, _, err = closed.Amounts()
	wantFault(t, err, mandate.Malformed, "commitment_class")
}
