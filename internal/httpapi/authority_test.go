package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/chain"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/crossing"
	"github.com/bindery/bindery/internal/authority"
	"github.com/bindery/bindery/internal/httpapi"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/internal/store/sqlstore"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

const (
	crossingOne = "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001"
	sealOne     = "canal-mf0z8k00-00112233aabb"
	// The record and its joint seal, hashed with Python as in package authority's tests.
	record     = `{"a2a_context":{"artifact_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","context_id":"context-1","task_id":"task-1"},"agreement_hash":"51d2361f4faea3bc8f9facdbc7d99abb555596a2e51f7b25fd3b41c93587e616","commitment_act":"engagement_code_issuance","commitment_class":"irreversible","created_at":"2026-09-01T11:58:00Z","crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","magnitude_asserted":1,"parties":[{"agc_level":3,"agent_id":"urn:anax:agent:trust","clearance_id_hash":"547060e3a88d9f94b0fb1c5c4a1c4c7950e51a8d495e581c56f92f1d665d7617","closed_mandate_hash":"a2416e5f10407150601a501dd8ca765146dfecb54b3d9e602165cef1112df658","governance_basis":{"pack_id":"pack-trust","pack_version":"1.2.0"},"open_mandate_hash":"5d31e0f293fc240775caafb5f5b8879a3a6f1c7cab22f6a9cf996942f76d8efd","principal_id":"urn:anax:principal:trust","role":"initiator","signer_role":"agent","trust_basis":"self_declared"},{"agc_level":3,"agent_id":"urn:anax:agent:anax","clearance_id_hash":"fc7c018da0838682b09ebb30fe31f25f0d7a0ed08cd43607fdd4c20f487aabcc","closed_mandate_hash":"74006cc7cacab93559487e81ef72f7edea798c37cec1a1d5e5b36795e4c5e125","governance_basis":{"pack_id":"pack-anax","pack_version":"1.2.0"},"open_mandate_hash":"48f48dc548c8155c59d80d82964cb2d141d04507e6ea06ddffdc647a88015a81","principal_id":"urn:anax:principal:anax","role":"responder","signer_role":"agent","trust_basis":"self_declared"}],"record":"anax-bilateral-crossing-v1","timestamps":{"mandates_verified_at":"2026-09-01T11:59:00Z","sealed_at":"2026-09-01T12:00:00Z","terms_agreed_at":"2026-09-01T11:59:30Z"}}`
	recordSeal = "9d1890ad73042c722716153a2d43721b06e0c2e0d84ed2420b4e8573e83bf762"

	unknown = `{"checks":{"basis_present":null,"chain_consistent":null,"chain_position_valid":null,"not_superseded":null,"resolves":false,"seal_matches":null},"verified_by":"VA-001"}`
)

var start = time.Date(2026, 9, 1, 12, 0, 5, 0, time.UTC)

