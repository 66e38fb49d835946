package interoptest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// TestStatusListForAnother has @sd-jwt/jwt-status-list look up an Open of ours in a list of
// ours, before and after its revocation.
//
// covers GC-355
func TestStatusListForAnother(t *testing.T) {
	t.Parallel()
	needNode(t, "a status list, read by another")
	ctx, now := t.Context(), time.Unix(1_786_000_000, 0)
	db, err := sqlite.Open(ctx, sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ra, principal, agent := newSigner(t), newSigner(t), newSigner(t)
	r, err := registry.New(registry.Config{
		Store: db.Registry(), Signer: ra, Now: func() time.Time { return now }, URL: "https://ra.example",
	})
	if err != nil {
		t.Fatal(err)
	}
	const id, agentID = "urn:anax:principal:acme", "urn:anax:agent:acme"
	_, err = r.EnrolSelf(ctx, api.Enrol{
		PrincipalID: id, Name: "Acme", ClearanceIDHash: jcs.HexOf([]byte("c")), TrustBasis: "self_declared",
		Keys: []jose.Key{principal.Key()}, Agents: []mandate.Agent{{ID: agentID, Key: agent.Key()}},
		Credentials: []api.Credential{{Role: api.RolePrincipal, Hash: api.CredentialHash("p")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	open, err := mandate.OpenDraft{
		Issuer: id, Subject: agentID, IssuedAt: now, ExpiresAt: now.Add(time.Hour), ConfirmationKey: agent.Key(),
		Counterparties: mandate.AnyCounterparty(), Amount: commitment.Amount{Class: commitment.Irreversible, Magnitude: 1},
	}.Sign(principal)
	if err != nil {
		t.Fatal(err)
	}
	actor := registry.Actor{Role: api.RolePrincipal, PrincipalID: id}
	receipt, err := r.RegisterOpen(ctx, actor, api.RegisterOpen{Token: open.Full()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := mandate.ParseRegistration(receipt, jose.NewKeySet(ra.Key()))
	if err != nil {
		t.Fatal(err)
	}
	look := func(status int) {
		t.Helper()
		token, err := r.StatusList(ctx, g.StatusList.URI[len(g.StatusList.URI)-32:])
		if err != nil {
			t.Fatal(err)
		}
		out, code := node(t, "status.mjs", token, receipt, string(ra.Key().JWK()))
		type reading struct {
			Typ, Sub, URI                                      string
			IAT, Exp, TTL, Bits, Index, Status, Entries, Valid int64
		}
		var got reading
		if err := json.Unmarshal(out, &got); err != nil || code != 0 {
			t.Fatalf("status.mjs ends with %d: %v", code, err)
		}
		want := reading{
			Typ: "statuslist+jwt", Sub: g.StatusList.URI, URI: g.StatusList.URI, IAT: now.Unix(), Exp: now.Unix() + 60, TTL: 60,
			Bits: 1, Index: g.StatusList.Index, Status: int64(status), Entries: 1 << 17, Valid: 1 << 16,
		}
		if got != want {
			t.Errorf("read %+v, want %+v", got, want)
		}
	}
	look(0)
	if _, err := r.Revoke(ctx, actor, api.Revoke{Hash: g.OpenMandateHash}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	look(1)
}

func newSigner(t *testing.T) *jose.Signer {
	t.Helper()
	key, err := jose.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	s, err := jose.NewSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
