package agentauth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/internal/agentauth"
)

func good() object { return object{"alg": "ES256", "kid": "p256", "typ": "at+jwt"} }

// TestToken: each algorithm, and who the agent is.
//
// covers EXA-012
func TestToken(t *testing.T) {
	a := newAuth(t, tokens())
	for label, token := range map[string]string{
		"RS256": theIDP().sign(object{"alg": "RS256", "kid": "rsa"}, claims(nil)), "PS256": theIDP().sign(object{"alg": "PS256", "kid": "rsa"}, claims(nil)),
		"ES256": theIDP().sign(good(), claims(nil)), "ES384": theIDP().sign(object{"alg": "ES384", "kid": "p384"}, claims(nil)),
		"EdDSA":                     theIDP().sign(object{"alg": "EdDSA", "kid": "ed"}, claims(nil)),
		"typ JWT":                   theIDP().sign(object{"alg": "ES256", "kid": "p256", "typ": "JWT"}, claims(nil)),
		"typ application/at+jwt":    theIDP().sign(object{"alg": "ES256", "kid": "p256", "typ": "application/at+jwt"}, claims(nil)),
		"no kid, one key that fits": theIDP().sign(object{"alg": "ES256"}, claims(nil)),
		"no nbf, no iat":            theIDP().sign(good(), claims(object{"nbf": nil, "iat": nil})),
		"aud in a list":             theIDP().sign(good(), claims(object{"aud": []string{audience}})),
		"expired by less than skew": theIDP().sign(good(), claims(object{"exp": start.Unix() - 29})),
		"nbf within the skew":       theIDP().sign(good(), claims(object{"nbf": start.Unix() + 30})),
		"a fraction of a second":    theIDP().sign(good(), claims(object{"exp": float64(start.Unix()) + 0.5})),
		"its own key in the header": theIDP().sign(object{"alg": "ES256", "kid": "p256", "jwk": ecJWK(&theIDP().p256.PublicKey, "p256")}, claims(nil)),
	} {
		for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
			id, err := a.Request(request(scheme + token))
			if err != nil || id != (agentauth.Identity{ID: "jwt:https://login.example#client_id=billing", How: "jwt"}) {
				t.Errorf("%s: %+v, %v", label, id, err)
			}
		}
	}
}

// TestAgentClaim: which claim names the agent, and that two of them never make one agent.
//
// covers EXA-012
func TestAgentClaim(t *testing.T) {
	for _, c := range []struct {
		claim  string
		change object
		want   string // "" is refused
	}{
		{"", nil, "jwt:https://login.example#client_id=billing"},
		{"", object{"client_id": nil, "sub": "billing"}, "jwt:https://login.example#sub=billing"},
		{"sub", nil, "jwt:https://login.example#sub=user-7"},
		{"azp", object{"azp": "a%#b é\n"}, "jwt:https://login.example#azp=a%25%23b%20%C3%A9%0A"},
		{"azp", object{"azp": "x=y"}, "jwt:https://login.example#azp=x=y"},
		{"azp", nil, ""},
		{"", object{"client_id": ""}, ""},
		{"", object{"client_id": 7}, ""},
		{"", object{"client_id": nil, "sub": nil}, ""},
		{"", object{"client_id": strings.Repeat("a", 512)}, ""},
	} {
		cfg := tokens()
		cfg.Token.AgentClaim = c.claim
		id, err := newAuth(t, cfg).Request(request("Bearer " + theIDP().sign(good(), claims(c.change))))
		if id.ID != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s of %v: %+v, %v", c.claim, c.change, id, err)
		}
	}
}

