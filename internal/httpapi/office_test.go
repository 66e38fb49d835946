package httpapi_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
	"github.com/bindery/bindery/mandate"
)

// runBy enters the RA's own principal, and returns its operator's client.
func (o *office) runBy(t *testing.T, name string) *client.Registry {
	t.Helper()
	_, err := o.ra.EnrolSelf(t.Context(), api.Enrol{
		PrincipalID: "urn:anax:principal:" + name, Name: name, ClearanceIDHash: jcs.HexOf(nil), TrustBasis: "self_declared",
		Keys:        []jose.Key{newSigner(t).Key()},
		Credentials: []api.Credential{{Role: api.RoleOperator, Hash: api.CredentialHash("operator " + name)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o.client(t, client.Credentials{Operator: "operator " + name})
}

func (o *office) client(t *testing.T, c client.Credentials) *client.Registry {
	t.Helper()
	speaker, err := client.New(client.Config{
		BaseURL: o.url, Keys: jose.NewKeySet(o.key), HTTP: o.http, Now: clockOf(start), Credentials: c,
	})
	if err != nil {
		t.Fatal(err)
	}
	return speaker.Registry()
}

// named fails the test unless err is a refusal of that name.
func named(t *testing.T, what string, err error, name string) {
	t.Helper()
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Code != name {
		t.Errorf("%s: got %v, want %s", what, err, name)
	}
}

// TestServiceHeld is the acceptance test of §3.7.2 over the wire, with the roles that may
// not blend.
//
// covers GC-077, GC-078, GC-079, GC-080, GC-081, GC-082
func TestServiceHeld(t *testing.T) {
	o := newOffice(t)
	ctx := t.Context()
	operator, a, b := o.runBy(t, "ra"), o.join(t, "a"), o.join(t, "b")
	const monitor = "urn:anax:agent:monitor"
	issuer := o.client(t, client.Credentials{Issuer: "issuer a", Effector: "effector b"})
	open := a.open(t, unit(3), func(d *mandate.OpenDraft) {
		d.Subject, d.ConfirmationKey, d.Counterparties = monitor, jose.Key{}, mandate.OnlyCounterparties()
	})
	_, err := issuer.RegisterOpen(ctx, api.RegisterOpen{Token: open.Full()})
	named(t, "unknown issuer", err, api.CodeUnauthenticated)
	listing := api.RegisterIssuer{PrincipalID: a.id, CredentialHash: api.CredentialHash("issuer a"), Subjects: []string{monitor}}
	named(t, "not an operator", a.ra.RegisterIssuer(ctx, listing), api.CodeUnauthenticated)
	if err := operator.RegisterIssuer(ctx, listing); err != nil {
		t.Fatal(err)
	}
	if _, err := issuer.RegisterOpen(ctx, api.RegisterOpen{Token: open.Full()}); err != nil {
		t.Fatal(err)
	}
	// The token has leaked: B's effector has its exact bytes.
	c := api.Consume{RequestID: attempt(1), Token: open.Full(), Class: "irreversible", Units: 1}
	_, err = b.ra.Consume(ctx, c)
	named(t, "service-held token", err, "SERVICE_HELD_MANDATE")
	if s, err := b.ra.Status(ctx, jcs.HexOf([]byte(open.Token))); err != nil || !s.Active {
		t.Errorf("the service's mandate: %+v, %v", s, err)
	}
	for what, x := range map[string]struct{ path, credential, body string }{
		"issuer consumes":      {"units", "issuer a", string(c.Bytes())},
		"issuer reports":       {"units/burned", "issuer a", string(api.Burn{RequestID: attempt(1)}.Bytes())},
		"issuer registers one": {"issuers", "issuer a", string(listing.Bytes())},
		"effector issues":      {"opens", "effector b", string(api.RegisterOpen{Token: open.Full()}.Bytes())},
		"effector adds": {"additions", "effector b", string(api.Addition{
			PrincipalID: b.id, Credentials: []api.Credential{{Role: api.RoleEffector, Hash: jcs.HexOf(nil)}},
		}.Bytes())},
		"principal consumes": {"units", "principal a", string(c.Bytes())},
		"principal suspends": {"suspensions", "principal a", string(api.Suspension{PrincipalID: b.id, Suspended: true}.Bytes())},
	} {
		if status, body := o.post(t, x.path, x.credential, x.body); status != 403 || !strings.Contains(body, `"ROLE_MISMATCH"`) {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	both := api.RegisterIssuer{PrincipalID: b.id, CredentialHash: api.CredentialHash("effector b"), Subjects: []string{monitor}}
	named(t, "an effector's credential as an issuer's", operator.RegisterIssuer(ctx, both), api.CodeConflict)
}

// TestUnitsRoundTrip loses an answer and reports a failed act.
//
// covers GC-198, GC-199
func TestUnitsRoundTrip(t *testing.T) {
	o := newOffice(t)
	ctx, a := t.Context(), o.join(t, "a")
	open := a.opened(t, unit(2))
	c := api.Consume{RequestID: attempt(1), Token: open.Full(), Class: "irreversible", Units: 1}
	first, err := a.ra.Consume(ctx, c)
	if err != nil || first.Effector != a.id || first.Units != 1 {
		t.Fatalf("consume: %+v, %v", first, err)
	}
	if again, err := a.ra.Consume(ctx, c); err != nil || again != first {
		t.Errorf("consume again: %+v, %v", again, err)
	}
	named(t, "burn of nothing", a.ra.Burned(ctx, api.Burn{RequestID: attempt(2)}), api.CodeNotFound)
	for range 2 {
		if err := a.ra.Burned(ctx, api.Burn{RequestID: attempt(1)}); err != nil {
			t.Errorf("burned: %v", err)
		}
	}
	c.RequestID, c.Units = attempt(2), 2
	_, err = a.ra.Consume(ctx, c)
	named(t, "what was burned", err, "MAGNITUDE_EXHAUSTED")
	for what, x := range map[string]struct {
		body     string
		contains string
	}{
		"unknown member": {`{"x":1,` + string(c.Bytes())[1:], `"pointer":"/x"`},
		"fraction":       {strings.Replace(string(c.Bytes()), `"units":2`, `"units":1.5`, 1), `"malformed_request"`},
		"text":           {strings.Replace(string(c.Bytes()), `"units":2`, `"units":"2"`, 1), `"pointer":"/units"`},
		"nothing":        {strings.Replace(string(c.Bytes()), `"units":2`, `"units":0`, 1), `"pointer":"/units"`},
		"unknown class":  {strings.Replace(string(c.Bytes()), `"irreversible"`, `"finance"`, 1), `"pointer":"/class"`},
	} {
		if status, body := o.post(t, "units", "effector a", x.body); status != 400 || !strings.Contains(body, x.contains) {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
}

// TestDirectoryRoundTrip: additions, suspension, withdrawal and the audit of them.
func TestDirectoryRoundTrip(t *testing.T) {
	o := newOffice(t)
	ctx := t.Context()
	operator, a := o.runBy(t, "ra"), o.join(t, "a")
	human := mandate.Human{ID: "urn:anax:human:h", Key: newSigner(t).Key()}
	addition := api.Addition{PrincipalID: a.id, Humans: []mandate.Human{human}}
	for range 2 {
		if err := a.ra.Add(ctx, addition); err != nil {
			t.Errorf("add: %v", err)
		}
	}
	if err := operator.DecideHuman(ctx, api.HumanDecision{PrincipalID: a.id, Key: human.Key.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	record := func() mandate.Principal {
		t.Helper()
		p, err := operator.Principal(ctx, a.id)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if keys := record().HumanKeys(human.ID, start); len(keys.Keys()) != 1 || !keys.Keys()[0].Same(human.Key) {
		t.Errorf("human's keys: %+v", keys)
	}
	if err := operator.SetSuspended(ctx, api.Suspension{PrincipalID: a.id, Suspended: true}); err != nil {
		t.Fatal(err)
	}
	if p := record(); p.Active || len(p.IssuerKeys(start).Keys()) != 0 {
		t.Error("a suspended principal resolves")
	}
	named(t, "a suspended principal adds", a.ra.Add(ctx, addition), api.CodeUnauthenticated)
	if err := operator.SetSuspended(ctx, api.Suspension{PrincipalID: a.id}); err != nil {
		t.Fatal(err)
	}
	gone := api.Withdrawal{CredentialHash: api.CredentialHash("principal a")}
	if err := a.ra.Withdraw(ctx, gone); err != nil {
		t.Errorf("withdraw: %v", err)
	}
	named(t, "a withdrawn credential", a.ra.Withdraw(ctx, gone), api.CodeUnauthenticated)

	audit, err := operator.AuditRows(ctx, 0, 6)
	var did []string
	for _, row := range audit.Rows {
		did = append(did, row.Role+" "+row.Operation+" "+row.Outcome)
	}
	want := []string{
		"principal withdraw withdrawn", "operator set_status active", "operator set_status suspended", "operator decide_human approved",
		"principal add requested",
		"principal enrol enrolled",
	}
	if err != nil || !slices.Equal(did, want) {
		t.Errorf("audit %q, %v", did, err)
	}
	rest, err := operator.AuditRows(ctx, audit.Rows[5].ID, 500)
	if err != nil || len(rest.Rows) != 2 {
		t.Errorf("the rest: %+v, %v", rest, err)
	}
	for query, c := range map[string]struct {
		credential string
		status     int
	}{
		"":                  {"operator ra", 200},
		"?limit=0":          {"operator ra", 400},
		"?limit=501":        {"operator ra", 400},
		"?limit=1&limit=2":  {"operator ra", 400},
		"?before=x":         {"operator ra", 400},
		"?after=1":          {"operator ra", 400},
		"?limit=1":          {"agent a", 403},
		"?limit=1&before=9": {"", 401},
	} {
		if status := o.get(t, "/v1/ra/audit"+query, c.credential); status != c.status {
			t.Errorf("audit%s as %q: %d, want %d", query, c.credential, status, c.status)
		}
	}
}

// covers GC-094
func TestRegistryIsRateLimited(t *testing.T) {
	o := newOffice(t)
	a := o.join(t, "a") // one of the hundred that come at once
	status := string(api.StatusRequest{Hash: jcs.HexOf(nil), Nonce: "n"}.Bytes())
	paths := []func() int{
		func() int { s, _ := o.post(t, "status", "", status); return s },
		func() int { return o.get(t, "/v1/ra/principals/"+a.id, "") },
		func() int { s, _ := o.post(t, "enrol", "", "{}"); return s }, // a malformed call costs as much
	}
	for i := range 99 {
		if s := paths[i%3](); s == http.StatusTooManyRequests {
			t.Fatalf("call %d is over the rate", i)
		}
	}
	for i, path := range paths {
		if s := path(); s != http.StatusTooManyRequests {
			t.Errorf("path %d over the rate: %d", i, s)
		}
	}
	if s := o.get(t, "/v1/ra/principals/"+a.id, "no such credential"); s != http.StatusTooManyRequests {
		t.Errorf("with a credential of one's own making: %d", s)
	}
	// Whoever is enrolled is not held to it, and nobody else's routes are.
	if _, err := a.ra.Principal(t.Context(), a.id); err != nil {
		t.Errorf("an enrolled party: %v", err)
	}
	if s := o.get(t, "/.well-known/jwks.json", ""); s != 200 {
		t.Errorf("keys: %d", s)
	}
	a.opened(t, unit(1))
}

func (o *office) get(t *testing.T, path, credential string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.url+path, nil)
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
	resp.Body.Close()
	return resp.StatusCode
}

// attempt is the n-th name of a consumption.
func attempt(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
