package httpapi_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/commitment"
	"github.com/bindery/bindery/internal/httpapi"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/internal/registry"
	"github.com/bindery/bindery/internal/store/sqlite"
	"github.com/bindery/bindery/internal/store/sqlitetest"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// An office is a listener with an RA alone.
type office struct {
	url  string
	ra   *registry.Registry
	key  jose.Key
	http *http.Client
	path string   // of the database
	web  *domains // what domains publish
}

func newOffice(t *testing.T) *office {
	t.Helper()
	return newOfficeIn(t, registry.ReleaseNone)
}

func newOfficeIn(t *testing.T, release registry.ReleaseMode) *office {
	t.Helper()
	path, web := sqlitetest.Path(t), new(domains)
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	signer := newSigner(t)
	ra, err := registry.New(registry.Config{
		Store: db.Registry(), Signer: signer, Now: func() time.Time { return start }, VAURL: "https://va.example/",
		Release: release, Domains: web,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler, err = httpapi.NewPublic(httpapi.PublicConfig{
		Hosts: []string{server.Listener.Addr().String()}, Registry: ra,
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	return &office{url: server.URL, ra: ra, key: signer.Key(), http: patient(server), path: path, web: web}
}

// patient is a client of the server that no stall of the machine outlasts.
func patient(server *httptest.Server) *http.Client {
	c := server.Client()
	c.Timeout = time.Minute
	return c
}

// A firm is an organisation that enrols over the wire.
type firm struct {
	ra            *client.Registry
	id, agentID   string
	issuer, agent *jose.Signer
	request       api.Enrol
}

// join enrols a firm with a code, as its operator would: the code pins the RA's key.
func (o *office) join(t *testing.T, name string) *firm {
	t.Helper()
	secret, err := o.ra.NewCode(t.Context(), registry.CodeTerms{})
	if err != nil {
		t.Fatal(err)
	}
	code, err := api.ParseCode(api.Code{Secret: secret, RAKey: o.key.ID, VAKey: o.key.ID}.String())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := client.PinnedKeys(t.Context(), o.url, code.RAKey)
	if err != nil {
		t.Fatal(err)
	}
	f := &firm{id: "urn:anax:principal:" + name, agentID: "urn:anax:agent:" + name, issuer: newSigner(t), agent: newSigner(t)}
	c, err := client.New(client.Config{
		BaseURL: o.url, Keys: keys, HTTP: o.http, Now: func() time.Time { return start },
		Credentials: client.Credentials{Principal: "principal " + name, Agent: "agent " + name, Effector: "effector " + name},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.ra = c.Registry()
	publisher := newSigner(t)
	f.request = api.Enrol{
		Secret: code.Secret, PrincipalID: f.id, Name: name, ClearanceIDHash: jcs.HexOf([]byte(name)), TrustBasis: "self_declared",
		Keys: []jose.Key{f.issuer.Key()}, Agents: []mandate.Agent{{ID: f.agentID, Key: f.agent.Key()}},
		Credentials: []api.Credential{
			{Role: api.RolePrincipal, Hash: api.CredentialHash("principal " + name)},
			{Role: api.RoleAgent, AgentID: f.agentID, Hash: api.CredentialHash("agent " + name)},
			{Role: api.RoleEffector, Hash: api.CredentialHash("effector " + name)},
		},
		Publisher: &api.Publisher{Key: publisher.Key(), CredentialHash: api.CredentialHash("publisher " + name)},
	}
	if err := f.request.Prove(o.key.ID, f.issuer, f.agent, publisher); err != nil {
		t.Fatal(err)
	}
	answer, err := f.ra.Enrol(t.Context(), f.request)
	if err != nil || answer.PublisherGrant == "" || answer.VAURL != "https://va.example/" {
		t.Fatalf("enrol: %+v, %v", answer, err)
	}
	return f
}

// closed registers an Open of one unit and a Closed that draws it.
func (f *firm) closed(t *testing.T, peer *firm) (openHash jcs.Hex256, token string) {
	t.Helper()
	unit := commitment.Amount{Class: commitment.Irreversible, Magnitude: 1}
	open, err := mandate.OpenDraft{
		Issuer: f.id, Subject: f.agentID, IssuedAt: start, ExpiresAt: start.Add(time.Hour), ConfirmationKey: f.agent.Key(),
		Counterparties: mandate.AnyCounterparty(), Amount: unit,
	}.Sign(f.issuer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ra.RegisterOpen(t.Context(), api.RegisterOpen{Token: open.Full()}); err != nil {
		t.Fatal(err)
	}
	openHash = jcs.HexOf([]byte(open.Token))
	token, err = mandate.ClosedDraft{
		SignerRole: mandate.RoleAgent, Issuer: f.agentID, Subject: f.agentID, Audience: peer.id, IssuedAt: start,
		ExpiresAt: start.Add(time.Minute), CrossingID: crossingOne, AgreementHash: jcs.HexOf([]byte("terms")),
		OpenMandateHash: openHash, Basis: mandate.GovernanceBasis{PackID: "p", PackVersion: "1"},
		Act: "engagement_code_issuance", Asserted: unit,
	}.Sign(f.agent)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ra.RegisterClosed(t.Context(), api.RegisterClosed{Token: token, CounterpartyAgent: peer.agentID}); err != nil {
		t.Fatal(err)
	}
	return openHash, token
}

// covers GC-209
func TestRegistryRoundTrip(t *testing.T) {
	o := newOffice(t)
	ctx, a, b := t.Context(), o.join(t, "a"), o.join(t, "b")
	openA, closedA := a.closed(t, b)
	_, closedB := b.closed(t, a)
	hold := api.Hold{CrossingID: crossingOne, InitiatorClosed: closedA, ResponderClosed: closedB}

	record, err := b.ra.Principal(ctx, a.id)
	if err != nil || record.ID != a.id || !record.HasAgent(a.agentID, a.agent.Key(), start) {
		t.Errorf("principal: %+v, %v", record, err)
	}
	status := func(what string, hash jcs.Hex256, want bool) {
		t.Helper()
		if s, err := b.ra.Status(ctx, hash); err != nil || s.Active != want {
			t.Errorf("%s: %+v, %v", what, s, err)
		}
	}
	status("open", openA, true)
	status("closed", jcs.HexOf([]byte(closedA)), true)

	held, err := b.ra.Hold(ctx, hold)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.ra.Hold(ctx, hold); err != nil || again != held {
		t.Errorf("hold again: %v", err)
	}
	if _, err := b.ra.Confirm(ctx, hold.Triple()); err != nil {
		t.Fatal(err)
	}
	status("spent", jcs.HexOf([]byte(closedA)), false)
	revoked, err := a.ra.Revoke(ctx, api.Revoke{Hash: jcs.HexOf([]byte(closedA))})
	if err != nil || revoked.Before != api.BeforeSpent {
		t.Errorf("revoke: %+v, %v", revoked, err)
	}
	if keys, err := a.ra.JWKS(ctx); err != nil || len(keys.Keys()) != 1 || !keys.Keys()[0].Same(o.key) {
		t.Errorf("published keys %+v, %v", keys, err)
	}
	if again, err := a.ra.Enrol(ctx, a.request); err != nil || again.PrincipalID != a.id {
		t.Errorf("enrol again: %+v, %v", again, err)
	}
	a.request.Name = "other"
	if _, err := a.ra.Enrol(ctx, a.request); !errors.Is(err, &api.Error{Code: api.CodeEnrolment}) {
		t.Errorf("another request with the code: %v", err)
	}
}

// TestFinalRefusal: the RA's signed word reaches the effector, and only where it is final.
func TestFinalRefusal(t *testing.T) {
	o := newOffice(t)
	ctx, a, b := t.Context(), o.join(t, "a"), o.join(t, "b")
	openA, closedA := a.closed(t, b)
	_, closedB := b.closed(t, a)
	hold := api.Hold{CrossingID: crossingOne, InitiatorClosed: closedA, ResponderClosed: closedB}

	_, err := b.ra.Confirm(ctx, hold.Triple())
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != "MAGNITUDE_EXHAUSTED" || e.Receipt != "" {
		t.Errorf("confirm before hold: %v", err)
	}
	if _, err := b.ra.Hold(ctx, hold); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ra.Revoke(ctx, api.Revoke{Hash: openA}); err != nil {
		t.Fatal(err)
	}
	_, err = b.ra.Confirm(ctx, hold.Triple())
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Code != "MANDATE_REVOKED" {
		t.Fatalf("confirm: %v", err)
	}
	f, err := mandate.ParseFinalRefusal(e.Receipt, jose.NewKeySet(o.key))
	if err != nil || f.Triple != hold.Triple() || !f.InitiatorSpent || !f.ResponderSpent {
		t.Errorf("final refusal %+v, %v", f, err)
	}
}

// covers GC-074, GC-075, GC-080, GC-081, GC-082
func TestRegistryRoutes(t *testing.T) {
	o := newOffice(t)
	a, b := o.join(t, "a"), o.join(t, "b")
	_, closedA := a.closed(t, b)
	_, closedB := b.closed(t, a)
	hold := api.Hold{CrossingID: crossingOne, InitiatorClosed: closedA, ResponderClosed: closedB}
	altered, never := hold, hold
	altered.InitiatorClosed = strings.Replace(closedA, "e", "f", 1)
	never.InitiatorClosed = "eyJhbGciOiJFUzI1NiJ9.e30.AA~"
	byHash := hold
	byHash.InitiatorClosed = string(hold.Triple().InitiatorToken)
	confirm := string(api.Confirm{Triple: hold.Triple()}.Bytes())
	const unauthenticated = `{"error":{"code":"unauthenticated","message":"this endpoint needs a credential"}}`
	for what, c := range map[string]struct {
		path, credential, body string
		status                 int
		contains               string
	}{
		"no credential":       {"holds", "", string(hold.Bytes()), 401, unauthenticated},
		"unknown credential":  {"holds", "effector x", string(hold.Bytes()), 401, unauthenticated},
		"before the body":     {"holds", "", "{", 401, unauthenticated},
		"agent holds":         {"holds", "agent b", string(hold.Bytes()), 403, `"ROLE_MISMATCH"`},
		"principal confirms":  {"confirms", "principal b", confirm, 403, `"ROLE_MISMATCH"`},
		"effector registers":  {"closeds", "effector b", string(api.RegisterClosed{Token: closedB, CounterpartyAgent: a.agentID}.Bytes()), 403, `"ROLE_MISMATCH"`},
		"effector opens":      {"opens", "effector b", string(api.RegisterOpen{Token: closedB}.Bytes()), 403, `"ROLE_MISMATCH"`},
		"agent revokes":       {"revocations", "agent a", string(api.Revoke{Hash: hold.Triple().InitiatorToken}.Bytes()), 403, `"ROLE_MISMATCH"`},
		"revoke another's":    {"revocations", "principal b", string(api.Revoke{Hash: hold.Triple().InitiatorToken}.Bytes()), 404, `"not_found"`},
		"unknown member":      {"confirms", "effector b", `{"x":1,` + confirm[1:], 400, `"pointer":"/x"`},
		"repeated member":     {"confirms", "effector b", `{"crossing_id":"x",` + confirm[1:], 400, `"malformed_request"`},
		"status without hash": {"status", "", `{"nonce":"n"}`, 400, `"pointer":"/hash"`},
		"enrol, bad key":      {"enrol", "", strings.Replace(string(b.request.Bytes()), `"crv":"P-256"`, `"crv":"P-384"`, 1), 400, `"pointer":"/agents/0/jwk"`},
		"altered token":       {"holds", "effector b", string(altered.Bytes()), 401, `"MANDATE_INVALID"`},
	} {
		status, body := o.post(t, c.path, c.credential, c.body)
		if status != c.status || !strings.Contains(body, c.contains) {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	// Altered, never issued and named by hash cannot be told apart.
	_, first := o.post(t, "holds", "effector b", string(altered.Bytes()))
	for _, h := range []api.Hold{never, byHash} {
		if _, body := o.post(t, "holds", "effector b", string(h.Bytes())); body != first {
			t.Errorf("%s differs from %s", body, first)
		}
	}
	if status, body := o.post(t, "holds", "effector b", string(hold.Bytes())); status != 200 {
		t.Errorf("hold after all that: %d %s", status, body)
	}
}

func (o *office) post(t *testing.T, path, credential, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.url+"/v1/ra/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	resp, err := o.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
