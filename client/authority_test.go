package client_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const vaSeal = "canal-mf0z8k00-00112233aabb"

func vaSigner(t *testing.T) *jose.Signer {
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

func vaProjection() api.Projection {
	return api.Projection{
		CrossingID: "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001", ChainID: chain.ID("urn:x:a", "urn:x:b"),
		Block: crossing.Block{
			SealID: vaSeal, Seal: jcs.HexOf([]byte(`{"a":1}`)), Position: chain.Genesis(),
			Basis:    mandate.GovernanceBasis{PackID: "pack", PackVersion: "1"},
			SealedAt: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), VerifyURL: "https://verify.example/?id=" + vaSeal,
		},
	}
}

func vaSign(t *testing.T, s *jose.Signer, typ string, p api.Projection) string {
	t.Helper()
	jws, err := jose.SignCompact(s, typ, p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return jws
}

// answering returns an authority client whose server says body to everything.
func answering(t *testing.T, keys jose.KeySet, status int, body string) *client.Authority {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{BaseURL: server.URL, HTTP: patient(), Keys: keys, Credentials: client.Credentials{Publisher: "credential"}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Authority()
}

// TestLyingAuthority: nothing that the pinned key has not signed is believed.
//
// covers GC-326, GC-327, GC-372
func TestLyingAuthority(t *testing.T) {
	va, stranger := vaSigner(t), vaSigner(t)
	record, err := jcs.Parse([]byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	honest := func(jws string) string {
		checks := api.Checks{Resolves: api.True, SealMatches: api.True, ChainConsistent: api.True, BasisPresent: api.True, NotSuperseded: api.True, ChainPositionValid: api.True}
		return strings.Replace(string(vaProjection().Bytes()), "{",
			`{"checks":`+string(checks.Bytes())+`,"verified_by":"VA-001","projection_jws":"`+jws+`",`, 1)
	}
	signed := vaSign(t, va, api.ProjectionType, vaProjection())
	good := honest(signed)
	other := vaProjection()
	other.Block.Basis.PackVersion = "2"
	spliced := vaSign(t, va, api.ProjectionType, other)
	spliced = signed[:strings.LastIndex(signed, ".")] + spliced[strings.LastIndex(spliced, "."):]
	request := api.VerifyRequest{SealID: vaSeal, Record: record}
	byCrossing := api.VerifyRequest{CrossingID: vaProjection().CrossingID, Record: record}
	for _, c := range []struct {
		name string
		req  api.VerifyRequest
		body string
		ok   bool
	}{
		{"as it is", request, good, true},
		{"by crossing_id", byCrossing, good, true},
		{"no signature", request, honest(""), false},
		{"signature of another token", request, honest(spliced), false},
		{"another key", request, honest(vaSign(t, stranger, api.ProjectionType, vaProjection())), false},
		{"another type", request, honest(vaSign(t, va, api.PublicationType, vaProjection())), false},
		{"changed after it was signed", request, strings.Replace(good, `"pack_version":"1"`, `"pack_version":"2"`, 1), false},
		{"another seal than asked", api.VerifyRequest{SealID: "canal-mf0z8k00-000000000000", Record: record}, good, false},
		{"another crossing than asked", api.VerifyRequest{CrossingID: "00000000-0000-4000-8000-000000000000", Record: record}, good, false},
		{"nothing was asked", api.VerifyRequest{Record: record}, good, false},
		{"seal_matches without a record", api.VerifyRequest{SealID: vaSeal}, good, false},
		{"seal_matches false for the right record", request, strings.Replace(good, `"seal_matches":true`, `"seal_matches":false`, 1), false},
		{"seal_matches null for a record", request, strings.Replace(good, `"seal_matches":true`, `"seal_matches":null`, 1), false},
		{"no JSON", request, "<html>", false},
	} {
		result, err := answering(t, jose.NewKeySet(va.Key()), 200, c.body).Verify(t.Context(), c.req)
		if c.ok {
			if err != nil || result.Projection.Block.SealID != vaSeal {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if result != nil || !errors.Is(err, &api.Error{Code: api.CodeUnavailable}) {
			t.Errorf("%s: a result %v, error %v", c.name, result != nil, err)
		}
	}
	if _, err := answering(t, jose.KeySet{}, 200, good).Verify(t.Context(), request); !errors.Is(err, client.ErrUnverified) {
		t.Errorf("without pinned keys: %v", err)
	}
	unknown := `{"checks":` + string(api.Checks{}.Bytes()) + `,"verified_by":"VA-001"}`
	if r, err := answering(t, jose.KeySet{}, 200, unknown).Verify(t.Context(), request); err != nil || r.Checks.Resolves != api.False {
		t.Errorf("unknown: %+v, %v", r, err)
	}
	limited := string((&api.Error{Code: "RATE_LIMITED"}).Bytes())
	if _, err := answering(t, jose.KeySet{}, 429, limited).Verify(t.Context(), request); !errors.Is(err, &api.Error{Code: "RATE_LIMITED"}) {
		t.Errorf("limited: %v", err)
	}
}

func TestLyingAcknowledgement(t *testing.T) {
	va, stranger := vaSigner(t), vaSigner(t)
	p := api.Publication{
		Projection: vaProjection(), Role: crossing.Initiator, InitiatorAgent: "urn:x:a", ResponderAgent: "urn:x:b", Signature: "a.b.c",
	}
	other := vaProjection()
	other.Block.Basis.PackVersion = "2"
	good := api.Published{CrossingID: p.Projection.CrossingID, Role: crossing.Initiator, ProjectionJWS: vaSign(t, va, api.ProjectionType, p.Projection)}
	for name, change := range map[string]func(*api.Published){
		"another crossing":   func(a *api.Published) { a.CrossingID = "00000000-0000-4000-8000-000000000000" },
		"another role":       func(a *api.Published) { a.Role = crossing.Responder },
		"another key":        func(a *api.Published) { a.ProjectionJWS = vaSign(t, stranger, api.ProjectionType, p.Projection) },
		"another projection": func(a *api.Published) { a.ProjectionJWS = vaSign(t, va, api.ProjectionType, other) },
		"no signature":       func(a *api.Published) { a.ProjectionJWS = "a.b.c" },
	} {
		answer := good
		change(&answer)
		_, err := answering(t, jose.NewKeySet(va.Key()), 200, string(answer.Bytes())).Publish(t.Context(), p.Bytes())
		if !errors.Is(err, client.ErrUnverified) || !errors.Is(err, &api.Error{Code: api.CodeUnavailable}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := answering(t, jose.NewKeySet(va.Key()), 200, string(good.Bytes()))
	if answer, err := c.Publish(t.Context(), p.Bytes()); err != nil || string(answer) != string(good.Bytes()) {
		t.Errorf("as it is: %s, %v", answer, err)
	}
	if _, err := c.Publish(t.Context(), []byte("{}")); !errors.Is(err, &api.Error{Code: api.CodeMalformed}) {
		t.Errorf("no publication: %v", err)
	}
	missing := string((&api.Error{Code: api.CodePredecessorMissing}).Bytes())
	if _, err := answering(t, jose.KeySet{}, 409, missing).Publish(t.Context(), p.Bytes()); !errors.Is(err, &api.Error{Code: api.CodePredecessorMissing}) {
		t.Errorf("missing predecessor: %v", err)
	}
	enrolled := api.RegistryEnrolled{VerifiedBy: "VA-001", BaseURL: "https://verify.example/", RegistryKey: stranger.Key().ID}
	req := api.EnrolRegistry{Secret: "AAAAAAAAAAAAAAAAAAAAAA", Key: va.Key(), PrincipalID: "urn:anax:principal:third", URL: "https://ra.example"}
	if _, err := answering(t, jose.KeySet{}, 200, string(enrolled.Bytes())).EnrolRegistry(t.Context(), req); !errors.Is(err, client.ErrUnverified) {
		t.Errorf("enrolled another key: %v", err)
	}
}
