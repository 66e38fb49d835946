package mandate_test

import (
	"testing"

	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
	"github.com/google/go-cmp/cmp"
)

// An Open and a Closed under it, made by node's crypto module and JSON.stringify: other
// member order, kid after typ, limit withheld, typ mandate+sd-jwt and a high s on the
// Closed. Hashes are node's createHash("sha256") over the strings.
const (
	nodeOpen = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImRjK3NkLWp3dCIsImtpZCI6IlhDczZnX2xzZGRHcTVYbkI5amg1QUhxdVRkYkxJLW5nRWRzN2tXU1lpM0EifQ.eyJhdWQiOiJ1cm46YW5heDp2YTowMDEiLCJjbmYiOnsiandrIjp7ImNydiI6IlAtMjU2Iiwia3R5IjoiRUMiLCJ4IjoiSVdvMmZvOE1pSDVUNW1OWnItMV9LYmhLdmRobW9mTjhmY3EwdnVsemNfcyIsInkiOiItSzd3ZXU0NUFpS1RjOVQwS2xFZDJZbTJVMHkwWUhWcGpOTUhwMHcwTHU0In19LCJjb21taXRtZW50X2FjdCI6WyJlbmdhZ2VtZW50X2NvZGVfaXNzdWFuY2UiLCJwcm9wb3NhbF93aXRoaW5fdGFyaWZmIl0sImNvbW1pdG1lbnRfY2xhc3MiOiJpcnJldmVyc2libGUiLCJleHAiOjE3ODYwODY0MDAsImlhdCI6MTc4NjAwMDAwMCwiaXNzIjoidXJuOmFuYXg6cHJpbmNpcGFsOmFjbWUiLCJwZXJtaXR0ZWRfY291bnRlcnBhcnRpZXMiOlsidXJuOmFuYXg6cHJpbmNpcGFsOmJvbHQiXSwic3ViIjoidXJuOmFuYXg6YWdlbnQ6YWNtZS1mcm9udCIsInZjdCI6Im1hbmRhdGUuYWdyZWVtZW50Lm9wZW4uMSIsIl9zZCI6WyJzN1duQnBldFN3NC1uellISVRITDFZZjhvTmk0WnRxNVpKSmhlbGdaQVZFIl0sIl9zZF9hbGciOiJzaGEtMjU2In0.C5ObOVTjFl3KE84SrvKVO8BoI4e5Jay_2uQLTlIOBOkDu8B6K38ejCqdlAiBPMOmvus__8ej_YKVtJfceWvjJw~"

	nodeDisclosure = "WyJDTHF2R0N0MEZIRm5iY2pIVTN6UTN3IiwibWFnbml0dWRlX2xpbWl0Iiw1XQ"

	nodeClosed = "eyJhbGciOiJFUzI1NiIsInR5cCI6Im1hbmRhdGUrc2Qtand0Iiwia2lkIjoiSVRpajlDYVoyaWM5V2EyMDU3bkFZekRXYU85c3NmNlkxSl9fWVd3OFhMWSJ9.eyJ2Y3QiOiJtYW5kYXRlLmFncmVlbWVudC5jbG9zZWQuMSIsImlzcyI6InVybjphbmF4OmFnZW50OmFjbWUtZnJvbnQiLCJzdWIiOiJ1cm46YW5heDphZ2VudDphY21lLWZyb250IiwiYXVkIjoidXJuOmFuYXg6cHJpbmNpcGFsOmJvbHQiLCJpYXQiOjE3ODYwMDA0MjAsImV4cCI6MTc4NjAwMTAyMCwibm9uY2UiOiJTYk9aX0VFa28yX0RNTVJrOHZKOWtBIiwic2lnbmVyX3JvbGUiOiJhZ2VudCIsImNvbW1pdG1lbnRfY2xhc3MiOiJpcnJldmVyc2libGUiLCJjb21taXRtZW50X2FjdCI6ImVuZ2FnZW1lbnRfY29kZV9pc3N1YW5jZSIsIm1hZ25pdHVkZV9saW1pdCI6MiwibWFnbml0dWRlX2Fzc2VydGVkIjoxLCJhZ3JlZW1lbnRfaGFzaCI6IjUxZDIzNjFmNGZhZWEzYmM4ZjlmYWNkYmM3ZDk5YWJiNTU1NTk2YTJlNTFmN2IyNWZkM2I0MWM5MzU4N2U2MTYiLCJvcGVuX21hbmRhdGVfaGFzaCI6IjhjNDBiNjRiN2E2ZmJkYWM2M2YyNTI3NjQyOTFjYjNjZDE2NDY4MTk2NjAyY2Q0ZjRhNDg3MWJkMWU2ZTBjMmMiLCJzZF9oYXNoIjoiakVDMlMzcHZ2YXhqOGxKMlFwSExQTkZrYUJsbUFzMVBTa2h4dlI1dURDdyIsImdvdmVybmFuY2VfYmFzaXMiOnsicGFja19pZCI6ImFuYXgtZXUiLCJwYWNrX3ZlcnNpb24iOiIwLjEuMCJ9LCJjcm9zc2luZ19pZCI6ImI3ZDFjMGRlLTExMTEtNDIyMi04MzMzLTQ0NDQ1NTU1NjY2NiJ9.FLNMLtYY77Z9-_Jr2HIQ0fnLyX4Z6dBYVX4iY7cCT0f68Fe6WT4BsRAPERp9-64a9ZVZSiza_JJ-7vO-I_hJMA~"

	nodePrincipalJWKS = `{"keys":[{"kty":"EC","crv":"P-256","x":"cbUM0jxSqhy6bs8ffdbs4bZD764uyX0s4Wm2YinM8OI","y":"qX3Foq5GLa2sMnYHqyE8Gn3aqNcwpLf3CXbbEVzO0tc"}]}`
	nodeAgentID       = "ITij9CaZ2ic9Wa2057nAYzDWaO9ssf6Y1J__YWw8XLY" // thumbprint

	nodeOpenHash     = "8c40b64b7a6fbdac63f252764291cb3cd16468196602cd4f4a4871bd1e6e0c2c"
	nodeOpenFull     = "a51888dfbff563ecc9e76237423e5206820df7a5d7f9abf1bdb928d8ffd69364"
	nodeOpenSigned   = "b67e526ccad238ab29523d49dbaaa45be1e2ba65c807841a65f84c4204d87f59"
	nodeClosedHash   = "070c288d3d75a4588c8ab2581f07b8bfeb09bba15e7619b21483464b15f7c554"
	nodeClosedSigned = "a943316bd3e305884e3d6f2a5cd6e66926bf9d26f2b7645809f33529fc955263"
	nodeTerms        = "51d2361f4faea3bc8f9facdbc7d99abb555596a2e51f7b25fd3b41c93587e616" // sha256("terms")
)

