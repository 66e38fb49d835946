package agentauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	josev4 "github.com/go-jose/go-jose/v4"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

// The claims that may name an agent.
const (
	ClaimClientID = "client_id" // RFC 9068 §2.2: the client that the token was issued to
	ClaimAZP      = "azp"       // OpenID Connect Core §2: the authorized party
	ClaimSub      = "sub"
)

// DefaultSkew is how far clocks may differ when none is configured; MaxSkew is the most.
const (
	DefaultSkew = 30 * time.Second
	MaxSkew     = 5 * time.Minute
)

// A Token is the issuer whose tokens are taken.
type Token struct {
	Issuer   string // iss, exactly
	Audience string // aud, exactly, and nothing beside it
	// AgentClaim is the claim that names the agent: [ClaimClientID], [ClaimAZP] or
	// [ClaimSub]. "" is client_id if the token has one, else sub.
	AgentClaim string
	Skew       time.Duration // 0 is [DefaultSkew]

	// Exactly one of the two. URL is where the issuer publishes its key set, KeySet is that
	// set (RFC 7517).
	URL    string
	KeySet []byte
	// Transport carries requests for the URL; nil is one made here.
	Transport http.RoundTripper
}

// verifier checks tokens of one issuer.
type verifier struct {
	Token
	now  func() time.Time
	keys *source
	seen seen
}

func newVerifier(t Token, now func() time.Time) (*verifier, error) {
	switch {
	case t.Issuer == "" || t.Audience == "":
		return nil, errors.New("agentauth: tokens need an issuer and an audience")
	case !slices.Contains([]string{"", ClaimClientID, ClaimAZP, ClaimSub}, t.AgentClaim):
		return nil, errors.New("agentauth: the agent's claim is not client_id, azp or sub")
	case t.Skew < 0 || t.Skew > MaxSkew:
		return nil, errors.New("agentauth: the skew is negative or more than five minutes")
	}
	if t.Skew == 0 {
		t.Skew = DefaultSkew
	}
	keys, err := newSource(t, now)
	if err != nil {
		return nil, err
	}
	return &verifier{Token: t, now: now, keys: keys}, nil
}

// verify returns the agent that the token names, if all of it is in order.
func (v *verifier) verify(ctx context.Context, token string, leaf *x509.Certificate) (Identity, subject, error) {
	alg, kid, err := readHeader(token)
	if err != nil {
		return Identity{}, subject{}, err
	}
	key, err := v.keys.find(ctx, kid, alg)
	if err != nil {
		return Identity{}, subject{}, err
	}
	payload, err := v.payload(token, alg, key)
	if err != nil {
		return Identity{}, subject{}, err
	}
	claims, err := jcs.Profile{Numbers: jcs.DoubleNumbers, MaxDepth: 16, MaxSize: maxToken}.Parse(payload)
	if err != nil || claims.Type() != jcs.ObjectType {
		return Identity{}, subject{}, invalid("the token's claims are no object in strict JSON")
	}
	if err := v.check(claims); err != nil {
		return Identity{}, subject{}, err
	}
	bound, err := confirmed(claims.Get("cnf"), leaf)
	if err != nil {
		return Identity{}, subject{}, err
	}
	claim, name, err := v.agent(claims)
	if err != nil {
		return Identity{}, subject{}, err
	}
	id := tokenID(v.Issuer, claim, name)
	if len(id) > MaxID {
		return Identity{}, subject{}, invalid("the agent's name is too long")
	}
	return Identity{ID: id, How: ByToken}, subject{name: name, bound: bound}, nil
}

// payload returns what the token's signature covers, once that has verified under the key.
func (v *verifier) payload(token, alg string, key *issuerKey) ([]byte, error) {
	if v.seen.has(token, key) {
		encoded := token[strings.IndexByte(token, '.')+1 : strings.LastIndexByte(token, '.')]
		if payload, err := jose.DecodeBase64(encoded); err == nil {
			return payload, nil
		}
	}
	signed, err := josev4.ParseSignedCompact(token, []josev4.SignatureAlgorithm{josev4.SignatureAlgorithm(alg)})
	if err != nil {
		return nil, invalid("the token is no compact JWS")
	}
	payload, err := signed.Verify(key.public)
	if err != nil {
		return nil, invalid("the token's signature does not verify")
	}
	v.seen.add(token, key)
	return payload, nil
}