// TestHostileTokens: none of them is anybody's.
//
// covers EXA-012
func TestHostileTokens(t *testing.T) {
	idp := theIDP()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(header object, change object) string { return idp.sign(header, claims(change)) }
	forged := func(header object) string { // by a key that the token brings along
		p256 := idp.p256
		defer func(k *ecdsa.PrivateKey) { idp.p256 = k }(p256)
		idp.p256 = other
		return idp.sign(header, claims(nil))
	}
	fine := signed(good(), nil)
	part := strings.Split(fine, ".")
	whole, _ := json.Marshal(object{"protected": part[0], "payload": part[1], "signature": part[2]})
	for label, c := range map[string]struct{ token, want string }{
		"alg none":                  {signed(object{"alg": "none"}, nil), ""},
		"alg None":                  {signed(object{"alg": "None"}, nil), ""},
		"no alg":                    {signed(object{"kid": "p256"}, nil), ""},
		"alg is a number":           {signed(object{"alg": 256}, nil), ""},
		"HS256 by the public key":   {signed(object{"alg": "HS256", "kid": "rsa"}, nil), ""},
		"HS256 by a published key":  {signed(object{"alg": "HS256", "kid": "oct"}, nil), ""},
		"RS512":                     {signed(object{"alg": "RS512", "kid": "rsa"}, nil), ""},
		"a key of another alg":      {signed(object{"alg": "ES256", "kid": "rsa"}, nil), ""},
		"ES384 with a P-256 key":    {signed(object{"alg": "ES384", "kid": "p256"}, nil), ""},
		"unknown kid":               {signed(object{"alg": "ES256", "kid": "p257"}, nil), ""},
		"empty kid":                 {signed(object{"alg": "ES256", "kid": ""}, nil), ""},
		"kid is a number":           {signed(object{"alg": "ES256", "kid": 1}, nil), ""},
		"kid in another case":       {signed(object{"alg": "ES256", "kid": "P256"}, nil), ""},
		"kid twice":                 {idp.signRaw(`{"alg":"ES256","kid":"p256","kid":"p256"}`, text(claims(nil))), ""},
		"alg twice":                 {idp.signRaw(`{"alg":"none","alg":"ES256","kid":"p256"}`, text(claims(nil))), ""},
		"its own jwk":               {forged(object{"alg": "ES256", "jwk": ecJWK(&other.PublicKey, "x")}), ""},
		"its own jwk with our kid":  {forged(object{"alg": "ES256", "kid": "p256", "jwk": ecJWK(&other.PublicKey, "p256")}), ""},
		"jku":                       {forged(object{"alg": "ES256", "kid": "p256", "jku": "http://127.0.0.1:1/jwks"}), ""},
		"x5u":                       {forged(object{"alg": "ES256", "kid": "p256", "x5u": "http://127.0.0.1:1/cert"}), ""},
		"x5c":                       {forged(object{"alg": "ES256", "kid": "p256", "x5c": []string{"AA=="}}), ""},
		"crit":                      {signed(object{"alg": "ES256", "kid": "p256", "crit": []string{"exp"}}, nil), ""},
		"b64":                       {signed(object{"alg": "ES256", "kid": "p256", "b64": false, "crit": []string{"b64"}}, nil), ""},
		"zip":                       {signed(object{"alg": "ES256", "kid": "p256", "zip": "DEF"}, nil), ""},
		"another typ":               {signed(object{"alg": "ES256", "kid": "p256", "typ": "dpop+jwt"}, nil), ""},
		"typ is a number":           {signed(object{"alg": "ES256", "kid": "p256", "typ": 1}, nil), ""},
		"header is a list":          {idp.signRaw(`["ES256"]`, text(claims(nil))), ""},
		"wrong iss":                 {signed(good(), object{"iss": "https://login.example/"}), ""},
		"no iss":                    {signed(good(), object{"iss": nil}), ""},
		"wrong aud":                 {signed(good(), object{"aud": "https://elsewhere.example"}), ""},
		"aud with a slash":          {signed(good(), object{"aud": audience + "/"}), ""},
		"two aud":                   {signed(good(), object{"aud": []string{audience, "https://elsewhere.example"}}), ""},
		"the same aud twice":        {signed(good(), object{"aud": []string{audience, audience}}), ""},
		"a list of lists":           {signed(good(), object{"aud": [][]string{{audience}}}), ""},
		"no aud":                    {signed(good(), object{"aud": nil}), ""},
		"expired":                   {signed(good(), object{"exp": start.Unix() - 30}), agentauth.TokenExpired},
		"expired long ago":          {signed(good(), object{"exp": 0}), agentauth.TokenExpired},
		"no exp":                    {signed(good(), object{"exp": nil}), ""},
		"exp is a text":             {signed(good(), object{"exp": "1900000000"}), ""},
		"exp before 1970":           {signed(good(), object{"exp": -1}), ""},
		"exp beyond all calendars":  {signed(good(), object{"exp": 1e300}), ""},
		"nbf in the far future":     {signed(good(), object{"nbf": start.Unix() + 31}), ""},
		"nbf is a text":             {signed(good(), object{"nbf": "0"}), ""},
		"iat in the future":         {signed(good(), object{"iat": start.Unix() + 31}), ""},
		"claims twice":              {idp.signRaw(text(good()), strings.Replace(text(claims(nil)), `{`, `{"client_id":"x",`, 1)), ""},
		"claims are a list":         {idp.signRaw(text(good()), `[]`), ""},
		"claims are no JSON":        {idp.signRaw(text(good()), `x`), ""},
		"claims nested":             {idp.signRaw(text(good()), strings.Replace(text(claims(nil)), `{`, `{"x":`+strings.Repeat("[", 17)+strings.Repeat("]", 17)+`,`, 1)), ""},
		"bound to a DPoP key":       {signed(good(), object{"cnf": object{"jkt": "AAAA"}}), ""},
		"bound to no certificate":   {signed(good(), object{"cnf": object{"x5t#S256": "AAAA"}}), ""},
		"bound by a null":           {idp.signRaw(text(good()), strings.Replace(text(claims(nil)), `{`, `{"cnf":null,`, 1)), ""},
		"a flipped bit in claims":   {part[0] + "." + flip(part[1]) + "." + part[2], ""},
		"a flipped bit in signing":  {part[0] + "." + part[1] + "." + flip(part[2]), ""},
		"no signature":              {part[0] + "." + part[1] + ".", ""},
		"two parts":                 {part[0] + "." + part[1], ""},
		"four parts":                {fine + ".x", ""},
		"padding":                   {part[0] + "=." + part[1] + "." + part[2], ""},
		"an encrypted one":          {"a.b.c.d.e", ""},
		"the JSON form":             {string(whole), ""},
		"huge":                      {fine + strings.Repeat("A", 16<<10), ""},
		"huge claims":               {signed(good(), object{"x": strings.Repeat("a", 16<<10)}), ""},
		"nothing but dots":          {"..", ""},
		"a signature of other alg":  {strings.Join(part[:2], ".") + "." + b64(idp.signature("EdDSA", part[0]+"."+part[1])), ""},
		"DER instead of two halves": {strings.Join(part[:2], ".") + "." + b64([]byte{0x30, 6, 2, 1, 1, 2, 1, 1}), ""},
		"zeros for a signature":     {strings.Join(part[:2], ".") + "." + b64(make([]byte, 64)), ""},
	} {
		want := c.want
		if want == "" {
			want = agentauth.CredentialInvalid
		}
		a := newAuth(t, tokens())
		id, err := a.Request(request("Bearer " + c.token))
		if name(err) != want || !id.Anonymous() {
			t.Errorf("%s: %+v, %v", label, id, err)
		}
		if err != nil && len(err.Error()) > 160 {
			t.Errorf("%s: the error is long: %v", label, err)
		}
	}
	if id, err := newAuth(t, tokens()).Request(request("Bearer " + fine)); err != nil {
		t.Error(id, err) // so that each of them is refused for its fault alone
	}
}