// A site is a listener with an authority alone, and an RA and two publishers elsewhere.
type site struct {
	url      string
	host     string
	va       *authority.Authority
	vaKey    jose.Key
	ra       *jose.Signer
	db       *sqlstore.DB
	requests *http.Client
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

func newSite(t *testing.T, rate authority.Rate, rest http.Handler) *site {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlitetest.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	server := httptest.NewUnstartedServer(nil)
	host := server.Listener.Addr().String()
	signer := newSigner(t)
	va, err := authority.New(authority.Config{
		Store: db.Authority(), Signer: signer, Name: "VA-001", BaseURL: "http://" + host + "/", RateLimit: rate,
		Now: func() time.Time { return start },
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler, err = httpapi.NewPublic(httpapi.PublicConfig{Hosts: []string{host}, Authority: va, Else: rest})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	return &site{url: server.URL, host: host, va: va, vaKey: signer.Key(), ra: newSigner(t), db: db, requests: patient(server)}
}

// client is a publisher's connection, with the authority's key pinned by its thumbprint.
func (s *site) client(t *testing.T, credential string) *client.Authority {
	t.Helper()
	keys, err := client.PinnedKeys(t.Context(), s.url, s.vaKey.ID)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{BaseURL: s.url, Keys: keys, HTTP: s.requests, Credentials: client.Credentials{Publisher: credential}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Authority()
}

// publication is the crossing as the responder publishes it, complete.
func (s *site) publication(t *testing.T, by *jose.Signer) api.Publication {
	t.Helper()
	const us, them = "urn:anax:agent:anax", "urn:anax:agent:trust"
	receipt, err := mandate.SpendReceipt{
		Triple: mandate.Triple{
			CrossingID: crossingOne, InitiatorToken: jcs.HexOf([]byte("i")), ResponderToken: jcs.HexOf([]byte("r")),
		},
		Effector: "urn:anax:principal:anax", State: mandate.Spent, At: start,
	}.Sign(s.ra)
	if err != nil {
		t.Fatal(err)
	}
	p := api.Publication{
		Role: crossing.Responder, InitiatorAgent: them, ResponderAgent: us, Receipts: []string{receipt},
		Projection: api.Projection{
			CrossingID: crossingOne, ChainID: chain.ID(us, them),
			Block: crossing.Block{
				SealID: sealOne, Seal: recordSeal, Position: chain.Genesis(),
				Basis:    mandate.GovernanceBasis{PackID: "pack-anax", PackVersion: "1.2.0"},
				SealedAt: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), VerifyURL: s.va.VerifyURL(sealOne),
			},
		},
	}
	if p.Signature, err = jose.SignCompact(by, api.PublicationType, p.Statement()); err != nil {
		t.Fatal(err)
	}
	return p
}

// join enrols an RA with a code and the publisher with a grant of the pinned one, over the wire.
func (s *site) join(t *testing.T, credential string, by *jose.Signer) {
	t.Helper()
	secret, err := s.va.NewCode(t.Context(), authority.CodeTerms{})
	if err != nil {
		t.Fatal(err)
	}
	c := s.client(t, credential)
	enrolled, err := c.EnrolRegistry(t.Context(), api.EnrolRegistry{Secret: secret, Key: newSigner(t).Key(), PrincipalID: "urn:anax:principal:third", URL: "https://ra.example"})
	if err != nil || enrolled.VerifiedBy != "VA-001" || enrolled.BaseURL != s.url+"/" {
		t.Fatalf("enrolled %+v, %v", enrolled, err)
	}
	if err := s.va.PinRegistry(t.Context(), s.ra.Key()); err != nil { // which both parties have
		t.Fatal(err)
	}
	grant, err := mandate.PublisherGrant{
		PrincipalID: "urn:anax:principal:anax", Key: by.Key(), CredentialHash: api.CredentialHash(credential), At: start,
	}.Sign(s.ra)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddPublisher(t.Context(), grant); err != nil {
		t.Fatal(err)
	}
}

// covers GC-005, GC-084, GC-088, GC-093, GC-133, GC-372
func TestAuthorityRoundTrip(t *testing.T) {
	s := newSite(t, authority.Rate{}, nil)
	by := newSigner(t)
	c := s.client(t, "credential")
	p := s.publication(t, by)
	if _, err := c.Publish(t.Context(), p.Bytes()); !errors.Is(err, &api.Error{Code: api.CodeUnauthenticated}) {
		t.Fatalf("before enrolment: %v", err)
	}
	s.join(t, "credential", by)
	answer, err := c.Publish(t.Context(), p.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Publish(t.Context(), p.Bytes())
	if err != nil || !bytes.Equal(answer, again) {
		t.Fatalf("again: %s, %v", again, err)
	}
	other := p
	other.Receipts = nil
	_, err = c.Publish(t.Context(), other.Bytes())
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != api.CodeMalformed || e.Pointer != "/receipts" {
		t.Fatalf("without receipts: %v", err)
	}

	rec, err := jcs.Parse([]byte(record))
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range []api.VerifyRequest{{SealID: sealOne}, {CrossingID: crossingOne}, {SealID: sealOne, Record: rec}} {
		result, err := s.client(t, "").Verify(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		want := api.Checks{Resolves: api.True, ChainConsistent: api.True, BasisPresent: api.True, NotSuperseded: api.True, ChainPositionValid: api.True}
		if req.Record.Type() != jcs.Absent {
			want.SealMatches = api.True
		}
		if result.Checks != want || !bytes.Equal(result.Projection.Bytes(), p.Projection.Bytes()) || result.PublisherJWS != p.Signature {
			t.Errorf("verdict %s", result.Raw)
		}
	}
	result, err := c.Verify(t.Context(), api.VerifyRequest{SealID: "canal-x-000000000000"})
	if err != nil || result.Checks != (api.Checks{Resolves: api.False}) || string(result.Raw) != unknown {
		t.Fatalf("unknown: %+v, %v", result, err)
	}
}

func (s *site) do(t *testing.T, method, target, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := s.requests.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// covers GC-084, GC-087, GC-092, GC-093, GC-116, GC-122, GC-325
func TestVerifyRoutes(t *testing.T) {
	s := newSite(t, authority.Rate{}, nil)
	by := newSigner(t)
	s.join(t, "credential", by)
	if _, err := s.client(t, "credential").Publish(t.Context(), s.publication(t, by).Bytes()); err != nil {
		t.Fatal(err)
	}
	_, want := s.do(t, "POST", "/v1/crossing:verify", `{"seal_id":"`+sealOne+`"}`)
	if !json.Valid([]byte(want)) || !strings.Contains(want, `"resolves":true`) || strings.Contains(want, "clearance_id") || strings.Contains(want, "urn:") {
		t.Fatalf("verdict %s", want)
	}
	for _, c := range []struct{ method, target, body, want string }{
		{"POST", "/crossing:verify", `{"crossing_id":"` + crossingOne + `"}`, want},
		{"POST", "/v1/crossing:verify", `{"seal_id":"` + sealOne + `","future_param":[1.5]}`, "VERIFY_PARAMS"}, // integers alone, in all params
		{"POST", "/v1/crossing:verify", `{"seal_id":"` + sealOne + `","future_param":{}}`, want},
		{"GET", "/?id=" + sealOne, "", want},
		{"GET", "/?id=" + crossingOne, "", want},
		{"GET", "/canal/verify/" + sealOne, "", want},
		{"GET", "/canal/verify/" + crossingOne, "", want},
		{"GET", "/?id=", "", unknown},
		{"GET", "/?id=nothing", "", unknown},
		{"GET", "/?id=%FF%00", "", unknown},
		{"GET", "/canal/verify/%FF", "", unknown},
		{"GET", "/canal/verify/%2e%2e%2f", "", unknown},
		{"GET", "/canal/verify/" + url.PathEscape("' OR 1=1"), "", unknown},
		{"POST", "/v1/crossing:verify", `{"seal_id":"nothing"}`, unknown},
		{"POST", "/v1/crossing:verify", `{"seal_id":""}`, unknown},
		{"POST", "/v1/crossing:verify", `{"seal_id":"\u0000"}`, unknown},
		{"GET", "/?id=a&id=b", "", "VERIFY_PARAMS"},
		{"POST", "/v1/crossing:verify", ``, "VERIFY_PARAMS"},
		{"POST", "/v1/crossing:verify", `[]`, "VERIFY_PARAMS"},
		{"POST", "/v1/crossing:verify", `{}`, "VERIFY_PARAMS"},
		{"POST", "/v1/crossing:verify", `{"seal_id":1}`, "VERIFY_PARAMS"},
		{"POST", "/v1/crossing:verify", `{"seal_id":null}`, "VERIFY_PARAMS"},
		{"POST", "/v1/crossing:verify", `{"seal_id":"a","crossing_id":"b"}`, "VERIFY_PARAMS"},
		{"POST", "/v1/crossing:verify", `{"seal_id":"a","seal_id":"a"}`, "VERIFY_PARAMS"},
		{"POST", "/v1/crossing:verify", `{"seal_id":"a","record":[]}`, "RECORD_MALFORMED"},
		{"POST", "/v1/crossing:verify", `{"seal_id":"a","record":null}`, "RECORD_MALFORMED"},
		{"POST", "/v1/crossing:verify", `{"seal_id":"a","record":{"a":1,"a":1}}`, "RECORD_MALFORMED"},
		{"POST", "/v1/crossing:verify", `{"seal_id":"a","record":{"a":1.5}}`, "RECORD_MALFORMED"},
		{"GET", "/", "", api.CodeNotFound},
		{"GET", "/nothing", "", api.CodeNotFound},
		{"GET", "/v1/projections", "", api.CodeNotFound},
	} {
		resp, got := s.do(t, c.method, c.target, c.body)
		if strings.HasPrefix(c.want, "{") {
			if resp.StatusCode != 200 || got != c.want {
				t.Errorf("%s %s %s: %d %s", c.method, c.target, c.body, resp.StatusCode, got)
			}
			continue
		}
		status, _ := httpapi.Status(c.want)
		if resp.StatusCode != status || api.ParseError([]byte(got)).Code != c.want {
			t.Errorf("%s %s %s: %d %s, want %s", c.method, c.target, c.body, resp.StatusCode, got, c.want)
		}
	}
}

// covers GC-095
func TestVerifyIsCached(t *testing.T) {
	s := newSite(t, authority.Rate{}, nil)
	by := newSigner(t)
	s.join(t, "credential", by)
	if _, err := s.client(t, "credential").Publish(t.Context(), s.publication(t, by).Bytes()); err != nil {
		t.Fatal(err)
	}
	resp, body := s.do(t, "GET", "/?id="+sealOne, "")
	tag := resp.Header.Get("ETag")
	if tag == "" || resp.Header.Get("Cache-Control") != "public, max-age=60" {
		t.Fatalf("headers %v", resp.Header)
	}
	// The tag is over all but evidence: it can be computed from the answer.
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "evidence")
	rest, err := json.Marshal(m) // sorted names; the values are canonical already
	if err != nil {
		t.Fatal(err)
	}
	if want := `"` + string(jcs.HexOf(rest)) + `"`; tag != want {
		t.Errorf("tag %s, want %s", tag, want)
	}
	for _, have := range []string{tag, `"x", ` + tag, "W/" + tag} {
		resp, body := s.do(t, "GET", "/canal/verify/"+sealOne, "", "If-None-Match", have)
		if resp.StatusCode != 304 || body != "" || resp.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: %d %s", have, resp.StatusCode, body)
		}
	}
	if resp, _ := s.do(t, "GET", "/?id="+sealOne, "", "If-None-Match", `"x"`); resp.StatusCode != 200 {
		t.Errorf("another tag: %d", resp.StatusCode)
	}
	for _, target := range []string{"/?id=nothing", "/canal/verify/nothing"} {
		resp, _ := s.do(t, "GET", target, "")
		if resp.Header.Get("ETag") != "" || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: an unresolved answer may be kept: %v", target, resp.Header)
		}
	}
}

// covers GC-094, GC-117
func TestVerifyIsRateLimited(t *testing.T) {
	s := newSite(t, authority.Rate{PerSecond: 1, Burst: 3}, nil)
	for i, c := range []struct {
		method, target, body string
		status               int
	}{
		{"GET", "/?id=x", "", 200},
		{"POST", "/v1/crossing:verify", `{}`, 400}, // a malformed call costs as much
		{"GET", "/canal/verify/x", "", 200},
		{"GET", "/?id=x", "", 429},
		{"POST", "/crossing:verify", `{"seal_id":"x"}`, 429},
		{"GET", "/canal/verify/x", "", 429},
		{"GET", "/.well-known/jwks.json", "", 200},
	} {
		resp, body := s.do(t, c.method, c.target, c.body)
		if resp.StatusCode != c.status {
			t.Errorf("call %d: %d %s, want %d", i, resp.StatusCode, body, c.status)
		}
		if c.status == 429 && (api.ParseError([]byte(body)).Code != "RATE_LIMITED" || resp.Header.Get("Retry-After") == "") {
			t.Errorf("call %d: %s %v", i, body, resp.Header)
		}
	}
	// JSON-RPC shares the budget with nobody that it does not share an address with.
	rpc := httpapi.VerifyRPC(s.va, nil)
	if result, refusal := rpc(t.Context(), []byte(`{"seal_id":"x"}`)); refusal != nil || string(result) != unknown {
		t.Errorf("another caller: %s, %v", result, refusal)
	}
}

// covers GC-050
func TestVerifyRPC(t *testing.T) {
	s := newSite(t, authority.Rate{PerSecond: 1, Burst: 3}, nil)
	rpc := httpapi.VerifyRPC(s.va, nil)
	if _, refusal := rpc(t.Context(), nil); refusal == nil || refusal.Code != "VERIFY_PARAMS" {
		t.Errorf("no params: %v", refusal)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, refusal := rpc(cancelled, []byte(`{"seal_id":"canal-x-000000000000"}`)); refusal == nil || refusal.Code != api.CodeUnavailable {
		t.Errorf("nothing decided: %v", refusal)
	}
	if result, refusal := rpc(t.Context(), []byte(`{"seal_id":"x"}`)); refusal != nil || string(result) != unknown {
		t.Errorf("%s, %v", result, refusal)
	}
	if _, refusal := rpc(t.Context(), []byte(`{"seal_id":"x"}`)); refusal == nil || refusal.Code != "RATE_LIMITED" {
		t.Errorf("over the rate: %v", refusal)
	}
}

func TestPublicationRoute(t *testing.T) {
	s := newSite(t, authority.Rate{}, nil)
	by := newSigner(t)
	s.join(t, "credential", by)
	body := string(s.publication(t, by).Bytes())
	for _, c := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"no credential", nil, 401},
		{"another scheme", []string{"Authorization", "Basic credential"}, 401},
		{"no scheme", []string{"Authorization", "credential"}, 401},
		{"two", []string{"Authorization", "Bearer credential", "Authorization", "Bearer credential"}, 401},
		{"another credential", []string{"Authorization", "Bearer credential2"}, 401},
		{"as a query or cookie", []string{"Cookie", "Authorization=Bearer credential"}, 401},
		{"foreign page", []string{"Authorization", "Bearer credential", "Origin", "https://evil.example"}, 403},
		{"as it is", []string{"Authorization", "bearer credential"}, 200},
	} {
		resp, got := s.do(t, "POST", "/v1/projections", body, c.headers...)
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, got)
		}
		if c.status == 401 && resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", c.name)
		}
	}
	resp, got := s.do(t, "POST", "/v1/va/enrol", `{"jwk":1,"secret":"x"}`)
	if resp.StatusCode != 400 || api.ParseError([]byte(got)).Pointer != "/secret" {
		t.Errorf("enrolment: %d %s", resp.StatusCode, got)
	}
	resp, got = s.do(t, "POST", "/v1/va/publishers", `{"grant":"a.b.c"}`)
	if resp.StatusCode != 401 {
		t.Errorf("grant: %d %s", resp.StatusCode, got)
	}
}