// readHeader checks the protected header and returns its alg and kid, "" if it has none.
// The header is read strictly before any library sees it, so that no two readers of it can
// disagree.
func readHeader(token string) (alg, kid string, err error) {
	first, _, ok := strings.Cut(token, ".")
	if !ok || strings.Count(token, ".") != 2 {
		return "", "", invalid("the token is no compact JWS")
	}
	src, err := jose.DecodeBase64(first)
	if err != nil {
		return "", "", invalid("the token's header is no strict base64url")
	}
	h, err := jcs.Profile{Numbers: jcs.DoubleNumbers, MaxDepth: 8, MaxSize: maxToken}.Parse(src)
	if err != nil || h.Type() != jcs.ObjectType {
		return "", "", invalid("the token's header is no object in strict JSON")
	}
	alg, _ = h.Get("alg").Text()
	if !slices.ContainsFunc(algorithms[:], func(a algorithm) bool { return a.name == alg }) {
		return "", "", invalid("the token's alg is not RS256, PS256, ES256, ES384 or EdDSA")
	}
	for _, name := range []string{"crit", "b64", "zip"} {
		if h.Get(name).Type() != jcs.Absent {
			return "", "", invalid("the token's header has a member that changes its meaning")
		}
	}
	if typ := h.Get("typ"); typ.Type() != jcs.Absent {
		s, _ := typ.Text()
		s = strings.TrimPrefix(strings.ToLower(s), "application/")
		if s != "jwt" && s != "at+jwt" {
			return "", "", invalid("the token's typ is not JWT or at+jwt")
		}
	}
	if k := h.Get("kid"); k.Type() != jcs.Absent {
		if kid, _ = k.Text(); kid == "" || len(kid) > maxKid {
			return "", "", invalid("the token's kid is no text, empty, or too long")
		}
	}
	return alg, kid, nil
}

// check judges the registered claims (RFC 7519 §4.1).
func (v *verifier) check(claims jcs.Value) error {
	if iss, _ := claims.Get("iss").Text(); iss != v.Issuer {
		return invalid("iss is not the issuer that is trusted")
	}
	if !exactly(claims.Get("aud"), v.Audience) {
		return invalid("aud is not this gateway alone")
	}
	now := v.now()
	exp, ok := date(claims.Get("exp"))
	if !ok {
		return invalid("exp is missing or no date")
	}
	if !now.Before(exp.Add(v.Skew)) {
		return &Error{TokenExpired, "the token has expired"}
	}
	for _, name := range []string{"nbf", "iat"} {
		c := claims.Get(name)
		if c.Type() == jcs.Absent {
			continue
		}
		if at, ok := date(c); !ok || at.After(now.Add(v.Skew)) {
			return invalid(name + " is no date, or in the future")
		}
	}
	return nil
}

// exactly reports whether aud is the audience and nothing beside it: a token for several
// could be replayed by each of them.
func exactly(aud jcs.Value, audience string) bool {
	if aud.Type() == jcs.ArrayType {
		if aud.Len() != 1 {
			return false
		}
		for only := range aud.Items() {
			aud = only
		}
	}
	s, ok := aud.Text()
	return ok && s == audience
}

const lastDate = 253402300799 // the end of the year 9999

// date reads a NumericDate: seconds since 1970, which may have a fraction.
func date(v jcs.Value) (time.Time, bool) {
	if v.Type() != jcs.NumberType {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseFloat(string(v.Bytes()), 64)
	if err != nil || seconds < 0 || seconds > lastDate {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0), true
}

// confirmed judges cnf, by which an issuer binds a token to a key (RFC 7800, RFC 8705 §3.1).
func confirmed(cnf jcs.Value, leaf *x509.Certificate) (bound bool, err error) {
	if cnf.Type() == jcs.Absent {
		return false, nil
	}
	want, ok := cnf.Get("x5t#S256").Text()
	if !ok || cnf.Len() != 1 {
		return false, invalid("the token is bound to a key whose possession is not shown here")
	}
	if leaf == nil {
		return false, invalid("the token is bound to a certificate that did not come")
	}
	sum := sha256.Sum256(leaf.Raw)
	if subtle.ConstantTimeCompare([]byte(jose.EncodeBase64(sum[:])), []byte(want)) != 1 {
		return false, invalid("the token is bound to another certificate")
	}
	return true, nil
}

// agent returns the claim that names the agent, and its value.
func (v *verifier) agent(claims jcs.Value) (claim, name string, err error) {
	claim = v.AgentClaim
	if claim == "" {
		claim = ClaimClientID
		if claims.Get(ClaimClientID).Type() == jcs.Absent {
			claim = ClaimSub
		}
	}
	if name, _ = claims.Get(claim).Text(); name == "" {
		return "", "", invalid("the claim that names the agent is missing or no text")
	}
	return claim, name, nil
}