// flip changes the first character, which has no unused bits.
func flip(s string) string {
	if s[0] == 'A' {
		return "B" + s[1:]
	}
	return "A" + s[1:]
}

// TestAmbiguousKeys: where it cannot be told which key is meant, none is.
func TestAmbiguousKeys(t *testing.T) {
	idp := theIDP()
	with := func(keys ...object) *agentauth.Authenticator {
		cfg := tokens()
		cfg.Token.KeySet = set(keys...)
		return newAuth(t, cfg)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	named, nameless := idp.sign(good(), claims(nil)), idp.sign(object{"alg": "ES256"}, claims(nil))
	own, others := ecJWK(&idp.p256.PublicKey, "p256"), ecJWK(&other.PublicKey, "p256")
	for _, two := range []*agentauth.Authenticator{with(own, others), with(others, own)} {
		for _, token := range []string{named, nameless} {
			if id, err := two.Request(request("Bearer " + token)); err == nil {
				t.Error(id, "by one of two keys")
			}
		}
	}
	rsa := idp.sign(object{"alg": "RS256", "kid": "one"}, claims(nil))
	kinds := with(ecJWK(&idp.p256.PublicKey, "one"), rsaJWK(&idp.rsa.PublicKey, "one"))
	if _, err := kinds.Request(request("Bearer " + rsa)); err != nil {
		t.Error("one name for keys of two kinds, of which one fits:", err)
	}
	pss := rsaJWK(&idp.rsa.PublicKey, "one")
	pss["alg"] = "PS256"
	if id, err := with(pss).Request(request("Bearer " + rsa)); err == nil {
		t.Error(id, "by a key for another algorithm")
	}
	private := ecJWK(&idp.p256.PublicKey, "p256")
	private["d"] = b64(make([]byte, 32))
	if id, err := with(private, rsaJWK(&idp.rsa.PublicKey, "rsa")).Request(request("Bearer " + named)); err == nil {
		t.Error(id, "by a key that everybody has")
	}
}

// TestLeavesNothingInErrors: no part of a credential is in an error.
func TestLeavesNothingInErrors(t *testing.T) {
	a := newAuth(t, tokens())
	for _, change := range []object{{"iss": "SECRET"}, {"aud": "SECRET"}, {"exp": "SECRET"}, {"client_id": strings.Repeat("SECRET", 100)}, {"cnf": object{"SECRET": "SECRET"}}} {
		_, err := a.Request(request("Bearer " + theIDP().sign(good(), claims(change))))
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Error(err)
		}
	}
	for _, header := range []object{{"alg": "SECRET"}, {"alg": "ES256", "kid": "SECRET"}, {"alg": "ES256", "typ": "SECRET"}} {
		_, err := a.Request(request("Bearer " + theIDP().sign(header, claims(nil))))
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Error(err)
		}
	}
}

