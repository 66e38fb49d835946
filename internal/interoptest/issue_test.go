package interoptest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// foreign is what issue.mjs prints.
type foreign struct {
	JWK, AgentJWK jose.Key
	At            time.Time
	Open          string
	Disclosure    string
	Closed        string
	Hashes        [3]string // open_mandate_hash, closed_mandate_hash, signed_sha256 of the Closed
}

func issue(t *testing.T, spelling string) foreign {
	t.Helper()
	out, code := node(t, "issue.mjs", spelling)
	var v struct {
		JWK        json.RawMessage `json:"jwk"`
		AgentJWK   json.RawMessage `json:"agent_jwk"`
		At         int64           `json:"at"`
		Open       string          `json:"open"`
		Disclosure string          `json:"disclosure"`
		Closed     string          `json:"closed"`
		OpenHash   string          `json:"open_mandate_hash"`
		ClosedHash string          `json:"closed_mandate_hash"`
		SignedHash string          `json:"signed_sha256"`
	}
	if err := json.Unmarshal(out, &v); err != nil || code != 0 {
		t.Fatalf("issue.mjs ends with %d: %v", code, err)
	}
	return foreign{
		JWK: publicKey(t, v.JWK), AgentJWK: publicKey(t, v.AgentJWK), At: time.Unix(v.At, 0),
		Open: v.Open, Disclosure: v.Disclosure, Closed: v.Closed,
		Hashes: [3]string{v.OpenHash, v.ClosedHash, v.SignedHash},
	}
}

func publicKey(t *testing.T, jwk []byte) jose.Key {
	t.Helper()
	v, err := jcs.Parse(jwk)
	if err != nil {
		t.Fatal(err)
	}
	k, err := jose.ParseJWK(v)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestMandatesOfAnotherIssuer verifies mandates that @sd-jwt/core issued and node:crypto
// signed, with s in either half of the group: half of what such a signer makes is high.
//
// covers GC-141, GC-145, GC-146, GC-164
func TestMandatesOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	needNode(t, "mandates of another issuer")
	for _, spelling := range []string{"low", "high", "any"} {
		t.Run(spelling, func(t *testing.T) {
			f := issue(t, spelling)
			open := verifyOpen(t, f)
			if _, disclosed, err := open.Amount(); err != nil || disclosed {
				t.Errorf("the withheld limit: disclosed %v, %v", disclosed, err)
			}
			closed := verifyClosed(t, f, open)
			if spelling != "any" && (open.HighS() != (spelling == "high") || closed.HighS() != open.HighS()) {
				t.Errorf("high s: Open %v, Closed %v", open.HighS(), closed.HighS())
			}
			got := [3]string{string(open.OpenHash()), string(closed.TokenHash()), string(closed.SignedHash())}
			if diff := cmp.Diff(f.Hashes, got); diff != "" {
				t.Errorf("hashes (- issuer, + here):\n%s", diff)
			}
		})
	}
}

func verifyOpen(t *testing.T, f foreign) *mandate.Open {
	t.Helper()
	presented, err := mandate.ParseOpen(f.Open)
	if err != nil {
		t.Fatal(err)
	}
	open, err := presented.Verify(jose.NewKeySet(f.JWK))
	if err != nil {
		t.Fatal(err)
	}
	key, ok := open.ConfirmationKey()
	if !ok || !key.Same(f.AgentJWK) || open.Expired(f.At) || !open.PermitsAct("engagement_code_issuance") || open.PermitsAct("other") {
		t.Error("cnf, exp or commitment_act is read as another")
	}
	full, err := presented.Disclose(f.Disclosure)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := full.Verify(jose.NewKeySet(f.JWK))
	if err != nil {
		t.Fatal(err)
	}
	amount, disclosed, err := whole.Amount()
	if err != nil || !disclosed || amount.Class.String() != "irreversible" || amount.Magnitude != 5 {
		t.Errorf("the disclosed limit: %v of %v, %v", amount.Magnitude, amount.Class, err)
	}
	if whole.OpenHash() != open.OpenHash() {
		t.Error("disclosing changes the open_mandate_hash")
	}
	return open
}

func verifyClosed(t *testing.T, f foreign, open *mandate.Open) *mandate.Closed {
	t.Helper()
	presented, err := mandate.ParseClosed(f.Closed)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := presented.Verify(jose.KeySet{}, open)
	if err != nil {
		t.Fatal(err)
	}
	limit, asserted, err := closed.Amounts()
	if err != nil || limit.Magnitude != 2 || asserted.Magnitude != 1 {
		t.Errorf("amounts %v and %v, %v", limit.Magnitude, asserted.Magnitude, err)
	}
	if closed.Audience() != "urn:anax:principal:globex" || closed.Act() != "engagement_code_issuance" || closed.SignerRole() != mandate.RoleAgent {
		t.Error("aud, commitment_act or signer_role is read as another")
	}
	return closed
}

// TestMandatesOfAnotherIssuerRefused takes the same tokens with one thing wrong.
//
// covers GC-164, GC-210
func TestMandatesOfAnotherIssuerRefused(t *testing.T) {
	t.Parallel()
	needNode(t, "mandates of another issuer")
	f, other := issue(t, "any"), issue(t, "any")
	open := verifyOpen(t, f)
	refused := func(name, claim string, err error) {
		t.Helper()
		if bad := (*mandate.Fault)(nil); !errors.As(err, &bad) || bad.Kind != mandate.Invalid || bad.Claim != claim {
			t.Errorf("%s: %v, want a fault of %s", name, err, claim)
		}
	}
	presented, err := mandate.ParseOpen(f.Open)
	if err != nil {
		t.Fatal(err)
	}
	_, err = presented.Verify(jose.NewKeySet(other.JWK))
	refused("keys of another principal", "kid", err)
	namesake := other.JWK
	namesake.Kid = f.JWK.Name()
	_, err = presented.Verify(jose.NewKeySet(namesake))
	refused("another key of the same name", "signature", err)
	_, err = presented.Disclose(other.Disclosure)
	refused("disclosure of another Open", "disclosure", err)

	stranger, err := mandate.ParseClosed(other.Closed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stranger.Verify(jose.KeySet{}, open)
	refused("Closed under another Open", "open_mandate_hash", err)
	header, rest, _ := strings.Cut(f.Closed, ".")
	payload, _, _ := strings.Cut(rest, ".")
	_, otherRest, _ := strings.Cut(other.Closed, ".")
	_, signature, _ := strings.Cut(otherRest, ".")
	borrowed, err := mandate.ParseClosed(header + "." + payload + "." + signature)
	if err != nil {
		t.Fatal(err)
	}
	_, err = borrowed.Verify(jose.KeySet{}, open)
	refused("signature of another Closed", "signature", err)
}
