package mandate_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

const (
	acme  = "urn:anax:principal:acme"
	bolt  = "urn:anax:principal:bolt"
	agent = "urn:anax:agent:acme-front"
	human = "urn:anax:human:ada"

	crossingID = "b7d1c0de-1111-4222-8333-444455556666"
	issuedAt   = 1786000000
	expiresAt  = 1786086400
)

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return b64(sum[:])
}

func hexHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// party holds one key. Tokens are signed with the standard library alone, so that a test
// can sign what the code under test would not.
type party struct {
	t    testing.TB
	priv *ecdsa.PrivateKey
	key  jose.Key
}

func newParty(t testing.TB) party {
	t.Helper()
	priv, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := jose.NewKey(&priv.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return party{t, priv, key}
}

func (p party) signer() *jose.Signer {
	s, err := jose.NewSigner(p.priv)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p party) keys() jose.KeySet { return jose.NewKeySet(p.key) }

func (p party) header(typ string) string {
	return `{"alg":"ES256","kid":"` + p.key.ID + `","typ":"` + typ + `"}`
}

func (p party) jws(header, payload string) string { return p.jwsHighLow(header, payload, false) }

func (p party) jwsHighLow(header, payload string, high bool) string {
	p.t.Helper()
	input := b64([]byte(header)) + "." + b64([]byte(payload))
	return input + "." + b64(p.signature(input, high))
}

// signature returns r ‖ s over exactly these characters, whatever they are.
func (p party) signature(input string, high bool) []byte {
	p.t.Helper()
	sum := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, p.priv, sum[:])
	if err != nil {
		p.t.Fatal(err)
	}
	n := elliptic.P256().Params().N
	if (s.Cmp(new(big.Int).Rsh(n, 1)) > 0) != high {
		s.Sub(n, s)
	}
	return concat(r, s)
}

// concat returns two numbers of up to 32 bytes as 64 bytes.
func concat(r, s *big.Int) []byte {
	raw := make([]byte, 64)
	r.FillBytes(raw[:32])
	s.FillBytes(raw[32:])
	return raw
}

// claims maps names to raw JSON.
type claims map[string]string

// with returns c with claims replaced; an empty value takes the claim out.
func (c claims) with(more claims) claims {
	out := maps.Clone(c)
	for name, v := range more {
		if out[name] = v; v == "" {
			delete(out, name)
		}
	}
	return out
}

func (c claims) json() string {
	var b strings.Builder
	sep := "{"
	for _, name := range slices.Sorted(maps.Keys(c)) {
		b.WriteString(sep + `"` + name + `":` + c[name])
		sep = ","
	}
	return b.String() + "}"
}

func (p party) token(c claims) string { return p.jws(p.header("dc+sd-jwt"), c.json()) + "~" }

// world is a Principal, its agent and a human, and mandates that are in order.
type world struct {
	principal, agent, human party
	open                    claims // limit in plain sight
}

func newWorld(t testing.TB) world {
	w := world{newParty(t), newParty(t), newParty(t), nil}
	w.open = claims{
		"vct": `"mandate.agreement.open.1"`, "iss": `"` + acme + `"`, "sub": `"` + agent + `"`,
		"aud": `"urn:anax:va:001"`, "iat": "1786000000", "exp": "1786086400",
		"cnf":              `{"jwk":` + string(w.agent.key.JWK()) + `}`,
		"commitment_class": `"irreversible"`, "magnitude_limit": "5",
		"commitment_act":           `["engagement_code_issuance","proposal_within_tariff"]`,
		"permitted_counterparties": `["` + bolt + `"]`,
	}
	return w
}

// closedUnder returns the claims of an agent's Closed under the Open token.
func (w world) closedUnder(openToken string) claims {
	jwt, _, _ := strings.Cut(openToken, "~")
	return claims{
		"vct": `"mandate.agreement.closed.1"`, "iss": `"` + agent + `"`, "sub": `"` + agent + `"`,
		"aud": `"` + bolt + `"`, "iat": "1786000420", "exp": "1786001020", "nonce": `"b7d1f00d"`,
		"signer_role": `"agent"`, "commitment_class": `"irreversible"`,
		"commitment_act": `"engagement_code_issuance"`, "magnitude_limit": "2", "magnitude_asserted": "1",
		"agreement_hash": `"` + hexHash("terms") + `"`, "open_mandate_hash": `"` + hexHash(jwt+"~") + `"`,
		"governance_basis": `{"pack_id":"anax-eu","pack_version":"0.1.0"}`,
		"crossing_id":      `"` + crossingID + `"`,
	}
}

func mustOpen(t testing.TB, token string, keys jose.KeySet) *mandate.Open {
	t.Helper()
	p, err := mandate.ParseOpen(token)
	if err != nil {
		t.Fatal(err)
	}
	open, err := p.Verify(keys)
	if err != nil {
		t.Fatal(err)
	}
	return open
}

func mustClosed(t testing.TB, token string, keys jose.KeySet, open *mandate.Open) *mandate.Closed {
	t.Helper()
	p, err := mandate.ParseClosed(token)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := p.Verify(keys, open)
	if err != nil {
		t.Fatal(err)
	}
	return closed
}

func mustAmount(t testing.TB, class string, n int64, currency string) commitment.Amount {
	t.Helper()
	c, err := commitment.ParseClass(class)
	if err != nil {
		t.Fatal(err)
	}
	a, err := commitment.NewAmount(c, commitment.Magnitude(n), commitment.Currency(currency))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// wantFault fails the test unless err is a Fault of this kind at this claim.
func wantFault(t testing.TB, err error, kind mandate.FaultKind, claim string) {
	t.Helper()
	f := (*mandate.Fault)(nil)
	if !errors.As(err, &f) {
		t.Fatalf("error %v, want a fault at %s", err, claim)
	}
	if f.Kind != kind || f.Claim != claim || f.Rule == "" {
		t.Errorf("fault %q, want %v at %s", f, kind, claim)
	}
}

func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