// TestSeen: a token that was good once is no pass for one that differs in a bit, and many
// tokens take no more room than two thousand.
func TestSeen(t *testing.T) {
	a := newAuth(t, tokens())
	token := theIDP().sign(good(), claims(nil))
	for range 3 {
		if id, err := a.Request(request("Bearer " + token)); err != nil || id.ID != "jwt:https://login.example#client_id=billing" {
			t.Fatal(id, err)
		}
		part := strings.Split(token, ".")
		for _, bad := range []string{flip(token), part[0] + "." + flip(part[1]) + "." + part[2], part[0] + "." + part[1] + "." + flip(part[2])} {
			if id, err := a.Request(request("Bearer " + bad)); err == nil {
				t.Fatal(id)
			}
		}
	}
}

// TestSeenUnderItsKey: what has verified under one key is not taken for another's that comes
// in its place under the same name.
func TestSeenUnderItsKey(t *testing.T) {
	c, other := newClock(), theIDP()
	p := publish(t, ecJWK(&other.p256.PublicKey, "p256"))
	a := newAuth(t, p.config(c))
	if _, err := a.Request(request(lasting(good()))); err != nil {
		t.Fatal(err)
	}
	token := lasting(good())
	for range 2 {
		if _, err := a.Request(request(token)); err != nil {
			t.Fatal(err)
		}
	}
	fresh, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.say(func(w http.ResponseWriter, _ *http.Request) { w.Write(set(ecJWK(&fresh.PublicKey, "p256"))) })
	c.pass(10 * time.Minute)
	eventually(t, func() bool {
		_, err := a.Request(request(token))
		return name(err) == agentauth.CredentialInvalid
	})
}

// TestExpiresWhileItRuns: a token is judged anew with each request.
func TestExpiresWhileItRuns(t *testing.T) {
	c := newClock()
	cfg := tokens()
	cfg.Now = c.now
	a := newAuth(t, cfg)
	token := "Bearer " + theIDP().sign(good(), claims(nil))
	if _, err := a.Request(request(token)); err != nil {
		t.Fatal(err)
	}
	c.pass(330 * time.Second)
	if _, err := a.Request(request(token)); name(err) != agentauth.TokenExpired {
		t.Error(err)
	}
}

func FuzzToken(f *testing.F) {
	f.Add(theIDP().sign(good(), claims(nil)))
	f.Add("bnk_AAAA")
	f.Add("..")
	f.Add(theIDP().sign(object{"alg": "none"}, claims(nil)))
	a := newAuth(f, tokens())
	fine := theIDP().sign(good(), claims(nil))
	want := strings.Split(fine, ".")
	f.Fuzz(func(t *testing.T, token string) {
		id, err := a.Request(request("Bearer " + token))
		if err == nil && (id.Anonymous() || !strings.Contains(token, ".")) {
			t.Fatal(id)
		}
		// Nothing that is not signed by the issuer is taken: here only seeds are, whose claims are known.
		if part := strings.Split(strings.TrimLeft(token, " "), "."); err == nil && part[1] != want[1] {
			t.Fatalf("%+v of %q", id, token)
		}
	})
}