func nodeKeys(t testing.TB) jose.KeySet {
	t.Helper()
	keys, err := jose.ParseJWKS([]byte(nodePrincipalJWKS))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// covers GC-141, GC-149, GC-157, GC-163, GC-164, GC-207
func TestMandatesOfAnotherImplementation(t *testing.T) {
	open := mustOpen(t, nodeOpen, nodeKeys(t))
	if open.OpenHash() != nodeOpenHash || open.TokenHash() != nodeOpenHash || open.SignedHash() != nodeOpenSigned || open.HighS() {
		t.Errorf("hashes %s %s %s", open.OpenHash(), open.TokenHash(), open.SignedHash())
	}
	if cnf, ok := open.ConfirmationKey(); !ok || cnf.ID != nodeAgentID {
		t.Errorf("cnf %q", cnf.ID)
	}
	if amount, disclosed, err := open.Amount(); err != nil || disclosed || amount.Class.String() != "irreversible" {
		t.Errorf("amount %v, %v, %v", amount, disclosed, err)
	}
	closed := mustClosed(t, nodeClosed, jose.KeySet{}, open)
	if closed.TokenHash() != nodeClosedHash || closed.SignedHash() != nodeClosedSigned || !closed.HighS() {
		t.Errorf("hashes %s %s", closed.TokenHash(), closed.SignedHash())
	}
	got := []any{closed.Audience(), closed.Act(), closed.AgreementHash(), closed.CrossingID(), closed.Basis(), closed.Nonce()}
	want := []any{bolt, "engagement_code_issuance", jcs.Hex256(nodeTerms), crossingID,
		mandate.GovernanceBasis{PackID: "anax-eu", PackVersion: "0.1.0"}, "SbOZ_EEko2_DMMRk8vJ9kA"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	limit, asserted, err := closed.Amounts()
	if err != nil || limit.Magnitude != 2 || asserted.Magnitude != 1 {
		t.Errorf("amounts %v, %v, %v", limit, asserted, err)
	}

	full := mustOpen(t, nodeOpen+nodeDisclosure+"~", nodeKeys(t))
	if amount, disclosed, err := full.Amount(); err != nil || !disclosed || amount.Magnitude != 5 {
		t.Errorf("amount %v, %v, %v", amount, disclosed, err)
	}
	if full.TokenHash() != nodeOpenFull || full.OpenHash() != nodeOpenHash {
		t.Errorf("hashes %s %s", full.TokenHash(), full.OpenHash())
	}
	// sd_hash is of the Open as it was presented, so this presentation is another one.
	p, err := mandate.ParseClosed(nodeClosed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Verify(jose.KeySet{}, full)
	wantFault(t, err, mandate.Invalid, "sd_hash")
}
