package mandate_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/mandate"
)

// The Open of the package comment and a Closed under it. Keys, signatures and hashes were
// made by Python 3: the keys as P-256 scalars from SHA-256 of a sentence, the signatures by
// its package cryptography, the bytes by json.dumps(sort_keys=True, separators=(',', ':'))
// and base64, the hashes by hashlib.
const (
	exampleOpen = "" +
		"eyJhbGciOiJFUzI1NiIsImtpZCI6IlBOcHBsaE5faUtXcTlwQXFXdG1YMF9wR2hKdFF5WDFacXMxRVlKSnU5dVUiLCJ0eXAiOiJk" +
		"YytzZC1qd3QifQ.eyJfc2QiOlsieWVKLWZtSUUzY2ZXQ1EzdjdnMlhJeFdVNGVFYllhUnVZWnNIZ3RNN0djQSJdLCJfc2RfYWxnI" +
		"joic2hhLTI1NiIsImF1ZCI6InVybjphbmF4OnZhOjAwMSIsImNuZiI6eyJqd2siOnsiY3J2IjoiUC0yNTYiLCJrdHkiOiJFQyIsI" +
		"ngiOiJWd1E3WXduSlhyRXJqRUVaUldhTWo0SHBtVkhHUTNWS1dFRTRRaFY4U1NNIiwieSI6IkNaUWVNQkdPcjk1U0ZiQ2lfVjRod" +
		"jVxb0wwMU81SVNvQ1N2MDN0Rjl2YzQifX0sImNvbW1pdG1lbnRfYWN0IjpbImVuZ2FnZW1lbnRfY29kZV9pc3N1YW5jZSJdLCJjb" +
		"21taXRtZW50X2NsYXNzIjoiaXJyZXZlcnNpYmxlIiwiZXhwIjoxNzg2MDg2NDAwLCJpYXQiOjE3ODYwMDAwMDAsImlzcyI6InVyb" +
		"jphbmF4OnByaW5jaXBhbDphY21lIiwicGVybWl0dGVkX2NvdW50ZXJwYXJ0aWVzIjoiKiIsInN1YiI6InVybjphbmF4OmFnZW50O" +
		"mZyb250LTAxIiwidmN0IjoibWFuZGF0ZS5hZ3JlZW1lbnQub3Blbi4xIn0.FahBD-Qk8xBppdCBeCo64MhkwcPMwMNAn26F5iLGL" +
		"P4QGLNL_6A7ynV5KejjWDHCwZdUriXe6OwUkRtLHFXxxw~"

	exampleLimit = "WyJVak9nUF82Q1pZeVN6Y3kwY2h4YURnIiwibWFnbml0dWRlX2xpbWl0Iiw1XQ"

	exampleClosed = "" +
		"eyJhbGciOiJFUzI1NiIsImtpZCI6IlhGeGdhTzlBbzNSbUZmMWpvTmRUX042MC1xVEpQMFA1YjMwZ0djREZseW8iLCJ0eXAiOiJk" +
		"YytzZC1qd3QifQ.eyJhZ3JlZW1lbnRfaGFzaCI6IjMyOWI4YjNkMDZjMmJhZWZiMWEwZTBmMGI2MzhhZDAxM2EyNTUwNGUwYWMxM" +
		"zU0ZjJjZWUwZGRmYmJlM2I0YjMiLCJhdWQiOiJ1cm46YW5heDpwcmluY2lwYWw6Ym9sdCIsImNvbW1pdG1lbnRfYWN0IjoiZW5nY" +
		"WdlbWVudF9jb2RlX2lzc3VhbmNlIiwiY29tbWl0bWVudF9jbGFzcyI6ImlycmV2ZXJzaWJsZSIsImNyb3NzaW5nX2lkIjoiN2YzY" +
		"zFhNTItNWQwZS00YjdhLTljNDEtMGE2ZjJkOWJlMDAxIiwiZXhwIjoxNzg2MDAxMDIwLCJnb3Zlcm5hbmNlX2Jhc2lzIjp7InBhY" +
		"2tfaWQiOiJhbmF4LWV1IiwicGFja192ZXJzaW9uIjoiMC4xLjAifSwiaWF0IjoxNzg2MDAwNDIwLCJpc3MiOiJ1cm46YW5heDphZ" +
		"2VudDpmcm9udC0wMSIsIm1hZ25pdHVkZV9hc3NlcnRlZCI6MSwibWFnbml0dWRlX2xpbWl0IjoyLCJub25jZSI6IlNiT1pfRUVrb" +
		"zJfRE1NUms4dko5a0EiLCJvcGVuX21hbmRhdGVfaGFzaCI6IjZlNzM2NDZlMDVlNDM1ZDhlODQ1ZGVmOTc0N2UxMDE3OTNmMjUyM" +
		"jA2YzllY2E1MDg5YzViMTdiYzM0Y2ZiNzMiLCJzaWduZXJfcm9sZSI6ImFnZW50Iiwic3ViIjoidXJuOmFuYXg6YWdlbnQ6ZnJvb" +
		"nQtMDEiLCJ2Y3QiOiJtYW5kYXRlLmFncmVlbWVudC5jbG9zZWQuMSJ9.E31KqrCulLoOkVfcnL-oWhlyrE9fFP9WFJ-EjKjMTCxR" +
		"LHcjxkiddUk0g9EXZqEm6X0QwjHpIBgBhAYf9vJ5gw~"

	examplePrincipal = `{"crv":"P-256","kty":"EC","x":"rPfCRFECTNWTqBGq7fQommSlnBZuu5KeWcrbfZATMwY","y":"uGAFXv6pxPzAU6jrdBZgYQwI8qCiSRMuHrrNnGik44M"}`

	exampleOpenHash   = "6e73646e05e435d8e845def9747e101793f252206c9eca5089c5b17bc34cfb73"
	exampleOpenSigned = "2fcd323256c935b28df3929c12d9c2ae9031acd3c2d3568f21dfc4bc476a7b67"
	exampleOpenFull   = "8180c2b5cd90eddd220722b346847443be245e6300f7df9912a87416683d0795"
)