func TestEverythingElse(t *testing.T) {
	s := newSite(t, authority.Rate{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "else "+r.URL.Path)
	}))
	for target, want := range map[string]string{"/": "else /", "/message:send": "else /message:send", "/?id=x": unknown} {
		if _, got := s.do(t, "GET", target, ""); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	resp, got := s.do(t, "GET", "/.well-known/jwks.json", "")
	set, err := jose.ParseJWKS([]byte(got))
	if err != nil || len(set.Keys()) != 1 || !set.Keys()[0].Same(s.vaKey) || resp.Header.Get("Cache-Control") == "no-store" {
		t.Errorf("keys %s, %v", got, err)
	}
	if _, err := client.PinnedKeys(t.Context(), s.url, s.ra.Key().ID); !errors.Is(err, client.ErrUnverified) {
		t.Errorf("a thumbprint that is not published: %v", err)
	}
	if _, err := httpapi.NewPublic(httpapi.PublicConfig{Authority: s.va}); err == nil {
		t.Error("a listener without hosts")
	}
}

// TestStoreGone closes the database under a running listener: nothing is decided, and
// the client can tell.
func TestStoreGone(t *testing.T) {
	s := newSite(t, authority.Rate{}, nil)
	c := s.client(t, "credential")
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	resp, got := s.do(t, "GET", "/?id="+sealOne, "")
	if resp.StatusCode != 503 || api.ParseError([]byte(got)).Code != api.CodeUnavailable || strings.Contains(got, "sql") {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
	if _, err := c.Verify(t.Context(), api.VerifyRequest{SealID: sealOne}); !errors.Is(err, &api.Error{Code: api.CodeUnavailable}) {
		t.Errorf("client: %v", err)
	}
}
