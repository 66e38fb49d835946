package agentauth_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/agentauth"
	"github.com/bindery/bindery/jcs"
)

// The digest is by Python: hashlib.sha256(b"bnk_" + b"A"*43).hexdigest().
const (
	fixedKey = "bnk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	fixedSum = "846328b4a2f23b6fcada02d3f8f84d50249d5b1f577470f835bdaa5e99b6a45b"
)

// TestRegisteredKey: a key is its agent's, whoever else is named beside it.
//
// covers EXA-012, EXA-045
func TestRegisteredKey(t *testing.T) {
	a := newAuth(t, agentauth.Config{Keys: &agentauth.Keys{List: []agentauth.Key{{Agent: "billing", Sum: fixedSum}}}})
	r := request("Bearer " + fixedKey)
	r.Header.Set("X-Agent-Id", "somebody")
	r.Header.Set("X-Forwarded-Client-Cert", "URI=spiffe://example.org/somebody")
	r.URL.RawQuery = "agent_id=somebody&access_token=" + fixedKey
	id, err := a.Request(r)
	if err != nil || id != (agentauth.Identity{ID: "key:billing", How: "key"}) {
		t.Fatal(id, err)
	}
	if id, err := a.Key(fixedKey); err != nil || id.ID != "key:billing" {
		t.Error(id, err)
	}
	for label, r := range map[string]*http.Request{
		"another key":  request("Bearer bnk_BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
		"a part of it": request("Bearer " + fixedKey[:46]),
		"its digest":   request("Bearer " + fixedSum),
		"lower case":   request("Bearer " + strings.ToLower(fixedKey)),
		"another word": request("Token " + fixedKey),
		"basic":        request("Basic YmlsbGluZzp4"),
		"a comma":      request("Bearer " + fixedKey + ", Bearer x"),
		"a token":      request("Bearer " + theIDP().sign(object{"alg": "ES256", "kid": "p256"}, claims(nil))),
		"nothing":      request("Bearer "),
		"a quote":      request(`Bearer "` + fixedKey + `"`),
		"too long":     request("Bearer " + strings.Repeat("a", 16<<10+1)),
	} {
		if id, err := a.Request(r); name(err) != agentauth.CredentialInvalid || !id.Anonymous() {
			t.Error(label, id, err)
		}
	}
	r = request()
	r.URL.RawQuery = "access_token=" + fixedKey
	if _, err := a.Request(r); name(err) != agentauth.Unauthenticated {
		t.Error("a key in the URL:", err)
	}
	if _, err := a.Request(request("Bearer "+fixedKey, "Bearer "+fixedKey)); name(err) != agentauth.CredentialConflict {
		t.Error("two headers:", err)
	}
}

// TestNewKey: 256 random bits, of which the digest alone is kept.
func TestNewKey(t *testing.T) {
	secret, k := agentauth.NewKey("billing")
	again, _ := agentauth.NewKey("billing")
	sum := sha256.Sum256([]byte(secret))
	if len(secret) != 47 || !strings.HasPrefix(secret, "bnk_") || secret == again || string(k.Sum) != hex.EncodeToString(sum[:]) || k.Agent != "billing" {
		t.Errorf("%d characters, %+v", len(secret), k)
	}
}

// TestAnonymous: where nothing is configured nobody is anybody; where a kind is, but nobody has
// one, nobody is let in. The last key's removal does not open the door.
//
// covers EXA-012
func TestAnonymous(t *testing.T) {
	open := newAuth(t, agentauth.Config{})
	if id, err := open.Request(request("Bearer " + fixedKey)); err != nil || !id.Anonymous() || open.Required() {
		t.Error(id, err)
	}
	shut := newAuth(t, agentauth.Config{Keys: &agentauth.Keys{}})
	if _, err := shut.Request(request()); name(err) != agentauth.Unauthenticated || !shut.Required() {
		t.Error(err)
	}
	if _, err := shut.Request(request("Bearer " + fixedKey)); name(err) != agentauth.CredentialInvalid {
		t.Error(err)
	}
	for _, a := range []*agentauth.Authenticator{open, shut} {
		if _, err := a.Key(""); name(err) != agentauth.Unauthenticated {
			t.Error(err)
		}
		if _, err := a.Key(fixedKey); name(err) != agentauth.CredentialInvalid {
			t.Error(err)
		}
	}
}

// TestConfig: what could let in the wrong one is refused before anybody comes.
func TestConfig(t *testing.T) {
	now := newClock().now
	keys := set(theIDP().keys()...)
	key := func(agent, sum string) agentauth.Config {
		return agentauth.Config{Now: now, Keys: &agentauth.Keys{List: []agentauth.Key{{Agent: agent, Sum: jcs.Hex256(sum)}}}}
	}
	token := func(change func(*agentauth.Token)) agentauth.Config {
		c := agentauth.Config{Now: now, Token: &agentauth.Token{Issuer: issuer, Audience: audience, KeySet: keys}}
		change(c.Token)
		return c
	}
	url := func(u string) agentauth.Config {
		return token(func(t *agentauth.Token) { t.KeySet, t.URL = nil, u })
	}
	twice := key("a", fixedSum)
	twice.Keys.List = append(twice.Keys.List, agentauth.Key{Agent: "b", Sum: fixedSum})
	many := agentauth.Config{Now: now, Keys: &agentauth.Keys{List: make([]agentauth.Key, agentauth.MaxKeys+1)}}
	for label, c := range map[string]agentauth.Config{
		"no clock": {}, "no name": key("", fixedSum), "a name with a slash": key("a/b", fixedSum), "a long name": key(strings.Repeat("a", 65), fixedSum),
		"no digest": key("a", ""), "upper case": key("a", strings.ToUpper(fixedSum)), "one key, two agents": twice, "too many": many,
		"no issuer": token(func(t *agentauth.Token) { t.Issuer = "" }), "no audience": token(func(t *agentauth.Token) { t.Audience = "" }),
		"a claim": token(func(t *agentauth.Token) { t.AgentClaim = "email" }), "skew": token(func(t *agentauth.Token) { t.Skew = agentauth.MaxSkew + 1 }),
		"no keys": token(func(t *agentauth.Token) { t.KeySet = nil }), "both": token(func(t *agentauth.Token) { t.URL = "https://login.example/jwks" }),
		"an empty set": token(func(t *agentauth.Token) { t.KeySet = set() }), "a secret set": token(func(t *agentauth.Token) { t.KeySet = set(theIDP().keys()[4]) }),
		"http": url("http://login.example/jwks"), "a name that begins so": url("http://localhost.example/jwks"), "no host": url("https:///jwks"),
		"a user": url("https://u:p@login.example/"), "a file": url("file:///etc/passwd"), "a domain": {Now: now, Cert: &agentauth.Cert{TrustDomain: "Example.org"}},
		"an origin": {Now: now, Origin: `https://x"`},
	} {
		if _, err := agentauth.New(c); err == nil {
			t.Error(label, "is taken")
		}
	}
	for _, u := range []string{"https://login.example/jwks", "http://127.0.0.1:1/jwks", "http://localhost:1/", "http://[::1]:1/"} {
		if _, err := agentauth.New(url(u)); err != nil {
			t.Error(u, err)
		}
	}
}

// TestChallenge is RFC 6750 §3 and RFC 9728 §5.1.
func TestChallenge(t *testing.T) {
	a := newAuth(t, tokens())
	r := request()
	r.Host = "gateway.example:7412"
	_, err := a.Request(r)
	e, ok := errors.AsType[*agentauth.Error](err)
	if !ok {
		t.Fatal(err)
	}
	want := `Bearer realm="bindery", resource_metadata="http://gateway.example:7412/.well-known/oauth-protected-resource/mcp"`
	if got := e.Challenge(a.MetadataURL(r)); got != want {
		t.Error(got)
	}
	e = &agentauth.Error{Name: agentauth.TokenExpired, Rule: "the token has expired"}
	if got := e.Challenge(""); got != `Bearer realm="bindery", error="invalid_token", error_description="the token has expired"` {
		t.Error(got)
	}
	r.Host = `x", evil="`
	if got := a.MetadataURL(r); got != "" {
		t.Error(got)
	}
}

// TestMetadata is RFC 9728 §2.
func TestMetadata(t *testing.T) {
	a := newAuth(t, tokens())
	get := func(a *agentauth.Authenticator, path string) string {
		r := request()
		r.Host, r.URL.Path = "127.0.0.1:7412", path
		return string(a.Metadata(r))
	}
	for path, resource := range map[string]string{
		"/.well-known/oauth-protected-resource":         "http://127.0.0.1:7412",
		"/.well-known/oauth-protected-resource/mcp/pay": "http://127.0.0.1:7412/mcp/pay",
	} {
		want := `{"authorization_servers":["https://login.example"],"bearer_methods_supported":["header"],"resource":"` + resource + `"}`
		if got := get(a, path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := get(a, "/.well-known/oauth-protected-resourcefoo") + get(a, "/mcp") + get(newAuth(t, agentauth.Config{}), "/.well-known/oauth-protected-resource"); got != "" {
		t.Error(got)
	}
	c := tokens()
	c.Origin = "https://gateway.example"
	if got := get(newAuth(t, c), "/.well-known/oauth-protected-resource/mcp"); !strings.Contains(got, `"https://gateway.example/mcp"`) {
		t.Error(got)
	}
}
