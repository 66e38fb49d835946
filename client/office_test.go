package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bindery/bindery/api"
	"github.com/bindery/bindery/client"
	"github.com/bindery/bindery/internal/jose"
	"github.com/bindery/bindery/jcs"
)

var (
	raConsume = api.Consume{
		RequestID: "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001", Token: "open~", Class: "financial", Units: 250, Currency: "EUR",
	}
	raIssuer   = api.RegisterIssuer{PrincipalID: "urn:anax:principal:a", CredentialHash: jcs.HexOf(nil), Subjects: []string{"urn:anax:agent:s"}}
	raAddition = api.Addition{PrincipalID: "urn:anax:principal:a", Credentials: []api.Credential{{Role: api.RoleEffector, Hash: jcs.HexOf(nil)}}}
)

// covers GC-082
func TestOneCredentialOneRole(t *testing.T) {
	roles := []string{"Principal", "Agent", "Issuer", "Effector", "Operator", "Publisher"}
	if n := reflect.TypeFor[client.Credentials]().NumField(); n != len(roles) {
		t.Fatalf("credentials for %d roles, this test knows %d", n, len(roles))
	}
	for i, first := range roles {
		for _, second := range roles[i+1:] {
			var c client.Credentials
			v := reflect.ValueOf(&c).Elem()
			v.FieldByName(first).SetString("one")
			v.FieldByName(second).SetString("one")
			if _, err := client.New(client.Config{BaseURL: "https://ra.example", Credentials: c}); err == nil {
				t.Errorf("one credential as %s and %s is taken", first, second)
			}
			v.FieldByName(second).SetString("two")
			if _, err := client.New(client.Config{BaseURL: "https://ra.example", Credentials: c}); err != nil {
				t.Errorf("%s and %s: %v", first, second, err)
			}
		}
	}
}

// TestLyingConsumption: an act may begin on the pinned RA's word about this request only.
func TestLyingConsumption(t *testing.T) {
	ra, other := vaSigner(t), vaSigner(t)
	good := api.Consumed{
		RequestID: raConsume.RequestID, TokenHash: jcs.HexOf([]byte(raConsume.Token)), Effector: "urn:anax:principal:b",
		Class: raConsume.Class, Units: raConsume.Units, Currency: raConsume.Currency, At: raNow,
	}
	for what, c := range map[string]struct {
		by     *jose.Signer
		before func(*api.Consumed) // signed so
		after  func(*api.Consumed) // sent so
		good   bool
	}{
		"consumed":        {ra, func(*api.Consumed) {}, func(*api.Consumed) {}, true},
		"another key":     {other, func(*api.Consumed) {}, func(*api.Consumed) {}, false},
		"another request": {ra, func(c *api.Consumed) { c.RequestID = "7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be002" }, func(*api.Consumed) {}, false},
		"another mandate": {ra, func(c *api.Consumed) { c.TokenHash = jcs.HexOf(nil) }, func(*api.Consumed) {}, false},
		"fewer units":     {ra, func(c *api.Consumed) { c.Units = 1 }, func(*api.Consumed) {}, false},
		"another class":   {ra, func(c *api.Consumed) { c.Class = "observe" }, func(*api.Consumed) {}, false},
		"another money":   {ra, func(c *api.Consumed) { c.Currency = "GBP" }, func(*api.Consumed) {}, false},
		"signed as less":  {ra, func(c *api.Consumed) { c.Units = 1 }, func(c *api.Consumed) { c.Units = 250 }, false},
		"not signed":      {ra, func(*api.Consumed) {}, func(c *api.Consumed) { c.Receipt = "" }, false},
		"another effector, signed as this": {ra, func(*api.Consumed) {}, func(c *api.Consumed) { c.Effector = "urn:anax:principal:c" },
			false},
	} {
		answer := good
		c.before(&answer)
		answer, err := answer.Sign(c.by)
		if err != nil {
			t.Fatal(err)
		}
		c.after(&answer)
		r := saying(t, jose.NewKeySet(ra.Key()), func([]byte) (int, []byte) { return 200, answer.Bytes() })
		got, err := r.Consume(t.Context(), raConsume)
		if c.good {
			if err != nil || got != answer {
				t.Errorf("%s: %+v, %v", what, got, err)
			}
			continue
		}
		undecided(t, what, err)
		if !errors.Is(err, client.ErrUnverified) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestNothingMalformedIsSent(t *testing.T) {
	r := saying(t, jose.KeySet{}, func([]byte) (int, []byte) {
		t.Error("something was sent")
		return 200, []byte("{}")
	})
	malformed := &api.Error{Code: api.CodeMalformed}
	for _, units := range []int64{0, -1, 1 << 53} {
		c := raConsume
		c.Units = units
		if _, err := r.Consume(t.Context(), c); !errors.Is(err, malformed) {
			t.Errorf("%d units: %v", units, err)
		}
	}
	if err := r.RegisterIssuer(t.Context(), api.RegisterIssuer{}); !errors.Is(err, malformed) {
		t.Errorf("issuer: %v", err)
	}
	if err := r.Add(t.Context(), api.Addition{}); !errors.Is(err, malformed) {
		t.Errorf("addition: %v", err)
	}
}

// TestChangeIsAcknowledged: only {} says that something was done.
func TestChangeIsAcknowledged(t *testing.T) {
	for say, good := range map[string]bool{"{}": true, "{ }": false, "null": false, `{"done":false}`: false} {
		r := saying(t, jose.KeySet{}, func([]byte) (int, []byte) { return 200, []byte(say) })
		err := r.Burned(t.Context(), api.Burn{RequestID: raConsume.RequestID})
		if good && err != nil {
			t.Errorf("%s: %v", say, err)
		}
		if !good {
			undecided(t, say, err)
		}
	}
}

func TestAuditRowsAsk(t *testing.T) {
	page := api.Audit{Rows: []api.AuditRow{{ID: 7, At: time.UnixMilli(1_786_000_000_123).UTC(), Role: "operator", Operation: "code", Subject: "s", Outcome: "issued"}}}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(page.Bytes())
	}))
	defer server.Close()
	c, err := client.New(client.Config{BaseURL: server.URL, HTTP: patient(), Credentials: client.Credentials{Operator: "o"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []int64{0, 7} {
		got, err := c.Registry().AuditRows(t.Context(), before, 20)
		if err != nil || !slices.Equal(got.Rows, page.Rows) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if !slices.Equal(asked, []string{"GET /v1/ra/audit?limit=20", "GET /v1/ra/audit?limit=20&before=7"}) {
		t.Errorf("asked %q", asked)
	}
	if c, err = client.New(client.Config{BaseURL: server.URL, HTTP: patient(), Credentials: client.Credentials{Principal: "p"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Registry().AuditRows(t.Context(), 0, 20); !errors.Is(err, &api.Error{Code: api.CodeUnauthenticated}) {
		t.Errorf("without an operator's credential: %v", err)
	}
}