func exampleKeys() jose.KeySet {
	keys, err := jose.ParseJWKS([]byte(`{"keys":[` + examplePrincipal + `]}`))
	if err != nil {
		log.Fatal(err)
	}
	return keys
}

func exampleVerified(token string) *mandate.Open {
	presented, err := mandate.ParseOpen(token)
	if err != nil {
		log.Fatal(err)
	}
	open, err := presented.Verify(exampleKeys())
	if err != nil {
		log.Fatal(err)
	}
	return open
}

// What a counterparty sees of an Open at P1, and what the RA sees, to whom the limit is
// told.
func ExampleParseOpen() {
	for _, token := range []string{exampleOpen, exampleOpen + exampleLimit + "~"} {
		open := exampleVerified(token)
		amount, disclosed, err := open.Amount()
		fmt.Println(open.Issuer(), "lets", open.Subject(), "close", open.Acts())
		fmt.Println("up to", amount.Magnitude, amount.Unit(), disclosed, err)
		fmt.Println("open_mandate_hash", open.OpenHash())
		fmt.Println("token_sha256     ", open.TokenHash())
	}
	// Output:
	// urn:anax:principal:acme lets urn:anax:agent:front-01 close [engagement_code_issuance]
	// up to 0 actions false <nil>
	// open_mandate_hash 6e73646e05e435d8e845def9747e101793f252206c9eca5089c5b17bc34cfb73
	// token_sha256      6e73646e05e435d8e845def9747e101793f252206c9eca5089c5b17bc34cfb73
	// urn:anax:principal:acme lets urn:anax:agent:front-01 close [engagement_code_issuance]
	// up to 5 actions true <nil>
	// open_mandate_hash 6e73646e05e435d8e845def9747e101793f252206c9eca5089c5b17bc34cfb73
	// token_sha256      8180c2b5cd90eddd220722b346847443be245e6300f7df9912a87416683d0795
}

// A Closed verifies under the key that its Open gives to the agent; no other is needed.
func ExampleParseClosed() {
	presented, err := mandate.ParseClosed(exampleClosed)
	if err != nil {
		log.Fatal(err)
	}
	closed, err := presented.Verify(jose.KeySet{}, exampleVerified(exampleOpen))
	if err != nil {
		log.Fatal(err)
	}
	limit, asserted, err := closed.Amounts()
	fmt.Println(closed.SignerRole(), closed.Issuer(), "commits to", closed.Act(), "for", closed.Audience())
	fmt.Println("asserts", asserted.Magnitude, "of a draw of", limit.Magnitude, err)
	fmt.Println("agreement_hash     ", closed.AgreementHash())
	fmt.Println("closed_mandate_hash", closed.TokenHash())
	// Output:
	// agent urn:anax:agent:front-01 commits to engagement_code_issuance for urn:anax:principal:bolt
	// asserts 1 of a draw of 2 <nil>
	// agreement_hash      329b8b3d06c2baefb1a0e0f0b638ad013a25504e0ac1354f2cee0ddfbbe3b4b3
	// closed_mandate_hash 875f471ab260820b1aed950e38cbaaaae857434fd413163b811b0d2033355ebc
}

// TestPackageExample: what the package comment shows is the example above, to the byte.
//
// covers GC-141, GC-164, GC-207
func TestPackageExample(t *testing.T) {
	open := exampleVerified(exampleOpen)
	if open.OpenHash() != exampleOpenHash || open.SignedHash() != exampleOpenSigned || open.HighS() {
		t.Errorf("hashes %s, %s", open.OpenHash(), open.SignedHash())
	}
	if full := exampleVerified(exampleOpen + exampleLimit + "~"); full.TokenHash() != exampleOpenFull {
		t.Errorf("with the limit %s", full.TokenHash())
	}
	src, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.NewReplacer("\n", "", "//", "", "\t", "", " ", "").Replace(string(src))
	payload, err := jose.DecodeBase64(strings.Split(exampleOpen, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	for name, what := range map[string]string{
		"token": exampleOpen, "key": examplePrincipal, "payload": string(payload), "disclosure": exampleLimit,
		"open_mandate_hash": exampleOpenHash, "signed_sha256": exampleOpenSigned, "token_sha256": exampleOpenFull,
	} {
		if !strings.Contains(shown, what) {
			t.Errorf("the package comment does not show the %s", name)
		}
	}
}
